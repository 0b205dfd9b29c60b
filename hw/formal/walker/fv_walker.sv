// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_walker, small, whatever contexts and walk cache say (stand_in/gw_walk_begin.sv), under a memory that
// answers each read once, at any time, in any order, with any data: every accepted request is answered exactly once, but for
// those withdrawn in the cycle after, which are never; nothing is acknowledged while a request accepted in the other epoch is
// here, and something is when none is; the memory port never has two reads with one ID; no answer is cacheable in an
// invalidation's own cycle, and with Scopes = 1 none that covers a page which one named since the request was accepted.
// Responsive = 1 (memory that answers within two cycles): no deadlock, something always moves on while anything waits. Contexts
// are without hardware updates of A and D here (fv_walk_update).
module fv_walker #(
  parameter int unsigned Levels = 3,
  parameter int unsigned Requests = 2,
  parameter int unsigned Lines = 1,
  parameter int unsigned LineBeats = 1,
  parameter bit Responsive = 1'b0,
  /// Requests are withdrawn at times.
  parameter bit Withdraw = 1'b1,
  /// What an invalidation's scope means for an answer is checked as well.
  parameter bit Scopes = 1'b0
) (
  input logic clk_i,
  input logic rst_ni,
  input logic [5:0] first_i,
  input logic req_valid_i,
  input logic [1:0] tag_i,
  input logic write_i,
  input logic cancel_i,
  input logic [Levels-1:0] entry_i,
  input logic [Levels-1:0] other_line_i,
  input logic ar_ready_i,
  input logic r_valid_i,
  input logic [5:0] r_id_i,
  input logic r_error_i,
  input logic [1:0][7:0] flags_i,
  input logic [1:0][1:0] frame_i,
  input logic inval_i,
  input logic [1:0] scope_i,
  input logic [5:0] inval_ctx_i,
  input logic [Levels-1:0] inval_entry_i,
  input logic [3:0] inval_page_i,
  input logic [4:0] inval_order_i,
  input logic epoch_i
);

  import gw_pkg::*;
  import gw_axi_pkg::*;

  // Few values for everything that is only carried along: four tags, two entries in each of two beats of a table, four
  // frames. The context says where the walk begins (stand_in/gw_walk_begin.sv).
  xlate_req_t req;
  pt_rsp_t m_rsp;
  logic last;
  always_comb begin
    req = '0;
    req.tag = tag_t'(tag_i);
    req.write = write_i;
    req.ctx = ctx_id_t'(first_i);
    for (int unsigned l = 0; l < Levels; l++) begin
      req.vpn[9*l] = entry_i[l];
      req.vpn[9*l+3] = other_line_i[l];
    end
    m_rsp = '0;
    m_rsp.ar_ready = ar_ready_i;
    m_rsp.r_valid = r_valid_i;
    m_rsp.r.id = 7'(r_id_i);
    m_rsp.r.last = last;
    m_rsp.r.resp = {r_error_i, 1'b0};
    for (int unsigned i = 0; i < 2; i++) m_rsp.r.data[64*i +: 64] = 64'({frame_i[i], 2'd0, flags_i[i]});
  end

  inval_t inval;
  always_comb begin
    inval = '{scope: inval_scope_e'(scope_i), ctx: ctx_id_t'(inval_ctx_i), order: inval_order_i, default: '0};
    for (int unsigned l = 1; l < Levels; l++) inval.vpn[9*l] = inval_entry_i[l];
    inval.vpn[3:0] = inval_page_i;
  end

  logic req_ready, rsp_valid, inval_busy, awake, cancel;
  xlate_rsp_t rsp;
  miss_t miss;
  pt_req_t m_req;
  walk_event_t ev;

  gw_walker #(
    .Levels(Levels),
    .Requests(Requests),
    .Lines(Lines),
    .LineBeats(LineBeats),
    .CacheEntries(1),
    .NumContexts(1)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .ctx_i('0),
    .req_valid_i,
    .req_ready_o(req_ready),
    .req_i(req),
    .req_cancel_i(cancel),
    .rsp_valid_o(rsp_valid),
    .rsp_o(rsp),
    .rsp_miss_o(miss),
    .m_req_o(m_req),
    .m_rsp_i(m_rsp),
    .inval_valid_i(inval_i),
    .inval_i(inval),
    .epoch_i,
    .inval_busy_o(inval_busy),
    .awake_o(awake),
    .event_o(ev)
  );

  // Any one request, followed from acceptance to answer: an arbitrary tag. A register that keeps its unknown
  // first value stands for "any": the anyconst attribute is ignored by this front end.
  logic [1:0] id_q;
  always_ff @(posedge clk_i) id_q <= id_q;

  // And any page near it, followed from its acceptance for invalidations that name it.
  logic [17:0] other_q;
  xlate_req_t asked_q;
  vpn_t page;
  logic names, named_q, covers;
  always_ff @(posedge clk_i) other_q <= other_q;
  assign page = asked_q.vpn ^ vpn_t'(other_q);
  always_comb begin
    unique case (scope_i)
      2'd1: names = inval.ctx == asked_q.ctx;
      2'd2: names = inval.ctx == asked_q.ctx && inval.vpn >> inval.order == page >> inval.order;
      default: names = 1'b1;
    endcase
    covers = rsp.order >= 5'd18 || other_q >> rsp.order == '0;
    if (rsp.order < 5'd4 && other_q[17:4] == '0 && rsp.cluster[page[3:0]]) covers = 1'b1;
  end

  logic past_valid_q = 1'b0;
  logic flying_q, stale_q, epoch_id_q;
  logic accept, accept_id, accept_q, accept_id_q, answer_id;
  logic [3:0] count_q;
  // Beats that memory owes for each slot.
  logic [Lines-1:0][4:0] left_q;
  logic [Lines-1:0] ar_mask, r_mask;
  logic [Lines-1:0][1:0] age_q;

  assign accept = req_valid_i && req_ready;
  assign accept_id = accept && tag_i == id_q;
  assign cancel = Withdraw && cancel_i && accept_q;
  assign answer_id = rsp_valid && rsp.src == '0 && rsp.tag == tag_t'(id_q);
  for (genvar i = 0; i < Lines; i++) begin : gen_slot
    assign ar_mask[i] = m_req.ar_valid && ar_ready_i && m_req.ar.id == 7'(i);
    assign r_mask[i] = r_valid_i && r_id_i == 6'(i);
    always_ff @(posedge clk_i) begin
      if (!rst_ni || left_q[i] == '0 || r_mask[i]) age_q[i] <= '0;
      else age_q[i] <= age_q[i] + 1'b1;
      if (!rst_ni) left_q[i] <= '0;
      else if (ar_mask[i]) left_q[i] <= 5'(LineBeats);
      else if (r_mask[i]) left_q[i] <= left_q[i] - 1'b1;
      if (rst_ni && ar_mask[i]) OneReadASlot_A : assert (left_q[i] == '0);
    end
    always_comb if (r_mask[i]) assume (left_q[i] != '0);
    always_comb if (Responsive && age_q[i] == 2'd2 && r_mask == '0) assume (1'b0);
  end

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    accept_q <= rst_ni && accept;
    accept_id_q <= rst_ni && accept_id;
    flying_q <= rst_ni && (accept_id || (flying_q && !answer_id && !(cancel && accept_id_q)));
    stale_q <= flying_q && (stale_q || inval_i);
    named_q <= flying_q && (named_q || (inval_i && names));
    if (accept_id) asked_q <= req;
    if (accept_id) epoch_id_q <= epoch_i;
    count_q <= rst_ni ? count_q + 4'(accept) - 4'(rsp_valid) - 4'(cancel) : '0;
  end

  // The environment.
  always_comb begin
    assume (rst_ni == past_valid_q);
    if (flying_q && req_valid_i) assume (tag_i != id_q);
    if (r_valid_i) assume (r_mask != '0);
    last = 1'b0;
    for (int unsigned i = 0; i < Lines; i++) last |= r_mask[i] && left_q[i] == 5'd1;
    // Bits of page numbers that matter: those inside a cluster and the lowest of each table's index.
    assume ({other_q[17:10], other_q[8:4]} == '0);
    assume (inval_order_i inside {5'd0, 5'd2, 5'd4, 5'd9, 5'd18});
    if (Responsive) assume (ar_ready_i);
  end

  // Reads of memory and looks at lines since the request was accepted: what the depth of the proofs must hold.
  logic [2:0] reads_q, looks_q;
  always_ff @(posedge clk_i) begin
    reads_q <= (accept_id || !rst_ni) ? '0 : reads_q + 3'(ev.pte_read);
    looks_q <= (accept_id || !rst_ni) ? '0 : looks_q + 3'(ev.merge || ev.line_hit);
  end

  // Cycles in which nothing moved although something waits.
  logic [3:0] still_q;
  logic moves;
  assign moves = ev.done || ev.merge || ev.line_hit || (m_req.ar_valid && ar_ready_i) || r_valid_i || cancel;
  always_ff @(posedge clk_i) still_q <= (!rst_ni || moves || count_q == '0) ? '0 : still_q + 1'b1;

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      AnswerWasAsked_A : assert (!answer_id || flying_q);
      NoTokenLost_A : assert (count_q <= 4'(Requests + 1) && (count_q != '0 || !rsp_valid));
      if (Scopes) NamedNotCacheable_A : assert (!(answer_id && covers && named_q && rsp.cacheable));
      NotInAPulse_A : assert (!(answer_id && inval_i && rsp.cacheable));
      BusyForOtherEpoch_A : assert (!(flying_q && epoch_id_q != epoch_i) || inval_busy);
      IdleIsNotBusy_A : assert (count_q != '0 || !inval_busy);
      WithdrawnLeavesNothing_A : assert (count_q != '0 || !rsp_valid && !ev.merge && !ev.line_hit && (!ev.pte_read || ev.prefetch));
      if (Responsive) NoDeadlock_A : assert (still_q <= 4'd8);
      AnsweredRead_C : cover (answer_id && !rsp.fault);
      AnsweredStale_C : cover (answer_id && stale_q && !rsp.fault && !rsp.cacheable);
      AnsweredSpared_C : cover (answer_id && stale_q && rsp.cacheable);
      // A walk of two levels, or one that looks a second time, alone in the walker; two walks, one after a merge.
      AnsweredTwoReads_C : cover (answer_id && !rsp.fault && reads_q == 3'd2 && count_q == 4'd1 && looks_q == '0);
      // Reads of several beats take it beyond the depth.
      if (LineBeats == 1) AnsweredThreeReads_C : cover (answer_id && reads_q == 3'd3 && count_q == 4'd1 && looks_q == '0);
      if (LineBeats > 1) AnsweredEarly_C : cover (answer_id && !rsp.fault && left_q != '0);
      AnsweredMerged_C : cover (answer_id && reads_q == '0 && looks_q != '0);
    end
  end

endmodule
