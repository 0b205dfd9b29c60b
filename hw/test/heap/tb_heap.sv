// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_heap between a memory, four agents and what an MMU says to it. An agent does what it is told: a command of the heap, or an access: it
// walks the page tables in the memory, may keep what it found, asks gw_heap for what is missing, waits where it is parked, and then
// reads or writes a line. Cocotb says what, and is woken only when something is done.
//
// Two regions: 0 begins dirty and full of noise, 1 clean and strict. Sv48, small slots and large ones at their usual places.
module tb_heap #(
  parameter int unsigned Agents = 4,
  parameter int unsigned Blocks = 16,
  parameter int unsigned Orders = 'h11
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic [1:0]        start_i,
  input  logic [1:0][4:0]   blocks_i,
  input  logic [10:0]       quota_i,
  /// Of 256 cycles those in which memory, fences and walks stall; latency of memory in cycles; clearing may be stopped.
  input  logic [7:0]        stall_i,
  input  logic [7:0]        latency_i,
  input  logic              room_i,
  input  logic              ctx_write_i,
  /// Agents that are kernels; what they free waits until the host sees it: while see_i it does.
  input  logic [Agents-1:0] kernels_i,
  input  logic              hold_i,
  input  logic              see_i,
  output logic              held_o,
  output logic [31:0]       frees_o,
  /// Agents: a toggle of go begins, one of done ends.
  input  logic [Agents-1:0]       go_i,
  input  logic [Agents-1:0][2:0]  op_i,   // malloc, realloc, free, read, write
  input  logic [Agents-1:0][1:0]  ctx_i,
  input  logic [Agents-1:0][63:0] pointer_i,
  input  logic [Agents-1:0][63:0] size_i,  // write: what is written
  input  logic [Agents-1:0][8:0]  how_i,   // {write, compact, granule, region}
  output logic [Agents-1:0]       done_o,
  output logic [Agents-1:0][3:0]  status_o,  // of a command; 15: a page fault
  output logic [Agents-1:0][63:0] value_o,
  output logic [Agents-1:0][43:0] frame_o,
  output logic [Agents-1:0][15:0] cycles_o,
  output logic [Agents-1:0]       parked_o,
  /// A context ends.
  input  logic              end_i,
  input  logic [1:0]        end_ctx_i,
  output logic              end_busy_o,
  output logic [1:0][13:0]  free_o,
  output logic              reclaim_busy_o,
  output logic              broken_o,
  output logic [31:0]       touches_o,
  output logic [31:0]       reclaimed_o,
  output logic [31:0]       scrubbed_o,
  output logic [31:0]       parks_o,
  /// Of the last request: acceptance to answer.
  output logic [15:0]       touch_cycles_o
);

  import gw_pkg::*;
  import gw_axi_pkg::*;
  import gw_spec_pkg::*;

  localparam ppn_t Zero = 44'hfff;
  localparam ppn_t Root = 44'h700;
  localparam ppn_t Base[2] = '{44'h1_0000, 44'h8_0000_0000};
  localparam ppn_t Bits = 44'h100;

  function automatic logic stalls();
    return 8'($urandom) < stall_i;
  endfunction

  // verilator lint_off BLKSEQ
  // Memory, in lines. What nobody wrote is zero, but noise in the frames of region 0.
  logic [511:0] memory[logic [57:0]];
  function automatic logic [511:0] line_at(logic [63:0] addr);
    logic [57:0] at;
    at = addr[63:6];
    if (memory.exists(at) != 0) return memory[at];
    if (addr[55:12] >= Base[0] && addr[55:12] < Base[0] + ppn_t'({blocks_i[0], 9'd0})) return {8{64'hbad0_bad0_0000_0001}};
    return '0;
  endfunction
  function automatic logic [63:0] word_at(logic [63:0] addr);
    return line_at(addr)[64*addr[5:3] +: 64];
  endfunction

  heap_mem_req_t req;
  heap_mem_rsp_t rsp;
  // Reads in order, one after the other, and writes.
  typedef enum logic [1:0] {
    Free,
    Wait,
    Beats
  } serve_e;
  serve_e read_q, write_q;
  heap_mem_ax_t ar_q, aw_q;
  logic [7:0] beat_q, next_beat, wait_q;
  logic [31:0] now_q;
  typedef struct packed {
    logic [31:0] due;
    heap_mem_b_t b;
  } answer_t;
  answer_t answers[$];
  heap_mem_b_t b_q;
  logic [63:0] write_addr_q;
  logic [511:0] r_data_q;
  logic reserved_q, r_show_q, exclusive_q, b_show_q;
  logic [63:0] reserved_addr_q;
  logic [2:0] reserved_id_q;
  logic written;
  assign next_beat = beat_q + 8'(r_show_q);
  always_comb begin
    rsp = '0;
    rsp.ar_ready = read_q == Free;
    rsp.r_valid = read_q == Beats && r_show_q;
    rsp.r.id = ar_q.id;
    rsp.r.data = r_data_q;
    rsp.r.last = beat_q == ar_q.len;
    rsp.r.resp = ar_q.lock ? RespExOkay : RespOkay;
    rsp.aw_ready = write_q == Free;
    rsp.w_ready = write_q == Beats;
    rsp.b_valid = b_show_q;
    rsp.b = b_q;
  end
  assign written = rsp.w_ready && req.w_valid;
  always @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_q <= Free;
      write_q <= Free;
      reserved_q <= 1'b0;
      r_show_q <= 1'b0;
      b_show_q <= 1'b0;
      now_q <= '0;
      answers.delete();
    end else begin
      unique case (read_q)
        Free: if (req.ar_valid) begin
          ar_q <= req.ar;
          beat_q <= '0;
          wait_q <= latency_i;
          read_q <= (latency_i <= 8'd1) ? Beats : Wait;
          if (req.ar.lock) begin
            reserved_q <= 1'b1;
            reserved_addr_q <= req.ar.addr;
            reserved_id_q <= req.ar.id;
          end
        end
        Wait: begin
          wait_q <= wait_q - 1'b1;
          if (wait_q <= 8'd2) read_q <= Beats;
        end
        default: if (!r_show_q || req.r_ready) begin
          beat_q <= next_beat;
          r_show_q <= !stalls();
          r_data_q <= line_at(ar_q.addr + (64'(next_beat) << ar_q.size));
          if (r_show_q && beat_q == ar_q.len) begin
            read_q <= Free;
            r_show_q <= 1'b0;
          end
        end
      endcase
      unique case (write_q)
        Free: if (req.aw_valid) begin
          aw_q <= req.aw;
          write_addr_q <= req.aw.addr;
          write_q <= Beats;
          exclusive_q <= req.aw.lock && reserved_q && reserved_addr_q == req.aw.addr && reserved_id_q == req.aw.id;
        end
        default: if (written) begin
          write_addr_q <= write_addr_q + (64'd1 << aw_q.size);
          if (!aw_q.lock || exclusive_q) begin
            for (int unsigned i = 0; i < 64; i++) begin
              if (req.w.strb[i]) begin
                // Whole lines are the usual case.
                if (!(&req.w.strb)) begin
                  logic [511:0] line;
                  line = line_at(write_addr_q);
                  line[8*i +: 8] = req.w.data[8*i +: 8];
                  memory[write_addr_q[63:6]] = line;
                end
              end
            end
            if (&req.w.strb) memory[write_addr_q[63:6]] = req.w.data;
            if (reserved_q && reserved_addr_q[63:6] == write_addr_q[63:6]) reserved_q <= 1'b0;
          end
          if (req.w.last) begin
            write_q <= Free;
            answers.push_back('{due: now_q + 32'(latency_i), b: '{id: aw_q.id, resp: exclusive_q ? RespExOkay : RespOkay}});
          end
        end
      endcase
      now_q <= now_q + 1'b1;
      if (!b_show_q || req.b_ready) begin
        b_show_q <= 1'b0;
        if (answers.size() != 0 && answers[0].due <= now_q) begin
          b_q <= answers[0].b;
          b_show_q <= 1'b1;
          void'(answers.pop_front());
        end
      end
    end
  end

  // Agents.
  typedef enum logic [3:0] {
    Idle,
    Command,
    Answer,
    Look,     // in what it keeps
    Walk,
    Walked,   // a walk takes its time
    Queue,    // asks gw_heap
    Asked,
    Parked,
    Use,      // the access is on its way
    Done
  } agent_e;
  agent_e [Agents-1:0] state_q;
  logic [Agents-1:0] seen_q, stale_q;
  logic [Agents-1:0][7:0] delay_q;
  logic [Agents-1:0][2:0] level_q;
  logic [Agents-1:0][52:0] entry_q;
  logic [Agents-1:0][63:0] found_q;
  ppn_t [Agents-1:0] frame_q;
  park_t [Agents-1:0] park_q;
  logic [Agents-1:0][15:0] cycles_q;

  // What an agent keeps: eight pages.
  typedef struct packed {
    logic       valid;
    logic [1:0] ctx;
    vpn_t       vpn;
    ppn_t       frame;
    logic       write;
  } kept_t;
  kept_t [Agents-1:0][7:0] kept_q;

  // Commands and requests.
  logic [Agents-1:0] cmd_valid, cmd_ready, rsp_valid;
  heap_cmd_t [Agents-1:0] cmd;
  heap_rsp_t [Agents-1:0] cmd_rsp;
  logic touch_valid, touch_ready, ans_valid, inval_valid, inval_ready_q, fence, fence_done, settle, settled;
  xlate_rsp_t ans, answered_q;
  wake_t wake;
  inval_t inval;
  ctx_id_t ctx_id;
  ctx_t ctx;
  heap_event_t events;
  logic [31:0] frees_seen_q;

  typedef logic [$clog2(Agents)-1:0] agent_t;
  agent_t asks[$];
  agent_t head;
  vpn_t [Agents-1:0] vpn;
  logic [Agents-1:0] writes;
  always_comb begin
    for (int unsigned a = 0; a < Agents; a++) begin
      vpn[a] = pointer_i[a][12 +: VpnWidth];
      writes[a] = op_i[a] == 3'd4;
      cmd_valid[a] = state_q[a] == Command;
      cmd[a] = '0;
      cmd[a].op = heap_op_e'(op_i[a][1:0]);
      cmd[a].ctx = ctx_id_t'(ctx_i[a]);
      cmd[a].pointer = pointer_i[a];
      cmd[a].size = size_i[a];
      {cmd[a].write, cmd[a].compact, cmd[a].granule, cmd[a].region} = how_i[a];
      parked_o[a] = state_q[a] == Parked;
    end
  end

  // The queue in front of gw_touch, and the part of it that a settling is about.
  logic [7:0] before_q;
  logic settling_q, touch_valid_q;
  assign touch_valid = touch_valid_q;
  assign settled = settle && settling_q && before_q == '0;

  // A fence waits for walks and accesses that began before it.
  logic [Agents-1:0] old_q, going;
  logic fence_seen_q;
  logic [7:0] fence_wait_q;
  always_comb for (int unsigned a = 0; a < Agents; a++) going[a] = state_q[a] inside {Walked, Use} || (state_q[a] == Queue);
  assign fence_done = fence && fence_seen_q && (old_q & going) == '0 && fence_wait_q == '0;

  always @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned a = 0; a < Agents; a++) state_q[a] <= Idle;
      seen_q <= '0;
      done_o <= '0;
      kept_q <= '0;
      touch_valid_q <= 1'b0;
      settling_q <= 1'b0;
      before_q <= '0;
      fence_seen_q <= 1'b0;
      old_q <= '0;
      inval_ready_q <= 1'b0;
      asks.delete();
      memory.delete();
    end else begin
      inval_ready_q <= !stalls();
      fence_seen_q <= fence && !fence_done;
      if (fence && !fence_seen_q) begin
        old_q <= going;
        fence_wait_q <= 8'(stalls() ? $urandom % 32 : 0);
      end else begin
        old_q <= old_q & going;
        if (fence_wait_q != '0) fence_wait_q <= fence_wait_q - 1'b1;
      end
      // What was given in the cycle before is clean, all of it, before anybody writes there.
      answered_q <= ans;
      if (events.touch) begin
        for (int unsigned l = 0; l < 64 << answered_q.order; l++) begin
          ppn_t frame;
          frame = (answered_q.ppn & ~((ppn_t'(1) << answered_q.order) - ppn_t'(1))) + (ppn_t'(l) >> 6);
          if (line_at({8'd0, frame, 6'(l), 6'd0}) != '0) $fatal(1, "frame %h is not clean", frame);
        end
      end
      for (int unsigned a = 0; a < Agents; a++) begin
        cycles_q[a] <= cycles_q[a] + 1'b1;
        delay_q[a] <= delay_q[a] - 8'(delay_q[a] != '0);
        unique case (state_q[a])
          Idle: if (go_i[a] != seen_q[a]) begin
            seen_q[a] <= go_i[a];
            state_q[a] <= (op_i[a] < 3'd3) ? Command : Look;
            cycles_q[a] <= 16'd1;
          end
          Command: if (cmd_ready[a]) state_q[a] <= Answer;
          Answer: if (rsp_valid[a]) begin
            status_o[a] <= cmd_rsp[a].status;
            value_o[a] <= cmd_rsp[a].pointer;
            cycles_o[a] <= cycles_q[a] - 16'd1;
            state_q[a] <= Done;
          end
          Look: begin
            state_q[a] <= Walk;
            for (int unsigned k = 0; k < 8; k++) begin
              if (kept_q[a][k].valid && kept_q[a][k].ctx == ctx_i[a] && kept_q[a][k].vpn == vpn[a] &&
                  (kept_q[a][k].write || !writes[a])) begin
                state_q[a] <= Use;
                frame_q[a] <= kept_q[a][k].frame;
                delay_q[a] <= 8'(stalls() ? $urandom % 32 : 0);
              end
            end
          end
          Walk: begin
            logic [55:0] table_;
            logic ended;
            ended = 1'b0;
            table_ = {Root + ppn_t'(ctx_i[a]), 12'd0};
            for (int l = 3; l >= 0; l--) begin
              if (!ended) begin
                logic [63:0] at, word;
                at = 64'(table_) + 64'(9'(vpn[a] >> (9 * l))) * 8;
                word = word_at(at);
                entry_q[a] <= at[55:3];
                level_q[a] <= 3'(l);
                found_q[a] <= word;
                if (l == 0 || word == '0 || (l == 1 && word[1])) ended = 1'b1;
                else if (word[9:0] != 10'd1) $fatal(1, "page %h: %h in a table of level %0d", vpn[a], word, l);
                table_ = {word[10 +: 44], 12'd0};
              end
            end
            stale_q[a] <= 1'b0;
            delay_q[a] <= 8'(stalls() ? $urandom % 32 : 0);
            state_q[a] <= Walked;
          end
          Walked: if (delay_q[a] == '0) begin
            if (found_q[a] == '0) begin
              state_q[a] <= Queue;
            end else begin
              ppn_t frame, low;
              frame = found_q[a][10 +: 44];
              // Bits of the page number that the mapping leaves open: those up to the first 1 of a NAPOT entry's frame; 9 of level 1.
              low = found_q[a][63] ? frame ^ (frame - ppn_t'(1)) : (level_q[a] == 3'd1) ? ppn_t'(511) : '0;
              frame = (frame & ~low) | (ppn_t'(vpn[a]) & low);
              frame_q[a] <= frame;
              if (!stale_q[a]) kept_q[a][3'($urandom)] <= '{1'b1, ctx_i[a], vpn[a], frame, 1'b1};
              delay_q[a] <= 8'(stalls() ? $urandom % 32 : 0);
              state_q[a] <= Use;
            end
          end
          Queue: begin
            asks.push_back(agent_t'(a));
            state_q[a] <= Asked;
          end
          Asked: if (ans_valid && ans.src == src_t'(a)) begin
            stale_q[a] <= 1'b0;
            if (ans.fault) begin
              status_o[a] <= 4'd15;
              state_q[a] <= Done;
            end else if (ans.parked) begin
              park_q[a] <= ans.park;
              state_q[a] <= Parked;
            end else begin
              frame_q[a] <= ans.ppn;
              state_q[a] <= Use;
              delay_q[a] <= 8'(stalls() ? $urandom % 32 : 0);
              if (ans.cacheable && !stale_q[a]) kept_q[a][3'($urandom)] <= '{1'b1, ctx_i[a], vpn[a], ans.ppn, 1'b1};
            end
          end
          Parked: if (wake.valid && wake.park == park_q[a]) begin
            state_q[a] <= Walk;
          end
          Use: if (delay_q[a] == '0) begin
            logic [63:0] at;
            at = 64'({frame_q[a], pointer_i[a][11:6], 6'd0});
            status_o[a] <= HeapOk;
            frame_o[a] <= frame_q[a];
            value_o[a] <= word_at(at);
            if (writes[a]) begin
              if (frame_q[a] == Zero) $fatal(1, "a write to the zero frame");
              memory[at[63:6]] = {8{size_i[a]}};
            end
            cycles_o[a] <= cycles_q[a] - 16'd1;
            state_q[a] <= Done;
          end
          default: begin
            done_o[a] <= !done_o[a];
            state_q[a] <= Idle;
          end
        endcase
        // What an invalidation names is not kept, and what was found before it is not either.
        if (inval_valid && inval_ready_q) begin
          stale_q[a] <= 1'b1;
          for (int unsigned k = 0; k < 8; k++) begin
            if (inval_overlaps(inval, ctx_id_t'(kept_q[a][k].ctx), kept_q[a][k].vpn, '0)) kept_q[a][k].valid <= 1'b0;
          end
        end
      end
      // Requests leave in order. `before`: those that came before the settling.
      if (touch_valid_q && touch_ready) begin
        void'(asks.pop_front());
        if (before_q != '0) before_q <= before_q - 1'b1;
      end
      touch_valid_q <= asks.size() != 0;
      if (asks.size() != 0) head <= asks[0];
      settling_q <= settle && !settled;
      if (settle && !settling_q) before_q <= 8'(asks.size());
    end
  end

  // verilator lint_on BLKSEQ
  always_comb begin
    ctx = '0;
    ctx.mode = 4'd9;
    ctx.root = Root + ppn_t'(ctx_id);
  end

  gw_heap #(
    .NumContexts(4),
    .NumPorts   (Agents),
    .Regions    (2),
    .Blocks     (Blocks),
    .Lines      (2),
    .Orders     (gw_pkg::group_orders_t'(Orders)),
    .Slots      (1024)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .start_i,
    .start_clean_i (2'b10),
    .blocks_i,
    .base_i        ({Base[1], Base[0]}),
    .bits_i        ({Bits + 44'd48, Bits + 44'd32, Bits + 44'd16, Bits}),
    .strict_i      (2'b10),
    .zero_i        (Zero),
    .quota_i       ({4{quota_i}}),
    .bound_i       ('1),
    .cmd_valid_i   (cmd_valid),
    .cmd_ready_o   (cmd_ready),
    .cmd_i         (cmd),
    .rsp_valid_o   (rsp_valid),
    .rsp_ready_i   ('1),
    .rsp_o         (cmd_rsp),
    .kernels_i,
    .hold_i,
    .seen_i        (frees_seen_q),
    .frees_o,
    .held_o,
    .end_start_i   (end_i),
    .end_ctx_i     (ctx_id_t'(end_ctx_i)),
    .end_busy_o,
    .touch_valid_i (touch_valid),
    .touch_ready_o (touch_ready),
    .touch_req_i   ('{src: src_t'(head), tag: '0, ctx: ctx_id_t'(ctx_i[head]), vpn: vpn[head], write: writes[head]}),
    .touch_level_i (level_q[head]),
    .touch_entry_i (entry_q[head]),
    .ans_valid_o   (ans_valid),
    .ans_ready_i   (1'b1),
    .ans_o         (ans),
    .wake_o        (wake),
    .wake_ready_i  (1'b1),
    .ctx_write_i,
    .settle_o      (settle),
    .settled_i     (settled),
    .ctx_id_o      (ctx_id),
    .ctx_i         (ctx),
    .inval_valid_o (inval_valid),
    .inval_ready_i (inval_ready_q),
    .inval_o       (inval),
    .fence_o       (fence),
    .fence_done_i  (fence_done),
    .room_i,
    .m_req_o       (req),
    .m_rsp_i       (rsp),
    .free_o,
    .clean_o       (),
    .touch_busy_o  (),
    .reclaim_busy_o,
    .lacks_o       (),
    .broken_o,
    .event_o       (events)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) frees_seen_q <= '0;
    else if (see_i) frees_seen_q <= frees_o;
  end
  logic [15:0] touch_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {touches_o, reclaimed_o, scrubbed_o, parks_o} <= '0;
    end else begin
      touch_q <= (touch_valid && touch_ready) ? 16'd1 : touch_q + 1'b1;
      if (ans_valid) touch_cycles_o <= touch_q;
      touches_o <= touches_o + 32'(events.touch);
      parks_o <= parks_o + 32'(events.parked);
      reclaimed_o <= reclaimed_o + (events.reclaim ? 32'(events.reclaimed) : 32'd0);
      scrubbed_o <= scrubbed_o + (events.scrub ? 32'(events.scrubbed) : 32'd0);
    end
  end

endmodule
