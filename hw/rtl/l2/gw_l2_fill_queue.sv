// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Answers of the walker that wait to be kept in the L2 TLB, as the entries they would make.
//
// Contract
// - Every answer that is cacheable and no fault is queued, or dropped if the queue is full. At the head a cycle later at best.
// - Invalidation pulse: what waited before its cycle is dropped, one answer a cycle. The answer of that very cycle needs
//   nothing here: the walker says of each that it is not cacheable.
// - `dropped_o`: an answer was dropped in this cycle.
// - Entry: order 18 and above is a 1 GiB entry, 9 and above one of 2 MiB, 4 and above a whole cluster; below, the pages of the
//   cluster that the answer tells of (Clusters = 1), or the one page.
`include "gw_assert.svh"

module gw_l2_fill_queue #(
  parameter bit Clusters = 1'b1,
  /// There are 64 KiB pages.
  parameter bit Svnapot = 1'b1,
  /// Answers, >= 1.
  parameter int unsigned Depth = 64
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               rsp_valid_i,
  input  gw_pkg::xlate_rsp_t rsp_i,
  input  logic               inval_valid_i,
  output logic               valid_o,
  input  logic               take_i,
  output gw_pkg::l2_item_t   item_o,
  output logic               dropped_o
);

  import gw_pkg::*;

  typedef struct packed {
    ctx_id_t     ctx;
    vpn_t        vpn;
    ppn_t        ppn;
    page_order_t order;
    cluster_t    cluster;
    perm_t       perm;
    logic        is_global;
  } answer_t;

  localparam int unsigned UsageWidth = $clog2(Depth + 1);
  answer_t in_answer, head;
  logic in_valid, in_ready, head_valid, head_leaves;
  logic [UsageWidth-1:0] usage, old_q;

  assign in_valid = rsp_valid_i && rsp_i.cacheable && !rsp_i.fault;
  assign in_answer = '{
      ctx: rsp_i.ctx,
      vpn: rsp_i.vpn,
      ppn: rsp_i.ppn,
      order: rsp_i.order,
      cluster: rsp_i.cluster,
      perm: rsp_i.perm,
      is_global: rsp_i.is_global
  };

  gw_fifo #(
    .T    (answer_t),
    .Depth(Depth)
  ) u_fifo (
    .clk_i,
    .rst_ni,
    .in_valid_i (in_valid && in_ready),
    .in_ready_o (in_ready),
    .in_data_i  (in_answer),
    .out_valid_o(head_valid),
    .out_ready_i(take_i || old_q != '0),
    .out_data_o (head),
    .usage_o    (usage)
  );

  // Answers at the head that waited when a pulse came.
  assign head_leaves = head_valid && (take_i || old_q != '0);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) old_q <= '0;
    else if (inval_valid_i) old_q <= usage - UsageWidth'(head_leaves);
    else if (old_q != '0) old_q <= old_q - 1'b1;
  end
  assign valid_o = head_valid && old_q == '0;
  assign dropped_o = (in_valid && !in_ready) || old_q != '0;

  function automatic ppn_t low_bits(int unsigned order);
    return (ppn_t'(1) << order) - 1'b1;
  endfunction

  always_comb begin
    item_o.page = head.vpn[ClusterShift-1:0];
    item_o.tag = '{
        valid: 1'b1,
        size: L2Single,
        is_global: head.is_global,
        perm: head.perm,
        ctx: head.ctx,
        vpn: cluster_vpn_t'(head.vpn >> ClusterShift),
        pages: cluster_t'(1) << item_o.page
    };
    item_o.base = head.ppn - ppn_t'(item_o.page);
    if (head.order >= page_order_t'(L2Order[L2Giga])) begin
      item_o.tag.size = L2Giga;
      item_o.tag.vpn &= ~cluster_vpn_t'(low_bits(L2Order[L2Giga] - ClusterShift));
      item_o.base = head.ppn & ~low_bits(L2Order[L2Giga]);
    end else if (head.order >= page_order_t'(L2Order[L2Mega])) begin
      item_o.tag.size = L2Mega;
      item_o.tag.vpn &= ~cluster_vpn_t'(low_bits(L2Order[L2Mega] - ClusterShift));
      item_o.base = head.ppn & ~low_bits(L2Order[L2Mega]);
    end else if (Svnapot && head.order >= page_order_t'(ClusterShift)) begin
      item_o.tag.size = L2Cluster;
      item_o.tag.pages = '1;
    end else if (Clusters && (head.cluster & ~item_o.tag.pages) != '0) begin
      item_o.tag.size = L2Cluster;
      item_o.tag.pages |= head.cluster;
    end
  end

  logic unused;
  assign unused = ^{rsp_i.parked, rsp_i.park, rsp_i.src, rsp_i.tag, rsp_i.cause};

  `GW_INVARIANT(OldAreThere_A, old_q <= usage)
  `GW_INVARIANT(TakeValid_A, !take_i || valid_o)
  `GW_COVER(Full_C, in_valid && !in_ready)

endmodule
