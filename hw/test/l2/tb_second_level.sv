// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_second_level with plain vectors in place of structs.
module tb_second_level #(
  parameter int unsigned Sets = 16,
  parameter int unsigned Ways = 4,
  parameter int unsigned Policy = 2,
  parameter int unsigned Replacement = 1,
  parameter bit Clusters = 1'b1,
  parameter int unsigned FillDepth = 64,
  parameter int unsigned MissDepth = 8,
  parameter int unsigned RangeEntries = 4,
  parameter bit Svnapot = 1'b1,
  localparam int unsigned NumRanges = (RangeEntries > 0) ? RangeEntries : 1,
  localparam int unsigned RangeWidth = (RangeEntries > 1) ? $clog2(RangeEntries) : 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  req_valid_i,
  output logic                  req_ready_o,
  input  logic [13:0]           req_id_i,
  input  logic [7:0]            req_ctx_i,
  input  logic [44:0]           req_vpn_i,
  input  logic                  req_write_i,
  output logic                  rsp_valid_o,
  output logic [13:0]           rsp_id_o,
  output logic [43:0]           rsp_ppn_o,
  output logic [4:0]            rsp_order_o,
  output logic [15:0]           rsp_cluster_o,
  output logic [1:0]            rsp_perm_o,
  output logic                  rsp_global_o,
  output logic                  rsp_cacheable_o,
  output logic                  rsp_fault_o,
  output logic [52:0]           rsp_page_o,
  output logic                  walk_valid_o,
  input  logic                  walk_ready_i,
  output logic [13:0]           walk_id_o,
  output logic [7:0]            walk_ctx_o,
  output logic [44:0]           walk_vpn_o,
  output logic                  walk_write_o,
  output logic                  walk_cancel_o,
  input  logic                  ans_valid_i,
  input  logic [13:0]           ans_id_i,
  input  logic [7:0]            ans_ctx_i,
  input  logic [44:0]           ans_vpn_i,
  input  logic [43:0]           ans_ppn_i,
  input  logic [4:0]            ans_order_i,
  input  logic [15:0]           ans_cluster_i,
  input  logic [1:0]            ans_perm_i,
  input  logic                  ans_global_i,
  input  logic                  ans_cacheable_i,
  input  logic                  ans_fault_i,
  input  logic                  range_we_i,
  input  logic [RangeWidth-1:0] range_idx_i,
  input  logic [144:0]          range_i,
  output logic [NumRanges-1:0]  range_valid_o,
  input  logic                  inval_valid_i,
  input  logic [1:0]            inval_scope_i,
  input  logic [7:0]            inval_ctx_i,
  input  logic [44:0]           inval_vpn_i,
  input  logic [4:0]            inval_order_i,
  input  logic                  epoch_i,
  output logic                  inval_busy_o,
  output logic [11:0]           events_o
);

  gw_pkg::xlate_req_t req, walk_req;
  gw_pkg::xlate_rsp_t rsp, ans;
  gw_pkg::range_t [NumRanges-1:0] ranges;
  gw_pkg::inval_t inval;

  assign req = '{src: req_id_i[13:8], tag: req_id_i[7:0], ctx: req_ctx_i, vpn: req_vpn_i, write: req_write_i};
  assign {rsp_id_o, rsp_page_o, rsp_ppn_o} = {rsp.src, rsp.tag, rsp.ctx, rsp.vpn, rsp.ppn};
  assign {rsp_order_o, rsp_cluster_o, rsp_perm_o} = {rsp.order, rsp.cluster, rsp.perm};
  assign {rsp_global_o, rsp_cacheable_o, rsp_fault_o} = {rsp.is_global, rsp.cacheable, rsp.fault};
  assign {walk_id_o, walk_ctx_o} = {walk_req.src, walk_req.tag, walk_req.ctx};
  assign {walk_vpn_o, walk_write_o} = {walk_req.vpn, walk_req.write};
  assign ans = '{
      src: ans_id_i[13:8],
      tag: ans_id_i[7:0],
      ctx: ans_ctx_i,
      vpn: ans_vpn_i,
      ppn: ans_ppn_i,
      order: ans_order_i,
      cluster: ans_cluster_i,
      perm: ans_perm_i,
      is_global: ans_global_i,
      cacheable: ans_cacheable_i && !ans_fault_i,
      fault: ans_fault_i,
      cause: 12'd13,
      parked: 1'b0,
      park: '0
  };
  assign inval = '{
      scope: gw_pkg::inval_scope_e'(inval_scope_i),
      ctx: inval_ctx_i,
      vpn: inval_vpn_i,
      order: inval_order_i
  };
  for (genvar i = 0; i < NumRanges; i++) begin : gen_range
    assign range_valid_o[i] = ranges[i].valid;
  end

  gw_pkg::l2_event_t happened;

  // As in gw_mmu.
  logic dut_clk, awake;
  gw_clock_gate u_gate (
    .clk_i,
    .en_i (req_valid_i || ans_valid_i || inval_valid_i || range_we_i || awake || !rst_ni),
    .clk_o(dut_clk)
  );

  gw_second_level #(
    .Sets        (Sets),
    .Ways        (Ways),
    .Policy      (gw_pkg::l2_policy_e'(Policy)),
    .Replacement (Replacement),
    .Clusters    (Clusters),
    .Svnapot     (Svnapot),
    .FillDepth   (FillDepth),
    .MissDepth   (MissDepth),
    .RangeEntries(RangeEntries)
  ) u_dut (
    .clk_i           (dut_clk),
    .rst_ni,
    .req_valid_i,
    .req_ready_o,
    .req_i           (req),
    .rsp_valid_o,
    .rsp_o           (rsp),
    .walk_req_valid_o(walk_valid_o),
    .walk_req_ready_i(walk_ready_i),
    .walk_req_o      (walk_req),
    .walk_cancel_o,
    .walk_rsp_valid_i(ans_valid_i),
    .walk_rsp_i      (ans),
    .range_we_i,
    .range_idx_i,
    .range_i         (gw_pkg::range_t'(range_i)),
    .ranges_o        (ranges),
    .inval_valid_i,
    .inval_i         (inval),
    .epoch_i,
    .inval_busy_o,
    .awake_o         (awake),
    .event_o         (happened)
  );
  assign events_o = {
    happened.hit, happened.range_hit, happened.miss, happened.fill, happened.merge, happened.evict, happened.drop,
    happened.invalidated
  };

endmodule
