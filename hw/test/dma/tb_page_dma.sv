// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_page_dma with plain pins for cocotb.
module tb_page_dma #(
  parameter int unsigned Slots = 32,
  parameter int unsigned Bursts = 32,
  parameter int unsigned BufferLines = 256,
  parameter int unsigned FetchLines = 8
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        enable_i,
  input  logic        cancel_i,
  input  logic [43:0] base_i,
  input  logic [4:0]  log2_size_less1_i,
  input  logic [31:0] first_i,
  input  logic [31:0] tail_i,
  input  logic        fence_write_i,
  input  logic [53:0] fence_addr_i,
  output logic        on_o,
  output logic        stopped_o,
  output logic [2:0]  cause_o,
  output logic [31:0] head_o,
  output logic [31:0] fence_o,
  input  logic [31:0] sequence_i,
  output logic        irq_o,
  output logic        respond_valid_o,
  input  logic        respond_ready_i,
  output logic [63:0] respond_o
);

  gw_pkg::dma_cfg_t cfg;
  gw_pkg::dma_status_t status;
  gw_axi_pkg::axi_req_t device_req, host_req;
  gw_axi_pkg::axi_rsp_t device_rsp, host_rsp;

  assign cfg = '{
    enable: enable_i,
    cancel: cancel_i,
    base: base_i,
    log2_size_less1: log2_size_less1_i,
    first: first_i,
    tail: tail_i,
    fence_write: fence_write_i,
    fence_addr: fence_addr_i
  };
  assign on_o = status.on;
  assign stopped_o = status.stopped;
  assign cause_o = status.cause;
  assign head_o = status.head;
  assign fence_o = status.fence;

  tb_axi_slave_pins u_device (
    .clk_i,
    .req_i(device_req),
    .rsp_o(device_rsp)
  );
  tb_axi_slave_pins u_host (
    .clk_i,
    .req_i(host_req),
    .rsp_o(host_rsp)
  );

  gw_page_dma #(
    .Slots      (Slots),
    .Bursts     (Bursts),
    .BufferLines(BufferLines),
    .FetchLines (FetchLines)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .cfg_i       (cfg),
    .status_o    (status),
    .sequence_i,
    .irq_o,
    .respond_valid_o,
    .respond_ready_i,
    .respond_o,
    .device_req_o(device_req),
    .device_rsp_i(device_rsp),
    .host_req_o  (host_req),
    .host_rsp_i  (host_rsp)
  );

endmodule
