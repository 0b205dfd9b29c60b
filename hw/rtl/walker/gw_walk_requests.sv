// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Requests in flight: hands out waiter numbers, keeps each waiter's request and when it came, and knows how many invalidations
// each waiter saw.
//
// Contract
// - `free_valid_o`/`free_id_o` is registered; taking it (`take_i`) stores the request under that number.
// - One taken and one released a cycle; a released number can be taken again two cycles later. `cancel_i` releases the one
//   taken in the cycle before, beside any other.
// - `rd_*_o` are of the waiter that `rd_id_i` named in the cycle before; `release_i` releases that one.
// - `rd_seen_o`: invalidations that the waiter was here for, one of this cycle not counted; it stays at `MaxSeen` from there on.
//   A request taken in the cycle of the pulse does not see it. A pulse is a number of `SeqWidth` bits; where half of them passed
//   while a waiter was here, `MaxSeen` stands for any count, for it and those taken since.
// - `inval_busy_o`: a request taken in the other epoch is here, or its answer is on the bus in this cycle.
`include "gw_assert.svh"

module gw_walk_requests #(
  /// Requests in flight, 2 to 256.
  parameter int unsigned Requests = 64,
  /// Where the count of a waiter's invalidations stops, 1 or more.
  parameter int unsigned MaxSeen = 5,
  /// Bits of a pulse's number, more than MaxSeen needs.
  parameter int unsigned SeqWidth = 10,
  /// Derived: widths of that count and of a waiter's number.
  localparam int unsigned SeenWidth = $clog2(MaxSeen + 1),
  localparam int unsigned IdWidth = $clog2(Requests),
  /// Width of the clock count that a walk's latency is taken from: longer walks would be counted wrong.
  localparam int unsigned StampWidth = 24
) (
  input logic clk_i,
  input logic rst_ni,
  input logic inval_i,
  input logic epoch_i,
  output logic inval_busy_o,
  /// Some request is in flight.
  output logic busy_o,
  output logic free_valid_o,
  output logic [IdWidth-1:0] free_id_o,
  input logic take_i,
  input logic cancel_i,
  input gw_pkg::xlate_req_t req_i,
  input logic [IdWidth-1:0] rd_id_i,
  output gw_pkg::xlate_req_t rd_req_o,
  output logic [SeenWidth-1:0] rd_seen_o,
  /// Cycles since the request was taken, that cycle included; saturates.
  output logic [15:0] rd_age_o,
  /// The waiter read is done.
  input logic release_i,
  /// Whose requests these waiters' are.
  input logic [1:0][IdWidth-1:0] owner_id_i,
  output gw_pkg::owner_t [1:0] owner_o
);

  typedef logic [IdWidth-1:0] id_t;
  typedef logic [SeqWidth-1:0] seq_t;
  typedef logic [$clog2(Requests+1)-1:0] count_t;
  // When a request came: by what it is counted until it leaves.
  typedef struct packed {
    logic epoch;
    logic era;  // top bit of the number of the last pulse
  } came_t;
  typedef struct packed {
    gw_pkg::xlate_req_t req;
    logic [StampWidth-1:0] stamp;
    logic epoch;
    seq_t seq;
  } entry_t;

  if (2 ** (SeqWidth - 1) <= MaxSeen) begin : gen_bad_seq_width
    $fatal(1, "gw_walk_requests: SeqWidth is too small for MaxSeen");
  end

  (* ram_style = "distributed" *) entry_t entry_q[Requests];
  entry_t rd_entry_q;
  id_t rd_id_q, taken_id_q;
  logic [StampWidth-1:0] now_q, age;

  // Numbers: those never used yet, then those that come back. One that was withdrawn is the next, or waits beside the queue:
  // there is room for one, as another can only come after the one on offer was taken, whose place it has then.
  logic fresh_more_q, freed_valid, load, free_valid_q, back_valid_q;
  id_t fresh_q, freed, free_id_q, back_q;
  gw_walk_queue #(
    .T(id_t),
    .Depth(Requests)
  ) u_free (
    .clk_i,
    .rst_ni,
    .in_valid_i(release_i || fresh_more_q),
    .in_data_i(release_i ? rd_id_q : fresh_q),
    .out_valid_o(freed_valid),
    .out_ready_i(load && !back_valid_q && !cancel_i),
    .out_data_o(freed)
  );
  assign load = !free_valid_q || take_i;
  assign free_valid_o = free_valid_q;
  assign free_id_o = free_id_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fresh_more_q <= 1'b1;
      fresh_q <= '0;
      free_valid_q <= 1'b0;
      back_valid_q <= 1'b0;
    end else begin
      if (!release_i && fresh_more_q) begin
        fresh_more_q <= fresh_q != id_t'(Requests - 1);
        fresh_q <= fresh_q + 1'b1;
      end
      if (load) free_valid_q <= back_valid_q || cancel_i || freed_valid;
      back_valid_q <= !load && (back_valid_q || cancel_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (load) free_id_q <= back_valid_q ? back_q : cancel_i ? taken_id_q : freed;
    if (cancel_i) back_q <= taken_id_q;
  end

  // Pulses. A number that comes again, while somebody is here from when it was there before, says nothing.
  seq_t seq_q, seq;
  logic [1:0] lapped_q, lapped, era_some;
  assign seq = seq_q + seq_t'(inval_i);
  always_comb begin
    for (int unsigned e = 0; e < 2; e++) begin
      lapped[e] = lapped_q[e] || (inval_i && seq[SeqWidth-2:0] == '0 && seq[SeqWidth-1] == 1'(e) && era_some[e]);
    end
  end

  // Who is here, by epoch and by era; who leaves is counted until its answer is on the bus.
  came_t taken_q, left_q;
  logic left_valid_q;
  count_t [1:0] epoch_count_q, era_count_q;
  function automatic count_t counted(count_t count, logic more, logic withdrawn, logic less);
    return count + count_t'(more) - count_t'(withdrawn) - count_t'(less);
  endfunction
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      epoch_count_q <= '0;
      era_count_q <= '0;
      left_valid_q <= 1'b0;
      seq_q <= '0;
      lapped_q <= '0;
      now_q <= '0;
    end else begin
      left_valid_q <= release_i;
      for (int unsigned e = 0; e < 2; e++) begin
        epoch_count_q[e] <= counted(epoch_count_q[e], take_i && epoch_i == 1'(e), cancel_i && taken_q.epoch == 1'(e),
            left_valid_q && left_q.epoch == 1'(e));
        era_count_q[e] <= counted(era_count_q[e], take_i && seq[SeqWidth-1] == 1'(e), cancel_i && taken_q.era == 1'(e),
            left_valid_q && left_q.era == 1'(e));
        lapped_q[e] <= lapped[e] && era_some[e];
      end
      seq_q <= seq;
      now_q <= now_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (take_i) begin
      entry_q[free_id_q] <= '{req: req_i, stamp: now_q, epoch: epoch_i, seq: seq};
      taken_id_q <= free_id_q;
      taken_q <= '{epoch: epoch_i, era: seq[SeqWidth-1]};
    end
    left_q <= '{epoch: rd_entry_q.epoch, era: rd_entry_q.seq[SeqWidth-1]};
  end
  assign era_some = {era_count_q[1] != '0, era_count_q[0] != '0};
  assign busy_o = era_some != '0;
  assign inval_busy_o = epoch_count_q[!epoch_i] != '0;

  // The waiter read.
  seq_t rd_seen_q;
  logic rd_lapped_q;
  entry_t rd_entry;
  assign rd_entry = entry_q[rd_id_i];
  always_ff @(posedge clk_i) begin
    rd_entry_q <= rd_entry;
    rd_id_q <= rd_id_i;
    rd_seen_q <= seq - rd_entry.seq;
    rd_lapped_q <= lapped[rd_entry.seq[SeqWidth-1]];
  end
  assign rd_req_o = rd_entry_q.req;
  assign rd_seen_o = (rd_lapped_q || rd_seen_q > seq_t'(MaxSeen)) ? SeenWidth'(MaxSeen) : SeenWidth'(rd_seen_q);
  for (genvar i = 0; i < 2; i++) begin : gen_owner
    assign owner_o[i] = '{src: entry_q[owner_id_i[i]].req.src, ctx: entry_q[owner_id_i[i]].req.ctx};
  end
  assign age = now_q - rd_entry_q.stamp + 1'b1;
  assign rd_age_o = (age > StampWidth'(16'hffff)) ? 16'hffff : age[15:0];

  `GW_INVARIANT(TakenWasFree_A, !take_i || free_valid_q)
  `GW_INVARIANT(RoomForWithdrawn_A, !(cancel_i && back_valid_q))
  `GW_INVARIANT(CountsAgree_A, epoch_count_q[0] + epoch_count_q[1] == era_count_q[0] + era_count_q[1])
  `GW_COVER(Lapped_C, lapped != '0)

endmodule
