// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Takes back the pages that a free or a shrink left behind: their entries are cleared, what was known of them is invalidated, and their
// frames, and the tables that nobody else needs, are given back as dirty.
//
//   job ─> settle ─> walk down to the edges of the range ─> clear an entry ─┐ as often as there are entries
//                                                                          v
//          job done <─ settle <─────────── frames given back <─ fence <─ invalidate      (Units of them at a time)
//
// Contract
// - A job {ctx, region, granule, first, from, to}: pages first + from to first + to - 1. `from` is rounded up to the largest group that the
//   granule may have, because a group stays as long as one of its pages is live. `to` ends at a table, or at a small slot.
// - An entry that is all inside the range is cleared: one that points to a table takes all below it. Each is
//   cleared before the invalidation, nothing that it led to is given back before the end of the fence, and each frame once. Nothing
//   outside the range is changed.
// - settle_o stands until settle_done_i: all that gw_touch was asked before is answered, and stored. Before the first entry is read,
//   and before a frame is given: who saw a table that is taken back stores nothing in it.
// - job_done_o, a pulse: all that is told above is over. One job at a time; nothing is asked of anybody without one.
// - Memory that refuses, or entries that gw_touch does not write (broken_o): what cannot be reached is not given back, ever; an entry that
//   cannot be cleared keeps its frame. The job ends.
// - Reads: one of 64 bytes at a time. An entry that is cleared costs a command of gw_pte_unit; a table that is taken back 64 reads, and 3
//   cycles an entry that is not empty, a give of gw_frames a frame or group, and one for the table.
`include "gw_assert.svh"

module gw_reclaim #(
  /// Tables of a walk, 3 to 5: those of the widest mode.
  parameter int unsigned Levels = 4,
  /// Orders of groups, as in gw_touch.
  parameter gw_pkg::group_orders_t Orders = 10'h011,
  /// Where tables are.
  parameter int unsigned TableRegion = 0,
  /// Cleared entries that wait for one fence, >= 2.
  parameter int unsigned Units = 32,
  /// Derived: bits of an entry's address.
  localparam int unsigned EntryWidth = gw_pkg::PaWidth - $clog2(gw_spec_pkg::PtEntryBytes)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    job_valid_i,
  output logic                    job_ready_o,
  input  gw_pkg::heap_job_t       job_i,
  output logic                    job_done_o,
  /// The job's context, as it is now.
  output gw_pkg::ctx_id_t         ctx_id_o,
  input  gw_pkg::ctx_t            ctx_i,
  output logic                    settle_o,
  input  logic                    settle_done_i,
  /// Invalidation, then a fence behind it: fence_o stands until fence_done_i.
  output logic                    inval_valid_o,
  input  logic                    inval_ready_i,
  output gw_pkg::inval_t          inval_o,
  output logic                    fence_o,
  input  logic                    fence_done_i,
  /// gw_pte_unit.
  output logic                    pte_valid_o,
  input  logic                    pte_ready_i,
  output logic [EntryWidth-1:0]   pte_entry_o,
  output logic [63:0]             pte_expected_o,
  output logic [63:0]             pte_wanted_o,
  input  logic                    pte_done_i,
  input  gw_pkg::pte_result_e     pte_result_i,
  input  logic [63:0]             pte_found_i,
  /// gw_frames.
  output logic                    cmd_valid_o,
  input  logic                    cmd_ready_i,
  output gw_pkg::frames_cmd_t     cmd_o,
  input  logic                    rsp_valid_i,
  input  gw_pkg::frames_rsp_t     rsp_i,
  output gw_axi_pkg::bitmap_req_t m_req_o,
  input  gw_axi_pkg::bitmap_rsp_t m_rsp_i,
  /// A job is under way.
  output logic                    busy_o,
  /// Pulse: a group was given back; its order.
  output logic                    event_o,
  output gw_pkg::group_order_t    event_order_o,
  output logic                    broken_o
);

  import gw_pkg::*;
  import gw_axi_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned Tables = Levels - 1;  // that a walk can be below its root
  localparam int unsigned BeatShift = $clog2(PtBeatEntries);
  localparam int unsigned EntryBits = entry_bits(Orders);
  typedef logic [EntryBits-1:0] offset_t;
  localparam int unsigned UsageWidth = $clog2(Units + 1);
  typedef logic [PtLevelBits-1:0] index_t;
  typedef logic [2:0] level_t;

  if (Levels < 3 || Levels > 5) begin : gen_bad_levels
    $fatal(1, "gw_reclaim: Levels must be 3 to 5");
  end
  if (Units < 2) begin : gen_bad_units
    $fatal(1, "gw_reclaim: Units must be 2 or more");
  end
  if (!Orders[0]) begin : gen_bad_orders
    $fatal(1, "gw_reclaim: Orders must have order 0");
  end
  if (TableRegion >= 2 ** RegionWidth) begin : gen_bad_table_region
    $fatal(1, "gw_reclaim: TableRegion must be 0 to 7");
  end

  // What a cleared entry led to: a table of this level, or a group, as the entry says it; of a table of level 1: 2 MiB.
  typedef struct packed {
    logic   table_;
    logic   mega;
    logic   napot;
    level_t level;
    ppn_t   ppn;
  } unit_t;

  typedef enum logic [4:0] {
    Idle,
    Range,    // first and last page
    Settle,
    Root,     // from the top
    Place,    // the entry of the cursor: what it covers
    Aim,
    Fetch,    // its beat
    Fetched,
    Judge,
    Wipe,
    Wiped,
    Next,     // the cursor, behind the entry
    Name,     // what is invalidated
    Inval,
    Fence,
    Calm,     // settle again
    Unit,     // the next cleared entry
    Scan,     // a table below one
    Check,    // its beat
    Read,
    Reading,
    Pick,     // the first entry of the beat that is not empty
    Take,
    Give,
    Given,
    Done
  } state_e;
  state_e state_q, state_d;
  heap_job_t job_q;
  vpn_t cursor_q, last_q;
  vpn_t group_q;  // page bits inside of the job's largest groups

  function automatic logic is_pointer(logic [63:0] entry);
    return entry[PteV] && {entry[PteR], entry[PteW], entry[PteX]} == '0;
  endfunction
  function automatic logic is_leaf(logic [63:0] entry);
    logic known;
    known = 1'b0;
    for (int unsigned k = 1; k <= EntryBits; k++) begin
      if (Orders[k] && offset_t'(entry[PtePpnLsb +: EntryBits] << (EntryBits - k)) == offset_t'(1 << (EntryBits - 1))) known = 1'b1;
    end
    return entry[PteV] && (entry[PteR] || entry[PteX]) && (!entry[PteN] || known);
  endfunction
  function automatic logic is_mega(logic [63:0] entry);
    return Orders[MegaOrder] && entry[PteV] && (entry[PteR] || entry[PteX]) && !entry[PteN] && entry[PtePpnLsb +: MegaOrder] == '0;
  endfunction
  function automatic logic leads(level_t level, logic [63:0] entry);
    return (level == '0) ? is_leaf(entry) : is_pointer(entry) || (level == level_t'(1) && is_mega(entry));
  endfunction
  // Page bits inside of a group, of the last bits of the frame number in its entries: it ends in as many, a 1 and zeros.
  function automatic offset_t offset(offset_t last);
    return last ^ (last - 1'b1);
  endfunction

  // The walk: where the cursor's entry is, and what it covers.
  level_t level_q, top;
  ppn_t table_q;
  vpn_t covered, entry_last_q;
  logic whole_q;
  index_t index_q;
  always_comb begin
    unique case (ctx_i.mode)
      4'd8: top = 3'd2;
      4'd9: top = 3'd3;
      default: top = 3'd4;
    endcase
  end
  always_comb begin
    covered = '0;
    for (int unsigned l = 1; l < Levels; l++) if (level_q == level_t'(l)) covered = vpn_t'((64'd1 << (PtLevelBits * l)) - 1);
  end

  // The beat that was read last, and the entry of it that is looked at.
  logic [PtBeatBytes*8-1:0] beat_q;
  logic [EntryWidth-1:0] want_q;
  logic [EntryWidth-BeatShift-1:0] beat_at_q;
  logic [PtBeatEntries-1:0] some_q;  // its entries that are not empty
  logic [63:0] entry, entry_q;
  index_t scan_index;
  logic [BeatShift-1:0] lane;
  logic reads, here, beat_valid_q;
  assign lane = want_q[BeatShift-1:0];
  always_comb begin
    entry = '0;
    for (int unsigned i = 0; i < PtBeatEntries; i++) if (lane == BeatShift'(i)) entry |= beat_q[64*i +: 64];
  end

  // Cleared entries that wait for the fence.
  unit_t unit_in, unit;
  logic unit_table_q;
  level_t unit_level_q;
  logic push, unit_valid, room;
  logic [UsageWidth-1:0] usage;
  gw_fifo #(
    .T    (unit_t),
    .Depth(Units)
  ) u_units (
    .clk_i,
    .rst_ni,
    .in_valid_i (push),
    .in_ready_o (),
    .in_data_i  (unit_in),
    .out_valid_o(unit_valid),
    .out_ready_i(state_q == Unit),
    .out_data_o (unit),
    .usage_o    (usage)
  );
  // All entries of a group go behind one fence, and its first one is what waits for it.
  assign room = 32'(usage) < Units;

  // An entry that is not what gw_touch writes at its level is cleared, and leads nowhere.
  logic leads_q, cleared_q, crosses, ends, grouped, first_q, last_of_q;
  assign grouped = level_q == '0 && entry_q[PteN];
  assign unit_in = '{
    table_: level_q != '0 && is_pointer(entry_q),
    mega: level_q == level_t'(1) && is_mega(entry_q),
    napot: grouped,
    level: level_q - 1'b1,
    ppn: entry_q[PtePpnLsb +: PpnWidth]
  };
  // The entry of a group: its first one, with which it goes back, or its last one. Known when it is cleared.
  always_ff @(posedge clk_i) begin
    first_q <= (index_q[EntryBits-1:0] & offset(entry_q[PtePpnLsb +: EntryBits])) == '0;
    last_of_q <= (index_q[EntryBits-1:0] | ~offset(entry_q[PtePpnLsb +: EntryBits])) == '1;
  end
  assign push = state_q == Wiped && pte_done_i && pte_result_i == PteStored && leads_q && (first_q || !grouped);
  assign ends = entry_last_q >= last_q;
  assign crosses = index_q == '1;

  // Tables below a cleared entry: one a level, and where in it.
  ppn_t [Tables-1:0] scan_table_q;
  index_t [Tables-1:0] scan_index_q;
  level_t scan_q;
  ppn_t scan_table;
  logic over_q;  // the table's last entry was looked at
  always_comb begin
    scan_table = '0;
    scan_index = '0;
    for (int unsigned l = 0; l < Tables; l++) begin
      if (scan_q == level_t'(l)) begin
        scan_table = scan_table_q[l];
        scan_index = scan_index_q[l];
      end
    end
  end
  // From the entry on.
  logic found, found_q;
  logic [BeatShift-1:0] found_lane, first_lane;
  assign first_lane = lane;
  always_comb begin
    found = 1'b0;
    found_lane = '0;
    for (int unsigned i = PtBeatEntries; i > 0; i--) begin
      if (i - 1 >= 32'(first_lane) && some_q[i-1]) begin
        found = 1'b1;
        found_lane = BeatShift'(i - 1);
      end
    end
  end
  logic [63:0] picked, picked_q;
  always_comb begin
    picked = '0;
    for (int unsigned i = 0; i < PtBeatEntries; i++) if (found_lane == BeatShift'(i)) picked |= beat_q[64*i +: 64];
  end
  index_t picked_index_q;

  // What goes back.
  ppn_t give_q;
  logic give_table_q, give_mega_q, give_napot_q;
  offset_t give_offset;
  group_order_t give_order;
  assign give_offset = offset(offset_t'(give_q));
  assign give_order = give_mega_q ? group_order_t'(MegaOrder) :
      give_napot_q ? order_number(largest_order(group_orders_t'(give_offset))) + 1'b1 : '0;
  assign cmd_valid_o = state_q == Give;
  assign cmd_o = '{
    give: 1'b1,
    dirty: 1'b1,
    region: give_table_q ? region_t'(TableRegion) : job_q.region,
    order: give_order,
    frame: give_q & ~(give_napot_q ? ppn_t'(give_offset) : '0)
  };
  assign event_o = state_q == Given && rsp_valid_i && rsp_i.ok;
  assign event_order_o = cmd_o.order;

  logic pick_leaf, pick_mega, pick_table, pick_tail;
  assign pick_tail = found_q && scan_q == '0 && is_leaf(picked_q) && picked_q[PteN] &&
      (picked_index_q[EntryBits-1:0] & offset(picked_q[PtePpnLsb +: EntryBits])) != '0;
  assign pick_mega = found_q && scan_q == level_t'(1) && is_mega(picked_q);
  assign pick_leaf = (found_q && scan_q == '0 && is_leaf(picked_q) && !pick_tail) || pick_mega;
  assign pick_table = found_q && scan_q != '0 && is_pointer(picked_q);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (job_valid_i) state_d = Range;
      Range: state_d = Settle;
      Settle: if (settle_done_i) state_d = (cursor_q > last_q || ctx_i.mode == '0) ? Done : Root;
      Root: state_d = Place;
      Place: state_d = Aim;
      Aim: state_d = Fetch;
      Fetch: begin
        if (here) state_d = Judge;
        else if (m_rsp_i.ar_ready) state_d = Fetched;
      end
      Fetched: if (m_rsp_i.r_valid) state_d = Judge;
      Judge: begin
        if (!some_q[lane]) state_d = Next;
        else if (whole_q) state_d = Wipe;
        else state_d = (level_q != '0 && is_pointer(entry)) ? Place : Next;
      end
      Wipe: if (pte_ready_i) state_d = Wiped;
      Wiped: begin
        // It changed meanwhile: what is there now.
        if (pte_done_i) state_d = (pte_result_i == PteChanged && pte_found_i != '0) ? Wipe : Next;
      end
      Next: begin
        if (ends) state_d = cleared_q ? Name : Done;
        else if (!room && (last_of_q || !grouped)) state_d = Name;
        else state_d = crosses ? Root : Place;
      end
      Name: state_d = Inval;
      Inval: if (inval_ready_i) state_d = Fence;
      Fence: if (fence_done_i) state_d = Calm;
      Calm: if (settle_done_i) state_d = Unit;
      Unit: begin
        if (!unit_valid) state_d = (cursor_q > last_q) ? Done : Root;
        else state_d = unit.table_ ? Scan : Give;
      end
      Scan: state_d = over_q ? Give : Check;
      Check: state_d = here ? Pick : Read;
      Read: if (m_rsp_i.ar_ready) state_d = Reading;
      Reading: if (m_rsp_i.r_valid) state_d = Pick;
      Pick: state_d = Take;
      Take: state_d = pick_leaf ? Give : Scan;
      Give: if (cmd_ready_i) state_d = Given;
      Given: begin
        // Behind a table of the unit itself, and a frame, comes the next unit.
        if (rsp_valid_i) state_d = (!unit_table_q || (give_table_q && scan_q == unit_level_q)) ? Unit : Scan;
      end
      default: state_d = Idle;
    endcase
  end

  assign job_ready_o = state_q == Idle;
  assign job_done_o = state_q == Done;
  assign busy_o = state_q != Idle;
  assign ctx_id_o = job_q.ctx;
  assign settle_o = state_q inside {Settle, Calm};
  assign fence_o = state_q == Fence;
  assign inval_valid_o = state_q == Inval;
  // The naturally aligned range around what is left of the job: nothing of before it is taken back, but may be there. Above 1 GiB its
  // context, as for commands.
  vpn_t apart_q;
  page_order_t inval_order;
  always_comb begin
    inval_order = '0;
    for (int unsigned b = 0; b < 32'(MaxPageOrder); b++) if (apart_q[b]) inval_order = page_order_t'(b + 1);
  end
  logic wide;
  assign wide = apart_q >> MaxPageOrder != '0;
  always_ff @(posedge clk_i) begin
    inval_o <= '{
        scope: wide ? InvalContext : InvalRange,
        ctx: job_q.ctx,
        vpn: wide ? '0 : last_q & ~((vpn_t'(1) << inval_order) - 1'b1),
        order: wide ? '0 : inval_order
    };
  end

  assign pte_valid_o = state_q == Wipe;
  assign pte_entry_o = {table_q, index_q};
  assign pte_expected_o = entry_q;
  assign pte_wanted_o = '0;

  assign here = beat_valid_q && beat_at_q == want_q[EntryWidth-1:BeatShift];
  assign reads = state_q == Read || (state_q == Fetch && !here);
  always_comb begin
    m_req_o = '0;
    m_req_o.ar_valid = reads;
    m_req_o.ar.addr = 64'({want_q[EntryWidth-1:BeatShift], 6'd0});
    m_req_o.ar.size = 3'($clog2(PtBeatBytes));
    m_req_o.ar.burst = BurstIncr;
    m_req_o.ar.cache = 4'b0011;
    m_req_o.ar.prot = 3'b001;  // privileged data
    m_req_o.r_ready = 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      beat_valid_q <= 1'b0;
      broken_o <= 1'b0;
    end else begin
      state_q <= state_d;
      // What was read is not known any more when others may have written it.
      beat_valid_q <= (beat_valid_q || m_rsp_i.r_valid) && !(state_q inside {Idle, Calm, Unit}) && !reads;
      if (m_rsp_i.r_valid && m_rsp_i.r.resp != RespOkay) broken_o <= 1'b1;
      if (state_q == Wiped && pte_done_i && (pte_result_i == PteDenied || (pte_result_i == PteStored && !leads_q))) broken_o <= 1'b1;
      if (push && !room) broken_o <= 1'b1;
      if (state_q == Judge && some_q[lane] && !whole_q && state_d == Next) broken_o <= 1'b1;
      if (state_q == Take && found_q && !pick_leaf && !pick_tail && !pick_table) broken_o <= 1'b1;
      if (state_q == Given && rsp_valid_i && !rsp_i.ok) broken_o <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Idle: begin
        job_q <= job_i;
        group_q <= vpn_t'(largest_order(Orders & orders_to(job_i.granule))) - 1'b1;
        cleared_q <= 1'b0;
      end
      Range: begin
        cursor_q <= job_q.first + ((job_q.from + group_q) & ~group_q);
        last_q <= job_q.first + job_q.to - 1'b1;
      end
      Root: begin
        level_q <= top;
        table_q <= ctx_i.root;
      end
      Place: begin
        entry_last_q <= cursor_q | covered;
        whole_q <= (cursor_q & covered) == '0 && (cursor_q | covered) <= last_q;
        for (int unsigned l = 0; l < Levels; l++) if (level_q == level_t'(l)) index_q <= cursor_q[PtLevelBits*l +: PtLevelBits];
      end
      Judge: begin
        entry_q <= entry;
        leads_q <= leads(level_q, entry);
        if (!whole_q && state_d == Place) begin
          table_q <= entry[PtePpnLsb +: PpnWidth];
          level_q <= level_q - 1'b1;
        end
      end
      Wiped: if (pte_done_i) begin
        entry_q <= pte_found_i;
        leads_q <= leads(level_q, pte_found_i);
        if (pte_result_i == PteStored) cleared_q <= 1'b1;
      end
      Next: begin
        cursor_q <= entry_last_q + 1'b1;
        apart_q <= (cursor_q ^ last_q) | apart_q;
      end
      Unit: begin
        unit_table_q <= unit.table_;
        unit_level_q <= unit.level;
        give_q <= unit.ppn;
        give_mega_q <= unit.mega;
        give_napot_q <= unit.napot;
        give_table_q <= 1'b0;
        scan_q <= unit.level;
        over_q <= 1'b0;
        cleared_q <= 1'b0;
        for (int unsigned l = 0; l < Tables; l++) begin
          if (unit.level == level_t'(l)) begin
            scan_table_q[l] <= unit.ppn;
            scan_index_q[l] <= '0;
          end
        end
      end
      Scan: begin
        if (over_q) begin
          give_q <= scan_table;
          give_mega_q <= 1'b0;
          give_napot_q <= 1'b0;
          give_table_q <= 1'b1;
        end
      end
      Pick: begin
        found_q <= found;
        picked_q <= picked;
        // The beat's last, if it has none: behind it comes the next one.
        picked_index_q <= {scan_index[PtLevelBits-1:BeatShift], found ? found_lane : BeatShift'('1)};
      end
      Take: begin
        for (int unsigned l = 0; l < Tables; l++) begin
          if (scan_q == level_t'(l)) begin
            scan_index_q[l] <= picked_index_q + 1'b1;
          end
          if (pick_table && scan_q == level_t'(l + 1)) begin
            scan_table_q[l] <= picked_q[PtePpnLsb +: PpnWidth];
            scan_index_q[l] <= '0;
          end
        end
        over_q <= picked_index_q == '1;
        if (pick_table) begin
          over_q <= 1'b0;
          scan_q <= scan_q - 1'b1;
        end
        give_q <= picked_q[PtePpnLsb +: PpnWidth];
        give_mega_q <= pick_mega;
        give_napot_q <= picked_q[PteN];
        give_table_q <= 1'b0;
      end
      default: ;
    endcase
    if (state_q inside {Idle, Unit}) apart_q <= '0;
    // A table is given: back to where it was found.
    if (state_q == Given && rsp_valid_i && give_table_q) begin
      scan_q <= scan_q + 1'b1;
      over_q <= 1'b0;
      for (int unsigned l = 1; l < Tables; l++) begin
        // It was in the last entry of the table above.
        if (scan_q == level_t'(l - 1) && scan_index_q[l] == '0) over_q <= 1'b1;
      end
    end
    if (state_q == Aim) want_q <= {table_q, index_q};
    if (state_q == Scan) want_q <= {scan_table, scan_index};
    if (reads && m_rsp_i.ar_ready) beat_at_q <= want_q[EntryWidth-1:BeatShift];
    if (m_rsp_i.r_valid) begin
      beat_q <= m_rsp_i.r.data;
      for (int unsigned i = 0; i < PtBeatEntries; i++) begin
        some_q[i] <= m_rsp_i.r.data[64*i +: 64] != '0 && m_rsp_i.r.resp == RespOkay;
      end
    end
  end

  logic unused;
  assign unused = ^{ctx_i.sade, ctx_i.en_pri, job_q.to, job_q.from, job_q.first, job_q.granule, rsp_i.frame, m_rsp_i.r.id, m_rsp_i.r.last,
                    m_rsp_i.b, m_rsp_i.b_valid, m_rsp_i.aw_ready, m_rsp_i.w_ready};

  `GW_INVARIANT(UnitsHaveRoom_A, !push || 32'(usage) < Units)
  `GW_INVARIANT(NothingBeforeTheFence_A, !cmd_valid_o || !cleared_q)
  `GW_ASSERT(EntryStable_A, pte_valid_o && !pte_ready_i |=> pte_valid_o && $stable({pte_entry_o, pte_expected_o}))
  `GW_COVER(SeveralFences_C, state_q == Next && state_d == Name && !ends)
  `GW_COVER(ChangedMeanwhile_C, state_q == Wiped && state_d == Wipe)
  `GW_COVER(LastOfTheTableAbove_C, state_q == Given && give_table_q && over_q && scan_q != unit_level_q)

endmodule
