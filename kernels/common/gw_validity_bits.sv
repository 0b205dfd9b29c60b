// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Cuts a validity bitmap into the bits of one beat of values: 16 or 8 a cycle, from any bit on.
//
// Contract
// - Input: the bitmap's bytes from the one that holds the first bit; it ends where the last row's bit is.
// - bits_o bit l belongs to row l of the current beat; bits past the last row are unspecified. The taker marks its last
//   beat with end_i; what is left of the input beat is dropped with it, and nothing is in hand then.
// - Latency: one cycle from input to bits. Throughput: one beat of values a cycle.
// - clear_i drops everything. Reset: empty.
`include "gw_assert.svh"

module gw_validity_bits
  import gw_kernel_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         clear_i,
  /// 8 rows a beat, else 16.
  input  logic         wide_i,
  /// First row's bit in the first byte.
  input  logic [2:0]   first_bit_i,
  input  logic         in_valid_i,
  output logic         in_ready_o,
  input  stream_beat_t in_i,
  output logic         bits_valid_o,
  input  logic         bits_ready_i,
  input  logic         end_i,
  output logic [15:0]  bits_o
);

  data_t hold_q;        // bits in hand, the next beat's at the low end
  logic valid_q, last_q;
  logic [5:0] left_q;   // steps in hold_q, counted in bytes - 1: 63 when just loaded
  logic last_step, take, load;
  logic [22:0] window;

  // The last step of a beat looks up to 7 bits into the next one, so that one must be there, unless there is none.
  assign last_step = left_q == (wide_i ? 6'd0 : 6'd1);
  assign bits_valid_o = valid_q && (!last_step || last_q || in_valid_i);
  assign take = bits_valid_o && bits_ready_i;
  assign load = in_valid_i && in_ready_o;
  assign in_ready_o = !valid_q || (take && last_step && !last_q);

  always_comb begin
    window = hold_q[22:0];
    if (last_step) begin
      if (wide_i) window = {8'b0, in_i.data[6:0], hold_q[7:0]};
      else window = {in_i.data[6:0], hold_q[15:0]};
    end
  end
  assign bits_o = 16'(window >> first_bit_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (clear_i) valid_q <= 1'b0;
    else if (take && end_i) valid_q <= 1'b0;
    else if (load) valid_q <= 1'b1;
    else if (take && last_step) valid_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (load) begin
      hold_q <= in_i.data;
      last_q <= in_i.last;
      left_q <= 6'd63;
    end else if (take) begin
      hold_q <= wide_i ? hold_q >> 8 : hold_q >> 16;
      left_q <= left_q - (wide_i ? 6'd1 : 6'd2);
    end
  end

  `GW_INVARIANT(EndIsInLastBeat_A, !(take && end_i) || last_q || (last_step && in_i.last))
  `GW_COVER(SpillsToNext_C, take && last_step && !last_q && end_i)

  // Where the bitmap ends is told by `last`.
  logic unused;
  assign unused = ^{in_i.bytes, in_i.data};

endmodule
