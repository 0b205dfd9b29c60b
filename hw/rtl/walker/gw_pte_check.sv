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
// - With N an entry is one of several of a page. Svnapot: sixteen of a table of level 0, their frame ends in 1000. AnyNapot: 2**k,
//   k from 1 to 8, of a table of any level l; the frame, in pages of the level, ends in a 1 and k - 1 zeros; order 9 * l + k.
module gw_pte_check #(
  /// Levels of the widest mode that is built: 3 (Sv39) to 5 (Sv57).
  parameter int unsigned Levels = 4,
  /// 64 KiB pages (Svnapot); 0: N is a reserved bit.
  parameter bit Svnapot = 1'b1,
  /// Any power of two of entries is one page; needs Svnapot.
  parameter bit AnyNapot = 1'b0
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

  if (AnyNapot && !Svnapot) begin : gen_bad_napot
    $fatal(1, "gw_pte_check: AnyNapot needs Svnapot");
  end

  ppn_t pte_ppn, page_mask, level_mask;
  logic kind_pointer, kind_leaf, napot, aligned, allowed, up_to_date;

  gw_pte_kind u_kind (
    .pte_i,
    .pointer_o(kind_pointer),
    .leaf_o(kind_leaf)
  );

  assign pte_ppn = pte_i[PtePpnLsb +: PtePpnWidth];
  assign napot = Svnapot && pte_i[PteN];

  // Bits of the frame number that come from the virtual address: those of the level, and those of a page of several entries.
  always_comb begin
    level_mask = '0;
    for (int unsigned l = 1; l < Levels; l++) level_mask[PtLevelBits*(l-1) +: PtLevelBits] = {PtLevelBits{above_i[l]}};
  end

  page_order_t napot_order;
  logic napot_legal;
  if (AnyNapot) begin : gen_any
    // The frame number in pages of the level, its lowest bits: its trailing zeros and the one behind them are k bits.
    localparam int unsigned MostBits = PtLevelBits - 1;
    typedef logic [MostBits-1:0] size_t;
    size_t size, mask;
    always_comb begin
      size = pte_ppn[MostBits-1:0];
      for (int unsigned l = 1; l < Levels; l++) if (above_i[l]) size = pte_ppn[PtLevelBits*l +: MostBits];
    end
    assign mask = size ^ (size - 1'b1);
    assign napot_legal = size != '0;
    always_comb begin
      page_mask = level_mask;
      if (napot) begin
        page_mask[MostBits-1:0] = mask;
        for (int unsigned l = 1; l < Levels; l++) begin
          if (above_i[l]) begin
            page_mask[PtLevelBits*(l-1) +: PtLevelBits] = '1;
            page_mask[PtLevelBits*l +: MostBits] = mask;
          end
        end
      end
    end
    always_comb begin
      napot_order = '0;
      for (int unsigned k = 1; k <= MostBits; k++) if (mask[k-1]) napot_order = page_order_t'(k);
    end
    assign aligned = (pte_ppn & level_mask) == '0;
  end else begin : gen_one
    always_comb begin
      page_mask = level_mask;
      if (napot) page_mask[NapotOrder-1:0] = '1;
    end
    assign napot_order = page_order_t'(NapotOrder);
    assign napot_legal = !above_i[1];
    assign aligned = (pte_ppn & page_mask) == (napot ? ppn_t'(NapotPattern) : '0);
  end

  assign perm_o = '{r: pte_i[PteR], w: pte_i[PteW] && pte_i[PteD]};

  assign pointer_o = kind_pointer && above_i[1];
  assign allowed = kind_leaf && aligned && (!pte_i[PteN] || (napot && napot_legal)) && pte_i[PteU] && (write_i ? pte_i[PteW] : pte_i[PteR]);
  assign up_to_date = pte_i[PteA] && (!write_i || pte_i[PteD]);
  assign leaf_o = allowed && up_to_date;
  assign update_o = allowed && !up_to_date;
  assign ppn_o = (pte_ppn & ~page_mask) | (vpn_i & page_mask);

  always_comb begin
    order_o = napot ? napot_order : '0;
    if (above_i[1]) order_o = page_order_t'(PtLevelBits) + ((AnyNapot && napot) ? napot_order : '0);
    if (above_i[2]) order_o = MaxPageOrder;
  end

endmodule
