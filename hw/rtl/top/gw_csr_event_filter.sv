// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Takes events of other contexts away before they are counted (the filter of the RISC-V IOMMU's iohpmevt, one for all
// counters).
//
// Contract
// - Combinational. Without `filter_i.enable` every event passes.
// - An event has the context that its port is bound to, or that of the access or answer it belongs to. Events of none (prefetches,
//   their reads and useless ones among them; drops and entries cleared in the L2) always pass.
module gw_csr_event_filter #(
  /// Accelerator ports, 1 to 2**(gw_pkg::SrcWidth-1).
  parameter int unsigned NumPorts = 1
) (
  input  gw_pkg::count_filter_t                   filter_i,
  input  gw_pkg::port_cfg_t [NumPorts-1:0]        port_cfg_i,
  input  gw_pkg::chan_event_t [NumPorts-1:0][1:0] chan_event_i,
  input  gw_pkg::walk_event_t                     walk_event_i,
  input  gw_pkg::l2_event_t                       l2_event_i,
  output gw_pkg::chan_event_t [NumPorts-1:0][1:0] chan_event_o,
  output gw_pkg::walk_event_t                     walk_event_o,
  output gw_pkg::l2_event_t                       l2_event_o
);

  function automatic logic other(gw_pkg::ctx_id_t ctx);
    return filter_i.enable && ctx != filter_i.ctx;
  endfunction

  always_comb begin
    for (int unsigned p = 0; p < NumPorts; p++) chan_event_o[p] = other(port_cfg_i[p].ctx) ? '0 : chan_event_i[p];

    walk_event_o = walk_event_i;
    if (other(walk_event_i.start_of.ctx)) {walk_event_o.start, walk_event_o.cache_hit} = '0;
    if (other(walk_event_i.done_of.ctx)) {walk_event_o.done, walk_event_o.fault} = '0;
    if (other(walk_event_i.step_of.ctx)) begin
      {walk_event_o.merge, walk_event_o.line_hit, walk_event_o.prefetch_used} = '0;
      walk_event_o.pte_read = walk_event_i.pte_read && walk_event_i.prefetch;
    end
    if (other(walk_event_i.update_of.ctx)) walk_event_o.update = '0;

    l2_event_o = l2_event_i;
    if (other(l2_event_i.lookup_of.ctx)) {l2_event_o.hit, l2_event_o.range_hit, l2_event_o.miss} = '0;
    if (other(l2_event_i.fill_ctx)) {l2_event_o.fill, l2_event_o.merge, l2_event_o.evict} = '0;
  end

endmodule
