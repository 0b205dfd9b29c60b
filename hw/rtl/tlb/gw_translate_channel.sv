// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Address channel of a translator (AR or AW): L1 lookup, waiting slots for everything that cannot
// go on at once, and the order in which addresses leave.
//
// Contract
// - Hit: taken in cycle t, at the memory side in t+1 if nothing whose wait is over is before it; one
//   a cycle. Miss: lookup request in t+1; an answer in cycle u is at the memory side in u+1, likewise.
// - s_ready_o is a register: it falls for as long as one address, already taken, can neither go on
//   nor find a slot.
// - Order: kept per AXI ID, or in total with InOrder. A hit passes every waiting address of other
//   IDs; behind those whose wait is over it takes its turn, in a slot, so that the next address can be
//   looked at: the output has no idle cycle while anything could leave.
// - Every address taken leaves exactly once: to the memory side with a physical address, or to
//   err_* with its cause. An address whose fault is known at once (port off, page crossing, not
//   canonical) never causes a lookup.
// - Answers are never refused; the one for a request is expected exactly once. It is kept in the L1
//   if it is cacheable, no fault, and no invalidation of any scope came since the address was taken.
// - err_*: with DeferRetire the slot stays, and later addresses of the ID wait, until err_done_i;
//   without it the slot is free at once.
// - m_valid_o, m_ax_o, xlate_req_*: registered state only. No path from m_ready_i or err_ready_i to
//   s_ready_o.
`include "gw_assert.svh"

module gw_translate_channel #(
  /// AXI address channel.
  parameter type ax_t = gw_axi_pkg::axi_ax_t,
  parameter int unsigned IdWidth = 4,
  parameter int unsigned L1Entries = 16,
  parameter int unsigned MissEntries = 64,
  parameter int unsigned Levels = 4,
  /// 0: AR, order kept per ID; 1: AW, order kept in total.
  parameter bit IsWrite = 1'b0,
  /// Derived.
  localparam int unsigned SlotWidth = $clog2(MissEntries)
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
  /// Lookups.
  output logic               xlate_req_valid_o,
  input  logic               xlate_req_ready_i,
  output gw_pkg::xlate_req_t xlate_req_o,
  input  logic               xlate_rsp_valid_i,
  input  gw_pkg::xlate_rsp_t xlate_rsp_i,
  /// Faulted addresses; `err_slot_o` comes back with err_done_i, `err_old_o`: taken before the
  /// invalidation.
  output logic                 err_valid_o,
  input  logic                 err_ready_i,
  output logic [SlotWidth-1:0] err_slot_o,
  output logic [IdWidth-1:0]   err_id_o,
  output logic [7:0]           err_len_o,
  output logic                 err_old_o,
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
  /// Invalidation: a pulse and its scope; old_o while an address from before it waits.
  input  logic           inval_valid_i,
  input  gw_pkg::inval_t inval_i,
  output logic           old_o,
  /// One-cycle pulses, a cycle after what they report.
  output logic                fault_valid_o,
  output gw_pkg::fault_t      fault_o,
  output gw_pkg::chan_event_t event_o
);

  localparam int unsigned PageShift = gw_pkg::PageShift;
  localparam int unsigned VpnBits = 9 * Levels;

  function automatic logic [63:0] physical(gw_pkg::ppn_t ppn, logic [PageShift-1:0] offset);
    return 64'({ppn, offset});
  endfunction

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // The address looked at: the one on hold, else the one on offer.
  //////////////////////////////////////////////////////////////////////////////////////////////////
  logic hold_valid_q, hold_valid_d, hold_hit_q, hold_hit_d, cur_valid, cur_leaves;
  ax_t hold_q, cur;
  assign s_ready_o = !hold_valid_q;
  assign cur_valid = hold_valid_q || s_valid_i;
  assign cur = hold_valid_q ? hold_q : s_ax_i;

  logic crosses, canonical, bad;
  gw_pkg::cause_t bad_cause;
  gw_burst_check u_burst_check (
    .offset_i (cur.addr[PageShift-1:0]),
    .len_i    (cur.len),
    .size_i   (cur.size),
    .burst_i  (cur.burst),
    .crosses_o(crosses)
  );

  // All bits above the widest mode repeat its highest bit.
  logic [63-PageShift-VpnBits+1:0] upper;
  assign upper = cur.addr[63:PageShift+VpnBits-1];
  assign canonical = (&upper) || !(|upper);

  always_comb begin
    bad = 1'b1;
    bad_cause = IsWrite ? gw_spec_pkg::CauseStorePageFault : gw_spec_pkg::CauseLoadPageFault;
    if (cfg_i.mode != gw_pkg::PortTranslate) bad_cause = gw_spec_pkg::CausePortOff;
    else if (crosses) bad_cause = gw_spec_pkg::CauseBurstCrossesPage;
    else bad = !canonical;
  end

  logic l1_hit, hit, use_hit, fill_valid;
  gw_pkg::ppn_t l1_ppn;
  gw_pkg::ctx_id_t fill_ctx;
  gw_pkg::vpn_t fill_vpn;
  assign hit = l1_hit && !bad;

  gw_l1_tlb #(
    .Entries(L1Entries),
    .Levels (Levels)
  ) u_l1 (
    .clk_i,
    .rst_ni,
    .lookup_valid_i(cur_valid),
    .lookup_ctx_i  (cfg_i.ctx),
    .lookup_vpn_i  (cur.addr[PageShift+:gw_pkg::VpnWidth]),
    .use_i         (use_hit),
    .hit_o         (l1_hit),
    .ppn_o         (l1_ppn),
    .fill_valid_i  (fill_valid),
    .fill_ctx_i    (fill_ctx),
    .fill_vpn_i    (fill_vpn),
    .fill_ppn_i    (xlate_rsp_i.ppn),
    .fill_order_i  (xlate_rsp_i.order),
    .fill_global_i (xlate_rsp_i.is_global),
    .inval_valid_i,
    .inval_i
  );

  logic slot_avail, slot_go, key_waits, key_closes;
  logic rel_valid, rel_direct, rel_fault, rel_old, rel_out, rel_err;
  gw_pkg::cause_t rel_cause;
  gw_pkg::ctx_id_t rel_ctx;
  ax_t cur_physical, rel_ax;

  always_comb begin
    cur_physical = cur;
    cur_physical.addr = physical(l1_ppn, cur.addr[PageShift-1:0]);
  end

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
    .closing_o         (key_closes),
    .alloc_i           (slot_go),
    .alloc_translated_i(hit),
    .alloc_fault_i     (bad),
    .alloc_cause_i     (bad_cause),
    .alloc_ctx_i       (cfg_i.ctx),
    .alloc_ax_i        (hit ? cur_physical : cur),
    .xlate_req_valid_o,
    .xlate_req_ready_i,
    .xlate_req_o,
    .xlate_rsp_valid_i,
    .xlate_rsp_i,
    .fill_valid_o      (fill_valid),
    .fill_ctx_o        (fill_ctx),
    .fill_vpn_o        (fill_vpn),
    .rel_valid_o       (rel_valid),
    .rel_direct_o      (rel_direct),
    .rel_fault_o       (rel_fault),
    .rel_old_o         (rel_old),
    .rel_slot_o        (err_slot_o),
    .rel_cause_o       (rel_cause),
    .rel_ctx_o         (rel_ctx),
    .rel_ax_o          (rel_ax),
    .rel_take_i        (rel_out || rel_err),
    .err_done_i,
    .err_done_slot_i,
    .err_done_id_i,
    .inval_valid_i,
    .old_o
  );

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // Who leaves. An address whose wait is over goes before the one looked at. A hit that meets one
  // takes a slot and is ready there at once; while an answer takes that place in the queue, the hit goes
  // first, as it does in the cycle after one in which there was no slot for it. A hit may leave beside a
  // faulted slot, except on AW: there a slot that waits holds up every hit, so at most one address
  // leaves a cycle and the order of write data is clear.
  //////////////////////////////////////////////////////////////////////////////////////////////////
  logic out_valid_q, out_free, hit_go, want_hit, decided_first, meets, answer_queues, park, pass;
  ax_t out_q;
  assign out_free = !out_valid_q || m_ready_i;
  assign rel_out = rel_valid && !rel_fault && out_free && !hold_hit_q && !pass;
  assign rel_err = err_valid_o && err_ready_i;
  assign err_valid_o = rel_valid && rel_fault;
  assign err_id_o = rel_ax.id;
  assign err_len_o = rel_ax.len;
  assign err_old_o = rel_old;

  // Where the address looked at goes.
  assign want_hit = cur_valid && room_i && hit && !key_waits;
  assign meets = want_hit && rel_valid && !rel_fault && !hold_hit_q;
  assign answer_queues = xlate_rsp_valid_i && !rel_direct;
  assign park = meets && out_free && slot_avail && !answer_queues;
  assign pass = meets && answer_queues;
  assign hit_go = want_hit && out_free && (hold_hit_q || !rel_valid || rel_fault || pass);
  // A fault with nothing before it is ready at once, which an arriving answer must not be at the
  // same time.
  assign decided_first = bad && !key_waits;
  assign slot_go = park || (cur_valid && room_i && slot_avail && (key_waits || !hit) &&
                            !((hit || bad) && key_closes) && !(decided_first && xlate_rsp_valid_i));
  assign use_hit = cur_leaves && hit;
  assign cur_leaves = hit_go || slot_go;
  assign hold_valid_d = cur_valid && !cur_leaves;
  assign hold_hit_d = cur_valid && room_i && hit && (!key_waits || key_closes) && !hit_go && !park;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      hold_valid_q <= 1'b0;
      hold_hit_q <= 1'b0;
    end else begin
      hold_valid_q <= hold_valid_d;
      hold_hit_q <= hold_hit_d;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!hold_valid_q) hold_q <= s_ax_i;
  end

  // Output register.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) out_valid_q <= 1'b0;
    else if (out_free) out_valid_q <= hit_go || rel_out;
  end
  always_ff @(posedge clk_i) begin
    if (out_free) out_q <= rel_out ? rel_ax : cur_physical;
  end
  assign m_valid_o = out_valid_q;
  assign m_ax_o = out_q;

  assign start_o = cur_leaves;
  assign send_o = hit_go || rel_out;
  assign send_old_o = rel_out && rel_old;
  assign send_id_o = rel_out ? rel_ax.id : cur.id;

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // Faults and events.
  //////////////////////////////////////////////////////////////////////////////////////////////////
  gw_pkg::fault_t fault_d;
  assign fault_d = '{
    cause: rel_cause,
    ctx: rel_ctx,
    write: IsWrite,
    id: 16'(rel_ax.id),
    addr: rel_ax.addr
  };

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      event_o <= '0;
    end else begin
      event_o.request <= s_valid_i && s_ready_o;
      event_o.hit <= use_hit;
      event_o.miss <= slot_go && !hit && !bad;
      event_o.fault <= rel_err;
      event_o.stall <= s_valid_i && !s_ready_o;
    end
  end
  always_ff @(posedge clk_i) begin
    fault_o <= fault_d;
  end
  assign fault_valid_o = event_o.fault;

  if (MissEntries < 2 || MissEntries > 256) begin : gen_bad_miss_entries
    $fatal(1, "gw_translate_channel: MissEntries must be 2 to 256");
  end

  `GW_INVARIANT(OneLeaves_A, !(hit_go && rel_out))
  `GW_INVARIANT(OneWay_A, !(hit_go && slot_go))
  `GW_INVARIANT(WriteOrder_A, !IsWrite || !(hit_go && rel_err))
  `GW_ASSERT(OutputStable_A, m_valid_o && !m_ready_i |=> m_valid_o && $stable(m_ax_o))
  `GW_COVER(HitUnderMiss_C, hit_go && xlate_req_valid_o)
  `GW_COVER(HitGivesWay_C, want_hit && rel_out)
  `GW_COVER(HitParks_C, park)
  `GW_COVER(HitPasses_C, hit_go && pass)

endmodule
