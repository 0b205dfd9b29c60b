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
// - No path from an input but ask_ready_i, fail_ready_i and again_i to a register's enable; outputs are registered state only.
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
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      park_q <= 1'b0;
      wake_q <= '0;
    end else begin
      park_q <= park_i;
      wake_q <= wake_i;
    end
  end
  always_ff @(posedge clk_i) begin
    park_slot_q <= park_slot_i;
    park_number_q <= park_number_i;
  end

  // Numbers of which a wake-up came since the slots were last all looked at, and how it was. A second one does not make the slots
  // of the first fail.
  logic [Numbers-1:0] woken_q, failed_q;
  logic [Slots-1:0] ended_q;
  logic sweep, woken_new;
  count_t left_q, end_left_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      woken_q <= '0;
      failed_q <= '0;
    end else begin
      if (!sweep) woken_q <= '0;
      if (wake_q.valid) begin
        woken_q[wake_q.park] <= 1'b1;
        failed_q[wake_q.park] <= !wake_q.ok && (failed_q[wake_q.park] || !(sweep && woken_q[wake_q.park]));
      end
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ended_q <= '0;
    end else begin
      if (end_i) ended_q <= '1;
      if (alloc_i) ended_q[alloc_slot_i] <= alloc_ended_i;
    end
  end

  // Who waits, and the one that is looked at.
  entry_t entry_in, entry_out, look_q;
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
  // Not for the wake-up before, nor for one in the answer's own cycle; and nobody waits who may not.
  assign woken_new = woken_q[park_number_q] || (wake_q.valid && wake_q.park == park_number_q) || ended_q[park_slot_q];
  assign again_ready_o = !park_q;
  assign put = park_q || again_i || back;
  always_comb begin
    entry_in = look_q;
    if (again_i) entry_in = '{slot: again_slot_i, park: '0, go: 1'b1};
    if (park_q) entry_in = '{slot: park_slot_q, park: park_number_q, go: woken_new};
  end

  assign woken = look_q.go || woken_q[look_q.park];
  assign fail_ended_o = ended_q[look_q.slot];
  assign fails = fail_ended_o || (!look_q.go && woken && failed_q[look_q.park]);
  assign fail_valid_o = look_valid_q && fails;
  assign ask_valid_o = look_valid_q && woken && !fails;
  assign slot_o = look_q.slot;
  assign back = look_valid_q && !woken && !fails && !park_q && !again_i;
  assign done = (fail_valid_o && fail_ready_i) || (ask_valid_o && ask_ready_i) || back;
  assign take = sweep && (!look_valid_q || done);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) look_valid_q <= 1'b0;
    else if (take) look_valid_q <= waits;
    else if (done) look_valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (take) look_q <= entry_out;
  end

  // Slots still to be looked at: new ones come behind.
  logic nobody;
  assign nobody = !waits && !look_valid_q && !park_q;
  assign sweep = left_q != '0;
  assign some_o = !nobody;
  assign busy_o = end_left_q != '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q <= '0;
      end_left_q <= '0;
      count_o <= '0;
    end else begin
      count_o <= usage + count_t'(look_valid_q) + count_t'(park_q);
      if (wake_q.valid || end_i || (park_q && woken_new) || (again_i && again_ready_o)) left_q <= count_t'(Slots);
      else if (nobody) left_q <= '0;
      else if (done && sweep) left_q <= left_q - 1'b1;
      if (end_i) end_left_q <= count_t'(Slots);
      else if (nobody) end_left_q <= '0;
      else if (done && busy_o) end_left_q <= end_left_q - 1'b1;
    end
  end

  `GW_INVARIANT(Room_A, room || !put)
  `GW_INVARIANT(EndIsLookedAt_A, !busy_o || sweep)
  `GW_COVER(WakesMany_C, ask_valid_o && ask_ready_i && waits && entry_out.park == look_q.park)
  `GW_COVER(NumberAgain_C, park_q && woken_new)
  `GW_COVER(Ended_C, fail_valid_o && fail_ended_o)

endmodule
