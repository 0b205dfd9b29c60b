// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_frames with plain pins for cocotb: two regions of 16 and 12 blocks, two clients, shelves of four groups.
module tb_frames #(
  parameter int unsigned Orders = 'h11
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic [1:0]             start_i,
  input  logic [1:0]             start_clean_i,
  input  logic [1:0]             cmd_valid_i,
  output logic [1:0]             cmd_ready_o,
  input  logic [1:0]             cmd_give_i,
  input  logic [1:0]             cmd_dirty_i,
  input  logic [5:0]             cmd_region_i,
  input  logic [7:0]             cmd_order_i,
  input  logic [87:0]            cmd_frame_i,
  output logic [1:0]             rsp_valid_o,
  output logic                   rsp_ok_o,
  output logic [43:0]            rsp_frame_o,
  output logic [19:0]            stock_valid_o,  // {region, order}
  output logic [19:0][43:0]      stock_frame_o,
  input  logic [19:0]            stock_take_i,
  output logic [19:0]            soon_o,
  input  logic [19:0]            wanted_i,
  input  logic [19:0]            held_i,
  output logic [1:0][13:0]       free_o,
  output logic [1:0][13:0]       clean_o,
  output logic                   broken_o,
  output logic                   ar_valid_o,
  input  logic                   ar_ready_i,
  output logic [63:0]            ar_addr_o,
  output logic [12:0]            ar_shape_o,  // {len, size, burst}
  input  logic                   r_valid_i,
  output logic                   r_ready_o,
  input  logic [63:0]            r_data_i,
  input  logic [2:0]             r_lane_i,
  input  logic                   r_last_i,
  input  logic [1:0]             r_resp_i,
  output logic                   aw_valid_o,
  input  logic                   aw_ready_i,
  output logic [63:0]            aw_addr_o,
  output logic [12:0]            aw_shape_o,
  output logic                   w_valid_o,
  input  logic                   w_ready_i,
  output logic [63:0]            w_data_o,
  output logic [63:0]            w_strb_o,
  output logic                   w_last_o,
  input  logic                   b_valid_i,
  output logic                   b_ready_o,
  input  logic [1:0]             b_resp_i
);

  gw_axi_pkg::bitmap_req_t req;
  gw_axi_pkg::bitmap_rsp_t rsp;
  gw_pkg::frames_cmd_t [1:0] cmd;
  gw_pkg::frames_rsp_t answer;

  always_comb begin
    for (int unsigned c = 0; c < 2; c++) begin
      cmd[c] = '{
        give: cmd_give_i[c],
        dirty: cmd_dirty_i[c],
        region: cmd_region_i[3*c +: 3],
        order: cmd_order_i[4*c +: 4],
        frame: cmd_frame_i[44*c +: 44]
      };
    end
  end
  assign rsp_ok_o = answer.ok;
  assign rsp_frame_o = answer.frame;

  assign ar_valid_o = req.ar_valid;
  assign ar_addr_o  = req.ar.addr;
  assign ar_shape_o = {req.ar.len, req.ar.size, req.ar.burst};
  assign r_ready_o  = req.r_ready;
  assign aw_valid_o = req.aw_valid;
  assign aw_addr_o  = req.aw.addr;
  assign aw_shape_o = {req.aw.len, req.aw.size, req.aw.burst};
  assign w_valid_o  = req.w_valid;
  assign w_strb_o   = req.w.strb;
  assign w_last_o   = req.w.last;
  assign b_ready_o  = req.b_ready;
  // Of a bus only the bytes that are meant are looked at.
  always_comb begin
    w_data_o = '0;
    for (int unsigned i = 0; i < 8; i++) if (req.w.strb[8*i]) w_data_o = req.w.data[64*i +: 64];
    rsp = '0;
    rsp.ar_ready = ar_ready_i;
    rsp.r_valid = r_valid_i;
    rsp.r.data = {8{64'hbad0_bad0_bad0_bad0}};
    rsp.r.data[64*r_lane_i +: 64] = r_data_i;
    rsp.r.last = r_last_i;
    rsp.r.resp = r_resp_i;
    rsp.aw_ready = aw_ready_i;
    rsp.w_ready = w_ready_i;
    rsp.b_valid = b_valid_i;
    rsp.b.resp = b_resp_i;
  end

  gw_frames #(
    .Regions(2),
    .Blocks (16),
    .Lines  (2),
    .Orders (gw_pkg::group_orders_t'(Orders)),
    .Clients(2),
    .Stock  (4)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .start_i,
    .start_clean_i,
    .blocks_i     ({5'd12, 5'd16}),
    .base_i       ({44'h12_3456_0000, 44'h00_0000_0400}),
    .bits_i       ({44'h30, 44'h20, 44'h10, 44'h00}),
    .cmd_valid_i,
    .cmd_ready_o,
    .cmd_i        (cmd),
    .rsp_valid_o,
    .rsp_o        (answer),
    .stock_valid_o,
    .stock_frame_o,
    .stock_take_i,
    .soon_o,
    .wanted_i,
    .held_i,
    .free_o,
    .clean_o,
    .broken_o,
    .m_req_o      (req),
    .m_rsp_i      (rsp)
  );

endmodule
