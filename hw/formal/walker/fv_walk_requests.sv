// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_walk_requests: a number is handed out to one waiter at a time and never while it is used; no number is
// lost; a waiter's count is that of the invalidations that came while it was here, up to MaxSeen, and `stale_busy_o` is high
// while one has seen any.
module fv_walk_requests #(
  parameter int unsigned Requests = 4,
  parameter int unsigned MaxSeen = 3
) (
  input logic clk_i,
  input logic rst_ni,
  input logic inval_i,
  input logic want_i,
  input logic cancel_i,
  input logic [7:0] tag_i,
  input logic [1:0] rd_id_i,
  input logic release_i
);

  logic stale_busy, busy, free_valid, take, take_q, cancel;
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
    .MaxSeen(MaxSeen)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .inval_i,
    .stale_busy_o(stale_busy),
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
    .owner_id_i({2{rd_id_i}}),
    .owner_o(owner)
  );

  logic past_valid_q = 1'b0;
  logic [Requests-1:0] used_q, stale, take_mask, release_mask;
  logic [Requests-1:0][2:0] seen_q;
  logic [Requests-1:0][7:0] tag_q;
  logic [1:0] starved_q;

  for (genvar i = 0; i < Requests; i++) begin : gen_waiter
    assign take_mask[i] = take && free_id == 2'(i);
    assign release_mask[i] = (release_i && rd_id_i == 2'(i)) || (cancel && taken_q == 2'(i));
    assign stale[i] = used_q[i] && seen_q[i] != '0;
    always_ff @(posedge clk_i) begin
      used_q[i] <= rst_ni && (take_mask[i] || (used_q[i] && !release_mask[i]));
      if (!used_q[i] || take_mask[i]) seen_q[i] <= '0;
      else if (seen_q[i] < 3'(MaxSeen)) seen_q[i] <= seen_q[i] + 3'(inval_i);
      if (take_mask[i]) tag_q[i] <= tag_i;
    end
  end

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    take_q <= rst_ni && take;
    taken_q <= free_id;
    starved_q <= (!rst_ni || free_valid || &used_q) ? '0 : starved_q + 1'b1;
  end

  always_comb begin
    assume (rst_ni == past_valid_q);
    if (release_i) assume (used_q[rd_id_i]);
    // What is withdrawn is not answered as well.
    if (release_i && cancel) assume (rd_id_i != taken_q);
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      OneUserANumber_A : assert ((take_mask & used_q) == '0);
      NoNumberLost_A : assert (starved_q <= 2'd1);
      RequestKept_A : assert (!used_q[rd_id_i] || rd_req.tag == tag_q[rd_id_i]);
      OwnerKept_A : assert (!used_q[rd_id_i] || (owner[0] == owner[1] && owner[0].ctx == ~tag_q[rd_id_i]));
      SeenExactly_A : assert (!used_q[rd_id_i] ||
          3'(rd_seen) == ((seen_q[rd_id_i] < 3'(MaxSeen)) ? seen_q[rd_id_i] + 3'(inval_i) : 3'(MaxSeen)));
      BusyExactly_A : assert (stale_busy == (stale != '0) && busy == (used_q != '0));
      Full_C : cover (&used_q && rd_age > 16'd4);
    end
  end

endmodule
