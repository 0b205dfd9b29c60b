// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Kernel alpha of test_outside.py: result = FACTOR * a + the word in rom.dat.
`include "rule.vh"
module alpha (
  input wire ap_clk,
  input wire ap_rst_n,
  output wire interrupt,
  input wire [0:0] s_axi_control_AWVALID,
  output wire [0:0] s_axi_control_AWREADY,
  input wire [5:0] s_axi_control_AWADDR,
  input wire [0:0] s_axi_control_WVALID,
  output wire [0:0] s_axi_control_WREADY,
  input wire [31:0] s_axi_control_WDATA,
  input wire [3:0] s_axi_control_WSTRB,
  input wire [0:0] s_axi_control_ARVALID,
  output wire [0:0] s_axi_control_ARREADY,
  input wire [5:0] s_axi_control_ARADDR,
  output wire [0:0] s_axi_control_RVALID,
  input wire [0:0] s_axi_control_RREADY,
  output wire [31:0] s_axi_control_RDATA,
  output wire [1:0] s_axi_control_RRESP,
  output wire [0:0] s_axi_control_BVALID,
  input wire [0:0] s_axi_control_BREADY,
  output wire [1:0] s_axi_control_BRESP,
  output wire [0:0] m_axi_gmem_AWVALID,
  input wire [0:0] m_axi_gmem_AWREADY,
  output wire [63:0] m_axi_gmem_AWADDR,
  output wire [7:0] m_axi_gmem_AWLEN,
  output wire [2:0] m_axi_gmem_AWSIZE,
  output wire [1:0] m_axi_gmem_AWBURST,
  output wire [1:0] m_axi_gmem_AWLOCK,
  output wire [3:0] m_axi_gmem_AWCACHE,
  output wire [2:0] m_axi_gmem_AWPROT,
  output wire [3:0] m_axi_gmem_AWQOS,
  output wire [3:0] m_axi_gmem_AWREGION,
  output wire [0:0] m_axi_gmem_AWUSER,
  output wire [0:0] m_axi_gmem_AWID,
  output wire [0:0] m_axi_gmem_ARVALID,
  input wire [0:0] m_axi_gmem_ARREADY,
  output wire [63:0] m_axi_gmem_ARADDR,
  output wire [7:0] m_axi_gmem_ARLEN,
  output wire [2:0] m_axi_gmem_ARSIZE,
  output wire [1:0] m_axi_gmem_ARBURST,
  output wire [1:0] m_axi_gmem_ARLOCK,
  output wire [3:0] m_axi_gmem_ARCACHE,
  output wire [2:0] m_axi_gmem_ARPROT,
  output wire [3:0] m_axi_gmem_ARQOS,
  output wire [3:0] m_axi_gmem_ARREGION,
  output wire [0:0] m_axi_gmem_ARUSER,
  output wire [0:0] m_axi_gmem_ARID,
  output wire [0:0] m_axi_gmem_WVALID,
  input wire [0:0] m_axi_gmem_WREADY,
  output wire [511:0] m_axi_gmem_WDATA,
  output wire [63:0] m_axi_gmem_WSTRB,
  output wire [0:0] m_axi_gmem_WLAST,
  output wire [0:0] m_axi_gmem_WUSER,
  input wire [0:0] m_axi_gmem_RVALID,
  output wire [0:0] m_axi_gmem_RREADY,
  input wire [511:0] m_axi_gmem_RDATA,
  input wire [0:0] m_axi_gmem_RLAST,
  input wire [1:0] m_axi_gmem_RRESP,
  input wire [0:0] m_axi_gmem_RUSER,
  input wire [0:0] m_axi_gmem_BVALID,
  output wire [0:0] m_axi_gmem_BREADY,
  input wire [1:0] m_axi_gmem_BRESP,
  input wire [0:0] m_axi_gmem_BUSER,
  input wire [0:0] m_axi_gmem_RID,
  input wire [0:0] m_axi_gmem_BID
);

  reg [31:0] rom [0:0];
  reg running;
  wire start;
  wire [31:0] a;
  wire done = running;

  initial $readmemh("./rom.dat", rom);

  always @(posedge ap_clk) running <= ap_rst_n && start && !running;

  assign m_axi_gmem_AWVALID = 0;
  assign m_axi_gmem_AWADDR = 0;
  assign m_axi_gmem_AWLEN = 0;
  assign m_axi_gmem_AWSIZE = 0;
  assign m_axi_gmem_AWBURST = 0;
  assign m_axi_gmem_AWLOCK = 0;
  assign m_axi_gmem_AWCACHE = 0;
  assign m_axi_gmem_AWPROT = 0;
  assign m_axi_gmem_AWQOS = 0;
  assign m_axi_gmem_AWREGION = 0;
  assign m_axi_gmem_AWUSER = 0;
  assign m_axi_gmem_AWID = 0;
  assign m_axi_gmem_ARVALID = 0;
  assign m_axi_gmem_ARADDR = 0;
  assign m_axi_gmem_ARLEN = 0;
  assign m_axi_gmem_ARSIZE = 0;
  assign m_axi_gmem_ARBURST = 0;
  assign m_axi_gmem_ARLOCK = 0;
  assign m_axi_gmem_ARCACHE = 0;
  assign m_axi_gmem_ARPROT = 0;
  assign m_axi_gmem_ARQOS = 0;
  assign m_axi_gmem_ARREGION = 0;
  assign m_axi_gmem_ARUSER = 0;
  assign m_axi_gmem_ARID = 0;
  assign m_axi_gmem_WVALID = 0;
  assign m_axi_gmem_WDATA = 0;
  assign m_axi_gmem_WSTRB = 0;
  assign m_axi_gmem_WLAST = 0;
  assign m_axi_gmem_WUSER = 0;
  assign m_axi_gmem_RREADY = 0;
  assign m_axi_gmem_BREADY = 0;

  outside_control_s_axi control (
    .clk(ap_clk), .rst_n(ap_rst_n),
    .awvalid(s_axi_control_AWVALID),
    .awready(s_axi_control_AWREADY),
    .awaddr(s_axi_control_AWADDR),
    .wvalid(s_axi_control_WVALID),
    .wready(s_axi_control_WREADY),
    .wdata(s_axi_control_WDATA),
    .wstrb(s_axi_control_WSTRB),
    .arvalid(s_axi_control_ARVALID),
    .arready(s_axi_control_ARREADY),
    .araddr(s_axi_control_ARADDR),
    .rvalid(s_axi_control_RVALID),
    .rready(s_axi_control_RREADY),
    .rdata(s_axi_control_RDATA),
    .rresp(s_axi_control_RRESP),
    .bvalid(s_axi_control_BVALID),
    .bready(s_axi_control_BREADY),
    .bresp(s_axi_control_BRESP),
    .interrupt(interrupt), .ap_start(start), .ap_done(done), .a(a), .result(`RULE(a) + rom[0])
  );

endmodule
