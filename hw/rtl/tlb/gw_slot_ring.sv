// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The waiting slots of a write channel, which leave in the order of their allocation: a ring.
//
// Contract: as gw_slot_list with one key, and parked_i while the first slot is parked. A decided slot that is first is at the
// queue's output two cycles later. A fault never holds up those behind it; every slot is free when it is popped.
`include "gw_assert.svh"

module gw_slot_ring #(
  /// Slots, 2 to 256.
  parameter int unsigned Slots = 64,
  /// Derived.
  localparam int unsigned SlotWidth = $clog2(Slots)
) (
  input  logic clk_i,
  input  logic rst_ni,
  /// Allocation.
  output logic                 avail_o,
  output logic [SlotWidth-1:0] alloc_slot_o,
  input  logic                 alloc_i,
  input  logic                 alloc_decided_i,
  input  logic                 alloc_fault_i,
  input  logic                 alloc_old_i,
  output logic                 waiting_o,
  /// Answers.
  input  logic                 answer_i,
  input  logic                 answer_fault_i,
  input  logic [SlotWidth-1:0] answer_slot_i,
  output logic                 answer_head_o,
  output logic                 answer_fresh_o,
  output logic                 answer_old_o,
  input  logic                 answer_direct_i,
  /// Parking.
  input  logic                 park_i,
  input  logic                 ask_i,
  input  logic [SlotWidth-1:0] ask_slot_i,
  output logic                 again_o,
  input  logic                 again_ready_i,
  output logic [SlotWidth-1:0] again_slot_o,
  /// Those that leave.
  output logic                 ready_valid_o,
  output logic [SlotWidth-1:0] ready_slot_o,
  output gw_pkg::slot_end_e    ready_end_o,
  output logic                 ready_old_o,
  output logic                 leaving_o,
  input  logic                 pop_i,
  /// Invalidation.
  input  logic flip_i,
  input  logic pulse_i,
  output logic old_o
);

  if (Slots < 2 || Slots > 256) begin : gen_bad_slots
    $fatal(1, "gw_slot_ring: Slots must be 2 to 256");
  end

  typedef logic [SlotWidth-1:0] slot_t;
  typedef logic [SlotWidth:0] count_t;

  function automatic slot_t advance(slot_t slot);
    return (slot == slot_t'(Slots - 1)) ? '0 : slot + 1'b1;
  endfunction

  // alloc_q: the next to be taken; head_q: the first that has not left for the queue.
  slot_t alloc_q, head_q;
  logic waiting_q, leave, queue_room, left;
  count_t count_q, waits_q, waits_d;
  logic [Slots-1:0] held_q, held_d, old_q, old_d, fresh_q, decided_q, answered_q, fault_q;
  // Has no translation, and is looked up again before it leaves: parked, or decided once.
  logic [Slots-1:0] idle_q, idle_d, turned;

  assign avail_o = count_q != count_t'(Slots);
  assign alloc_slot_o = alloc_q;
  assign waiting_o = waiting_q;
  assign answer_head_o = answer_slot_i == head_q;
  assign answer_fresh_o = fresh_q[answer_slot_i];
  assign answer_old_o = old_q[answer_slot_i];
  assign ready_old_o = old_q[ready_slot_o];
  assign old_o = |old_q;

  logic head_decided, head_idle;
  assign head_decided = waiting_q && decided_q[head_q];
  assign head_idle = idle_q[head_q];
  assign leave = head_decided && !head_idle && queue_room;
  assign again_o = head_decided && head_idle;
  assign again_slot_o = head_q;
  assign left = leave || answer_direct_i;
  assign waits_d = waits_q + count_t'(alloc_i) - count_t'(left);

  always_comb begin
    held_d = held_q;
    if (pop_i) held_d[ready_slot_o] = 1'b0;
    if (answer_direct_i) held_d[answer_slot_i] = 1'b0;
    if (alloc_i) held_d[alloc_q] = 1'b1;
    turned = (waiting_q && head_idle && !decided_q[head_q]) ? old_q & decided_q & ~fault_q : '0;
    idle_d = idle_q | turned;
    old_d = (flip_i ? ~(idle_q | (decided_q & fault_q)) : old_q) & ~turned;
    if (answer_i) begin
      idle_d[answer_slot_i] = 1'b0;
      if (answer_fault_i) old_d[answer_slot_i] = 1'b0;
    end
    if (park_i) begin
      idle_d[answer_slot_i] = 1'b1;
      old_d[answer_slot_i] = 1'b0;
    end
    if (ask_i) idle_d[ask_slot_i] = 1'b0;
    if (alloc_i) begin
      idle_d[alloc_q] = 1'b0;
      old_d[alloc_q] = (flip_i || alloc_old_i) && !alloc_fault_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      alloc_q <= '0;
      head_q <= '0;
      count_q <= '0;
      waits_q <= '0;
      waiting_q <= 1'b0;
      held_q <= '0;
      old_q <= '0;
      idle_q <= '0;
    end else begin
      if (alloc_i) alloc_q <= advance(alloc_q);
      if (left) head_q <= advance(head_q);
      count_q <= count_q + count_t'(alloc_i) - count_t'(pop_i || answer_direct_i);
      waits_q <= waits_d;
      waiting_q <= waits_d != '0;
      held_q <= held_d;
      old_q <= held_d & old_d;
      idle_q <= idle_d;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fresh_q <= '0;
      decided_q <= '0;
      answered_q <= '0;
      fault_q <= '0;
    end else begin
      if (pulse_i) begin
        fresh_q <= '0;
      end else begin
        if (alloc_i) fresh_q[alloc_q] <= 1'b1;
        if (ask_i) fresh_q[ask_slot_i] <= 1'b1;
      end
      if (leave || (again_o && again_ready_i)) decided_q[head_q] <= 1'b0;
      if (answer_i) begin
        decided_q[answer_slot_i] <= 1'b1;
        answered_q[answer_slot_i] <= 1'b1;
        fault_q[answer_slot_i] <= answer_fault_i;
      end
      if (alloc_i) begin
        decided_q[alloc_q] <= alloc_decided_i;
        answered_q[alloc_q] <= 1'b0;
        fault_q[alloc_q] <= alloc_fault_i;
      end
    end
  end

  typedef struct packed {
    slot_t             slot;
    gw_pkg::slot_end_e how;
  } leaving_t;
  leaving_t ready;
  gw_slice #(
    .T(leaving_t)
  ) u_queue (
    .clk_i,
    .rst_ni,
    .in_valid_i (leave),
    .in_ready_o (queue_room),
    .in_data_i  ('{slot: head_q, how: gw_pkg::slot_end_e'({answered_q[head_q], fault_q[head_q]})}),
    .out_valid_o(ready_valid_o),
    .out_ready_i(pop_i),
    .cancel_i   (1'b0),
    .out_cancel_o(),
    .out_data_o (ready)
  );
  assign ready_slot_o = ready.slot;
  assign ready_end_o = ready.how;
  // A head that is decided leaves, but then nobody else wants to: hits wait behind it, and no answer is the head's.
  assign leaving_o = ready_valid_o;

  `GW_INVARIANT(AllocFree_A, !alloc_i || avail_o)
  `GW_INVARIANT(AnswerWaits_A, !answer_i || !decided_q[answer_slot_i])
  `GW_INVARIANT(DirectHead_A, !answer_direct_i || (answer_i && answer_head_o && !answer_fault_i && !leaving_o))
  `GW_INVARIANT(PopValid_A, ready_valid_o || !pop_i)
  `GW_INVARIANT(ParkWaits_A, !park_i || (!answer_i && held_q[answer_slot_i] && !decided_q[answer_slot_i]))
  `GW_INVARIANT(OldHasFrame_A, (old_q & idle_q) == '0)
  `GW_COVER(Turned_C, turned != '0)
  `GW_COVER(QueueFull_C, waiting_q && !queue_room)

endmodule
