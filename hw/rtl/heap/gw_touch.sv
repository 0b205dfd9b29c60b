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
// - A read: ok, not cacheable, with the zero frame; nothing is written. A write: ok with a clean frame, or, if the allocation's granule
//   is 2**BigOrder or more, with a group of as many, naturally aligned (Svnapot). Its entries have A and D.
// - No clean frame, of the region or for tables: parked on ParkFirst + region. That is woken when there is one, and when a
//   context is written: whoever asks again then is told what holds.
// - Missing tables are clean frames of region TableRegion, of which as many as a walk can need are kept here. A table is linked when
//   what is in it was stored.
// - The answer does not wait for the entries; the next request outside of it does. busy_o: what was answered is not all stored yet.
// - Latency: the answer comes 4 cycles behind the later one of the two looks. Stored: commands of gw_pte_unit, 1 or, of a group,
//   2**BigOrder / Together, and one a table, 1 cycle between them.
// - lacks_o: somebody parked for want of a frame, and there has been none since.
// - Memory refused an entry (broken_o): the page may be given a second frame; its context must end.
`include "gw_assert.svh"

module gw_touch #(
  /// Memories, 1 to 8.
  parameter int unsigned Regions = 1,
  /// Tables of a walk, 3 to 5.
  parameter int unsigned Levels = 4,
  /// log2 of the frames of a large group: 64 KiB.
  localparam int unsigned BigOrder = 4,
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
  /// gw_frames: single frames, and groups.
  input  logic [Regions-1:0][1:0] stock_valid_i,
  input  gw_pkg::ppn_t [Regions-1:0][1:0] stock_frame_i,
  output logic [Regions-1:0][1:0] stock_take_o,
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

  typedef enum logic [2:0] {
    Idle,
    Look,     // both looks
    Judge,    // what it is; the stock that it needs
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
  logic big_q, has_frame_q;
  idx_t region;
  assign region = (Regions > 1) ? idx_t'(page_q.region) : '0;
  always_comb begin
    if (!page_q.live || (req_q.write && !page_q.write)) end_d = Fault;
    else if (denied_q) end_d = Refused;
    else if (!empty_q) end_d = Again;
    else if (!req_q.write) end_d = Zero;
    else if (tables_q < level_q) end_d = NoTable;
    else end_d = has_frame_q ? Given : NoFrame;
  end
  ppn_t frame_q;
  logic take, lost;  // the stock may have gone back since it was seen
  assign take = state_q == Take && end_q == Given && stock_valid_i[region][big_q];
  assign lost = state_q == Take && end_q == Given && !stock_valid_i[region][big_q];
  always_comb begin
    stock_take_o = '0;
    stock_take_o[TableRegion][0] = refill;
    if (take) stock_take_o[region][big_q] = 1'b1;
  end

  // What was given last: its neighbours in a group, and who asked before it was known, come right behind.
  typedef struct packed {
    xlate_req_t req;
    ppn_t       ppn;
    logic       big;
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
    ans_o.order = (end_q == Given && big_q) ? page_order_t'(BigOrder) : '0;
    ans_o.cluster = cluster_t'(1) << req_q.vpn[ClusterShift-1:0];
    ans_o.ppn = zero_i;
    if (end_q == Given) ans_o.ppn = {frame_q[PpnWidth-1:BigOrder], big_q ? req_q.vpn[BigOrder-1:0] : frame_q[BigOrder-1:0]};
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
      ans_o.order = given_q.big ? page_order_t'(BigOrder) : '0;
      ans_o.cluster = cluster_t'(1) << same_req_q.vpn[ClusterShift-1:0];
      ans_o.ppn = {given_q.ppn[PpnWidth-1:BigOrder], given_q.big ? same_req_q.vpn[BigOrder-1:0] : given_q.ppn[BigOrder-1:0]};
      {ans_o.fault, ans_o.parked, ans_o.cause} = '0;
    end
  end
  assign ans_valid_o = state_q == Answer || same_q;
  assign req_ready_o = !same_q && (state_q == Idle || (same && busy_o));

  assign gives_o = state_q == Answer && ans_ready_i && end_q == Given;
  assign same = given_valid_q && req_i.ctx == given_q.req.ctx && req_i.vpn[VpnWidth-1:BigOrder] == given_q.req.vpn[VpnWidth-1:BigOrder] &&
      (given_q.big || req_i.vpn[BigOrder-1:0] == given_q.req.vpn[BigOrder-1:0]);
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
    if (gives_o) given_q <= '{req: req_q, ppn: ans_o.ppn, big: big_q};
  end

  // Entries: the leaves, then a pointer in each table, the link last.
  logic leaf_q, last_leaf, last_q, together_q;
  logic [BigOrder-1:0] at_q;
  logic [2:0] step_q;  // level of the table that is pointed to
  logic [EntryWidth-1:0] place_q;
  logic [63:0] value_q;
  ppn_t leaf_frame;
  logic [63:0] leaf, pointer;
  logic [8:0] index;
  ppn_t here, below;  // the table the entry is in, and the one that it points to
  assign last_leaf = !big_q || at_q == BigOrder'(2 ** BigOrder - Together);
  assign leaf_frame = big_q ? {frame_q[PpnWidth-1:BigOrder], 4'b1000} : frame_q;
  always_comb begin
    leaf = 64'(leaf_frame) << PtePpnLsb;
    leaf[PteV] = 1'b1;
    leaf[PteR] = 1'b1;
    leaf[PteW] = 1'b1;
    leaf[PteU] = 1'b1;
    leaf[PteA] = 1'b1;
    leaf[PteD] = 1'b1;
    leaf[PteN] = big_q;
    below = '0;
    here = '0;
    index = req_q.vpn[8:0];
    if (big_q) index[BigOrder-1:0] = at_q;
    for (int unsigned t = 0; t < Tables; t++) begin
      if (!leaf_q && step_q == 3'(t)) begin
        below = table_q[t];
        index = req_q.vpn[9*(t+1) +: 9];
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
      Judge: state_d = Take;
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
  assign pte_valid_o = state_q == Store || (state_q == Look && !sent_q);
  assign pte_group_o = state_q == Store && together_q;
  assign pte_entry_o = (state_q == Store) ? place_q : entry_q;
  // No entry is all ones: that is a read.
  assign pte_expected_o = (state_q == Store) ? '0 : '1;
  assign pte_wanted_o = (state_q == Store) ? value_q : '1;

  // Wake-ups: what was lacked by whom is parked on a region.
  logic [Regions-1:0] again_q, table_lack_q;
  logic [Regions-1:0][1:0] lack_q;
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
      due[r] = again_q[r] || (lack_q[r] & stock_valid_i[r]) != '0 || (table_lack_q[r] && tables_q == 3'(Tables));
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
      broken_o <= 1'b0;
    end else begin
      state_q <= state_d;
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
          if (end_q == NoFrame) lack_q[r][big_q] <= 1'b1;
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
      big_q <= page_q.granule >= group_order_t'(BigOrder);
      has_frame_q <= stock_valid_i[region][page_q.granule >= group_order_t'(BigOrder)];
    end
    if (state_q == Judge) end_q <= end_d;
    if (lost) end_q <= NoFrame;
    if (state_q == Take) frame_q <= stock_frame_i[region][big_q];
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
        place_q <= entry_q;
        if (leaf_q && big_q) place_q[BigOrder-1:0] <= at_q;
      end
      last_q <= leaf_q ? last_leaf && level_q == '0 : step_q + 3'd1 == level_q;
      leaf_q <= leaf_q && !last_leaf;
      together_q <= leaf_q && big_q;
      at_q <= at_q + BigOrder'(Together);
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
  assign lacks_o = lack_q != '0 || table_lack_q != '0;

  logic unused;
  assign unused = ^{page_q.granule, wake_q.ok, same_req_q};

  `GW_INVARIANT(TakesAreOffered_A, (stock_take_o & ~stock_valid_i) == '0)
  `GW_INVARIANT(LevelIsBuilt_A, !req_valid_i || level_i <= 3'(Tables))
  `GW_ASSERT(AnswerStable_A, ans_valid_o && !ans_ready_i |=> ans_valid_o && $stable(ans_o))
  `GW_INVARIANT(OneAnswer_A, !(same_q && state_q inside {Look, Judge, Take, Answer}))
  `GW_COVER(SameWhileStored_C, same_q && busy_o)
  `GW_COVER(Again_C, state_q == Take && end_q == Again)
  `GW_COVER(NoTable_C, state_q == Take && end_q == NoTable)
  `GW_COVER(NoFrame_C, state_q == Take && end_q == NoFrame)
  `GW_COVER(LinkLast_C, state_q == Store && last_q && level_q == 3'(Tables))

endmodule
