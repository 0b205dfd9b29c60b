// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_axil_demux for cocotb: a master and three slaves of 4 KiB, 64 KiB and 64 KiB on plain pins.
module tb_axil_demux (
  input logic clk_i,
  input logic rst_ni
);

  gw_axi_pkg::axil_req_t s_req;
  gw_axi_pkg::axil_rsp_t s_rsp;
  gw_axi_pkg::axil_req_t [2:0] m_req;
  gw_axi_pkg::axil_rsp_t [2:0] m_rsp;

  tb_axil_master_pins u_master (
    .clk_i,
    .req_o(s_req),
    .rsp_i(s_rsp)
  );

  for (genvar i = 0; i < 3; i++) begin : gen_slave
    tb_axil_slave_pins u_pins (
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
