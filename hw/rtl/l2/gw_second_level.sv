// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Second level of translation, between the translators and the walker: L2 TLB and range TLB side by side, looked up together.
//
//   t      request taken, sets read
//   t + 1  compared; offered to the walker, if no miss waits
//   t + 2  hit: withdrawn from the walker, frame read
//   t + 3  hit: frame + page
//   t + 4  hit: answered
//
// Contract
// - Every request gets exactly one answer, its own or the walker's; answers are never held up by the receiver.
// - Latency of a hit: 5 cycles, both ends included, if the walker does not answer in that cycle. A miss costs a cycle: the
//   walker begins with it in the second, if it takes it then and no earlier miss waits; else the miss queues.
// - Throughput: one request a cycle. Answers of the walker go first; hits that give way wait in a queue of HitDepth.
//   One that gave way 15 times in a row holds up further requests until it is answered, so it waits for no more than the walks
//   under way. Requests are taken as long as MissDepth covers the misses that wait for the walker; hits pass them. `req_ready_o` is a register.
// - The range TLB's answer is used when both have one. A hit's walk is withdrawn (`walk_cancel_o`) in the cycle after the
//   walker took it. A hit never makes an access fail: what an entry does not allow is a miss.
// - Invalidation pulse in t: requests taken in t or later use nothing that it drops. Those taken before may, and are then
//   answered as not cacheable. Misses that wait are looked up by the walker after the pulse.
// - Without `awake_o`, a request, an answer of the walker, an invalidation and a write of a range nothing changes: the clock
//   may stop.
// - Sets = 0: no L2 TLB; RangeEntries = 0: no range TLB; both 0: wires.
`include "gw_assert.svh"

module gw_second_level #(
  /// Sets of the L2 TLB: 0, or a power of two, 2 to 65536.
  parameter int unsigned Sets = 256,
  /// Ways, a power of two, 1 to 16.
  parameter int unsigned Ways = 4,
  parameter gw_pkg::l2_policy_e Policy = gw_pkg::L2Hashed,
  /// Which way goes: 0 true LRU, 1 tree pseudo-LRU, 2 FIFO, 3 random.
  parameter int unsigned Replacement = 1,
  parameter bit Clusters = 1'b1,
  /// Answers of the walker that wait to be kept, 1 to 1024.
  parameter int unsigned FillDepth = 64,
  /// Misses that wait for the walker, 4 to 256.
  parameter int unsigned MissDepth = 32,
  /// Entries of the range TLB, 0 to 16.
  parameter int unsigned RangeEntries = 8,
  /// There are 64 KiB pages (Svnapot); as in gw_l2_tlb.
  parameter bit Svnapot = 1'b1,
  /// Derived.
  localparam int unsigned NumRanges = (RangeEntries > 0) ? RangeEntries : 1,
  localparam int unsigned RangeWidth = (RangeEntries > 1) ? $clog2(RangeEntries) : 1
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  // Translators
  input  logic                            req_valid_i,
  output logic                            req_ready_o,
  input  gw_pkg::xlate_req_t              req_i,
  output logic                            rsp_valid_o,
  output gw_pkg::xlate_rsp_t              rsp_o,
  // Walker
  output logic                            walk_req_valid_o,
  input  logic                            walk_req_ready_i,
  output gw_pkg::xlate_req_t              walk_req_o,
  output logic                            walk_cancel_o,
  input  logic                            walk_rsp_valid_i,
  input  gw_pkg::xlate_rsp_t              walk_rsp_i,
  // Host: range TLB
  input  logic                            range_we_i,
  input  logic           [RangeWidth-1:0] range_idx_i,
  input  gw_pkg::range_t                  range_i,
  output gw_pkg::range_t [NumRanges-1:0]  ranges_o,
  // Invalidation
  input  logic                            inval_valid_i,
  input  gw_pkg::inval_t                  inval_i,
  input  logic                            epoch_i,
  output logic                            inval_busy_o,
  output logic                            awake_o,
  output gw_pkg::l2_event_t               event_o
);

  import gw_pkg::*;

  if (MissDepth < 4 || MissDepth > 256) begin : gen_bad_miss_depth
    $fatal(1, "gw_second_level: MissDepth must be 4 to 256");
  end
  if (RangeEntries > 16) begin : gen_bad_range_entries
    $fatal(1, "gw_second_level: RangeEntries must be 0 to 16");
  end

  if (Sets == 0 && RangeEntries == 0) begin : gen_wires
    assign walk_req_valid_o = req_valid_i;
    assign req_ready_o = walk_req_ready_i;
    assign walk_req_o = req_i;
    assign walk_cancel_o = 1'b0;
    assign rsp_valid_o = walk_rsp_valid_i;
    assign rsp_o = walk_rsp_i;
    assign ranges_o = '0;
    assign inval_busy_o = 1'b0;
    assign awake_o = 1'b0;
    assign event_o = '0;
    logic unused;
    assign unused = ^{clk_i, rst_ni, range_we_i, range_idx_i, range_i, inval_valid_i, inval_i, epoch_i};
  end else begin : gen_lookup
    localparam int unsigned HitDepth = 16;
    localparam int unsigned HitWidth = $clog2(HitDepth + 1);
    localparam int unsigned MissWidth = $clog2(MissDepth + 1);

    // First to third cycle.
    logic accept, early, valid_q, joined_q, early_q, hit, l2_hit, range_hit, ready_q;
    xlate_req_t req_q, asked_q;
    assign req_ready_o = ready_q;
    assign accept = req_valid_i && ready_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) {joined_q, valid_q} <= '0;
      else {joined_q, valid_q} <= {valid_q, accept};
    end
    always_ff @(posedge clk_i) begin
      req_q <= req_i;
      asked_q <= req_q;
      early_q <= early;
    end
    assign hit = l2_hit || range_hit;

    // Fourth cycle. `fresh`: no pulse since the request was taken.
    logic hit_q, from_range_q, fresh_q, fresh_done_q, epoch_q, epoch_asked_q, epoch_done_q;
    xlate_req_t done_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) hit_q <= 1'b0;
      else hit_q <= hit;
    end
    always_ff @(posedge clk_i) begin
      done_q <= asked_q;
      from_range_q <= range_hit;
      fresh_q <= !inval_valid_i;
      fresh_done_q <= fresh_q && !inval_valid_i;
      {epoch_done_q, epoch_asked_q, epoch_q} <= {epoch_asked_q, epoch_q, epoch_i};
    end

    ppn_t l2_ppn, range_ppn;
    page_order_t l2_order, range_order;
    cluster_t l2_cluster;
    perm_t l2_perm, range_perm;
    logic l2_global;
    xlate_rsp_t found, found_range, found_l2;
    always_comb begin
      found_l2 = '{
          src: done_q.src,
          tag: done_q.tag,
          ctx: done_q.ctx,
          vpn: done_q.vpn,
          ppn: l2_ppn,
          order: l2_order,
          cluster: l2_cluster,
          perm: l2_perm,
          is_global: l2_global,
          cacheable: fresh_done_q && !inval_valid_i,
          fault: 1'b0,
          cause: '0,
          parked: 1'b0,
          park: '0
      };
      found_range = found_l2;
      found_range.ppn = range_ppn;
      found_range.order = range_order;
      found_range.cluster = cluster_t'(1) << done_q.vpn[ClusterShift-1:0];
      found_range.perm = range_perm;
      found_range.is_global = 1'b0;
      // Not chosen with a multiplexer: synthesis would make one adder of both frames', behind it.
      found = (found_l2 & {$bits(xlate_rsp_t) {!from_range_q}}) | (found_range & {$bits(xlate_rsp_t) {from_range_q}});
    end

    // Fifth cycle: the head of the queue is a register, so no translator waits for a memory and an addition within one, nor for more
    // than a choice of two. The walker's answers go first.
    typedef struct packed {
      logic       epoch;
      xlate_rsp_t found;
    } hit_t;
    hit_t head;
    logic hit_valid, leaves;
    logic [HitWidth-1:0] hits_q, stale_q;
    gw_walk_queue #(
      .T    (hit_t),
      .Depth(HitDepth)
    ) u_hits (
      .clk_i,
      .rst_ni,
      .in_valid_i (hit_q),
      .in_data_i  ('{epoch: epoch_done_q, found: found}),
      .out_valid_o(hit_valid),
      .out_ready_i(!walk_rsp_valid_i),
      .out_data_o (head)
    );
    assign leaves = hit_valid && !walk_rsp_valid_i;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) hits_q <= '0;
      else hits_q <= hits_q + HitWidth'(hit_q) - HitWidth'(leaves);
    end

    // Hits that were here when an invalidation came, from the head on.
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) stale_q <= '0;
      else if (inval_valid_i) stale_q <= hits_q - HitWidth'(leaves);
      else if (leaves && stale_q != '0) stale_q <= stale_q - 1'b1;
    end

    assign rsp_valid_o = walk_rsp_valid_i || hit_valid;
    always_comb begin
      rsp_o = walk_rsp_i;
      if (!walk_rsp_valid_i) begin
        rsp_o = head.found;
        rsp_o.cacheable = head.found.cacheable && stale_q == '0 && !inval_valid_i;
        // Means something with a fault, or a parked access, and a hit is neither.
        rsp_o.cause = walk_rsp_i.cause;
        rsp_o.park = walk_rsp_i.park;
      end
    end

    // The walker begins while the lookup is under way, unless misses wait that it could not take at once.
    logic miss, missed_valid, missed_in, missed_out;
    xlate_req_t missed;
    assign miss = joined_q && !hit;
    assign walk_req_valid_o = missed_valid || valid_q;
    assign walk_req_o = missed_valid ? missed : req_q;
    assign early = valid_q && !missed_valid && walk_req_ready_i;
    assign walk_cancel_o = early_q && hit;
    logic [MissWidth-1:0] misses_q;
    assign missed_in = miss && !early_q;
    assign missed_out = missed_valid && walk_req_ready_i;
    gw_walk_queue #(
      .T    (xlate_req_t),
      .Depth(MissDepth)
    ) u_misses (
      .clk_i,
      .rst_ni,
      .in_valid_i (missed_in),
      .in_data_i  (asked_q),
      .out_valid_o(missed_valid),
      .out_ready_i(walk_req_ready_i),
      .out_data_o (missed)
    );
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) misses_q <= '0;
      else misses_q <= misses_q + MissWidth'(missed_in) - MissWidth'(missed_out);
    end

    // A hit that gave way 15 times holds up further requests, so that the walker comes to an end.
    logic [3:0] held_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) held_q <= '0;
      else if (!hit_valid || leaves) held_q <= '0;
      else if (held_q != '1) held_q <= held_q + 1'b1;
    end

    // What is under way, and what is taken in this cycle and the next, may all become hits, or all misses.
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) ready_q <= 1'b0;
      else ready_q <= hits_q <= HitWidth'(HitDepth - 5) && misses_q <= MissWidth'(MissDepth - 4) && held_q != '1;
    end

    // Hits of each epoch that wait.
    logic [1:0][HitWidth-1:0] of_epoch_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) of_epoch_q <= '0;
      else begin
        for (int unsigned e = 0; e < 2; e++) begin
          of_epoch_q[e] <= of_epoch_q[e] + HitWidth'(hit_q && epoch_done_q == 1'(e)) - HitWidth'(leaves && head.epoch == 1'(e));
        end
      end
    end

    logic l2_busy, l2_awake;
    assign inval_busy_o = l2_busy || of_epoch_q[!epoch_i] != '0 || (valid_q && epoch_q != epoch_i) ||
        (joined_q && epoch_asked_q != epoch_i) || (hit_q && epoch_done_q != epoch_i);

    l2_event_t l2_event;
    if (Sets != 0) begin : gen_l2
      gw_l2_tlb #(
        .Sets       (Sets),
        .Ways       (Ways),
        .Policy     (Policy),
        .Replacement(Replacement),
        .Clusters   (Clusters),
        .FillDepth  (FillDepth),
        .Svnapot    (Svnapot)
      ) u_l2_tlb (
        .clk_i,
        .rst_ni,
        .lookup_i    (req_valid_i),
        .lookup_vpn_i(req_i.vpn),
        .req_valid_i (valid_q),
        .vpn_i       (req_q.vpn),
        .ctx_i       (req_q.ctx),
        .write_i     (req_q.write),
        .hit_o       (l2_hit),
        .ppn_o       (l2_ppn),
        .order_o     (l2_order),
        .cluster_o   (l2_cluster),
        .perm_o      (l2_perm),
        .is_global_o (l2_global),
        .rsp_valid_i (walk_rsp_valid_i),
        .rsp_i       (walk_rsp_i),
        .inval_valid_i,
        .inval_i,
        .epoch_i,
        .inval_busy_o(l2_busy),
        .busy_o      (l2_awake),
        .event_o     (l2_event)
      );
    end else begin : gen_no_l2
      assign l2_hit = 1'b0;
      assign {l2_ppn, l2_order, l2_cluster, l2_perm, l2_global} = '0;
      assign l2_busy = 1'b0;
      assign l2_awake = 1'b0;
      assign l2_event = '0;
    end

    if (RangeEntries != 0) begin : gen_range
      gw_range_tlb #(
        .Entries(RangeEntries)
      ) u_range_tlb (
        .clk_i,
        .rst_ni,
        .req_valid_i(valid_q),
        .vpn_i      (req_q.vpn),
        .ctx_i      (req_q.ctx),
        .write_i    (req_q.write),
        .hit_o      (range_hit),
        .ppn_o      (range_ppn),
        .order_o    (range_order),
        .perm_o     (range_perm),
        .we_i       (range_we_i),
        .widx_i     (range_idx_i),
        .wdata_i    (range_i),
        .entries_o  (ranges_o),
        .inval_valid_i,
        .inval_i
      );
    end else begin : gen_no_range
      assign range_hit = 1'b0;
      assign {range_ppn, range_order, range_perm} = '0;
      assign ranges_o = '0;
      logic unused;
      assign unused = ^{range_we_i, range_idx_i, range_i};
    end

    // What comes after the last input or queued item, longer than the way through all stages.
    gw_awake #(
      .Settle(10)
    ) u_awake (
      .clk_i,
      .rst_ni,
      .busy_i(req_valid_i || walk_rsp_valid_i || inval_valid_i || range_we_i || hit_valid || missed_valid || l2_awake),
      .awake_o
    );

    always_comb begin
      event_o = l2_event;
      event_o.hit = l2_hit && !range_hit;
      event_o.range_hit = range_hit;
      event_o.miss = miss;
      event_o.lookup_of = '{src: asked_q.src, ctx: asked_q.ctx};
    end

    logic unused;
    assign unused = done_q.write;

    `GW_INVARIANT(AwakeAtWork_A, awake_o || !(valid_q || joined_q || hit_q || hit_valid || missed_valid || l2_awake ||
        inval_busy_o))
    `GW_INVARIANT(HitRoom_A, hits_q <= HitWidth'(HitDepth) && (hit_valid == (hits_q != '0)))
    `GW_INVARIANT(MissRoom_A, misses_q <= MissWidth'(MissDepth) && missed_valid == (misses_q != '0))
    `GW_COVER(MissQueued_C, miss && !early_q)
    `GW_COVER(HitGivesWay_C, hit_valid && walk_rsp_valid_i)
    `GW_COVER(HitPassesMisses_C, hit_valid && 32'(misses_q) > 1)
    `GW_COVER(StaleHit_C, stale_q != '0)
  end

  `GW_ASSERT(RequestStable_A, req_valid_i && !req_ready_o |=> req_valid_i && $stable(req_i))

endmodule
