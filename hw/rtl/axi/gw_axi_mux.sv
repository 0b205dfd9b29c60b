// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Several AXI4 masters on one port: where all that reach a memory meet.
//
// Contract
// - What is taken in cycle t, at either side, is offered at the other one from t+1 on: an address when those before it have left,
//   and a write's when there is room for its order. One address of each kind, one beat of data, one of read data and one
//   answer a cycle. Read data and answers of one master wait behind those of another that does not take them.
// - No master's ready depends on what another one or the port says in the same cycle.
// - Masters take turns, reads and writes each on their own: one whose address waits sees at most one of every other leave before it.
// - The number of the master stands in front of its ID, so the port never sees one ID of two masters, and what AXI4 promises
//   of order within an ID stays. Data of writes leave in the order of their addresses; no beat leaves before its address
//   has.
// - Everything else of an access passes as it is: burst, lock, cache, protection.
// - Reset: nothing is under way.
`include "gw_assert.svh"

module gw_axi_mux #(
  /// Masters, 2 or more.
  parameter int unsigned NumMst = 2,
  /// Writes whose data are still to come, 1 or more; more wait.
  parameter int unsigned Writes = 4,
  /// Bundles (gw_axi_typedef.svh) of a master; of the port, whose IDs are longer by the bits of a master's number.
  parameter type slv_req_t = gw_axi_pkg::axi_req_t,
  parameter type slv_rsp_t = gw_axi_pkg::axi_rsp_t,
  parameter type mst_req_t = gw_axi_pkg::axi_req_t,
  parameter type mst_rsp_t = gw_axi_pkg::axi_rsp_t,
  /// Channels of the port's bundle.
  parameter type mst_ax_t = gw_axi_pkg::axi_ax_t,
  parameter type mst_w_t = gw_axi_pkg::axi_w_t,
  parameter type mst_r_t = gw_axi_pkg::axi_r_t,
  parameter type mst_b_t = gw_axi_pkg::axi_b_t
) (
  input  logic     clk_i,
  input  logic     rst_ni,
  input  slv_req_t s_req_i [NumMst],
  output slv_rsp_t s_rsp_o [NumMst],
  output mst_req_t m_req_o,
  input  mst_rsp_t m_rsp_i
);

  localparam int unsigned IdxWidth = $clog2(NumMst);
  localparam int unsigned IdWidth = $bits(s_req_i[0].ar.id);
  typedef logic [IdxWidth-1:0] idx_t;

  if (NumMst < 2 || $bits(m_req_o.ar.id) != IdWidth + IdxWidth) begin : gen_bad_ids
    $fatal(1, "gw_axi_mux: NumMst must be at least 2, and the port's IDs longer by the bits of a master's number");
  end

  `define GW_WITH_NUMBER(__idx, __ax) \
  '{id: {__idx, __ax.id}, addr: __ax.addr, len: __ax.len, size: __ax.size, burst: __ax.burst, lock: __ax.lock, \
    cache: __ax.cache, prot: __ax.prot, qos: __ax.qos, region: __ax.region}

  // Addresses: each master's in a register of its own, so that none waits for the others' logic.
  logic [NumMst-1:0] ar_valid, aw_valid, ar_grant, aw_grant, ar_ready, aw_ready;
  mst_ax_t [NumMst-1:0] ar, aw;
  mst_w_t [NumMst-1:0] w;
  logic [NumMst-1:0] w_valid, w_now;
  logic ar_any, aw_any, aw_room, ar_taken, aw_taken;
  idx_t ar_idx, aw_idx;

  for (genvar i = 0; i < NumMst; i++) begin : gen_mst
    mst_ax_t ar_in, aw_in;
    assign ar_in = `GW_WITH_NUMBER(idx_t'(i), s_req_i[i].ar);
    assign aw_in = `GW_WITH_NUMBER(idx_t'(i), s_req_i[i].aw);
    assign w_valid[i] = s_req_i[i].w_valid;
    assign w[i] = s_req_i[i].w;

    gw_slice #(
      .T(mst_ax_t)
    ) u_ar (
      .clk_i,
      .rst_ni,
      .in_valid_i  (s_req_i[i].ar_valid),
      .in_ready_o  (ar_ready[i]),
      .in_data_i   (ar_in),
      .cancel_i    (1'b0),
      .out_valid_o (ar_valid[i]),
      .out_cancel_o(),
      .out_ready_i (ar_grant[i] && ar_taken),
      .out_data_o  (ar[i])
    );

    gw_slice #(
      .T(mst_ax_t)
    ) u_aw (
      .clk_i,
      .rst_ni,
      .in_valid_i  (s_req_i[i].aw_valid),
      .in_ready_o  (aw_ready[i]),
      .in_data_i   (aw_in),
      .cancel_i    (1'b0),
      .out_valid_o (aw_valid[i]),
      .out_cancel_o(),
      .out_ready_i (aw_grant[i] && aw_taken),
      .out_data_o  (aw[i])
    );
  end
  `undef GW_WITH_NUMBER

  gw_rr_arbiter #(
    .NumReq(NumMst)
  ) u_ar_arbiter (
    .clk_i,
    .rst_ni,
    .req_i  (ar_valid),
    .gnt_o  (ar_grant),
    .idx_o  (ar_idx),
    .valid_o(ar_any),
    .ready_i(ar_taken)
  );

  gw_rr_arbiter #(
    .NumReq(NumMst)
  ) u_aw_arbiter (
    .clk_i,
    .rst_ni,
    .req_i  (aw_valid),
    .gnt_o  (aw_grant),
    .idx_o  (aw_idx),
    .valid_o(aw_any),
    .ready_i(aw_taken)
  );

  assign m_req_o.ar_valid = ar_any;
  assign m_req_o.ar = ar[ar_idx];
  assign ar_taken = m_rsp_i.ar_ready;
  assign m_req_o.aw_valid = aw_any && aw_room;
  assign m_req_o.aw = aw[aw_idx];
  assign aw_taken = m_rsp_i.aw_ready && aw_room;

  // Whose data are next
  logic w_owned, w_valid_now, w_ready, w_done;
  idx_t w_idx;

  gw_fifo #(
    .T    (idx_t),
    .Depth(Writes)
  ) u_order (
    .clk_i,
    .rst_ni,
    .in_valid_i (aw_any && aw_taken),
    .in_ready_o (aw_room),
    .in_data_i  (aw_idx),
    .out_valid_o(w_owned),
    .out_ready_i(w_done),
    .out_data_o (w_idx),
    .usage_o    ()
  );

  assign w_now = w_owned ? NumMst'(1) << w_idx : '0;
  assign w_valid_now = (w_valid & w_now) != '0;
  assign w_done = w_valid_now && w_ready && w[w_idx].last;

  gw_slice #(
    .T(mst_w_t)
  ) u_w (
    .clk_i,
    .rst_ni,
    .in_valid_i  (w_valid_now),
    .in_ready_o  (w_ready),
    .in_data_i   (w[w_idx]),
    .cancel_i    (1'b0),
    .out_valid_o (m_req_o.w_valid),
    .out_cancel_o(),
    .out_ready_i (m_rsp_i.w_ready),
    .out_data_o  (m_req_o.w)
  );

  // Answers
  logic r_valid, r_taken, b_valid, b_taken;
  mst_r_t r;
  mst_b_t b;

  gw_slice #(
    .T(mst_r_t)
  ) u_r (
    .clk_i,
    .rst_ni,
    .in_valid_i  (m_rsp_i.r_valid),
    .in_ready_o  (m_req_o.r_ready),
    .in_data_i   (m_rsp_i.r),
    .cancel_i    (1'b0),
    .out_valid_o (r_valid),
    .out_cancel_o(),
    .out_ready_i (r_taken),
    .out_data_o  (r)
  );

  gw_slice #(
    .T(mst_b_t)
  ) u_b (
    .clk_i,
    .rst_ni,
    .in_valid_i  (m_rsp_i.b_valid),
    .in_ready_o  (m_req_o.b_ready),
    .in_data_i   (m_rsp_i.b),
    .cancel_i    (1'b0),
    .out_valid_o (b_valid),
    .out_cancel_o(),
    .out_ready_i (b_taken),
    .out_data_o  (b)
  );

  idx_t r_idx, b_idx;
  logic [NumMst-1:0] r_ready, b_ready;
  assign r_idx = r.id[IdWidth+:IdxWidth];
  assign b_idx = b.id[IdWidth+:IdxWidth];
  for (genvar i = 0; i < NumMst; i++) begin : gen_answer
    assign s_rsp_o[i] = '{
      ar_ready: ar_ready[i],
      aw_ready: aw_ready[i],
      w_ready:  w_now[i] && w_ready,
      r:        '{id: r.id[IdWidth-1:0], data: r.data, resp: r.resp, last: r.last},
      r_valid:  r_valid && r_idx == idx_t'(i),
      b:        '{id: b.id[IdWidth-1:0], resp: b.resp},
      b_valid:  b_valid && b_idx == idx_t'(i)
    };
    assign r_ready[i] = s_req_i[i].r_ready && r_idx == idx_t'(i);
    assign b_ready[i] = s_req_i[i].b_ready && b_idx == idx_t'(i);
  end
  assign r_taken = r_ready != '0;
  assign b_taken = b_ready != '0;

  `GW_INVARIANT(OneAnswered_A, $onehot0(r_ready) && $onehot0(b_ready))
  `GW_ASSERT(AnswerToSomebody_A, r_valid |-> 32'(r_idx) < NumMst)
  `GW_COVER(OrderFull_C, !aw_room && aw_any)
  `GW_COVER(BothWait_C, $countones(aw_valid) > 1)

endmodule
