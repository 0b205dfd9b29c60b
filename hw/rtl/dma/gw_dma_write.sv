// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Writes of the page DMA on one port: bursts of the two copying lanes in turn, single words before them, clears behind them.
//
// Contract
// - An address leaves only when all of its data is there (the lanes offer whole bursts); its beats follow without a gap, one a
//   cycle as the port takes them, from burst to burst.
// - Scrubbing is for idle cycles: a clear is taken when no lane offers a burst. Words come first.
// - One ID: responses come in order; up to `Outstanding` are awaited. Each is reported once: done_o for a burst or a word of a
//   slot, fence_done_o for a fence number (its error is
//   that of done_o).
// - All outputs to the port are registers.
`include "gw_assert.svh"

module gw_dma_write #(
  /// Writes under way, >= 2.
  parameter int unsigned Outstanding = 32
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  /// A word.
  input  logic                     word_valid_i,
  output logic                     word_ready_o,
  input  gw_pkg::dma_word_t        word_i,
  /// Lanes: 0 and 1 copy, 2 clears. Data of the former.
  input  logic [2:0]               write_valid_i,
  output logic [2:0]               write_ready_o,
  input  gw_pkg::dma_write_t [2:0] write_i,
  input  logic [1:0]               data_valid_i,
  output logic [1:0]               data_ready_o,
  input  logic [1:0][511:0]        data_i,
  /// The port.
  output logic                     aw_valid_o,
  input  logic                     aw_ready_i,
  output logic [gw_pkg::PaWidth-1:0] aw_addr_o,
  output logic [7:0]               aw_len_o,
  output logic [2:0]               aw_size_o,
  output logic                     w_valid_o,
  input  logic                     w_ready_i,
  output logic [511:0]             w_data_o,
  output logic [63:0]              w_strb_o,
  output logic                     w_last_o,
  input  logic                     b_valid_i,
  input  logic                     b_fault_i,
  output gw_pkg::dma_done_t        done_o,
  output logic                     fence_done_o,
  output logic                     idle_o
);

  import gw_pkg::*;

  if (Outstanding < 2) begin : gen_bad_outstanding
    $fatal(1, "gw_dma_write: Outstanding must be at least 2");
  end

  typedef struct packed {
    logic [PaWidth-1:0] addr;
    logic [4:0] lines;
    logic [2:0] size;
  } address_t;
  // Where the beats of a burst come from; a word brings its own.
  typedef enum logic [1:0] {
    Lane0 = 2'd0,
    Lane1 = 2'd1,
    Zero  = 2'd2,
    Word  = 2'd3
  } source_e;
  typedef struct packed {
    source_e source;
    logic [4:0] lines;
    logic fence;
    logic [2:0] lane;  // doubleword of the line, for a word
    logic half;        // half of it, for a fence number
    logic [63:0] data;
  } beats_t;
  typedef struct packed {
    logic fence;
    dma_slot_t slot;
  } awaited_t;

  // Who is next. A turn that is not taken may go to somebody who comes later and is more urgent: nothing is lost by that.
  source_e source;
  logic any, pick, aw_room, beats_room, awaited_room, second_q;
  always_comb begin
    source = Zero;
    if (word_valid_i) source = Word;
    else if (write_valid_i[1] && (second_q || !write_valid_i[0])) source = Lane1;
    else if (write_valid_i[0]) source = Lane0;
  end
  assign any = word_valid_i || write_valid_i != '0;
  assign pick = any && aw_room && beats_room && awaited_room;
  assign word_ready_o = pick && source == Word;
  assign write_ready_o = {pick && source == Zero, pick && source == Lane1, pick && source == Lane0};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) second_q <= 1'b0;
    else if (pick && source inside {Lane0, Lane1}) second_q <= source == Lane0;
  end

  dma_write_t chosen;
  address_t address;
  beats_t beats_in, beats;
  awaited_t awaited;
  assign chosen = write_i[(source == Word) ? 2'd0 : source];
  always_comb begin
    address = '{addr: {chosen.dst, DmaLineShift'(0)}, lines: chosen.lines, size: 3'(DmaLineShift)};
    beats_in = '{source: source, lines: chosen.lines, data: word_i.data, lane: word_i.addr[5:3], half: word_i.addr[2],
                 fence: word_i.fence};
    if (source == Word) begin
      address = '{addr: word_i.addr, lines: 5'd1, size: word_i.fence ? 3'd2 : 3'd3};
      beats_in.lines = 5'd1;
    end
  end

  address_t aw;
  gw_slice #(
    .T(address_t)
  ) u_aw (
    .clk_i,
    .rst_ni,
    .in_valid_i  (pick),
    .in_ready_o  (aw_room),
    .in_data_i   (address),
    .cancel_i    (1'b0),
    .out_valid_o (aw_valid_o),
    .out_cancel_o(),
    .out_ready_i (aw_ready_i),
    .out_data_o  (aw)
  );
  assign aw_addr_o = aw.addr;
  assign aw_len_o = 8'(aw.lines) - 8'd1;
  assign aw_size_o = aw.size;

  // Beats of the bursts that were picked, two bursts ahead.
  logic beats_valid, beats_done;
  gw_fifo #(
    .T    (beats_t),
    .Depth(2)
  ) u_beats (
    .clk_i,
    .rst_ni,
    .in_valid_i (pick),
    .in_ready_o (beats_room),
    .in_data_i  (beats_in),
    .out_valid_o(beats_valid),
    .out_ready_i(beats_done),
    .out_data_o (beats),
    .usage_o    ()
  );

  typedef struct packed {
    logic last;
    logic [63:0] strb;
    logic [511:0] data;
  } beat_t;
  beat_t beat, w;
  logic beat_valid, beat_ready;
  logic [4:0] beat_q;
  always_comb begin
    beat_valid = beats_valid;
    beat = '{last: beat_q + 5'd1 == beats.lines, strb: '1, data: '0};
    unique case (beats.source)
      Lane0, Lane1: begin
        beat_valid = beats_valid && data_valid_i[beats.source == Lane1];
        beat.data = data_i[beats.source == Lane1];
      end
      Word: begin
        beat.data = {8{beats.fence ? {2{beats.data[31:0]}} : beats.data}};
        beat.strb = 64'(beats.fence ? {{4{beats.half}}, {4{!beats.half}}} : 8'hff) << {beats.lane, 3'd0};
      end
      default: ;
    endcase
  end
  assign data_ready_o[0] = beats_valid && beats.source == Lane0 && beat_ready;
  assign data_ready_o[1] = beats_valid && beats.source == Lane1 && beat_ready;
  assign beats_done = beat_valid && beat_ready && beat.last;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) beat_q <= '0;
    else if (beat_valid && beat_ready) beat_q <= beat.last ? '0 : beat_q + 5'd1;
  end

  gw_slice #(
    .T(beat_t)
  ) u_w (
    .clk_i,
    .rst_ni,
    .in_valid_i  (beat_valid),
    .in_ready_o  (beat_ready),
    .in_data_i   (beat),
    .cancel_i    (1'b0),
    .out_valid_o (w_valid_o),
    .out_cancel_o(),
    .out_ready_i (w_ready_i),
    .out_data_o  (w)
  );
  assign w_data_o = w.data;
  assign w_strb_o = w.strb;
  assign w_last_o = w.last;

  // Responses.
  logic awaited_valid, done_q, done_fault_q;
  dma_slot_t done_slot_q;
  gw_fifo #(
    .T    (awaited_t),
    .Depth(Outstanding)
  ) u_awaited (
    .clk_i,
    .rst_ni,
    .in_valid_i (pick),
    .in_ready_o (awaited_room),
    .in_data_i  ((source == Word) ? '{fence: word_i.fence, slot: word_i.slot} : '{fence: 1'b0, slot: chosen.slot}),
    .out_valid_o(awaited_valid),
    .out_ready_i(b_valid_i),
    .out_data_o (awaited),
    .usage_o    ()
  );
  assign idle_o = !awaited_valid && !done_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      done_q <= 1'b0;
      fence_done_o <= 1'b0;
    end else begin
      done_q <= b_valid_i && !awaited.fence;
      fence_done_o <= b_valid_i && awaited.fence;
    end
  end
  always_ff @(posedge clk_i) begin
    done_slot_q <= awaited.slot;
    done_fault_q <= b_fault_i;
  end
  assign done_o = '{valid: done_q, slot: done_slot_q, error: done_fault_q};

  `GW_INVARIANT(ResponseIsAwaited_A, !b_valid_i || awaited_valid)
  `GW_ASSERT(AddressStable_A, aw_valid_o && !aw_ready_i |=> aw_valid_o && $stable(aw))
  `GW_ASSERT(BeatStable_A, w_valid_o && !w_ready_i |=> w_valid_o && $stable(w))
  `GW_COVER(BothLanes_C, write_valid_i[1:0] == 2'b11 && pick)
  `GW_COVER(ClearWaits_C, write_valid_i[2] && write_valid_i[1:0] != '0)
  `GW_COVER(NoMoreAwaited_C, any && !awaited_room)

endmodule
