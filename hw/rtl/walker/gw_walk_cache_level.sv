// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Walk cache of one upper level: each entry keeps the pointers of one 64-byte beat of page-table entries, so it covers
// eight tables of the level below.
//
// Contract
// - Lookup: combinational from context and page; `hit_o` with the table's frame
//   and whether what it maps is global.
// - `used_i` tells that the lookup was a request's own (for the replacement).
// - Fill: an entry for the same beat is replaced by the one given, else the one gw_victim chooses. Visible in the next cycle.
// - An invalidation drops every entry that has a pointer on the way to a page it names; in its cycle they do not hit already.
//   There is no fill in that cycle.
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
  // Page offsets below the level, and bits above the widest mode, choose nothing here.
  // verilator lint_off UNUSEDSIGNAL
  input gw_pkg::ctx_id_t ctx_i,
  input gw_pkg::vpn_t vpn_i,
  input gw_pkg::walk_fill_t fill_data_i,
  // verilator lint_on UNUSEDSIGNAL
  input logic used_i,
  output logic hit_o,
  output logic global_o,
  output gw_pkg::ppn_t ppn_o,
  input logic fill_i
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned IdxWidth = (Entries > 1) ? $clog2(Entries) : 1;
  // Address bits above the widest mode repeat its sign (canonical addresses), so they name nothing.
  localparam int unsigned SelLsb = PtLevelBits * Level;
  localparam int unsigned TagLsb = SelLsb + $clog2(PtBeatEntries);
  localparam int unsigned TagMsb = PtLevelBits * Levels - 1;
  // Page-number bits that play no part in whether an invalidation meets a beat.
  localparam vpn_t Open = (vpn_t'('1) << (TagMsb + 1)) | ~(vpn_t'('1) << TagLsb);
  typedef struct packed {
    ctx_id_t ctx;
    logic [TagMsb-TagLsb:0] vpn;
  } tag_t;
  typedef struct packed {
    logic [PtBeatEntries-1:0] pointer;
    logic [PtBeatEntries-1:0] is_global;
    ppn_t [PtBeatEntries-1:0] ppn;
  } beat_t;

  tag_t tag, fill_tag;
  logic [$clog2(PtBeatEntries)-1:0] sel;
  assign tag = '{ctx: ctx_i, vpn: vpn_i[TagMsb:TagLsb]};
  assign fill_tag = '{ctx: fill_data_i.ctx, vpn: fill_data_i.vpn[TagMsb:TagLsb]};
  assign sel = vpn_i[TagLsb-1:SelLsb];

  logic [Entries-1:0] valid_q, match, fill_match, victim, dropped;
  tag_t tag_q[Entries];
  beat_t beat_q[Entries];
  logic [IdxWidth-1:0] match_idx, fill_match_idx, victim_idx, fill_idx;
  logic victim_valid;

  always_comb begin
    match = '0;
    match_idx = '0;
    if (used_i) begin
      for (int unsigned i = 0; i < Entries; i++) begin
        match[i] = valid_q[i] && tag_q[i] == tag;
        if (match[i]) match_idx |= IdxWidth'(i);
      end
    end
  end

  always_comb begin
    fill_match = '0;
    fill_match_idx = '0;
    if (fill_i) begin
      for (int unsigned i = 0; i < Entries; i++) begin
        fill_match[i] = valid_q[i] && tag_q[i] == fill_tag;
        if (fill_match[i]) fill_match_idx |= IdxWidth'(i);
      end
    end
  end

  always_comb begin
    dropped = '0;
    if (inval_valid_i) begin
      for (int unsigned i = 0; i < Entries; i++) begin
        dropped[i] = inval_overlaps(inval_i, tag_q[i].ctx, vpn_t'(tag_q[i].vpn) << TagLsb, Open);
      end
    end
  end

  beat_t beat;
  assign beat = beat_q[match_idx];
  assign hit_o = (match & ~dropped) != '0 && beat.pointer[sel];
  assign global_o = beat.is_global[sel];
  assign ppn_o = beat.ppn[sel];

  gw_victim #(
    .Num(Entries)
  ) u_victim (
    .clk_i,
    .rst_ni,
    .free_i(~valid_q),
    .ok_i('1),
    .used_i(match & {Entries{used_i && hit_o}}),
    .take_i(fill_i && fill_match == '0),
    .valid_o(victim_valid),
    .onehot_o(victim),
    .idx_o(victim_idx)
  );

  assign fill_idx = (fill_match != '0) ? fill_match_idx : victim_idx;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (inval_valid_i) valid_q <= valid_q & ~dropped;
    else if (fill_i && fill_match == '0) valid_q <= valid_q | victim;
  end

  for (genvar i = 0; i < Entries; i++) begin : gen_tag
    always_ff @(posedge clk_i) begin
      if (fill_i && fill_match == '0 && victim[i]) tag_q[i] <= fill_tag;
    end
  end

  always_ff @(posedge clk_i) begin
    if (fill_i) beat_q[fill_idx] <= '{pointer: fill_data_i.pointer, is_global: fill_data_i.is_global, ppn: fill_data_i.ppn};
  end

  `GW_INVARIANT(OneMatch_A, $onehot0(match) && $onehot0(fill_match))
  `GW_INVARIANT(AlwaysAVictim_A, victim_valid)
  `GW_INVARIANT(NoFillWithInval_A, !(fill_i && inval_valid_i))
  `GW_COVER(SparedByScope_C, inval_valid_i && (valid_q & dropped) != '0 && (valid_q & ~dropped) != '0)
  `GW_COVER(Replaced_C, fill_i && fill_match == '0 && &valid_q)
  `GW_COVER(Refilled_C, fill_i && fill_match != '0)

endmodule
