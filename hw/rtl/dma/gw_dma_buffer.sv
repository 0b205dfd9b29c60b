// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Queue of data beats in block RAM. It never says no: who puts beats in has counted the free ones.
//
// Contract
// - Beats leave in the order in which they came. A beat put in in cycle t is offered in t+3 at the earliest; one in and one
//   out a cycle.
// - `out_*` come from a small queue behind the memory, so that its output is registered.
`include "gw_assert.svh"

module gw_dma_buffer #(
  /// Bits of a beat.
  parameter int unsigned Width = 512,
  /// Beats, a power of two, 4 or more.
  parameter int unsigned Depth = 256
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             in_valid_i,
  input  logic [Width-1:0] in_data_i,
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [Width-1:0] out_data_o
);

  if (Depth < 4 || (Depth & (Depth - 1)) != 0) begin : gen_bad_depth
    $fatal(1, "gw_dma_buffer: Depth must be a power of two, 4 or more");
  end

  // Covers the cycle of the read and the cycle in which the queue's level is known.
  localparam int unsigned Ahead = 4;
  localparam int unsigned AddrWidth = $clog2(Depth);
  localparam int unsigned AheadWidth = $clog2(Ahead + 1);

  logic [AddrWidth:0] wptr_q, rptr_q;
  logic [Width-1:0] read_data;
  logic read, read_q, queue_ready;
  logic [AheadWidth-1:0] credit_q;

  assign read = wptr_q != rptr_q && credit_q != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
      read_q <= 1'b0;
      credit_q <= AheadWidth'(Ahead);
    end else begin
      wptr_q <= wptr_q + (AddrWidth + 1)'(in_valid_i);
      rptr_q <= rptr_q + (AddrWidth + 1)'(read);
      read_q <= read;
      credit_q <= credit_q - AheadWidth'(read) + AheadWidth'(out_valid_o && out_ready_i);
    end
  end

  gw_ram #(
    .Width(Width),
    .Depth(Depth)
  ) u_ram (
    .clk_i,
    .we_i   (in_valid_i),
    .waddr_i(wptr_q[AddrWidth-1:0]),
    .wdata_i(in_data_i),
    .re_i   (read),
    .raddr_i(rptr_q[AddrWidth-1:0]),
    .rdata_o(read_data)
  );

  gw_fifo #(
    .T    (logic [Width-1:0]),
    .Depth(Ahead)
  ) u_ahead (
    .clk_i,
    .rst_ni,
    .in_valid_i (read_q),
    .in_ready_o (queue_ready),
    .in_data_i  (read_data),
    .out_valid_o,
    .out_ready_i,
    .out_data_o,
    .usage_o    ()
  );

  `GW_INVARIANT(Room_A, !in_valid_i || wptr_q - rptr_q != (AddrWidth + 1)'(Depth))
  `GW_INVARIANT(AheadRoom_A, !read_q || queue_ready)

endmodule
