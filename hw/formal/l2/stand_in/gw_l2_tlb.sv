// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Stands for gw_l2_tlb in proofs of gw_second_level: hits or misses as the request says.
module gw_l2_tlb #(
  parameter int unsigned Sets = 256,
  parameter int unsigned Ways = 4,
  parameter gw_pkg::l2_policy_e Policy = gw_pkg::L2Hashed,
  parameter int unsigned Replacement = 1,
  parameter bit Clusters = 1'b1,
  parameter int unsigned FillDepth = 64,
  parameter bit Svnapot = 1'b1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                lookup_i,
  input  gw_pkg::vpn_t        lookup_vpn_i,
  input  logic                req_valid_i,
  input  gw_pkg::vpn_t        vpn_i,
  input  gw_pkg::ctx_id_t     ctx_i,
  input  logic                write_i,
  output logic                hit_o,
  output gw_pkg::ppn_t        ppn_o,
  output gw_pkg::page_order_t order_o,
  output gw_pkg::cluster_t    cluster_o,
  output gw_pkg::perm_t       perm_o,
  output logic                is_global_o,
  input  logic                rsp_valid_i,
  input  gw_pkg::xlate_rsp_t  rsp_i,
  input  logic                inval_valid_i,
  input  gw_pkg::inval_t      inval_i,
  input  logic                epoch_i,
  output logic                inval_busy_o,
  output logic                busy_o,
  output gw_pkg::l2_event_t   event_o
);

  // The request's context carries the choice.
  gw_pkg::vpn_t vpn_q;
  always_ff @(posedge clk_i) begin
    hit_o <= rst_ni && req_valid_i && ctx_i[0];
    {ppn_o, vpn_q} <= {gw_pkg::ppn_t'(vpn_q), vpn_i};
  end
  assign {order_o, cluster_o, perm_o, is_global_o} = '0;
  assign {inval_busy_o, busy_o} = '0;
  assign event_o = '0;

endmodule
