// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Invalidations of the L2 TLB: from the pulse on a filter hides what they drop, while a sweep over all sets clears it.
//
// Contract
// - A pulse in cycle t is in the filter (`blocked_*`, of the page given a cycle before) for pages given in t+1 or later, until
//   every set was read for it, what matched was written back two cycles later, and lookups that read before this are over.
// - Pulses in any cycle. One scope is swept, to its end whatever comes. What comes meanwhile joins the next scope, which hides
//   at once and is swept as a whole afterwards. So a pulse is swept after two sweeps at most.
// - Joined: the range around both if they are of one context (the aligned 2 MiB, the aligned 1 GiB, or all of it), else everything.
// - Granule: a cluster of 16 pages; an entry is dropped if it overlaps the range rounded to it. Global entries are dropped
//   by InvalAll only.
// - Reset begins a sweep that drops everything, as memories are not reset; it does so without looking (`first_o`), for the
//   copies of a memory need not be alike before they are written.
// - `busy_o`: a pulse of the other epoch (not `epoch_i`) is not swept.
`include "gw_assert.svh"

module gw_l2_inval #(
  parameter int unsigned Sets = 256,
  parameter int unsigned Ways = 4,
  /// Derived.
  localparam int unsigned SetWidth = $clog2(Sets)
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         inval_valid_i,
  input  gw_pkg::inval_t               inval_i,
  input  logic                         epoch_i,
  output logic                         busy_o,
  // Lookup of a page; in the next cycle: may an entry around it not be used, by its size; may a global one not be used.
  input  gw_pkg::vpn_t                 vpn_i,
  input  gw_pkg::ctx_id_t              ctx_i,
  output logic [gw_pkg::L2Sizes-1:0]   blocked_o,
  output logic                         blocked_global_o,
  // Sweep
  output logic                         sweep_valid_o,
  input  logic                         sweep_take_i,
  output logic [SetWidth-1:0]          sweep_set_o,
  // Entries read, in the cycle after `sweep_take_i`; in the next, which of them go
  input  gw_pkg::l2_tag_t [Ways-1:0]   tags_i,
  output logic [Ways-1:0]              drop_o,
  /// Something is dropped, or sets are swept for it.
  output logic                         active_o,
  /// The sweep after reset is not over.
  output logic                         first_o
);

  import gw_pkg::*;

  // Bits of a cluster's number inside 2 MiB and 1 GiB.
  localparam int unsigned MegaBits = L2Order[L2Mega] - ClusterShift;
  localparam int unsigned GigaBits = L2Order[L2Giga] - ClusterShift;
  localparam cluster_vpn_t InMega = cluster_vpn_t'((1 << MegaBits) - 1);
  localparam cluster_vpn_t InGiga = cluster_vpn_t'((1 << GigaBits) - 1);

  typedef struct packed {
    logic         all;
    ctx_id_t      ctx;
    cluster_vpn_t vpn;
    cluster_vpn_t mask;  // bits of `vpn` that are inside the range
  } scope_t;

  // 0 is swept, 1 is next.
  logic   [1:0]      active_q;
  scope_t [1:0]      scope_q;
  logic   [1:0][1:0] epochs_q;  // a pulse of this epoch is inside
  logic   [SetWidth:0]   left_q;
  logic   [SetWidth-1:0] set_q;
  logic   [1:0]          drain_q;
  logic                  first_q, promote;
  scope_t pulse, wider;

  always_comb begin
    pulse.all = inval_i.scope == InvalAll;
    pulse.ctx = inval_i.ctx;
    pulse.vpn = cluster_vpn_t'(inval_i.vpn >> ClusterShift);
    pulse.mask = cluster_vpn_t'(~(vpn_t'('1) << inval_i.order) >> ClusterShift);
    if (inval_i.scope == InvalContext) pulse.mask = '1;
  end

  // The range around the next scope's and the pulse's.
  cluster_vpn_t differ;
  always_comb begin
    differ = scope_q[1].vpn ^ pulse.vpn;
    wider = pulse;
    wider.all = pulse.all || scope_q[1].all || pulse.ctx != scope_q[1].ctx;
    wider.mask = pulse.mask | scope_q[1].mask;
    if (differ != '0) wider.mask |= InMega;
    if ((differ & ~InMega) != '0) wider.mask |= InGiga;
    if ((differ & ~InGiga) != '0) wider.mask = '1;
  end

  assign promote = active_q == 2'b10;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 2'b01;
      scope_q <= '1;
      epochs_q <= '0;
      drain_q <= '0;
      left_q <= (SetWidth + 1)'(Sets);
      set_q <= '0;
      first_q <= 1'b1;
    end else begin
      // Left: sets to read. The last one is written two cycles later, and lookups that read beside that are hidden in the next.
      if (sweep_take_i) begin
        set_q <= set_q + 1'b1;
        left_q <= left_q - 1'b1;
      end
      drain_q <= {drain_q[0], active_q[0] && left_q == '0};
      if (drain_q[1]) begin
        active_q[0] <= 1'b0;
        drain_q <= '0;
        first_q <= 1'b0;
      end
      if (promote) begin
        active_q <= 2'b01;
        scope_q[0] <= scope_q[1];
        epochs_q[0] <= epochs_q[1];
        left_q <= (SetWidth + 1)'(Sets);
      end
      if (inval_valid_i) begin
        active_q[1] <= 1'b1;
        scope_q[1] <= (active_q[1] && !promote) ? wider : pulse;
        epochs_q[1] <= ((active_q[1] && !promote) ? epochs_q[1] : 2'b00) | (2'b01 << epoch_i);
      end
    end
  end

  assign active_o = active_q != '0;
  assign busy_o = (active_q[0] && epochs_q[0][!epoch_i]) || (active_q[1] && epochs_q[1][!epoch_i]);
  assign sweep_set_o = set_q;
  assign first_o = first_q;
  assign sweep_valid_o = active_q[0] && left_q != '0;

  // Which parts of a page's number lie in a scope: the 1 GiB, the 2 MiB in it, the cluster in that.
  typedef struct packed {
    logic giga;
    logic mega;
    logic cluster;
  } inside_t;

  function automatic inside_t inside_scope(cluster_vpn_t first, cluster_vpn_t mask, cluster_vpn_t vpn);
    cluster_vpn_t other;
    other = (first ^ vpn) & ~mask;
    return '{giga: (other & ~InGiga) == '0, mega: (other & InGiga & ~InMega) == '0, cluster: (other & InMega) == '0};
  endfunction

  // Does an entry of a size overlap a scope?
  function automatic logic overlaps(inside_t part, l2_size_e size);
    return part.giga && (part.mega || size == L2Giga) && (part.cluster || size == L2Giga || size == L2Mega);
  endfunction

  // Lookup.
  logic [L2Sizes-1:0] blocked_d;
  logic blocked_global_d;
  always_comb begin
    blocked_d = '0;
    blocked_global_d = 1'b0;
    for (int unsigned i = 0; i < 2; i++) begin
      for (int unsigned s = 0; s < L2Sizes; s++) begin
        blocked_d[s] |= active_q[i] && (scope_q[i].all || (scope_q[i].ctx == ctx_i && overlaps(
            inside_scope(scope_q[i].vpn, scope_q[i].mask, cluster_vpn_t'(vpn_i >> ClusterShift)), l2_size_e'(s))));
      end
      blocked_global_d |= active_q[i] && scope_q[i].all;
    end
  end
  always_ff @(posedge clk_i) {blocked_o, blocked_global_o} <= {blocked_d, blocked_global_d};

  // Sweep: part of the comparison of every way, then the rest.
  typedef struct packed {
    logic     valid;
    logic     is_global;
    logic     of_ctx;
    l2_size_e size;
    inside_t  part;
  } swept_t;
  swept_t [Ways-1:0] swept_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned w = 0; w < Ways; w++) begin
      swept_q[w] <= '{
          valid: tags_i[w].valid,
          is_global: tags_i[w].is_global,
          of_ctx: tags_i[w].ctx == scope_q[0].ctx,
          size: tags_i[w].size,
          part: inside_scope(scope_q[0].vpn, scope_q[0].mask, tags_i[w].vpn)
      };
    end
  end
  always_comb begin
    for (int unsigned w = 0; w < Ways; w++) begin
      drop_o[w] = first_q || (swept_q[w].valid && (scope_q[0].all ||
          (!swept_q[w].is_global && swept_q[w].of_ctx && overlaps(swept_q[w].part, swept_q[w].size))));
    end
  end

  logic unused;
  assign unused = ^{inval_i.vpn, vpn_i, tags_i};

  `GW_INVARIANT(TakeValid_A, !sweep_take_i || sweep_valid_o)
  `GW_COVER(Widened_C, inval_valid_i && active_q[1] && !promote && !wider.all)

endmodule
