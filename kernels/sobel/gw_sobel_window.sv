// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The Sobel gradient of a picture that comes point by point: |horizontal| + |vertical|, at most 255; 0 at the border.
//
//   point, the two above it ──> sum and difference of a column ──> those of three columns ──> out
//          block RAM, a place a column
//
// Contract
// - start_i begins a picture of height_i rows of width_i points, which are constant until its last point is out; all of
//   them come in and go out, in order, the last with out_last_o.
// - Throughput: a point a cycle. A point comes out when the one below and right of it came in, three cycles later; behind
//   the last row nothing needs to come in. So a picture takes width_i + 4 cycles more than it has points.
// - in_ready_o depends on out_ready_i. clear_i drops everything. Reset: idle.
`include "gw_assert.svh"

module gw_sobel_window #(
  /// Points of the longest row, a power of two >= 2.
  parameter int unsigned MaxWidth = 4096,
  /// Derived.
  localparam int unsigned ColWidth = $clog2(MaxWidth)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              clear_i,
  input  logic              start_i,
  /// Points a row, 1 to MaxWidth.
  input  logic [ColWidth:0] width_i,
  /// Rows, at least 1.
  input  logic [31:0]       height_i,
  input  logic              in_valid_i,
  output logic              in_ready_o,
  input  logic [7:0]        in_i,
  output logic              out_valid_o,
  input  logic              out_ready_i,
  output logic [7:0]        out_o,
  output logic              out_last_o
);

  if (MaxWidth < 2 || MaxWidth != 2 ** ColWidth) begin : gen_bad_width
    $fatal(1, "gw_sobel_window: MaxWidth must be a power of two >= 2; it is %0d", MaxWidth);
  end

  typedef logic [ColWidth-1:0] col_t;
  typedef logic [32:0] row_t;  // one more than there are rows, too

  typedef struct packed {
    logic gives;   // a point comes out: that one row and one column before
    logic border;  // it is one of the border
    logic last;
  } step_t;

  // Of three points above each other.
  typedef struct packed {
    logic [9:0]        smooth;  // the middle one twice
    logic signed [8:0] fall;    // lower less upper
  } column_t;

  logic advance, take;

  // ---- Points that come in; one row and one point behind the last row there are none
  logic active_q, behind;
  row_t row_q, height;
  col_t col_q, last_col;
  step_t step;

  assign height = {1'b0, height_i};
  assign last_col = col_t'(width_i - 1'b1);
  assign behind = row_q >= height;
  assign take = active_q && (behind || in_valid_i) && advance;
  assign in_ready_o = active_q && !behind && advance;

  // Column 0 gives the last point of a row, column 1 the first.
  assign step.gives = row_q > row_t'(1) || (row_q == row_t'(1) && col_q != '0);
  assign step.border = col_q <= col_t'(1) || row_q == row_t'(1) || behind;
  assign step.last = row_q > height;

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
      if (step.last) active_q <= 1'b0;
    end
  end

  // ---- The two rows above. Rows of three points or more never read the place that is written; shorter ones are border.
  logic below_valid_q, sides_valid_q;
  logic [7:0] below_q, middle, above;
  col_t below_col_q;
  step_t below_step_q, sides_step_q;

  gw_kernel_ram #(
    .Width(16),
    .Depth(MaxWidth)
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
    if (!rst_ni) begin
      below_valid_q <= 1'b0;
      sides_valid_q <= 1'b0;
    end else if (start_i || clear_i) begin
      below_valid_q <= 1'b0;
      sides_valid_q <= 1'b0;
    end else if (advance) begin
      below_valid_q <= take;
      sides_valid_q <= below_valid_q;
    end
  end

  // ---- Three columns
  column_t next_d, next_q, this_q, left_q;

  assign next_d.smooth = 10'(above) + {1'b0, middle, 1'b0} + 10'(below_q);
  assign next_d.fall = $signed({1'b0, below_q}) - $signed({1'b0, above});

  always_ff @(posedge clk_i) begin
    if (take) begin
      below_q <= in_i;
      below_col_q <= col_q;
      below_step_q <= step;
    end
    if (below_valid_q && advance) begin
      next_q <= next_d;
      this_q <= next_q;
      left_q <= this_q;
      sides_step_q <= below_step_q;
    end
  end

  // ---- The gradient
  logic signed [10:0] across, down;
  logic [10:0] total;
  logic out_valid_q, out_last_q;
  logic [7:0] out_q;

  assign across = $signed({1'b0, next_q.smooth}) - $signed({1'b0, left_q.smooth});
  assign down = 11'(left_q.fall) + (11'(this_q.fall) <<< 1) + 11'(next_q.fall);
  // Neither is beyond 1020.
  assign total = 11'(across < 0 ? -across : across) + 11'(down < 0 ? -down : down);

  assign advance = !out_valid_q || out_ready_i;
  assign out_valid_o = out_valid_q;
  assign out_o = out_q;
  assign out_last_o = out_last_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) out_valid_q <= 1'b0;
    else if (clear_i) out_valid_q <= 1'b0;
    else if (advance) out_valid_q <= sides_valid_q && sides_step_q.gives;
  end

  always_ff @(posedge clk_i) begin
    if (advance) begin
      out_q <= sides_step_q.border ? '0 : total > 11'd255 ? 8'd255 : total[7:0];
      out_last_q <= sides_step_q.last;
    end
  end

  `GW_INVARIANT(StartWhenIdle_A, !start_i || (!active_q && !below_valid_q && !sides_valid_q && !out_valid_q))
  `GW_INVARIANT(WidthInRange_A, !active_q || (width_i != '0 && width_i <= (ColWidth + 1)'(MaxWidth)))
  `GW_ASSERT(OutputStable_A,
             out_valid_o && !out_ready_i && !clear_i |=> out_valid_o && $stable(out_o) && $stable(out_last_o))
  `GW_COVER(StallBehindLastRow_C, active_q && behind && !advance)
  `GW_COVER(Saturates_C, sides_valid_q && !sides_step_q.border && total > 11'd255)

endmodule
