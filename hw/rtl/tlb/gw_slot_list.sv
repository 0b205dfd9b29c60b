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
// - flip_i: translations of slots that have not left are old: `ready_old_o`, and old_o while any is left but those that are looked up and
//   lack an answer, which gw_lookups counts (answer_epoch_i is of the lookup). It comes when neither has any left. Old as what they are behind are
//   parked and faulted ones that wait for others. While `parked_i` (some slot of the channel is parked, and may be
//   for ever) what waits behind others loses its translation: when it is its turn it comes out at again_*, and is looked
//   up once more. It may be so no second time.
// - Outputs depend on registers only; waiting_o on key_i, answer_head_o on direct_slot_i.
//
// Of what is old, or given up, only numbers are kept: of slots behind others, of those that leave, and up to which one of its list it is.
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
  input  logic [KeyWidth-1:0]  key_i,
  output logic                 waiting_o,
  /// Answers.
  input  logic                 answer_i,
  input  logic                 answer_fault_i,
  input  logic [SlotWidth-1:0] answer_slot_i,
  input  logic                 answer_epoch_i,
  /// A slot that could be the answer's, known sooner; answer_head_o is of it.
  input  logic [SlotWidth-1:0] direct_slot_i,
  output logic                 answer_head_o,
  input  logic                 answer_direct_i,
  /// Parking: something is parked; a slot whose turn it is to be looked up again.
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
  input  logic [KeyWidth-1:0]  resume_key_i,
  /// Invalidation: the epoch, its turn, and that of a translation which begins in this cycle.
  input  logic epoch_i,
  input  logic flip_i,
  input  logic stamp_i,
  output logic old_o
);

  if (Slots < 2 || Slots > 256) begin : gen_bad_slots
    $fatal(1, "gw_slot_list: Slots must be 2 to 256");
  end

  typedef logic [SlotWidth-1:0] slot_t;
  typedef logic [KeyWidth-1:0] key_t;
  typedef logic [SlotWidth:0] count_t;
  localparam int unsigned Keys = 1 << KeyWidth;
  // Slots that are next in their list, at most.
  localparam int unsigned Heads = (Keys < Slots) ? Keys : Slots;

  // What a step does: the slot leaves, or it has left (or its error is answered) and is only freed; then
  // the list goes on.
  typedef struct packed {
    slot_t             slot;
    key_t              key;
    logic              gone;
    logic              idle;   // is looked up again instead
    logic              epoch;  // of its translation
    gw_pkg::slot_end_e how;
  } step_t;

  typedef struct packed {
    slot_t             slot;
    logic              epoch;
    gw_pkg::slot_end_e how;
  } leaving_t;
  leaving_t ready;
  function automatic logic is_fault(gw_pkg::slot_end_e how);
    return how == gw_pkg::EndRefused || how == gw_pkg::EndFaulted;
  endfunction

  slot_t next_mem[Slots];  // successor of a slot that is not the youngest of its key
  slot_t tail_mem[Keys];   // youngest slot of a key, if waiting_q
  key_t key_mem[Slots];
  logic [Keys-1:0] waiting_q;

  // What is known of a slot, in LUT RAM: one is written where it is taken, one where it is answered, one where it comes to be first, so each
  // has one writer. Whether the answer is of this time, and whether it is first, is told by whether two differ.
  typedef struct packed {
    logic head;
    logic decided;
    logic turn;
    logic fault;
    logic epoch;
  } alloc_t;
  typedef struct packed {
    logic turn;
    logic fault;
    logic epoch;
  } end_t;
  alloc_t alloc_mem[Slots];
  end_t answer_mem[Slots];
  logic head_mem[Slots];

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
  slot_t successor;  // of step_q, read with it
  logic linked, heads, successor_decided, successor_leaves, closing, first, link;
  slot_t tail;

  assign leave = step_valid_q && !step_q.gone && queue_room && !step_q.idle;
  assign again_o = step_valid_q && !step_q.gone && step_q.idle;
  assign again_slot_o = step_q.slot;
  // Two cannot be freed at once.
  assign step_go = leave || (again_o && again_ready_i) || (step_valid_q && step_q.gone && !free_i);
  assign goes_on = step_go && (step_q.gone || (!is_fault(step_q.how) && !step_q.idle));
  assign freed = free_i || (step_go && step_q.gone);
  assign freed_slot = free_i ? ready_slot_o : step_q.slot;

  logic answers_successor, successor_answered, successor_fault, successor_given;
  alloc_t successor_alloc;
  end_t successor_answer;
  assign linked = tail_mem[step_q.key] != step_q.slot;
  assign successor_alloc = alloc_mem[successor];
  assign successor_answer = answer_mem[successor];
  assign successor_answered = successor_alloc.turn != successor_answer.turn;
  assign successor_fault = successor_answered ? successor_answer.fault : successor_alloc.fault;
  assign answers_successor = answer_i && answer_slot_i == successor;
  assign successor_decided = successor_alloc.decided || successor_answered || answers_successor;
  assign heads = goes_on && linked;
  assign successor_leaves = heads && successor_decided;

  always_comb begin
    successor_step = '{
      slot: successor,
      key: step_q.key,
      gone: 1'b0,
      idle: successor_given && !successor_fault,
      epoch: successor_answered ? successor_answer.epoch : successor_alloc.epoch,
      how: gw_pkg::slot_end_e'({successor_answered, successor_fault})
    };
    if (answers_successor) begin
      successor_step.idle = successor_given && !answer_fault_i;
      successor_step.epoch = answer_epoch_i;
      successor_step.how = answer_fault_i ? gw_pkg::EndFaulted : gw_pkg::EndAnswered;
    end
    answer_step = '{
      slot: answer_slot_i,
      key: key_mem[answer_slot_i],
      gone: answer_direct_i,
      idle: 1'b0,
      epoch: answer_epoch_i,
      how: answer_fault_i ? gw_pkg::EndFaulted : gw_pkg::EndAnswered
    };
    alloc_step = '{
      slot: next_slot_q,
      key: key_i,
      gone: 1'b0,
      idle: 1'b0,
      epoch: stamp_i,
      how: alloc_fault_i ? gw_pkg::EndRefused : gw_pkg::EndTranslated
    };
  end

  logic answers_head, answer_turn;
  assign answer_head_o = alloc_mem[direct_slot_i].head != head_mem[direct_slot_i];
  assign answers_head = answer_i && alloc_mem[answer_slot_i].head != head_mem[answer_slot_i];
  assign answer_turn = !alloc_mem[answer_slot_i].turn;
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
  typedef struct packed {
    slot_t slot;
    key_t  key;
  } resume_t;
  resume_t resume;
  gw_fifo #(
    .T    (resume_t),
    .Depth(Heads)
  ) u_resumes (
    .clk_i,
    .rst_ni,
    .in_valid_i (resume_i),
    .in_ready_o (resume_room),
    .in_data_i  ('{slot: resume_slot_i, key: resume_key_i}),
    .out_valid_o(resume_valid),
    .out_ready_i(!step_valid_q || step_go),
    .out_data_o (resume),
    .usage_o    ()
  );
  assign resume_step = '{slot: resume.slot, key: resume.key, gone: 1'b1, idle: 1'b0, epoch: 1'b0, how: gw_pkg::EndFaulted};

  // In turn; a resumed list first, which comes at most every second cycle.
  assign others = resume_valid || |wait_valid;
  always_comb begin
    pick = '0;
    unique case (turn_q)
      2'd0: pick = wait_valid[0] ? 3'b001 : wait_valid[1] ? 3'b010 : 3'b100;
      2'd1: pick = wait_valid[1] ? 3'b010 : wait_valid[2] ? 3'b100 : 3'b001;
      default: pick = wait_valid[2] ? 3'b100 : wait_valid[0] ? 3'b001 : 3'b010;
    endcase
    // Chosen by what is known early: an answer passes only if there is no step.
    step_d = step_valid_q ? successor_step : answer_step;
    for (int unsigned i = 0; i < 3; i++) if (others && pick[i]) step_d = wait_step[i];
    if (resume_valid) step_d = resume_step;
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
    if (!step_valid_q || step_go) begin
      step_q <= step_d;
      successor <= (link && tail == step_d.slot) ? next_slot_q : next_mem[step_d.slot];
    end else if (link && tail == step_q.slot) begin
      successor <= next_slot_q;
    end
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
    if (alloc_i) begin
      alloc_mem[next_slot_q] <= '{
        head: head_mem[next_slot_q] ^ first,
        decided: alloc_decided_i,
        turn: answer_mem[next_slot_q].turn,
        fault: alloc_fault_i,
        epoch: stamp_i
      };
    end
  end
  always_ff @(posedge clk_i) begin
    if (answer_i) answer_mem[answer_slot_i] <= '{turn: answer_turn, fault: answer_fault_i, epoch: answer_epoch_i};
  end
  always_ff @(posedge clk_i) begin
    if (heads) head_mem[successor] <= !successor_alloc.head;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // Old ones, and those that have lost their translation.
  //////////////////////////////////////////////////////////////////////////////////////////////////
  // Behind others and not given up; and first, with a translation, until they have left. An old one behind others is told by when it was taken: of those that were
  // taken in epochs before all are given up.
  count_t behind_q, behind_d, behind_old_q, leaving_q, leaving_d, leaving_old_q;
  logic give, passes_last;
  logic [Keys-1:0] given_q, given_d, given_all_q, given_all_d;
  slot_t last_mem[Keys];  // the last slot of a key that is given up, if given_q and not given_all_q
  logic step_given;
  assign step_given = given_q[step_q.key];
  assign passes_last = !given_all_q[step_q.key] && last_mem[step_q.key] == step_q.slot;
  assign successor_given = step_given && !passes_last;
  assign give = parked_i && behind_old_q != '0;

  always_ff @(posedge clk_i) begin
    if (link && given_all_q[key_i]) last_mem[key_i] <= tail;
  end
  always_comb begin
    given_d = given_q;
    given_all_d = given_all_q;
    if (heads && passes_last) given_d[step_q.key] = 1'b0;
    if (link) given_all_d[key_i] = 1'b0;
    if (give) begin
      given_d = given_d | waiting_q;
      given_all_d = given_all_d | waiting_q;
    end
    if (goes_on && !linked) given_d[step_q.key] = 1'b0;
  end

  // What changes the numbers is known late in its cycle, and counted in the next.
  typedef struct packed {
    logic valid;
    logic epoch;
  } event_t;
  event_t answered_q, taken_q, followed_q, popped_q;
  event_t linked_q, headed_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {answered_q, taken_q, followed_q, popped_q} <= '0;
      {linked_q, headed_q} <= '0;
    end else begin
      answered_q <= '{valid: answers_head && !answer_direct_i && !answer_fault_i, epoch: answer_epoch_i};
      taken_q <= '{valid: alloc_i && alloc_decided_i && !alloc_fault_i && first, epoch: stamp_i};
      followed_q <= '{valid: successor_leaves && !successor_step.idle && !is_fault(successor_step.how), epoch: successor_step.epoch};
      popped_q <= '{valid: pop_i && !is_fault(ready_end_o), epoch: ready.epoch};
      // What is given up in this cycle is not counted at all.
      linked_q <= '{valid: alloc_i && !first && !give, epoch: stamp_i};
      headed_q <= '{valid: heads && !successor_given && !give, epoch: successor_alloc.epoch};
    end
  end
  // By the epoch before a turn: in its cycle nothing is old yet.
  function automatic logic old(event_t what);
    return what.valid && what.epoch != stamp_i;
  endfunction

  assign behind_d = give ? '0 : behind_q + count_t'(linked_q.valid) - count_t'(headed_q.valid);
  assign leaving_d = leaving_q + count_t'(answered_q.valid) + count_t'(taken_q.valid) + count_t'(followed_q.valid) -
                     count_t'(popped_q.valid);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waiting_q <= '0;
      given_q <= '0;
      given_all_q <= '0;
      behind_q <= '0;
      behind_old_q <= '0;
      leaving_q <= '0;
      leaving_old_q <= '0;
    end else begin
      if (goes_on && !linked) waiting_q[step_q.key] <= 1'b0;
      if (alloc_i) waiting_q[key_i] <= 1'b1;
      given_q <= given_d;
      given_all_q <= given_all_d;
      behind_q <= behind_d;
      leaving_q <= leaving_d;
      if (flip_i) begin
        behind_old_q <= behind_d;
        leaving_old_q <= leaving_d;
      end else begin
        behind_old_q <= give ? '0 : behind_old_q + count_t'(old(linked_q)) - count_t'(old(headed_q));
        leaving_old_q <= leaving_old_q + count_t'(old(answered_q)) + count_t'(old(taken_q)) + count_t'(old(followed_q)) -
                         count_t'(old(popped_q));
      end
    end
  end
  assign old_o = behind_old_q != '0 || leaving_old_q != '0 || old(linked_q) || old(answered_q) || old(taken_q) || old(followed_q);

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // Those that leave.
  //////////////////////////////////////////////////////////////////////////////////////////////////
  gw_slice #(
    .T(leaving_t)
  ) u_queue (
    .clk_i,
    .rst_ni,
    .in_valid_i (leave),
    .in_ready_o (queue_room),
    .in_data_i  ('{slot: step_q.slot, epoch: step_q.epoch, how: step_q.how}),
    .out_valid_o(ready_valid_o),
    .out_ready_i(pop_i),
    .cancel_i   (1'b0),
    .out_cancel_o(),
    .out_data_o (ready)
  );
  assign ready_slot_o = ready.slot;
  assign ready_end_o = ready.how;
  assign ready_old_o = ready.epoch != epoch_i;
  assign leaving_o = ready_valid_o || (step_valid_q && !step_q.gone);

  `GW_INVARIANT(FreeRoom_A, free_ready || !freed)
  `GW_INVARIANT(WaitRoom_A, (wait_put & ~wait_room) == '0)
  `GW_INVARIANT(AllocAvail_A, !alloc_i || avail_o)
  `GW_INVARIANT(DirectHead_A, !answer_direct_i || (answer_i && answer_head_o && !answer_fault_i && !leaving_o))
  `GW_INVARIANT(DirectSlot_A, !answer_direct_i || answer_slot_i == direct_slot_i)
  `GW_INVARIANT(PopValid_A, (ready_valid_o || !pop_i) && (pop_i || !free_i))
  `GW_INVARIANT(ResumeRoom_A, resume_room || !resume_i)
  `GW_INVARIANT(OldAreThere_A, behind_old_q <= behind_q && leaving_old_q <= leaving_q)
  `GW_INVARIANT(TurnOfNone_A, !flip_i || !old_o)
  `GW_COVER(ResumesWait_C, resume_i && resume_valid && step_valid_q && !step_go)
  `GW_COVER(Given_C, give)
  `GW_COVER(AllocClosing_C, alloc_i && waiting_o && closing)
  `GW_COVER(AnswerOfSuccessor_C, goes_on && linked && answers_successor)
  `GW_COVER(SuccessorWaits_C, wait_put[2])
  `GW_COVER(QueueFull_C, step_valid_q && !step_q.gone && !queue_room)

endmodule
