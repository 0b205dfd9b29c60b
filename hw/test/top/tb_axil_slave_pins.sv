// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// An AXI4-Lite bundle whose slave is the bench: it drives the plain signals that are a slave's.
module tb_axil_slave_pins (
  input  logic                  clk_i,
  input  gw_axi_pkg::axil_req_t req_i,
  output gw_axi_pkg::axil_rsp_t rsp_o
);

  // Driven by the bench.
  // verilator lint_off UNDRIVEN
  logic m_awready, m_wready, m_bvalid, m_arready, m_rvalid;
  logic [1:0] m_bresp, m_rresp;
  logic [31:0] m_rdata;
  // verilator lint_on UNDRIVEN

  logic [31:0] m_awaddr, m_wdata, m_araddr;
  logic [2:0] m_awprot, m_arprot;
  logic [3:0] m_wstrb;
  logic m_awvalid, m_wvalid, m_bready, m_arvalid, m_rready;

  assign m_awaddr = req_i.aw_addr;
  assign m_awprot = req_i.aw_prot;
  assign m_awvalid = req_i.aw_valid;
  assign m_wdata = req_i.w_data;
  assign m_wstrb = req_i.w_strb;
  assign m_wvalid = req_i.w_valid;
  assign m_bready = req_i.b_ready;
  assign m_araddr = req_i.ar_addr;
  assign m_arprot = req_i.ar_prot;
  assign m_arvalid = req_i.ar_valid;
  assign m_rready = req_i.r_ready;
  assign rsp_o = '{
    aw_ready: m_awready,
    w_ready:  m_wready,
    b_resp:   m_bresp,
    b_valid:  m_bvalid,
    ar_ready: m_arready,
    r_data:   m_rdata,
    r_resp:   m_rresp,
    r_valid:  m_rvalid
  };

endmodule
