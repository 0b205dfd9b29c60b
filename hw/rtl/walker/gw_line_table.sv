// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Tags and states of the line slots. A slot holds the physical address of one line of page-table entries that is being fetched
// or kept, and knows which of its beats are still to come; the data is gw_walk_decode's. A beat's place is its number in all
// slots: slot * LineBeats + number in the line.
//
// Contract
// - Lookup: combinational; without `lookup_i` nothing hits. `hit_o`: a slot has this line, kept or on its way;
//   `hit_fetching_o`: the beat looked up is still to come.
// - `alloc_i` gives the offered slot (of `victim_place_o`, when `victim_valid_o`) to the line looked up and begins its fetch;
//   after it another slot is on offer in the next cycle, if there was one.
// - `alloc_prefetch_i` says that nobody waits for the line. It may come only while `spare_o` is high: then there is another
//   slot on offer in the next cycle, unless a waiter comes for that slot's line in this one.
// - A slot is never replaced while a beat of it is on its way or waiters want one (`pending_i`).
// - `ret_i`: a beat has come; the line of one with an error is not kept. `drop_i`: nor is that of this place; `alloc_i` of the
//   same slot in the same cycle wins.
// - `inval_i`: no line kept or on its way is found from the next cycle on, except one allocated in this cycle, whose read is
//   sent later.
// - A line is in one slot at most, stale slots aside.
`include "gw_assert.svh"

module gw_line_table #(
  /// Line slots, 1 to 64.
  parameter int unsigned Lines = 32,
  /// Beats of 64 bytes of a line: 1, 2, 4, 8 or 16.
  parameter int unsigned LineBeats = 1,
  /// Derived: widths of the numbers of a slot, of a beat in its line, and of its place.
  localparam int unsigned SlotWidth = (Lines > 1) ? $clog2(Lines) : 1,
  localparam int unsigned BeatWidth = (LineBeats > 1) ? $clog2(LineBeats) : 1,
  localparam int unsigned PlaceWidth = (Lines * LineBeats > 1) ? $clog2(Lines * LineBeats) : 1,
  /// Derived: width of a line's physical address.
  localparam int unsigned LineWidth = gw_pkg::PaWidth - $clog2(gw_spec_pkg::PtBeatBytes * LineBeats)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic inval_i,
  input logic lookup_i,
  input logic [LineWidth-1:0] line_i,
  input logic [BeatWidth-1:0] beat_i,
  output logic hit_o,
  output logic hit_fetching_o,
  output logic [PlaceWidth-1:0] hit_place_o,
  /// ... prefetched, and not used since.
  output logic hit_prefetched_o,
  /// The lookup is used by a waiter: it counts for the replacement.
  input logic used_i,
  output logic victim_valid_o,
  output logic [PlaceWidth-1:0] victim_place_o,
  output logic spare_o,
  /// Some beat is on its way.
  output logic fetching_o,
  input logic alloc_i,
  input logic alloc_prefetch_i,
  /// Places that waiters want.
  input logic [Lines-1:0][LineBeats-1:0] pending_i,
  input logic ret_i,
  input logic [PlaceWidth-1:0] ret_place_i,
  input logic ret_error_i,
  input logic drop_i,
  input logic [PlaceWidth-1:0] drop_place_i,
  /// A prefetched line is replaced before it was used.
  output logic useless_o
);

  function automatic logic [PlaceWidth-1:0] place(logic [SlotWidth-1:0] slot, logic [BeatWidth-1:0] beat);
    return PlaceWidth'(32'(slot) * LineBeats + 32'(beat));
  endfunction

  // valid: found by lookups. fetching: beats of a read that is queued or in flight, whether still wanted or not.
  // prefetched: nobody has used it yet.
  logic [Lines-1:0] valid_q, prefetched_q;
  logic [Lines-1:0][LineBeats-1:0] fetching_q, alloc_beats, ret_beats;
  logic [LineWidth-1:0] line_q[Lines];
  logic [SlotWidth-1:0] hit_slot;
  logic [Lines-1:0] match, match_fetching, ok, alloc_mask, drop_mask;

  always_comb begin
    match = '0;
    hit_slot = '0;
    if (lookup_i) begin
      for (int unsigned i = 0; i < Lines; i++) begin
        match[i] = valid_q[i] && line_q[i] == line_i;
        if (match[i]) hit_slot |= SlotWidth'(i);
      end
    end
  end
  for (genvar i = 0; i < Lines; i++) begin : gen_slot
    assign match_fetching[i] = match[i] && fetching_q[i][beat_i];
    assign ok[i] = fetching_q[i] == '0 && pending_i[i] == '0;
    assign alloc_beats[i] = {LineBeats{alloc_mask[i]}};
  end
  assign hit_o = match != '0;
  assign hit_fetching_o = match_fetching != '0;
  assign hit_place_o = place(hit_slot, beat_i);
  assign hit_prefetched_o = (match & prefetched_q) != '0;
  assign useless_o = (alloc_mask & prefetched_q) != '0;

  // The slot on offer is chosen a cycle ahead. It is withdrawn when waiters came for its line in the meantime.
  logic next_valid, offer_valid_q, offer_still_ok, offer_next;
  logic [Lines-1:0] next_mask, offer_mask_q;
  logic [SlotWidth-1:0] next_slot, offer_q;

  gw_victim #(
    .Num(Lines)
  ) u_victim (
    .clk_i,
    .rst_ni,
    .free_i(~valid_q),
    .ok_i(ok & ~(offer_mask_q & {Lines{offer_valid_q}})),
    .used_i(match & {Lines{used_i}}),
    .take_i(offer_next && next_valid),
    .valid_o(next_valid),
    .onehot_o(next_mask),
    .idx_o(next_slot)
  );

  assign offer_still_ok = offer_valid_q && (offer_mask_q & ok) != '0;
  assign offer_next = alloc_i || !offer_still_ok;
  assign victim_valid_o = offer_still_ok;
  assign victim_place_o = place(offer_q, beat_i);
  assign spare_o = next_valid;
  assign fetching_o = fetching_q != '0;

  always_comb begin
    alloc_mask = offer_mask_q & {Lines{alloc_i}};
    ret_beats = '0;
    ret_beats[32'(ret_place_i)/LineBeats][32'(ret_place_i)%LineBeats] = ret_i;
    drop_mask = '0;
    drop_mask[32'(drop_place_i)/LineBeats] = drop_i;
    if (ret_error_i) drop_mask[32'(ret_place_i)/LineBeats] |= ret_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      fetching_q <= '0;
      prefetched_q <= '0;
      offer_valid_q <= 1'b0;
      offer_mask_q <= '0;
      offer_q <= '0;
    end else begin
      valid_q <= (valid_q & ~drop_mask & {Lines{!inval_i}}) | alloc_mask;
      fetching_q <= (fetching_q & ~ret_beats) | alloc_beats;
      // No line that is dropped for another reason counts as useless.
      prefetched_q <= (prefetched_q & ~alloc_mask & ~(match & {Lines{used_i}}) & ~drop_mask & {Lines{!inval_i}}) |
          (alloc_mask & {Lines{alloc_prefetch_i}});
      if (offer_next) begin
        offer_valid_q <= next_valid;
        offer_mask_q <= next_mask;
        offer_q <= next_slot;
      end
    end
  end

  for (genvar i = 0; i < Lines; i++) begin : gen_line
    always_ff @(posedge clk_i) begin
      if (alloc_mask[i]) line_q[i] <= line_i;
    end
  end

  `GW_INVARIANT(OneSlotALine_A, $onehot0(match))
  `GW_INVARIANT(AllocOnMissOnly_A, !alloc_i || (victim_valid_o && !hit_o))
  `GW_INVARIANT(ReturnWasAwaited_A, !ret_i || (ret_beats & fetching_q) != '0)
  `GW_INVARIANT(PrefetchSpares_A, !alloc_prefetch_i || (alloc_i && spare_o && !inval_i))
  `GW_INVARIANT(PrefetchedIsFound_A, (prefetched_q & ~valid_q) == '0)
  `GW_COVER(AllFetching_C, &fetching_q)
  `GW_COVER(OfferWithdrawn_C, offer_valid_q && !offer_still_ok)

endmodule
