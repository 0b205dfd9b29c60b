// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Chooses the entry of a small cache that is replaced next: a free one, else one that nobody used since it was filled or
// since all were used, else any that may go; within each class the one that follows the last choice.
//
// Contract
// - The choice is combinational from registered state, `free_i` and `ok_i`.
// - An entry used once and never again goes before one that is used again and again, so a stream does not wash out a
//   working set; among unused ones the oldest goes first.
module gw_victim #(
  /// Entries, 1 or more.
  parameter int unsigned Num = 16,
  /// Derived: width of an entry's number.
  localparam int unsigned IdxWidth = (Num > 1) ? $clog2(Num) : 1
) (
  input logic clk_i,
  input logic rst_ni,
  /// Entries that hold nothing.
  input logic [Num-1:0] free_i,
  /// Entries that may be replaced now, free ones included.
  input logic [Num-1:0] ok_i,
  /// Entries used in this cycle.
  input logic [Num-1:0] used_i,
  /// The choice is filled in this cycle.
  input logic take_i,
  output logic valid_o,
  output logic [Num-1:0] onehot_o,
  output logic [IdxWidth-1:0] idx_o
);

  logic [Num-1:0] used_q, above_q, choices, preferred;
  logic [Num-1:0] ok_free, ok_unused;

  assign ok_free = ok_i & free_i;
  assign ok_unused = ok_i & ~used_q;
  assign choices = (ok_free != '0) ? ok_free : (ok_unused != '0) ? ok_unused : ok_i;
  assign preferred = ((choices & above_q) != '0) ? choices & above_q : choices;
  assign onehot_o = preferred & ~(preferred - Num'(1));
  assign valid_o = ok_i != '0;

  always_comb begin
    idx_o = '0;
    for (int unsigned i = 0; i < Num; i++) begin
      if (onehot_o[i]) idx_o |= IdxWidth'(i);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      used_q <= '0;
      above_q <= '0;
    end else begin
      used_q <= ((take_i && ok_unused == '0) ? '0 : used_q & ~(onehot_o & {Num{take_i}})) | used_i;
      if (take_i) above_q <= ~(onehot_o - Num'(1)) & ~onehot_o;
    end
  end

endmodule
