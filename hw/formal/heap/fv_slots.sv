// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_slots, for any commands, jobs and lookups, against a list of who has what:
//  - a slot that is given is nobody's: no live allocation has it, and none that was freed and whose job is not done;
//  - free and realloc are done if and only if the pointer is the first byte of a live allocation of the context (and it fits, and is
//    not being trimmed); otherwise they say why, and nothing changes;
//  - a job is of pages that a free or a shrink left, and never of a page that is allocated (beyond the depth that CI proves);
//  - a lookup without a command beside it says what the list says; each command is answered once, within `Limit` cycles.
module fv_slots #(
  parameter int unsigned Limit = 30
) (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       valid_i,
  input logic [1:0] op_i,
  input logic       ctx_i,
  input logic [1:0] which_i,
  input logic       wrong_i,
  input logic [5:0] pages_i,
  input logic       compact_i,
  input logic       rsp_ready_i,
  input logic       job_ready_i,
  input logic       job_end_i,
  input logic       look_valid_i,
  input logic       look_ctx_i,
  input logic [1:0] look_which_i,
  input logic [3:0] look_offset_i
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned SlotOrder = 4;
  localparam vpn_t LargeBase = 45'h4_0000_0000;
  localparam vpn_t SmallBase = 45'h6_0000_0000;

  // Slots 0 and 1 are large and neighbours, 2 and 3 are small.
  function automatic vpn_t first_page(logic [1:0] which);
    return (which[1] ? SmallBase : LargeBase) | (vpn_t'(which[0]) << SlotOrder);
  endfunction

  typedef enum logic [1:0] {
    Nobodys,
    Live,
    Freed
  } state_e;
  logic past_valid_q = 1'b0;
  state_e [3:0] state_q;
  logic [3:0] ctx_q, pair_q;
  logic [3:0][5:0] pages_q;

  heap_cmd_t cmd, cmd_q;
  heap_rsp_t rsp;
  heap_job_t job;
  heap_page_t page;
  logic ready, rsp_valid, job_valid, job_done, look_ready, look_done;
  logic waits_q, pending_q, home_q, compact_q;
  logic [1:0] which_q, given;
  logic [5:0] size_q;
  logic [7:0] age_q;

  always_comb begin
    cmd = '0;
    cmd.op = heap_op_e'(op_i);
    cmd.ctx = ctx_id_t'(ctx_i);
    cmd.pointer = {7'd0, first_page(which_i), 11'd0, wrong_i};
    cmd.size = 64'(pages_i) << PageShift;
    cmd.compact = compact_i;
  end

  gw_slots #(
    .NumContexts(2),
    .Slots      (2),
    .SlotOrder  (SlotOrder),
    .SmallOrder (SlotOrder),
    .MaxSpan    (1),
    .LargeBase  (LargeBase),
    .SmallBase  (SmallBase)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .cmd_valid_i (valid_i),
    .cmd_ready_o (ready),
    .cmd_i       (cmd),
    .rsp_valid_o (rsp_valid),
    .rsp_ready_i,
    .rsp_o       (rsp),
    .quota_i     ('1),
    .strict_i    ('0),
    .free_pages_i('0),
    .job_valid_o (job_valid),
    .job_ready_i,
    .job_o       (job),
    .job_done_i  (job_done),
    .idle_o(),
    .look_valid_i,
    .look_ready_o(look_ready),
    .look_ctx_i  (ctx_id_t'(look_ctx_i)),
    .look_vpn_i  (first_page(look_which_i) + vpn_t'(look_offset_i)),
    .look_done_o (look_done),
    .look_page_o (page)
  );

  // Jobs: one under way ends at any time. What it was for is known from its first cycle on.
  logic job_q, job_freed_q, job_new;
  logic [1:0] job_slot, job_slot_q;
  assign job_slot = {job.first[33], job.first[SlotOrder]};
  assign job_done = job_q && job_end_i;
  logic offered_q;
  assign job_new = job_valid && !offered_q;

  assign given = {rsp.pointer[45], rsp.pointer[PageShift+SlotOrder]};
  logic done, mine, pair;
  assign done = rsp.status == HeapOk;
  assign mine = state_q[which_q] == Live && ctx_q[which_q] == 1'(cmd_q.ctx);
  assign pair = size_q > 6'(1 << SlotOrder);

  // Lookups beside which no command ran.
  logic looking_q, quiet_q, look_ctx_q;
  logic [1:0] look_which_q, head;
  logic [5:0] look_offset_q;
  // The second large slot may be part of the first.
  assign head = (look_which_q == 2'd1 && pair_q[0] && state_q[0] != Nobodys) ? 2'd0 : look_which_q;
  logic [5:0] into;
  assign into = look_offset_q + ((head != look_which_q) ? 6'(1 << SlotOrder) : 6'd0);

  always_comb begin
    assume (rst_ni == past_valid_q);
    if (valid_i) assume (op_i != 2'd3 && pages_i <= 6'd34);
    if (waits_q) assume (valid_i && cmd == cmd_q);
  end

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    waits_q <= rst_ni && valid_i && !ready;
    pending_q <= rst_ni && ((valid_i && ready) || (pending_q && !(rsp_valid && rsp_ready_i)));
    age_q <= (rst_ni && pending_q && !rsp_valid) ? age_q + 1'b1 : '0;
    if (valid_i && !pending_q) begin
      cmd_q <= cmd;
      which_q <= which_i;
      home_q <= !wrong_i;
      size_q <= pages_i;
      compact_q <= compact_i;
    end

    offered_q <= rst_ni && job_valid && !job_ready_i;
    job_q <= rst_ni && ((job_valid && job_ready_i) || (job_q && !job_end_i));
    if (job_new) begin
      job_freed_q <= state_q[job_slot] == Freed;
      job_slot_q <= job_slot;
    end

    looking_q <= rst_ni && ((look_valid_i && look_ready) || (looking_q && !look_done));
    if (look_valid_i && look_ready) begin
      look_which_q <= look_which_i;
      look_offset_q <= 6'(look_offset_i);
      look_ctx_q <= look_ctx_i;
      quiet_q <= !pending_q && !valid_i && !job_done;
    end else begin
      quiet_q <= quiet_q && !pending_q && !valid_i && !job_done;
    end

    if (!rst_ni) begin
      for (int unsigned i = 0; i < 4; i++) state_q[i] <= Nobodys;
      pair_q <= '0;
    end else begin
      if (rsp_valid && rsp_ready_i && done) begin
        unique case (cmd_q.op)
          HeapMalloc: begin
            state_q[given] <= Live;
            ctx_q[given] <= 1'(cmd_q.ctx);
            pages_q[given] <= size_q;
            pair_q[given] <= pair;
          end
          HeapRealloc: pages_q[which_q] <= size_q;
          default: state_q[which_q] <= Freed;
        endcase
      end
      if (job_done && job_freed_q) state_q[job_slot_q] <= Nobodys;
    end
  end

  logic pair_covers;
  assign pair_covers = pair_q[0] && state_q[0] != Nobodys;

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      AnswerToACommand_A : assert (!rsp_valid || pending_q);
      Answered_A : assert (32'(age_q) < Limit);
      if (rsp_valid && cmd_q.op == HeapMalloc && done) begin
        Nobodys_A : assert (state_q[given] == Nobodys);
        NotInAPair_A : assert (given != 2'd1 || !pair_covers);
        PairIsFree_A : assert (!pair || (given == 2'd0 && state_q[1] == Nobodys));
        Class_A : assert (given[1] == compact_q && rsp.pointer == {7'd0, first_page(given), 12'd0});
      end
      if (rsp_valid && cmd_q.op == HeapFree) begin
        FreeDone_A : assert (done == (home_q && mine));
        FreeForeign_A : assert ((rsp.status == HeapForeign) == !home_q);
        FreeOther_A : assert (rsp.status != HeapOtherContext || (state_q[which_q] == Live && !mine));
        FreeDead_A : assert (rsp.status != HeapNotLive || state_q[which_q] != Live);
      end
      if (rsp_valid && cmd_q.op == HeapRealloc) begin
        ReallocDone_A : assert (!done || (home_q && mine && size_q != '0 && size_q <= (6'(1 << SlotOrder) << pair_q[which_q])));
        ReallocRefused_A : assert (done || !home_q || !mine || size_q == '0 || size_q > (6'(1 << SlotOrder) << pair_q[which_q]) ||
                                   (rsp.status == HeapBusy && size_q > pages_q[which_q]));
      end
      if (job_new) begin
        JobIsOurs_A : assert (state_q[job_slot] != Nobodys && !job_q && job.from < job.to);
        JobOfNoPageInUse_A : assert (state_q[job_slot] == Freed || job.from >= vpn_t'(pages_q[job_slot]) || pending_q);
      end
      if (look_done && quiet_q) begin
        Lookup_A : assert (page.live == (state_q[head] == Live && ctx_q[head] == look_ctx_q && into < pages_q[head]));
      end
      FreeDone_C : cover (rsp_valid && cmd_q.op == HeapFree && done);
      ReallocDone_C : cover (rsp_valid && cmd_q.op == HeapRealloc && done && pair_q[which_q]);
    end
  end

endmodule
