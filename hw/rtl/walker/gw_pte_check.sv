// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Decides what one page-table entry means for one access.
//
// Contract
// - Combinational.
// - `pointer_o`: go on in the table whose frame the entry has. `leaf_o`: the access is allowed; `ppn_o` is the frame of the 4 KiB
//   page asked for, `order_o` the size of the mapping around it, `perm_o` what it allows. `update_o`: it would be with A, or A
//   and D, set. None: page fault.
// - A leaf above 1 GiB is answered as the 1 GiB of it that holds the page (gw_pkg::MaxPageOrder).
module gw_pte_check #(
  /// Levels of the widest mode that is built: 3 (Sv39) to 5 (Sv57).
  parameter int unsigned Levels = 4,
  /// 64 KiB pages (Svnapot); 0: N is a reserved bit.
  parameter bit Svnapot = 1'b1
) (
  input logic [63:0] pte_i,
  /// Bit l: the entry was found in a table of level l or above; level 0 holds 4 KiB pages.
  input logic [Levels-1:1] above_i,
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

  gw_pte_kind u_kind (
    .pte_i,
    .pointer_o(kind_pointer),
    .leaf_o(kind_leaf)
  );

  assign pte_ppn = pte_i[PtePpnLsb +: PtePpnWidth];
  assign napot = Svnapot && pte_i[PteN];

  // Bits of the frame number that come from the virtual address.
  always_comb begin
    page_mask = '0;
    for (int unsigned l = 1; l < Levels; l++) page_mask[PtLevelBits*(l-1) +: PtLevelBits] = {PtLevelBits{above_i[l]}};
    if (napot) page_mask[NapotOrder-1:0] = '1;
  end

  assign aligned = (pte_ppn & page_mask) == (napot ? ppn_t'(NapotPattern) : '0);
  assign perm_o = '{r: pte_i[PteR], w: pte_i[PteW] && pte_i[PteD]};

  assign pointer_o = kind_pointer && above_i[1];
  assign allowed = kind_leaf && aligned && (!pte_i[PteN] || (napot && !above_i[1])) && pte_i[PteU] && (write_i ? pte_i[PteW] : pte_i[PteR]);
  assign up_to_date = pte_i[PteA] && (!write_i || pte_i[PteD]);
  assign leaf_o = allowed && up_to_date;
  assign update_o = allowed && !up_to_date;
  assign ppn_o = (pte_ppn & ~page_mask) | (vpn_i & page_mask);

  always_comb begin
    order_o = napot ? page_order_t'(NapotOrder) : '0;
    if (above_i[1]) order_o = page_order_t'(PtLevelBits);
    if (above_i[2]) order_o = MaxPageOrder;
  end

endmodule
