// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Scoreboard of the page DMA: descriptors under way, retired in their order.
//
// Contract
// - A slot is taken for each descriptor that is begun, in order (alloc_*), and is given back in that order, when its job has
//   ended and each burst or word that was begun is done. oldest_* is the first that is not given back, oldest_done_o says that
//   it may be; retire_i gives it back.
// - Reports of the lanes and ports are of slots that are taken; the begin of a burst comes before its done. Whatever comes in
//   cycle t counts in oldest_done_o from t+4.
// - oldest_error_o: an error when reading, else when writing, else that the job was given up; 0 if none.
`include "gw_assert.svh"

module gw_dma_slots #(
  /// Descriptors under way, 2 to 64, a power of two.
  parameter int unsigned Slots = 32,
  /// Bursts of a descriptor under way, less than 2**CountWidth.
  parameter int unsigned CountWidth = 8
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  /// A descriptor is begun: with a job in a lane, with a word that is written, or with nothing left to do.
  input  logic                   alloc_i,
  output logic                   alloc_ready_o,
  output gw_pkg::dma_slot_t      alloc_slot_o,
  input  logic                   alloc_job_i,
  input  logic                   alloc_word_i,
  input  logic [2:0]             alloc_cause_i,
  input  logic                   alloc_fence_i,
  input  logic                   alloc_irq_i,
  input  logic [31:0]            alloc_value_i,
  /// What becomes of them: lanes (copying: 0 and 1, clears: 2) and ports.
  input  gw_pkg::dma_done_t [2:0] begin_i,
  input  gw_pkg::dma_done_t [2:0] end_i,
  input  gw_pkg::dma_done_t [1:0] drop_i,
  input  gw_pkg::dma_done_t [1:0] done_i,
  /// The oldest one.
  output logic                   empty_o,
  output logic                   oldest_done_o,
  output logic [2:0]             oldest_error_o,
  output logic                   oldest_fence_o,
  output logic                   oldest_irq_o,
  output logic [31:0]            oldest_value_o,
  input  logic                   retire_i
);

  import gw_pkg::*;

  if (Slots < 2 || Slots > 64 || (Slots & (Slots - 1)) != 0) begin : gen_bad_slots
    $fatal(1, "gw_dma_slots: Slots must be a power of two, 2 to 64");
  end

  localparam int unsigned SlotWidth = $clog2(Slots);
  typedef logic [SlotWidth-1:0] index_t;
  typedef logic [CountWidth-1:0] count_t;
  typedef struct packed {
    logic fence;
    logic irq;
    logic [31:0] value;
  } sign_t;

  logic [SlotWidth:0] head_q, tail_q;
  index_t head, tail;
  assign head = head_q[SlotWidth-1:0];
  assign tail = tail_q[SlotWidth-1:0];
  assign empty_o = head_q == tail_q;
  assign alloc_ready_o = (tail_q - head_q) != (SlotWidth + 1)'(Slots);
  assign alloc_slot_o = dma_slot_t'(tail);

  // Reports, a cycle later: they come from many places.
  dma_done_t [2:0] begin_q, end_q;
  dma_done_t [1:0] drop_q, done_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      begin_q <= '0;
      end_q <= '0;
      drop_q <= '0;
      done_q <= '0;
    end else begin
      begin_q <= begin_i;
      end_q <= end_i;
      drop_q <= drop_i;
      done_q <= done_i;
    end
  end

  count_t count_q[Slots];
  logic [Slots-1:0] open_q, read_error_q, write_error_q, killed_q, done, over_q;
  logic [2:0] cause_q[Slots];
  sign_t sign_q[Slots];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      tail_q <= '0;
    end else begin
      head_q <= head_q + (SlotWidth + 1)'(retire_i);
      tail_q <= tail_q + (SlotWidth + 1)'(alloc_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (alloc_i) begin
      sign_q[tail] <= '{fence: alloc_fence_i, irq: alloc_irq_i, value: alloc_value_i};
      cause_q[tail] <= alloc_cause_i;
    end
  end

  for (genvar i = 0; i < Slots; i++) begin : gen_slot
    logic more, ended, given_up;
    logic [1:0] less, dropped, failed;
    always_comb begin
      more = 1'b0;
      ended = 1'b0;
      given_up = 1'b0;
      for (int unsigned lane = 0; lane < 3; lane++) begin
        more |= begin_q[lane].valid && begin_q[lane].slot == dma_slot_t'(i);
        ended |= end_q[lane].valid && end_q[lane].slot == dma_slot_t'(i);
        given_up |= end_q[lane].valid && end_q[lane].slot == dma_slot_t'(i) && end_q[lane].error;
      end
      for (int unsigned port = 0; port < 2; port++) begin
        less[port] = done_q[port].valid && done_q[port].slot == dma_slot_t'(i);
        failed[port] = less[port] && done_q[port].error;
        dropped[port] = drop_q[port].valid && drop_q[port].slot == dma_slot_t'(i);
      end
    end

    // A slot is of one lane, and its writes are on one port.
    always_ff @(posedge clk_i) begin
      if (alloc_i && tail == index_t'(i)) begin
        count_q[i] <= count_t'(alloc_word_i);
        open_q[i] <= alloc_job_i;
        read_error_q[i] <= 1'b0;
        write_error_q[i] <= 1'b0;
        killed_q[i] <= 1'b0;
      end else begin
        count_q[i] <= count_q[i] + count_t'(more) - count_t'(|less) - count_t'(|dropped);
        if (ended) open_q[i] <= 1'b0;
        if (given_up) killed_q[i] <= 1'b1;
        if (|dropped) read_error_q[i] <= 1'b1;
        if (|failed) write_error_q[i] <= 1'b1;
      end
    end
    assign done[i] = !open_q[i] && count_q[i] == '0;
    // Not that of the one who had the slot before.
    always_ff @(posedge clk_i) over_q[i] <= done[i] && !(alloc_i && tail == index_t'(i));
  end

  // The oldest one's state, registered: what comes to it after it was done is nothing.
  logic done_now_q;
  index_t looked_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) done_now_q <= 1'b0;
    else done_now_q <= over_q[head] && !empty_o && !retire_i;
  end
  always_ff @(posedge clk_i) begin
    looked_q <= head;
    if (read_error_q[head]) oldest_error_o <= 3'(gw_spec_pkg::DmaCauseRead);
    else if (write_error_q[head]) oldest_error_o <= 3'(gw_spec_pkg::DmaCauseWrite);
    else if (killed_q[head]) oldest_error_o <= 3'(gw_spec_pkg::DmaCauseAborted);
    else oldest_error_o <= cause_q[head];
    oldest_fence_o <= sign_q[head].fence;
    oldest_irq_o <= sign_q[head].irq;
    oldest_value_o <= sign_q[head].value;
  end
  assign oldest_done_o = done_now_q;

  `GW_INVARIANT(RetireDone_A, !retire_i || oldest_done_o)
  `GW_INVARIANT(AllocRoom_A, !alloc_i || alloc_ready_o)
  `GW_INVARIANT(LooksAtOldest_A, !done_now_q || looked_q == head)
  for (genvar i = 0; i < Slots; i++) begin : gen_bound
    logic taken;
    assign taken = {1'b0, index_t'(index_t'(i) - head)} < (tail_q - head_q);
    `GW_INVARIANT(NeverBelowZero_A, !taken || !(count_q[i] == '0 && (gen_slot[i].less != '0 || gen_slot[i].dropped != '0)
                  && !gen_slot[i].more))
    `GW_INVARIANT(NeverTooMany_A, !taken || count_q[i] != '1)
    `GW_INVARIANT(OnePort_A, !(&gen_slot[i].less) && !(&gen_slot[i].dropped))
  end
  `GW_COVER(Full_C, !alloc_ready_o)
  `GW_COVER(OldestWaitsForOthers_C, !empty_o && !done[head] && done[index_t'(head + 1'b1)])

endmodule
