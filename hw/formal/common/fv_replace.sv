// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_replace under any use: the choice is one entry that may go, and there is one whenever one may (bit-PLRU: one that is
// not marked). Any two entries are followed: with true LRU the one touched later never goes before the other, with FIFO the one
// filled later, and with bit-PLRU none that was touched in the cycle before.
module fv_replace #(
  parameter int unsigned Num = 4,
  parameter int unsigned Policy = 0
) (
  input logic           clk_i,
  input logic           rst_ni,
  input logic [Num-1:0] use_i,
  input logic [Num-1:0] fill_i,
  input logic [Num-1:0] eligible_i
);

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb begin
    assume (rst_ni == past_valid_q);
    assume ((use_i & (use_i - 1'b1)) == '0 && (fill_i & (fill_i - 1'b1)) == '0);
  end

  logic valid;
  logic [Num-1:0] onehot;
  gw_replace #(
    .Num   (Num),
    .Policy(Policy)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .use_i,
    .fill_i,
    .eligible_i,
    .valid_o (valid),
    .onehot_o(onehot)
  );

  // Any two entries, the first one below the other.
  logic [Num-1:0] one_q, other_q, touched, touched_q;
  logic one_is_older_q;
  always_ff @(posedge clk_i) {one_q, other_q} <= {one_q, other_q};
  always_comb begin
    assume (one_q != '0 && (one_q & (one_q - 1'b1)) == '0);
    assume (other_q > one_q && (other_q & (other_q - 1'b1)) == '0);
  end
  assign touched = (Policy == 2) ? fill_i : use_i | fill_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      one_is_older_q <= 1'b1;
      touched_q <= '0;
    end else begin
      touched_q <= touched;
      if ((touched & other_q) != '0) one_is_older_q <= 1'b1;
      else if ((touched & one_q) != '0) one_is_older_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      One_A : assert ((onehot & (onehot - 1'b1)) == '0 && (onehot & ~eligible_i) == '0);
      if (Policy == 1) begin
        Marked_A : assert ((onehot & touched_q) == '0);
      end else begin
        Some_A : assert (valid == (eligible_i != '0));
      end
      if ((Policy == 0 || Policy == 2) && (eligible_i & one_q) != '0 && (eligible_i & other_q) != '0) begin
        Older_A : assert ((onehot & (one_is_older_q ? other_q : one_q)) == '0);
      end
      Valid_A : assert (valid == (onehot != '0));
      Last_C : cover (onehot[Num-1] && eligible_i == '1);
      None_C : cover (eligible_i != '0 && !valid);
    end
  end

endmodule
