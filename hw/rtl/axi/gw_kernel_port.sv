// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// A kernel's memory port, signal by signal, as a bundle of the card. Wiring only.
//
// Contract
// - What gw_axi_adapt states for the kernel's widths. With those of the card it is wires.
// - A signal that the kernel does not have is tied to what AXI4 assumes of a master without it: full beats, INCR, normal
//   modifiable memory (AxCACHE 0011), all strobes. Exclusive accesses are ordinary ones: a card has none from kernels.
`include "gw_axi_typedef.svh"

module gw_kernel_port #(
  /// Bits of data and ID of the kernel's port; a port without IDs has one bit, 0.
  parameter int unsigned DataWidth = 32,
  parameter int unsigned IdWidth = 1,
  /// Bits of data and ID of the card's bundle.
  parameter int unsigned CardDataWidth = 512,
  parameter int unsigned CardIdWidth = 4,
  /// The card's bundle (gw_axi_typedef.svh).
  parameter type req_t = gw_axi_pkg::axi_req_t,
  parameter type rsp_t = gw_axi_pkg::axi_rsp_t
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  // The kernel's port
  input  logic [IdWidth-1:0]     awid_i,
  input  logic [63:0]            awaddr_i,
  input  logic [7:0]             awlen_i,
  input  logic [2:0]             awsize_i,
  input  logic [1:0]             awburst_i,
  input  logic [3:0]             awcache_i,
  input  logic [2:0]             awprot_i,
  input  logic [3:0]             awqos_i,
  input  logic [3:0]             awregion_i,
  input  logic                   awvalid_i,
  output logic                   awready_o,
  input  logic [DataWidth-1:0]   wdata_i,
  input  logic [DataWidth/8-1:0] wstrb_i,
  input  logic                   wlast_i,
  input  logic                   wvalid_i,
  output logic                   wready_o,
  output logic [IdWidth-1:0]     bid_o,
  output logic [1:0]             bresp_o,
  output logic                   bvalid_o,
  input  logic                   bready_i,
  input  logic [IdWidth-1:0]     arid_i,
  input  logic [63:0]            araddr_i,
  input  logic [7:0]             arlen_i,
  input  logic [2:0]             arsize_i,
  input  logic [1:0]             arburst_i,
  input  logic [3:0]             arcache_i,
  input  logic [2:0]             arprot_i,
  input  logic [3:0]             arqos_i,
  input  logic [3:0]             arregion_i,
  input  logic                   arvalid_i,
  output logic                   arready_o,
  output logic [IdWidth-1:0]     rid_o,
  output logic [DataWidth-1:0]   rdata_o,
  output logic [1:0]             rresp_o,
  output logic                   rlast_o,
  output logic                   rvalid_o,
  input  logic                   rready_i,
  // The card's bundle
  output req_t                   m_req_o,
  input  rsp_t                   m_rsp_i
);

  `GW_AXI_TYPEDEF(kernel, IdWidth, DataWidth)
  kernel_req_t req;
  kernel_rsp_t rsp;

  assign req = '{
    aw: '{
      id:     awid_i,
      addr:   awaddr_i,
      len:    awlen_i,
      size:   awsize_i,
      burst:  awburst_i,
      lock:   1'b0,
      cache:  awcache_i,
      prot:   awprot_i,
      qos:    awqos_i,
      region: awregion_i
    },
    aw_valid: awvalid_i,
    w:        '{last: wlast_i, strb: wstrb_i, data: wdata_i},
    w_valid:  wvalid_i,
    b_ready:  bready_i,
    ar: '{
      id:     arid_i,
      addr:   araddr_i,
      len:    arlen_i,
      size:   arsize_i,
      burst:  arburst_i,
      lock:   1'b0,
      cache:  arcache_i,
      prot:   arprot_i,
      qos:    arqos_i,
      region: arregion_i
    },
    ar_valid: arvalid_i,
    r_ready:  rready_i
  };
  assign awready_o = rsp.aw_ready;
  assign wready_o = rsp.w_ready;
  assign bid_o = rsp.b.id;
  assign bresp_o = rsp.b.resp;
  assign bvalid_o = rsp.b_valid;
  assign arready_o = rsp.ar_ready;
  assign rid_o = rsp.r.id;
  assign rdata_o = rsp.r.data;
  assign rresp_o = rsp.r.resp;
  assign rlast_o = rsp.r.last;
  assign rvalid_o = rsp.r_valid;

  gw_axi_adapt #(
    .SlvDataWidth(DataWidth),
    .SlvIdWidth  (IdWidth),
    .MstDataWidth(CardDataWidth),
    .MstIdWidth  (CardIdWidth),
    .slv_req_t   (kernel_req_t),
    .slv_rsp_t   (kernel_rsp_t),
    .mst_req_t   (req_t),
    .mst_rsp_t   (rsp_t)
  ) u_adapt (
    .clk_i,
    .rst_ni,
    .s_req_i(req),
    .s_rsp_o(rsp),
    .m_req_o,
    .m_rsp_i
  );

endmodule
