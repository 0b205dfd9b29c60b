// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Slots of a translator channel that wait, without a translation, for something that is not of this channel: parked ones for
// a wake-up of their number, and those whose answer was dropped for their turn to ask again.
//
// They circulate: after a wake-up, and after an end, every slot is looked at once, one a cycle. There is room for all, so nothing
// is ever held up by a slot that waits here, and a wake-up of many is no wider than one of one.
//
// Contract
// - park_i: an answer parks a slot on a number. again_i: a slot asks again; taken with again_ready_o. A slot is here at most once.
// - wake_i: slots that were parked on its number in cycles before ask again or fail, within 2 * Slots cycles in which ask_ready_i and
//   fail_ready_i are high. Wake-ups may come in every cycle. A number may be used again at once: a slot that is parked on it
//   while the wake-up before is under way asks again too early, and is answered anew.
// - ask_*: the slot asks again. fail_*: it is a fault: of the page, or with fail_ended_o because the port or the context ended.
// - end_i: slots taken up to this cycle, and one taken with alloc_ended_i, never ask again: they fail where they would. busy_o, from
//   the cycle after it: one of them is here and was not told yet. It falls under any wake-ups.
// - some_o: a slot is here. count_o: slots here, a cycle late.
// - A slot is looked at in one cycle, and told from the next on: outputs are registers. At most every second cycle one goes on. No
//   path from an input but again_i to a register's enable.
`include "gw_assert.svh"

module gw_parking #(
  /// Slots, 2 to 256.
  parameter int unsigned Slots = 64,
  /// Derived.
  localparam int unsigned SlotWidth = $clog2(Slots),
  localparam int unsigned CountWidth = $clog2(Slots + 1)
) (
  input  logic clk_i,
  input  logic rst_ni,
  /// A slot is taken.
  input  logic                 alloc_i,
  input  logic                 alloc_ended_i,
  input  logic [SlotWidth-1:0] alloc_slot_i,
  /// Those that come.
  input  logic                 park_i,
  input  logic [SlotWidth-1:0] park_slot_i,
  input  gw_pkg::park_t        park_number_i,
  input  logic                 again_i,
  output logic                 again_ready_o,
  input  logic [SlotWidth-1:0] again_slot_i,
  /// What they wait for, and what ends them.
  input  gw_pkg::wake_t        wake_i,
  input  logic                 end_i,
  /// The slot that goes on.
  output logic                 ask_valid_o,
  input  logic                 ask_ready_i,
  output logic                 fail_valid_o,
  input  logic                 fail_ready_i,
  output logic                 fail_ended_o,
  output logic [SlotWidth-1:0] slot_o,
  output logic                  some_o,
  output logic [CountWidth-1:0] count_o,
  output logic                  busy_o
);

  typedef logic [SlotWidth-1:0] slot_t;
  typedef logic [CountWidth-1:0] count_t;
  localparam int unsigned Numbers = gw_pkg::ParkNumbers;

  // `go`: asks again when it is looked at.
  typedef struct packed {
    slot_t         slot;
    gw_pkg::park_t park;
    logic          go;
  } entry_t;

  // An answer, and a wake-up a cycle later still, so that a number's slots are here before its wake-up.
  logic park_q;
  slot_t park_slot_q;
  gw_pkg::park_t park_number_q;
  gw_pkg::wake_t wake_q;
  logic end_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      park_q <= 1'b0;
      wake_q <= '0;
      end_q <= 1'b0;
    end else begin
      park_q <= park_i;
      wake_q <= wake_i;
      end_q <= end_i;
    end
  end
  always_ff @(posedge clk_i) begin
    park_slot_q <= park_slot_i;
    park_number_q <= park_number_i;
  end

  // Numbers of which a wake-up came since the slots were last all looked at, and how it was. A second one does not make the slots
  // of the first fail. LUT RAM in banks, so that all is cleared in as many cycles as a bank has words; what is not cleared yet, as after
  // a reset, lets a slot that comes ask again too early, no more.
  localparam int unsigned BankShift = 4;
  localparam int unsigned Banks = (Numbers + (1 << BankShift) - 1) >> BankShift;
  typedef struct packed {
    logic woken;
    logic failed;
  } number_t;
  number_t [Banks-1:0] bank_wake, bank_look;
  logic [Banks-1:0] bank_park;
  number_t of_wake, of_look;
  entry_t look_q;
  logic [Slots-1:0] ended_q;
  logic sweep, woken_again, woken_new, dirty_q, stale_q, some_ended_q;
  logic [BankShift-1:0] clear_q;
  count_t left_q, end_left_q;
  for (genvar i = 0; i < Banks; i++) begin : gen_bank
    number_t mem[1 << BankShift];
    always_ff @(posedge clk_i) begin
      if (wake_q.valid ? 32'(wake_q.park[gw_pkg::ParkWidth-1:BankShift]) == i : stale_q) begin
        mem[wake_q.valid ? wake_q.park[BankShift-1:0] : clear_q] <= '{
          woken: wake_q.valid,
          failed: wake_q.valid && !wake_q.ok && (of_wake.failed || !(sweep && of_wake.woken))
        };
      end
    end
    assign bank_wake[i] = mem[wake_q.park[BankShift-1:0]];
    assign bank_park[i] = mem[park_number_q[BankShift-1:0]].woken;
    assign bank_look[i] = mem[look_q.park[BankShift-1:0]];
  end
  assign of_wake = bank_wake[wake_q.park[gw_pkg::ParkWidth-1:BankShift]];
  assign woken_again = bank_park[park_number_q[gw_pkg::ParkWidth-1:BankShift]];
  assign of_look = bank_look[look_q.park[gw_pkg::ParkWidth-1:BankShift]];

  // stale_q: all were looked at since the latest wake-up.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      dirty_q <= 1'b1;
      stale_q <= 1'b0;
      clear_q <= '0;
    end else if (wake_q.valid) begin
      dirty_q <= 1'b1;
      stale_q <= 1'b0;
      clear_q <= '0;
    end else if (stale_q) begin
      clear_q <= clear_q + 1'b1;
      if (clear_q == '1) {dirty_q, stale_q} <= '0;
    end else begin
      stale_q <= dirty_q && !sweep;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ended_q <= '0;
      some_ended_q <= 1'b0;
    end else begin
      some_ended_q <= |ended_q;
      if (end_i) ended_q <= '1;
      if (alloc_i) ended_q[alloc_slot_i] <= alloc_ended_i;
    end
  end

  // Who waits, and the one that is looked at.
  entry_t entry_in, entry_out;
  logic put, room, waits, take, look_valid_q, woken, fails, done, back;
  count_t usage;
  gw_fifo #(
    .T    (entry_t),
    .Depth(Slots)
  ) u_waiting (
    .clk_i,
    .rst_ni,
    .in_valid_i (put),
    .in_ready_o (room),
    .in_data_i  (entry_in),
    .out_valid_o(waits),
    .out_ready_i(take),
    .out_data_o (entry_out),
    .usage_o    (usage)
  );
  // Not for the wake-up before, nor for one in the answer's own cycle.
  assign woken_new = woken_again || (wake_q.valid && wake_q.park == park_number_q);
  assign again_ready_o = !park_q;
  assign put = park_q || again_i || back;
  always_comb begin
    entry_in = look_q;
    if (again_i) entry_in = '{slot: again_slot_i, park: '0, go: 1'b1};
    if (park_q) entry_in = '{slot: park_slot_q, park: park_number_q, go: woken_new};
  end

  // What becomes of it; then it is told, unless it goes back.
  typedef struct packed {
    slot_t slot;
    logic  ask;
    logic  ended;
  } told_t;
  told_t told_q;
  logic told_valid_q, told_taken, ended;
  assign woken = look_q.go || of_look.woken;
  // One that was looked at in an end's cycle is told what it is a cycle later.
  assign ended = ended_q[look_q.slot];
  assign fails = ended || (!look_q.go && of_look.woken && of_look.failed);
  // Every second cycle: whether it is taken is known late.
  assign told_taken = told_q.ask ? ask_ready_i && !end_q : fail_ready_i;
  assign back = look_valid_q && !woken && !fails && !park_q && !again_i;
  assign done = (look_valid_q && (woken || fails) && !told_valid_q) || back;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) told_valid_q <= 1'b0;
    else told_valid_q <= told_valid_q ? !told_taken : look_valid_q && (woken || fails);
  end
  always_ff @(posedge clk_i) begin
    if (!told_valid_q) told_q <= '{slot: look_q.slot, ask: !fails, ended: ended};
    else if (end_q) {told_q.ask, told_q.ended} <= 2'b01;
  end
  assign ask_valid_o = told_valid_q && told_q.ask && !end_q;
  assign fail_valid_o = told_valid_q && !told_q.ask;
  assign fail_ended_o = told_q.ended;
  assign slot_o = told_q.slot;

  assign take = sweep && (!look_valid_q || done);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) look_valid_q <= 1'b0;
    else if (take) look_valid_q <= waits;
    else if (done) look_valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (take) look_q <= entry_out;
  end

  // Slots still to be looked at: new ones come behind; one that comes may go on at once.
  logic nobody, goes;
  assign goes = (park_q && (woken_new || some_ended_q || end_q)) || (again_i && again_ready_o);
  assign nobody = !waits && !look_valid_q && !park_q;
  assign sweep = left_q != '0;
  assign some_o = !nobody || told_valid_q;
  assign busy_o = end_left_q != '0 || (told_valid_q && (told_q.ended || end_q));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q <= '0;
      end_left_q <= '0;
      count_o <= '0;
    end else begin
      count_o <= usage + count_t'(look_valid_q) + count_t'(told_valid_q) + count_t'(park_q);
      if (wake_q.valid || end_i || goes) left_q <= count_t'(Slots);
      else if (nobody) left_q <= '0;
      else if (done && sweep) left_q <= left_q - 1'b1;
      if (end_i) end_left_q <= count_t'(Slots);
      else if (nobody) end_left_q <= '0;
      else if (done && end_left_q != '0) end_left_q <= end_left_q - 1'b1;
    end
  end

  `GW_INVARIANT(Room_A, room || !put)
  `GW_INVARIANT(EndIsLookedAt_A, end_left_q == '0 || sweep)
  `GW_COVER(WakesMany_C, ask_valid_o && ask_ready_i && waits && entry_out.park == look_q.park)
  `GW_COVER(NumberAgain_C, park_q && woken_new)
  `GW_COVER(Ended_C, fail_valid_o && fail_ended_o)

endmodule
