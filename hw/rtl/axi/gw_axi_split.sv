// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// One AXI4 master, two memories: a bit of the address says which.
//
// Contract
// - Addresses, read data and answers pass in the same cycle; data of a write from the cycle after its address on, a beat a cycle.
// - Order per ID and direction: an address whose ID has bursts under way on the other side waits for their answers (gw_axi_sides). Others
//   go on, but that the addresses of a direction pass in turn.
// - An address of a write waits, too, until all data of writes to the other side have left: no side ever waits for data that stand behind
//   the other one's.
// - Read data of the two sides are mixed beat by beat: of different IDs, as AXI allows. The sides take turns.
// - Everything of an access passes as it is.
// - Reset: nothing is under way.
`include "gw_assert.svh"

module gw_axi_split #(
  /// The bit: 0 leads to port 0.
  parameter int unsigned Bit = gw_spec_pkg::HostApertureBit,
  /// Bursts of an ID under way, a direction; writes whose data are still to come.
  parameter int unsigned Bursts = 64,
  parameter int unsigned Writes = 64,
  /// Bundles (gw_axi_typedef.svh).
  parameter type req_t = gw_axi_pkg::axi_req_t,
  parameter type rsp_t = gw_axi_pkg::axi_rsp_t
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  req_t s_req_i,
  output rsp_t s_rsp_o,
  output req_t m_req_o [2],
  input  rsp_t m_rsp_i [2]
);

  localparam int unsigned IdWidth = $bits(s_req_i.ar.id);
  localparam int unsigned OpenWidth = $clog2(Writes + 1);
  typedef logic [OpenWidth-1:0] open_t;

  // Addresses.
  logic ar_side, aw_side, ar_known, aw_known, ar_taken, aw_taken, aw_may, w_side_q, w_ends;
  open_t open_q;
  assign ar_side = s_req_i.ar.addr[Bit];
  assign aw_side = s_req_i.aw.addr[Bit];
  assign aw_may = aw_known && (open_q == '0 || (w_side_q == aw_side && open_q != open_t'(Writes)));
  assign ar_taken = s_req_i.ar_valid && s_rsp_o.ar_ready;
  assign aw_taken = s_req_i.aw_valid && s_rsp_o.aw_ready;

  // Answers.
  logic [1:0] r_valid, r_grant, b_valid, b_grant;
  logic r_idx, b_idx, r_any, b_any, r_taken, b_taken;
  assign r_taken = r_any && s_req_i.r_ready;
  assign b_taken = b_any && s_req_i.b_ready;

  gw_axi_sides #(
    .IdWidth(IdWidth),
    .Bursts (Bursts)
  ) u_reads (
    .clk_i,
    .rst_ni,
    .id_i     (s_req_i.ar.id),
    .side_i   (ar_side),
    .ready_o  (ar_known),
    .take_i   (ar_taken),
    .done_i   (r_taken && s_rsp_o.r.last),
    .done_id_i(s_rsp_o.r.id)
  );
  gw_axi_sides #(
    .IdWidth(IdWidth),
    .Bursts (Bursts)
  ) u_writes (
    .clk_i,
    .rst_ni,
    .id_i     (s_req_i.aw.id),
    .side_i   (aw_side),
    .ready_o  (aw_known),
    .take_i   (aw_taken),
    .done_i   (b_taken),
    .done_id_i(s_rsp_o.b.id)
  );

  // Data of writes: all that are open are of one side.
  assign w_ends = s_req_i.w_valid && s_rsp_o.w_ready && s_req_i.w.last;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q <= '0;
      w_side_q <= 1'b0;
    end else begin
      open_q <= open_q + open_t'(aw_taken) - open_t'(w_ends);
      if (aw_taken) w_side_q <= aw_side;
    end
  end

  gw_rr_arbiter #(
    .NumReq(2)
  ) u_read_turns (
    .clk_i,
    .rst_ni,
    .req_i  (r_valid),
    .gnt_o  (r_grant),
    .idx_o  (r_idx),
    .valid_o(r_any),
    .ready_i(s_req_i.r_ready)
  );
  gw_rr_arbiter #(
    .NumReq(2)
  ) u_answer_turns (
    .clk_i,
    .rst_ni,
    .req_i  (b_valid),
    .gnt_o  (b_grant),
    .idx_o  (b_idx),
    .valid_o(b_any),
    .ready_i(s_req_i.b_ready)
  );

  for (genvar i = 0; i < 2; i++) begin : gen_side
    assign r_valid[i] = m_rsp_i[i].r_valid;
    assign b_valid[i] = m_rsp_i[i].b_valid;
    assign m_req_o[i] = '{
      aw:       s_req_i.aw,
      aw_valid: s_req_i.aw_valid && aw_may && aw_side == i,
      w:        s_req_i.w,
      w_valid:  s_req_i.w_valid && open_q != '0 && w_side_q == i,
      b_ready:  s_req_i.b_ready && b_grant[i],
      ar:       s_req_i.ar,
      ar_valid: s_req_i.ar_valid && ar_known && ar_side == i,
      r_ready:  s_req_i.r_ready && r_grant[i]
    };
  end

  assign s_rsp_o = '{
    aw_ready: aw_may && m_rsp_i[aw_side].aw_ready,
    w_ready:  open_q != '0 && m_rsp_i[w_side_q].w_ready,
    b:        m_rsp_i[b_idx].b,
    b_valid:  b_any,
    ar_ready: ar_known && m_rsp_i[ar_side].ar_ready,
    r:        m_rsp_i[r_idx].r,
    r_valid:  r_any
  };

  `GW_ASSERT(DataOnOneSide_A, open_q != '0 && aw_taken |-> aw_side == w_side_q)
  `GW_COVER(SideWaits_C, s_req_i.aw_valid && aw_known && !aw_may)
  `GW_COVER(BothAnswer_C, r_valid == 2'b11)

endmodule
