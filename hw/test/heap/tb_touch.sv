// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_touch with plain pins for cocotb: two regions, Sv48.
module tb_touch #(
  parameter int unsigned Together = 8,
  parameter int unsigned Orders = 'h11
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [43:0]      zero_i,
  input  logic             req_valid_i,
  output logic             req_ready_o,
  input  logic [5:0]       req_src_i,
  input  logic [7:0]       req_tag_i,
  input  logic [7:0]       req_ctx_i,
  input  logic [44:0]      req_vpn_i,
  input  logic             req_write_i,
  input  logic [2:0]       level_i,
  input  logic [52:0]      entry_i,
  output logic             ans_valid_o,
  input  logic             ans_ready_i,
  output logic [66:0]      ans_of_o,  // {src, tag, ctx, vpn}
  output logic [43:0]      ans_ppn_o,
  output logic [4:0]       ans_order_o,
  output logic [2:0]       ans_perm_o,  // {cacheable, r, w}
  output logic             ans_fault_o,
  output logic [11:0]      ans_cause_o,
  output logic             ans_parked_o,
  output logic [7:0]       ans_park_o,
  output logic             wake_valid_o,
  output logic             wake_ok_o,
  output logic [7:0]       wake_park_o,
  input  logic             wake_ready_i,
  input  logic             end_i,
  input  logic             forget_i,
  output logic             look_valid_o,
  input  logic             look_ready_i,
  output logic [7:0]       look_ctx_o,
  output logic [44:0]      look_vpn_o,
  input  logic             look_done_i,
  input  logic [8:0]       look_page_i,
  input  logic [19:0]       stock_valid_i,  // {region, order}
  input  logic [19:0][43:0] stock_frame_i,
  output logic [19:0]      stock_take_o,
  input  logic [19:0]      soon_i,
  output logic [19:0]      lack_o,
  output logic             pte_valid_o,
  input  logic             pte_ready_i,
  output logic             pte_group_o,
  output logic [52:0]      pte_entry_o,
  output logic [63:0]      pte_expected_o,
  output logic [63:0]      pte_wanted_o,
  input  logic             pte_done_i,
  input  logic [1:0]       pte_result_i,
  input  logic [63:0]      pte_found_i,
  output logic             busy_o,
  output logic             lacks_o,
  output logic             broken_o
);

  gw_pkg::xlate_rsp_t ans;
  gw_pkg::wake_t wake;
  assign ans_of_o = {ans.src, ans.tag, ans.ctx, ans.vpn};
  assign ans_ppn_o = ans.ppn;
  assign ans_order_o = ans.order;
  assign ans_perm_o = {ans.cacheable, ans.perm};
  assign ans_fault_o = ans.fault;
  assign ans_cause_o = ans.cause;
  assign ans_parked_o = ans.parked;
  assign ans_park_o = 8'(ans.park);
  assign wake_valid_o = wake.valid;
  assign wake_ok_o = wake.ok;
  assign wake_park_o = 8'(wake.park);

  gw_touch #(
    .Regions  (2),
    .Together (Together),
    .Orders   (gw_pkg::group_orders_t'(Orders)),
    .ParkFirst(gw_pkg::park_t'(9))
  ) u_dut (
    .clk_i,
    .rst_ni,
    .zero_i,
    .req_valid_i,
    .req_ready_o,
    .req_i        ('{src: req_src_i, tag: req_tag_i, ctx: req_ctx_i, vpn: req_vpn_i, write: req_write_i}),
    .level_i,
    .entry_i,
    .ans_valid_o,
    .ans_ready_i,
    .ans_o        (ans),
    .wake_o       (wake),
    .wake_ready_i,
    .end_i,
    .forget_i,
    .look_valid_o,
    .look_ready_i,
    .look_ctx_o,
    .look_vpn_o,
    .look_done_i,
    .look_page_i  (gw_pkg::heap_page_t'(look_page_i)),
    .stock_valid_i,
    .stock_frame_i,
    .stock_take_o,
    .soon_i,
    .lack_o,
    .pte_valid_o,
    .pte_ready_i,
    .pte_group_o,
    .pte_entry_o,
    .pte_expected_o,
    .pte_wanted_o,
    .pte_done_i,
    .pte_result_i (gw_pkg::pte_result_e'(pte_result_i)),
    .pte_found_i,
    .busy_o,
    .idle_o       (),
    .gives_o      (),
    .lacks_o,
    .broken_o
  );

endmodule
