// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Deep first-in first-out queue in block RAM (gw_ram).
//
// Contract
// - An item put in cycle t can be taken in t+2. One in and one out a cycle.
// - Holds Depth items and one more at the output. in_ready_o depends on registered state only, as out_* do.
// - Items leave in the order in which they came; none is lost, invented or changed. Reset empties it.
`include "gw_assert.svh"

module gw_beat_fifo #(
  /// Type of an item.
  parameter type T = logic [7:0],
  /// Items in the RAM, a power of two, >= 2.
  parameter int unsigned Depth = 256
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

  if (Depth < 2 || 2 ** $clog2(Depth) != Depth) begin : gen_bad_depth
    $fatal(1, "gw_beat_fifo: Depth must be a power of two, at least 2");
  end

  localparam int unsigned PtrWidth = $clog2(Depth);
  logic [PtrWidth-1:0] wptr_q, rptr_q;
  logic [PtrWidth:0] usage_q;
  logic out_valid_q, push, load;
  logic [$bits(T)-1:0] rdata;

  assign in_ready_o = usage_q != (PtrWidth + 1)'(Depth);
  assign push = in_valid_i && in_ready_o;
  assign load = usage_q != '0 && (!out_valid_q || out_ready_i);
  assign out_valid_o = out_valid_q;
  assign out_data_o = T'(rdata);

  gw_ram #(
    .Width($bits(T)),
    .Depth(Depth)
  ) u_ram (
    .clk_i,
    .we_i   (push),
    .waddr_i(wptr_q),
    .wdata_i(in_data_i),
    .re_i   (load),
    .raddr_i(rptr_q),
    .rdata_o(rdata)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
      usage_q <= '0;
      out_valid_q <= 1'b0;
    end else begin
      wptr_q <= wptr_q + PtrWidth'(push);
      rptr_q <= rptr_q + PtrWidth'(load);
      usage_q <= usage_q + (PtrWidth + 1)'(push) - (PtrWidth + 1)'(load);
      if (load) out_valid_q <= 1'b1;
      else if (out_ready_i) out_valid_q <= 1'b0;
    end
  end

  `GW_INVARIANT(UsageBound_A, usage_q <= (PtrWidth + 1)'(Depth))
  `GW_ASSERT(OutputStable_A, out_valid_o && !out_ready_i |=> out_valid_o && $stable(out_data_o))
  `GW_COVER(Full_C, usage_q == (PtrWidth + 1)'(Depth))

endmodule
