// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_exclusive_monitor in front of a memory that does writes at any time between their data and their answer, in any
// order, and takes what a read brings at any time between its address and its data: an exclusive write answered EXOKAY was done
// on the very content that the exclusive read of its ID and address brought; one answered OKAY was not done; which one it is follows
// from the writes that were accepted to its page; every write is answered once; nothing that is on offer changes. Beats are single, and
// addresses are those of two words in two pages.
`include "gw_axi_typedef.svh"

module fv_exclusive_monitor (
  input logic clk_i,
  input logic rst_ni,
  input logic ar_valid_i,
  input logic ar_lock_i,
  input logic ar_id_i,
  input logic ar_page_i,
  input logic ar_word_i,
  input logic aw_valid_i,
  input logic aw_lock_i,
  input logic aw_id_i,
  input logic aw_page_i,
  input logic aw_word_i,
  input logic w_valid_i,
  input logic b_ready_i,
  input logic r_ready_i,
  input logic m_ar_ready_i,
  input logic m_aw_ready_i,
  input logic m_w_ready_i,
  input logic m_sample_i,
  input logic m_r_valid_i,
  input logic [1:0] m_do_i,
  input logic m_b_valid_i,
  input logic m_b_slot_i
);

  import gw_axi_pkg::*;
  `GW_AXI_TYPEDEF(small, 2, 8)

  // IDs: 2 and 3 for exclusive accesses, otherwise a write's slot in memory would not matter: 0.
  localparam int unsigned Page = 12, Word = 3;
  small_req_t s_req, m_req;
  small_rsp_t s_rsp, m_rsp;
  always_comb begin
    s_req = '0;
    s_req.ar_valid = ar_valid_i;
    s_req.ar.lock = ar_lock_i;
    s_req.ar.id = ar_lock_i ? {1'b1, ar_id_i} : 2'd0;
    s_req.ar.addr[Page] = ar_page_i;
    s_req.ar.addr[Word] = ar_word_i;
    s_req.aw_valid = aw_valid_i;
    s_req.aw.lock = aw_lock_i;
    s_req.aw.id = aw_lock_i ? {1'b1, aw_id_i} : 2'd0;
    s_req.aw.addr[Page] = aw_page_i;
    s_req.aw.addr[Word] = aw_word_i;
    s_req.w_valid = w_valid_i;
    s_req.w.last = 1'b1;
    s_req.b_ready = b_ready_i;
    s_req.r_ready = r_ready_i;
  end

  gw_exclusive_monitor #(
    .Writes(2),
    .req_t(small_req_t),
    .rsp_t(small_rsp_t)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .s_req_i(s_req),
    .s_rsp_o(s_rsp),
    .m_req_o(m_req),
    .m_rsp_i(m_rsp)
  );

  // Memory: two writes, one read. Of its content what counts is whether the page of the last exclusive read has changed since.
  logic past_valid_q = 1'b0;
  logic [1:0] used_q, data_q, done_q, lock_q, aw_mask, w_mask, b_mask, do_mask;
  // {ID, page, word}
  typedef struct packed {
    logic [1:0] id;
    logic page;
    logic word;
  } place_t;
  place_t [1:0] place_q;
  place_t read_q, brought_q, ar_place, aw_place;
  logic changed_q, page_written;
  logic reading_q, sampled_valid_q, read_lock_q;
  logic w_to_q, aw_to_q;  // slots are used in turn
  logic r_offered, b_offered, b_slot, b_held_q, b_slot_q, r_held_q;
  logic [2:0] to_send_q;

  always_comb begin
    m_rsp = '0;
    m_rsp.ar_ready = m_ar_ready_i && !reading_q;
    m_rsp.aw_ready = m_aw_ready_i && !used_q[aw_to_q];
    m_rsp.w_ready = m_w_ready_i && used_q[w_to_q] && !data_q[w_to_q];
    m_rsp.r_valid = r_offered;
    m_rsp.r.id = read_q.id;
    m_rsp.r.last = 1'b1;
    m_rsp.b_valid = b_offered;
    m_rsp.b.id = place_q[b_slot].id;
  end
  assign ar_place = '{id: s_req.ar.id, page: ar_page_i, word: ar_word_i};
  assign aw_place = '{id: s_req.aw.id, page: aw_page_i, word: aw_word_i};
  assign r_offered = reading_q && sampled_valid_q && (m_r_valid_i || r_held_q);
  assign b_slot = b_held_q ? b_slot_q : m_b_slot_i;
  assign b_offered = b_held_q || (m_b_valid_i && done_q[m_b_slot_i]);

  for (genvar i = 0; i < 2; i++) begin : gen_slot
    assign aw_mask[i] = m_req.aw_valid && m_rsp.aw_ready && aw_to_q == 1'(i);
    assign w_mask[i] = m_req.w_valid && m_rsp.w_ready && w_to_q == 1'(i);
    assign do_mask[i] = data_q[i] && !done_q[i] && m_do_i[i] && (i == 0 || !(data_q[0] && !done_q[0] && m_do_i[0]));
    assign b_mask[i] = b_offered && m_req.b_ready && b_slot == 1'(i);
    // An exclusive write: what it is done on is what was read.
    always_ff @(posedge clk_i) begin
      if (rst_ni && do_mask[i] && lock_q[i]) DoneOnWhatWasRead_A : assert (!changed_q && place_q[i] == brought_q);
    end
  end

  // Memory looks for an exclusive read, and a write is done to the page of it.
  logic samples;
  assign samples = reading_q && !sampled_valid_q && m_sample_i && read_lock_q;
  always_comb begin
    page_written = 1'b0;
    for (int unsigned i = 0; i < 2; i++) begin
      if (do_mask[i] && place_q[i].page == (samples ? read_q.page : brought_q.page)) page_written = 1'b1;
    end
  end

  logic is_lock_aw;
  assign is_lock_aw = s_req.aw.lock;
  logic [2:0] owed_q;
  small_req_t req_q;
  logic m_aw_held_q, m_ar_held_q;
  small_req_t m_req_q;
  logic ar_held_q, aw_held_q, w_held_q, s_b_held_q, s_r_held_q;
  small_rsp_t s_rsp_q;
  // The exclusive write that was accepted and not answered, whether memory has it, and whether it should: the reservation as accepted
  // accesses make and end it.
  logic exclusive_q, given_q, reserved_q, due_q;
  place_t reserved_place_q;
  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    used_q <= rst_ni ? (used_q & ~b_mask) | aw_mask : '0;
    data_q <= rst_ni ? (data_q & ~b_mask) | w_mask : '0;
    done_q <= rst_ni ? (done_q & ~b_mask) | do_mask : '0;
    for (int unsigned i = 0; i < 2; i++) begin
      if (aw_mask[i]) begin
        place_q[i] <= '{id: m_req.aw.id, page: m_req.aw.addr[Page], word: m_req.aw.addr[Word]};
        lock_q[i] <= is_lock_aw;
      end
    end
    aw_to_q <= rst_ni && (aw_to_q ^ (aw_mask != '0));
    w_to_q <= rst_ni && (w_to_q ^ (w_mask != '0));
    changed_q <= (samples ? 1'b0 : changed_q) || page_written;
    if (samples) brought_q <= read_q;
    reading_q <= rst_ni && ((m_req.ar_valid && m_rsp.ar_ready) || (reading_q && !(m_rsp.r_valid && s_req.r_ready)));
    if (m_req.ar_valid && m_rsp.ar_ready) begin
      read_lock_q <= s_req.ar.lock;
      read_q <= '{id: m_req.ar.id, page: m_req.ar.addr[Page], word: m_req.ar.addr[Word]};
    end
    sampled_valid_q <= reading_q && (sampled_valid_q || m_sample_i);
    r_held_q <= rst_ni && m_rsp.r_valid && !s_req.r_ready;
    b_held_q <= rst_ni && b_offered && !m_req.b_ready;
    b_slot_q <= b_slot;
    owed_q <= rst_ni ? owed_q + 3'(s_req.aw_valid && s_rsp.aw_ready) - 3'(s_rsp.b_valid && s_req.b_ready) : '0;
    exclusive_q <= rst_ni && ((s_req.aw_valid && s_rsp.aw_ready && is_lock_aw) ||
        (exclusive_q && !(s_rsp.b_valid && s_req.b_ready && s_rsp.b.id[1])));
    if (s_req.aw_valid && s_rsp.aw_ready && is_lock_aw) begin
      given_q <= aw_mask != '0;
      due_q <= reserved_q && reserved_place_q == aw_place;
    end
    if (!rst_ni) reserved_q <= 1'b0;
    else if (s_req.ar_valid && s_rsp.ar_ready && ar_lock_i) begin
      reserved_q <= 1'b1;
      reserved_place_q <= ar_place;
    end else if (s_req.aw_valid && s_rsp.aw_ready && aw_place.page == reserved_place_q.page) reserved_q <= 1'b0;
    req_q <= s_req;
    m_req_q <= m_req;
    s_rsp_q <= s_rsp;
    ar_held_q <= rst_ni && s_req.ar_valid && !s_rsp.ar_ready;
    aw_held_q <= rst_ni && s_req.aw_valid && !s_rsp.aw_ready;
    w_held_q <= rst_ni && s_req.w_valid && !s_rsp.w_ready;
    m_ar_held_q <= rst_ni && m_req.ar_valid && !m_rsp.ar_ready;
    m_aw_held_q <= rst_ni && m_req.aw_valid && !m_rsp.aw_ready;
    s_b_held_q <= rst_ni && s_rsp.b_valid && !s_req.b_ready;
    s_r_held_q <= rst_ni && s_rsp.r_valid && !s_req.r_ready;
    // Data owed to addresses that were accepted.
    to_send_q <= rst_ni ? to_send_q + 3'(s_req.aw_valid && s_rsp.aw_ready) - 3'(s_req.w_valid && s_rsp.w_ready) : '0;
  end

  always_comb begin
    assume (rst_ni == past_valid_q);
    if (ar_held_q) assume (s_req.ar_valid && s_req.ar == req_q.ar);
    if (aw_held_q) assume (s_req.aw_valid && s_req.aw == req_q.aw);
    if (w_held_q) assume (s_req.w_valid);
    if (w_valid_i) assume (to_send_q != '0);
    // The exclusive ID is used for one thing at a time.
    if (ar_lock_i && ar_valid_i) assume (!exclusive_q && !(reading_q && read_lock_q));
    if (aw_lock_i && aw_valid_i) assume (!exclusive_q && !(reading_q && read_lock_q) && !(ar_valid_i && ar_lock_i));
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      AnswerIsOwed_A : assert (!s_rsp.b_valid || owed_q != '0);
      if (s_rsp.b_valid && s_rsp.b.id[1]) AnswerTellsTruth_A : assert ((s_rsp.b.resp == RespExOkay) == given_q);
      if (exclusive_q) GivenIfNothingWasWritten_A : assert (given_q == due_q);
      if (s_rsp.b_valid && !s_rsp.b.id[1]) PlainIsPlain_A : assert (s_rsp.b.resp == RespOkay);
      if (s_rsp.r_valid) ReadTellsTruth_A : assert ((s_rsp.r.resp == RespExOkay) == read_lock_q);
      if (m_aw_held_q) WriteStable_A : assert (m_req.aw_valid && m_req.aw == m_req_q.aw);
      if (m_ar_held_q) ReadStable_A : assert (m_req.ar_valid && m_req.ar == m_req_q.ar);
      if (s_b_held_q) AnswerStable_A : assert (s_rsp.b_valid && s_rsp.b == s_rsp_q.b);
      if (s_r_held_q) DataStable_A : assert (s_rsp.r_valid && s_rsp.r == s_rsp_q.r);
      Done_C : cover (s_rsp.b_valid && s_rsp.b.resp == RespExOkay);
      Refused_C : cover (s_rsp.b_valid && s_rsp.b.id[1] && s_rsp.b.resp == RespOkay);
    end
  end

`ifdef PROGRESS
  // Memory and master let nothing wait for more than Slow cycles together: then everything offered is taken, and everything accepted
  // answered, within a bound: two writes before it, an exclusive access before those, and its own way.
  localparam int unsigned Slow = 1;
  localparam int unsigned Bound = 14;
  logic waits;
  logic [2:0] slow_q;
  logic [5:0] ar_age_q, aw_age_q, w_age_q, owed_age_q, r_age_q;
  assign waits = (m_req.ar_valid && !reading_q && !m_ar_ready_i) || (m_req.aw_valid && !used_q[aw_to_q] && !m_aw_ready_i) ||
      (m_req.w_valid && used_q[w_to_q] && !data_q[w_to_q] && !m_w_ready_i) || (reading_q && !sampled_valid_q && !m_sample_i) ||
      (reading_q && sampled_valid_q && !m_r_valid_i && !r_held_q) || (s_rsp.r_valid && !r_ready_i) ||
      ((data_q & ~done_q & ~do_mask) != '0) || (done_q != '0 && !b_offered) || (s_rsp.b_valid && !b_ready_i) ||
      (to_send_q != '0 && !w_valid_i);
  always_ff @(posedge clk_i) begin
    slow_q <= rst_ni && waits ? slow_q + 1'b1 : '0;
    ar_age_q <= rst_ni && ar_held_q ? ar_age_q + 1'b1 : '0;
    aw_age_q <= rst_ni && aw_held_q ? aw_age_q + 1'b1 : '0;
    w_age_q <= rst_ni && w_held_q ? w_age_q + 1'b1 : '0;
    owed_age_q <= rst_ni && owed_q != '0 && !(s_rsp.b_valid && b_ready_i) ? owed_age_q + 1'b1 : '0;
    r_age_q <= rst_ni && reading_q ? r_age_q + 1'b1 : '0;
  end
  always_comb assume (slow_q <= 3'(Slow));
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      ReadTaken_A : assert (ar_age_q < 6'(Bound));
      WriteTaken_A : assert (aw_age_q < 6'(Bound));
      DataTaken_A : assert (w_age_q < 6'(Bound));
      WriteAnswered_A : assert (owed_age_q < 6'(Bound));
      ReadAnswered_A : assert (r_age_q < 6'(Bound));
    end
  end
`endif

endmodule
