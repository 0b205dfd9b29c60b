// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The one source of invalidation pulses: gathers them from the registers, the context table and the command queue, and tells
// when they have ended everywhere.
//
// Contract
// - A start, or a write of a context, in cycle t is a pulse of scope InvalAll in t+1, always. A command waits for that cycle
//   only: `cq_ready_o`; it too is a pulse in the next cycle. So one pulse a cycle.
// - The levels have `inval_busy_i` high from the cycle after a pulse until they are done with what came before it.
// - settled_o: every pulse so far has ended; low from the cycle of the pulse on. A cycle later than the levels.
// - busy_o: from a start, or a write of a context, until everything has settled. done_o: one cycle, when that included a start.
`include "gw_assert.svh"

module gw_inval_issue (
  input  logic           clk_i,
  input  logic           rst_ni,
  /// invalidate.start was written.
  input  logic           start_i,
  /// A context is written; it has its new value in the next cycle.
  input  logic           ctx_write_i,
  output logic           busy_o,
  output logic           done_o,
  /// Commands.
  input  logic           cq_valid_i,
  output logic           cq_ready_o,
  input  gw_pkg::inval_t cq_inval_i,
  output logic           settled_o,
  /// To all levels, and from them.
  output logic           inval_valid_o,
  output gw_pkg::inval_t inval_o,
  input  logic           inval_busy_i
);

  logic everything, waits_q, wanted_q, recent_q, busy_q;
  assign everything = start_i || ctx_write_i;
  assign cq_ready_o = !everything;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      inval_valid_o <= 1'b0;
      recent_q <= 1'b0;
      busy_q <= 1'b0;
      waits_q <= 1'b0;
      wanted_q <= 1'b0;
    end else begin
      inval_valid_o <= everything || cq_valid_i;
      recent_q <= inval_valid_o;
      busy_q <= inval_busy_i;
      waits_q <= everything || (waits_q && !settled_o);
      wanted_q <= start_i || (wanted_q && !settled_o);
    end
  end
  always_ff @(posedge clk_i) begin
    inval_o <= everything ? '{scope: gw_pkg::InvalAll, default: '0} : cq_inval_i;
  end

  // The pulse itself, the cycle in which busy follows it, and busy's own register.
  assign settled_o = !(inval_valid_o || recent_q || busy_q);
  assign busy_o = everything || waits_q;
  assign done_o = wanted_q && settled_o;

  `GW_COVER(PulseWhileBusy_C, inval_valid_o && inval_busy_i)
  `GW_COVER(CommandWaits_C, cq_valid_i && !cq_ready_o)

endmodule
