// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The bytes of a stream of beats, one by one.
//
// Contract
// - Throughput: a byte a cycle, without a gap between beats; latency a cycle. Beats without bytes vanish.
// - in_ready_o depends on out_ready_i. clear_i drops everything. Reset: empty.
`include "gw_assert.svh"

module gw_beat_bytes
  import gw_kernel_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         clear_i,
  input  logic         in_valid_i,
  output logic         in_ready_o,
  input  stream_beat_t in_i,
  output logic         out_valid_o,
  input  logic         out_ready_i,
  output logic [7:0]   out_o
);

  data_t data_q;
  byte_count_t left_q;

  assign out_valid_o = left_q != '0;
  assign out_o = data_q[7:0];
  assign in_ready_o = left_q == '0 || (left_q == byte_count_t'(1) && out_ready_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) left_q <= '0;
    else if (clear_i) left_q <= '0;
    else if (in_valid_i && in_ready_o) left_q <= in_i.bytes;
    else if (out_valid_o && out_ready_i) left_q <= left_q - 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (in_valid_i && in_ready_o) data_q <= in_i.data;
    else if (out_valid_o && out_ready_i) data_q <= data_q >> 8;
  end

  // Where a range ends is not seen in its bytes.
  logic unused;
  assign unused = in_i.last;

  `GW_INVARIANT(AtMostABeat_A, left_q <= byte_count_t'(BeatBytes))
  `GW_ASSERT(OutputStable_A, out_valid_o && !out_ready_i && !clear_i |=> out_valid_o && $stable(out_o))
  `GW_COVER(BeatBehindBeat_C, left_q == byte_count_t'(1) && in_valid_i && in_ready_o)

endmodule
