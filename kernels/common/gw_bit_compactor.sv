// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Packs bits of selected rows into a bitmap: of up to 16 rows a cycle, the bits of those with a mask bit, without gaps, the
// first in bit 0 of byte 0.
//
// Contract
// - Bits come out in the order of the rows, 512 a beat; every beat but the last is full, and the last may be empty. Bits of its
//   last byte that belong to no row are zero.
// - Latency: two cycles. Throughput: 16 rows a cycle; the end of the stream takes one or two more.
// - clear_i drops everything in one cycle. Reset: empty.
`include "gw_assert.svh"

module gw_bit_compactor
  import gw_kernel_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         clear_i,
  input  logic         in_valid_i,
  output logic         in_ready_o,
  input  logic [15:0]  mask_i,
  input  logic [15:0]  bits_i,
  input  logic         last_i,
  output logic         out_valid_o,
  input  logic         out_ready_i,
  output stream_beat_t out_o
);

  localparam int unsigned Lanes = 16;
  localparam int unsigned Words = 8 * BeatBytes / Lanes;

  // ---- Stage 1: the selected bits at the low end
  logic valid_q, last_q, step;
  logic [Lanes-1:0] packed_d, packed_q;
  logic [4:0] count_q;

  assign in_ready_o = !valid_q || step;

  always_comb begin
    packed_d = '0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (mask_i[l] && bits_i[l]) packed_d[4'($countones(mask_i & ((16'd1 << l) - 16'd1)))] = 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (clear_i) valid_q <= 1'b0;
    else if (in_ready_o) valid_q <= in_valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (in_ready_o) begin
      packed_q <= packed_d;
      last_q <= last_i;
      count_q <= 5'($countones(mask_i));
    end
  end

  // ---- Stage 2: fewer than 16 bits wait in pending_q; a full word goes to its place in the beat
  logic [Lanes-1:0] pending_q;
  logic [3:0] pending_count_q;
  logic [2*Lanes-1:0] joined;
  logic [4:0] total;
  logic [Words-1:0][Lanes-1:0] words_q, beat;
  logic [$clog2(Words)-1:0] word_q;
  logic flush_q, out_valid_q, load_out, flush_step, word_full, beat_full;
  byte_count_t tail_bytes;
  stream_beat_t out_q;

  assign load_out = !out_valid_q || out_ready_i;
  assign step = valid_q && !flush_q && load_out;
  assign flush_step = flush_q && load_out;
  assign joined = {{Lanes{1'b0}}, pending_q} | ({{Lanes{1'b0}}, packed_q} << pending_count_q);
  assign total = 5'(pending_count_q) + count_q;
  assign word_full = total[4];
  assign beat_full = step && word_full && word_q == '1;

  // Words behind the current one still hold bits of the beat before.
  always_comb begin
    for (int unsigned w = 0; w < Words; w++) begin
      beat[w] = '0;
      if (($clog2(Words))'(w) < word_q) beat[w] = words_q[w];
      else if (($clog2(Words))'(w) == word_q) beat[w] = flush_q ? pending_q : joined[Lanes-1:0];
    end
  end

  assign tail_bytes = {1'b0, word_q, 1'b0} + byte_count_t'(pending_count_q != '0) + byte_count_t'(pending_count_q > 4'd8);

  assign out_valid_o = out_valid_q;
  assign out_o = out_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pending_q <= '0;
      pending_count_q <= '0;
      word_q <= '0;
      flush_q <= 1'b0;
      out_valid_q <= 1'b0;
    end else if (clear_i) begin
      pending_q <= '0;
      pending_count_q <= '0;
      word_q <= '0;
      flush_q <= 1'b0;
      out_valid_q <= 1'b0;
    end else begin
      if (load_out) out_valid_q <= beat_full || flush_step;
      if (flush_step) begin
        pending_q <= '0;
        pending_count_q <= '0;
        word_q <= '0;
        flush_q <= 1'b0;
      end else if (step) begin
        pending_q <= word_full ? joined[2*Lanes-1:Lanes] : joined[Lanes-1:0];
        pending_count_q <= total[3:0];
        word_q <= word_q + ($clog2(Words))'(word_full);
        flush_q <= last_q;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (step && word_full) words_q[word_q] <= joined[Lanes-1:0];
    if (beat_full) out_q <= '{data: beat, bytes: byte_count_t'(BeatBytes), last: 1'b0};
    else if (flush_step) out_q <= '{data: beat, bytes: tail_bytes, last: 1'b1};
  end

  `GW_INVARIANT(PartialIsLast_A, !out_valid_q || out_q.last || out_q.bytes == byte_count_t'(BeatBytes))
  `GW_INVARIANT(NothingAbovePending_A, pending_q >> pending_count_q == '0)
  `GW_ASSERT(OutputStable_A, out_valid_o && !out_ready_i && !clear_i |=> out_valid_o && $stable(out_o))
  `GW_COVER(EmptyEnd_C, out_valid_q && out_q.bytes == '0)

endmodule
