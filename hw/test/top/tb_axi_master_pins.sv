// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// An AXI4 bundle whose master is the bench: it drives the plain signals that are a master's.
module tb_axi_master_pins (
  input  logic                 clk_i,
  output gw_axi_pkg::axi_req_t req_o,
  input  gw_axi_pkg::axi_rsp_t rsp_i
);

  // Driven by the bench.
  // verilator lint_off UNDRIVEN
  logic [3:0] axi_awid;
  logic [63:0] axi_awaddr;
  logic [7:0] axi_awlen;
  logic [2:0] axi_awsize;
  logic [1:0] axi_awburst;
  logic [3:0] axi_arid;
  logic [63:0] axi_araddr;
  logic [7:0] axi_arlen;
  logic [2:0] axi_arsize;
  logic [1:0] axi_arburst;
  logic axi_awvalid;
  logic axi_arvalid;
  logic [511:0] axi_wdata;
  logic [63:0] axi_wstrb;
  logic axi_wlast;
  logic axi_wvalid;
  logic axi_bready;
  logic axi_rready;
  // verilator lint_on UNDRIVEN

  logic axi_awready;
  logic axi_wready;
  logic [3:0] axi_bid;
  logic [1:0] axi_bresp;
  logic axi_bvalid;
  logic axi_arready;
  logic [3:0] axi_rid;
  logic [511:0] axi_rdata;
  logic [1:0] axi_rresp;
  logic axi_rlast;
  logic axi_rvalid;

  always_comb begin
    req_o = '0;
    req_o.aw.id = axi_awid;
    req_o.aw.addr = axi_awaddr;
    req_o.aw.len = axi_awlen;
    req_o.aw.size = axi_awsize;
    req_o.aw.burst = axi_awburst;
    req_o.aw_valid = axi_awvalid;
    req_o.ar.id = axi_arid;
    req_o.ar.addr = axi_araddr;
    req_o.ar.len = axi_arlen;
    req_o.ar.size = axi_arsize;
    req_o.ar.burst = axi_arburst;
    req_o.ar_valid = axi_arvalid;
    req_o.w = '{data: axi_wdata, strb: axi_wstrb, last: axi_wlast};
    req_o.w_valid = axi_wvalid;
    req_o.b_ready = axi_bready;
    req_o.r_ready = axi_rready;
  end

  assign axi_awready = rsp_i.aw_ready;
  assign axi_wready = rsp_i.w_ready;
  assign axi_bid = rsp_i.b.id;
  assign axi_bresp = rsp_i.b.resp;
  assign axi_bvalid = rsp_i.b_valid;
  assign axi_arready = rsp_i.ar_ready;
  assign axi_rid = rsp_i.r.id;
  assign axi_rdata = rsp_i.r.data;
  assign axi_rresp = rsp_i.r.resp;
  assign axi_rlast = rsp_i.r.last;
  assign axi_rvalid = rsp_i.r_valid;

endmodule
