// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_groups with plain pins for cocotb.
module tb_groups #(
  parameter int unsigned Pools = 2,
  parameter int unsigned Blocks = 2048,
  parameter int unsigned BlockBits = 9,
  parameter int unsigned Lines = 4,
  localparam int unsigned UnitWidth = $clog2(Blocks) + BlockBits
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   cmd_valid_i,
  output logic                   cmd_ready_o,
  input  logic [1:0]             cmd_op_i,
  input  logic                   cmd_pool_i,
  input  logic [3:0]             cmd_order_i,
  input  logic [UnitWidth-1:0]   cmd_unit_i,
  input  logic [$clog2(Blocks):0] cmd_count_i,
  output logic                   rsp_valid_o,
  input  logic                   rsp_ready_i,
  output logic                   rsp_ok_o,
  output logic [UnitWidth-1:0]   rsp_unit_o,
  output logic [Pools-1:0][BlockBits:0] some_o,
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
  gw_pkg::ppn_t [Pools-1:0] base;

  // Pool p's bits are at p MiB.
  always_comb for (int unsigned p = 0; p < Pools; p++) base[p] = gw_pkg::ppn_t'(p) << 8;

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

  gw_groups #(
    .Pools    (Pools),
    .Blocks   (Blocks),
    .BlockBits(BlockBits),
    .Lines    (Lines)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .base_i     (base),
    .cmd_valid_i,
    .cmd_ready_o,
    .cmd_op_i   (gw_pkg::group_op_e'(cmd_op_i)),
    .cmd_pool_i ($clog2(Pools > 1 ? Pools : 2)'(cmd_pool_i)),
    .cmd_order_i,
    .cmd_unit_i,
    .cmd_count_i,
    .rsp_valid_o,
    .rsp_ready_i,
    .rsp_ok_o,
    .rsp_unit_o,
    .some_o,
    .broken_o,
    .m_req_o    (req),
    .m_rsp_i    (rsp)
  );

endmodule
