// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The walker's AXI4 port: reads of lines, and the exclusive accesses that set A and D (gw_walk_update).
//
// Contract
// - Lines: `LineBeats` beats of 64 bytes, ID = slot, from the beat asked for on and around (WRAP), beats of different slots in
//   any order, the first not before the cycle after the address is taken. Updates: 8 bytes, AxLOCK, one ID of their own beside those of the slots.
// - R and B are always taken. Addresses of lines and updates take turns; one that is offered stays until it is taken.
`include "gw_assert.svh"

module gw_walk_memory #(
  /// Walks in flight.
  parameter int unsigned Requests = 64,
  /// Line slots.
  parameter int unsigned Lines = 32,
  /// Beats of 64 bytes of a line: 1, 2, 4, 8 or 16.
  parameter int unsigned LineBeats = 1,
  /// Who looks, and how: waiter, walked, retry, denied, told.
  parameter type look_t = logic,
  /// Derived.
  localparam int unsigned SlotWidth = (Lines > 1) ? $clog2(Lines) : 1,
  localparam int unsigned BeatWidth = (LineBeats > 1) ? $clog2(LineBeats) : 1,
  localparam int unsigned PlaceWidth = (Lines * LineBeats > 1) ? $clog2(Lines * LineBeats) : 1,
  localparam int unsigned LineWidth = gw_pkg::PaWidth - $clog2(gw_spec_pkg::PtBeatBytes * LineBeats)
) (
  input logic clk_i,
  input logic rst_ni,
  output gw_axi_pkg::pt_req_t m_req_o,
  input gw_axi_pkg::pt_rsp_t m_rsp_i,
  input logic line_valid_i,
  output logic line_ready_o,
  input logic [LineWidth-1:0] line_i,
  /// Place (see gw_walk_lists) of the beat that comes first.
  input logic [PlaceWidth-1:0] line_place_i,
  /// A beat of a line has come, or failed.
  output logic ret_o,
  output logic [PlaceWidth-1:0] ret_place_o,
  output logic ret_error_o,
  /// Waiters whose entries lack A or D; always taken. Each comes back at `updated_*`.
  input logic update_valid_i,
  input look_t update_look_i,
  input logic [gw_pkg::PaWidth-$clog2(gw_spec_pkg::PtEntryBytes)-1:0] update_entry_i,
  input logic [63:0] update_pte_i,
  input logic update_dirty_i,
  output logic updated_valid_o,
  input logic updated_ready_i,
  output look_t updated_o,
  output logic event_update_o,
  output logic [$clog2(Requests)-1:0] event_update_id_o
);

  import gw_axi_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned IdWidth = $bits(m_rsp_i.r.id);
  localparam logic [IdWidth-1:0] UpdateId = {1'b1, {(IdWidth - 1) {1'b0}}};
  localparam int unsigned LaneWidth = $clog2(PtBeatEntries);
  localparam logic [3:0] Cache = 4'b0011;  // normal memory, bufferable: the host's writes are visible there
  localparam logic [2:0] Prot = 3'b001;  // privileged data

  logic [gw_pkg::PaWidth-$clog2(PtEntryBytes)-1:0] entry;
  logic [LaneWidth-1:0] lane;
  logic ar_valid, ar_ready, r_valid, aw_valid, w_valid;
  logic [63:0] r_data, w_data;

  gw_walk_update #(
    .Requests(Requests),
    .look_t(look_t)
  ) u_update (
    .clk_i,
    .rst_ni,
    .in_valid_i(update_valid_i),
    .in_look_i(update_look_i),
    .in_entry_i(update_entry_i),
    .in_pte_i(update_pte_i),
    .in_dirty_i(update_dirty_i),
    .again_valid_o(updated_valid_o),
    .again_ready_i(updated_ready_i),
    .again_o(updated_o),
    .entry_o(entry),
    .ar_valid_o(ar_valid),
    .ar_ready_i(ar_ready),
    .r_valid_i(r_valid),
    .r_data_i(r_data),
    .r_resp_i(m_rsp_i.r.resp),
    .aw_valid_o(aw_valid),
    .aw_ready_i(m_rsp_i.aw_ready),
    .w_valid_o(w_valid),
    .w_ready_i(m_rsp_i.w_ready),
    .w_data_o(w_data),
    .b_valid_i(m_rsp_i.b_valid),
    .b_resp_i(m_rsp_i.b.resp),
    .event_update_o,
    .event_id_o(event_update_id_o)
  );

  logic [1:0] gnt;
  logic any;
  gw_rr_arbiter #(
    .NumReq(2)
  ) u_turns (
    .clk_i,
    .rst_ni,
    .req_i({ar_valid, line_valid_i}),
    .gnt_o(gnt),
    .idx_o(),
    .valid_o(any),
    .ready_i(m_rsp_i.ar_ready)
  );
  assign line_ready_o = gnt[0] && m_rsp_i.ar_ready;
  assign ar_ready = gnt[1] && m_rsp_i.ar_ready;

  pt_ax_t update;
  assign lane = entry[LaneWidth-1:0];
  always_comb begin
    update = '0;
    update.id = UpdateId;
    update.addr = 64'({entry, {$clog2(PtEntryBytes){1'b0}}});
    update.size = 3'($clog2(PtEntryBytes));
    update.burst = BurstIncr;
    update.lock = 1'b1;
    update.cache = Cache;
    update.prot = Prot;
  end

  logic [SlotWidth-1:0] line_slot, ret_slot;
  logic [BeatWidth-1:0] line_beat, ret_beat;
  assign line_slot = SlotWidth'(32'(line_place_i) / LineBeats);
  assign line_beat = BeatWidth'(32'(line_place_i) % LineBeats);

  always_comb begin
    m_req_o = '0;
    m_req_o.ar_valid = any;
    m_req_o.ar.id = IdWidth'(line_slot);
    m_req_o.ar.addr = (64'(line_i) * LineBeats + 64'(line_beat)) * PtBeatBytes;
    m_req_o.ar.len = 8'(LineBeats - 1);
    m_req_o.ar.size = 3'($clog2(PtBeatBytes));
    m_req_o.ar.burst = (LineBeats > 1) ? BurstWrap : BurstIncr;
    m_req_o.ar.cache = Cache;
    m_req_o.ar.prot = Prot;
    if (gnt[1]) m_req_o.ar = update;
    m_req_o.aw_valid = aw_valid;
    m_req_o.aw = update;
    m_req_o.w_valid = w_valid;
    m_req_o.w.data = {PtBeatEntries{w_data}};
    m_req_o.w.strb[PtEntryBytes*lane +: PtEntryBytes] = '1;
    m_req_o.w.last = 1'b1;
    m_req_o.r_ready = 1'b1;
    m_req_o.b_ready = 1'b1;
  end

  assign ret_o = m_rsp_i.r_valid && m_rsp_i.r.id != UpdateId;
  assign ret_slot = SlotWidth'(m_rsp_i.r.id);
  assign ret_place_o = PlaceWidth'(32'(ret_slot) * LineBeats + 32'(ret_beat));
  assign ret_error_o = m_rsp_i.r.resp[1];

  if (LineBeats > 1) begin : gen_beats
    // The beat of each slot's line that comes next, and the one that came first.
    logic [BeatWidth-1:0] next_q[Lines];
    logic [BeatWidth-1:0] first_q[Lines];
    assign ret_beat = next_q[ret_slot];
    for (genvar i = 0; i < Lines; i++) begin : gen_slot
      always_ff @(posedge clk_i) begin
        if (line_ready_o && line_slot == SlotWidth'(i)) begin
          next_q[i] <= line_beat;
          first_q[i] <= line_beat;
        end else if (ret_o && ret_slot == SlotWidth'(i)) begin
          next_q[i] <= next_q[i] + 1'b1;
        end
      end
    end
    `GW_ASSERT(LastBeatEndsLine_A, ret_o |-> m_rsp_i.r.last == (BeatWidth'(ret_beat + 1'b1) == first_q[ret_slot]))
  end else begin : gen_one_beat
    assign ret_beat = '0;
    `GW_ASSERT(LastBeatEndsLine_A, ret_o |-> m_rsp_i.r.last)
  end
  assign r_valid = m_rsp_i.r_valid && m_rsp_i.r.id == UpdateId;
  assign r_data = m_rsp_i.r.data[64*lane +: 64];

endmodule
