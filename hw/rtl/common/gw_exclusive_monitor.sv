// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Exclusive accesses (AXI4 AxLOCK) for a memory that has none: stands where all that write the memory have met, in front of it.
// One reservation, as the page-table walker needs; memory that answers EXOKAY by itself needs no monitor.
//
// Contract
// - An exclusive write reaches memory, and is answered EXOKAY, exactly if nothing was written to its 4 KiB page since the exclusive
//   read of the same ID and address; otherwise it is answered OKAY and memory does not see it. Writes to other pages never
//   break a reservation; a later exclusive read replaces it.
// - An exclusive read is sent when no write is under way, and an exclusive write is finished before the next one is sent, so it
//   does not matter in which order memory does what it has. Other accesses wait for neither, but for writes behind an
//   exclusive access: as long as the writes before it, and its own, take.
// - Exclusive accesses are one beat. The IDs they use are used for nothing else meanwhile.
// - Everything else passes in the same cycle, but for data, which waits for its address to be taken. Nothing is stored but
//   counts and the reservation.
// - Reset: nothing is reserved or under way.
`include "gw_assert.svh"

module gw_exclusive_monitor #(
  /// Writes under way at most, 1 or more; more wait.
  parameter int unsigned Writes = 64,
  /// AXI4 bundles (gw_axi_typedef.svh).
  parameter type req_t = gw_axi_pkg::axi_req_t,
  parameter type rsp_t = gw_axi_pkg::axi_rsp_t
) (
  input logic clk_i,
  input logic rst_ni,
  input req_t s_req_i,
  output rsp_t s_rsp_o,
  output req_t m_req_o,
  input rsp_t m_rsp_i
);

  import gw_axi_pkg::*;

  if (Writes < 1) begin : gen_bad_writes
    $fatal(1, "gw_exclusive_monitor: Writes must be at least 1");
  end

  localparam int unsigned CountWidth = $clog2(Writes + 1);
  localparam int unsigned IdWidth = $bits(s_req_i.ar.id);
  typedef logic [CountWidth-1:0] count_t;
  typedef logic [IdWidth-1:0] id_t;

  // Writes whose answer, and whose last beat of data, is still to come.
  count_t writes_q, data_q;
  logic reserved_q, reading_q;
  id_t id_q, read_id_q;
  logic [63:0] addr_q;

  // An exclusive write that was decided: on its way to memory, or kept from it.
  typedef enum logic [1:0] {
    Idle,
    Sent,
    Swallow,
    Answer
  } state_e;
  state_e state_q, state_d;
  id_t write_id_q;

  logic ar_exclusive, ar_go, aw_go, aw_exclusive, holds, aw_taken, b_taken, w_last;
  assign ar_exclusive = s_req_i.ar_valid && s_req_i.ar.lock;
  assign aw_exclusive = s_req_i.aw_valid && s_req_i.aw.lock;
  assign holds = reserved_q && id_q == s_req_i.aw.id && addr_q == s_req_i.aw.addr;

  // An exclusive read waits for the writes before it, and those after it wait for its turn.
  logic offered_q;  // an AW that memory was offered stays on offer
  assign ar_go = !ar_exclusive || (writes_q == '0 && !offered_q && !reading_q);
  assign aw_go = offered_q || (state_q == Idle && writes_q != count_t'(Writes) && !(ar_exclusive && !reading_q) &&
      !(aw_exclusive && !(holds && writes_q == '0)));

  // One that does not hold is taken here, once all data before it has passed.
  logic swallow, swallowed;
  assign swallow = state_q == Idle && aw_exclusive && !offered_q && !holds && data_q == '0;

  // An answer of memory that is on offer stays there.
  logic b_waits;
  assign b_waits = m_rsp_i.b_valid && !s_req_i.b_ready;
  assign swallowed = state_q == Swallow && s_req_i.w_valid && !b_waits;

  always_comb begin
    m_req_o = s_req_i;
    m_req_o.ar.lock = 1'b0;
    m_req_o.aw.lock = 1'b0;
    m_req_o.ar_valid = s_req_i.ar_valid && ar_go;
    m_req_o.aw_valid = s_req_i.aw_valid && aw_go;
    m_req_o.w_valid = s_req_i.w_valid && state_q != Swallow && data_q != '0;
    m_req_o.b_ready = s_req_i.b_ready && state_q != Answer;
    s_rsp_o = m_rsp_i;
    s_rsp_o.ar_ready = m_rsp_i.ar_ready && ar_go;
    s_rsp_o.aw_ready = (m_rsp_i.aw_ready && aw_go) || swallow;
    s_rsp_o.w_ready = (state_q == Swallow && !b_waits) || (m_rsp_i.w_ready && data_q != '0);
    if (reading_q && m_rsp_i.r.id == read_id_q && m_rsp_i.r.resp == RespOkay) s_rsp_o.r.resp = RespExOkay;
    if (state_q == Sent && m_rsp_i.b.resp == RespOkay) s_rsp_o.b.resp = RespExOkay;
    if (state_q == Answer) begin
      s_rsp_o.b_valid = 1'b1;
      s_rsp_o.b.id = write_id_q;
      s_rsp_o.b.resp = RespOkay;
    end
  end

  assign aw_taken = m_req_o.aw_valid && m_rsp_i.aw_ready;
  assign b_taken = m_rsp_i.b_valid && m_req_o.b_ready;
  assign w_last = m_req_o.w_valid && m_rsp_i.w_ready && s_req_i.w.last;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (swallow) state_d = Swallow;
            else if (aw_taken && aw_exclusive) state_d = Sent;
      Sent: if (b_taken) state_d = Idle;
      Swallow: if (swallowed) state_d = Answer;
      Answer: if (s_req_i.b_ready) state_d = Idle;
      default: state_d = Idle;
    endcase
  end

  logic same_page, ar_taken, r_taken;
  assign same_page = s_req_i.aw.addr[63:12] == addr_q[63:12];
  assign ar_taken = ar_exclusive && ar_go && m_rsp_i.ar_ready;
  assign r_taken = m_rsp_i.r_valid && s_req_i.r_ready && m_rsp_i.r.id == read_id_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      writes_q <= '0;
      data_q <= '0;
      reserved_q <= 1'b0;
      reading_q <= 1'b0;
      state_q <= Idle;
      offered_q <= 1'b0;
    end else begin
      writes_q <= writes_q + count_t'(aw_taken) - count_t'(b_taken);
      data_q <= data_q + count_t'(aw_taken) - count_t'(w_last);
      // Whatever is written to the page, the exclusive write itself too, ends the reservation.
      reserved_q <= ar_taken || (reserved_q && !(s_req_i.aw_valid && s_rsp_o.aw_ready && same_page));
      reading_q <= ar_taken || (reading_q && !r_taken);
      state_q <= state_d;
      offered_q <= m_req_o.aw_valid && !m_rsp_i.aw_ready;
    end
  end
  always_ff @(posedge clk_i) begin
    if (ar_taken) begin
      id_q <= s_req_i.ar.id;
      read_id_q <= s_req_i.ar.id;
      addr_q <= s_req_i.ar.addr;
    end
    if (state_q == Idle) write_id_q <= s_req_i.aw.id;
  end

  `GW_INVARIANT(DataOfWritesOnly_A, data_q <= writes_q)
  `GW_ASSERT(WriteStable_A, m_req_o.aw_valid && !m_rsp_i.aw_ready |=> m_req_o.aw_valid && $stable(m_req_o.aw))
  `GW_ASSERT(ReadStable_A, m_req_o.ar_valid && !m_rsp_i.ar_ready |=> m_req_o.ar_valid && $stable(m_req_o.ar))
  `GW_COVER(Done_C, state_q == Sent && b_taken)
  `GW_COVER(Refused_C, state_q == Answer)

endmodule
