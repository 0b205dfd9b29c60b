// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Invalidation: the command queue (RISC-V IOMMU specification) and the source of all invalidation pulses. Wiring only.
//
//   memory <─AXI4─ gw_cq_fetch ─commands─> gw_cq_stage ─decoded─> gw_cq_exec ─┐
//                                                         context table, start ├─> gw_inval_issue ─pulses─> translators, TLBs, walker
//
// Contract
// - Pulses leave one a cycle, back to back; only IOFENCE.C waits for the levels, and with it the commands behind it. See
//   gw_cq_exec and gw_inval_issue.
// - Nothing here holds up an access; traffic that no pulse covers runs on at full speed.
// - Page-group responses of the queue leave one by one (respond_*), each in its place among the other commands; maintenance of the
//   page cache leaves when all before it has ended, and all behind it waits for its end.
// - Memory port: reads of one 64-byte beat, at most `FetchLines` under way, and one write of four bytes at a time; one ID.
// - Reset: off, nothing pending. No access may be under way on the memory port.
module gw_invalidate #(
  /// Accelerator ports, >= 1.
  parameter int unsigned NumPorts = 1,
  /// Contexts, 1 to 2**gw_pkg::CtxIdWidth.
  parameter int unsigned NumContexts = 16,
  /// Lines of four commands read ahead, >= 1.
  parameter int unsigned FetchLines = 4,
  /// There are page requests: without them a response is an illegal command.
  parameter bit PageRequests = 1'b0,
  /// There is a page cache: without it its maintenance is.
  parameter bit PageCache = 1'b0
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  /// Registers.
  input  gw_pkg::cq_cfg_t     cq_cfg_i,
  output gw_pkg::cq_status_t  cq_status_o,
  input  logic                start_i,
  input  logic                ctx_write_i,
  output logic                busy_o,
  output logic                done_o,
  /// Memory: commands, and what fences write.
  output gw_axi_pkg::cq_req_t m_req_o,
  input  gw_axi_pkg::cq_rsp_t m_rsp_i,
  /// Page-group responses.
  output logic                   respond_valid_o,
  input  logic                   respond_ready_i,
  output gw_pkg::page_response_t respond_o,
  /// What the heap takes back, and its fence: gw_inval_issue.
  input  logic                heap_valid_i,
  output logic                heap_ready_o,
  input  gw_pkg::inval_t      heap_inval_i,
  input  logic                heap_fence_i,
  output logic                heap_fence_done_o,
  /// Maintenance of the page cache.
  output logic                cache_valid_o,
  input  logic                cache_ready_i,
  output gw_pkg::cache_cmd_t  cache_o,
  input  gw_pkg::cache_ack_t  cache_ack_i,
  /// To all levels, and from them.
  output logic                inval_valid_o,
  output gw_pkg::inval_t      inval_o,
  output logic                epoch_o,
  output logic [NumPorts-1:0] port_epoch_o,
  input  gw_pkg::ctx_id_t [NumPorts-1:0] port_ctx_i,
  input  logic                inval_busy_i
);

  import gw_axi_pkg::*;

  localparam int unsigned CmdWidth = 8 * gw_spec_pkg::CommandBytes;
  localparam int unsigned WordBytes = gw_spec_pkg::IofenceDataWidth / 8;
  localparam int unsigned LineBytes = gw_spec_pkg::PtBeatBytes;

  logic run, fetch_idle, stage_idle, cmd_valid, cmd_ready, cmd_fault, next_valid, next_ready, next_fault;
  logic exec_valid, exec_ready, exec_all, fence, fence_done;
  logic [CmdWidth-1:0] cmd;
  gw_pkg::command_t next;
  gw_pkg::inval_t exec_inval;
  gw_pkg::ppn_t base;
  logic [31:0] mask, tail, w_data;
  logic ar_valid, aw_valid, w_valid, b_ready;
  logic [gw_pkg::PaWidth-1:0] ar_addr;
  logic [63:0] w_addr;

  gw_cq_fetch #(
    .Lines(FetchLines)
  ) u_fetch (
    .clk_i,
    .rst_ni,
    .run_i      (run),
    .idle_o     (fetch_idle),
    .base_i     (base),
    .mask_i     (mask),
    .head_i     (cq_status_o.head),
    .tail_i     (tail),
    .ar_valid_o (ar_valid),
    .ar_ready_i (m_rsp_i.ar_ready),
    .ar_addr_o  (ar_addr),
    .r_valid_i  (m_rsp_i.r_valid),
    .r_data_i   (m_rsp_i.r.data),
    .r_fault_i  (m_rsp_i.r.resp != RespOkay),
    .cmd_valid_o(cmd_valid),
    .cmd_ready_i(cmd_ready),
    .cmd_o      (cmd),
    .cmd_fault_o(cmd_fault)
  );

  gw_cq_stage #(
    .NumContexts (NumContexts),
    .PageRequests(PageRequests),
    .PageCache   (PageCache)
  ) u_stage (
    .clk_i,
    .rst_ni,
    .run_i      (run),
    .idle_o     (stage_idle),
    .in_valid_i (cmd_valid),
    .in_ready_o (cmd_ready),
    .in_cmd_i   (cmd),
    .in_fault_i (cmd_fault),
    .out_valid_o(next_valid),
    .out_ready_i(next_ready),
    .out_cmd_o  (next),
    .out_fault_o(next_fault)
  );

  gw_cq_exec u_exec (
    .clk_i,
    .rst_ni,
    .cfg_i        (cq_cfg_i),
    .status_o     (cq_status_o),
    .run_o        (run),
    .fetch_idle_i (fetch_idle && stage_idle),
    .base_o       (base),
    .mask_o       (mask),
    .tail_o       (tail),
    .cmd_valid_i  (next_valid),
    .cmd_ready_o  (next_ready),
    .cmd_i        (next),
    .cmd_fault_i  (next_fault),
    .inval_valid_o(exec_valid),
    .inval_ready_i(exec_ready),
    .inval_o      (exec_inval),
    .inval_all_o  (exec_all),
    .fence_o      (fence),
    .fence_done_i (fence_done),
    .respond_valid_o,
    .respond_ready_i,
    .respond_o,
    .cache_valid_o,
    .cache_ready_i,
    .cache_o,
    .cache_ack_i,
    .aw_valid_o   (aw_valid),
    .aw_ready_i   (m_rsp_i.aw_ready),
    .w_valid_o    (w_valid),
    .w_ready_i    (m_rsp_i.w_ready),
    .w_addr_o     (w_addr),
    .w_data_o     (w_data),
    .b_valid_i    (m_rsp_i.b_valid),
    .b_ready_o    (b_ready),
    .b_fault_i    (m_rsp_i.b.resp != RespOkay)
  );

  gw_inval_issue #(
    .NumPorts(NumPorts)
  ) u_issue (
    .clk_i,
    .rst_ni,
    .start_i,
    .ctx_write_i,
    .busy_o,
    .done_o,
    .cq_valid_i(exec_valid),
    .cq_ready_o(exec_ready),
    .cq_inval_i(exec_inval),
    .cq_all_i  (exec_all),
    .fence_i   (fence),
    .fence_done_o(fence_done),
    .heap_valid_i,
    .heap_ready_o,
    .heap_inval_i,
    .heap_fence_i,
    .heap_fence_done_o,
    .inval_valid_o,
    .inval_o,
    .epoch_o,
    .port_epoch_o,
    .port_ctx_i,
    .inval_busy_i
  );

  // The word sits in its lanes of the line.
  localparam int unsigned LineShift = $clog2(LineBytes);
  always_comb begin
    m_req_o = '0;
    m_req_o.ar.addr = 64'(ar_addr);
    m_req_o.ar.size = 3'(LineShift);
    m_req_o.ar.burst = BurstIncr;
    m_req_o.ar_valid = ar_valid;
    m_req_o.r_ready = 1'b1;
    m_req_o.aw.addr = w_addr;
    m_req_o.aw.size = 3'($clog2(WordBytes));
    m_req_o.aw.burst = BurstIncr;
    m_req_o.aw_valid = aw_valid;
    m_req_o.w.data = {LineBytes / WordBytes{w_data}};
    m_req_o.w.strb = LineBytes'({WordBytes{1'b1}}) << w_addr[LineShift-1:0];
    m_req_o.w.last = 1'b1;
    m_req_o.w_valid = w_valid;
    m_req_o.b_ready = b_ready;
  end

  logic unused;
  assign unused = ^{m_rsp_i.r.id, m_rsp_i.r.last, m_rsp_i.b.id};

endmodule
