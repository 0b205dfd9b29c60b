// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Pages that the host has to bring: accesses to a missing page are parked, the page is asked for once in a ring in host memory, and the
// host's response, the end of the context, or a timeout ends their waiting.
//
// Contract
// - A request is answered once, in order: parked on a place, the same for all requests of a page {ctx, generation, vpn}; or, ans_parked_o low, no
//   place: nothing has changed, and the requester asks again later (after a wake-up at the latest, there will be a place). Acceptance to answer,
//   while answers and wake-ups are taken: at most Pages / Banks + 23 cycles.
// - Each answer `parked` is followed by one wake-up of its place: ok after the response `success` of the host; not ok after any other
//   response, when the context ended, or after a timeout. wake_o stays until wake_ready_i, and comes behind the answers that park on it;
//   who carries both on keeps that order. Neither may wait for the other for ever.
// - A page is asked for in one record, whoever waits. If one of them writes and the record, sent before, said read only, then a `success`
//   is followed by a second record, for the write, in place of the wake-up.
// - Records are put in the order of the requests, when the ring has room; who waits for room longer than unsent_cycles_i, or for the
//   response longer than sent_cycles_i, is woken as not ok (0: never) within 4 * Pages turns of 23 + Pages / Banks cycles. A memory error stops
//   the ring (gw_fault_ring), which loses nothing.
// - A response names a place and which of its records it is for (the record's generation, counted modulo 8 a place). For another record, or a
//   place that waits for none: ignored, stale_o. Places are used again in the order in which they were left, so a response can only be
//   taken for another one's when it is 8 records of its place late.
// - end_i, a pulse, at any time: the requests of a context that were accepted up to its cycle are woken as not ok. busy_o, from the cycle after it
//   until they were. A request with another generation than those of its context ends these, too; so a requester
//   that has sent the new one sends none of the old.
// - record_o: a record is in memory, and the tail moves in the next cycle.
// - irq_o: records are there (gw_fault_moderate). No path from an input to an output but through registers; put to the ring excepted.
`include "gw_assert.svh"

module gw_fault #(
  /// Pages that wait at a time, a power of two, 2 to 64.
  parameter int unsigned Pages = 64,
  /// Places compared in a cycle, a power of two, 1 to Pages / 2.
  parameter int unsigned Banks = (Pages >= 16) ? 8 : 1,
  /// Bits of a context's generation.
  parameter int unsigned GenerationWidth = 3,
  parameter logic [gw_axi_pkg::PtIdWidth-1:0] Id = '0,
  /// Derived.
  localparam int unsigned UseWidth = gw_spec_pkg::PageRequestPayloadGenerationWidth
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  /// Requests, and their answers.
  input  logic                       req_valid_i,
  output logic                       req_ready_o,
  input  gw_pkg::ctx_id_t            req_ctx_i,
  input  logic [GenerationWidth-1:0] req_generation_i,
  input  gw_pkg::vpn_t               req_vpn_i,
  input  logic                       req_write_i,
  output logic                       ans_valid_o,
  input  logic                       ans_ready_i,
  output logic                       ans_parked_o,
  output gw_pkg::park_t              ans_park_o,
  output gw_pkg::wake_t              wake_o,
  input  logic                       wake_ready_i,
  /// The context ends, or changes.
  input  gw_pkg::ctx_write_t         end_i,
  output logic                       busy_o,
  /// Page-group response, decoded: gw_spec_pkg::PageResponse*.
  input  logic                       rsp_valid_i,
  output logic                       rsp_ready_o,
  input  gw_pkg::park_t              rsp_place_i,
  input  logic [UseWidth-1:0]        rsp_generation_i,
  input  logic [3:0]                 rsp_code_i,
  /// Registers: timeouts in cycles, interrupt moderation, the ring.
  input  logic [31:0]                unsent_cycles_i,
  input  logic [31:0]                sent_cycles_i,
  input  logic [7:0]                 irq_count_i,
  input  logic [31:0]                irq_cycles_i,
  input  logic                       ring_enable_i,
  input  logic                       ring_stopped_i,
  input  gw_pkg::ppn_t               ring_base_i,
  input  logic [4:0]                 ring_log2_size_less1_i,
  input  logic [31:0]                ring_head_i,
  output logic [31:0]                ring_tail_o,
  output logic                       ring_on_o,
  output logic                       ring_memory_fault_o,
  output logic                       irq_o,
  /// Pulses: a record was written, of that context; a response was ignored; a page was given up.
  output logic                       record_o,
  output gw_pkg::ctx_id_t            record_ctx_o,
  output logic                       stale_o,
  output logic                       timeout_o,
  output gw_axi_pkg::pt_req_t        m_req_o,
  input  gw_axi_pkg::pt_rsp_t        m_rsp_i
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  if (!(Pages inside {2, 4, 8, 16, 32, 64})) begin : gen_bad_pages
    $fatal(1, "gw_fault: Pages must be a power of two, 2 to 64");
  end
  if (!(Banks inside {1, 2, 4, 8, 16, 32}) || 2 * Banks > Pages) begin : gen_bad_banks
    $fatal(1, "gw_fault: Banks must be a power of two, 1 to Pages / 2");
  end
  if (GenerationWidth < 1) begin : gen_bad_generation
    $fatal(1, "gw_fault: GenerationWidth must be at least 1");
  end

  logic put, put_ready, put_write, written;
  park_t put_place;
  logic [UseWidth-1:0] put_use;
  ctx_id_t put_ctx;
  vpn_t put_vpn;
  logic [63:0] record_who, record_page;

  gw_fault_table #(
    .Pages          (Pages),
    .Banks          (Banks),
    .GenerationWidth(GenerationWidth)
  ) u_table (
    .clk_i,
    .rst_ni,
    .req_valid_i,
    .req_ready_o,
    .req_ctx_i,
    .req_generation_i,
    .req_vpn_i,
    .req_write_i,
    .ans_valid_o,
    .ans_ready_i,
    .ans_parked_o,
    .ans_park_o,
    .wake_o,
    .wake_ready_i,
    .end_i,
    .busy_o,
    .rsp_valid_i,
    .rsp_ready_o,
    .rsp_place_i,
    .rsp_generation_i,
    .rsp_ok_i       (rsp_code_i == PageResponseSuccess),
    .stale_o,
    .timeout_o,
    .unsent_cycles_i,
    .sent_cycles_i,
    .put_o          (put),
    .put_ready_i    (put_ready),
    .put_place_o    (put_place),
    .put_use_o      (put_use),
    .put_ctx_o      (put_ctx),
    .put_vpn_o      (put_vpn),
    .put_write_o    (put_write)
  );

  // A page of the widest mode is canonical as its virtual address is.
  localparam int unsigned PageWidth = PageRequestPayloadPageWidth;
  always_comb begin
    record_who = '0;
    record_who[PageRequestPidLsb +: PageRequestPidWidth] = PageRequestPidWidth'(put_ctx);
    record_who[PageRequestPvLsb] = 1'b1;
    record_page = '0;
    record_page[PageRequestPayloadRLsb] = 1'b1;
    record_page[PageRequestPayloadWLsb] = put_write;
    record_page[PageRequestPayloadLLsb] = 1'b1;
    record_page[PageRequestPayloadPlaceLsb +: PageRequestPayloadPlaceWidth] = PageRequestPayloadPlaceWidth'(put_place);
    record_page[PageRequestPayloadGenerationLsb +: UseWidth] = put_use;
    record_page[PageRequestPayloadPageLsb +: PageWidth] = PageWidth'(signed'(put_vpn));
  end

  gw_fault_ring #(
    .Id(Id)
  ) u_ring (
    .clk_i,
    .rst_ni,
    .enable_i         (ring_enable_i),
    .stopped_i        (ring_stopped_i),
    .base_i           (ring_base_i),
    .log2_size_less1_i(ring_log2_size_less1_i),
    .head_i           (ring_head_i),
    .tail_o           (ring_tail_o),
    .on_o             (ring_on_o),
    .memory_fault_o   (ring_memory_fault_o),
    .written_o        (written),
    .put_i            (put),
    .ready_o          (put_ready),
    .record_i         ({record_page, record_who}),
    .m_req_o,
    .m_rsp_i
  );

  gw_fault_moderate u_moderate (
    .clk_i,
    .rst_ni,
    .record_i(written),
    .count_i (irq_count_i),
    .cycles_i(irq_cycles_i),
    .irq_o
  );

  // The ring holds one record, from here to its write's answer.
  always_ff @(posedge clk_i) begin
    if (put) record_ctx_o <= put_ctx;
  end
  assign record_o = written;

  // A place's number has room for those of others (gw_pkg::park_t).
  logic unused;
  assign unused = ^put_place;

  `GW_ASSERT(WakeStays_A, wake_o.valid && !wake_ready_i |=> $stable(wake_o))
  `GW_ASSERT(AnswerStays_A, ans_valid_o && !ans_ready_i |=> ans_valid_o && $stable({ans_parked_o, ans_park_o}))

endmodule
