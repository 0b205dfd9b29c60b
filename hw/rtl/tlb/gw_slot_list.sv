// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The waiting slots of a read channel: which are free, which wait for what, which leave next.
//
// Slots of one key (AXI ID) form a linked list in the order of their allocation. Only its head may
// leave: when it is decided (its translation or its fault is known) it goes to the queue of those
// that leave, and its successor is looked at: one *step* a cycle. A slot in that queue is out of its
// list, so order within a key is kept as long as nothing of the key passes the queue.
//
// Contract
// - alloc_i takes `alloc_slot_o` in this cycle; only while `avail_o`. alloc_decided_i: nothing is to be
//   waited for but the slots before it.
// - answer_i decides a slot. `answer_head_o` tells in the same cycle that nothing is before `direct_slot_i`; with
//   answer_direct_i the caller sends that one, which is the answer's, on at once, past the queue, and the slot is freed here.
// - ready_*: a slot leaves, with what it ends with. pop_i takes it. free_i, in the same cycle, frees
//   it; a fault that is not freed keeps its list from going on until resume_i, which frees it.
// - A list of decided slots leaves at one a cycle. A decided slot that is first is at the queue's output
//   three cycles later, its successor one more, if no others are.
// - leaving_o: something leaves, or will in the next cycle. waiting_o: slots of `key_i` are before the queue.
// - park_i: the slot `answer_slot_i` waits without a translation until ask_i says that it is looked up again.
// - flip_i: slots that have not left are old, as is one taken with alloc_old_i: `ready_old_o`, `answer_old_o`, and old_o while any is left.
//   Those without a translation are not: parked and faulted ones. While `parked_i` (some slot of the channel is parked, and may be
//   for ever) an old one that waits behind others loses its translation: when it is its turn it comes out at again_*, and is looked
//   up once more. It may be so no second time.
// - pulse_i: answers to lookups that began up to this cycle are not fresh.
// - Outputs depend on registers only; waiting_o on key_i, answer_* on direct_slot_i.
`include "gw_assert.svh"

module gw_slot_list #(
  /// Slots, 2 to 256.
  parameter int unsigned Slots = 64,
  /// Bits of a key; one list a key.
  parameter int unsigned KeyWidth = 4,
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
  input  logic [KeyWidth-1:0]  key_i,
  output logic                 waiting_o,
  /// Answers.
  input  logic                 answer_i,
  input  logic                 answer_fault_i,
  input  logic [SlotWidth-1:0] answer_slot_i,
  /// A slot that could be the answer's, known sooner; answer_*_o are of it.
  input  logic [SlotWidth-1:0] direct_slot_i,
  output logic                 answer_head_o,
  output logic                 answer_fresh_o,
  output logic                 answer_old_o,
  input  logic                 answer_direct_i,
  /// Parking: the slot of the answer; a slot that is looked up again; one whose turn it is to be.
  input  logic                 park_i,
  input  logic                 ask_i,
  input  logic [SlotWidth-1:0] ask_slot_i,
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
  input  logic                 free_i,
  /// The end of a fault; at most every second cycle.
  input  logic                 resume_i,
  input  logic [SlotWidth-1:0] resume_slot_i,
  /// Invalidation.
  input  logic flip_i,
  input  logic pulse_i,
  output logic old_o
);

  if (Slots < 2 || Slots > 256) begin : gen_bad_slots
    $fatal(1, "gw_slot_list: Slots must be 2 to 256");
  end

  typedef logic [SlotWidth-1:0] slot_t;
  localparam int unsigned Keys = 1 << KeyWidth;
  // Slots that are next in their list, at most.
  localparam int unsigned Heads = (Keys < Slots) ? Keys : Slots;

  // What a step does: the slot leaves, or it has left (or its error is answered) and is only freed; then
  // the list goes on.
  typedef struct packed {
    slot_t             slot;
    logic              gone;
    logic              idle;  // is looked up again instead
    gw_pkg::slot_end_e how;
  } step_t;

  function automatic logic is_fault(gw_pkg::slot_end_e how);
    return how == gw_pkg::EndRefused || how == gw_pkg::EndFaulted;
  endfunction

  // live_q: has a translation, or is looked up; a slot that is not, and did not fault, is looked up again before it leaves: parked, or
  // decided once.
  logic [Slots-1:0] old_q, old_d, fresh_q, head_q, decided_q, linked_q, live_q, live_d, turned;
  logic [Keys-1:0] waiting_q;
  slot_t next_mem[Slots];                  // successor of a slot, if linked_q
  slot_t tail_mem[Keys];                   // youngest slot of a key, if waiting_q
  logic [KeyWidth-1:0] key_mem[Slots];

  // What a slot ends with, in LUT RAM: one is written where it is taken, the other where it is answered, so each has one writer.
  // Whether the answer is of this time is told by whether they differ.
  typedef struct packed {
    logic turn;
    logic fault;
  } end_t;
  end_t alloc_mem[Slots], answer_mem[Slots];

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // Free slots: those never used yet, then those given back. One is taken out ahead.
  //////////////////////////////////////////////////////////////////////////////////////////////////
  logic [SlotWidth:0] fresh_slot_q;
  logic fresh_left, free_valid, free_ready, next_valid_q, load_next, freed;
  slot_t free_slot, next_slot_q, freed_slot;
  assign fresh_left = fresh_slot_q != (SlotWidth + 1)'(Slots);
  assign load_next = !next_valid_q || alloc_i;
  assign avail_o = next_valid_q;
  assign alloc_slot_o = next_slot_q;

  gw_fifo #(
    .T    (slot_t),
    .Depth(Slots)
  ) u_free (
    .clk_i,
    .rst_ni,
    .in_valid_i (freed),
    .in_ready_o (free_ready),
    .in_data_i  (freed_slot),
    .out_valid_o(free_valid),
    .out_ready_i(load_next && !fresh_left),
    .out_data_o (free_slot),
    .usage_o    ()
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fresh_slot_q <= '0;
      next_valid_q <= 1'b0;
    end else if (load_next) begin
      fresh_slot_q <= fresh_slot_q + (SlotWidth + 1)'(fresh_left);
      next_valid_q <= fresh_left || free_valid;
    end
  end
  always_ff @(posedge clk_i) begin
    if (load_next) next_slot_q <= fresh_left ? slot_t'(fresh_slot_q) : free_slot;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // The step, and what waits for one: answers to heads, decided slots that are first, successors, and
  // the end of a fault. At most one for each list.
  //////////////////////////////////////////////////////////////////////////////////////////////////
  step_t step_q, step_d, successor_step, answer_step, alloc_step, resume_step, late_q;
  step_t [2:0] wait_step;
  logic [2:0] wait_put, wait_room, wait_valid, wait_take, pick;
  step_t [2:0] wait_in;
  logic step_valid_q, step_valid_d, step_go, leave, goes_on, resume_valid, resume_room, others, passes, late_valid_q, queue_room;
  logic [1:0] turn_q;
  slot_t successor;
  logic linked, successor_decided, successor_leaves, closing, first, link;
  slot_t tail;

  assign leave = step_valid_q && !step_q.gone && queue_room && !step_q.idle;
  assign again_o = step_valid_q && !step_q.gone && step_q.idle;
  assign again_slot_o = step_q.slot;
  // Two cannot be freed at once.
  assign step_go = leave || (again_o && again_ready_i) || (step_valid_q && step_q.gone && !free_i);
  assign goes_on = step_go && (step_q.gone || (!is_fault(step_q.how) && !step_q.idle));
  assign freed = free_i || (step_go && step_q.gone);
  assign freed_slot = free_i ? ready_slot_o : step_q.slot;

  logic answers_successor, successor_answered, successor_fault;
  end_t successor_alloc, successor_answer;
  assign successor = next_mem[step_q.slot];
  assign linked = linked_q[step_q.slot];
  // Whoever is first leaves by itself.
  assign turned = parked_i ? old_q & decided_q & ~head_q : '0;
  assign successor_alloc = alloc_mem[successor];
  assign successor_answer = answer_mem[successor];
  assign successor_answered = successor_alloc.turn != successor_answer.turn;
  assign successor_fault = successor_answered ? successor_answer.fault : successor_alloc.fault;
  assign answers_successor = answer_i && answer_slot_i == successor;
  assign successor_decided = decided_q[successor] || answers_successor;
  assign successor_leaves = goes_on && linked && successor_decided;

  always_comb begin
    successor_step = '{
      slot: successor,
      gone: 1'b0,
      idle: !successor_fault && (!live_q[successor] || (parked_i && old_q[successor])),
      how: gw_pkg::slot_end_e'({successor_answered, successor_fault})
    };
    if (answers_successor) begin
      successor_step.idle = 1'b0;
      successor_step.how = answer_fault_i ? gw_pkg::EndFaulted : gw_pkg::EndAnswered;
    end
    answer_step = '{
      slot: answer_slot_i,
      gone: answer_direct_i,
      idle: 1'b0,
      how: answer_fault_i ? gw_pkg::EndFaulted : gw_pkg::EndAnswered
    };
    alloc_step = '{
      slot: next_slot_q,
      gone: 1'b0,
      idle: 1'b0,
      how: alloc_fault_i ? gw_pkg::EndRefused : gw_pkg::EndTranslated
    };
  end

  logic answers_head;
  assign answer_head_o = head_q[direct_slot_i];
  assign answers_head = answer_i && head_q[answer_slot_i];
  assign wait_put = {late_valid_q, alloc_i && alloc_decided_i && first, answers_head && !passes};
  // Nobody else wants a step.
  assign passes = answers_head && !step_valid_q && !others;
  assign wait_in = {late_q, alloc_step, answer_step};
  for (genvar i = 0; i < 3; i++) begin : gen_wait
    gw_fifo #(
      .T    (step_t),
      .Depth(Heads)
    ) u_wait (
      .clk_i,
      .rst_ni,
      .in_valid_i (wait_put[i]),
      .in_ready_o (wait_room[i]),
      .in_data_i  (wait_in[i]),
      .out_valid_o(wait_valid[i]),
      .out_ready_i(wait_take[i]),
      .out_data_o (wait_step[i]),
      .usage_o    ()
    );
  end

  // Ends of faults, one a list at most: errors end while a step waits for the memory side.
  slot_t resume_slot;
  gw_fifo #(
    .T    (slot_t),
    .Depth(Heads)
  ) u_resumes (
    .clk_i,
    .rst_ni,
    .in_valid_i (resume_i),
    .in_ready_o (resume_room),
    .in_data_i  (resume_slot_i),
    .out_valid_o(resume_valid),
    .out_ready_i(!step_valid_q || step_go),
    .out_data_o (resume_slot),
    .usage_o    ()
  );
  assign resume_step = '{slot: resume_slot, gone: 1'b1, idle: 1'b0, how: gw_pkg::EndFaulted};

  // In turn; a resumed list first, which comes at most every second cycle.
  assign others = resume_valid || |wait_valid;
  always_comb begin
    pick = '0;
    unique case (turn_q)
      2'd0: pick = wait_valid[0] ? 3'b001 : wait_valid[1] ? 3'b010 : 3'b100;
      2'd1: pick = wait_valid[1] ? 3'b010 : wait_valid[2] ? 3'b100 : 3'b001;
      default: pick = wait_valid[2] ? 3'b100 : wait_valid[0] ? 3'b001 : 3'b010;
    endcase
    step_d = successor_step;
    for (int unsigned i = 0; i < 3; i++) if (others && pick[i]) step_d = wait_step[i];
    if (resume_valid) step_d = resume_step;
    if (passes) step_d = answer_step;
    step_valid_d = others || successor_leaves || passes;
  end
  assign wait_take = (!step_valid_q || step_go) && !resume_valid ? pick & wait_valid : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      step_valid_q <= 1'b0;
      late_valid_q <= 1'b0;
      turn_q <= '0;
    end else begin
      if (!step_valid_q || step_go) begin
        step_valid_q <= step_valid_d;
        turn_q <= (turn_q == 2'd2) ? '0 : turn_q + 1'b1;
      end
      late_valid_q <= successor_leaves && others;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!step_valid_q || step_go) step_q <= step_d;
    late_q <= successor_step;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // Lists.
  //////////////////////////////////////////////////////////////////////////////////////////////////
  assign tail = tail_mem[key_i];
  assign waiting_o = waiting_q[key_i];
  assign closing = goes_on && tail == step_q.slot;
  assign first = !waiting_o || closing;
  // A list that closes in this cycle is not asked any more whether its last slot is linked.
  assign link = alloc_i && waiting_o;

  always_ff @(posedge clk_i) begin
    if (link) next_mem[tail] <= next_slot_q;
  end
  always_ff @(posedge clk_i) begin
    if (alloc_i) tail_mem[key_i] <= next_slot_q;
  end
  always_ff @(posedge clk_i) begin
    if (alloc_i) key_mem[next_slot_q] <= key_i;
  end

  always_ff @(posedge clk_i) begin
    if (alloc_i) alloc_mem[next_slot_q] <= '{turn: answer_mem[next_slot_q].turn, fault: alloc_fault_i};
  end
  always_ff @(posedge clk_i) begin
    if (answer_i) answer_mem[answer_slot_i] <= '{turn: !alloc_mem[answer_slot_i].turn, fault: answer_fault_i};
  end

  always_comb begin
    live_d = live_q & ~turned;
    old_d = (flip_i ? live_q : old_q) & ~turned;
    if (pop_i) {live_d[ready_slot_o], old_d[ready_slot_o]} = '0;
    if (answer_direct_i || park_i || (answer_i && answer_fault_i)) {live_d[answer_slot_i], old_d[answer_slot_i]} = '0;
    if (ask_i) live_d[ask_slot_i] = 1'b1;
    if (alloc_i) begin
      live_d[next_slot_q] = !alloc_fault_i;
      old_d[next_slot_q] = (flip_i || alloc_old_i) && !alloc_fault_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      old_q <= '0;
      live_q <= '0;
      waiting_q <= '0;
    end else begin
      old_q <= old_d;
      live_q <= live_d;
      if (goes_on && !linked) waiting_q[key_mem[step_q.slot]] <= 1'b0;
      if (alloc_i) waiting_q[key_i] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fresh_q <= '0;
      head_q <= '0;
      decided_q <= '0;
      linked_q <= '0;
    end else begin
      if (pulse_i) begin
        fresh_q <= '0;
      end else begin
        if (alloc_i) fresh_q[next_slot_q] <= 1'b1;
        if (ask_i) fresh_q[ask_slot_i] <= 1'b1;
      end
      if (goes_on && linked) head_q[successor] <= 1'b1;
      if (leave || (again_o && again_ready_i)) decided_q[step_q.slot] <= 1'b0;
      if (again_o && again_ready_i) head_q[step_q.slot] <= 1'b1;
      if (answer_i) decided_q[answer_slot_i] <= 1'b1;
      if (link) linked_q[tail] <= 1'b1;
      if (alloc_i) begin
        head_q[next_slot_q] <= first;
        decided_q[next_slot_q] <= alloc_decided_i;
        linked_q[next_slot_q] <= 1'b0;
      end
    end
  end

  assign answer_fresh_o = fresh_q[direct_slot_i];
  assign answer_old_o = old_q[direct_slot_i];
  assign ready_old_o = old_q[ready_slot_o];
  assign old_o = |old_q;

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // Those that leave.
  //////////////////////////////////////////////////////////////////////////////////////////////////
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
    .in_data_i  ('{slot: step_q.slot, how: step_q.how}),
    .out_valid_o(ready_valid_o),
    .out_ready_i(pop_i),
    .cancel_i   (1'b0),
    .out_cancel_o(),
    .out_data_o (ready)
  );
  assign ready_slot_o = ready.slot;
  assign ready_end_o = ready.how;
  assign leaving_o = ready_valid_o || (step_valid_q && !step_q.gone);

  `GW_INVARIANT(FreeRoom_A, free_ready || !freed)
  `GW_INVARIANT(WaitRoom_A, (wait_put & ~wait_room) == '0)
  `GW_INVARIANT(AllocFree_A, !alloc_i || (avail_o && !live_q[next_slot_q]))
  `GW_INVARIANT(AnswerWaits_A, !answer_i || !decided_q[answer_slot_i])
  `GW_INVARIANT(DirectHead_A, !answer_direct_i || (answer_i && answer_head_o && !answer_fault_i && !leaving_o))
  `GW_INVARIANT(DirectSlot_A, !answer_direct_i || answer_slot_i == direct_slot_i)
  `GW_INVARIANT(PopValid_A, (ready_valid_o || !pop_i) && (pop_i || !free_i))
  `GW_INVARIANT(ResumeRoom_A, resume_room || !resume_i)
  `GW_COVER(ResumesWait_C, resume_i && resume_valid && step_valid_q && !step_go)
  `GW_INVARIANT(ParkWaits_A, !park_i || (!answer_i && live_q[answer_slot_i] && !decided_q[answer_slot_i]))
  `GW_INVARIANT(OldHasFrame_A, (old_q & ~live_q) == '0)
  `GW_COVER(Turned_C, turned != '0)
  `GW_COVER(AllocClosing_C, alloc_i && waiting_o && closing)
  `GW_COVER(AnswerOfSuccessor_C, goes_on && linked && answers_successor)
  `GW_COVER(SuccessorWaits_C, wait_put[2])
  `GW_COVER(QueueFull_C, step_valid_q && !step_q.gone && !queue_room)

endmodule
