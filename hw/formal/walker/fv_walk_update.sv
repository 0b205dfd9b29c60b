// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_walk_update with a memory that has one exclusive monitor and a host that stores into the same entry at any
// time. Any one entry is followed.
//  - An entry changes only by the host's stores and by bits A and D being set in exactly the value that the waiter saw: no store
//    of the host is ever undone.
//  - The host's protocol for an entry in use loses no D bit: it freezes the entry (one byte, away from A and D), waits until all
//    that saw the entry before are through (the acknowledge of the invalidation), then reads it: what it read is final.
//  - Every waiter leaves exactly once, in order, and none is denied by a memory that works. One that was told that nothing is
//    left to do, and comes back, has the entry read: bits that the host took away come back.
module fv_walk_update #(
  parameter int unsigned Requests = 2
) (
  input logic clk_i,
  input logic rst_ni,
  input logic in_valid_i,
  input logic in_entry_i,
  input logic in_dirty_i,
  input logic in_told_i,
  input logic [1:0] in_flags_i,
  input logic [1:0] in_frame_i,
  input logic again_ready_i,
  input logic ar_ready_i,
  input logic r_go_i,
  input logic aw_ready_i,
  input logic w_ready_i,
  input logic commit_i,
  input logic b_go_i,
  input logic lose_i,
  input logic host_store_i,
  input logic [1:0] host_flags_i,
  input logic [1:0] host_frame_i,
  input logic host_other_i,
  input logic host_step_i
);

  import gw_axi_pkg::*;
  import gw_spec_pkg::*;

  typedef struct packed {
    logic waiter;
    logic walked;
    logic retry;
    logic denied;
    logic told;
  } look_t;

  // Entries with few bits that are not constant: V and U, the frame, A, D, and the reserved bit that freezes.
  localparam int unsigned Frozen = PteReservedLsb + PteReservedWidth - 1;
  function automatic logic [63:0] entry(logic [1:0] flags, logic [1:0] frame);
    entry = '0;
    entry[PteV] = 1'b1;
    entry[PteA] = flags[0];
    entry[PteD] = flags[1];
    entry[PtePpnLsb +: 2] = frame;
  endfunction

  logic past_valid_q = 1'b0;
  logic next_q, out_q;  // waiters come and leave with turning numbers

  look_t in, again;
  logic again_valid, ar_valid, aw_valid, w_valid, updated, updated_id;
  logic [63:0] w_data, in_pte;
  logic [gw_pkg::PaWidth-4:0] address;
  logic r_valid, b_valid;
  logic [1:0] r_resp, b_resp;
  logic [63:0] r_data;

  always_comb begin
    in = '0;
    in.waiter = next_q;
    in.told = in_told_i;
  end
  assign in_pte = entry(in_flags_i, in_frame_i);

  gw_walk_update #(
    .Requests(Requests),
    .look_t(look_t)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .in_valid_i,
    .in_look_i(in),
    .in_entry_i({{(gw_pkg::PaWidth - 4) {1'b0}}, in_entry_i}),
    .in_pte_i(in_pte),
    .in_dirty_i,
    .again_valid_o(again_valid),
    .again_ready_i,
    .again_o(again),
    .entry_o(address),
    .ar_valid_o(ar_valid),
    .ar_ready_i,
    .r_valid_i(r_valid),
    .r_data_i(r_data),
    .r_resp_i(r_resp),
    .aw_valid_o(aw_valid),
    .aw_ready_i,
    .w_valid_o(w_valid),
    .w_ready_i,
    .w_data_o(w_data),
    .b_valid_i(b_valid),
    .b_resp_i(b_resp),
    .event_update_o(updated),
    .event_id_o(updated_id)
  );

  // Memory: the entry with index 0 is followed, the other one reads as anything.
  logic [63:0] memory_q, data_q, write_q;
  logic reading_q, aw_q, w_q, answering_q, reserved_q, okay_q, here, commit, success;
  assign here = address[0] == 1'b0;
  assign r_valid = reading_q && r_go_i;
  assign r_data = data_q;
  assign r_resp = RespExOkay;
  assign b_valid = answering_q && b_go_i;
  assign b_resp = okay_q ? RespExOkay : RespOkay;
  assign commit = aw_q && w_q && commit_i;
  // The host's store of this cycle comes first.
  logic host_write;
  logic [63:0] host_data;
  assign success = commit && reserved_q && !lose_i && !(host_write && here) && !(host_other_i && !here);

  // The host: stores as it likes, or freezes, waits, reads, and takes the entry away.
  typedef enum logic [1:0] {
    Live,
    Waits,
    Reads,
    Owns
  } host_e;
  host_e host_q;
  logic [63:0] final_q;
  logic freeze, dirty_q;
  assign freeze = host_q == Live && host_step_i && !host_store_i;
  assign host_write = freeze || (host_q == Live && host_store_i);
  assign host_data = freeze ? memory_q | (64'd1 << Frozen) : entry(host_flags_i, host_frame_i);

  // The entry was read for the first waiter; each waiter came told.
  logic looked_q;
  logic [1:0] told_q;

  logic [1:0] inside_q;
  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    inside_q <= rst_ni ? inside_q + 2'(in_valid_i) - 2'(again_valid && again_ready_i) : '0;
    next_q <= rst_ni && (next_q ^ in_valid_i);
    out_q <= rst_ni && (out_q ^ (again_valid && again_ready_i));

    looked_q <= rst_ni && ((ar_valid && ar_ready_i) || (looked_q && !(again_valid && again_ready_i)));
    if (in_valid_i) told_q[next_q] <= in_told_i;

    reading_q <= rst_ni && ((ar_valid && ar_ready_i) || (reading_q && !r_go_i));
    if (ar_valid && ar_ready_i) data_q <= here ? (host_write ? host_data : memory_q) : in_pte;
    reserved_q <= rst_ni && ((ar_valid && ar_ready_i) ||
        (reserved_q && !commit && !(host_write && here) && !(host_other_i && !here)));
    aw_q <= rst_ni && ((aw_valid && aw_ready_i) || (aw_q && !commit));
    w_q <= rst_ni && ((w_valid && w_ready_i) || (w_q && !commit));
    if (w_valid && w_ready_i) write_q <= w_data;
    answering_q <= rst_ni && (commit || (answering_q && !b_go_i));
    if (commit) okay_q <= success;
    if (host_write) memory_q <= host_data;
    else if (success && here) memory_q <= write_q;

    // D set by hardware since the host's last store of a whole entry.
    dirty_q <= rst_ni && !(host_q == Live && host_store_i) && (dirty_q || (success && here && write_q[PteD]));
    if (!rst_ni) host_q <= Live;
    else if (freeze) host_q <= Waits;
    else if (host_q == Waits && inside_q == '0 && host_step_i) host_q <= Reads;
    else if (host_q == Reads) begin
      final_q <= memory_q;
      host_q <= Owns;
    end
  end

  always_comb begin
    assume (rst_ni == past_valid_q);
    if (!rst_ni) assume (memory_q == entry(2'b00, 2'b00));
    // A waiter number is one of those in flight; nobody who looks after the freeze finds an entry to update.
    if (in_valid_i) assume (inside_q < 2'(Requests));
    if (in_valid_i && !in_entry_i) assume (host_q == Live);
    // What it saw lacks a bit that it needs.
    if (in_valid_i) assume (!in_flags_i[0] || (in_dirty_i && !in_flags_i[1]));
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      OnlyBitsSet_A : assert (!(success && here) || ((memory_q ^ write_q) & ~(64'd1 << PteA) & ~(64'd1 << PteD)) == '0);
      NothingCleared_A : assert (!(success && here) || (memory_q & ~write_q) == '0);
      NeverWhileFrozen_A : assert (!(success && here) || !memory_q[Frozen]);
      FinalIsFinal_A : assert (host_q != Owns || memory_q == final_q);
      DirtyNotLost_A : assert (host_q != Owns || !dirty_q || final_q[PteD]);
      InOrder_A : assert (!again_valid || (inside_q != '0 && again.waiter == out_q));
      EventOfWaiter_A : assert (!updated || updated_id == out_q);
      ToldOnce_A : assert (!again_valid || (again.told == !looked_q && !(again.told && told_q[out_q])));
      Told_C : cover (again_valid && again.told);
      ToldBefore_C : cover (updated && told_q[out_q]);
      NotDenied_A : assert (!again_valid || !again.denied);
      Updated_C : cover (updated && memory_q[PteD]);
      Lost_C : cover (commit && !success);
      Owned_C : cover (host_q == Owns && dirty_q);
    end
  end

endmodule
