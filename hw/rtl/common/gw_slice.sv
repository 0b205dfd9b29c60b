// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Register slice: cuts every combinational path of a valid/ready stream.
//
// Contract
// - Latency: an item taken in cycle t is offered in t+1.
// - Throughput: one item a cycle; holds up to two.
// - Every output is a register: out_* do not depend on in_*, in_ready_o does not depend on
//   out_ready_i.
// - Items leave in the order in which they came; none is lost, invented or changed.
// - Reset empties it.
`include "gw_assert.svh"

module gw_slice #(
  /// Type of an item.
  parameter type T = logic [7:0]
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic in_valid_i,
  output logic in_ready_o,
  input  T     in_data_i,
  output logic out_valid_o,
  input  logic out_ready_i,
  output T     out_data_o
);

  // The spare register takes the item that arrives while the output stalls; in_ready_o falls with
  // it.
  logic out_valid_q, spare_valid_q;
  T out_q, spare_q;
  logic load_out;

  assign in_ready_o = !spare_valid_q;
  assign out_valid_o = out_valid_q;
  assign out_data_o = out_q;
  assign load_out = !out_valid_q || out_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      out_valid_q <= 1'b0;
      spare_valid_q <= 1'b0;
    end else if (load_out) begin
      out_valid_q <= in_valid_i || spare_valid_q;
      spare_valid_q <= 1'b0;
    end else if (in_valid_i) begin
      spare_valid_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (load_out) out_q <= spare_valid_q ? spare_q : in_data_i;
    if (!spare_valid_q) spare_q <= in_data_i;
  end

  `GW_INVARIANT(SpareNeedsOut_A, !spare_valid_q || out_valid_q)
  `GW_ASSERT(InputStable_A, in_valid_i && !in_ready_o |=> in_valid_i && $stable(in_data_i))
  `GW_ASSERT(OutputStable_A, out_valid_o && !out_ready_i |=> out_valid_o && $stable(out_data_o))
  `GW_COVER(BothFull_C, spare_valid_q && out_valid_q)

endmodule
