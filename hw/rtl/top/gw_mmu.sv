// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The MMU: a translator for every accelerator port, a shared second level, one walker, page requests, invalidation, and their
// registers. Wiring only.
//
// Contract
// - Each port's AR and AW addresses leave on the memory side translated as gw_translator states; W, R and B pass. A port
//   that is bound bare bypasses its translator (gw_bare_switch); a port that is off answers everything with an error.
// - The walker reads page tables through `pt_req_o`/`pt_rsp_i`, and sets A and D there by exclusive accesses: memory must
//   support them (AXI4) if any context asks for it. The command queue reads its commands through `cq_req_o`/`cq_rsp_i`; fences
//   and page requests write there.
// - With page requests, an access of a context that asks (`en_pri`) to a page that is not there waits for the host, and holds up no
//   other; what is mapped takes the same cycles with and without.
// - Maintenance of the page cache is a command of the queue, in its place among invalidations and fences; the page cache itself stands
//   behind the memory ports.
// - An invalidation reaches all translators, the second level and the walker in the same cycle and is busy until all of
//   them are done.
// - With a heap, a write to a page of an allocation that has no frame yet gets one, a read zeros; the heap stands beside (gw_heap_unit), with
//   memory port and registers of its own.
// - Nothing but the registers says which context a port has and what a context's tables are; the memory ports do not reach
//   the registers. A write of a context takes effect together with an invalidation of everything: an access taken after it
//   is translated by what was written, and fails if that is nothing, whatever was cached.
module gw_mmu #(
  /// Accelerator ports, 1 to 2**(gw_pkg::SrcWidth-1).
  parameter int unsigned NumPorts = 4,
  /// Contexts, 1 to 2**gw_pkg::CtxIdWidth.
  parameter int unsigned NumContexts = 16,
  /// L1 TLB entries of a port, and which of them goes: 0 true LRU, 1 bit-PLRU, 2 FIFO, 3 random.
  parameter int unsigned L1Entries = 16,
  parameter int unsigned L1Replacement = 1,
  /// Addresses of a channel that wait for a translation.
  parameter int unsigned MissEntries = 64,
  /// Bursts of a channel in flight.
  parameter int unsigned Outstanding = 64,
  /// Bit i: gw_port_buffer stands before port i.
  parameter bit [NumPorts-1:0] PortBuffer = '0,
  /// Sets of the L2 TLB (0: there is none), ways, index policy; which way goes (0 true LRU, 1 tree pseudo-LRU, 2 FIFO, 3 random);
  /// whether entries cover clusters; answers that wait to be kept; misses that wait for the walker.
  parameter int unsigned L2Sets = 256,
  parameter int unsigned L2Ways = 4,
  parameter gw_pkg::l2_policy_e L2Policy = gw_pkg::L2Hashed,
  parameter int unsigned L2Replacement = 1,
  parameter bit L2Clusters = 1'b1,
  parameter int unsigned L2FillEntries = 64,
  parameter int unsigned L2MissEntries = 32,
  /// Entries of the range TLB, 0 to 16.
  parameter int unsigned RangeEntries = 8,
  /// Levels of the page tables: 3, 4 or 5.
  parameter int unsigned Levels = 4,
  /// Walks in flight.
  parameter int unsigned WalkRequests = 64,
  /// Page-table lines fetched or kept.
  parameter int unsigned WalkLines = 32,
  /// Beats of 64 bytes of such a line: 1, 2, 4, 8 or 16.
  parameter int unsigned WalkLineBeats = 1,
  /// Walk-cache entries of an upper level.
  parameter int unsigned WalkCacheEntries = 8,
  /// Page-table lines are prefetched.
  parameter bit WalkPrefetch = 1'b1,
  /// Pages of any power of two (gw_walker's AnyNapot).
  parameter bit AnyNapot = 1'b0,
  /// Pages asked for at a time: a power of two, 2 to 64; 0: there are no page requests.
  parameter int unsigned PageRequests = 0,
  /// There is a heap (gw_heap) at heap_*, for these pages.
  parameter bit Heap = 1'b0,
  parameter gw_pkg::vpn_t HeapFirst = '0,
  parameter gw_pkg::vpn_t HeapLast = '0,
  /// There is a page cache (gw_host_cache) at cache_*.
  parameter bit PageCache = 1'b0,
  /// There are access counters (gw_access_counters) at access_*.
  parameter bit AccessCounters = 1'b0,
  /// AXI4 bundles of the accelerator and memory ports (gw_axi_typedef.svh).
  parameter type req_t = gw_axi_pkg::axi_req_t,
  parameter type rsp_t = gw_axi_pkg::axi_rsp_t
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  // Registers
  input  gw_axi_pkg::axil_req_t axil_req_i,
  output gw_axi_pkg::axil_rsp_t axil_rsp_o,
  // Accelerators
  input  req_t                  s_req_i [NumPorts],
  output rsp_t                  s_rsp_o [NumPorts],
  // Memory
  output req_t                  m_req_o [NumPorts],
  input  rsp_t                  m_rsp_i [NumPorts],
  // Page tables
  output gw_axi_pkg::pt_req_t   pt_req_o,
  input  gw_axi_pkg::pt_rsp_t   pt_rsp_i,
  // Command queue
  output gw_axi_pkg::cq_req_t   cq_req_o,
  input  gw_axi_pkg::cq_rsp_t   cq_rsp_i,
  // The heap, if there is one
  input  gw_pkg::heap_to_mmu_t   heap_i,
  output gw_pkg::heap_from_mmu_t heap_o,
  // Maintenance of the page cache, if there is one, and its events
  output logic                  cache_valid_o,
  input  logic                  cache_ready_i,
  output gw_pkg::cache_cmd_t    cache_o,
  input  gw_pkg::cache_ack_t    cache_ack_i,
  input  gw_pkg::cache_event_t  cache_event_i,
  // Registers of the access counters, if there are any
  output gw_pkg::access_req_t   access_o,
  input  gw_pkg::access_rsp_t   access_i,
  // How the ports are bound
  output gw_pkg::port_cfg_t [NumPorts-1:0] port_cfg_o,
  // What happens in each cycle, for whoever watches
  output gw_pkg::port_event_t   port_event_o [NumPorts],
  output gw_pkg::mmu_event_t    mmu_event_o,
  output logic                  irq_o
);

  if (NumPorts < 1 || NumPorts > 2 ** (gw_pkg::SrcWidth - 1)) begin : gen_bad_num_ports
    $fatal(1, "gw_mmu: NumPorts must be 1 to 2**(SrcWidth-1)");
  end

  localparam int unsigned NumSrc = 2 * NumPorts;
  localparam int unsigned CtxIdxWidth = (NumContexts > 1) ? $clog2(NumContexts) : 1;

  gw_pkg::ctx_t [NumContexts-1:0]          ctx;
  gw_pkg::port_cfg_t [NumPorts-1:0]        port_cfg;
  assign port_cfg_o = port_cfg;
  logic                                    inval_valid, walker_busy, inval_start, ctx_write, inval_waits, inval_done;
  gw_pkg::inval_t                          inval;
  gw_pkg::ctx_id_t                         ctx_write_ctx;
  gw_pkg::cq_cfg_t                         cq_cfg;
  gw_pkg::cq_status_t                      cq_status;
  logic [NumPorts-1:0]                     port_busy, port_epoch;
  gw_pkg::ctx_id_t [NumPorts-1:0]          port_ctx;
  logic                                    epoch;
  logic [NumPorts-1:0][1:0]                fault_valid;
  gw_pkg::fault_t [NumPorts-1:0][1:0]      fault;
  gw_pkg::chan_event_t [NumPorts-1:0][1:0] chan_event;
  gw_pkg::walk_event_t                     walk_event;

  logic [NumSrc-1:0]               src_want, src_req_valid, src_req_ready, src_rsp_valid;
  gw_pkg::xlate_req_t [NumSrc-1:0] src_req;
  gw_pkg::xlate_rsp_t              src_rsp;
  logic                            l2_req_valid, l2_req_ready, l2_rsp_valid;
  gw_pkg::xlate_req_t              l2_req;
  gw_pkg::xlate_rsp_t              l2_rsp;
  logic                            walk_req_valid, walk_req_ready, walk_cancel, walk_rsp_valid;
  gw_pkg::xlate_req_t              walk_req;
  gw_pkg::xlate_rsp_t              walk_rsp, miss_rsp;
  gw_pkg::miss_t                   walk_miss;
  gw_pkg::wake_t                   wake;
  logic                            walk_hold, miss_rsp_valid, pages_busy;

  for (genvar i = 0; i < NumPorts; i++) begin : gen_port
    assign port_ctx[i] = port_cfg[i].ctx;

    req_t s_req, xlate_s_req, xlate_m_req;
    rsp_t s_rsp, xlate_s_rsp, xlate_m_rsp;

    if (PortBuffer[i]) begin : gen_buffer
      gw_port_buffer #(
        .req_t(req_t),
        .rsp_t(rsp_t)
      ) u_buffer (
        .clk_i,
        .rst_ni,
        .s_req_i(s_req_i[i]),
        .s_rsp_o(s_rsp_o[i]),
        .m_req_o(s_req),
        .m_rsp_i(s_rsp)
      );
    end else begin : gen_no_buffer
      assign s_req = s_req_i[i];
      assign s_rsp_o[i] = s_rsp;
    end

    // A translator that was never used has nothing cached and nothing under way: it need not see a clock edge, not even
    // those of invalidations.
    logic used_q, used_d, port_clk;
    assign used_d = used_q || xlate_s_req.ar_valid || xlate_s_req.aw_valid || xlate_s_req.w_valid;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) used_q <= 1'b0;
      else used_q <= used_d;
    end

    gw_clock_gate u_clock_gate (
      .clk_i,
      .en_i (used_d),
      .clk_o(port_clk)
    );

    gw_bare_switch #(
      .req_t(req_t),
      .rsp_t(rsp_t)
    ) u_bare_switch (
      .cfg_i        (port_cfg[i]),
      .s_req_i      (s_req),
      .s_rsp_o      (s_rsp),
      .xlate_s_req_o(xlate_s_req),
      .xlate_s_rsp_i(xlate_s_rsp),
      .xlate_m_req_i(xlate_m_req),
      .xlate_m_rsp_o(xlate_m_rsp),
      .m_req_o      (m_req_o[i]),
      .m_rsp_i      (m_rsp_i[i])
    );

    gw_translator #(
      .L1Entries    (L1Entries),
      .L1Replacement(L1Replacement),
      .MissEntries  (MissEntries),
      .Outstanding  (Outstanding),
      .Levels       (Levels),
      .req_t        (req_t),
      .rsp_t        (rsp_t)
    ) u_translator (
      .clk_i            (port_clk),
      .rst_ni,
      .cfg_i            (port_cfg[i]),
      .s_req_i          (xlate_s_req),
      .s_rsp_o          (xlate_s_rsp),
      .m_req_o          (xlate_m_req),
      .m_rsp_i          (xlate_m_rsp),
      .xlate_want_o     (src_want[2*i+:2]),
      .xlate_req_valid_o(src_req_valid[2*i+:2]),
      .xlate_req_ready_i(src_req_ready[2*i+:2]),
      .xlate_req_o      (src_req[2*i+:2]),
      .xlate_rsp_valid_i(src_rsp_valid[2*i+:2]),
      .xlate_rsp_i      (src_rsp),
      .inval_valid_i    (inval_valid),
      .inval_i          (inval),
      .epoch_i          (port_epoch[i]),
      .inval_busy_o     (port_busy[i]),
      .wake_i           (wake),
      .ctx_write_i      ('{valid: ctx_write, ctx: ctx_write_ctx}),
      .fault_valid_o    (fault_valid[i]),
      .fault_o          (fault[i]),
      .event_o          (chan_event[i])
    );
  end

  gw_xlate_mux #(
    .NumSrc(NumSrc)
  ) u_xlate_mux (
    .clk_i,
    .rst_ni,
    .src_want_i     (src_want),
    .src_req_valid_i(src_req_valid),
    .src_req_ready_o(src_req_ready),
    .src_req_i      (src_req),
    .src_rsp_valid_o(src_rsp_valid),
    .src_rsp_o      (src_rsp),
    .req_valid_o    (l2_req_valid),
    .req_ready_i    (l2_req_ready),
    .req_o          (l2_req),
    .rsp_valid_i    (l2_rsp_valid),
    .rsp_i          (l2_rsp)
  );

  localparam int unsigned NumRanges = (RangeEntries > 0) ? RangeEntries : 1;
  localparam int unsigned RangeWidth = (RangeEntries > 1) ? $clog2(RangeEntries) : 1;
  logic                            range_we, l2_busy;
  logic           [RangeWidth-1:0] range_idx;
  gw_pkg::range_t                  range_wdata;
  gw_pkg::range_t [NumRanges-1:0]  ranges;
  gw_pkg::l2_event_t               l2_event;

  // Most cycles need neither a lookup nor a walk.
  logic l2_clk, l2_awake;
  gw_clock_gate u_l2_gate (
    .clk_i,
    .en_i (l2_req_valid || miss_rsp_valid || inval_valid || range_we || l2_awake || !rst_ni),
    .clk_o(l2_clk)
  );

  gw_second_level #(
    .Sets        (L2Sets),
    .Ways        (L2Ways),
    .Policy      (L2Policy),
    .Replacement (L2Replacement),
    .Clusters    (L2Clusters),
    .FillDepth   (L2FillEntries),
    .MissDepth   (L2MissEntries),
    .RangeEntries(RangeEntries)
  ) u_second_level (
    .clk_i           (l2_clk),
    .rst_ni,
    .req_valid_i     (l2_req_valid),
    .req_ready_o     (l2_req_ready),
    .req_i           (l2_req),
    .rsp_valid_o     (l2_rsp_valid),
    .rsp_o           (l2_rsp),
    .walk_req_valid_o(walk_req_valid),
    .walk_req_ready_i(walk_req_ready && !walk_hold),
    .walk_req_o      (walk_req),
    .walk_cancel_o   (walk_cancel),
    .walk_rsp_valid_i(miss_rsp_valid),
    .walk_rsp_i      (miss_rsp),
    .range_we_i      (range_we),
    .range_idx_i     (range_idx),
    .range_i         (range_wdata),
    .ranges_o        (ranges),
    .inval_valid_i   (inval_valid),
    .inval_i         (inval),
    .epoch_i         (epoch),
    .inval_busy_o    (l2_busy),
    .awake_o         (l2_awake),
    .event_o         (l2_event)
  );

  logic walk_clk, walk_awake;
  gw_clock_gate u_walk_gate (
    .clk_i,
    .en_i ((walk_req_valid && !walk_hold) || inval_valid || walk_awake || !rst_ni),
    .clk_o(walk_clk)
  );

  gw_walker #(
    .Levels      (Levels),
    .Requests    (WalkRequests),
    .Lines       (WalkLines),
    .LineBeats   (WalkLineBeats),
    .CacheEntries(WalkCacheEntries),
    .Prefetch    (WalkPrefetch),
    .AnyNapot    (AnyNapot),
    .NumContexts (NumContexts),
    .TellMiss    (PageRequests > 0 || Heap),
    .Heap        (Heap),
    .HeapFirst   (HeapFirst),
    .HeapLast    (HeapLast)
  ) u_walker (
    .clk_i       (walk_clk),
    .rst_ni,
    .ctx_i       (ctx),
    .req_valid_i (walk_req_valid && !walk_hold),
    .req_ready_o (walk_req_ready),
    .req_i       (walk_req),
    .req_cancel_i(walk_cancel),
    .rsp_valid_o (walk_rsp_valid),
    .rsp_o       (walk_rsp),
    .rsp_miss_o  (walk_miss),
    .m_req_o     (pt_req_o),
    .m_rsp_i     (pt_rsp_i),
    .inval_valid_i(inval_valid),
    .inval_i     (inval),
    .epoch_i     (epoch),
    .inval_busy_o(walker_busy),
    .awake_o     (walk_awake),
    .event_o     (walk_event)
  );

  assign heap_o.ctx_write = ctx_write;
  assign heap_o.ctx = (32'(heap_i.ctx_id) < NumContexts) ? ctx[CtxIdxWidth'(heap_i.ctx_id)] : '0;

  // Pages that are not there: those of the heap's window are the heap's.
  gw_axi_pkg::cq_req_t     queue_req;
  gw_axi_pkg::cq_rsp_t     queue_rsp;
  logic                    respond_valid, respond_ready;
  gw_pkg::page_response_t  respond;
  gw_pkg::pq_cfg_t         pq_cfg;
  gw_pkg::pq_status_t      pq_status;
  gw_pkg::page_event_t     page_event;
  if (PageRequests > 0 || Heap) begin : gen_pages
    gw_axi_pkg::pt_req_t record_req;
    gw_axi_pkg::pt_rsp_t record_rsp;
    gw_pkg::miss_t       touch_miss;
    logic unused_miss;
    assign unused_miss = ^{touch_miss.why, touch_miss.asks, touch_miss.write};
    assign heap_o.touch_level = touch_miss.level;
    assign heap_o.touch_entry = touch_miss.entry;

    // Without a heap, until software has turned the queue on, and no context asks, nothing is kept here: answers of the walker pass.
    logic pages_clk, pages_used_q, pages_used_d;
    logic [NumContexts-1:0] asks;
    for (genvar i = 0; i < NumContexts; i++) begin : gen_asks
      assign asks[i] = ctx[i].en_pri;
    end
    assign pages_used_d = Heap || pages_used_q || pq_cfg.enable || asks != '0 || respond_valid;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) pages_used_q <= 1'b0;
      else pages_used_q <= pages_used_d;
    end

    gw_clock_gate u_pages_gate (
      .clk_i,
      .en_i (pages_used_d || !rst_ni),
      .clk_o(pages_clk)
    );

    gw_page_requests #(
      .Pages      (PageRequests),
      .NumContexts(NumContexts),
      .Touch      (Heap),
      .HeapFirst  (HeapFirst),
      .HeapLast   (HeapLast)
    ) u_page_requests (
      .clk_i             (pages_clk),
      .rst_ni,
      .ctx_i             (ctx),
      .end_i             ('{valid: ctx_write, ctx: ctx_write_ctx}),
      .inval_valid_i     (inval_valid),
      .busy_o            (pages_busy),
      .walk_valid_i      (walk_rsp_valid),
      .walk_rsp_i        (walk_rsp),
      .walk_miss_i       (walk_miss),
      .hold_o            (walk_hold),
      .rsp_valid_o       (miss_rsp_valid),
      .rsp_o             (miss_rsp),
      .wake_o            (wake),
      .touch_valid_o     (heap_o.touch_valid),
      .touch_ready_i     (heap_i.touch_ready),
      .touch_req_o       (heap_o.touch_req),
      .touch_miss_o      (touch_miss),
      .touch_ans_valid_i (heap_i.ans_valid),
      .touch_ans_ready_o (heap_o.ans_ready),
      .touch_ans_i       (heap_i.ans),
      .touch_wake_i      (heap_i.wake),
      .touch_wake_ready_o(heap_o.wake_ready),
      .settle_i          (heap_i.settle),
      .settled_o         (heap_o.settled),
      .respond_valid_i   (respond_valid),
      .respond_ready_o   (respond_ready),
      .respond_i         (respond),
      .pq_cfg_i          (pq_cfg),
      .pq_status_o       (pq_status),
      .event_o           (page_event),
      .m_req_o           (record_req),
      .m_rsp_i           (record_rsp)
    );

    gw_write_join u_write_join (
      .clk_i,
      .rst_ni,
      .queue_req_i (queue_req),
      .queue_rsp_o (queue_rsp),
      .record_req_i(record_req),
      .record_rsp_o(record_rsp),
      .m_req_o     (cq_req_o),
      .m_rsp_i     (cq_rsp_i)
    );
  end else begin : gen_no_pages
    assign {miss_rsp_valid, miss_rsp} = {walk_rsp_valid, walk_rsp};
    assign {walk_hold, pages_busy, wake, pq_status, page_event} = '0;
    assign respond_ready = 1'b1;
    assign cq_req_o = queue_req;
    assign queue_rsp = cq_rsp_i;
    assign {heap_o.touch_valid, heap_o.touch_req, heap_o.touch_level, heap_o.touch_entry, heap_o.ans_ready} = '0;
    assign {heap_o.wake_ready, heap_o.settled} = '0;
    logic unused;
    assign unused = ^{walk_miss, respond_valid, respond, pq_cfg};
  end

  gw_invalidate #(
    .NumPorts    (NumPorts),
    .NumContexts (NumContexts),
    .PageRequests(PageRequests > 0),
    .PageCache   (PageCache)
  ) u_invalidate (
    .clk_i,
    .rst_ni,
    .cq_cfg_i     (cq_cfg),
    .cq_status_o  (cq_status),
    .start_i      (inval_start),
    .ctx_write_i  (ctx_write),
    .busy_o       (inval_waits),
    .done_o       (inval_done),
    .m_req_o      (queue_req),
    .m_rsp_i      (queue_rsp),
    .respond_valid_o(respond_valid),
    .respond_ready_i(respond_ready),
    .respond_o    (respond),
    .heap_valid_i (heap_i.inval_valid),
    .heap_ready_o (heap_o.inval_ready),
    .heap_inval_i (heap_i.inval),
    .heap_fence_i (heap_i.fence),
    .heap_fence_done_o(heap_o.fence_done),
    .cache_valid_o,
    .cache_ready_i,
    .cache_o,
    .cache_ack_i,
    .inval_valid_o(inval_valid),
    .inval_o      (inval),
    .epoch_o      (epoch),
    .port_epoch_o (port_epoch),
    .port_ctx_i   (port_ctx),
    .inval_busy_i (walker_busy || l2_busy || pages_busy || port_busy != '0)
  );

  gw_csr #(
    .NumPorts   (NumPorts),
    .NumContexts(NumContexts),
    .Levels     (Levels),
    .RangeEntries(RangeEntries),
    .PageRequests(PageRequests),
    .Heap       (Heap),
    .PageCache   (PageCache),
    .AccessCounters(AccessCounters)
  ) u_csr (
    .clk_i,
    .rst_ni,
    .axil_req_i,
    .axil_rsp_o,
    .ctx_o        (ctx),
    .port_cfg_o   (port_cfg),
    .inval_start_o(inval_start),
    .ctx_write_o  (ctx_write),
    .ctx_write_ctx_o(ctx_write_ctx),
    .inval_busy_i (inval_waits),
    .inval_done_i (inval_done),
    .cq_cfg_o     (cq_cfg),
    .cq_status_i  (cq_status),
    .pq_cfg_o     (pq_cfg),
    .pq_status_i  (pq_status),
    .fault_valid_i(fault_valid),
    .fault_i      (fault),
    .chan_event_i (chan_event),
    .mmu_event_i  (mmu_event_o),
    .range_we_o   (range_we),
    .range_idx_o  (range_idx),
    .range_o      (range_wdata),
    .ranges_i     (ranges),
    .access_o,
    .access_i,
    .irq_o
  );

  for (genvar i = 0; i < NumPorts; i++) begin : gen_event
    assign port_event_o[i] = '{ctx: port_cfg[i].ctx, write: chan_event[i][1], read: chan_event[i][0]};
  end
  assign mmu_event_o = '{
    l2:          l2_event,
    walk:        walk_event,
    page:        page_event,
    heap:        heap_i.events,
    cache:       cache_event_i,
    inval:       inval_valid,
    inval_scope: inval.scope,
    inval_ctx:   inval.ctx
  };

  logic unused_heap;
  assign unused_heap = ^heap_i;

endmodule
