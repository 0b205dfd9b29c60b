// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_miss with a queue of two, two places, and any walker, gw_fault (as its contract says) and contexts. Any one access is followed.
//  - It is answered once: by the walker's own answer in its cycle, or later; never without one.
//  - An answer of the walker that is not asked for passes as it is.
//  - It is parked on a place only while gw_fault has that page there, and its wake-up has not left: so no wake-up is lost, nobody is
//    parked on another page, and none that writes on a page that is brought to be read.
//  - A wake-up leaves once for each that gw_fault gave, unchanged; one of ParkRoom after everybody who was told that there is no room.
//  - Settled is told only while a settling stands, when the access, if it was here as that rose, is answered.
//  - Nothing waits for ever: an access is answered, room is told of, a settling ends, within bounds in which gw_fault answers at once,
//    counted in cycles that neither the walker nor a wake-up needs; the walker obeys hold_o.
module fv_miss (
  input logic clk_i,
  input logic rst_ni,
  input logic asks_i,
  input logic end_i,
  input logic inval_i,
  input logic walk_valid_i,
  input logic walk_fault_i,
  input logic walk_asks_i,
  input logic walk_away_i,
  input logic walk_write_i,
  input logic walk_vpn_i,
  input logic walk_tag_i,
  input logic fault_ready_i,
  input logic ans_valid_i,
  input logic ans_parked_i,
  input logic ans_park_i,
  input logic wake_valid_i,
  input logic wake_ok_i,
  input logic wake_park_i,
  input logic settle_i
);

  import gw_pkg::*;

  // In cycles without an answer of the walker and without a wake-up, which come first: from the walker's answer to its own; from
  // nobody asking to room; from a settling's rise.
  localparam int unsigned AnswerBound = 9;
  localparam int unsigned RoomBound = 12;
  localparam int unsigned SettleBound = 9;

  logic past_valid_q = 1'b0;
  logic settled, hold, rsp_valid, fault_valid, ans_ready, wake_ready, touch_valid, touch_ready, touch_wake_ready, parked_event, room_event;
  xlate_rsp_t walk, rsp;
  miss_t miss, where;
  xlate_req_t fault_req, touch_req;
  owner_t owner;
  wake_t wake;

  always_comb begin
    walk = '0;
    walk.tag = tag_t'(walk_tag_i);
    walk.vpn = vpn_t'(walk_vpn_i);
    walk.fault = walk_fault_i;
    walk.cacheable = !walk_fault_i;
    miss = '0;
    miss.why = walk_away_i ? MissAway : MissRefused;
    miss.asks = walk_asks_i;
    miss.write = walk_write_i;
  end

  gw_miss #(
    .Depth      (2),
    .Pages      (2),
    .NumContexts(1),
    .SoonCycles (1),
    .RetryCycles(3)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .asks_i,
    .end_i             ('{valid: end_i, ctx: '0}),
    .inval_valid_i     (inval_i),
    .walk_valid_i,
    .walk_rsp_i        (walk),
    .walk_miss_i       (miss),
    .hold_o            (hold),
    .rsp_valid_o       (rsp_valid),
    .rsp_o             (rsp),
    .fault_valid_o     (fault_valid),
    .fault_ready_i,
    .fault_req_o       (fault_req),
    .fault_ans_valid_i (ans_valid_i),
    .fault_ans_ready_o (ans_ready),
    .fault_ans_parked_i(ans_parked_i),
    .fault_ans_park_i  (park_t'(ans_park_i)),
    .fault_wake_i      ('{valid: wake_valid_i, ok: wake_ok_i, park: park_t'(wake_park_i)}),
    .fault_wake_ready_o(wake_ready),
    .touch_valid_o     (touch_valid),
    .touch_ready_i     (1'b0),
    .touch_req_o       (touch_req),
    .touch_miss_o      (where),
    .touch_ans_valid_i (1'b0),
    .touch_ans_ready_o (touch_ready),
    .touch_ans_i       ('0),
    .touch_wake_i      ('0),
    .touch_wake_ready_o(touch_wake_ready),
    .settle_i,
    .settled_o         (settled),
    .wake_o            (wake),
    .event_parked_o    (parked_event),
    .event_no_room_o   (room_event),
    .event_of_o        (owner)
  );

  // gw_fault: the request in there; its places, with page and whether a write is known, ended or not.
  logic in_q, in_ended_q, in_vpn_q, in_write_q, wake_wait_q, wake_ok_q, wake_park_q, ans_wait_q, ans_parked_q, ans_park_q;
  logic [1:0] live_q, ended_q, vpn_q, write_q;
  // What leaves here: places whose latest answer left gw_fault and whose wake-up has not left gw_miss; wake-ups on the way.
  logic [1:0] out_q, due_q, due_ok_q;
  // The access: its tag.
  logic mine_q, here_q, mine_write_q, mine_vpn_q, comes, told, owed_q;
  logic [5:0] age_q, room_age_q;
  logic [4:0] held_q;
  logic wanted, told_room, quiet;
  assign quiet = !walk_valid_i && !wake_valid_i;
  // A settling, and whether the access was here when it rose.
  logic settle_q, settled_q, before_q;
  logic [5:0] settle_age_q;
  assign told_room = rsp_valid && rsp.parked && rsp.park == ParkRoom;
  assign wanted = walk_valid_i && walk_fault_i && walk_asks_i && walk_away_i;
  assign comes = walk_valid_i && walk_tag_i && !mine_q;
  assign told = rsp_valid && rsp.tag == tag_t'(1'b1);

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    if (!rst_ni) begin
      {in_q, in_ended_q, live_q, ended_q, write_q, out_q, due_q, mine_q, here_q, owed_q} <= '0;
      {age_q, room_age_q, held_q, wake_wait_q, ans_wait_q} <= '0;
      {settle_q, settled_q, before_q, settle_age_q} <= '0;
    end else begin
      wake_wait_q <= wake_valid_i && !wake_ready;
      {wake_ok_q, wake_park_q} <= {wake_ok_i, wake_park_i};
      ans_wait_q <= ans_valid_i && !ans_ready;
      {ans_parked_q, ans_park_q} <= {ans_parked_i, ans_park_i};
      if (fault_valid && fault_ready_i) begin
        {in_q, in_ended_q} <= {1'b1, end_i};
        {in_vpn_q, in_write_q} <= {fault_req.vpn[0], fault_req.write};
      end else if (end_i) begin
        in_ended_q <= 1'b1;
      end
      if (end_i) ended_q <= '1;
      for (int unsigned k = 0; k < 2; k++) begin
        if (wake.valid && wake.park == park_t'(k)) {due_q[k], out_q[k]} <= '0;
      end
      if (ans_valid_i && ans_ready) begin
        in_q <= 1'b0;
        if (ans_parked_i) begin
          live_q[ans_park_i] <= 1'b1;
          out_q[ans_park_i] <= 1'b1;
          vpn_q[ans_park_i] <= in_vpn_q;
          write_q[ans_park_i] <= in_write_q || (live_q[ans_park_i] && write_q[ans_park_i]);
          if (!live_q[ans_park_i]) ended_q[ans_park_i] <= in_ended_q || end_i;
        end
      end
      if (wake_valid_i && wake_ready) begin
        live_q[wake_park_i] <= 1'b0;
        due_q[wake_park_i] <= 1'b1;
        due_ok_q[wake_park_i] <= wake_ok_i;
      end
      // Followed.
      if (comes && wanted) begin
        {mine_write_q, mine_vpn_q} <= {walk_write_i, walk_vpn_i};
      end
      if (comes) mine_q <= 1'b1;
      here_q <= (here_q || (comes && wanted)) && !told;
      age_q <= here_q ? age_q + 6'(quiet) : '0;
      owed_q <= (owed_q && !(wake.valid && wake.park == ParkRoom)) || told_room;
      room_age_q <= (owed_q && !told_room && quiet) ? room_age_q + 1'b1 : '0;
      {settle_q, settled_q} <= {settle_i, settled};
      before_q <= (settle_i && !settle_q ? here_q : before_q) && !told;
      settle_age_q <= settle_i && !settled ? settle_age_q + 6'(quiet) : '0;
      held_q <= hold ? held_q + 5'(held_q != '1) : '0;
    end
  end

  always_comb begin
    assume (rst_ni == past_valid_q);
    // The walker: one tag at a time is followed; what is under way when it must hold still comes.
    if (mine_q) assume (!walk_valid_i || !walk_tag_i);
    if (held_q >= 5'd4) assume (!walk_valid_i);
    // A settling stands until it is told, and no longer.
    if (settle_q) assume (settle_i == !settled_q);
    // gw_fault: what is offered stays; an answer to a request, a wake-up of who waits, never both; both at once.
    if (in_q || wake_wait_q) assume (!fault_ready_i);
    assume (!ans_valid_i || in_q);
    assume (!(ans_valid_i && wake_valid_i));
    if (ans_wait_q) assume (ans_valid_i && {ans_parked_i, ans_park_i} == {ans_parked_q, ans_park_q});
    if (wake_wait_q) assume (wake_valid_i && {wake_ok_i, wake_park_i} == {wake_ok_q, wake_park_q});
    if (wake_valid_i) begin
      assume (live_q[wake_park_i]);
      assume (!wake_ok_i || !ended_q[wake_park_i]);
    end
    if (ans_valid_i && ans_parked_i) begin
      if (live_q[ans_park_i]) assume (vpn_q[ans_park_i] == in_vpn_q && !ended_q[ans_park_i]);
    end
    if (!in_q && !wake_valid_i && !wake_wait_q) assume (fault_ready_i);
    if (in_q && !wake_valid_i) assume (ans_valid_i);
    // Wake-ups of other requesters come between, but not for ever.
    if (in_q) assume (!wake_valid_i || wake_wait_q);
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      PassesOn_A : assert (!(walk_valid_i && !wanted) || (rsp_valid && rsp == walk));
      OnceAndAsked_A : assert (!told || here_q || comes);
      AnswerInTime_A : assert (age_q < AnswerBound);
      if (rsp_valid && rsp.parked && rsp.park != ParkRoom) begin
        Place_A : assert (rsp.park < 2 && out_q[rsp.park[0]]);
        ItsPage_A : assert (vpn_q[rsp.park[0]] == rsp.vpn[0]);
      end
      if (told && here_q && rsp.parked && rsp.park != ParkRoom) begin
        WriteIsKnown_A : assert (write_q[rsp.park[0]] || !mine_write_q);
        MyPage_A : assert (rsp.vpn == vpn_t'(mine_vpn_q));
      end
      NotCached_A : assert (!(rsp_valid && (rsp.parked || rsp.fault)) || !rsp.cacheable);
      if (wake.valid && wake.park != ParkRoom) begin
        WakeDue_A : assert (wake.park < 2 && due_q[wake.park[0]] && wake.ok == due_ok_q[wake.park[0]]);
      end
      if (wake.valid && wake.park == ParkRoom) RoomIsOk_A : assert (wake.ok);
      RoomInTime_A : assert (room_age_q < RoomBound);
      if (settled) Settled_A : assert (settle_i && settle_q && !before_q);
      SettledInTime_A : assert (settle_age_q < SettleBound);
      NoTouch_A : assert (!touch_valid);
      Room_C : cover (wake.valid && wake.park == ParkRoom);
      Held_C : cover (hold && held_q == 5'd1);
      Parked_C : cover (told && rsp.parked && rsp.park == '0);
      SettledLate_C : cover (settled && settle_age_q >= 6'd6);
      Refused_C : cover (told && here_q && rsp.fault);
    end
  end

  logic unused;
  assign unused = ^{touch_req, where, touch_ready, touch_wake_ready, parked_event, room_event, owner};

endmodule
