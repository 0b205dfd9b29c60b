// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_dma_slots with four slots and up to three bursts of each under way, against a count a slot: the oldest is done
// only when its job has ended and nothing of it is under way, with the error that came first in the list of causes; and then it
// is reported within four cycles. Lanes, ports and drops report anything at any time that the counts allow.
module fv_dma_slots (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       alloc_i,
  input logic       job_i,
  input logic       word_i,
  input logic [2:0] cause_i,
  input logic       fence_i,
  input logic [2:0] begin_i,
  input logic [2:0] end_i,
  input logic [2:0] killed_i,
  input logic [1:0] drop_i,
  input logic [1:0] done_i,
  input logic [1:0] failed_i,
  input logic [6:0][1:0] which_i,
  input logic       retire_i
);

  import gw_pkg::*;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  dma_done_t [2:0] begun, ended;
  dma_done_t [1:0] dropped, done;
  logic ready, empty, oldest_done, oldest_fence, oldest_irq;
  dma_slot_t slot;
  logic [2:0] oldest_error;
  logic [31:0] oldest_value;

  // A lane's begin and end are of one job at a time; in one cycle they may be of two.
  logic [2:0][1:0] lane_slot;
  assign lane_slot = {which_i[2], which_i[1], which_i[0]};
  always_comb begin
    for (int unsigned i = 0; i < 3; i++) begin
      begun[i] = '{valid: begin_i[i], slot: dma_slot_t'(lane_slot[i]), error: 1'b0};
      ended[i] = '{valid: end_i[i], slot: dma_slot_t'(lane_slot[i]), error: killed_i[i]};
    end
    for (int unsigned i = 0; i < 2; i++) begin
      dropped[i] = '{valid: drop_i[i], slot: dma_slot_t'(which_i[3+i]), error: 1'b1};
      done[i] = '{valid: done_i[i], slot: dma_slot_t'(which_i[5+i]), error: failed_i[i]};
    end
  end

  gw_dma_slots #(
    .Slots     (4),
    .CountWidth(3)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .alloc_i       (alloc_i),
    .alloc_ready_o (ready),
    .alloc_slot_o  (slot),
    .alloc_job_i   (job_i),
    .alloc_word_i  (word_i),
    .alloc_cause_i (cause_i),
    .alloc_fence_i (fence_i),
    .alloc_irq_i   (1'b0),
    .alloc_value_i ('0),
    .begin_i       (begun),
    .end_i         (ended),
    .drop_i        (dropped),
    .done_i        (done),
    .empty_o       (empty),
    .oldest_done_o (oldest_done),
    .oldest_error_o(oldest_error),
    .oldest_fence_o(oldest_fence),
    .oldest_irq_o  (oldest_irq),
    .oldest_value_o(oldest_value),
    .retire_i      (retire_i)
  );

  typedef struct packed {
    logic open;
    logic [1:0] count;
    logic read;
    logic write;
    logic killed;
    logic [2:0] cause;
    logic fence;
  } slot_t;
  slot_t slots_q[4];
  logic [2:0] head_q, tail_q;
  logic [2:0] used;
  logic [3:0] taken;
  assign used = tail_q - head_q;
  always_comb for (int unsigned i = 0; i < 4; i++) taken[i] = 3'(2'(2'(i) - head_q[1:0])) < used;

  logic [3:0] more, less, fewer, over, given_up, failed;
  always_comb begin
    more = '0;
    less = '0;
    fewer = '0;
    over = '0;
    given_up = '0;
    failed = '0;
    for (int unsigned i = 0; i < 3; i++) begin
      if (begin_i[i]) more[lane_slot[i]] = 1'b1;
      if (end_i[i]) over[lane_slot[i]] = 1'b1;
      if (end_i[i] && killed_i[i]) given_up[lane_slot[i]] = 1'b1;
      // Each slot is of one lane and one port.
      for (int unsigned j = 0; j < i; j++) if ((begin_i[i] || end_i[i]) && (begin_i[j] || end_i[j])) assume (lane_slot[i] != lane_slot[j]);
      if (begin_i[i] || end_i[i]) assume (taken[lane_slot[i]] && slots_q[lane_slot[i]].open);
      if (begin_i[i]) assume (slots_q[lane_slot[i]].count != 2'd3);
    end
    for (int unsigned i = 0; i < 2; i++) begin
      if (drop_i[i]) fewer[which_i[3+i]] = 1'b1;
      if (done_i[i]) less[which_i[5+i]] = 1'b1;
      if (done_i[i] && failed_i[i]) failed[which_i[5+i]] = 1'b1;
    end
    if (drop_i == 2'b11) assume (which_i[3] != which_i[4]);
    if (done_i == 2'b11) assume (which_i[5] != which_i[6]);
    for (int unsigned i = 0; i < 4; i++) begin
      if (less[i] || fewer[i]) assume (taken[i]);
      assume (slots_q[i].count >= 2'(less[i]) + 2'(fewer[i]));
    end
    if (alloc_i) assume (ready && !(job_i && word_i));
    if (retire_i) assume (oldest_done);
  end

  // Cycles for which the oldest was done without being reported.
  logic model_done;
  logic [2:0] late_q, model_error;
  slot_t oldest;
  assign oldest = slots_q[head_q[1:0]];
  assign model_done = used != '0 && !oldest.open && oldest.count == '0;
  assign model_error = oldest.read ? 3'(gw_spec_pkg::DmaCauseRead) : oldest.write ? 3'(gw_spec_pkg::DmaCauseWrite) :
                       oldest.killed ? 3'(gw_spec_pkg::DmaCauseAborted) : oldest.cause;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      head_q <= '0;
      tail_q <= '0;
      late_q <= '0;
    end else begin
      head_q <= head_q + 3'(retire_i);
      tail_q <= tail_q + 3'(alloc_i);
      late_q <= (model_done && !oldest_done && !retire_i) ? late_q + 3'd1 : '0;
      for (int unsigned i = 0; i < 4; i++) begin
        slots_q[i].count <= slots_q[i].count + 2'(more[i]) - 2'(less[i]) - 2'(fewer[i]);
        if (over[i]) slots_q[i].open <= 1'b0;
        if (given_up[i]) slots_q[i].killed <= 1'b1;
        if (fewer[i]) slots_q[i].read <= 1'b1;
        if (failed[i]) slots_q[i].write <= 1'b1;
      end
      if (alloc_i) begin
        slots_q[tail_q[1:0]] <= '{open: job_i, count: 2'(word_i), cause: cause_i, fence: fence_i, default: '0};
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      Ready_A : assert (ready == (used != 3'd4));
      Empty_A : assert (empty == (used == '0));
      Slot_A : assert (slot == dma_slot_t'(tail_q[1:0]));
      if (oldest_done) begin
        Done_A : assert (model_done);
        Error_A : assert (oldest_error == model_error);
        Fence_A : assert (oldest_fence == oldest.fence);
      end
      NotLate_A : assert (late_q <= 3'd4);
      AllUsed_C : cover (retire_i && used == 3'd4 && oldest.read);
    end
  end

endmodule
