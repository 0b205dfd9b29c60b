// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_axi_split between any master and two slaves that answer what they were given, each ID in order: the bursts of an ID that
// are under way are on one side, so none is answered before one that began earlier; every beat of a write goes to the side of its
// address, none before it; no offer is taken back; nothing is answered that was not asked for; an address waits for nothing but its own ID,
// or data of the other side.
`include "gw_axi_typedef.svh"

module fv_axi_split #(
  parameter int unsigned Bursts = 2,
  parameter int unsigned Writes = 2,
  localparam int unsigned Ids = 2
) (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       ar_valid_i,
  input logic       ar_id_i,
  input logic       ar_side_i,
  input logic       aw_valid_i,
  input logic       aw_id_i,
  input logic       aw_side_i,
  input logic       w_valid_i,
  input logic       w_last_i,
  input logic       r_ready_i,
  input logic       b_ready_i,
  input logic [1:0] ar_ready_i,
  input logic [1:0] aw_ready_i,
  input logic [1:0] w_ready_i,
  input logic [1:0] r_valid_i,
  input logic [1:0] r_id_i,
  input logic [1:0] r_last_i,
  input logic [1:0] b_valid_i,
  input logic [1:0] b_id_i
);

  `GW_AXI_TYPEDEF(bus, 1, 8)
  typedef logic [2:0] count_t;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  bus_req_t s_req, m_req[2];
  bus_rsp_t s_rsp, m_rsp[2];
  always_comb begin
    s_req = '0;
    s_req.ar_valid = ar_valid_i;
    s_req.ar.id = ar_id_i;
    s_req.ar.addr = 64'(ar_side_i) << gw_spec_pkg::HostApertureBit;
    s_req.aw_valid = aw_valid_i;
    s_req.aw.id = aw_id_i;
    s_req.aw.addr = 64'(aw_side_i) << gw_spec_pkg::HostApertureBit;
    s_req.w_valid = w_valid_i;
    s_req.w.last = w_last_i;
    s_req.r_ready = r_ready_i;
    s_req.b_ready = b_ready_i;
    for (int unsigned i = 0; i < 2; i++) begin
      m_rsp[i] = '0;
      m_rsp[i].ar_ready = ar_ready_i[i];
      m_rsp[i].aw_ready = aw_ready_i[i];
      m_rsp[i].w_ready = w_ready_i[i];
      m_rsp[i].r_valid = r_valid_i[i];
      m_rsp[i].r.id = r_id_i[i];
      m_rsp[i].r.last = r_last_i[i];
      m_rsp[i].b_valid = b_valid_i[i];
      m_rsp[i].b.id = b_id_i[i];
    end
  end

  gw_axi_split #(
    .Bursts(Bursts),
    .Writes(Writes),
    .req_t (bus_req_t),
    .rsp_t (bus_rsp_t)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .s_req_i(s_req),
    .s_rsp_o(s_rsp),
    .m_req_o(m_req),
    .m_rsp_i(m_rsp)
  );

  // What each slave was given and has not answered; the data that are still to come.
  count_t [1:0][Ids-1:0] reads_q, writes_q;
  count_t [1:0] open_q, sent_q;
  logic [1:0] ar_fire, aw_fire, w_fire, w_end, r_fire, b_fire;
  for (genvar i = 0; i < 2; i++) begin : gen_fire
    assign ar_fire[i] = m_req[i].ar_valid && ar_ready_i[i];
    assign aw_fire[i] = m_req[i].aw_valid && aw_ready_i[i];
    assign w_fire[i] = m_req[i].w_valid && w_ready_i[i];
    assign w_end[i] = w_fire[i] && w_last_i;
    assign r_fire[i] = r_valid_i[i] && m_req[i].r_ready;
    assign b_fire[i] = b_valid_i[i] && m_req[i].b_ready;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) {reads_q, writes_q, open_q, sent_q} <= '0;
    else begin
      for (int unsigned i = 0; i < 2; i++) begin
        open_q[i] <= open_q[i] + count_t'(aw_fire[i]) - count_t'(w_end[i]);
        sent_q[i] <= sent_q[i] + count_t'(w_end[i]) - count_t'(b_fire[i]);
        for (int unsigned id = 0; id < Ids; id++) begin
          reads_q[i][id] <= reads_q[i][id] + count_t'(ar_fire[i] && ar_id_i == 1'(id)) -
                            count_t'(r_fire[i] && r_last_i[i] && r_id_i[i] == 1'(id));
          writes_q[i][id] <= writes_q[i][id] + count_t'(aw_fire[i] && aw_id_i == 1'(id)) -
                             count_t'(b_fire[i] && b_id_i[i] == 1'(id));
        end
      end
    end
  end

  // The master and the slaves keep what they offer; slaves answer what was asked, writes when their data are there.
  logic ar_kept_q, aw_kept_q, w_kept_q, ar_id_q, ar_side_q, aw_id_q, aw_side_q, w_last_q;
  logic [1:0] r_kept_q, b_kept_q, r_id_q, r_last_q, b_id_q;
  always_ff @(posedge clk_i) begin
    ar_kept_q <= rst_ni && ar_valid_i && !s_rsp.ar_ready;
    aw_kept_q <= rst_ni && aw_valid_i && !s_rsp.aw_ready;
    w_kept_q <= rst_ni && w_valid_i && !s_rsp.w_ready;
    {ar_id_q, ar_side_q, aw_id_q, aw_side_q, w_last_q} <= {ar_id_i, ar_side_i, aw_id_i, aw_side_i, w_last_i};
    r_kept_q <= rst_ni ? r_valid_i & ~r_fire : '0;
    b_kept_q <= rst_ni ? b_valid_i & ~b_fire : '0;
    {r_id_q, r_last_q, b_id_q} <= {r_id_i, r_last_i, b_id_i};
  end
  always_comb begin
    if (ar_kept_q) assume (ar_valid_i && {ar_id_i, ar_side_i} == {ar_id_q, ar_side_q});
    if (aw_kept_q) assume (aw_valid_i && {aw_id_i, aw_side_i} == {aw_id_q, aw_side_q});
    if (w_kept_q) assume (w_valid_i && w_last_i == w_last_q);
    for (int unsigned i = 0; i < 2; i++) begin
      if (r_kept_q[i]) assume (r_valid_i[i] && {r_id_i[i], r_last_i[i]} == {r_id_q[i], r_last_q[i]});
      if (b_kept_q[i]) assume (b_valid_i[i] && b_id_i[i] == b_id_q[i]);
      if (reads_q[i][r_id_i[i]] == '0) assume (!r_valid_i[i]);
      if (writes_q[i][b_id_i[i]] == '0 || sent_q[i] == '0) assume (!b_valid_i[i]);
    end
  end

  // Offers of the cycle before that were not taken.
  logic [1:0] ar_stay_q, aw_stay_q, w_stay_q;
  logic r_stay_q, b_stay_q, r_was_q, b_was_q, r_side_q, b_side_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 2; i++) begin
      ar_stay_q[i] <= rst_ni && m_req[i].ar_valid && !ar_ready_i[i];
      aw_stay_q[i] <= rst_ni && m_req[i].aw_valid && !aw_ready_i[i];
      w_stay_q[i] <= rst_ni && m_req[i].w_valid && !w_ready_i[i];
    end
    r_stay_q <= rst_ni && s_rsp.r_valid && !r_ready_i;
    b_stay_q <= rst_ni && s_rsp.b_valid && !b_ready_i;
    {r_was_q, b_was_q} <= {s_rsp.r.id, s_rsp.b.id};
    {r_side_q, b_side_q} <= {u_dut.r_idx, u_dut.b_idx};
  end

  for (genvar id = 0; id < Ids; id++) begin : gen_id
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        ReadsOnOneSide_A : assert (reads_q[0][id] == '0 || reads_q[1][id] == '0);
        WritesOnOneSide_A : assert (writes_q[0][id] == '0 || writes_q[1][id] == '0);
        ReadsCounted_A : assert (
          3'(u_dut.u_reads.count_q[id]) == reads_q[0][id] + reads_q[1][id] && reads_q[0][id] + reads_q[1][id] <= count_t'(Bursts) &&
          (reads_q[0][id] == '0 || !u_dut.u_reads.side_q[id]) && (reads_q[1][id] == '0 || u_dut.u_reads.side_q[id]));
        WritesCounted_A : assert (
          3'(u_dut.u_writes.count_q[id]) == writes_q[0][id] + writes_q[1][id] &&
          writes_q[0][id] + writes_q[1][id] <= count_t'(Bursts) &&
          (writes_q[0][id] == '0 || !u_dut.u_writes.side_q[id]) && (writes_q[1][id] == '0 || u_dut.u_writes.side_q[id]));
      end
    end
  end

  for (genvar i = 0; i < 2; i++) begin : gen_side
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        Unanswered_A : assert (4'(open_q[i]) + 4'(sent_q[i]) == 4'(writes_q[i][0]) + 4'(writes_q[i][1]));
        if (m_req[i].w_valid) DataBehindAddress_A : assert (open_q[i] != '0);
        if (ar_stay_q[i]) ReadStays_A : assert (m_req[i].ar_valid);
        if (aw_stay_q[i]) WriteStays_A : assert (m_req[i].aw_valid);
        if (w_stay_q[i]) DataStays_A : assert (m_req[i].w_valid);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      OpenOnOneSide_A : assert (open_q[0] == '0 || open_q[1] == '0);
      Open_A : assert (3'(u_dut.open_q) == open_q[0] + open_q[1] && 3'(u_dut.open_q) <= count_t'(Writes) &&
                       (open_q[0] == '0 || !u_dut.w_side_q) && (open_q[1] == '0 || u_dut.w_side_q));
      OnceEach_A : assert ((ar_fire != '0) == (ar_valid_i && s_rsp.ar_ready) && (aw_fire != '0) == (aw_valid_i && s_rsp.aw_ready) &&
                           (w_fire != '0) == (w_valid_i && s_rsp.w_ready) && $onehot0(r_fire) && $onehot0(b_fire) &&
                           (r_fire != '0) == (s_rsp.r_valid && r_ready_i) && (b_fire != '0) == (s_rsp.b_valid && b_ready_i));
      if (r_stay_q) AnswerStays_A : assert (s_rsp.r_valid && s_rsp.r.id == r_was_q && u_dut.r_idx == r_side_q);
      if (b_stay_q) WriteAnswerStays_A : assert (s_rsp.b_valid && s_rsp.b.id == b_was_q && u_dut.b_idx == b_side_q);
      // Nothing else makes an address wait.
      if (ar_valid_i && reads_q[0][ar_id_i] + reads_q[1][ar_id_i] == '0) ReadGoes_A : assert (m_req[ar_side_i].ar_valid);
      if (aw_valid_i && writes_q[0][aw_id_i] + writes_q[1][aw_id_i] == '0 && open_q[!aw_side_i] == '0 &&
          open_q[aw_side_i] != count_t'(Writes)) WriteGoes_A : assert (m_req[aw_side_i].aw_valid);
      BothRead_C : cover (reads_q[0][0] != '0 && reads_q[1][1] != '0 && r_valid_i == '1);
      SideWaits_C : cover (aw_valid_i && !m_req[aw_side_i].aw_valid && writes_q[!aw_side_i][aw_id_i] == '0);
    end
  end

endmodule
