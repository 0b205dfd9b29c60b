// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_error_write behind gw_error_merge, between a memory that answers writes in the
// order of their ID and an accelerator. One faulted write, any, is followed: it is answered once,
// after its data, behind the earlier writes of its ID whether they reached the memory or not, and
// before the later ones; and it is answered, as soon as all of that is true and B is taken.
module fv_error_write #(
  parameter int unsigned Entries = 2
) (
  input logic clk_i,
  input logic rst_ni,
  input logic send_i,
  input logic send_id_i,
  input logic fault_i,
  input logic fault_id_i,
  input logic swallowed_i,
  input logic mem_valid_i,
  input logic mem_id_i,
  input logic b_ready_i,
  input logic follow_i
);

  typedef struct packed {
    logic id;
    logic [1:0] resp;
  } b_t;
  typedef logic [2:0] count_t;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  // Writes at the memory, and faulted ones that are not answered, by ID; faulted ones with data.
  count_t [1:0] sent_q, faulted_q;
  count_t data_q;
  logic in_ready, block, err_valid, err_ready, mem_ready, out_valid, take, mem_done, err_done;
  b_t err_b, out_b;
  logic query_id;
  logic mem_waits_q, mem_id_q;

  always_comb begin
    if (!in_ready) assume (!fault_i);
    if (data_q == '0) assume (!swallowed_i);
    if (sent_q[mem_id_i] == '0) assume (!mem_valid_i);
    if (mem_waits_q) assume (mem_valid_i && mem_id_i == mem_id_q);
    if (sent_q[send_id_i] == 3'd2 || fault_i) assume (!send_i);
  end

  gw_error_write #(
    .IdWidth   (1),
    .Entries   (Entries),
    .CountWidth(3),
    .b_t       (b_t)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .in_valid_i  (fault_i),
    .in_ready_o  (in_ready),
    .in_id_i     (fault_id_i),
    .query_id_o  (query_id),
    .in_earlier_i(sent_q[query_id]),
    .swallowed_i,
    .mem_done_i  (mem_done),
    .mem_id_i,
    .block_o     (block),
    .b_valid_o   (err_valid),
    .b_ready_i   (err_ready),
    .b_o         (err_b)
  );

  gw_error_merge #(
    .T(b_t)
  ) u_merge (
    .clk_i,
    .rst_ni,
    .mem_valid_i,
    .mem_ready_o(mem_ready),
    .mem_data_i ('{id: mem_id_i, resp: gw_axi_pkg::RespOkay}),
    .block_i    (block),
    .err_valid_i(err_valid),
    .err_ready_o(err_ready),
    .err_data_i (err_b),
    .out_valid_o(out_valid),
    .out_ready_i(b_ready_i),
    .out_data_o (out_b)
  );
  assign take = out_valid && b_ready_i;
  assign mem_done = mem_valid_i && mem_ready;
  assign err_done = err_valid && err_ready;

  logic following_q, f_id_q, f_swallowed_q, out_waits_q;
  count_t earlier_q, before_q, ahead_q, waited_q;  // at the memory; faulted; with data to come
  b_t out_b_q;
  always_ff @(posedge clk_i) begin
    mem_waits_q <= rst_ni && mem_valid_i && !mem_ready;
    mem_id_q <= mem_id_i;
    out_waits_q <= rst_ni && out_valid && !b_ready_i;
    out_b_q <= out_b;
    if (!rst_ni) begin
      sent_q <= '0;
      faulted_q <= '0;
      data_q <= '0;
      following_q <= 1'b0;
    end else begin
      for (int unsigned i = 0; i < 2; i++) begin
        sent_q[i] <= sent_q[i] + count_t'(send_i && send_id_i == 1'(i)) -
                     count_t'(mem_done && mem_id_i == 1'(i));
        faulted_q[i] <= faulted_q[i] + count_t'(fault_i && fault_id_i == 1'(i)) -
                        count_t'(err_done && err_b.id == 1'(i));
      end
      data_q <= data_q + count_t'(fault_i) - count_t'(swallowed_i);
      if (following_q) begin
        if (mem_done && mem_id_i == f_id_q) earlier_q <= earlier_q - 1'b1;
        if (swallowed_i && !f_swallowed_q) begin
          if (ahead_q == '0) f_swallowed_q <= 1'b1;
          else ahead_q <= ahead_q - 1'b1;
        end
        if (err_done && err_b.id == f_id_q) begin
          if (before_q == '0) following_q <= 1'b0;
          else before_q <= before_q - 1'b1;
        end
        // Cycles in which nothing stands in its way any more and B is taken.
        if (earlier_q == '0 && before_q == '0 && f_swallowed_q) waited_q <= waited_q + count_t'(take);
      end else if (follow_i && fault_i) begin
        following_q <= 1'b1;
        f_id_q <= fault_id_i;
        f_swallowed_q <= 1'b0;
        earlier_q <= sent_q[fault_id_i] - count_t'(mem_done && mem_id_i == fault_id_i);
        before_q <= faulted_q[fault_id_i] - count_t'(err_done && err_b.id == fault_id_i);
        ahead_q <= data_q - count_t'(swallowed_i);
        waited_q <= '0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (take) OneSource_A : assert (mem_done != err_done);
      if (!take) NoneLost_A : assert (!mem_done && !err_done);
      if (mem_done) MemUnchanged_A : assert (out_b == b_t'{id: mem_id_i, resp: 2'd0});
      if (err_done) ErrIsError_A : assert (out_b == b_t'{id: err_b.id, resp: 2'd2});
      if (out_waits_q) OfferStays_A : assert (out_valid && out_b == out_b_q);
      if (err_done) Asked_A : assert (faulted_q[err_b.id] != '0);
      if (following_q && mem_done && mem_id_i == f_id_q) NotOvertaken_A : assert (earlier_q != '0);
      if (following_q && err_done && err_b.id == f_id_q && before_q == '0) begin
        ItsTurn_A : assert (earlier_q == '0 && f_swallowed_q);
      end
      // At most the other entries and as many of the memory's answers go first.
      if (following_q) Soon_A : assert (waited_q <= count_t'(2 * Entries + 1));
      OutOfOrder_C : cover (following_q && err_done && err_b.id != f_id_q && f_swallowed_q);
      Blocks_C : cover (following_q && mem_valid_i && !mem_ready && block && !out_valid);
    end
  end

endmodule
