// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_axil_demux for cocotb: a master on plain pins and three slaves (tb_axil_pins) of 4 KiB, 64 KiB and 64 KiB.
module tb_axil_demux (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [31:0] s_awaddr,
  input  logic [2:0]  s_awprot,
  input  logic        s_awvalid,
  output logic        s_awready,
  input  logic [31:0] s_wdata,
  input  logic [3:0]  s_wstrb,
  input  logic        s_wvalid,
  output logic        s_wready,
  output logic [1:0]  s_bresp,
  output logic        s_bvalid,
  input  logic        s_bready,
  input  logic [31:0] s_araddr,
  input  logic [2:0]  s_arprot,
  input  logic        s_arvalid,
  output logic        s_arready,
  output logic [31:0] s_rdata,
  output logic [1:0]  s_rresp,
  output logic        s_rvalid,
  input  logic        s_rready
);

  gw_axi_pkg::axil_req_t s_req;
  gw_axi_pkg::axil_rsp_t s_rsp;
  gw_axi_pkg::axil_req_t [2:0] m_req;
  gw_axi_pkg::axil_rsp_t [2:0] m_rsp;

  assign s_req = '{
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
  assign s_awready = s_rsp.aw_ready;
  assign s_wready = s_rsp.w_ready;
  assign s_bresp = s_rsp.b_resp;
  assign s_bvalid = s_rsp.b_valid;
  assign s_arready = s_rsp.ar_ready;
  assign s_rdata = s_rsp.r_data;
  assign s_rresp = s_rsp.r_resp;
  assign s_rvalid = s_rsp.r_valid;

  for (genvar i = 0; i < 3; i++) begin : gen_slave
    tb_axil_pins u_pins (
      .clk_i,
      .req_i(m_req[i]),
      .rsp_o(m_rsp[i])
    );
  end

  gw_axil_demux #(
    .NumSlaves(3),
    .Base     ({32'h0011_0000, 32'h0010_0000, 32'h0000_0000}),
    .Mask     ({32'h0000_ffff, 32'h0000_ffff, 32'h0000_0fff})
  ) u_dut (
    .clk_i,
    .rst_ni,
    .s_req_i(s_req),
    .s_rsp_o(s_rsp),
    .m_req_o(m_req),
    .m_rsp_i(m_rsp)
  );

endmodule
