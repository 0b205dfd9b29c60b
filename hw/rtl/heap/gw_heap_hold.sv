// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Holds back what kernels free until the host has taken it from the processes that see it: jobs of gw_slots on their way to gw_reclaim.
//
//   gw_heap_commands ─ taken, of a kernel ─> frees_o ─> the host ─> seen_i
//   gw_slots ─job─> held while frees_o and seen_i differ ─job─> gw_reclaim
//
// Contract
// - frees_o counts frees and reallocs of kernels' ports (kernels_i), whether they are refused or not, in the cycle after gw_slots took one.
// - While hold_i, no job of a command that frees_o counts is offered before the host has said (seen_i) that it has seen the count with that command. Jobs
//   behind it wait with it, whoever gave them; job_valid_o once raised stays until job_ready_i. Without hold_i every job passes.
// - A job comes a cycle after its command was taken, or later, as gw_slots has it.
// - held_o: a job waits here for the host.
// - No cycle is added to a job of which seen_i stood in the cycle before.
`include "gw_assert.svh"

module gw_heap_hold #(
  /// Who allocates.
  parameter int unsigned NumPorts = 2,
  parameter int unsigned CountWidth = 32
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  /// Ports that are kernels'.
  input  logic [NumPorts-1:0]   kernels_i,
  /// gw_slots takes a command, of one of these ports.
  input  logic                  taken_i,
  input  logic [NumPorts-1:0]   of_i,
  input  gw_pkg::heap_op_e      op_i,
  /// The host.
  input  logic                  hold_i,
  input  logic [CountWidth-1:0] seen_i,
  output logic [CountWidth-1:0] frees_o,
  output logic                  held_o,
  /// Jobs.
  input  logic                  job_valid_i,
  output logic                  job_ready_o,
  output logic                  job_valid_o,
  input  logic                  job_ready_i
);

  import gw_pkg::*;

  logic [CountWidth-1:0] frees_q;
  logic counts, open_q, offered_q, passes;
  assign counts = taken_i && |(of_i & kernels_i) && op_i != HeapMalloc;
  // Who is offered stays so: the host had seen its command then.
  assign passes = open_q || offered_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      frees_q <= '0;
      open_q <= 1'b0;
      offered_q <= 1'b0;
    end else begin
      frees_q <= frees_q + CountWidth'(counts);
      open_q <= !hold_i || (seen_i == frees_q && !counts);
      offered_q <= job_valid_o && !job_ready_i;
    end
  end
  assign frees_o = frees_q;
  assign job_valid_o = job_valid_i && passes;
  assign job_ready_o = job_ready_i && passes;
  assign held_o = job_valid_i && !passes;

  `GW_ASSERT(OffersStand_A, $past(job_valid_o && !job_ready_i) |-> job_valid_o)
  `GW_COVER(Held_C, held_o)
  `GW_COVER(LaterOneCounted_C, offered_q && !open_q)

endmodule
