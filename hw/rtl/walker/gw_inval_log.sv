// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The last invalidations, for answers that were on their way when they came: may the answer be kept?
//
// Contract
// - `overlap_o`, combinational: one of the last `seen_i` invalidations, or the one of this cycle, names a page of the mapping
//   asked about. More than `Depth` of them are taken to overlap.
// - Conservative about global mappings: a context's or range's invalidation counts for them too.

module gw_inval_log #(
  /// Invalidations remembered, 1 or more.
  parameter int unsigned Depth = 4,
  /// Derived: width of a number of invalidations, where Depth + 1 stands for more too.
  localparam int unsigned SeenWidth = $clog2(Depth + 2)
) (
  input logic clk_i,
  input logic inval_valid_i,
  input gw_pkg::inval_t inval_i,
  /// Invalidations since the mapping may have been read, that of this cycle not counted.
  input logic [SeenWidth-1:0] seen_i,
  input gw_pkg::ctx_id_t ctx_i,
  input gw_pkg::vpn_t vpn_i,
  /// Page-number bits that the mapping leaves open.
  input gw_pkg::vpn_t open_i,
  output logic overlap_o
);

  import gw_pkg::*;

  // [0] is the latest. Means nothing until it was written: `seen_i` says how many were.
  inval_t [Depth-1:0] log_q;
  always_ff @(posedge clk_i) begin
    if (inval_valid_i) log_q <= (Depth * $bits(inval_t))'({log_q, inval_i});
  end

  always_comb begin
    overlap_o = (inval_valid_i && inval_overlaps(inval_i, ctx_i, vpn_i, open_i)) || seen_i > SeenWidth'(Depth);
    for (int unsigned i = 0; i < Depth; i++) begin
      if (seen_i > SeenWidth'(i) && inval_overlaps(log_q[i], ctx_i, vpn_i, open_i)) overlap_o = 1'b1;
    end
  end

endmodule
