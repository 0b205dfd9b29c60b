// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Several write streams on one AXI port, told apart by their IDs.
//
// Contract
// - Streams are gw_write_stream's, which have a burst's data before they offer its address: so none holds up another. Addresses: round
//   robin, no latency, one a cycle. Data goes out in the order of the addresses, the first beat a cycle after its address at the
//   earliest, without a gap between bursts. Responses go to the stream whose ID they have.
// - IDs of a stream: 2**IdBits from IdBase on, aligned; no two streams have one in common. Reset: empty.
`include "gw_assert.svh"

module gw_writers
  import gw_kernel_pkg::*;
#(
  /// Streams, 1 or more.
  parameter int unsigned NumStreams = 2,
  /// Streams that short bursts are enough for: a beat of a bitmap lasts 32 cycles.
  parameter logic [NumStreams-1:0] Short = '0,
  /// As in gw_write_stream, of the others.
  parameter int unsigned BufferBeats = 256,
  parameter int unsigned BurstBeats = 64,
  /// First AXI ID of each stream, and log2 of how many it has.
  parameter id_t [NumStreams-1:0] IdBase = '0,
  parameter logic [NumStreams-1:0][2:0] IdBits = '0,
  /// Addresses taken ahead of their data.
  parameter int unsigned Depth = 32
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic                          abort_i,
  output logic         [NumStreams-1:0] busy_o,
  output logic         [NumStreams-1:0] error_o,
  input  logic         [NumStreams-1:0] addr_valid_i,
  output logic         [NumStreams-1:0] addr_ready_o,
  input  addr_t        [NumStreams-1:0] addr_i,
  input  logic         [NumStreams-1:0] in_valid_i,
  output logic         [NumStreams-1:0] in_ready_o,
  input  stream_beat_t [NumStreams-1:0] in_i,

  output logic                          aw_valid_o,
  input  logic                          aw_ready_i,
  output burst_t                        aw_o,
  output logic                          w_valid_o,
  input  logic                          w_ready_i,
  output write_beat_t                   w_o,
  input  logic                          b_valid_i,
  input  write_rsp_t                    b_i
);

  typedef logic [((NumStreams > 1) ? $clog2(NumStreams) : 1)-1:0] sel_t;

  logic [NumStreams-1:0] aw_valid, w_valid, grant, b_valid;
  burst_t [NumStreams-1:0] aw;
  write_beat_t [NumStreams-1:0] w;
  sel_t sel, w_sel;
  logic any, order_ready, w_sel_valid;

  for (genvar i = 0; i < NumStreams; i++) begin : gen_stream
    gw_write_stream #(
      .BufferBeats(Short[i] ? 32 : BufferBeats),
      .BurstBeats (Short[i] ? 16 : BurstBeats),
      .IdBase     (IdBase[i]),
      .IdBits     (32'(IdBits[i]))
    ) u_write (
      .clk_i,
      .rst_ni,
      .abort_i,
      .busy_o      (busy_o[i]),
      .error_o     (error_o[i]),
      .addr_valid_i(addr_valid_i[i]),
      .addr_ready_o(addr_ready_o[i]),
      .addr_i      (addr_i[i]),
      .in_valid_i  (in_valid_i[i]),
      .in_ready_o  (in_ready_o[i]),
      .in_i        (in_i[i]),
      .aw_valid_o  (aw_valid[i]),
      .aw_ready_i  (grant[i] && aw_ready_i && order_ready),
      .aw_o        (aw[i]),
      .w_valid_o   (w_valid[i]),
      .w_ready_i   (w_sel_valid && w_ready_i && w_sel == sel_t'(i)),
      .w_o         (w[i]),
      .b_valid_i   (b_valid[i]),
      .b_i
    );
    assign b_valid[i] = b_valid_i && (b_i.id >> IdBits[i]) == (IdBase[i] >> IdBits[i]);
  end

  gw_rr_arbiter #(
    .NumReq(NumStreams)
  ) u_arbiter (
    .clk_i,
    .rst_ni,
    .req_i  (aw_valid),
    .gnt_o  (grant),
    .idx_o  (sel),
    .valid_o(any),
    .ready_i(aw_ready_i && order_ready)
  );

  assign aw_valid_o = any && order_ready;
  assign aw_o = aw[sel];

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

  assign w_valid_o = w_sel_valid && w_valid[w_sel];
  assign w_o = w[w_sel];

  `GW_INVARIANT(ResponseHasOneStream_A, !b_valid_i || $onehot(b_valid))

endmodule
