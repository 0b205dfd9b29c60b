// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_writers for the streams of gw_text_streams, in its order.
//
// Contract
// - Every stream has AXI IDs of its own: a quarter of them, or half of one where a bitmap has the other half.
module gw_text_writers
  import gw_kernel_pkg::*;
#(
  /// As in gw_text_streams.
  parameter int unsigned IdWidth = 4,
  localparam int unsigned NumOutputs = IdWidth > 2 ? 6 : 4
) (
  /// As in gw_writers.
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic                          abort_i,
  output logic         [NumOutputs-1:0] busy_o,
  output logic         [NumOutputs-1:0] error_o,
  input  logic         [NumOutputs-1:0] addr_valid_i,
  output logic         [NumOutputs-1:0] addr_ready_o,
  input  addr_t        [NumOutputs-1:0] addr_i,
  input  logic         [NumOutputs-1:0] in_valid_i,
  output logic         [NumOutputs-1:0] in_ready_o,
  input  stream_beat_t [NumOutputs-1:0] in_i,

  output logic                          aw_valid_o,
  input  logic                          aw_ready_i,
  output burst_t                        aw_o,
  output logic                          w_valid_o,
  input  logic                          w_ready_i,
  output write_beat_t                   w_o,
  input  logic                          b_valid_i,
  input  write_rsp_t                    b_i
);

  // Stream i of the first four has quarter i; bitmaps have the second half of an offsets' quarter.
  localparam int unsigned QuarterBits = IdWidth - 2;
  localparam int unsigned SharedBits = NumOutputs > 4 ? QuarterBits - 1 : QuarterBits;
  localparam logic [2:0] Own = 3'(QuarterBits);
  localparam logic [2:0] Shared = 3'(SharedBits);
  localparam id_t Second = id_t'(1) << SharedBits;
  localparam id_t [3:0] Quarter = {id_t'(3) << QuarterBits, id_t'(2) << QuarterBits, id_t'(1) << QuarterBits, id_t'(0)};
  localparam id_t [5:0] Base = {Quarter[2] | Second, Quarter[0] | Second, Quarter};
  localparam logic [5:0][2:0] Bits = {Shared, Shared, Own, Shared, Own, Shared};

  gw_writers #(
    .NumStreams (NumOutputs),
    .Short      (NumOutputs'(6'b110000)),
    .BufferBeats(64),
    .BurstBeats (32),
    .IdBase     (Base[NumOutputs-1:0]),
    .IdBits     (Bits[NumOutputs-1:0])
  ) u_writers (
    .clk_i,
    .rst_ni,
    .abort_i,
    .busy_o,
    .error_o,
    .addr_valid_i,
    .addr_ready_o,
    .addr_i,
    .in_valid_i,
    .in_ready_o,
    .in_i,
    .aw_valid_o,
    .aw_ready_i,
    .aw_o,
    .w_valid_o,
    .w_ready_i,
    .w_o,
    .b_valid_i,
    .b_i
  );

endmodule
