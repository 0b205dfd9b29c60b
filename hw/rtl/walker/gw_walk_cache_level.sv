// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Walk cache of one upper level: each entry keeps the pointers of one 64-byte beat of page-table entries, so it covers
// eight tables of the level below.
//
//   t      tags compared with a request's page, a fill's, or an invalidation's range: one of them a cycle
//   t + 1  request: entry read; fill: entry written
//
// Contract
// - Lookup: `hit_o` in t + 1, with the table's frame and whether what it maps is global. In a cycle of an invalidation, or
//   of a write of the entry, there is none.
// - Fill: `fill_look_i` with the page in t, `fill_i` with the pointers in t + 1; for nobody else in t. The beat's own entry is
//   replaced if it lacks the pointer on the way to the page, and if there is none, the one that gw_victim offers; without one,
//   or right after a fill of the same beat, nothing. Visible in t + 2.
// - An invalidation drops every entry that has a pointer on the way to a page it names, at the end of its cycle, and if its
//   range is no whole number of tables or beats, those to the rest of the last one. No `fill_i` in that cycle or the next.
`include "gw_assert.svh"

module gw_walk_cache_level #(
  /// Level of the tables whose beats are kept, 1 to Levels - 1.
  parameter int unsigned Level = 1,
  /// Levels of the widest mode that is built.
  parameter int unsigned Levels = 4,
  /// Entries, 1 or more.
  parameter int unsigned Entries = 16
) (
  input logic clk_i,
  input logic rst_ni,
  input logic inval_valid_i,
  input gw_pkg::inval_t inval_i,
  input logic lookup_i,
  input gw_pkg::ctx_id_t ctx_i,
  // Page offsets below the level, and bits above the widest mode, choose nothing here.
  // verilator lint_off UNUSEDSIGNAL
  input gw_pkg::vpn_t vpn_i,
  input gw_pkg::vpn_t fill_vpn_i,
  // verilator lint_on UNUSEDSIGNAL
  input gw_pkg::ctx_id_t fill_ctx_i,
  input logic fill_look_i,
  output logic hit_o,
  output logic global_o,
  output gw_pkg::ppn_t ppn_o,
  input logic fill_i,
  input gw_pkg::walk_beat_t fill_beat_i
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned IdxWidth = (Entries > 1) ? $clog2(Entries) : 1;
  // Address bits above the widest mode repeat its sign (canonical addresses), so they name nothing.
  localparam int unsigned SelLsb = PtLevelBits * Level;
  localparam int unsigned TagLsb = SelLsb + $clog2(PtBeatEntries);
  localparam int unsigned TagMsb = PtLevelBits * Levels - 1;
  typedef logic [TagMsb-TagLsb:0] tag_vpn_t;
  typedef struct packed {
    ctx_id_t ctx;
    tag_vpn_t vpn;
  } tag_t;
  typedef logic [$clog2(PtBeatEntries)-1:0] sel_t;
  // Where a part of a tag's page begins, and its bits: 6, 3, 6, 3 ... from below.
  function automatic int unsigned part_lsb(int unsigned part);
    return (part / 2) * PtLevelBits + ((part % 2 == 1) ? PtLevelBits - $clog2(PtBeatEntries) : 0);
  endfunction
  function automatic tag_vpn_t part_bits(int unsigned part);
    return tag_vpn_t'((64'd1 << part_lsb(part + 1)) - (64'd1 << part_lsb(part)));
  endfunction
  typedef struct packed {
    logic is_global;
    ppn_t ppn;
  } pointer_t;

  // What is compared in this cycle, and which parts of it do not count: an invalidation's range is rounded up to them, so that
  // each entry has one condition a part. Even parts are a beat's place in its table, odd ones a pointer's in its beat, upwards.
  localparam int unsigned Parts = 2 * (Levels - Level) - 1;
  tag_t key, fill_tag;
  logic any_ctx;
  logic [Parts-1:0] any_part;
  always_comb begin
    key.ctx = inval_valid_i ? inval_i.ctx : fill_look_i ? fill_ctx_i : ctx_i;
    if (inval_valid_i) key.vpn = inval_i.vpn[TagMsb:TagLsb];
    else key.vpn = fill_look_i ? fill_vpn_i[TagMsb:TagLsb] : vpn_i[TagMsb:TagLsb];
    any_ctx = inval_valid_i && inval_i.scope == InvalAll;
    for (int unsigned p = 0; p < Parts; p++) begin
      any_part[p] = inval_valid_i && (inval_i.scope != InvalRange || 32'(inval_i.order) > TagLsb + part_lsb(p));
    end
  end
  assign fill_tag = '{ctx: fill_ctx_i, vpn: fill_vpn_i[TagMsb:TagLsb]};

  logic [Entries-1:0] valid_q, match, match_q, victim, write, hits;
  logic [Entries-1:0][PtBeatEntries-1:0] pointer_q;
  tag_t tag_q[Entries];
  tag_t fill_tag_q;
  logic victim_valid, filling, replacing, same_q;
  always_comb begin
    match = '0;
    if (inval_valid_i || fill_look_i || lookup_i) begin
      for (int unsigned i = 0; i < Entries; i++) begin
        match[i] = valid_q[i] && (any_ctx || tag_q[i].ctx == key.ctx);
        for (int unsigned p = 0; p < Parts; p++) begin
          if (!any_part[p] && ((tag_q[i].vpn ^ key.vpn) & part_bits(p)) != '0) match[i] = 1'b0;
        end
      end
    end
  end

  // Lookup.
  sel_t sel, sel_q;
  logic hit_q;
  logic [IdxWidth-1:0] idx, idx_q;
  assign sel = fill_look_i ? fill_vpn_i[TagLsb-1:SelLsb] : vpn_i[TagLsb-1:SelLsb];
  always_comb begin
    idx = '0;
    for (int unsigned i = 0; i < Entries; i++) begin
      hits[i] = match[i] && pointer_q[i][sel] && !write[i] && !inval_valid_i;
      if (match[i]) idx |= IdxWidth'(i);
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) hit_q <= 1'b0;
    else hit_q <= hits != '0;
  end
  always_ff @(posedge clk_i) begin
    sel_q <= sel;
    idx_q <= idx;
    match_q <= match;
    fill_tag_q <= fill_tag;
    same_q <= filling && fill_tag == fill_tag_q;
  end

  // One memory for each place in the beat.
  pointer_t [PtBeatEntries-1:0] read;
  logic [IdxWidth-1:0] fill_idx;
  for (genvar i = 0; i < PtBeatEntries; i++) begin : gen_pointer
    (* ram_style = "distributed" *) pointer_t pointers_q[Entries];
    always_ff @(posedge clk_i) begin
      if (filling) pointers_q[fill_idx] <= '{is_global: fill_beat_i.is_global[i], ppn: fill_beat_i.ppn[i]};
    end
    assign read[i] = pointers_q[idx_q];
  end
  assign hit_o = hit_q;
  assign {global_o, ppn_o} = read[sel_q];

  // Fill.
  logic [Entries-1:0] used_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) used_q <= '0;
    else used_q <= hits & {Entries{lookup_i}};
  end
  gw_victim #(
    .Num(Entries)
  ) u_victim (
    .clk_i,
    .rst_ni,
    .free_i(~valid_q),
    .ok_i('1),
    .used_i(used_q),
    .stays_i('0),
    .take_i(replacing),
    .valid_o(victim_valid),
    .onehot_o(victim),
    .spare_o()
  );

  logic known;
  assign known = match_q != '0;
  assign filling = fill_i && !same_q && (known ? !hit_q : victim_valid);
  assign replacing = filling && !known;
  assign write = (known ? match_q : victim) & {Entries{filling}};
  always_comb begin
    fill_idx = '0;
    for (int unsigned i = 0; i < Entries; i++) begin
      if (known ? match_q[i] : victim[i]) fill_idx |= IdxWidth'(i);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= (valid_q & ~(match & {Entries{inval_valid_i}})) | write;
  end
  for (genvar i = 0; i < Entries; i++) begin : gen_entry
    always_ff @(posedge clk_i) begin
      if (write[i]) begin
        tag_q[i] <= fill_tag_q;
        pointer_q[i] <= fill_beat_i.pointer;
      end
    end
  end

  `GW_INVARIANT(OneMatch_A, inval_valid_i || $onehot0(match))
  `GW_INVARIANT(NoFillWithInval_A, !(fill_i && inval_valid_i))
  `GW_INVARIANT(OneAtATime_A, !(fill_look_i && lookup_i))
  `GW_COVER(SparedByScope_C, inval_valid_i && match != '0 && (valid_q & ~match) != '0)
  `GW_COVER(Replaced_C, replacing && &valid_q)
  `GW_COVER(Refilled_C, filling && known)

endmodule
