// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Bytes, one by one, as beats.
//
// Contract
// - Beats of 64 bytes; the first has first_i of them, as it is with start_i, and the one with the byte that is
//   `last` what there is.
// - Throughput: a byte a cycle; a beat comes out the cycle after its last byte came in.
// - in_ready_o depends on out_ready_i. start_i and clear_i drop everything. Reset: empty.
`include "gw_assert.svh"

module gw_byte_beats
  import gw_kernel_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         clear_i,
  input  logic         start_i,
  /// Bytes of the first beat, 1 to 64.
  input  byte_count_t  first_i,
  input  logic         in_valid_i,
  output logic         in_ready_o,
  input  logic [7:0]   in_i,
  input  logic         in_last_i,
  output logic         out_valid_o,
  input  logic         out_ready_i,
  /// `last` where the last byte is.
  output stream_beat_t out_o
);

  logic [BeatBytes-1:0][7:0] data_q;
  byte_count_t fill_q, room_q;
  byte_idx_t place;
  logic full_q, last_q, take, give;

  assign give = full_q && out_ready_i;
  assign in_ready_o = !full_q || out_ready_i;
  assign take = in_valid_i && in_ready_o;
  assign out_valid_o = full_q;
  assign out_o = '{data: data_q, bytes: fill_q, last: last_q};
  assign place = full_q ? '0 : fill_q[BeatShift-1:0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      full_q <= 1'b0;
      fill_q <= '0;
      room_q <= '0;
    end else if (start_i || clear_i) begin
      full_q <= 1'b0;
      fill_q <= '0;
      room_q <= first_i;
    end else begin
      if (take) begin
        // A beat that goes out meanwhile leaves room for a whole one.
        full_q <= in_last_i || (!full_q && fill_q + 1'b1 == room_q);
        fill_q <= byte_count_t'(place) + 1'b1;
      end else if (give) begin
        full_q <= 1'b0;
        fill_q <= '0;
      end
      if (give) room_q <= byte_count_t'(BeatBytes);
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      data_q[place] <= in_i;
      last_q <= in_last_i;
    end
  end

  `GW_INVARIANT(FullWhereItEnds_A, !full_q || last_q || fill_q == room_q)
  `GW_INVARIANT(NeverOverfull_A, fill_q <= room_q)
  `GW_ASSERT(OutputStable_A, out_valid_o && !out_ready_i && !clear_i && !start_i |=> out_valid_o && $stable(out_o))
  `GW_COVER(ByteBehindBeat_C, give && take)

endmodule
