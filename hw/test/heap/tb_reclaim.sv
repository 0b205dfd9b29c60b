// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_reclaim with plain pins for cocotb: Sv48.
module tb_reclaim #(
  parameter int unsigned Orders = 'h11
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         job_valid_i,
  output logic         job_ready_o,
  input  logic [7:0]   job_ctx_i,
  input  logic [2:0]   job_region_i,
  input  logic [3:0]   job_granule_i,
  input  logic [44:0]  job_first_i,
  input  logic [44:0]  job_from_i,
  input  logic [44:0]  job_to_i,
  output logic         job_done_o,
  output logic [7:0]   ctx_id_o,
  input  logic [3:0]   ctx_mode_i,
  input  logic [43:0]  ctx_root_i,
  output logic         settle_o,
  input  logic         settle_done_i,
  output logic         inval_valid_o,
  input  logic         inval_ready_i,
  output logic [1:0]   inval_scope_o,
  output logic [7:0]   inval_ctx_o,
  output logic [44:0]  inval_vpn_o,
  output logic [4:0]   inval_order_o,
  output logic         fence_o,
  input  logic         fence_done_i,
  output logic         pte_valid_o,
  input  logic         pte_ready_i,
  output logic [52:0]  pte_entry_o,
  output logic [63:0]  pte_expected_o,
  output logic [63:0]  pte_wanted_o,
  input  logic         pte_done_i,
  input  logic [1:0]   pte_result_i,
  input  logic [63:0]  pte_found_i,
  output logic         cmd_valid_o,
  input  logic         cmd_ready_i,
  output logic [52:0]  cmd_o,  // {give, dirty, region, order, frame}
  input  logic         rsp_valid_i,
  input  logic         rsp_ok_i,
  output logic         ar_valid_o,
  input  logic         ar_ready_i,
  output logic [63:0]  ar_addr_o,
  output logic [12:0]  ar_shape_o,  // {len, size, burst}
  input  logic         r_valid_i,
  output logic         r_ready_o,
  input  logic [511:0] r_data_i,
  input  logic [1:0]   r_resp_i,
  output logic         busy_o,
  output logic         event_o,
  output logic         broken_o
);

  gw_pkg::inval_t inval;
  gw_pkg::ctx_t ctx;
  gw_axi_pkg::bitmap_req_t req;
  gw_axi_pkg::bitmap_rsp_t rsp;
  gw_pkg::frames_cmd_t cmd;
  gw_pkg::group_order_t order;
  assign inval_scope_o = inval.scope;
  assign inval_ctx_o = inval.ctx;
  assign inval_vpn_o = inval.vpn;
  assign inval_order_o = inval.order;
  assign cmd_o = cmd;
  assign ar_valid_o = req.ar_valid;
  assign ar_addr_o = req.ar.addr;
  assign ar_shape_o = {req.ar.len, req.ar.size, req.ar.burst};
  assign r_ready_o = req.r_ready;
  always_comb begin
    ctx = '0;
    ctx.mode = ctx_mode_i;
    ctx.root = ctx_root_i;
    rsp = '0;
    rsp.ar_ready = ar_ready_i;
    rsp.r_valid = r_valid_i;
    rsp.r.data = r_data_i;
    rsp.r.resp = r_resp_i;
    rsp.r.last = 1'b1;
  end

  gw_reclaim #(
    .Orders(gw_pkg::group_orders_t'(Orders))
  ) u_dut (
    .clk_i,
    .rst_ni,
    .job_valid_i,
    .job_ready_o,
    .job_i('{
      ctx: job_ctx_i,
      region: job_region_i,
      granule: job_granule_i,
      first: job_first_i,
      from: job_from_i,
      to: job_to_i
    }),
    .job_done_o,
    .ctx_id_o,
    .ctx_i(ctx),
    .settle_o,
    .settle_done_i,
    .inval_valid_o,
    .inval_ready_i,
    .inval_o(inval),
    .fence_o,
    .fence_done_i,
    .pte_valid_o,
    .pte_ready_i,
    .pte_entry_o,
    .pte_expected_o,
    .pte_wanted_o,
    .pte_done_i,
    .pte_result_i(gw_pkg::pte_result_e'(pte_result_i)),
    .pte_found_i,
    .cmd_valid_o,
    .cmd_ready_i,
    .cmd_o(cmd),
    .rsp_valid_i,
    .rsp_i('{ok: rsp_ok_i, frame: '0}),
    .m_req_o(req),
    .m_rsp_i(rsp),
    .busy_o,
    .event_o,
    .event_order_o(order),
    .broken_o
  );

endmodule
