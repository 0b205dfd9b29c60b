// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_axi_adapt with flat ports, for the benches.
`include "gw_axi_typedef.svh"

module tb_axi_adapt #(
  parameter int unsigned SlvDataWidth = 32,
  parameter int unsigned SlvIdWidth = 2,
  parameter int unsigned MstDataWidth = 512,
  parameter int unsigned MstIdWidth = 4,
  parameter int unsigned Bursts = 16
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic [SlvIdWidth-1:0] s_axi_arid,
  input  logic [63:0] s_axi_araddr,
  input  logic [7:0] s_axi_arlen,
  input  logic [2:0] s_axi_arsize,
  input  logic [1:0] s_axi_arburst,
  input  logic s_axi_arlock,
  input  logic [3:0] s_axi_arcache,
  input  logic s_axi_arvalid,
  output logic s_axi_arready,
  output logic [SlvIdWidth-1:0] s_axi_rid,
  output logic [SlvDataWidth-1:0] s_axi_rdata,
  output logic [1:0] s_axi_rresp,
  output logic s_axi_rlast,
  output logic s_axi_rvalid,
  input  logic s_axi_rready,
  input  logic [SlvIdWidth-1:0] s_axi_awid,
  input  logic [63:0] s_axi_awaddr,
  input  logic [7:0] s_axi_awlen,
  input  logic [2:0] s_axi_awsize,
  input  logic [1:0] s_axi_awburst,
  input  logic s_axi_awlock,
  input  logic [3:0] s_axi_awcache,
  input  logic s_axi_awvalid,
  output logic s_axi_awready,
  input  logic [SlvDataWidth-1:0] s_axi_wdata,
  input  logic [SlvDataWidth/8-1:0] s_axi_wstrb,
  input  logic s_axi_wlast,
  input  logic s_axi_wvalid,
  output logic s_axi_wready,
  output logic [SlvIdWidth-1:0] s_axi_bid,
  output logic [1:0] s_axi_bresp,
  output logic s_axi_bvalid,
  input  logic s_axi_bready,

  output logic [MstIdWidth-1:0] m_axi_arid,
  output logic [63:0] m_axi_araddr,
  output logic [7:0] m_axi_arlen,
  output logic [2:0] m_axi_arsize,
  output logic [1:0] m_axi_arburst,
  output logic m_axi_arlock,
  output logic [3:0] m_axi_arcache,
  output logic m_axi_arvalid,
  input  logic m_axi_arready,
  input  logic [MstIdWidth-1:0] m_axi_rid,
  input  logic [MstDataWidth-1:0] m_axi_rdata,
  input  logic [1:0] m_axi_rresp,
  input  logic m_axi_rlast,
  input  logic m_axi_rvalid,
  output logic m_axi_rready,
  output logic [MstIdWidth-1:0] m_axi_awid,
  output logic [63:0] m_axi_awaddr,
  output logic [7:0] m_axi_awlen,
  output logic [2:0] m_axi_awsize,
  output logic [1:0] m_axi_awburst,
  output logic m_axi_awlock,
  output logic [3:0] m_axi_awcache,
  output logic m_axi_awvalid,
  input  logic m_axi_awready,
  output logic [MstDataWidth-1:0] m_axi_wdata,
  output logic [MstDataWidth/8-1:0] m_axi_wstrb,
  output logic m_axi_wlast,
  output logic m_axi_wvalid,
  input  logic m_axi_wready,
  input  logic [MstIdWidth-1:0] m_axi_bid,
  input  logic [1:0] m_axi_bresp,
  input  logic m_axi_bvalid,
  output logic m_axi_bready
);

  `GW_AXI_TYPEDEF(slv, SlvIdWidth, SlvDataWidth)
  `GW_AXI_TYPEDEF(mst, MstIdWidth, MstDataWidth)
  slv_req_t s_req;
  slv_rsp_t s_rsp;
  mst_req_t m_req;
  mst_rsp_t m_rsp;

  gw_axi_adapt #(
    .SlvDataWidth(SlvDataWidth),
    .SlvIdWidth  (SlvIdWidth),
    .MstDataWidth(MstDataWidth),
    .MstIdWidth  (MstIdWidth),
    .Bursts      (Bursts),
    .slv_req_t   (slv_req_t),
    .slv_rsp_t   (slv_rsp_t),
    .mst_req_t   (mst_req_t),
    .mst_rsp_t   (mst_rsp_t)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .s_req_i(s_req),
    .s_rsp_o(s_rsp),
    .m_req_o(m_req),
    .m_rsp_i(m_rsp)
  );

  always_comb begin
    s_req = '0;
    s_req.ar.id = s_axi_arid;
    s_req.ar.addr = s_axi_araddr;
    s_req.ar.len = s_axi_arlen;
    s_req.ar.size = s_axi_arsize;
    s_req.ar.burst = s_axi_arburst;
    s_req.ar.lock = s_axi_arlock;
    s_req.ar.cache = s_axi_arcache;
    s_req.ar_valid = s_axi_arvalid;
    s_req.r_ready = s_axi_rready;
    s_req.aw.id = s_axi_awid;
    s_req.aw.addr = s_axi_awaddr;
    s_req.aw.len = s_axi_awlen;
    s_req.aw.size = s_axi_awsize;
    s_req.aw.burst = s_axi_awburst;
    s_req.aw.lock = s_axi_awlock;
    s_req.aw.cache = s_axi_awcache;
    s_req.aw_valid = s_axi_awvalid;
    s_req.w = '{data: s_axi_wdata, strb: s_axi_wstrb, last: s_axi_wlast};
    s_req.w_valid = s_axi_wvalid;
    s_req.b_ready = s_axi_bready;
  end
  assign s_axi_arready = s_rsp.ar_ready;
  assign s_axi_rid = s_rsp.r.id;
  assign s_axi_rdata = s_rsp.r.data;
  assign s_axi_rresp = s_rsp.r.resp;
  assign s_axi_rlast = s_rsp.r.last;
  assign s_axi_rvalid = s_rsp.r_valid;
  assign s_axi_awready = s_rsp.aw_ready;
  assign s_axi_wready = s_rsp.w_ready;
  assign s_axi_bid = s_rsp.b.id;
  assign s_axi_bresp = s_rsp.b.resp;
  assign s_axi_bvalid = s_rsp.b_valid;

  assign m_axi_arid = m_req.ar.id;
  assign m_axi_araddr = m_req.ar.addr;
  assign m_axi_arlen = m_req.ar.len;
  assign m_axi_arsize = m_req.ar.size;
  assign m_axi_arburst = m_req.ar.burst;
  assign m_axi_arlock = m_req.ar.lock;
  assign m_axi_arcache = m_req.ar.cache;
  assign m_axi_arvalid = m_req.ar_valid;
  assign m_axi_rready = m_req.r_ready;
  assign m_axi_awid = m_req.aw.id;
  assign m_axi_awaddr = m_req.aw.addr;
  assign m_axi_awlen = m_req.aw.len;
  assign m_axi_awsize = m_req.aw.size;
  assign m_axi_awburst = m_req.aw.burst;
  assign m_axi_awlock = m_req.aw.lock;
  assign m_axi_awcache = m_req.aw.cache;
  assign m_axi_awvalid = m_req.aw_valid;
  assign m_axi_wdata = m_req.w.data;
  assign m_axi_wstrb = m_req.w.strb;
  assign m_axi_wlast = m_req.w.last;
  assign m_axi_wvalid = m_req.w_valid;
  assign m_axi_bready = m_req.b_ready;
  assign m_rsp = '{
    aw_ready: m_axi_awready,
    w_ready:  m_axi_wready,
    b:        '{id: m_axi_bid, resp: m_axi_bresp},
    b_valid:  m_axi_bvalid,
    ar_ready: m_axi_arready,
    r:        '{id: m_axi_rid, data: m_axi_rdata, resp: m_axi_rresp, last: m_axi_rlast},
    r_valid:  m_axi_rvalid
  };

endmodule
