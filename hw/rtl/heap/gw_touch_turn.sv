// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Two who ask gw_touch: gw_miss for accesses of ports, and the host, for pages that it touches itself.
//
// Contract
// - One request is under way at a time; its answer goes to who asked. Both offer until it is taken; of two that wait, gw_miss is first.
// - A request of gw_miss reaches gw_touch in its cycle, if none is under way, and its answer gw_miss in the answer's cycle.
// - The host asks with a pulse while host_busy_o is low. That is high until gw_touch's answer, which host_done_o goes with, in its last cycle.
`include "gw_assert.svh"

module gw_touch_turn #(
  /// Derived: bits of an entry's address.
  localparam int unsigned EntryWidth = gw_pkg::PaWidth - $clog2(gw_spec_pkg::PtEntryBytes)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  /// gw_miss.
  input  logic                  miss_valid_i,
  output logic                  miss_ready_o,
  input  gw_pkg::xlate_req_t    miss_req_i,
  input  logic [2:0]            miss_level_i,
  input  logic [EntryWidth-1:0] miss_entry_i,
  output logic                  miss_ans_valid_o,
  input  logic                  miss_ans_ready_i,
  /// The host; what it asks for stays until it is done.
  input  logic                  host_start_i,
  input  gw_pkg::xlate_req_t    host_req_i,
  input  logic [2:0]            host_level_i,
  input  logic [EntryWidth-1:0] host_entry_i,
  output logic                  host_busy_o,
  output logic                  host_done_o,
  /// gw_touch.
  output logic                  touch_valid_o,
  input  logic                  touch_ready_i,
  output gw_pkg::xlate_req_t    touch_req_o,
  output logic [2:0]            touch_level_o,
  output logic [EntryWidth-1:0] touch_entry_o,
  input  logic                  ans_valid_i,
  output logic                  ans_ready_o
);

  logic waits_q, under_way_q, of_host_q, offered_q, offered_host_q, host_turn, taken, answered;

  // An offer stays as it is until it is taken.
  assign host_turn = offered_q ? offered_host_q : !miss_valid_i;
  assign touch_valid_o = !under_way_q && (host_turn ? waits_q : miss_valid_i);
  assign touch_req_o = host_turn ? host_req_i : miss_req_i;
  assign touch_level_o = host_turn ? host_level_i : miss_level_i;
  assign touch_entry_o = host_turn ? host_entry_i : miss_entry_i;
  assign taken = touch_valid_o && touch_ready_i;
  assign miss_ready_o = !under_way_q && !host_turn && touch_ready_i;

  assign miss_ans_valid_o = ans_valid_i && !of_host_q;
  assign ans_ready_o = of_host_q || miss_ans_ready_i;
  assign answered = ans_valid_i && ans_ready_o;
  assign host_busy_o = waits_q || (under_way_q && of_host_q);
  assign host_done_o = ans_valid_i && of_host_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {waits_q, under_way_q, of_host_q, offered_q, offered_host_q} <= '0;
    end else begin
      waits_q <= (host_start_i && !host_busy_o) || (waits_q && !(taken && host_turn));
      under_way_q <= taken || (under_way_q && !answered);
      if (taken) of_host_q <= host_turn;
      offered_q <= touch_valid_o && !taken;
      offered_host_q <= host_turn;
    end
  end

  `GW_INVARIANT(AnswerOfOne_A, !ans_valid_i || under_way_q)
  `GW_ASSERT(OfferStable_A, touch_valid_o && !touch_ready_i |=> touch_valid_o && $stable({touch_req_o, touch_level_o, touch_entry_o}))
  `GW_COVER(MissFirst_C, taken && !host_turn && waits_q)
  `GW_COVER(MissWaitsForHost_C, miss_valid_i && under_way_q && of_host_q)

endmodule
