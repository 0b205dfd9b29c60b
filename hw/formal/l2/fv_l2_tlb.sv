// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_l2_tlb, for any page and context looked up in any cycle, any answers of the walker and any invalidations at
// any time, one of which, of any scope, is watched:
// - OneMatch_A (in gw_l2_match), OneSmallMatch_A: at most one entry of a size translates a page in a context, and a page that
//   stands in a cluster's entry stands in no entry of its own.
// - NoStale_A: a lookup read in the cycle of the pulse or later gives nothing that the pulse drops, whatever pulses
//   came before, come with a sweep under way, or widen its scope.
// - OwnContext_A: a hit gives what was filled for this context, or is global.
// Frames carry what the properties ask for: whether the answer came after the pulse, and its context.
module fv_l2_tlb #(
  parameter gw_pkg::l2_policy_e Policy = gw_pkg::L2Hashed
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic               lookup_i,
  input gw_pkg::vpn_t       lookup_vpn_i,
  input gw_pkg::ctx_id_t    ctx_i,
  input logic               write_i,
  input logic               rsp_valid_i,
  input gw_pkg::xlate_rsp_t rsp_i,
  input logic               inval_valid_i,
  input gw_pkg::inval_t     inval_i,
  input logic               watched_i,
  input logic               epoch_i
);

  import gw_pkg::*;

  localparam int unsigned OldBit = PpnWidth - 1;   // the answer came after the pulse
  localparam int unsigned CtxLsb = PpnWidth - 4;   // its context
  localparam int unsigned LowBits = 6;             // page numbers differ in these bits, in one above each size,
  localparam int unsigned FarBit = 8;              // and in one far inside 2 MiB

  logic        hit;
  ppn_t        ppn;
  page_order_t order;
  cluster_t    cluster;
  perm_t       perm;
  logic        is_global, busy, working;
  l2_event_t   happened;
  vpn_t        vpn_q, joined_vpn_q;
  logic        valid_q;
  always_ff @(posedge clk_i) begin
    {joined_vpn_q, vpn_q} <= {vpn_q, lookup_vpn_i};
    valid_q <= rst_ni && lookup_i;
  end

  gw_l2_tlb #(
    .Sets     (2),
    .Ways     (2),
    .Policy   (Policy),
    .FillDepth(2)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .lookup_i,
    .lookup_vpn_i,
    .req_valid_i (valid_q),
    .vpn_i       (vpn_q),
    .ctx_i,
    .write_i,
    .hit_o       (hit),
    .ppn_o       (ppn),
    .order_o     (order),
    .cluster_o   (cluster),
    .perm_o      (perm),
    .is_global_o (is_global),
    .rsp_valid_i,
    .rsp_i,
    .inval_valid_i,
    .inval_i,
    .epoch_i,
    .inval_busy_o(busy),
    .busy_o      (working),
    .event_o     (happened)
  );

  // A small universe: page numbers and contexts that matter, and nothing to make the solver wander.
  function automatic logic near(vpn_t vpn);
    vpn_t rest;
    rest = vpn >> LowBits;
    rest[FarBit-LowBits] = 1'b0;
    rest[9-LowBits] = 1'b0;
    rest[18-LowBits] = 1'b0;
    return rest == '0;
  endfunction

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  // The pulse that is watched: a register that keeps what it was. Others come before, after and between.
  inval_t pulse_q;
  logic   pulsed_q, watched;
  always_ff @(posedge clk_i) begin
    pulse_q <= pulse_q;
    if (!rst_ni) pulsed_q <= 1'b0;
    else if (watched) pulsed_q <= 1'b1;
  end
  assign watched = inval_valid_i && watched_i;
  always_comb begin
    if (watched_i) assume (inval_i == pulse_q && !pulsed_q);
    assume (inval_i.ctx < 4 && near(inval_i.vpn) && inval_i.scope != inval_scope_e'(3));
    assume (inval_i.order <= 5'd18 && (inval_i.vpn & ((vpn_t'(1) << inval_i.order) - 1'b1)) == '0);
    assume (pulse_q.ctx < 4 && near(pulse_q.vpn) && pulse_q.scope != inval_scope_e'(3));
    assume (pulse_q.order <= 5'd18 && (pulse_q.vpn & ((vpn_t'(1) << pulse_q.order) - 1'b1)) == '0);
  end

  // The walker: what it answers in the pulse's cycle or later was read later, if it may be kept.
  always_comb begin
    assume (near(lookup_vpn_i) && ctx_i < 4);
    assume (near(rsp_i.vpn) && rsp_i.ctx < 4);
    assume (rsp_i.order == 5'd0 || rsp_i.order == 5'd4 || rsp_i.order == 5'd9 || rsp_i.order == 5'd18);
    assume (rsp_i.ppn[OldBit] == (pulsed_q || watched));
    assume (rsp_i.ppn[CtxLsb+:3] == {1'b1, rsp_i.ctx[1:0]});
    // Far from carries into the marks.
    assume (rsp_i.ppn[CtxLsb-1-:2] == 2'b10 && rsp_i.ppn[CtxLsb-3:8] == '0);
  end

  // Is page and context of the lookup in the pulse's scope?
  function automatic logic in_scope(vpn_t vpn, ctx_id_t ctx);
    return pulse_q.scope == InvalAll || (pulse_q.ctx == ctx && (pulse_q.scope == InvalContext ||
        (vpn >> pulse_q.order) == (pulse_q.vpn >> pulse_q.order)));
  endfunction

  // Second to fourth cycle of a lookup; `late`: read in the pulse's cycle or later.
  logic late_q, late_joined_q, hit_q, must_be_new_q;
  ctx_id_t ctx_joined_q, ctx_q;
  always_ff @(posedge clk_i) begin
    late_q <= pulsed_q || watched;
    late_joined_q <= late_q;
    hit_q <= rst_ni && hit;
    must_be_new_q <= late_joined_q && in_scope(joined_vpn_q, ctx_joined_q);
    {ctx_q, ctx_joined_q} <= {ctx_joined_q, ctx_i};
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      // Where they lie in one set OneMatch_A says it.
      if (Policy != L2Partition) OneSmallMatch_A : assert (u_dut.match[L2Single] == '0 || u_dut.match[L2Cluster] == '0);
      if (hit_q && must_be_new_q && (!is_global || pulse_q.scope == InvalAll)) NoStale_A : assert (ppn[OldBit]);
      if (hit_q && !is_global) OwnContext_A : assert (ppn[CtxLsb+:3] == {1'b1, ctx_q[1:0]});
      HitOfCluster_C : cover (hit_q && order == 5'd2);
      HitAfterPulse_C : cover (hit_q && must_be_new_q && !busy);
      HitWhileSweeping_C : cover (hit_q && busy);
      Merged_C : cover (happened.merge);
    end
  end

endmodule
