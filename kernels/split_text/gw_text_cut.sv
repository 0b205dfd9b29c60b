// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Cuts an Arrow column of text into its rows and deals them out to two sides: offsets that begin with 0, and pieces of bytes.
//
// Contract
// - Side 0: rows whose bit is in match_i, side 1: in rest_i. Every row has exactly one of both bits; a beat's rows are at the low end,
//   only the last beat has fewer than 16 (wide_i: 8), or none.
// - Offsets come as rows + 1 numbers of 32 bits; their differences are lengths. Each side gets 0 and the sum after each of its rows.
// - Pieces of a row are at most 64 bytes each and end where a beat of text ends. Both outputs of both sides end with `last`.
// - Throughput: one row a cycle, and one more cycle for each beat of text in which a row goes on.
// - mismatch_o: text ended before the offsets did, or is left; the run ends all the same.
// - clear_i begins anew. Reset: as after clear_i.
`include "gw_assert.svh"

module gw_text_cut
  import gw_kernel_pkg::*;
(
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               clear_i,
  /// 8 rows a beat, else 16.
  input  logic               wide_i,

  input  logic               rows_valid_i,
  output logic               rows_ready_o,
  input  logic [15:0]        match_i,
  input  logic [15:0]        rest_i,
  input  logic               rows_last_i,

  input  logic               offsets_valid_i,
  output logic               offsets_ready_o,
  input  stream_beat_t       offsets_i,
  input  logic               text_valid_i,
  output logic               text_ready_o,
  input  stream_beat_t       text_i,

  /// One offset; none in the one that ends.
  output logic         [1:0] offset_valid_o,
  input  logic         [1:0] offset_ready_i,
  output logic [31:0]        offset_o,
  output logic         [1:0] piece_valid_o,
  input  logic         [1:0] piece_ready_i,
  output stream_beat_t       piece_o,
  /// What goes out in this cycle ends all four.
  output logic               end_o,

  output logic [1:0][31:0]   bytes_o,
  output logic               mismatch_o
);

  typedef enum logic [2:0] {First, Rows, Drain, End, Done} phase_e;
  phase_e phase_q;

  // ---- Offsets, one a cycle
  logic [3:0] offset_lane_q;
  logic [31:0] next, previous_q;
  logic offset_take, offset_beat_end;

  assign next = offsets_i.data[{offset_lane_q, 5'd0}+:32];
  assign offset_beat_end = offset_lane_q == '1 || (offsets_i.last && 7'(offset_lane_q) + 7'd1 == 7'(offsets_i.bytes[6:2]));
  assign offsets_ready_o = offset_take && offset_beat_end;

  // ---- Rows, one a cycle
  logic [15:0] exists, rest_bits;
  logic [3:0] lane_q;
  logic has_row, row_beat_end, row_take, side;
  logic [31:0] length;
  logic [1:0][31:0] sum_q;

  assign exists = match_i | rest_i;
  assign has_row = exists[lane_q];
  assign rest_bits = rest_i;
  assign side = rest_bits[lane_q];
  assign row_beat_end = lane_q == (wide_i ? 4'd7 : 4'd15) || !exists[lane_q + 4'd1];
  assign length = next - previous_q;

  // ---- The row that is being copied
  logic job_q, job_side_q, job_done, no_text_q, starved, copy;
  logic [31:0] left_q;
  byte_idx_t at_q;
  byte_count_t available, count;

  assign available = text_i.bytes - {1'b0, at_q};
  assign count = left_q < 32'(available) ? byte_count_t'(left_q) : available;
  assign starved = job_q && left_q != '0 && no_text_q;
  assign copy = job_q && left_q != '0 && !no_text_q && text_valid_i && piece_ready_i[job_side_q];
  assign job_done = job_q && (left_q == '0 || starved || (copy && left_q == 32'(count)));

  logic first_take, row_end, ending;
  assign first_take = phase_q == First && offsets_valid_i && offset_ready_i == '1;
  assign row_take = phase_q == Rows && rows_valid_i && has_row && offsets_valid_i && offset_ready_i[side] && (!job_q || job_done);
  assign row_end = phase_q == Rows && rows_valid_i && (has_row ? row_take && row_beat_end : 1'b1);
  assign rows_ready_o = row_end;
  assign offset_take = first_take || row_take;
  assign ending = phase_q == End && offset_ready_i == '1 && piece_ready_i == '1;

  logic text_end, draining;
  assign draining = phase_q == Drain && !job_q && !no_text_q && text_valid_i;
  assign text_end = copy && count == available;
  assign text_ready_o = text_end || draining;

  always_comb begin
    offset_valid_o = '0;
    piece_valid_o = '0;
    if (first_take || ending) offset_valid_o = '1;
    else if (row_take) offset_valid_o[side] = 1'b1;
    if (ending) piece_valid_o = '1;
    else if (copy) piece_valid_o[job_side_q] = 1'b1;
  end

  assign offset_o = phase_q == First ? '0 : sum_q[side] + length;
  assign piece_o = '{data: text_i.data >> {at_q, 3'b000}, bytes: ending ? '0 : count, last: ending};
  assign end_o = ending;
  assign bytes_o = sum_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      phase_q <= First;
      offset_lane_q <= '0;
      lane_q <= '0;
      job_q <= 1'b0;
      no_text_q <= 1'b0;
      at_q <= '0;
      sum_q <= '0;
      mismatch_o <= 1'b0;
    end else if (clear_i) begin
      phase_q <= First;
      offset_lane_q <= '0;
      lane_q <= '0;
      job_q <= 1'b0;
      no_text_q <= 1'b0;
      at_q <= '0;
      sum_q <= '0;
      mismatch_o <= 1'b0;
    end else begin
      unique case (phase_q)
        First: if (first_take) phase_q <= Rows;
        Rows: if (row_end && rows_last_i) phase_q <= Drain;
        Drain: if (!job_q && no_text_q) phase_q <= End;
        End: if (ending) phase_q <= Done;
        default: ;
      endcase
      if (offset_take) offset_lane_q <= offset_beat_end ? '0 : offset_lane_q + 1'b1;
      if (row_end) lane_q <= '0;
      else if (row_take) lane_q <= lane_q + 1'b1;
      if (row_take) sum_q[side] <= sum_q[side] + length;
      if (row_take) job_q <= 1'b1;
      else if (job_done) job_q <= 1'b0;
      if (text_ready_o) at_q <= '0;
      else if (copy) at_q <= at_q + count[BeatShift-1:0];
      if (text_ready_o && text_i.last) no_text_q <= 1'b1;
      if (starved || (draining && available != '0)) mismatch_o <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (offset_take) previous_q <= next;
    if (row_take) begin
      job_side_q <= side;
      left_q <= length;
    end else if (copy) begin
      left_q <= left_q - 32'(count);
    end
  end

  // Offsets come in whole numbers.
  logic unused;
  assign unused = ^offsets_i.bytes[1:0];

  `GW_INVARIANT(OneSide_A, !rows_valid_i || (match_i & rest_i) == '0)
  `GW_INVARIANT(PositionInBeat_A, !text_valid_i || {1'b0, at_q} <= text_i.bytes)
  `GW_COVER(RowGoesOn_C, text_end && !job_done)
  `GW_COVER(EmptyRow_C, row_take && length == '0)

endmodule
