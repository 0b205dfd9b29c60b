// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Routes a port's accelerator around its translator (physical addresses) or through it.
//
// Contract
// - Combinational in both directions, no state, no added latency.
// - `cfg_i.mode` == PortBare: accelerator side and memory side are wired together and the
//   translator sees an idle port. Every other mode: accelerator -> translator -> memory. So nothing
//   passes untranslated unless the mode says PortBare.
// - The mode changes only while the port is idle (no burst accepted and unanswered, nothing
//   offered); software that binds the port sees to that. A change in the middle of a burst would
//   cut it in two.

module gw_bare_switch #(
  /// AXI bundles of the port (`GW_AXI_TYPEDEF).
  parameter type req_t = gw_axi_pkg::axi_req_t,
  parameter type rsp_t = gw_axi_pkg::axi_rsp_t
) (
  input  gw_pkg::port_cfg_t cfg_i,
  /// Accelerator.
  input  req_t s_req_i,
  output rsp_t s_rsp_o,
  /// Translator, accelerator side.
  output req_t xlate_s_req_o,
  input  rsp_t xlate_s_rsp_i,
  /// Translator, memory side.
  input  req_t xlate_m_req_i,
  output rsp_t xlate_m_rsp_o,
  /// Memory.
  output req_t m_req_o,
  input  rsp_t m_rsp_i
);

  logic bare;
  assign bare = cfg_i.mode == gw_pkg::PortBare;

  // Data needs no choice: the translator passes it on unchanged, and what is not valid is not looked at.
  always_comb begin
    xlate_s_req_o = s_req_i;
    xlate_m_rsp_o = m_rsp_i;
    m_req_o = xlate_m_req_i;
    s_rsp_o = xlate_s_rsp_i;
    if (bare) begin
      {xlate_s_req_o.aw_valid, xlate_s_req_o.w_valid, xlate_s_req_o.ar_valid} = '0;
      {xlate_m_rsp_o.b_valid, xlate_m_rsp_o.r_valid} = '0;
      {m_req_o.aw, m_req_o.aw_valid} = {s_req_i.aw, s_req_i.aw_valid};
      {m_req_o.ar, m_req_o.ar_valid} = {s_req_i.ar, s_req_i.ar_valid};
      {m_req_o.w_valid, m_req_o.b_ready, m_req_o.r_ready} = {s_req_i.w_valid, s_req_i.b_ready, s_req_i.r_ready};
      {s_rsp_o.aw_ready, s_rsp_o.w_ready, s_rsp_o.ar_ready} = {m_rsp_i.aw_ready, m_rsp_i.w_ready, m_rsp_i.ar_ready};
      {s_rsp_o.b, s_rsp_o.b_valid, s_rsp_o.r_valid} = {m_rsp_i.b, m_rsp_i.b_valid, m_rsp_i.r_valid};
    end
  end

  logic unused_cfg;
  assign unused_cfg = ^cfg_i.ctx;

endmodule
