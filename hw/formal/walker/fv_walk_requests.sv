// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_walk_requests: a number is handed out to one waiter at a time and never while it is used; no number is
// lost; a waiter's count is never less than the invalidations that came while it was here, up to MaxSeen, and exactly they while
// their numbers did not come round; `inval_busy_o` is high exactly while one is here, or answered, that came in the other epoch.
module fv_walk_requests #(
  parameter int unsigned Requests = 4,
  parameter int unsigned MaxSeen = 3
) (
  input logic clk_i,
  input logic rst_ni,
  input logic inval_i,
  input logic epoch_i,
  input logic want_i,
  input logic cancel_i,
  input logic [7:0] tag_i,
  input logic [1:0] rd_id_i,
  input logic [1:0] owner_id_i,
  input logic release_i
);

  logic inval_busy, busy, free_valid, take, take_q, cancel;
  logic [1:0] rd_seen;
  logic [1:0] free_id, taken_q;
  logic [15:0] rd_age;
  gw_pkg::xlate_req_t req, rd_req;
  gw_pkg::owner_t [1:0] owner;

  always_comb begin
    req = '0;
    req.tag = tag_i;
    req.ctx = ~tag_i;
  end
  assign take = want_i && free_valid;
  assign cancel = cancel_i && take_q;

  gw_walk_requests #(
    .Requests(Requests),
    .MaxSeen(MaxSeen),
    .SeqWidth(3)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .inval_i,
    .epoch_i,
    .inval_busy_o(inval_busy),
    .busy_o(busy),
    .free_valid_o(free_valid),
    .free_id_o(free_id),
    .take_i(take),
    .cancel_i(cancel),
    .req_i(req),
    .rd_id_i,
    .rd_req_o(rd_req),
    .rd_seen_o(rd_seen),
    .rd_age_o(rd_age),
    .release_i,
    .owner_id_i({2{owner_id_i}}),
    .owner_o(owner)
  );

  logic past_valid_q = 1'b0;
  logic [Requests-1:0] used_q, other, epoch_q, take_mask, release_mask;
  logic left_q, left_epoch_q;
  logic [2:0] pulses_q;
  logic [Requests-1:0][2:0] seen_q;
  logic [Requests-1:0][7:0] tag_q;
  logic [1:0] starved_q, rd_id_q;
  // The waiter read has been here since before it was read.
  logic rd_q;

  for (genvar i = 0; i < Requests; i++) begin : gen_waiter
    assign take_mask[i] = take && free_id == 2'(i);
    assign release_mask[i] = (release_i && rd_id_q == 2'(i)) || (cancel && taken_q == 2'(i));
    assign other[i] = used_q[i] && epoch_q[i] != epoch_i;
    always_ff @(posedge clk_i) begin
      used_q[i] <= rst_ni && (take_mask[i] || (used_q[i] && !release_mask[i]));
      if (!used_q[i] || take_mask[i]) seen_q[i] <= '0;
      else if (seen_q[i] < 3'(MaxSeen)) seen_q[i] <= seen_q[i] + 3'(inval_i);
      if (take_mask[i]) tag_q[i] <= tag_i;
      if (take_mask[i]) epoch_q[i] <= epoch_i;
    end
  end

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    take_q <= rst_ni && take;
    rd_id_q <= rd_id_i;
    rd_q <= rst_ni && used_q[rd_id_i] && !release_mask[rd_id_i];
    taken_q <= free_id;
    left_q <= rst_ni && release_i;
    left_epoch_q <= epoch_q[rd_id_q];
    if (!rst_ni) pulses_q <= '0;
    else if (pulses_q != '1) pulses_q <= pulses_q + 3'(inval_i);
    starved_q <= (!rst_ni || free_valid || &used_q) ? '0 : starved_q + 1'b1;
  end

  always_comb begin
    assume (rst_ni == past_valid_q);
    assume (32'(rd_id_i) < Requests && 32'(owner_id_i) < Requests);
    if (release_i) assume (rd_q && used_q[rd_id_q]);
    // What is withdrawn is not answered as well.
    if (release_i && cancel) assume (rd_id_q != taken_q);
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      OneUserANumber_A : assert ((take_mask & used_q) == '0);
      NoNumberLost_A : assert (starved_q <= 2'd2);
      RequestKept_A : assert (!rd_q || rd_req.tag == tag_q[rd_id_q]);
      OwnerKept_A : assert (!used_q[owner_id_i] || (owner[0] == owner[1] && owner[0].ctx == ~tag_q[owner_id_i]));
      SeenAll_A : assert (!rd_q || 3'(rd_seen) >= seen_q[rd_id_q]);
      SeenExactly_A : assert (!rd_q || pulses_q >= 3'd4 || 3'(rd_seen) == seen_q[rd_id_q]);
      BusyExactly_A : assert (inval_busy == (other != '0 || (left_q && left_epoch_q != epoch_i)) && busy == (used_q != '0 || left_q));
      Full_C : cover (&used_q && rd_age > 16'd4);
    end
  end

endmodule
