// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Maintenance by physical range: clean, invalidate, or both, page after page of the cache; then, when all have ended, the acknowledge.
//
// Contract
// - A command is lines of 64 bytes, both ends included. It is taken when none is under way, and acknowledged for one cycle; `ack_error_o`:
//   a line could not be written meanwhile.
// - When it is acknowledged, every write that was answered before the command was taken is in host memory (clean), and no line of the
//   range that was there or on its way when it was taken can be read (drop). Accesses of other pages go on, those of a
//   page at work wait for it. Who wants nothing younger in the cache either drains first.
// - Drop without clean throws dirty lines away.
`include "gw_assert.svh"

module gw_cache_range #(
  /// Pages, a power of two.
  parameter int unsigned Pages = 16,
  /// Bits of the number of a line in memory.
  parameter int unsigned LineWidth = 50,
  /// Derived.
  localparam int unsigned IdxWidth = $clog2(Pages)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 cmd_valid_i,
  output logic                 cmd_ready_o,
  input  logic                 cmd_clean_i,
  input  logic                 cmd_drop_i,
  input  logic [LineWidth-1:0] cmd_first_i,
  input  logic [LineWidth-1:0] cmd_last_i,
  output logic                 ack_o,
  output logic                 ack_error_o,
  /// A page's job.
  output logic                 job_o,
  output logic [IdxWidth-1:0]  job_idx_o,
  output logic                 job_clean_o,
  output logic                 job_drop_o,
  output logic [LineWidth-1:0] job_first_o,
  output logic [LineWidth-1:0] job_last_o,
  /// It has begun to the end; some that have begun have not ended; a line was lost.
  input  logic                 job_done_i,
  input  logic                 open_i,
  input  logic                 error_i
);

  logic run_q, drain_q, last, ends;
  assign cmd_ready_o = !run_q && !drain_q && !ack_o;
  assign ends = drain_q && !open_i;
  assign job_o = run_q && !job_done_i;
  assign last = job_idx_o == '1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      run_q <= 1'b0;
      drain_q <= 1'b0;
      ack_o <= 1'b0;
      ack_error_o <= 1'b0;
      job_idx_o <= '0;
    end else begin
      ack_o <= ends;
      if (run_q && job_done_i && last) drain_q <= 1'b1;
      else if (ends) drain_q <= 1'b0;
      if (cmd_valid_i && cmd_ready_o) begin
        run_q <= 1'b1;
        ack_error_o <= 1'b0;
        job_idx_o <= '0;
      end else begin
        if (run_q && job_done_i) begin
          run_q <= !last;
          job_idx_o <= job_idx_o + 1'b1;
        end
        if (run_q || drain_q) ack_error_o <= ack_error_o || error_i;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (cmd_valid_i && cmd_ready_o) begin
      job_clean_o <= cmd_clean_i;
      job_drop_o <= cmd_drop_i;
      job_first_o <= cmd_first_i;
      job_last_o <= cmd_last_i;
    end
  end

  `GW_ASSERT(CommandStable_A, cmd_valid_i && !cmd_ready_o |=> cmd_valid_i && $stable(cmd_first_i) && $stable(cmd_last_i))
  `GW_INVARIANT(DoneRuns_A, !job_done_i || run_q)

endmodule
