// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Answers of reads that the port does not take at once: up to four.
//
// Contract
// - An answer is offered in the cycle in which it comes, or behind those before it. `usage_o`: those that wait; who puts one has looked there
//   before.
// - Whether there is an answer is known late: its data is stored in any case, and only pointers know.
`include "gw_assert.svh"

module gw_cache_answers #(
  /// An answer.
  parameter type T = logic
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       in_valid_i,
  input  T           in_data_i,
  output logic       out_valid_o,
  input  logic       out_ready_i,
  output T           out_data_o,
  output logic [2:0] usage_o
);

  T mem[4];
  logic [1:0] wptr_q, rptr_q;
  logic [2:0] usage_q;
  logic some_q, push, pop;
  assign out_valid_o = some_q || in_valid_i;
  assign out_data_o = some_q ? mem[rptr_q] : in_data_i;
  assign push = in_valid_i && (some_q || !out_ready_i);
  assign pop = some_q && out_ready_i;
  assign usage_o = usage_q;

  // With four that wait nobody puts one.
  always_ff @(posedge clk_i) if (!usage_q[2]) mem[wptr_q] <= in_data_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
      usage_q <= '0;
      some_q <= 1'b0;
    end else begin
      wptr_q <= wptr_q + 2'(push);
      rptr_q <= rptr_q + 2'(pop);
      usage_q <= usage_q + 3'(push) - 3'(pop);
      some_q <= push || (some_q && !(pop && usage_q == 3'd1));
    end
  end

  `GW_INVARIANT(Room_A, !in_valid_i || !usage_q[2])
  `GW_INVARIANT(Some_A, some_q == (usage_q != '0))
  `GW_COVER(Full_C, usage_q[2])

endmodule
