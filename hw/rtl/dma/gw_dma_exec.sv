// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Begins the descriptors of the page DMA in their order, gives their numbers back in that order, and stops in good order.
//
// Contract
// - A descriptor is begun when a slot is free and who does it takes it; with `after`, when all before it are given back. A
//   `wait` holds up all behind it until `sequence_i` has reached its value (modulo 2**32, half of it ahead).
// - In order: head counts the descriptors done; a fence number is written to memory (if asked for) when everything before it
//   and its own descriptor are done, and answered; then it is in `fence`, then comes its interrupt.
// - An error stops it at the first descriptor in the order of the ring that has one: head is its index, cause its reason,
//   irq_o tells; no fence at or behind it is signalled, though descriptors behind it may have run. Cancelled: nothing further is
//   begun, what is done in order is given back, head is the first that is not. Turned off: the same without a cause.
// - It comes to rest only when nothing is under way. An answer that is offered may be withdrawn when it stops.
`include "gw_assert.svh"

module gw_dma_exec (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  gw_pkg::dma_cfg_t     cfg_i,
  output gw_pkg::dma_status_t  status_o,
  input  logic [31:0]          sequence_i,
  output logic                 irq_o,
  /// Fetching of descriptors.
  output logic                 run_o,
  input  logic                 fetch_idle_i,
  output logic [31:0]          mask_o,
  output logic                 flush_o,
  output logic                 kill_o,
  /// The next one.
  input  logic                 valid_i,
  output logic                 ready_o,
  input  logic [3:0]           op_i,
  input  logic                 after_i,
  input  logic [63:0]          source_i,
  input  logic [gw_pkg::PaWidth-1:0] dest_i,
  input  gw_pkg::dma_job_t     job_i,
  input  logic                 legal_i,
  input  logic                 fault_i,
  /// Jobs: 0 reads the device, 1 the host, 2 clears.
  output logic [2:0]           job_valid_o,
  input  logic [2:0]           job_ready_i,
  output gw_pkg::dma_job_t     job_o,
  /// Words written: ports 0 device, 1 host.
  output logic [1:0]           word_valid_o,
  input  logic [1:0]           word_ready_i,
  output gw_pkg::dma_word_t    word_o,
  input  logic                 fence_done_i,
  input  logic                 fence_fault_i,
  /// Answers to the fault unit.
  output logic                 respond_valid_o,
  input  logic                 respond_ready_i,
  output logic [63:0]          respond_o,
  /// The scoreboard.
  output logic                 alloc_o,
  input  logic                 alloc_ready_i,
  input  gw_pkg::dma_slot_t    alloc_slot_i,
  output logic                 alloc_job_o,
  output logic                 alloc_word_o,
  output logic [2:0]           alloc_cause_o,
  input  logic                 empty_i,
  input  logic                 oldest_done_i,
  input  logic [2:0]           oldest_error_i,
  input  logic                 oldest_fence_i,
  input  logic                 oldest_irq_i,
  input  logic [31:0]          oldest_value_i,
  output logic                 retire_o
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned HostBit = HostApertureBit;

  // Drain: nothing is begun any more, what is under way ends. Rest: stopped, until it is turned off.
  typedef enum logic [2:0] {
    Off,
    Run,
    Drain,
    Rest
  } state_e;
  state_e state_q;
  logic [31:0] head_q, fence_q, mask_q;
  logic [2:0] cause_q;
  logic halted_q, failed_q;
  assign mask_o = mask_q;
  assign run_o = state_q == Run;
  assign kill_o = state_q == Drain;
  assign flush_o = state_q != Run;

  // Begin, in three cycles: the descriptor is looked at (its sequence is compared), whoever does it has room, go. What was
  // found in one cycle holds in the next: room is used up by this alone.
  logic hold_q, reached_q, looked_q, go_q, answered_q, may, room;
  logic [31:0] beyond;
  assign beyond = sequence_i - source_i[31:0];

  logic bad, is_job, is_word, is_respond;
  logic [2:0] lane;
  assign bad = fault_i || !legal_i;
  assign is_job = !bad && (op_i == 4'(DmaCopy) || op_i == 4'(DmaClear));
  assign is_word = !bad && op_i == 4'(DmaEntry);
  assign is_respond = !bad && op_i == 4'(DmaRespond);
  assign lane = (op_i == 4'(DmaClear)) ? 3'b100 : job_i.src[HostBit-DmaLineShift] ? 3'b010 : 3'b001;
  assign may = valid_i && looked_q && !go_q && state_q == Run && !halted_q && (!hold_q || answered_q) &&
               alloc_ready_i && (!after_i || empty_i);

  // An answer is offered until it is taken; then its descriptor goes.
  logic words_room;
  always_comb begin
    room = 1'b1;
    if (is_job) room = (lane & job_ready_i) != '0;
    else if (is_word) room = words_room;
    else if (is_respond) room = answered_q;
    else if (!bad && op_i == 4'(DmaWait)) room = reached_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      looked_q <= 1'b0;
      reached_q <= 1'b0;
      go_q <= 1'b0;
      respond_valid_o <= 1'b0;
      answered_q <= 1'b0;
    end else begin
      looked_q <= valid_i && !go_q && state_q == Run;
      reached_q <= valid_i && !go_q && !beyond[31];
      go_q <= may && room;
      respond_valid_o <= may && is_respond && !answered_q && !(respond_valid_o && respond_ready_i);
      if (go_q || state_q != Run) answered_q <= 1'b0;
      else if (respond_valid_o && respond_ready_i) answered_q <= 1'b1;
    end
  end

  assign ready_o = go_q;
  assign alloc_o = go_q;
  assign alloc_job_o = is_job;
  assign alloc_word_o = is_word;
  assign alloc_cause_o = fault_i ? 3'(DmaCauseFetch) : !legal_i ? 3'(DmaCauseIllegal) : 3'(DmaCauseNone);
  assign job_valid_o = (go_q && is_job) ? lane : '0;
  assign respond_o = source_i;
  always_comb begin
    job_o = job_i;
    job_o.slot = alloc_slot_i;
  end

  // Words: entries, and fence numbers between them.
  localparam int unsigned Words = 4;
  logic fence_wants_q, fence_waits_q, fence_goes, words_ready, word_valid;
  logic [$clog2(Words+1)-1:0] words;
  dma_word_t word;
  assign fence_goes = fence_wants_q && words_ready && !(go_q && is_word);
  // One more may come before this one does.
  assign words_room = words < 3'(Words - 1);
  always_comb begin
    word = '{fence: 1'b0, slot: alloc_slot_i, addr: dest_i, data: source_i};
    if (fence_goes) word = '{fence: 1'b1, slot: '0, addr: {cfg_i.fence_addr, 2'b00}, data: 64'(oldest_value_i)};
  end

  gw_fifo #(
    .T    (dma_word_t),
    .Depth(Words)
  ) u_words (
    .clk_i,
    .rst_ni,
    .in_valid_i (fence_goes || (go_q && is_word)),
    .in_ready_o (words_ready),
    .in_data_i  (word),
    .out_valid_o(word_valid),
    .out_ready_i((word_valid_o & word_ready_i) != '0),
    .out_data_o (word_o),
    .usage_o    (words)
  );
  assign word_valid_o = {word_valid && word_o.addr[HostBit], word_valid && !word_o.addr[HostBit]};

  // Give back. A failed one stays for its index to be seen; behind it everything is given back without notice.
  logic first, fence_needed, fence_over, give, started;
  assign first = oldest_done_i && !failed_q;
  assign fence_needed = oldest_fence_i && cfg_i.fence_write;
  assign fence_over = fence_waits_q && fence_done_i;
  assign give = first && oldest_error_i == 3'(DmaCauseNone) && (!fence_needed || (fence_over && !fence_fault_i));
  assign retire_o = give || (oldest_done_i && (failed_q || oldest_error_i != 3'(DmaCauseNone))) ||
                    (first && fence_over && fence_fault_i);
  // The head is there a cycle before the fetching begins.
  assign started = state_q == Off && cfg_i.enable && fetch_idle_i && head_q == cfg_i.first && !hold_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Off;
      head_q <= '0;
      fence_q <= '0;
      mask_q <= '0;
      cause_q <= 3'(DmaCauseNone);
      halted_q <= 1'b0;
      failed_q <= 1'b0;
      fence_wants_q <= 1'b0;
      fence_waits_q <= 1'b0;
      irq_o <= 1'b0;
      hold_q <= 1'b0;
    end else begin
      irq_o <= 1'b0;
      // Before what failed is given back, so that nothing with `after` takes it for done.
      hold_q <= cfg_i.cancel || !cfg_i.enable || failed_q || (retire_o && !give);
      unique case (state_q)
        Off: begin
          halted_q <= 1'b0;
          failed_q <= 1'b0;
          mask_q <= 32'hffff_ffff >> (5'd31 - cfg_i.log2_size_less1);
          if (cfg_i.enable) head_q <= cfg_i.first;
          if (started) begin
            state_q <= Run;
            cause_q <= 3'(DmaCauseNone);
          end
        end
        Run: begin
          // A descriptor that is none ends it all when its turn comes.
          if (go_q && bad) halted_q <= 1'b1;
          // An answer that was taken is of a descriptor that goes.
          if (hold_q && !go_q && !respond_valid_o && !answered_q) state_q <= Drain;
          if (cfg_i.cancel) cause_q <= 3'(DmaCauseAborted);
        end
        Drain: begin
          if (empty_i && fetch_idle_i && !fence_waits_q) begin
            state_q <= cfg_i.enable ? Rest : Off;
            irq_o <= cfg_i.enable;
          end
        end
        Rest: if (!cfg_i.enable) state_q <= Off;
        default: state_q <= Off;
      endcase
      if (give) begin
        head_q <= (head_q + 32'd1) & mask_q;
        if (oldest_fence_i) fence_q <= oldest_value_i;
        if (oldest_irq_i) irq_o <= 1'b1;
      end
      // What failed first is what stopped it, unless software did.
      if (retire_o && !give && !failed_q) begin
        failed_q <= 1'b1;
        if (oldest_error_i == 3'(DmaCauseNone)) cause_q <= 3'(DmaCauseFence);
        else if (oldest_error_i != 3'(DmaCauseAborted)) cause_q <= oldest_error_i;
      end
      // The fence number's way: wanted, taken by the port, answered.
      if (first && oldest_error_i == 3'(DmaCauseNone) && fence_needed && !fence_wants_q && !fence_waits_q) fence_wants_q <= 1'b1;
      if (fence_goes) begin
        fence_wants_q <= 1'b0;
        fence_waits_q <= 1'b1;
      end
      if (fence_over) fence_waits_q <= 1'b0;
    end
  end

  assign status_o = '{
    on: state_q != Off,
    stopped: state_q == Rest,
    cause: cause_q,
    head: head_q,
    fence: fence_q
  };

  logic unused;
  assign unused = ^{cfg_i.base, cfg_i.tail, beyond[30:0]};

  `GW_INVARIANT(NothingBegunAtRest_A, state_q inside {Run, Drain} || empty_i)
  `GW_INVARIANT(WordRoom_A, !(go_q && is_word) || words_ready)
  `GW_INVARIANT(JobRoom_A, !(go_q && is_job) || (lane & job_ready_i) != '0)
  `GW_INVARIANT(GoesOnlyRunning_A, !go_q || state_q == Run)
  `GW_INVARIANT(FenceIsOldest_A, !(fence_wants_q || fence_waits_q) || (oldest_done_i && oldest_fence_i))
  `GW_COVER(WaitHolds_C, valid_i && looked_q && op_i == 4'(DmaWait) && legal_i && !reached_q)
  `GW_COVER(AfterHolds_C, valid_i && after_i && !empty_i)
  `GW_COVER(ErrorBehindError_C, oldest_done_i && failed_q && oldest_error_i != '0)

endmodule
