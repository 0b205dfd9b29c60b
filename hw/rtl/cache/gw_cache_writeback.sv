// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Dirty lines on their way to the host: runs of lines become bursts, those of several pages under way at once; a page ends when all of
// its own are answered.
//
//   runs ─> AW ────────────────────┐
//      └─> reads of the data ─> W ─┼─> link ─> B ─> order ─> thaw or release
//      └─> order ──────────────────────────────────┘
//
// Contract
// - A run is a burst of up to 64 lines (4 KiB); a line a cycle, a cycle between runs. Reads of the data memory wait for `read_ready_i`.
// - An end (`run_i.ends`) comes out, as thaw or release of its page, when the bursts before it are answered: whoever reads the page over the
//   link again reads what was written. Ends come in the order of pages.
// - With `Eager` there are runs of pages that stay as they are (`run_i.eager`), and their ends, of which nothing comes out. Meanwhile the page is
//   `cleaning_o`. A victim of which nothing was written waits for no other page: its end comes out at once. A line that is being
//   written in the cache (`clash_i`) is read later. `idle_o`: another piece may follow, so few bursts are under way.
// - `range_open_o`: an end of a range was taken and has not come out. `error_o`: one cycle for each burst that failed: its data is
//   lost, and its lines are not in the cache any more, or clean.
// - Any number of bursts is under way. Answers of the link are taken always; they come in the order of AW, so that counting them tells whose
//   they are.
`include "gw_assert.svh"

module gw_cache_writeback #(
  /// Pages, and rows of 64 lines a page, powers of two.
  parameter int unsigned Pages = 16,
  parameter int unsigned PageRows = 1,
  /// Bursts under way beside which an eager one may begin, + 1; 0: there are no eager ones.
  parameter int unsigned Eager = 0,
  /// What comes (gw_cache_leave).
  parameter type run_t = logic,
  /// Derived.
  localparam int unsigned IdxWidth = $clog2(Pages),
  localparam int unsigned RowWidth = IdxWidth + $clog2(PageRows)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                run_valid_i,
  output logic                run_ready_o,
  input  run_t                run_i,
  /// Ends.
  output logic [IdxWidth-1:0] end_idx_o,
  output logic                thaw_o,
  output logic                release_o,
  output logic                end_victim_o,
  output logic                range_open_o,
  output logic [Pages-1:0]    cleaning_o,
  output logic                idle_o,
  /// Data.
  output logic                read_valid_o,
  input  logic                read_ready_i,
  output logic [RowWidth+5:0] read_addr_o,
  input  logic                clash_i,
  input  logic [511:0]        read_data_i,
  output logic                aw_valid_o,
  input  logic                aw_ready_i,
  output gw_axi_pkg::axi_ax_t aw_o,
  output logic                w_valid_o,
  input  logic                w_ready_i,
  output gw_axi_pkg::axi_w_t  w_o,
  input  logic                b_valid_i,
  input  logic                b_error_i,
  output logic                error_o,
  output logic                written_o
);

  import gw_axi_pkg::*;

  // Bursts: every second line of every page at most. Pages whose end is under way.
  typedef logic [RowWidth+5:0] count_t;
  typedef logic [IdxWidth:0] pages_t;
  typedef struct packed {
    count_t bursts;
    logic left;
    logic range;
    logic [IdxWidth-1:0] idx;
  } item_t;

  // The run whose lines are read.
  logic busy_q, last_line, read, begins, ended, room, quick, ends;
  logic [RowWidth-1:0] row_q;
  logic [5:0] line_q, last_q;
  assign last_line = line_q == last_q;
  assign read = read_valid_o && read_ready_i;
  assign run_ready_o = run_i.ends ? !(quick && ends) : !busy_q && !aw_valid_o;
  assign begins = run_valid_i && run_ready_o && !run_i.ends;
  assign ended = run_valid_i && run_i.ends && !quick;
  assign read_addr_o = {row_q, line_q};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      aw_valid_o <= 1'b0;
    end else begin
      busy_q <= begins || (busy_q && !(read && last_line));
      aw_valid_o <= begins || (aw_valid_o && !aw_ready_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (begins) begin
      row_q <= run_i.row;
      last_q <= run_i.last;
      aw_o <= '0;
      aw_o.addr <= 64'({run_i.block, run_i.first, 6'd0});
      aw_o.len <= 8'(run_i.last - run_i.first);
      aw_o.size <= 3'd6;
      aw_o.burst <= BurstIncr;
    end
    if (begins) line_q <= run_i.first;
    else if (read) line_q <= line_q + 6'd1;
  end

  // Data: read with room for it, and put a cycle later.
  typedef struct packed {
    logic last;
    logic [511:0] data;
  } word_t;
  logic read_q, read_last_q, w_room;
  logic [2:0] usage;
  word_t word;
  assign read_valid_o = busy_q && !clash_i && (4'(usage) + 4'(read_q)) < 4'd4;
  assign written_o = read_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) read_q <= 1'b0;
    else read_q <= read;
  end
  always_ff @(posedge clk_i) read_last_q <= last_line;
  gw_fifo #(
    .T    (word_t),
    .Depth(4)
  ) u_words (
    .clk_i,
    .rst_ni,
    .in_valid_i (read_q),
    .in_ready_o (w_room),
    .in_data_i  ('{last: read_last_q, data: read_data_i}),
    .out_valid_o(w_valid_o),
    .out_ready_i(w_ready_i),
    .out_data_o (word),
    .usage_o    (usage)
  );
  assign w_o = '{last: word.last, strb: '1, data: word.data};

  // Pages in their order, each with its bursts, and answers that are of none of those that have ended.
  item_t head;
  logic head_valid;
  count_t bursts_q, came_q;
  pages_t open_q;
  gw_fifo #(
    .T    (item_t),
    .Depth((Eager > 0) ? 2 * Pages : Pages)
  ) u_order (
    .clk_i,
    .rst_ni,
    .in_valid_i (ended),
    .in_ready_o (room),
    .in_data_i  ('{bursts: bursts_q, left: run_i.left, range: run_i.range, idx: run_i.idx}),
    .out_valid_o(head_valid),
    .out_ready_i(ends),
    .out_data_o (head),
    .usage_o    ()
  );
  assign ends = head_valid && came_q >= head.bursts;
  // One of an eager page is left and of no range.
  logic out, quick_out;
  assign out = ends && (Eager == 0 || head.range || !head.left);
  assign quick_out = quick && !ends;
  assign end_idx_o = quick_out ? run_i.idx : head.idx;
  assign thaw_o = out && head.left;
  assign release_o = (out && !head.left) || quick_out;
  assign end_victim_o = (out && !head.range) || quick_out;
  assign range_open_o = open_q != '0;
  assign error_o = b_valid_i && b_error_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      bursts_q <= '0;
      came_q <= '0;
      open_q <= '0;
    end else begin
      if (ended) bursts_q <= '0;
      else bursts_q <= bursts_q + count_t'(begins);
      came_q <= came_q + count_t'(b_valid_i) - (ends ? head.bursts : '0);
      open_q <= open_q + pages_t'(ended && run_i.range) - pages_t'(ends && head.range);
    end
  end

  if (Eager > 0) begin : gen_eager
    logic own_q, idle_q;
    logic [Pages-1:0] cleaning_q;
    count_t way_q;
    assign quick = run_valid_i && run_i.ends && !run_i.range && !run_i.eager && !own_q && !cleaning_q[run_i.idx];
    assign cleaning_o = cleaning_q;
    assign idle_o = idle_q && run_ready_o;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        own_q <= 1'b0;
        idle_q <= 1'b1;
        way_q <= '0;
        cleaning_q <= '0;
      end else begin
        own_q <= (begins && !run_i.eager) || (own_q && !ended);
        way_q <= way_q + count_t'(begins) - count_t'(b_valid_i);
        idle_q <= way_q < count_t'(Eager) && !begins;
        for (int unsigned i = 0; i < Pages; i++) begin
          if (begins && run_i.eager && run_i.idx == IdxWidth'(i)) cleaning_q[i] <= 1'b1;
          else if (ends && head.idx == IdxWidth'(i)) cleaning_q[i] <= 1'b0;
        end
      end
    end
    `GW_COVER(Quick_C, quick_out && head_valid)
    `GW_COVER(QuickWaits_C, quick && ends)
  end else begin : gen_not_eager
    assign quick = 1'b0;
    assign cleaning_o = '0;
    assign idle_o = 1'b0;
    logic unused;
    assign unused = run_i.eager;
  end

  `GW_INVARIANT(RoomForData_A, !read_q || w_room)
  `GW_INVARIANT(RoomForPage_A, !ended || room)
  `GW_ASSERT(AddressStable_A, aw_valid_o && !aw_ready_i |=> aw_valid_o && $stable(aw_o))
  `GW_COVER(TwoPages_C, b_valid_i && head_valid && busy_q)
  `GW_COVER(PartLeft_C, thaw_o && head.range)

endmodule
