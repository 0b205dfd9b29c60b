// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Reads of gw_axi_downsize: addresses in pieces, narrow beats gathered into beats of the wide bus.
//
// Contract
// - The first piece of an address leaves one cycle after it came; a beat of the wide bus is offered two cycles after its last
//   narrow beat came.
// - A narrow beat a cycle, whatever comes after it.
// - `Bursts` pieces of an ID in flight. Beats of different IDs may come in any order, also interleaved.
// - The response of a beat is the worst of its narrow beats; RLAST comes with the burst's last beat only.
// - No path from an input to an output.
`include "gw_assert.svh"

module gw_axi_downsize_read #(
  parameter int unsigned SlvDataWidth = 512,
  parameter int unsigned MstDataWidth = 128,
  parameter int unsigned IdWidth = 1,
  /// Pieces of an ID in flight, a power of two.
  parameter int unsigned Bursts = 16,
  /// Channels (gw_axi_typedef.svh).
  parameter type ax_t = gw_axi_pkg::axi_ax_t,
  parameter type slv_r_t = gw_axi_pkg::axi_r_t,
  parameter type mst_r_t = gw_axi_pkg::axi_r_t
) (
  input  logic   clk_i,
  input  logic   rst_ni,
  input  logic   s_ar_valid_i,
  output logic   s_ar_ready_o,
  input  ax_t    s_ar_i,
  output logic   s_r_valid_o,
  input  logic   s_r_ready_i,
  output slv_r_t s_r_o,
  output logic   m_ar_valid_o,
  input  logic   m_ar_ready_i,
  output ax_t    m_ar_o,
  input  logic   m_r_valid_i,
  output logic   m_r_ready_o,
  input  mst_r_t m_r_i
);

  localparam int unsigned NumIds = 2 ** IdWidth;
  localparam int unsigned Slots = SlvDataWidth / MstDataWidth;
  localparam int unsigned WordShift = $clog2(SlvDataWidth / 8);
  localparam int unsigned BeatShift = $clog2(MstDataWidth / 8);

  // Addresses: taken before their first piece leaves, for the data of that may come before the last one has left.
  ax_t ar;
  gw_axi_pkg::down_piece_t piece, head;
  logic ar_valid, ar_ready, piece_valid, queue_ready;

  gw_slice #(
    .T(ax_t)
  ) u_ar_slice (
    .clk_i,
    .rst_ni,
    .in_valid_i  (s_ar_valid_i),
    .in_ready_o  (s_ar_ready_o),
    .in_data_i   (s_ar_i),
    .cancel_i    (1'b0),
    .out_valid_o (ar_valid),
    .out_cancel_o(),
    .out_ready_i (ar_ready),
    .out_data_o  (ar)
  );

  gw_axi_downsize_ax #(
    .MstDataWidth(MstDataWidth),
    .ax_t        (ax_t)
  ) u_ax (
    .clk_i,
    .rst_ni,
    .s_valid_i(ar_valid),
    .s_ready_o(ar_ready),
    .s_i      (ar),
    .m_valid_o(piece_valid),
    .m_ready_i(m_ar_ready_i && queue_ready),
    .m_o      (m_ar_o),
    .piece_o  (piece)
  );
  assign m_ar_valid_o = piece_valid && queue_ready;

  // Narrow beats
  mst_r_t beat;
  logic beat_valid, take, word_end, out_ready;
  logic [1:0] unused_beats;

  gw_fifo #(
    .T    (mst_r_t),
    .Depth(2)
  ) u_beats (
    .clk_i,
    .rst_ni,
    .in_valid_i (m_r_valid_i),
    .in_ready_o (m_r_ready_o),
    .in_data_i  (m_r_i),
    .out_valid_o(beat_valid),
    .out_ready_i(out_ready),
    .out_data_o (beat),
    .usage_o    (unused_beats)
  );

  assign take = beat_valid && out_ready;

  gw_axi_id_queues #(
    .T      (gw_axi_pkg::down_piece_t),
    .IdWidth(IdWidth),
    .Depth  (Bursts)
  ) u_pieces (
    .clk_i,
    .rst_ni,
    .push_valid_i(piece_valid && m_ar_ready_i),
    .push_ready_o(queue_ready),
    .push_id_i   (ar.id),
    .push_data_i (piece),
    .head_id_i   (beat.id),
    .head_valid_o(),
    .head_data_o (head),
    .pop_i       (take && beat.last)
  );

  // How far each ID is: in its piece, and in the wide beat that is being gathered.
  logic [NumIds-1:0] begun_q, open_q;
  gw_axi_pkg::lane_t lane_mem[NumIds];
  logic [1:0] resp_mem[NumIds];
  gw_axi_pkg::lane_t lane, after;
  logic [1:0] resp;
  logic [WordShift-BeatShift-1:0] slot;

  always_comb begin
    lane = begun_q[beat.id] ? lane_mem[beat.id] : head.lane;
    if (head.keep) begin
      after = gw_axi_pkg::next_lane(lane, head.size, head.burst, head.window);
      word_end = 1'b1;
    end else begin
      after = gw_axi_pkg::aligned_lane(lane, 3'(BeatShift)) + gw_axi_pkg::lane_t'(2 ** BeatShift);
      word_end = gw_axi_pkg::aligned_lane(after, head.size) == after;
    end
    resp = beat.resp;
    if (open_q[beat.id] && resp_mem[beat.id] > resp) resp = resp_mem[beat.id];
  end
  assign slot = lane[WordShift-1:BeatShift];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      begun_q <= '0;
      open_q <= '0;
    end else if (take) begin
      begun_q[beat.id] <= !beat.last;
      open_q[beat.id] <= !word_end;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      lane_mem[beat.id] <= after;
      resp_mem[beat.id] <= resp;
    end
  end

  logic [SlvDataWidth-1:0] data;
  for (genvar i = 0; i < Slots; i++) begin : gen_slot
    logic [MstDataWidth-1:0] mem[NumIds];
    logic here;
    assign here = slot == (WordShift - BeatShift)'(i);
    always_ff @(posedge clk_i) begin
      if (take && here) mem[beat.id] <= beat.data;
    end
    assign data[i*MstDataWidth+:MstDataWidth] = here ? beat.data : mem[beat.id];
  end

  gw_slice #(
    .T(slv_r_t)
  ) u_r_slice (
    .clk_i,
    .rst_ni,
    .in_valid_i  (take && word_end),
    .in_ready_o  (out_ready),
    .in_data_i   ('{id: beat.id, resp: resp, last: beat.last && head.final_piece, data: data}),
    .cancel_i    (1'b0),
    .out_valid_o (s_r_valid_o),
    .out_cancel_o(),
    .out_ready_i (s_r_ready_i),
    .out_data_o  (s_r_o)
  );

  `GW_ASSERT(SizeFits_A, s_ar_valid_i |-> s_ar_i.size <= 3'(WordShift))
  `GW_COVER(Interleaved_C, take && open_q != '0 && !open_q[beat.id])

endmodule
