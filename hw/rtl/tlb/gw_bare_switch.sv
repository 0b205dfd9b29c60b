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

  assign xlate_s_req_o = bare ? '0 : s_req_i;
  assign xlate_m_rsp_o = bare ? '0 : m_rsp_i;
  assign m_req_o = bare ? s_req_i : xlate_m_req_i;
  assign s_rsp_o = bare ? m_rsp_i : xlate_s_rsp_i;

  logic unused_cfg;
  assign unused_cfg = ^cfg_i.ctx;

endmodule
