// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_page_cache with plain pins for cocotb.
module tb_page_cache #(
  parameter int unsigned Pages = 16,
  parameter int unsigned PageShift = 12,
  parameter int unsigned Replacement = 0,
  parameter int unsigned FillMode = 1,
  parameter int unsigned Spare = 1,
  parameter int unsigned Reads = 8,
  parameter int unsigned Writes = 8,
  parameter int unsigned Fills = 8,
  parameter int unsigned Merges = 4,
  parameter int unsigned RestLines = 64
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        cmd_valid_i,
  output logic        cmd_ready_o,
  input  logic        cmd_clean_i,
  input  logic        cmd_drop_i,
  input  logic [49:0] cmd_first_i,
  input  logic [49:0] cmd_last_i,
  output logic        ack_o,
  output logic        ack_error_o,
  output logic [8:0]  event_o
);

  gw_axi_pkg::axi_req_t up_req, link_req;
  gw_axi_pkg::axi_rsp_t up_rsp, link_rsp;

  tb_axi_master_pins u_up (
    .clk_i,
    .req_o(up_req),
    .rsp_i(up_rsp)
  );
  tb_axi_slave_pins u_link (
    .clk_i,
    .req_i(link_req),
    .rsp_o(link_rsp)
  );

  gw_page_cache #(
    .Pages      (Pages),
    .PageShift  (PageShift),
    .Replacement(Replacement),
    .FillMode   (FillMode),
    .Spare      (Spare),
    .Reads      (Reads),
    .Writes     (Writes),
    .Fills      (Fills),
    .Merges     (Merges),
    .RestLines  (RestLines)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .up_req_i   (up_req),
    .up_rsp_o   (up_rsp),
    .link_req_o (link_req),
    .link_rsp_i (link_rsp),
    .cmd_valid_i,
    .cmd_ready_o,
    .cmd_clean_i,
    .cmd_drop_i,
    .cmd_first_i,
    .cmd_last_i,
    .ack_o,
    .ack_error_o,
    .event_o
  );

endmodule
