// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_slot_list under every use that its contract allows. One slot, any, is followed:
// it leaves once, with what it ends with, only when it is decided and all earlier ones of its key have
// left (a fault: when its error is answered); a slot is free until it is taken and taken until it is
// freed; a list that can move on does, soon (nothing is forgotten); it is old from a turn of the epoch
// on until it leaves.
module fv_slot_list #(
  parameter int unsigned Slots = 2,
  parameter int unsigned KeyWidth = 1,
  localparam int unsigned SlotWidth = $clog2(Slots)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic alloc_i,
  input logic decided_i,
  input logic fault_i,
  input logic [KeyWidth-1:0] key_i,
  input logic answer_i,
  input logic answer_fault_i,
  input logic [SlotWidth-1:0] answer_slot_i,
  input logic take_i,
  input logic park_i,
  input logic ask_i,
  input logic [SlotWidth-1:0] ask_slot_i,
  input logic parked_i,
  input logic resume_i,
  input logic [SlotWidth-1:0] resume_slot_i,
  input logic flip_i,
  input logic pulse_i,
  input logic follow_i
);

  import gw_pkg::*;

  typedef logic [SlotWidth-1:0] slot_t;
  typedef logic [SlotWidth:0] count_t;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  logic avail, waiting, answer_head, answer_fresh, answer_epoch, answer_old, ready_valid, ready_old, leaving, old, list_old, lookups_old;
  logic epoch, epoch_q;
  slot_t alloc_slot, ready_slot;
  slot_end_e how;
  logic direct, pop, is_fault, gone, again, again_ready;
  slot_t again_slot;

  // What the slots are used for: lacks an answer; its fault was taken and is not answered.
  // Parked, or to ask again: `idle_q`.
  logic [Slots-1:0] used_q, lacks_q, late_q, fresh_q, idle_q;
  logic [Slots-1:0][KeyWidth-1:0] key_q;
  slot_end_e [Slots-1:0] how_q;
  logic resumed_q;
  logic [1:0] since_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) since_q <= 2'd3;
    else if (flip_i) since_q <= '0;
    else if (since_q != 2'd3) since_q <= since_q + 1'b1;
  end

  assign is_fault = how == EndRefused || how == EndFaulted;
  assign pop = take_i && ready_valid;
  assign direct = take_i && !leaving && answer_i && answer_head && !answer_fault_i;
  // Left for good, which frees it sooner or later.
  assign gone = direct || (pop && !is_fault);

  always_comb begin
    if (!avail) assume (!alloc_i);
    if (!decided_i) assume (!fault_i);
    // What is parked, or is to ask again, may also fail.
    if (answer_i || park_i) begin
      assume (answer_slot_i < count_t'(Slots));
      assume (lacks_q[answer_slot_i] || (answer_i && answer_fault_i && idle_q[answer_slot_i]));
    end
    if (answer_i) assume (!park_i);
    if (alloc_i && !decided_i) assume (!ask_i);
    // A turn comes when nothing is old, and that is told within some cycles of the turn before.
    if (old || since_q != 2'd3) assume (!flip_i);
    if (ask_i) assume (ask_slot_i < count_t'(Slots) && idle_q[ask_slot_i] && !(answer_i && answer_slot_i == ask_slot_i));
    if (idle_q != '0) assume (parked_i);
    if (resume_i) assume (resume_slot_i < count_t'(Slots) && late_q[resume_slot_i] && !resumed_q);
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
    .alloc_fault_i  (fault_i),
    .key_i,
    .waiting_o      (waiting),
    .answer_i,
    .answer_fault_i,
    .answer_slot_i,
    .direct_slot_i  (answer_slot_i),
    .answer_head_o  (answer_head),
    .answer_epoch_i (answer_epoch),
    .answer_direct_i(direct),
    .parked_i,
    .again_o        (again),
    .again_ready_i  (again_ready),
    .again_slot_o   (again_slot),
    .ready_valid_o  (ready_valid),
    .ready_slot_o   (ready_slot),
    .ready_end_o    (how),
    .ready_old_o    (ready_old),
    .leaving_o      (leaving),
    .pop_i          (pop),
    .free_i         (pop && !is_fault),
    .resume_i,
    .resume_slot_i,
    .resume_key_i   (key_q[resume_slot_i]),
    .epoch_i        (epoch),
    .flip_i,
    .stamp_i        (epoch_q),
    .old_o          (list_old)
  );

  gw_lookups #(
    .Slots(Slots)
  ) u_lookups (
    .clk_i,
    .rst_ni,
    .begin_i     ((alloc_i && !decided_i) || ask_i),
    .begin_slot_i(ask_i ? ask_slot_i : alloc_slot),
    .stamp_i     (epoch_q),
    .end_i       (park_i || (answer_i && lacks_q[answer_slot_i])),
    .slot_i      (answer_slot_i),
    .fresh_o     (answer_fresh),
    .epoch_o     (answer_epoch),
    .flip_i,
    .pulse_i,
    .epoch_i     (epoch),
    .old_o       (lookups_old)
  );
  assign epoch = epoch_q ^ flip_i;
  assign answer_old = answer_epoch != epoch;
  assign old = list_old || lookups_old;
  always_ff @(posedge clk_i) epoch_q <= rst_ni && epoch;

  // The slot followed, and the slots that were taken for its key before it and are not gone.
  logic following_q, popped_q, f_old_q, f_behind_q, f_lost_q, f_again_q, f_leaves, park_q;
  assign again_ready = !park_q;
  logic [3:0] quiet_q;
  slot_t slot_q;
  logic [Slots-1:0] before_q, same_key, leaves;
  always_comb begin
    for (int unsigned i = 0; i < Slots; i++) begin
      leaves[i] = (pop && !is_fault && ready_slot == slot_t'(i)) || (direct && answer_slot_i == slot_t'(i)) ||
                  (resume_i && resume_slot_i == slot_t'(i));
      same_key[i] = used_q[i] && key_q[i] == key_i && !leaves[i];
    end
  end
  assign f_leaves = (pop && ready_slot == slot_q) || (direct && answer_slot_i == slot_q);

  always_ff @(posedge clk_i) begin
    resumed_q <= rst_ni && resume_i;
    park_q <= rst_ni && park_i;
    if (!rst_ni) begin
      used_q <= '0;
      lacks_q <= '0;
      late_q <= '0;
      fresh_q <= '0;
      idle_q <= '0;
      following_q <= 1'b0;
      popped_q <= 1'b0;
      f_old_q <= 1'b0;
      before_q <= '0;
      quiet_q <= '0;
    end else begin
      if (answer_i) begin
        lacks_q[answer_slot_i] <= 1'b0;
        idle_q[answer_slot_i] <= 1'b0;
        how_q[answer_slot_i] <= answer_fault_i ? EndFaulted : EndAnswered;
      end
      if (park_i) {lacks_q[answer_slot_i], idle_q[answer_slot_i]} <= 2'b01;
      if (ask_i) {lacks_q[ask_slot_i], idle_q[ask_slot_i]} <= 2'b10;
      if (again && again_ready) idle_q[again_slot] <= 1'b1;
      if (ask_i) fresh_q[ask_slot_i] <= 1'b1;
      if (pop && is_fault) late_q[ready_slot] <= 1'b1;
      if (resume_i) late_q[resume_slot_i] <= 1'b0;
      used_q <= used_q & ~leaves;
      before_q <= before_q & ~leaves;
      if (alloc_i) begin
        used_q[alloc_slot] <= 1'b1;
        lacks_q[alloc_slot] <= !decided_i;
        key_q[alloc_slot] <= key_i;
        how_q[alloc_slot] <= fault_i ? EndRefused : EndTranslated;
        fresh_q[alloc_slot] <= 1'b1;
      end
      if (pulse_i) fresh_q <= '0;
      if (following_q) begin
        if (leaves[slot_q]) following_q <= 1'b0;
        if (f_leaves) popped_q <= 1'b1;
        // A frame from before a turn; and whether it may have been given up since.
        f_old_q <= !f_leaves && !popped_q && !(again && again_slot == slot_q) && (f_old_q || (flip_i && !idle_q[slot_q])) &&
                   !(park_i && answer_slot_i == slot_q) && !(answer_i && answer_fault_i && answer_slot_i == slot_q) &&
                   (lacks_q[slot_q] || (how_q[slot_q] != EndRefused && how_q[slot_q] != EndFaulted));
        if (again && again_slot == slot_q) f_behind_q <= 1'b0;
        else if (parked_i && !f_again_q) f_behind_q <= 1'b1;
        f_lost_q <= f_old_q && (f_lost_q || !old) && !(again && again_slot == slot_q);
        if (again && again_slot == slot_q) f_again_q <= 1'b1;
        // Cycles in which nothing is offered although it could leave.
        if (!popped_q && before_q == '0 && !lacks_q[slot_q] && !idle_q[slot_q]) quiet_q <= quiet_q + 4'(!ready_valid);
      end else if (follow_i && alloc_i) begin
        following_q <= 1'b1;
        popped_q <= 1'b0;
        slot_q <= alloc_slot;
        before_q <= same_key;
        quiet_q <= '0;
        f_old_q <= flip_i && !fault_i;
        f_behind_q <= 1'b0;
        f_lost_q <= 1'b0;
        f_again_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (alloc_i) FreeIsFree_A : assert (!used_q[alloc_slot]);
      if (gone || resume_i) TakenIsTaken_A : assert ((used_q & leaves) == leaves);
      if (ready_valid) begin
        ReadyIsDecided_A : assert (used_q[ready_slot] && !lacks_q[ready_slot] && !idle_q[ready_slot] && !late_q[ready_slot]);
        RightEnd_A : assert (how == how_q[ready_slot]);
      end
      if (answer_i && answer_fresh && lacks_q[answer_slot_i]) Fresh_A : assert (fresh_q[answer_slot_i]);
      if (following_q && !popped_q) begin
        if (ready_valid && ready_slot == slot_q) InOrder_A : assert (before_q == '0);
        if (direct && answer_slot_i == slot_q) DirectInOrder_A : assert (before_q == '0);
        NotForgotten_A : assert (quiet_q < 4'd7);
        if (key_i == key_q[slot_q] && !leaving) Waiting_A : assert (waiting);
        // What was not told as old is not used.
        if (f_lost_q && ready_valid && ready_slot == slot_q) NotLost_A : assert (is_fault);
        if (f_lost_q && direct && answer_slot_i == slot_q) DirectNotLost_A : assert (lookups_old);
        // What is given up is so only beside a parked slot, asked for again when it is its turn, and only once.
        if (f_old_q && !f_behind_q) Old_A : assert (old);
        if (again && again_slot == slot_q) begin
          AgainDecided_A : assert (!lacks_q[slot_q] && !idle_q[slot_q]);
          AgainOnce_A : assert (!f_again_q);
        end
        if (f_old_q && ready_valid && ready_slot == slot_q) ReadyOld_A : assert (ready_old);
        if (f_old_q && answer_i && answer_slot_i == slot_q) AnswerOld_A : assert (answer_old);
      end
      Fresh_C : cover (answer_i && answer_fresh && epoch_q);
      Again_C : cover (following_q && popped_q && f_again_q);
      Order_C : cover (following_q && pop && ready_slot == slot_q && !popped_q);
      Late_C : cover (following_q && resume_i && resume_slot_i != slot_q && before_q == leaves && !lacks_q[slot_q]);
    end
  end

endmodule
