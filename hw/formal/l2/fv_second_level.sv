// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_second_level around its L2 TLB (which a stand-in replaces: a request with an odd context hits): no request
// is lost, doubled or answered for another; what the walker takes for a hit is withdrawn in the next cycle and nothing else is,
// a miss asks it once, unchanged; hits take 5 cycles while the walker is silent; an answer given after an invalidation to a
// request taken before it is not cacheable; while a hit of the
// other epoch is not answered, it is busy.
// Responsive = 1: a walker that takes and answers at once leaves nobody waiting for more than 15 cycles.
module fv_second_level #(
  parameter bit Responsive = 1'b0
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic               req_valid_i,
  input logic         [1:0] req_who_i,
  input logic         [1:0] req_ctx_i,
  input logic         [1:0] req_page_i,
  input logic               req_write_i,
  input logic               walk_ready_i,
  input logic               walk_rsp_valid_i,
  input logic         [1:0] walk_who_i,
  input logic         [1:0] walk_ctx_i,
  input logic         [1:0] walk_page_i,
  input logic         [1:0] walk_frame_i,
  input logic               walk_cacheable_i,
  input logic               walk_fault_i,
  input logic               inval_valid_i,
  input logic               epoch_i
);

  import gw_pkg::*;

  // Few values for everything that is only carried along.
  xlate_req_t req;
  xlate_rsp_t walk_rsp;
  inval_t inval;
  always_comb begin
    req = '0;
    {req.src[0], req.tag[0]} = req_who_i;
    req.ctx[1:0] = req_ctx_i;
    req.vpn[1:0] = req_page_i;
    req.write = req_write_i;
    walk_rsp = '0;
    {walk_rsp.src[0], walk_rsp.tag[0]} = walk_who_i;
    walk_rsp.ctx[1:0] = walk_ctx_i;
    walk_rsp.vpn[1:0] = walk_page_i;
    walk_rsp.ppn[1:0] = walk_frame_i;
    walk_rsp.cacheable = walk_cacheable_i;
    walk_rsp.fault = walk_fault_i;
    inval = '0;
  end

  localparam int unsigned MaxWait = 15;

  logic       req_ready, rsp_valid, walk_valid, walk_cancel, busy, awake;
  xlate_rsp_t rsp;
  xlate_req_t walk_req;
  l2_event_t  happened;
  range_t     ranges;

  gw_second_level #(
    .Sets        (2),
    .Ways        (1),
    .MissDepth   (4),
    .RangeEntries(0)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .req_valid_i,
    .req_ready_o     (req_ready),
    .req_i           (req),
    .rsp_valid_o     (rsp_valid),
    .rsp_o           (rsp),
    .walk_req_valid_o(walk_valid),
    .walk_req_ready_i(walk_ready_i),
    .walk_req_o      (walk_req),
    .walk_cancel_o   (walk_cancel),
    .walk_rsp_valid_i,
    .walk_rsp_i      (walk_rsp),
    .range_we_i      (1'b0),
    .range_idx_i     (1'b0),
    .range_i         ('0),
    .ranges_o        (ranges),
    .inval_valid_i,
    .inval_i         (inval),
    .epoch_i,
    .inval_busy_o    (busy),
    .awake_o         (awake),
    .event_o         (happened)
  );

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  // One request, whichever: a register that keeps what it was.
  xlate_req_t mine_q;
  always_ff @(posedge clk_i) mine_q <= mine_q;

  function automatic logic is_mine(src_t src, tag_t tag);
    return {src, tag} == {mine_q.src, mine_q.tag};
  endfunction

  logic take, asked, asked_q, any_asked_q, withdrawn, answered, walk_answered;
  assign take = req_valid_i && req_ready && is_mine(req.src, req.tag);
  assign asked = walk_valid && walk_ready_i && is_mine(walk_req.src, walk_req.tag);
  assign withdrawn = walk_cancel && asked_q;
  assign answered = rsp_valid && is_mine(rsp.src, rsp.tag);
  assign walk_answered = walk_rsp_valid_i && is_mine(walk_rsp.src, walk_rsp.tag);

  // flying: taken, not answered. walking: the walker has it. late: a pulse came since.
  logic flying_q, walking_q, late_q, waits_q, quiet_q;
  xlate_req_t req_q;
  logic [4:0] age_q;
  logic epoch_q, idle_q, mine_epoch_q;
  always_ff @(posedge clk_i) begin
    flying_q <= rst_ni && (take || (flying_q && !answered));
    walking_q <= rst_ni && (asked || (walking_q && !walk_answered && !withdrawn));
    asked_q <= rst_ni && asked;
    any_asked_q <= rst_ni && walk_valid && walk_ready_i;
    late_q <= !take && (late_q || inval_valid_i);
    age_q <= take ? 5'd1 : (age_q == '1) ? age_q : age_q + 1'b1;
    // No answer of the walker since the request, and none before that hits could wait for.
    quiet_q <= rst_ni && !walk_rsp_valid_i && (quiet_q || u_dut.gen_lookup.hits_q == '0);
    waits_q <= rst_ni && req_valid_i && !req_ready;
    req_q <= req;
    epoch_q <= epoch_i;
    idle_q <= !busy;
    if (take) mine_epoch_q <= epoch_i;
  end

  always_comb begin
    // The epoch turns when nothing of the other one is left.
    if (past_valid_q && !idle_q) assume (epoch_i == epoch_q);
    if (waits_q) assume (req_valid_i && req == req_q);
    // A translator waits for the answer before it uses a tag again; what `mine` asks for is fixed.
    if (req_valid_i && is_mine(req.src, req.tag)) assume (req == mine_q && !flying_q);
    if (walk_answered) assume (walking_q && !asked_q && walk_rsp.ctx == mine_q.ctx && walk_rsp.vpn == mine_q.vpn);
    // The walker's word for requests taken before a pulse; the second level changes nothing in it.
    if (Responsive) begin
      assume (walk_ready_i);
      if (walking_q && !asked_q) assume (walk_answered);
      // At most every other cycle for others: answers go before hits.
      if (!walk_answered) assume (!walk_rsp_valid_i || !walking_q);
    end
  end

  // Other answers of the walker come at most every other cycle when it is to be responsive.
  logic other_q;
  always_ff @(posedge clk_i) other_q <= walk_rsp_valid_i;
  always_comb begin
    if (Responsive && other_q && !walk_answered) assume (!walk_rsp_valid_i);
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (answered) begin
        AnswerWasAsked_A : assert (flying_q);
        AnswerIsItsOwn_A : assert (rsp.ctx == mine_q.ctx && rsp.vpn == mine_q.vpn);
        // The walker's own answer if it was a miss, the L2's if it was a hit.
        RightAnswer_A : assert (mine_q.ctx[0] ? !walk_answered && rsp.ppn == ppn_t'(mine_q.vpn) && !rsp.fault
                                              : walk_answered && rsp == walk_rsp);
        if (mine_q.ctx[0]) HitNotStale_A : assert (rsp.cacheable == !(late_q || inval_valid_i));
      end
      if (asked) AsksOnce_A : assert (flying_q && !walking_q && walk_req == mine_q);
      if (asked && mine_q.ctx[0]) HitAsksAtOnce_A : assert (age_q == 5'd1);
      if (asked_q) HitIsWithdrawn_A : assert (walk_cancel == mine_q.ctx[0]);
      WithdrawnWasAsked_A : assert (!walk_cancel || any_asked_q);
      if (flying_q && age_q == 5'd4 && mine_q.ctx[0] && quiet_q && !walk_rsp_valid_i) begin
        HitTakesFive_A : assert (answered);
      end
      // From the fourth cycle on: in the third it is put into the queue.
      if (flying_q && !mine_q.ctx[0] && !walking_q && age_q >= 5'd3) begin
        MissIsOffered_A : assert (walk_valid);
      end
      if (flying_q && mine_q.ctx[0] && mine_epoch_q != epoch_i) BusyWithOld_A : assert (busy);
      if (Responsive) NobodyWaits_A : assert (!flying_q || age_q <= 5'(MaxWait));
      HitWaited_C : cover (answered && mine_q.ctx[0] && age_q == 5'd6);
      StaleHit_C : cover (answered && mine_q.ctx[0] && !rsp.cacheable && age_q == 5'd6);
      Miss_C : cover (answered && !mine_q.ctx[0]);
      QueuedMiss_C : cover (asked && age_q > 5'd1 && !mine_q.ctx[0]);
      Withdrawn_C : cover (withdrawn);
    end
  end

endmodule
