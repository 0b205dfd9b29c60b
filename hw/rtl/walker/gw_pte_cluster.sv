// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Contiguity inside a beat of eight leaf entries: which neighbours of a page are mapped just as it is, as far from their frames.
//
// Contract
// - `beat_i` and its companions in t, the outputs in t + 1. They mean something only if the entry asked for is an allowed leaf of one
//   4 KiB page (`single_i`); else `order_o` is 0.
// - `cluster_o`: the pages of the cluster around the page whose entries are in this beat, are valid leaves that were accessed,
//   of one 4 KiB page, with the same permission and global bit, and a frame as far from their page; always the page itself.
//   So an entry that is not present is never inside, and mapping it later needs no invalidation.
// - `order_o`: the largest naturally aligned group of 2**order pages around the page that is wholly inside and whose frames
//   are aligned alike.
module gw_pte_cluster (
  input logic clk_i,
  input logic [gw_spec_pkg::PtBeatEntries-1:0][63:0] beat_i,
  /// The page's own entry, which is one of them.
  // Its other bits are in the beat.
  // verilator lint_off UNUSEDSIGNAL
  input logic [63:0] entry_i,
  // verilator lint_on UNUSEDSIGNAL
  /// Which of them are leaves by their own bits (gw_pte_kind).
  input logic [gw_spec_pkg::PtBeatEntries-1:0] leaf_i,
  /// A table above makes all of them global.
  input logic is_global_i,
  /// Page asked for, its place in the cluster; the low bits are its entry's place in the beat.
  input logic [gw_pkg::ClusterShift-1:0] page_i,
  /// The entry is one of a 4 KiB page, if it is a leaf.
  input logic single_i,
  output gw_pkg::page_order_t order_o,
  output gw_pkg::cluster_t cluster_o
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned IndexWidth = $clog2(PtBeatEntries);
  localparam int unsigned HighWidth = PpnWidth - IndexWidth;
  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [HighWidth-1:0] high_t;

  // frame - page of each entry, as low part and high part; the high part still lacks the low part's borrow.
  index_t [PtBeatEntries-1:0] low;
  logic [PtBeatEntries-1:0] borrow;
  high_t [PtBeatEntries-1:0] high;
  // {R, W and D, G}
  logic [PtBeatEntries-1:0][2:0] rights;
  for (genvar i = 0; i < PtBeatEntries; i++) begin : gen_entry
    assign {borrow[i], low[i]} = {1'b0, beat_i[i][PtePpnLsb +: IndexWidth]} - (IndexWidth + 1)'(i);
    assign high[i] = beat_i[i][PtePpnLsb + IndexWidth +: HighWidth];
    assign rights[i] = {beat_i[i][PteR], beat_i[i][PteW] && beat_i[i][PteD], is_global_i || beat_i[i][PteG]};
  end

  // The page's own. Subtracting its borrow once leaves one comparison an entry, with one of two values.
  index_t index, own_low;
  high_t own_high, high_no_borrow, high_borrow;
  logic own_borrow;
  logic [2:0] own_rights;
  logic [PtBeatEntries-1:0] same_d, same;
  assign index = page_i[IndexWidth-1:0];
  assign {own_borrow, own_low} = {1'b0, entry_i[PtePpnLsb +: IndexWidth]} - {1'b0, index};
  assign own_high = entry_i[PtePpnLsb + IndexWidth +: HighWidth];
  assign high_no_borrow = own_high - high_t'(own_borrow);
  assign high_borrow = own_high + high_t'(!own_borrow);
  assign own_rights = {entry_i[PteR], entry_i[PteW] && entry_i[PteD], is_global_i || entry_i[PteG]};
  for (genvar i = 0; i < PtBeatEntries; i++) begin : gen_same
    assign same_d[i] = index == index_t'(i) ||
        (leaf_i[i] && beat_i[i][PteU] && beat_i[i][PteA] && !beat_i[i][PteN] && rights[i] == own_rights &&
         low[i] == own_low && high[i] == (borrow[i] ? high_borrow : high_no_borrow));
  end

  // Second cycle. The answer has a long way to go in it: of each size of group, which entries are outside the page's, and whether its
  // frames are aligned alike, are told before. Frame and page agree in their low bits exactly if the low bits of their distance
  // are zero.
  logic [IndexWidth:1] flat_q;
  logic [IndexWidth:1][PtBeatEntries-1:0] outside_q;
  logic [ClusterShift-1:0] page_q;
  always_ff @(posedge clk_i) begin
    same <= same_d;
    page_q <= page_i;
    for (int unsigned k = 1; k <= IndexWidth; k++) begin
      flat_q[k] <= single_i && (own_low & index_t'((1 << k) - 1)) == '0;
      for (int unsigned i = 0; i < PtBeatEntries; i++) outside_q[k][i] <= (index_t'(i) >> k) != (index >> k);
    end
  end

  always_comb begin
    cluster_o = '0;
    for (int unsigned i = 0; i < ClusterPages; i++) begin
      cluster_o[i] = same[i % PtBeatEntries] && (i / PtBeatEntries) == 32'(page_q >> IndexWidth);
    end
  end

  always_comb begin
    order_o = '0;
    for (int unsigned k = 1; k <= IndexWidth; k++) begin
      if (flat_q[k] && &(same | outside_q[k])) order_o = page_order_t'(k);
    end
  end

endmodule
