// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Decides what one page-table entry means for one access.
//
// Contract
// - Combinational.
// - `pointer_o`: go on in the table `ppn_o`. `leaf_o`: the access is allowed; `ppn_o` is the frame of the 4 KiB page asked
//   for, `order_o` the size of the mapping around it, `perm_o` what it allows. `update_o`: it would be with A, or A and D, set.
//   None: page fault.
// - A leaf above 1 GiB is answered as the 1 GiB of it that holds the page (gw_pkg::MaxPageOrder).
module gw_pte_check #(
  /// Levels of the widest mode that is built: 3 (Sv39) to 5 (Sv57).
  parameter int unsigned Levels = 4,
  /// 64 KiB pages (Svnapot); 0: N is a reserved bit.
  parameter bit Svnapot = 1'b1
) (
  input logic [63:0] pte_i,
  /// Level of the table the entry was found in; 0 holds 4 KiB pages.
  input logic [2:0] level_i,
  /// Page asked for; the bits above a frame number's width play no part.
  input gw_pkg::ppn_t vpn_i,
  input logic write_i,
  output logic pointer_o,
  output logic leaf_o,
  output logic update_o,
  output gw_pkg::ppn_t ppn_o,
  output gw_pkg::page_order_t order_o,
  output gw_pkg::perm_t perm_o
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  ppn_t pte_ppn, page_mask;
  logic kind_pointer, kind_leaf, napot, aligned, allowed, up_to_date;
  logic [Levels-1:0] at_level;

  gw_pte_kind u_kind (
    .pte_i,
    .pointer_o(kind_pointer),
    .leaf_o(kind_leaf)
  );

  assign pte_ppn = pte_i[PtePpnLsb +: PtePpnWidth];
  assign napot = Svnapot && pte_i[PteN];
  for (genvar l = 0; l < Levels; l++) begin : gen_at_level
    assign at_level[l] = level_i == 3'(l);
  end

  // Bits of the frame number that come from the virtual address.
  always_comb begin
    page_mask = '0;
    if (at_level[0] && napot) page_mask = (ppn_t'(1) << NapotOrder) - ppn_t'(1);
    for (int unsigned l = 1; l < Levels; l++) begin
      if (at_level[l]) page_mask = (ppn_t'(1) << (PtLevelBits * l)) - ppn_t'(1);
    end
  end

  assign aligned = (pte_ppn & page_mask) == (napot ? ppn_t'(NapotPattern) : '0);
  assign perm_o = '{r: pte_i[PteR], w: pte_i[PteW] && pte_i[PteD]};

  assign pointer_o = kind_pointer && !at_level[0];
  assign allowed = kind_leaf && aligned && (!pte_i[PteN] || (napot && at_level[0])) && pte_i[PteU] && (write_i ? pte_i[PteW] : pte_i[PteR]);
  assign up_to_date = pte_i[PteA] && (!write_i || pte_i[PteD]);
  assign leaf_o = allowed && up_to_date;
  assign update_o = allowed && !up_to_date;
  assign ppn_o = pointer_o ? pte_ppn : (pte_ppn & ~page_mask) | (vpn_i & page_mask);

  always_comb begin
    order_o = MaxPageOrder;
    if (at_level[0]) order_o = napot ? page_order_t'(NapotOrder) : '0;
    else if (at_level[1]) order_o = page_order_t'(PtLevelBits);
  end

endmodule
