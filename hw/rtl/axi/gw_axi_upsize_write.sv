// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Writes of gw_axi_upsize: addresses converted, beats gathered into words of the wider bus. Responses need nothing: a burst
// is still one burst.
//
// Contract
// - An address leaves one cycle after it came. A beat waits for its address; a word leaves one cycle after its last beat.
// - A beat a cycle, from burst to burst as well.
// - `Bursts` bursts whose data is not complete.
// - No path from an input to an output but the ready of a beat, which depends on registers only.
`include "gw_assert.svh"

module gw_axi_upsize_write #(
  parameter int unsigned SlvDataWidth = 32,
  parameter int unsigned MstDataWidth = 512,
  /// Bursts whose data is not complete, >= 2.
  parameter int unsigned Bursts = 16,
  /// Channels (gw_axi_typedef.svh).
  parameter type ax_t = gw_axi_pkg::axi_ax_t,
  parameter type slv_w_t = gw_axi_pkg::axi_w_t,
  parameter type mst_w_t = gw_axi_pkg::axi_w_t
) (
  input  logic   clk_i,
  input  logic   rst_ni,
  input  logic   s_aw_valid_i,
  output logic   s_aw_ready_o,
  input  ax_t    s_aw_i,
  input  logic   s_w_valid_i,
  output logic   s_w_ready_o,
  input  slv_w_t s_w_i,
  output logic   m_aw_valid_o,
  input  logic   m_aw_ready_i,
  output ax_t    m_aw_o,
  output logic   m_w_valid_o,
  input  logic   m_w_ready_i,
  output mst_w_t m_w_o
);

  localparam int unsigned WordBytes = MstDataWidth / 8;
  localparam int unsigned BeatBytes = SlvDataWidth / 8;
  localparam int unsigned WordShift = $clog2(WordBytes);
  localparam int unsigned BeatShift = $clog2(BeatBytes);

  // Addresses
  ax_t aw;
  gw_axi_pkg::up_burst_t burst, head;
  logic slice_ready, queue_ready, head_valid;
  logic [$clog2(Bursts+1)-1:0] unused_bursts;

  gw_axi_upsize_ax #(
    .MstDataWidth(MstDataWidth),
    .ax_t        (ax_t)
  ) u_ax (
    .ax_i   (s_aw_i),
    .ax_o   (aw),
    .burst_o(burst)
  );

  assign s_aw_ready_o = slice_ready && queue_ready;

  gw_slice #(
    .T(ax_t)
  ) u_aw_slice (
    .clk_i,
    .rst_ni,
    .in_valid_i  (s_aw_valid_i && queue_ready),
    .in_ready_o  (slice_ready),
    .in_data_i   (aw),
    .cancel_i    (1'b0),
    .out_valid_o (m_aw_valid_o),
    .out_cancel_o(),
    .out_ready_i (m_aw_ready_i),
    .out_data_o  (m_aw_o)
  );

  logic take, word_end, out_ready;
  gw_fifo #(
    .T    (gw_axi_pkg::up_burst_t),
    .Depth(Bursts)
  ) u_bursts (
    .clk_i,
    .rst_ni,
    .in_valid_i (s_aw_valid_i && slice_ready),
    .in_ready_o (queue_ready),
    .in_data_i  (burst),
    .out_valid_o(head_valid),
    .out_ready_i(take && s_w_i.last),
    .out_data_o (head),
    .usage_o    (unused_bursts)
  );

  // Beats, merged into the word that is being filled
  logic begun_q;
  gw_axi_pkg::lane_t lane, lane_q, after;
  logic [WordBytes-1:0] strb_q, strb;
  logic [MstDataWidth-1:0] data_q, data;
  logic [WordShift-BeatShift-1:0] slot;

  assign s_w_ready_o = head_valid && out_ready;
  assign take = s_w_valid_i && s_w_ready_o;
  assign lane = begun_q ? lane_q : head.lane;
  assign after = gw_axi_pkg::next_lane(lane, head.size, head.burst, head.limit);
  assign word_end = !head.pack || s_w_i.last || after[WordShift-1:0] == '0;
  assign slot = lane[WordShift-1:BeatShift];

  always_comb begin
    strb = strb_q;
    data = data_q;
    for (int unsigned i = 0; i < WordBytes; i++) begin
      if (slot == (WordShift - BeatShift)'(i / BeatBytes) && s_w_i.strb[i%BeatBytes]) begin
        strb[i] = 1'b1;
        data[8*i+:8] = s_w_i.data[8*(i%BeatBytes)+:8];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      begun_q <= 1'b0;
      strb_q <= '0;
    end else if (take) begin
      begun_q <= !s_w_i.last;
      strb_q <= word_end ? '0 : strb;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      lane_q <= after;
      data_q <= data;
    end
  end

  logic [1:0] unused_words;
  gw_fifo #(
    .T    (mst_w_t),
    .Depth(2)
  ) u_words (
    .clk_i,
    .rst_ni,
    .in_valid_i (take && word_end),
    .in_ready_o (out_ready),
    .in_data_i  ('{data: data, strb: strb, last: s_w_i.last}),
    .out_valid_o(m_w_valid_o),
    .out_ready_i(m_w_ready_i),
    .out_data_o (m_w_o),
    .usage_o    (unused_words)
  );

  `GW_ASSERT(SizeFits_A, s_aw_valid_i |-> s_aw_i.size <= 3'(BeatShift))
  `GW_COVER(DataBeforeAddress_C, s_w_valid_i && !head_valid)

endmodule
