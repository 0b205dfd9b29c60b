// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_l1_tlb under any use: one page of one context, any, is followed. A lookup of it hits only with the frame
// of the latest fill around it in its own context, and only if no invalidation since covered it (for a global mapping:
// an invalidation of everything). Once it was hit, fills around a page of another entry do not drive it out while the context stays.
// Small numbers: three bits of page number, mappings and ranges of one, two and four pages.
module fv_l1_tlb #(
  parameter int unsigned Entries = 2
) (
  input logic clk_i,
  input logic rst_ni,
  input logic lookup_ctx_i,
  input logic [2:0] lookup_vpn_i,
  input logic use_i,
  input logic fill_valid_i,
  input logic fill_ctx_i,
  input logic [2:0] fill_vpn_i,
  input logic [3:0] fill_frame_i,
  input logic [1:0] fill_order_i,
  input logic fill_global_i,
  input logic inval_valid_i,
  input logic [1:0] inval_scope_i,
  input logic inval_ctx_i,
  input logic [2:0] inval_vpn_i,
  input logic [1:0] inval_order_i,
  input logic ctx_i,
  input logic [2:0] vpn_i,
  input logic other_ctx_i,
  input logic [2:0] other_vpn_i
);

  import gw_pkg::*;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  // The page followed, and another one: anything, but constant.
  logic ctx_q, other_ctx_q;
  logic [2:0] vpn_q, other_vpn_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) {ctx_q, vpn_q, other_ctx_q, other_vpn_q} <= {ctx_i, vpn_i, other_ctx_i, other_vpn_i};
  end

  function automatic logic [2:0] low(logic [1:0] order);
    return ~(3'b111 << order);
  endfunction

  // Whether 2**order pages around `vpn` hold the page followed.
  function automatic logic around(logic [2:0] vpn, logic [1:0] order);
    return ((vpn ^ vpn_q) & ~low(order)) == '0;
  endfunction

  inval_t inval;
  always_comb begin
    if (fill_order_i == 2'd3) assume (!fill_valid_i);
    if (inval_order_i == 2'd3 || inval_scope_i == 2'd3) assume (!inval_valid_i);
    inval = '{
      scope: inval_scope_e'(inval_scope_i),
      ctx: ctx_id_t'(inval_ctx_i),
      vpn: vpn_t'(inval_vpn_i & ~low(inval_order_i)),
      order: page_order_t'(inval_order_i)
    };
  end

  logic hit, match, match_q, look_ctx_q;
  logic [2:0] look_vpn_q;
  ppn_t ppn;
  gw_l1_tlb #(
    .Entries(Entries),
    .Levels (3)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .ctx_i        (ctx_id_t'(lookup_ctx_i)),
    .lookup_valid_i(1'b1),
    .lookup_vpn_i (vpn_t'(lookup_vpn_i)),
    .match_o      (match),
    .use_i        (use_i && hit),
    .hit_o        (hit),
    .ppn_o        (ppn),
    .fill_valid_i,
    .fill_ctx_i   (ctx_id_t'(fill_ctx_i)),
    .fill_vpn_i   (vpn_t'(fill_vpn_i)),
    .fill_ppn_i   (ppn_t'(fill_frame_i)),
    .fill_order_i (page_order_t'(fill_order_i)),
    .fill_global_i,
    .inval_valid_i,
    .inval_i      (inval)
  );

  // What a lookup of the page may bring, in the cycle in which it is compared; a fill counts three cycles after it came.
  logic known_then_q;
  logic [3:0] frame_then_q;
  logic covered, coming_q, coming_global_q, close_q, close_global_q, known_q, known_global_q;
  logic [3:0] coming_frame_q, close_frame_q, frame_q;
  always_comb begin
    unique case (inval.scope)
      InvalRange: covered = inval_ctx_i == ctx_q && around(inval_vpn_i, inval_order_i) && !known_global_q;
      InvalContext: covered = inval_ctx_i == ctx_q && !known_global_q;
      default: covered = 1'b1;
    endcase
  end
  always_ff @(posedge clk_i) begin
    {look_ctx_q, look_vpn_q} <= {lookup_ctx_i, lookup_vpn_i};
    match_q <= rst_ni && match;
    known_then_q <= rst_ni && known_q;
    frame_then_q <= frame_q;
    coming_frame_q <= (fill_frame_i & ~{1'b0, low(fill_order_i)}) | ({1'b0, vpn_q & low(fill_order_i)});
    coming_global_q <= fill_global_i;
    {close_frame_q, close_global_q} <= {coming_frame_q, coming_global_q};
    if (!rst_ni) begin
      coming_q <= 1'b0;
      close_q <= 1'b0;
      known_q <= 1'b0;
      known_global_q <= 1'b0;
    end else begin
      coming_q <= fill_valid_i && !inval_valid_i && fill_ctx_i == ctx_q && around(fill_vpn_i, fill_order_i);
      close_q <= coming_q && !inval_valid_i;
      if (inval_valid_i && covered) known_q <= 1'b0;
      else if (close_q && !inval_valid_i) begin
        known_q <= 1'b1;
        known_global_q <= close_global_q;
        frame_q <= close_frame_q;
      end
    end
  end

  // The pages are too far apart for one entry. Both have one: each was hit, and since then only fills around the other came.
  always_comb assume ({ctx_q, vpn_q[2]} != {other_ctx_q, other_vpn_q[2]});
  logic in_other, in_page, harmless, disturbed, there_q, there_then_q, other_there_q;
  logic [2:0] disturbed_q;
  assign in_page = fill_ctx_i == ctx_q && around(fill_vpn_i, fill_order_i);
  assign in_other = fill_ctx_i == other_ctx_q && ((fill_vpn_i ^ other_vpn_q) & ~low(fill_order_i)) == '0;
  assign harmless = in_other && !in_page && there_q && other_there_q;
  assign disturbed = inval_valid_i || lookup_ctx_i != look_ctx_q || (fill_valid_i && !harmless);
  always_ff @(posedge clk_i) begin
    there_then_q <= rst_ni && there_q;
    disturbed_q <= rst_ni ? {disturbed_q[1:0], disturbed} : '0;
    if (!rst_ni || disturbed) begin
      {there_q, other_there_q} <= '0;
    end else if (hit && disturbed_q == '0) begin
      if (look_ctx_q == ctx_q && look_vpn_q == vpn_q) there_q <= 1'b1;
      if (look_ctx_q == other_ctx_q && look_vpn_q == other_vpn_q) other_there_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      MatchIsHit_A : assert (hit == match_q);
      if (there_then_q && look_ctx_q == ctx_q && look_vpn_q == vpn_q) begin
        Stays_A : assert (hit);
      end
      StaysBesideFill_C : cover (there_q && other_there_q && fill_valid_i && harmless);
      if (hit && look_ctx_q == ctx_q && look_vpn_q == vpn_q) begin
        NotStale_A : assert (known_then_q);
        RightFrame_A : assert (ppn == ppn_t'(frame_then_q));
      end
      Hit_C : cover (hit && look_ctx_q == ctx_q && look_vpn_q == vpn_q);
      // Another page of the context is spared by a range that drops this one.
      Spared_C : cover (hit && look_ctx_q == ctx_q && !known_then_q && look_vpn_q != vpn_q);
    end
  end

endmodule
