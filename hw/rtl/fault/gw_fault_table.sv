// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The pages that wait for the host: takes requests, has records sent, and says how each page ended. Contract: gw_fault.
//
// One thing at a time, in turn: a request, a response, the record that was asked for first, and a look at the next place (whether its
// context ended, or its time is over). So nothing has to be told about two things in one cycle, and everything is bounded.
`include "gw_assert.svh"

module gw_fault_table #(
  parameter int unsigned Pages = 64,
  parameter int unsigned Banks = 8,
  parameter int unsigned GenerationWidth = 3,
  /// Derived.
  localparam int unsigned PlaceWidth = $clog2(Pages),
  localparam int unsigned UseWidth = gw_spec_pkg::PageRequestPayloadGenerationWidth
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       req_valid_i,
  output logic                       req_ready_o,
  input  gw_pkg::ctx_id_t            req_ctx_i,
  input  logic [GenerationWidth-1:0] req_generation_i,
  input  gw_pkg::vpn_t               req_vpn_i,
  input  logic                       req_write_i,
  output logic                       ans_valid_o,
  input  logic                       ans_ready_i,
  output logic                       ans_parked_o,
  output gw_pkg::park_t              ans_park_o,
  output gw_pkg::wake_t              wake_o,
  input  logic                       wake_ready_i,
  input  gw_pkg::ctx_write_t         end_i,
  output logic                       busy_o,
  input  logic                       rsp_valid_i,
  output logic                       rsp_ready_o,
  input  gw_pkg::park_t              rsp_place_i,
  input  logic [UseWidth-1:0]        rsp_generation_i,
  input  logic                       rsp_ok_i,
  output logic                       stale_o,
  output logic                       timeout_o,
  input  logic [31:0]                unsent_cycles_i,
  input  logic [31:0]                sent_cycles_i,
  /// To the ring; put_o only with put_ready_i.
  output logic                       put_o,
  input  logic                       put_ready_i,
  output gw_pkg::park_t              put_place_o,
  output logic [UseWidth-1:0]        put_use_o,
  output gw_pkg::ctx_id_t            put_ctx_o,
  output gw_pkg::vpn_t               put_vpn_o,
  output logic                       put_write_o
);

  import gw_pkg::*;

  typedef logic [PlaceWidth-1:0] place_t;
  typedef logic [UseWidth-1:0] use_t;
  // `write`: wanted; `asked`: what its record said; `number`: of the place's latest record; `since`: when it was asked for, or sent.
  typedef struct packed {
    logic        write;
    logic        asked;
    logic        sent;
    use_t        number;
    logic [31:0] since;
  } info_t;

  typedef enum logic [2:0] {
    Init,    // every place is free
    Idle,
    Search,  // a request: its page
    Look,    // what is known of the place
    Age,
    Act,
    Answer,
    Wake
  } state_e;
  localparam int unsigned OpRequest = 0, OpRespond = 1, OpSend = 2, OpSweep = 3;
  typedef logic [1:0] op_t;

  state_e state_q, state_d;
  op_t op_q, op;
  logic op_valid;
  logic [31:0] now_q, elapsed_q, limit_q;
  place_t k_q, sweep_q;

  // What comes waits here for its turn.
  logic in_valid_q, in_ended_q, in_write_q, rsp_valid_q, rsp_ok_q, in_done, rsp_done;
  ctx_id_t in_ctx_q;
  logic [GenerationWidth-1:0] in_generation_q;
  vpn_t in_vpn_q;
  park_t rsp_place_q;
  use_t rsp_number_q;
  ctx_write_t end_q;
  logic in_ends;
  assign req_ready_o = !in_valid_q;
  assign rsp_ready_o = !rsp_valid_q;
  assign in_ends = end_q.valid && end_q.ctx == in_ctx_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      in_valid_q <= 1'b0;
      in_ended_q <= 1'b0;
      rsp_valid_q <= 1'b0;
      end_q <= '0;
    end else begin
      in_valid_q <= in_valid_q ? !in_done : req_valid_i;
      in_ended_q <= in_valid_q && (in_ended_q || in_ends);
      rsp_valid_q <= rsp_valid_q ? !rsp_done : rsp_valid_i;
      end_q <= end_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!in_valid_q) begin
      in_ctx_q <= req_ctx_i;
      in_generation_q <= req_generation_i;
      in_vpn_q <= req_vpn_i;
      in_write_q <= req_write_i;
    end
    if (!rsp_valid_q) begin
      rsp_place_q <= rsp_place_i;
      rsp_number_q <= rsp_generation_i;
      rsp_ok_q <= rsp_ok_i;
    end
  end

  // Places: live from a request's answer to its wake-up; ended: its context is gone; queued: in the queue of those to be sent.
  logic [Pages-1:0] live_q, ended_q, queued_q, other;
  logic [Pages-1:0][CtxIdWidth-1:0] ctx_q;
  info_t info[Pages];
  info_t view_q, info_d;
  logic view_live_q, view_ended_q, view_queued_q;
  logic info_we, alloc, again, woken, popped;

  // Free places in the order in which they were left, so that a late response finds a number that is long gone.
  logic free_in, free_valid, send_in, send_valid;
  place_t free_place, send_place;
  logic free_room, send_room;
  gw_fifo #(
    .T    (place_t),
    .Depth(Pages)
  ) u_free (
    .clk_i,
    .rst_ni,
    .in_valid_i (free_in),
    .in_ready_o (free_room),
    .in_data_i  (k_q),
    .out_valid_o(free_valid),
    .out_ready_i(alloc),
    .out_data_o (free_place),
    .usage_o    ()
  );
  gw_fifo #(
    .T    (place_t),
    .Depth(Pages)
  ) u_unsent (
    .clk_i,
    .rst_ni,
    .in_valid_i (send_in),
    .in_ready_o (send_room),
    .in_data_i  (k_q),
    .out_valid_o(send_valid),
    .out_ready_i(popped),
    .out_data_o (send_place),
    .usage_o    ()
  );

  logic search_start, search_done, hit;
  place_t hit_place;
  gw_fault_match #(
    .Pages          (Pages),
    .Banks          (Banks),
    .GenerationWidth(GenerationWidth)
  ) u_match (
    .clk_i,
    .rst_ni,
    .alive_i          (live_q & ~ended_q),
    .start_i          (search_start),
    .find_ctx_i       (in_ctx_q),
    .find_generation_i(in_generation_q),
    .find_vpn_i       (in_vpn_q),
    .done_o           (search_done),
    .hit_o            (hit),
    .hit_place_o      (hit_place),
    .other_o          (other),
    .write_i          (alloc),
    .write_place_i    (k_q),
    .read_place_i     (k_q),
    .read_ctx_o       (put_ctx_o),
    .read_vpn_o       (put_vpn_o)
  );

  gw_rr_arbiter #(
    .NumReq(4)
  ) u_turns (
    .clk_i,
    .rst_ni,
    .req_i  ({1'b1, send_valid, rsp_valid_q, in_valid_q} & {4{state_q == Idle}}),
    .gnt_o  (),
    .idx_o  (op),
    .valid_o(op_valid),
    .ready_i(1'b1)
  );

  // What is done about the place, with all that is known of it in registers.
  logic fresh, right, over, dies, put, success;
  assign fresh = op_q == op_t'(OpRequest) && !hit && free_valid;
  assign right = view_live_q && !view_ended_q && view_q.sent && view_q.number == rsp_number_q &&
                 rsp_place_q == park_t'(k_q);
  assign over = limit_q != '0 && elapsed_q >= limit_q;
  assign dies = view_live_q && (view_ended_q || over);
  assign success = op_q == op_t'(OpRespond) && rsp_ok_q;
  assign put = view_live_q && !view_ended_q && put_ready_i;

  always_comb begin
    state_d = state_q;
    search_start = 1'b0;
    info_d = view_q;
    info_we = 1'b0;
    alloc = 1'b0;
    again = 1'b0;
    popped = 1'b0;
    stale_o = 1'b0;
    timeout_o = 1'b0;
    put_o = 1'b0;
    rsp_done = 1'b0;
    in_done = 1'b0;
    unique case (state_q)
      Init: begin
        info_d = '0;
        info_we = 1'b1;
        if (k_q == place_t'(Pages - 1)) state_d = Idle;
      end
      Idle: begin
        search_start = op == op_t'(OpRequest);
        state_d = search_start ? Search : Look;
      end
      Search: if (search_done) state_d = Look;
      Look: state_d = Age;
      Age: state_d = Act;
      Act: begin
        state_d = Idle;
        unique case (op_q)
          op_t'(OpRequest): begin
            // A page that is only to be read is asked for again, when the host has answered, if it was sent already.
            alloc = fresh;
            info_we = fresh || hit;
            info_d.write = in_write_q || (hit && view_q.write);
            if (fresh) begin
              info_d.asked = 1'b0;
              info_d.sent = 1'b0;
              info_d.since = now_q;
            end
            state_d = Answer;
          end
          op_t'(OpRespond): begin
            rsp_done = 1'b1;
            stale_o = !right;
            again = right && rsp_ok_q && view_q.write && !view_q.asked;
            info_we = again;
            info_d.sent = 1'b0;
            info_d.since = now_q;
            if (right && !again) state_d = Wake;
          end
          op_t'(OpSend): begin
            put_o = put;
            popped = put || !view_live_q || view_ended_q;
            info_we = put;
            info_d.sent = 1'b1;
            info_d.asked = view_q.write;
            info_d.number = put_use_o;
            info_d.since = now_q;
          end
          default: begin
            timeout_o = dies && !view_ended_q;
            if (dies) state_d = Wake;
          end
        endcase
      end
      Answer: begin
        in_done = ans_ready_i;
        if (ans_ready_i) state_d = Idle;
      end
      Wake: if (wake_ready_i) state_d = Idle;
      default: state_d = Idle;
    endcase
  end
  assign woken = state_q == Wake && wake_ready_i;
  // A place whose page died before its record was sent is free when it leaves that queue.
  assign free_in = state_q == Init || (woken && !view_queued_q) || (popped && !view_live_q);
  assign send_in = alloc || again;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Init;
      now_q <= '0;
      sweep_q <= '0;
      k_q <= '0;
    end else begin
      state_q <= state_d;
      now_q <= now_q + 32'd1;
      if (state_q == Init) begin
        k_q <= k_q + 1'b1;
      end else if (state_q == Idle) begin
        unique case (op)
          op_t'(OpRespond): k_q <= place_t'(rsp_place_q);
          op_t'(OpSend): k_q <= send_place;
          default: k_q <= sweep_q;
        endcase
        if (op == op_t'(OpSweep)) sweep_q <= sweep_q + 1'b1;
      end else if (state_q == Search) begin
        k_q <= hit ? hit_place : free_place;
      end
    end
  end

  logic ans_parked_q, wake_ok_q;
  always_ff @(posedge clk_i) begin
    if (state_q == Idle) op_q <= op;
    if (state_q == Look) begin
      view_q <= info[k_q];
      view_live_q <= live_q[k_q];
      view_ended_q <= ended_q[k_q];
      view_queued_q <= queued_q[k_q];
    end
    elapsed_q <= now_q - view_q.since;
    limit_q <= view_q.sent ? sent_cycles_i : unsent_cycles_i;
    if (info_we) info[k_q] <= info_d;
    if (state_q == Act) begin
      ans_parked_q <= hit || free_valid;
      wake_ok_q <= success;
    end
    if (alloc) ctx_q[k_q] <= in_ctx_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      live_q <= '0;
      ended_q <= '0;
      queued_q <= '0;
    end else begin
      for (int unsigned p = 0; p < Pages; p++) begin
        if (live_q[p] && ((end_q.valid && end_q.ctx == ctx_q[p]) || other[p])) ended_q[p] <= 1'b1;
      end
      if (woken) live_q[k_q] <= 1'b0;
      if (popped) queued_q[k_q] <= 1'b0;
      if (send_in) queued_q[k_q] <= 1'b1;
      if (alloc) begin
        live_q[k_q] <= 1'b1;
        ended_q[k_q] <= in_ended_q || in_ends;
      end
    end
  end

  logic ending_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) ending_q <= 1'b0;
    else ending_q <= (live_q & ended_q) != '0 || in_ended_q || end_q.valid || end_i.valid;
  end
  assign busy_o = ending_q;

  assign ans_valid_o = state_q == Answer;
  assign ans_parked_o = ans_parked_q;
  assign ans_park_o = park_t'(k_q);
  assign wake_o = '{valid: state_q == Wake, ok: wake_ok_q, park: park_t'(k_q)};
  assign put_place_o = park_t'(k_q);
  assign put_use_o = view_q.number + 1'b1;
  assign put_write_o = view_q.write;

  logic unused;
  assign unused = op_valid;

  `GW_INVARIANT(FreeRoom_A, free_room || !free_in)
  `GW_INVARIANT(SendRoom_A, send_room || !send_in)
  `GW_INVARIANT(FreeIsDead_A, !(state_q == Act && alloc) || (!live_q[k_q] && !queued_q[k_q]))
  `GW_INVARIANT(WakesLive_A, state_q != Wake || live_q[k_q])
  `GW_ASSERT(ReqStable_A, req_valid_i && !req_ready_o |=> req_valid_i && $stable({req_ctx_i, req_generation_i, req_vpn_i, req_write_i}))
  `GW_COVER(Upgrade_C, again)
  `GW_COVER(Merge_C, state_q == Act && op_q == op_t'(OpRequest) && hit)
  `GW_COVER(NoPlace_C, state_q == Act && op_q == op_t'(OpRequest) && !hit && !free_valid)
  `GW_COVER(DeadUnsent_C, popped && !view_live_q)
  `GW_COVER(EndedInFlight_C, in_valid_q && in_ends)

endmodule
