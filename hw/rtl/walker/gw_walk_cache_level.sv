// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Walk cache of one upper level: each entry keeps the pointers of one 64-byte line of page-table entries, so it covers
// eight tables of the level below.
//
// Contract
// - Lookup: combinational from `tag_i` (which line) and `sel_i` (which pointer of it); `hit_o` with the table's frame
//   and whether what it maps is global.
// - `used_i` tells that the lookup was a request's own (for the replacement).
// - Fill: an entry with the same tag is replaced by the line given, else the one gw_victim chooses. Visible in the next cycle.
// - `flush_i` drops everything; it wins over a fill in the same cycle.
`include "gw_assert.svh"

module gw_walk_cache_level #(
  /// Bits that name a line: context and upper part of the virtual page number.
  parameter int unsigned TagWidth = 32,
  /// Entries, 1 or more.
  parameter int unsigned Entries = 16
) (
  input logic clk_i,
  input logic rst_ni,
  input logic flush_i,
  input logic [TagWidth-1:0] tag_i,
  input logic [$clog2(gw_spec_pkg::PtLineEntries)-1:0] sel_i,
  input logic used_i,
  output logic hit_o,
  output logic global_o,
  output gw_pkg::ppn_t ppn_o,
  input logic fill_i,
  input logic [TagWidth-1:0] fill_tag_i,
  /// Which of the line's entries are pointers, which map globally (by themselves or from above), and where they point.
  input logic [gw_spec_pkg::PtLineEntries-1:0] fill_pointer_i,
  input logic [gw_spec_pkg::PtLineEntries-1:0] fill_global_i,
  input gw_pkg::ppn_t [gw_spec_pkg::PtLineEntries-1:0] fill_ppn_i
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned IdxWidth = (Entries > 1) ? $clog2(Entries) : 1;
  typedef struct packed {
    logic [PtLineEntries-1:0] pointer;
    logic [PtLineEntries-1:0] is_global;
    ppn_t [PtLineEntries-1:0] ppn;
  } line_t;

  logic [Entries-1:0] valid_q, match, fill_match, victim;
  logic [TagWidth-1:0] tag_q[Entries];
  line_t line_q[Entries];
  logic [IdxWidth-1:0] match_idx, fill_match_idx, victim_idx, fill_idx;
  logic victim_valid;

  always_comb begin
    match = '0;
    match_idx = '0;
    if (used_i) begin
      for (int unsigned i = 0; i < Entries; i++) begin
        match[i] = valid_q[i] && tag_q[i] == tag_i;
        if (match[i]) match_idx |= IdxWidth'(i);
      end
    end
  end

  always_comb begin
    fill_match = '0;
    fill_match_idx = '0;
    if (fill_i) begin
      for (int unsigned i = 0; i < Entries; i++) begin
        fill_match[i] = valid_q[i] && tag_q[i] == fill_tag_i;
        if (fill_match[i]) fill_match_idx |= IdxWidth'(i);
      end
    end
  end

  line_t line;
  assign line = line_q[match_idx];
  assign hit_o = match != '0 && line.pointer[sel_i];
  assign global_o = line.is_global[sel_i];
  assign ppn_o = line.ppn[sel_i];

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
    else if (flush_i) valid_q <= '0;
    else if (fill_i && fill_match == '0) valid_q <= valid_q | victim;
  end

  for (genvar i = 0; i < Entries; i++) begin : gen_tag
    always_ff @(posedge clk_i) begin
      if (fill_i && fill_match == '0 && victim[i]) tag_q[i] <= fill_tag_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (fill_i) line_q[fill_idx] <= '{pointer: fill_pointer_i, is_global: fill_global_i, ppn: fill_ppn_i};
  end

  `GW_INVARIANT(OneMatch_A, $onehot0(match) && $onehot0(fill_match))
  `GW_INVARIANT(AlwaysAVictim_A, victim_valid)
  `GW_COVER(Replaced_C, fill_i && fill_match == '0 && &valid_q)
  `GW_COVER(Refilled_C, fill_i && fill_match != '0)

endmodule
