// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// First step of a walk: from the deepest table that the walk cache knows, else from the context's root.
//
//   t      request accepted: context read, walk cache's tags compared
//   t + 1  address checked, walk cache read; the step is there
//
// Contract
// - The step of the request accepted in t is valid in t + 1, for that cycle, unless the request is withdrawn in it.
// - A request that needs no memory (context off, address not canonical) is a step with its refusal.
// - An invalidation drops what it names from the walk cache. A request accepted in its cycle begins at the root.
module gw_walk_begin #(
  /// Levels of the widest mode that is built: 3 (Sv39) to 5 (Sv57).
  parameter int unsigned Levels = 4,
  /// Beats of eight pointers kept for each upper level.
  parameter int unsigned CacheEntries = 16,
  /// Contexts, 1 to 2**gw_pkg::CtxIdWidth.
  parameter int unsigned NumContexts = 16,
  /// Width of a waiter's number.
  parameter int unsigned IdWidth = 6,
  /// A step of a walk: refusal, is_global, update, level, line, index.
  parameter type step_t = logic
) (
  input logic clk_i,
  input logic rst_ni,
  input gw_pkg::ctx_t [NumContexts-1:0] ctx_i,
  input logic inval_valid_i,
  input gw_pkg::inval_t inval_i,
  input logic accept_i,
  // Source and tag are kept with the waiter.
  // verilator lint_off UNUSEDSIGNAL
  input gw_pkg::xlate_req_t req_i,
  // verilator lint_on UNUSEDSIGNAL
  input logic [IdWidth-1:0] id_i,
  input logic cancel_i,
  output logic step_valid_o,
  output logic [IdWidth-1:0] step_id_o,
  output step_t step_o,
  /// The walk cache saves at least one level.
  output logic cache_hit_o,
  /// No request is accepted in the cycle of `fill_look_i`.
  input logic fill_look_i,
  input gw_pkg::walk_key_t fill_key_i,
  input logic fill_i,
  input gw_pkg::walk_beat_t fill_beat_i
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned CtxIdxWidth = (NumContexts > 1) ? $clog2(NumContexts) : 1;

  logic valid_q;
  logic [IdWidth-1:0] id_q;
  vpn_t vpn_q;
  ctx_t ctx_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else valid_q <= accept_i;
  end
  always_ff @(posedge clk_i) begin
    if (accept_i) begin
      id_q <= id_i;
      vpn_q <= req_i.vpn;
      // An id that does not exist is a context that is off.
      ctx_q <= (32'(req_i.ctx) < NumContexts) ? ctx_i[CtxIdxWidth'(req_i.ctx)] : ctx_t'{mode: ModeOff, default: '0};
    end
  end

  logic hit, cache_global;
  logic [2:0] root_level, cache_level;
  ppn_t cache_ppn, base;
  walk_refusal_e refusal;
  logic [PtLevelBits-1:0] index;

  gw_walk_start #(
    .Levels(Levels)
  ) u_start (
    .ctx_i(ctx_q),
    .vpn_i(vpn_q),
    .level_o(root_level),
    .refusal_o(refusal)
  );

  gw_walk_cache #(
    .Levels(Levels),
    .Entries(CacheEntries)
  ) u_cache (
    .clk_i,
    .rst_ni,
    .inval_valid_i,
    .inval_i,
    .lookup_i(accept_i),
    .ctx_i(req_i.ctx),
    .vpn_i(req_i.vpn),
    .hit_o(hit),
    .level_o(cache_level),
    .global_o(cache_global),
    .ppn_o(cache_ppn),
    .fill_look_i,
    .fill_key_i,
    .fill_i,
    .fill_beat_i
  );

  assign step_valid_o = valid_q && !cancel_i;
  assign step_id_o = id_q;
  assign cache_hit_o = hit && refusal == NotRefused;
  assign base = hit ? cache_ppn : ctx_q.root;

  always_comb begin
    step_o = '0;
    step_o.refusal = refusal;
    step_o.update = ctx_q.sade;
    step_o.is_global = hit && cache_global;
    step_o.level = hit ? cache_level : root_level;
    index = '0;
    for (int unsigned l = 0; l < Levels; l++) begin
      if (step_o.level == 3'(l)) index = vpn_q[PtLevelBits*l +: PtLevelBits];
    end
    {step_o.line, step_o.index} = {base, index};
  end

endmodule
