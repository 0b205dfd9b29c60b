// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Cuts a range of bytes into the AXI bursts that read it.
//
// Contract
// - Bursts are aligned to a beat, in rising address order, and never cross a multiple of BurstBeats beats, so never
//   4 KiB. An empty range gives none.
// - Latency: first burst one cycle after the range. Throughput: one burst a cycle.
// - abort_i drops the range; a burst that is offered is withdrawn. Reset: no range.
module gw_read_split
  import gw_kernel_pkg::*;
#(
  /// Longest burst in beats, a power of two, 1 to MaxBurst.
  parameter int unsigned BurstBeats = LongBurst
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        abort_i,
  input  logic        range_valid_i,
  output logic        range_ready_o,
  input  addr_t       addr_i,
  /// Beats that the range touches.
  input  beat_count_t beats_i,
  output logic        burst_valid_o,
  input  logic        burst_ready_i,
  output addr_t       burst_addr_o,
  output len_t        burst_len_o
);

  localparam int unsigned BurstShift = $clog2(BurstBeats);
  if (BurstBeats > MaxBurst || BurstBeats != 2 ** BurstShift) begin : gen_bad_burst
    $fatal(1, "gw_read_split: BurstBeats must be a power of two, 1 to %0d; it is %0d", MaxBurst, BurstBeats);
  end

  typedef logic [64-BeatShift-1:0] beat_addr_t;
  beat_addr_t addr_q;
  beat_count_t left_q;
  beat_count_t in_burst, to_boundary, beats;

  assign in_burst = beat_count_t'(addr_q) % beat_count_t'(BurstBeats);
  assign to_boundary = beat_count_t'(BurstBeats) - in_burst;
  assign beats = (left_q < to_boundary) ? left_q : to_boundary;

  assign range_ready_o = left_q == '0;
  assign burst_valid_o = left_q != '0;
  assign burst_addr_o = {addr_q, {BeatShift{1'b0}}};
  assign burst_len_o = len_t'(beats - 1'b1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      addr_q <= '0;
      left_q <= '0;
    end else if (abort_i) begin
      left_q <= '0;
    end else if (range_valid_i && range_ready_o) begin
      addr_q <= addr_i[63:BeatShift];
      left_q <= beats_i;
    end else if (burst_valid_o && burst_ready_i) begin
      addr_q <= addr_q + beat_addr_t'(beats);
      left_q <= left_q - beats;
    end
  end

  // The byte within a beat is the aligner's business.
  logic unused;
  assign unused = ^addr_i[BeatShift-1:0];

endmodule
