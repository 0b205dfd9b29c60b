// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Compares the entries of a set with an answer that is to be kept: which translate the same pages, and where a new entry goes.
//
// Contract
// - Set and item in cycle t, outputs in t+1: the memory's words go into registers as single facts, which are put together then.
//   The item stays meanwhile.
// - `same_o`: entries of size `kind_i` for the item's cluster or large page; `overlap_o`: those with one of its pages; `rest_o`: with
//   a page that is not one of its.
// - `cand_o`: of those the lowest one that the item may join, because context and permission are equal: rather one that
//   overlaps, with `Clusters` also another. `conflict_o`: all others that overlap.
// - `choice_o`, `choice_way_o`: where a new entry goes: an entry of the same page (`over_same_i`) or one that overlaps
//   (`over_overlap_i`), else an empty way, else the least used; `choice_valid_o`: this drives another entry out.
module gw_l2_fill_match #(
  parameter int unsigned Ways = 4,
  parameter bit Clusters = 1'b1,
  /// Derived.
  localparam int unsigned WayWidth = (Ways > 1) ? $clog2(Ways) : 1
) (
  input  logic                       clk_i,
  input  gw_pkg::l2_size_e           kind_i,
  input  gw_pkg::l2_tag_t            item_i,
  input  gw_pkg::l2_tag_t [Ways-1:0] tags_i,
  input  logic [WayWidth-1:0]        victim_i,
  // In the second cycle
  input  logic                       over_same_i,
  input  logic                       over_overlap_i,
  output logic [Ways-1:0]            same_o,
  output logic [Ways-1:0]            overlap_o,
  output logic [Ways-1:0]            rest_o,
  output logic [Ways-1:0]            cand_o,
  output logic [Ways-1:0]            conflict_o,
  output logic [Ways-1:0]            choice_o,
  output logic [WayWidth-1:0]        choice_way_o,
  output logic                       choice_valid_o
);

  import gw_pkg::*;

  typedef logic [Ways-1:0] ways_t;
  typedef logic [WayWidth-1:0] way_t;

  function automatic ways_t lowest(ways_t ways);
    return ways & (~ways + 1'b1);
  endfunction

  // Second cycle: the set's entries are compared with the item, straight from the memory, into registers.
  typedef struct packed {
    logic empty;
    logic of_size;  // valid, of the size looked for
    logic high;     // half of the page's number
    logic low;
    logic own;      // of the item's context, or one of both is global
    logic overlap;  // a page of the item is inside
    logic rest;     // a page that is not the item's too
    logic like;     // the same context and permission
  } found_t;
  localparam int unsigned PageBits = VpnWidth - ClusterShift;
  localparam int unsigned Half = PageBits / 2;
  found_t [Ways-1:0] found_q;
  way_t victim_q;
  always_ff @(posedge clk_i) begin
    victim_q <= victim_i;
    for (int unsigned w = 0; w < Ways; w++) begin
      found_q[w] <= '{
          empty: !tags_i[w].valid,
          of_size: tags_i[w].valid && tags_i[w].size == kind_i,
          high: tags_i[w].vpn[PageBits-1:Half] == item_i.vpn[PageBits-1:Half],
          low: tags_i[w].vpn[Half-1:0] == item_i.vpn[Half-1:0],
          own: tags_i[w].is_global || item_i.is_global || tags_i[w].ctx == item_i.ctx,
          overlap: (tags_i[w].pages & item_i.pages) != '0,
          rest: (tags_i[w].pages & ~item_i.pages) != '0,
          like: {tags_i[w].is_global, tags_i[w].perm, tags_i[w].ctx} ==
              {item_i.is_global, item_i.perm, item_i.ctx}
      };
    end
  end

  // Third cycle.
  ways_t same, overlap, alike, empty;
  assign same_o = same;
  assign overlap_o = overlap;
  always_comb begin
    for (int unsigned w = 0; w < Ways; w++) begin
      empty[w] = found_q[w].empty;
      same[w] = found_q[w].of_size && found_q[w].high && found_q[w].low && found_q[w].own;
      overlap[w] = same[w] && found_q[w].overlap;
      rest_o[w] = found_q[w].rest;
      alike[w] = same[w] && found_q[w].like;
    end
  end

  // Where a new entry goes: an entry of the same page, an empty way, the least used.
  ways_t replaced, choice;
  assign replaced = over_same_i ? same : over_overlap_i ? overlap : '0;
  always_comb begin
    choice = ways_t'(1) << victim_q;
    if (replaced != '0) choice = lowest(replaced);
    else if (empty != '0) choice = lowest(empty);
  end
  assign choice_o = choice;
  always_comb begin
    choice_way_o = '0;
    for (int unsigned w = 0; w < Ways; w++) if (choice[w]) choice_way_o |= way_t'(w);
  end
  assign choice_valid_o = (choice & ~empty & ~replaced) != '0;

  // Cluster: all that overlap go, but one that may turn out to be equal.
  ways_t candidates, cand;
  assign candidates = ((overlap & alike) != '0) ? overlap & alike : Clusters ? alike : '0;
  assign cand = lowest(candidates);
  assign cand_o = cand;
  assign conflict_o = overlap & ~cand;

  logic unused;
  assign unused = ^item_i;

endmodule
