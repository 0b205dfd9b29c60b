// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Control and status registers of the MMU: the generated register block (spec/regs/gw_mmu.rdl) behind typed structs.
//
// Contract
// - AXI4-Lite, 32 bits, one access at a time (gw_csr_axil). Answers after a fixed number of cycles, those of counters after a
//   bounded one (gw_csr_counters), whatever the rest of the MMU does; an address that is no register is answered with SLVERR.
//   Only the low gw_csr_regs_pkg::GW_CSR_REGS_MIN_ADDR_WIDTH address bits are looked at.
// - Invalidation: inval_start_o pulses for every `invalidate.start`, ctx_write_o in the cycle before ctx_o has what was
//   written to a context. `invalidate.busy` is inval_busy_i, which must be high in the cycle of either already.
// - Command queue: registers as the RISC-V IOMMU specification has them, offsets apart; gw_invalidate is what works.
// - Fault record: the first fault since `fault.valid` was cleared (see gw_csr_fault); one that comes in the
//   cycle before the clear is lost and counted.
// - Page-request queue: as the specification has it, too (gw_csr_pages); gw_page_requests is what works. Without page requests its
//   registers and counters read zero.
// - irq_o is a level: a pending interrupt that is enabled, or, with `cqcsr.cie` or `pqcsr.pie`, a status bit of that queue, or
//   a report of the access counters.
// - Reset: contexts, ports and queue off, interrupts disabled, counters zero.
`include "gw_assert.svh"

module gw_csr #(
  /// Accelerator ports; must be what gw_csr_regs was generated for.
  parameter int unsigned NumPorts = 4,
  /// Contexts; must be what gw_csr_regs was generated for.
  parameter int unsigned NumContexts = 16,
  /// Levels of the page tables, shown in `capabilities`.
  parameter int unsigned Levels = 4,
  /// Entries of the range TLB, 0 to 16.
  parameter int unsigned RangeEntries = 8,
  /// Pages asked for at a time by page requests, a power of two; 0: there are none.
  parameter int unsigned PageRequests = 0,
  /// There is a heap, which has counters here.
  parameter bit Heap = 1'b0,
  /// There is a page cache, and so counters of it.
  parameter bit PageCache = 1'b0,
  /// There are access counters (gw_access_counters) at access_*; otherwise their registers read zero.
  parameter bit AccessCounters = 1'b0,
  /// Derived.
  localparam int unsigned NumRanges = (RangeEntries > 0) ? RangeEntries : 1,
  localparam int unsigned RangeWidth = (RangeEntries > 1) ? $clog2(RangeEntries) : 1
) (
  input  logic                                    clk_i,
  input  logic                                    rst_ni,
  input  gw_axi_pkg::axil_req_t                   axil_req_i,
  output gw_axi_pkg::axil_rsp_t                   axil_rsp_o,
  output gw_pkg::ctx_t [NumContexts-1:0]          ctx_o,
  output gw_pkg::port_cfg_t [NumPorts-1:0]        port_cfg_o,
  output logic                                    inval_start_o,
  output logic                                    ctx_write_o,
  output gw_pkg::ctx_id_t                         ctx_write_ctx_o,
  input  logic                                    inval_busy_i,
  /// Pulse: an invalidation begun by inval_start_o has ended.
  input  logic                                    inval_done_i,
  output gw_pkg::cq_cfg_t                         cq_cfg_o,
  input  gw_pkg::cq_status_t                      cq_status_i,
  output gw_pkg::pq_cfg_t                         pq_cfg_o,
  input  gw_pkg::pq_status_t                      pq_status_i,
  /// Per port: [0] AR, [1] AW. Pulses.
  input  logic [NumPorts-1:0][1:0]                fault_valid_i,
  input  gw_pkg::fault_t [NumPorts-1:0][1:0]      fault_i,
  input  gw_pkg::chan_event_t [NumPorts-1:0][1:0] chan_event_i,
  input  gw_pkg::mmu_event_t                      mmu_event_i,
  // Range TLB
  output logic                                    range_we_o,
  output logic [RangeWidth-1:0]                   range_idx_o,
  output gw_pkg::range_t                          range_o,
  input  gw_pkg::range_t [NumRanges-1:0]          ranges_i,
  // Access counters
  output gw_pkg::access_req_t                     access_o,
  input  gw_pkg::access_rsp_t                     access_i,
  output logic                                    irq_o
);

  if (NumPorts != gw_csr_regs_pkg::NUM_PORTS || NumContexts != gw_csr_regs_pkg::NUM_CONTEXTS) begin : gen_bad_regs
    $fatal(1, "gw_csr: gw_csr_regs was generated for another number of ports or contexts");
  end

  gw_csr_regs_pkg::gw_mmu__in_t  hwif_in;
  gw_csr_regs_pkg::gw_mmu__out_t hwif_out;

  logic        reg_write;
  logic [31:0] reg_wdata, reg_wmask;

  gw_csr_front u_front (
    .clk_i,
    .rst_ni,
    .axil_req_i,
    .axil_rsp_o,
    .write_o (reg_write),
    .wdata_o (reg_wdata),
    .wmask_o (reg_wmask),
    .hwif_i  (hwif_in),
    .hwif_o  (hwif_out)
  );

  // What this is.
  assign hwif_in.spec_hash.hash.next = gw_spec_pkg::SpecHash;
  assign hwif_in.capabilities.levels.next = 3'(Levels);
  assign hwif_in.capabilities.page_requests.next = (PageRequests > 0) ? 3'($clog2(PageRequests)) : 3'd0;
  assign hwif_in.capabilities.ports.next = 6'(NumPorts);
  assign hwif_in.capabilities.contexts.next = 9'(NumContexts);
  assign hwif_in.capabilities.ranges.next = 5'(RangeEntries);

  // Ports: a mode that does not exist is off.
  for (genvar i = 0; i < NumPorts; i++) begin : gen_port
    logic [1:0] mode;
    assign mode = hwif_out.port[i].binding.mode.value;
    assign port_cfg_o[i].mode = (mode == gw_spec_pkg::PortModeTranslate) ? gw_pkg::PortTranslate :
                                (mode == gw_spec_pkg::PortModeBare)      ? gw_pkg::PortBare :
                                                                           gw_pkg::PortOff;
    assign port_cfg_o[i].ctx = hwif_out.port[i].binding.context_id.value;
  end

  // Requests to the external blocks, a cycle after they were decoded. Address and data stay until the answer.
  localparam int unsigned CtxTableWidth = gw_pkg::CtxIdWidth + 3;
  localparam int unsigned PortAddrWidth = $clog2(gw_spec_pkg::ChannelSlots) + 3 + gw_pkg::SrcWidth;
  localparam int unsigned GroupAddrWidth = $clog2(gw_spec_pkg::WalkerSlots) + 3;
  typedef struct packed {
    logic contexts, ranges, pages, walker, l2, page, heap, cache, access, port;
  } blocks_t;
  blocks_t                   asked, req_q, asked_q;
  logic [CtxTableWidth-1:0]  ctx_addr;
  logic [PortAddrWidth-1:0]  port_addr;
  logic [GroupAddrWidth-1:0] group_addr;
  assign asked = '{
    contexts: hwif_out.contexts.req,
    ranges:   hwif_out.ranges.req,
    pages:    hwif_out.page_queue.req,
    walker:   hwif_out.walker_counters.req,
    l2:       hwif_out.l2_counters.req,
    page:     hwif_out.page_counters.req,
    heap:     hwif_out.heap_counters.req,
    cache:    hwif_out.cache_counters.req,
    access:   hwif_out.access_counters.req,
    port:     hwif_out.port_counters.req
  };
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {req_q, asked_q} <= '0;
    end else begin
      req_q <= asked;
      if (asked != '0) asked_q <= asked;
    end
  end
  // The blocks' own widths: as many bits as their arrays need in this configuration.
  always_comb begin
    ctx_addr = '0;
    ctx_addr[$bits(hwif_out.contexts.addr)-1:0] = hwif_out.contexts.addr;
    port_addr = '0;
    port_addr[$bits(hwif_out.port_counters.addr)-1:0] = hwif_out.port_counters.addr;
    unique case (1'b1)
      asked_q.walker: group_addr = GroupAddrWidth'(hwif_out.walker_counters.addr);
      asked_q.l2:     group_addr = GroupAddrWidth'(hwif_out.l2_counters.addr);
      asked_q.heap:   group_addr = GroupAddrWidth'(hwif_out.heap_counters.addr);
      asked_q.cache:  group_addr = GroupAddrWidth'(hwif_out.cache_counters.addr);
      default:        group_addr = GroupAddrWidth'(hwif_out.page_counters.addr);
    endcase
  end

  // Contexts.
  logic        ctx_ack;
  logic [31:0] ctx_rdata;
  gw_csr_contexts #(
    .NumContexts (NumContexts),
    .PageRequests(PageRequests > 0)
  ) u_contexts (
    .clk_i,
    .rst_ni,
    .req_i  (req_q.contexts),
    .write_i(reg_write),
    .addr_i (ctx_addr),
    .wdata_i(reg_wdata),
    .wmask_i(reg_wmask),
    .ack_o  (ctx_ack),
    .rdata_o(ctx_rdata),
    .write_o(ctx_write_o),
    .write_ctx_o(ctx_write_ctx_o),
    .ctx_o
  );
  assign hwif_in.contexts.rd_ack = ctx_ack && !reg_write;
  assign hwif_in.contexts.wr_ack = ctx_ack && reg_write;
  assign hwif_in.contexts.rd_data = ctx_rdata;

  // Counters. Writes to them are taken and change nothing.
  logic                  count_ack, count_clear, count_read;
  logic [31:0]           count_rdata;
  gw_pkg::count_filter_t count_filter;
  assign count_read = !reg_write;
  assign count_clear = hwif_out.count_control.clear.value;
  assign count_filter = '{
    enable: hwif_out.count_control.filter.value,
    ctx: hwif_out.count_control.context_id.value
  };

  gw_csr_counters #(
    .NumPorts    (NumPorts),
    .PageRequests(PageRequests > 0),
    .Heap        (Heap),
    .PageCache   (PageCache)
  ) u_counters (
    .clk_i,
    .rst_ni,
    .inhibit_i   (hwif_out.count_control.inhibit.value),
    .clear_i     (count_clear),
    .filter_i    (count_filter),
    .port_cfg_i  (port_cfg_o),
    .chan_event_i,
    .mmu_event_i,
    .walker_req_i(req_q.walker && count_read),
    .l2_req_i    (req_q.l2 && count_read),
    .page_req_i  (req_q.page && count_read),
    .heap_req_i  (req_q.heap && count_read),
    .cache_req_i (req_q.cache && count_read),
    .port_req_i  (req_q.port && count_read),
    .group_addr_i(group_addr),
    .port_addr_i (port_addr),
    .ack_o       (count_ack),
    .rdata_o     (count_rdata)
  );
  assign hwif_in.walker_counters.rd_ack = count_ack && asked_q.walker;
  assign hwif_in.walker_counters.wr_ack = req_q.walker && reg_write;
  assign hwif_in.walker_counters.rd_data = count_rdata;
  assign hwif_in.l2_counters.rd_ack = count_ack && asked_q.l2;
  assign hwif_in.l2_counters.wr_ack = req_q.l2 && reg_write;
  assign hwif_in.l2_counters.rd_data = count_rdata;
  assign hwif_in.page_counters.rd_ack = count_ack && asked_q.page;
  assign hwif_in.page_counters.wr_ack = req_q.page && reg_write;
  assign hwif_in.page_counters.rd_data = count_rdata;
  assign hwif_in.heap_counters.rd_ack = count_ack && asked_q.heap;
  assign hwif_in.heap_counters.wr_ack = req_q.heap && reg_write;
  assign hwif_in.heap_counters.rd_data = count_rdata;
  assign hwif_in.cache_counters.rd_ack = count_ack && asked_q.cache;
  assign hwif_in.cache_counters.wr_ack = req_q.cache && reg_write;
  assign hwif_in.cache_counters.rd_data = count_rdata;
  assign hwif_in.port_counters.rd_ack = count_ack && asked_q.port;
  assign hwif_in.port_counters.wr_ack = req_q.port && reg_write;
  assign hwif_in.port_counters.rd_data = count_rdata;

  // Range TLB.
  logic        range_ack;
  logic [31:0] range_rdata;
  gw_csr_ranges #(
    .NumRanges(NumRanges)
  ) u_ranges (
    .clk_i,
    .rst_ni,
    .req_i  (req_q.ranges),
    .write_i(reg_write),
    .addr_i (hwif_out.ranges.addr),
    .wdata_i(reg_wdata),
    .ack_o  (range_ack),
    .rdata_o(range_rdata),
    .range_we_o,
    .range_idx_o,
    .range_o,
    .ranges_i
  );
  assign hwif_in.ranges.rd_ack = range_ack && !reg_write;
  assign hwif_in.ranges.wr_ack = range_ack && reg_write;
  assign hwif_in.ranges.rd_data = range_rdata;

  // Page-request queue.
  logic        pages_ack, pq_irq;
  logic [31:0] pages_rdata;
  gw_csr_pages #(
    .PageRequests(PageRequests > 0)
  ) u_pages (
    .clk_i,
    .rst_ni,
    .req_i   (req_q.pages),
    .write_i (reg_write),
    .addr_i  (hwif_out.page_queue.addr),
    .wdata_i (reg_wdata),
    .wmask_i (reg_wmask),
    .ack_o   (pages_ack),
    .rdata_o (pages_rdata),
    .cfg_o   (pq_cfg_o),
    .status_i(pq_status_i),
    .irq_o   (pq_irq)
  );
  assign hwif_in.page_queue.rd_ack = pages_ack && !reg_write;
  assign hwif_in.page_queue.wr_ack = pages_ack && reg_write;
  assign hwif_in.page_queue.rd_data = pages_rdata;

  // Access counters.
  gw_pkg::access_rsp_t access;
  assign access_o = '{
    valid: AccessCounters && req_q.access,
    write: reg_write,
    addr: hwif_out.access_counters.addr,
    data: reg_wdata,
    mask: reg_wmask
  };
  if (AccessCounters) begin : gen_access
    assign access = access_i;
  end else begin : gen_no_access
    assign access = '{ack: req_q.access, default: '0};
    logic unused_access;
    assign unused_access = ^access_i;
  end
  assign hwif_in.access_counters.rd_ack = access.ack && !reg_write;
  assign hwif_in.access_counters.wr_ack = access.ack && reg_write;
  assign hwif_in.access_counters.rd_data = access.data;

  // Fault record.
  logic                        capture;
  gw_pkg::fault_t              fault;
  logic [gw_pkg::SrcWidth-2:0] fault_port;
  logic [31:0]                 faults_lost;

  gw_csr_fault #(
    .NumPorts(NumPorts)
  ) u_fault (
    .clk_i,
    .rst_ni,
    .valid_i   (fault_valid_i),
    .fault_i,
    .occupied_i(hwif_out.fault.valid.value),
    .clear_i   (count_clear),
    .capture_o (capture),
    .fault_o   (fault),
    .port_o    (fault_port),
    .lost_o    (faults_lost)
  );
  assign hwif_in.fault.valid.hwset = capture;
  assign hwif_in.fault.write = '{next: fault.write, we: capture};
  assign hwif_in.fault.cause = '{next: fault.cause, we: capture};
  assign hwif_in.fault.context_id = '{next: fault.ctx, we: capture};
  assign hwif_in.fault.port = '{next: fault_port, we: capture};
  assign hwif_in.fault_id.id = '{next: fault.id, we: capture};
  assign hwif_in.fault_address.lo = '{next: fault.addr[31:0], we: capture};
  assign hwif_in.fault_address.hi = '{next: fault.addr[63:32], we: capture};
  assign hwif_in.faults_lost.count.next = faults_lost;

  // Invalidation.
  assign inval_start_o = hwif_out.invalidate.start.value;
  assign hwif_in.invalidate.busy.next = inval_busy_i;

  // Command queue.
  logic cq_irq;
  assign cq_cfg_o = '{
    enable: hwif_out.cqcsr.cqen.value,
    stopped: hwif_out.cqcsr.cqmf.value || hwif_out.cqcsr.cmd_to.value || hwif_out.cqcsr.cmd_ill.value,
    base: {hwif_out.cqb.ppn_hi.value, hwif_out.cqb.ppn_lo.value},
    log2_size_less1: hwif_out.cqb.log2szm1.value,
    tail: hwif_out.cqt.index.value,
    timeout_cycles: hwif_out.cq_timeout.cycles.value
  };
  assign hwif_in.cqh.index.next = cq_status_i.head;
  assign hwif_in.cqcsr.cqon.next = cq_status_i.on;
  assign hwif_in.cqcsr.busy.next = cq_status_i.on != cq_cfg_o.enable;
  assign hwif_in.cqcsr.cqmf = '{hwset: cq_status_i.memory_fault, hwclr: cq_status_i.clear};
  assign hwif_in.cqcsr.cmd_to = '{hwset: cq_status_i.timeout, hwclr: cq_status_i.clear};
  assign hwif_in.cqcsr.cmd_ill = '{hwset: cq_status_i.illegal, hwclr: cq_status_i.clear};
  assign hwif_in.cqcsr.fence_w_ip = '{hwset: cq_status_i.fence, hwclr: cq_status_i.clear};
  assign cq_irq = hwif_out.cqcsr.cie.value && (cq_cfg_o.stopped || hwif_out.cqcsr.fence_w_ip.value);

  // Interrupts.
  assign hwif_in.irq_pending.fault.hwset = capture;
  assign hwif_in.irq_pending.invalidated.hwset = inval_done_i;
  assign irq_o = (hwif_out.irq_pending.fault.value && hwif_out.irq_enable.fault.value) ||
                 (hwif_out.irq_pending.invalidated.value && hwif_out.irq_enable.invalidated.value) ||
                 cq_irq || pq_irq || access.irq;

  // All external blocks get the same request.
  logic unused;
  assign unused = ^{
    asked_q,
    hwif_out.contexts.req_is_wr,
    hwif_out.contexts.wr_data,
    hwif_out.contexts.wr_biten,
    hwif_out.ranges.req_is_wr,
    hwif_out.ranges.wr_data,
    hwif_out.ranges.wr_biten,
    hwif_out.page_queue.req_is_wr,
    hwif_out.page_queue.wr_data,
    hwif_out.page_queue.wr_biten,
    hwif_out.access_counters.req_is_wr,
    hwif_out.access_counters.wr_data,
    hwif_out.access_counters.wr_biten,
    hwif_out.page_counters.req_is_wr,
    hwif_out.page_counters.wr_data,
    hwif_out.page_counters.wr_biten,
    hwif_out.heap_counters.req_is_wr,
    hwif_out.heap_counters.wr_data,
    hwif_out.heap_counters.wr_biten,
    hwif_out.cache_counters.req_is_wr,
    hwif_out.cache_counters.wr_data,
    hwif_out.cache_counters.wr_biten,
    hwif_out.walker_counters.req_is_wr,
    hwif_out.walker_counters.wr_data,
    hwif_out.walker_counters.wr_biten,
    hwif_out.l2_counters.req_is_wr,
    hwif_out.l2_counters.wr_data,
    hwif_out.l2_counters.wr_biten,
    hwif_out.port_counters.req_is_wr,
    hwif_out.port_counters.wr_data,
    hwif_out.port_counters.wr_biten
  };

  `GW_ASSERT(BusyAtOnce_A, inval_start_o || ctx_write_o |-> inval_busy_i)
  `GW_ASSERT(RecordNotOverwritten_A, hwif_out.fault.valid.value |-> !capture)

endmodule
