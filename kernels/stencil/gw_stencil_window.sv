// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// One iteration of a stencil: rows in, rows out, two rows kept in block RAM.
//
//   in ──> {row above, row} of the column ──> column sums ──> this beat, its left and right neighbours ──> out
//           block RAM, a place a beat
//
// Contract
// - start_i begins an iteration of height_i rows of pitch_i / 64 beats, which are constant until its last beat is out; all
//   of them come in and go out, in order, `last` with the last.
// - Throughput: one beat a cycle. A beat comes out when the one below and right of it came in, three cycles later; behind
//   the last row nothing needs to come in.
// - in_ready_o depends on out_ready_i. clear_i drops everything. Reset: idle.
`include "gw_assert.svh"

module gw_stencil_window
  import gw_kernel_pkg::*;
#(
  /// Beats of the longest row, a power of two >= 2.
  parameter int unsigned RowBeats = 256,
  /// Derived.
  localparam int unsigned ColWidth = $clog2(RowBeats),
  localparam int unsigned PitchWidth = BeatShift + ColWidth + 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  clear_i,
  input  logic                  start_i,
  /// Nine points, else five.
  input  logic                  nine_i,
  /// Points a row, at least 1.
  input  logic [PitchWidth-1:0] width_i,
  /// Bytes a row, whole beats, at least two of them.
  input  logic [PitchWidth-1:0] pitch_i,
  /// Rows, at least 1.
  input  logic [31:0]           height_i,
  input  logic                  in_valid_i,
  output logic                  in_ready_o,
  input  data_t                 in_i,
  output logic                  out_valid_o,
  input  logic                  out_ready_i,
  output stream_beat_t          out_o
);

  typedef logic [ColWidth-1:0] col_t;
  typedef logic [32:0] row_t;         // one more than there are rows, too
  typedef logic [BeatBytes-1:0][7:0] bytes_t;
  // What a column of three points gives to the point in its middle, and to its neighbours left and right.
  typedef logic [BeatBytes-1:0][10:0] centre_t;
  typedef logic [BeatBytes-1:0][9:0] side_t;

  typedef struct packed {
    logic    valid;
    logic    last;
    strb_t   keep;    // points of the border, and what follows the row
    bytes_t  points;
    centre_t centre;
    side_t   side;
  } column_t;

  logic advance, take;

  // ---- Beats that come in; one row and one beat behind the last row there are none
  logic active_q, behind;
  row_t row_q;
  col_t col_q, last_col;

  assign last_col = col_t'((pitch_i >> BeatShift) - 1'b1);
  assign behind = row_q >= {1'b0, height_i};
  assign take = active_q && (behind || in_valid_i) && advance;
  assign in_ready_o = active_q && !behind && advance;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      row_q <= '0;
      col_q <= '0;
    end else if (start_i || clear_i) begin
      active_q <= start_i;
      row_q <= '0;
      col_q <= '0;
    end else if (take) begin
      col_q <= col_q == last_col ? '0 : col_q + 1'b1;
      if (col_q == last_col) row_q <= row_q + 1'b1;
      if (row_q > {1'b0, height_i}) active_q <= 1'b0;
    end
  end

  // ---- The two rows above: a beat a column. A row has two beats or more, so no place is read when it is written.
  logic below_valid_q;
  bytes_t below_q, middle, above;
  row_t below_row_q;
  col_t below_col_q;

  gw_kernel_ram #(
    .Width(2 * $bits(data_t)),
    .Depth(RowBeats)
  ) u_rows (
    .clk_i,
    .we_i   (below_valid_q && advance),
    .waddr_i(below_col_q),
    .wdata_i({below_q, middle}),
    .re_i   (take),
    .raddr_i(col_q),
    .rdata_o({middle, above})
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) below_valid_q <= 1'b0;
    else if (start_i || clear_i) below_valid_q <= 1'b0;
    else if (advance) below_valid_q <= take;
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      below_q <= in_i;
      below_row_q <= row_q;
      below_col_q <= col_q;
    end
  end

  // ---- Column sums. The middle row is the one before that of the beat that came in.
  column_t next_d, next_q, this_q;
  logic [9:0] left_q;  // of the beat before
  logic fresh_q;       // this_q and both its neighbours are new
  logic [PitchWidth-2:0] last_point;
  col_t last_point_col;

  assign last_point = (PitchWidth - 1)'(width_i - 1'b1);
  assign last_point_col = last_point[BeatShift+:ColWidth];

  always_comb begin
    next_d.valid = below_row_q != '0 && below_row_q <= {1'b0, height_i};
    next_d.last = below_row_q == {1'b0, height_i} && below_col_q == last_col;
    next_d.points = middle;
    for (int i = 0; i < int'(BeatBytes); i++) begin
      next_d.keep[i] = below_row_q == row_t'(1) || below_row_q == {1'b0, height_i} || (i == 0 && below_col_q == '0) ||
                       below_col_q > last_point_col ||
                       (below_col_q == last_point_col && BeatShift'(i) >= last_point[BeatShift-1:0]);
      if (nine_i) begin
        next_d.side[i] = 10'(above[i]) + 10'({middle[i], 1'b0}) + 10'(below_q[i]);
        next_d.centre[i] = {next_d.side[i], 1'b0};
      end else begin
        next_d.side[i] = 10'(middle[i]);
        next_d.centre[i] = 11'(above[i]) + 11'({middle[i], 2'b0}) + 11'(below_q[i]);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) fresh_q <= 1'b0;
    else if (start_i || clear_i) fresh_q <= 1'b0;
    else if (advance) fresh_q <= below_valid_q;
  end

  always_ff @(posedge clk_i) begin
    if (below_valid_q && advance) begin
      next_q <= next_d;
      this_q <= next_q;
      left_q <= this_q.side[BeatBytes-1];
    end
    // What an iteration before left there is none of this one's.
    if (start_i) next_q.valid <= 1'b0;
  end

  // ---- Sums
  logic out_valid_q;
  bytes_t sum;
  logic [BeatBytes+1:0][9:0] sides;  // those of this beat from place 1 on
  stream_beat_t out_q;

  assign sides = {next_q.side[0], this_q.side, left_q};

  for (genvar i = 0; i < int'(BeatBytes); i++) begin : gen_sum
    logic [11:0] total;
    assign total = 12'(this_q.centre[i]) + 12'(sides[i]) + 12'(sides[i+2]) + (nine_i ? 12'd8 : 12'd4);
    assign sum[i] = this_q.keep[i] ? this_q.points[i] : 8'(total >> (nine_i ? 4 : 3));
  end

  assign advance = !out_valid_q || out_ready_i;
  assign out_valid_o = out_valid_q;
  assign out_o = out_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) out_valid_q <= 1'b0;
    else if (clear_i) out_valid_q <= 1'b0;
    else if (advance) out_valid_q <= fresh_q && this_q.valid;
  end

  always_ff @(posedge clk_i) begin
    if (advance) out_q <= '{data: sum, bytes: byte_count_t'(BeatBytes), last: this_q.last};
  end

  `GW_INVARIANT(StartWhenIdle_A, !start_i || (!active_q && !below_valid_q && !out_valid_q))
  `GW_ASSERT(OutputStable_A, out_valid_o && !out_ready_i && !clear_i |=> out_valid_o && $stable(out_o))
  `GW_COVER(StallBehindLastRow_C, active_q && behind && !advance)

endmodule
