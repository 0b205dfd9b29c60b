// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_scrub with plain pins for cocotb: two regions.
module tb_scrub #(
  parameter int unsigned Orders = 'h11
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [1:0]  dirty_i,
  input  logic [1:0]  lack_i,
  input  logic [19:0] wanted_i,
  input  logic        room_i,
  output logic        cmd_valid_o,
  input  logic        cmd_ready_i,
  output logic [52:0] cmd_o,  // {give, dirty, region, order, frame}
  input  logic        rsp_valid_i,
  input  logic        rsp_ok_i,
  input  logic [43:0] rsp_frame_i,
  output logic        aw_valid_o,
  input  logic        aw_ready_i,
  output logic [63:0] aw_addr_o,
  output logic [12:0] aw_shape_o,  // {len, size, burst}
  output logic        w_valid_o,
  input  logic        w_ready_i,
  output logic        w_clears_o,  // all strobes, all zero
  output logic        w_last_o,
  input  logic        b_valid_i,
  output logic        b_ready_o,
  input  logic [1:0]  b_resp_i,
  output logic        busy_o,
  output logic [19:0] held_o,
  output logic        event_o,
  output logic        broken_o
);

  gw_axi_pkg::bitmap_req_t req;
  gw_axi_pkg::bitmap_rsp_t rsp;
  gw_pkg::frames_cmd_t cmd;
  gw_pkg::group_order_t order;
  assign cmd_o = cmd;
  assign aw_valid_o = req.aw_valid;
  assign aw_addr_o = req.aw.addr;
  assign aw_shape_o = {req.aw.len, req.aw.size, req.aw.burst};
  assign w_valid_o = req.w_valid;
  assign w_clears_o = (&req.w.strb) && req.w.data == '0;
  assign w_last_o = req.w.last;
  assign b_ready_o = req.b_ready;
  always_comb begin
    rsp = '0;
    rsp.aw_ready = aw_ready_i;
    rsp.w_ready = w_ready_i;
    rsp.b_valid = b_valid_i;
    rsp.b.resp = b_resp_i;
  end

  gw_scrub #(
    .Regions(2),
    .Orders (gw_pkg::group_orders_t'(Orders))
  ) u_dut (
    .clk_i,
    .rst_ni,
    .dirty_i,
    .lack_i,
    .wanted_i,
    .room_i,
    .cmd_valid_o,
    .cmd_ready_i,
    .cmd_o(cmd),
    .rsp_valid_i,
    .rsp_i('{ok: rsp_ok_i, frame: rsp_frame_i}),
    .m_req_o(req),
    .m_rsp_i(rsp),
    .busy_o,
    .held_o,
    .event_o,
    .event_order_o(order),
    .broken_o
  );

endmodule
