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
  input logic accept_i,
  input gw_pkg::xlate_req_t req_i,
  input logic [IdWidth-1:0] id_i,
  input logic cancel_i,
  output logic step_valid_o,
  output logic [IdWidth-1:0] step_id_o,
  output step_t step_o,
  output logic cache_hit_o,
  input logic fill_look_i,
  input gw_pkg::walk_key_t fill_key_i,
  input logic fill_i,
  input gw_pkg::walk_beat_t fill_beat_i
);

  logic valid_q;
  logic [IdWidth-1:0] id_q;
  gw_pkg::ctx_id_t choice_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else valid_q <= accept_i;
  end
  always_ff @(posedge clk_i) begin
    id_q <= id_i;
    choice_q <= req_i.ctx;
  end
  assign step_valid_o = valid_q && !cancel_i;
  assign step_id_o = id_q;

  // The unused context fields of the request carry the choice.
  always_comb begin
    step_o = '0;
    step_o.refusal = choice_q[0] ? gw_pkg::RefusedOff : gw_pkg::NotRefused;
    step_o.level = (choice_q[2:1] < 2'(Levels)) ? {1'b0, choice_q[2:1]} : '0;
    step_o.line[1:0] = choice_q[4:3];
    step_o.index[0] = choice_q[5];
    step_o.update = choice_q[6];
  end
  assign cache_hit_o = 1'b0;

endmodule
