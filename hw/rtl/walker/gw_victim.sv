// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Chooses the entry of a small cache that is replaced next: a free one, else one that nobody used since it was filled or
// since all were used, else any that may go; within each class the one that follows the last choice.
//
// Contract
// - The choice is a register; which class is preferred is known a cycle before it is made. So a choice may be of a class that
//   was the best two cycles ago. It is withdrawn in the cycle in which its entry may no longer go (`ok_i`).
// - After `take_i`, or where what is on offer is said to be about to stay (`stays_i`), another entry is on offer in the next cycle if
//   `spare_o` was high, and then it may go unless it ceased to in that cycle. Else a choice comes two cycles after an entry may go.
// - An entry used once and never again goes before one that is used again and again, so a stream does not wash out a
//   working set; among unused ones the oldest goes first.
`include "gw_assert.svh"

module gw_victim #(
  /// Entries, 1 or more.
  parameter int unsigned Num = 16
) (
  input logic clk_i,
  input logic rst_ni,
  /// Entries that hold nothing.
  input logic [Num-1:0] free_i,
  /// Entries that may be replaced now, free ones included.
  input logic [Num-1:0] ok_i,
  /// Entries used in this cycle.
  input logic [Num-1:0] used_i,
  /// Entries that may not go from the next cycle on: told so soon only that another choice is made in time.
  input logic [Num-1:0] stays_i,
  /// The choice is filled in this cycle.
  input logic take_i,
  output logic valid_o,
  output logic [Num-1:0] onehot_o,
  output logic spare_o
);

  logic [Num-1:0] used_q, above_q, offer_q, best_d, best_q, others, unused, choices, preferred, lowest;
  logic offer_valid_q, load, all_used_q;

  // The best class, without what is on offer.
  assign others = ok_i & ~offer_q;
  assign unused = others & ~used_q;
  always_comb begin
    best_d = others;
    if (unused != '0) best_d = unused;
    if ((others & free_i) != '0) best_d = others & free_i;
  end

  // One of it. What became the choice, or ceased to be one, since the class was found, is none.
  assign choices = best_q & ok_i & ~offer_q;
  assign preferred = ((choices & above_q) != '0) ? choices & above_q : choices;
  assign lowest = preferred ^ (preferred - Num'(1));  // and all below it
  assign spare_o = choices != '0;

  assign valid_o = offer_valid_q && (offer_q & ok_i) != '0;
  assign onehot_o = offer_q;
  assign load = take_i || !valid_o || (offer_q & stays_i) != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      used_q <= '0;
      above_q <= '0;
      best_q <= '0;
      offer_q <= '0;
      offer_valid_q <= 1'b0;
      all_used_q <= 1'b0;
    end else begin
      best_q <= best_d;
      all_used_q <= unused == '0;
      used_q <= ((take_i && all_used_q) ? '0 : used_q & ~(offer_q & {Num{take_i}})) | used_i;
      if (load) begin
        offer_valid_q <= spare_o;
        offer_q <= preferred & lowest;
        if (spare_o) above_q <= ~lowest;
      end
    end
  end

  `GW_INVARIANT(OneChoice_A, $onehot0(offer_q))
  `GW_INVARIANT(TakenWasOffered_A, !take_i || valid_o)

endmodule
