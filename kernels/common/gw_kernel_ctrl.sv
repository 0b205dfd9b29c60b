// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Life of one kernel run: start, work, and the way out when a bus error ends it early.
//
// Contract
// - start_i begins a run: work_o is high from the next cycle until finished_i or an error. With bad_args_i in the cycle
//   of start_i there is no work and the run ends in the next cycle.
// - After an error abort_o is high until busy_i is low: the streams finish what is on the bus and drop the rest.
// - done_o is high for one cycle at the end of every run; status_o is then its outcome. The first error counts; a read
//   error goes before a write error of the same cycle.
// - Reset: idle.
`include "gw_assert.svh"

module gw_kernel_ctrl
  import gw_kernel_pkg::*;
(
  input  logic    clk_i,
  input  logic    rst_ni,
  input  logic    start_i,
  /// The arguments cannot be served.
  input  logic    bad_args_i,
  /// All work of the run is done.
  input  logic    finished_i,
  /// Pulses: a response of the bus was an error.
  input  logic    read_error_i,
  input  logic    write_error_i,
  /// Something of this run is still on the bus.
  input  logic    busy_i,
  output logic    work_o,
  output logic    abort_o,
  output logic    done_o,
  output status_e status_o
);

  typedef enum logic [1:0] {Idle, Work, Abort, Done} state_e;
  state_e state_d, state_q;
  status_e status_d, status_q;

  assign work_o = state_q == Work;
  assign abort_o = state_q == Abort;
  assign done_o = state_q == Done;
  assign status_o = status_q;

  always_comb begin
    state_d = state_q;
    status_d = status_q;
    unique case (state_q)
      Idle:
      if (start_i) begin
        state_d = bad_args_i ? Done : Work;
        status_d = bad_args_i ? StatusBadArgument : StatusOk;
      end
      Work:
      if (read_error_i || write_error_i) begin
        state_d = Abort;
        status_d = read_error_i ? StatusReadError : StatusWriteError;
      end else if (finished_i) begin
        state_d = Done;
      end
      Abort: if (!busy_i) state_d = Done;
      Done: state_d = Idle;
      default: state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      status_q <= StatusOk;
    end else begin
      state_q <= state_d;
      status_q <= status_d;
    end
  end

  `GW_INVARIANT(FinishedIsQuiet_A, !(work_o && finished_i && busy_i))
  `GW_INVARIANT(StartWhenIdle_A, !start_i || state_q == Idle)
  `GW_COVER(BothErrors_C, work_o && read_error_i && write_error_i)

endmodule
