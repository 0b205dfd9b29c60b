// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// What leaves the page cache: victims and maintenance, and what is written before it has to leave. Wiring of gw_cache_range (commands),
// gw_cache_eager (`Eager`), gw_cache_evict (jobs on pages) and gw_cache_writeback (what they write), and how many victims are wanted.
//
// Contract
// - Victims: `Spare` pages are free, or on their way to be (0: one, once somebody was looked up for whom there is no page, `none_i`).
//   For a page ahead (`ahead_want_i`) one goes that is plain, when no other is wanted.
// - Maintenance: gw_cache_range. Write-backs: gw_cache_writeback.
module gw_cache_leave #(
  /// Those of gw_page_cache.
  parameter int unsigned Pages = 16,
  parameter int unsigned PageRows = 1,
  parameter int unsigned BlockWidth = 44,
  parameter int unsigned Spare = 1,
  parameter int unsigned RestLines = 64,
  parameter int unsigned Eager = 0,
  /// Derived.
  localparam int unsigned IdxWidth = $clog2(Pages),
  localparam int unsigned RowWidth = IdxWidth + $clog2(PageRows),
  localparam int unsigned LineWidth = BlockWidth + 6,
  localparam int unsigned TagWidth = BlockWidth - $clog2(PageRows)
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         ready_i,
  /// Maintenance.
  input  logic                         cmd_valid_i,
  output logic                         cmd_ready_o,
  input  logic                         cmd_clean_i,
  input  logic                         cmd_drop_i,
  input  logic [LineWidth-1:0]         cmd_first_i,
  input  logic [LineWidth-1:0]         cmd_last_i,
  output logic                         ack_o,
  output logic                         ack_error_o,
  /// A beat is stored: known late (Eager).
  input  logic                         store_i,
  input  logic [RowWidth-1:0]          store_row_i,
  input  logic [5:0]                   store_line_i,
  /// Pages.
  input  logic [$clog2(Pages+1)-1:0]   free_count_i,
  input  logic                         none_i,
  input  logic                         ahead_want_i,
  input  logic [Pages-1:0]             plain_i,
  input  logic [Pages-1:0]             ahead_i,
  input  logic                         victim_valid_i,
  input  logic [IdxWidth-1:0]          victim_idx_i,
  output logic [Pages-1:0]             prefer_o,
  output logic [IdxWidth-1:0]          job_idx_o,
  input  logic [TagWidth-1:0]          job_tag_i,
  input  logic [Pages-1:0]             active_i,
  input  logic [Pages-1:0]             frozen_i,
  input  logic [Pages-1:0]             filling_i,
  input  logic [Pages-1:0]             pinned_i,
  output logic                         freeze_o,
  output logic [IdxWidth-1:0]          end_idx_o,
  output logic                         thaw_o,
  output logic                         release_o,
  /// Rows, and their data.
  output logic                         row_valid_o,
  input  logic                         row_ready_i,
  output logic [RowWidth-1:0]          row_o,
  output logic [63:0]                  row_clean_o,
  output logic [63:0]                  row_drop_o,
  input  logic [63:0]                  row_dirty_i,
  input  logic [63:0]                  row_left_i,
  output logic                         read_valid_o,
  input  logic                         read_ready_i,
  output logic [RowWidth+5:0]          read_addr_o,
  input  logic                         clash_i,
  input  logic [511:0]                 read_data_i,
  /// The link's channels of writes.
  output logic                         aw_valid_o,
  input  logic                         aw_ready_i,
  output gw_axi_pkg::axi_ax_t          aw_o,
  output logic                         w_valid_o,
  input  logic                         w_ready_i,
  output gw_axi_pkg::axi_w_t           w_o,
  input  logic                         b_valid_i,
  input  logic                         b_error_i,
  /// A burst's data is lost; a line was read to be written.
  output logic                         error_o,
  output logic                         written_o,
  /// Events of gw_cache_eager.
  output logic                         eager_o,
  output logic                         eager_again_o
);

  typedef logic [$clog2(Pages+1)-1:0] count_t;
  // A run of dirty lines of a row, or a page's end: then only what becomes of the page counts.
  typedef struct packed {
    logic ends;
    logic left;
    logic range;
    logic eager;
    logic [IdxWidth-1:0] idx;
    logic [RowWidth-1:0] row;
    logic [BlockWidth-1:0] block;
    logic [5:0] first;
    logic [5:0] last;
  } run_t;

  logic job, job_clean, job_drop, job_done, range_open, want, freezes_victim, end_victim, run_valid, run_ready;
  logic [IdxWidth-1:0] range_idx;
  logic [LineWidth-1:0] job_first, job_last;
  run_t run;

  // Victims on their way out; one that has left counts until it is seen to be free.
  count_t leaving_q;
  logic victim, left_q;
  assign freezes_victim = freeze_o && victim;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      leaving_q <= '0;
      left_q <= 1'b0;
    end else begin
      leaving_q <= leaving_q + count_t'(freezes_victim) - count_t'(left_q);
      left_q <= end_victim;
    end
  end
  if (Spare > 0) begin : gen_spare
    assign want = ready_i && 32'(free_count_i) + 32'(leaving_q) < Spare;
    logic unused;
    assign unused = none_i;
  end else begin : gen_no_spare
    logic need_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) need_q <= 1'b0;
      else need_q <= !release_o && (need_q || (ready_i && none_i && free_count_i == '0));
    end
    assign want = need_q && leaving_q == '0;
  end

  // Pages that are written before they leave.
  logic eager_job, eager_look, eager_ends, eager_done, eager_ok, idle;
  logic [IdxWidth-1:0] eager_idx;
  logic [5:0] eager_first, eager_last, eager_run_first, eager_run_last;
  logic [Pages-1:0] cleaning;
  if (Eager > 0) begin : gen_eager
    gw_cache_eager #(
      .Pages    (Pages),
      .RestLines(RestLines)
    ) u_eager (
      .clk_i,
      .rst_ni,
      .store_i,
      .idx_i      (store_row_i),
      .line_i     (store_line_i),
      .freeze_i   (freeze_o),
      .job_idx_i  (job_idx_o),
      .release_i  (release_o),
      .end_idx_i  (end_idx_o),
      .cleaning_i (cleaning),
      .prefer_o,
      .idle_i     (idle),
      .hold_i     (!cmd_ready_o),
      .job_o      (eager_job),
      .job_idx_o  (eager_idx),
      .look_o     (eager_look),
      .first_o    (eager_first),
      .last_o     (eager_last),
      .ends_o     (eager_ends),
      .done_i     (eager_done),
      .ok_i       (eager_ok),
      .run_first_i(eager_run_first),
      .run_last_i (eager_run_last),
      .written_o  (eager_o),
      .again_o    (eager_again_o)
    );
  end else begin : gen_not_eager
    assign prefer_o = '0;
    assign {eager_job, eager_idx, eager_look, eager_first, eager_last, eager_ends, eager_o, eager_again_o} = '0;
    logic unused;
    assign unused = ^{store_i, store_row_i, store_line_i, cleaning, idle, eager_done, eager_ok, eager_run_first, eager_run_last};
  end

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
    .job_clean_o(job_clean),
    .job_drop_o (job_drop),
    .job_first_o(job_first),
    .job_last_o (job_last),
    .job_done_i (job_done),
    .open_i     (range_open),
    .error_i    (error_o)
  );

  gw_cache_evict #(
    .Pages     (Pages),
    .PageRows  (PageRows),
    .BlockWidth(BlockWidth),
    .run_t     (run_t)
  ) u_evict (
    .clk_i,
    .rst_ni,
    .want_i       (want),
    .ahead_want_i,
    .plain_i,
    .ahead_i,
    .victim_valid_i,
    .victim_idx_i,
    .range_i      (job),
    .range_idx_i  (range_idx),
    .range_clean_i(job_clean),
    .range_drop_i (job_drop),
    .range_first_i(job_first),
    .range_last_i (job_last),
    .range_done_o (job_done),
    .eager_i      (eager_job),
    .eager_idx_i  (eager_idx),
    .eager_look_i (eager_look),
    .eager_first_i(eager_first),
    .eager_last_i (eager_last),
    .eager_ends_i (eager_ends),
    .eager_done_o (eager_done),
    .eager_ok_o   (eager_ok),
    .eager_run_first_o(eager_run_first),
    .eager_run_last_o (eager_run_last),
    .job_idx_o,
    .job_tag_i,
    .active_i,
    .frozen_i,
    .filling_i,
    .pinned_i,
    .freeze_o,
    .victim_o     (victim),
    .row_valid_o,
    .row_ready_i,
    .row_o,
    .row_clean_o,
    .row_drop_o,
    .row_dirty_i,
    .row_left_i,
    .run_valid_o  (run_valid),
    .run_ready_i  (run_ready),
    .run_o        (run)
  );

  // Of pieces two are under way, of whole pages four.
  localparam int unsigned Bursts = (RestLines < 64) ? 2 : 4;
  gw_cache_writeback #(
    .Pages   (Pages),
    .PageRows(PageRows),
    .Eager   ((Eager > 0) ? Bursts : 0),
    .run_t   (run_t)
  ) u_writeback (
    .clk_i,
    .rst_ni,
    .run_valid_i (run_valid),
    .run_ready_o (run_ready),
    .run_i       (run),
    .end_idx_o,
    .thaw_o,
    .release_o,
    .end_victim_o(end_victim),
    .range_open_o(range_open),
    .cleaning_o  (cleaning),
    .idle_o      (idle),
    .read_valid_o,
    .read_ready_i,
    .read_addr_o,
    .clash_i,
    .read_data_i,
    .aw_valid_o,
    .aw_ready_i,
    .aw_o,
    .w_valid_o,
    .w_ready_i,
    .w_o,
    .b_valid_i,
    .b_error_i,
    .error_o,
    .written_o
  );

endmodule
