// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Range TLB: a few entries of any length, each a whole buffer whose frames lie in a row; filled by the host.
//
//   t + 1  compared with all entries   (t: as in gw_l2_tlb, the request was taken)
//   t + 2  `hit_o`: the first that matched
//   t + 3  the translation is at the output
//
// Contract
// - A lookup a cycle. An access that its entry does not allow is no hit. If entries overlap, the lowest decides.
// - `order_o`: the largest of 4 KiB, 64 KiB, 2 MiB, 1 GiB around the page that the entry covers, aligned in both memories.
// - A write of an entry in cycle t is used by lookups compared from t+1 on; one compared in t does not use that entry. It needs no invalidation if the entry was not
//   valid; taking away or changing a valid one needs an invalidation of its range, which also clears it.
// - An invalidation pulse in t clears every entry it overlaps, by context and range; InvalAll clears all. Lookups whose
//   request was taken in t or later do not see them. A write in the cycle of a pulse counts as later than the pulse.
// - Reset clears all.
`include "gw_assert.svh"

module gw_range_tlb #(
  /// Entries, 1 to 16.
  parameter int unsigned Entries = 8,
  /// Derived.
  localparam int unsigned IdxWidth = (Entries > 1) ? $clog2(Entries) : 1
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  // Second cycle
  input  logic                         req_valid_i,
  input  gw_pkg::vpn_t                 vpn_i,
  input  gw_pkg::ctx_id_t              ctx_i,
  input  logic                         write_i,
  // Third cycle
  output logic                         hit_o,
  // Fourth cycle
  output gw_pkg::ppn_t                 ppn_o,
  output gw_pkg::page_order_t          order_o,
  output gw_pkg::perm_t                perm_o,
  // Host
  input  logic                         we_i,
  input  logic [IdxWidth-1:0]          widx_i,
  input  gw_pkg::range_t               wdata_i,
  output gw_pkg::range_t [Entries-1:0] entries_o,
  // Invalidation
  input  logic                         inval_valid_i,
  input  gw_pkg::inval_t               inval_i
);

  import gw_pkg::*;

  if (Entries < 1 || Entries > 16) begin : gen_bad_entries
    $fatal(1, "gw_range_tlb: Entries must be 1 to 16");
  end

  range_t [Entries-1:0] entry_q;
  logic [Entries-1:0] match_q, match, first, drop;
  range_t chosen, chosen_q;
  vpn_t vpn_q, answer_vpn_q, inval_last;

  // Second cycle. What an entry is written with in this cycle is not what was compared.
  logic [Entries-1:0] write;
  always_comb begin
    for (int unsigned i = 0; i < Entries; i++) begin
      write[i] = we_i && widx_i == IdxWidth'(i);
      match[i] = req_valid_i && entry_q[i].valid && entry_q[i].ctx == ctx_i && vpn_i >= entry_q[i].base &&
          vpn_i <= entry_q[i].limit && (write_i ? entry_q[i].perm.w : entry_q[i].perm.r) && !write[i];
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) match_q <= '0;
    else match_q <= match;
  end

  // Third cycle.
  assign first = match_q & (~match_q + 1'b1);
  always_comb begin
    chosen = '0;
    for (int unsigned i = 0; i < Entries; i++) if (first[i]) chosen |= entry_q[i];
  end
  assign hit_o = match_q != '0;

  always_ff @(posedge clk_i) begin
    chosen_q <= chosen;
    {answer_vpn_q, vpn_q} <= {vpn_q, vpn_i};
  end

  // Fourth cycle.
  assign ppn_o = ppn_t'(answer_vpn_q) + chosen_q.offset;
  assign perm_o = chosen_q.perm;

  // A block of 2**order pages around the page lies inside the range, and its frames are aligned.
  function automatic logic covers(vpn_t base, vpn_t limit, ppn_t offset, vpn_t vpn, int unsigned order);
    vpn_t inside_block;
    inside_block = (vpn_t'(1) << order) - 1'b1;
    return (vpn & ~inside_block) >= base && (vpn | inside_block) <= limit &&
        (offset & ppn_t'(inside_block)) == '0;
  endfunction

  always_comb begin
    order_o = '0;
    for (int unsigned s = 32'(L2Cluster); s < L2Sizes; s++) begin
      if (covers(chosen_q.base, chosen_q.limit, chosen_q.offset, answer_vpn_q, L2Order[s])) order_o = page_order_t'(L2Order[s]);
    end
  end

  logic unused;
  assign unused = ^{chosen_q.valid, chosen_q.ctx};

  // Invalidation.
  assign inval_last = inval_i.vpn | ~(vpn_t'('1) << inval_i.order);
  always_comb begin
    drop = '0;
    if (inval_valid_i) begin
      for (int unsigned i = 0; i < Entries; i++) begin
        drop[i] = inval_i.scope == InvalAll || (inval_i.ctx == entry_q[i].ctx &&
            (inval_i.scope == InvalContext || (entry_q[i].base <= inval_last && entry_q[i].limit >= inval_i.vpn)));
      end
    end
  end

  for (genvar i = 0; i < Entries; i++) begin : gen_entry
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) entry_q[i] <= '0;
      else if (write[i]) entry_q[i] <= wdata_i;
      else if (drop[i]) entry_q[i].valid <= 1'b0;
    end
  end
  assign entries_o = entry_q;

  `GW_COVER(Overlap_C, hit_o && !$onehot(match_q))
  `GW_COVER(Dropped_C, inval_valid_i && inval_i.scope == InvalRange && drop != '0)

endmodule
