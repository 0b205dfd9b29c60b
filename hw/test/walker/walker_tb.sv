// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_walker with a port a field, so that the bench reads and drives plain numbers.
module walker_tb #(
  parameter int unsigned Levels = 4,
  parameter int unsigned Requests = 64,
  parameter int unsigned Lines = 32,
  parameter int unsigned LineBeats = 1,
  parameter int unsigned CacheEntries = 16,
  parameter int unsigned NumContexts = 16,
  parameter bit Prefetch = 1'b1,
  parameter bit Svnapot = 1'b1,
  parameter bit AnyNapot = 1'b0,
  parameter bit Heap = 1'b0
) (
  input logic clk_i,
  input logic rst_ni,
  input logic [48:0] ctx_i[NumContexts],  // {mode, sade, root}
  input logic req_valid_i,
  output logic req_ready_o,
  input logic [13:0] req_id_i,  // {src, tag}
  input logic [7:0] req_ctx_i,
  input logic [44:0] req_vpn_i,
  input logic req_write_i,
  input logic req_cancel_i,
  output logic rsp_valid_o,
  output logic [13:0] rsp_id_o,
  output logic [43:0] rsp_ppn_o,
  output logic [4:0] rsp_order_o,
  output logic [1:0] rsp_perm_o,  // {r, w}
  output logic [15:0] rsp_cluster_o,
  output logic rsp_global_o,
  output logic rsp_cacheable_o,
  output logic rsp_fault_o,
  output logic [11:0] rsp_cause_o,
  output logic [59:0] rsp_miss_o,  // {why, asks, write, level, entry}
  output logic ar_valid_o,
  input logic ar_ready_i,
  output logic [6:0] ar_id_o,
  output logic ar_lock_o,
  output logic [63:0] ar_addr_o,
  output logic [12:0] ar_shape_o,  // {len, size, burst}
  input logic r_valid_i,
  input logic [6:0] r_id_i,
  input logic [511:0] r_data_i,
  input logic [1:0] r_resp_i,
  input logic r_last_i,
  output logic r_ready_o,
  output logic aw_valid_o,
  input logic aw_ready_i,
  output logic [6:0] aw_id_o,
  output logic aw_lock_o,
  output logic [63:0] aw_addr_o,
  output logic [12:0] aw_shape_o,
  output logic w_valid_o,
  input logic w_ready_i,
  output logic [511:0] w_data_o,
  output logic [63:0] w_strb_o,
  output logic w_last_o,
  input logic b_valid_i,
  input logic [6:0] b_id_i,
  input logic [1:0] b_resp_i,
  output logic b_ready_o,
  input logic inval_i,
  input logic [1:0] inval_scope_i,
  input logic [7:0] inval_ctx_i,
  input logic [44:0] inval_vpn_i,
  input logic [4:0] inval_order_i,
  input logic epoch_i,
  output logic inval_busy_o,
  output logic awake_o,
  output logic [5:0] events_o,  // {start, done, fault, merge, line_hit, cache_hit}
  output logic event_pte_read_o,
  output logic [2:0] event_prefetch_o,  // {prefetch, used, useless}
  output logic event_update_o,
  output logic [13:0] event_step_of_o,  // {src, ctx}
  output logic [13:0] event_update_of_o,
  output logic [15:0] latency_o
);

  gw_pkg::ctx_t [NumContexts-1:0] ctx;
  gw_pkg::xlate_req_t req;
  gw_pkg::xlate_rsp_t rsp;
  gw_pkg::miss_t miss;
  gw_axi_pkg::pt_req_t m_req;
  gw_axi_pkg::pt_rsp_t m_rsp;
  gw_pkg::walk_event_t ev;
  gw_pkg::inval_t inval;

  for (genvar i = 0; i < NumContexts; i++) begin : gen_ctx
    assign ctx[i] = '{mode: ctx_i[i][48:45], sade: ctx_i[i][44], en_pri: 1'(i % 2), root: ctx_i[i][43:0]};
  end
  assign req = '{src: req_id_i[13:8], tag: req_id_i[7:0], ctx: req_ctx_i, vpn: req_vpn_i, write: req_write_i};
  assign inval = '{
    scope: gw_pkg::inval_scope_e'(inval_scope_i),
    ctx: inval_ctx_i,
    vpn: inval_vpn_i,
    order: inval_order_i
  };
  assign rsp_id_o = {rsp.src, rsp.tag};
  assign rsp_ppn_o = rsp.ppn;
  assign rsp_order_o = rsp.order;
  assign rsp_perm_o = rsp.perm;
  assign rsp_cluster_o = rsp.cluster;
  assign rsp_global_o = rsp.is_global;
  assign rsp_cacheable_o = rsp.cacheable;
  assign rsp_fault_o = rsp.fault;
  assign rsp_cause_o = rsp.cause;
  assign rsp_miss_o = miss;
  assign ar_valid_o = m_req.ar_valid;
  assign ar_id_o = m_req.ar.id;
  assign ar_addr_o = m_req.ar.addr;
  assign ar_shape_o = {m_req.ar.len, m_req.ar.size, m_req.ar.burst};
  assign r_ready_o = m_req.r_ready;
  assign ar_lock_o = m_req.ar.lock;
  assign aw_valid_o = m_req.aw_valid;
  assign aw_id_o = m_req.aw.id;
  assign aw_lock_o = m_req.aw.lock;
  assign aw_addr_o = m_req.aw.addr;
  assign aw_shape_o = {m_req.aw.len, m_req.aw.size, m_req.aw.burst};
  assign w_valid_o = m_req.w_valid;
  assign w_data_o = m_req.w.data;
  assign w_strb_o = m_req.w.strb;
  assign w_last_o = m_req.w.last;
  assign b_ready_o = m_req.b_ready;
  always_comb begin
    m_rsp = '0;
    m_rsp.ar_ready = ar_ready_i;
    m_rsp.r_valid = r_valid_i;
    m_rsp.aw_ready = aw_ready_i;
    m_rsp.w_ready = w_ready_i;
    m_rsp.b_valid = b_valid_i;
    m_rsp.b = '{id: b_id_i, resp: b_resp_i};
    m_rsp.r = '{id: r_id_i, data: r_data_i, resp: r_resp_i, last: r_last_i};
  end
  assign events_o = {ev.start, ev.done, ev.fault, ev.merge, ev.line_hit, ev.cache_hit};
  assign event_pte_read_o = ev.pte_read;
  assign event_prefetch_o = {ev.prefetch, ev.prefetch_used, ev.prefetch_useless};
  assign event_update_o = ev.update;
  assign event_step_of_o = ev.step_of;
  assign event_update_of_o = ev.update_of;
  assign latency_o = ev.latency;

  // As in gw_mmu.
  logic dut_clk;
  gw_clock_gate u_gate (
    .clk_i,
    .en_i (req_valid_i || inval_i || awake_o || !rst_ni),
    .clk_o(dut_clk)
  );

  gw_walker #(
    .Levels(Levels),
    .Requests(Requests),
    .Lines(Lines),
    .LineBeats(LineBeats),
    .CacheEntries(CacheEntries),
    .NumContexts(NumContexts),
    .Prefetch(Prefetch),
    .Svnapot(Svnapot),
    .AnyNapot(AnyNapot),
    .TellMiss(1'b1),
    .Heap(Heap),
    .HeapFirst(45'h4_0000_0000),
    .HeapLast(45'h4_0fff_ffff)
  ) u_dut (
    .clk_i(dut_clk),
    .rst_ni,
    .ctx_i(ctx),
    .req_valid_i,
    .req_ready_o,
    .req_i(req),
    .req_cancel_i,
    .rsp_valid_o,
    .rsp_o(rsp),
    .rsp_miss_o(miss),
    .m_req_o(m_req),
    .m_rsp_i(m_rsp),
    .inval_valid_i(inval_i),
    .inval_i(inval),
    .epoch_i,
    .inval_busy_o,
    .awake_o(awake_o),
    .event_o(ev)
  );

endmodule
