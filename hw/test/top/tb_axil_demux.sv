// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_axil_demux with plain pins for cocotb: three slaves of 4 KiB, 64 KiB and 64 KiB.
`define GW_AXIL_PINS(__name, __in, __out) \
  __out logic [31:0] __name``_awaddr, \
  __out logic [2:0]  __name``_awprot, \
  __out logic        __name``_awvalid, \
  __in  logic        __name``_awready, \
  __out logic [31:0] __name``_wdata, \
  __out logic [3:0]  __name``_wstrb, \
  __out logic        __name``_wvalid, \
  __in  logic        __name``_wready, \
  __in  logic [1:0]  __name``_bresp, \
  __in  logic        __name``_bvalid, \
  __out logic        __name``_bready, \
  __out logic [31:0] __name``_araddr, \
  __out logic [2:0]  __name``_arprot, \
  __out logic        __name``_arvalid, \
  __in  logic        __name``_arready, \
  __in  logic [31:0] __name``_rdata, \
  __in  logic [1:0]  __name``_rresp, \
  __in  logic        __name``_rvalid, \
  __out logic        __name``_rready

`define GW_AXIL_TO_SLAVE(__name, __req, __rsp) \
  assign __name``_awaddr = __req.aw_addr; \
  assign __name``_awprot = __req.aw_prot; \
  assign __name``_awvalid = __req.aw_valid; \
  assign __name``_wdata = __req.w_data; \
  assign __name``_wstrb = __req.w_strb; \
  assign __name``_wvalid = __req.w_valid; \
  assign __name``_bready = __req.b_ready; \
  assign __name``_araddr = __req.ar_addr; \
  assign __name``_arprot = __req.ar_prot; \
  assign __name``_arvalid = __req.ar_valid; \
  assign __name``_rready = __req.r_ready; \
  assign __rsp = '{ \
    aw_ready: __name``_awready, \
    w_ready:  __name``_wready, \
    b_resp:   __name``_bresp, \
    b_valid:  __name``_bvalid, \
    ar_ready: __name``_arready, \
    r_data:   __name``_rdata, \
    r_resp:   __name``_rresp, \
    r_valid:  __name``_rvalid \
  };

module tb_axil_demux (
  input logic clk_i,
  input logic rst_ni,
  `GW_AXIL_PINS(s, output, input),
  `GW_AXIL_PINS(m0, input, output),
  `GW_AXIL_PINS(m1, input, output),
  `GW_AXIL_PINS(m2, input, output)
);

  gw_axi_pkg::axil_req_t s_req;
  gw_axi_pkg::axil_rsp_t s_rsp;
  gw_axi_pkg::axil_req_t [2:0] m_req;
  gw_axi_pkg::axil_rsp_t [2:0] m_rsp;

  assign s_req = '{
    aw_addr:  s_awaddr,
    aw_prot:  s_awprot,
    aw_valid: s_awvalid,
    w_data:   s_wdata,
    w_strb:   s_wstrb,
    w_valid:  s_wvalid,
    b_ready:  s_bready,
    ar_addr:  s_araddr,
    ar_prot:  s_arprot,
    ar_valid: s_arvalid,
    r_ready:  s_rready
  };
  assign s_awready = s_rsp.aw_ready;
  assign s_wready = s_rsp.w_ready;
  assign s_bresp = s_rsp.b_resp;
  assign s_bvalid = s_rsp.b_valid;
  assign s_arready = s_rsp.ar_ready;
  assign s_rdata = s_rsp.r_data;
  assign s_rresp = s_rsp.r_resp;
  assign s_rvalid = s_rsp.r_valid;

  `GW_AXIL_TO_SLAVE(m0, m_req[0], m_rsp[0])
  `GW_AXIL_TO_SLAVE(m1, m_req[1], m_rsp[1])
  `GW_AXIL_TO_SLAVE(m2, m_req[2], m_rsp[2])

  gw_axil_demux #(
    .NumSlaves(3),
    .Base     ({32'h0011_0000, 32'h0010_0000, 32'h0000_0000}),
    .Mask     ({32'h0000_ffff, 32'h0000_ffff, 32'h0000_0fff})
  ) u_dut (
    .clk_i,
    .rst_ni,
    .s_req_i(s_req),
    .s_rsp_o(s_rsp),
    .m_req_o(m_req),
    .m_rsp_i(m_rsp)
  );

endmodule
