// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Fully associative first-level TLB of one translator channel; every entry covers any power-of-two
// number of pages.
//
// Contract
// - Lookup: combinational, one a cycle; at most one entry matches.
// - Fill: one a cycle, visible to lookups two cycles later (a fill in cycle t is used in t+2). It
//   replaces every entry that overlaps it; otherwise it takes an empty entry, otherwise the one
//   least recently used in the bit-PLRU sense: every use marks an entry, marks are cleared when all
//   are set, and the first unmarked entry is the victim.
// - Invalidation: from the cycle after the pulse no entry matches that inval_i covers: all, those of
//   a context, or those of a context that overlap a range; global entries (the mapping has the G
//   bit) go with InvalAll only. A fill of the same cycle or the cycle before is dropped, whatever
//   the scope. A pulse may come in any cycle.
// - A match needs the same context, also for global entries.
// - Holds only translations that allow this channel's kind of access, so a match needs no further
//   check.
// - Reset empties it.
`include "gw_assert.svh"

module gw_l1_tlb #(
  /// Entries, >= 1; any number.
  parameter int unsigned Entries = 16,
  /// Page-table levels of the widest mode: 3, 4, 5. The lookup compares 9 * Levels bits of the
  /// virtual page number.
  parameter int unsigned Levels = 4
) (
  input  logic clk_i,
  input  logic rst_ni,
  /// Lookup; without `lookup_valid_i` nothing is compared and nothing hits. `use_i`: the match is
  /// used in this cycle and counts for replacement.
  input  logic            lookup_valid_i,
  input  gw_pkg::ctx_id_t lookup_ctx_i,
  input  gw_pkg::vpn_t    lookup_vpn_i,
  input  logic            use_i,
  output logic            hit_o,
  output gw_pkg::ppn_t    ppn_o,
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

  if (Entries < 1) begin : gen_bad_entries
    $fatal(1, "gw_l1_tlb: Entries must be at least 1");
  end
  if (Levels < 3 || Levels > 5) begin : gen_bad_levels
    $fatal(1, "gw_l1_tlb: Levels must be 3, 4 or 5");
  end

  typedef logic [VpnBits-1:0] tag_vpn_t;
  // One bit a page-number bit that is inside the mapping and therefore not compared.
  typedef logic [MaskBits-1:0] mask_t;

  typedef struct packed {
    gw_pkg::ctx_id_t ctx;
    tag_vpn_t        vpn;
    mask_t           mask;
    gw_pkg::ppn_t    ppn;  // of the mapping's first page: zero where `mask` is set
    logic            is_global;
  } entry_t;

  function automatic logic same_page(gw_pkg::ctx_id_t ctx_a, gw_pkg::ctx_id_t ctx_b,
                                     tag_vpn_t vpn_a, tag_vpn_t vpn_b, mask_t ignore);
    return ctx_a == ctx_b && ((vpn_a ^ vpn_b) & ~tag_vpn_t'(ignore)) == '0;
  endfunction

  // Low page-number bits that a mapping or range of 2**order pages leaves open.
  function automatic mask_t pages_inside(gw_pkg::page_order_t order);
    return ~(mask_t'('1) << order);
  endfunction

  logic [Entries-1:0] valid_q, match, overlap, victim, used_q, touch_q, covered;
  entry_t entries_q[Entries];
  logic fill_valid_q, fill_write;
  entry_t fill_q;

  // Lookup: one-hot match, AND-OR of frame and mask.
  gw_pkg::ppn_t base;
  mask_t low_bits, offset, page;
  always_comb begin
    base = '0;
    low_bits = '0;
    match = '0;
    if (lookup_valid_i) begin
      for (int unsigned i = 0; i < Entries; i++) begin
        match[i] = valid_q[i] && same_page(
          lookup_ctx_i, entries_q[i].ctx,
          tag_vpn_t'(lookup_vpn_i), entries_q[i].vpn, entries_q[i].mask
        );
        if (match[i]) begin
          base |= entries_q[i].ppn;
          low_bits |= entries_q[i].mask;
        end
      end
    end
  end
  assign hit_o = |match;
  assign offset = mask_t'(lookup_vpn_i);
  assign page = low_bits & offset;
  assign ppn_o = base | gw_pkg::ppn_t'(page);

  // Fill, first cycle: capture. Second: compare with all entries and write.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fill_valid_q <= 1'b0;
    end else begin
      fill_valid_q <= fill_valid_i && !inval_valid_i;
    end
  end

  mask_t fill_mask;
  assign fill_mask = pages_inside(fill_order_i);
  always_ff @(posedge clk_i) begin
    fill_q.ctx <= fill_ctx_i;
    fill_q.vpn <= tag_vpn_t'(fill_vpn_i);
    fill_q.mask <= fill_mask;
    fill_q.ppn <= fill_ppn_i & ~gw_pkg::ppn_t'(fill_mask);
    fill_q.is_global <= fill_global_i;
  end

  // What an invalidation covers. Bits above the widest mode repeat its highest bit, in entries and
  // in ranges alike.
  mask_t inval_mask;
  assign inval_mask = pages_inside(inval_i.order);
  always_comb begin
    covered = '0;
    if (inval_valid_i) begin
      for (int unsigned i = 0; i < Entries; i++) begin
        unique case (inval_i.scope)
          gw_pkg::InvalRange: covered[i] = !entries_q[i].is_global && same_page(
            inval_i.ctx, entries_q[i].ctx,
            tag_vpn_t'(inval_i.vpn), entries_q[i].vpn, entries_q[i].mask | inval_mask
          );
          gw_pkg::InvalContext: covered[i] = !entries_q[i].is_global && inval_i.ctx == entries_q[i].ctx;
          default: covered[i] = 1'b1;
        endcase
      end
    end
  end

  always_comb begin
    overlap = '0;
    if (fill_valid_q) begin
      for (int unsigned i = 0; i < Entries; i++) begin
        overlap[i] = valid_q[i] && same_page(
          fill_q.ctx, entries_q[i].ctx,
          fill_q.vpn, entries_q[i].vpn, entries_q[i].mask | fill_q.mask
        );
      end
    end
  end

  // Lowest set bit: which entry among those that overlap, else the empty ones, else the unmarked
  // ones; else entry 0.
  logic [Entries-1:0] candidates;
  always_comb begin
    if (|overlap) candidates = overlap;
    else if (!(&valid_q)) candidates = ~valid_q;
    else if (!(&used_q)) candidates = ~used_q;
    else candidates = '1;
  end
  assign victim = candidates & (~candidates + 1'b1);
  assign fill_write = fill_valid_q && !inval_valid_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
    end else if (inval_valid_i) begin
      valid_q <= valid_q & ~covered;
    end else if (fill_write) begin
      valid_q <= (valid_q & ~overlap) | victim;
    end
  end

  for (genvar i = 0; i < Entries; i++) begin : gen_entry
    always_ff @(posedge clk_i) begin
      if (fill_write && victim[i]) entries_q[i] <= fill_q;
    end
  end

  // Replacement marks; a lookup's mark is set one cycle late, which keeps the match off this path.
  logic [Entries-1:0] new_marks, all_marks;
  assign new_marks = touch_q | (fill_write ? victim : '0);
  assign all_marks = used_q | new_marks;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      touch_q <= '0;
      used_q <= '0;
    end else begin
      touch_q <= use_i ? match : '0;
      used_q <= (&all_marks) ? new_marks : all_marks;
    end
  end

  logic unused_vpn;
  assign unused_vpn = ^{lookup_vpn_i, fill_vpn_i, inval_i.vpn};

  `GW_INVARIANT(OneMatch_A, $onehot0(match))
  `GW_INVARIANT(FillOrder_A, !fill_valid_i || fill_order_i <= gw_pkg::MaxPageOrder)
  `GW_INVARIANT(InvalOrder_A, !inval_valid_i || inval_i.order <= gw_pkg::MaxPageOrder)
  `GW_COVER(InvalSpares_C, inval_valid_i && (valid_q & covered) != '0 && (valid_q & ~covered) != '0)
  `GW_COVER(FillRemovesTwo_C, fill_write && !$onehot0(overlap))

endmodule
