// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_invalidate with plain pins for cocotb.
module tb_invalidate #(
  parameter int unsigned NumContexts = 16,
  parameter int unsigned FetchLines = 4,
  parameter bit PageRequests = 1'b0,
  parameter bit PageCache = 1'b0
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         enable_i,
  input  logic         stopped_i,
  input  logic [43:0]  base_i,
  input  logic [4:0]   log2_size_less1_i,
  input  logic [31:0]  tail_i,
  input  logic [31:0]  timeout_i,
  output logic [31:0]  head_o,
  output logic         on_o,
  output logic         clear_o,
  output logic         memory_fault_o,
  output logic         timeout_o,
  output logic         illegal_o,
  output logic         fence_o,
  input  logic         start_i,
  input  logic         ctx_write_i,
  output logic         busy_o,
  output logic         done_o,
  output logic         ar_valid_o,
  input  logic         ar_ready_i,
  output logic [63:0]  ar_addr_o,
  output logic [13:0]  ar_shape_o,  // {id, len, size, burst}
  input  logic         r_valid_i,
  output logic         r_ready_o,
  input  logic [511:0] r_data_i,
  input  logic [1:0]   r_resp_i,
  output logic         aw_valid_o,
  input  logic         aw_ready_i,
  output logic [63:0]  aw_addr_o,
  output logic [13:0]  aw_shape_o,
  output logic         w_valid_o,
  input  logic         w_ready_i,
  output logic [511:0] w_data_o,
  output logic [63:0]  w_strb_o,
  output logic         w_last_o,
  input  logic         b_valid_i,
  output logic         b_ready_o,
  input  logic [1:0]   b_resp_i,
  output logic         respond_valid_o,
  input  logic         respond_ready_i,
  output logic [13:0]  respond_o,  // {code, generation, place}
  output logic         cache_valid_o,
  input  logic         cache_ready_i,
  output logic [101:0] cache_o,  // {clean, drop, first, last}
  input  logic         cache_ack_i,
  input  logic         cache_error_i,
  output logic         inval_valid_o,
  output logic [59:0]  inval_o,  // {scope, ctx, vpn, order}
  output logic         epoch_o,
  output logic [1:0]   port_epoch_o,
  input  logic [15:0]  port_ctx_i,
  input  logic         inval_busy_i
);

  gw_pkg::cq_cfg_t cfg;
  gw_pkg::cq_status_t status;
  gw_axi_pkg::cq_req_t req;
  gw_axi_pkg::cq_rsp_t rsp;
  gw_pkg::inval_t inval;

  assign cfg = '{
    enable: enable_i,
    stopped: stopped_i,
    base: base_i,
    log2_size_less1: log2_size_less1_i,
    tail: tail_i,
    timeout_cycles: timeout_i
  };
  assign head_o = status.head;
  assign on_o = status.on;
  assign clear_o = status.clear;
  assign memory_fault_o = status.memory_fault;
  assign timeout_o = status.timeout;
  assign illegal_o = status.illegal;
  assign fence_o = status.fence;
  assign ar_valid_o = req.ar_valid;
  assign ar_addr_o = req.ar.addr;
  assign ar_shape_o = {req.ar.id, req.ar.len, req.ar.size, req.ar.burst};
  assign r_ready_o = req.r_ready;
  assign aw_valid_o = req.aw_valid;
  assign aw_addr_o = req.aw.addr;
  assign aw_shape_o = {req.aw.id, req.aw.len, req.aw.size, req.aw.burst};
  assign w_valid_o = req.w_valid;
  assign w_data_o = req.w.data;
  assign w_strb_o = req.w.strb;
  assign w_last_o = req.w.last;
  assign b_ready_o = req.b_ready;
  assign inval_o = inval;
  assign rsp = '{
    aw_ready: aw_ready_i,
    w_ready: w_ready_i,
    b: '{id: '0, resp: b_resp_i},
    b_valid: b_valid_i,
    ar_ready: ar_ready_i,
    r: '{id: '0, data: r_data_i, resp: r_resp_i, last: 1'b1},
    r_valid: r_valid_i
  };

  gw_invalidate #(
    .NumPorts   (2),
    .NumContexts(NumContexts),
    .FetchLines (FetchLines),
    .PageRequests(PageRequests),
    .PageCache   (PageCache)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .cq_cfg_i     (cfg),
    .cq_status_o  (status),
    .start_i,
    .ctx_write_i,
    .busy_o,
    .done_o,
    .m_req_o      (req),
    .m_rsp_i      (rsp),
    .respond_valid_o,
    .respond_ready_i,
    .respond_o    (respond_o),
    .heap_valid_i (1'b0),
    .heap_ready_o (),
    .heap_inval_i ('0),
    .heap_fence_i (1'b0),
    .heap_fence_done_o(),
    .cache_valid_o,
    .cache_ready_i,
    .cache_o      (cache_o),
    .cache_ack_i  ('{valid: cache_ack_i, error: cache_error_i}),
    .inval_valid_o,
    .inval_o      (inval),
    .epoch_o,
    .port_epoch_o,
    .port_ctx_i,
    .inval_busy_i
  );

endmodule
