// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Keeps the walker's answers in the L2 TLB and clears what invalidations drop: the only writer of its memories.
//
// Contract
// - An answer that is cacheable and no fault is queued; it is dropped (`event_o.drop`) if the queue is full, and all that
//   wait or are under way are dropped by an invalidation pulse. Never waits for, or delays, a lookup.
// - A single page takes 2 cycles, 3 if there is an entry of its cluster that it may join; pages of a cluster 3 when nothing is
//   new and up to 3 + SingleSets otherwise, 2 more if one of their pages stands elsewhere by now; larger pages
//   2; between two answers the sweep of an invalidation gets a set in, and all cycles without answers.
// - In any context at most one entry of a single page or cluster translates a page, and at most one of each larger size:
//   a page that comes again is cleared where it was before it is written elsewhere, or joins its cluster's entry.
// - The entry written is an empty way, else the tree's choice; it is marked as used.
`include "gw_assert.svh"

module gw_l2_fill #(
  parameter int unsigned Sets = 256,
  parameter int unsigned Ways = 4,
  parameter gw_pkg::l2_policy_e Policy = gw_pkg::L2Hashed,
  /// Keep what an answer tells about neighbouring pages.
  parameter bit Clusters = 1'b1,
  /// There are 64 KiB pages.
  parameter bit Svnapot = 1'b1,
  /// Answers that wait to be kept, >= 1.
  parameter int unsigned Depth = 64,
  /// Derived.
  localparam int unsigned SetWidth = $clog2(Sets),
  localparam int unsigned WayWidth = (Ways > 1) ? $clog2(Ways) : 1
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       rsp_valid_i,
  input  gw_pkg::xlate_rsp_t         rsp_i,
  input  logic                       inval_valid_i,
  // Sweep
  input  logic                       sweep_valid_i,
  output logic                       sweep_take_o,
  input  logic [SetWidth-1:0]        sweep_set_i,
  input  logic [Ways-1:0]            sweep_drop_i,
  // Memories: a set read in one cycle is there, and may be written, in the next; so is the frame in a way of set `wset_o`.
  output logic                       re_o,
  output logic [SetWidth-1:0]        set_o,
  input  gw_pkg::l2_tag_t [Ways-1:0] tags_i,
  output logic [WayWidth-1:0]        ppn_way_o,
  input  gw_pkg::ppn_t               ppn_i,
  output logic [Ways-1:0]            we_o,
  output logic [SetWidth-1:0]        wset_o,
  output gw_pkg::l2_tag_t [Ways-1:0] wtags_o,
  output logic                       ppn_we_o,
  output logic [WayWidth-1:0]        ppn_wway_o,
  output gw_pkg::ppn_t               ppn_wdata_o,
  // Replacement of set `wset_o`
  input  logic [WayWidth-1:0]        victim_i,
  output logic                       touch_o,
  output logic [WayWidth-1:0]        touch_way_o,
  /// An answer waits or is under way, or a set is being swept.
  output logic                       busy_o,
  /// fill, merge, evict, drop, invalidated.
  output gw_pkg::l2_event_t          event_o
);

  import gw_pkg::*;

  // Sets in which the single pages of one cluster stand: those of its first pages.
  localparam int unsigned SingleSets = (Policy == L2Hashed) ? 4 : (Policy == L2Rehash) ? ClusterPages : 1;

  typedef logic [Ways-1:0] ways_t;
  typedef logic [WayWidth-1:0] way_t;

  function automatic ways_t lowest(ways_t ways);
    return ways & (~ways + 1'b1);
  endfunction
  function automatic way_t encode(ways_t onehot);
    encode = '0;
    for (int unsigned w = 0; w < Ways; w++) if (onehot[w]) encode |= way_t'(w);
  endfunction

  // Answers that wait.
  l2_item_t head, item_q;
  logic fill_waits, head_take, dropped;
  gw_l2_fill_queue #(
    .Clusters(Clusters),
    .Svnapot (Svnapot),
    .Depth   (Depth)
  ) u_queue (
    .clk_i,
    .rst_ni,
    .rsp_valid_i,
    .rsp_i,
    .inval_valid_i,
    .valid_o  (fill_waits),
    .take_i   (head_take),
    .item_o   (head),
    .dropped_o(dropped)
  );

  // What was read in the cycle before and is acted on in this one.
  typedef enum logic [3:0] {
    Idle,
    Sweep,    // a set; clears what invalidations drop
    Home,     // the set of a 2 MiB or 1 GiB page; written
    Cluster,  // the cluster's set; cleared of pages that are elsewhere now
    Compare,  // a set with single pages, and the frame of the cluster's entry; whether it is the item's is noted
    Singles,  // a set with single pages of the cluster; cleared, or the single written
    Clear,    // nothing read: the cluster's entry lies elsewhere, its pages are cleared
    Again,    // nothing read: from the cluster's set anew
    Final     // nothing read: the cluster's entry is written
  } state_e;
  state_e state_q, state_d, step;

  logic [SetWidth-1:0] set_q;           // the set read
  logic [SetWidth-1:0] cluster_set_q;
  logic [ClusterShift-1:0] single_q;    // Singles: a page that has this set
  logic first_q, base_equal_q;
  logic cand_valid_q, victim_valid_q;   // an entry of the cluster that the pages may join; else where they go
  way_t cand_way_q, victim_way_q;
  cluster_t cand_pages_q;

  // Sets of the item's cluster, and of the head of the queue.
  vpn_t index_vpn;
  // verilator lint_off UNUSEDSIGNAL
  logic [L2Sizes-1:0][SetWidth-1:0] index_set;  // only that of single pages is needed
  // verilator lint_on UNUSEDSIGNAL
  logic [L2Sizes-1:0][SetWidth-1:0] head_set;
  logic [ClusterShift-1:0] single_d;
  gw_l2_index #(
    .Sets  (Sets),
    .Policy(Policy)
  ) u_index (
    .vpn_i(index_vpn),
    .set_o(index_set)
  );
  assign index_vpn = {item_q.tag.vpn, single_d};

  gw_l2_index #(
    .Sets  (Sets),
    .Policy(Policy)
  ) u_head_index (
    .vpn_i({head.tag.vpn, head.page}),
    .set_o(head_set)
  );

  // Comparison of the set read with the item.
  ways_t same_tag, same_size, same_kind, overlap, alike, empty;
  always_comb begin
    {same_tag, same_size, same_kind, overlap, alike, empty} = '0;
    for (int unsigned w = 0; w < Ways; w++) begin
      if (state_q == Home || state_q == Cluster || state_q == Singles) begin
        empty[w] = !tags_i[w].valid;
        same_tag[w] = tags_i[w].valid && tags_i[w].vpn == item_q.tag.vpn &&
            (tags_i[w].is_global || item_q.tag.is_global || tags_i[w].ctx == item_q.tag.ctx);
        same_size[w] = same_tag[w] && tags_i[w].size == item_q.tag.size;
        same_kind[w] = same_tag[w] && tags_i[w].size == ((state_q == Cluster) ? L2Cluster : L2Single);
        overlap[w] = same_kind[w] && (tags_i[w].pages & item_q.tag.pages) != '0;
        alike[w] = same_kind[w] && tags_i[w].is_global == item_q.tag.is_global && tags_i[w].perm == item_q.tag.perm &&
            tags_i[w].ctx == item_q.tag.ctx;
      end
    end
  end

  // Where a new entry goes: an entry of the same page, an empty way, the least used.
  ways_t replaced, choice;
  way_t choice_way;
  logic choice_valid;
  assign replaced = (state_q == Home) ? same_size : (state_q == Singles) ? overlap : '0;
  always_comb begin
    choice = ways_t'(1) << victim_i;
    if (replaced != '0) choice = lowest(replaced);
    else if (empty != '0) choice = lowest(empty);
  end
  assign choice_way = encode(choice);
  assign choice_valid = (choice & ~empty & ~replaced) != '0;

  // Cluster: all that overlap go, but one that may turn out to be equal.
  ways_t candidates, cand, conflict;
  assign candidates = ((overlap & alike) != '0) ? overlap & alike : Clusters ? alike : '0;
  assign cand = lowest(candidates);
  assign conflict = overlap & ~cand;

  // Singles.
  logic nothing_new, elsewhere, is_single, last_single, write_single;
  assign nothing_new = base_equal_q && (item_q.tag.pages & ~cand_pages_q) == '0;
  assign elsewhere = cand_valid_q && !base_equal_q && (item_q.tag.pages & cand_pages_q) != '0;
  assign is_single = item_q.tag.size == L2Single;
  assign last_single = is_single || single_q == ClusterShift'(SingleSets - 1);
  assign write_single = is_single && !base_equal_q;

  // Actions and the next step of the item.
  ways_t clear_ways, write_way;
  cluster_t keep_pages, new_pages;
  logic finished, write_new;
  always_comb begin
    step = Idle;
    finished = 1'b0;
    clear_ways = '0;
    keep_pages = '0;
    write_way = '0;
    write_new = 1'b0;
    new_pages = item_q.tag.pages;
    single_d = single_q;
    unique case (state_q)
      Idle: finished = 1'b1;
      Sweep: begin
        finished = 1'b1;
        clear_ways = sweep_drop_i;
      end
      Home: begin
        finished = 1'b1;
        clear_ways = same_size;
        write_way = choice;
        write_new = 1'b1;
      end
      Cluster: begin
        single_d = is_single ? item_q.page : '0;
        clear_ways = conflict;
        keep_pages = ~item_q.tag.pages;
        step = (conflict != '0) ? Again : (cand != '0) ? Compare : Singles;
      end
      // The frame goes into a register first: from the memory through the comparison to its next address is too far.
      Compare: step = Singles;
      Singles: begin
        single_d = single_q + 1'b1;
        if (first_q && nothing_new) finished = 1'b1;
        else if (first_q && elsewhere) step = Clear;
        else begin
          clear_ways = overlap;
          if (write_single) begin
            finished = 1'b1;
            write_way = choice;
            write_new = 1'b1;
          end else begin
            step = last_single ? Final : Singles;
          end
        end
      end
      Clear: begin
        clear_ways = ways_t'(1) << cand_way_q;
        keep_pages = ~item_q.tag.pages;
        step = Again;
      end
      Again: step = Cluster;
      default: begin  // Final
        finished = 1'b1;
        write_way = ways_t'(1) << (base_equal_q ? cand_way_q : victim_way_q);
        write_new = !base_equal_q;
        if (base_equal_q) new_pages |= cand_pages_q;
      end
    endcase
  end

  // The next task: an answer and a set of the sweep take turns. A set that is written in this cycle cannot be read yet.
  logic turn_q, sweep_next, is_large;
  logic [SetWidth-1:0] first_set;
  assign is_large = head.tag.size == L2Mega || head.tag.size == L2Giga;
  assign first_set = head_set[is_large ? head.tag.size : L2Cluster];
  assign sweep_next = sweep_valid_i && !(turn_q && fill_waits);
  assign sweep_take_o = finished && sweep_next && (we_o == '0 || sweep_set_i != wset_o);
  assign head_take = finished && !sweep_next && fill_waits && (we_o == '0 || first_set != wset_o);

  always_comb begin
    set_o = first_set;
    if (sweep_take_o) set_o = sweep_set_i;
    else if (!finished) set_o = (state_q == Again) ? cluster_set_q : index_set[L2Single];
  end
  assign re_o = state_d != Idle;
  assign ppn_way_o = encode(cand);

  always_comb begin
    state_d = step;
    if (sweep_take_o) state_d = Sweep;
    else if (head_take) state_d = is_large ? Home : Cluster;
  end

  // Writes.
  assign wset_o = (state_q == Clear || state_q == Final) ? cluster_set_q : set_q;
  l2_tag_t new_tag;
  always_comb begin
    new_tag = item_q.tag;
    new_tag.pages = new_pages;
    // The cluster's entry is not read again: what was left of it is known.
    for (int unsigned w = 0; w < Ways; w++) begin
      wtags_o[w] = (state_q == Clear) ? item_q.tag : tags_i[w];
      if (state_q == Clear) wtags_o[w].size = L2Cluster;
      wtags_o[w].pages = ((state_q == Clear) ? cand_pages_q : tags_i[w].pages) & keep_pages;
      wtags_o[w].valid = wtags_o[w].pages != '0;
      if (write_way[w]) begin
        wtags_o[w] = new_tag;
        wtags_o[w].size = (state_q == Final) ? L2Cluster : item_q.tag.size;
      end
    end
  end
  assign we_o = clear_ways | write_way;
  assign ppn_we_o = write_new;
  assign ppn_wway_o = encode(write_way);
  assign ppn_wdata_o = item_q.base;
  assign touch_o = write_way != '0;
  assign touch_way_o = encode(write_way);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      turn_q <= 1'b0;
    end else begin
      // What is under way is given up; a set read for the sweep may still be cleared.
      state_q <= (inval_valid_i && state_d != Sweep) ? Idle : state_d;
      if (sweep_take_o || head_take) turn_q <= sweep_take_o;
    end
  end

  always_ff @(posedge clk_i) begin
    set_q <= set_o;
    if (head_take) begin
      item_q <= head;
      cluster_set_q <= first_set;
    end
    if (state_q == Cluster) begin
      cand_valid_q <= cand != '0;
      cand_way_q <= encode(cand);
      victim_way_q <= choice_way;
      victim_valid_q <= choice_valid;
      for (int unsigned w = 0; w < Ways; w++) if (cand[w]) cand_pages_q <= tags_i[w].pages;
    end
    single_q <= single_d;
    first_q <= state_q == Cluster || state_q == Compare;
    if (state_q == Cluster) base_equal_q <= 1'b0;
    if (state_q == Compare) base_equal_q <= ppn_i == item_q.base;
  end

  assign busy_o = fill_waits || dropped || state_q != Idle;

  // Events. An answer under way, or taken in the pulse's cycle, is given up.
  always_comb begin
    event_o = '0;
    event_o.fill = write_new;
    event_o.merge = state_q == Final && base_equal_q;
    event_o.fill_ctx = item_q.tag.ctx;
    event_o.evict = write_new && ((state_q == Final) ? victim_valid_q : choice_valid);
    event_o.drop = dropped || (inval_valid_i && (head_take || !finished));
    if (state_q == Sweep) event_o.invalidated = 5'($countones(sweep_drop_i));
  end

  `GW_INVARIANT(OneWayWritten_A, $onehot0(write_way))
  `GW_COVER(Merge_C, event_o.merge)
  `GW_COVER(Evict_C, event_o.evict)
  `GW_COVER(Moved_C, state_q == Clear)

endmodule
