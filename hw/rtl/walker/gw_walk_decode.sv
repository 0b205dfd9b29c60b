// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Takes the entry a waiter came for out of its beat and decides: answer, next level, or read again.
//
// Contract
// - One waiter a cycle: selected in t, decided in t+1, a step or the walk cache's fill in t+1, an answer in t+2. Never waits.
// - A fault is final only if the line was read after the request was accepted: the waiter began the read itself, or this is
//   its second look at this entry. Else the line is dropped (`drop_o`) and the waiter looks again. An entry that only lacks A
//   or D is sent to gw_walk_update (`update_o`) on the same condition, if the step says so, instead of a fault.
// - An answer is not cacheable if an invalidation that its waiter saw, up to the answer's own cycle, names any of the pages it
//   covers. A waiter that saw any invalidation fills no cache: a beat of pointers covers more than the waiter's page.
// - A 4 KiB page's answer covers the neighbours that its beat of eight entries shows to be mapped alike (gw_pte_cluster).
`include "gw_assert.svh"

module gw_walk_decode #(
  parameter int unsigned Levels = 4,
  parameter int unsigned Requests = 64,
  parameter int unsigned Lines = 32,
  /// Beats of 64 bytes of a line: 1, 2, 4, 8 or 16.
  parameter int unsigned LineBeats = 1,
  /// A step of a walk: waiter, fault, cause, retry, is_global, update, denied, told, level, line, index.
  parameter type step_t = logic,
  /// 64 KiB pages (Svnapot).
  parameter bit Svnapot = 1'b1,
  /// Invalidations remembered to tell whether they concern an answer.
  parameter int unsigned InvalDepth = 4,
  /// Derived.
  localparam int unsigned IdWidth = $clog2(Requests),
  localparam int unsigned SeenWidth = $clog2(InvalDepth + 2),
  localparam int unsigned Places = Lines * LineBeats,
  localparam int unsigned PlaceWidth = (Places > 1) ? $clog2(Places) : 1,
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
  /// Place (see gw_line_table) of its beat; means nothing if it needs none.
  input logic [PlaceWidth-1:0] sel_place_i,
  input logic [IdWidth-1:0] sel_id_i,
  /// The waiter being decided, and what is known about it.
  output logic [IdWidth-1:0] id_o,
  input gw_pkg::xlate_req_t req_i,
  /// Invalidations that it saw, up to this cycle; InvalDepth + 1 stands for more too.
  input logic [SeenWidth-1:0] seen_i,
  input logic [15:0] age_i,
  input step_t step_i,
  input logic own_i,
  output logic again_valid_o,
  output step_t again_o,
  output logic update_valid_o,
  output logic [63:0] update_pte_o,
  output logic drop_o,
  output logic [PlaceWidth-1:0] drop_place_o,
  output logic fill_o,
  output gw_pkg::walk_fill_t fill_data_o,
  /// The waiter is done; its answer is on the bus in the next cycle.
  output logic release_o,
  output logic rsp_valid_o,
  output gw_pkg::xlate_rsp_t rsp_o,
  output logic [15:0] rsp_latency_o,
  /// The answer on the bus belongs to a waiter that saw an invalidation.
  output logic rsp_stale_o
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned InBeatWidth = $clog2(PtBeatEntries);

  typedef struct packed {
    logic error;
    logic [PtBeatEntries-1:0][63:0] data;
  } beat_t;

  logic valid_q;
  logic [PlaceWidth-1:0] place_q;
  logic [IdWidth-1:0] id_q;
  // A beat is stored and selected in one cycle, and read in the next: no block RAM, which may then still read the old one.
  (* ram_style = "distributed" *) beat_t beats_q[Places];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else valid_q <= sel_valid_i;
  end
  always_ff @(posedge clk_i) begin
    place_q <= sel_place_i;
    id_q <= sel_id_i;
  end
  always_ff @(posedge clk_i) begin
    if (ret_i) beats_q[ret_place_i] <= '{error: ret_error_i, data: ret_data_i};
  end
  assign id_o = id_q;

  // The slot is not given away before the cycle after this one.
  logic [PtBeatEntries-1:0][63:0] beat;
  logic [InBeatWidth-1:0] entry;
  logic read_error;
  assign {read_error, beat} = beats_q[place_q];
  assign entry = InBeatWidth'(step_i.index);

  logic pointer, leaf, lacks_bits;
  ppn_t ppn;
  page_order_t order;
  perm_t perm;
  gw_pte_check #(
    .Levels (Levels),
    .Svnapot(Svnapot)
  ) u_check (
    .pte_i(beat[entry]),
    .level_i(step_i.level),
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
  assign is_global = step_i.is_global || beat[entry][PteG];

  logic good, next_level, look_again, final_fault, to_update, update;
  cause_t cause;
  assign good = !step_i.fault && !read_error && (pointer || leaf);
  assign next_level = good && pointer;
  assign look_again = !step_i.fault && !good && !own_i && !step_i.retry;
  assign to_update = !step_i.fault && !read_error && lacks_bits && step_i.update;
  assign update = to_update && !look_again && !step_i.denied;
  assign final_fault = !good && !look_again && !update;

  always_comb begin
    if (step_i.fault) cause = step_i.cause;
    else if (read_error || (to_update && step_i.denied)) cause = req_i.write ? CauseStoreAccessFault : CauseLoadAccessFault;
    else cause = req_i.write ? CauseStorePageFault : CauseLoadPageFault;
  end

  logic [2:0] below;
  logic [PtLevelBits-1:0] below_index;
  assign below = step_i.level - 3'd1;
  always_comb begin
    below_index = '0;
    for (int unsigned l = 0; l < Levels - 1; l++) begin
      if (below == 3'(l)) below_index = req_i.vpn[PtLevelBits*l +: PtLevelBits];
    end
  end

  assign again_valid_o = valid_q && (next_level || look_again);
  always_comb begin
    again_o = step_i;
    again_o.retry = look_again;
    if (next_level) begin
      again_o.is_global = is_global;
      again_o.level = below;
      {again_o.line, again_o.index} = {ppn, below_index};
    end
  end

  assign update_valid_o = valid_q && update;
  assign update_pte_o = beat[entry];

  // What is read next is the entry after the update.
  assign drop_o = valid_q && (look_again || update);
  assign drop_place_o = place_q;

  assign fill_o = valid_q && next_level && seen_i == '0;
  assign fill_data_o.level = step_i.level;
  assign fill_data_o.ctx = req_i.ctx;
  assign fill_data_o.vpn = req_i.vpn;
  logic [PtBeatEntries-1:0] beat_leaf;
  for (genvar i = 0; i < PtBeatEntries; i++) begin : gen_fill
    gw_pte_kind u_kind (
      .pte_i(beat[i]),
      .pointer_o(fill_data_o.pointer[i]),
      .leaf_o(beat_leaf[i])
    );
    assign fill_data_o.is_global[i] = step_i.is_global || beat[i][PteG];
    assign fill_data_o.ppn[i] = beat[i][PtePpnLsb +: PtePpnWidth];
  end

  page_order_t cluster_order;
  cluster_t cluster, page_alone;
  gw_pte_cluster u_cluster (
    .beat_i(beat),
    .leaf_i(beat_leaf),
    .is_global_i(step_i.is_global),
    .page_i(req_i.vpn[ClusterShift-1:0]),
    .order_o(cluster_order),
    .cluster_o(cluster)
  );
  assign page_alone = cluster_t'(1) << req_i.vpn[ClusterShift-1:0];

  xlate_rsp_t rsp_d, rsp_q;
  logic rsp_valid_q, overlap;
  logic [SeenWidth-1:0] seen_q;
  vpn_t open;
  logic [15:0] latency_q;

  assign release_o = valid_q && (final_fault || (good && leaf));
  assign rsp_d = '{
      src: req_i.src,
      tag: req_i.tag,
      ctx: req_i.ctx,
      vpn: req_i.vpn,
      ppn: ppn,
      order: (order == '0) ? cluster_order : order,
      cluster: (order == '0) ? cluster : page_alone,
      perm: perm,
      is_global: is_global,
      cacheable: !final_fault,
      fault: final_fault,
      cause: cause
  };

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) rsp_valid_q <= 1'b0;
    else rsp_valid_q <= release_o;
  end
  always_ff @(posedge clk_i) begin
    rsp_q <= rsp_d;
    seen_q <= seen_i;
    latency_q <= (age_i == '1) ? '1 : age_i + 1'b1;
  end

  // A smaller mapping's answer may cover its whole cluster.
  assign open = ~(vpn_t'('1) << ((rsp_q.order < page_order_t'(ClusterShift)) ? page_order_t'(ClusterShift) : rsp_q.order));
  gw_inval_log #(
    .Depth(InvalDepth)
  ) u_inval_log (
    .clk_i,
    .inval_valid_i,
    .inval_i,
    .seen_i(seen_q),
    .ctx_i(rsp_q.ctx),
    .vpn_i(rsp_q.vpn),
    .open_i(open),
    .overlap_o(overlap)
  );

  assign rsp_valid_o = rsp_valid_q;
  always_comb begin
    rsp_o = rsp_q;
    rsp_o.cacheable = rsp_q.cacheable && !overlap;
  end
  assign rsp_latency_o = latency_q;
  assign rsp_stale_o = rsp_valid_q && seen_q != '0;

  `GW_INVARIANT(OneOutcome_A, !valid_q || $onehot({next_level, look_again, update, release_o}))
  // Every further step is a lower level, or the one second look at this one, until somebody changes the entry: no walk goes on
  // for ever by itself.
  `GW_INVARIANT(WalkComesToAnEnd_A, !again_valid_o || again_o.level < step_i.level ||
      (again_o.level == step_i.level && again_o.retry && !step_i.retry))
  `GW_INVARIANT(FaultNeverCacheable_A, !(rsp_valid_o && rsp_o.fault && rsp_o.cacheable))
  `GW_COVER(LookAgain_C, drop_o)
  `GW_COVER(StaleAnswer_C, rsp_stale_o && overlap)
  `GW_COVER(SparedAnswer_C, rsp_stale_o && rsp_o.cacheable)

endmodule
