// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Compares the entries of one set with one page, for entries of one size, or for both sizes that translate single pages.
//
// Contract
// - The page is compared in its first cycle, straight from the memories; parts of the comparison, and of the entries what an
//   answer needs, are registered. In the next cycle `match_o` joins them.
// - `told_o`: what is needed of the way that matches.
// - `match_o`: the way holds an entry of this size (of L2Cluster too with `AndClusters`) that translates the page for the
//   context and allows the access; none that an invalidation under way drops (`blocked_i` of that next cycle, the same for
//   single pages and their clusters; `blocked_global_i`: global entries as well).
// - At most one way matches: gw_l2_fill sees to it.
`include "gw_assert.svh"

module gw_l2_match #(
  parameter int unsigned Ways = 4,
  parameter gw_pkg::l2_size_e Size = gw_pkg::L2Single,
  /// Single pages and clusters lie in one set: `Size` is L2Single, and an entry of either size may match.
  parameter bit AndClusters = 1'b0
) (
  input  logic                                 clk_i,
  input  logic                                 rst_ni,
  // First cycle
  /// The entries read are those of this page's set.
  input  logic                                 valid_i,
  input  gw_pkg::vpn_t                         vpn_i,
  input  gw_pkg::ctx_id_t                      ctx_i,
  input  logic                                 write_i,
  input  gw_pkg::l2_tag_t [Ways-1:0]           tags_i,
  /// These were written while they were read.
  input  logic            [Ways-1:0]           written_i,
  // Second cycle
  input  logic                                 blocked_i,
  input  logic                                 blocked_global_i,
  output logic            [Ways-1:0]           match_o,
  output gw_pkg::l2_told_t                     told_o
);

  import gw_pkg::*;

  localparam int unsigned LowBits = (L2Order[Size] > ClusterShift) ? L2Order[Size] - ClusterShift : 0;
  localparam int unsigned PageBits = VpnWidth - ClusterShift - LowBits;
  typedef logic [PageBits-1:0] page_t;
  // Halves of a page number, so that a comparison is three lookup tables deep.
  localparam int unsigned Half = PageBits / 2;

  // What was found of an entry.
  typedef struct packed {
    logic right;   // valid, of this size, with the page, and allows the access
    logic high;    // of the page's number
    logic low;
    logic own;     // of the context, or global
    l2_told_t told;
  } found_t;

  page_t page;
  assign page = page_t'(vpn_i >> (ClusterShift + LowBits));

  found_t [Ways-1:0] found_d, found_q;
  always_comb begin
    found_d = '0;
    for (int unsigned w = 0; w < Ways; w++) begin
      page_t tag_page;
      tag_page = page_t'(tags_i[w].vpn >> LowBits);
      found_d[w].right = valid_i && !written_i[w] && tags_i[w].valid &&
          (tags_i[w].size == Size || (AndClusters && tags_i[w].size == L2Cluster)) &&
          (LowBits != 0 || tags_i[w].pages[vpn_i[ClusterShift-1:0]]) && (write_i ? tags_i[w].perm.w : tags_i[w].perm.r);
      found_d[w].high = tag_page[PageBits-1:Half] == page[PageBits-1:Half];
      found_d[w].low = tag_page[Half-1:0] == page[Half-1:0];
      found_d[w].own = tags_i[w].is_global || tags_i[w].ctx == ctx_i;
      found_d[w].told = '{is_global: tags_i[w].is_global, perm: tags_i[w].perm, pages: tags_i[w].pages};
    end
  end

  always_ff @(posedge clk_i) found_q <= found_d;

  // What drops global entries drops all.
  always_comb begin
    told_o = '0;
    for (int unsigned w = 0; w < Ways; w++) begin
      match_o[w] = found_q[w].right && found_q[w].high && found_q[w].low && found_q[w].own &&
          !(blocked_i && (blocked_global_i || !found_q[w].told.is_global));
      if (match_o[w]) told_o |= found_q[w].told;
    end
  end

  logic unused;
  assign unused = ^{rst_ni, vpn_i, tags_i};

  `GW_INVARIANT(GlobalBlocksAll_A, !blocked_global_i || blocked_i)
  `GW_INVARIANT(OneMatch_A, $onehot0(match_o))

endmodule
