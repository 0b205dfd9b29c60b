// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Packs pieces of up to 64 bytes into a byte stream, without gaps.
//
// Contract
// - A piece's bytes are at the low end; what is above them is not looked at. Every beat but the last is full, and the last may be
//   empty.
// - Latency: two cycles. Throughput: one piece a cycle; the end of the stream takes one more.
// - clear_i drops everything in one cycle. Reset: empty.
`include "gw_assert.svh"

module gw_byte_compactor
  import gw_kernel_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         clear_i,
  input  logic         in_valid_i,
  output logic         in_ready_o,
  input  stream_beat_t in_i,
  output logic         out_valid_o,
  input  logic         out_ready_i,
  output stream_beat_t out_o
);

  // ---- Stage 1: the piece, zero above its bytes
  logic valid_q, step;
  stream_beat_t piece_q;

  assign in_ready_o = !valid_q || step;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (clear_i) valid_q <= 1'b0;
    else if (in_ready_o) valid_q <= in_valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (in_ready_o) begin
      piece_q <= in_i;
      for (int unsigned b = 0; b < BeatBytes; b++) begin
        if (byte_count_t'(b) >= in_i.bytes) piece_q.data[8*b+:8] <= '0;
      end
    end
  end

  // ---- Stage 2: pending_q bytes wait in hold_q for a full beat
  data_t hold_q, low, high;
  byte_idx_t pending_q;
  logic [7:0] total;
  logic flush_q, out_valid_q, load_out, flush_step, full;
  stream_beat_t out_q;

  assign load_out = !out_valid_q || out_ready_i;
  assign step = valid_q && !flush_q && load_out;
  assign flush_step = flush_q && load_out;
  assign {high, low} = {{$bits(data_t){1'b0}}, hold_q} | ({{$bits(data_t){1'b0}}, piece_q.data} << {pending_q, 3'b000});
  assign total = 8'(pending_q) + 8'(piece_q.bytes);
  assign full = total >= 8'(BeatBytes);

  assign out_valid_o = out_valid_q;
  assign out_o = out_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      hold_q <= '0;
      pending_q <= '0;
      flush_q <= 1'b0;
      out_valid_q <= 1'b0;
    end else if (clear_i) begin
      hold_q <= '0;
      pending_q <= '0;
      flush_q <= 1'b0;
      out_valid_q <= 1'b0;
    end else begin
      if (load_out) out_valid_q <= flush_step || (step && full);
      if (flush_step) begin
        hold_q <= '0;
        pending_q <= '0;
        flush_q <= 1'b0;
      end else if (step) begin
        hold_q <= full ? high : low;
        pending_q <= total[BeatShift-1:0];
        flush_q <= piece_q.last;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (flush_step) out_q <= '{data: hold_q, bytes: {1'b0, pending_q}, last: 1'b1};
    else if (step && full) out_q <= '{data: low, bytes: byte_count_t'(BeatBytes), last: 1'b0};
  end

  `GW_INVARIANT(PartialIsLast_A, !out_valid_q || out_q.last || out_q.bytes == byte_count_t'(BeatBytes))
  `GW_INVARIANT(PieceFits_A, !in_valid_i || in_i.bytes <= byte_count_t'(BeatBytes))
  `GW_ASSERT(OutputStable_A, out_valid_o && !out_ready_i && !clear_i |=> out_valid_o && $stable(out_o))
  `GW_COVER(EmptyEnd_C, out_valid_q && out_q.bytes == '0)

endmodule
