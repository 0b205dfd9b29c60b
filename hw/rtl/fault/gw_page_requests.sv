// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Pages that are not there: gw_miss at the walker's answers, gw_fault for those that the host brings, and a place for gw_touch, which
// brings the heap's. Wiring, and the events.
//
//   walker ──> gw_miss ──> second level, translators (answers, wake-ups)
//                │ ^  └──> touch_*: gw_touch
//                v │
//              gw_fault ──> m_req_o: records    <── respond_*: responses of the command queue
//
// Contract
// - That of gw_miss for answers, of gw_fault for pages, of gw_fault_ring for records. Without places (Pages = 0) nobody asks the host.
// - A context is ended by end_i, the pulse before it changes: nobody waits in its name after busy_o. A request that was on its way at the
//   pulse may be put in the name of what the context is then; the host refuses what it does not know of.
// - respond_*: one response at a time, taken in bounded time whatever the host does.
// - event_o: each event in the cycle after it.
`include "gw_assert.svh"

module gw_page_requests #(
  /// Pages that wait for the host at a time: 0, or a power of two from 2 to 64.
  parameter int unsigned Pages = 64,
  /// Contexts, 1 to 2**gw_pkg::CtxIdWidth.
  parameter int unsigned NumContexts = 16,
  /// There is a gw_touch, for these pages.
  parameter bit Touch = 1'b0,
  parameter gw_pkg::vpn_t HeapFirst = '0,
  parameter gw_pkg::vpn_t HeapLast = '0
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  gw_pkg::ctx_t [NumContexts-1:0] ctx_i,
  input  gw_pkg::ctx_write_t             end_i,
  input  logic                           inval_valid_i,
  output logic                           busy_o,
  /// Walker.
  input  logic                           walk_valid_i,
  input  gw_pkg::xlate_rsp_t             walk_rsp_i,
  input  gw_pkg::miss_t                  walk_miss_i,
  output logic                           hold_o,
  /// Second level, translators.
  output logic                           rsp_valid_o,
  output gw_pkg::xlate_rsp_t             rsp_o,
  output gw_pkg::wake_t                  wake_o,
  /// gw_touch.
  output logic                           touch_valid_o,
  input  logic                           touch_ready_i,
  output gw_pkg::xlate_req_t             touch_req_o,
  output gw_pkg::miss_t                  touch_miss_o,
  input  logic                           touch_ans_valid_i,
  output logic                           touch_ans_ready_o,
  input  gw_pkg::xlate_rsp_t             touch_ans_i,
  input  gw_pkg::wake_t                  touch_wake_i,
  output logic                           touch_wake_ready_o,
  input  logic                           settle_i,
  output logic                           settled_o,
  /// Command queue.
  input  logic                           respond_valid_i,
  output logic                           respond_ready_o,
  input  gw_pkg::page_response_t         respond_i,
  /// Registers.
  input  gw_pkg::pq_cfg_t                pq_cfg_i,
  output gw_pkg::pq_status_t             pq_status_o,
  output gw_pkg::page_event_t            event_o,
  /// Memory: writes of records.
  output gw_axi_pkg::pt_req_t            m_req_o,
  input  gw_axi_pkg::pt_rsp_t            m_rsp_i
);

  import gw_pkg::*;

  logic [NumContexts-1:0] asks;
  logic fault_valid, fault_ready, ans_valid, ans_ready, ans_parked, wake_ready, event_parked, event_no_room;
  logic record, stale, timeout;
  xlate_req_t fault_req;
  park_t ans_park;
  wake_t wake;
  owner_t event_of;
  ctx_id_t record_ctx;

  for (genvar i = 0; i < NumContexts; i++) begin : gen_context
    assign asks[i] = Pages != 0 && ctx_i[i].en_pri;
  end

  gw_miss #(
    .Pages      ((Pages == 0) ? 2 : Pages),
    .NumContexts(NumContexts),
    .Touch      (Touch),
    .HeapFirst  (HeapFirst),
    .HeapLast   (HeapLast)
  ) u_miss (
    .clk_i,
    .rst_ni,
    .asks_i            (asks),
    .end_i,
    .inval_valid_i,
    .walk_valid_i,
    .walk_rsp_i,
    .walk_miss_i,
    .hold_o,
    .rsp_valid_o,
    .rsp_o,
    .fault_valid_o     (fault_valid),
    .fault_ready_i     (fault_ready),
    .fault_req_o       (fault_req),
    .fault_ans_valid_i (ans_valid),
    .fault_ans_ready_o (ans_ready),
    .fault_ans_parked_i(ans_parked),
    .fault_ans_park_i  (ans_park),
    .fault_wake_i      (wake),
    .fault_wake_ready_o(wake_ready),
    .touch_valid_o,
    .touch_ready_i,
    .touch_req_o,
    .touch_miss_o,
    .touch_ans_valid_i,
    .touch_ans_ready_o,
    .touch_ans_i,
    .touch_wake_i,
    .touch_wake_ready_o,
    .settle_i,
    .settled_o,
    .wake_o,
    .event_parked_o    (event_parked),
    .event_no_room_o   (event_no_room),
    .event_of_o        (event_of)
  );

  if (Pages > 0) begin : gen_fault
    gw_fault #(
      .Pages          (Pages),
      .GenerationWidth(1)
    ) u_fault (
      .clk_i,
      .rst_ni,
      .req_valid_i           (fault_valid),
      .req_ready_o           (fault_ready),
      .req_ctx_i             (fault_req.ctx),
      // A context's end is told by its pulse.
      .req_generation_i      (1'b0),
      .req_vpn_i             (fault_req.vpn),
      .req_write_i           (fault_req.write),
      .ans_valid_o           (ans_valid),
      .ans_ready_i           (ans_ready),
      .ans_parked_o          (ans_parked),
      .ans_park_o            (ans_park),
      .wake_o                (wake),
      .wake_ready_i          (wake_ready),
      .end_i,
      .busy_o,
      .rsp_valid_i           (respond_valid_i),
      .rsp_ready_o           (respond_ready_o),
      .rsp_place_i           (respond_i.place),
      .rsp_generation_i      (respond_i.generation),
      .rsp_code_i            (respond_i.code),
      .unsent_cycles_i       (pq_cfg_i.unsent_cycles),
      .sent_cycles_i         (pq_cfg_i.sent_cycles),
      .irq_count_i           (pq_cfg_i.irq_count),
      .irq_cycles_i          (pq_cfg_i.irq_cycles),
      .ring_enable_i         (pq_cfg_i.enable),
      .ring_stopped_i        (pq_cfg_i.stopped),
      .ring_base_i           (pq_cfg_i.base),
      .ring_log2_size_less1_i(pq_cfg_i.log2_size_less1),
      .ring_head_i           (pq_cfg_i.head),
      .ring_tail_o           (pq_status_o.tail),
      .ring_on_o             (pq_status_o.on),
      .ring_memory_fault_o   (pq_status_o.memory_fault),
      .irq_o                 (pq_status_o.irq),
      .record_o              (record),
      .record_ctx_o          (record_ctx),
      .stale_o               (stale),
      .timeout_o             (timeout),
      .m_req_o,
      .m_rsp_i
    );
    assign pq_status_o.timeout = timeout;
    // Who asks is gw_miss's business.
    logic unused;
    assign unused = ^{fault_req.src, fault_req.tag};
  end else begin : gen_no_fault
    assign busy_o = 1'b0;
    assign {fault_ready, ans_valid, ans_parked, record, stale, timeout} = '0;
    assign {ans_park, wake, record_ctx} = '0;
    assign respond_ready_o = 1'b1;
    assign pq_status_o = '0;
    assign m_req_o = '0;
    logic unused;
    assign unused = ^{fault_valid, fault_req, ans_ready, wake_ready, respond_valid_i, respond_i, pq_cfg_i, m_rsp_i};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) event_o <= '0;
    else begin
      event_o <= '{
        parked:      event_parked,
        no_room:     event_no_room,
        request:     record,
        resolved:    wake.valid && wake_ready && wake.ok,
        refused:     wake.valid && wake_ready && !wake.ok,
        timeout:     timeout,
        stale:       stale,
        asked_of:    event_of,
        request_ctx: record_ctx
      };
    end
  end

  logic unused_ctx;
  assign unused_ctx = ^ctx_i;

endmodule
