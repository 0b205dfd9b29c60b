// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// A master whose IDs are longer than the bus has them.
//
// Contract
// - An address leaves one cycle after it came; W, R and B pass in the same cycle.
// - One address a cycle in each direction. As many different IDs in flight as the shorter ones can tell apart: an address of
//   one more waits until an ID has been answered completely.
// - The order of an ID is kept; each direction has IDs of its own.
`include "gw_assert.svh"

module gw_axi_id_remap #(
  /// Bits of an ID on the master's side, and on the bus: fewer.
  parameter int unsigned SlvIdWidth = 8,
  parameter int unsigned MstIdWidth = 4,
  /// Bursts of an ID in flight, each direction.
  parameter int unsigned Bursts = 64,
  /// Bundles (gw_axi_typedef.svh).
  parameter type mst_ax_t = gw_axi_pkg::axi_ax_t,
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

  if (MstIdWidth >= SlvIdWidth) begin : gen_bad_id_width
    $fatal(1, "gw_axi_id_remap: MstIdWidth must be below SlvIdWidth");
  end

  logic [1:0] s_valid, s_ready, known, m_valid, m_ready, slice_ready;
  logic [1:0][MstIdWidth-1:0] id;
  mst_ax_t [1:0] s_ax, m_ax;

  assign s_valid = {s_req_i.aw_valid, s_req_i.ar_valid};
  assign m_ready = {m_rsp_i.aw_ready, m_rsp_i.ar_ready};
  assign s_ready = known & slice_ready;

  // Everything of an address but its ID.
  `define GW_SHORT_ID(__ax, __id) \
  '{id: __id, addr: __ax.addr, len: __ax.len, size: __ax.size, burst: __ax.burst, lock: __ax.lock, cache: __ax.cache, \
    prot: __ax.prot, qos: __ax.qos, region: __ax.region}
  assign s_ax[0] = `GW_SHORT_ID(s_req_i.ar, id[0]);
  assign s_ax[1] = `GW_SHORT_ID(s_req_i.aw, id[1]);
  `undef GW_SHORT_ID

  logic [SlvIdWidth-1:0] r_id, b_id;
  gw_axi_id_table #(
    .InIdWidth (SlvIdWidth),
    .OutIdWidth(MstIdWidth),
    .Bursts    (Bursts)
  ) u_reads (
    .clk_i,
    .rst_ni,
    .take_i   (s_valid[0] && s_ready[0]),
    .ready_o  (known[0]),
    .in_id_i  (s_req_i.ar.id),
    .out_id_o (id[0]),
    .done_i   (m_rsp_i.r_valid && s_req_i.r_ready && m_rsp_i.r.last),
    .done_id_i(m_rsp_i.r.id),
    .done_id_o(r_id)
  );

  gw_axi_id_table #(
    .InIdWidth (SlvIdWidth),
    .OutIdWidth(MstIdWidth),
    .Bursts    (Bursts)
  ) u_writes (
    .clk_i,
    .rst_ni,
    .take_i   (s_valid[1] && s_ready[1]),
    .ready_o  (known[1]),
    .in_id_i  (s_req_i.aw.id),
    .out_id_o (id[1]),
    .done_i   (m_rsp_i.b_valid && s_req_i.b_ready),
    .done_id_i(m_rsp_i.b.id),
    .done_id_o(b_id)
  );

  for (genvar i = 0; i < 2; i++) begin : gen_direction
    // The short ID may change until the address is taken: it is on offer only when it is taken at once.
    gw_slice #(
      .T(mst_ax_t)
    ) u_slice (
      .clk_i,
      .rst_ni,
      .in_valid_i  (s_valid[i] && s_ready[i]),
      .in_ready_o  (slice_ready[i]),
      .in_data_i   (s_ax[i]),
      .cancel_i    (1'b0),
      .out_valid_o (m_valid[i]),
      .out_cancel_o(),
      .out_ready_i (m_ready[i]),
      .out_data_o  (m_ax[i])
    );
  end

  assign m_req_o = '{
    aw:       m_ax[1],
    aw_valid: m_valid[1],
    w:        s_req_i.w,
    w_valid:  s_req_i.w_valid,
    b_ready:  s_req_i.b_ready,
    ar:       m_ax[0],
    ar_valid: m_valid[0],
    r_ready:  s_req_i.r_ready
  };
  assign s_rsp_o = '{
    aw_ready: s_ready[1],
    w_ready:  m_rsp_i.w_ready,
    b:        '{id: b_id, resp: m_rsp_i.b.resp},
    b_valid:  m_rsp_i.b_valid,
    ar_ready: s_ready[0],
    r:        '{id: r_id, resp: m_rsp_i.r.resp, last: m_rsp_i.r.last, data: m_rsp_i.r.data},
    r_valid:  m_rsp_i.r_valid
  };

endmodule
