// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Walk cache: the deepest table that is known on the way to a page.
//
// Contract
// - Lookup: combinational, in the cycle the request arrives. `level_o` is the level of the table found (0 holds 4 KiB pages).
// - Holds only valid pointers, found by walks that saw no invalidation; so an entry added to a table later is never missed,
//   and taking a table away needs an invalidation. It drops, in its own cycle already, the pointers of its context on the way
//   to any page that it names, with those in the same beat; others stay. Global pointers are their context's too.
// - Fill: visible in the next cycle; never in a cycle of an invalidation.
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
  input gw_pkg::ctx_id_t ctx_i,
  input gw_pkg::vpn_t vpn_i,
  input logic used_i,
  output logic hit_o,
  output logic [2:0] level_o,
  /// An entry on the way to the table says that everything below is global.
  output logic global_o,
  output gw_pkg::ppn_t ppn_o,
  input logic fill_i,
  input gw_pkg::walk_fill_t fill_data_i
);

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
      .ctx_i,
      .vpn_i,
      .used_i,
      .hit_o(hit[l]),
      .global_o(is_global[l]),
      .ppn_o(ppn[l]),
      .fill_i(fill_i && fill_data_i.level == 3'(l)),
      .fill_data_i
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
