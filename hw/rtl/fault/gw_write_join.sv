// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Page-request records on the command queue's memory port: reads are the queue's, writes those of both, one at a time.
//
// Contract
// - Reads pass, and so do the queue's writes (fences), in their cycle, while no record's write has the port.
// - A record's write gets the port in the cycle after it was offered in which the queue offers none and has none under way, and
//   keeps it until its answer was taken. The queue's next write waits for that one at most.
// - Either has one write under way at a time, of one beat, and what it offers stays; so do the queue and gw_fault_ring.
// - One ID: the queue's.
`include "gw_assert.svh"

module gw_write_join (
  input  logic                clk_i,
  input  logic                rst_ni,
  /// Command queue.
  input  gw_axi_pkg::cq_req_t queue_req_i,
  output gw_axi_pkg::cq_rsp_t queue_rsp_o,
  /// Records: writes only.
  input  gw_axi_pkg::pt_req_t record_req_i,
  output gw_axi_pkg::pt_rsp_t record_rsp_o,
  output gw_axi_pkg::cq_req_t m_req_o,
  input  gw_axi_pkg::cq_rsp_t m_rsp_i
);

  // The port's writes are the records'; a write of the queue is under way.
  logic record_q, queue_q, queue_offers;
  assign queue_offers = queue_req_i.aw_valid || queue_req_i.w_valid;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      record_q <= 1'b0;
      queue_q <= 1'b0;
    end else begin
      if (record_q) record_q <= !(m_rsp_i.b_valid && record_req_i.b_ready);
      else record_q <= record_req_i.aw_valid && !queue_offers && !queue_q;
      if (!record_q) queue_q <= (queue_q || queue_offers) && !(m_rsp_i.b_valid && queue_req_i.b_ready);
    end
  end

  always_comb begin
    m_req_o = queue_req_i;
    queue_rsp_o = m_rsp_i;
    record_rsp_o = '0;
    record_rsp_o.aw_ready = record_q && m_rsp_i.aw_ready;
    record_rsp_o.w_ready = record_q && m_rsp_i.w_ready;
    record_rsp_o.b_valid = record_q && m_rsp_i.b_valid;
    record_rsp_o.b.resp = m_rsp_i.b.resp;
    if (record_q) begin
      m_req_o.aw.addr = record_req_i.aw.addr;
      m_req_o.aw.size = record_req_i.aw.size;
      m_req_o.aw.cache = record_req_i.aw.cache;
      m_req_o.aw.prot = record_req_i.aw.prot;
      m_req_o.aw_valid = record_req_i.aw_valid;
      m_req_o.w = record_req_i.w;
      m_req_o.w_valid = record_req_i.w_valid;
      m_req_o.b_ready = record_req_i.b_ready;
      queue_rsp_o.aw_ready = 1'b0;
      queue_rsp_o.w_ready = 1'b0;
      queue_rsp_o.b_valid = 1'b0;
    end
  end

  // Of a record's address all but these is what the queue's is, too: one beat, INCR, nothing else.
  logic unused;
  assign unused = ^{record_req_i};

  `GW_ASSERT(RecordsOnlyWrite_A, !record_req_i.ar_valid)
  `GW_ASSERT(AddressStays_A, m_req_o.aw_valid && !m_rsp_i.aw_ready |=> m_req_o.aw_valid && $stable(m_req_o.aw))
  `GW_ASSERT(DataStays_A, m_req_o.w_valid && !m_rsp_i.w_ready |=> m_req_o.w_valid && $stable(m_req_o.w))
  `GW_COVER(QueueWaits_C, record_q && queue_offers)
  `GW_COVER(RecordWaits_C, queue_q && record_req_i.aw_valid)

endmodule
