// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Fully associative first-level TLB of one translator channel; every entry covers any power-of-two
// number of pages.
//
// Contract
// - Lookup: one a cycle, answered in the next: compared in cycle t, hit and frame in t+1, as they
//   were in t. At most one entry matches.
// - Fill: one a cycle, visible to lookups three cycles later. It takes an entry that it overlaps (the
//   others become empty), so that several answers for one page cost no other page its entry. Without one
//   it takes an empty entry, otherwise the one that gw_replace names of those that are not being filled, a
//   cycle before; while that names none, the one it named last.
// - Invalidation: a lookup in a cycle after the pulse matches nothing that inval_i covers: all, those
//   of a context, or those of a context that overlap a range; global entries (the mapping has the G
//   bit) go with InvalAll only. Fills of the pulse's cycle and of the two before are dropped, whatever
//   the scope. A pulse may come in any cycle.
// - What is here is of the context ctx_i: in the cycle in which another one comes nothing matches, then all are empty. Fills of other contexts,
//   and one that was not written yet, are dropped.
// - Holds only translations that allow this channel's kind of access, so a match needs no further
//   check.
// - Reset empties it.
//
// Timing: compare, then encode into a register; frames are LUT RAM, read behind it. Fills and pulses
// share one comparator an entry, which is why a pulse drops fills. A fill is a register first, then compared, also with the fill before it,
// and written in the next cycle.
`include "gw_assert.svh"

module gw_l1_tlb #(
  /// Entries, 1 to 64; any number.
  parameter int unsigned Entries = 16,
  /// gw_replace: 0 true LRU, 1 bit-PLRU, 2 FIFO, 3 random.
  parameter int unsigned Replacement = 1,
  /// Page-table levels of the widest mode: 3, 4, 5. The lookup compares 9 * Levels bits of the
  /// virtual page number.
  parameter int unsigned Levels = 4
) (
  input  logic clk_i,
  input  logic rst_ni,
  /// The context of all lookups.
  input  gw_pkg::ctx_id_t ctx_i,
  /// Lookup; without `lookup_valid_i` nothing hits.
  input  logic            lookup_valid_i,
  input  gw_pkg::vpn_t    lookup_vpn_i,
  /// What `hit_o` will be, at the end of the lookup's own cycle: for a register.
  output logic            match_o,
  /// The cycle after; `use_i`: the match is used and counts for replacement.
  output logic            hit_o,
  output gw_pkg::ppn_t    ppn_o,
  input  logic            use_i,
  /// Fill: `ppn` is the frame of page `vpn` inside the mapping of 2^order pages.
  input  logic                fill_valid_i,
  input  gw_pkg::ctx_id_t     fill_ctx_i,
  input  gw_pkg::vpn_t        fill_vpn_i,
  input  gw_pkg::ppn_t        fill_ppn_i,
  input  gw_pkg::page_order_t fill_order_i,
  input  logic                fill_global_i,
  /// Invalidation.
  input  logic                inval_valid_i,
  input  gw_pkg::inval_t      inval_i
);

  localparam int unsigned VpnBits = 9 * Levels;
  localparam int unsigned MaskBits = int'(gw_pkg::MaxPageOrder);
  localparam int unsigned IndexWidth = (Entries > 1) ? $clog2(Entries) : 1;

  if (Entries < 1) begin : gen_bad_entries
    $fatal(1, "gw_l1_tlb: Entries must be at least 1");
  end
  if (Levels < 3 || Levels > 5) begin : gen_bad_levels
    $fatal(1, "gw_l1_tlb: Levels must be 3, 4 or 5");
  end

  typedef logic [VpnBits-1:0] tag_vpn_t;
  typedef logic [IndexWidth-1:0] index_t;
  // One bit a page-number bit that is inside the mapping and therefore not compared.
  typedef logic [MaskBits-1:0] mask_t;

  typedef struct packed {
    tag_vpn_t vpn;
    mask_t    mask;
    logic     is_global;
  } tag_t;

  // What a match brings; the frame is of the mapping's first page: zero where `mask` is set.
  typedef struct packed {
    mask_t        mask;
    gw_pkg::ppn_t ppn;
  } frame_t;

  // Low page-number bits that a mapping or range of 2**order pages leaves open.
  function automatic mask_t pages_inside(gw_pkg::page_order_t order);
    return ~(mask_t'('1) << order);
  endfunction

  // Whether two pages are the same but for the bits that are left open.
  function automatic logic same(tag_vpn_t one, tag_vpn_t other, mask_t open);
    return ((one ^ other) & ~tag_vpn_t'(open)) == '0;
  endfunction

  function automatic index_t encode(logic [Entries-1:0] onehot);
    index_t index;
    index = '0;
    for (int unsigned i = 0; i < Entries; i++) begin
      if (onehot[i]) index |= index_t'(i);
    end
    return index;
  endfunction

  logic [Entries-1:0] valid_q, match;
  tag_t tags_q[Entries];
  frame_t frame_mem[Entries];

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // Whose entries these are; another one in this cycle ends them. A port is bound anew so seldom that entries of several contexts would
  // be compared for nothing.
  //////////////////////////////////////////////////////////////////////////////////////////////////
  gw_pkg::ctx_id_t ctx_q;
  logic stays;
  assign stays = ctx_i == ctx_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) ctx_q <= '0;
    else ctx_q <= ctx_i;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // Lookup.
  //////////////////////////////////////////////////////////////////////////////////////////////////
  logic hit_q;
  index_t index_q;
  mask_t offset_q, page;
  frame_t frame;
  for (genvar i = 0; i < Entries; i++) begin : gen_match
    assign match[i] = valid_q[i] && same(tag_vpn_t'(lookup_vpn_i), tags_q[i].vpn, tags_q[i].mask);
  end
  assign match_o = lookup_valid_i && stays && |match;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) hit_q <= 1'b0;
    else hit_q <= match_o;
  end
  always_ff @(posedge clk_i) begin
    index_q <= encode(match);
    offset_q <= mask_t'(lookup_vpn_i);
  end
  assign frame = frame_mem[index_q];
  assign hit_o = hit_q;
  assign page = frame.mask & offset_q;
  assign ppn_o = frame.ppn | gw_pkg::ppn_t'(page);

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // Fill: a register, because answers come late in their cycle; then compared with all entries, written in the next cycle. Its frame is
  // written a cycle later, because a lookup of the cycle in which its tag is written still reads the frame that was there.
  //////////////////////////////////////////////////////////////////////////////////////////////////
  logic came_q, fill_q, write, frame_write_q, follows, follows_q, fill_before_q;
  tag_t fill_tag, tag_q;
  tag_vpn_t came_vpn_q, asked_vpn;
  gw_pkg::ppn_t came_ppn_q;
  gw_pkg::page_order_t came_order_q;
  logic came_global_q;
  frame_t fill_frame_q, frame_q;
  mask_t asked_mask;
  logic [Entries-1:0] same_pages, dropped, overlap_q, overlap, victim_q, place, place_q;
  index_t frame_index_q;
  assign fill_tag = '{
    vpn: came_vpn_q,
    mask: pages_inside(came_order_q),
    is_global: came_global_q
  };
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      came_q <= 1'b0;
      fill_q <= 1'b0;
      frame_write_q <= 1'b0;
      fill_before_q <= 1'b0;
    end else begin
      came_q <= fill_valid_i && !inval_valid_i && fill_ctx_i == ctx_i;
      fill_q <= came_q && !inval_valid_i && stays;
      frame_write_q <= write;
      fill_before_q <= fill_q;
    end
  end
  always_ff @(posedge clk_i) begin
    came_vpn_q <= tag_vpn_t'(fill_vpn_i);
    came_ppn_q <= fill_ppn_i;
    came_order_q <= fill_order_i;
    came_global_q <= fill_global_i;
    tag_q <= fill_tag;
    overlap_q <= valid_q & same_pages;
    follows_q <= follows;
    place_q <= place;
    fill_frame_q <= '{mask: fill_tag.mask, ppn: came_ppn_q & ~gw_pkg::ppn_t'(fill_tag.mask)};
    frame_q <= fill_frame_q;
    frame_index_q <= encode(place);
  end
  assign write = fill_q && !inval_valid_i && stays;

  // The comparator of pulses and fills. Bits above the widest mode repeat its highest bit, in entries
  // and in ranges alike.
  always_comb begin
    asked_vpn = fill_tag.vpn;
    asked_mask = fill_tag.mask;
    if (inval_valid_i) begin
      asked_vpn = tag_vpn_t'(inval_i.vpn);
      asked_mask = pages_inside(inval_i.order);
    end
  end
  for (genvar i = 0; i < Entries; i++) begin : gen_same
    assign same_pages[i] = same(asked_vpn, tags_q[i].vpn, asked_mask | tags_q[i].mask);
  end

  // What a pulse covers.
  logic covers_ctx;
  assign covers_ctx = inval_i.ctx == ctx_q;
  always_comb begin
    for (int unsigned i = 0; i < Entries; i++) begin
      unique case (inval_i.scope)
        gw_pkg::InvalRange: dropped[i] = covers_ctx && same_pages[i] && !tags_q[i].is_global;
        gw_pkg::InvalContext: dropped[i] = covers_ctx && !tags_q[i].is_global;
        default: dropped[i] = 1'b1;
      endcase
    end
  end

  function automatic logic [Entries-1:0] lowest(logic [Entries-1:0] set);
    return set & (~set + 1'b1);
  endfunction

  // What a fill overlaps: what was there, and the fill before it where that went; entries that are cleared then may be among it.
  assign follows = same(fill_tag.vpn, tag_q.vpn, fill_tag.mask | tag_q.mask);
  always_comb begin
    for (int unsigned i = 0; i < Entries; i++) overlap[i] = (fill_before_q && place_q[i]) ? follows_q : overlap_q[i];
  end

  // Which entry a fill takes if it overlaps none, chosen a cycle ahead: an empty one, else the policy's. It is none that this fill could take.
  logic [Entries-1:0] free, others, named;
  logic names;
  assign place = (|overlap) ? lowest(overlap) : victim_q;
  assign others = ~(fill_q ? overlap | victim_q : '0);
  assign free = ~valid_q & others;
  gw_replace #(
    .Num   (Entries),
    .Policy(Replacement)
  ) u_replace (
    .clk_i,
    .rst_ni,
    .use_i     (use_i ? Entries'(1) << index_q : '0),
    .fill_i    (write ? place : '0),
    .eligible_i(others),
    .valid_o   (names),
    .onehot_o  (named)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      victim_q <= Entries'(1);
    end else begin
      if (!stays) valid_q <= '0;
      else if (inval_valid_i) valid_q <= valid_q & ~dropped;
      else if (fill_q) valid_q <= (valid_q & ~overlap) | place;
      if (|free) victim_q <= lowest(free);
      else if (names) victim_q <= named;
    end
  end

  for (genvar i = 0; i < Entries; i++) begin : gen_entry
    always_ff @(posedge clk_i) begin
      if (write && place[i]) tags_q[i] <= tag_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (frame_write_q) frame_mem[frame_index_q] <= frame_q;
  end

  logic unused_vpn;
  assign unused_vpn = ^{lookup_vpn_i, fill_vpn_i, inval_i.vpn};

  `GW_INVARIANT(OneMatch_A, !lookup_valid_i || $onehot0(match))
  `GW_INVARIANT(FillOrder_A, !fill_valid_i || fill_order_i <= gw_pkg::MaxPageOrder)
  `GW_INVARIANT(InvalOrder_A, !inval_valid_i || inval_i.order <= gw_pkg::MaxPageOrder)
  `GW_COVER(InvalSpares_C, inval_valid_i && (valid_q & dropped) != '0 && (valid_q & ~dropped) != '0)
  `GW_COVER(FillRemovesTwo_C, write && !$onehot0(overlap))
  `GW_COVER(FillFollows_C, came_q && !inval_valid_i && fill_q && follows)

endmodule
