// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Waiting slots of a translator channel: addresses that cannot go on at once, their lookups, the
// answers to these, and who may leave next.
//
// Contract
// - A slot taken in cycle t has its lookup request (if it needs one) at the output in t too, if no
//   others wait; they leave in the order of allocation. There is room for a request of every slot, so a
//   busy walker never holds up allocations.
// - rel_*: the address that may leave: one that is ready (rel_ready_o), else the one whose answer arrives in this
//   cycle (rel_direct_o), if that is a translation and nothing of its ID is before it; taken or not, it
//   is not offered so again.
// - read_i: in the next cycle it is at out_*, where it stays until it is read_i again: context, virtual address, and the frame, or the
//   cause, of one that was ready.
// - ready_take_i, direct_take_i take it and free its slot; with a fault on a read (IsWrite = 0) the slot stays, and
//   later addresses of its ID wait, until err_done_i.
// - fill_valid_o: the answer that arrives may be kept in the L1.
// - An answer that parks a slot is followed by a wake-up of its number; then the slot is looked up again, or is a page fault. One
//   whose translation was given up behind a parked one (gw_slot_list) is looked up again in its turn. end_i: slots taken so far are
//   not looked up again, but fault with end_cause_i where they would; old_o until that is settled for those that are parked.
// - See gw_slot_list and gw_slot_ring for order, allocation rules and invalidation.
//
// Timing: addresses are block RAM, read in the cycle in which one is taken, so that a RAM's output is what is sent. Frames known with the
// address are in the same word, those answered beside it. The page that is asked for is block RAM, too: of one that is taken, read in the
// cycle in which it is chosen; one that is asked for at once is in a register. What is needed sooner is LUT RAM: the ID.
`include "gw_assert.svh"

module gw_waiting_slots #(
  /// AXI address channel.
  parameter type ax_t = gw_axi_pkg::axi_ax_t,
  parameter int unsigned IdWidth = 4,
  /// Slots, 2 to 256.
  parameter int unsigned Slots = 64,
  /// 0: AR, order kept per ID; 1: AW, order kept in total.
  parameter bit IsWrite = 1'b0,
  /// Derived.
  localparam int unsigned SlotWidth = $clog2(Slots),
  localparam int unsigned CountWidth = $clog2(Slots + 1)
) (
  input  logic clk_i,
  input  logic rst_ni,
  /// The address looked at: whether addresses that it must not pass wait for something.
  output logic               avail_o,
  output logic               waiting_o,
  /// Takes it: as it is with its lookup (alloc_lookup_i), or with its frame, or faulted with `cause`.
  input  logic               alloc_i,
  input  logic               alloc_lookup_i,
  input  logic               alloc_translated_i,
  input  logic               alloc_fault_i,
  input  logic               alloc_ended_i,
  input  gw_pkg::cause_t     alloc_cause_i,
  input  gw_pkg::ctx_id_t    alloc_ctx_i,
  input  ax_t                alloc_ax_i,
  input  gw_pkg::ppn_t       alloc_ppn_i,
  /// Lookups.
  output logic               xlate_waits_o,  // one was there before this cycle
  output logic               xlate_req_valid_o,
  input  logic               xlate_req_ready_i,
  output gw_pkg::xlate_req_t xlate_req_o,
  input  logic               xlate_rsp_valid_i,
  input  gw_pkg::xlate_rsp_t xlate_rsp_i,
  output logic               fill_valid_o,
  /// Parking: wake-ups; the end of whatever waits, and why; slots that are parked, a cycle late.
  input  gw_pkg::wake_t      wake_i,
  input  logic               end_i,
  input  gw_pkg::cause_t     end_cause_i,
  output logic [CountWidth-1:0] parked_o,
  /// Who may leave; leaving_o: somebody, for certain.
  output logic                 leaving_o,
  output logic                 rel_ready_o,
  output logic                 rel_direct_o,
  output logic                 rel_fault_o,
  output logic                 rel_old_o,
  output logic [SlotWidth-1:0] rel_slot_o,
  output logic [IdWidth-1:0]   rel_id_o,
  input  logic                 read_i,
  output gw_pkg::ctx_id_t      out_ctx_o,
  output ax_t                  out_ax_o,
  output gw_pkg::ppn_t         out_ppn_o,
  input  logic                 ready_take_i,
  input  logic                 direct_take_i,
  /// The error response of a slot was delivered; at most every second cycle.
  input  logic                 err_done_i,
  input  logic [SlotWidth-1:0] err_done_slot_i,
  input  logic [IdWidth-1:0]   err_done_id_i,
  /// Invalidation: a pulse, of any scope; the epoch, and its turn.
  input  logic pulse_i,
  input  logic epoch_i,
  input  logic flip_i,
  output logic old_o
);

  localparam int unsigned PageShift = gw_pkg::PageShift;
  localparam int unsigned VpnWidth = gw_pkg::VpnWidth;

  typedef logic [SlotWidth-1:0] slot_t;

  // What a lookup needs, and all that there is of an address.
  typedef struct packed {
    gw_pkg::ctx_id_t ctx;
    gw_pkg::vpn_t    vpn;
  } page_t;
  typedef struct packed {
    gw_pkg::ctx_id_t ctx;
    ax_t             ax;
    gw_pkg::ppn_t    ppn;  // or the cause, in its low bits
  } address_t;

  function automatic gw_pkg::ppn_t with_cause(gw_pkg::ppn_t ppn, logic failed, gw_pkg::cause_t cause);
    gw_pkg::ppn_t result;
    result = ppn;
    if (failed) result[$bits(gw_pkg::cause_t)-1:0] = cause;
    return result;
  endfunction

  logic decided, lookup;
  assign decided = alloc_translated_i || alloc_fault_i;
  assign lookup = alloc_lookup_i;

  slot_t alloc_slot, tag_slot, answer_slot, ready_slot;
  logic answer_head, answer_fresh, answer_old, answer_epoch, lookups_old, stamp, direct, translated, ready_valid, ready_old, pop;
  gw_pkg::slot_end_e how;
  assign tag_slot = slot_t'(xlate_rsp_i.tag);
  assign translated = xlate_rsp_valid_i && !xlate_rsp_i.fault && !xlate_rsp_i.parked;

  // Parking. A slot that fails there is answered when nobody else is.
  logic answer, answer_fault, park, some_parked, ask, ask_valid, ask_ready, fails, fail_ended, again, again_ready, ending, slots_old;
  slot_t parking_slot, again_slot, asks_slot;
  gw_pkg::cause_t answer_cause;
  assign park = xlate_rsp_valid_i && xlate_rsp_i.parked;
  assign answer = xlate_rsp_valid_i ? !xlate_rsp_i.parked : fails;
  assign answer_slot = xlate_rsp_valid_i ? tag_slot : parking_slot;
  assign answer_fault = xlate_rsp_valid_i ? xlate_rsp_i.fault : 1'b1;
  always_comb begin
    answer_cause = IsWrite ? gw_spec_pkg::CauseStorePageFault : gw_spec_pkg::CauseLoadPageFault;
    if (fail_ended) answer_cause = end_cause_i;
    if (xlate_rsp_valid_i) answer_cause = xlate_rsp_i.cause;
  end
  gw_parking #(
    .Slots(Slots)
  ) u_parking (
    .clk_i,
    .rst_ni,
    .alloc_i,
    .alloc_ended_i,
    .alloc_slot_i (alloc_slot),
    .park_i       (park),
    .park_slot_i  (tag_slot),
    .park_number_i(xlate_rsp_i.park),
    .again_i      (again),
    .again_ready_o(again_ready),
    .again_slot_i (again_slot),
    .wake_i,
    .end_i,
    .ask_valid_o  (ask_valid),
    .ask_ready_i  (ask_ready),
    .fail_valid_o (fails),
    .fail_ready_i (!xlate_rsp_valid_i),
    .fail_ended_o (fail_ended),
    .slot_o       (parking_slot),
    .some_o       (some_parked),
    .count_o      (parked_o),
    .busy_o       (ending)
  );
  assign ask_ready = !lookup;
  assign asks_slot = lookup ? alloc_slot : parking_slot;
  assign ask = ask_valid && ask_ready;
  assign old_o = slots_old || lookups_old || ending;

  // What began in the cycle of a turn is of the epoch before it.
  assign stamp = epoch_i ^ flip_i;
  assign answer_old = answer_epoch != epoch_i;
  gw_lookups #(
    .Slots(Slots)
  ) u_lookups (
    .clk_i,
    .rst_ni,
    .begin_i     (lookup || ask),
    .begin_slot_i(asks_slot),
    .stamp_i     (stamp),
    .end_i       (xlate_rsp_valid_i),
    .slot_i      (tag_slot),
    .fresh_o     (answer_fresh),
    .epoch_o     (answer_epoch),
    .flip_i,
    .pulse_i,
    .epoch_i,
    .old_o       (lookups_old)
  );

  if (IsWrite) begin : gen_ring
    gw_slot_ring #(
      .Slots(Slots)
    ) u_slots (
      .clk_i,
      .rst_ni,
      .avail_o,
      .alloc_slot_o   (alloc_slot),
      .alloc_i,
      .alloc_decided_i(decided),
      .alloc_fault_i,
      .waiting_o,
      .answer_i       (answer),
      .answer_fault_i (answer_fault),
      .answer_old_i   (answer_old),
      .answer_slot_i  (answer_slot),
      .direct_slot_i  (tag_slot),
      .answer_head_o  (answer_head),
      .answer_direct_i(direct),
      .parked_i       (some_parked),
      .again_o        (again),
      .again_ready_i  (again_ready),
      .again_slot_o   (again_slot),
      .ready_valid_o  (ready_valid),
      .ready_slot_o   (ready_slot),
      .ready_end_o    (how),
      .ready_old_o    (ready_old),
      .leaving_o,
      .pop_i          (pop),
      .flip_i,
      .old_o          (slots_old)
    );
    logic unused_done;
    assign unused_done = ^{err_done_i, err_done_slot_i, err_done_id_i};
  end else begin : gen_list
    gw_slot_list #(
      .Slots   (Slots),
      .KeyWidth(IdWidth)
    ) u_slots (
      .clk_i,
      .rst_ni,
      .avail_o,
      .alloc_slot_o   (alloc_slot),
      .alloc_i,
      .alloc_decided_i(decided),
      .alloc_fault_i,
      .key_i          (alloc_ax_i.id),
      .waiting_o,
      .answer_i       (answer),
      .answer_fault_i (answer_fault),
      .answer_slot_i  (answer_slot),
      .answer_epoch_i (answer_epoch),
      .direct_slot_i  (tag_slot),
      .answer_head_o  (answer_head),
      .answer_direct_i(direct),
      .parked_i       (some_parked),
      .again_o        (again),
      .again_ready_i  (again_ready),
      .again_slot_o   (again_slot),
      .ready_valid_o  (ready_valid),
      .ready_slot_o   (ready_slot),
      .ready_end_o    (how),
      .ready_old_o    (ready_old),
      .leaving_o,
      .pop_i          (pop),
      .free_i         (pop && !rel_fault_o),
      .resume_i       (err_done_i),
      .resume_slot_i  (err_done_slot_i),
      .resume_key_i   (err_done_id_i),
      .epoch_i,
      .flip_i,
      .stamp_i        (stamp),
      .old_o          (slots_old)
    );
  end

  logic [IdWidth-1:0] id_mem[Slots];
  slot_t rel_slot;
  always_ff @(posedge clk_i) begin
    if (alloc_i) id_mem[alloc_slot] <= alloc_ax_i.id;
  end

  address_t alloc_address, out_address;
  gw_pkg::ppn_t out_answer;
  assign alloc_address = '{
    ctx: alloc_ctx_i,
    ax: alloc_ax_i,
    ppn: with_cause(alloc_ppn_i, alloc_fault_i, alloc_cause_i)
  };
  gw_ram #(
    .Width($bits(address_t)),
    .Depth(Slots),
    .Block(1'b1)
  ) u_addresses (
    .clk_i,
    .we_i   (alloc_i),
    .waddr_i(alloc_slot),
    .wdata_i(alloc_address),
    .re_i   (read_i),
    .raddr_i(rel_slot),
    .rdata_o(out_address)
  );
  gw_ram #(
    .Width(gw_pkg::PpnWidth),
    .Depth(Slots),
    .Block(1'b1)
  ) u_answers (
    .clk_i,
    .we_i   (answer),
    .waddr_i(answer_slot),
    .wdata_i(with_cause(xlate_rsp_i.ppn, answer_fault, answer_cause)),
    .re_i   (read_i),
    .raddr_i(ready_slot),
    .rdata_o(out_answer)
  );

  assign fill_valid_o = translated && xlate_rsp_i.cacheable && answer_fresh;

  // Requests: slots in the order of their allocation; one that is looked up again between two of them. The page of the first that waits is
  // read when it comes to be the first; what is looked up as it comes is not in the RAM yet, and is kept beside it.
  slot_t next_slot, first_slot, req_slot_q, tag;
  page_t alloc_page, came_page_q, read_page, page;
  logic at_once, comes, next_waits, req_ready, req_free, req_waits_q, req_read_q, reads;
  assign alloc_page = '{ctx: alloc_ctx_i, vpn: alloc_ax_i.addr[PageShift+:VpnWidth]};
  assign at_once = lookup && xlate_req_ready_i && !req_waits_q;
  assign comes = (lookup || ask) && !at_once;
  assign req_free = !req_waits_q || xlate_req_ready_i;
  gw_fifo #(
    .T    (slot_t),
    .Depth(Slots)
  ) u_requests (
    .clk_i,
    .rst_ni,
    .in_valid_i (comes && (next_waits || !req_free)),
    .in_ready_o (req_ready),
    .in_data_i  (asks_slot),
    .out_valid_o(next_waits),
    .out_ready_i(req_free),
    .out_data_o (next_slot),
    .usage_o    ()
  );
  assign first_slot = next_waits ? next_slot : asks_slot;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) req_waits_q <= 1'b0;
    else if (req_free) req_waits_q <= next_waits || comes;
  end
  always_ff @(posedge clk_i) begin
    if (req_free) begin
      req_slot_q <= first_slot;
      req_read_q <= reads;
      came_page_q <= alloc_page;
    end
  end
  assign reads = next_waits || !lookup;
  gw_ram #(
    .Width($bits(page_t)),
    .Depth(Slots),
    .Block(1'b1)
  ) u_pages (
    .clk_i,
    .we_i   (alloc_i),
    .waddr_i(alloc_slot),
    .wdata_i(alloc_page),
    .re_i   (req_free && reads),
    .raddr_i(first_slot),
    .rdata_o(read_page)
  );
  assign page = !req_waits_q ? alloc_page : req_read_q ? read_page : came_page_q;
  assign tag = req_waits_q ? req_slot_q : alloc_slot;
  assign xlate_waits_o = req_waits_q;
  assign xlate_req_valid_o = req_waits_q || lookup;
  assign xlate_req_o = '{
    src: '0,
    tag: gw_pkg::tag_t'(tag),
    ctx: page.ctx,
    vpn: page.vpn,
    write: IsWrite
  };

  // Who leaves: what is ready, else the answer that arrives.
  assign rel_slot = ready_valid ? ready_slot : tag_slot;
  assign rel_direct_o = translated && answer_head && !leaving_o;
  assign rel_ready_o = ready_valid;
  assign rel_fault_o = ready_valid && (how == gw_pkg::EndRefused || how == gw_pkg::EndFaulted);
  assign rel_slot_o = ready_slot;
  assign rel_old_o = ready_valid ? ready_old : answer_old;
  assign rel_id_o = id_mem[rel_slot];

  logic known_q;
  always_ff @(posedge clk_i) begin
    if (read_i) known_q <= how == gw_pkg::EndTranslated || how == gw_pkg::EndRefused;
  end
  assign out_ctx_o = out_address.ctx;
  assign out_ax_o = out_address.ax;
  assign out_ppn_o = known_q ? out_address.ppn : out_answer;

  assign direct = direct_take_i;
  assign pop = ready_take_i;

  logic unused;
  assign unused = ^{req_ready, xlate_rsp_i.src, xlate_rsp_i.tag, xlate_rsp_i.ctx, xlate_rsp_i.vpn, xlate_rsp_i.order,
                    xlate_rsp_i.cluster, xlate_rsp_i.perm, xlate_rsp_i.is_global};

  `GW_INVARIANT(LookupIsKnown_A, alloc_lookup_i == (alloc_i && !decided))
  `GW_INVARIANT(RequestRoom_A, req_ready || !(lookup || ask))
  `GW_INVARIANT(TakeValid_A, (rel_ready_o || !ready_take_i) && (rel_direct_o || !direct_take_i))
  `GW_INVARIANT(AnswerAllows_A, !translated || (IsWrite ? xlate_rsp_i.perm.w : xlate_rsp_i.perm.r))
  `GW_COVER(AnswerDirect_C, direct)

endmodule
