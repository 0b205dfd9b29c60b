// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_pte_check against the specification's rules, of any entry at any level, for any page and access. A size is looked for among all there
// can be, where the block works it out.
module fv_pte_check #(
  parameter int unsigned Levels = 4,
  parameter bit Svnapot = 1'b1,
  parameter bit AnyNapot = 1'b0
) (
  input logic [63:0] pte,
  input logic [2:0]  level,
  input gw_pkg::ppn_t vpn,
  input logic        write
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  logic [Levels-1:1] above;
  always_comb for (int unsigned l = 1; l < Levels; l++) above[l] = level >= 3'(l);

  logic pointer, leaf, update;
  ppn_t ppn;
  page_order_t order;
  perm_t perm;
  gw_pte_check #(
    .Levels  (Levels),
    .Svnapot (Svnapot),
    .AnyNapot(AnyNapot)
  ) u_check (
    .pte_i    (pte),
    .above_i  (above),
    .vpn_i    (vpn),
    .write_i  (write),
    .pointer_o(pointer),
    .leaf_o   (leaf),
    .update_o (update),
    .ppn_o    (ppn),
    .order_o  (order),
    .perm_o   (perm)
  );

  // The entry's parts, by the specification's names.
  logic v, r, w, x, u, a, d, n;
  logic [43:0] frame;
  assign {d, a} = pte[7:6];
  assign {u, x, w, r, v} = pte[4:0];
  assign n = pte[63];
  assign frame = pte[53:10];

  // The one size that the entry can have: 2**k entries of its level, if any.
  logic sized;
  int unsigned bits;
  always_comb begin
    sized = 1'b0;
    bits = 0;
    for (int unsigned l = 0; l < Levels; l++) begin
      for (int unsigned k = 0; k <= 8; k++) begin
        if (level == 3'(l) && n == (k != 0) && (k == 0 || AnyNapot || (Svnapot && l == 0 && k == 4))) begin
          if ((frame & ((44'd1 << (9 * l + k)) - 1)) == ((k == 0) ? 44'd0 : 44'd1 << (9 * l + k - 1))) begin
            sized = 1'b1;
            bits = 9 * l + k;
          end
        end
      end
    end
  end

  logic valid, is_leaf, allowed;
  assign valid = v && !(w && !r) && pte[62:54] == '0;
  assign is_leaf = valid && (r || x);
  assign allowed = is_leaf && sized && u && (write ? w : r);

  always_comb begin
    if (level < 3'(Levels)) begin
      Pointer_A : assert (pointer == (valid && !r && !x && !n && !d && !a && !u && level != '0));
      Leaf_A : assert (leaf == (allowed && a && (d || !write)));
      Update_A : assert (update == (allowed && !(a && (d || !write))));
      if (allowed) begin
        Frame_A : assert (ppn == ((frame & ~((44'd1 << bits) - 1)) | (vpn & ((44'd1 << bits) - 1))));
        Order_A : assert (32'(order) == ((bits > 18) ? 18 : bits));
        Perm_A : assert (perm == {r, w && d});
      end
    end
  end

  // Not checked of nothing.
  always_comb begin
    Pointer_C : cover (pointer);
    Single_C : cover (leaf && bits == 0);
    Large_C : cover (leaf && bits == 9 * (Levels - 1));
    Group_C : cover (leaf && bits == 4);
    LacksD_C : cover (update && a);
  end

endmodule
