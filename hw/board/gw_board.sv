// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The card for a board with one memory: gw_card, and in front of the memory's only port everything that reaches it. Bundles are
// taken apart into plain signals, for whoever instantiates it. Wiring only.
//
// Contract
// - Registers: AXI4-Lite, offsets as on the card.
// - Window: AXI4-Lite into the memory, for the host: an access of 4 bytes at the address it has.
// - Memory: one AXI4 port of the card's data width; exclusive accesses have ended here (gw_exclusive_monitor), so that A and D
//   bits that the walker sets and what the host writes never undo each other.
// - irq_o: that of the MMU or of any kernel.
`include "gw_axi_typedef.svh"

module gw_board #(
  localparam int unsigned DataWidth = gw_config_pkg::DataWidth,
  localparam int unsigned NumPorts = gw_config_pkg::NumPorts,
  /// Masters: the ports, the command queue, the walker, the host.
  localparam int unsigned NumMst = NumPorts + 3,
  /// IDs of the widest master, and with the number of a master in front.
  localparam int unsigned InIdWidth = gw_axi_pkg::PtIdWidth,
  localparam int unsigned MemIdWidth = InIdWidth + $clog2(NumMst)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  // Registers
  input  logic                   reg_aw_valid_i,
  output logic                   reg_aw_ready_o,
  input  logic [31:0]            reg_aw_addr_i,
  input  logic                   reg_w_valid_i,
  output logic                   reg_w_ready_o,
  input  logic [31:0]            reg_w_data_i,
  input  logic [3:0]             reg_w_strb_i,
  output logic                   reg_b_valid_o,
  input  logic                   reg_b_ready_i,
  output logic [1:0]             reg_b_resp_o,
  input  logic                   reg_ar_valid_i,
  output logic                   reg_ar_ready_o,
  input  logic [31:0]            reg_ar_addr_i,
  output logic                   reg_r_valid_o,
  input  logic                   reg_r_ready_i,
  output logic [31:0]            reg_r_data_o,
  output logic [1:0]             reg_r_resp_o,
  // Window
  input  logic                   win_aw_valid_i,
  output logic                   win_aw_ready_o,
  input  logic [31:0]            win_aw_addr_i,
  input  logic                   win_w_valid_i,
  output logic                   win_w_ready_o,
  input  logic [31:0]            win_w_data_i,
  input  logic [3:0]             win_w_strb_i,
  output logic                   win_b_valid_o,
  input  logic                   win_b_ready_i,
  output logic [1:0]             win_b_resp_o,
  input  logic                   win_ar_valid_i,
  output logic                   win_ar_ready_o,
  input  logic [31:0]            win_ar_addr_i,
  output logic                   win_r_valid_o,
  input  logic                   win_r_ready_i,
  output logic [31:0]            win_r_data_o,
  output logic [1:0]             win_r_resp_o,
  // Memory
  output logic                   mem_aw_valid_o,
  input  logic                   mem_aw_ready_i,
  output logic [MemIdWidth-1:0]  mem_aw_id_o,
  output logic [31:0]            mem_aw_addr_o,
  output logic [7:0]             mem_aw_len_o,
  output logic [2:0]             mem_aw_size_o,
  output logic [1:0]             mem_aw_burst_o,
  output logic                   mem_w_valid_o,
  input  logic                   mem_w_ready_i,
  output logic [DataWidth-1:0]   mem_w_data_o,
  output logic [DataWidth/8-1:0] mem_w_strb_o,
  output logic                   mem_w_last_o,
  input  logic                   mem_b_valid_i,
  output logic                   mem_b_ready_o,
  input  logic [MemIdWidth-1:0]  mem_b_id_i,
  input  logic [1:0]             mem_b_resp_i,
  output logic                   mem_ar_valid_o,
  input  logic                   mem_ar_ready_i,
  output logic [MemIdWidth-1:0]  mem_ar_id_o,
  output logic [31:0]            mem_ar_addr_o,
  output logic [7:0]             mem_ar_len_o,
  output logic [2:0]             mem_ar_size_o,
  output logic [1:0]             mem_ar_burst_o,
  input  logic                   mem_r_valid_i,
  output logic                   mem_r_ready_o,
  input  logic [MemIdWidth-1:0]  mem_r_id_i,
  input  logic [DataWidth-1:0]   mem_r_data_i,
  input  logic [1:0]             mem_r_resp_i,
  input  logic                   mem_r_last_i,
  output logic                   irq_o
);

  localparam int unsigned IdWidth = gw_config_pkg::IdWidth;
  localparam int unsigned PtIdWidth = gw_axi_pkg::PtIdWidth;
  localparam int unsigned CqIdWidth = gw_axi_pkg::CqIdWidth;
  `GW_AXI_TYPEDEF(port, IdWidth, DataWidth)
  `GW_AXI_TYPEDEF(pt, PtIdWidth, DataWidth)
  `GW_AXI_TYPEDEF(cq, CqIdWidth, DataWidth)
  `GW_AXI_TYPEDEF(host, 1, 32)
  `GW_AXI_TYPEDEF(wide, 1, DataWidth)
  `GW_AXI_TYPEDEF(in, InIdWidth, DataWidth)
  `GW_AXI_TYPEDEF(mem, MemIdWidth, DataWidth)

  // The card. No master from outside.
  gw_axi_pkg::axil_req_t axil_req;
  gw_axi_pkg::axil_rsp_t axil_rsp;
  port_req_t port_req[NumPorts];
  port_rsp_t port_rsp[NumPorts];
  port_req_t ext_req[1];
  pt_req_t pt_req;
  pt_rsp_t pt_rsp;
  cq_req_t cq_req;
  cq_rsp_t cq_rsp;
  gw_axi_pkg::axi_rsp_t dma_rsp[2];
  logic [gw_config_pkg::NumKernels:0] irq;

  assign ext_req[0] = '0;
  assign dma_rsp = '{default: '0};
  assign irq_o = irq != '0;

  gw_card #(
    .req_t   (port_req_t),
    .rsp_t   (port_rsp_t),
    .pt_req_t(pt_req_t),
    .pt_rsp_t(pt_rsp_t),
    .cq_req_t(cq_req_t),
    .cq_rsp_t(cq_rsp_t)
  ) u_card (
    .clk_i,
    .rst_ni,
    .axil_req_i  (axil_req),
    .axil_rsp_o  (axil_rsp),
    .mem_req_o   (port_req),
    .mem_rsp_i   (port_rsp),
    .pt_req_o    (pt_req),
    .pt_rsp_i    (pt_rsp),
    .cq_req_o    (cq_req),
    .cq_rsp_i    (cq_rsp),
    .dma_req_o   (),
    .dma_rsp_i   (dma_rsp),
    .heap_req_o  (),
    .heap_rsp_i  ('0),
    .cache_req_o (),
    .cache_rsp_i ('0),
    .ext_req_i   (ext_req),
    .ext_rsp_o   (),
    .acc_valid_o (),
    .acc_ready_o (),
    .port_event_o(),
    .mmu_event_o (),
    .irq_o       (irq),
    .dma_irq_o   ()
  );

  assign axil_req = '{
    aw_addr:  reg_aw_addr_i,
    aw_prot:  '0,
    aw_valid: reg_aw_valid_i,
    w_data:   reg_w_data_i,
    w_strb:   reg_w_strb_i,
    w_valid:  reg_w_valid_i,
    b_ready:  reg_b_ready_i,
    ar_addr:  reg_ar_addr_i,
    ar_prot:  '0,
    ar_valid: reg_ar_valid_i,
    r_ready:  reg_r_ready_i
  };
  assign reg_aw_ready_o = axil_rsp.aw_ready;
  assign reg_w_ready_o = axil_rsp.w_ready;
  assign reg_b_valid_o = axil_rsp.b_valid;
  assign reg_b_resp_o = axil_rsp.b_resp;
  assign reg_ar_ready_o = axil_rsp.ar_ready;
  assign reg_r_valid_o = axil_rsp.r_valid;
  assign reg_r_data_o = axil_rsp.r_data;
  assign reg_r_resp_o = axil_rsp.r_resp;

  // The host's window: AXI4-Lite is AXI4 of one beat.
  host_req_t host_req;
  host_rsp_t host_rsp;
  wide_req_t wide_req;
  wide_rsp_t wide_rsp;

  localparam host_ax_t OneWord = '{size: 3'd2, burst: gw_axi_pkg::BurstIncr, cache: 4'b0011, default: '0};
  always_comb begin
    host_req = '0;
    host_req.aw = OneWord;
    host_req.aw.addr = 64'(win_aw_addr_i);
    host_req.aw_valid = win_aw_valid_i;
    host_req.w = '{last: 1'b1, strb: win_w_strb_i, data: win_w_data_i};
    host_req.w_valid = win_w_valid_i;
    host_req.b_ready = win_b_ready_i;
    host_req.ar = OneWord;
    host_req.ar.addr = 64'(win_ar_addr_i);
    host_req.ar_valid = win_ar_valid_i;
    host_req.r_ready = win_r_ready_i;
  end
  assign win_aw_ready_o = host_rsp.aw_ready;
  assign win_w_ready_o = host_rsp.w_ready;
  assign win_b_valid_o = host_rsp.b_valid;
  assign win_b_resp_o = host_rsp.b.resp;
  assign win_ar_ready_o = host_rsp.ar_ready;
  assign win_r_valid_o = host_rsp.r_valid;
  assign win_r_data_o = host_rsp.r.data;
  assign win_r_resp_o = host_rsp.r.resp;

  gw_axi_adapt #(
    .SlvDataWidth(32),
    .SlvIdWidth  (1),
    .MstDataWidth(DataWidth),
    .MstIdWidth  (1),
    .Bursts      (2),
    .slv_req_t   (host_req_t),
    .slv_rsp_t   (host_rsp_t),
    .mst_req_t   (wide_req_t),
    .mst_rsp_t   (wide_rsp_t)
  ) u_window (
    .clk_i,
    .rst_ni,
    .s_req_i(host_req),
    .s_rsp_o(host_rsp),
    .m_req_o(wide_req),
    .m_rsp_i(wide_rsp)
  );

  // All masters with IDs of one width.
  in_req_t in_req[NumMst];
  in_rsp_t in_rsp[NumMst];

  `define GW_WITH_ID(__ax) \
  '{id: InIdWidth'(__ax.id), addr: __ax.addr, len: __ax.len, size: __ax.size, burst: __ax.burst, lock: __ax.lock, \
    cache: __ax.cache, prot: __ax.prot, qos: __ax.qos, region: __ax.region}
  `define GW_MASTER(__i, __req, __rsp) \
  assign in_req[__i] = '{ \
    aw:       `GW_WITH_ID(__req.aw), \
    aw_valid: __req.aw_valid, \
    w:        __req.w, \
    w_valid:  __req.w_valid, \
    b_ready:  __req.b_ready, \
    ar:       `GW_WITH_ID(__req.ar), \
    ar_valid: __req.ar_valid, \
    r_ready:  __req.r_ready \
  }; \
  assign __rsp = '{ \
    aw_ready: in_rsp[__i].aw_ready, \
    w_ready:  in_rsp[__i].w_ready, \
    b:        '{id: in_rsp[__i].b.id[$bits(__req.aw.id)-1:0], resp: in_rsp[__i].b.resp}, \
    b_valid:  in_rsp[__i].b_valid, \
    ar_ready: in_rsp[__i].ar_ready, \
    r:        '{id: in_rsp[__i].r.id[$bits(__req.ar.id)-1:0], resp: in_rsp[__i].r.resp, last: in_rsp[__i].r.last, \
                data: in_rsp[__i].r.data}, \
    r_valid:  in_rsp[__i].r_valid \
  };
  for (genvar i = 0; i < NumPorts; i++) begin : gen_port
    `GW_MASTER(i, port_req[i], port_rsp[i])
  end
  `GW_MASTER(NumPorts, cq_req, cq_rsp)
  `GW_MASTER(NumPorts + 1, pt_req, pt_rsp)
  `GW_MASTER(NumPorts + 2, wide_req, wide_rsp)
  `undef GW_MASTER
  `undef GW_WITH_ID

  mem_req_t mux_req, mem_req;
  mem_rsp_t mux_rsp, mem_rsp;

  gw_axi_mux #(
    .NumMst   (NumMst),
    .slv_req_t(in_req_t),
    .slv_rsp_t(in_rsp_t),
    .mst_req_t(mem_req_t),
    .mst_rsp_t(mem_rsp_t),
    .mst_ax_t (mem_ax_t),
    .mst_w_t  (mem_w_t),
    .mst_r_t  (mem_r_t),
    .mst_b_t  (mem_b_t)
  ) u_mux (
    .clk_i,
    .rst_ni,
    .s_req_i(in_req),
    .s_rsp_o(in_rsp),
    .m_req_o(mux_req),
    .m_rsp_i(mux_rsp)
  );

  gw_exclusive_monitor #(
    .Writes(8),
    .req_t (mem_req_t),
    .rsp_t (mem_rsp_t)
  ) u_monitor (
    .clk_i,
    .rst_ni,
    .s_req_i(mux_req),
    .s_rsp_o(mux_rsp),
    .m_req_o(mem_req),
    .m_rsp_i(mem_rsp)
  );

  assign mem_aw_valid_o = mem_req.aw_valid;
  assign mem_aw_id_o = mem_req.aw.id;
  assign mem_aw_addr_o = mem_req.aw.addr[31:0];
  assign mem_aw_len_o = mem_req.aw.len;
  assign mem_aw_size_o = mem_req.aw.size;
  assign mem_aw_burst_o = mem_req.aw.burst;
  assign mem_w_valid_o = mem_req.w_valid;
  assign mem_w_data_o = mem_req.w.data;
  assign mem_w_strb_o = mem_req.w.strb;
  assign mem_w_last_o = mem_req.w.last;
  assign mem_b_ready_o = mem_req.b_ready;
  assign mem_ar_valid_o = mem_req.ar_valid;
  assign mem_ar_id_o = mem_req.ar.id;
  assign mem_ar_addr_o = mem_req.ar.addr[31:0];
  assign mem_ar_len_o = mem_req.ar.len;
  assign mem_ar_size_o = mem_req.ar.size;
  assign mem_ar_burst_o = mem_req.ar.burst;
  assign mem_r_ready_o = mem_req.r_ready;
  assign mem_rsp = '{
    aw_ready: mem_aw_ready_i,
    w_ready:  mem_w_ready_i,
    b:        '{id: mem_b_id_i, resp: mem_b_resp_i},
    b_valid:  mem_b_valid_i,
    ar_ready: mem_ar_ready_i,
    r:        '{id: mem_r_id_i, resp: mem_r_resp_i, last: mem_r_last_i, data: mem_r_data_i},
    r_valid:  mem_r_valid_i
  };

endmodule
