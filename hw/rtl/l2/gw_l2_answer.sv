// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The translation that an entry of the L2 TLB gives for one of its pages.
//
// Contract
// - Combinational. `frame_i.base` is the frame of the first page of the entry's cluster or large page, modulo 2**44; that of a
//   large page ends in zeros.
// - `order_o`: the largest naturally aligned block around the page that the entry translates and that is aligned in
//   physical memory as well, so that the L1 keeps it as one entry.
module gw_l2_answer (
  input  gw_pkg::l2_told_t    told_i,
  input  gw_pkg::l2_size_e    size_i,
  input  gw_pkg::l2_frame_t   frame_i,
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
    case (size_i)
      L2Mega:  mask = offset_t'((1 << L2Order[L2Mega]) - 1);
      L2Giga:  mask = '1;
      default: mask = offset_t'((1 << ClusterShift) - 1);
    endcase
  end
  assign offset = offset_t'(vpn_i) & mask;
  assign ppn_o = frame_i.base + ppn_t'(offset);

  // Blocks of 2**order pages, order 1 to ClusterShift, around the page: wholly there, and aligned. The largest for each alignment
  // is known before the frame is there, which comes late from its memory and only chooses.
  logic [ClusterShift:1] there;
  page_order_t [ClusterShift:1] at_most;  // by the frame's zero bits at the end
  always_comb begin
    page_order_t largest;
    largest = '0;
    if (size_i == L2Mega) largest = page_order_t'(L2Order[L2Mega]);
    if (size_i == L2Giga) largest = page_order_t'(L2Order[L2Giga]);
    for (int unsigned o = 1; o <= ClusterShift; o++) begin
      cluster_t block;
      block = cluster_t'((1 << (1 << o)) - 1) << (page & ~ClusterShift'((1 << o) - 1));
      there[o] = (told_i.pages & block) == block && size_i != L2Mega && size_i != L2Giga;
      if (there[o]) largest = page_order_t'(o);
      at_most[o] = largest;
    end
  end
  always_comb begin
    order_o = '0;
    for (int unsigned o = 1; o <= ClusterShift; o++) order_o |= at_most[o] & {$bits(page_order_t) {frame_i.zeros[o]}};
  end

  assign cluster_o = told_i.pages;
  assign perm_o = told_i.perm;
  assign is_global_o = told_i.is_global;

  logic unused;
  assign unused = ^vpn_i;

endmodule
