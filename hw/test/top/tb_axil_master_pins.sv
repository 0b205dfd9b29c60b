// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// An AXI4-Lite bundle whose master is the bench: it drives the plain signals that are a master's.
module tb_axil_master_pins (
  input  logic                  clk_i,
  output gw_axi_pkg::axil_req_t req_o,
  input  gw_axi_pkg::axil_rsp_t rsp_i
);

  // Driven by the bench.
  // verilator lint_off UNDRIVEN
  logic [31:0] s_awaddr, s_wdata, s_araddr;
  logic [2:0] s_awprot, s_arprot;
  logic [3:0] s_wstrb;
  logic s_awvalid, s_wvalid, s_bready, s_arvalid, s_rready;
  // verilator lint_on UNDRIVEN

  logic s_awready, s_wready, s_bvalid, s_arready, s_rvalid;
  logic [1:0] s_bresp, s_rresp;
  logic [31:0] s_rdata;

  assign req_o = '{
    aw_addr:  s_awaddr,
    aw_prot:  s_awprot,
    aw_valid: s_awvalid,
    w_data:   s_wdata,
    w_strb:   s_wstrb,
    w_valid:  s_wvalid,
    b_ready:  s_bready,
    ar_addr:  s_araddr,
    ar_prot:  s_arprot,
    ar_valid: s_arvalid,
    r_ready:  s_rready
  };
  assign s_awready = rsp_i.aw_ready;
  assign s_wready = rsp_i.w_ready;
  assign s_bresp = rsp_i.b_resp;
  assign s_bvalid = rsp_i.b_valid;
  assign s_arready = rsp_i.ar_ready;
  assign s_rdata = rsp_i.r_data;
  assign s_rresp = rsp_i.r_resp;
  assign s_rvalid = rsp_i.r_valid;

endmodule
