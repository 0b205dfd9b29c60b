// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The page cache's side of the link: lines that accesses wait for (gw_cache_fills), pages ahead of who reads in order (gw_cache_ahead), and
// what leaves (gw_cache_leave). Wiring.
//
// Contract: of the three. With `Ahead` 0 the second one is not there.
module gw_cache_link #(
  /// Those of gw_page_cache.
  parameter int unsigned Pages = 16,
  parameter int unsigned PageRows = 1,
  parameter int unsigned BlockWidth = 44,
  parameter int unsigned Spare = 1,
  parameter int unsigned Fills = 8,
  parameter int unsigned RestLines = 64,
  parameter int unsigned Ahead = 0,
  parameter int unsigned Eager = 0,
  parameter int unsigned WalkLines = 32,
  parameter int unsigned WalkLineBeats = 1,
  /// Derived.
  localparam int unsigned IdxWidth = $clog2(Pages),
  localparam int unsigned RowWidth = IdxWidth + $clog2(PageRows),
  localparam int unsigned LineWidth = BlockWidth + 6,
  localparam int unsigned TagWidth = BlockWidth - $clog2(PageRows)
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       ready_i,
  /// Maintenance.
  input  logic                       cmd_valid_i,
  output logic                       cmd_ready_o,
  input  logic                       cmd_clean_i,
  input  logic                       cmd_drop_i,
  input  logic [LineWidth-1:0]       cmd_first_i,
  input  logic [LineWidth-1:0]       cmd_last_i,
  output logic                       ack_o,
  output logic                       ack_error_o,
  output gw_axi_pkg::axi_req_t       link_req_o,
  input  gw_axi_pkg::axi_rsp_t       link_rsp_i,
  input  gw_axi_pkg::pt_req_t        pt_req_i,
  input  gw_axi_pkg::pt_rsp_t        pt_rsp_i,
  /// The beat that is decided: of gw_cache_lookup.
  input  logic                       read_i,
  input  logic                       first_i,
  input  logic                       write_i,
  input  logic                       hit_i,
  input  logic                       hit_active_i,
  input  logic                       alloc_last_i,
  input  logic                       store_i,
  input  logic [BlockWidth-1:0]      block_i,
  input  logic [5:0]                 line_i,
  input  logic [5:0]                 last_i,
  /// What is filled for it, and what lands.
  input  logic                       fill_i,
  output logic                       fill_ready_o,
  input  logic [RowWidth-1:0]        fill_row_i,
  input  logic                       fill_rest_i,
  input  logic [5:0]                 look_line_i,
  input  logic [RowWidth-1:0]        look_row_i,
  output logic                       covered_o,
  output logic                       land_valid_o,
  input  logic                       land_ready_i,
  output logic [RowWidth-1:0]        land_row_o,
  output logic [5:0]                 land_line_o,
  output logic                       land_error_o,
  output logic [511:0]               land_data_o,
  /// Pages.
  input  logic                       free_valid_i,
  input  logic [IdxWidth-1:0]        free_idx_i,
  input  logic [$clog2(Pages+1)-1:0] free_count_i,
  input  logic                       victim_valid_i,
  input  logic [IdxWidth-1:0]        victim_idx_i,
  output logic [Pages-1:0]           prefer_o,
  output logic [IdxWidth-1:0]        job_idx_o,
  input  logic [TagWidth-1:0]        job_tag_i,
  input  logic [Pages-1:0]           active_i,
  input  logic [Pages-1:0]           frozen_i,
  output logic [Pages-1:0]           filling_o,
  input  logic [Pages-1:0]           pinned_i,
  output logic                       freeze_o,
  output logic [IdxWidth-1:0]        end_idx_o,
  output logic                       thaw_o,
  output logic                       release_o,
  /// A page ahead: gw_cache_ahead.
  input  logic                       ahead_here_i,
  output logic [BlockWidth-1:0]      ahead_block_o,
  output logic                       ahead_put_o,
  output logic                       met_o,
  output logic [IdxWidth-1:0]        met_idx_o,
  output logic                       unused_o,
  /// Rows, and their data.
  output logic                       row_valid_o,
  input  logic                       row_ready_i,
  output logic [RowWidth-1:0]        row_o,
  output logic [63:0]                row_clean_o,
  output logic [63:0]                row_drop_o,
  input  logic [63:0]                row_dirty_i,
  input  logic [63:0]                row_left_i,
  output logic                       read_valid_o,
  input  logic                       read_ready_i,
  output logic [RowWidth+5:0]        read_addr_o,
  input  logic                       clash_i,
  input  logic [511:0]               read_data_i,
  output logic                       error_o,
  output logic                       written_o,
  output logic                       eager_o,
  output logic                       eager_again_o
);

  logic ahead_ready, ahead_want;
  logic [Pages-1:0] plain, ahead;
  gw_cache_fills #(
    .Fills     (Fills),
    .Ahead     (Ahead),
    .RestLines (RestLines),
    .Pages     (Pages),
    .RowWidth  (RowWidth),
    .BlockWidth(BlockWidth)
  ) u_fills (
    .clk_i,
    .rst_ni,
    .req_i        (fill_i),
    .req_ready_o  (fill_ready_o),
    .req_row_i    (fill_row_i),
    .req_block_i  (block_i),
    .req_first_i  (line_i),
    .req_last_i   (last_i),
    .req_rest_i   (fill_rest_i),
    .ahead_i      (ahead_put_o),
    .ahead_ready_o(ahead_ready),
    .ahead_row_i  (RowWidth'(free_idx_i)),
    .ahead_block_i(ahead_block_o),
    .met_i        (met_o),
    .met_row_i    (RowWidth'(met_idx_o)),
    .stop_i       (!cmd_ready_o),
    .look_line_i,
    .ask_row_i    (look_row_i),
    .ask_here_i   (hit_i),
    .covered_o,
    .busy_o       (filling_o),
    .ar_valid_o   (link_req_o.ar_valid),
    .ar_ready_i   (link_rsp_i.ar_ready),
    .ar_o         (link_req_o.ar),
    .r_valid_i    (link_rsp_i.r_valid),
    .r_ready_o    (link_req_o.r_ready),
    .r_i          (link_rsp_i.r),
    .land_valid_o,
    .land_ready_i,
    .land_row_o,
    .land_line_o,
    .land_error_o,
    .land_data_o
  );

  if (Ahead > 0) begin : gen_ahead
    gw_cache_ahead #(
      .Pages        (Pages),
      .Ahead        (Ahead),
      .Spare        (Spare),
      .WalkLines    (WalkLines),
      .WalkLineBeats(WalkLineBeats)
    ) u_ahead (
      .clk_i,
      .rst_ni,
      .pt_req_i,
      .pt_rsp_i,
      .read_i,
      .first_i,
      .write_i,
      .hit_i,
      .active_i    (hit_active_i),
      .idx_i       (look_row_i),
      .block_i,
      .line_i,
      .last_i,
      .store_i,
      .alloc_last_i,
      .free_valid_i,
      .free_idx_i,
      .free_count_i,
      .release_i   (release_o),
      .end_idx_i   (end_idx_o),
      .block_o     (ahead_block_o),
      .here_i      (ahead_here_i),
      .put_o       (ahead_put_o),
      .fill_ready_i(ahead_ready),
      .met_o,
      .met_idx_o,
      .unused_o,
      .want_o      (ahead_want),
      .plain_o     (plain),
      .ahead_o     (ahead),
      // From the cycle after a command was taken to its acknowledge; what is put in that cycle is met by its job.
      .hold_i      (!cmd_ready_o),
      .forget_i    (cmd_valid_i && cmd_ready_o && cmd_drop_i)
    );
  end else begin : gen_none_ahead
    assign {ahead_block_o, ahead_put_o, met_o, met_idx_o, unused_o, ahead_want, plain, ahead} = '0;
    logic unused;
    assign unused = ^{
      pt_req_i, pt_rsp_i, first_i, hit_i, hit_active_i, alloc_last_i, free_valid_i, free_idx_i, ahead_here_i, ahead_ready
    };
  end

  gw_cache_leave #(
    .Pages     (Pages),
    .PageRows  (PageRows),
    .BlockWidth(BlockWidth),
    .Spare     (Spare),
    .RestLines (RestLines),
    .Eager     (Eager)
  ) u_leave (
    .clk_i,
    .rst_ni,
    .ready_i,
    .cmd_valid_i,
    .cmd_ready_o,
    .cmd_clean_i,
    .cmd_drop_i,
    .cmd_first_i,
    .cmd_last_i,
    .ack_o,
    .ack_error_o,
    .store_i,
    .store_row_i (look_row_i),
    .store_line_i(line_i),
    .free_count_i,
    .none_i      ((read_i || write_i) && !hit_i),
    .ahead_want_i(ahead_want),
    .plain_i     (plain),
    .ahead_i     (ahead),
    .victim_valid_i,
    .victim_idx_i,
    .prefer_o,
    .job_idx_o,
    .job_tag_i,
    .active_i,
    .frozen_i,
    .filling_i   (filling_o),
    .pinned_i,
    .freeze_o,
    .end_idx_o,
    .thaw_o,
    .release_o,
    .row_valid_o,
    .row_ready_i,
    .row_o,
    .row_clean_o,
    .row_drop_o,
    .row_dirty_i,
    .row_left_i,
    .read_valid_o,
    .read_ready_i,
    .read_addr_o,
    .clash_i,
    .read_data_i,
    .aw_valid_o  (link_req_o.aw_valid),
    .aw_ready_i  (link_rsp_i.aw_ready),
    .aw_o        (link_req_o.aw),
    .w_valid_o   (link_req_o.w_valid),
    .w_ready_i   (link_rsp_i.w_ready),
    .w_o         (link_req_o.w),
    .b_valid_i   (link_rsp_i.b_valid),
    .b_error_i   (link_rsp_i.b.resp[1]),
    .error_o,
    .written_o,
    .eager_o,
    .eager_again_o
  );
  assign link_req_o.b_ready = 1'b1;

  logic unused_id;
  assign unused_id = ^link_rsp_i.b.id;

endmodule
