// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Deep first-in first-out queue in block RAM.
//
// Contract
// - Latency: an item put in cycle t can be taken in t+2. Throughput: one in and one out a cycle.
// - Holds Depth items and one more in the output register. in_ready_o depends on registered state only.
// - clear_i empties it in one cycle; nothing may be put in that cycle. Reset empties it.
`include "gw_assert.svh"

module gw_ram_fifo #(
  /// Bits of an item.
  parameter int unsigned Width = 512,
  /// Items in the RAM, a power of two >= 2.
  parameter int unsigned Depth = 256
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             clear_i,
  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [Width-1:0] in_data_i,
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [Width-1:0] out_data_o
);

  localparam int unsigned PtrWidth = $clog2(Depth);
  logic [PtrWidth-1:0] wptr_q, rptr_q;
  logic [PtrWidth:0] usage_q;
  logic out_valid_q, push, load;

  assign in_ready_o = usage_q != (PtrWidth + 1)'(Depth);
  assign push = in_valid_i && in_ready_o;
  assign load = usage_q != '0 && (!out_valid_q || out_ready_i);
  assign out_valid_o = out_valid_q;

  gw_kernel_ram #(
    .Width(Width),
    .Depth(Depth)
  ) u_ram (
    .clk_i,
    .we_i   (push),
    .waddr_i(wptr_q),
    .wdata_i(in_data_i),
    .re_i   (load),
    .raddr_i(rptr_q),
    .rdata_o(out_data_o)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
      usage_q <= '0;
      out_valid_q <= 1'b0;
    end else if (clear_i) begin
      wptr_q <= '0;
      rptr_q <= '0;
      usage_q <= '0;
      out_valid_q <= 1'b0;
    end else begin
      if (push) wptr_q <= wptr_q + 1'b1;
      if (load) rptr_q <= rptr_q + 1'b1;
      usage_q <= usage_q + (PtrWidth + 1)'(push) - (PtrWidth + 1)'(load);
      if (load) out_valid_q <= 1'b1;
      else if (out_ready_i) out_valid_q <= 1'b0;
    end
  end

  `GW_INVARIANT(UsageBound_A, usage_q <= (PtrWidth + 1)'(Depth))
  `GW_INVARIANT(NoPushInClear_A, !(clear_i && in_valid_i))
  `GW_ASSERT(OutputStable_A, out_valid_o && !out_ready_i && !clear_i |=> out_valid_o && $stable(out_data_o))
  `GW_COVER(Full_C, usage_q == (PtrWidth + 1)'(Depth))

endmodule
