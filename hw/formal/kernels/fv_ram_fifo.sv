// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_ram_fifo: items leave in the order in which they came, unchanged; none is lost or invented, also across a
// clear; what was put in is offered two cycles later when nothing is ahead of it.
module fv_ram_fifo (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       clear_i,
  input logic       in_valid_i,
  input logic [1:0] in_data_i,
  input logic       out_ready_i
);

  localparam int unsigned Depth = 4;
  logic in_ready, out_valid;
  logic [1:0] out_data;

  gw_ram_fifo #(
    .Width(2),
    .Depth(Depth)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .clear_i,
    .in_valid_i,
    .in_ready_o (in_ready),
    .in_data_i,
    .out_valid_o(out_valid),
    .out_ready_i,
    .out_data_o (out_data)
  );

  // One item is watched: the solver chooses when. `ahead_q` are those that leave before it.
  logic past_valid_q = 1'b0;
  logic watching_q, choose, push, pop;
  logic [2:0] held_q, ahead_q;
  logic [1:0] watched_q, waited_q;
  (* keep *) logic [3:0] chosen_q;  // never written: any value, the same in all cycles
  logic [3:0] count_q;

  always_ff @(posedge clk_i) chosen_q <= chosen_q;

  assign push = in_valid_i && in_ready;
  assign pop = out_valid && out_ready_i;
  assign choose = push && count_q == chosen_q && !watching_q;

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    if (!rst_ni) begin
      {watching_q, held_q, ahead_q, count_q, waited_q} <= '0;
    end else if (clear_i) begin
      {watching_q, held_q, ahead_q, waited_q} <= '0;
    end else begin
      count_q <= count_q + 4'(push);
      held_q <= held_q + 3'(push) - 3'(pop);
      if (choose) begin
        watching_q <= 1'b1;
        watched_q <= in_data_i;
        ahead_q <= held_q - 3'(pop);
        waited_q <= '0;
      end else if (watching_q) begin
        if (pop && ahead_q == '0) watching_q <= 1'b0;
        if (pop && ahead_q != '0) ahead_q <= ahead_q - 3'd1;
        if (ahead_q == '0 && waited_q != '1) waited_q <= waited_q + 2'd1;
      end
    end
  end

  always_comb begin
    assume (rst_ni == past_valid_q);
    assume (!(clear_i && in_valid_i));
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      NothingInvented_A : assert (!out_valid || held_q != '0);
      Bound_A : assert (held_q <= 3'(Depth + 1));
      AcceptsWhileRoom_A : assert (in_ready || held_q >= 3'(Depth));
      if (watching_q && ahead_q == '0 && out_valid) Order_A : assert (out_data == watched_q);
      if (watching_q && ahead_q == '0 && waited_q != '0) Latency_A : assert (out_valid);
      Full_C : cover (held_q == 3'(Depth + 1));
      WatchedLast_C : cover (watching_q && ahead_q == 3'(Depth) && out_valid);
    end
  end

endmodule
