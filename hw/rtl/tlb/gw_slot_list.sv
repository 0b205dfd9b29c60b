// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The waiting slots of a translator channel: which are free, which wait for what, which may leave
// next.
//
// Slots of one key (AXI ID) form a linked list in the order of their allocation; only its head may
// leave. A slot is ready when it is a head and decided (its translation or its fault is known), and
// the ready ones leave through a queue, so slots of different keys leave in the order in which they
// became ready.
//
// Contract
// - alloc_i takes `alloc_slot_o` in this cycle; only while `avail_o`.
// - alloc_decided_i: nothing is to be waited for but the slots before it. If the list is empty the
//   slot is ready at once, and then the allocation is not allowed while an answer enters the queue
//   (one that is not retired directly). It is not allowed either for a list whose last slot is retired in the
//   same cycle (`closing_o` tells).
// - answer_i decides a slot. `answer_head_o` tells in the same cycle that it may leave; with
//   `answer_direct_i` the caller retires it at once, and it does not enter the queue.
// - retire_i frees a slot that is a head and decided; its successor may be at the queue's output in
//   the next cycle, so a list of decided slots leaves at one a cycle.
// - inval_valid_i marks every slot held in this cycle, allocated ones included, as old. `old_o`: old
//   slots are left.
// - avail_o, ready_valid_o and old_o depend on registered state only.
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
  input  logic [KeyWidth-1:0]  key_i,
  /// The list of `key_i` is not empty; its last slot is being retired.
  output logic                 waiting_o,
  output logic                 closing_o,
  /// Answers.
  input  logic                 answer_i,
  input  logic [SlotWidth-1:0] answer_slot_i,
  output logic                 answer_head_o,
  output logic                 answer_old_o,
  input  logic                 answer_direct_i,
  /// Queue of ready slots.
  output logic                 ready_valid_o,
  output logic [SlotWidth-1:0] ready_slot_o,
  input  logic                 ready_pop_i,
  /// End of a slot.
  input  logic                 retire_i,
  input  logic [SlotWidth-1:0] retire_slot_i,
  input  logic [KeyWidth-1:0]  retire_key_i,
  output logic                 retire_old_o,
  /// Invalidation: a pulse, of any scope, also while old slots are left.
  input  logic                 inval_valid_i,
  output logic                 old_o
);

  if (Slots < 2 || Slots > 256) begin : gen_bad_slots
    $fatal(1, "gw_slot_list: Slots must be 2 to 256");
  end

  typedef logic [SlotWidth-1:0] slot_t;
  localparam int unsigned Keys = 1 << KeyWidth;

  logic [Slots-1:0] valid_q, valid_d, head_q, decided_q, linked_q, old_q;
  logic [Keys-1:0] waiting_q;
  slot_t next_mem[Slots];  // successor of a slot, if linked_q
  slot_t tail_mem[Keys];   // youngest slot of a key, if waiting_q

  // Free slots: those never used yet, then those given back.
  logic [SlotWidth:0] fresh_q;
  logic fresh_left, free_valid;
  slot_t free_slot;
  assign fresh_left = fresh_q != (SlotWidth + 1)'(Slots);
  assign avail_o = fresh_left || free_valid;
  assign alloc_slot_o = fresh_left ? slot_t'(fresh_q) : free_slot;

  logic free_ready;
  gw_fifo #(
    .T    (slot_t),
    .Depth(Slots)
  ) u_free (
    .clk_i,
    .rst_ni,
    .in_valid_i (retire_i),
    .in_ready_o (free_ready),
    .in_data_i  (retire_slot_i),
    .out_valid_o(free_valid),
    .out_ready_i(alloc_i && !fresh_left),
    .out_data_o (free_slot),
    .usage_o    ()
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) fresh_q <= '0;
    else if (alloc_i && fresh_left) fresh_q <= fresh_q + 1'b1;
  end

  // Lists.
  logic first, link, wake;
  slot_t tail, successor;
  assign tail = tail_mem[key_i];
  assign waiting_o = waiting_q[key_i];
  assign closing_o = retire_i && waiting_o && tail == retire_slot_i;
  assign first = !waiting_o || closing_o;
  assign link = alloc_i && !first;
  assign wake = retire_i && linked_q[retire_slot_i];
  assign successor = next_mem[retire_slot_i];

  logic last_of_key;
  assign last_of_key = tail_mem[retire_key_i] == retire_slot_i;

  always_ff @(posedge clk_i) begin
    if (link) next_mem[tail] <= alloc_slot_o;
  end
  always_ff @(posedge clk_i) begin
    if (alloc_i) tail_mem[key_i] <= alloc_slot_o;
  end

  always_comb begin
    valid_d = valid_q;
    if (retire_i) valid_d[retire_slot_i] = 1'b0;
    if (alloc_i) valid_d[alloc_slot_o] = 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      old_q <= '0;
      waiting_q <= '0;
    end else begin
      valid_q <= valid_d;
      old_q <= inval_valid_i ? valid_d : old_q & valid_d;
      if (retire_i && last_of_key) waiting_q[retire_key_i] <= 1'b0;
      if (alloc_i) waiting_q[key_i] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      decided_q <= '0;
      linked_q <= '0;
    end else begin
      if (wake) head_q[successor] <= 1'b1;
      if (answer_i) decided_q[answer_slot_i] <= 1'b1;
      if (link) linked_q[tail] <= 1'b1;
      if (alloc_i) begin
        head_q[alloc_slot_o] <= first;
        decided_q[alloc_slot_o] <= alloc_decided_i;
        linked_q[alloc_slot_o] <= 1'b0;
      end
    end
  end

  assign answer_head_o = head_q[answer_slot_i];
  assign answer_old_o = old_q[answer_slot_i];
  assign retire_old_o = old_q[retire_slot_i];
  assign old_o = |old_q;

  // Two queues, because a successor and an answer may become ready in the same cycle.
  logic [1:0] put, put_ready, have, take;
  slot_t [1:0] put_slot, have_slot;
  logic turn_q;
  assign put[0] = wake && (decided_q[successor] || (answer_i && answer_slot_i == successor));
  assign put_slot[0] = successor;
  logic put_answer, put_alloc;
  assign put_answer = answer_i && answer_head_o && !answer_direct_i;
  assign put_alloc = alloc_i && alloc_decided_i && !waiting_o;
  assign put[1] = put_answer || put_alloc;
  assign put_slot[1] = put_answer ? answer_slot_i : alloc_slot_o;

  for (genvar i = 0; i < 2; i++) begin : gen_queue
    gw_fifo #(
      .T    (slot_t),
      .Depth(Slots)
    ) u_queue (
      .clk_i,
      .rst_ni,
      .in_valid_i (put[i]),
      .in_ready_o (put_ready[i]),
      .in_data_i  (put_slot[i]),
      .out_valid_o(have[i]),
      .out_ready_i(take[i]),
      .out_data_o (have_slot[i]),
      .usage_o    ()
    );
  end

  logic choice;
  assign choice = have[1] && (!have[0] || turn_q);
  assign ready_valid_o = |have;
  assign ready_slot_o = have_slot[choice];
  assign take[0] = ready_pop_i && !choice;
  assign take[1] = ready_pop_i && choice;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) turn_q <= 1'b0;
    else if (ready_pop_i) turn_q <= !choice;
  end

  `GW_INVARIANT(FreeRoom_A, free_ready || !retire_i)
  `GW_INVARIANT(QueueRoom_A, (put & ~put_ready) == '0)
  `GW_INVARIANT(AllocFree_A, !alloc_i || (avail_o && !valid_q[alloc_slot_o]))
  `GW_INVARIANT(DecidedNotClosing_A, !(alloc_i && alloc_decided_i && closing_o))
  `GW_COVER(AllocClosing_C, alloc_i && closing_o)
  `GW_INVARIANT(OneReady_A, !(put_answer && put_alloc))
  `GW_INVARIANT(AnswerWaits_A, !answer_i || (valid_q[answer_slot_i] && !decided_q[answer_slot_i]))
  `GW_INVARIANT(RetireHead_A, !retire_i || (valid_q[retire_slot_i] && head_q[retire_slot_i]))
  `GW_COVER(AnswerOfSuccessor_C, wake && answer_i && answer_slot_i == successor)
  `GW_COVER(BothQueues_C, &put)

endmodule
