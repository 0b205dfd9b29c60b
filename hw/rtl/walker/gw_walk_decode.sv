// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Takes the entry a waiter came for out of its beat and decides: answer, next level, or read again.
//
//   t      waiter selected: its beat read, its entry taken out
//   t + 1  decided: next level, look again, update, or done
//   t + 2  answer; the walk cache's fill; the line dropped
//
// Contract
// - One waiter a cycle. Never waits.
// - A fault is final only if the line was read after the request was accepted: the waiter began the read itself, or this is
//   its second look at this entry. Else the line is dropped (`drop_o`) and the waiter looks again. An entry that only lacks A
//   or D is sent to gw_walk_update (`update_o`) on the same condition, if the step says so, instead of a fault.
// - Of the heap's pages an entry that is 0 is told at once, whenever its line was read: gw_touch, who alone fills it, reads it again.
//   Of a beat that is done in ascending order only, else the waiter looks again: who asks once more sees what was filled since.
// - An answer is not cacheable if an invalidation that its waiter saw names any of the pages it covers, or if any comes in the
//   answer's own cycle. A waiter that saw any fills no cache: a beat of pointers covers more than the waiter's page.
// - A 4 KiB page's answer covers the neighbours that its beat of eight entries shows to be mapped alike (gw_pte_cluster).
`include "gw_assert.svh"

module gw_walk_decode #(
  parameter int unsigned Levels = 4,
  parameter int unsigned Lines = 32,
  /// Beats of 64 bytes of a line: 1, 2, 4, 8 or 16.
  parameter int unsigned LineBeats = 1,
  /// A step of a walk: refusal, is_global, update, level, line, index.
  parameter type step_t = logic,
  /// Who takes it, and how: waiter, walked, retry, denied, told.
  parameter type look_t = logic,
  /// As in gw_pte_check.
  parameter bit Svnapot = 1'b1,
  parameter bit AnyNapot = 1'b0,
  /// Invalidations remembered to tell whether they concern an answer.
  parameter int unsigned InvalDepth = 4,
  /// rsp_miss_o says why and where a fault was one.
  parameter bit TellMiss = 1'b0,
  /// There is a gw_touch, for these pages.
  parameter bit Heap = 1'b0,
  parameter gw_pkg::vpn_t HeapFirst = '0,
  parameter gw_pkg::vpn_t HeapLast = '0,
  /// Derived.
  localparam int unsigned SeenWidth = $clog2(InvalDepth + 2),
  localparam int unsigned Places = Lines * LineBeats,
  localparam int unsigned PlaceWidth = (Places > 1) ? $clog2(Places) : 1,
  localparam int unsigned LineWidth = gw_pkg::PaWidth - $clog2(gw_spec_pkg::PtBeatBytes * LineBeats),
  localparam int unsigned BeatBits = gw_spec_pkg::PtBeatBytes * 8
) (
  input logic clk_i,
  input logic rst_ni,
  input logic inval_valid_i,
  input gw_pkg::inval_t inval_i,
  /// A beat has come, or failed.
  input logic ret_i,
  input logic [PlaceWidth-1:0] ret_place_i,
  input logic ret_error_i,
  input logic [BeatBits-1:0] ret_data_i,
  input logic sel_valid_i,
  /// Place (see gw_walk_lists) of its beat; means nothing if it needs none.
  input logic [PlaceWidth-1:0] sel_place_i,
  input look_t sel_look_i,
  input step_t sel_step_i,
  /// Line of that step, in the cycle after; `sel_step_i` is without it.
  input logic [LineWidth-1:0] sel_line_i,
  input logic sel_own_i,
  /// In the second cycle: its request, and the invalidations that it saw before this cycle; InvalDepth + 1 stands for more too.
  input gw_pkg::xlate_req_t req_i,
  input logic [SeenWidth-1:0] seen_i,
  input logic [15:0] age_i,
  /// ... and whether its context asks for pages that are missing.
  input logic asks_i,
  output logic again_valid_o,
  output look_t again_o,
  /// It goes on at another entry.
  output logic next_valid_o,
  output step_t next_o,
  output logic update_valid_o,
  output look_t update_look_o,
  output logic [gw_pkg::PaWidth-$clog2(gw_spec_pkg::PtEntryBytes)-1:0] update_entry_o,
  output logic [63:0] update_pte_o,
  output logic drop_o,
  output logic [PlaceWidth-1:0] drop_place_o,
  /// A beat of an upper table may be kept; its key in the second cycle, the beat in the third.
  output logic fill_look_o,
  output gw_pkg::walk_key_t fill_key_o,
  output logic fill_o,
  output gw_pkg::walk_beat_t fill_beat_o,
  /// The waiter is done; its answer is on the bus in the next cycle.
  output logic release_o,
  output logic rsp_valid_o,
  output gw_pkg::xlate_rsp_t rsp_o,
  output gw_pkg::miss_t rsp_miss_o,
  output logic [15:0] rsp_latency_o
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned InBeatWidth = $clog2(PtBeatEntries);

  typedef struct packed {
    logic error;
    logic [PtBeatEntries-1:0][63:0] data;
  } beat_t;

  logic valid_q, own_q, error_q, upper_q;
  logic [Levels-1:1] above_q;
  logic [PlaceWidth-1:0] place_q;
  look_t look_q;
  step_t step_q;
  logic [PtBeatEntries-1:0][63:0] beat_q;
  logic [63:0] entry_q;
  (* ram_style = "distributed" *) beat_t beats_q[Places];
  always_ff @(posedge clk_i) begin
    if (ret_i) beats_q[ret_place_i] <= '{error: ret_error_i, data: ret_data_i};
  end

  // First cycle.
  beat_t beat;
  assign beat = beats_q[sel_place_i];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else valid_q <= sel_valid_i;
  end
  always_ff @(posedge clk_i) begin
    if (sel_valid_i) begin
      place_q <= sel_place_i;
      look_q <= sel_look_i;
      own_q <= sel_own_i;
      step_q <= sel_step_i;
      for (int unsigned l = 1; l < Levels; l++) above_q[l] <= sel_step_i.level >= 3'(l);
      error_q <= beat.error;
      beat_q <= beat.data;
      entry_q <= beat.data[InBeatWidth'(sel_step_i.index)];
    end
  end

  logic refused;
  // Its beat may be one for the walk cache: tried once for all that it brings on, which come one behind the other.
  logic as_before;
  assign as_before = valid_q && !refused && sel_place_i == place_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) upper_q <= 1'b0;
    else upper_q <= sel_valid_i && sel_step_i.refusal == NotRefused && sel_step_i.level != '0 && !as_before;
  end

  // Second cycle.
  logic pointer, leaf, lacks_bits;
  ppn_t ppn;
  page_order_t order;
  perm_t perm;
  gw_pte_check #(
    .Levels  (Levels),
    .Svnapot (Svnapot),
    .AnyNapot(AnyNapot)
  ) u_check (
    .pte_i(entry_q),
    .above_i(above_q),
    .vpn_i(ppn_t'(req_i.vpn)),
    .write_i(req_i.write),
    .pointer_o(pointer),
    .leaf_o(leaf),
    .update_o(lacks_bits),
    .ppn_o(ppn),
    .order_o(order),
    .perm_o(perm)
  );

  // Global if the leaf or any entry on the way to it says so.
  logic is_global;
  assign is_global = step_q.is_global || entry_q[PteG];

  logic good, next_level, fresh, look_again, final_fault, lacks, to_update, update, untouched;
  cause_t cause;
  assign refused = step_q.refusal != NotRefused;
  assign good = !refused && !error_q && (pointer || leaf);
  assign next_level = good && pointer;
  // Its line was read after the request was accepted.
  assign fresh = own_q || look_q.retry;
  assign look_again = !refused && !good && !fresh && !untouched;
  // Known before what the entry lacks is.
  assign lacks = !refused && !error_q && step_q.update;
  assign to_update = lacks && lacks_bits;
  assign update = (lacks && fresh && !look_q.denied) && lacks_bits;
  assign final_fault = !good && !look_again && !update;

  always_comb begin
    cause = req_i.write ? CauseStorePageFault : CauseLoadPageFault;
    if (error_q || (to_update && look_q.denied)) cause = req_i.write ? CauseStoreAccessFault : CauseLoadAccessFault;
    unique case (step_q.refusal)
      RefusedAddress: cause = req_i.write ? CauseStorePageFault : CauseLoadPageFault;
      RefusedOff: cause = CauseContextOff;
      RefusedMode: cause = CauseContextMisconfigured;
      default: ;
    endcase
  end

  logic [2:0] below;
  logic [PtLevelBits-1:0] below_index;
  assign below = step_q.level - 3'd1;
  always_comb begin
    below_index = '0;
    for (int unsigned l = 0; l < Levels - 1; l++) begin
      if (below == 3'(l)) below_index = req_i.vpn[PtLevelBits*l +: PtLevelBits];
    end
  end

  assign again_valid_o = valid_q && (next_level || look_again);
  assign next_valid_o = valid_q && next_level;
  always_comb begin
    again_o = look_q;
    again_o.walked = look_q.walked || next_level;
    again_o.retry = !next_level;
    next_o = step_q;
    next_o.is_global = is_global;
    next_o.level = below;
    {next_o.line, next_o.index} = {entry_q[PtePpnLsb +: PtePpnWidth], below_index};
  end

  assign update_valid_o = valid_q && update;
  assign update_look_o = look_q;
  assign update_entry_o = {sel_line_i, step_q.index};
  assign update_pte_o = entry_q;

  // The last entry of each beat that was told as untouched without a second look.
  if (Heap) begin : gen_untouched
    localparam int unsigned Told = $clog2(PtBeatEntries);
    logic [Places-1:0] some_q;
    logic [Places-1:0][Told-1:0] last_q;
    logic [Told-1:0] at;
    logic at_once;
    assign at_once = valid_q && untouched && !own_q && !look_q.retry;
    assign at = Told'(step_q.index);
    assign untouched = !refused && !error_q && entry_q == '0 && req_i.vpn >= HeapFirst && req_i.vpn <= HeapLast &&
        !(some_q[place_q] && at <= last_q[place_q]);
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        some_q <= '0;
      end else begin
        if (at_once) some_q[place_q] <= 1'b1;
        if (ret_i) some_q[ret_place_i] <= 1'b0;
      end
    end
    always_ff @(posedge clk_i) if (at_once) last_q[place_q] <= at;
    `GW_COVER(ToldAtOnce_C, at_once)
    `GW_COVER(NotAscending_C, valid_q && look_again && entry_q == '0 && some_q[place_q])
  end else begin : gen_no_untouched
    assign untouched = 1'b0;
  end

  // What is read next is the entry after the update.
  logic drop_q;
  logic [PlaceWidth-1:0] drop_place_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) drop_q <= 1'b0;
    else drop_q <= valid_q && (look_again || update);
  end
  always_ff @(posedge clk_i) drop_place_q <= place_q;
  assign drop_o = drop_q;
  assign drop_place_o = drop_place_q;

  assign fill_look_o = upper_q;
  assign fill_key_o = '{level: step_q.level, ctx: req_i.ctx, vpn: req_i.vpn};
  logic fill_q;
  walk_beat_t fill_beat;
  logic [PtBeatEntries-1:0] beat_leaf;
  for (genvar i = 0; i < PtBeatEntries; i++) begin : gen_fill
    gw_pte_kind u_kind (
      .pte_i(beat_q[i]),
      .pointer_o(fill_beat.pointer[i]),
      .leaf_o(beat_leaf[i])
    );
    assign fill_beat.is_global[i] = step_q.is_global || beat_q[i][PteG];
    assign fill_beat.ppn[i] = beat_q[i][PtePpnLsb +: PtePpnWidth];
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) fill_q <= 1'b0;
    else fill_q <= upper_q && next_level && seen_i == '0 && !inval_valid_i;
  end
  always_ff @(posedge clk_i) begin
    if (upper_q) fill_beat_o <= fill_beat;
  end
  assign fill_o = fill_q;

  page_order_t cluster_order;
  cluster_t cluster, page_alone;
  gw_pte_cluster u_cluster (
    .clk_i,
    .beat_i(beat_q),
    .entry_i(entry_q),
    .leaf_i(beat_leaf),
    .is_global_i(step_q.is_global),
    .page_i(req_i.vpn[ClusterShift-1:0]),
    .single_i(order == '0),
    .order_o(cluster_order),
    .cluster_o(cluster)
  );

  // What an answer at this level may cover: a smaller mapping's its whole cluster.
  vpn_t open;
  always_comb begin
    unique case (step_q.level)
      3'd0: open = ~(vpn_t'('1) << (AnyNapot ? PtLevelBits - 1 : ClusterShift));
      3'd1: open = ~(vpn_t'('1) << (AnyNapot ? 32'(MaxPageOrder) - 1 : PtLevelBits));
      default: open = ~(vpn_t'('1) << MaxPageOrder);
    endcase
  end
  logic overlap, overlap_q;
  gw_inval_log #(
    .Depth(InvalDepth)
  ) u_inval_log (
    .clk_i,
    .inval_valid_i,
    .inval_i,
    .seen_i,
    .ctx_i(req_i.ctx),
    .vpn_i(req_i.vpn),
    .open_i(open),
    .overlap_o(overlap)
  );

  // Third cycle.
  xlate_rsp_t rsp_q;
  logic rsp_valid_q, seen_q, single_q;
  logic [15:0] latency_q;

  assign release_o = valid_q && (final_fault || (good && leaf));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) rsp_valid_q <= 1'b0;
    else rsp_valid_q <= release_o;
  end
  always_ff @(posedge clk_i) begin
    rsp_q <= '{
        src: req_i.src,
        tag: req_i.tag,
        ctx: req_i.ctx,
        vpn: req_i.vpn,
        ppn: ppn,
        order: order,
        cluster: '0,
        perm: perm,
        is_global: is_global,
        cacheable: !final_fault,
        fault: final_fault,
        cause: cause,
        parked: 1'b0,
        park: '0
    };
    seen_q <= seen_i != '0 || inval_valid_i;
    latency_q <= (age_i == '1) ? '1 : age_i + 1'b1;
    overlap_q <= overlap;
    single_q <= order == '0;
  end

  if (TellMiss) begin : gen_miss
    miss_t miss_q;
    always_ff @(posedge clk_i) begin
      miss_q <= '{
          why: (refused || error_q || entry_q[PteV]) ? MissRefused : (entry_q == '0) ? MissUntouched : MissAway,
          asks: asks_i,
          write: req_i.write,
          level: step_q.level,
          entry: {sel_line_i, step_q.index}
      };
    end
    assign rsp_miss_o = miss_q;
  end else begin : gen_no_miss
    logic unused;
    assign unused = asks_i;
    assign rsp_miss_o = '0;
  end

  // A page of several that is smaller than a cluster is a part of one.
  always_comb begin
    page_alone = cluster_t'(1) << rsp_q.vpn[ClusterShift-1:0];
    if (AnyNapot) begin
      for (int unsigned i = 0; i < ClusterPages; i++) begin
        page_alone[i] = (32'(rsp_q.vpn[ClusterShift-1:0]) ^ i) >> rsp_q.order == '0;
      end
    end
  end
  assign rsp_valid_o = rsp_valid_q;
  always_comb begin
    rsp_o = rsp_q;
    // One of them is 0.
    rsp_o.order = rsp_q.order | cluster_order;
    rsp_o.cluster = single_q ? cluster : page_alone;
    rsp_o.cacheable = rsp_q.cacheable && !overlap_q && !inval_valid_i;
  end
  assign rsp_latency_o = latency_q;

  `GW_INVARIANT(OneOutcome_A, !valid_q || $onehot({next_level, look_again, update, release_o}))
  // Every further step is a lower level, or the one second look at this one, until somebody changes the entry: no walk goes on
  // for ever by itself.
  `GW_INVARIANT(WalkComesToAnEnd_A, !again_valid_o || (next_valid_o && next_o.level < step_q.level) ||
      (again_o.retry && !look_q.retry))
  `GW_INVARIANT(FaultNeverCacheable_A, !(rsp_valid_o && rsp_o.fault && rsp_o.cacheable))
  `GW_COVER(LookAgain_C, drop_o)
  `GW_COVER(StaleAnswer_C, rsp_valid_q && seen_q && overlap_q)
  `GW_COVER(SparedAnswer_C, rsp_valid_q && seen_q && rsp_o.cacheable)

endmodule
