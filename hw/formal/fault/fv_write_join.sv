// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_write_join between a queue and a ring that have one write at a time each, whenever they like, and a memory that takes address and
// data in any order and answers at any time within a bound.
//  - A write's address and data reach memory as they were offered, once, and never beside another write.
//  - Its answer reaches who wrote, and nobody else.
//  - Each write is answered: the queue's behind one record at most, a record behind one write of the queue at most.
//  - The queue's reads pass.
module fv_write_join (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       queue_starts_i,
  input logic       record_starts_i,
  input logic       ar_valid_i,
  input logic       aw_ready_i,
  input logic       w_ready_i,
  input logic       b_valid_i,
  input logic [1:0] resp_i
);

  import gw_axi_pkg::*;

  // Cycles that memory takes at most to take what is offered, and to answer; of a write.
  localparam int unsigned Slow = 4;
  localparam int unsigned Whole = 2 * Slow + 4;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;

  cq_req_t queue_req, m_req;
  cq_rsp_t queue_rsp, m_rsp;
  pt_req_t record_req;
  pt_rsp_t record_rsp;

  gw_write_join u_dut (
    .clk_i,
    .rst_ni,
    .queue_req_i (queue_req),
    .queue_rsp_o (queue_rsp),
    .record_req_i(record_req),
    .record_rsp_o(record_rsp),
    .m_req_o     (m_req),
    .m_rsp_i     (m_rsp)
  );

  // Who writes: 0 the queue, 1 the ring. Writes are numbered.
  logic [1:0] writes_q, aw_done_q, w_done_q, starts, aw_take, w_take, b_take;
  logic [1:0][3:0] number_q;
  logic [1:0][5:0] age_q;
  assign starts = {record_starts_i, queue_starts_i};
  assign aw_take = {record_req.aw_valid && record_rsp.aw_ready, queue_req.aw_valid && queue_rsp.aw_ready};
  assign w_take = {record_req.w_valid && record_rsp.w_ready, queue_req.w_valid && queue_rsp.w_ready};
  assign b_take = {record_req.b_ready && record_rsp.b_valid, queue_req.b_ready && queue_rsp.b_valid};

  always_comb begin
    queue_req = '0;
    queue_req.ar_valid = ar_valid_i;
    queue_req.aw_valid = writes_q[0] && !aw_done_q[0];
    queue_req.aw.addr = 64'(number_q[0]);
    queue_req.w_valid = writes_q[0] && !w_done_q[0];
    queue_req.w.data = 512'(number_q[0]);
    queue_req.b_ready = writes_q[0] && aw_done_q[0] && w_done_q[0];
    record_req = '0;
    record_req.aw_valid = writes_q[1] && !aw_done_q[1];
    record_req.aw.addr = 64'h100 | 64'(number_q[1]);
    record_req.w_valid = writes_q[1] && !w_done_q[1];
    record_req.w.data = 512'h100 | 512'(number_q[1]);
    record_req.b_ready = writes_q[1] && aw_done_q[1] && w_done_q[1];
  end

  // Memory.
  logic mem_aw_q, mem_w_q;
  logic [63:0] mem_addr_q;
  logic [511:0] mem_data_q;
  logic [2:0] slow_q;
  logic waits;
  assign waits = (m_req.aw_valid && !aw_ready_i) || (m_req.w_valid && !w_ready_i) || (mem_aw_q && mem_w_q && !b_valid_i);
  always_comb begin
    m_rsp = '0;
    m_rsp.aw_ready = aw_ready_i;
    m_rsp.w_ready = w_ready_i;
    m_rsp.ar_ready = ar_valid_i;
    m_rsp.b_valid = b_valid_i;
    m_rsp.b.resp = resp_i;
    assume (rst_ni == past_valid_q);
    if (!(mem_aw_q && mem_w_q)) assume (!b_valid_i);
    if (slow_q == 3'(Slow)) assume (!waits);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {writes_q, aw_done_q, w_done_q} <= '0;
      {number_q, age_q} <= '0;
      {mem_aw_q, mem_w_q, slow_q} <= '0;
    end else begin
      slow_q <= waits ? slow_q + 3'd1 : '0;
      if (m_req.aw_valid && aw_ready_i) {mem_aw_q, mem_addr_q} <= {1'b1, m_req.aw.addr};
      if (m_req.w_valid && w_ready_i) {mem_w_q, mem_data_q} <= {1'b1, m_req.w.data};
      if (b_valid_i && m_req.b_ready) {mem_aw_q, mem_w_q} <= '0;
      for (int unsigned i = 0; i < 2; i++) begin
        if (writes_q[i]) begin
          if (aw_take[i]) aw_done_q[i] <= 1'b1;
          if (w_take[i]) w_done_q[i] <= 1'b1;
          age_q[i] <= age_q[i] + 6'd1;
          if (b_take[i]) begin
            writes_q[i] <= 1'b0;
            number_q[i] <= number_q[i] + 4'd1;
          end
        end else if (starts[i]) begin
          writes_q[i] <= 1'b1;
          {aw_done_q[i], w_done_q[i]} <= '0;
          age_q[i] <= '0;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      OneWrite_A : assert (!(m_req.aw_valid && mem_aw_q) && !(m_req.w_valid && mem_w_q));
      if (mem_aw_q && mem_w_q) Together_A : assert (mem_addr_q == mem_data_q[63:0]);
      if (b_take[0]) QueueItsOwn_A : assert (mem_addr_q == 64'(number_q[0]));
      if (b_take[1]) RecordItsOwn_A : assert (mem_addr_q == (64'h100 | 64'(number_q[1])));
      AnsweredOnce_A : assert ((b_valid_i && m_req.b_ready) == (b_take != '0) && b_take != 2'b11);
      if (b_take[0]) QueueResp_A : assert (queue_rsp.b.resp == resp_i);
      if (b_take[1]) RecordResp_A : assert (record_rsp.b.resp == resp_i);
      QueueInTime_A : assert (age_q[0] < 6'(2 * Whole));
      RecordInTime_A : assert (age_q[1] < 6'(3 * Whole));
      ReadsPass_A : assert (m_req.ar_valid == ar_valid_i && m_req.ar == queue_req.ar && queue_rsp.ar_ready == ar_valid_i);
      QueueBehind_C : cover (b_take[0] && age_q[0] > 6'(Whole));
      RecordBehind_C : cover (b_take[1] && age_q[1] > 6'(Whole));
    end
  end

endmodule
