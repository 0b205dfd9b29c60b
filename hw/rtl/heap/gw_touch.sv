// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// First touch: gives a page of a live allocation its frame when an access finds nothing there, answers the access, then writes the
// entries that lead to it.
//
//   request ─> what is at the page (gw_slots) ┐
//          └─> the entry, once more           ┴─> decided ─> answer ─> entries: leaves, tables, the link last
//
// Contract
// - A request says where a walk ended: the table's level, the address of the entry there, which was 0. Each is answered once, in order.
// - Nothing but this block fills entries of these pages, and it reads the entry again before it decides. So a page gets one frame
//   however many walks saw it missing: whoever comes behind finds the entry and is told to ask again, parked and woken at once.
// - Not in a live allocation of the context, a write where none is allowed: a page fault. The entry cannot be read: an access fault.
// - Inside what was given last: answered by that, 1 cycle behind the request, also while entries are stored; until forget_i, which
//   stands before such a page can become another frame's.
// - A read: ok, not cacheable, with the zero frame; nothing is written. A write: ok with a group of clean frames, naturally aligned, whose
//   pages had none. Its entries have A and D: a single frame's, or 2**order that say the same (Svnapot; order k: N, and 1 behind k - 1
//   zeros as the frame's last bits), or, of 2 MiB, one in a table of level 1.
// - The group's order is the largest of `Orders` that is not above the allocation's granule, of which there are some or will be soon
//   (soon_i), and, where a table of level 0 is there already, that is below 9 and has none of its pages mapped.
// - None clean of that order, or for tables: parked on ParkFirst + region. That is woken when there is one, when there will be none,
//   and when a context is written: whoever asks again then is told what holds.
// - Missing tables are clean frames of region TableRegion, of which as many as a walk can need are kept here. A table is linked when
//   what is in it was stored.
// - The answer does not wait for the entries; the next request outside of it does. busy_o: what was answered is not all stored yet.
// - Latency: the answer comes 4 cycles behind the later one of the two looks. Stored: commands of gw_pte_unit, 1 or, of a group,
//   2**order / Together (one an entry, if those are fewer than Together), and one a table, 1 cycle between them.
// - Since a granule got less than its order, for the first time anywhere, groups in a table that is there are looked at before: as many
//   reads as commands that would store, 1 cycle between them; for each order that has a page mapped, until that is found.
// - lacks_o: somebody parked for want of a frame, and there has been none since. lack_o: of these orders.
// - Memory refused an entry (broken_o): the page may be given a second frame; its context must end.
`include "gw_assert.svh"

module gw_touch #(
  /// Memories, 1 to 8.
  parameter int unsigned Regions = 1,
  /// Tables of a walk, 3 to 5.
  parameter int unsigned Levels = 4,
  /// Orders of groups: bit k, 2**k frames; bit 0 is set. Of 1 to 8 those that the walker knows as NAPOT.
  parameter gw_pkg::group_orders_t Orders = 10'h011,
  /// Where tables are.
  parameter int unsigned TableRegion = 0,
  /// Entries of a group that gw_pte_unit fills by one command: 1, 2, 4 or 8.
  parameter int unsigned Together = 8,
  /// Park number of region 0.
  parameter gw_pkg::park_t ParkFirst = gw_pkg::ParkTouch,
  /// Derived: bits of an entry's address.
  localparam int unsigned EntryWidth = gw_pkg::PaWidth - $clog2(gw_spec_pkg::PtEntryBytes)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  /// A frame that stays zero.
  input  gw_pkg::ppn_t          zero_i,
  input  logic                  req_valid_i,
  output logic                  req_ready_o,
  input  gw_pkg::xlate_req_t    req_i,
  input  logic [2:0]            level_i,
  input  logic [EntryWidth-1:0] entry_i,
  output logic                  ans_valid_o,
  input  logic                  ans_ready_i,
  output gw_pkg::xlate_rsp_t    ans_o,
  output gw_pkg::wake_t         wake_o,
  input  logic                  wake_ready_i,
  /// A context is written.
  input  logic                  end_i,
  /// What was given last is forgotten, and nothing is remembered meanwhile.
  input  logic                  forget_i,
  /// gw_slots.
  output logic                  look_valid_o,
  input  logic                  look_ready_i,
  output gw_pkg::ctx_id_t       look_ctx_o,
  output gw_pkg::vpn_t          look_vpn_o,
  input  logic                  look_done_i,
  input  gw_pkg::heap_page_t    look_page_i,
  /// gw_frames: groups by order.
  input  gw_pkg::group_orders_t [Regions-1:0] stock_valid_i,
  input  gw_pkg::ppn_t [Regions-1:0][gw_pkg::GroupOrders-1:0] stock_frame_i,
  output gw_pkg::group_orders_t [Regions-1:0] stock_take_o,
  input  gw_pkg::group_orders_t [Regions-1:0] soon_i,
  output gw_pkg::group_orders_t [Regions-1:0] lack_o,
  /// gw_pte_unit.
  output logic                  pte_valid_o,
  input  logic                  pte_ready_i,
  /// A group of `Together` entries.
  output logic                  pte_group_o,
  output logic [EntryWidth-1:0] pte_entry_o,
  output logic [63:0]           pte_expected_o,
  output logic [63:0]           pte_wanted_o,
  input  logic                  pte_done_i,
  input  gw_pkg::pte_result_e   pte_result_i,
  input  logic [63:0]           pte_found_i,
  output logic                  busy_o,
  /// A page or group is given its frames in this cycle.
  output logic                  gives_o,
  /// Nothing is under way: what was asked before is answered and stored.
  output logic                  idle_o,
  output logic                  lacks_o,
  output logic                  broken_o
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned Tables = Levels - 1;
  localparam int unsigned IdxWidth = (Regions > 1) ? $clog2(Regions) : 1;
  typedef logic [IdxWidth-1:0] idx_t;

  if (Regions < 1 || Regions > 8 || TableRegion >= Regions) begin : gen_bad_regions
    $fatal(1, "gw_touch: Regions must be 1 to 8, TableRegion one of them");
  end
  if (Levels < 3 || Levels > 5) begin : gen_bad_levels
    $fatal(1, "gw_touch: Levels must be 3 to 5");
  end
  if (!(Together inside {1, 2, 4, 8})) begin : gen_bad_together
    $fatal(1, "gw_touch: Together must be 1, 2, 4 or 8");
  end
  if (!Orders[0]) begin : gen_bad_orders
    $fatal(1, "gw_touch: Orders must have order 0");
  end

  typedef enum logic [3:0] {
    Idle,
    Look,     // both looks
    Judge,    // what it is; the stock that it needs
    Probe,    // is a page of the group mapped
    Probed,
    Take,
    Answer,
    Place,    // the next entry
    Store,
    Stored
  } state_e;
  state_e state_q, state_d;
  xlate_req_t req_q;
  logic [2:0] level_q;
  logic [EntryWidth-1:0] entry_q;

  // The looks.
  logic looked_q, asked_q, read_q, sent_q;
  heap_page_t page_q;
  logic empty_q, denied_q;
  assign look_valid_o = state_q == Look && !asked_q;
  assign look_ctx_o = req_q.ctx;
  assign look_vpn_o = req_q.vpn;

  // Tables that are here: those that a request takes are the first ones.
  ppn_t [Tables-1:0] table_q;
  logic [2:0] tables_q;
  logic refill;
  assign refill = state_q == Idle && tables_q != 3'(Tables) && stock_valid_i[TableRegion][0];

  // Decided in Judge: what it lacks, or what it ends with.
  typedef enum logic [2:0] {
    Fault,
    Refused,   // by memory
    Again,     // the entry is there
    Zero,
    NoTable,
    NoFrame,
    Given
  } end_e;
  end_e end_q, end_d;
  idx_t region;
  assign region = (Regions > 1) ? idx_t'(page_q.region) : '0;

  // Orders that it may have, and of which there are groups; the one that it has, as one of them and as a number; page bits inside.
  localparam int unsigned EntryBits = entry_bits(Orders);
  localparam int unsigned TogetherBits = $clog2(Together);
  typedef logic [MegaOrder-1:0] offset_t;
  typedef logic [EntryBits-1:0] at_t;
  group_orders_t full_q, may_q, has_q, pick, pick_q;
  group_order_t order_q;
  offset_t offset, offset_q;
  at_t at_q, at_next, last_at_q;
  logic wide_q, less_q, mixed_q, probes, last_at, here_mapped;
  vpn_t path;  // page number as the tables see it: without the last level's bits, of 2 MiB
  assign path = pick_q[MegaOrder] ? req_q.vpn >> PtLevelBits : req_q.vpn;
  assign pick = largest_order(may_q & Orders);
  assign offset = offset_t'(pick - 1'b1);
  // Nothing of a table that is missing is mapped. One that is there has pages of smaller groups only if there ever were some.
  assign probes = level_q == '0 && !pick[0] && (mixed_q || full_q[MegaOrder]);
  assign at_next = at_q + (wide_q ? at_t'(Together) : at_t'(1));
  assign last_at = (at_q | (wide_q ? at_t'(Together - 1) : '0)) == last_at_q;
  assign here_mapped = pte_result_i == PteChanged && pte_found_i != '0;
  always_comb begin
    if (!page_q.live || (req_q.write && !page_q.write)) end_d = Fault;
    else if (denied_q) end_d = Refused;
    else if (!empty_q) end_d = Again;
    else if (!req_q.write) end_d = Zero;
    else if (tables_q < level_q) end_d = NoTable;
    else end_d = (pick & has_q) != '0 ? Given : NoFrame;
  end
  ppn_t frame_q, frame;
  logic take, lost;  // the stock may have gone back since it was seen
  assign take = state_q == Take && end_q == Given && (stock_valid_i[region] & pick_q) != '0;
  assign lost = state_q == Take && end_q == Given && (stock_valid_i[region] & pick_q) == '0;
  always_comb begin
    stock_take_o = '0;
    stock_take_o[TableRegion][0] = refill;
    if (take) stock_take_o[region] = pick_q;
    frame = '0;
    for (int unsigned k = 0; k < GroupOrders; k++) if (pick_q[k]) frame |= stock_frame_i[region][k];
  end

  // What was given last: its neighbours in a group, and who asked before it was known, come right behind.
  typedef struct packed {
    xlate_req_t   req;
    ppn_t         ppn;
    group_order_t order;
    offset_t      offset;
  } given_t;
  given_t given_q;
  xlate_req_t same_req_q;
  logic given_valid_q, same, same_q;

  // The answer.
  idx_t park_region;
  assign park_region = (end_q == NoTable) ? idx_t'(TableRegion) : region;
  always_comb begin
    ans_o = '0;
    ans_o.src = req_q.src;
    ans_o.tag = req_q.tag;
    ans_o.ctx = req_q.ctx;
    ans_o.vpn = req_q.vpn;
    ans_o.perm = '{r: 1'b1, w: end_q == Given};
    ans_o.cacheable = end_q == Given;
    ans_o.order = (end_q == Given) ? page_order_t'(order_q) : '0;
    ans_o.cluster = cluster_t'(1) << req_q.vpn[ClusterShift-1:0];
    ans_o.ppn = zero_i;
    if (end_q == Given) ans_o.ppn = frame_q | (ppn_t'(req_q.vpn) & ppn_t'(offset_q));
    ans_o.fault = end_q inside {Fault, Refused};
    if (end_q == Fault) ans_o.cause = req_q.write ? CauseStorePageFault : CauseLoadPageFault;
    if (end_q == Refused) ans_o.cause = req_q.write ? CauseStoreAccessFault : CauseLoadAccessFault;
    ans_o.parked = end_q inside {Again, NoTable, NoFrame};
    ans_o.park = ParkFirst + park_t'(park_region);
    if (same_q) begin
      ans_o.src = same_req_q.src;
      ans_o.tag = same_req_q.tag;
      ans_o.ctx = given_q.req.ctx;
      ans_o.vpn = same_req_q.vpn;
      ans_o.perm = '{r: 1'b1, w: 1'b1};
      ans_o.cacheable = 1'b1;
      ans_o.order = page_order_t'(given_q.order);
      ans_o.cluster = cluster_t'(1) << same_req_q.vpn[ClusterShift-1:0];
      ans_o.ppn = given_q.ppn | (ppn_t'(same_req_q.vpn) & ppn_t'(given_q.offset));
      {ans_o.fault, ans_o.parked, ans_o.cause} = '0;
    end
  end
  assign ans_valid_o = state_q == Answer || same_q;
  assign req_ready_o = !same_q && (state_q == Idle || (same && busy_o));

  assign gives_o = state_q == Answer && ans_ready_i && end_q == Given;
  assign same = given_valid_q && req_i.ctx == given_q.req.ctx && req_i.vpn[VpnWidth-1:MegaOrder] == given_q.req.vpn[VpnWidth-1:MegaOrder] &&
      ((req_i.vpn[MegaOrder-1:0] ^ given_q.req.vpn[MegaOrder-1:0]) & ~given_q.offset) == '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      same_q <= 1'b0;
      given_valid_q <= 1'b0;
    end else begin
      same_q <= same_q ? !ans_ready_i : req_valid_i && req_ready_o && same;
      given_valid_q <= (given_valid_q || gives_o) && !forget_i && !end_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!same_q) same_req_q <= req_i;
    if (gives_o) given_q <= '{req: req_q, ppn: frame_q, order: order_q, offset: offset_q};
  end

  // Entries: the leaves, then a pointer in each table, the link last.
  logic leaf_q, last_leaf, last_q, together_q;
  logic [2:0] step_q;  // level of the table that is pointed to
  logic [EntryWidth-1:0] place_q, in_group;
  logic [63:0] value_q;
  logic [63:0] leaf, pointer;
  logic [8:0] index;
  ppn_t here, below;  // the table the entry is in, and the one that it points to
  assign last_leaf = last_at;
  assign in_group = {entry_q[EntryWidth-1:EntryBits], (entry_q[EntryBits-1:0] & ~last_at_q) | at_q};
  always_comb begin
    leaf = 64'(frame_q | ppn_t'(pick_q[MegaOrder-1:1])) << PtePpnLsb;
    leaf[PteV] = 1'b1;
    leaf[PteR] = 1'b1;
    leaf[PteW] = 1'b1;
    leaf[PteU] = 1'b1;
    leaf[PteA] = 1'b1;
    leaf[PteD] = 1'b1;
    leaf[PteN] = pick_q[MegaOrder-1:1] != '0;
    below = '0;
    here = '0;
    index = path[8:0];
    index[EntryBits-1:0] = (index[EntryBits-1:0] & ~last_at_q) | at_q;
    for (int unsigned t = 0; t < Tables; t++) begin
      if (!leaf_q && step_q == 3'(t)) begin
        below = table_q[t];
        index = path[9*(t+1) +: 9];
      end
      if (leaf_q ? t == 0 : step_q + 3'd1 == 3'(t)) here = table_q[t];
    end
    pointer = 64'(below) << PtePpnLsb;
    pointer[PteV] = 1'b1;
  end

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (req_valid_i && req_ready_o && !same) state_d = Look;
      Look: if (looked_q && read_q) state_d = Judge;
      Judge: state_d = (end_d inside {Given, NoFrame} && probes) ? Probe : Take;
      Probe: if (pte_ready_i) state_d = Probed;
      Probed: if (pte_done_i) state_d = here_mapped ? Judge : (last_at || pte_result_i != PteChanged) ? Take : Probe;
      Take: state_d = Answer;
      Answer: if (ans_ready_i) state_d = (end_q == Given) ? Place : Idle;
      Place: state_d = Store;
      Store: if (pte_ready_i) state_d = Stored;
      default: begin
        // Written by somebody at the same time, and still what was expected: once more.
        if (pte_done_i) state_d = (pte_result_i == PteChanged && pte_found_i == '0) ? Store : last_q ? Idle : Place;
      end
    endcase
  end
  assign pte_valid_o = state_q inside {Probe, Store} || (state_q == Look && !sent_q);
  assign pte_group_o = (state_q == Store && together_q) || (state_q == Probe && wide_q);
  assign pte_entry_o = (state_q == Store) ? place_q : (state_q == Probe) ? in_group : entry_q;
  // No entry is all ones: that is a read.
  assign pte_expected_o = (state_q == Store) ? '0 : '1;
  assign pte_wanted_o = (state_q == Store) ? value_q : '1;

  // Wake-ups: what was lacked by whom is parked on a region.
  logic [Regions-1:0] again_q, table_lack_q;
  group_orders_t [Regions-1:0] lack_q;
  logic [Regions-1:0] due;
  logic parks, some_due, ended_q;
  idx_t woken;
  wake_t wake_q;
  assign parks = state_q == Answer && ans_ready_i && ans_o.parked;
  always_comb begin
    due = '0;
    woken = '0;
    some_due = 1'b0;
    for (int unsigned r = 0; r < Regions; r++) begin
      due[r] = again_q[r] || (lack_q[r] & (stock_valid_i[r] | ~soon_i[r])) != '0 || (table_lack_q[r] && tables_q == 3'(Tables));
      if (due[r]) begin
        woken = idx_t'(r);
        some_due = 1'b1;
      end
    end
  end
  assign wake_o = wake_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      tables_q <= '0;
      again_q <= '0;
      lack_q <= '0;
      table_lack_q <= '0;
      wake_q <= '0;
      ended_q <= 1'b0;
      mixed_q <= 1'b0;
      broken_o <= 1'b0;
    end else begin
      state_q <= state_d;
      mixed_q <= mixed_q || (gives_o && less_q);
      ended_q <= end_i || (ended_q && state_q != Idle);
      if (refill) tables_q <= tables_q + 1'b1;
      if (state_q == Stored && pte_done_i && state_d == Idle) tables_q <= tables_q - level_q;
      if (state_q == Stored && pte_done_i && (pte_result_i == PteDenied || (pte_result_i == PteChanged && pte_found_i != '0))) begin
        broken_o <= 1'b1;
      end
      // One at a time, and never beside the answer that parks on it.
      if (!wake_q.valid && some_due && !parks) begin
        wake_q <= '{valid: 1'b1, ok: 1'b1, park: ParkFirst + park_t'(woken)};
        again_q[woken] <= 1'b0;
        lack_q[woken] <= '0;
        table_lack_q[woken] <= 1'b0;
      end else if (wake_ready_i) begin
        wake_q.valid <= 1'b0;
      end
      for (int unsigned r = 0; r < Regions; r++) begin
        if (parks && park_region == idx_t'(r)) begin
          if (end_q == Again || ended_q || end_i) again_q[r] <= 1'b1;
          if (end_q == NoFrame) lack_q[r] <= (lack_q[r] | pick_q) & Orders;
          if (end_q == NoTable) table_lack_q[r] <= 1'b1;
        end
        if (end_i && (lack_q[r] != '0 || table_lack_q[r])) again_q[r] <= 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Idle) begin
      req_q <= req_i;
      level_q <= level_i;
      entry_q <= entry_i;
      {looked_q, asked_q, read_q, sent_q} <= '0;
      if (refill) begin
        for (int unsigned t = 0; t < Tables; t++) if (tables_q == 3'(t)) table_q[t] <= stock_frame_i[TableRegion][0];
      end
    end
    if (state_q == Look) begin
      if (look_ready_i) asked_q <= 1'b1;
      if (pte_ready_i) sent_q <= 1'b1;
      if (look_done_i) begin
        looked_q <= 1'b1;
        page_q <= look_page_i;
      end
      if (pte_done_i) begin
        read_q <= 1'b1;
        empty_q <= pte_found_i == '0;
        denied_q <= pte_result_i != PteChanged;
      end
      full_q <= Orders & orders_to(page_q.granule);
      may_q <= Orders & soon_i[region] &
          orders_to((level_q == '0 && page_q.granule >= group_order_t'(MegaOrder)) ? group_order_t'(MegaOrder - 1) : page_q.granule);
      may_q[0] <= 1'b1;
      at_q <= '0;
    end
    has_q <= stock_valid_i[region];
    if (state_q == Judge) begin
      end_q <= end_d;
      pick_q <= pick;
      order_q <= order_number(pick);
      offset_q <= offset;
      last_at_q <= pick[MegaOrder] ? '0 : at_t'(offset);
      wide_q <= !pick[MegaOrder] && (pick >> TogetherBits) != '0 && !pick[0];
      less_q <= (full_q & ~(pick | (pick - 1'b1))) != '0;
      // 2 MiB: a page of a walk that is a level shorter.
      if (pick[MegaOrder]) level_q <= level_q - 1'b1;
    end
    if (state_q == Probed && pte_done_i) begin
      at_q <= here_mapped ? '0 : at_next;
      if (here_mapped) may_q <= may_q & ~pick_q;
      if (pte_result_i != PteChanged) end_q <= Refused;
    end
    if (lost) end_q <= NoFrame;
    if (state_q == Take) frame_q <= frame;
    if (state_q == Answer) begin
      leaf_q <= 1'b1;
      at_q <= '0;
      step_q <= '0;
    end
    if (state_q == Place) begin
      value_q <= leaf_q ? leaf : pointer;
      // In the table that is missing, or, of the last, in the one that the walk ended at.
      place_q <= {here, index};
      if (leaf_q ? level_q == '0 : step_q + 3'd1 == level_q) begin
        place_q <= leaf_q ? in_group : entry_q;
      end
      last_q <= leaf_q ? last_leaf && level_q == '0 : step_q + 3'd1 == level_q;
      leaf_q <= leaf_q && !last_leaf;
      together_q <= leaf_q && wide_q;
      at_q <= at_next;
      if (!leaf_q) step_q <= step_q + 1'b1;
    end
    // What is left of the tables moves to the front.
    if (state_q == Stored && pte_done_i && state_d == Idle) begin
      for (int unsigned t = 0; t < Tables; t++) begin
        for (int unsigned s = 1; s <= Tables; s++) if (level_q == 3'(s) && t + s < Tables) table_q[t] <= table_q[t+s];
      end
    end
  end
  assign busy_o = state_q inside {Place, Store, Stored};
  assign idle_o = state_q == Idle && !same_q;
  assign lack_o = lack_q;
  assign lacks_o = lack_q != '0 || table_lack_q != '0;

  logic unused;
  assign unused = ^{wake_q.ok, same_req_q};

  `GW_INVARIANT(TakesAreOffered_A, (stock_take_o & ~stock_valid_i) == '0)
  `GW_INVARIANT(LevelIsBuilt_A, !req_valid_i || level_i <= 3'(Tables))
  `GW_ASSERT(AnswerStable_A, ans_valid_o && !ans_ready_i |=> ans_valid_o && $stable(ans_o))
  `GW_INVARIANT(OneAnswer_A, !(same_q && state_q inside {Look, Judge, Probe, Probed, Take, Answer}))
  `GW_COVER(SameWhileStored_C, same_q && busy_o)
  `GW_COVER(Again_C, state_q == Take && end_q == Again)
  `GW_COVER(NoTable_C, state_q == Take && end_q == NoTable)
  `GW_COVER(NoFrame_C, state_q == Take && end_q == NoFrame)
  `GW_COVER(SmallerThere_C, state_q == Probed && pte_done_i && here_mapped)
  `GW_COVER(LinkLast_C, state_q == Store && last_q && level_q == 3'(Tables))

endmodule
