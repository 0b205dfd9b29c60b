// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Page-table walker: translates virtual pages of many contexts, many at a time.
//
//   request ─> context, walk cache ─> first step ─> queue ─┐                                                    ┌─> answer
//              (cycle 1)              (2)                  ├─> compare ─> give ─> AR    R ───> read ──> decide ─┘ (9+L)
//                                            again ─> queue ┘  (3)         (4)     (5)   (6+L)  (7+L)    (8+L)
//                                              └──────────────────────────────────────────────────────────┘ next level, or look again
//
// Contract
// - Every accepted request gets exactly one answer, {src, tag} unchanged; answers come in any order and are not held up.
//   `req_cancel_i` withdraws the request accepted in the cycle before: it leaves nothing behind and is not answered. What is
//   offered and not accepted may change.
// - Latency in cycles, both ends included, with an idle walker and L = cycles from a read's acceptance to its first beat, less
//   one: one read 9 + L, each further level 6 + L more, or `LineBeats` if that is more; 9 if the beat is kept.
// - Throughput: one request accepted and one answered a cycle, if `Requests` and `Lines` cover the memory's latency
//   (9 + L and 7 + L cycles); one line read in `LineBeats` cycles. No request is accepted in a cycle in which a beat of an
//   upper table is compared with the walk cache, once for each that a walk comes to.
// - A line of page-table entries (`LineBeats` beats of 64 bytes) is never read while it is on its way or kept: requests to one
//   page, to neighbouring pages and to shared upper tables merge, across contexts. Lines and upper-level pointers are kept
//   until replaced or invalidated; a line, whole or on its way, also until a beat of it fails or sends a waiter to look again.
// - Prefetch: see gw_walk_prefetch; it never holds up a step of a walk, has at most one read before one of theirs on the
//   memory port, and is dropped by an invalidation.
// - Faults are decided by an entry read after the request was accepted, whatever was kept before. Tables above are trusted:
//   unlinking or replacing a table, or a context's root or mode, needs an invalidation.
// - Invalidation: a pulse of `inval_valid_i`, in any cycle. Requests accepted in that cycle or later use only reads sent
//   later. Answers to those accepted before are not cacheable if the pulse names a page they cover, nor is the answer of its own
//   cycle, whatever it names. `inval_busy_o` is high while a request accepted in the other epoch (not `epoch_i`) is here. New
//   requests keep flowing. Upper-level pointers of other contexts and ranges stay; kept lines go whatever the scope, for they do
//   not know their pages.
// - Memory port: reads of a line, one burst, the beat asked for first, ID = line slot; and exclusive updates of A and D
//   (gw_walk_update); data in any order, always ready for it. A walk goes on with its beat, whatever of the line is to come.
// - Without `awake_o`, a request and an invalidation nothing changes: the clock may stop.
// - Never: an answer without a request; a wait for anything but memory.
`include "gw_assert.svh"

module gw_walker #(
  /// Levels of the widest mode: 3 (Sv39), 4 (Sv48), 5 (Sv57); narrower modes work too.
  parameter int unsigned Levels = 4,
  /// Requests in flight, 2 to 256.
  parameter int unsigned Requests = 64,
  /// Lines fetched or kept, 1 to 64.
  parameter int unsigned Lines = 32,
  /// Beats of 64 bytes of a line: 1, 2, 4, 8 or 16; a long one pays where requests of memory are scarce.
  parameter int unsigned LineBeats = 1,
  /// Beats of eight pointers kept for each upper level, 1 or more.
  parameter int unsigned CacheEntries = 16,
  /// The line after one that followed its predecessor is fetched before it is asked for.
  parameter bit Prefetch = 1'b1,
  /// Contexts, 1 to 256.
  parameter int unsigned NumContexts = 16,
  /// 64 KiB pages (Svnapot); 0: an entry with N faults.
  parameter bit Svnapot = 1'b1,
  /// ... and pages of any power of two up to 1 GiB: 2**k equal entries of a table of any level.
  parameter bit AnyNapot = 1'b0,
  /// rsp_miss_o says why and where a fault was one; 0: nothing.
  parameter bit TellMiss = 1'b0,
  /// There is a gw_touch, for these pages.
  parameter bit Heap = 1'b0,
  parameter gw_pkg::vpn_t HeapFirst = '0,
  parameter gw_pkg::vpn_t HeapLast = '0
) (
  input logic clk_i,
  input logic rst_ni,
  input gw_pkg::ctx_t [NumContexts-1:0] ctx_i,
  input logic req_valid_i,
  output logic req_ready_o,
  input gw_pkg::xlate_req_t req_i,
  input logic req_cancel_i,
  output logic rsp_valid_o,
  output gw_pkg::xlate_rsp_t rsp_o,
  /// With an answer that is a fault.
  output gw_pkg::miss_t rsp_miss_o,
  output gw_axi_pkg::pt_req_t m_req_o,
  input gw_axi_pkg::pt_rsp_t m_rsp_i,
  input logic inval_valid_i,
  input gw_pkg::inval_t inval_i,
  /// Turned when a fence begins, in any cycle.
  input logic epoch_i,
  output logic inval_busy_o,
  output logic awake_o,
  output gw_pkg::walk_event_t event_o
);

  import gw_pkg::*;
  import gw_axi_pkg::*;
  import gw_spec_pkg::*;

  if (Levels < 3 || Levels > 5) begin : gen_bad_levels
    $fatal(1, "gw_walker: Levels must be 3 to 5");
  end
  if (Requests < 2 || Requests > 256) begin : gen_bad_requests
    $fatal(1, "gw_walker: Requests must be 2 to 256");
  end
  if (Lines < 1 || Lines > 64) begin : gen_bad_lines
    $fatal(1, "gw_walker: Lines must be 1 to 64");
  end
  if (LineBeats < 1 || LineBeats > 16 || (LineBeats & (LineBeats - 1)) != 0) begin : gen_bad_line_beats
    $fatal(1, "gw_walker: LineBeats must be 1, 2, 4, 8 or 16");
  end
  if (CacheEntries < 1) begin : gen_bad_cache_entries
    $fatal(1, "gw_walker: CacheEntries must be at least 1");
  end
  if (NumContexts < 1 || NumContexts > 2 ** CtxIdWidth) begin : gen_bad_num_contexts
    $fatal(1, "gw_walker: NumContexts must be 1 to 256");
  end

  localparam int unsigned IdWidth = $clog2(Requests);
  localparam int unsigned PlaceWidth = (Lines * LineBeats > 1) ? $clog2(Lines * LineBeats) : 1;
  localparam int unsigned LineWidth = PaWidth - $clog2(PtBeatBytes * LineBeats);
  // Invalidations that a walk under way may see without its answer becoming uncacheable whatever they name.
  localparam int unsigned InvalDepth = 4;
  localparam int unsigned EntryIdxWidth = $clog2(PtBeatEntries * LineBeats);

  // What a waiter looks at.
  typedef struct packed {
    walk_refusal_e refusal;  // any: it needs no line
    logic is_global;  // by a table above
    logic update;  // the context has A and D set by hardware
    logic [2:0] level;
    logic [LineWidth-1:0] line;
    logic [EntryIdxWidth-1:0] index;
  } step_t;
  // Who looks, and how.
  typedef struct packed {
    logic [IdWidth-1:0] waiter;
    logic walked;  // beyond its first step
    logic retry;  // second look at the same entry
    logic denied;  // A and D are to be set, and memory does not do it
    logic told;  // ... it was said to be done, for another walk
  } look_t;

  // Cycles 1 and 2: accept, find where to begin. The walk cache compares a request's page or what is to be kept.
  logic accept, free_valid, first_valid, cache_hit;
  logic [IdWidth-1:0] free_id, first_id;
  step_t first;
  logic fill_look, fill;
  walk_key_t fill_key;
  walk_beat_t fill_beat;

  assign req_ready_o = free_valid && !fill_look;
  assign accept = req_valid_i && req_ready_o;

  gw_walk_begin #(
    .Levels(Levels),
    .CacheEntries(CacheEntries),
    .NumContexts(NumContexts),
    .IdWidth(IdWidth),
    .step_t(step_t)
  ) u_begin (
    .clk_i,
    .rst_ni,
    .ctx_i,
    .inval_valid_i,
    .inval_i,
    .accept_i(accept),
    .req_i,
    .id_i(free_id),
    .cancel_i(req_cancel_i),
    .step_valid_o(first_valid),
    .step_id_o(first_id),
    .step_o(first),
    .cache_hit_o(cache_hit),
    .fill_look_i(fill_look),
    .fill_key_i(fill_key),
    .fill_i(fill),
    .fill_beat_i(fill_beat)
  );

  // Waiters.
  logic [IdWidth-1:0] step_event_id, update_event_id;
  look_t sel_look;
  xlate_req_t id_req;
  logic release_id, waiting;
  logic [$clog2(InvalDepth+2)-1:0] id_seen;
  logic [15:0] id_age;
  gw_walk_requests #(
    .Requests(Requests),
    .MaxSeen(InvalDepth + 1)
  ) u_requests (
    .clk_i,
    .rst_ni,
    .inval_i(inval_valid_i),
    .epoch_i,
    .inval_busy_o,
    .busy_o(waiting),
    .free_valid_o(free_valid),
    .free_id_o(free_id),
    .take_i(accept),
    .cancel_i(req_cancel_i),
    .req_i,
    .rd_id_i(sel_look.waiter),
    .rd_req_o(id_req),
    .rd_seen_o(id_seen),
    .rd_age_o(id_age),
    .release_i(release_id),
    .owner_id_i({update_event_id, step_event_id}),
    .owner_o({event_o.update_of, event_o.step_of})
  );

  // Cycles 3 to 5: find or fetch the line. Cycle 6 + L: select who waits for it.
  logic ar_valid, ar_ready, ret, ret_error, sel_valid, sel_own, drop;
  logic [PlaceWidth-1:0] ar_place, ret_place, sel_place, drop_place;
  logic [LineWidth-1:0] ar_line;
  step_t sel_step, next;
  logic [LineWidth-1:0] sel_line;
  look_t again, updated, update_look;
  logic again_valid, next_valid, updated_valid, updated_ready;
  logic [PaWidth-$clog2(PtEntryBytes)-1:0] update_entry;
  logic [63:0] update_pte;
  logic update, fetching;

  gw_walk_step #(
    .Requests(Requests),
    .Lines(Lines),
    .LineBeats(LineBeats),
    .Prefetch(Prefetch),
    .step_t(step_t),
    .look_t(look_t)
  ) u_step (
    .clk_i,
    .rst_ni,
    .inval_i(inval_valid_i),
    .first_valid_i(first_valid),
    .first_id_i(first_id),
    .first_i(first),
    .again_valid_i(again_valid),
    .again_i(again),
    .next_valid_i(next_valid),
    .next_i(next),
    .updated_valid_i(updated_valid),
    .updated_ready_o(updated_ready),
    .updated_i(updated),
    .ar_valid_o(ar_valid),
    .ar_ready_i(ar_ready),
    .ar_line_o(ar_line),
    .ar_place_o(ar_place),
    .ret_i(ret),
    .ret_place_i(ret_place),
    .ret_error_i(ret_error),
    .sel_valid_o(sel_valid),
    .sel_place_o(sel_place),
    .sel_look_o(sel_look),
    .sel_step_o(sel_step),
    .sel_line_o(sel_line),
    .sel_own_o(sel_own),
    .drop_i(drop),
    .drop_place_i(drop_place),
    .fetching_o(fetching),
    .event_merge_o(event_o.merge),
    .event_line_hit_o(event_o.line_hit),
    .event_prefetch_used_o(event_o.prefetch_used),
    .event_read_o(event_o.pte_read),
    .event_id_o(step_event_id),
    .event_prefetch_o(event_o.prefetch),
    .event_prefetch_useless_o(event_o.prefetch_useless)
  );

  // Cycles 5 and 6 + L: memory.
  gw_walk_memory #(
    .Requests(Requests),
    .Lines(Lines),
    .LineBeats(LineBeats),
    .look_t(look_t)
  ) u_memory (
    .clk_i,
    .rst_ni,
    .m_req_o,
    .m_rsp_i,
    .line_valid_i(ar_valid),
    .line_ready_o(ar_ready),
    .line_i(ar_line),
    .line_place_i(ar_place),
    .ret_o(ret),
    .ret_place_o(ret_place),
    .ret_error_o(ret_error),
    .update_valid_i(update),
    .update_look_i(update_look),
    .update_entry_i(update_entry),
    .update_pte_i(update_pte),
    .update_dirty_i(id_req.write),
    .updated_valid_o(updated_valid),
    .updated_ready_i(updated_ready),
    .updated_o(updated),
    .event_update_o(event_o.update),
    .event_update_id_o(update_event_id)
  );

  // Cycles 7 + L to 9 + L: read, decide, answer.
  localparam int unsigned CtxIdxWidth = (NumContexts > 1) ? $clog2(NumContexts) : 1;
  logic asks;
  assign asks = TellMiss && 32'(id_req.ctx) < NumContexts && ctx_i[CtxIdxWidth'(id_req.ctx)].en_pri;
  gw_walk_decode #(
    .Levels(Levels),
    .Svnapot(Svnapot),
    .AnyNapot(AnyNapot),
    .Lines(Lines),
    .LineBeats(LineBeats),
    .step_t(step_t),
    .look_t(look_t),
    .InvalDepth(InvalDepth),
    .TellMiss(TellMiss),
    .Heap(Heap),
    .HeapFirst(HeapFirst),
    .HeapLast(HeapLast)
  ) u_decode (
    .clk_i,
    .rst_ni,
    .inval_valid_i,
    .inval_i,
    .ret_i(ret),
    .ret_place_i(ret_place),
    .ret_error_i(ret_error),
    .ret_data_i(m_rsp_i.r.data),
    .sel_valid_i(sel_valid),
    .sel_place_i(sel_place),
    .sel_look_i(sel_look),
    .sel_step_i(sel_step),
    .sel_line_i(sel_line),
    .sel_own_i(sel_own),
    .req_i(id_req),
    .seen_i(id_seen),
    .age_i(id_age),
    .asks_i(asks),
    .again_valid_o(again_valid),
    .again_o(again),
    .next_valid_o(next_valid),
    .next_o(next),
    .update_valid_o(update),
    .update_look_o(update_look),
    .update_entry_o(update_entry),
    .update_pte_o(update_pte),
    .drop_o(drop),
    .drop_place_o(drop_place),
    .fill_look_o(fill_look),
    .fill_key_o(fill_key),
    .fill_o(fill),
    .fill_beat_o(fill_beat),
    .release_o(release_id),
    .rsp_valid_o,
    .rsp_o,
    .rsp_miss_o,
    .rsp_latency_o(event_o.latency)
  );

  // What comes after the last answer, longer than the way through all stages.
  gw_awake #(
    .Settle(15)
  ) u_awake (
    .clk_i,
    .rst_ni,
    .busy_i(req_valid_i || inval_valid_i || waiting || fetching),
    .awake_o
  );

  // Told when it is certain.
  logic accept_q;
  owner_t accept_of_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) accept_q <= 1'b0;
    else accept_q <= accept;
  end
  always_ff @(posedge clk_i) begin
    accept_of_q <= '{src: req_i.src, ctx: req_i.ctx};
  end

  logic started;
  assign started = accept_q && !req_cancel_i;
  assign event_o.start = started;
  assign event_o.start_of = accept_of_q;
  assign event_o.done = rsp_valid_o;
  assign event_o.done_of = '{src: rsp_o.src, ctx: rsp_o.ctx};
  assign event_o.fault = rsp_valid_o && rsp_o.fault;
  assign event_o.cache_hit = started && cache_hit;

  `GW_ASSERT(ReadStable_A, m_req_o.ar_valid && !m_rsp_i.ar_ready |=> m_req_o.ar_valid && $stable(m_req_o.ar))
  `GW_INVARIANT(AwakeAtWork_A, awake_o || !(rsp_valid_o || again_valid || updated_valid || m_req_o.ar_valid || inval_busy_o))
  // A pulse that stood with the clock would be counted again and again.
  `GW_INVARIANT(AwakeAtEvents_A, awake_o || !(event_o.merge || event_o.line_hit || event_o.prefetch_used || event_o.pte_read ||
      event_o.prefetch || event_o.prefetch_useless || event_o.update || event_o.start))
  `GW_INVARIANT(CancelsAccepted_A, !req_cancel_i || accept_q)
  `GW_ASSERT(DataIsOfASlot_A, m_rsp_i.r_valid |-> m_rsp_i.r.id[6] || 32'(m_rsp_i.r.id) < Lines)

endmodule
