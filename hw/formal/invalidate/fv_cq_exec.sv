// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_cq_exec and gw_inval_issue between any stream of commands, registers that do anything, and levels that
// are busy with a pulse as long as they like. One pulse of a command, any, is followed:
// - a command that is done was executed once, in its place: the pulse of an invalidation is in the next cycle, exactly as it
//   was decoded, and there is no pulse that neither a command nor the registers asked for;
// - no fence is done, or begins to write, while a level is busy with a pulse before it;
// - a start, or a write of a context, is a pulse of everything in the next cycle; its end is not told before all levels are
//   done with it;
// - the head moves by one for each command done, and not otherwise; an error moves nothing.
module fv_cq_exec (
  input logic clk_i,
  input logic rst_ni,
  input logic enable_i,
  input logic clear_i,
  input logic [1:0] timeout_i,
  input logic fetch_idle_i,
  input logic cmd_valid_i,
  input logic cmd_fault_i,
  input logic [2:0] what_i,
  input logic [1:0] vpn_i,
  input logic aw_ready_i,
  input logic w_ready_i,
  input logic b_valid_i,
  input logic b_fault_i,
  input logic start_i,
  input logic ctx_write_i,
  input logic level_done_i,
  input logic follow_i
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned CmdWidth = 8 * CommandBytes;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  // Commands: drop a page or everything; fences without and with a write, with a signal, for all under way; illegal ones.
  typedef enum logic [2:0] {
    DropPage,
    DropAll,
    Fence,
    FenceWrite,
    FenceSignal,
    FenceDrain,
    BadOpcode,
    BadBit
  } what_e;
  logic [CmdWidth-1:0] cmd;
  logic is_drop, is_fence, is_illegal;
  always_comb begin
    cmd = '0;
    cmd[CommandFieldOpcodeLsb+:CommandFieldOpcodeWidth] = is_fence ? CommandIofence : CommandIotinval;
    unique case (what_e'(what_i))
      DropPage: begin
        cmd[IotinvalAvLsb] = 1'b1;
        cmd[IotinvalPscvLsb] = 1'b1;
        cmd[64+IotinvalWhereVpnLsb+:2] = vpn_i;
      end
      FenceWrite: cmd[IofenceAvLsb] = 1'b1;
      FenceSignal: cmd[IofenceWsiLsb] = 1'b1;
      FenceDrain: cmd[IofencePrLsb] = 1'b1;
      BadOpcode: cmd[CommandFieldOpcodeLsb+:CommandFieldOpcodeWidth] = '1;
      BadBit: cmd[63] = 1'b1;
      default: ;
    endcase
  end
  assign is_drop = what_i == DropPage || what_i == DropAll;
  assign is_illegal = what_i == BadOpcode || what_i == BadBit;
  assign is_fence = !is_drop && !is_illegal;

  cq_cfg_t cfg;
  cq_status_t status;
  logic error_q, run, cmd_ready, exec_valid, exec_ready, settled, aw_valid, w_valid, b_ready, waits, ended;
  inval_t exec_inval, inval;
  logic inval_valid, busy;
  ppn_t base;
  logic [31:0] mask, tail, w_data;
  logic [63:0] w_addr;

  always_comb begin
    cfg = '0;
    cfg.enable = enable_i;
    cfg.stopped = error_q;
    cfg.timeout_cycles = 32'(timeout_i);
    cfg.log2_size_less1 = 5'd1;
  end

  gw_cq_exec #(
    .NumContexts(1)
  ) u_exec (
    .clk_i,
    .rst_ni,
    .cfg_i        (cfg),
    .status_o     (status),
    .run_o        (run),
    .fetch_idle_i,
    .base_o       (base),
    .mask_o       (mask),
    .tail_o       (tail),
    .cmd_valid_i,
    .cmd_ready_o  (cmd_ready),
    .cmd_i        (cmd),
    .cmd_fault_i,
    .inval_valid_o(exec_valid),
    .inval_ready_i(exec_ready),
    .inval_o      (exec_inval),
    .settled_i    (settled),
    .aw_valid_o   (aw_valid),
    .aw_ready_i,
    .w_valid_o    (w_valid),
    .w_ready_i,
    .w_addr_o     (w_addr),
    .w_data_o     (w_data),
    .b_valid_i,
    .b_ready_o    (b_ready),
    .b_fault_i
  );

  gw_inval_issue u_issue (
    .clk_i,
    .rst_ni,
    .start_i,
    .ctx_write_i,
    .busy_o       (waits),
    .done_o       (ended),
    .cq_valid_i   (exec_valid),
    .cq_ready_o   (exec_ready),
    .cq_inval_i   (exec_inval),
    .settled_o    (settled),
    .inval_valid_o(inval_valid),
    .inval_o      (inval),
    .inval_busy_i (busy)
  );

  // The fetch side keeps what it offers, and offers nothing while the queue stands. Memory answers what was written.
  logic offered_q, answers_q, aw_seen_q, w_seen_q;
  logic [2:0] what_q;
  logic [1:0] vpn_q;
  logic fault_q, timeout_seen_q;
  logic [1:0] timeout_q;
  always_comb begin
    if (!run) assume (!cmd_valid_i);
    if (offered_q && run) begin
      assume (cmd_valid_i && {what_i, vpn_i, cmd_fault_i} == {what_q, vpn_q, fault_q});
    end
    if (!answers_q) assume (!b_valid_i);
    if (timeout_seen_q) assume (timeout_i == timeout_q);
  end
  always_ff @(posedge clk_i) begin
    offered_q <= rst_ni && cmd_valid_i && !cmd_ready;
    {what_q, vpn_q, fault_q} <= {what_i, vpn_i, cmd_fault_i};
    timeout_seen_q <= 1'b1;
    timeout_q <= timeout_i;
    error_q <= rst_ni && !status.clear && (status.illegal || status.memory_fault || status.timeout || (error_q && !clear_i));
    if (!rst_ni) begin
      {aw_seen_q, w_seen_q, answers_q} <= '0;
    end else begin
      if (aw_valid && aw_ready_i) aw_seen_q <= 1'b1;
      if (w_valid && w_ready_i) w_seen_q <= 1'b1;
      if ((aw_seen_q || (aw_valid && aw_ready_i)) && (w_seen_q || (w_valid && w_ready_i))) begin
        {aw_seen_q, w_seen_q} <= '0;
        answers_q <= 1'b1;
      end else if (b_valid_i && b_ready) answers_q <= 1'b0;
    end
  end

  // Levels: busy from the cycle after a pulse, as long as they like. Any pulse is followed until they are done with it.
  logic following_q, f_start_q, level_q, take_drop, everything;
  logic pulse_next_q, all_next_q, done_q, fence_q, write_q, past_clear_q;
  inval_t next_q;
  logic [31:0] head_q;
  assign take_drop = exec_valid && exec_ready;
  assign everything = start_i || ctx_write_i;
  assign busy = level_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      level_q <= 1'b0;
      following_q <= 1'b0;
    end else begin
      if (inval_valid) level_q <= !level_done_i;
      else if (level_done_i) level_q <= 1'b0;
      // A pulse is asked for in the cycle before it.
      if (!following_q && follow_i && (take_drop || everything)) begin
        following_q <= 1'b1;
        f_start_q <= everything;
      end else if (following_q && !pulse_next_q && !inval_valid && !level_q) following_q <= 1'b0;
    end
  end

  // What was asked for in the cycle before.
  always_ff @(posedge clk_i) begin
    pulse_next_q <= rst_ni && (take_drop || everything);
    all_next_q <= everything;
    next_q <= exec_inval;
    head_q <= status.head;
    done_q <= rst_ni && cmd_valid_i && cmd_ready && is_drop;
    fence_q <= rst_ni && ((cmd_valid_i && cmd_ready && is_fence) || (fence_q && status.head == head_q && run));
    write_q <= rst_ni && aw_valid;
    past_clear_q <= rst_ni && status.clear;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      PulseWasAsked_A : assert (inval_valid == pulse_next_q);
      if (inval_valid) PulseIsRight_A : assert (all_next_q ? inval.scope == InvalAll : inval == next_q);
      if (take_drop && is_drop) Decoded_A : assert (
        exec_inval.scope == ((what_i == DropPage) ? InvalRange : InvalAll) &&
        (what_i != DropPage || exec_inval.vpn == vpn_t'(vpn_i)));
      if (cmd_valid_i && cmd_ready) NotIllegal_A : assert (!is_illegal && !cmd_fault_i);
      if (cmd_valid_i && cmd_ready && is_drop) Executed_A : assert (take_drop);
      if (take_drop) IsCommand_A : assert (cmd_valid_i && cmd_ready && (is_drop || what_i == FenceDrain));
      // Fences.
      if (following_q && !f_start_q) begin
        if (status.fence || (aw_valid && !write_q)) FenceWaits_A : assert (0);
        if (status.head != head_q && !done_q) FenceDoneWaits_A : assert (past_clear_q);
      end
      if (following_q && f_start_q) if (ended) StartWaits_A : assert (0);
      // The head.
      if (status.head != head_q) HeadMoves_A : assert (
        past_clear_q || (status.head == ((head_q + 32'd1) & mask) && (done_q || fence_q)));
      if (done_q) HeadFollows_A : assert (status.head == ((head_q + 32'd1) & mask));
      if (!run) StandsStill_A : assert (!exec_valid && !cmd_ready && !aw_valid);
      Fence_C : cover (status.fence && error_q == 1'b0);
      WhileBusy_C : cover (inval_valid && level_q && !all_next_q);
      Again_C : cover (error_q && clear_i && enable_i);
    end
  end

endmodule
