// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// First step of a walk: from the deepest table that the walk cache knows, else from the context's root.
//
// Contract
// - Combinational from `req_i` and the caches' state; `accept_i` says that the step is used.
// - A request that needs no memory (context off, address not canonical) is a step with `fault` and its cause.
// - An invalidation drops what it names from the walk cache; in that cycle already it is not used.
module gw_walk_begin #(
  /// Levels of the widest mode that is built: 3 (Sv39) to 5 (Sv57).
  parameter int unsigned Levels = 4,
  /// Beats of eight pointers kept for each upper level.
  parameter int unsigned CacheEntries = 16,
  /// Contexts.
  parameter int unsigned NumContexts = 16,
  /// Width of a waiter's number.
  parameter int unsigned IdWidth = 6,
  /// A step of a walk: waiter, fault, cause, retry, is_global, update, denied, told, level, line, index.
  parameter type step_t = logic
) (
  input logic clk_i,
  input logic rst_ni,
  input gw_pkg::ctx_t [NumContexts-1:0] ctx_i,
  input logic inval_valid_i,
  input gw_pkg::inval_t inval_i,
  // Source and tag are kept with the waiter.
  // verilator lint_off UNUSEDSIGNAL
  input gw_pkg::xlate_req_t req_i,
  // verilator lint_on UNUSEDSIGNAL
  input logic accept_i,
  input logic [IdWidth-1:0] id_i,
  output step_t step_o,
  /// The walk cache saves at least one level.
  output logic cache_hit_o,
  input logic fill_i,
  input gw_pkg::walk_fill_t fill_data_i
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  logic fault, hit, cache_global, update;
  logic [2:0] root_level, cache_level;
  ppn_t root, cache_ppn, base;
  cause_t cause;
  logic [PtLevelBits-1:0] index;

  gw_walk_start #(
    .Levels(Levels),
    .NumContexts(NumContexts)
  ) u_start (
    .ctx_i,
    .ctx_id_i(req_i.ctx),
    .vpn_i(req_i.vpn),
    .write_i(req_i.write),
    .level_o(root_level),
    .root_o(root),
    .update_o(update),
    .fault_o(fault),
    .cause_o(cause)
  );

  gw_walk_cache #(
    .Levels(Levels),
    .Entries(CacheEntries)
  ) u_cache (
    .clk_i,
    .rst_ni,
    .inval_valid_i,
    .inval_i,
    .ctx_i(req_i.ctx),
    .vpn_i(req_i.vpn),
    .used_i(accept_i),
    .hit_o(hit),
    .level_o(cache_level),
    .global_o(cache_global),
    .ppn_o(cache_ppn),
    .fill_i,
    .fill_data_i
  );

  assign cache_hit_o = hit && !fault;
  assign base = hit ? cache_ppn : root;

  always_comb begin
    step_o = '0;
    step_o.waiter = id_i;
    step_o.fault = fault;
    step_o.cause = cause;
    step_o.update = update;
    step_o.is_global = hit && cache_global;
    step_o.level = hit ? cache_level : root_level;
    index = '0;
    for (int unsigned l = 0; l < Levels; l++) begin
      if (step_o.level == 3'(l)) index = req_i.vpn[PtLevelBits*l +: PtLevelBits];
    end
    {step_o.line, step_o.index} = {base, index};
  end

endmodule
