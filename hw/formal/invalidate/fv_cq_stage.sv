// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_cq_stage between any fetch side, any execution and any switching on and off: what is offered is what was
// taken, each once and in order; what was taken before a stop is not offered after it; it is idle soon, and then empty.
module fv_cq_stage (
  input logic clk_i,
  input logic rst_ni,
  input logic run_i,
  input logic in_valid_i,
  input logic in_fault_i,
  input logic out_ready_i
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned CmdWidth = 8 * CommandBytes;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  // Commands are numbered: fences whose data is how many came before.
  logic [2:0] taken_q, given_q;
  logic [CmdWidth-1:0] cmd;
  logic idle, in_ready, out_valid, out_fault, waits_q, fault_q, held_q, out_fault_q;
  logic [1:0] stopped_q;
  command_t command;
  always_comb begin
    cmd = '0;
    cmd[CommandFieldOpcodeLsb+:CommandFieldOpcodeWidth] = CommandIofence;
    cmd[CommandFieldFunc3Lsb+:CommandFieldFunc3Width] = CommandIofenceC;
    cmd[IofenceDataLsb+:3] = taken_q;
  end

  gw_cq_stage u_dut (
    .clk_i,
    .rst_ni,
    .run_i,
    .idle_o     (idle),
    .in_valid_i,
    .in_ready_o (in_ready),
    .in_cmd_i   (cmd),
    .in_fault_i,
    .out_valid_o(out_valid),
    .out_ready_i,
    .out_cmd_o  (command),
    .out_fault_o(out_fault)
  );

  // The fetch side offers while it runs, and keeps what it offers; it runs again when this is idle.
  always_comb begin
    if (!run_i) assume (!in_valid_i);
    if (waits_q && run_i) assume (in_valid_i && in_fault_i == fault_q);
    if (stopped_q != '0 && !idle) assume (!run_i);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      taken_q <= '0;
      given_q <= '0;
      waits_q <= 1'b0;
      held_q <= 1'b0;
      stopped_q <= 2'd3;
    end else begin
      stopped_q <= run_i ? '0 : (stopped_q == 2'd3) ? 2'd3 : stopped_q + 1'b1;
      waits_q <= in_valid_i && !in_ready;
      fault_q <= in_fault_i;
      held_q <= out_valid && !out_ready_i;
      out_fault_q <= out_fault;
      if (in_valid_i && in_ready) taken_q <= taken_q + 1'b1;
      if (!run_i) given_q <= taken_q;
      else if (out_valid && out_ready_i) given_q <= given_q + 1'b1;
    end
  end

  logic [2:0] held;
  assign held = taken_q - given_q;
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (out_valid) InOrder_A : assert (command.kind == CmdFence && command.fence.data == 32'(given_q) && held != '0);
      if (out_valid && held_q) Kept_A : assert (out_fault == out_fault_q);
      if (held_q && run_i) Stays_A : assert (out_valid);
      Holds_A : assert (held <= 3'd3);
      if (idle && run_i) Empty_A : assert (held == '0);
      if (!run_i) Silent_A : assert (!out_valid);
      if (stopped_q >= 2'd1) Idle_A : assert (idle);
      Full_C : cover (held == 3'd3 && out_valid && out_fault);
      ThrownAway_C : cover (!run_i && held == 3'd3);
    end
  end

endmodule
