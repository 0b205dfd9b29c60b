// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Several read streams on one AXI port, told apart by their IDs.
//
// Contract
// - Streams are gw_read_stream's. Addresses: round robin, no latency, one a cycle. Data goes to the stream whose ID it has, in the
//   same cycle.
// - IDs of a stream: 2**IdBits from IdBase on, aligned; no two streams have one in common. Reset: empty.
`include "gw_assert.svh"

module gw_readers
  import gw_kernel_pkg::*;
#(
  /// Streams, 1 or more.
  parameter int unsigned NumStreams = 2,
  /// Streams that a few short bursts are enough for: a beat of a bitmap lasts 32 cycles.
  parameter logic [NumStreams-1:0] Short = '0,
  /// As in gw_read_stream, of the others.
  parameter int unsigned Slots = 16,
  parameter int unsigned BurstBeats = 64,
  /// First AXI ID of each stream, and log2 of how many it has.
  parameter id_t [NumStreams-1:0] IdBase = '0,
  parameter logic [NumStreams-1:0][2:0] IdBits = '0
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic                          abort_i,
  output logic         [NumStreams-1:0] busy_o,
  output logic         [NumStreams-1:0] error_o,
  input  logic         [NumStreams-1:0] range_valid_i,
  output logic         [NumStreams-1:0] range_ready_o,
  input  range_t       [NumStreams-1:0] range_i,
  output logic         [NumStreams-1:0] out_valid_o,
  input  logic         [NumStreams-1:0] out_ready_i,
  output stream_beat_t [NumStreams-1:0] out_o,

  output logic                          ar_valid_o,
  input  logic                          ar_ready_i,
  output burst_t                        ar_o,
  input  logic                          r_valid_i,
  input  read_beat_t                    r_i
);

  localparam int unsigned SelWidth = (NumStreams > 1) ? $clog2(NumStreams) : 1;

  logic [NumStreams-1:0] ar_valid, grant, r_valid;
  burst_t [NumStreams-1:0] ar;
  logic [SelWidth-1:0] sel;

  for (genvar i = 0; i < NumStreams; i++) begin : gen_stream
    gw_read_stream #(
      .Slots     (Short[i] ? 4 : Slots),
      .BurstBeats(Short[i] ? 16 : BurstBeats),
      .IdBase    (IdBase[i]),
      .IdBits    (32'(IdBits[i]))
    ) u_read (
      .clk_i,
      .rst_ni,
      .abort_i,
      .busy_o       (busy_o[i]),
      .error_o      (error_o[i]),
      .range_valid_i(range_valid_i[i]),
      .range_ready_o(range_ready_o[i]),
      .range_i      (range_i[i]),
      .ar_valid_o   (ar_valid[i]),
      .ar_ready_i   (grant[i] && ar_ready_i),
      .ar_o         (ar[i]),
      .r_valid_i    (r_valid[i]),
      .r_i,
      .out_valid_o  (out_valid_o[i]),
      .out_ready_i  (out_ready_i[i]),
      .out_o        (out_o[i])
    );
    assign r_valid[i] = r_valid_i && (r_i.id >> IdBits[i]) == (IdBase[i] >> IdBits[i]);
  end

  gw_rr_arbiter #(
    .NumReq(NumStreams)
  ) u_arbiter (
    .clk_i,
    .rst_ni,
    .req_i  (ar_valid),
    .gnt_o  (grant),
    .idx_o  (sel),
    .valid_o(ar_valid_o),
    .ready_i(ar_ready_i)
  );

  assign ar_o = ar[sel];

  `GW_INVARIANT(DataHasOneStream_A, !r_valid_i || $onehot(r_valid))

endmodule
