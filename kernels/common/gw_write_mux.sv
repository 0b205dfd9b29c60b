// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Several write streams on one AXI port, told apart by their IDs.
//
// Contract
// - Addresses: round robin, no latency, one a cycle. Data goes out in the order of the addresses, the first beat a cycle
//   after its address at the earliest, without a gap between bursts. Responses go to the stream whose ID they have.
// - A stream must have a burst's data before it offers the address; otherwise it would hold up the others.
// - IDs of a stream: 2**IdBits from IdBase on, aligned; no two streams have one in common. Reset: empty.
`include "gw_assert.svh"

module gw_write_mux
  import gw_kernel_pkg::*;
#(
  /// Streams, 1 or more.
  parameter int unsigned NumStreams = 2,
  /// First AXI ID of each stream, and log2 of how many it has.
  parameter id_t [NumStreams-1:0] IdBase = '0,
  parameter logic [NumStreams-1:0][2:0] IdBits = '0,
  /// Addresses taken ahead of their data.
  parameter int unsigned Depth = 32
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic        [NumStreams-1:0] aw_valid_i,
  output logic        [NumStreams-1:0] aw_ready_o,
  input  burst_t      [NumStreams-1:0] aw_i,
  input  logic        [NumStreams-1:0] w_valid_i,
  output logic        [NumStreams-1:0] w_ready_o,
  input  write_beat_t [NumStreams-1:0] w_i,
  output logic        [NumStreams-1:0] b_valid_o,

  output logic                         aw_valid_o,
  input  logic                         aw_ready_i,
  output burst_t                       aw_o,
  output logic                         w_valid_o,
  input  logic                         w_ready_i,
  output write_beat_t                  w_o,
  input  logic                         b_valid_i,
  input  id_t                          b_id_i
);

  typedef logic [((NumStreams > 1) ? $clog2(NumStreams) : 1)-1:0] sel_t;

  logic [NumStreams-1:0] grant;
  sel_t sel, w_sel;
  logic any, w_sel_valid, order_ready;

  gw_rr_arbiter #(
    .NumReq(NumStreams)
  ) u_arbiter (
    .clk_i,
    .rst_ni,
    .req_i  (aw_valid_i),
    .gnt_o  (grant),
    .idx_o  (sel),
    .valid_o(any),
    .ready_i(aw_ready_i && order_ready)
  );

  assign aw_valid_o = any && order_ready;
  assign aw_ready_o = grant & {NumStreams{aw_ready_i && order_ready}};
  assign aw_o = aw_i[sel];

  // Whose data is next.
  logic [$clog2(Depth + 1)-1:0] unused_usage;

  gw_fifo #(
    .T    (sel_t),
    .Depth(Depth)
  ) u_order (
    .clk_i,
    .rst_ni,
    .in_valid_i (aw_valid_o && aw_ready_i),
    .in_ready_o (order_ready),
    .in_data_i  (sel),
    .out_valid_o(w_sel_valid),
    .out_ready_i(w_valid_o && w_ready_i && w_o.last),
    .out_data_o (w_sel),
    .usage_o    (unused_usage)
  );

  assign w_valid_o = w_sel_valid && w_valid_i[w_sel];
  assign w_o = w_i[w_sel];

  for (genvar i = 0; i < NumStreams; i++) begin : gen_stream
    assign w_ready_o[i] = w_sel_valid && w_ready_i && w_sel == sel_t'(i);
    assign b_valid_o[i] = b_valid_i && (b_id_i >> IdBits[i]) == (IdBase[i] >> IdBits[i]);
  end

  `GW_INVARIANT(ResponseHasOneStream_A, !b_valid_i || $onehot(b_valid_o))

endmodule
