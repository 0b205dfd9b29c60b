// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The next command of the queue, decoded, behind registers: fetching one, decoding one and executing one do not share a clock.
//
// Contract
// - Latency: a command taken in cycle t is offered in t+2. Throughput: one a cycle.
// - While run_i is low nothing is offered, and what was taken is thrown away: `idle_o` is high from the second such cycle on.
//   Nothing may be given then.
`include "gw_assert.svh"

module gw_cq_stage #(
  /// Contexts, 1 to 2**gw_pkg::CtxIdWidth.
  parameter int unsigned NumContexts = 16,
  /// There are page requests; there is a page cache.
  parameter bit PageRequests = 1'b0,
  parameter bit PageCache = 1'b0
) (
  input  logic                                   clk_i,
  input  logic                                   rst_ni,
  input  logic                                   run_i,
  output logic                                   idle_o,
  input  logic                                   in_valid_i,
  output logic                                   in_ready_o,
  input  logic [8*gw_spec_pkg::CommandBytes-1:0] in_cmd_i,
  /// It could not be read.
  input  logic                                   in_fault_i,
  output logic                                   out_valid_o,
  input  logic                                   out_ready_i,
  output gw_pkg::command_t                       out_cmd_o,
  output logic                                   out_fault_o
);

  typedef struct packed {
    logic                                   fault;
    logic [8*gw_spec_pkg::CommandBytes-1:0] cmd;
  } raw_t;
  raw_t raw_q, spare_q;
  logic raw_valid_q, spare_valid_q, take, valid_q;
  gw_pkg::command_t decoded;

  // What was taken, and a spare for the command that comes while the others wait: nobody is told to wait in the same cycle.
  assign in_ready_o = !spare_valid_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {raw_valid_q, spare_valid_q} <= '0;
    else if (!run_i) {raw_valid_q, spare_valid_q} <= '0;
    else begin
      raw_valid_q <= in_valid_i || spare_valid_q || (raw_valid_q && !take);
      spare_valid_q <= (in_valid_i || spare_valid_q) && raw_valid_q && !take;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!raw_valid_q || take) raw_q <= spare_valid_q ? spare_q : '{fault: in_fault_i, cmd: in_cmd_i};
    if (!spare_valid_q) spare_q <= '{fault: in_fault_i, cmd: in_cmd_i};
  end

  gw_cq_decode #(
    .NumContexts (NumContexts),
    .PageRequests(PageRequests),
    .PageCache   (PageCache)
  ) u_decode (
    .cmd_i    (raw_q.cmd),
    .command_o(decoded)
  );

  assign take = !valid_q || out_ready_i;
  assign out_valid_o = run_i && valid_q;
  assign idle_o = !valid_q && !raw_valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else valid_q <= run_i && (raw_valid_q || (valid_q && !out_ready_i));
  end
  always_ff @(posedge clk_i) begin
    if (take) {out_cmd_o, out_fault_o} <= {decoded, raw_q.fault};
  end

  `GW_ASSERT(NothingGivenWhenOff_A, !run_i |-> !in_valid_i)
  `GW_ASSERT(OutputStable_A, out_valid_o && !out_ready_i |=> !run_i || (out_valid_o && $stable({out_cmd_o, out_fault_o})))
  `GW_COVER(ThrownAway_C, valid_q && !run_i)

endmodule
