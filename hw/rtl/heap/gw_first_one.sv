// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Number of the lowest bit that is set.
//
// Contract
// - Combinational, a balanced tree: log2(Width) lookup tables deep.
// - `idx_o` means nothing while `any_o` is low.
module gw_first_one #(
  /// Bits, a power of two, >= 1.
  parameter int unsigned Width = 64,
  /// Derived.
  localparam int unsigned IdxWidth = (Width > 1) ? $clog2(Width) : 1
) (
  input  logic [Width-1:0]    bits_i,
  output logic                any_o,
  output logic [IdxWidth-1:0] idx_o
);

  if (Width < 1 || (Width & (Width - 1)) != 0) begin : gen_bad_width
    $fatal(1, "gw_first_one: Width must be a power of two");
  end

  if (Width == 1) begin : gen_one
    assign any_o = bits_i[0];
    assign idx_o = '0;
  end else begin : gen_tree
    // Pairs, then pairs of pairs: what is found in the lower half comes first. What a pair of 2**(l+1) bits has is where the first of them is;
    // what is elsewhere means nothing. Whole words, and not pair by pair: so it is a few instructions of a simulator.
    always_comb begin
      logic [Width-1:0] any;
      logic [IdxWidth-1:0][Width-1:0] idx;
      any = bits_i;
      idx = '0;
      for (int unsigned l = 0; l < IdxWidth; l++) begin
        for (int unsigned b = 0; b < l; b++) idx[b] = (any & idx[b]) | (~any & (idx[b] >> (1 << l)));
        idx[l] = ~any;
        any |= any >> (1 << l);
      end
      any_o = any[0];
      for (int unsigned b = 0; b < IdxWidth; b++) idx_o[b] = idx[b][0];
    end
  end

endmodule
