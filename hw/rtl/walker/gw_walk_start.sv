// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Where a walk begins when no cache knows better: the context's root table, or a fault that needs no memory at all.
//
// Contract: combinational. `vpn_i` is bits 56:12 of an address whose bits 63:57 equal bit 56 (the translator's check); here
// the bits below are checked against the context's own mode.
module gw_walk_start #(
  /// Levels of the widest mode that is built: 3 (Sv39) to 5 (Sv57).
  parameter int unsigned Levels = 4
) (
  // Its root is the caller's.
  // verilator lint_off UNUSEDSIGNAL
  input gw_pkg::ctx_t ctx_i,
  // verilator lint_on UNUSEDSIGNAL
  input gw_pkg::vpn_t vpn_i,
  /// Level of the root table.
  output logic [2:0] level_o,
  output gw_pkg::walk_refusal_e refusal_o
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  logic supported, canonical;
  vpn_t top_bits;
  always_comb begin
    supported = 1'b0;
    top_bits = '0;
    canonical = 1'b0;
    level_o = '0;
    for (int unsigned levels = 3; levels <= Levels; levels++) begin
      // All bits from the mode's topmost on are equal.
      top_bits = vpn_t'($signed(vpn_i) >>> (PtLevelBits * levels - 1));
      if (ctx_i.mode == ModeSv39 + 4'(levels - 3)) begin
        supported = 1'b1;
        level_o = 3'(levels - 1);
        canonical = top_bits == '0 || top_bits == '1;
      end
    end
  end

  always_comb begin
    if (ctx_i.mode == ModeOff) refusal_o = RefusedOff;
    else if (!supported) refusal_o = RefusedMode;
    else refusal_o = canonical ? NotRefused : RefusedAddress;
  end

endmodule
