// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_translator, small, one channel (reads, or writes), against an accelerator, a
// memory and a walker that do anything their protocols allow, at any time. One burst, any, is
// followed from its acceptance to its response:
// - it reaches the memory at most once, translated, behind the earlier bursts of its ID (writes: all
//   earlier bursts), or it is reported as a fault once, and never both;
// - its response is an error exactly if it was reported, comes behind those of the earlier bursts of
//   its ID, with as many beats as asked for; nobody is answered twice or unasked (so none is lost);
// - a burst taken after an invalidation that covers its page never gets a frame from before it, and
//   none that has one is sent or under way when busy is low behind a turn of the epoch behind the pulse;
//   pulses of every scope come in any two cycles, also while busy;
// - write data reaches the memory exactly behind the addresses that did;
// - all this also when the walker parks it and others, on two numbers, with wake-ups of either kind at any time or never; then it
//   may be reported although its page is mapped, if a wake-up said so.
// Responsive = 1: everybody answers at once; then every burst is answered within `Bound` cycles if none was parked, and a
// fence ends within `FenceBound` cycles although nobody ever wakes.
`include "gw_axi_typedef.svh"

module fv_translator #(
  parameter bit Write = 1'b0,
  parameter bit Responsive = 1'b0,
  parameter int unsigned Bound = 13,
  parameter int unsigned FenceBound = 13
) (
  input logic clk_i,
  input logic rst_ni,
  // Accelerator.
  input logic s_valid_i,
  input logic s_id_i,
  input logic s_page_i,
  input logic s_illegal_i,
  input logic w_valid_i,
  input logic s_ready_i,
  // Memory.
  input logic m_ready_i,
  input logic mw_ready_i,
  input logic rsp_valid_i,
  input logic rsp_id_i,
  // Walker.
  input logic x_ready_i,
  input logic x_valid_i,
  input logic x_tag_i,
  input logic x_cacheable_i,
  input logic x_parked_i,
  input logic x_park_i,
  input logic wake_valid_i,
  input logic wake_ok_i,
  input logic wake_park_i,
  input logic inval_i,
  input logic turn_i,
  input logic [2:0] inval_what_i,
  input logic [1:0] global_i,
  input logic [1:0] mapped_i,
  // The burst to follow.
  input logic follow_i
);

  import gw_pkg::*;

  `GW_AXI_TYPEDEF(fv, 1, 8)

  localparam int unsigned Slots = 2;
  localparam int unsigned Outstanding = 3;
  localparam int unsigned C = Write ? 1 : 0;
  typedef logic [2:0] count_t;

  logic [1:0] mapped_q, global_q;
  fv_req_t s_req, m_req;
  fv_rsp_t s_rsp, m_rsp;
  fv_ax_t ax;
  logic w_last, w_followed, m_valid;
  xlate_req_t [1:0] x_req;
  xlate_rsp_t x_rsp;
  logic [1:0] x_req_valid, fault_valid;
  fault_t [1:0] fault;
  chan_event_t [1:0] ev;
  logic inval_busy, rsp_last, accept;
  logic turned, turned_q, settled;
  logic [2:0] since_q;
  logic [1:0][1:0] end_epoch_q, settled_epoch_q;
  logic s_offered_q, s_id_q, s_page_q, s_illegal_q, rsp_offered_q, rsp_id_q, w_offered_q;
  logic send, answer, answer_last, answer_error, x_accept, faulted, s_rsp_id;
  fv_ax_t m_ax;
  logic [4:0] w_two_q, w_mark_q;
  count_t w_left_q;
  logic w_beat_q, w_take, follow;
  count_t [1:0] owed_q;
  logic [1:0] beat_q;
  logic m_take, mw_take, mw_last, mem_last;
  logic [4:0] sent_id_q, sent_mark_q;
  count_t sent_left_q;
  logic owe, owe_id;
  count_t addr_at;
  logic is_followed;
  logic [1:0][1:0] epoch_q;  // of a page: invalidations that covered it
  logic [1:0] covers;
  inval_t inval;
  logic [Slots-1:0] looking_q, look_page_q;
  logic [Slots-1:0][1:0] look_epoch_q;
  count_t [1:0] open_q;            // accepted and not answered, by ID
  count_t [1:0] inside_q;          // accepted and neither sent nor reported, by ID
  logic following_q, gone_q, reported_q, done_q, f_id_q, f_page_q, f_illegal_q;
  logic f_old_q, f_beat_q;
  logic [1:0] f_epoch_q, f_frame_epoch_q;
  count_t before_q, ahead_q;       // bursts to be answered, and to leave, before it
  logic [4:0] age_q;
  logic send_counts, fault_counts;
  count_t leaving;
  logic fault_id;
  logic fault_is_followed;
  logic allowed;

  // Two pages; whether each is mapped, and global, is anything, but constant.
  always_ff @(posedge clk_i) if (!rst_ni) {mapped_q, global_q} <= {mapped_i, global_i};

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  // The burst on offer: two IDs, ID 1 with two beats; a burst with a reserved type is illegal.

  always_comb begin
    ax = '0;
    ax.id = s_id_i;
    ax.addr[PageShift] = s_page_i;
    ax.len = 8'(s_id_i);
    ax.burst = s_illegal_i ? 2'b11 : 2'b01;
    s_req = '0;
    s_req.ar = ax;
    s_req.aw = ax;
    s_req.ar_valid = s_valid_i && !Write;
    s_req.aw_valid = s_valid_i && Write;
    s_req.w_valid = w_valid_i && Write;
    s_req.w.last = w_last;
    s_req.w.data = 8'(w_followed);
    s_req.r_ready = Responsive || s_ready_i;
    s_req.b_ready = Responsive || s_ready_i;
    m_rsp = '0;
    m_rsp.ar_ready = Responsive || m_ready_i;
    m_rsp.aw_ready = Responsive || m_ready_i;
    m_rsp.w_ready = Responsive || mw_ready_i;
    m_rsp.r_valid = rsp_valid_i && !Write;
    m_rsp.b_valid = rsp_valid_i && Write;
    m_rsp.r.id = rsp_id_i;
    m_rsp.b.id = rsp_id_i;
    m_rsp.r.last = rsp_last;
  end

  gw_translator #(
    .L1Entries  (1),
    .MissEntries(Slots),
    .Outstanding(Outstanding),
    .Levels     (3),
    .req_t      (fv_req_t),
    .rsp_t      (fv_rsp_t)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .cfg_i            ('{mode: PortTranslate, ctx: '0}),
    .s_req_i          (s_req),
    .s_rsp_o          (s_rsp),
    .m_req_o          (m_req),
    .m_rsp_i          (m_rsp),
    .xlate_want_o     (),
    .xlate_req_valid_o(x_req_valid),
    .xlate_req_ready_i({2{Responsive || x_ready_i}}),
    .xlate_req_o      (x_req),
    .xlate_rsp_valid_i({x_valid_i && Write, x_valid_i && !Write}),
    .xlate_rsp_i      (x_rsp),
    .inval_valid_i    (inval_i),
    .inval_i          (inval),
    .epoch_i          (turned),
    .inval_busy_o     (inval_busy),
    .wake_i           ('{valid: wake_valid_i && !Responsive, ok: wake_ok_i, park: park_t'(wake_park_i)}),
    .ctx_write_i      ('0),
    .fault_valid_o    (fault_valid),
    .fault_o          (fault),
    .event_o          (ev)
  );

  // The epoch turns when nothing of the other one was left in the cycle before; busy may tell so four cycles late.
  logic busy_q;
  always_ff @(posedge clk_i) busy_q <= rst_ni && inval_busy;
  assign turned = turned_q ^ turn_i;
  assign settled = since_q == 3'd4 && !inval_busy;
  always_comb if (!rst_ni || since_q != 3'd4 || busy_q) assume (!turn_i);
  always_ff @(posedge clk_i) begin
    turned_q <= rst_ni && turned;
    if (!rst_ni) begin
      since_q <= 3'd4;
      end_epoch_q <= '0;
      settled_epoch_q <= '0;
    end else begin
      if (turn_i) since_q <= '0;
      else if (since_q != 3'd4) since_q <= since_q + 1'b1;
      // Pulses before the turn.
      for (int unsigned p = 0; p < 2; p++) begin
        if (turn_i) end_epoch_q[p] <= epoch_q[p];
        if (settled && !turn_i) settled_epoch_q[p] <= end_epoch_q[p];
      end
    end
  end

  // Two invalidations, three bursts in all.
  logic [1:0] taken_q, pulses_q;
  always_ff @(posedge clk_i) begin
    taken_q <= !rst_ni ? '0 : taken_q + 2'(accept);
    pulses_q <= !rst_ni ? '0 : pulses_q + 2'(inval_i);
  end
  always_comb if (pulses_q == 2'd2) assume (!inval_i);
  always_comb if (taken_q == 2'd3) assume (!s_valid_i);

  // Everything, a page, the port's context, another one.
  always_comb begin
    inval = '0;
    inval.vpn = vpn_t'(inval_what_i[0]);
    unique case (inval_what_i)
      3'd0, 3'd1: inval.scope = InvalRange;
      3'd2: inval.scope = InvalContext;
      3'd3: begin
        inval.scope = InvalContext;
        inval.ctx = ctx_id_t'(1);
      end
      default: inval.scope = InvalAll;
    endcase
    for (int unsigned p = 0; p < 2; p++) begin
      covers[p] = inval_i && (inval.scope == InvalAll ||
        (!global_q[p] && inval.ctx == '0 && (inval.scope == InvalContext || inval.vpn == vpn_t'(p))));
    end
  end

  // What happens in this cycle.
  assign m_ax = Write ? m_req.aw : m_req.ar;
  assign m_valid = Write ? m_req.aw_valid : m_req.ar_valid;
  assign accept = s_valid_i && (Write ? s_rsp.aw_ready : s_rsp.ar_ready);
  assign send = m_valid && (Responsive || m_ready_i);
  assign answer = (Write ? s_rsp.b_valid : s_rsp.r_valid) && (Responsive || s_ready_i);
  assign answer_last = Write || s_rsp.r.last;
  assign answer_error = (Write ? s_rsp.b.resp : s_rsp.r.resp) == gw_axi_pkg::RespSlvErr;
  assign s_rsp_id = Write ? s_rsp.b.id : s_rsp.r.id;
  assign x_accept = x_req_valid[C] && (Responsive || x_ready_i);
  assign faulted = fault_valid[C];

  // Accelerator: what is on offer stays; data of accepted writes only, in their order.
  always_comb begin
    if (s_offered_q) begin
      assume (s_valid_i && {s_id_i, s_page_i, s_illegal_i} == {s_id_q, s_page_q, s_illegal_q});
    end
    if (w_offered_q) assume (w_valid_i);
    if (w_left_q == '0) assume (!w_valid_i);
    else if (Responsive && Write) assume (w_valid_i);
  end
  always_ff @(posedge clk_i) begin
    s_offered_q <= rst_ni && s_valid_i && !accept;
    {s_id_q, s_page_q, s_illegal_q} <= {s_id_i, s_page_i, s_illegal_i};
    w_offered_q <= rst_ni && w_valid_i && !s_rsp.w_ready;
  end

  // Bursts whose data is still to come: {two beats, followed}, oldest in place 0.
  assign w_last = !w_two_q[0] || w_beat_q;
  assign w_followed = w_mark_q[0];
  assign w_take = w_valid_i && Write && s_rsp.w_ready;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      w_left_q <= '0;
      w_beat_q <= 1'b0;
    end else begin
      w_left_q <= w_left_q + count_t'(accept && Write) - count_t'(w_take && w_last);
      if (w_take) w_beat_q <= !w_last;
      if (w_take && w_last) begin
        w_two_q <= w_two_q >> 1;
        w_mark_q <= w_mark_q >> 1;
      end
      if (accept) begin
        w_two_q[w_left_q - count_t'(w_take && w_last)] <= s_id_i;
        w_mark_q[w_left_q - count_t'(w_take && w_last)] <= follow;
      end
    end
  end

  // Memory: answers bursts it has (writes: with their data), in the order of each ID.
  assign rsp_last = rsp_id_i == 1'b0 || beat_q[1];
  assign m_take = rsp_valid_i && (Write ? m_req.b_ready : m_req.r_ready);
  assign mem_last = Write || rsp_last;
  assign mw_take = m_req.w_valid && m_rsp.w_ready && Write;
  assign mw_last = mw_take && m_req.w.last;
  always_comb begin
    if (owed_q[rsp_id_i] == '0) assume (!rsp_valid_i);
    if (Responsive && owed_q != '0) assume (rsp_valid_i);
    if (rsp_offered_q) assume (rsp_valid_i && rsp_id_i == rsp_id_q);
  end

  // Writes whose address was sent and whose data is not through, oldest in place 0. Beats may come
  // while the address is on offer, the last one not before it is taken.
  assign addr_at = sent_left_q - count_t'(mw_last && sent_left_q != '0);
  assign owe = Write ? mw_last : send;
  assign owe_id = (Write && sent_left_q != '0) ? sent_id_q[0] : m_ax.id;
  always_comb begin
    if (m_req.w_valid && m_req.w.last && sent_left_q == '0 && !send) assume (!m_rsp.w_ready);
  end
  always_ff @(posedge clk_i) begin
    rsp_offered_q <= rst_ni && rsp_valid_i && !m_take;
    rsp_id_q <= rsp_id_i;
    if (!rst_ni) begin
      owed_q <= '0;
      beat_q <= '0;
      sent_left_q <= '0;
    end else begin
      for (int unsigned i = 0; i < 2; i++) begin
        owed_q[i] <= owed_q[i] + count_t'(owe && owe_id == 1'(i)) -
                     count_t'(m_take && mem_last && rsp_id_i == 1'(i));
      end
      if (m_take) beat_q[rsp_id_i] <= !mem_last;
      sent_left_q <= sent_left_q + count_t'(send && Write) - count_t'(mw_last);
      if (mw_last) begin
        sent_id_q <= sent_id_q >> 1;
        sent_mark_q <= sent_mark_q >> 1;
      end
      if (send && Write) begin
        sent_id_q[addr_at] <= m_ax.id;
        sent_mark_q[addr_at] <= is_followed;
      end
    end
  end

  // Walker: answers each lookup once, any order; the frame tells page and epoch of the lookup.
  always_comb begin
    if (!looking_q[x_tag_i]) assume (!x_valid_i);
    if (Responsive && looking_q != '0) assume (x_valid_i);
    x_rsp = '0;
    x_rsp.tag = tag_t'(x_tag_i);
    x_rsp.vpn = vpn_t'(look_page_q[x_tag_i]);
    x_rsp.parked = x_parked_i;
    x_rsp.park = park_t'(x_park_i);
    x_rsp.fault = !mapped_q[look_page_q[x_tag_i]] && !x_parked_i;
    x_rsp.cause = Write ? gw_spec_pkg::CauseStorePageFault : gw_spec_pkg::CauseLoadPageFault;
    x_rsp.ppn = ppn_t'({1'b1, look_epoch_q[x_tag_i], look_page_q[x_tag_i], 1'b1});
    x_rsp.perm = '1;
    x_rsp.is_global = global_q[look_page_q[x_tag_i]];
    x_rsp.cacheable = x_cacheable_i &&
                      look_epoch_q[x_tag_i] == epoch_q[look_page_q[x_tag_i]];
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      looking_q <= '0;
      epoch_q <= '0;
    end else begin
      for (int unsigned p = 0; p < 2; p++) epoch_q[p] <= epoch_q[p] + 2'(covers[p]);
      if (x_valid_i) looking_q[x_tag_i] <= 1'b0;
      if (x_accept) begin
        looking_q[x_req[C].tag[0]] <= 1'b1;
        look_page_q[x_req[C].tag[0]] <= x_req[C].vpn[0];
        look_epoch_q[x_req[C].tag[0]] <= epoch_q[x_req[C].vpn[0]];
      end
    end
  end

  // Parking.
  logic parked_q, failed_q;
  logic [4:0] fence_q;
  always_ff @(posedge clk_i) begin
    parked_q <= rst_ni && (parked_q || (x_valid_i && x_parked_i));
    failed_q <= rst_ni && (failed_q || (wake_valid_i && !wake_ok_i));
    fence_q <= (!rst_ni || turn_i) ? '0 : fence_q + 5'(inval_busy);
  end

  // The burst followed.
  assign follow = follow_i && accept && !following_q;

  // Writes leave in one order, reads in that of their ID.
  assign fault_id = fault[C].id[0];
  assign send_counts = send && (Write || m_ax.id == f_id_q);
  assign fault_counts = faulted && (Write || fault_id == f_id_q);
  assign leaving = count_t'(send_counts) + count_t'(fault_counts);
  // An address on offer left the channel before a fault that is reported meanwhile.
  assign is_followed = following_q && !gone_q && !reported_q && ahead_q == '0 &&
                       (Write || m_ax.id == f_id_q);
  assign fault_is_followed = following_q && !gone_q && !reported_q && fault_counts &&
                             ahead_q == count_t'(m_valid && (Write || m_ax.id == f_id_q));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q <= '0;
      inside_q <= '0;
      following_q <= 1'b0;
      gone_q <= 1'b0;
      reported_q <= 1'b0;
      done_q <= 1'b0;
      f_old_q <= 1'b0;
      f_beat_q <= 1'b0;
      age_q <= '0;
    end else begin
      for (int unsigned i = 0; i < 2; i++) begin
        open_q[i] <= open_q[i] + count_t'(accept && s_id_i == 1'(i)) -
                     count_t'(answer && answer_last && s_rsp_id == 1'(i));
        inside_q[i] <= inside_q[i] + count_t'(accept && s_id_i == 1'(i)) -
                       count_t'(send && m_ax.id == 1'(i)) - count_t'(faulted && fault_id == 1'(i));
      end
      if (follow) begin
        following_q <= 1'b1;
        {f_id_q, f_page_q, f_illegal_q} <= {s_id_i, s_page_i, s_illegal_i};
        f_epoch_q <= epoch_q[s_page_i];
        f_old_q <= covers[s_page_i];
        before_q <= open_q[s_id_i] - count_t'(answer && answer_last && s_rsp_id == s_id_i);
        ahead_q <= Write ? inside_q[0] + inside_q[1] - count_t'(send) - count_t'(faulted)
                         : inside_q[s_id_i] - count_t'(send && m_ax.id == s_id_i) -
                           count_t'(faulted && fault_id == s_id_i);
      end else if (following_q && !done_q) begin
        age_q <= age_q + 1'b1;
        if (covers[f_page_q]) f_old_q <= 1'b1;
        if (answer && s_rsp_id == f_id_q) begin
          if (before_q != '0) before_q <= before_q - count_t'(answer_last);
          else if (answer_last) done_q <= 1'b1;
          else f_beat_q <= 1'b1;
        end
        if (!gone_q && !reported_q) begin
          if (fault_is_followed) reported_q <= 1'b1;
          else if (send && is_followed) begin
            gone_q <= 1'b1;
            f_frame_epoch_q <= m_ax.addr[PageShift+2+:2];
          end else if (!(m_valid && is_followed)) ahead_q <= ahead_q - leaving;
        end
      end
    end
  end

  assign allowed = !f_illegal_q && mapped_q[f_page_q];
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      // Nobody is answered unasked, nothing is sent or reported that was not taken.
      if (answer) Asked_A : assert (open_q[s_rsp_id] != '0);
      if (send) Taken_A : assert (inside_q[m_ax.id] != '0);
      if (m_valid) Translated_A : assert (m_ax.addr[PageShift+4] && m_ax.addr[PageShift] &&
                                          mapped_q[m_ax.addr[PageShift+1]]);
      if (following_q && !gone_q && !reported_q && !done_q) begin
        if (m_valid && is_followed && !fault_is_followed) begin
          RightAddress_A : assert (allowed && m_ax.id == f_id_q &&
            m_ax.addr[63:PageShift+5] == '0 && m_ax.addr[PageShift+1] == f_page_q &&
            m_ax.addr[PageShift-1:0] == '0 && m_ax.len == 8'(f_id_q));
          // Taken in this epoch of its page: the frame is of this epoch. Older: of its own or a later one.
          if (!f_old_q) NotStale_A : assert (m_ax.addr[PageShift+2+:2] == f_epoch_q);
        end
        if (fault_is_followed) begin
          RightFault_A : assert ((!allowed || failed_q) && fault_id == f_id_q &&
            fault[C].addr[PageShift] == f_page_q && fault[C].write == Write &&
            fault[C].cause == (f_illegal_q ? gw_spec_pkg::CauseBurstCrossesPage :
              Write ? gw_spec_pkg::CauseStorePageFault : gw_spec_pkg::CauseLoadPageFault));
        end
      end
      if (following_q && !done_q && answer && s_rsp_id == f_id_q && before_q == '0) begin
        RightAnswer_A : assert (answer_error ? reported_q : gone_q);
        if (!Write) RightBeats_A : assert (answer_last == (f_beat_q || !f_id_q));
      end
      // What was translated before a turn has ended when busy is low.
      if (following_q && gone_q && !done_q && settled && !turn_i) NoneOld_A : assert (
        f_frame_epoch_q >= end_epoch_q[f_page_q]);
      if (following_q && gone_q && !done_q) NoneOldSent_A : assert (f_frame_epoch_q >= settled_epoch_q[f_page_q]);
      if (Write && mw_take) DataOfAddress_A : assert ((sent_left_q != '0 || m_valid) &&
        m_req.w.data[0] == ((sent_left_q != '0) ? sent_mark_q[0] : is_followed));
      if (Responsive && !parked_q) Answered_A : assert (age_q < 5'(Bound));
      if (Responsive) FenceEnds_A : assert (fence_q < 5'(FenceBound));
      Parked_C : cover (parked_q && done_q && gone_q && !failed_q);
      Ordinary_C : cover (done_q && gone_q);
      Fault_C : cover (done_q && reported_q && !f_illegal_q);
      OldUnderWay_C : cover (following_q && gone_q && inval_busy && f_frame_epoch_q != epoch_q[f_page_q]);
    end
  end

endmodule
