// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The heap as a card has it: gw_heap, the host's commands and first touches behind registers (spec/regs/gw_heap.rdl).
//
// Contract
// - AXI4-Lite: as gw_csr_axil; only the low gw_heap_regs_pkg::GW_HEAP_REGS_MIN_ADDR_WIDTH address bits are looked at. Addresses
//   that are no register are answered with SLVERR.
// - A write of `command` begins it, if none is under way; `answer.busy` is 1 from the next cycle on, until the answer is in the registers.
// - A write of `touch` begins a first touch of the host in the same way: gw_touch_turn. It is not waited for when an allocation is
//   taken back: the host touches no page of one that is freed or shrunk meanwhile.
// - Regions: `start` begins the one that `region` names, once. With several each keeps what the registers said then, and begins a
//   cycle later; one that has not begun refuses every malloc, as a strict one that is full.
// - Kernels' streams: gw_heap_stream. Ports take turns, the host's command among them.
// - The rest is gw_heap's.
module gw_heap_unit #(
  parameter int unsigned NumContexts = 16,
  /// Kernels that may have streams, >= 1.
  parameter int unsigned Agents = 1,
  /// Those of gw_heap.
  parameter int unsigned Regions = 1,
  parameter int unsigned Blocks = 2048,
  parameter int unsigned Lines = 4,
  parameter int unsigned Levels = 4,
  parameter gw_pkg::group_orders_t Orders = 10'h011,
  parameter int unsigned Together = 8,
  parameter int unsigned Slots = 4096,
  parameter int unsigned SlotOrder = 21,
  parameter int unsigned SmallOrder = 4,
  parameter gw_pkg::vpn_t LargeBase = 45'h4_0000_0000,
  parameter gw_pkg::vpn_t SmallBase = 45'h6_0000_0000,
  parameter gw_pkg::vpn_t First = 45'h4_0000_0000,
  parameter gw_pkg::vpn_t Last = 45'h6_07ff_ffff
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  gw_axi_pkg::axil_req_t     axil_req_i,
  output gw_axi_pkg::axil_rsp_t     axil_rsp_o,
  /// The MMU.
  input  gw_pkg::heap_from_mmu_t    mmu_i,
  output gw_pkg::heap_to_mmu_t      mmu_o,
  /// Kernels' streams, and how their ports are bound.
  input  gw_pkg::port_cfg_t [Agents-1:0] agent_port_i,
  input  logic [Agents-1:0]              agent_cmd_valid_i,
  output logic [Agents-1:0]              agent_cmd_ready_o,
  input  logic [Agents-1:0][191:0]       agent_cmd_i,
  output logic [Agents-1:0]              agent_rsp_valid_o,
  input  logic [Agents-1:0]              agent_rsp_ready_i,
  output logic [Agents-1:0][127:0]       agent_rsp_o,
  /// Memory has cycles left for clearing.
  input  logic                      room_i,
  output gw_axi_pkg::heap_mem_req_t m_req_o,
  input  gw_axi_pkg::heap_mem_rsp_t m_rsp_i
);

  import gw_pkg::*;

  localparam int unsigned SlotWidth = $clog2(Slots);
  localparam int unsigned BlockWidth = $clog2(Blocks);
  localparam int unsigned CountWidth = BlockWidth + 10;

  gw_heap_regs_pkg::gw_heap__in_t  hwif_in;
  gw_heap_regs_pkg::gw_heap__out_t hwif_out;

  gw_heap_front u_front (
    .clk_i,
    .rst_ni,
    .axil_req_i,
    .axil_rsp_o,
    .write_o (),
    .wdata_o (),
    .wmask_o (),
    .hwif_i  (hwif_in),
    .hwif_o  (hwif_out)
  );

  // Touches.
  logic touch_starts_q, touch_busy, touch_done, touch_valid, touch_ready, ans_valid, ans_ready;
  xlate_req_t host_req, touch_req;
  logic [2:0] touch_level;
  logic [PaWidth-4:0] touch_entry;
  xlate_rsp_t ans;
  logic [2:0] how, how_q;
  page_order_t order_q;
  ppn_t frame_q;
  assign host_req = '{
    ctx: hwif_out.touch.context_id.value,
    vpn: vpn_t'({hwif_out.touch_address.hi.value, hwif_out.touch_address.lo.value} >> PageShift),
    write: hwif_out.touch.write.value,
    default: '0
  };
  gw_touch_turn u_turn (
    .clk_i,
    .rst_ni,
    .miss_valid_i    (mmu_i.touch_valid),
    .miss_ready_o    (mmu_o.touch_ready),
    .miss_req_i      (mmu_i.touch_req),
    .miss_level_i    (mmu_i.touch_level),
    .miss_entry_i    (mmu_i.touch_entry),
    .miss_ans_valid_o(mmu_o.ans_valid),
    .miss_ans_ready_i(mmu_i.ans_ready),
    .host_start_i    (touch_starts_q),
    .host_req_i      (host_req),
    .host_level_i    (hwif_out.touch.table_level.value),
    .host_entry_i    ((PaWidth - 3)'({hwif_out.touch_entry.hi.value, hwif_out.touch_entry.lo.value} >> 3)),
    .host_busy_o     (touch_busy),
    .host_done_o     (touch_done),
    .touch_valid_o   (touch_valid),
    .touch_ready_i   (touch_ready),
    .touch_req_o     (touch_req),
    .touch_level_o   (touch_level),
    .touch_entry_o   (touch_entry),
    .ans_valid_i     (ans_valid),
    .ans_ready_o     (ans_ready)
  );
  assign mmu_o.ans = ans;
  // Of accesses only: a touch of the host is no port's.
  heap_event_t events;
  logic touch_done_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) touch_done_q <= 1'b0;
    else touch_done_q <= touch_done;
  end
  heap_event_t told;
  always_comb begin
    told = events;
    if (touch_done_q) {told.touch, told.zero, told.parked, told.fault} = '0;
  end
  assign mmu_o.events = told;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) touch_starts_q <= 1'b0;
    else touch_starts_q <= hwif_out.touch.table_level.swmod;
  end
  always_ff @(posedge clk_i) if (touch_done) {how_q, order_q, frame_q} <= {how, ans.order, ans.ppn};
  assign hwif_in.touched.busy.next = touch_busy || touch_starts_q;
  assign how = ans.fault      ? gw_spec_pkg::HeapTouchFault :
               ans.parked     ? gw_spec_pkg::HeapTouchAgain :
               !ans.cacheable ? gw_spec_pkg::HeapTouchZero :
                                gw_spec_pkg::HeapTouchFrame;
  assign hwif_in.touched.how.next = how_q;
  assign hwif_in.touched.order.next = 5'(order_q);
  assign hwif_in.touched_frame.lo.next = frame_q[31:0];
  assign hwif_in.touched_frame.hi.next = frame_q[43:32];

  // A command: the registers have it in the cycle after it was written.
  logic begins_q, ends_q, busy_q, offered_q, cmd_ready, rsp_valid, end_busy, reclaiming, lacks, broken;
  heap_cmd_t cmd;
  heap_rsp_t rsp, rsp_q;
  logic [Regions-1:0][CountWidth-1:0] free, clean;
  assign cmd = '{
    op: heap_op_e'(hwif_out.command.op.value),
    ctx: hwif_out.command.context_id.value,
    pointer: {hwif_out.pointer.hi.value, hwif_out.pointer.lo.value},
    size: {hwif_out.size.hi.value, hwif_out.size.lo.value},
    region: hwif_out.command.region.value,
    granule: hwif_out.command.granule.value,
    write: hwif_out.command.write.value,
    compact: hwif_out.command.small_slot.value
  };
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      begins_q <= 1'b0;
      ends_q <= 1'b0;
      busy_q <= 1'b0;
      offered_q <= 1'b0;
    end else begin
      begins_q <= hwif_out.command.op.swmod && !busy_q && !begins_q;
      ends_q <= hwif_out.end_context.context_id.swmod;
      busy_q <= begins_q || (busy_q && !rsp_valid);
      offered_q <= begins_q || (offered_q && !cmd_ready);
    end
  end
  always_ff @(posedge clk_i) if (rsp_valid) rsp_q <= rsp;

  // Who allocates: the host, then the kernels.
  logic [Agents-1:0] agent_bound, agent_valid, agent_ready, agent_done, agent_taken;
  heap_cmd_t [Agents-1:0] agent_cmd;
  heap_rsp_t [Agents-1:0] agent_rsp;
  for (genvar a = 0; a < Agents; a++) begin : gen_agent
    gw_heap_stream u_stream (
      .clk_i,
      .rst_ni,
      .port_i          (agent_port_i[a]),
      .cmd_valid_i     (agent_cmd_valid_i[a]),
      .cmd_ready_o     (agent_cmd_ready_o[a]),
      .cmd_i           (agent_cmd_i[a]),
      .rsp_valid_o     (agent_rsp_valid_o[a]),
      .rsp_ready_i     (agent_rsp_ready_i[a]),
      .rsp_o           (agent_rsp_o[a]),
      .bound_o         (agent_bound[a]),
      .heap_valid_o    (agent_valid[a]),
      .heap_ready_i    (agent_ready[a]),
      .heap_cmd_o      (agent_cmd[a]),
      .heap_rsp_valid_i(agent_done[a]),
      .heap_rsp_ready_o(agent_taken[a]),
      .heap_rsp_i      (agent_rsp[a])
    );
  end

  assign hwif_in.capabilities.slots.next = 5'(SlotWidth);
  assign hwif_in.capabilities.slot_order.next = 5'(SlotOrder);
  assign hwif_in.capabilities.small_order.next = 5'(SmallOrder);
  assign hwif_in.capabilities.blocks.next = 5'(BlockWidth);
  assign hwif_in.capabilities.regions.next = 2'($clog2(Regions));
  assign hwif_in.answer.busy.next = busy_q || begins_q;
  assign hwif_in.answer.status.next = rsp_q.status;
  assign hwif_in.result.lo.next = rsp_q.pointer[31:0];
  assign hwif_in.result.hi.next = rsp_q.pointer[63:32];
  assign hwif_in.status.ending.next = end_busy || ends_q;
  assign hwif_in.status.reclaiming.next = reclaiming;
  assign hwif_in.status.broken.next = broken;
  assign hwif_in.status.lacks.next = lacks;

  // Regions.
  logic [Regions-1:0] starts, starts_clean, strict;
  logic [Regions-1:0][BlockWidth:0] blocks;
  ppn_t [Regions-1:0] base;
  ppn_t [Regions-1:0][1:0] bits;
  logic [BlockWidth:0] said_blocks;
  ppn_t said_base;
  ppn_t [1:0] said_bits;
  assign said_blocks = (BlockWidth + 1)'(hwif_out.memory.blocks.value);
  assign said_base = {hwif_out.base.hi.value, hwif_out.base.lo.value};
  assign said_bits = {hwif_out.dirty_bits.hi.value, hwif_out.dirty_bits.lo.value,
                      hwif_out.clean_bits.hi.value, hwif_out.clean_bits.lo.value};
  if (Regions == 1) begin : gen_one
    assign starts = hwif_out.start.start.value;
    assign starts_clean = hwif_out.memory.clean.value;
    assign strict = hwif_out.memory.strict.value;
    assign blocks = said_blocks;
    assign base = said_base;
    assign bits = said_bits;
    assign hwif_in.free_frames.frames.next = 32'(free[0]);
    assign hwif_in.clean_frames.frames.next = 32'(clean[0]);
    logic unused;
    assign unused = ^hwif_out.region.region.value;
  end else begin : gen_several
    logic [$clog2(Regions)-1:0] region;
    assign region = $clog2(Regions)'(hwif_out.region.region.value);
    logic [Regions-1:0] begun_q, starts_q, strict_q, starts_clean_q;
    logic [Regions-1:0][BlockWidth:0] blocks_q;
    ppn_t [Regions-1:0] base_q;
    ppn_t [Regions-1:0][1:0] bits_q;
    for (genvar r = 0; r < Regions; r++) begin : gen_region
      logic begins;
      assign begins = hwif_out.start.start.value && hwif_out.region.region.value == region_t'(r) && !begun_q[r];
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) begin
          begun_q[r] <= 1'b0;
          starts_q[r] <= 1'b0;
          strict_q[r] <= 1'b1;
        end else begin
          begun_q[r] <= begun_q[r] || begins;
          starts_q[r] <= begins;
          if (begins) strict_q[r] <= hwif_out.memory.strict.value;
        end
      end
      always_ff @(posedge clk_i) begin
        if (begins) begin
          starts_clean_q[r] <= hwif_out.memory.clean.value;
          blocks_q[r] <= said_blocks;
          base_q[r] <= said_base;
          bits_q[r] <= said_bits;
        end
      end
    end
    assign starts = starts_q;
    assign starts_clean = starts_clean_q;
    assign strict = strict_q;
    assign blocks = blocks_q;
    assign base = base_q;
    assign bits = bits_q;
    assign hwif_in.free_frames.frames.next = 32'(free[region]);
    assign hwif_in.clean_frames.frames.next = 32'(clean[region]);
  end

  gw_heap #(
    .NumContexts(NumContexts),
    .NumPorts   (Agents + 1),
    .Regions    (Regions),
    .Blocks     (Blocks),
    .Lines      (Lines),
    .Levels     (Levels),
    .Orders     (Orders),
    .Together   (Together),
    .Slots      (Slots),
    .SlotOrder  (SlotOrder),
    .SmallOrder (SmallOrder),
    .LargeBase  (LargeBase),
    .SmallBase  (SmallBase),
    .First      (First),
    .Last       (Last)
  ) u_heap (
    .clk_i,
    .rst_ni,
    .start_i       (starts),
    .start_clean_i (starts_clean),
    .blocks_i      (blocks),
    .base_i        (base),
    .bits_i        (bits),
    .strict_i      (strict),
    .zero_i        ({hwif_out.zero.hi.value, hwif_out.zero.lo.value}),
    .quota_i       ({NumContexts{(SlotWidth + 1)'(hwif_out.quota.allocations.value)}}),
    .bound_i       ({agent_bound, 1'b1}),
    .cmd_valid_i   ({agent_valid, offered_q}),
    .cmd_ready_o   ({agent_ready, cmd_ready}),
    .cmd_i         ({agent_cmd, cmd}),
    .rsp_valid_o   ({agent_done, rsp_valid}),
    .rsp_ready_i   ({agent_taken, 1'b1}),
    .rsp_o         ({agent_rsp, rsp}),
    .kernels_i     ({{Agents{1'b1}}, 1'b0}),
    .hold_i        (hwif_out.hold.hold.value),
    .seen_i        (hwif_out.frees_seen.frees.value),
    .frees_o       (hwif_in.kernel_frees.frees.next),
    .held_o        (hwif_in.status.held.next),
    .end_start_i   (ends_q),
    .end_ctx_i     (hwif_out.end_context.context_id.value),
    .end_busy_o    (end_busy),
    .touch_valid_i (touch_valid),
    .touch_ready_o (touch_ready),
    .touch_req_i   (touch_req),
    .touch_level_i (touch_level),
    .touch_entry_i (touch_entry),
    .ans_valid_o   (ans_valid),
    .ans_ready_i   (ans_ready),
    .ans_o         (ans),
    .wake_o        (mmu_o.wake),
    .wake_ready_i  (mmu_i.wake_ready),
    .ctx_write_i   (mmu_i.ctx_write),
    .settle_o      (mmu_o.settle),
    .settled_i     (mmu_i.settled),
    .ctx_id_o      (mmu_o.ctx_id),
    .ctx_i         (mmu_i.ctx),
    .inval_valid_o (mmu_o.inval_valid),
    .inval_ready_i (mmu_i.inval_ready),
    .inval_o       (mmu_o.inval),
    .fence_o       (mmu_o.fence),
    .fence_done_i  (mmu_i.fence_done),
    .room_i,
    .m_req_o,
    .m_rsp_i,
    .free_o        (free),
    .clean_o       (clean),
    .touch_busy_o  (mmu_o.busy),
    .reclaim_busy_o(reclaiming),
    .lacks_o       (lacks),
    .broken_o      (broken),
    .event_o       (events)
  );

endmodule
