// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_axi_mux with three masters and flat ports, for the bench.
`include "gw_axi_typedef.svh"

`define GW_MASTER_PORTS(__n) \
  input  logic [IdWidth-1:0] s``__n``_axi_arid, \
  input  logic [63:0] s``__n``_axi_araddr, \
  input  logic [7:0] s``__n``_axi_arlen, \
  input  logic [2:0] s``__n``_axi_arsize, \
  input  logic [1:0] s``__n``_axi_arburst, \
  input  logic s``__n``_axi_arvalid, \
  output logic s``__n``_axi_arready, \
  output logic [IdWidth-1:0] s``__n``_axi_rid, \
  output logic [DataWidth-1:0] s``__n``_axi_rdata, \
  output logic [1:0] s``__n``_axi_rresp, \
  output logic s``__n``_axi_rlast, \
  output logic s``__n``_axi_rvalid, \
  input  logic s``__n``_axi_rready, \
  input  logic [IdWidth-1:0] s``__n``_axi_awid, \
  input  logic [63:0] s``__n``_axi_awaddr, \
  input  logic [7:0] s``__n``_axi_awlen, \
  input  logic [2:0] s``__n``_axi_awsize, \
  input  logic [1:0] s``__n``_axi_awburst, \
  input  logic s``__n``_axi_awvalid, \
  output logic s``__n``_axi_awready, \
  input  logic [DataWidth-1:0] s``__n``_axi_wdata, \
  input  logic [DataWidth/8-1:0] s``__n``_axi_wstrb, \
  input  logic s``__n``_axi_wlast, \
  input  logic s``__n``_axi_wvalid, \
  output logic s``__n``_axi_wready, \
  output logic [IdWidth-1:0] s``__n``_axi_bid, \
  output logic [1:0] s``__n``_axi_bresp, \
  output logic s``__n``_axi_bvalid, \
  input  logic s``__n``_axi_bready,

`define GW_MASTER_WIRES(__n) \
  always_comb begin \
    s_req[__n] = '0; \
    s_req[__n].ar.id = s``__n``_axi_arid; \
    s_req[__n].ar.addr = s``__n``_axi_araddr; \
    s_req[__n].ar.len = s``__n``_axi_arlen; \
    s_req[__n].ar.size = s``__n``_axi_arsize; \
    s_req[__n].ar.burst = s``__n``_axi_arburst; \
    s_req[__n].ar_valid = s``__n``_axi_arvalid; \
    s_req[__n].r_ready = s``__n``_axi_rready; \
    s_req[__n].aw.id = s``__n``_axi_awid; \
    s_req[__n].aw.addr = s``__n``_axi_awaddr; \
    s_req[__n].aw.len = s``__n``_axi_awlen; \
    s_req[__n].aw.size = s``__n``_axi_awsize; \
    s_req[__n].aw.burst = s``__n``_axi_awburst; \
    s_req[__n].aw_valid = s``__n``_axi_awvalid; \
    s_req[__n].w = '{data: s``__n``_axi_wdata, strb: s``__n``_axi_wstrb, last: s``__n``_axi_wlast}; \
    s_req[__n].w_valid = s``__n``_axi_wvalid; \
    s_req[__n].b_ready = s``__n``_axi_bready; \
  end \
  assign s``__n``_axi_arready = s_rsp[__n].ar_ready; \
  assign s``__n``_axi_rid = s_rsp[__n].r.id; \
  assign s``__n``_axi_rdata = s_rsp[__n].r.data; \
  assign s``__n``_axi_rresp = s_rsp[__n].r.resp; \
  assign s``__n``_axi_rlast = s_rsp[__n].r.last; \
  assign s``__n``_axi_rvalid = s_rsp[__n].r_valid; \
  assign s``__n``_axi_awready = s_rsp[__n].aw_ready; \
  assign s``__n``_axi_wready = s_rsp[__n].w_ready; \
  assign s``__n``_axi_bid = s_rsp[__n].b.id; \
  assign s``__n``_axi_bresp = s_rsp[__n].b.resp; \
  assign s``__n``_axi_bvalid = s_rsp[__n].b_valid;

module tb_axi_mux #(
  parameter int unsigned Writes = 4,
  localparam int unsigned IdWidth = 3,
  localparam int unsigned DataWidth = 128
) (
  input  logic clk_i,
  input  logic rst_ni,

  `GW_MASTER_PORTS(0)
  `GW_MASTER_PORTS(1)
  `GW_MASTER_PORTS(2)

  output logic [IdWidth+1:0] m_axi_arid,
  output logic [63:0] m_axi_araddr,
  output logic [7:0] m_axi_arlen,
  output logic [2:0] m_axi_arsize,
  output logic [1:0] m_axi_arburst,
  output logic m_axi_arvalid,
  input  logic m_axi_arready,
  input  logic [IdWidth+1:0] m_axi_rid,
  input  logic [DataWidth-1:0] m_axi_rdata,
  input  logic [1:0] m_axi_rresp,
  input  logic m_axi_rlast,
  input  logic m_axi_rvalid,
  output logic m_axi_rready,
  output logic [IdWidth+1:0] m_axi_awid,
  output logic [63:0] m_axi_awaddr,
  output logic [7:0] m_axi_awlen,
  output logic [2:0] m_axi_awsize,
  output logic [1:0] m_axi_awburst,
  output logic m_axi_awvalid,
  input  logic m_axi_awready,
  output logic [DataWidth-1:0] m_axi_wdata,
  output logic [DataWidth/8-1:0] m_axi_wstrb,
  output logic m_axi_wlast,
  output logic m_axi_wvalid,
  input  logic m_axi_wready,
  input  logic [IdWidth+1:0] m_axi_bid,
  input  logic [1:0] m_axi_bresp,
  input  logic m_axi_bvalid,
  output logic m_axi_bready
);

  `GW_AXI_TYPEDEF(slv, IdWidth, DataWidth)
  `GW_AXI_TYPEDEF(mst, IdWidth + 2, DataWidth)
  slv_req_t s_req [3];
  slv_rsp_t s_rsp [3];
  mst_req_t m_req;
  mst_rsp_t m_rsp;

  gw_axi_mux #(
    .NumMst   (3),
    .Writes   (Writes),
    .slv_req_t(slv_req_t),
    .slv_rsp_t(slv_rsp_t),
    .mst_req_t(mst_req_t),
    .mst_rsp_t(mst_rsp_t),
    .mst_ax_t (mst_ax_t),
    .mst_w_t  (mst_w_t),
    .mst_r_t  (mst_r_t),
    .mst_b_t  (mst_b_t)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .s_req_i(s_req),
    .s_rsp_o(s_rsp),
    .m_req_o(m_req),
    .m_rsp_i(m_rsp)
  );

  `GW_MASTER_WIRES(0)
  `GW_MASTER_WIRES(1)
  `GW_MASTER_WIRES(2)

  assign m_axi_arid = m_req.ar.id;
  assign m_axi_araddr = m_req.ar.addr;
  assign m_axi_arlen = m_req.ar.len;
  assign m_axi_arsize = m_req.ar.size;
  assign m_axi_arburst = m_req.ar.burst;
  assign m_axi_arvalid = m_req.ar_valid;
  assign m_axi_rready = m_req.r_ready;
  assign m_axi_awid = m_req.aw.id;
  assign m_axi_awaddr = m_req.aw.addr;
  assign m_axi_awlen = m_req.aw.len;
  assign m_axi_awsize = m_req.aw.size;
  assign m_axi_awburst = m_req.aw.burst;
  assign m_axi_awvalid = m_req.aw_valid;
  assign m_axi_wdata = m_req.w.data;
  assign m_axi_wstrb = m_req.w.strb;
  assign m_axi_wlast = m_req.w.last;
  assign m_axi_wvalid = m_req.w_valid;
  assign m_axi_bready = m_req.b_ready;
  assign m_rsp = '{
    ar_ready: m_axi_arready,
    r:        '{id: m_axi_rid, data: m_axi_rdata, resp: m_axi_rresp, last: m_axi_rlast},
    r_valid:  m_axi_rvalid,
    aw_ready: m_axi_awready,
    w_ready:  m_axi_wready,
    b:        '{id: m_axi_bid, resp: m_axi_bresp},
    b_valid:  m_axi_bvalid
  };

endmodule
`undef GW_MASTER_PORTS
`undef GW_MASTER_WIRES
