// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Executes the commands of the queue, one after the other: the states of cqcsr and the head index.
//
// Contract
// - Turned on (cfg_i.enable rises): the head is 0, the ring as cfg_i says in that cycle, status bits are cleared.
// - IOTINVAL.VMA takes the cycle in which its pulse is taken (inval_ready_i), one a cycle; ATS.PRGR that in which the response
//   is (respond_ready_i). IOFENCE.C waits for fence_done_i,
//   writes if it is asked to, then signals; CACHE.RANGE waits for fence_done_i, too, then for the page cache; no command after either
//   begins before. The head moves when a command is done.
// - An unreadable or illegal command, a fence that could not be written, lines that could not, or a wait longer than the timeout, sets
//   its status bit and stops the queue with the head at that command. When all error bits are cleared the command is read
//   again; lines that could not be written are lost then.
// - Turned off: what waits is given up, a write under way is ended, as is what the page cache was asked for; status_o.on falls when no
//   access to memory is left. The head then says which command is not done.
// - Memory: one write at a time, four bytes; what is offered stays.
`include "gw_assert.svh"

module gw_cq_exec (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  gw_pkg::cq_cfg_t    cfg_i,
  output gw_pkg::cq_status_t status_o,
  /// Commands, and the ring they come from.
  output logic               run_o,
  input  logic               fetch_idle_i,
  output gw_pkg::ppn_t       base_o,
  output logic [31:0]        mask_o,
  output logic [31:0]        tail_o,
  input  logic               cmd_valid_i,
  output logic               cmd_ready_o,
  input  gw_pkg::command_t   cmd_i,
  input  logic               cmd_fault_i,
  /// Invalidations; `inval_all_o`: one that stands for every access under way. A fence waits; all before it have ended
  /// everywhere.
  output logic               inval_valid_o,
  input  logic               inval_ready_i,
  output gw_pkg::inval_t     inval_o,
  output logic               inval_all_o,
  output logic               fence_o,
  input  logic               fence_done_i,
  /// Page-group responses.
  output logic               respond_valid_o,
  input  logic               respond_ready_i,
  output gw_pkg::page_response_t respond_o,
  /// Maintenance of the page cache: what was taken is acknowledged before anything else is.
  output logic               cache_valid_o,
  input  logic               cache_ready_i,
  output gw_pkg::cache_cmd_t cache_o,
  input  gw_pkg::cache_ack_t cache_ack_i,
  /// The write of a fence: address and data, then its answer.
  output logic               aw_valid_o,
  input  logic               aw_ready_i,
  output logic               w_valid_o,
  input  logic               w_ready_i,
  output logic [63:0]        w_addr_o,
  output logic [31:0]        w_data_o,
  input  logic               b_valid_i,
  output logic               b_ready_o,
  input  logic               b_fault_i
);

  typedef enum logic [2:0] {
    Off,
    Run,      // executes what comes
    Fence,    // waits for the levels
    Cache,    // offers maintenance
    Cached,   // waits for its end
    Write,    // offers address and data
    Answer,   // waits for the write's end
    Stop      // lets reads under way end; then off, or on (again) when the error bits are clear
  } state_e;

  state_e state_q, state_d;
  gw_pkg::fence_t fence_q;
  gw_pkg::cache_cmd_t cache_q;
  logic is_cache_q, waits;
  logic [31:0] head_q, mask_q, waited_q;
  gw_pkg::ppn_t base_q;
  logic aw_done_q, w_done_q, aw_done, w_done;
  logic start, begin_fence, done, timed_out, drains;

  // A fence that waits for everything under way does it behind a pulse that drops next to nothing: whatever its scope, what
  // is older than a pulse is waited for.
  assign drains = cmd_i.drain;
  assign inval_all_o = drains;
  assign fence_o = state_q == Fence;
  assign waits = state_q == Fence || state_q == Cached;
  assign cache_valid_o = state_q == Cache;
  assign cache_o = cache_q;
  assign respond_o = cmd_i.response;
  assign inval_o = drains ? '{scope: gw_pkg::InvalRange, default: '0} : cmd_i.inval;
  assign timed_out = cfg_i.timeout_cycles != '0 && waited_q == cfg_i.timeout_cycles;
  assign aw_done = aw_done_q || aw_ready_i;
  assign w_done = w_done_q || w_ready_i;

  always_comb begin
    state_d = state_q;
    start = 1'b0;
    begin_fence = 1'b0;
    done = 1'b0;
    inval_valid_o = 1'b0;
    respond_valid_o = 1'b0;
    cmd_ready_o = 1'b0;
    status_o = '{head: head_q, on: state_q != Off, default: '0};
    unique case (state_q)
      Off: begin
        if (cfg_i.enable) begin
          start = 1'b1;
          status_o.clear = 1'b1;
          state_d = Stop;
        end
      end
      Run: begin
        if (!cfg_i.enable) begin
          state_d = Stop;
        end else if (cmd_valid_i && cmd_fault_i) begin
          status_o.memory_fault = 1'b1;
          state_d = Stop;
        end else if (cmd_valid_i) begin
          unique case (cmd_i.kind)
            gw_pkg::CmdInval: begin
              inval_valid_o = 1'b1;
              cmd_ready_o = inval_ready_i;
              done = inval_ready_i;
            end
            gw_pkg::CmdRespond: begin
              respond_valid_o = 1'b1;
              cmd_ready_o = respond_ready_i;
              done = respond_ready_i;
            end
            gw_pkg::CmdCache: begin
              cmd_ready_o = 1'b1;
              begin_fence = 1'b1;
              state_d = Fence;
            end
            gw_pkg::CmdFence: begin
              inval_valid_o = drains;
              cmd_ready_o = inval_ready_i || !drains;
              begin_fence = cmd_ready_o;
              if (cmd_ready_o) state_d = Fence;
            end
            default: begin
              status_o.illegal = 1'b1;
              state_d = Stop;
            end
          endcase
        end
      end
      Fence: begin
        if (!cfg_i.enable) begin
          state_d = Stop;
        end else if (fence_done_i && is_cache_q) begin
          state_d = Cache;
        end else if (fence_done_i) begin
          done = !fence_q.write;
          state_d = fence_q.write ? Write : Run;
        end else if (timed_out) begin
          status_o.timeout = 1'b1;
          state_d = Stop;
        end
      end
      Cache: begin
        if (cache_ready_i) state_d = Cached;
      end
      Cached: begin
        if (cache_ack_i.valid && cache_ack_i.error) begin
          status_o.memory_fault = 1'b1;
          state_d = Stop;
        end else if (cache_ack_i.valid) begin
          done = 1'b1;
          state_d = Run;
        end else if (timed_out) begin
          status_o.timeout = 1'b1;
          state_d = Stop;
        end
      end
      Write: begin
        if (aw_done && w_done) state_d = Answer;
      end
      Answer: begin
        if (b_valid_i && b_fault_i) begin
          status_o.memory_fault = 1'b1;
          state_d = Stop;
        end else if (b_valid_i) begin
          done = 1'b1;
          state_d = Run;
        end
      end
      Stop: begin
        if (fetch_idle_i) begin
          if (!cfg_i.enable) state_d = Off;
          else if (!cfg_i.stopped) state_d = Run;
        end
      end
      default: state_d = Off;
    endcase
    status_o.fence = done && (state_q == Fence || state_q == Answer) && fence_q.signal;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Off;
      head_q <= '0;
      waited_q <= '0;
      aw_done_q <= 1'b0;
      w_done_q <= 1'b0;
    end else begin
      state_q <= state_d;
      if (start) head_q <= '0;
      else if (done) head_q <= (head_q + 32'd1) & mask_q;
      waited_q <= waits ? waited_q + 32'd1 : '0;
      aw_done_q <= state_q == Write && aw_done;
      w_done_q <= state_q == Write && w_done;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start) begin
      base_q <= cfg_i.base;
      mask_q <= 32'((33'd2 << cfg_i.log2_size_less1) - 33'd1);
    end
    if (begin_fence) begin
      fence_q <= cmd_i.fence;
      cache_q <= cmd_i.cache;
      is_cache_q <= cmd_i.kind == gw_pkg::CmdCache;
    end
  end

  assign run_o = state_q != Off && state_q != Stop;
  assign base_o = base_q;
  assign mask_o = mask_q;
  assign tail_o = cfg_i.tail & mask_q;
  assign aw_valid_o = state_q == Write && !aw_done_q;
  assign w_valid_o = state_q == Write && !w_done_q;
  assign w_addr_o = fence_q.addr;
  assign w_data_o = fence_q.data;
  assign b_ready_o = state_q == Answer;

  `GW_ASSERT(HeadMovesWhenDone_A, !done && !start |=> $stable(head_q))
  `GW_ASSERT(WriteStable_A, aw_valid_o && !aw_ready_i |=> aw_valid_o && $stable(w_addr_o))
  `GW_ASSERT(FenceWaited_A, done && state_q == Fence |-> fence_done_i)
  `GW_ASSERT(CacheStable_A, cache_valid_o && !cache_ready_i |=> cache_valid_o && $stable(cache_o))
  `GW_COVER(CacheGivenUp_C, state_q == Cached && state_d == Stop && !cache_ack_i.valid)
  `GW_COVER(DoneAtTimeout_C, state_q == Fence && fence_done_i && timed_out)
  `GW_COVER(InvalWaits_C, inval_valid_o && !inval_ready_i)
  `GW_COVER(BackToBack_C, done && state_q == Run && $past(done && state_q == Run))
  `GW_COVER(OffWhileWriting_C, state_q == Answer && !cfg_i.enable)

endmodule
