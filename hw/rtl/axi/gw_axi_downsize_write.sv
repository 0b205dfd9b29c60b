// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Writes of gw_axi_downsize: addresses in pieces, beats of the wide bus as narrow beats, one response a burst.
//
// Contract
// - The first piece of an address, and the first narrow beat of a beat whose address has come, leave one cycle after they
//   came. A response takes no cycle.
// - A narrow beat a cycle.
// - `Bursts` pieces whose data has not left, and as many of an ID that are not answered.
// - A burst's response is the worst of its pieces', given with the last of them, which is when its address has been taken.
// - No path from an input to an output but those of responses, and the ready of an address, which depends on the address.
`include "gw_assert.svh"

module gw_axi_downsize_write #(
  parameter int unsigned SlvDataWidth = 512,
  parameter int unsigned MstDataWidth = 128,
  parameter int unsigned IdWidth = 1,
  /// Pieces in flight, a power of two.
  parameter int unsigned Bursts = 16,
  /// Channels (gw_axi_typedef.svh).
  parameter type ax_t = gw_axi_pkg::axi_ax_t,
  parameter type slv_w_t = gw_axi_pkg::axi_w_t,
  parameter type mst_w_t = gw_axi_pkg::axi_w_t,
  parameter type b_t = gw_axi_pkg::axi_b_t
) (
  input  logic   clk_i,
  input  logic   rst_ni,
  input  logic   s_aw_valid_i,
  output logic   s_aw_ready_o,
  input  ax_t    s_aw_i,
  input  logic   s_w_valid_i,
  output logic   s_w_ready_o,
  input  slv_w_t s_w_i,
  output logic   s_b_valid_o,
  input  logic   s_b_ready_i,
  output b_t     s_b_o,
  output logic   m_aw_valid_o,
  input  logic   m_aw_ready_i,
  output ax_t    m_aw_o,
  output logic   m_w_valid_o,
  input  logic   m_w_ready_i,
  output mst_w_t m_w_o,
  input  logic   m_b_valid_i,
  output logic   m_b_ready_o,
  input  b_t     m_b_i
);

  localparam int unsigned NumIds = 2 ** IdWidth;
  localparam int unsigned WordShift = $clog2(SlvDataWidth / 8);
  localparam int unsigned BeatShift = $clog2(MstDataWidth / 8);

  typedef struct packed {
    logic [7:0]              len;
    gw_axi_pkg::down_piece_t piece;
  } data_piece_t;

  // Addresses
  ax_t aw;
  gw_axi_pkg::down_piece_t piece;
  data_piece_t head;
  logic piece_valid, slice_ready, data_ready, answer_ready, head_valid;
  logic [$clog2(Bursts+1)-1:0] unused_pieces;

  gw_axi_downsize_ax #(
    .MstDataWidth(MstDataWidth),
    .ax_t        (ax_t)
  ) u_ax (
    .clk_i,
    .rst_ni,
    .s_valid_i(s_aw_valid_i),
    .s_ready_o(s_aw_ready_o),
    .s_i      (s_aw_i),
    .m_valid_o(piece_valid),
    .m_ready_i(slice_ready && data_ready && answer_ready),
    .m_o      (aw),
    .piece_o  (piece)
  );

  gw_slice #(
    .T(ax_t)
  ) u_aw_slice (
    .clk_i,
    .rst_ni,
    .in_valid_i  (piece_valid && data_ready && answer_ready),
    .in_ready_o  (slice_ready),
    .in_data_i   (aw),
    .cancel_i    (1'b0),
    .out_valid_o (m_aw_valid_o),
    .out_cancel_o(),
    .out_ready_i (m_aw_ready_i),
    .out_data_o  (m_aw_o)
  );

  // Data: the beat of the wide bus stays on offer until its last narrow beat is taken.
  logic take, last, word_end, begun_q, out_ready;
  logic [7:0] count, count_q;
  gw_axi_pkg::lane_t lane, lane_q, after;
  logic [WordShift-BeatShift-1:0] slot;
  mst_w_t beat;

  gw_fifo #(
    .T    (data_piece_t),
    .Depth(Bursts)
  ) u_pieces (
    .clk_i,
    .rst_ni,
    .in_valid_i (piece_valid && slice_ready && answer_ready),
    .in_ready_o (data_ready),
    .in_data_i  ('{len: aw.len, piece: piece}),
    .out_valid_o(head_valid),
    .out_ready_i(take && last),
    .out_data_o (head),
    .usage_o    (unused_pieces)
  );

  assign take = s_w_valid_i && head_valid && out_ready;
  assign s_w_ready_o = head_valid && out_ready && word_end;
  assign count = begun_q ? count_q : head.len;
  assign last = count == '0;
  always_comb begin
    lane = begun_q ? lane_q : head.piece.lane;
    if (head.piece.keep) begin
      after = gw_axi_pkg::next_lane(lane, head.piece.size, head.piece.burst, head.piece.window);
      word_end = 1'b1;
    end else begin
      after = gw_axi_pkg::aligned_lane(lane, 3'(BeatShift)) + gw_axi_pkg::lane_t'(2 ** BeatShift);
      word_end = gw_axi_pkg::aligned_lane(after, head.piece.size) == after;
    end
  end
  assign slot = lane[WordShift-1:BeatShift];
  always_comb begin
    beat = '{data: '0, strb: '0, last: last};
    for (int unsigned i = 0; i < SlvDataWidth / MstDataWidth; i++) begin
      if (slot == (WordShift - BeatShift)'(i)) begin
        beat.data = s_w_i.data[i*MstDataWidth+:MstDataWidth];
        beat.strb = s_w_i.strb[i*(MstDataWidth/8)+:MstDataWidth/8];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      begun_q <= 1'b0;
    end else if (take) begin
      begun_q <= !last;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      lane_q <= after;
      count_q <= count - 1'b1;
    end
  end

  gw_slice #(
    .T(mst_w_t)
  ) u_w_slice (
    .clk_i,
    .rst_ni,
    .in_valid_i  (s_w_valid_i && head_valid),
    .in_ready_o  (out_ready),
    .in_data_i   (beat),
    .cancel_i    (1'b0),
    .out_valid_o (m_w_valid_o),
    .out_cancel_o(),
    .out_ready_i (m_w_ready_i),
    .out_data_o  (m_w_o)
  );

  // Responses
  logic final_piece, answer_take;
  logic [NumIds-1:0] open_q;
  logic [1:0] resp_mem[NumIds];
  logic [1:0] resp;

  gw_axi_id_queues #(
    .T      (logic),
    .IdWidth(IdWidth),
    .Depth  (Bursts)
  ) u_answers (
    .clk_i,
    .rst_ni,
    .push_valid_i(piece_valid && slice_ready && data_ready),
    .push_ready_o(answer_ready),
    .push_id_i   (s_aw_i.id),
    .push_data_i (piece.final_piece),
    .head_id_i   (m_b_i.id),
    .head_valid_o(),
    .head_data_o (final_piece),
    .pop_i       (answer_take)
  );

  always_comb begin
    resp = m_b_i.resp;
    if (open_q[m_b_i.id] && resp_mem[m_b_i.id] > resp) resp = resp_mem[m_b_i.id];
  end
  assign s_b_valid_o = m_b_valid_i && final_piece;
  assign s_b_o = '{id: m_b_i.id, resp: resp};
  assign m_b_ready_o = s_b_ready_i || !final_piece;
  assign answer_take = m_b_valid_i && m_b_ready_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q <= '0;
    end else if (answer_take) begin
      open_q[m_b_i.id] <= !final_piece;
    end
  end

  always_ff @(posedge clk_i) begin
    if (answer_take) resp_mem[m_b_i.id] <= resp;
  end

  `GW_ASSERT(SizeFits_A, s_aw_valid_i |-> s_aw_i.size <= 3'(WordShift))
  `GW_ASSERT(LastFits_A, take && last && word_end && head.piece.final_piece |-> s_w_i.last)
  `GW_COVER(DataBeforeAddress_C, s_w_valid_i && !head_valid)

endmodule
