// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The translation that an entry of the L2 TLB gives for one of its pages.
//
// Contract
// - Combinational. `base_i` is the frame of the first page of the entry's cluster or large page, modulo 2**44.
// - `order_o`: the largest naturally aligned block around the page that the entry translates and that is aligned in
//   physical memory as well, so that the L1 keeps it as one entry.
module gw_l2_answer (
  // The tag's address and context were compared before.
  // verilator lint_off UNUSEDSIGNAL
  input  gw_pkg::l2_tag_t     tag_i,
  // verilator lint_on UNUSEDSIGNAL
  input  gw_pkg::ppn_t        base_i,
  input  gw_pkg::vpn_t        vpn_i,
  output gw_pkg::ppn_t        ppn_o,
  output gw_pkg::page_order_t order_o,
  output gw_pkg::cluster_t    cluster_o,
  output gw_pkg::perm_t       perm_o,
  output logic                is_global_o
);

  import gw_pkg::*;

  typedef logic [L2Order[L2Giga]-1:0] offset_t;

  logic [ClusterShift-1:0] page;
  offset_t mask, offset;
  assign page = vpn_i[ClusterShift-1:0];

  always_comb begin
    case (tag_i.size)
      L2Mega:  mask = offset_t'((1 << L2Order[L2Mega]) - 1);
      L2Giga:  mask = '1;
      default: mask = offset_t'((1 << ClusterShift) - 1);
    endcase
  end
  assign offset = offset_t'(vpn_i) & mask;
  assign ppn_o = base_i + ppn_t'(offset);

  // Blocks of 2**order pages, order 0 to ClusterShift, around the page.
  always_comb begin
    order_o = '0;
    for (int unsigned o = 1; o <= ClusterShift; o++) begin
      cluster_t block;
      block = cluster_t'((1 << (1 << o)) - 1) << (page & ~ClusterShift'((1 << o) - 1));
      if ((tag_i.pages & block) == block && (base_i & ppn_t'((1 << o) - 1)) == '0) order_o = page_order_t'(o);
    end
    if (tag_i.size == L2Mega) order_o = page_order_t'(L2Order[L2Mega]);
    if (tag_i.size == L2Giga) order_o = page_order_t'(L2Order[L2Giga]);
  end

  assign cluster_o = tag_i.pages;
  assign perm_o = tag_i.perm;
  assign is_global_o = tag_i.is_global;

  logic unused;
  assign unused = ^vpn_i;

endmodule
