// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Tags and states of the line slots. A slot holds the physical address of one line of page-table entries that is being fetched
// or kept, and knows which of its beats are still to come; the data is gw_walk_decode's. A beat's place is its number in all
// slots: slot * LineBeats + number in the line.
//
//   t      the line's address compared with every slot's
//   t + 1  what is found counts: joined, or a slot given
//
// Contract
// - `load_i` in t: `line_i` is looked up, and is in the second cycle from t + 1 until the next `load_i`. There, without
//   `lookup_i` nothing hits. `hit_o`: a slot has this line, kept or on its way; `hit_mask_o`: which. What the one before did in
//   t counts already.
// - `alloc_i` gives the offered slot (`victim_mask_o`, when `victim_valid_o`) to the line in the second cycle, and begins its
//   fetch; after it another slot is on offer in the next cycle if `spare_o` was high.
// - `alloc_prefetch_i` says that nobody waits for the line. It may come only while `spare_o` is high: then there is another
//   slot on offer in the next cycle, unless a waiter comes for that slot's line in this one.
// - A slot is never replaced while a beat of it is on its way or waiters want one: `pending_i`, which counts a cycle later, and
//   in the cycle in which that begins `joining_i`.
// - `ret_i`: a beat has come; the line of one with an error is not kept. `drop_i`: nor is that of this place; `alloc_i` of the
//   same slot in the same cycle wins, and for a drop, which comes late, in the cycle before.
// - `inval_i`: no line kept or on its way is found from the next cycle on, except one allocated in this cycle, whose read is
//   sent later.
// - A line is in one slot at most, stale slots aside.
`include "gw_assert.svh"

module gw_line_table #(
  /// Line slots, 1 to 64.
  parameter int unsigned Lines = 32,
  /// Beats of 64 bytes of a line: 1, 2, 4, 8 or 16.
  parameter int unsigned LineBeats = 1,
  /// Derived: widths of a place's number and of a line's physical address.
  localparam int unsigned PlaceWidth = (Lines * LineBeats > 1) ? $clog2(Lines * LineBeats) : 1,
  localparam int unsigned LineWidth = gw_pkg::PaWidth - $clog2(gw_spec_pkg::PtBeatBytes * LineBeats)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic inval_i,
  // First cycle
  input logic load_i,
  input logic [LineWidth-1:0] line_i,
  // Second cycle
  input logic lookup_i,
  output logic hit_o,
  output logic [Lines-1:0] hit_mask_o,
  /// ... prefetched, and not used since.
  output logic hit_prefetched_o,
  /// The lookup is used by a waiter: it counts for the replacement.
  input logic used_i,
  output logic victim_valid_o,
  output logic [Lines-1:0] victim_mask_o,
  output logic spare_o,
  input logic alloc_i,
  input logic alloc_prefetch_i,
  /// Beats on their way, and whether any is.
  output logic [Lines-1:0][LineBeats-1:0] fetching_o,
  output logic some_fetching_o,
  /// Places that waiters want; slots of which one came to be wanted in the cycle before.
  input logic [Lines-1:0][LineBeats-1:0] pending_i,
  input logic [Lines-1:0] joining_i,
  input logic ret_i,
  input logic [PlaceWidth-1:0] ret_place_i,
  input logic ret_error_i,
  input logic drop_i,
  input logic [PlaceWidth-1:0] drop_place_i,
  /// A prefetched line is replaced before it was used.
  output logic useless_o
);

  // valid: found by lookups. fetching: beats of a read that is queued or in flight, whether still wanted or not.
  // prefetched: nobody has used it yet.
  logic [Lines-1:0] valid_q, prefetched_q;
  logic [Lines-1:0][LineBeats-1:0] fetching_q, alloc_beats, ret_beats;
  logic [LineWidth-1:0] line_q[Lines];
  logic [LineWidth-1:0] looked_up_q;
  logic [Lines-1:0] same_tag, same_tag_q, given_q, match, idle, idle_q, offer, alloc_mask, drop_mask;
  logic [Lines-1:0] just_given_q;
  logic as_before_q;

  // First cycle. Slots that are given away in it are told apart afterwards, by whether this line is theirs.
  always_comb begin
    same_tag = '0;
    if (load_i) begin
      for (int unsigned i = 0; i < Lines; i++) same_tag[i] = line_q[i] == line_i;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) given_q <= '0;
    else if (load_i) given_q <= alloc_mask;
  end
  always_ff @(posedge clk_i) begin
    if (load_i) begin
      same_tag_q <= same_tag;
      as_before_q <= line_i == looked_up_q;
      looked_up_q <= line_i;
    end
  end

  // Second cycle.
  for (genvar i = 0; i < Lines; i++) begin : gen_slot
    assign match[i] = valid_q[i] && (given_q[i] ? as_before_q : same_tag_q[i]);
    assign idle[i] = fetching_q[i] == '0 && pending_i[i] == '0;
    assign alloc_beats[i] = {LineBeats{alloc_mask[i]}};
  end
  assign hit_o = lookup_i && match != '0;
  assign hit_mask_o = match;
  assign hit_prefetched_o = lookup_i && (match & prefetched_q) != '0;
  assign useless_o = (alloc_mask & prefetched_q) != '0;
  assign victim_mask_o = offer;
  assign fetching_o = fetching_q;
  assign some_fetching_o = fetching_q != '0;

  // Known a cycle late, but for what joins; a slot given meanwhile is not on offer any more.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) idle_q <= '0;
    else idle_q <= idle;
  end

  logic used_q;
  logic [Lines-1:0] used_mask_q, joined;
  assign joined = match & {Lines{used_i && lookup_i}};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) used_q <= 1'b0;
    else used_q <= used_i && lookup_i;
  end
  always_ff @(posedge clk_i) used_mask_q <= match;

  gw_victim #(
    .Num(Lines)
  ) u_victim (
    .clk_i,
    .rst_ni,
    .free_i(~valid_q),
    .ok_i(idle_q & ~joining_i),
    .used_i(used_mask_q & {Lines{used_q}}),
    .stays_i(joined),
    .take_i(alloc_i),
    .valid_o(victim_valid_o),
    .onehot_o(offer),
    .spare_o
  );

  always_comb begin
    alloc_mask = offer & {Lines{alloc_i}};
    ret_beats = '0;
    ret_beats[32'(ret_place_i)/LineBeats][32'(ret_place_i)%LineBeats] = ret_i;
    drop_mask = '0;
    drop_mask[32'(drop_place_i)/LineBeats] = drop_i;
    drop_mask &= ~just_given_q;
    if (ret_error_i) drop_mask[32'(ret_place_i)/LineBeats] |= ret_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      fetching_q <= '0;
      prefetched_q <= '0;
      just_given_q <= '0;
    end else begin
      just_given_q <= alloc_mask;
      valid_q <= (valid_q & ~drop_mask & {Lines{!inval_i}}) | alloc_mask;
      fetching_q <= (fetching_q & ~ret_beats) | alloc_beats;
      // No line that is dropped for another reason counts as useless.
      prefetched_q <= (prefetched_q & ~alloc_mask & ~joined & ~drop_mask & {Lines{!inval_i}}) |
          (alloc_mask & {Lines{alloc_prefetch_i}});
    end
  end

  for (genvar i = 0; i < Lines; i++) begin : gen_line
    always_ff @(posedge clk_i) begin
      if (alloc_mask[i]) line_q[i] <= looked_up_q;
    end
  end

  `GW_INVARIANT(OneSlotALine_A, !lookup_i || $onehot0(match))
  `GW_INVARIANT(AllocOnMissOnly_A, !alloc_i || (victim_valid_o && lookup_i && !hit_o))
  `GW_INVARIANT(ReturnWasAwaited_A, !ret_i || (ret_beats & fetching_q) != '0)
  `GW_INVARIANT(PrefetchSpares_A, !alloc_prefetch_i || (alloc_i && spare_o && !inval_i))
  `GW_INVARIANT(PrefetchedIsFound_A, (prefetched_q & ~valid_q) == '0)
  `GW_COVER(AllFetching_C, &fetching_q)
  `GW_COVER(GivenMeanwhile_C, lookup_i && (given_q & valid_q) != '0 && as_before_q)

endmodule
