// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Stands for gw_walk_begin in the proofs of gw_walker: a request's first step may be at any level, in any of four lines, or a
// fault. It covers everything that contexts and the walk cache can make of a request, and more, without their state.
module gw_walk_begin #(
  parameter int unsigned Levels = 4,
  parameter int unsigned CacheEntries = 16,
  parameter int unsigned NumContexts = 16,
  parameter int unsigned IdWidth = 6,
  parameter type step_t = logic
) (
  input logic clk_i,
  input logic rst_ni,
  input gw_pkg::ctx_t [NumContexts-1:0] ctx_i,
  input logic inval_valid_i,
  input gw_pkg::inval_t inval_i,
  input gw_pkg::xlate_req_t req_i,
  input logic accept_i,
  input logic [IdWidth-1:0] id_i,
  output step_t step_o,
  output logic cache_hit_o,
  input logic fill_i,
  input gw_pkg::walk_fill_t fill_data_i
);

  // The unused context fields of the request carry the choice.
  always_comb begin
    step_o = '0;
    step_o.waiter = id_i;
    step_o.fault = req_i.ctx[0];
    step_o.level = (req_i.ctx[2:1] < 2'(Levels)) ? {1'b0, req_i.ctx[2:1]} : '0;
    step_o.line[1:0] = req_i.ctx[4:3];
    step_o.index[0] = req_i.ctx[5];
    step_o.update = req_i.ctx[6];
  end
  assign cache_hit_o = 1'b0;

endmodule
