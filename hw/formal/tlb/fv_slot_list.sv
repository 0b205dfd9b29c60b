// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_slot_list under every use that its contract allows. One slot, any, is followed:
// it leaves the queue once, only when it is decided and all earlier ones of its key are retired;
// a slot is free until it is taken and taken until it is retired; a list that can move on does
// (nothing is forgotten): while slots wait and none of the heads lacks its answer, one is ready.
module fv_slot_list #(
  parameter int unsigned Slots = 2,
  parameter int unsigned KeyWidth = 1,
  localparam int unsigned SlotWidth = $clog2(Slots)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic alloc_i,
  input logic decided_i,
  input logic [KeyWidth-1:0] key_i,
  input logic answer_i,
  input logic [SlotWidth-1:0] answer_slot_i,
  input logic take_i,
  input logic late_i,
  input logic late_done_i,
  input logic [SlotWidth-1:0] late_slot_i,
  input logic inval_valid_i,
  input logic follow_i
);

  typedef logic [SlotWidth-1:0] slot_t;
  typedef logic [KeyWidth-1:0] key_t;
  typedef logic [SlotWidth:0] count_t;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  logic avail, waiting, closing, answer_head, answer_old, ready_valid, retire_old, old;
  slot_t alloc_slot, ready_slot, retire_slot;
  logic direct, pop, retire, pop_late;

  // What the slots are used for: lacks an answer; popped and retired later.
  logic [Slots-1:0] used_q, lacks_q, late_q;
  logic [Slots-1:0][KeyWidth-1:0] key_q;

  // The caller: the end of a late slot first, else the queue, else the answer of this cycle.
  assign pop = take_i && !late_done_i && ready_valid;
  assign pop_late = pop && late_i;
  assign direct = take_i && !late_done_i && !ready_valid && answer_i && answer_head;
  assign retire = late_done_i || (pop && !pop_late) || direct;
  assign retire_slot = late_done_i ? late_slot_i : ready_valid ? ready_slot : answer_slot_i;

  always_comb begin
    if (!avail) assume (!alloc_i);
    if (alloc_i && decided_i) assume (!closing && (waiting || !answer_i || direct));
    if (answer_i) assume (answer_slot_i < count_t'(Slots) && lacks_q[answer_slot_i]);
    if (late_done_i) assume (late_slot_i < count_t'(Slots) && late_q[late_slot_i]);
  end

  gw_slot_list #(
    .Slots   (Slots),
    .KeyWidth(KeyWidth)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .avail_o        (avail),
    .alloc_slot_o   (alloc_slot),
    .alloc_i,
    .alloc_decided_i(decided_i),
    .key_i,
    .waiting_o      (waiting),
    .closing_o      (closing),
    .answer_i,
    .answer_slot_i,
    .answer_head_o  (answer_head),
    .answer_old_o   (answer_old),
    .answer_direct_i(direct),
    .ready_valid_o  (ready_valid),
    .ready_slot_o   (ready_slot),
    .ready_pop_i    (pop),
    .retire_i       (retire),
    .retire_slot_i  (retire_slot),
    .retire_key_i   (key_q[retire_slot]),
    .retire_old_o   (retire_old),
    .inval_valid_i,
    .old_o          (old)
  );

  // The slot followed, and the slots that were taken for its key before it.
  logic following_q, popped_q;
  slot_t slot_q;
  logic [Slots-1:0] before_q, same_key;
  always_comb begin
    for (int unsigned i = 0; i < Slots; i++) begin
      same_key[i] = used_q[i] && key_q[i] == key_i && !(retire && retire_slot == slot_t'(i));
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      used_q <= '0;
      lacks_q <= '0;
      late_q <= '0;
      following_q <= 1'b0;
      popped_q <= 1'b0;
      before_q <= '0;
    end else begin
      if (answer_i) lacks_q[answer_slot_i] <= 1'b0;
      if (pop_late) late_q[ready_slot] <= 1'b1;
      if (retire) begin
        used_q[retire_slot] <= 1'b0;
        late_q[retire_slot] <= 1'b0;
        before_q[retire_slot] <= 1'b0;
      end
      if (alloc_i) begin
        used_q[alloc_slot] <= 1'b1;
        lacks_q[alloc_slot] <= !decided_i;
        key_q[alloc_slot] <= key_i;
      end
      if (following_q && retire && retire_slot == slot_q) following_q <= 1'b0;
      else if (following_q && pop && ready_slot == slot_q) popped_q <= 1'b1;
      if (!following_q && follow_i && alloc_i) begin
        following_q <= 1'b1;
        popped_q <= 1'b0;
        slot_q <= alloc_slot;
        before_q <= same_key;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (alloc_i) FreeIsFree_A : assert (!used_q[alloc_slot]);
      if (retire) TakenIsTaken_A : assert (used_q[retire_slot]);
      Avail_A : assert (avail == !(&used_q));
      if (ready_valid) ReadyIsDecided_A : assert (used_q[ready_slot] && !lacks_q[ready_slot] &&
                                                  !late_q[ready_slot]);
      if (following_q && ready_valid && ready_slot == slot_q) begin
        InOrder_A : assert (before_q == '0 && !popped_q);
      end
      if (following_q && retire && retire_slot == slot_q) RetiredInOrder_A : assert (before_q == '0);
      // Nothing is forgotten: the one followed is next and decided, so it is in the queue.
      if (following_q && !popped_q && before_q == '0 && !lacks_q[slot_q]) begin
        NotForgotten_A : assert (ready_valid);
      end
      if (following_q && key_i == key_q[slot_q]) Waiting_A : assert (waiting);
      Order_C : cover (following_q && pop && ready_slot == slot_q && popped_q == 1'b0);
    end
  end

endmodule
