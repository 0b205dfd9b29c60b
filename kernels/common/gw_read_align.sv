// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Turns the aligned beats that cover a range of bytes into a stream whose first byte is the range's first byte.
//
// Contract
// - One range at a time, in order; a range without bytes gives one beat with none. All beats but the last are full.
// - Latency: one cycle, counted from the last of the one or two aligned beats that a beat of the stream needs. Throughput:
//   one beat a cycle, with one cycle more a range and one more for one that is not aligned to a beat.
// - Bytes past the end are unspecified. out_* are registers.
// - abort_i drops everything. Reset: no range.
module gw_read_align
  import gw_kernel_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         abort_i,
  input  logic         range_valid_i,
  output logic         range_ready_o,
  /// First byte's place in its beat.
  input  byte_idx_t    offset_i,
  /// Aligned beats of the range.
  input  beat_count_t  beats_i,
  /// Bytes of the last beat of the stream, 0 for an empty range.
  input  byte_count_t  tail_bytes_i,
  /// The stream has as many beats as the aligned range, and not one less.
  input  logic         same_beats_i,

  input  logic         in_valid_i,
  output logic         in_ready_o,
  input  data_t        in_data_i,

  output logic         out_valid_o,
  input  logic         out_ready_i,
  output stream_beat_t out_o
);

  logic active_q;       // a range is being worked on
  logic primed_q;       // prev_q holds the beat before
  logic flush_q;        // the last beat of the stream comes from prev_q alone
  byte_idx_t offset_q;
  byte_count_t tail_bytes_q;
  beat_count_t left_q;  // aligned beats still to come
  data_t prev_q, rotated;
  stream_beat_t out_d, out_q;
  logic out_valid_q;
  logic prime, end_beat, load_out, take, give;

  assign rotated = data_t'({in_data_i, in_data_i} >> {offset_q, 3'b000});
  assign range_ready_o = !active_q;

  // An unaligned range needs its first beat in hand before the first can go out.
  assign prime = offset_q != '0 && !primed_q && left_q != '0;
  assign end_beat = (left_q == '0) || (left_q == beat_count_t'(1) && !flush_q);
  assign load_out = !out_valid_q || out_ready_i;
  assign in_ready_o = active_q && left_q != '0 && (prime || load_out);
  assign take = in_valid_i && in_ready_o;
  assign give = active_q && !prime && (left_q == '0 || in_valid_i) && load_out;

  assign out_valid_o = out_valid_q;
  assign out_o = out_q;
  assign out_d.last = end_beat;
  assign out_d.bytes = end_beat ? tail_bytes_q : byte_count_t'(BeatBytes);
  for (genvar b = 0; b < int'(BeatBytes); b++) begin : gen_byte
    // Byte b is in the beat before when it is below the place where that one ends.
    assign out_d.data[8*b+:8] = (offset_q == '0 || byte_count_t'(b) + {1'b0, offset_q} >= byte_count_t'(BeatBytes)) ?
                                rotated[8*b+:8] : prev_q[8*b+:8];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      out_valid_q <= 1'b0;
      primed_q <= 1'b0;
      flush_q <= 1'b0;
      offset_q <= '0;
      tail_bytes_q <= '0;
      left_q <= '0;
    end else if (abort_i) begin
      active_q <= 1'b0;
      out_valid_q <= 1'b0;
    end else begin
      if (range_valid_i && range_ready_o) begin
        active_q <= 1'b1;
        primed_q <= 1'b0;
        flush_q <= same_beats_i && offset_i != '0;
        offset_q <= offset_i;
        tail_bytes_q <= tail_bytes_i;
        left_q <= beats_i;
      end
      if (take) begin
        primed_q <= 1'b1;
        left_q <= left_q - 1'b1;
      end
      if (give && end_beat) active_q <= 1'b0;
      if (load_out) out_valid_q <= give;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) prev_q <= rotated;
    if (give) out_q <= out_d;
  end

endmodule
