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
// - sent_o: bursts of `query_id_i` at the memory; registered state.
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
  assign room_o = total_q < limit_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      total_q <= '0;
      limit_q <= count_t'(Max);
    end else begin
      total_q <= total_q + count_t'(start_i) - count_t'(done_i);
      limit_q <= count_t'(Max) + ((32'(parked_i) > Parked) ? count_t'(Parked) : count_t'(parked_i));
    end
  end

  count_t [Ids-1:0] sent_q;
  logic [Ids-1:0] id_old;

  for (genvar i = 0; i < Ids; i++) begin : gen_id
    count_t sent_d, old_q, old_d;
    logic send, complete;
    assign send = send_i && send_id_i == IdWidth'(i);
    assign complete = complete_i && complete_id_i == IdWidth'(i);
    assign sent_d = sent_q[i] + count_t'(send) - count_t'(complete);
    // The first so many that complete. In a flip's cycle one is sent that was translated in the new epoch, or that is old.
    assign old_d = (send && send_old_i) ? sent_d :
      (flip_i ? sent_q[i] : old_q) - count_t'(complete && (flip_i ? sent_q[i] : old_q) != '0);
    assign id_old[i] = old_q != '0;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        sent_q[i] <= '0;
        old_q <= '0;
      end else begin
        sent_q[i] <= sent_d;
        old_q <= old_d;
      end
    end

    `GW_INVARIANT(NoUnderflow_A, !complete || sent_q[i] != '0)
    `GW_INVARIANT(OldIsSent_A, old_q <= sent_q[i])
  end

  assign sent_o = sent_q[query_id_i];
  assign old_o = |id_old;

  `GW_INVARIANT(TotalBound_A, total_q <= count_t'(Max + Parked))
  `GW_INVARIANT(StartRoom_A, !start_i || room_o)
  `GW_INVARIANT(TotalUnderflow_A, !done_i || total_q != '0)
  `GW_COVER(Full_C, !room_o)

endmodule
