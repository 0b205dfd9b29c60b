// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Compares the entries of one set with one page, for entries of one size, or for both sizes that translate single pages.
//
// Contract
// - Combinational. `match_o`: the way holds an entry of this size (of L2Cluster too with `AndClusters`) that translates the
//   page for the context and allows the access; none that an invalidation under way drops (`blocked_i`, the same for single pages
//   and their clusters; global entries: `blocked_global_i`).
// - At most one way matches: gw_l2_fill sees to it.
`include "gw_assert.svh"

module gw_l2_match #(
  parameter int unsigned Ways = 4,
  parameter gw_pkg::l2_size_e Size = gw_pkg::L2Single,
  /// Single pages and clusters lie in one set: `Size` is L2Single, and an entry of either size may match.
  parameter bit AndClusters = 1'b0
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  /// The entries read are those of this page's set.
  input  logic                          valid_i,
  input  gw_pkg::vpn_t                  vpn_i,
  input  gw_pkg::ctx_id_t               ctx_i,
  input  logic                          write_i,
  input  gw_pkg::l2_tag_t [Ways-1:0]    tags_i,
  input  logic                          blocked_i,
  input  logic                          blocked_global_i,
  output logic [Ways-1:0]               match_o
);

  import gw_pkg::*;

  localparam int unsigned LowBits = (L2Order[Size] > ClusterShift) ? L2Order[Size] - ClusterShift : 0;
  typedef logic [VpnWidth-ClusterShift-LowBits-1:0] page_t;

  page_t page;
  assign page = page_t'(vpn_i >> (ClusterShift + LowBits));

  logic [Ways-1:0] of_size;
  always_comb begin
    match_o = '0;
    for (int unsigned w = 0; w < Ways; w++) begin
      of_size[w] = tags_i[w].size == Size || (AndClusters && tags_i[w].size == L2Cluster);
      if (valid_i) match_o[w] = tags_i[w].valid && of_size[w] &&
          (tags_i[w].is_global ? !blocked_global_i : (tags_i[w].ctx == ctx_i && !blocked_i)) &&
          page_t'(tags_i[w].vpn >> LowBits) == page &&
          (LowBits != 0 || tags_i[w].pages[vpn_i[ClusterShift-1:0]]) &&
          (write_i ? tags_i[w].perm.w : tags_i[w].perm.r);
    end
  end

  logic unused;
  assign unused = ^{vpn_i, tags_i};

  `GW_INVARIANT(OneMatch_A, $onehot0(match_o))

endmodule
