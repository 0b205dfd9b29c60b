// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Places a byte stream at an address: aligned beats with byte strobes, grouped into AXI bursts.
//
// Contract
// - One command (the address of the first byte) a stream; the stream ends with `last` and may be empty.
// - Bursts never cross a multiple of BurstBeats beats, so never 4 KiB. A burst is announced in the cycle of its last
//   beat or later, never before: who takes it has all its data.
// - Latency: none. Throughput: one beat a cycle, with one cycle more a stream, and one more when its end spills into a beat
//   of its own.
// - abort_i drops everything. Reset: no command.
module gw_write_align
  import gw_kernel_pkg::*;
#(
  /// Longest burst in beats, a power of two, 2 to MaxBurst.
  parameter int unsigned BurstBeats = LongBurst
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         abort_i,
  /// A stream is being written.
  output logic         busy_o,
  input  logic         addr_valid_i,
  output logic         addr_ready_o,
  input  addr_t        addr_i,

  input  logic         in_valid_i,
  output logic         in_ready_o,
  input  stream_beat_t in_i,

  output logic         beat_valid_o,
  input  logic         beat_ready_i,
  output data_t        beat_data_o,
  output strb_t        beat_strb_o,

  output logic         burst_valid_o,
  input  logic         burst_ready_i,
  output addr_t        burst_addr_o,
  output len_t         burst_len_o
);

  localparam int unsigned BurstShift = $clog2(BurstBeats);
  if (BurstBeats < 2 || BurstBeats > MaxBurst || BurstBeats != 2 ** BurstShift) begin : gen_bad_burst
    $fatal(1, "gw_write_align: BurstBeats must be a power of two, 2 to %0d; it is %0d", MaxBurst, BurstBeats);
  end

  typedef logic [64-BeatShift-1:0] beat_addr_t;
  logic active_q, flush_q;
  byte_idx_t offset_q;
  beat_addr_t addr_q;             // next beat to go out
  logic [BurstShift:0] open_q;    // beats of the burst that is not announced yet
  data_t rotated, carry_q;
  strb_t in_strb, strb_hi, strb_lo, carry_strb_q;

  // ---- Rotation: the stream's bytes below offset_q of the aligned beat come from the beat before.
  for (genvar b = 0; b < int'(BeatBytes); b++) begin : gen_strb
    assign in_strb[b] = byte_count_t'(b) < in_i.bytes;
    assign beat_data_o[8*b+:8] = carry_strb_q[b] ? carry_q[8*b+:8] : rotated[8*b+:8];
  end
  assign rotated = data_t'({in_i.data, in_i.data} << {offset_q, 3'b000} >> (8 * BeatBytes));
  assign {strb_hi, strb_lo} = {{BeatBytes{1'b0}}, in_strb} << offset_q;
  assign beat_strb_o = carry_strb_q | (flush_q ? '0 : strb_lo);

  // ---- What this cycle does
  logic has_beat, spills, ends, boundary, step, close, room;
  assign has_beat = beat_strb_o != '0;            // only the last beat of a stream can be without bytes
  assign spills = !flush_q && in_i.last && strb_hi != '0;
  assign ends = (flush_q || in_i.last) && !spills;
  assign boundary = &addr_q[BurstShift-1:0];
  assign close = ends ? (has_beat || open_q != '0) : boundary;
  // Neither output waits for the other's ready: both see their own queue's room only.
  assign room = beat_ready_i && burst_ready_i;
  assign step = active_q && (flush_q || in_valid_i) && room;

  assign beat_valid_o = step && has_beat;
  assign burst_valid_o = step && close;
  assign burst_addr_o = {addr_q - beat_addr_t'(open_q), {BeatShift{1'b0}}};
  assign burst_len_o = len_t'(open_q) - len_t'(!has_beat);
  assign in_ready_o = active_q && !flush_q && room;
  assign addr_ready_o = !active_q && !abort_i;
  assign busy_o = active_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      flush_q <= 1'b0;
      offset_q <= '0;
      addr_q <= '0;
      open_q <= '0;
      carry_strb_q <= '0;
    end else if (abort_i) begin
      active_q <= 1'b0;
    end else if (addr_valid_i && addr_ready_o) begin
      active_q <= 1'b1;
      flush_q <= 1'b0;
      {addr_q, offset_q} <= addr_i;
      open_q <= '0;
      carry_strb_q <= '0;
    end else if (step) begin
      active_q <= !ends;
      flush_q <= spills;
      addr_q <= addr_q + beat_addr_t'(has_beat);
      open_q <= close ? '0 : open_q + 1'b1;
      carry_strb_q <= strb_hi;
    end
  end

  always_ff @(posedge clk_i) begin
    if (step) carry_q <= rotated;
  end

endmodule
