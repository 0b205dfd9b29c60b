// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// An AXI4 bundle whose slave is the bench: it drives the plain signals that are a slave's.
module tb_axi_slave_pins (
  input  logic                 clk_i,
  input  gw_axi_pkg::axi_req_t req_i,
  output gw_axi_pkg::axi_rsp_t rsp_o
);

  // Driven by the bench.
  // verilator lint_off UNDRIVEN
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
  // verilator lint_on UNDRIVEN

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

  assign axi_awid = req_i.aw.id;
  assign axi_awaddr = req_i.aw.addr;
  assign axi_awlen = req_i.aw.len;
  assign axi_awsize = req_i.aw.size;
  assign axi_awburst = req_i.aw.burst;
  assign axi_awvalid = req_i.aw_valid;
  assign axi_arid = req_i.ar.id;
  assign axi_araddr = req_i.ar.addr;
  assign axi_arlen = req_i.ar.len;
  assign axi_arsize = req_i.ar.size;
  assign axi_arburst = req_i.ar.burst;
  assign axi_arvalid = req_i.ar_valid;
  assign axi_wdata = req_i.w.data;
  assign axi_wstrb = req_i.w.strb;
  assign axi_wlast = req_i.w.last;
  assign axi_wvalid = req_i.w_valid;
  assign axi_bready = req_i.b_ready;
  assign axi_rready = req_i.r_ready;
  assign rsp_o = '{
    aw_ready: axi_awready,
    w_ready:  axi_wready,
    b:        '{id: axi_bid, resp: axi_bresp},
    b_valid:  axi_bvalid,
    ar_ready: axi_arready,
    r:        '{id: axi_rid, data: axi_rdata, resp: axi_rresp, last: axi_rlast},
    r_valid:  axi_rvalid
  };

endmodule
