// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Where a walk begins when no cache knows better: the context's root table, or a fault that needs no memory at all.
//
// Contract: combinational. `vpn_i` is bits 56:12 of an address whose bits 63:57 equal bit 56 (the translator's check); here
// the bits below are checked against the context's own mode.
module gw_walk_start #(
  /// Levels of the widest mode that is built: 3 (Sv39) to 5 (Sv57).
  parameter int unsigned Levels = 4,
  /// Contexts, 1 to 2**gw_pkg::CtxIdWidth.
  parameter int unsigned NumContexts = 16
) (
  input gw_pkg::ctx_t [NumContexts-1:0] ctx_i,
  input gw_pkg::ctx_id_t ctx_id_i,
  input gw_pkg::vpn_t vpn_i,
  input logic write_i,
  /// Level of the root table.
  output logic [2:0] level_o,
  output gw_pkg::ppn_t root_o,
  /// Hardware sets A and D in this context.
  output logic update_o,
  output logic fault_o,
  output gw_pkg::cause_t cause_o
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned CtxIdxWidth = (NumContexts > 1) ? $clog2(NumContexts) : 1;

  ctx_t ctx;
  logic supported, canonical;

  // An id that does not exist is a context that is off.
  assign ctx = (32'(ctx_id_i) < NumContexts) ? ctx_i[CtxIdxWidth'(ctx_id_i)] : ctx_t'{mode: ModeOff, sade: 1'b0, root: '0};
  assign root_o = ctx.root;
  assign update_o = ctx.sade;

  vpn_t top_bits;
  always_comb begin
    supported = 1'b0;
    top_bits = '0;
    canonical = 1'b0;
    level_o = '0;
    for (int unsigned levels = 3; levels <= Levels; levels++) begin
      if (ctx.mode == ModeSv39 + 4'(levels - 3)) begin
        supported = 1'b1;
        level_o = 3'(levels - 1);
        // All bits from the mode's topmost on are equal.
        top_bits = vpn_t'($signed(vpn_i) >>> (PtLevelBits * levels - 1));
        canonical = top_bits == '0 || top_bits == '1;
      end
    end
  end

  assign fault_o = !supported || !canonical;
  always_comb begin
    if (ctx.mode == ModeOff) cause_o = CauseContextOff;
    else if (!supported) cause_o = CauseContextMisconfigured;
    else cause_o = write_i ? CauseStorePageFault : CauseLoadPageFault;
  end

endmodule
