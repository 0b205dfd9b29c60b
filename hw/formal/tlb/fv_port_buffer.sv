// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_port_buffer, small (4 beats, 2 writes), against an accelerator that does anything, also nothing any more, and a
// memory side that answers bursts it has in any legal order:
// - R and B are always taken; the data of a write that was let through is offered at most a cycle after it could be taken, so
//   every burst let through ends by the memory side alone;
// - AW is not offered before all its data is here, and its data not before it;
// - one beat each way, any, is followed: beats come out in order, once and unchanged.
`include "gw_axi_typedef.svh"

module fv_port_buffer (
  input logic clk_i,
  input logic rst_ni,
  input logic ar_valid_i,
  input logic [1:0] ar_len_i,
  input logic aw_valid_i,
  input logic [1:0] aw_len_i,
  input logic w_valid_i,
  input logic w_mark_i,
  input logic r_ready_i,
  input logic b_ready_i,
  input logic m_ar_ready_i,
  input logic m_aw_ready_i,
  input logic m_w_ready_i,
  input logic m_r_valid_i,
  input logic m_r_mark_i,
  input logic m_b_valid_i
);

  `GW_AXI_TYPEDEF(fv, 1, 8)

  localparam int unsigned Beats = 4;
  localparam int unsigned Writes = 2;
  typedef logic [3:0] count_t;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  fv_req_t s_req, m_req;
  fv_rsp_t s_rsp, m_rsp;
  logic ar_offered_q, aw_offered_q, w_offered_q, w_mark_q, w_last;
  logic [1:0] ar_len_q;
  count_t owed_q;            // R beats of reads let through
  count_t b_owed_q;          // writes let through, with all their data, that have no B
  count_t w_beat_q;

  // All writes are of one length, any, so that data may come before its address.
  logic [1:0] len_q;
  always_ff @(posedge clk_i) if (!rst_ni) len_q <= aw_len_i;
  assign w_last = w_beat_q == count_t'(len_q);

  always_comb begin
    s_req = '0;
    s_req.ar.len = 8'(ar_len_i);
    s_req.ar_valid = ar_valid_i;
    s_req.aw.len = 8'(len_q);
    s_req.aw_valid = aw_valid_i;
    s_req.w_valid = w_valid_i;
    s_req.w.data = 8'(w_mark_i);
    s_req.w.last = w_last;
    s_req.r_ready = r_ready_i;
    s_req.b_ready = b_ready_i;
    m_rsp = '0;
    m_rsp.ar_ready = m_ar_ready_i;
    m_rsp.aw_ready = m_aw_ready_i;
    m_rsp.w_ready = m_w_ready_i;
    m_rsp.r_valid = m_r_valid_i;
    m_rsp.r.data = 8'(m_r_mark_i);
    m_rsp.b_valid = m_b_valid_i;
    // What is offered stays; the memory side answers what it has.
    if (ar_offered_q) assume (ar_valid_i && ar_len_i == ar_len_q);
    if (aw_offered_q) assume (aw_valid_i);
    if (w_offered_q) assume (w_valid_i && w_mark_i == w_mark_q);
    if (owed_q == '0) assume (!m_r_valid_i);
    if (b_owed_q == '0) assume (!m_b_valid_i);
  end

  gw_port_buffer #(
    .Beats (Beats),
    .Writes(Writes),
    .req_t (fv_req_t),
    .rsp_t (fv_rsp_t)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .s_req_i(s_req),
    .s_rsp_o(s_rsp),
    .m_req_o(m_req),
    .m_rsp_i(m_rsp)
  );

  logic ar_go, aw_go, w_in, w_out, w_end, r_in, r_out;
  assign ar_go = m_req.ar_valid && m_ar_ready_i;
  assign aw_go = m_req.aw_valid && m_aw_ready_i;
  assign w_in = w_valid_i && s_rsp.w_ready;
  assign w_out = m_req.w_valid && m_w_ready_i;
  assign w_end = w_out && m_req.w.last;
  assign r_in = m_r_valid_i && m_req.r_ready;
  assign r_out = s_rsp.r_valid && r_ready_i;

  // Beats of writes that are here; whole bursts.
  count_t stored_q, whole_q;
  logic [1:0] gap_q;
  logic signed [4:0] ahead_q;  // addresses let through less bursts of data through
  always_ff @(posedge clk_i) begin
    ar_offered_q <= rst_ni && ar_valid_i && !s_rsp.ar_ready;
    aw_offered_q <= rst_ni && aw_valid_i && !s_rsp.aw_ready;
    w_offered_q <= rst_ni && w_valid_i && !s_rsp.w_ready;
    {ar_len_q, w_mark_q} <= {ar_len_i, w_mark_i};
    if (!rst_ni) begin
      owed_q <= '0;
      b_owed_q <= '0;
      w_beat_q <= '0;
      ahead_q <= '0;
      whole_q <= '0;
      stored_q <= '0;
      gap_q <= '0;
    end else begin
      owed_q <= owed_q + (ar_go ? count_t'(m_req.ar.len) + 1'b1 : '0) - count_t'(r_in);
      if (w_in) w_beat_q <= w_last ? '0 : w_beat_q + 1'b1;
      ahead_q <= ahead_q + 5'(aw_go) - 5'(w_end);
      // Whole bursts that are here, less addresses that were let through.
      whole_q <= whole_q + count_t'(w_in && w_last) - count_t'(aw_go);
      stored_q <= stored_q + count_t'(w_in) - count_t'(w_out);
      b_owed_q <= b_owed_q + count_t'(ahead_q > 0 ? w_end : (aw_go && (w_end || ahead_q < 0))) - count_t'(m_b_valid_i);
      gap_q <= (ahead_q > 0 && !m_req.w_valid) ? gap_q + 1'b1 : '0;
    end
  end

  // One beat each way.
  logic w_follow_q, r_follow_q;
  count_t w_before_q, r_before_q, r_stored_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {w_follow_q, r_follow_q} <= '0;
      r_stored_q <= '0;
    end else begin
      r_stored_q <= r_stored_q + count_t'(r_in) - count_t'(r_out);
      if (w_follow_q) begin
        if (w_out) begin
          w_before_q <= w_before_q - 1'b1;
          if (w_before_q == '0) w_follow_q <= 1'b0;
        end
      end else if (w_in && w_mark_i) begin
        w_follow_q <= 1'b1;
        w_before_q <= stored_q - count_t'(w_out);
      end
      if (r_follow_q) begin
        if (r_out) begin
          r_before_q <= r_before_q - 1'b1;
          if (r_before_q == '0) r_follow_q <= 1'b0;
        end
      end else if (r_in && m_r_mark_i) begin
        r_follow_q <= 1'b1;
        r_before_q <= r_stored_q - count_t'(r_out);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      TakesAnswers_A : assert (m_req.r_ready && m_req.b_ready);
      DataIsHere_A : assert (!m_req.aw_valid || whole_q != '0);
      DataSoon_A : assert (gap_q < 2'd2);
      DataBehind_A : assert (!m_req.w_valid || ahead_q > 0 || (m_req.aw_valid && ahead_q == 0));
      if (w_out && w_follow_q && w_before_q == '0) WriteData_A : assert (m_req.w.data[0]);
      if (r_out && r_follow_q && r_before_q == '0) ReadData_A : assert (s_rsp.r.data[0]);
      Stopped_C : cover (owed_q == 4'd4 && !r_ready_i && ahead_q > 0);
      Through_C : cover (w_out && w_follow_q && w_before_q == '0 && m_req.w.last);
    end
  end

endmodule
