// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_cq_exec and gw_inval_issue between any stream of commands, a heap and registers that do anything, and levels that
// have anything under way as long as they like, and see the epoch turn up to four cycles late. One pulse, any, is followed,
// with something under way that began before it:
// - a command that is done was executed once, in its place: the pulse of an invalidation is in the next cycle, exactly as it
//   was decoded, a response is taken in the cycle in which its command is done, and there is no pulse that neither a command, the heap nor the registers asked for;
// - the heap waits for the registers only, and its pulse is what it asked for;
// - no fence is done, or begins to write, and no maintenance of the page cache begins, while something is under way that a pulse before it is younger than;
// - maintenance is done with an acknowledge of its own, and is what its command said; with an error, or after its time, nothing is done;
// - a fence of commands or of the heap, and a start, end as soon as the levels were not busy for 18 cycles in all, whatever pulses come meanwhile;
// - a start, or a write of a context, is a pulse of everything in the next cycle; its end is not told before all levels are
//   done with it, and busy until then;
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
  input logic [3:0] what_i,
  input logic [1:0] vpn_i,
  input logic aw_ready_i,
  input logic w_ready_i,
  input logic b_valid_i,
  input logic b_fault_i,
  input logic start_i,
  input logic ctx_write_i,
  input logic level_done_i,
  input logic level_busy_i,
  input logic follow_i,
  input logic respond_ready_i,
  input logic heap_valid_i,
  input logic [1:0] heap_vpn_i,
  input logic heap_fence_i,
  input logic cache_ready_i,
  input logic cache_ack_i,
  input logic cache_error_i
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned CmdWidth = 8 * CommandBytes;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  // Commands: drop a page or everything; fences without and with a write, with a signal, for all under way; an illegal one; a
  // response; maintenance of the page cache.
  typedef enum logic [3:0] {
    DropPage,
    DropAll,
    Fence,
    FenceWrite,
    FenceSignal,
    FenceDrain,
    BadBit,
    Respond,
    Maintain
  } what_e;
  logic [CmdWidth-1:0] cmd;
  logic is_drop, is_fence, is_illegal, is_respond, is_cache;
  always_comb begin
    assume (what_i <= Maintain);
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
      BadBit: cmd[63] = 1'b1;
      Respond: begin
        cmd[CommandFieldOpcodeLsb+:CommandFieldOpcodeWidth] = CommandAts;
        cmd[CommandFieldFunc3Lsb+:CommandFieldFunc3Width] = CommandAtsPrgr;
        cmd[AtsPrgrPvLsb] = 1'b1;
        cmd[64+AtsPrgrPayloadPlaceLsb+:2] = vpn_i;
      end
      Maintain: begin
        cmd[CommandFieldOpcodeLsb+:CommandFieldOpcodeWidth] = CommandCache;
        cmd[CacheRangeAvLsb] = 1'b1;
        cmd[CacheRangeDropLsb] = 1'b1;
        cmd[64+CacheRangeWhereLineLsb+:2] = vpn_i;
      end
      default: ;
    endcase
  end
  assign is_drop = what_i == DropPage || what_i == DropAll;
  assign is_illegal = what_i == BadBit;
  assign is_respond = what_i == Respond;
  assign is_cache = what_i == Maintain;
  assign is_fence = !is_drop && !is_illegal && !is_respond && !is_cache;

  cq_cfg_t cfg;
  cq_status_t status;
  logic error_q, run, cmd_ready, exec_valid, exec_ready, exec_all, fence, fence_done, epoch, aw_valid, w_valid, b_ready, waits, ended;
  inval_t exec_inval, inval;
  logic respond_valid, cache_valid;
  cache_cmd_t cache;
  page_response_t respond;
  logic port_epoch;
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

  command_t command;
  gw_cq_decode #(
    .NumContexts (1),
    .PageRequests(1'b1),
    .PageCache   (1'b1)
  ) u_decode (
    .cmd_i    (cmd),
    .command_o(command)
  );

  gw_cq_exec u_exec (
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
    .cmd_i        (command),
    .cmd_fault_i,
    .inval_valid_o(exec_valid),
    .inval_ready_i(exec_ready),
    .inval_o      (exec_inval),
    .inval_all_o  (exec_all),
    .fence_o      (fence),
    .fence_done_i (fence_done),
    .respond_valid_o(respond_valid),
    .respond_ready_i,
    .respond_o    (respond),
    .cache_valid_o(cache_valid),
    .cache_ready_i,
    .cache_o      (cache),
    .cache_ack_i  ('{valid: cache_ack_i, error: cache_error_i}),
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

  logic heap_ready, heap_fence_done, take_heap;
  inval_t heap_inval;
  assign take_heap = heap_valid_i && heap_ready;
  always_comb begin
    heap_inval = '0;
    heap_inval.scope = InvalRange;
    heap_inval.ctx = ctx_id_t'(heap_vpn_i);
    heap_inval.vpn = vpn_t'(heap_vpn_i) << 2;
  end

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
    .cq_all_i     (exec_all),
    .fence_i      (fence),
    .fence_done_o (fence_done),
    .heap_valid_i,
    .heap_ready_o (heap_ready),
    .heap_inval_i (heap_inval),
    .heap_fence_i,
    .heap_fence_done_o(heap_fence_done),
    .inval_valid_o(inval_valid),
    .inval_o      (inval),
    .epoch_o      (epoch),
    .port_epoch_o (port_epoch),
    .port_ctx_i   (ctx_id_t'(1)),
    .inval_busy_i (busy)
  );

  // The fetch side keeps what it offers, and offers nothing while the queue stands. Memory answers what was written.
  logic offered_q, answers_q, aw_seen_q, w_seen_q;
  logic [3:0] what_q;
  logic cache_busy_q;
  logic [1:0] vpn_q;
  logic fault_q, timeout_seen_q;
  logic [1:0] timeout_q;
  always_comb begin
    if (!run) assume (!cmd_valid_i);
    if (offered_q && run) begin
      assume (cmd_valid_i && {what_i, vpn_i, cmd_fault_i} == {what_q, vpn_q, fault_q});
    end
    if (!answers_q) assume (!b_valid_i);
    // The page cache does one thing at a time, and says when it is done.
    if (cache_busy_q) assume (!cache_ready_i);
    else assume (!cache_ack_i);
    if (timeout_seen_q) assume (timeout_i == timeout_q);
  end
  always_ff @(posedge clk_i) begin
    offered_q <= rst_ni && cmd_valid_i && !cmd_ready;
    cache_busy_q <= rst_ni && ((cache_valid && cache_ready_i) || (cache_busy_q && !cache_ack_i));
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

  // Levels: busy while what is followed, or anything else, is of the other epoch. What is followed ends when it likes.
  logic following_q, f_start_q, level_q, f_all_q, f_heap_q, f_epoch_q, out_q, take_drop, everything;
  logic [2:0] turned_q;
  logic [4:0] fence_quiet_q, heap_quiet_q, start_quiet_q;
  logic start_waits_q;
  logic cache_q, cache_cmd_q, acked_q;
  logic [1:0] line_q;
  logic pulse_next_q, all_next_q, done_q, fence_q, write_q, past_clear_q;
  inval_t next_q;
  logic [31:0] head_q;
  assign take_drop = exec_valid && exec_ready;
  assign everything = start_i || ctx_write_i;
  assign busy = level_busy_i;
  always_comb if (level_q && f_epoch_q != epoch && turned_q >= 3'd4) assume (level_busy_i);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      level_q <= 1'b0;
      following_q <= 1'b0;
      out_q <= 1'b0;
      turned_q <= '0;
      fence_quiet_q <= '0;
      heap_quiet_q <= '0;
      start_quiet_q <= '0;
      start_waits_q <= 1'b0;
    end else begin
      turned_q <= (f_epoch_q == epoch) ? '0 : (turned_q == 3'd7) ? 3'd7 : turned_q + 1'b1;
      fence_quiet_q <= (fence && !fence_done) ? fence_quiet_q + 5'(!level_busy_i) : '0;
      heap_quiet_q <= (heap_fence_i && !heap_fence_done) ? heap_quiet_q + 5'(!level_busy_i) : '0;
      start_waits_q <= start_i || (start_waits_q && !ended);
      start_quiet_q <= (start_waits_q && !ended && !start_i) ? start_quiet_q + 5'(!level_busy_i) : '0;
      // What is under way in the cycle of the pulse that is followed.
      out_q <= 1'b0;
      if (out_q) begin
        level_q <= !level_done_i;
        f_epoch_q <= epoch;
      end else if (level_done_i) level_q <= 1'b0;
      // A pulse is asked for in the cycle before it.
      if (!following_q && follow_i && (take_drop || take_heap || everything)) begin
        following_q <= 1'b1;
        out_q <= 1'b1;
        f_start_q <= start_i;
        f_all_q <= everything;
        f_heap_q <= take_heap;
      end else if (following_q && !out_q && !level_q) following_q <= 1'b0;
    end
  end

  // Which fences began behind the pulse that is followed.
  logic [1:0] fence_on_q, covers_q;
  always_ff @(posedge clk_i) begin
    fence_on_q <= {2{rst_ni}} & {heap_fence_i && !heap_fence_done, fence && !fence_done};
    covers_q <= {2{following_q && rst_ni}} & (covers_q | ~fence_on_q);
  end

  // What was asked for in the cycle before.
  always_ff @(posedge clk_i) begin
    pulse_next_q <= rst_ni && (take_drop || take_heap || everything);
    all_next_q <= everything;
    next_q <= take_heap ? heap_inval : exec_inval;
    head_q <= status.head;
    done_q <= rst_ni && cmd_valid_i && cmd_ready && (is_drop || is_respond);
    cache_q <= rst_ni && cache_valid;
    cache_cmd_q <= rst_ni && ((cmd_valid_i && cmd_ready && is_cache) || (cache_cmd_q && status.head == head_q && run));
    acked_q <= rst_ni && cache_ack_i && !cache_error_i;
    if (cmd_valid_i && cmd_ready) line_q <= vpn_i;
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
      if (respond_valid) RespondIsCommand_A : assert (
        cmd_valid_i && is_respond && !cmd_fault_i && cmd_ready == respond_ready_i &&
        {respond.code, respond.generation, respond.place} == 14'(vpn_i));
      if (cmd_valid_i && cmd_ready && is_respond) Responded_A : assert (respond_valid && respond_ready_i);
      if (take_drop) IsCommand_A : assert (cmd_valid_i && cmd_ready && (is_drop || what_i == FenceDrain));
      HeapWaitsForRegisters_A : assert (heap_ready == !everything);
      if (take_drop) OneATime_A : assert (!take_heap && !everything);
      // Fences. Those that began behind the pulse, whoever asked for it, wait for it.
      if (fence_done) FenceCovers_A : assert (!(following_q && (!fence_on_q[0] || covers_q[0])));
      if (heap_fence_done) HeapFenceCovers_A : assert (!(following_q && (!fence_on_q[1] || covers_q[1])));
      if (following_q && !f_all_q && !f_heap_q) begin
        if (status.fence || (aw_valid && !write_q) || (cache_valid && !cache_q)) FenceWaits_A : assert (0);
        if (status.head != head_q && !done_q) FenceDoneWaits_A : assert (past_clear_q);
      end
      if (following_q && f_start_q) if (ended) StartWaits_A : assert (0);
      if (following_q && f_all_q) BusyWaits_A : assert (waits);
      FenceEnds_A : assert (fence_quiet_q < 5'd18);
      HeapFenceEnds_A : assert (heap_quiet_q < 5'd18);
      BothFences_C : cover (fence && heap_fence_i && heap_fence_done && !fence_done && following_q);
      HeapFenceWaits_C : cover (heap_fence_done && heap_quiet_q == 5'd5);
      StartEnds_A : assert (start_quiet_q < 5'd18);
      FenceBehindPulses_C : cover (fence_quiet_q == 5'd7 && inval_valid);
      // The head.
      if (status.head != head_q) HeadMoves_A : assert (
        past_clear_q || (status.head == ((head_q + 32'd1) & mask) && (done_q || fence_q || cache_cmd_q)));
      if (status.head != head_q && cache_cmd_q) CacheDone_A : assert (past_clear_q || acked_q);
      if (cache_valid) CacheIsCommand_A : assert (
        !cache.clean && cache.drop && cache.first == LineAddrWidth'(line_q) && cache.last == LineAddrWidth'(line_q));
      if (cache_q && !cache_valid) CacheStays_A : assert (cache_busy_q);
      if (done_q) HeadFollows_A : assert (status.head == ((head_q + 32'd1) & mask));
      if (!run) StandsStill_A : assert (!exec_valid && !cmd_ready && !aw_valid);
      Maintained_C : cover (cache_cmd_q && status.head != head_q && !past_clear_q);
      Fence_C : cover (status.fence && error_q == 1'b0);
      WhileBusy_C : cover (inval_valid && level_q && level_busy_i && !all_next_q);
      Again_C : cover (error_q && clear_i && enable_i);
    end
  end

endmodule
