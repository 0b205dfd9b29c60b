// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The walker's memory port on a bus of any width.
//
// Contract
// - 512 bits: wires. Otherwise gw_axi_adapt, with what it states; each line keeps the ID it has, and so does an exclusive
//   access, whose 8 bytes fit every bus. Read data come a cycle later than from the adapter: out of a register, since the walker
//   begins to work on them in the cycle they come.
// - IDs are as the walker's: the topmost bit, and the number of a line. The adapter keeps a queue for each that there is, not
//   for each that there could be.
`include "gw_axi_typedef.svh"

module gw_walker_port #(
  /// Bits of the bus.
  parameter int unsigned DataWidth = 512,
  /// Lines of the walker.
  parameter int unsigned Lines = 32,
  /// Bundle of the bus (gw_axi_typedef.svh), IDs as the walker's.
  parameter type req_t = gw_axi_pkg::pt_req_t,
  parameter type rsp_t = gw_axi_pkg::pt_rsp_t
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  gw_axi_pkg::pt_req_t s_req_i,
  output gw_axi_pkg::pt_rsp_t s_rsp_o,
  output req_t                m_req_o,
  input  rsp_t                m_rsp_i
);

  localparam int unsigned Long = gw_axi_pkg::PtIdWidth;

  if (DataWidth == 512) begin : gen_same
    assign m_req_o = s_req_i;
    assign s_rsp_o = m_rsp_i;
    logic unused;
    assign unused = clk_i ^ rst_ni;
  end else begin : gen_adapt
    localparam int unsigned LineWidth = (Lines > 1) ? $clog2(Lines) : 1;
    localparam int unsigned Short = LineWidth + 1;
    `GW_AXI_TYPEDEF(in, Short, 512)
    `GW_AXI_TYPEDEF(out, Short, DataWidth)
    in_req_t in_req;
    in_rsp_t in_rsp;
    in_r_t r;
    logic r_valid, r_ready;
    out_req_t out_req;
    out_rsp_t out_rsp;

    function automatic logic [Short-1:0] to_short(logic [Long-1:0] id);
      return {id[Long-1], id[LineWidth-1:0]};
    endfunction

    function automatic logic [Long-1:0] to_long(logic [Short-1:0] id);
      return {id[Short-1], (Long - 1)'(id[LineWidth-1:0])};
    endfunction

    `define GW_WITH_ID(__ax, __id) \
    '{id: __id, addr: __ax.addr, len: __ax.len, size: __ax.size, burst: __ax.burst, lock: __ax.lock, cache: __ax.cache, \
      prot: __ax.prot, qos: __ax.qos, region: __ax.region}
    assign in_req = '{
      aw:       `GW_WITH_ID(s_req_i.aw, to_short(s_req_i.aw.id)),
      aw_valid: s_req_i.aw_valid,
      w:        s_req_i.w,
      w_valid:  s_req_i.w_valid,
      b_ready:  s_req_i.b_ready,
      ar:       `GW_WITH_ID(s_req_i.ar, to_short(s_req_i.ar.id)),
      ar_valid: s_req_i.ar_valid,
      r_ready:  r_ready
    };
    assign s_rsp_o = '{
      aw_ready: in_rsp.aw_ready,
      w_ready:  in_rsp.w_ready,
      b:        '{id: to_long(in_rsp.b.id), resp: in_rsp.b.resp},
      b_valid:  in_rsp.b_valid,
      ar_ready: in_rsp.ar_ready,
      r:        '{id: to_long(r.id), resp: r.resp, last: r.last, data: r.data},
      r_valid:  r_valid
    };

    gw_slice #(
      .T(in_r_t)
    ) u_r (
      .clk_i,
      .rst_ni,
      .in_valid_i  (in_rsp.r_valid),
      .in_ready_o  (r_ready),
      .in_data_i   (in_rsp.r),
      .cancel_i    (1'b0),
      .out_valid_o (r_valid),
      .out_cancel_o(),
      .out_ready_i (s_req_i.r_ready),
      .out_data_o  (r)
    );

    gw_axi_adapt #(
      .SlvDataWidth(512),
      .SlvIdWidth  (Short),
      .MstDataWidth(DataWidth),
      .MstIdWidth  (Short),
      .Bursts      (4),
      .slv_req_t   (in_req_t),
      .slv_rsp_t   (in_rsp_t),
      .mst_req_t   (out_req_t),
      .mst_rsp_t   (out_rsp_t)
    ) u_adapt (
      .clk_i,
      .rst_ni,
      .s_req_i(in_req),
      .s_rsp_o(in_rsp),
      .m_req_o(out_req),
      .m_rsp_i(out_rsp)
    );

    assign m_req_o = '{
      aw:       `GW_WITH_ID(out_req.aw, to_long(out_req.aw.id)),
      aw_valid: out_req.aw_valid,
      w:        out_req.w,
      w_valid:  out_req.w_valid,
      b_ready:  out_req.b_ready,
      ar:       `GW_WITH_ID(out_req.ar, to_long(out_req.ar.id)),
      ar_valid: out_req.ar_valid,
      r_ready:  out_req.r_ready
    };
    assign out_rsp = '{
      aw_ready: m_rsp_i.aw_ready,
      w_ready:  m_rsp_i.w_ready,
      b:        '{id: to_short(m_rsp_i.b.id), resp: m_rsp_i.b.resp},
      b_valid:  m_rsp_i.b_valid,
      ar_ready: m_rsp_i.ar_ready,
      r:        '{id: to_short(m_rsp_i.r.id), resp: m_rsp_i.r.resp, last: m_rsp_i.r.last, data: m_rsp_i.r.data},
      r_valid:  m_rsp_i.r_valid
    };
    `undef GW_WITH_ID
  end

endmodule
