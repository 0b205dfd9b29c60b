// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Requests in flight: hands out waiter numbers, keeps each waiter's request and when it came, and knows how many invalidations
// each waiter saw.
//
// Contract
// - `free_valid_o`/`free_id_o` is registered; taking it (`take_i`) stores the request under that number.
// - One taken and one released a cycle; a released number can be taken again two cycles later. `cancel_i` releases the one
//   taken in the cycle before, beside any other.
// - `rd_seen_o`: invalidations that the waiter was here for, one of this cycle included; it stays at `MaxSeen` from there on.
//   A request taken in the cycle of the pulse does not see it.
// - `stale_busy_o`: some waiter saw one, that of this cycle not counted.
`include "gw_assert.svh"

module gw_walk_requests #(
  /// Requests in flight, 2 to 256.
  parameter int unsigned Requests = 64,
  /// Where the count of a waiter's invalidations stops, 1 or more.
  parameter int unsigned MaxSeen = 5,
  /// Derived: widths of that count and of a waiter's number.
  localparam int unsigned SeenWidth = $clog2(MaxSeen + 1),
  localparam int unsigned IdWidth = $clog2(Requests),
  /// Width of the clock count that a walk's latency is taken from: longer walks would be counted wrong.
  localparam int unsigned StampWidth = 24
) (
  input logic clk_i,
  input logic rst_ni,
  input logic inval_i,
  output logic stale_busy_o,
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
  /// The waiter `rd_id_i` is done.
  input logic release_i,
  /// Whose requests these waiters' are.
  input logic [1:0][IdWidth-1:0] owner_id_i,
  output gw_pkg::owner_t [1:0] owner_o
);

  typedef logic [IdWidth-1:0] id_t;
  typedef struct packed {
    gw_pkg::xlate_req_t req;
    logic [StampWidth-1:0] stamp;
  } entry_t;

  typedef logic [SeenWidth-1:0] seen_t;

  // One more, up to MaxSeen.
  function automatic seen_t count(seen_t seen, logic one_more);
    return (one_more && seen != seen_t'(MaxSeen)) ? seen + 1'b1 : seen;
  endfunction

  seen_t [Requests-1:0] seen_q;
  logic [Requests-1:0] busy_q, stale, take_mask, release_mask, candidates;
  logic free_valid_q;
  id_t free_id_q, candidate, taken_id_q;
  logic [StampWidth-1:0] now_q, age;
  entry_t entry_q[Requests];

  assign free_valid_o = free_valid_q;
  assign free_id_o = free_id_q;
  assign busy_o = busy_q != '0;
  assign stale_busy_o = (busy_q & stale) != '0;

  always_comb begin
    stale = '0;
    if (seen_q != '0) begin
      for (int unsigned i = 0; i < Requests; i++) stale[i] = seen_q[i] != '0;
    end
  end

  always_comb begin
    take_mask = '0;
    take_mask[free_id_q] = take_i;
    release_mask = '0;
    release_mask[rd_id_i] = release_i;
    if (cancel_i) release_mask[taken_id_q] = 1'b1;
  end

  // The next number is found a cycle ahead, so the one on offer does not count as free.
  always_comb begin
    candidates = ~busy_q;
    if (free_valid_q) candidates[free_id_q] = 1'b0;
    candidate = '0;
    if (!free_valid_q || take_i) begin
      for (int i = Requests - 1; i >= 0; i--) begin
        if (candidates[i]) candidate = id_t'(i);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= '0;
      seen_q <= '0;
      free_valid_q <= 1'b0;
      free_id_q <= '0;
      now_q <= '0;
    end else begin
      busy_q <= (busy_q & ~release_mask) | take_mask;
      if (inval_i || take_i || release_i || cancel_i) begin
        for (int unsigned i = 0; i < Requests; i++) begin
          seen_q[i] <= (take_mask[i] || release_mask[i]) ? '0 : count(seen_q[i], inval_i);
        end
      end
      now_q <= now_q + 1'b1;
      if (!free_valid_q || take_i) begin
        free_valid_q <= candidates != '0;
        free_id_q <= candidate;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (take_i) entry_q[free_id_q] <= '{req: req_i, stamp: now_q};
    if (take_i) taken_id_q <= free_id_q;
  end

  entry_t rd_entry;
  assign rd_entry = entry_q[rd_id_i];
  assign rd_req_o = rd_entry.req;
  for (genvar i = 0; i < 2; i++) begin : gen_owner
    assign owner_o[i] = '{src: entry_q[owner_id_i[i]].req.src, ctx: entry_q[owner_id_i[i]].req.ctx};
  end
  assign rd_seen_o = count(seen_q[rd_id_i], inval_i);
  assign age = now_q - rd_entry.stamp + 1'b1;
  assign rd_age_o = (age > StampWidth'(16'hffff)) ? 16'hffff : age[15:0];

  `GW_INVARIANT(TakenWasFree_A, !take_i || (free_valid_q && !busy_q[free_id_q]))
  `GW_INVARIANT(ReleasedWasBusy_A, !release_i || busy_q[rd_id_i])
  `GW_INVARIANT(CancelledWasBusy_A, !cancel_i || busy_q[taken_id_q])
  `GW_INVARIANT(OfferIsFree_A, !free_valid_q || !busy_q[free_id_q])
  `GW_COVER(Full_C, &busy_q)

endmodule
