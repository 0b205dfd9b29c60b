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
  parameter int unsigned RestLines = 64,
  parameter int unsigned Ahead = 0,
  parameter int unsigned Eager = 0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  // The walker's port, as the bench has it: a read of a line, and its data.
  input  logic        walk_ask_i,
  input  logic        walk_give_i,
  input  logic [4:0]  walk_id_i,
  input  logic [63:0] walk_addr_i,
  input  logic [511:0] walk_data_i,
  input  logic        cmd_valid_i,
  output logic        cmd_ready_o,
  input  logic        cmd_clean_i,
  input  logic        cmd_drop_i,
  input  logic [49:0] cmd_first_i,
  input  logic [49:0] cmd_last_i,
  output logic        ack_o,
  output logic        ack_error_o,
  output gw_pkg::cache_event_t event_o
);

  gw_axi_pkg::axi_req_t up_req, link_req;
  gw_axi_pkg::axi_rsp_t up_rsp, link_rsp;

  gw_axi_pkg::pt_req_t pt_req;
  gw_axi_pkg::pt_rsp_t pt_rsp;
  always_comb begin
    pt_req = '0;
    pt_rsp = '0;
    pt_req.ar_valid = walk_ask_i;
    pt_req.ar.id = 7'(walk_id_i);
    pt_req.ar.addr = walk_addr_i;
    pt_req.r_ready = 1'b1;
    pt_rsp.ar_ready = 1'b1;
    pt_rsp.r_valid = walk_give_i;
    pt_rsp.r.id = 7'(walk_id_i);
    pt_rsp.r.last = 1'b1;
    pt_rsp.r.data = walk_data_i;
  end

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
    .RestLines  (RestLines),
    .Ahead      (Ahead),
    .Eager      (Eager)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .up_req_i   (up_req),
    .up_rsp_o   (up_rsp),
    .link_req_o (link_req),
    .link_rsp_i (link_rsp),
    .pt_req_i   (pt_req),
    .pt_rsp_i   (pt_rsp),
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
