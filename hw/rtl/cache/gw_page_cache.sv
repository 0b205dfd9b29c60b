// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Page cache: write-back cache of host pages between the translators and the link. Wiring, and the two stages of a lookup.
//
//   AR ─> gw_cache_reads  ─┐   tags, memory   decided    ┌─> R
//   AW, W ─> gw_cache_writes ─┴─> cycle 1 ──────> cycle 2 ──┼─> B
//                                                        ├─> gw_cache_fills ─> AR, R of the link
//              gw_cache_range ─> gw_cache_evict <── victims └─> gw_cache_merge (stores without their line)
//                                     └─> AW, W, B of the link
//
// Contract
// - Hits: a beat a cycle, reads and writes together; AR taken in t, data offered in t+2. AW and W taken in t, stored in t+3,
//   answered in t+5.
// - A read that misses is put aside with its burst; a store that misses waits in gw_cache_merge. Neither holds up others of other IDs but for
//   want of places: Reads, Writes, Merges, Fills. Stores go in the order of AW: one without a place or a page holds up those
//   behind it.
// - Order per ID and direction. Beats of read bursts of different IDs may come in turns. A write is seen by every lookup from its
//   answer on.
// - A miss reads the wanted line first, those its burst needs behind it in the same burst; then, by FillMode, the rest of their
//   4 KiB. A whole line that is written is not read.
// - A physical page is in one place. It leaves when its dirty lines have been written and answered, and only then is read again.
// - A link error when reading is answered to the accesses that wait for the line, and leaves it invalid. One when writing has lost its access:
//   event_o.lost, and the acknowledge of maintenance.
// - Bursts cross no 4 KiB (gw_translator checks). Exclusive accesses are taken as plain ones and answered OKAY.
// - Maintenance: gw_cache_range.
// - Link: reads with IDs 0 to Fills - 1, writes with ID 0, lines of 64 bytes, bursts within 4 KiB; it must answer.
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
  /// Derived.
  localparam int unsigned LineWidth = gw_pkg::PaWidth - 6
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  gw_axi_pkg::axi_req_t up_req_i,
  output gw_axi_pkg::axi_rsp_t up_rsp_o,
  output gw_axi_pkg::axi_req_t link_req_o,
  input  gw_axi_pkg::axi_rsp_t link_rsp_i,
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

  localparam int unsigned IdxWidth = $clog2(Pages);
  localparam int unsigned SubWidth = PageShift - 12;
  localparam int unsigned RowWidth = IdxWidth + SubWidth;
  localparam int unsigned BlockWidth = gw_pkg::PaWidth - 12;
  localparam int unsigned TagWidth = BlockWidth - SubWidth;
  localparam int unsigned ReadWidth = $clog2(Reads);
  localparam int unsigned WriteWidth = $clog2(Writes);
  typedef logic [IdxWidth-1:0] idx_t;
  typedef logic [RowWidth-1:0] row_t;
  typedef logic [BlockWidth-1:0] block_t;

  // A row of a page's place.
  function automatic row_t row_of(idx_t idx, row_t block);
    return (row_t'(idx) << SubWidth) | (block & row_t'((32'd1 << SubWidth) - 32'd1));
  endfunction

  // Lines.
  row_t look_row, job_row, write_row;
  logic job_row_valid, job_row_ready, write_data, victim_read, victim_ready;
  logic [63:0] job_clean, job_drop, job_dirty, job_left;
  logic [RowWidth+5:0] victim_addr;
  logic [5:0] write_data_line;

  // Cycle 1: what is looked up.
  logic read_valid, read_go, read_kill, write_valid, write_go, write_kill, read_can, write_can, wrote_q;
  logic hold_writes_q, hold_reads_q, read_hit, write_hit;
  logic [ReadWidth-1:0] read_slot;
  block_t read_block, write_block;
  logic [11:0] read_offset;
  logic [7:0] read_left;
  logic [5:0] read_last, write_line;
  idx_t read_idx, write_idx;
  logic [2:0] answers_usage;

  // Cycle 2: what is decided.
  logic read_q, write_q, hit_q, alloc_last_q, wrote_last_q, event_last_q, offered_q;
  idx_t idx_q;
  block_t block_q;
  logic [ReadWidth-1:0] slot_q;
  logic [11:0] offset_q;
  logic [7:0] left_q;
  logic [5:0] line, last_q;
  row_t row, written_row_q;
  logic [5:0] written_line_q;
  logic ok, again, line_wait, order_wait, event_wait, store, merge, alloc, fill, fill_more, event_now;
  logic free_valid, victim_valid, want;
  idx_t free_idx, victim_idx, job_idx;
  logic [TagWidth-1:0] job_tag;
  logic [Pages-1:0] active, filling, pinned, write_pin;
  logic [$clog2(Pages+1)-1:0] free_count;
  logic freeze, thaw, release_page, lines_ready;

  assign line = offset_q[11:6];
  assign row = row_of(alloc ? free_idx : idx_q, row_t'(block_q));
  assign read_can = read_valid && !hold_reads_q && (4'(answers_usage) + 4'(read_q)) < 4'd4;
  assign write_can = write_valid && !hold_writes_q;
  assign read_go = read_can && !(write_can && !wrote_q);
  assign write_go = write_can && !read_go;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_q <= 1'b0;
      write_q <= 1'b0;
      wrote_q <= 1'b0;
      alloc_last_q <= 1'b0;
      wrote_last_q <= 1'b0;
      event_last_q <= 1'b0;
      offered_q <= 1'b0;
    end else begin
      read_q <= read_go && !read_kill;
      write_q <= write_go && !write_kill;
      if (read_go || write_go) wrote_q <= write_go;
      alloc_last_q <= alloc;
      wrote_last_q <= write_data;
      event_last_q <= event_now;
      offered_q <= free_valid;
    end
  end
  always_ff @(posedge clk_i) begin
    hit_q <= read_go ? read_hit : write_hit;
    idx_q <= read_go ? read_idx : write_idx;
    block_q <= read_go ? read_block : write_block;
    offset_q <= read_go ? read_offset : {write_line, 6'd0};
    last_q <= read_go ? read_last : write_line;
    slot_q <= read_slot;
    left_q <= read_left;
    written_row_q <= write_row;
    written_line_q <= write_data_line;
  end

  gw_cache_tags #(
    .Pages      (Pages),
    .TagWidth   (TagWidth),
    .Replacement(Replacement)
  ) u_tags (
    .clk_i,
    .rst_ni,
    .ready_i       (lines_ready),
    .read_tag_i    (read_block[BlockWidth-1-:TagWidth]),
    .read_hit_o    (read_hit),
    .read_idx_o    (read_idx),
    .write_tag_i   (write_block[BlockWidth-1-:TagWidth]),
    .write_hit_o   (write_hit),
    .write_idx_o   (write_idx),
    .active_o      (active),
    .use_i         ((read_q || write_q) && ok && hit_q),
    .use_idx_i     (idx_q),
    .free_valid_o  (free_valid),
    .free_idx_o    (free_idx),
    .alloc_i       (alloc),
    .alloc_tag_i   (block_q[BlockWidth-1-:TagWidth]),
    .busy_i        (filling | pinned | write_pin),
    .victim_valid_o(victim_valid),
    .victim_idx_o  (victim_idx),
    .free_count_o  (free_count),
    .job_idx_i     (job_idx),
    .job_tag_o     (job_tag),
    .freeze_i      (freeze),
    .thaw_i        (thaw),
    .release_i     (release_page)
  );
  if (Spare > 0) begin : gen_spare
    assign want = lines_ready && 32'(free_count) < Spare;
  end else begin : gen_no_spare
    // Somebody was looked up for whom there is no page. Until one goes.
    logic need_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) need_q <= 1'b0;
      else need_q <= !release_page && (need_q || (lines_ready && (read_q || write_q) && !hit_q && free_count == '0));
    end
    assign want = need_q;
  end

  // Reads and writes.
  logic blocked, failed;
  logic [3:0] read_id;
  logic [WriteWidth-1:0] write_slot;
  logic [63:0] strb;
  logic [511:0] store_data, line_data, merge_data, land_data;
  logic [Writes-1:0] pending, merge_failed;
  logic land_valid, land_ready, land_error, land_old, land, land_bad;
  row_t land_row;
  logic [5:0] land_line;
  logic [63:0] merge_strb;
  logic fill_ready, covered, fill_end, merge_ready, line_valid;

  gw_cache_reads #(
    .Slots     (Reads),
    .Pages     (Pages),
    .RowWidth  (RowWidth),
    .BlockWidth(BlockWidth)
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
    .blocked_o    (blocked),
    .failed_o     (failed),
    .id_o         (read_id),
    .done_valid_i (read_q),
    .done_slot_i  (slot_q),
    .done_offset_i(offset_q),
    .done_left_i  (left_q),
    .done_ok_i    (ok),
    .done_again_i (again),
    .done_line_i  (line_wait),
    .done_order_i (order_wait),
    .done_row_i   (row),
    .event_i      (event_now),
    .land_i       (land),
    .land_error_i (land_bad),
    .land_row_i   (land_row),
    .land_line_i  (land_line),
    .pinned_o     (pinned)
  );

  gw_cache_writes #(
    .Slots     (Writes),
    .BlockWidth(BlockWidth)
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
    .strb_o      (strb),
    .data_o      (store_data),
    .done_valid_i(write_q),
    .done_ok_i   (ok),
    .done_event_i(event_wait),
    .event_i     (event_now),
    .pending_i   (pending),
    .failed_i    (merge_failed)
  );
  assign write_kill = write_q && !ok;

  gw_cache_decide u_decide (
    .clk_i,
    .rst_ni,
    .read_i       (read_q),
    .write_i      (write_q),
    .hit_i        (hit_q),
    .active_i     (active[idx_q]),
    .valid_i      (line_valid),
    .alloc_last_i (alloc_last_q),
    .clash_i      (wrote_last_q && written_row_q == look_row && written_line_q == line),
    .landing_i    (land_valid && land_row == look_row && land_line == line),
    .covered_i    (covered),
    .event_i      (event_now || event_last_q),
    .fill_ready_i (fill_ready),
    .page_ready_i (free_valid),
    .merge_ready_i(merge_ready),
    .blocked_i    (blocked),
    .failed_i     (failed),
    .full_i       (strb == '1),
    .none_i       (strb == '0),
    .ok_o         (ok),
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
  assign event_now = fill_end || thaw || release_page || (land && merge_strb != '0) || (free_valid && !offered_q);

  // A page that a store has put is not a victim before the store is in it.
  logic write_pin_q;
  idx_t write_pin_idx_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) write_pin_q <= 1'b0;
    else if (write_q && alloc) write_pin_q <= 1'b1;
    else if (write_q && ok) write_pin_q <= 1'b0;
  end
  always_ff @(posedge clk_i) if (write_q && alloc) write_pin_idx_q <= free_idx;
  assign write_pin = write_pin_q ? Pages'(1) << write_pin_idx_q : '0;

  // Lines: what is valid and dirty, and their data.
  assign look_row = row_of(idx_q, row_t'(block_q));
  assign land = land_valid && land_ready;
  assign land_bad = land_error && !land_old;
  assign write_row = write_q ? look_row : land_row;
  assign write_data_line = write_q ? line : land_line;
  assign write_data = write_q ? store : land && !land_old && !land_error;
  assign victim_ready = !read_go;

  gw_cache_lines #(
    .Rows(2 ** RowWidth)
  ) u_lines (
    .clk_i,
    .rst_ni,
    .ready_o     (lines_ready),
    .look_row_i  (look_row),
    .look_line_i (line),
    .look_valid_o(line_valid),
    .store_try_i (write_q),
    .store_i     (store),
    .land_valid_i(land_valid),
    .land_ready_o(land_ready),
    .land_row_i  (land_row),
    .land_line_i (land_line),
    .land_set_i  (!land_error),
    .land_dirty_i(merge_strb != '0),
    .land_old_o  (land_old),
    .job_valid_i (job_row_valid),
    .job_ready_o (job_row_ready),
    .job_row_i   (job_row),
    .job_clean_i (job_clean),
    .job_drop_i  (job_drop),
    .job_dirty_o (job_dirty),
    .job_left_o  (job_left)
  );

  logic [511:0] landed;
  always_comb begin
    for (int unsigned i = 0; i < 64; i++) begin
      landed[8*i+:8] = merge_strb[i] ? merge_data[8*i+:8] : land_data[8*i+:8];
    end
  end
  gw_cache_data #(
    .Lines(2 ** (RowWidth + 6))
  ) u_data (
    .clk_i,
    .we_i   (write_data),
    .waddr_i({write_row, write_data_line}),
    .wstrb_i(write_q ? strb : '1),
    .wdata_i(write_q ? store_data : landed),
    .re_i   (read_go || victim_read),
    .raddr_i(read_go ? {row_of(read_idx, row_t'(read_block)), read_offset[11:6]} : victim_addr),
    .rdata_o(line_data)
  );

  gw_cache_merge #(
    .Entries (Merges),
    .Slots   (Writes),
    .RowWidth(RowWidth)
  ) u_merge (
    .clk_i,
    .rst_ni,
    .ask_row_i     (look_row),
    .ask_line_i    (line),
    .ask_ready_o   (merge_ready),
    .put_i         (merge),
    .put_slot_i    (write_slot),
    .put_strb_i    (strb),
    .put_data_i    (store_data),
    .land_row_i    (land_row),
    .land_line_i   (land_line),
    .land_strb_o   (merge_strb),
    .land_data_o   (merge_data),
    .retire_i      (land),
    .retire_error_i(land_bad),
    .pending_o     (pending),
    .failed_o      (merge_failed)
  );

  gw_cache_fills #(
    .Fills     (Fills),
    .RestLines (RestLines),
    .Pages     (Pages),
    .RowWidth  (RowWidth),
    .BlockWidth(BlockWidth)
  ) u_fills (
    .clk_i,
    .rst_ni,
    .req_i       (fill),
    .req_ready_o (fill_ready),
    .req_row_i   (row),
    .req_block_i (block_q),
    .req_first_i (line),
    .req_last_i  (last_q),
    .req_rest_i  (FillMode == 1 || (FillMode == 2 && fill_more)),
    .ask_row_i   (look_row),
    .ask_line_i  (line),
    .covered_o   (covered),
    .busy_o      (filling),
    .end_o       (fill_end),
    .ar_valid_o  (link_req_o.ar_valid),
    .ar_ready_i  (link_rsp_i.ar_ready),
    .ar_o        (link_req_o.ar),
    .r_valid_i   (link_rsp_i.r_valid),
    .r_ready_o   (link_req_o.r_ready),
    .r_i         (link_rsp_i.r),
    .land_valid_o(land_valid),
    .land_ready_i(land_ready),
    .land_row_o  (land_row),
    .land_line_o (land_line),
    .land_data_o (land_data),
    .land_error_o(land_error)
  );

  // What goes: victims and maintenance.
  logic job, job_range_clean, job_range_drop, job_done, job_error, written, lost;
  idx_t range_idx;
  logic [LineWidth-1:0] range_first, range_last;
  gw_cache_range #(
    .Pages    (Pages),
    .LineWidth(LineWidth)
  ) u_range (
    .clk_i,
    .rst_ni,
    .cmd_valid_i,
    .cmd_ready_o,
    .cmd_clean_i,
    .cmd_drop_i,
    .cmd_first_i,
    .cmd_last_i,
    .ack_o,
    .ack_error_o,
    .job_o      (job),
    .job_idx_o  (range_idx),
    .job_clean_o(job_range_clean),
    .job_drop_o (job_range_drop),
    .job_first_o(range_first),
    .job_last_o (range_last),
    .job_done_i (job_done),
    .job_error_i(job_error)
  );

  gw_cache_evict #(
    .Pages     (Pages),
    .PageRows  (2 ** SubWidth),
    .BlockWidth(BlockWidth)
  ) u_evict (
    .clk_i,
    .rst_ni,
    .want_i        (want),
    .victim_valid_i(victim_valid),
    .victim_idx_i  (victim_idx),
    .range_i       (job),
    .range_idx_i   (range_idx),
    .range_clean_i (job_range_clean),
    .range_drop_i  (job_range_drop),
    .range_first_i (range_first),
    .range_last_i  (range_last),
    .range_done_o  (job_done),
    .range_error_o (job_error),
    .job_idx_o     (job_idx),
    .job_tag_i     (job_tag),
    .active_i      (active),
    .filling_i     (filling),
    .pinned_i      (pinned | write_pin),
    .freeze_o      (freeze),
    .thaw_o        (thaw),
    .release_o     (release_page),
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
    .read_data_i   (line_data),
    .aw_valid_o    (link_req_o.aw_valid),
    .aw_ready_i    (link_rsp_i.aw_ready),
    .aw_o          (link_req_o.aw),
    .w_valid_o     (link_req_o.w_valid),
    .w_ready_i     (link_rsp_i.w_ready),
    .w_o           (link_req_o.w),
    .b_valid_i     (link_rsp_i.b_valid),
    .b_error_i     (link_rsp_i.b.resp[1]),
    .error_o       (lost),
    .written_o     (written)
  );
  assign link_req_o.b_ready = 1'b1;

  // Lookups make way for lines that land, rows of jobs and data that is written back, when these have waited.
  logic [1:0] waited_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      hold_writes_q <= 1'b0;
      hold_reads_q <= 1'b0;
      waited_q <= '0;
    end else begin
      hold_writes_q <= (land_valid && !land_ready) || (job_row_valid && !job_row_ready);
      waited_q <= (victim_read && !victim_ready) ? waited_q + 2'd1 : '0;
      hold_reads_q <= victim_read && !victim_ready && waited_q == 2'd3;
    end
  end

  // Answers of reads; a beat is looked up only with room for it.
  logic answers_ready;
  gw_fifo #(
    .T          (axi_r_t),
    .Depth      (4),
    .PassThrough(1'b1)
  ) u_answers (
    .clk_i,
    .rst_ni,
    .in_valid_i (read_q && ok),
    .in_ready_o (answers_ready),
    .in_data_i  ('{id: read_id, resp: failed ? RespSlvErr : RespOkay, last: left_q == '0, data: line_data}),
    .out_valid_o(up_rsp_o.r_valid),
    .out_ready_i(up_req_i.r_ready),
    .out_data_o (up_rsp_o.r),
    .usage_o    (answers_usage)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) event_o <= '0;
    else event_o <= '{
      lost: lost,
      gone: release_page,
      put: alloc,
      writeback: written,
      fill: land,
      store_miss: merge,
      store: store,
      read_miss: read_q && line_wait,
      read: read_q && ok
    };
  end

  logic unused;
  assign unused = ^link_rsp_i.b.id;

  `GW_INVARIANT(RoomForAnswer_A, !(read_q && ok) || answers_ready)
  `GW_INVARIANT(FillRoom_A, !fill || fill_ready)
  `GW_INVARIANT(StoreIsActive_A, !(store || merge) || active[idx_q])
  `GW_COVER(StoreBesideLanding_C, store && land_valid)
  `GW_COVER(Clash_C, u_decide.clash_i && read_q)

endmodule
