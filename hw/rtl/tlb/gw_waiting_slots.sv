// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Waiting slots of a translator channel: addresses that cannot go on at once, their lookups, the
// answers to these, and who may leave next.
//
// Contract
// - A slot taken in cycle t has its lookup request (if it needs one) at the output from t+1 on, in
//   the order of allocation. There is room for a request of every slot, so a busy walker never holds
//   up allocations.
// - rel_*: the address that may leave, the oldest ready one first; if none is ready, the one whose
//   answer arrives in this cycle (rel_direct_o: no latency between answer and rel_valid_o), unless that is a fault.
//   The address is physical, or rel_fault_o is set and it is the virtual one.
// - rel_take_i takes it and frees its slot; with a fault on a read (IsWrite = 0) the slot stays, and
//   later addresses of its ID wait, until err_done_i. In that cycle rel_valid_o is low.
// - fill_*: the answer that arrives may be kept in the L1.
// - See gw_slot_list for order, allocation rules and invalidation.
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
  localparam int unsigned SlotWidth = $clog2(Slots)
) (
  input  logic clk_i,
  input  logic rst_ni,
  /// The address looked at: whether its ID has waiting slots, whether the last of them leaves now.
  output logic               avail_o,
  output logic               waiting_o,
  output logic               closing_o,
  /// Takes it: as it is with its lookup, or already translated, or faulted with `cause`.
  input  logic               alloc_i,
  input  logic               alloc_translated_i,
  input  logic               alloc_fault_i,
  input  gw_pkg::cause_t     alloc_cause_i,
  input  gw_pkg::ctx_id_t    alloc_ctx_i,
  input  ax_t                alloc_ax_i,
  /// Lookups.
  output logic               xlate_req_valid_o,
  input  logic               xlate_req_ready_i,
  output gw_pkg::xlate_req_t xlate_req_o,
  input  logic               xlate_rsp_valid_i,
  input  gw_pkg::xlate_rsp_t xlate_rsp_i,
  output logic               fill_valid_o,
  output gw_pkg::ctx_id_t    fill_ctx_o,
  output gw_pkg::vpn_t       fill_vpn_o,
  /// Who may leave.
  output logic                 rel_valid_o,
  output logic                 rel_direct_o,
  output logic                 rel_fault_o,
  output logic                 rel_old_o,
  output logic [SlotWidth-1:0] rel_slot_o,
  output gw_pkg::cause_t       rel_cause_o,
  output gw_pkg::ctx_id_t      rel_ctx_o,
  output ax_t                  rel_ax_o,
  input  logic                 rel_take_i,
  /// The error response of a slot was delivered.
  input  logic                 err_done_i,
  input  logic [SlotWidth-1:0] err_done_slot_i,
  input  logic [IdWidth-1:0]   err_done_id_i,
  /// Invalidation: a pulse, of any scope.
  input  logic inval_valid_i,
  output logic old_o
);

  localparam int unsigned PageShift = gw_pkg::PageShift;
  // Writes keep their order whatever their ID: one list of slots.
  localparam int unsigned KeyWidth = IsWrite ? 1 : IdWidth;

  typedef logic [SlotWidth-1:0] slot_t;
  typedef logic [KeyWidth-1:0] key_t;

  typedef enum logic [1:0] {
    Lookup,      // waits for an answer
    Translated,  // ax.addr is physical
    Faulted      // cause tells why
  } kind_e;

  typedef struct packed {
    kind_e           kind;
    gw_pkg::cause_t  cause;
    gw_pkg::ctx_id_t ctx;
    ax_t             ax;
  } waiting_t;

  typedef struct packed {
    logic         fault;
    gw_pkg::ppn_t ppn;  // or the cause, in its low bits
  } answer_t;

  logic decided, lookup;
  assign decided = alloc_translated_i || alloc_fault_i;
  assign lookup = alloc_i && !decided;

  slot_t alloc_slot, answer_slot, ready_slot, retire_slot;
  logic answer_head, answer_old, answer_direct, ready_valid, ready_pop, retire, retire_old;
  logic translated;
  logic [IdWidth-1:0] retire_id;
  assign answer_slot = slot_t'(xlate_rsp_i.tag);
  assign translated = xlate_rsp_valid_i && !xlate_rsp_i.fault;

  gw_slot_list #(
    .Slots   (Slots),
    .KeyWidth(KeyWidth)
  ) u_list (
    .clk_i,
    .rst_ni,
    .avail_o,
    .alloc_slot_o   (alloc_slot),
    .alloc_i,
    .alloc_decided_i(decided),
    .key_i          (IsWrite ? '0 : key_t'(alloc_ax_i.id)),
    .waiting_o,
    .closing_o,
    .answer_i       (xlate_rsp_valid_i),
    .answer_slot_i  (answer_slot),
    .answer_head_o  (answer_head),
    .answer_old_o   (answer_old),
    .answer_direct_i(answer_direct),
    .ready_valid_o  (ready_valid),
    .ready_slot_o   (ready_slot),
    .ready_pop_i    (ready_pop),
    .retire_i       (retire),
    .retire_slot_i  (retire_slot),
    .retire_key_i   (IsWrite ? '0 : key_t'(retire_id)),
    .retire_old_o   (retire_old),
    .inval_valid_i,
    .old_o
  );

  // One write port each, so that both are LUT RAM: what is known when the address comes, and what
  // the answer says.
  waiting_t waiting_mem[Slots];
  answer_t answer_mem[Slots];
  waiting_t alloc_data, answered, ready_data;
  answer_t ready_answer;

  always_comb begin
    alloc_data = '{kind: Lookup, cause: alloc_cause_i, ctx: alloc_ctx_i, ax: alloc_ax_i};
    if (alloc_fault_i) alloc_data.kind = Faulted;
    else if (alloc_translated_i) alloc_data.kind = Translated;
  end

  always_ff @(posedge clk_i) begin
    if (alloc_i) waiting_mem[alloc_slot] <= alloc_data;
  end
  always_ff @(posedge clk_i) begin
    if (xlate_rsp_valid_i) begin
      answer_mem[answer_slot] <= '{
        fault: xlate_rsp_i.fault,
        ppn: xlate_rsp_i.fault ? gw_pkg::ppn_t'(xlate_rsp_i.cause) : xlate_rsp_i.ppn
      };
    end
  end
  assign answered = waiting_mem[answer_slot];
  assign ready_data = waiting_mem[ready_slot];
  assign ready_answer = answer_mem[ready_slot];

  assign fill_valid_o = translated && xlate_rsp_i.cacheable && !answer_old;
  assign fill_ctx_o = answered.ctx;
  assign fill_vpn_o = answered.ax.addr[PageShift+:gw_pkg::VpnWidth];

  gw_pkg::xlate_req_t req;
  logic req_ready;
  assign req = '{
    src: '0,
    tag: gw_pkg::tag_t'(alloc_slot),
    ctx: alloc_ctx_i,
    vpn: alloc_ax_i.addr[PageShift+:gw_pkg::VpnWidth],
    write: IsWrite
  };
  gw_fifo #(
    .T    (gw_pkg::xlate_req_t),
    .Depth(Slots)
  ) u_requests (
    .clk_i,
    .rst_ni,
    .in_valid_i (lookup),
    .in_ready_o (req_ready),
    .in_data_i  (req),
    .out_valid_o(xlate_req_valid_o),
    .out_ready_i(xlate_req_ready_i),
    .out_data_o (xlate_req_o),
    .usage_o    ()
  );

  // Who leaves. An error response that ended has the lists first, then a ready slot, then the answer
  // that arrives.
  logic looked_up, fault_stays;
  gw_pkg::ppn_t ppn;
  assign looked_up = ready_data.kind == Lookup;
  assign rel_valid_o = !err_done_i && (ready_valid || (translated && answer_head));
  assign rel_direct_o = rel_valid_o && !ready_valid;
  assign rel_fault_o = ready_valid &&
                       (ready_data.kind == Faulted || (looked_up && ready_answer.fault));
  assign rel_slot_o = ready_slot;
  assign rel_old_o = retire_old;
  assign rel_ctx_o = ready_data.ctx;
  assign rel_cause_o = looked_up ? gw_pkg::cause_t'(ready_answer.ppn) : ready_data.cause;

  assign ppn = ready_valid ? ready_answer.ppn : xlate_rsp_i.ppn;
  always_comb begin
    rel_ax_o = ready_valid ? ready_data.ax : answered.ax;
    if (!rel_fault_o && (looked_up || !ready_valid)) begin
      rel_ax_o.addr = 64'({ppn, rel_ax_o.addr[PageShift-1:0]});
    end
  end

  assign fault_stays = rel_fault_o && !IsWrite;
  assign answer_direct = rel_take_i && !ready_valid;
  assign ready_pop = rel_take_i && ready_valid;
  assign retire = err_done_i || (rel_take_i && !fault_stays);
  assign retire_slot = err_done_i ? err_done_slot_i : (ready_valid ? ready_slot : answer_slot);
  assign retire_id = err_done_i ? err_done_id_i : rel_ax_o.id;

  logic unused;
  assign unused = ^{req_ready, xlate_rsp_i.src, xlate_rsp_i.tag, xlate_rsp_i.ctx, xlate_rsp_i.vpn, xlate_rsp_i.order,
                    xlate_rsp_i.cluster, xlate_rsp_i.perm, xlate_rsp_i.is_global, answered.kind,
                    answered.cause, retire_id};

  `GW_INVARIANT(RequestRoom_A, req_ready || !lookup)
  `GW_INVARIANT(TakeValid_A, rel_valid_o || !rel_take_i)
  `GW_INVARIANT(AnswerAllows_A, !translated || (IsWrite ? xlate_rsp_i.perm.w : xlate_rsp_i.perm.r))
  `GW_COVER(AnswerDirect_C, answer_direct)

endmodule
