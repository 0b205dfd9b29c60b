// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Register slice: cuts every combinational path of a valid/ready stream. An item can be withdrawn while it is new: for what is
// begun before it is known whether it is needed.
//
// Contract
// - Latency: an item taken in cycle t is offered in t+1.
// - Throughput: one item a cycle; holds up to two.
// - Every output but `out_cancel_o` is a register: out_* do not depend on in_*, in_ready_o does not depend on
//   out_ready_i.
// - Items leave in the order in which they came; none is lost, invented or changed.
// - `cancel_i`: the item taken in the cycle before is withdrawn. If it is the one on offer, `out_cancel_o` says so: it is
//   not taken then, whatever `out_ready_i` says.
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
  input  logic cancel_i,
  output logic out_valid_o,
  output logic out_cancel_o,
  input  logic out_ready_i,
  output T     out_data_o
);

  // The spare register takes the item that arrives while the output stalls; in_ready_o falls with
  // it.
  logic out_valid_q, spare_valid_q;
  T out_q, spare_q;
  logic load_out, spare_valid, in_take;

  assign in_ready_o = !spare_valid_q;
  assign out_valid_o = out_valid_q;
  assign out_data_o = out_q;
  // The newest item is the spare one, if there is one.
  assign out_cancel_o = cancel_i && !spare_valid_q;
  assign spare_valid = spare_valid_q && !cancel_i;
  assign load_out = !out_valid_q || out_cancel_o || out_ready_i;
  assign in_take = in_valid_i && in_ready_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      out_valid_q <= 1'b0;
      spare_valid_q <= 1'b0;
    end else if (load_out) begin
      out_valid_q <= in_take || spare_valid;
      spare_valid_q <= 1'b0;
    end else begin
      spare_valid_q <= in_take || spare_valid;
    end
  end

  always_ff @(posedge clk_i) begin
    if (load_out) out_q <= spare_valid_q ? spare_q : in_data_i;
    if (!spare_valid_q) spare_q <= in_data_i;
  end

  `GW_INVARIANT(SpareNeedsOut_A, !spare_valid_q || out_valid_q)
  `GW_ASSERT(InputStable_A, in_valid_i && !in_ready_o |=> in_valid_i && $stable(in_data_i))
  `GW_ASSERT(OutputStable_A, out_valid_o && !out_cancel_o && !out_ready_i |=> out_valid_o && $stable(out_data_o))
  `GW_ASSERT(CancelsTaken_A, !in_take |=> !cancel_i)
  `GW_COVER(BothFull_C, spare_valid_q && out_valid_q)
  `GW_COVER(CancelSpare_C, cancel_i && spare_valid_q)

endmodule
