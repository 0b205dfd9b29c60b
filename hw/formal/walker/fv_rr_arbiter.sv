// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_rr_arbiter: one grant among the requesters, kept until taken, and fairness: a requester that waits sees
// at most NumReq - 1 others taken before it.
module fv_rr_arbiter #(
  parameter int unsigned NumReq = 4
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic [NumReq-1:0] req_i,
  input logic              ready_i
);

  localparam int unsigned IdxWidth = $clog2(NumReq);

  logic [NumReq-1:0]   gnt;
  logic [IdxWidth-1:0] idx;
  logic                valid;

  gw_rr_arbiter #(
    .NumReq(NumReq)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .req_i,
    .gnt_o  (gnt),
    .idx_o  (idx),
    .valid_o(valid),
    .ready_i
  );

  logic              past_valid_q = 1'b0;
  logic [NumReq-1:0] req_q, gnt_q;
  logic              ready_q;
  // Others taken since requester i began to wait.
  logic [IdxWidth:0] overtaken_q[NumReq];

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    req_q        <= rst_ni ? req_i : '0;
    gnt_q        <= rst_ni ? gnt : '0;
    ready_q      <= ready_i;
    for (int unsigned i = 0; i < NumReq; i++) begin
      if (!rst_ni || !req_i[i] || (gnt[i] && ready_i)) overtaken_q[i] <= '0;
      else if (ready_i) overtaken_q[i] <= overtaken_q[i] + 1'b1;
    end
  end

  always_comb begin
    assume (rst_ni == past_valid_q);
    // The contract's condition: a requester waits until it is taken.
    if (past_valid_q) assume ((req_q & ~(gnt_q & {NumReq{ready_q}}) & ~req_i) == '0);
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      GrantedIsIndexed_A : assert (gnt == (valid ? NumReq'(1) << idx : '0));
      if (past_valid_q && gnt_q != '0 && !ready_q) ChoiceStable_A : assert (gnt == gnt_q);
    end
  end

  for (genvar i = 0; i < NumReq; i++) begin : gen_fair
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        Fair_A : assert (overtaken_q[i] <= (IdxWidth + 1)'(NumReq - 1));
        Waited_C : cover (overtaken_q[i] == (IdxWidth + 1)'(NumReq - 1) && gnt[i]);
      end
    end
  end

endmodule
