// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Keeps the walker's answers in the L2 TLB and clears what invalidations drop: the only writer of its memories.
//
// Contract
// - An answer that is cacheable and no fault is queued; it is dropped (`event_o.drop`) if the queue is full, and all that
//   wait or are under way are dropped by an invalidation pulse. Never waits for, or delays, a lookup.
// - A set is read in one cycle, compared with the answer in the second, written in the third. A single page takes 7 cycles, one
//   more if it joins its cluster's entry; pages of a cluster 7 when nothing is new and 9 + SingleSets otherwise (8 for one
//   set), 3 to 7 more if one of their pages stands elsewhere by now; larger pages 4.
// - Sweeps read a set a cycle. Between two answers that wait they get in `SweepBurst` sets and all cycles without answers.
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
  // Sweep: two cycles after a set was taken the ways that go.
  input  logic                       sweep_valid_i,
  output logic                       sweep_take_o,
  input  logic [SetWidth-1:0]        sweep_set_i,
  input  logic [Ways-1:0]            sweep_drop_i,
  // Memories: a set read in one cycle is there in the next, until the next read; so is a frame.
  output logic                       re_o,
  output logic [SetWidth-1:0]        set_o,
  input  gw_pkg::l2_tag_t [Ways-1:0] tags_i,
  output logic                       ppn_re_o,
  output logic [SetWidth-1:0]        ppn_set_o,
  output logic [WayWidth-1:0]        ppn_way_o,
  input  gw_pkg::ppn_t               ppn_i,
  output logic [Ways-1:0]            we_o,
  output logic [SetWidth-1:0]        wset_o,
  output gw_pkg::l2_tag_t [Ways-1:0] wtags_o,
  output logic                       ppn_we_o,
  output logic [WayWidth-1:0]        ppn_wway_o,
  output gw_pkg::ppn_t               ppn_wdata_o,
  // Replacement of the set that is compared
  output logic [SetWidth-1:0]        victim_set_o,
  input  logic [WayWidth-1:0]        victim_i,
  // A way of set `wset_o` is used
  output logic                       touch_o,
  output logic [WayWidth-1:0]        touch_way_o,
  /// An answer waits or is under way, or a set is being swept.
  output logic                       busy_o,
  /// fill, merge, evict, drop, invalidated.
  output gw_pkg::l2_event_t          event_o
);

  import gw_pkg::*;

  // Sets in which the single pages of one cluster stand: those of its first pages.
  localparam int unsigned PolicySets = (Policy == L2Hashed) ? 4 : (Policy == L2Rehash) ? ClusterPages : 1;
  localparam int unsigned SingleSets = (PolicySets < Sets) ? PolicySets : Sets;
  // Sets that a sweep may read before the next answer that waits.
  localparam int unsigned SweepBurst = 8;

  typedef logic [Ways-1:0] ways_t;
  typedef logic [WayWidth-1:0] way_t;

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

  // The item's sets.
  logic [L2Sizes-1:0][SetWidth-1:0] item_set;
  logic [ClusterShift-1:0] single_q;  // page of the cluster whose set is read next
  logic is_single;
  assign is_single = item_q.tag.size == L2Single;
  gw_l2_index #(
    .Sets  (Sets),
    .Policy(Policy)
  ) u_index (
    .vpn_i({item_q.tag.vpn, single_q}),
    .set_o(item_set)
  );

  // What is done next for the item.
  typedef enum logic [2:0] {
    Idle,
    ReadHome,     // the set of a 2 MiB or 1 GiB page
    ReadCluster,  // the cluster's set
    ReadSingle,   // the first set with single pages; beside it, the frame of the cluster's entry is compared
    ReadMore,     // further sets with single pages
    Wait,         // for what was read
    Clear,        // the cluster's entry lies elsewhere: its pages are cleared
    Final         // the cluster's entry is written
  } state_e;
  // What a set was read for.
  typedef enum logic [2:0] {
    None,
    Sweep,    // clears what invalidations drop
    Home,     // written
    Cluster,  // cleared of pages that are elsewhere now
    First,    // with single pages of the cluster: cleared, or the single written
    More      // cleared
  } op_e;

  state_e state_q, state_d;
  op_e read_op, compare_q, act_q;
  logic [SetWidth-1:0] compare_set_q, act_set_q, cluster_set_q;
  logic compare_last_q, act_last_q;
  logic read_frame_q, compare_frame_q, base_high_q, base_low_q, base_equal;
  logic cand_valid_q, victim_valid_q;  // an entry of the cluster that the pages may join; else where they go
  way_t cand_way_q, victim_way_q;
  cluster_t cand_pages_q;
  logic all_there_q, some_there_q;     // pages of the item in that entry

  // First cycle: a set is read.
  logic last_single, sweep_turn_q, head_large;
  logic [$clog2(SweepBurst)-1:0] burst_q;
  assign head_large = head.tag.size == L2Mega || head.tag.size == L2Giga;
  assign last_single = is_single || single_q == ClusterShift'(SingleSets - 1);
  // A sweep may pass no set that the item has read and not written yet.
  assign sweep_take_o = state_q == Idle && sweep_valid_i && (sweep_turn_q || !fill_waits);
  always_comb begin
    read_op = sweep_take_o ? Sweep : None;
    set_o = sweep_set_i;
    unique case (state_q)
      ReadHome: begin
        read_op = Home;
        set_o = (item_q.tag.size == L2Mega) ? item_set[L2Mega] : item_set[L2Giga];
      end
      ReadCluster: begin
        read_op = Cluster;
        set_o = item_set[L2Cluster];
      end
      ReadSingle: begin
        read_op = First;
        set_o = item_set[L2Single];
      end
      ReadMore: begin
        read_op = More;
        set_o = item_set[L2Single];
      end
      default: ;
    endcase
  end
  assign re_o = read_op != None;

  // Second and third cycle: the set's entries are compared with the item.
  ways_t same, overlap, rest, cand, conflict, choice;
  way_t choice_way;
  logic choice_valid;
  l2_size_e kind;
  assign kind = (compare_q == Home) ? item_q.tag.size : (compare_q == Cluster) ? L2Cluster : L2Single;
  assign victim_set_o = compare_set_q;
  gw_l2_fill_match #(
    .Ways    (Ways),
    .Clusters(Clusters)
  ) u_match (
    .clk_i,
    .kind_i        (kind),
    .item_i        (item_q.tag),
    .tags_i,
    .victim_i,
    .over_same_i   (act_q == Home),
    .over_overlap_i(act_q == First),
    .same_o        (same),
    .overlap_o     (overlap),
    .rest_o        (rest),
    .cand_o        (cand),
    .conflict_o    (conflict),
    .choice_o      (choice),
    .choice_way_o  (choice_way),
    .choice_valid_o(choice_valid)
  );

  assign base_equal = base_high_q && base_low_q;

  // Singles: all is known already; the cluster's entry has pages that are elsewhere now.
  logic nothing_new, elsewhere;
  assign nothing_new = base_equal && all_there_q;
  assign elsewhere = !base_equal && some_there_q;

  // Actions, and how the item goes on.
  ways_t clear_ways, write_way;
  cluster_t new_pages;
  logic finished, write_new;
  always_comb begin
    state_d = state_q;
    finished = state_q == Idle;
    clear_ways = '0;
    write_way = '0;
    write_new = 1'b0;
    new_pages = item_q.tag.pages;
    unique case (state_q)
      ReadHome, ReadCluster, ReadSingle: state_d = Wait;
      ReadMore: state_d = last_single ? Wait : ReadMore;
      Clear: begin
        clear_ways = ways_t'(1) << cand_way_q;
        state_d = ReadCluster;
      end
      Final: begin
        finished = 1'b1;
        write_way = ways_t'(1) << (base_equal ? cand_way_q : victim_way_q);
        write_new = !base_equal;
        if (base_equal) new_pages |= cand_pages_q;
      end
      default: ;
    endcase
    unique case (act_q)
      Sweep: clear_ways = sweep_drop_i;
      Home: begin
        finished = 1'b1;
        clear_ways = same;
        write_way = choice;
        write_new = 1'b1;
      end
      Cluster: begin
        clear_ways = conflict;
        state_d = (conflict != '0) ? ReadCluster : ReadSingle;
      end
      First: begin
        if (nothing_new) finished = 1'b1;
        else if (elsewhere) state_d = Clear;
        else begin
          clear_ways = overlap;
          if (is_single && !base_equal) begin
            finished = 1'b1;
            write_way = choice;
            write_new = 1'b1;
          end else begin
            state_d = act_last_q ? Final : ReadMore;
          end
        end
      end
      More: begin
        clear_ways = overlap;
        if (act_last_q) state_d = Final;
      end
      default: ;
    endcase
    if (finished) state_d = Idle;
    if (head_take) state_d = head_large ? ReadHome : ReadCluster;
  end

  // The next item: its set is read in the next cycle, when what was swept before is written.
  assign head_take = state_q == Idle && fill_waits && compare_q == None && !(sweep_valid_i && sweep_turn_q);

  // Writes. What is dropped as a whole needs no contents.
  assign wset_o = (state_q == Clear || state_q == Final) ? cluster_set_q : act_set_q;
  l2_tag_t new_tag, left_tag;
  always_comb begin
    new_tag = item_q.tag;
    new_tag.pages = new_pages;
    if (state_q == Final) new_tag.size = L2Cluster;
    // The cluster's entry is not read again: what was left of it is known.
    left_tag = item_q.tag;
    left_tag.size = L2Cluster;
    left_tag.pages = cand_pages_q & ~item_q.tag.pages;
    left_tag.valid = left_tag.pages != '0;
    for (int unsigned w = 0; w < Ways; w++) begin
      wtags_o[w] = new_tag;
      wtags_o[w].valid = write_way[w];
      if (state_q == Clear) begin
        wtags_o[w] = left_tag;
      end else if (act_q == Cluster) begin
        wtags_o[w] = tags_i[w];
        wtags_o[w].pages &= ~item_q.tag.pages;
        wtags_o[w].valid = rest[w];
      end
    end
  end
  assign we_o = clear_ways | write_way;
  assign ppn_re_o = read_frame_q;
  assign ppn_set_o = cluster_set_q;
  assign ppn_way_o = cand_way_q;
  assign ppn_we_o = write_new;
  assign ppn_wway_o = encode(write_way);
  assign ppn_wdata_o = item_q.base;
  assign touch_o = write_way != '0;
  assign touch_way_o = encode(write_way);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      compare_q <= None;
      act_q <= None;
      sweep_turn_q <= 1'b0;
      burst_q <= '0;
    end else begin
      // What is under way is given up by a pulse; sweeps are not.
      state_q <= inval_valid_i ? Idle : state_d;
      compare_q <= (inval_valid_i && read_op != Sweep) ? None : read_op;
      act_q <= (inval_valid_i && compare_q != Sweep) ? None : compare_q;
      if (head_take) sweep_turn_q <= 1'b1;
      else if (sweep_take_o) begin
        burst_q <= burst_q + 1'b1;
        if (burst_q == '1) sweep_turn_q <= 1'b0;
      end else if (!sweep_valid_i) sweep_turn_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    compare_set_q <= set_o;
    compare_last_q <= last_single;
    act_set_q <= compare_set_q;
    act_last_q <= compare_last_q;
    if (head_take) begin
      item_q <= head;
      single_q <= (head.tag.size == L2Single) ? head.page : '0;
    end else if (read_op == First || read_op == More) begin
      single_q <= single_q + 1'b1;
    end else if (state_q == ReadCluster) begin
      single_q <= is_single ? item_q.page : '0;
    end
    if (act_q == Cluster) begin
      cluster_set_q <= act_set_q;
      cand_valid_q <= cand != '0;
      cand_way_q <= encode(cand);
      victim_way_q <= choice_way;
      victim_valid_q <= choice_valid;
      cand_pages_q <= '0;
      for (int unsigned w = 0; w < Ways; w++) if (cand[w]) cand_pages_q <= tags_i[w].pages;
    end
    all_there_q <= (item_q.tag.pages & ~cand_pages_q) == '0;
    some_there_q <= (item_q.tag.pages & cand_pages_q) != '0;
    // The frame of that entry: read, then compared.
    read_frame_q <= act_q == Cluster;
    compare_frame_q <= read_frame_q;
    if (compare_frame_q) begin
      base_high_q <= cand_valid_q && ppn_i[PpnWidth-1:PpnWidth/2] == item_q.base[PpnWidth-1:PpnWidth/2];
      base_low_q <= ppn_i[PpnWidth/2-1:0] == item_q.base[PpnWidth/2-1:0];
    end
  end

  assign busy_o = fill_waits || dropped || state_q != Idle || compare_q != None || act_q != None;

  // Events. An answer under way, or taken in the pulse's cycle, is given up.
  always_comb begin
    event_o = '0;
    event_o.fill = write_new;
    event_o.merge = state_q == Final && base_equal;
    event_o.fill_ctx = item_q.tag.ctx;
    event_o.evict = write_new && ((state_q == Final) ? victim_valid_q : choice_valid);
    event_o.drop = dropped || (inval_valid_i && (head_take || !finished));
    if (act_q == Sweep) event_o.invalidated = 5'($countones(sweep_drop_i));
  end

  // What a memory gives of a set that is written meanwhile is not defined.
  `GW_INVARIANT(ReadOrWritten_A, !re_o || we_o == '0 || set_o != wset_o)
  `GW_ASSERT(SetStays_A, act_q == Cluster |-> $stable(tags_i))
  `GW_INVARIANT(OneWayWritten_A, $onehot0(write_way))
  `GW_INVARIANT(SweptBetweenItems_A, state_q == Idle || compare_q != Sweep)
  `GW_COVER(Merge_C, event_o.merge)
  `GW_COVER(Evict_C, event_o.evict)
  `GW_COVER(Moved_C, state_q == Clear)

endmodule
