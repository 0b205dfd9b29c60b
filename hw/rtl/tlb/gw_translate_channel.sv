// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Address channel of a translator (AR or AW): L1 lookup, waiting slots for everything that cannot
// go on at once, and the order in which addresses leave.
//
// Contract
// - Two stages: an address taken in cycle t is looked up and checked in t; in t+1 it goes where it
//   goes. Hit: at the memory side in t+2 if nothing whose wait is over is before it; one a cycle. Miss:
//   lookup request in t+1; an answer in cycle u is at the memory side in u+1, likewise.
// - s_ready_o is a register: it falls for as long as two addresses, already taken, can neither go on
//   nor find a slot.
// - Order: kept per AXI ID, or in total with IsWrite. A hit passes every waiting address of other
//   IDs; behind those whose wait is over, and while the memory side stands, it takes a slot, so that the
//   next address can be looked at.
// - Every address taken leaves exactly once: to the memory side with a physical address, or to
//   err_* with its cause. An address whose fault is known at once (port off, page crossing, not
//   canonical) never causes a lookup.
// - Answers are never refused; the one for a request is expected exactly once. It is kept in the L1
//   if it is cacheable, no fault, and no invalidation of any scope came since the request.
// - err_*: reads keep their slot, and later addresses of the ID wait, until err_done_i; a write's slot
//   is free at once.
// - A translation has the epoch in which it was looked up, or asked for. old_o: one of the other
//   epoch, not sent, is left. That ends although parked accesses wait for ever: what waits behind them is looked up again.
// - An answer may park its access: it is looked up again, or faults, at a wake-up. It does so with the context that it came with, so
//   accesses that would be looked up again fault instead (CausePortOff, CauseContextOff) when the port has been switched off or
//   bound to another context, or its context been written, since they came; those that are parked at once, and old_o waits for that.
// - m_valid_o, m_ax_o, xlate_req_*: registered state only; m_ax_o of an address that waited is a RAM's output. No path from m_ready_i or err_ready_i to
//   s_ready_o.
`include "gw_assert.svh"

module gw_translate_channel #(
  /// AXI address channel.
  parameter type ax_t = gw_axi_pkg::axi_ax_t,
  parameter int unsigned IdWidth = 4,
  parameter int unsigned L1Entries = 16,
  parameter int unsigned L1Replacement = 1,
  parameter int unsigned MissEntries = 64,
  parameter int unsigned Levels = 4,
  /// 0: AR, order kept per ID; 1: AW, order kept in total.
  parameter bit IsWrite = 1'b0,
  /// Derived.
  localparam int unsigned SlotWidth = $clog2(MissEntries),
  localparam int unsigned CountWidth = $clog2(MissEntries + 1)
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  gw_pkg::port_cfg_t cfg_i,
  /// Accelerator side.
  input  logic s_valid_i,
  output logic s_ready_o,
  input  ax_t  s_ax_i,
  /// Memory side.
  output logic m_valid_o,
  input  logic m_ready_i,
  output ax_t  m_ax_o,
  /// Lookups; want: whether one will be valid, from registers. Wrong only in a cycle in which room or slots have just come or gone, or
  /// the context has.
  output logic               xlate_want_o,
  output logic               xlate_req_valid_o,
  input  logic               xlate_req_ready_i,
  output gw_pkg::xlate_req_t xlate_req_o,
  input  logic               xlate_rsp_valid_i,
  input  gw_pkg::xlate_rsp_t xlate_rsp_i,
  input  gw_pkg::wake_t      wake_i,
  input  gw_pkg::ctx_write_t ctx_write_i,
  /// Accesses that are parked, a cycle late.
  output logic [CountWidth-1:0] parked_o,
  /// Faulted addresses; `err_slot_o` comes back with err_done_i.
  output logic                 err_valid_o,
  input  logic                 err_ready_i,
  output logic [SlotWidth-1:0] err_slot_o,
  output logic [IdWidth-1:0]   err_id_o,
  /// In the cycle after it was taken.
  output logic [7:0]           err_len_o,
  /// IsWrite = 0: the error response of a slot was delivered; at most every second cycle.
  input  logic                 err_done_i,
  input  logic [SlotWidth-1:0] err_done_slot_i,
  input  logic [IdWidth-1:0]   err_done_id_i,
  /// Bursts under way: an address is under way from start_o on; it was given to the memory side
  /// with send_o.
  input  logic               room_i,
  output logic               start_o,
  output logic               send_o,
  output logic               send_old_o,
  output logic [IdWidth-1:0] send_id_o,
  /// Invalidation: a pulse and its scope; the epoch of what begins now, and its first cycle.
  input  logic           inval_valid_i,
  input  gw_pkg::inval_t inval_i,
  input  logic           epoch_i,
  input  logic           flip_i,
  output logic           old_o,
  /// One-cycle pulses, a cycle after what they report.
  output logic                fault_valid_o,
  output gw_pkg::fault_t      fault_o,
  output gw_pkg::chan_event_t event_o
);

  localparam int unsigned PageShift = gw_pkg::PageShift;
  localparam int unsigned VpnBits = 9 * Levels;

  function automatic ax_t physical(ax_t ax, gw_pkg::ppn_t ppn);
    ax_t result;
    result = ax;
    result.addr = 64'({ppn, ax.addr[PageShift-1:0]});
    return result;
  endfunction

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // First stage: the address on hold, else the one on offer. It moves on as soon as the one before it
  // does.
  //////////////////////////////////////////////////////////////////////////////////////////////////
  logic hold_valid_q, hold_valid_d, look_valid, look_free;
  ax_t hold_q, look;
  assign s_ready_o = !hold_valid_q;
  assign look_valid = hold_valid_q || s_valid_i;
  assign look = hold_valid_q ? hold_q : s_ax_i;
  assign hold_valid_d = look_valid && !look_free;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) hold_valid_q <= 1'b0;
    else hold_valid_q <= hold_valid_d;
  end
  always_ff @(posedge clk_i) begin
    if (!hold_valid_q) hold_q <= s_ax_i;
  end

  // What is offered is checked, whether it is then held or not.
  logic s_crosses, s_odd, hold_crosses_q, hold_odd_q, crosses, odd;
  gw_burst_check u_burst_check (
    .offset_i (s_ax_i.addr[PageShift-1:0]),
    .len_i    (s_ax_i.len),
    .size_i   (s_ax_i.size),
    .burst_i  (s_ax_i.burst),
    .crosses_o(s_crosses)
  );

  // All bits above the widest mode repeat its highest bit.
  logic [63-PageShift-VpnBits+1:0] upper;
  assign upper = s_ax_i.addr[63:PageShift+VpnBits-1];
  assign s_odd = !(&upper) && |upper;

  always_ff @(posedge clk_i) begin
    if (!hold_valid_q) begin
      hold_crosses_q <= s_crosses;
      hold_odd_q <= s_odd;
    end
  end
  assign crosses = hold_valid_q ? hold_crosses_q : s_crosses;
  assign odd = hold_valid_q ? hold_odd_q : s_odd;

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // Second stage: where it goes. While it stays its frame does, whatever happens to the L1.
  //////////////////////////////////////////////////////////////////////////////////////////////////
  logic at_valid_q, at_first_q, at_off_q, at_crosses_q, at_odd_q;
  ax_t at_q;
  gw_pkg::ctx_id_t at_ctx_q;
  gw_pkg::ppn_t at_ppn_q, l1_ppn, at_ppn;
  logic l1_match, refused, bad, hit, at_old, leaves, hit_go, slot_go, asks, use_hit;
  gw_pkg::cause_t bad_cause;
  assign look_free = !at_valid_q || leaves;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) at_valid_q <= 1'b0;
    else at_valid_q <= look_free ? look_valid : 1'b1;
  end
  // What ends accesses that wait. One looked at with the new binding is none of them.
  logic ends, ended_q;
  gw_pkg::port_cfg_t cfg_q;
  gw_pkg::cause_t end_cause_q;
  logic ctx_written, rebound;
  assign rebound = cfg_i != cfg_q;
  assign ctx_written = ctx_write_i.valid && ctx_write_i.ctx == cfg_q.ctx;
  assign ends = rebound || ctx_written;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) cfg_q <= '0;
    else cfg_q <= cfg_i;
  end
  always_ff @(posedge clk_i) begin
    if (ends) end_cause_q <= rebound ? gw_spec_pkg::CausePortOff : gw_spec_pkg::CauseContextOff;
    ended_q <= !look_free && (ended_q || ends);
  end

  always_ff @(posedge clk_i) begin
    at_first_q <= look_free;
    if (look_free) begin
      at_q <= look;
      at_ctx_q <= cfg_i.ctx;
      at_off_q <= cfg_i.mode != gw_pkg::PortTranslate;
      at_crosses_q <= crosses;
      at_odd_q <= odd;
    end
    if (at_first_q) at_ppn_q <= l1_ppn;
  end

  always_comb begin
    bad_cause = IsWrite ? gw_spec_pkg::CauseStorePageFault : gw_spec_pkg::CauseLoadPageFault;
    if (at_off_q) bad_cause = gw_spec_pkg::CausePortOff;
    else if (at_crosses_q) bad_cause = gw_spec_pkg::CauseBurstCrossesPage;
    else if (!at_odd_q && ended_q) bad_cause = end_cause_q;
  end
  assign refused = at_off_q || at_crosses_q || at_odd_q;
  // Whoever has a translation keeps it; nobody asks in the name of a context that was.
  assign bad = refused || (ended_q && !hit);
  assign at_ppn = at_first_q ? l1_ppn : at_ppn_q;

  // Whether it goes on or asks has a long way to go within a cycle, so both are told from registers of their own. Who stays over the turn
  // of an epoch loses its translation, and is looked up again.
  logic good, hit_q, hit_d, misses_q, misses_d;
  assign hit = hit_q;
  assign good = look_valid && cfg_i.mode == gw_pkg::PortTranslate && !crosses && !odd;
  assign hit_d = look_free ? good && l1_match : hit_q && !at_old;
  assign misses_d = look_free ? good && !l1_match : misses_q || at_old;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {hit_q, misses_q} <= '0;
    else {hit_q, misses_q} <= {hit_d, misses_d};
  end

  logic fill_valid;
  gw_l1_tlb #(
    .Entries    (L1Entries),
    .Replacement(L1Replacement),
    .Levels     (Levels)
  ) u_l1 (
    .clk_i,
    .rst_ni,
    .ctx_i         (cfg_i.ctx),
    .lookup_valid_i(look_valid),
    .lookup_vpn_i  (look.addr[PageShift+:gw_pkg::VpnWidth]),
    .match_o       (l1_match),
    .hit_o         (),
    .ppn_o         (l1_ppn),
    .use_i         (use_hit),
    .fill_valid_i  (fill_valid),
    .fill_ctx_i    (xlate_rsp_i.ctx),
    .fill_vpn_i    (xlate_rsp_i.vpn),
    .fill_ppn_i    (xlate_rsp_i.ppn),
    .fill_order_i  (xlate_rsp_i.order),
    .fill_global_i (xlate_rsp_i.is_global),
    .inval_valid_i,
    .inval_i
  );

  logic slot_avail, key_waits, leaving, slots_old, lookup_waits, could_q;
  logic rel_ready, rel_direct, rel_fault, rel_old, ready_out, direct_out, rel_err, read_free;
  logic [IdWidth-1:0] rel_id;
  gw_pkg::ctx_id_t slot_ctx;
  gw_pkg::ppn_t slot_ppn;
  ax_t slot_ax;

  gw_waiting_slots #(
    .ax_t   (ax_t),
    .IdWidth(IdWidth),
    .Slots  (MissEntries),
    .IsWrite(IsWrite)
  ) u_slots (
    .clk_i,
    .rst_ni,
    .avail_o           (slot_avail),
    .waiting_o         (key_waits),
    .alloc_i           (slot_go),
    .alloc_lookup_i    (asks),
    .alloc_translated_i(hit),
    .alloc_fault_i     (bad),
    .alloc_ended_i     (ended_q || ends),
    .alloc_cause_i     (bad_cause),
    .alloc_ctx_i       (at_ctx_q),
    .alloc_ax_i        (at_q),
    .alloc_ppn_i       (at_ppn),
    .xlate_waits_o     (lookup_waits),
    .xlate_req_valid_o,
    .xlate_req_ready_i,
    .xlate_req_o,
    .xlate_rsp_valid_i,
    .xlate_rsp_i,
    .fill_valid_o      (fill_valid),
    .wake_i,
    .end_i             (ends),
    .end_cause_i       (end_cause_q),
    .parked_o,
    .leaving_o         (leaving),
    .rel_ready_o       (rel_ready),
    .rel_direct_o      (rel_direct),
    .rel_fault_o       (rel_fault),
    .rel_old_o         (rel_old),
    .rel_slot_o        (err_slot_o),
    .rel_id_o          (rel_id),
    .read_i            (read_free),
    .out_ctx_o         (slot_ctx),
    .out_ax_o          (slot_ax),
    .out_ppn_o         (slot_ppn),
    .ready_take_i      (ready_out || rel_err),
    .direct_take_i     (direct_out),
    .err_done_i,
    .err_done_slot_i,
    .err_done_id_i,
    .pulse_i           (inval_valid_i),
    .epoch_i,
    .flip_i,
    .old_o             (slots_old)
  );

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // Who leaves: an address whose wait is over goes before the one looked at; that goes before an answer
  // that arrives. Whoever cannot leave at once takes a slot.
  //////////////////////////////////////////////////////////////////////////////////////////////////
  // What waited is sent from the slots' RAM, which is read as it is taken; the frame of an answer that is used as it comes is beside it.
  logic passes, out_valid_q, out_free, out_waited_q, out_read_q;
  ax_t out_q;
  gw_pkg::ppn_t out_ppn_q;
  assign out_free = !out_valid_q || m_ready_i;
  assign read_free = !(out_valid_q && out_waited_q) || m_ready_i;
  assign passes = hit && !key_waits && !leaving && out_free;
  assign hit_go = at_valid_q && room_i && passes;
  assign slot_go = at_valid_q && room_i && slot_avail && !passes;
  assign asks = misses_q && room_i && slot_avail && !ended_q;
  always_ff @(posedge clk_i) could_q <= room_i && slot_avail;
  assign xlate_want_o = lookup_waits || (misses_q && could_q);
  assign leaves = at_valid_q && room_i && (slot_avail || passes);
  assign use_hit = leaves && hit;
  assign ready_out = rel_ready && !rel_fault && out_free;
  assign direct_out = rel_direct && out_free && !hit_go;
  assign err_valid_o = rel_fault && read_free;
  assign rel_err = err_valid_o && err_ready_i;
  assign err_id_o = rel_id;
  assign err_len_o = slot_ax.len;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) out_valid_q <= 1'b0;
    else if (out_free) out_valid_q <= hit_go || ready_out || direct_out;
  end
  always_ff @(posedge clk_i) begin
    if (out_free) begin
      out_q <= at_q;
      out_ppn_q <= hit_go ? at_ppn : xlate_rsp_i.ppn;
      out_waited_q <= !hit_go;
      out_read_q <= ready_out;
    end
  end
  assign m_valid_o = out_valid_q;
  assign m_ax_o = physical(out_waited_q ? slot_ax : out_q, out_read_q ? slot_ppn : out_ppn_q);

  // Translated in the epoch that ends in this cycle: in the next one it has left, or lost its translation.
  assign at_old = hit && flip_i;
  assign old_o = at_old || slots_old;
  assign start_o = leaves;
  assign send_o = hit_go || ready_out || direct_out;
  // In a turn's cycle what had a slot before is old.
  assign send_old_o = hit_go ? at_old : rel_old || flip_i;
  assign send_id_o = hit_go ? at_q.id : rel_id;

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // Faults and events.
  //////////////////////////////////////////////////////////////////////////////////////////////////
  assign fault_o = '{
    cause: gw_pkg::cause_t'(slot_ppn),
    ctx: slot_ctx,
    write: IsWrite,
    id: 16'(slot_ax.id),
    addr: slot_ax.addr
  };

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      event_o <= '0;
    end else begin
      event_o.request <= s_valid_i && s_ready_o;
      event_o.hit <= use_hit;
      event_o.miss <= asks;
      event_o.fault <= rel_err;
      event_o.stall <= s_valid_i && !s_ready_o;
    end
  end
  assign fault_valid_o = event_o.fault;

  if (MissEntries < 2 || MissEntries > 256) begin : gen_bad_miss_entries
    $fatal(1, "gw_translate_channel: MissEntries must be 2 to 256");
  end

  `GW_INVARIANT(OneLeaves_A, $onehot0({hit_go, ready_out, direct_out}))
  `GW_INVARIANT(AsksForMisses_A, asks == (slot_go && !hit && !bad))
  `GW_INVARIANT(WantsWhatItAsks_A, xlate_want_o == xlate_req_valid_o || ended_q || could_q != (room_i && slot_avail))
  `GW_INVARIANT(HitIsThere_A, !hit || (at_valid_q && !refused))
  `GW_INVARIANT(WriteOrder_A, !IsWrite || !(hit_go && rel_err))
  `GW_ASSERT(OutputStable_A, m_valid_o && !m_ready_i |=> m_valid_o && $stable(m_ax_o))
  `GW_COVER(HitUnderMiss_C, hit_go && xlate_req_valid_o)
  `GW_COVER(HitGivesWay_C, at_valid_q && hit && !key_waits && (ready_out || direct_out))
  `GW_COVER(HitBeforeAnswer_C, hit_go && rel_direct)
  `GW_COVER(Stays_C, at_valid_q && !leaves && look_valid)

endmodule
