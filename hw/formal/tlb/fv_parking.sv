// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_parking under every use that its contract allows, with two numbers. One slot, any, is followed from its
// coming: it goes on once, not before its reason (a wake-up of its number behind it, its asking again, an end), and soon
// behind it under wake-ups in every cycle; it fails only if its number failed or its port or context ended, and after an end it
// does not ask; busy_o tells until then.
module fv_parking #(
  parameter int unsigned Slots = 2,
  // Cycles in which slots can go on, from the reason on.
  parameter int unsigned Bound = 2 * Slots + 3,
  localparam int unsigned SlotWidth = $clog2(Slots)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic alloc_i,
  input logic alloc_ended_i,
  input logic [SlotWidth-1:0] alloc_slot_i,
  input logic park_i,
  input logic park_number_i,
  input logic [SlotWidth-1:0] park_slot_i,
  input logic again_i,
  input logic [SlotWidth-1:0] again_slot_i,
  input logic wake_i,
  input logic wake_ok_i,
  input logic wake_number_i,
  input logic end_i,
  input logic ask_ready_i,
  input logic fail_ready_i,
  input logic follow_i
);

  import gw_pkg::*;

  typedef logic [SlotWidth-1:0] slot_t;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  logic again_ready, ask, fail, ended, some, busy, goes;
  slot_t slot;
  logic [Slots-1:0] here_q, ended_q;
  logic following_q, number_q, again_q, due_q, failed_q;
  logic [4:0] age_q;
  slot_t slot_q;

  always_comb begin
    if (32'(park_slot_i) >= Slots || 32'(again_slot_i) >= Slots || 32'(alloc_slot_i) >= Slots) begin
      assume (!park_i && !again_i && !alloc_i);
    end else begin
      // A slot that is here is not taken, and does not come again.
      if (here_q[park_slot_i]) assume (!park_i);
      if (here_q[again_slot_i] || (park_i && park_slot_i == again_slot_i) || !again_ready) assume (!again_i);
      if (here_q[alloc_slot_i] || (park_i && park_slot_i == alloc_slot_i)) assume (!alloc_i);
      if (again_i && again_slot_i == alloc_slot_i) assume (!alloc_i);
    end
  end

  gw_parking #(
    .Slots(Slots)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .alloc_i,
    .alloc_ended_i(alloc_ended_i || end_i),
    .alloc_slot_i,
    .park_i,
    .park_slot_i,
    .park_number_i(park_t'(park_number_i)),
    .again_i,
    .again_ready_o(again_ready),
    .again_slot_i,
    .wake_i       ('{valid: wake_i, ok: wake_ok_i, park: park_t'(wake_number_i)}),
    .end_i,
    .ask_valid_o  (ask),
    .ask_ready_i,
    .fail_valid_o (fail),
    .fail_ready_i,
    .fail_ended_o (ended),
    .slot_o       (slot),
    .some_o       (some),
    .count_o      (),
    .busy_o       (busy)
  );

  assign goes = (ask && ask_ready_i) || (fail && fail_ready_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      here_q <= '0;
      ended_q <= '0;
      following_q <= 1'b0;
    end else begin
      if (goes) here_q[slot] <= 1'b0;
      if (park_i) here_q[park_slot_i] <= 1'b1;
      if (again_i) here_q[again_slot_i] <= 1'b1;
      if (end_i) ended_q <= '1;
      if (alloc_i) ended_q[alloc_slot_i] <= alloc_ended_i || end_i;
      if (following_q) begin
        if (goes && slot == slot_q) following_q <= 1'b0;
        if (wake_i && wake_number_i == number_q && !again_q) begin
          due_q <= 1'b1;
          if (!wake_ok_i) failed_q <= 1'b1;
        end
        if (end_i) due_q <= 1'b1;
        // Only cycles in which others could go on.
        if (due_q && ask_ready_i && fail_ready_i && !park_i && !again_i) age_q <= age_q + 5'd1;
      end else if (follow_i && (park_i || again_i)) begin
        following_q <= 1'b1;
        slot_q <= park_i ? park_slot_i : again_slot_i;
        number_q <= park_number_i;
        again_q <= !park_i;
        due_q <= !park_i || end_i || ended_q[park_slot_i];
        failed_q <= 1'b0;
        age_q <= '0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      OneWay_A : assert (!(ask && fail));
      if (ask || fail) Here_A : assert (32'(slot) < Slots && here_q[slot]);
      if (ask) NotEnded_A : assert (!ended_q[slot]);
      if (fail && ended) Ended_A : assert (ended_q[slot]);
      if (here_q != '0) Some_A : assert (some || (park_i || again_i));
      if (following_q) begin
        if (fail && slot == slot_q && !ended) RightFail_A : assert (failed_q);
        Soon_A : assert (age_q < 5'(Bound));
      end
      Asks_C : cover (following_q && ask && slot == slot_q && due_q);
      Fails_C : cover (following_q && fail && slot == slot_q && !ended);
      Early_C : cover (following_q && ask && slot == slot_q && !due_q);
    end
  end

endmodule
