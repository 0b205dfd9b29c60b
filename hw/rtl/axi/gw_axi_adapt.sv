// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Any AXI4 master on the card's bus: what its port lacks or has too much of is converted. Wiring only.
//
// Contract
// - Same widths: wires, no cycle. A narrower bus: gw_axi_upsize. A wider one: gw_axi_downsize.
// - Shorter IDs are extended with zeros. Longer ones go through gw_axi_id_remap, before anything else.
// - What these blocks state: a beat of the narrower of both buses a cycle, the order of an ID kept, one response a burst, no
//   burst leaves a 4 KiB page that its master's did not leave.
`include "gw_axi_typedef.svh"

module gw_axi_adapt #(
  /// Bits of data and ID of the master, 32 to 1024 and >= 1.
  parameter int unsigned SlvDataWidth = 32,
  parameter int unsigned SlvIdWidth = 1,
  /// Bits of data and ID of the bus.
  parameter int unsigned MstDataWidth = 512,
  parameter int unsigned MstIdWidth = 4,
  /// Bursts of an ID in flight in a width converter, a power of two.
  parameter int unsigned Bursts = 16,
  /// Bundles (gw_axi_typedef.svh) with these widths.
  parameter type slv_req_t = gw_axi_pkg::axi_req_t,
  parameter type slv_rsp_t = gw_axi_pkg::axi_rsp_t,
  parameter type mst_req_t = gw_axi_pkg::axi_req_t,
  parameter type mst_rsp_t = gw_axi_pkg::axi_rsp_t
) (
  input  logic     clk_i,
  input  logic     rst_ni,
  input  slv_req_t s_req_i,
  output slv_rsp_t s_rsp_o,
  output mst_req_t m_req_o,
  input  mst_rsp_t m_rsp_i
);

  // IDs between the remapper and the bus.
  localparam int unsigned IdWidth = (SlvIdWidth < MstIdWidth) ? SlvIdWidth : MstIdWidth;
  `GW_AXI_TYPEDEF(in, IdWidth, SlvDataWidth)
  `GW_AXI_TYPEDEF(out, IdWidth, MstDataWidth)

  in_req_t in_req;
  in_rsp_t in_rsp;
  if (SlvIdWidth > MstIdWidth) begin : gen_remap
    gw_axi_id_remap #(
      .SlvIdWidth(SlvIdWidth),
      .MstIdWidth(MstIdWidth),
      .mst_ax_t  (in_ax_t),
      .slv_req_t (slv_req_t),
      .slv_rsp_t (slv_rsp_t),
      .mst_req_t (in_req_t),
      .mst_rsp_t (in_rsp_t)
    ) u_id_remap (
      .clk_i,
      .rst_ni,
      .s_req_i,
      .s_rsp_o,
      .m_req_o(in_req),
      .m_rsp_i(in_rsp)
    );
  end else begin : gen_same_ids
    assign in_req = s_req_i;
    assign s_rsp_o = in_rsp;
  end

  out_req_t out_req;
  out_rsp_t out_rsp;
  if (SlvDataWidth < MstDataWidth) begin : gen_up
    gw_axi_upsize #(
      .SlvDataWidth(SlvDataWidth),
      .MstDataWidth(MstDataWidth),
      .IdWidth     (IdWidth),
      .Bursts      (Bursts),
      .ax_t        (in_ax_t),
      .slv_w_t     (in_w_t),
      .mst_w_t     (out_w_t),
      .slv_r_t     (in_r_t),
      .mst_r_t     (out_r_t),
      .slv_req_t   (in_req_t),
      .slv_rsp_t   (in_rsp_t),
      .mst_req_t   (out_req_t),
      .mst_rsp_t   (out_rsp_t)
    ) u_upsize (
      .clk_i,
      .rst_ni,
      .s_req_i(in_req),
      .s_rsp_o(in_rsp),
      .m_req_o(out_req),
      .m_rsp_i(out_rsp)
    );
  end else if (SlvDataWidth > MstDataWidth) begin : gen_down
    gw_axi_downsize #(
      .SlvDataWidth(SlvDataWidth),
      .MstDataWidth(MstDataWidth),
      .IdWidth     (IdWidth),
      .Bursts      (Bursts),
      .ax_t        (in_ax_t),
      .slv_w_t     (in_w_t),
      .mst_w_t     (out_w_t),
      .b_t         (in_b_t),
      .slv_r_t     (in_r_t),
      .mst_r_t     (out_r_t),
      .slv_req_t   (in_req_t),
      .slv_rsp_t   (in_rsp_t),
      .mst_req_t   (out_req_t),
      .mst_rsp_t   (out_rsp_t)
    ) u_downsize (
      .clk_i,
      .rst_ni,
      .s_req_i(in_req),
      .s_rsp_o(in_rsp),
      .m_req_o(out_req),
      .m_rsp_i(out_rsp)
    );
  end else begin : gen_same_width
    assign out_req = in_req;
    assign in_rsp = out_rsp;
  end

  // Shorter IDs
  `define GW_LONG_ID(__ax) \
  '{id: MstIdWidth'(__ax.id), addr: __ax.addr, len: __ax.len, size: __ax.size, burst: __ax.burst, lock: __ax.lock, \
    cache: __ax.cache, prot: __ax.prot, qos: __ax.qos, region: __ax.region}
  assign m_req_o = '{
    aw:       `GW_LONG_ID(out_req.aw),
    aw_valid: out_req.aw_valid,
    w:        out_req.w,
    w_valid:  out_req.w_valid,
    b_ready:  out_req.b_ready,
    ar:       `GW_LONG_ID(out_req.ar),
    ar_valid: out_req.ar_valid,
    r_ready:  out_req.r_ready
  };
  `undef GW_LONG_ID
  assign out_rsp = '{
    aw_ready: m_rsp_i.aw_ready,
    w_ready:  m_rsp_i.w_ready,
    b:        '{id: m_rsp_i.b.id[IdWidth-1:0], resp: m_rsp_i.b.resp},
    b_valid:  m_rsp_i.b_valid,
    ar_ready: m_rsp_i.ar_ready,
    r:        '{
      id:   m_rsp_i.r.id[IdWidth-1:0],
      resp: m_rsp_i.r.resp,
      last: m_rsp_i.r.last,
      data: m_rsp_i.r.data
    },
    r_valid:  m_rsp_i.r_valid
  };

  if (SlvIdWidth <= MstIdWidth && SlvDataWidth == MstDataWidth) begin : gen_wires
    logic unused;
    assign unused = clk_i ^ rst_ni;
  end

  if (MstIdWidth > IdWidth) begin : gen_unused_id
    logic unused;
    assign unused = ^{m_rsp_i.r.id[MstIdWidth-1:IdWidth], m_rsp_i.b.id[MstIdWidth-1:IdWidth]};
  end

endmodule
