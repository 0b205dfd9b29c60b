// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The sets of the L2 TLB in which a page may be found, one for each size of entry.
//
// Contract
// - Combinational. With n = page number in units of the entry's size and k = log2(Sets):
//   - L2Partition (VPN partitioning of the SVNAPOT paper): single pages use the 64 KiB page's set, the low k bits of its n;
//     16 neighbouring 4 KiB pages share a set.
//   - L2Rehash: the low k bits of n, so each size has its own set.
//   - L2Hashed: all bits of n, folded to k bits by exclusive or, so that strides of a power of two spread as well. The 16
//     single pages of a cluster stand in SingleSets = 4 neighbouring sets: few to look at when a cluster replaces them, and
//     no fuller than others, as clusters in a row take sets in a row.
// - The context plays no part: a global entry is found from every context.
// - The single pages of a cluster stand in the sets that its first SingleSets pages have.
module gw_l2_index #(
  /// Sets, a power of two >= 2.
  parameter int unsigned Sets = 256,
  parameter gw_pkg::l2_policy_e Policy = gw_pkg::L2Hashed,
  /// Derived. One set is refused by gw_l2_tlb, whose message would be lost behind those of a width of zero.
  localparam int unsigned SetWidth = (Sets > 1) ? $clog2(Sets) : 1
) (
  input  gw_pkg::vpn_t                               vpn_i,
  output logic [gw_pkg::L2Sizes-1:0][SetWidth-1:0] set_o
);

  import gw_pkg::*;

  localparam int unsigned Chunks = (VpnWidth + SetWidth - 1) / SetWidth;

  function automatic logic [SetWidth-1:0] fold(vpn_t n);
    logic [Chunks*SetWidth-1:0] padded;
    padded = (Chunks * SetWidth)'(n);
    fold = '0;
    for (int unsigned i = 0; i < Chunks; i++) fold ^= padded[i*SetWidth+:SetWidth];
  endfunction

  for (genvar s = 0; s < L2Sizes; s++) begin : gen_size
    vpn_t n;
    if (s != L2Single || Policy == L2Rehash) begin : gen_own
      assign n = vpn_i >> L2Order[s];
    end else if (Policy == L2Partition) begin : gen_partition
      assign n = vpn_i >> ClusterShift;
    end else begin : gen_spread
      // Pages 0 to 3 of a cluster differ in these two bits, and so do pages 0, 4, 8 and 12.
      assign n = vpn_t'({vpn_i[VpnWidth-1:ClusterShift], vpn_i[1:0] ^ vpn_i[3:2]});
    end
    if (Policy == L2Hashed) begin : gen_hashed
      assign set_o[s] = fold(n);
    end else begin : gen_low
      assign set_o[s] = n[SetWidth-1:0];
      logic unused;
      assign unused = ^n;
    end
  end

endmodule
