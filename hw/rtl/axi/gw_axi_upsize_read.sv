// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Reads of gw_axi_upsize: addresses converted, words of the wider bus given out beat by beat.
//
// Contract
// - An address leaves one cycle after it came; a word's first beat is offered two cycles after the word came.
// - A beat a cycle, also from one word to the next and from burst to burst.
// - `Bursts` bursts of an ID in flight. Words of different IDs may come in any order, also interleaved.
// - Every beat of a word has the word's response.
// - No path from an input to an output but the ready of an address, which is that of its ID's queue.
`include "gw_assert.svh"

module gw_axi_upsize_read #(
  parameter int unsigned SlvDataWidth = 32,
  parameter int unsigned MstDataWidth = 512,
  parameter int unsigned IdWidth = 1,
  /// Bursts of an ID in flight, a power of two.
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
  localparam int unsigned WordShift = $clog2(MstDataWidth / 8);
  localparam int unsigned BeatShift = $clog2(SlvDataWidth / 8);

  // Addresses
  ax_t ar;
  gw_axi_pkg::up_burst_t burst, head;
  logic slice_ready, queue_ready;

  gw_axi_upsize_ax #(
    .MstDataWidth(MstDataWidth),
    .ax_t        (ax_t)
  ) u_ax (
    .ax_i   (s_ar_i),
    .ax_o   (ar),
    .burst_o(burst)
  );

  assign s_ar_ready_o = slice_ready && queue_ready;

  gw_slice #(
    .T(ax_t)
  ) u_ar_slice (
    .clk_i,
    .rst_ni,
    .in_valid_i  (s_ar_valid_i && queue_ready),
    .in_ready_o  (slice_ready),
    .in_data_i   (ar),
    .cancel_i    (1'b0),
    .out_valid_o (m_ar_valid_o),
    .out_cancel_o(),
    .out_ready_i (m_ar_ready_i),
    .out_data_o  (m_ar_o)
  );

  // Words of the wider bus
  mst_r_t word, word_q;
  logic word_valid, word_valid_q, load, step, word_end;
  logic [1:0] unused_usage;
  gw_axi_pkg::up_burst_t burst_q;
  gw_axi_pkg::lane_t lane_q, start, after;

  gw_fifo #(
    .T    (mst_r_t),
    .Depth(2)
  ) u_words (
    .clk_i,
    .rst_ni,
    .in_valid_i (m_r_valid_i),
    .in_ready_o (m_r_ready_o),
    .in_data_i  (m_r_i),
    .out_valid_o(word_valid),
    .out_ready_i(load),
    .out_data_o (word),
    .usage_o    (unused_usage)
  );

  gw_axi_id_queues #(
    .T      (gw_axi_pkg::up_burst_t),
    .IdWidth(IdWidth),
    .Depth  (Bursts)
  ) u_bursts (
    .clk_i,
    .rst_ni,
    .push_valid_i(s_ar_valid_i && slice_ready),
    .push_ready_o(queue_ready),
    .push_id_i   (s_ar_i.id),
    .push_data_i (burst),
    .head_id_i   (word.id),
    .head_valid_o(),
    .head_data_o (head),
    .pop_i       (load && word.last)
  );

  // How far each ID is: the words that follow a packed burst's first begin in lane 0.
  logic [NumIds-1:0] begun_q;
  gw_axi_pkg::lane_t lane_mem[NumIds];
  always_comb begin
    start = head.lane;
    if (begun_q[word.id]) start = head.pack ? '0 : lane_mem[word.id];
  end

  assign load = word_valid && (!word_valid_q || (step && word_end));
  assign step = word_valid_q && s_r_ready_i;
  assign after = gw_axi_pkg::next_lane(lane_q, burst_q.size, burst_q.burst, burst_q.limit);
  always_comb begin
    word_end = 1'b1;
    if (burst_q.pack) begin
      word_end = word_q.last ? gw_axi_pkg::aligned_lane(lane_q, burst_q.size) == burst_q.limit
                             : after[WordShift-1:0] == '0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      word_valid_q <= 1'b0;
      begun_q <= '0;
    end else begin
      if (load) word_valid_q <= 1'b1;
      else if (step && word_end) word_valid_q <= 1'b0;
      if (load) begun_q[word.id] <= !word.last;
    end
  end

  always_ff @(posedge clk_i) begin
    if (load) begin
      word_q <= word;
      burst_q <= head;
      lane_q <= start;
      lane_mem[word.id] <= gw_axi_pkg::next_lane(start, head.size, head.burst, head.limit);
    end else if (step) begin
      lane_q <= after;
    end
  end

  logic unused;
  assign unused = ^burst_q.lane;

  logic [WordShift-BeatShift-1:0] slot;
  assign slot = lane_q[WordShift-1:BeatShift];
  // By shifting: of an array of two elements of 512 bits Verilator makes an internal error.
  logic [SlvDataWidth-1:0] beat;
  assign beat = SlvDataWidth'(word_q.data >> {slot, {(BeatShift + 3) {1'b0}}});
  assign s_r_valid_o = word_valid_q;
  assign s_r_o = '{
    id:   word_q.id,
    data: beat,
    resp: word_q.resp,
    last: word_q.last && word_end
  };

  `GW_ASSERT(SizeFits_A, s_ar_valid_i |-> s_ar_i.size <= 3'(BeatShift))
  `GW_COVER(PackedWordAfterWord_C, load && step && burst_q.pack)
  `GW_COVER(Interleaved_C, load && begun_q != '0 && !begun_q[word.id])

endmodule
