// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_translator with flat ports, for the benches.
`include "gw_axi_typedef.svh"

module tb_translator #(
  parameter int unsigned L1Entries = 4,
  parameter int unsigned L1Replacement = 1,
  parameter int unsigned MissEntries = 8,
  parameter int unsigned Outstanding = 16,
  parameter int unsigned Levels = 4,
  parameter int unsigned IdWidth = 3,
  parameter int unsigned DataWidth = 64,
  // gw_port_buffer stands before it.
  parameter bit Buffer = 1'b0
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic [1:0] mode_i,
  input  logic [7:0] ctx_i,
  // Address attributes as one vector, {lock, cache, prot, qos, region}: benches number accesses so.
  input  logic [IdWidth-1:0] s_axi_arid,
  input  logic [63:0] s_axi_araddr,
  input  logic [7:0] s_axi_arlen,
  input  logic [2:0] s_axi_arsize,
  input  logic [1:0] s_axi_arburst,
  input  logic [15:0] s_ar_attr,
  input  logic s_axi_arvalid,
  output logic s_axi_arready,
  output logic [IdWidth-1:0] s_axi_rid,
  output logic [DataWidth-1:0] s_axi_rdata,
  output logic [1:0] s_axi_rresp,
  output logic s_axi_rlast,
  output logic s_axi_rvalid,
  input  logic s_axi_rready,
  input  logic [IdWidth-1:0] s_axi_awid,
  input  logic [63:0] s_axi_awaddr,
  input  logic [7:0] s_axi_awlen,
  input  logic [2:0] s_axi_awsize,
  input  logic [1:0] s_axi_awburst,
  input  logic [15:0] s_aw_attr,
  input  logic s_axi_awvalid,
  output logic s_axi_awready,
  input  logic [DataWidth-1:0] s_axi_wdata,
  input  logic [DataWidth/8-1:0] s_axi_wstrb,
  input  logic s_axi_wlast,
  input  logic s_axi_wvalid,
  output logic s_axi_wready,
  output logic [IdWidth-1:0] s_axi_bid,
  output logic [1:0] s_axi_bresp,
  output logic s_axi_bvalid,
  input  logic s_axi_bready,

  output logic [IdWidth-1:0] m_axi_arid,
  output logic [63:0] m_axi_araddr,
  output logic [7:0] m_axi_arlen,
  output logic [2:0] m_axi_arsize,
  output logic [1:0] m_axi_arburst,
  output logic [15:0] m_ar_attr,
  output logic m_axi_arvalid,
  input  logic m_axi_arready,
  input  logic [IdWidth-1:0] m_axi_rid,
  input  logic [DataWidth-1:0] m_axi_rdata,
  input  logic [1:0] m_axi_rresp,
  input  logic m_axi_rlast,
  input  logic m_axi_rvalid,
  output logic m_axi_rready,
  output logic [IdWidth-1:0] m_axi_awid,
  output logic [63:0] m_axi_awaddr,
  output logic [7:0] m_axi_awlen,
  output logic [2:0] m_axi_awsize,
  output logic [1:0] m_axi_awburst,
  output logic [15:0] m_aw_attr,
  output logic m_axi_awvalid,
  input  logic m_axi_awready,
  output logic [DataWidth-1:0] m_axi_wdata,
  output logic [DataWidth/8-1:0] m_axi_wstrb,
  output logic m_axi_wlast,
  output logic m_axi_wvalid,
  input  logic m_axi_wready,
  input  logic [IdWidth-1:0] m_axi_bid,
  input  logic [1:0] m_axi_bresp,
  input  logic m_axi_bvalid,
  output logic m_axi_bready,

  // Lookups, [0] AR, [1] AW.
  output logic [1:0] req_valid,
  input  logic [1:0] req_ready,
  output logic [1:0][7:0] req_tag,
  output logic [1:0][7:0] req_ctx,
  output logic [1:0][44:0] req_vpn,
  output logic [1:0] req_write,
  input  logic [1:0] rsp_valid,
  input  logic [7:0] rsp_tag,
  input  logic [43:0] rsp_ppn,
  input  logic [4:0] rsp_order,
  input  logic [1:0] rsp_perm,
  input  logic rsp_cacheable,
  input  logic rsp_global,
  input  logic rsp_fault,
  input  logic [11:0] rsp_cause,
  input  logic [7:0] rsp_ctx,
  input  logic [44:0] rsp_vpn,
  input  logic rsp_parked,
  input  logic [6:0] rsp_park,
  input  logic wake_valid_i,
  input  logic wake_ok_i,
  input  logic [6:0] wake_park_i,
  input  logic ctx_write_valid_i,
  input  logic [7:0] ctx_write_ctx_i,

  input  logic inval_valid_i,
  input  logic [1:0] inval_scope_i,
  input  logic [7:0] inval_ctx_i,
  input  logic [44:0] inval_vpn_i,
  input  logic [4:0] inval_order_i,
  input  logic epoch_i,
  output logic inval_busy_o,
  // A channel: {cause, ctx, write, id, addr} and {request, hit, miss, fault, stall}.
  output logic [1:0] fault_valid,
  output logic [1:0][100:0] fault,
  output logic [1:0][4:0] events
);

  `GW_AXI_TYPEDEF(tb, IdWidth, DataWidth)

  tb_req_t s_req, x_req, m_req;
  tb_rsp_t s_rsp, x_rsp, m_rsp;
  gw_pkg::port_cfg_t cfg;
  gw_pkg::xlate_req_t [1:0] req;
  gw_pkg::xlate_rsp_t rsp;
  gw_pkg::inval_t inval;

  assign cfg = '{mode: gw_pkg::port_mode_e'(mode_i), ctx: ctx_i};
  assign inval = '{
    scope: gw_pkg::inval_scope_e'(inval_scope_i),
    ctx: inval_ctx_i,
    vpn: inval_vpn_i,
    order: inval_order_i
  };
  assign rsp = '{
    src: '0,
    tag: rsp_tag,
    ctx: rsp_ctx,
    vpn: rsp_vpn,
    ppn: rsp_ppn,
    order: rsp_order,
    cluster: '1,
    perm: rsp_perm,
    is_global: rsp_global,
    cacheable: rsp_cacheable,
    fault: rsp_fault,
    cause: rsp_cause,
    parked: rsp_parked,
    park: rsp_park
  };
  for (genvar c = 0; c < 2; c++) begin : gen_req
    assign req_tag[c] = req[c].tag;
    assign req_ctx[c] = req[c].ctx;
    assign req_vpn[c] = req[c].vpn;
    assign req_write[c] = req[c].write;
  end

  assign s_req = '{
    aw: {s_axi_awid, s_axi_awaddr, s_axi_awlen, s_axi_awsize, s_axi_awburst, s_aw_attr},
    aw_valid: s_axi_awvalid,
    w: '{data: s_axi_wdata, strb: s_axi_wstrb, last: s_axi_wlast},
    w_valid: s_axi_wvalid,
    b_ready: s_axi_bready,
    ar: {s_axi_arid, s_axi_araddr, s_axi_arlen, s_axi_arsize, s_axi_arburst, s_ar_attr},
    ar_valid: s_axi_arvalid,
    r_ready: s_axi_rready
  };
  assign s_axi_arready = s_rsp.ar_ready;
  assign s_axi_awready = s_rsp.aw_ready;
  assign s_axi_wready = s_rsp.w_ready;
  assign s_axi_rid = s_rsp.r.id;
  assign s_axi_rdata = s_rsp.r.data;
  assign s_axi_rresp = s_rsp.r.resp;
  assign s_axi_rlast = s_rsp.r.last;
  assign s_axi_rvalid = s_rsp.r_valid;
  assign {s_axi_bid, s_axi_bresp} = s_rsp.b;
  assign s_axi_bvalid = s_rsp.b_valid;

  assign {m_axi_arid, m_axi_araddr, m_axi_arlen, m_axi_arsize, m_axi_arburst, m_ar_attr} = m_req.ar;
  assign m_axi_arvalid = m_req.ar_valid;
  assign {m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst, m_aw_attr} = m_req.aw;
  assign m_axi_awvalid = m_req.aw_valid;
  assign m_axi_wdata = m_req.w.data;
  assign m_axi_wstrb = m_req.w.strb;
  assign m_axi_wlast = m_req.w.last;
  assign m_axi_wvalid = m_req.w_valid;
  assign m_axi_bready = m_req.b_ready;
  assign m_axi_rready = m_req.r_ready;
  assign m_rsp = '{
    aw_ready: m_axi_awready,
    w_ready: m_axi_wready,
    b: {m_axi_bid, m_axi_bresp},
    b_valid: m_axi_bvalid,
    ar_ready: m_axi_arready,
    r: '{id: m_axi_rid, data: m_axi_rdata, resp: m_axi_rresp, last: m_axi_rlast},
    r_valid: m_axi_rvalid
  };

  if (Buffer) begin : gen_buffer
    gw_port_buffer #(
      .Writes(4),
      .req_t (tb_req_t),
      .rsp_t (tb_rsp_t)
    ) u_buffer (
      .clk_i,
      .rst_ni,
      .s_req_i(s_req),
      .s_rsp_o(s_rsp),
      .m_req_o(x_req),
      .m_rsp_i(x_rsp)
    );
  end else begin : gen_wires
    assign x_req = s_req;
    assign s_rsp = x_rsp;
  end

  gw_translator #(
    .L1Entries    (L1Entries),
    .L1Replacement(L1Replacement),
    .MissEntries  (MissEntries),
    .Outstanding  (Outstanding),
    .Levels       (Levels),
    .req_t        (tb_req_t),
    .rsp_t        (tb_rsp_t)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .cfg_i            (cfg),
    .s_req_i          (x_req),
    .s_rsp_o          (x_rsp),
    .m_req_o          (m_req),
    .m_rsp_i          (m_rsp),
    .xlate_want_o     (),
    .xlate_req_valid_o(req_valid),
    .xlate_req_ready_i(req_ready),
    .xlate_req_o      (req),
    .xlate_rsp_valid_i(rsp_valid),
    .xlate_rsp_i      (rsp),
    .inval_valid_i,
    .inval_i          (inval),
    .epoch_i,
    .inval_busy_o,
    .wake_i           ('{valid: wake_valid_i, ok: wake_ok_i, park: wake_park_i}),
    .ctx_write_i      ('{valid: ctx_write_valid_i, ctx: ctx_write_ctx_i}),
    .fault_valid_o    (fault_valid),
    .fault_o          (fault),
    .event_o          (events)
  );

endmodule
