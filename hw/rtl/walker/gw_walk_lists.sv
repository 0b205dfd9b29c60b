// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Waiters of each beat of each line slot, as linked lists, and their replay: once a beat is there, its waiters are selected
// one a cycle. One list more than there are places of beats is for waiters that need none.
//
// Contract
// - `append_i` puts a waiter at the end of a list. `append_fetching_i` says that the list's beat is on its way and nothing
//   is to be selected before `ret_i`; otherwise the list is due at once.
// - `ret_i`: the beat has come, its waiters, if any, are due. Always taken.
// - Selection: one waiter a cycle, without gaps while any is due. `sel_*` are registers: the first waiter of a beat that comes
//   while nothing else is due is there in the next cycle, one of an appended list two cycles later at the earliest.
// - Lists that are due take turns between those whose beat came and those that were appended to a beat already here.
// - Within a list waiters keep their order. A waiter is in one list at most.
// - `pending_o`: the list has waiters that are not selected yet.
`include "gw_assert.svh"

module gw_walk_lists #(
  /// Waiters, 2 or more.
  parameter int unsigned Requests = 64,
  /// Places of beats, 1 or more; list `Places` is the one that needs none.
  parameter int unsigned Places = 32,
  /// Derived: widths of the numbers of waiters, places and lists.
  localparam int unsigned IdWidth = $clog2(Requests),
  localparam int unsigned PlaceWidth = (Places > 1) ? $clog2(Places) : 1,
  localparam int unsigned ListWidth = $clog2(Places + 1)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic append_i,
  input logic append_fetching_i,
  input logic [ListWidth-1:0] append_list_i,
  input logic [IdWidth-1:0] append_id_i,
  input logic ret_i,
  input logic [PlaceWidth-1:0] ret_place_i,
  output logic sel_valid_o,
  output logic [PlaceWidth-1:0] sel_place_o,
  output logic [IdWidth-1:0] sel_id_o,
  output logic [Places-1:0] pending_o
);

  localparam int unsigned Lists = Places + 1;
  // A list that is due has waiters, and is in one of the two queues at most, so neither can overflow.
  localparam int unsigned Dues = (Lists < Requests) ? Lists : Requests;
  typedef logic [IdWidth-1:0] id_t;
  typedef logic [ListWidth-1:0] list_t;

  // A list is given to the replay as a whole (detached); what is appended later begins a new one.
  logic [Lists-1:0] filled_q;
  (* ram_style = "distributed" *) id_t head_q[Lists];
  (* ram_style = "distributed" *) id_t tail_q[Lists];
  (* ram_style = "distributed" *) id_t next_q[Requests];

  logic detach, detach_same, append_first, append_due, ret_due, ret_same;
  list_t detach_list;
  logic [1:0] due_valid, due_ready, gnt;
  list_t [1:0] due_list;
  logic direct, more, any_due;
  logic [Lists-1:0] append_mask, detach_mask;

  // A waiter that joins in the very cycle in which the list is detached, or in which a beat comes that nobody waited for, is not
  // in it: its beat is here already.
  assign ret_same = ret_i && list_t'(ret_place_i) == append_list_i;
  assign detach_same = !more && (gnt[0] ? due_list[0] == append_list_i : gnt[1] ? due_list[1] == append_list_i : ret_same);
  assign append_first = !filled_q[append_list_i] || detach_same;
  assign append_due = append_i && append_first && (!append_fetching_i || detach_same || ret_same);
  assign ret_due = ret_i && filled_q[list_t'(ret_place_i)];

  always_comb begin
    append_mask = '0;
    append_mask[append_list_i] = append_i;
    detach_mask = '0;
    detach_mask[detach_list] = detach;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) filled_q <= '0;
    else filled_q <= (filled_q & ~detach_mask) | append_mask;
  end

  always_ff @(posedge clk_i) begin
    if (append_i) tail_q[append_list_i] <= append_id_i;
    if (append_i && append_first) head_q[append_list_i] <= append_id_i;
  end
  always_ff @(posedge clk_i) begin
    if (append_i && !append_first) next_q[tail_q[append_list_i]] <= append_id_i;
  end

  // Lists that are due. What comes while nobody is served is served at once.
  gw_walk_queue #(
    .T(list_t),
    .Depth(Dues)
  ) u_returned (
    .clk_i,
    .rst_ni,
    .in_valid_i(ret_due && !direct),
    .in_data_i(list_t'(ret_place_i)),
    .out_valid_o(due_valid[0]),
    .out_ready_i(due_ready[0]),
    .out_data_o(due_list[0])
  );

  gw_walk_queue #(
    .T(list_t),
    .Depth(Dues)
  ) u_appended (
    .clk_i,
    .rst_ni,
    .in_valid_i(append_due),
    .in_data_i(append_list_i),
    .out_valid_o(due_valid[1]),
    .out_ready_i(due_ready[1]),
    .out_data_o(due_list[1])
  );

  gw_rr_arbiter #(
    .NumReq(2)
  ) u_turns (
    .clk_i,
    .rst_ni,
    .req_i(due_valid),
    .gnt_o(gnt),
    .idx_o(),
    .valid_o(any_due),
    .ready_i(!more)
  );

  // The waiter selected, and the last of its list.
  logic sel_valid_q;
  logic [PlaceWidth-1:0] sel_place_q;
  // The same, for `pending_o`: who reads the beat has a long way.
  (* keep *) list_t sel_pending_q;
  id_t sel_id_q, sel_tail_q, sel_next;

  assign more = sel_valid_q && sel_id_q != sel_tail_q;
  assign direct = !more && !any_due;
  assign detach = !more && (any_due || ret_due);
  assign detach_list = gnt[0] ? due_list[0] : gnt[1] ? due_list[1] : list_t'(ret_place_i);
  assign due_ready = gnt & {2{!more}};
  assign sel_next = next_q[sel_id_q];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) sel_valid_q <= 1'b0;
    else sel_valid_q <= more || any_due || ret_due;
  end
  always_ff @(posedge clk_i) begin
    sel_id_q <= more ? sel_next : head_q[detach_list];
    if (!more) begin
      sel_tail_q <= tail_q[detach_list];
      sel_place_q <= PlaceWidth'(detach_list);
      sel_pending_q <= detach_list;
    end
  end

  assign sel_valid_o = sel_valid_q;
  assign sel_place_o = sel_place_q;
  assign sel_id_o = sel_id_q;

  logic [Lists-1:0] sel_mask;
  always_comb begin
    sel_mask = '0;
    sel_mask[sel_pending_q] = more;
  end
  assign pending_o = Places'(filled_q | sel_mask);

  `GW_INVARIANT(DueHasWaiters_A, !detach || filled_q[detach_list])
  `GW_COVER(JoinWhileDetached_C, append_i && append_fetching_i && detach_same)
  `GW_COVER(JoinPrefetchedAsItComes_C, append_due && append_fetching_i && ret_same)

endmodule
