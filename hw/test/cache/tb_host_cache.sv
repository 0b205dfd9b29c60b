// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_host_cache with two ports, for the bench: masters u_port, device memories u_device, the host u_link.
module tb_host_cache #(
  parameter int unsigned Pages = 4,
  parameter int unsigned Places = 2
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        cmd_valid_i,
  output logic        cmd_ready_o,
  input  logic [101:0] cmd_i,  // {clean, drop, first, last}
  output logic        ack_o,
  output logic        ack_error_o,
  output gw_pkg::cache_event_t event_o
);

  gw_axi_pkg::axi_req_t s_req[2], m_req[2], link_req;
  gw_axi_pkg::axi_rsp_t s_rsp[2], m_rsp[2], link_rsp;
  gw_pkg::cache_ack_t ack;
  assign {ack_o, ack_error_o} = ack;

  for (genvar i = 0; i < 2; i++) begin : gen_port
    tb_axi_master_pins u_port (
      .clk_i,
      .req_o(s_req[i]),
      .rsp_i(s_rsp[i])
    );
    tb_axi_slave_pins u_device (
      .clk_i,
      .req_i(m_req[i]),
      .rsp_o(m_rsp[i])
    );
  end
  tb_axi_slave_pins u_link (
    .clk_i,
    .req_i(link_req),
    .rsp_o(link_rsp)
  );

  gw_host_cache #(
    .NumPorts(2),
    .Bursts  (4),
    .Pages   (Pages),
    .Reads   (Places),
    .Writes  (Places),
    .Fills   (Places),
    .Merges  (Places)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .s_req_i    (s_req),
    .s_rsp_o    (s_rsp),
    .m_req_o    (m_req),
    .m_rsp_i    (m_rsp),
    .link_req_o (link_req),
    .link_rsp_i (link_rsp),
    .pt_req_i   ('0),
    .pt_rsp_i   ('0),
    .cmd_valid_i,
    .cmd_ready_o,
    .cmd_i      (cmd_i),
    .ack_o      (ack),
    .event_o,
    .access_req_i('0),
    .access_rsp_o()
  );

endmodule
