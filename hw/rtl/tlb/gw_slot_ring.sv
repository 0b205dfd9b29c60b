// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The waiting slots of a write channel, which leave in the order of their allocation: a ring.
//
// Contract: as gw_slot_list with one key. A decided slot that is first is at the queue's output two cycles later. A fault never holds up
// those behind it; every slot is free when it is popped.
//
// What is old are the first so many that are popped, and what has lost its translation are the first so many that wait, so both are numbers
// and no flags of slots.
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
  output logic                 waiting_o,
  /// Answers.
  input  logic                 answer_i,
  input  logic                 answer_fault_i,
  input  logic                 answer_old_i,
  input  logic [SlotWidth-1:0] answer_slot_i,
  /// A slot that could be the answer's, known sooner; answer_head_o is of it.
  input  logic [SlotWidth-1:0] direct_slot_i,
  output logic                 answer_head_o,
  input  logic                 answer_direct_i,
  /// Parking.
  input  logic                 parked_i,
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
  output logic old_o
);

  if (Slots < 2 || Slots > 256) begin : gen_bad_slots
    $fatal(1, "gw_slot_ring: Slots must be 2 to 256");
  end

  typedef logic [SlotWidth-1:0] slot_t;
  typedef logic [SlotWidth:0] count_t;

  function automatic slot_t advance(slot_t slot);
    return (Slots != 1 << SlotWidth && slot == slot_t'(Slots - 1)) ? '0 : slot + 1'b1;
  endfunction

  // alloc_q: the next to be taken; head_q: the first that has not left for the queue.
  slot_t alloc_q, head_q;
  logic waiting_q, leave, queue_room, left;
  count_t count_q, count_d, waits_q, waits_d;

  // What a slot ends with, in LUT RAM: one is written where it is taken, the other where it is answered, so each has one writer.
  // Whether the answer is of this time is told by whether they differ.
  typedef struct packed {
    logic decided;
    logic turn;
    logic fault;
  } alloc_t;
  typedef struct packed {
    logic turn;
    logic fault;
  } end_t;
  alloc_t alloc_mem[Slots];
  end_t answer_mem[Slots];
  always_ff @(posedge clk_i) begin
    if (alloc_i) alloc_mem[alloc_q] <= '{decided: alloc_decided_i, turn: answer_mem[alloc_q].turn, fault: alloc_fault_i};
  end
  always_ff @(posedge clk_i) begin
    if (answer_i) answer_mem[answer_slot_i] <= '{turn: !alloc_mem[answer_slot_i].turn, fault: answer_fault_i};
  end
  assign avail_o = count_q != count_t'(Slots);
  assign alloc_slot_o = alloc_q;
  assign waiting_o = waiting_q;
  assign answer_head_o = direct_slot_i == head_q;

  // The head's state, maintained beside it: that of the slot behind it is read ahead, with what happens to it in the cycle.
  typedef struct packed {
    logic decided;
    logic given;  // its translation is given up: it is looked up again
    logic answered;
    logic fault;
  } state_t;
  slot_t next;
  state_t head_state_q, next_state;
  alloc_t next_alloc;
  end_t next_answer;
  count_t old_q, given_q, given;
  logic give, head_decided, head_idle;
  assign next = advance(head_q);
  assign next_alloc = alloc_mem[next];
  assign next_answer = answer_mem[next];
  always_comb begin
    next_state.answered = next_alloc.turn != next_answer.turn;
    next_state.decided = next_alloc.decided || next_state.answered;
    next_state.given = next_state.decided && given > count_t'(1);
    next_state.fault = next_state.answered ? next_answer.fault : next_alloc.fault;
  end

  // A slot's state after this cycle.
  function automatic state_t after(state_t state, logic mine_answer, logic mine_alloc);
    state_t result;
    result = state;
    if (mine_answer) result = '{decided: 1'b1, given: state.given, answered: 1'b1, fault: answer_fault_i};
    if (mine_alloc) result = '{decided: alloc_decided_i, given: 1'b0, answered: 1'b0, fault: alloc_fault_i};
    return result;
  endfunction
  logic answers_head, answers_next;
  state_t head_now, next_now, head_after, next_after;
  assign answers_head = answer_i && answer_slot_i == head_q;
  assign answers_next = answer_i && answer_slot_i == next;
  always_comb begin
    head_now = head_state_q;
    if (again_o && again_ready_i) {head_now.decided, head_now.given} = '0;
    head_after = after(head_now, answers_head, alloc_i && alloc_q == head_q);
    next_now = next_state;
    if (answers_next) next_now.given = given > count_t'(1);
    next_after = after(next_now, answers_next, alloc_i && alloc_q == next);
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) head_state_q <= '0;
    else head_state_q <= left ? next_after : head_after;
  end

  assign head_decided = waiting_q && head_state_q.decided;
  assign head_idle = head_state_q.given && !head_state_q.fault;
  assign leave = head_decided && !head_idle && queue_room;
  assign again_o = head_decided && head_idle;
  assign again_slot_o = head_q;
  assign left = leave || answer_direct_i;
  assign waits_d = waits_q + count_t'(alloc_i) - count_t'(left);
  assign count_d = count_q + count_t'(alloc_i) - count_t'(pop_i || answer_direct_i);

  // Something is parked and the head is not decided: old ones behind it may wait for ever, and give up what they have, or are answered. So
  // do those behind others that are looked up again one by one. The
  // head itself does not: if it is answered for a lookup that is old by then, it is old until it has left.
  logic head_old;
  assign give = (parked_i || given_q > count_t'(1)) && waiting_q && !head_state_q.decided && count_q == waits_q && old_q != '0;
  assign head_old = answers_head && !answer_fault_i && answer_old_i && (give || old_q == '0);
  assign given = give ? old_q : given_q;
  assign ready_old_o = old_q != '0;
  assign old_o = old_q != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      alloc_q <= '0;
      head_q <= '0;
      count_q <= '0;
      waits_q <= '0;
      waiting_q <= 1'b0;
      old_q <= '0;
      given_q <= '0;
    end else begin
      if (alloc_i) alloc_q <= advance(alloc_q);
      if (left) head_q <= next;
      count_q <= count_d;
      waits_q <= waits_d;
      waiting_q <= waits_d != '0;
      if (flip_i) old_q <= count_d;
      else if (head_old && !answer_direct_i) old_q <= count_q - waits_q + count_t'(!pop_i);
      else if (give) old_q <= '0;
      else if ((pop_i || answer_direct_i) && old_q != '0) old_q <= old_q - 1'b1;
      given_q <= given - count_t'(left && given != '0);
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
    .in_data_i  ('{slot: head_q, how: gw_pkg::slot_end_e'({head_state_q.answered, head_state_q.fault})}),
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
  `GW_INVARIANT(AnswerWaits_A, !answer_i || answer_slot_i != head_q || !head_decided)
  `GW_INVARIANT(DirectHead_A, !answer_direct_i || (answer_i && answer_head_o && !answer_fault_i && !leaving_o))
  `GW_INVARIANT(DirectSlot_A, !answer_direct_i || answer_slot_i == direct_slot_i)
  `GW_INVARIANT(PopValid_A, ready_valid_o || !pop_i)
  `GW_INVARIANT(OldAreThere_A, old_q <= count_q && given_q <= waits_q)
  `GW_COVER(Given_C, give)
  `GW_COVER(QueueFull_C, waiting_q && !queue_room)

endmodule
