// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Reads of the page cache: bursts under way, beat by beat, in order an ID and out of order among IDs.
//
//   AR ─> current burst ─> lookup ─> answered, or the burst is put aside: for a line, for an event, for one before it
//             ^                                                      │
//             └──────────── bursts that may go on <──────────────────┘
//
// Contract
// - An address taken in cycle t is looked up from t+1 on, a beat a cycle. A burst that is put aside stands still at the beat that was not
//   answered; meanwhile others go on. Up to `Slots` bursts.
// - A burst behind another one of its ID is looked up once, so that what it misses is on its way, and put aside.
// - Of what is looked up each beat is decided in the next cycle (done_*): answered (`done_ok_i`), or one of the reasons to wait.
// - Who waits and may go on is chosen a cycle ahead; one that was told to come again at once (`done_again_i`) is chosen a cycle later.
// - `pinned_o`: pages that a burst waits for, or has waited for and not yet met, if none of its ID is before it.
// - A line that did not come (`land_error_i`) is told to the bursts that wait for it, and to no other.
`include "gw_assert.svh"

module gw_cache_reads #(
  /// Bursts, a power of two, 2 to 16.
  parameter int unsigned Slots = 8,
  parameter int unsigned Pages = 16,
  parameter int unsigned RowWidth = 4,
  /// Bits of the number of 4 KiB in memory.
  parameter int unsigned BlockWidth = 44,
  /// Bits of an ID, and the address channel that has it (gw_axi_typedef.svh).
  parameter int unsigned IdWidth = gw_axi_pkg::AxiIdWidth,
  parameter type ax_t = gw_axi_pkg::axi_ax_t,
  /// Derived.
  localparam int unsigned SlotWidth = $clog2(Slots),
  localparam int unsigned IdxWidth = $clog2(Pages)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  ar_valid_i,
  output logic                  ar_ready_o,
  input  ax_t                   ar_i,
  /// The beat that is looked up.
  output logic                  look_valid_o,
  input  logic                  look_go_i,
  output logic [SlotWidth-1:0]  look_slot_o,
  output logic [BlockWidth-1:0] look_block_o,
  output logic [11:0]           look_offset_o,
  output logic [7:0]            look_left_o,
  /// Last line that the rest of the burst needs.
  output logic [5:0]            look_last_o,
  /// It is a burst's first one, for the first time.
  output logic                  look_first_o,
  /// It is of the burst that is being put aside: not to be decided.
  output logic                  look_kill_o,
  /// The beat decided.
  output logic                  blocked_o,
  output logic                  failed_o,
  output logic [IdWidth-1:0]    id_o,
  input  logic                  done_valid_i,
  input  logic [SlotWidth-1:0]  done_slot_i,
  input  logic [11:0]           done_offset_i,
  input  logic [7:0]            done_left_i,
  input  logic                  done_ok_i,
  input  logic                  done_again_i,
  input  logic                  done_line_i,
  input  logic                  done_order_i,
  input  logic [RowWidth-1:0]   done_row_i,
  /// What bursts wait for: an event of the cycle before, a line that lands.
  input  logic                  event_i,
  input  logic                  land_i,
  input  logic                  land_error_i,
  input  logic [RowWidth-1:0]   land_row_i,
  input  logic [5:0]            land_line_i,
  output logic [Pages-1:0]      pinned_o
);

  import gw_axi_pkg::*;

  if (Slots < 2 || Slots > 16 || (Slots & (Slots - 1)) != 0) begin : gen_bad_slots
    $fatal(1, "gw_cache_reads: Slots must be a power of two, 2 to 16");
  end

  typedef logic [SlotWidth-1:0] slot_t;
  typedef enum logic [2:0] {
    Idle,
    Flight,
    Ready,
    Line,
    Order,
    Event
  } state_e;
  typedef struct packed {
    logic [BlockWidth-1:0] block;
    logic [2:0] size;
    logic [1:0] burst;
    logic [11:0] wrap;
  } burst_t;
  typedef struct packed {
    logic [11:0] offset;
    logic [7:0] left;
  } place_t;

  // What stays, where the burst began, and where it was put aside.
  burst_t burst_mem[Slots];
  place_t begin_mem[Slots], aside_mem[Slots];
  state_e state_q[Slots];
  logic [Slots-1:0][IdWidth-1:0] id_q;
  logic [Slots-1:0] moved_q, failed_q, pin_q, idle, ready, wakes, same_id;
  // Bursts of its ID before each one; what has ended in the cycle before (ended_q) still stands there.
  logic [Slots-1:0] behind_q[Slots], behind[Slots];
  logic [Slots-1:0] ended_q;
  logic [RowWidth-1:0] row_q[Slots];
  logic [5:0] line_q[Slots];

  // The current burst.
  logic current_q, first_q, step, kill, load, resume, take, any_idle, any_ready, pick_valid_q, ends, put_aside;
  slot_t slot_q, idle_idx, ready_idx, pick_q;
  burst_t burst_q, ar_burst, next_burst;
  place_t place_q, ar_place, next_place;
  logic [11:0] stepped;

  for (genvar i = 0; i < Slots; i++) begin : gen_state
    assign idle[i] = state_q[i] == Idle;
    assign ready[i] = state_q[i] == Ready;
    assign same_id[i] = !idle[i] && id_q[i] == ar_i.id;
  end
  gw_first_one #(
    .Width(Slots)
  ) u_idle (
    .bits_i(idle),
    .any_o (any_idle),
    .idx_o (idle_idx)
  );
  gw_first_one #(
    .Width(Slots)
  ) u_ready (
    .bits_i((ready | wakes) & ~(pick_valid_q ? Slots'(1) << pick_q : '0)),
    .any_o (any_ready),
    .idx_o (ready_idx)
  );
  gw_cache_step u_step (
    .offset_i(place_q.offset),
    .size_i  (burst_q.size),
    .burst_i (burst_q.burst),
    .wrap_i  (burst_q.wrap),
    .next_o  (stepped)
  );

  assign ends = done_valid_i && done_ok_i && done_left_i == '0;
  assign put_aside = done_valid_i && !done_ok_i;
  // What comes behind a beat that is put aside is not looked up: it comes again.
  assign kill = put_aside && current_q && slot_q == done_slot_i;
  assign look_kill_o = kill;
  assign look_valid_o = current_q;
  assign look_first_o = first_q;
  assign step = current_q && look_go_i;
  assign load = !current_q || (step && place_q.left == '0);
  assign resume = load && pick_valid_q;
  assign ar_ready_o = load && !pick_valid_q && any_idle;
  assign take = ar_ready_o && ar_valid_i;

  assign ar_burst = '{
    block: ar_i.addr[12+:BlockWidth],
    size: ar_i.size,
    burst: ar_i.burst,
    wrap: 12'((20'(ar_i.len) << ar_i.size) | ((20'd1 << ar_i.size) - 20'd1))
  };
  assign ar_place = '{offset: ar_i.addr[11:0], left: ar_i.len};
  assign next_burst = resume ? burst_mem[pick_q] : ar_burst;
  assign next_place = resume ? (moved_q[pick_q] ? aside_mem[pick_q] : begin_mem[pick_q]) : ar_place;

  always_ff @(posedge clk_i) begin
    if (take) begin
      burst_mem[idle_idx] <= ar_burst;
      begin_mem[idle_idx] <= ar_place;
    end
    // Where it stands if it is put aside, which is known late.
    if (done_valid_i) aside_mem[done_slot_i] <= '{offset: done_offset_i, left: done_left_i};
    if (load) begin
      slot_q <= resume ? pick_q : idle_idx;
      first_q <= !resume;
      burst_q <= next_burst;
      place_q <= next_place;
    end else if (step) begin
      place_q <= '{offset: stepped, left: place_q.left - 8'd1};
      first_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      current_q <= 1'b0;
      pick_valid_q <= 1'b0;
    end else begin
      if (load) current_q <= resume || take;
      else if (kill) current_q <= 1'b0;
      if (resume || !pick_valid_q) pick_valid_q <= any_ready;
    end
  end
  always_ff @(posedge clk_i) if (resume || !pick_valid_q) pick_q <= ready_idx;

  assign look_slot_o = slot_q;
  assign look_block_o = burst_q.block;
  assign look_offset_o = place_q.offset;
  assign look_left_o = place_q.left;
  logic [11:0] final_offset;
  assign final_offset = place_q.offset + 12'(20'(place_q.left) << burst_q.size);
  assign look_last_o = (burst_q.burst == BurstIncr) ? final_offset[11:6] : place_q.offset[11:6];

  // Of the beat decided, from the cycle in which it was looked up; what the beat before it has ended or answered is not in it yet.
  logic [Slots-1:0] before_q;
  logic was_failed_q, answered_q;
  assign blocked_o = (before_q & ~ended_q) != '0;
  assign failed_o = was_failed_q && !answered_q;
  always_ff @(posedge clk_i) begin
    before_q <= behind[slot_q];
    was_failed_q <= failed_q[slot_q];
    answered_q <= done_valid_i && done_ok_i && done_slot_i == slot_q;
  end
  assign id_o = id_q[done_slot_i];

  for (genvar i = 0; i < Slots; i++) begin : gen_slot
    logic taken, decided, landed, wait_now;
    state_e why;
    assign taken = take && idle_idx == slot_t'(i);
    assign decided = done_valid_i && done_slot_i == slot_t'(i);
    assign behind[i] = behind_q[i] & ~ended_q;
    assign wakes[i] = (state_q[i] == Line && landed) || (state_q[i] == Event && event_i) || (state_q[i] == Order && behind[i] == '0);
    assign landed = land_i && land_row_i == row_q[i] && land_line_i == line_q[i];
    // What it waits for may come in the cycle in which it is put aside: then it asks again.
    assign why = done_again_i ? Ready : done_line_i ? Line : done_order_i ? Order : Event;
    assign wait_now = decided && !done_ok_i;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        state_q[i] <= Idle;
        failed_q[i] <= 1'b0;
        pin_q[i] <= 1'b0;
        moved_q[i] <= 1'b0;
        behind_q[i] <= '0;
        ended_q[i] <= 1'b0;
      end else begin
        ended_q[i] <= decided && ends;
        if (taken) begin
          state_q[i] <= Flight;
          behind_q[i] <= same_id;
          moved_q[i] <= 1'b0;
        end else begin
          behind_q[i] <= behind[i];
          if (wait_now) state_q[i] <= why;
          else if (decided && ends) state_q[i] <= Idle;
          else if (resume && pick_q == slot_t'(i)) state_q[i] <= Flight;
          else if (wakes[i]) state_q[i] <= Ready;
          if (decided) moved_q[i] <= 1'b1;
          if (wait_now && done_line_i) pin_q[i] <= 1'b1;
          else if (decided && !done_again_i) pin_q[i] <= 1'b0;
          if (state_q[i] == Line && landed && land_error_i) failed_q[i] <= 1'b1;
          else if (decided && done_ok_i) failed_q[i] <= 1'b0;
        end
      end
    end
    always_ff @(posedge clk_i) begin
      if (taken) id_q[i] <= ar_i.id;
      if (decided) begin
        row_q[i] <= done_row_i;
        line_q[i] <= done_offset_i[11:6];
      end
    end
    `GW_INVARIANT(DecidedFlies_A, !decided || state_q[i] == Flight)
    `GW_INVARIANT(PickedIsReady_A, !(pick_valid_q && pick_q == slot_t'(i)) || ready[i])
  end

  always_comb begin
    pinned_o = '0;
    for (int unsigned i = 0; i < Slots; i++) begin
      if (pin_q[i]) pinned_o[row_q[i][RowWidth-1-:IdxWidth]] = 1'b1;
    end
  end

  logic unused;
  assign unused = ^{ar_i.addr[63:12+BlockWidth], ar_i.lock, ar_i.cache, ar_i.prot, ar_i.qos, ar_i.region, final_offset[5:0]};

  `GW_INVARIANT(BlockedIsNotAnswered_A, !done_valid_i || !done_ok_i || !blocked_o)
  `GW_ASSERT(AddressStable_A, ar_valid_i && !ar_ready_o |=> ar_valid_i && $stable(ar_i))
  `GW_COVER(FailedAnswer_C, done_valid_i && done_ok_i && failed_o)
  `GW_COVER(AllWait_C, !any_idle && !current_q && !pick_valid_q)

endmodule
