// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_fault_table with two places, requests of two pages of two contexts, any responses, ends and room in the ring, and a host that may
// never answer: both timeouts any constant from 1 to 31.
//  - A place's waiting is ended once: every wake-up has a place on which somebody was parked since the wake-up before.
//  - Nobody is parked on another page's place, and no page has two that are alive (OneOfAPage_A, in gw_fault_match).
//  - A wake-up is ok only after a right response: to the latest record of the place, and one that said write if a write waits.
//  - Nothing waits for ever: with answers and wake-ups taken, a request is answered, and a place woken, within a bound.
//  - A record is put once for a page, and a second time only as a write, after a success.
module fv_fault (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       req_valid_i,
  input logic       req_ctx_i,
  input logic       req_vpn_i,
  input logic       req_write_i,
  input logic       end_valid_i,
  input logic       end_ctx_i,
  input logic       rsp_valid_i,
  input logic       rsp_place_i,
  input logic [2:0] rsp_generation_i,
  input logic       rsp_ok_i,
  input logic       put_ready_i,
  input logic [4:0] cycles_i
);

  import gw_pkg::*;

  // From an answer to the wake-up: both timeouts, a turn of places, each behind one of everything else.
  localparam int unsigned AnswerBound = 24;
  localparam int unsigned WakeBound = 40;

  logic past_valid_q = 1'b0;
  logic req_ready, ans_valid, ans_parked, rsp_ready, put, put_write, stale, timeout, busy;
  park_t ans_park, put_place;
  wake_t wake;
  logic [2:0] put_use;
  ctx_id_t put_ctx;
  vpn_t put_vpn;

  gw_fault_table #(
    .Pages          (2),
    .Banks          (1),
    .GenerationWidth(1)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .req_valid_i,
    .req_ready_o     (req_ready),
    .req_ctx_i       (ctx_id_t'(req_ctx_i)),
    .req_generation_i(1'b0),
    .req_vpn_i       (vpn_t'(req_vpn_i)),
    .req_write_i,
    .ans_valid_o     (ans_valid),
    .ans_ready_i     (1'b1),
    .ans_parked_o    (ans_parked),
    .ans_park_o      (ans_park),
    .wake_o          (wake),
    .wake_ready_i    (1'b1),
    .end_i           ('{valid: end_valid_i, ctx: ctx_id_t'(end_ctx_i)}),
    .busy_o          (busy),
    .rsp_valid_i,
    .rsp_ready_o     (rsp_ready),
    .rsp_place_i     (park_t'(rsp_place_i)),
    .rsp_generation_i,
    .rsp_ok_i,
    .stale_o         (stale),
    .timeout_o       (timeout),
    .unsent_cycles_i (32'(cycles_i)),
    .sent_cycles_i   (32'(cycles_i)),
    .put_o           (put),
    .put_ready_i,
    .put_place_o     (put_place),
    .put_use_o       (put_use),
    .put_ctx_o       (put_ctx),
    .put_vpn_o       (put_vpn),
    .put_write_o     (put_write)
  );

  logic wait_q, wait_ctx_q, wait_vpn_q, wait_write_q, rsp_wait_q, rsp_place_wait_q, rsp_ok_wait_q;
  logic [2:0] rsp_generation_wait_q;
  logic asked_q, ctx_q, vpn_q, write_q;           // a request under way

  logic [1:0] parked_q, ctx_of_q, vpn_of_q, write_of_q, sent_q, wrote_q, right_q;
  logic [1:0][2:0] generation_q;
  logic [6:0] answer_q;
  logic [1:0][6:0] age_q;
  logic [4:0] cycles_q;
  logic [6:0] bound;
  logic request, place;
  assign bound = 7'(WakeBound) + 7'(cycles_q) + 7'(cycles_q);
  assign request = req_valid_i && req_ready;
  assign place = ans_park[0];

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    cycles_q <= cycles_i;
    wait_q <= rst_ni && req_valid_i && !req_ready;
    {wait_ctx_q, wait_vpn_q, wait_write_q} <= {req_ctx_i, req_vpn_i, req_write_i};
    rsp_wait_q <= rst_ni && rsp_valid_i && !rsp_ready;
    {rsp_place_wait_q, rsp_ok_wait_q, rsp_generation_wait_q} <= {rsp_place_i, rsp_ok_i, rsp_generation_i};
    asked_q <= rst_ni && (request || (asked_q && !ans_valid));
    if (request) {ctx_q, vpn_q, write_q} <= {req_ctx_i, req_vpn_i, req_write_i};
    answer_q <= (rst_ni && asked_q) ? answer_q + 1'b1 : '0;
    for (int unsigned p = 0; p < 2; p++) begin
      if (!rst_ni) begin
        parked_q[p] <= 1'b0;
        age_q[p] <= '0;
        right_q[p] <= 1'b0;
      end else begin
        age_q[p] <= parked_q[p] ? age_q[p] + 1'b1 : '0;
        // Until the next record: what comes after it is ignored.
        if (u_dut.rsp_done && u_dut.rsp_place_q == park_t'(p)) begin
          right_q[p] <= right_q[p] || (parked_q[p] && sent_q[p] && u_dut.rsp_number_q == generation_q[p] && u_dut.rsp_ok_q);
        end
        if (put && put_place == park_t'(p)) begin
          {sent_q[p], wrote_q[p], generation_q[p]} <= {1'b1, put_write, put_use};
          right_q[p] <= 1'b0;
        end
        if (ans_valid && ans_parked && ans_park == park_t'(p)) begin
          parked_q[p] <= 1'b1;
          write_of_q[p] <= write_q || (parked_q[p] && write_of_q[p]);
          {ctx_of_q[p], vpn_of_q[p]} <= {ctx_q, vpn_q};
          if (!parked_q[p]) begin
            sent_q[p] <= 1'b0;
            wrote_q[p] <= 1'b0;
            right_q[p] <= 1'b0;
          end
        end
        if (wake.valid && wake.park == park_t'(p)) parked_q[p] <= 1'b0;
      end
    end
  end

  always_comb begin
    assume (rst_ni == past_valid_q);
    assume (cycles_i != '0 && (!past_valid_q || cycles_i == cycles_q));
    if (wait_q) assume (req_valid_i && {req_ctx_i, req_vpn_i, req_write_i} == {wait_ctx_q, wait_vpn_q, wait_write_q});
    if (rsp_wait_q) begin
      assume (rsp_valid_i && rsp_generation_i == rsp_generation_wait_q);
      assume ({rsp_place_i, rsp_ok_i} == {rsp_place_wait_q, rsp_ok_wait_q});
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      AnswersAsked_A : assert (!ans_valid || asked_q);
      PlaceIsThere_A : assert (!(ans_valid && ans_parked) || ans_park < 2);
      ItsPage_A : assert (!(ans_valid && ans_parked && parked_q[place]) || {ctx_of_q[place], vpn_of_q[place]} == {ctx_q, vpn_q});
      NoPlaceIsTrue_A : assert (!(ans_valid && !ans_parked) || u_dut.queued_q != '0 || parked_q == 2'b11);
      WokenOnce_A : assert (!wake.valid || parked_q[wake.park[0]]);
      OkIsRight_A : assert (!(wake.valid && wake.ok) || right_q[wake.park[0]]);
      WriteIsAsked_A : assert (!(wake.valid && wake.ok && write_of_q[wake.park[0]]) || wrote_q[wake.park[0]]);
      PutWaits_A : assert (!put || (parked_q[put_place[0]] && put_ready_i));
      PutItsPage_A : assert (!put || {put_ctx, put_vpn} == {ctx_id_t'(ctx_of_q[put_place[0]]), vpn_t'(vpn_of_q[put_place[0]])});
      PutOnce_A : assert (!(put && sent_q[put_place[0]]) || (!wrote_q[put_place[0]] && put_write && right_q[put_place[0]]));
      AnswerInTime_A : assert (answer_q <= AnswerBound);
      WakeInTime_A : assert ({age_q[0] <= bound, age_q[1] <= bound} == 2'b11);
      Ok_C : cover (wake.valid && wake.ok);
      Failed_C : cover (wake.valid && !wake.ok && timeout == 1'b0);
      NoPlace_C : cover (ans_valid && !ans_parked);
      Merged_C : cover (ans_valid && ans_parked && parked_q[place]);
      Second_C : cover (put && sent_q[put_place[0]]);
      Stale_C : cover (stale);
    end
  end

  logic unused;
  assign unused = busy;

endmodule
