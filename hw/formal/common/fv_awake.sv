// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_awake: awake for exactly Settle cycles after a cycle of work and after reset, whatever came before.
module fv_awake #(
  parameter int unsigned Settle = 5
) (
  input logic clk_i,
  input logic rst_ni,
  input logic busy_i
);

  logic awake;
  gw_awake #(
    .Settle(Settle)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .busy_i,
    .awake_o(awake)
  );

  // Cycles since the last one with work or in reset, that cycle not counted; stops beyond what matters.
  logic past_valid_q = 1'b0;
  logic [7:0] since_q;
  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    if (!rst_ni || busy_i) since_q <= 8'd1;
    else if (since_q <= 8'(Settle)) since_q <= since_q + 8'd1;
  end

  always_comb assume (rst_ni == past_valid_q);
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      AwakeExactly_A : assert (awake == (since_q <= 8'(Settle)));
      Asleep_C : cover (!awake);
      WokenAgain_C : cover (!awake && busy_i);
    end
  end

endmodule
