// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Invalidations of the L2 TLB: from the pulse on a filter hides what they drop, while a sweep over all sets clears it.
//
// Contract
// - A pulse in cycle t is in the filter (`blocked_*`, `drop_o`) from t+1 on, until every set was read (`sweep_take_i`) in a
//   cycle after t, what matched was written back in the cycle after that read, and lookups that read before this are over.
// - Pulses in any cycle. `Slots` are kept apart; further ones widen the last slot: to the naturally aligned range around
//   both if they are of one context, else to everything, and its sweep begins anew.
// - Granule: a cluster of 16 pages; an entry is dropped if it overlaps the range rounded to it. Global entries are dropped
//   by InvalAll only.
// - Reset begins a sweep that drops everything, as memories are not reset; it does so without looking (`first_o`), for the
//   copies of a memory need not be alike before they are written.
// - `busy_o`: a slot is active and a pulse came since reset.
`include "gw_assert.svh"

module gw_l2_inval #(
  parameter int unsigned Sets = 256,
  parameter int unsigned Ways = 4,
  /// Invalidations kept apart, >= 1.
  parameter int unsigned Slots = 2,
  /// Derived.
  localparam int unsigned SetWidth = $clog2(Sets)
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         inval_valid_i,
  input  gw_pkg::inval_t               inval_i,
  output logic                         busy_o,
  // Lookup of a page: may an entry around it not be used, by its size; may a global one not be used.
  input  gw_pkg::vpn_t                 vpn_i,
  input  gw_pkg::ctx_id_t              ctx_i,
  output logic [gw_pkg::L2Sizes-1:0]   blocked_o,
  output logic                         blocked_global_o,
  // Sweep
  output logic                         sweep_valid_o,
  input  logic                         sweep_take_i,
  output logic [SetWidth-1:0]          sweep_set_o,
  // Entries read, and which of them go
  input  gw_pkg::l2_tag_t [Ways-1:0]   tags_i,
  output logic [Ways-1:0]              drop_o,
  /// Something is dropped, or sets are swept for it.
  output logic                         active_o,
  /// The sweep after reset is not over.
  output logic                         first_o
);

  import gw_pkg::*;

  if (Slots < 1) begin : gen_bad_slots
    $fatal(1, "gw_l2_inval: Slots must be at least 1");
  end

  typedef struct packed {
    logic         all;
    ctx_id_t      ctx;
    cluster_vpn_t vpn;
    cluster_vpn_t mask;  // bits of `vpn` that are inside the range
  } scope_t;

  logic   [Slots-1:0] active_q, drain_q, take;
  scope_t [Slots-1:0] scope_q;
  logic   [Slots-1:0][SetWidth:0] left_q;
  logic   [SetWidth-1:0] set_q;
  logic   full, pulsed_q, first_q;
  scope_t pulse, wider;

  always_comb begin
    pulse.all = inval_i.scope == InvalAll;
    pulse.ctx = inval_i.ctx;
    pulse.vpn = cluster_vpn_t'(inval_i.vpn >> ClusterShift);
    pulse.mask = cluster_vpn_t'(~(vpn_t'('1) << inval_i.order) >> ClusterShift);
    if (inval_i.scope == InvalContext) pulse.mask = '1;
  end

  // The range around the last slot's and the pulse's.
  cluster_vpn_t differ;
  always_comb begin
    differ = scope_q[Slots-1].vpn ^ pulse.vpn;
    wider = pulse;
    wider.all = pulse.all || scope_q[Slots-1].all || pulse.ctx != scope_q[Slots-1].ctx;
    wider.mask = pulse.mask | scope_q[Slots-1].mask;
    if (inval_valid_i) begin
      for (int unsigned i = 0; i < VpnWidth - ClusterShift; i++) wider.mask[i] |= (differ >> i) != '0;
    end
  end

  assign full = &active_q;
  assign take = full ? (Slots'(1) << (Slots - 1)) : ~active_q & (active_q + Slots'(1));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= Slots'(1);
      scope_q <= '1;
      drain_q <= '0;
      for (int unsigned i = 0; i < Slots; i++) left_q[i] <= (SetWidth + 1)'(Sets);
      set_q <= '0;
      pulsed_q <= 1'b0;
      first_q <= 1'b1;
    end else begin
      pulsed_q <= pulsed_q || inval_valid_i;
      // Slot 0 has been active since reset until it drains for the first time.
      if (drain_q[0]) first_q <= 1'b0;
      if (sweep_take_i) set_q <= set_q + 1'b1;
      for (int unsigned i = 0; i < Slots; i++) begin
        // Left: sets to read. Then a cycle for the last one's write and one for lookups that read beside it.
        if (sweep_take_i && left_q[i] != '0) left_q[i] <= left_q[i] - 1'b1;
        drain_q[i] <= active_q[i] && left_q[i] == '0;
        if (drain_q[i]) active_q[i] <= 1'b0;
        if (inval_valid_i && take[i]) begin
          active_q[i] <= 1'b1;
          scope_q[i] <= full ? wider : pulse;
          left_q[i] <= (SetWidth + 1)'(Sets);
          drain_q[i] <= 1'b0;
        end
      end
    end
  end

  assign active_o = active_q != '0;
  assign busy_o = pulsed_q && active_o;
  assign sweep_set_o = set_q;
  assign first_o = first_q;
  always_comb begin
    sweep_valid_o = 1'b0;
    for (int unsigned i = 0; i < Slots; i++) sweep_valid_o |= active_q[i] && left_q[i] != '0;
  end

  // Bits inside an entry of a size.
  function automatic cluster_vpn_t inside_entry(l2_size_e size);
    case (size)
      L2Mega: return cluster_vpn_t'((1 << (L2Order[L2Mega] - ClusterShift)) - 1);
      L2Giga: return cluster_vpn_t'((1 << (L2Order[L2Giga] - ClusterShift)) - 1);
      default: return '0;
    endcase
  endfunction

  function automatic logic overlaps(scope_t scope, ctx_id_t ctx, cluster_vpn_t vpn, l2_size_e size);
    return scope.all || (scope.ctx == ctx && ((scope.vpn ^ vpn) & ~(scope.mask | inside_entry(size))) == '0);
  endfunction

  always_comb begin
    blocked_o = '0;
    blocked_global_o = 1'b0;
    for (int unsigned i = 0; i < Slots; i++) begin
      if (active_q[i]) begin
        for (int unsigned s = 0; s < L2Sizes; s++) begin
          blocked_o[s] |= overlaps(scope_q[i], ctx_i, cluster_vpn_t'(vpn_i >> ClusterShift), l2_size_e'(s));
        end
        blocked_global_o |= scope_q[i].all;
      end
    end
  end

  always_comb begin
    drop_o = {Ways{first_q}};
    for (int unsigned i = 0; i < Slots; i++) begin
      if (active_q[i]) begin
        for (int unsigned w = 0; w < Ways; w++) begin
          drop_o[w] |= tags_i[w].valid && (scope_q[i].all || (!tags_i[w].is_global &&
              overlaps(scope_q[i], tags_i[w].ctx, tags_i[w].vpn, tags_i[w].size)));
        end
      end
    end
  end

  logic unused;
  assign unused = ^{inval_i.vpn, vpn_i, tags_i};

  `GW_INVARIANT(LeftOnlyWhileActive_A, !sweep_take_i || sweep_valid_o)
  `GW_COVER(Widened_C, inval_valid_i && full && !wider.all)

endmodule
