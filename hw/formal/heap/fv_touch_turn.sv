// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_touch_turn between any gw_miss, host and gw_touch that keep what they offer:
// - a request reaches gw_touch as it was asked, once; none while another is under way; an offer is stable;
// - an answer is seen by who asked, once, and by nobody else; the host is busy from its pulse to its answer;
// - of a request of gw_miss that waits, at most one of the host's is before.
module fv_touch_turn (
  input logic              clk_i,
  input logic              rst_ni,
  input logic              miss_valid_i,
  input gw_pkg::xlate_req_t miss_req_i,
  input logic [2:0]        miss_level_i,
  input logic [52:0]       miss_entry_i,
  input logic              miss_ans_ready_i,
  input logic              host_start_i,
  input gw_pkg::xlate_req_t host_req_i,
  input logic [2:0]        host_level_i,
  input logic [52:0]       host_entry_i,
  input logic              touch_ready_i,
  input logic              ans_valid_i
);

  logic miss_ready, miss_ans_valid, host_busy, host_done, touch_valid, ans_ready;
  gw_pkg::xlate_req_t touch_req;
  logic [2:0] touch_level;
  logic [52:0] touch_entry;
  gw_touch_turn u_dut (
    .clk_i,
    .rst_ni,
    .miss_valid_i,
    .miss_ready_o    (miss_ready),
    .miss_req_i,
    .miss_level_i,
    .miss_entry_i,
    .miss_ans_valid_o(miss_ans_valid),
    .miss_ans_ready_i,
    .host_start_i,
    .host_req_i,
    .host_level_i,
    .host_entry_i,
    .host_busy_o     (host_busy),
    .host_done_o     (host_done),
    .touch_valid_o   (touch_valid),
    .touch_ready_i,
    .touch_req_o     (touch_req),
    .touch_level_o   (touch_level),
    .touch_entry_o   (touch_entry),
    .ans_valid_i,
    .ans_ready_o     (ans_ready)
  );

  typedef struct packed {
    gw_pkg::xlate_req_t req;
    logic [2:0]         level;
    logic [52:0]        entry;
  } ask_t;
  ask_t miss, host, touch, miss_q, host_q, touch_q;
  assign miss = '{req: miss_req_i, level: miss_level_i, entry: miss_entry_i};
  assign host = '{req: host_req_i, level: host_level_i, entry: host_entry_i};
  assign touch = '{req: touch_req, level: touch_level, entry: touch_entry};

  // The environment, and who has a request under way.
  logic past_valid_q = 1'b0;
  logic miss_waits_q, offered_q, ans_waits_q, of_miss_q, of_host_q, owed_q, host_busy_q, taken, of_miss, answered;
  logic [1:0] before_q;
  assign taken = touch_valid && touch_ready_i;
  assign of_miss = miss_valid_i && miss_ready;
  assign answered = ans_valid_i && ans_ready;
  always_comb begin
    assume (rst_ni == past_valid_q);
    if (miss_waits_q) assume (miss_valid_i && miss == miss_q);
    if (host_busy_q) assume (host == host_q);
    if (ans_waits_q) assume (ans_valid_i);
    if (!of_miss_q && !of_host_q) assume (!ans_valid_i);
  end
  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    miss_waits_q <= rst_ni && miss_valid_i && !miss_ready;
    offered_q <= rst_ni && touch_valid && !touch_ready_i;
    ans_waits_q <= rst_ni && ans_valid_i && !ans_ready;
    host_busy_q <= rst_ni && (host_busy || host_start_i);
    {miss_q, host_q, touch_q} <= {miss, host, touch};
    of_miss_q <= rst_ni && (of_miss || (of_miss_q && !answered));
    of_host_q <= rst_ni && ((taken && !of_miss) || (of_host_q && !answered));
    owed_q <= rst_ni && ((host_start_i && !host_busy) || (owed_q && !(taken && !of_miss)));
    before_q <= (rst_ni && miss_valid_i && !miss_ready) ? before_q + 2'(taken) : '0;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (of_miss) OfMiss_A : assert (taken && touch == miss);
      if (taken && !of_miss) OfHost_A : assert (owed_q && touch == host);
      if (touch_valid) OneAtATime_A : assert (!of_miss_q && !of_host_q);
      if (offered_q) Stable_A : assert (touch_valid && touch == touch_q);
      if (ans_valid_i) ToWhoAsked_A : assert (miss_ans_valid == of_miss_q && host_done == of_host_q && of_miss_q != of_host_q);
      if (!ans_valid_i) ToNobody_A : assert (!miss_ans_valid && !host_done);
      HostBusy_A : assert (host_busy == (owed_q || of_host_q));
      MissSoon_A : assert (before_q < 2'd2);
      HostFirst_C : cover (of_miss && before_q == 2'd1);
      MissFirst_C : cover (of_miss && owed_q);
    end
  end

endmodule
