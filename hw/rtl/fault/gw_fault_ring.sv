// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Writes records of 16 bytes into a ring in memory that software empties.
//
// Contract
// - Turned on (enable_i rises): the ring as base_i and log2_size_less1_i say in that cycle; the tail is 0, and head_i must be.
// - A record is taken (put_i with ready_o) only if the ring has room; it is written, and when memory has answered the tail moves and
//   written_o pulses. So what is before the tail can be read, and a full ring, of one record less than its size, only delays.
// - Memory refuses a record: memory_fault_o pulses, and nothing goes on while stopped_i, which must be high from the next cycle until
//   software has cleared the fault; then the same record is written again. It is kept when the ring is turned off and on, too.
// - Turned off: a write under way is ended; on_o falls after it.
// - Memory: one write at a time, 16 bytes in one beat, one ID; what is offered stays.
`include "gw_assert.svh"

module gw_fault_ring #(
  parameter logic [gw_axi_pkg::PtIdWidth-1:0] Id = '0
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                enable_i,
  input  logic                stopped_i,
  /// First frame, aligned to the ring's size; 2**(n+1) records.
  input  gw_pkg::ppn_t        base_i,
  input  logic [4:0]          log2_size_less1_i,
  input  logic [31:0]         head_i,
  output logic [31:0]         tail_o,
  output logic                on_o,
  output logic                memory_fault_o,
  output logic                written_o,
  input  logic                put_i,
  output logic                ready_o,
  input  logic [127:0]        record_i,
  output gw_axi_pkg::pt_req_t m_req_o,
  input  gw_axi_pkg::pt_rsp_t m_rsp_i
);

  import gw_axi_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned RecordShift = $clog2(PageQueueBytes);
  localparam int unsigned LineRecords = PtBeatBytes / PageQueueBytes;
  localparam int unsigned LaneWidth = $clog2(LineRecords);

  typedef enum logic [2:0] {
    Off,
    Ready,
    Write,
    Reply,
    Stop    // refused: until software has seen it
  } state_e;
  state_e state_q, state_d;
  logic [31:0] tail_q, mask_q;
  gw_pkg::ppn_t base_q;
  logic [127:0] record_q;
  logic kept_q, room_q, aw_done_q, w_done_q, start, refused;
  logic [LaneWidth-1:0] lane;

  assign start = state_q == Off && enable_i;
  assign refused = m_rsp_i.b.resp[1];
  assign ready_o = room_q && state_q == Ready && enable_i;
  assign written_o = state_q == Reply && m_rsp_i.b_valid && !refused;
  assign memory_fault_o = state_q == Reply && m_rsp_i.b_valid && refused;
  assign on_o = state_q != Off;
  assign tail_o = tail_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Off: if (enable_i) state_d = kept_q ? Write : Ready;
      Ready: begin
        if (!enable_i) state_d = Off;
        else if (put_i && ready_o) state_d = Write;
      end
      Write: if ((aw_done_q || m_rsp_i.aw_ready) && (w_done_q || m_rsp_i.w_ready)) state_d = Reply;
      Reply: if (m_rsp_i.b_valid) state_d = refused ? Stop : Ready;
      Stop: begin
        if (!enable_i) state_d = Off;
        else if (!stopped_i) state_d = Write;
      end
      default: state_d = Off;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Off;
      tail_q <= '0;
      kept_q <= 1'b0;
      room_q <= 1'b0;
      aw_done_q <= 1'b0;
      w_done_q <= 1'b0;
    end else begin
      state_q <= state_d;
      if (start) tail_q <= '0;
      else if (written_o) tail_q <= (tail_q + 32'd1) & mask_q;
      if (put_i && ready_o) kept_q <= 1'b1;
      else if (written_o) kept_q <= 1'b0;
      // From the second cycle in Ready, when the tail is that of the record before.
      room_q <= state_q == Ready && (((tail_q + 32'd1) ^ head_i) & mask_q) != '0;
      aw_done_q <= state_q == Write && (aw_done_q || m_rsp_i.aw_ready);
      w_done_q <= state_q == Write && (w_done_q || m_rsp_i.w_ready);
    end
  end
  always_ff @(posedge clk_i) begin
    if (start) begin
      base_q <= base_i;
      mask_q <= 32'((33'd2 << log2_size_less1_i) - 33'd1);
    end
    if (put_i && ready_o) record_q <= record_i;
  end

  assign lane = tail_q[LaneWidth-1:0];
  always_comb begin
    m_req_o = '0;
    m_req_o.aw_valid = state_q == Write && !aw_done_q;
    m_req_o.aw.id = Id;
    m_req_o.aw.addr = 64'({base_q, gw_pkg::PageShift'(0)} | gw_pkg::PaWidth'({tail_q, RecordShift'(0)}));
    m_req_o.aw.size = 3'(RecordShift);
    m_req_o.aw.burst = BurstIncr;
    m_req_o.aw.cache = 4'b0011;  // normal memory, bufferable: the host sees what was answered
    m_req_o.aw.prot = 3'b001;  // privileged data
    m_req_o.w_valid = state_q == Write && !w_done_q;
    m_req_o.w.data = {LineRecords{record_q}};
    for (int unsigned i = 0; i < LineRecords; i++) begin
      m_req_o.w.strb[PageQueueBytes*i +: PageQueueBytes] = {PageQueueBytes{lane == LaneWidth'(i)}};
    end
    m_req_o.w.last = 1'b1;
    m_req_o.b_ready = state_q == Reply;
  end

  logic unused;
  assign unused = ^{m_rsp_i.ar_ready, m_rsp_i.r_valid, m_rsp_i.r, m_rsp_i.b.id, m_rsp_i.b.resp[0]};

  `GW_ASSERT(Stable_A, m_req_o.aw_valid && !m_rsp_i.aw_ready |=> m_req_o.aw_valid && $stable(m_req_o.aw))
  `GW_INVARIANT(KeptIsWritten_A, kept_q == (state_q inside {Write, Reply, Stop}) || (kept_q && state_q == Off))
  `GW_COVER(Full_C, state_q == Ready && !ready_o && put_i)
  `GW_COVER(OffWithRecord_C, state_q == Off && kept_q)

endmodule
