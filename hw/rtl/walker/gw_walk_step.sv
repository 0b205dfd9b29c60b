// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// One step of a walk: finds the line of page-table entries that a waiter needs next, joins its fetch, or begins one; and selects
// waiters whose beats are there, one a cycle (gw_walk_lists).
//
//   t      a waiter's step read; its line compared with the slots' (gw_line_table)
//   t + 1  found, or a slot given; a read queued
//   t + 2  the waiter is in its list; the read is offered to memory
//
// Contract
// - One step a cycle. Those of walks under way (`next_*`, `again_*`; always taken) go before the first ones of new requests
//   (`first_*`, always taken). What is given in t is compared in t + 1 at the earliest.
// - Steps wait only while no slot can be replaced, and a cycle behind one whose line was found then; slots come free as beats return
//   and their waiters are replayed, which never waits for a step. Reads are queued for every slot, so memory's back-pressure holds
//   up no step.
// - A prefetch begins only in a cycle without a step, with no read queued, and if a slot is left for the next step; so it holds
//   up no step, and at most one read, by as long as memory takes to accept its own.
// - What a waiter's last step was is at `rd_*` for the waiter selected.
// - A slot is given away two cycles after its last waiter's selection at the earliest, when its beat was read; `drop_i` may come
//   a cycle later.
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
  /// A step of a walk: refusal, is_global, update, level, line, index.
  parameter type step_t = logic,
  /// Who takes a step, and how: waiter, walked, retry, denied, told.
  parameter type look_t = logic,
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
  input logic [IdWidth-1:0] first_id_i,
  input step_t first_i,
  /// A look at an entry: a waiter's next, at another entry (`next_valid_i`, then `next_i` is its step), or the same again.
  input logic again_valid_i,
  input look_t again_i,
  input logic next_valid_i,
  input step_t next_i,
  /// Looks after an update; wait for a cycle without one of `again_*`.
  input logic updated_valid_i,
  output logic updated_ready_o,
  input look_t updated_i,
  output logic ar_valid_o,
  input logic ar_ready_i,
  output logic [LineWidth-1:0] ar_line_o,
  /// Place (see gw_walk_lists) of the beat that is wanted first.
  output logic [PlaceWidth-1:0] ar_place_o,
  input logic ret_i,
  input logic [PlaceWidth-1:0] ret_place_i,
  input logic ret_error_i,
  /// A waiter whose beat is there, or that needs none.
  output logic sel_valid_o,
  output logic [PlaceWidth-1:0] sel_place_o,
  /// How it looks; `waiter` is its number.
  output look_t sel_look_o,
  output step_t sel_step_o,
  /// Line of that step, in the cycle after; `sel_step_o` is without it.
  output logic [LineWidth-1:0] sel_line_o,
  /// The waiter began the fetch of that step itself.
  output logic sel_own_o,
  input logic drop_i,
  input logic [PlaceWidth-1:0] drop_place_i,
  /// Some beat is on its way.
  output logic fetching_o,
  /// Of the waiter `event_id_o`, two cycles after its step counted.
  output logic event_merge_o,
  output logic event_line_hit_o,
  output logic event_prefetch_used_o,
  output logic event_read_o,
  output logic [IdWidth-1:0] event_id_o,
  /// Of none. A prefetch's read is one of `event_read_o` too.
  output logic event_prefetch_o,
  output logic event_prefetch_useless_o
);

  import gw_pkg::*;

  localparam int unsigned ListWidth = $clog2(Places + 1);
  localparam int unsigned BeatWidth = (LineBeats > 1) ? $clog2(LineBeats) : 1;
  typedef logic [IdWidth-1:0] id_t;
  typedef logic [BeatWidth-1:0] beat_t;
  typedef struct packed {
    logic [LineWidth-1:0] line;
    logic [PlaceWidth-1:0] place;
  } ar_t;
  typedef struct packed {
    logic walked;
    logic retry;
    logic denied;
    logic told;
    logic own;
  } looked_t;

  // Steps are kept by waiter: its first one, and the one that its walk came to since.
  (* ram_style = "distributed" *) step_t first_q[Requests];
  (* ram_style = "distributed" *) step_t next_q[Requests];
  always_ff @(posedge clk_i) begin
    if (first_valid_i) first_q[first_id_i] <= first_i;
  end
  always_ff @(posedge clk_i) begin
    if (next_valid_i) next_q[again_i.waiter] <= next_i;
  end

  // Who waits to look. Neither queue can be full: a waiter has one look at a time.
  logic first_valid, again_valid, s1_ready, s1_step;
  id_t first_id;
  look_t first_look, again, look;
  // What it allows and sets is looked at when it is selected.
  // verilator lint_off UNUSEDSIGNAL
  step_t step;
  // verilator lint_on UNUSEDSIGNAL
  gw_walk_queue #(
    .T(id_t),
    .Depth(Requests)
  ) u_first (
    .clk_i,
    .rst_ni,
    .in_valid_i(first_valid_i),
    .in_data_i(first_id_i),
    .out_valid_o(first_valid),
    .out_ready_i(s1_ready && !again_valid),
    .out_data_o(first_id)
  );
  gw_walk_queue #(
    .T(look_t),
    .Depth(Requests)
  ) u_again (
    .clk_i,
    .rst_ni,
    .in_valid_i(again_valid_i || updated_valid_i),
    .in_data_i(again_valid_i ? again_i : updated_i),
    .out_valid_o(again_valid),
    .out_ready_i(s1_ready),
    .out_data_o(again)
  );
  assign updated_ready_o = !again_valid_i;

  // First cycle. Prefetches look their line up when no step does.
  logic prefetch_want, prefetch_take, prefetch_back, prefetch_used, touch;
  logic [LineWidth-1:0] prefetch_line, line;
  always_comb begin
    first_look = '0;
    first_look.waiter = first_id;
    look = again_valid ? again : first_look;
    step = look.walked ? next_q[look.waiter] : first_q[look.waiter];
  end
  assign s1_step = again_valid || first_valid;
  assign prefetch_take = prefetch_want && !s1_step && s1_ready;
  assign line = (Prefetch && !s1_step) ? prefetch_line : step.line;

  // Second cycle.
  logic s2_step_q, s2_prefetch_q, needs_line_q, retry_q, done, hit, hit_prefetched, victim_valid, spare, alloc, prefetch;
  look_t look_q;
  logic [LineWidth-1:0] line_q;
  beat_t beat_q;
  logic [Lines-1:0] hit_mask, victim_mask, slot_mask;
  logic useless, append, prefetch_used_q, useless_q;
  // Whether the line was found is known late: a step that is done for that alone, with no slot on offer, has none behind it.
  assign s1_ready = !s2_step_q || !needs_line_q || victim_valid;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      s2_step_q <= 1'b0;
      s2_prefetch_q <= 1'b0;
    end else begin
      s2_step_q <= s1_ready ? s1_step : !done;
      s2_prefetch_q <= prefetch_take && !inval_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (s1_ready) begin
      look_q <= look;
      needs_line_q <= s1_step && step.refusal == NotRefused;
      retry_q <= look.retry;
      line_q <= line;
      beat_q <= s1_step ? beat_t'(32'(step.index) / gw_spec_pkg::PtBeatEntries) : '0;
    end
  end

  logic append_q;
  logic [Lines-1:0] append_mask_q;
  logic [Lines-1:0][LineBeats-1:0] fetching;
  logic [Lines-1:0][LineBeats-1:0] pending;
  gw_line_table #(
    .Lines(Lines),
    .LineBeats(LineBeats)
  ) u_lines (
    .clk_i,
    .rst_ni,
    .inval_i,
    .load_i(s1_ready && (s1_step || prefetch_take)),
    .line_i(line),
    .lookup_i((s2_step_q && needs_line_q) || s2_prefetch_q),
    .hit_o(hit),
    .hit_mask_o(hit_mask),
    .hit_prefetched_o(hit_prefetched),
    .used_i(s2_step_q),
    .victim_valid_o(victim_valid),
    .victim_mask_o(victim_mask),
    .spare_o(spare),
    .alloc_i(alloc || prefetch),
    .alloc_prefetch_i(prefetch),
    .fetching_o(fetching),
    .some_fetching_o(fetching_o),
    .pending_i(pending),
    .joining_i(append_mask_q & {Lines{append_q}}),
    .ret_i,
    .ret_place_i,
    .ret_error_i,
    .drop_i,
    .drop_place_i,
    .useless_o(useless)
  );

  assign done = !needs_line_q || hit || victim_valid;
  assign append = s2_step_q && done;
  assign alloc = s2_step_q && needs_line_q && !hit && victim_valid;
  assign prefetch = s2_prefetch_q && !hit && victim_valid && spare && !ar_valid_o && !inval_i;
  assign prefetch_back = s2_prefetch_q && !hit && !prefetch;
  assign prefetch_used = append && needs_line_q && hit_prefetched;
  assign touch = append && needs_line_q && !retry_q && (!hit || hit_prefetched);
  assign slot_mask = hit ? hit_mask : victim_mask;

  logic [PlaceWidth-1:0] place, victim_place;
  always_comb begin
    place = '0;
    victim_place = '0;
    for (int unsigned i = 0; i < Lines; i++) begin
      if (hit_mask[i]) place |= PlaceWidth'(i * LineBeats);
      if (victim_mask[i]) victim_place |= PlaceWidth'(i * LineBeats);
    end
    victim_place |= PlaceWidth'(beat_q) & PlaceWidth'(LineBeats - 1);
    place = hit ? place | (PlaceWidth'(beat_q) & PlaceWidth'(LineBeats - 1)) : victim_place;
  end

  if (Prefetch) begin : gen_prefetch
    // All a cycle late: streams and credit are a way of their own.
    logic touch_q;
    logic [LineWidth-1:0] touch_line_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) touch_q <= 1'b0;
      else touch_q <= touch && !inval_i;
    end
    always_ff @(posedge clk_i) touch_line_q <= line_q;
    gw_walk_prefetch #(
      .LineBeats(LineBeats)
    ) u_prefetch (
      .clk_i,
      .rst_ni,
      .inval_i,
      .touch_i(touch_q),
      .touch_line_i(touch_line_q),
      .used_i(prefetch_used_q),
      .useless_i(useless_q),
      .want_o(prefetch_want),
      .line_o(prefetch_line),
      .take_i(prefetch_take),
      .back_i(prefetch_back)
    );
  end else begin : gen_no_prefetch
    logic unused;
    assign unused = ^{touch, prefetch_take, prefetch_back};
    assign prefetch_want = 1'b0;
    assign prefetch_line = '0;
  end

  // What was done, kept by waiter.
  (* ram_style = "distributed" *) looked_t looked_q[Requests];
  always_ff @(posedge clk_i) begin
    if (append) begin
      looked_q[look_q.waiter] <= '{
          walked: look_q.walked, retry: look_q.retry, denied: look_q.denied, told: look_q.told, own: alloc
      };
    end
  end

  ar_t ar;
  gw_walk_queue #(
    .T(ar_t),
    .Depth(Lines)
  ) u_reads (
    .clk_i,
    .rst_ni,
    .in_valid_i(alloc || prefetch),
    .in_data_i('{line: line_q, place: victim_place}),
    .out_valid_o(ar_valid_o),
    .out_ready_i(ar_ready_i),
    .out_data_o(ar)
  );
  assign ar_line_o = ar.line;
  assign ar_place_o = ar.place;

  // Third cycle: into its list. Whether the beat is there is seen here, for it may just have come.
  logic append_line_q, append_hit_q, append_fetching, sel_valid;
  id_t append_id_q, sel_id;
  beat_t append_beat_q;
  logic [ListWidth-1:0] append_list_q;
  logic [PlaceWidth-1:0] sel_place;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) append_q <= 1'b0;
    else append_q <= append;
  end
  always_ff @(posedge clk_i) begin
    append_line_q <= needs_line_q;
    append_hit_q <= hit;
    append_id_q <= look_q.waiter;
    append_beat_q <= beat_q;
    append_list_q <= needs_line_q ? ListWidth'(place) : ListWidth'(Places);
    append_mask_q <= slot_mask & {Lines{needs_line_q}};
  end
  always_comb begin
    append_fetching = 1'b0;
    for (int unsigned i = 0; i < Lines; i++) begin
      if (append_mask_q[i] && fetching[i][append_beat_q]) append_fetching = 1'b1;
    end
  end

  // A list more than there are places is for steps that need no line.
  gw_walk_lists #(
    .Requests(Requests),
    .Places(Places)
  ) u_lists (
    .clk_i,
    .rst_ni,
    .append_i(append_q),
    .append_fetching_i(append_fetching),
    .append_list_i(append_list_q),
    .append_id_i(append_id_q),
    .ret_i,
    .ret_place_i,
    .sel_valid_o(sel_valid),
    .sel_place_o(sel_place),
    .sel_id_o(sel_id),
    .pending_o(pending)
  );

  looked_t looked;
  assign looked = looked_q[sel_id];
  assign sel_valid_o = sel_valid;
  assign sel_place_o = sel_place;
  assign sel_look_o = '{
      waiter: sel_id, walked: looked.walked, retry: looked.retry, denied: looked.denied, told: looked.told
  };
  assign sel_own_o = looked.own;
  always_comb begin
    sel_step_o = looked.walked ? next_q[sel_id] : first_q[sel_id];
    sel_step_o.line = '0;
  end

  // Lines once more, in block RAM: they are most of a step, and of a selected one a miss and an update need its line, a cycle later. The
  // banks of LUT RAM for a second way to read them took 400 LUT4.
  logic [LineWidth-1:0] first_line, next_line;
  logic walked_q;
  always_ff @(posedge clk_i) walked_q <= looked.walked;
  gw_ram #(
    .Width(LineWidth),
    .Depth(Requests),
    .Block(1'b1)
  ) u_first_lines (
    .clk_i,
    .we_i   (first_valid_i),
    .waddr_i(first_id_i),
    .wdata_i(first_i.line),
    .re_i   (sel_valid),
    .raddr_i(sel_id),
    .rdata_o(first_line)
  );
  gw_ram #(
    .Width(LineWidth),
    .Depth(Requests),
    .Block(1'b1)
  ) u_next_lines (
    .clk_i,
    .we_i   (next_valid_i),
    .waddr_i(again_i.waiter),
    .wdata_i(next_i.line),
    .re_i   (sel_valid),
    .raddr_i(sel_id),
    .rdata_o(next_line)
  );
  assign sel_line_o = walked_q ? next_line : first_line;

  logic alloc_q, prefetch_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      event_merge_o <= 1'b0;
      event_line_hit_o <= 1'b0;
      event_read_o <= 1'b0;
    end else begin
      event_merge_o <= append_q && append_line_q && append_hit_q && append_fetching;
      event_line_hit_o <= append_q && append_line_q && append_hit_q && !append_fetching;
      event_read_o <= alloc_q || prefetch_q;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {alloc_q, prefetch_q, prefetch_used_q, useless_q} <= '0;
      {event_prefetch_o, event_prefetch_used_o, event_prefetch_useless_o} <= '0;
    end else begin
      {alloc_q, prefetch_q, prefetch_used_q, useless_q} <= {alloc, prefetch, prefetch_used, useless};
      {event_prefetch_o, event_prefetch_used_o, event_prefetch_useless_o} <= {prefetch_q, prefetch_used_q, useless_q};
    end
  end
  always_ff @(posedge clk_i) event_id_o <= append_id_q;

  // Never in the way of a step: not in its cycle, nor in front of its read.
  `GW_INVARIANT(PrefetchYields_A, !prefetch || (!s2_step_q && !ar_valid_o))
  // gw_ram: what is read is not what is being written.
  `GW_INVARIANT(SelectedStands_A, !sel_valid || !((first_valid_i && first_id_i == sel_id) || (next_valid_i && again_i.waiter == sel_id)))
  `GW_INVARIANT(ListedHasItsSlot_A, !append_q || !append_line_q || $onehot(append_mask_q))
  `GW_COVER(NoSlot_C, s2_step_q && !done)
  `GW_COVER(Merge_C, event_merge_o)
  `GW_COVER(LineHit_C, event_line_hit_o)
  `GW_COVER(PrefetchUsedInFlight_C, append_q && append_fetching && prefetch_used_q)

endmodule
