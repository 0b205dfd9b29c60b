// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_axi_id_queues: one item of one ID, any, is followed from push to pop. It becomes its ID's head when exactly the items
// that were in that queue before it are gone, unchanged, whatever other IDs do; a queue that is not full takes an item, an empty
// one has no head, and a push and a pop in one cycle disturb neither.
module fv_axi_id_queues #(
  parameter int unsigned IdWidth = 1,
  parameter int unsigned Depth = 2,
  localparam int unsigned NumIds = 2 ** IdWidth
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic               push_valid_i,
  input logic [IdWidth-1:0] push_id_i,
  input logic [1:0]         push_data_i,
  input logic [IdWidth-1:0] head_id_i,
  input logic               pop_i,
  input logic               follow_i
);

  typedef logic [$clog2(Depth + 1)-1:0] count_t;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  logic push_ready, head_valid, push, pop;
  logic [1:0] head_data, item_q;
  count_t [NumIds-1:0] inside_q;
  logic following_q;
  logic [IdWidth-1:0] id_q;
  count_t before_q;

  gw_axi_id_queues #(
    .T      (logic [1:0]),
    .IdWidth(IdWidth),
    .Depth  (Depth)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .push_valid_i,
    .push_ready_o(push_ready),
    .push_id_i,
    .push_data_i,
    .head_id_i,
    .head_valid_o(head_valid),
    .head_data_o (head_data),
    .pop_i
  );

  // What the contract asks of the user.
  always_comb if (!head_valid) assume (!pop_i);
  assign push = push_valid_i && push_ready;
  assign pop = pop_i && head_valid;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      inside_q <= '0;
      following_q <= 1'b0;
    end else begin
      for (int unsigned i = 0; i < NumIds; i++) begin
        inside_q[i] <= inside_q[i] + count_t'(push && push_id_i == IdWidth'(i)) - count_t'(pop && head_id_i == IdWidth'(i));
      end
      if (following_q) begin
        if (pop && head_id_i == id_q) begin
          if (before_q == '0) following_q <= 1'b0;
          else before_q <= before_q - 1'b1;
        end
      end else if (follow_i && push) begin
        following_q <= 1'b1;
        id_q <= push_id_i;
        item_q <= push_data_i;
        before_q <= inside_q[push_id_i] - count_t'(pop && head_id_i == push_id_i);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      Ready_A : assert (push_ready == (inside_q[push_id_i] != count_t'(Depth)));
      Head_A : assert (head_valid == (inside_q[head_id_i] != '0));
      if (following_q) StillInside_A : assert (before_q < inside_q[id_q]);
      if (following_q && before_q == '0 && head_id_i == id_q) Unchanged_A : assert (head_data == item_q);
      Turn_C : cover (following_q && before_q == '0 && pop && head_id_i == id_q && inside_q[~id_q] == count_t'(Depth));
    end
  end

endmodule
