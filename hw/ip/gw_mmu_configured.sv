// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_mmu with the parameters of a configuration (gw_config_pkg, which is generated together with the registers): what a project
// takes that does not build Godwit's card. AXI with the types of gw_axi_pkg. Wiring only.
module gw_mmu_configured (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  // Registers
  input  gw_axi_pkg::axil_req_t   axil_req_i,
  output gw_axi_pkg::axil_rsp_t   axil_rsp_o,
  // Accelerators
  input  gw_axi_pkg::axi_req_t    s_req_i [gw_config_pkg::NumPorts],
  output gw_axi_pkg::axi_rsp_t    s_rsp_o [gw_config_pkg::NumPorts],
  // Memory
  output gw_axi_pkg::axi_req_t    m_req_o [gw_config_pkg::NumPorts],
  input  gw_axi_pkg::axi_rsp_t    m_rsp_i [gw_config_pkg::NumPorts],
  // Page tables
  output gw_axi_pkg::pt_req_t     pt_req_o,
  input  gw_axi_pkg::pt_rsp_t     pt_rsp_i,
  // Command queue
  output gw_axi_pkg::cq_req_t     cq_req_o,
  input  gw_axi_pkg::cq_rsp_t     cq_rsp_i,
  // What happens in each cycle, for whoever watches
  output gw_pkg::port_event_t     port_event_o [gw_config_pkg::NumPorts],
  output gw_pkg::mmu_event_t      mmu_event_o,
  output logic                    irq_o
);

  gw_mmu #(
    .NumPorts        (gw_config_pkg::NumPorts),
    .NumContexts     (gw_config_pkg::NumContexts),
    .L1Entries       (gw_config_pkg::L1Entries),
    .L1Replacement   (gw_config_pkg::L1Replacement),
    .MissEntries     (gw_config_pkg::MissEntries),
    .Outstanding     (gw_config_pkg::Outstanding),
    .PortBuffer      (gw_config_pkg::NumPorts'(gw_config_pkg::PortBuffers)),
    .L2Sets          (gw_config_pkg::L2Sets),
    .L2Ways          (gw_config_pkg::L2Ways),
    .L2Policy        (gw_pkg::l2_policy_e'(gw_config_pkg::L2Policy)),
    .L2Replacement   (gw_config_pkg::L2Replacement),
    .L2Clusters      (gw_config_pkg::L2Clusters != 0),
    .L2FillEntries   (gw_config_pkg::L2FillEntries),
    .L2MissEntries   (gw_config_pkg::L2MissEntries),
    .RangeEntries    (gw_config_pkg::RangeEntries),
    .Levels          (gw_config_pkg::Levels),
    .WalkRequests    (gw_config_pkg::WalkRequests),
    .WalkLines       (gw_config_pkg::WalkLines),
    .WalkLineBeats   (gw_config_pkg::WalkLineBeats),
    .WalkCacheEntries(gw_config_pkg::WalkCacheEntries),
    .WalkPrefetch    (gw_config_pkg::WalkPrefetch != 0),
    .PageRequests    (gw_config_pkg::PageRequests)
  ) u_mmu (
    .clk_i,
    .rst_ni,
    .axil_req_i,
    .axil_rsp_o,
    .s_req_i,
    .s_rsp_o,
    .m_req_o,
    .m_rsp_i,
    .pt_req_o,
    .pt_rsp_i,
    .cq_req_o,
    .cq_rsp_i,
    .heap_i      ('0),
    .heap_o      (),
    .cache_valid_o(),
    .cache_ready_i(1'b0),
    .cache_o  (),
    .cache_ack_i  ('0),
    .cache_event_i('0),
    .access_o     (),
    .access_i     ('0),
    .port_cfg_o  (),
    .port_event_o,
    .mmu_event_o,
    .irq_o
  );

endmodule
