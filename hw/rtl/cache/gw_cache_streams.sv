// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Which pages are read in order: half of a page, line after line; and which were so to their end.
//
// Contract
// - Of every burst of reads, once (`look_first_i`): the page, its first line, and the last one that it needs. `found_o` for a cycle, three
//   cycles later, when 32 lines of a page have been asked for in ascending order; `finished_o` with its place, when its last line is among
//   them, as soon as any beat has said where it is (`look_hit_i`); each once for each time that the page is read so. Up to 8 lines back or
//   ahead are in order: bursts of several IDs overtake each other. Who goes farther begins anew.
// - Pages are told apart by the low bits of their numbers (`KeyWidth`), `Streams` at a time. Another page takes their places in turn, but
//   passes one three times that has gone on since and is not at its end: accesses here and there beside a stream do not make it forgotten.
`include "gw_assert.svh"

module gw_cache_streams #(
  /// Pages followed, a power of two, >= 2.
  parameter int unsigned Streams = 4,
  parameter int unsigned KeyWidth = 16,
  /// Bits of a page's place.
  parameter int unsigned IdxWidth = 4
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                look_i,
  input  logic                look_first_i,
  input  logic                look_hit_i,
  input  logic [KeyWidth-1:0] look_key_i,
  input  logic [IdxWidth-1:0] look_idx_i,
  input  logic [5:0]          look_line_i,
  input  logic [5:0]          look_last_i,
  /// What is behind this page is seen to without being told.
  input  logic                look_met_i,
  output logic                found_o,
  output logic [KeyWidth-1:0] key_o,
  output logic                finished_o,
  output logic [IdxWidth-1:0] idx_o
);

  localparam int unsigned Enough = 32;
  localparam int unsigned TurnWidth = $clog2(Streams);
  typedef logic [KeyWidth-1:0] key_t;
  typedef logic [IdxWidth-1:0] idx_t;

  // Registers behind the lookup.
  logic look_q, first_q, hit_q, met_q, any;
  key_t key_q;
  idx_t idx_q;
  logic [5:0] line_q, last_q, lines_q;
  logic [Streams-1:0] same, stays, tells, finishes;
  logic [TurnWidth-1:0] turn_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      look_q <= 1'b0;
      first_q <= 1'b0;
    end else begin
      look_q <= look_i;
      first_q <= look_i && look_first_i;
    end
  end
  always_ff @(posedge clk_i) begin
    key_q <= look_key_i;
    idx_q <= look_idx_i;
    met_q <= look_met_i;
    hit_q <= look_hit_i;
    line_q <= look_line_i;
    last_q <= look_last_i;
    lines_q <= look_last_i - look_line_i;
  end
  assign any = same != '0;

  key_t [Streams-1:0] page_q;
  idx_t [Streams-1:0] place_q;
  for (genvar i = 0; i < Streams; i++) begin : gen_stream
    logic valid_q, told_q, finished_q, placed_q, takes, goes, anew, in_order, on, enough;
    logic [5:0] high_q, count_q;
    logic signed [7:0] ahead;
    logic [1:0] keep_q;
    logic [6:0] more;
    assign same[i] = valid_q && page_q[i] == key_q;
    assign stays[i] = keep_q != '0 && high_q != '1;
    assign takes = first_q && !any && turn_q == TurnWidth'(i) && !stays[i];
    assign ahead = $signed({2'b0, line_q}) - $signed({2'b0, high_q});
    assign in_order = ahead >= -8'sd8 && ahead <= 8'sd8;
    assign goes = first_q && same[i];
    assign anew = takes || (goes && !in_order);
    assign on = last_q > high_q;
    assign more = 7'(count_q) + 7'(6'(last_q - high_q));
    assign enough = valid_q && count_q >= 6'(Enough - 1);
    assign tells[i] = enough && !told_q;
    assign finishes[i] = enough && high_q == '1 && placed_q && !finished_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        valid_q <= 1'b0;
        told_q <= 1'b0;
        finished_q <= 1'b0;
        placed_q <= 1'b0;
        keep_q <= '0;
      end else begin
        if (takes) valid_q <= 1'b1;
        if (anew) told_q <= met_q;
        else if (tells[i]) told_q <= 1'b1;
        if (takes || (look_q && same[i])) placed_q <= hit_q || (placed_q && !takes);
        if (anew) finished_q <= 1'b0;
        else if (finishes[i]) finished_q <= 1'b1;
        if (goes && in_order && on) keep_q <= '1;
        else if (first_q && !any && turn_q == TurnWidth'(i) && stays[i]) keep_q <= keep_q - 2'd1;
      end
    end
    always_ff @(posedge clk_i) begin
      if (takes) page_q[i] <= key_q;
      if (hit_q && (takes || (look_q && same[i]))) place_q[i] <= idx_q;
      if (anew) begin
        high_q <= last_q;
        count_q <= lines_q;
      end else if (goes && on) begin
        high_q <= last_q;
        count_q <= more[6] ? '1 : more[5:0];
      end
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) turn_q <= '0;
    else if (first_q && !any) turn_q <= turn_q + 1'b1;
  end

  // One changes in a cycle, so one begins to tell.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      found_o <= 1'b0;
      finished_o <= 1'b0;
    end else begin
      found_o <= tells != '0;
      finished_o <= finishes != '0;
    end
  end
  always_ff @(posedge clk_i) begin
    key_o <= '0;
    idx_o <= '0;
    for (int unsigned i = 0; i < Streams; i++) begin
      if (tells[i]) key_o <= page_q[i];
      if (finishes[i]) idx_o <= place_q[i];
    end
  end

  `GW_INVARIANT(OneStream_A, $onehot0(same))
  `GW_COVER(Passed_C, first_q && !any && stays[turn_q])

endmodule
