// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Counts the bursts of one translator channel that are under way: all of them, and those at the
// memory by AXI ID.
//
// Contract
// - start_i: a burst enters (it may still wait for its translation); done_i: one is completely
//   answered, by memory or with an error. `room_o` while fewer than `Max` are between the two, not counting up to `Parked` of
//   the parked_i that wait for something slow; registered.
// - send_i: a burst of `send_id_i` goes to the memory; complete_i: the memory's last beat of one
//   was delivered. AXI keeps the order within an ID, so the oldest burst of the ID is the one that
//   completes.
//   What is sent or complete is counted in the cycle after, so that who leaves, whose response is delivered and the counts are three ways.
// - sent_o: bursts of `query_id_i` at the memory; one that is sent in the cycle before does not count yet. some_o: whether there is one; one
//   that was completed in the cycle before still counts.
// - flip_i: every burst at the memory becomes old. One sent with `send_old_i` is old, and those of its ID before it count
//   as such, because they are complete before it is. `old_o` until all are complete.
`include "gw_assert.svh"

module gw_inflight #(
  parameter int unsigned IdWidth = 4,
  /// Bursts between start_i and done_i, >= 1.
  parameter int unsigned Max = 64,
  /// Parked ones beside them, at most.
  parameter int unsigned Parked = 0,
  /// Bits of parked_i.
  parameter int unsigned ParkedWidth = 1,
  /// Derived.
  localparam int unsigned CountWidth = $clog2(Max + Parked + 1)
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic                  start_i,
  input  logic                  done_i,
  output logic                  room_o,
  input  logic [ParkedWidth-1:0] parked_i,
  input  logic                  send_i,
  input  logic                  send_old_i,
  input  logic [IdWidth-1:0]    send_id_i,
  input  logic                  complete_i,
  input  logic [IdWidth-1:0]    complete_id_i,
  input  logic [IdWidth-1:0]    query_id_i,
  output logic [CountWidth-1:0] sent_o,
  output logic                  some_o,
  input  logic                  flip_i,
  output logic                  old_o
);

  if (Max < 1) begin : gen_bad_max
    $fatal(1, "gw_inflight: Max must be at least 1");
  end

  localparam int unsigned Ids = 1 << IdWidth;
  typedef logic [CountWidth-1:0] count_t;

  count_t total_q;
  count_t limit_q;
  logic full_q, room_less, room_same, room_more;
  assign room_o = !full_q;
  assign room_less = total_q <= limit_q;
  assign room_same = total_q < limit_q;
  assign room_more = total_q + 1'b1 < limit_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      total_q <= '0;
      full_q <= 1'b0;
      limit_q <= count_t'(Max);
    end else begin
      total_q <= total_q + count_t'(start_i) - count_t'(done_i);
      if (start_i == done_i) full_q <= !room_same;
      else full_q <= start_i ? !room_more : !room_less;
      limit_q <= count_t'(Max) + ((32'(parked_i) > Parked) ? count_t'(Parked) : count_t'(parked_i));
    end
  end

  logic send_q, send_old_q, complete_q;
  logic [IdWidth-1:0] send_id_q, complete_id_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {send_q, complete_q} <= '0;
    else {send_q, complete_q} <= {send_i, complete_i};
  end
  always_ff @(posedge clk_i) begin
    send_old_q <= send_old_i;
    send_id_q <= send_id_i;
    complete_id_q <= complete_id_i;
  end

  // Counts an ID are what was sent and what was answered of it, each with one writer, so that both are LUT RAM. `some_q`: they
  // differ; without, nothing is known of what was sent but that it is as much. Old are the first so many: all that there are, or up
  // to the mark.
  count_t sends_mem[Ids], answers_mem[Ids], mark_mem[Ids];
  logic [Ids-1:0] some_q, some_d, id_old_q, id_old_d, all_old_q, all_old_d, sent_id, completed_id;
  count_t sends, sends_next, answers_next, target;
  logic empties, ends_old, none;

  assign none = !some_q[send_id_q];
  assign sends = none ? answers_mem[send_id_q] : sends_mem[send_id_q];
  assign sends_next = sends + 1'b1;
  assign answers_next = answers_mem[complete_id_q] + 1'b1;
  assign target = all_old_q[complete_id_q] ? sends_mem[complete_id_q] : mark_mem[complete_id_q];
  assign empties = answers_next == sends_mem[complete_id_q];
  assign ends_old = answers_next == target;

  always_ff @(posedge clk_i) begin
    if (send_q) sends_mem[send_id_q] <= sends_next;
  end
  always_ff @(posedge clk_i) begin
    if (complete_q) answers_mem[complete_id_q] <= answers_next;
  end
  // Of use while not all are old: then it is what was there at the first send since.
  always_ff @(posedge clk_i) begin
    if (send_q && all_old_q[send_id_q]) mark_mem[send_id_q] <= sends;
  end

  always_comb begin
    for (int unsigned i = 0; i < Ids; i++) begin
      sent_id[i] = send_q && send_id_q == IdWidth'(i);
      completed_id[i] = complete_q && complete_id_q == IdWidth'(i);
      some_d[i] = (some_q[i] && !(completed_id[i] && empties)) || sent_id[i];
      // One that is answered in the cycle in which it is counted.
      if (sent_id[i] && completed_id[i]) some_d[i] = some_q[i];
      id_old_d[i] = id_old_q[i] && !(completed_id[i] && ends_old);
      all_old_d[i] = all_old_q[i] && !sent_id[i];
      // One that is sent in a flip's cycle was translated in the new epoch, or says that it is old.
      if (flip_i || (sent_id[i] && send_old_q)) begin
        id_old_d[i] = some_d[i];
        all_old_d[i] = 1'b1;
      end
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      some_q <= '0;
      id_old_q <= '0;
      all_old_q <= '0;
    end else begin
      some_q <= some_d;
      id_old_q <= id_old_d;
      all_old_q <= all_old_d;
    end
  end

  assign some_o = some_q[query_id_i];
  assign sent_o = some_o ? sends_mem[query_id_i] - answers_mem[query_id_i] - count_t'(complete_q && complete_id_q == query_id_i) : '0;
  assign old_o = |id_old_q || (send_q && send_old_q);

  `GW_INVARIANT(NoUnderflow_A, !complete_q || some_q[complete_id_q] || (send_q && send_id_q == complete_id_q))
  `GW_INVARIANT(OldIsSent_A, (id_old_q & ~some_q) == '0)
  `GW_INVARIANT(TotalBound_A, total_q <= count_t'(Max + Parked))
  `GW_INVARIANT(StartRoom_A, !start_i || room_o)
  `GW_INVARIANT(TotalUnderflow_A, !done_i || total_q != '0)
  `GW_COVER(Full_C, !room_o)

endmodule
