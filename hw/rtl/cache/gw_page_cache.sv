// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Page cache: write-back cache of host pages between the translators and the link. Wiring, and the two stages of a lookup.
//
//   AR ─> gw_cache_reads  ─┐   tags, memory   decided    ┌─> R
//   AW, W ─> gw_cache_writes ─┴─> cycle 1 ──────> cycle 2 ──┼─> B
//                                                        ├─> gw_cache_link ─> AR, R of the link
//                                                        └─> gw_cache_store (lines, a cycle later)
//   maintenance, victims ─> gw_cache_link ─> AW, W, B of the link
//
// Contract
// - Hits: a beat a cycle, reads and writes together; AR taken in t, data offered in t+2. AW and W taken in t, stored from t+3 on, in the
//   memory in t+4, answered in t+5.
// - A read that misses is put aside with its burst; a store that misses waits for its line (gw_cache_merge). Neither holds up others of other IDs but for
//   want of places: Reads, Writes, Merges, Fills. Stores go in the order of AW: one without a place or a page holds up those
//   behind it.
// - Order per ID and direction. Beats of read bursts of different IDs may come in turns. A write is seen by every lookup from its
//   answer on.
// - A miss reads the wanted line first, those its burst needs behind it in the same burst; then, by FillMode, the rest of their
//   4 KiB. A whole line that is written is not read.
// - With `Ahead`, pages behind one that is read in order come before they are asked for: gw_cache_ahead.
// - With `Eager`, pages that were written through are written to the host while the link is idle, and stay: gw_cache_eager.
// - A physical page is in one place. It leaves when its dirty lines have been written and answered, and only then is read again.
// - A link error when reading is answered to the accesses that wait for the line, and leaves it invalid. One when writing has lost its access:
//   event_o.lost, and the acknowledge of maintenance.
// - Bursts cross no 4 KiB (gw_translator checks). Exclusive accesses are taken as plain ones and answered OKAY.
// - Maintenance: gw_cache_range. Write-backs of several pages are under way at once: gw_cache_writeback.
// - Link: reads with IDs 0 to Fills + Ahead - 1, writes with ID 0, lines of 64 bytes, bursts within 4 KiB; it must answer.
// - Reset: empty; misses wait for a cycle a row.
`include "gw_assert.svh"

module gw_page_cache #(
  /// Pages, a power of two, 2 to 64.
  parameter int unsigned Pages = 16,
  /// Bits of an address within a page: 12 (4 KiB) to 16 (64 KiB).
  parameter int unsigned PageShift = 12,
  /// Which page goes: 0 true LRU, 1 bit-PLRU, 2 FIFO, 3 random.
  parameter int unsigned Replacement = 0,
  /// What a miss reads: 0 what its burst needs, 1 then the rest of the 4 KiB, 2 the rest from a page's second miss on.
  parameter int unsigned FillMode = 1,
  /// Pages kept free ahead, 0 to Pages / 2. 0: a page goes when another one is wanted, and no sooner.
  parameter int unsigned Spare = 1,
  /// Read bursts, write bursts and fills at a time, powers of two, 2 to 16.
  parameter int unsigned Reads = 8,
  parameter int unsigned Writes = 8,
  parameter int unsigned Fills = 8,
  /// Lines with stores that wait, a power of two, 1 to 16.
  parameter int unsigned Merges = 4,
  /// Lines of a rest that are asked for at a time, 1 to 64; 64: all.
  parameter int unsigned RestLines = 64,
  /// Pages read ahead of who reads in order, 0 (none) to 4, Pages / 4 at most, with Fills 16 at most; pages of 4 KiB only.
  parameter int unsigned Ahead = 0,
  /// 1: pages that were written through are written to the host before they leave; pages of 4 KiB only. 0: when they leave.
  parameter int unsigned Eager = 0,
  /// Lines of the walker, and their beats.
  parameter int unsigned WalkLines = 32,
  parameter int unsigned WalkLineBeats = 1,
  /// Bits of an ID of the port, and its bundles (gw_axi_typedef.svh), of 512 bits.
  parameter int unsigned IdWidth = gw_axi_pkg::AxiIdWidth,
  parameter type up_req_t = gw_axi_pkg::axi_req_t,
  parameter type up_rsp_t = gw_axi_pkg::axi_rsp_t,
  parameter type up_ax_t = gw_axi_pkg::axi_ax_t,
  parameter type up_w_t = gw_axi_pkg::axi_w_t,
  parameter type up_r_t = gw_axi_pkg::axi_r_t,
  parameter type up_b_t = gw_axi_pkg::axi_b_t,
  /// Derived.
  localparam int unsigned LineWidth = gw_pkg::PaWidth - 6
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  up_req_t              up_req_i,
  output up_rsp_t              up_rsp_o,
  output gw_axi_pkg::axi_req_t link_req_o,
  input  gw_axi_pkg::axi_rsp_t link_rsp_i,
  /// The walker's port, to look at (Ahead).
  input  gw_axi_pkg::pt_req_t  pt_req_i,
  input  gw_axi_pkg::pt_rsp_t  pt_rsp_i,
  /// Maintenance of the lines first to last: clean, drop, or both.
  input  logic                 cmd_valid_i,
  output logic                 cmd_ready_o,
  input  logic                 cmd_clean_i,
  input  logic                 cmd_drop_i,
  input  logic [LineWidth-1:0] cmd_first_i,
  input  logic [LineWidth-1:0] cmd_last_i,
  output logic                 ack_o,
  output logic                 ack_error_o,
  output gw_pkg::cache_event_t event_o
);

  import gw_axi_pkg::*;

  if (PageShift < 12 || PageShift > 16 || FillMode > 2 || Spare > Pages / 2) begin : gen_bad_parameter
    $fatal(1, "gw_page_cache: PageShift must be 12 to 16, FillMode 0 to 2, Spare 0 to Pages / 2");
  end
  if (Ahead > Pages / 4 || (Ahead > 0 && PageShift != 12)) begin : gen_bad_ahead
    $fatal(1, "gw_page_cache: Ahead must be 0 to Pages / 4, and 0 with pages of more than 4 KiB");
  end

  if (Eager > 1 || (Eager > 0 && PageShift != 12)) begin : gen_bad_eager
    $fatal(1, "gw_page_cache: Eager must be 0 or 1, and 0 with pages of more than 4 KiB");
  end

  localparam int unsigned IdxWidth = $clog2(Pages);
  localparam int unsigned PageRows = 2 ** (PageShift - 12);
  localparam int unsigned RowWidth = IdxWidth + PageShift - 12;
  localparam int unsigned BlockWidth = gw_pkg::PaWidth - 12;
  localparam int unsigned TagWidth = BlockWidth - PageShift + 12;
  localparam int unsigned ReadWidth = $clog2(Reads);
  localparam int unsigned WriteWidth = $clog2(Writes);
  typedef logic [RowWidth-1:0] row_t;
  typedef logic [BlockWidth-1:0] block_t;

  // Lines, and what is read of them to be written back.
  row_t look_row, job_row;
  logic job_row_valid, job_row_ready, victim_read, victim_ready, victim_clash;
  logic [63:0] job_clean, job_drop, job_dirty, job_left;
  logic [RowWidth+5:0] victim_addr;

  // Cycle 1: what is looked up.
  logic read_valid, read_go, read_kill, read_first, write_valid, write_go, write_kill;
  logic [ReadWidth-1:0] read_slot;
  block_t read_block, write_block;
  logic [11:0] read_offset;
  logic [7:0] read_left;
  logic [5:0] read_last, write_line, look_line;
  logic [2:0] answers_usage;
  logic [RowWidth+5:0] read_addr;

  // Cycle 2: what is decided.
  logic read, first, write, hit, is_active, alloc_last;
  logic read_ok, write_ok, again, line_wait, order_wait, event_wait, store, merge, alloc, fill, fill_more;
  block_t block;
  logic [ReadWidth-1:0] slot;
  logic [11:0] offset;
  logic [7:0] left;
  logic [5:0] line, last;
  row_t row;
  assign line = offset[11:6];

  // Pages.
  logic free_valid, victim_valid, freeze, thaw, release_page, lines_ready, ahead_here, ahead_put, met, ahead_unused;
  logic [IdxWidth-1:0] victim_idx, job_idx, end_idx, free_idx, met_idx;
  block_t ahead_block;
  logic [TagWidth-1:0] job_tag;
  logic [Pages-1:0] active, frozen, filling, pinned, write_pin, prefer;
  logic [$clog2(Pages+1)-1:0] free_count;

  // Reads and writes.
  logic blocked, failed, full, none;
  logic [IdWidth-1:0] read_id;
  logic [WriteWidth-1:0] write_slot;
  logic [63:0] strb;
  logic [511:0] store_data, line_data, land_data;
  logic [Writes-1:0] pending, merge_failed;
  logic land_valid, land_ready, land_error, land, land_merges, landing, clash;
  row_t land_row;
  logic [5:0] land_line;
  logic fill_ready, covered, merge_ready, line_valid, event_q;
  assign land = land_valid && land_ready;

  gw_cache_lookup #(
    .Pages      (Pages),
    .PageRows   (PageRows),
    .BlockWidth (BlockWidth),
    .Replacement(Replacement),
    .Reads      (Reads)
  ) u_lookup (
    .clk_i,
    .rst_ni,
    .ready_i       (lines_ready),
    .read_valid_i  (read_valid),
    .read_go_o     (read_go),
    .read_slot_i   (read_slot),
    .read_block_i  (read_block),
    .read_offset_i (read_offset),
    .read_left_i   (read_left),
    .read_last_i   (read_last),
    .read_kill_i   (read_kill),
    .read_first_i  (read_first),
    .write_valid_i (write_valid),
    .write_go_o    (write_go),
    .write_block_i (write_block),
    .write_line_i  (write_line),
    .write_kill_i  (write_kill),
    .answers_i     (answers_usage),
    .row_waits_i   ((land_valid && !land_ready) || (job_row_valid && !job_row_ready)),
    .data_waits_i  (victim_read && !victim_ready),
    .free_o        (victim_ready),
    .addr_o        (read_addr),
    .line_o        (look_line),
    .read_o        (read),
    .first_o       (first),
    .write_o       (write),
    .hit_o         (hit),
    .active_o      (is_active),
    .alloc_last_o  (alloc_last),
    .slot_o        (slot),
    .block_o       (block),
    .offset_o      (offset),
    .left_o        (left),
    .last_o        (last),
    .row_o         (look_row),
    .put_row_o     (row),
    .ok_i          (read_ok || write_ok),
    .stored_i      (write_ok),
    .alloc_i       (alloc),
    .ahead_put_i   (ahead_put),
    .ahead_tag_i   (ahead_block[BlockWidth-1-:TagWidth]),
    .ahead_here_o  (ahead_here),
    .met_i         (met),
    .met_idx_i     (met_idx),
    .pages_active_o(active),
    .pages_frozen_o(frozen),
    .pages_pinned_o(write_pin),
    .pages_busy_i  (filling | pinned),
    .pages_prefer_i(prefer),
    .free_valid_o  (free_valid),
    .free_idx_o    (free_idx),
    .free_count_o  (free_count),
    .victim_valid_o(victim_valid),
    .victim_idx_o  (victim_idx),
    .job_idx_i     (job_idx),
    .job_tag_o     (job_tag),
    .freeze_i      (freeze),
    .end_idx_i     (end_idx),
    .thaw_i        (thaw),
    .release_i     (release_page)
  );

  gw_cache_reads #(
    .Slots     (Reads),
    .Pages     (Pages),
    .RowWidth  (RowWidth),
    .BlockWidth(BlockWidth),
    .IdWidth   (IdWidth),
    .ax_t      (up_ax_t)
  ) u_reads (
    .clk_i,
    .rst_ni,
    .ar_valid_i   (up_req_i.ar_valid),
    .ar_ready_o   (up_rsp_o.ar_ready),
    .ar_i         (up_req_i.ar),
    .look_valid_o (read_valid),
    .look_go_i    (read_go),
    .look_slot_o  (read_slot),
    .look_block_o (read_block),
    .look_offset_o(read_offset),
    .look_left_o  (read_left),
    .look_last_o  (read_last),
    .look_kill_o  (read_kill),
    .look_first_o (read_first),
    .blocked_o    (blocked),
    .failed_o     (failed),
    .id_o         (read_id),
    .done_valid_i (read),
    .done_slot_i  (slot),
    .done_offset_i(offset),
    .done_left_i  (left),
    .done_ok_i    (read_ok),
    .done_again_i (again),
    .done_line_i  (line_wait),
    .done_order_i (order_wait),
    .done_row_i   (row),
    .event_i      (event_q),
    .land_i       (land),
    .land_error_i (land_error),
    .land_row_i   (land_row),
    .land_line_i  (land_line),
    .pinned_o     (pinned)
  );

  gw_cache_writes #(
    .Slots     (Writes),
    .BlockWidth(BlockWidth),
    .ax_t      (up_ax_t),
    .w_t       (up_w_t),
    .b_t       (up_b_t)
  ) u_writes (
    .clk_i,
    .rst_ni,
    .aw_valid_i  (up_req_i.aw_valid),
    .aw_ready_o  (up_rsp_o.aw_ready),
    .aw_i        (up_req_i.aw),
    .w_valid_i   (up_req_i.w_valid),
    .w_ready_o   (up_rsp_o.w_ready),
    .w_i         (up_req_i.w),
    .b_valid_o   (up_rsp_o.b_valid),
    .b_ready_i   (up_req_i.b_ready),
    .b_o         (up_rsp_o.b),
    .look_valid_o(write_valid),
    .look_go_i   (write_go),
    .look_block_o(write_block),
    .look_line_o (write_line),
    .slot_o      (write_slot),
    .full_o      (full),
    .none_o      (none),
    .strb_o      (strb),
    .data_o      (store_data),
    .done_valid_i(write),
    .done_ok_i   (write_ok),
    .done_event_i(event_wait),
    .event_i     (event_q),
    .pending_i   (pending),
    .failed_i    (merge_failed)
  );
  assign write_kill = write && !write_ok;

  gw_cache_decide u_decide (
    .clk_i,
    .rst_ni,
    .read_i       (read),
    .write_i      (write),
    .hit_i        (hit),
    .active_i     (is_active),
    .valid_i      (line_valid),
    .alloc_last_i (alloc_last),
    .clash_i      (clash),
    .landing_i    (landing),
    .covered_i    (covered),
    .free_i       (thaw || release_page || land_merges),
    .event_q_o    (event_q),
    .fill_ready_i (fill_ready),
    .page_ready_i (free_valid),
    .merge_ready_i(merge_ready),
    .blocked_i    (blocked),
    .failed_i     (failed),
    .full_i       (full),
    .none_i       (none),
    .read_ok_o    (read_ok),
    .write_ok_o   (write_ok),
    .again_o      (again),
    .line_o       (line_wait),
    .order_o      (order_wait),
    .event_o      (event_wait),
    .store_o      (store),
    .merge_o      (merge),
    .alloc_o      (alloc),
    .fill_o       (fill),
    .fill_more_o  (fill_more)
  );
  // Lines: what is valid and dirty, and their data.

  gw_cache_store #(
    .Rows  (2 ** RowWidth),
    .Merges(Merges),
    .Writes(Writes)
  ) u_store (
    .clk_i,
    .rst_ni,
    .ready_o       (lines_ready),
    .look_row_i    (look_row),
    .look_line_i   (line),
    .look_valid_o  (line_valid),
    .look_clash_o  (clash),
    .look_landing_o(landing),
    .look_merge_o  (merge_ready),
    .try_i         (write),
    .store_i       (store),
    .put_i         (merge),
    .slot_i        (write_slot),
    .strb_i        (strb),
    .data_i        (store_data),
    .land_valid_i  (land_valid),
    .land_ready_o  (land_ready),
    .land_row_i    (land_row),
    .land_line_i   (land_line),
    .land_error_i  (land_error),
    .land_data_i   (land_data),
    .land_merges_o (land_merges),
    .pending_o     (pending),
    .failed_o      (merge_failed),
    .job_valid_i   (job_row_valid),
    .job_ready_o   (job_row_ready),
    .job_row_i     (job_row),
    .job_clean_i   (job_clean),
    .job_drop_i    (job_drop),
    .job_dirty_o   (job_dirty),
    .job_left_o    (job_left),
    .job_addr_i    (victim_addr),
    .job_clash_o   (victim_clash),
    .read_i        (read_go || victim_read),
    .read_addr_i   (read_addr | (victim_ready ? victim_addr : '0)),
    .read_data_o   (line_data)
  );

  // The link: what comes, what is read ahead, what leaves.
  logic written, lost, eager, eager_again;
  gw_cache_link #(
    .Pages        (Pages),
    .PageRows     (PageRows),
    .BlockWidth   (BlockWidth),
    .Spare        (Spare),
    .Fills        (Fills),
    .RestLines    (RestLines),
    .Ahead        (Ahead),
    .Eager        (Eager),
    .WalkLines    (WalkLines),
    .WalkLineBeats(WalkLineBeats)
  ) u_link (
    .clk_i,
    .rst_ni,
    .ready_i       (lines_ready),
    .cmd_valid_i,
    .cmd_ready_o,
    .cmd_clean_i,
    .cmd_drop_i,
    .cmd_first_i,
    .cmd_last_i,
    .ack_o,
    .ack_error_o,
    .link_req_o,
    .link_rsp_i,
    .pt_req_i,
    .pt_rsp_i,
    .read_i        (read),
    .first_i       (first),
    .write_i       (write),
    .hit_i         (hit),
    .hit_active_i  (is_active),
    .alloc_last_i  (alloc_last),
    .store_i       (store || merge),
    .block_i       (block),
    .line_i        (line),
    .last_i        (last),
    .fill_i        (fill),
    .fill_ready_o  (fill_ready),
    .fill_row_i    (row),
    .fill_rest_i   (FillMode == 1 || (FillMode == 2 && fill_more)),
    .look_line_i   (look_line),
    .look_row_i    (look_row),
    .covered_o     (covered),
    .land_valid_o  (land_valid),
    .land_ready_i  (land_ready),
    .land_row_o    (land_row),
    .land_line_o   (land_line),
    .land_error_o  (land_error),
    .land_data_o   (land_data),
    .free_valid_i  (free_valid),
    .free_idx_i    (free_idx),
    .free_count_i  (free_count),
    .victim_valid_i(victim_valid),
    .victim_idx_i  (victim_idx),
    .prefer_o      (prefer),
    .job_idx_o     (job_idx),
    .job_tag_i     (job_tag),
    .active_i      (active),
    .frozen_i      (frozen),
    .filling_o     (filling),
    .pinned_i      (pinned | write_pin),
    .freeze_o      (freeze),
    .end_idx_o     (end_idx),
    .thaw_o        (thaw),
    .release_o     (release_page),
    .ahead_here_i  (ahead_here),
    .ahead_block_o (ahead_block),
    .ahead_put_o   (ahead_put),
    .met_o         (met),
    .met_idx_o     (met_idx),
    .unused_o      (ahead_unused),
    .row_valid_o   (job_row_valid),
    .row_ready_i   (job_row_ready),
    .row_o         (job_row),
    .row_clean_o   (job_clean),
    .row_drop_o    (job_drop),
    .row_dirty_i   (job_dirty),
    .row_left_i    (job_left),
    .read_valid_o  (victim_read),
    .read_ready_i  (victim_ready),
    .read_addr_o   (victim_addr),
    .clash_i       (Eager > 0 && victim_clash),
    .read_data_i   (line_data),
    .error_o       (lost),
    .written_o     (written),
    .eager_o       (eager),
    .eager_again_o (eager_again)
  );

  // Answers of reads; a beat is looked up only with room for it.
  gw_cache_answers #(
    .T(up_r_t)
  ) u_answers (
    .clk_i,
    .rst_ni,
    .in_valid_i (read_ok),
    .in_data_i  ('{id: read_id, resp: failed ? RespSlvErr : RespOkay, last: left == '0, data: line_data}),
    .out_valid_o(up_rsp_o.r_valid),
    .out_ready_i(up_req_i.r_ready),
    .out_data_o (up_rsp_o.r),
    .usage_o    (answers_usage)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) event_o <= '0;
    else event_o <= '{
      eager_again: eager_again,
      eager: eager,
      ahead_unused: ahead_unused,
      ahead_used: met,
      ahead: ahead_put,
      lost: lost,
      gone: release_page,
      put: alloc_last,
      writeback: written,
      fill: land,
      store_miss: merge,
      store: store,
      read_miss: read && line_wait,
      read: read_ok
    };
  end

  `GW_INVARIANT(FillRoom_A, !fill || fill_ready)
  `GW_INVARIANT(StoreIsActive_A, !(store || merge) || is_active)
  `GW_COVER(StoreBesideLanding_C, store && land_valid)
  `GW_COVER(Clash_C, clash && read)

endmodule
