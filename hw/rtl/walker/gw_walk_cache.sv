// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Walk cache: the deepest table that is known on the way to a page.
//
// Contract
// - Lookup: `lookup_i` in t, what is known in t + 1. `level_o` is the level of the table found (0 holds 4 KiB pages). In
//   the cycle of an invalidation nothing is found.
// - Holds only valid pointers, found by walks that saw no invalidation; so an entry added to a table later is never missed,
//   and taking a table away needs an invalidation. It drops, from the next cycle on, the pointers of its context on the way
//   to any page that it names, with those in the same beat; others stay. Global pointers are their context's too.
// - Fill: `fill_look_i`, with the beat's key, in t, when nobody looks up; `fill_i`, with the beat, in t + 1. Visible in t + 2.
module gw_walk_cache #(
  /// Levels of the widest mode that is built: 3 (Sv39) to 5 (Sv57).
  parameter int unsigned Levels = 4,
  /// Beats of eight pointers kept for each upper level, 1 or more.
  parameter int unsigned Entries = 16
) (
  input logic clk_i,
  input logic rst_ni,
  input logic inval_valid_i,
  input gw_pkg::inval_t inval_i,
  input logic lookup_i,
  input gw_pkg::ctx_id_t ctx_i,
  input gw_pkg::vpn_t vpn_i,
  output logic hit_o,
  output logic [2:0] level_o,
  /// An entry on the way to the table says that everything below is global.
  output logic global_o,
  output gw_pkg::ppn_t ppn_o,
  input logic fill_look_i,
  input gw_pkg::walk_key_t fill_key_i,
  input logic fill_i,
  input gw_pkg::walk_beat_t fill_beat_i
);

  logic [2:0] fill_level_q;
  always_ff @(posedge clk_i) fill_level_q <= fill_key_i.level;

  logic [Levels-1:1] hit, is_global;
  gw_pkg::ppn_t [Levels-1:1] ppn;

  for (genvar l = 1; l < Levels; l++) begin : gen_level
    gw_walk_cache_level #(
      .Level(l),
      .Levels(Levels),
      .Entries(Entries)
    ) u_level (
      .clk_i,
      .rst_ni,
      .inval_valid_i,
      .inval_i,
      .lookup_i,
      .ctx_i,
      .vpn_i,
      .fill_look_i,
      .fill_ctx_i(fill_key_i.ctx),
      .fill_vpn_i(fill_key_i.vpn),
      .hit_o(hit[l]),
      .global_o(is_global[l]),
      .ppn_o(ppn[l]),
      .fill_i(fill_i && fill_level_q == 3'(l) && !inval_valid_i),
      .fill_beat_i
    );
  end

  assign hit_o = hit != '0;
  always_comb begin
    level_o = '0;
    global_o = 1'b0;
    ppn_o = '0;
    for (int unsigned l = Levels - 1; l >= 1; l--) begin
      if (hit[l]) begin
        level_o = 3'(l - 1);
        global_o = is_global[l];
        ppn_o = ppn[l];
      end
    end
  end

endmodule
