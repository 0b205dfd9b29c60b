// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Control and status registers of the MMU: the generated register block (spec/regs/gw_mmu.rdl) behind typed structs.
//
// Contract
// - AXI4-Lite, 32 bits. Answers after a fixed number of cycles, whatever the rest of the MMU does; an address that is no
//   register is answered with SLVERR. Only the low gw_csr_regs_pkg::GW_CSR_REGS_MIN_ADDR_WIDTH address bits are looked at.
// - Invalidation: inval_start_o pulses for every `invalidate.start`, ctx_write_o in the cycle before ctx_o has what was
//   written to a context. `invalidate.busy` is inval_busy_i, which must be high in the cycle of either already.
// - Command queue: registers as the RISC-V IOMMU specification has them, offsets apart; gw_invalidate is what works.
// - Fault record: the first fault since `fault.valid` was cleared (see gw_csr_fault); a fault in the cycle of the clear
//   itself is lost and counted.
// - irq_o is a level: a pending interrupt that is enabled, or, with `cqcsr.cie`, a status bit of the queue.
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
  input  logic                                    inval_busy_i,
  /// Pulse: an invalidation begun by inval_start_o has ended.
  input  logic                                    inval_done_i,
  output gw_pkg::cq_cfg_t                         cq_cfg_o,
  input  gw_pkg::cq_status_t                      cq_status_i,
  /// Per port: [0] AR, [1] AW. Pulses.
  input  logic [NumPorts-1:0][1:0]                fault_valid_i,
  input  gw_pkg::fault_t [NumPorts-1:0][1:0]      fault_i,
  input  gw_pkg::chan_event_t [NumPorts-1:0][1:0] chan_event_i,
  input  gw_pkg::walk_event_t                     walk_event_i,
  input  gw_pkg::l2_event_t                       l2_event_i,
  // Range TLB
  output logic                                    range_we_o,
  output logic [RangeWidth-1:0]                   range_idx_o,
  output gw_pkg::range_t                          range_o,
  input  gw_pkg::range_t [NumRanges-1:0]          ranges_i,
  output logic                                    irq_o
);

  localparam int unsigned AddrWidth = gw_csr_regs_pkg::GW_CSR_REGS_MIN_ADDR_WIDTH;

  if (NumPorts != gw_csr_regs_pkg::NUM_PORTS || NumContexts != gw_csr_regs_pkg::NUM_CONTEXTS) begin : gen_bad_regs
    $fatal(1, "gw_csr: gw_csr_regs was generated for another number of ports or contexts");
  end

  gw_csr_regs_pkg::gw_mmu__in_t  hwif_in;
  gw_csr_regs_pkg::gw_mmu__out_t hwif_out;

  gw_csr_regs u_regs (
    .clk           (clk_i),
    .arst_n        (rst_ni),
    .s_axil_awready(axil_rsp_o.aw_ready),
    .s_axil_awvalid(axil_req_i.aw_valid),
    .s_axil_awaddr (axil_req_i.aw_addr[AddrWidth-1:0]),
    .s_axil_awprot (axil_req_i.aw_prot),
    .s_axil_wready (axil_rsp_o.w_ready),
    .s_axil_wvalid (axil_req_i.w_valid),
    .s_axil_wdata  (axil_req_i.w_data),
    .s_axil_wstrb  (axil_req_i.w_strb),
    .s_axil_bready (axil_req_i.b_ready),
    .s_axil_bvalid (axil_rsp_o.b_valid),
    .s_axil_bresp  (axil_rsp_o.b_resp),
    .s_axil_arready(axil_rsp_o.ar_ready),
    .s_axil_arvalid(axil_req_i.ar_valid),
    .s_axil_araddr (axil_req_i.ar_addr[AddrWidth-1:0]),
    .s_axil_arprot (axil_req_i.ar_prot),
    .s_axil_rready (axil_req_i.r_ready),
    .s_axil_rvalid (axil_rsp_o.r_valid),
    .s_axil_rdata  (axil_rsp_o.r_data),
    .s_axil_rresp  (axil_rsp_o.r_resp),
    .hwif_in,
    .hwif_out
  );

  // What this is.
  assign hwif_in.spec_hash.hash.next = gw_spec_pkg::SpecHash;
  assign hwif_in.capabilities.levels.next = 3'(Levels);
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

  // Contexts.
  localparam int unsigned CtxAddrWidth = $bits(hwif_out.contexts.addr);
  localparam int unsigned CtxTableWidth = gw_pkg::CtxIdWidth + 3;
  logic [CtxTableWidth-1:0] ctx_addr;
  logic [31:0]              ctx_rdata;
  always_comb begin
    ctx_addr = '0;
    ctx_addr[CtxAddrWidth-1:0] = hwif_out.contexts.addr;
  end

  gw_csr_contexts #(
    .NumContexts(NumContexts)
  ) u_contexts (
    .clk_i,
    .rst_ni,
    .req_i  (hwif_out.contexts.req),
    .write_i(hwif_out.contexts.req_is_wr),
    .addr_i (ctx_addr),
    .wdata_i(hwif_out.contexts.wr_data),
    .wmask_i(hwif_out.contexts.wr_biten),
    .rdata_o(ctx_rdata),
    .write_o(ctx_write_o),
    .ctx_o
  );
  assign hwif_in.contexts.rd_ack = hwif_out.contexts.req && !hwif_out.contexts.req_is_wr;
  assign hwif_in.contexts.wr_ack = hwif_out.contexts.req && hwif_out.contexts.req_is_wr;
  assign hwif_in.contexts.rd_data = (hwif_out.contexts.req && !hwif_out.contexts.req_is_wr) ? ctx_rdata : '0;

  // Counters. Writes to them are taken and change nothing.
  localparam int unsigned PortAddrWidth = $bits(hwif_out.port_counters.addr);
  localparam int unsigned PortTableWidth = gw_pkg::SrcWidth + 7;
  logic [PortTableWidth-1:0] counter_addr;
  logic [31:0]               port_rdata, walk_rdata;
  logic                      count_clear;
  always_comb begin
    counter_addr = '0;
    counter_addr[PortAddrWidth-1:0] = hwif_out.port_counters.addr;
  end
  assign count_clear = hwif_out.count_control.clear.value;

  gw_pkg::count_filter_t                   count_filter;
  gw_pkg::chan_event_t [NumPorts-1:0][1:0] chan_event;
  gw_pkg::walk_event_t                     walk_event;
  gw_pkg::l2_event_t                       l2_event;
  assign count_filter = '{
    enable: hwif_out.count_control.filter.value,
    ctx: hwif_out.count_control.context_id.value
  };
  gw_csr_event_filter #(
    .NumPorts(NumPorts)
  ) u_event_filter (
    .filter_i    (count_filter),
    .port_cfg_i  (port_cfg_o),
    .chan_event_i,
    .walk_event_i,
    .l2_event_i,
    .chan_event_o(chan_event),
    .walk_event_o(walk_event),
    .l2_event_o  (l2_event)
  );

  gw_csr_counters #(
    .NumPorts(NumPorts)
  ) u_counters (
    .clk_i,
    .rst_ni,
    .inhibit_i   (hwif_out.count_control.inhibit.value),
    .clear_i     (count_clear),
    .chan_event_i(chan_event),
    .walk_event_i(walk_event),
    .l2_event_i  (l2_event),
    .walk_addr_i (hwif_out.walker_counters.addr),
    .walk_rdata_o(walk_rdata),
    .port_addr_i (counter_addr),
    .port_rdata_o(port_rdata)
  );
  assign hwif_in.walker_counters.rd_ack = hwif_out.walker_counters.req && !hwif_out.walker_counters.req_is_wr;
  assign hwif_in.walker_counters.wr_ack = hwif_out.walker_counters.req && hwif_out.walker_counters.req_is_wr;
  assign hwif_in.walker_counters.rd_data = (hwif_out.walker_counters.req && !hwif_out.walker_counters.req_is_wr) ? walk_rdata : '0;
  assign hwif_in.port_counters.rd_ack = hwif_out.port_counters.req && !hwif_out.port_counters.req_is_wr;
  assign hwif_in.port_counters.wr_ack = hwif_out.port_counters.req && hwif_out.port_counters.req_is_wr;
  assign hwif_in.port_counters.rd_data = (hwif_out.port_counters.req && !hwif_out.port_counters.req_is_wr) ? port_rdata : '0;

  // Second level.
  logic [31:0] l2_rdata, range_rdata;
  gw_csr_l2 #(
    .NumRanges(NumRanges)
  ) u_l2 (
    .clk_i,
    .rst_ni,
    .inhibit_i    (hwif_out.count_control.inhibit.value),
    .clear_i      (count_clear),
    .event_i      (l2_event),
    .count_addr_i (hwif_out.l2_counters.addr),
    .count_rdata_o(l2_rdata),
    .req_i        (hwif_out.ranges.req),
    .write_i      (hwif_out.ranges.req_is_wr),
    .addr_i       (hwif_out.ranges.addr),
    .wdata_i      (hwif_out.ranges.wr_data),
    .rdata_o      (range_rdata),
    .range_we_o,
    .range_idx_o,
    .range_o,
    .ranges_i
  );
  assign hwif_in.l2_counters.rd_ack = hwif_out.l2_counters.req && !hwif_out.l2_counters.req_is_wr;
  assign hwif_in.l2_counters.wr_ack = hwif_out.l2_counters.req && hwif_out.l2_counters.req_is_wr;
  assign hwif_in.l2_counters.rd_data = (hwif_out.l2_counters.req && !hwif_out.l2_counters.req_is_wr) ? l2_rdata : '0;
  assign hwif_in.ranges.rd_ack = hwif_out.ranges.req && !hwif_out.ranges.req_is_wr;
  assign hwif_in.ranges.wr_ack = hwif_out.ranges.req && hwif_out.ranges.req_is_wr;
  assign hwif_in.ranges.rd_data = (hwif_out.ranges.req && !hwif_out.ranges.req_is_wr) ? range_rdata : '0;

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
                 cq_irq;

  // The card's decoder has looked at the upper address bits; counters ignore what is written.
  logic unused;
  assign unused = ^{
    axil_req_i.aw_addr[31:AddrWidth],
    axil_req_i.ar_addr[31:AddrWidth],
    hwif_out.walker_counters.wr_data,
    hwif_out.walker_counters.wr_biten,
    hwif_out.port_counters.wr_data,
    hwif_out.port_counters.wr_biten,
    hwif_out.l2_counters.wr_data,
    hwif_out.l2_counters.wr_biten,
    hwif_out.ranges.wr_biten
  };

  `GW_ASSERT(BusyAtOnce_A, inval_start_o || ctx_write_o |-> inval_busy_i)
  `GW_ASSERT(RecordNotOverwritten_A, hwif_out.fault.valid.value |-> !capture)

endmodule
