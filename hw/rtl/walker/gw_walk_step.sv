// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// One step of a walk: finds the line of page-table entries that a waiter needs next, joins its fetch, or begins one; and selects
// waiters whose beats are there, one a cycle (gw_walk_lists).
//
// Contract
// - One step a cycle. Steps of walks under way (`again_*`, always taken) go before the first ones of new requests (`first_*`,
//   registered here).
// - A step taken in cycle t is in its list from t+1 on, and a read it begins is offered to memory in t+1.
// - Steps wait only while no slot can be replaced; slots come free as beats return and their waiters are replayed, which never
//   waits for a step. Reads are queued for every slot, so memory's back-pressure holds up no step.
// - A prefetch begins only in a cycle without a step, with no read queued, and if a slot is left for the next step; so it holds
//   up no step, and at most one read, by as long as memory takes to accept its own.
// - What a waiter's last step was stays readable at `rd_*` until its next one.
`include "gw_assert.svh"

module gw_walk_step #(
  /// Walks in flight.
  parameter int unsigned Requests = 64,
  /// Line slots.
  parameter int unsigned Lines = 32,
  /// Beats of 64 bytes of a line: 1, 2, 4, 8 or 16.
  parameter int unsigned LineBeats = 1,
  /// Lines are prefetched.
  parameter bit Prefetch = 1'b1,
  /// A step of a walk: waiter, fault, cause, retry, is_global, update, denied, told, level, line, index.
  parameter type step_t = logic,
  /// Derived.
  localparam int unsigned IdWidth = $clog2(Requests),
  localparam int unsigned Places = Lines * LineBeats,
  localparam int unsigned PlaceWidth = (Places > 1) ? $clog2(Places) : 1,
  localparam int unsigned LineWidth = gw_pkg::PaWidth - $clog2(gw_spec_pkg::PtBeatBytes * LineBeats)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic inval_i,
  input logic first_valid_i,
  output logic first_ready_o,
  input step_t first_i,
  /// The first step taken in the cycle before is withdrawn.
  input logic first_cancel_i,
  input logic again_valid_i,
  input step_t again_i,
  /// Steps after an update; wait for a cycle without one of `again_*`.
  input logic updated_valid_i,
  output logic updated_ready_o,
  input step_t updated_i,
  output logic ar_valid_o,
  input logic ar_ready_i,
  output logic [LineWidth-1:0] ar_line_o,
  /// Place (see gw_line_table) of the beat that is wanted first.
  output logic [PlaceWidth-1:0] ar_place_o,
  input logic ret_i,
  input logic [PlaceWidth-1:0] ret_place_i,
  input logic ret_error_i,
  /// A waiter whose beat is there, or that needs none.
  output logic sel_valid_o,
  output logic [PlaceWidth-1:0] sel_place_o,
  output logic [IdWidth-1:0] sel_id_o,
  input logic drop_i,
  input logic [PlaceWidth-1:0] drop_place_i,
  input logic [IdWidth-1:0] rd_id_i,
  output step_t rd_step_o,
  /// The waiter began the fetch of that step itself.
  output logic rd_own_o,
  /// Some beat is on its way.
  output logic fetching_o,
  /// Of the waiter `event_id_o`, in the cycle after its step.
  output logic event_merge_o,
  output logic event_line_hit_o,
  output logic event_prefetch_used_o,
  output logic event_read_o,
  output logic [IdWidth-1:0] event_id_o,
  /// Of none. A prefetch's read is one of `event_read_o` too.
  output logic event_prefetch_o,
  output logic event_prefetch_useless_o
);

  localparam int unsigned ListWidth = $clog2(Places + 1);
  localparam int unsigned BeatWidth = (LineBeats > 1) ? $clog2(LineBeats) : 1;

  typedef struct packed {
    logic [LineWidth-1:0] line;
    logic [PlaceWidth-1:0] place;
  } ar_t;
  typedef struct packed {
    step_t step;
    logic own;
  } stored_t;

  step_t first, again, step;
  logic first_valid, first_cancel, first_ready, again_valid, again_in_ready, step_valid, step_live, step_ready;

  gw_slice #(
    .T(step_t)
  ) u_first (
    .clk_i,
    .rst_ni,
    .in_valid_i(first_valid_i),
    .in_ready_o(first_ready_o),
    .in_data_i(first_i),
    .cancel_i(first_cancel_i),
    .out_valid_o(first_valid),
    .out_cancel_o(first_cancel),
    .out_ready_i(first_ready),
    .out_data_o(first)
  );

  // Never full: a waiter has one step at a time.
  gw_fifo #(
    .T(step_t),
    .Depth(Requests)
  ) u_again (
    .clk_i,
    .rst_ni,
    .in_valid_i(again_valid_i || updated_valid_i),
    .in_ready_o(again_in_ready),
    .in_data_i(again_valid_i ? again_i : updated_i),
    .out_valid_o(again_valid),
    .out_ready_i(step_ready),
    .out_data_o(again),
    .usage_o()
  );

  assign updated_ready_o = !again_valid_i;
  assign step_valid = again_valid || first_valid;
  assign step = again_valid ? again : first;
  assign first_ready = step_ready && !again_valid;
  // Comes late in the cycle: only what is written waits for it, no lookup does.
  assign step_live = step_valid && (again_valid || !first_cancel);

  logic hit, hit_fetching, hit_prefetched, victim_valid, spare, needs_line, alloc, useless;
  logic prefetch_want, prefetch, prefetch_done, prefetch_used, touch;
  logic [LineWidth-1:0] prefetch_line, line;
  logic [BeatWidth-1:0] beat;
  logic [PlaceWidth-1:0] hit_place, victim_place;
  logic append, append_fetching;
  logic [ListWidth-1:0] append_list;
  logic [Places-1:0] pending;

  gw_line_table #(
    .Lines(Lines),
    .LineBeats(LineBeats)
  ) u_lines (
    .clk_i,
    .rst_ni,
    .inval_i,
    .lookup_i(step_valid ? needs_line : prefetch_want),
    .line_i(line),
    .beat_i(beat),
    .hit_o(hit),
    .hit_fetching_o(hit_fetching),
    .hit_place_o(hit_place),
    .hit_prefetched_o(hit_prefetched),
    .used_i(step_live && needs_line),
    .victim_valid_o(victim_valid),
    .victim_place_o(victim_place),
    .spare_o(spare),
    .fetching_o,
    .alloc_i(alloc || prefetch),
    .alloc_prefetch_i(prefetch),
    .pending_i(pending),
    .ret_i,
    .ret_place_i,
    .ret_error_i,
    .drop_i,
    .drop_place_i,
    .useless_o(useless)
  );

  // Prefetches look their line up in cycles that no step needs.
  assign line = step_valid ? step.line : prefetch_line;
  assign beat = step_valid ? BeatWidth'(32'(step.index) / gw_spec_pkg::PtBeatEntries) : '0;
  assign prefetch = prefetch_want && !step_valid && !hit && victim_valid && spare && !ar_valid_o && !inval_i;
  assign prefetch_done = prefetch || (prefetch_want && !step_valid && hit);
  assign touch = append && needs_line && !step.retry && (!hit || hit_prefetched);

  if (Prefetch) begin : gen_prefetch
    gw_walk_prefetch #(
      .LineBeats(LineBeats)
    ) u_prefetch (
      .clk_i,
      .rst_ni,
      .inval_i,
      .touch_i(touch),
      .touch_line_i(step.line),
      .used_i(prefetch_used),
      .useless_i(useless),
      .want_o(prefetch_want),
      .line_o(prefetch_line),
      .done_i(prefetch_done)
    );
  end else begin : gen_no_prefetch
    logic unused;
    assign unused = ^{touch, prefetch_done};
    assign prefetch_want = 1'b0;
    assign prefetch_line = '0;
  end

  assign needs_line = !step.fault;
  assign alloc = step_live && needs_line && !hit && victim_valid;
  assign step_ready = !needs_line || hit || victim_valid;

  assign append = step_live && step_ready;
  assign append_fetching = needs_line && (!hit || hit_fetching);
  assign append_list = !needs_line ? ListWidth'(Places) : ListWidth'(hit ? hit_place : victim_place);
  assign prefetch_used = append && needs_line && hit_prefetched;

  // Told a cycle later, so that what a step decides late need not reach counters in the same cycle.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      event_merge_o <= 1'b0;
      event_line_hit_o <= 1'b0;
      event_prefetch_used_o <= 1'b0;
      event_read_o <= 1'b0;
      event_prefetch_o <= 1'b0;
      event_prefetch_useless_o <= 1'b0;
    end else begin
      event_merge_o <= append && needs_line && hit && hit_fetching;
      event_line_hit_o <= append && needs_line && hit && !hit_fetching;
      event_prefetch_used_o <= prefetch_used;
      event_read_o <= alloc || prefetch;
      event_prefetch_o <= prefetch;
      event_prefetch_useless_o <= useless;
    end
  end
  always_ff @(posedge clk_i) event_id_o <= step.waiter;

  // A list more than there are places is for steps that need no line.
  gw_walk_lists #(
    .Requests(Requests),
    .Places(Places)
  ) u_lists (
    .clk_i,
    .rst_ni,
    .append_i(append),
    .append_fetching_i(append_fetching),
    .append_list_i(append_list),
    .append_id_i(step.waiter),
    .ret_i,
    .ret_place_i,
    .sel_valid_o,
    .sel_place_o,
    .sel_id_o,
    .pending_o(pending)
  );

  ar_t ar;
  logic ar_in_ready;
  gw_fifo #(
    .T(ar_t),
    .Depth(Lines)
  ) u_reads (
    .clk_i,
    .rst_ni,
    .in_valid_i(alloc || prefetch),
    .in_ready_o(ar_in_ready),
    .in_data_i('{line: line, place: victim_place}),
    .out_valid_o(ar_valid_o),
    .out_ready_i(ar_ready_i),
    .out_data_o(ar),
    .usage_o()
  );
  assign ar_line_o = ar.line;
  assign ar_place_o = ar.place;

  stored_t stored_q[Requests];
  stored_t rd;
  always_ff @(posedge clk_i) begin
    if (append) stored_q[step.waiter] <= '{step: step, own: alloc};
  end
  assign rd = stored_q[rd_id_i];
  assign rd_step_o = rd.step;
  assign rd_own_o = rd.own;

  `GW_INVARIANT(QueuesTakeAll_A, (!(again_valid_i || updated_valid_i) || again_in_ready) && (!(alloc || prefetch) || ar_in_ready))
  // Never in the way of a step: not in its cycle, nor in front of its read.
  `GW_INVARIANT(PrefetchYields_A, !prefetch || (!step_valid && !ar_valid_o))
  `GW_COVER(NoSlot_C, step_valid && !step_ready)
  `GW_COVER(Merge_C, event_merge_o)
  `GW_COVER(LineHit_C, event_line_hit_o)
  `GW_COVER(PrefetchUsedInFlight_C, prefetch_used && hit_fetching)

endmodule
