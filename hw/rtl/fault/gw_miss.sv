// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Stands at the walker's answers: a page that is not there, and that somebody can bring, is asked for, and its access parked.
//
//   walker ─answer──────────────────────────────────────> second level, translators
//              └─nothing there─> queue ─> gw_touch ─┐  ^
//                                  └────> gw_fault ─┴──┘ ok, parked(k) or fault, in a cycle without an answer of the walker
//                                               └──────> wake-ups, behind the answers that park on them
//
// Contract
// - Every answer of the walker is passed on in its cycle, but for one that says that nothing is there (walk_miss_i) in a context that
//   asks for pages, or, untouched, in the heap's window: that one is taken, and answered once, {src, tag} unchanged.
// - One that is taken is answered by gw_touch (the window, untouched) or gw_fault (all others): parked on a place, or, of the former, ok.
//   Who finds no place, here or there, is parked on gw_pkg::ParkRoom, which is woken as ok when there is room again. So
//   nothing waits here for a host: taken to answered, at most Depth times what gw_touch and gw_fault take for one, and 32 cycles.
// - gw_fault is not asked again for the page that it was asked for last, while that waits: such a request takes 2 cycles.
// - Room: after a quarter of gw_fault's places was told of (SoonCycles after the first of them, RetryCycles after it had none), and with a
//   queue that is a quarter full at most. Until that nobody who comes later gets what is free of a queue that was full.
// - Wake-ups leave in the cycle after they were taken, one a cycle, and behind the answers that park on them.
// - hold_o: an answer of here gave way 15 times in a row; the walker takes no request until it was given. A walk of a mapped page never
//   waits for anything else.
// - An answer of gw_touch is not cacheable if any invalidation came since the request was taken here.
`include "gw_assert.svh"

module gw_miss #(
  /// Requests that wait, >= 1.
  parameter int unsigned Depth = 16,
  /// Places of gw_fault.
  parameter int unsigned Pages = 64,
  /// Contexts, 1 to 2**gw_pkg::CtxIdWidth.
  parameter int unsigned NumContexts = 16,
  /// There is a gw_touch, for these pages.
  parameter bit Touch = 1'b0,
  parameter gw_pkg::vpn_t HeapFirst = '0,
  parameter gw_pkg::vpn_t HeapLast = '0,
  /// 1 to 65535, the first less than the second.
  parameter int unsigned SoonCycles = 1024,
  parameter int unsigned RetryCycles = 16384
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  /// Contexts that ask for pages.
  input  logic [NumContexts-1:0] asks_i,
  /// A context changes: nothing of before is known of it.
  input  gw_pkg::ctx_write_t     end_i,
  input  logic                   inval_valid_i,
  /// Walker.
  input  logic                   walk_valid_i,
  input  gw_pkg::xlate_rsp_t     walk_rsp_i,
  input  gw_pkg::miss_t          walk_miss_i,
  output logic                   hold_o,
  /// Second level.
  output logic                   rsp_valid_o,
  output gw_pkg::xlate_rsp_t     rsp_o,
  /// gw_fault.
  output logic                   fault_valid_o,
  input  logic                   fault_ready_i,
  output gw_pkg::xlate_req_t     fault_req_o,
  input  logic                   fault_ans_valid_i,
  output logic                   fault_ans_ready_o,
  input  logic                   fault_ans_parked_i,
  input  gw_pkg::park_t          fault_ans_park_i,
  input  gw_pkg::wake_t          fault_wake_i,
  output logic                   fault_wake_ready_o,
  /// gw_touch: one answer a request.
  output logic                   touch_valid_o,
  input  logic                   touch_ready_i,
  output gw_pkg::xlate_req_t     touch_req_o,
  output gw_pkg::miss_t          touch_miss_o,
  input  logic                   touch_ans_valid_i,
  output logic                   touch_ans_ready_o,
  input  gw_pkg::xlate_rsp_t     touch_ans_i,
  input  gw_pkg::wake_t          touch_wake_i,
  output logic                   touch_wake_ready_o,
  /// Stands until settled_o: all that was here when it rose is answered.
  input  logic                   settle_i,
  output logic                   settled_o,
  /// Translators.
  output gw_pkg::wake_t          wake_o,
  /// Pulses, of the access `event_of_o`: parked on a page that the host brings; or for want of room.
  output logic                   event_parked_o,
  output logic                   event_no_room_o,
  output gw_pkg::owner_t         event_of_o
);

  import gw_pkg::*;

  if (Depth < 1) begin : gen_bad_depth
    $fatal(1, "gw_miss: Depth must be at least 1");
  end
  if (Pages < 2 || Pages > 64) begin : gen_bad_pages
    $fatal(1, "gw_miss: Pages must be 2 to 64");
  end
  if (NumContexts < 1 || NumContexts > 2 ** CtxIdWidth) begin : gen_bad_num_contexts
    $fatal(1, "gw_miss: NumContexts must be 1 to 2**CtxIdWidth");
  end
  if (SoonCycles < 1 || SoonCycles >= RetryCycles || RetryCycles > 65535) begin : gen_bad_cycles
    $fatal(1, "gw_miss: SoonCycles must be 1 to RetryCycles - 1, RetryCycles at most 65535");
  end

  typedef struct packed {
    xlate_req_t req;
    miss_t      miss;
    logic       heap;
  } item_t;

  typedef enum logic [2:0] {
    Idle,
    Fault,       // offered to gw_fault
    FaultWait,   // its answer is awaited
    Touching,    // offered to gw_touch
    TouchWait,
    Tell         // the answer waits for a cycle of its own
  } state_e;

  // Taken, or passed on.
  item_t came, head;
  localparam int unsigned UsageWidth = $clog2(Depth + 1);
  logic missing, heap, wanted, full_q, room, take, head_valid, head_done, some_room, crowded_q;
  logic [UsageWidth-1:0] usage;
  assign missing = walk_valid_i && walk_rsp_i.fault && walk_miss_i.why != MissRefused;
  assign heap = Touch && walk_miss_i.why == MissUntouched && walk_rsp_i.vpn >= HeapFirst && walk_rsp_i.vpn <= HeapLast;
  assign wanted = missing && (heap || walk_miss_i.asks);
  assign take = wanted && room && !crowded_q && (heap || !full_q);
  assign came = '{
    req: '{src: walk_rsp_i.src, tag: walk_rsp_i.tag, ctx: walk_rsp_i.ctx, vpn: walk_rsp_i.vpn, write: walk_miss_i.write},
    miss: walk_miss_i,
    heap: heap
  };
  gw_fifo #(
    .T    (item_t),
    .Depth(Depth)
  ) u_queue (
    .clk_i,
    .rst_ni,
    .in_valid_i (take),
    .in_ready_o (room),
    .in_data_i  (came),
    .out_valid_o(head_valid),
    .out_ready_i(head_done),
    .out_data_o (head),
    .usage_o    (usage)
  );

  assign some_room = usage <= UsageWidth'(Depth / 4);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) crowded_q <= 1'b0;
    else crowded_q <= (crowded_q && !some_room) || (wanted && !room);
  end

  // A settling: those that are here when it begins.
  logic settling_q;
  logic [UsageWidth-1:0] before_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      settling_q <= 1'b0;
      before_q <= '0;
    end else begin
      settling_q <= settle_i && !settled_o;
      if (settle_i && !settling_q) before_q <= usage - UsageWidth'(head_done);
      else if (head_done && before_q != '0) before_q <= before_q - 1'b1;
    end
  end
  assign settled_o = settling_q && before_q == '0;

  // What becomes of the first one.
  state_e state_q, state_d;
  xlate_rsp_t tell_q, tell;
  logic tell_we, free, same, asks, seen_q;
  park_t last_park_q;
  logic last_valid_q, last_write_q;
  ctx_id_t last_ctx_q;
  vpn_t last_vpn_q;
  logic fault_told, woken;
  localparam int unsigned CtxIdxWidth = (NumContexts > 1) ? $clog2(NumContexts) : 1;
  assign asks = 32'(head.req.ctx) < NumContexts && asks_i[CtxIdxWidth'(head.req.ctx)];
  assign same = last_valid_q && last_ctx_q == head.req.ctx && last_vpn_q == head.req.vpn && (last_write_q || !head.req.write);
  assign free = !walk_valid_i || take;
  assign fault_told = state_q == FaultWait && fault_ans_valid_i;
  assign woken = fault_wake_i.valid && fault_wake_ready_o;

  always_comb begin
    state_d = state_q;
    tell_we = 1'b0;
    tell = '0;
    tell.src = head.req.src;
    tell.tag = head.req.tag;
    tell.ctx = head.req.ctx;
    tell.vpn = head.req.vpn;
    tell.cause = head.req.write ? gw_spec_pkg::CauseStorePageFault : gw_spec_pkg::CauseLoadPageFault;
    tell.park = ParkRoom;
    unique case (state_q)
      Idle: begin
        // A wake-up first: it may be of the page asked for last.
        if (head_valid && !fault_wake_i.valid) begin
          tell_we = 1'b1;
          state_d = Tell;
          if (head.heap) begin
            tell_we = 1'b0;
            state_d = Touching;
          end else if (!asks) begin
            tell.fault = 1'b1;
          end else if (same) begin
            tell.parked = 1'b1;
            tell.park = last_park_q;
          end else if (full_q) begin
            tell.parked = 1'b1;
          end else begin
            tell_we = 1'b0;
            state_d = Fault;
          end
        end
      end
      Fault: if (fault_ready_i) state_d = FaultWait;
      FaultWait: begin
        tell.parked = 1'b1;
        if (fault_ans_parked_i) tell.park = fault_ans_park_i;
        tell_we = fault_ans_valid_i;
        if (fault_ans_valid_i) state_d = Tell;
      end
      Touching: if (touch_ready_i) state_d = TouchWait;
      TouchWait: begin
        tell = touch_ans_i;
        tell.src = head.req.src;
        tell.tag = head.req.tag;
        tell.ctx = head.req.ctx;
        tell.vpn = head.req.vpn;
        tell_we = touch_ans_valid_i;
        if (touch_ans_valid_i) state_d = Tell;
      end
      Tell: if (free) state_d = Idle;
      default: state_d = Idle;
    endcase
  end
  assign head_done = state_q == Tell && free;
  assign fault_valid_o = state_q == Fault;
  assign fault_req_o = head.req;
  assign fault_ans_ready_o = state_q == FaultWait;
  assign fault_wake_ready_o = state_q != Tell;
  assign touch_valid_o = state_q == Touching;
  assign touch_req_o = head.req;
  assign touch_miss_o = head.miss;
  assign touch_ans_ready_o = state_q == TouchWait;
  assign touch_wake_ready_o = state_q != Tell && !fault_wake_i.valid;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= Idle;
    else state_q <= state_d;
  end
  always_ff @(posedge clk_i) begin
    if (tell_we) tell_q <= tell;
  end

  // Any pulse while somebody is here, until the queue was empty.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) seen_q <= 1'b0;
    else seen_q <= inval_valid_i || (seen_q && head_valid);
  end

  // The page that gw_fault was asked for last; not one that was asked for in the name of a context that ended since.
  logic ended_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      last_valid_q <= 1'b0;
      ended_q <= 1'b0;
    end else begin
      ended_q <= end_i.valid || (ended_q && state_q inside {Fault, FaultWait});
      if (end_i.valid || (woken && fault_wake_i.park == last_park_q)) last_valid_q <= 1'b0;
      else if (fault_told) last_valid_q <= fault_ans_parked_i && !ended_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (fault_told) begin
      last_park_q <= fault_ans_park_i;
      last_ctx_q <= head.req.ctx;
      last_vpn_q <= head.req.vpn;
      last_write_q <= head.req.write;
    end
  end

  // gw_fault has no place: nobody asks it until some were told of, or for a while.
  localparam int unsigned Some = (Pages >= 8) ? Pages / 4 : 1;
  logic [15:0] wait_q;
  logic [4:0] told_q;
  logic no_place, opens;
  assign no_place = fault_told && !fault_ans_parked_i;
  assign opens = full_q && (wait_q == '0 || told_q >= 5'(Some));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      full_q <= 1'b0;
      wait_q <= '0;
      told_q <= '0;
    end else if (no_place) begin
      full_q <= 1'b1;
      wait_q <= 16'(RetryCycles);
      told_q <= '0;
    end else begin
      if (opens) full_q <= 1'b0;
      if (wait_q != '0) wait_q <= wait_q - 1'b1;
      if (woken && told_q < 5'(Some)) begin
        told_q <= told_q + 1'b1;
        if (wait_q > 16'(SoonCycles)) wait_q <= 16'(SoonCycles);
      end
    end
  end

  // Wake-ups. Somebody waits for room: told so in the cycles before.
  logic pass_room, owed_q, wake_room;
  wake_t wake_q, wake_d;
  assign pass_room = wanted && !take;
  assign wake_room = owed_q && !full_q && !crowded_q && some_room && !fault_wake_i.valid && !touch_wake_i.valid;
  always_comb begin
    wake_d = '{valid: wake_room, ok: 1'b1, park: ParkRoom};
    if (touch_wake_i.valid && touch_wake_ready_o) wake_d = touch_wake_i;
    if (woken) wake_d = fault_wake_i;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wake_q <= '0;
      owed_q <= 1'b0;
    end else begin
      wake_q <= wake_d;
      owed_q <= (owed_q && !wake_room) || pass_room || (head_done && tell_q.parked && tell_q.park == ParkRoom);
    end
  end
  assign wake_o = wake_q;

  // Answers.
  always_comb begin
    rsp_o = walk_rsp_i;
    if (free) begin
      rsp_o = tell_q;
      rsp_o.cacheable = tell_q.cacheable && !seen_q && !inval_valid_i;
    end else if (pass_room) begin
      rsp_o.fault = 1'b0;
      rsp_o.parked = 1'b1;
      rsp_o.park = ParkRoom;
    end
  end
  assign rsp_valid_o = !free || state_q == Tell;

  logic [3:0] gave_way_q;
  logic hold_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      gave_way_q <= '0;
      hold_q <= 1'b0;
    end else begin
      if (state_q != Tell || free) gave_way_q <= '0;
      else if (gave_way_q != '1) gave_way_q <= gave_way_q + 1'b1;
      hold_q <= state_q == Tell && !free && gave_way_q >= 4'd14;
    end
  end
  assign hold_o = hold_q;

  assign event_parked_o = rsp_valid_o && rsp_o.parked && rsp_o.park < ParkRoom;
  assign event_no_room_o = rsp_valid_o && rsp_o.parked && rsp_o.park == ParkRoom;
  assign event_of_o = '{src: rsp_o.src, ctx: rsp_o.ctx};

  // Whichever context ends.
  logic unused;
  assign unused = ^end_i.ctx;

  `GW_INVARIANT(NothingIsLost_A, !take || room)
  `GW_INVARIANT(AnswerOfHere_A, !rsp_valid_o || !rsp_o.fault || !rsp_o.parked)
  `GW_ASSERT(AskedStays_A, fault_valid_o && !fault_ready_i |=> fault_valid_o && $stable(fault_req_o))
  `GW_COVER(GaveWay_C, hold_q)
  `GW_COVER(Same_C, state_q == Idle && state_d == Tell && same && asks)
  `GW_COVER(RoomLeft_C, wake_room)
  `GW_COVER(PassRoom_C, pass_room)

endmodule
