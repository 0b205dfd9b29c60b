// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_fifo and gw_slice: one item, any, is followed from input to output. It leaves
// unchanged and behind exactly the items that were inside before it; never more are inside than the
// capacity; nothing leaves that did not enter; an empty one takes an item, a full FIFO takes none;
// what is offered stays until it is taken. What is withdrawn from a gw_slice, the newest of all, is as if it had not entered.
module fv_stream #(
  /// 0: gw_fifo of `Depth`; 1: gw_slice.
  parameter bit Slice = 1'b0,
  parameter int unsigned Depth = 3,
  parameter bit PassThrough = 1'b0
) (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       in_valid_i,
  input logic [1:0] in_data_i,
  input logic       cancel_i,
  input logic       out_ready_i,
  input logic       follow_i
);

  localparam int unsigned Capacity = Slice ? 2 : Depth;
  localparam int unsigned CountWidth = $clog2(Capacity + 1);
  typedef logic [CountWidth-1:0] count_t;

  logic past_valid_q = 1'b0;
  count_t inside_q;
  logic following_q, waits_q, offered_q;
  count_t before_q;
  logic [1:0] item_q, waiting_q, offer_q;
  logic in_ready, out_valid, out_cancel;
  logic put, put_q, take, cancel, cancelled;
  logic [1:0] out_data;

  if (Slice) begin : gen_slice
    gw_slice #(
      .T(logic [1:0])
    ) u_dut (
      .clk_i,
      .rst_ni,
      .in_valid_i,
      .in_ready_o (in_ready),
      .in_data_i,
      .cancel_i    (cancel),
      .out_valid_o (out_valid),
      .out_cancel_o(out_cancel),
      .out_ready_i,
      .out_data_o  (out_data)
    );
  end else begin : gen_fifo
    count_t usage;
    assign out_cancel = 1'b0;
    gw_fifo #(
      .T          (logic [1:0]),
      .Depth      (Depth),
      .PassThrough(PassThrough)
    ) u_dut (
      .clk_i,
      .rst_ni,
      .in_valid_i,
      .in_ready_o (in_ready),
      .in_data_i,
      .out_valid_o(out_valid),
      .out_ready_i,
      .out_data_o (out_data),
      .usage_o    (usage)
    );
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        Usage_A : assert (usage == inside_q);
        FullTakesNothing_A : assert (in_ready == (inside_q != count_t'(Depth)));
        HasIsOffered_A : assert (out_valid == (inside_q != '0 || (PassThrough && in_valid_i)));
      end
    end
  end

  assign put = in_valid_i && in_ready;
  assign take = out_valid && out_ready_i && !out_cancel;
  assign cancel = Slice && cancel_i && put_q;
  // The one withdrawn is the one followed: nothing entered after it.
  assign cancelled = cancel && before_q + 1'b1 == inside_q;

  always_comb assume (rst_ni == past_valid_q);
  always_comb if (waits_q) assume (in_valid_i && in_data_i == waiting_q);

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    waits_q <= rst_ni && in_valid_i && !in_ready;
    waiting_q <= in_data_i;
    offered_q <= rst_ni && out_valid && !out_ready_i && !out_cancel;
    put_q <= rst_ni && put;
    offer_q <= out_data;
    if (!rst_ni) begin
      inside_q <= '0;
      following_q <= 1'b0;
    end else begin
      inside_q <= inside_q + count_t'(put) - count_t'(take) - count_t'(cancel);
      // The item followed leaves when nothing is before it; with PassThrough in the cycle in which it came.
      if (following_q) begin
        if ((take && before_q == '0) || cancelled) following_q <= 1'b0;
        else before_q <= before_q - count_t'(take);
      end else if (follow_i && put && !(take && inside_q == '0)) begin
        following_q <= 1'b1;
        item_q <= in_data_i;
        before_q <= inside_q - count_t'(take) - count_t'(cancel);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      Capacity_A : assert (inside_q <= count_t'(Capacity));
      EmptyTakes_A : assert (in_ready || inside_q != '0);
      NothingInvented_A : assert (!out_valid || inside_q != '0 || (PassThrough && in_valid_i));
      if (inside_q == '0 && out_valid) Through_A : assert (out_data == in_data_i);
      if (following_q) StillInside_A : assert (before_q < inside_q);
      if (Slice) OnlyNewestGoes_A : assert (out_cancel == (cancel && inside_q == 1));
      if (following_q && before_q == '0) Unchanged_A : assert (out_valid && out_data == item_q);
      if (offered_q) OfferStays_A : assert (out_valid && out_data == offer_q);
      Full_C : cover (inside_q == count_t'(Capacity) && following_q && take && before_q == '0);
    end
  end

endmodule
