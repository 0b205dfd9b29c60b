// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Several write streams on one AXI port, told apart by their IDs.
//
// Contract
// - Streams are gw_write_stream's, which have a burst's data before they offer its address: so none holds up another. The port is
//   shared as gw_write_mux says.
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

  logic [NumStreams-1:0] aw_valid, aw_ready, w_valid, w_ready, b_valid;
  burst_t [NumStreams-1:0] aw;
  write_beat_t [NumStreams-1:0] w;

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
      .aw_ready_i  (aw_ready[i]),
      .aw_o        (aw[i]),
      .w_valid_o   (w_valid[i]),
      .w_ready_i   (w_ready[i]),
      .w_o         (w[i]),
      .b_valid_i   (b_valid[i]),
      .b_i
    );
  end

  gw_write_mux #(
    .NumStreams(NumStreams),
    .IdBase    (IdBase),
    .IdBits    (IdBits),
    .Depth     (Depth)
  ) u_mux (
    .clk_i,
    .rst_ni,
    .aw_valid_i(aw_valid),
    .aw_ready_o(aw_ready),
    .aw_i      (aw),
    .w_valid_i (w_valid),
    .w_ready_o (w_ready),
    .w_i       (w),
    .b_valid_o (b_valid),
    .aw_valid_o,
    .aw_ready_i,
    .aw_o,
    .w_valid_o,
    .w_ready_i,
    .w_o,
    .b_valid_i,
    .b_id_i    (b_i.id)
  );

endmodule
