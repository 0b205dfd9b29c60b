// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Jobs on pages of the cache, one at a time: a victim leaves, or a page is cleaned, dropped or both as far as a range goes.
//
//   choose ─> freeze ─> nothing to land ─> row: dirty bits taken ─> runs of lines written ─> next row ─> all answered ─> thaw or release
//
// Contract
// - While its job lasts a page is frozen: it is neither read nor written. It is released when nothing of it is valid.
// - Dirty lines only are written; lines beside each other in one burst, up to 64 (4 KiB). A page is released when all its writes
//   are answered, so whoever reads it over the link again reads what was written.
// - Victims are wanted while `want_i`; a range job (op) goes first. `range_done_o` one cycle, `range_error_o` with it: a write
//   failed. `error_o` one cycle for each burst that failed: its data is lost, and its lines are not in the cache any more, or clean.
// - Reads of the data memory wait for `read_ready_i`.
`include "gw_assert.svh"

module gw_cache_evict #(
  /// Pages, and rows of 64 lines a page, powers of two.
  parameter int unsigned Pages = 16,
  parameter int unsigned PageRows = 1,
  /// Bits of the number of 4 KiB in memory.
  parameter int unsigned BlockWidth = 44,
  /// Derived.
  localparam int unsigned IdxWidth = $clog2(Pages),
  localparam int unsigned PageRowWidth = $clog2(PageRows),
  localparam int unsigned RowWidth = IdxWidth + PageRowWidth,
  localparam int unsigned TagWidth = BlockWidth - PageRowWidth
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  want_i,
  input  logic                  victim_valid_i,
  input  logic [IdxWidth-1:0]   victim_idx_i,
  /// A job of a range, for one page: what lies in the range (lines, both ends included) is cleaned, dropped, or both.
  input  logic                  range_i,
  input  logic [IdxWidth-1:0]   range_idx_i,
  input  logic                  range_clean_i,
  input  logic                  range_drop_i,
  input  logic [BlockWidth+5:0] range_first_i,
  input  logic [BlockWidth+5:0] range_last_i,
  output logic                  range_done_o,
  output logic                  range_error_o,
  /// The page of the job.
  output logic [IdxWidth-1:0]   job_idx_o,
  input  logic [TagWidth-1:0]   job_tag_i,
  input  logic [Pages-1:0]      active_i,
  input  logic [Pages-1:0]      filling_i,
  input  logic [Pages-1:0]      pinned_i,
  output logic                  freeze_o,
  output logic                  thaw_o,
  output logic                  release_o,
  /// Its rows.
  output logic                  row_valid_o,
  input  logic                  row_ready_i,
  output logic [RowWidth-1:0]   row_o,
  output logic [63:0]           row_clean_o,
  output logic [63:0]           row_drop_o,
  input  logic [63:0]           row_dirty_i,
  input  logic [63:0]           row_left_i,
  /// Its data.
  output logic                  read_valid_o,
  input  logic                  read_ready_i,
  output logic [RowWidth+5:0]   read_addr_o,
  input  logic [511:0]          read_data_i,
  output logic                  aw_valid_o,
  input  logic                  aw_ready_i,
  output gw_axi_pkg::axi_ax_t   aw_o,
  output logic                  w_valid_o,
  input  logic                  w_ready_i,
  output gw_axi_pkg::axi_w_t    w_o,
  input  logic                  b_valid_i,
  input  logic                  b_error_i,
  output logic                  error_o,
  output logic                  written_o
);

  import gw_axi_pkg::*;

  typedef enum logic [3:0] {
    Choose,
    Check,
    Freeze,
    Wait,
    Row,
    First,
    Run,
    Send,
    Data,
    Answers,
    End,
    Settle
  } state_e;
  typedef logic [IdxWidth-1:0] idx_t;
  typedef logic [RowWidth-1:0] row_t;
  localparam int unsigned SubWidth = (PageRowWidth > 0) ? PageRowWidth : 1;
  typedef logic [SubWidth-1:0] sub_t;

  state_e state_q;
  logic range_q, left_q, failed_q, overlaps, first_any, gap_any, in_first, in_last, row_outside;
  idx_t idx_q;
  sub_t sub_q;
  logic [63:0] todo_q, shifted_q, in_range;
  logic [5:0] first, first_q, gap, length_q, count_q;
  logic [BlockWidth-1:0] block;
  logic [7:0] open_q;
  assign job_idx_o = idx_q;

  if (PageRows == 1) begin : gen_row
    assign row_o = row_t'(idx_q);
    assign block = BlockWidth'(job_tag_i);
  end else begin : gen_rows
    assign row_o = {idx_q, sub_q};
    assign block = {job_tag_i, sub_q};
  end

  // Which lines of the row are in the range; a victim is whole.
  logic [TagWidth-1:0] first_tag, last_tag;
  assign first_tag = range_first_i[BlockWidth+5-:TagWidth];
  assign last_tag = range_last_i[BlockWidth+5-:TagWidth];
  assign overlaps = job_tag_i >= first_tag && job_tag_i <= last_tag;
  assign in_first = block == range_first_i[6+:BlockWidth];
  assign in_last = block == range_last_i[6+:BlockWidth];
  assign row_outside = block < range_first_i[6+:BlockWidth] || block > range_last_i[6+:BlockWidth];

  // Registered a cycle before its use: state Row is entered with it.
  logic mask_q;
  always_ff @(posedge clk_i) begin
    if (state_q == Row && !mask_q) begin
      for (int unsigned i = 0; i < 64; i++) begin
        in_range[i] <= !range_q || (!row_outside && (!in_first || 6'(i) >= range_first_i[5:0]) && (!in_last || 6'(i) <= range_last_i[5:0]));
      end
    end
  end
  assign row_valid_o = state_q == Row && mask_q;
  assign row_clean_o = in_range;
  assign row_drop_o = (!range_q || range_drop_i) ? in_range : '0;

  gw_first_one #(
    .Width(64)
  ) u_first (
    .bits_i(todo_q),
    .any_o (first_any),
    .idx_o (first)
  );
  gw_first_one #(
    .Width(64)
  ) u_gap (
    .bits_i(~shifted_q),
    .any_o (gap_any),
    .idx_o (gap)
  );

  // Data: read with room for it, and put a cycle later.
  logic read_q, read_last_q, last_line;
  logic [2:0] usage;
  logic w_ready;
  assign last_line = count_q == length_q;
  assign read_valid_o = state_q == Data && (4'(usage) + 4'(read_q)) < 4'd4;
  assign read_addr_o = {row_o, first_q + count_q};
  typedef struct packed {
    logic last;
    logic [511:0] data;
  } word_t;
  word_t word;
  gw_fifo #(
    .T    (word_t),
    .Depth(4)
  ) u_words (
    .clk_i,
    .rst_ni,
    .in_valid_i (read_q),
    .in_ready_o (w_ready),
    .in_data_i  ('{last: read_last_q, data: read_data_i}),
    .out_valid_o(w_valid_o),
    .out_ready_i(w_ready_i),
    .out_data_o (word),
    .usage_o    (usage)
  );
  assign w_o = '{last: word.last, strb: '1, data: word.data};

  logic go_row, last_row, sends;
  assign last_row = sub_q == sub_t'(PageRows - 1);
  assign go_row = row_valid_o && row_ready_i;
  assign sends = state_q == Send && !aw_valid_o;
  assign freeze_o = state_q == Freeze;
  assign thaw_o = state_q == End && left_q;
  assign release_o = state_q == End && !left_q;
  assign range_done_o = range_q && (state_q == End || (state_q == Check && !(active_i[idx_q] && overlaps)));
  assign range_error_o = failed_q;
  assign error_o = b_valid_i && b_error_i;
  assign written_o = read_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Choose;
      range_q <= 1'b0;
      failed_q <= 1'b0;
      left_q <= 1'b0;
      mask_q <= 1'b0;
      sub_q <= '0;
      count_q <= '0;
      open_q <= '0;
      read_q <= 1'b0;
      aw_valid_o <= 1'b0;
    end else begin
      open_q <= open_q + 8'(sends) - 8'(b_valid_i);
      read_q <= read_valid_o && read_ready_i;
      if (sends) aw_valid_o <= 1'b1;
      else if (aw_ready_i) aw_valid_o <= 1'b0;
      if (b_valid_i && b_error_i) failed_q <= 1'b1;
      unique case (state_q)
        Choose: begin
          range_q <= range_i;
          failed_q <= 1'b0;
          left_q <= 1'b0;
          sub_q <= '0;
          if (range_i || (want_i && victim_valid_i)) state_q <= Check;
        end
        // A victim may have come into use since it was chosen.
        Check: begin
          if (range_q) state_q <= (active_i[idx_q] && overlaps) ? Freeze : Choose;
          else state_q <= (active_i[idx_q] && !filling_i[idx_q] && !pinned_i[idx_q]) ? Freeze : Choose;
        end
        Freeze: state_q <= Wait;
        Wait: if (!filling_i[idx_q]) state_q <= Row;
        Row: begin
          mask_q <= !go_row;
          if (go_row) begin
            left_q <= left_q || row_left_i != '0;
            state_q <= First;
          end
        end
        First: begin
          if (first_any) state_q <= Run;
          else if (last_row) state_q <= Answers;
          else begin
            sub_q <= sub_q + 1'b1;
            state_q <= Row;
          end
        end
        Run: state_q <= Send;
        Send: begin
          count_q <= '0;
          if (sends) state_q <= Data;
        end
        Data: begin
          if (read_valid_o && read_ready_i) begin
            count_q <= count_q + 6'd1;
            if (last_line) state_q <= First;
          end
        end
        Answers: if (open_q == '0) state_q <= End;
        // Whether another victim is wanted is known a cycle later.
        End: state_q <= Settle;
        Settle: state_q <= Choose;
        default: state_q <= Choose;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Choose) idx_q <= range_i ? range_idx_i : victim_idx_i;
    if (go_row) todo_q <= (!range_q || range_clean_i) ? row_dirty_i & in_range : '0;
    else if (state_q == Data && read_valid_o && read_ready_i) todo_q[first_q + count_q] <= 1'b0;
    if (state_q == First) begin
      first_q <= first;
      shifted_q <= todo_q >> first;
    end
    if (state_q == Run) length_q <= gap_any ? gap - 6'd1 : 6'd63;
    read_last_q <= last_line;
    if (sends) begin
      aw_o <= '0;
      aw_o.addr <= 64'({block, first_q, 6'd0});
      aw_o.len <= 8'(length_q);
      aw_o.size <= 3'd6;
      aw_o.burst <= BurstIncr;
    end
  end

  `GW_INVARIANT(RoomForData_A, !read_q || w_ready)
  `GW_INVARIANT(AnswerIsOurs_A, !b_valid_i || open_q != '0)
  `GW_ASSERT(AddressStable_A, aw_valid_o && !aw_ready_i |=> aw_valid_o && $stable(aw_o))
  `GW_COVER(LongRun_C, sends && length_q == 6'd63)
  `GW_COVER(PartLeft_C, thaw_o && range_drop_i)

endmodule
