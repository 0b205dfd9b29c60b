// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Cuts a validity bitmap into the bits of one beat of values, of rows of four bytes or of eight, from any bit on.
//
//   beat of the bitmap ──> hold_q, shifted by a beat's bits a step ──> | first bits of the next one ──> >> first_bit_i ──> bits_o
//
// Contract
// - Input: the bitmap's bytes from the one that holds the first bit; it ends where the last row's bit is.
// - bits_o bit l belongs to row l of the current beat; bits past the last row are unspecified. The taker marks its last
//   beat with end_i; what is left of the bitmap is dropped with it, and nothing is in hand then.
// - Latency: one cycle from input to bits. Throughput: one beat of values a cycle.
// - clear_i drops everything. Reset: empty.
`include "gw_assert.svh"

module gw_validity_bits
  import gw_kernel_pkg::*;
#(
  /// Rows of four bytes in a beat: as many bits go out.
  localparam int unsigned Rows = BeatBytes / 4
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            clear_i,
  /// Rows have eight bytes: half as many.
  input  logic            wide_i,
  /// First row's bit in the first byte.
  input  logic [2:0]      first_bit_i,
  input  logic            in_valid_i,
  output logic            in_ready_o,
  input  stream_beat_t    in_i,
  output logic            bits_valid_o,
  input  logic            bits_ready_i,
  input  logic            end_i,
  output logic [Rows-1:0] bits_o
);

  // A beat of the bitmap has bits for 64 beats of wide rows, whatever the width.
  localparam int unsigned Step = Rows / 2;
  localparam int unsigned Window = Rows + 7;
  typedef logic [Window-1:0] window_t;

  data_t hold_q;        // bits in hand, the next beat's at the low end, zeros behind the last
  logic valid_q, last_q;
  logic [5:0] left_q;   // steps in hold_q - 1: 63 when just loaded
  logic last_step, looks_ahead, take, load;
  window_t window;

  // Up to seven bits more than the last step's are looked at, which are the next beat's: in the last step, and where a step has
  // few bits in those before it. So that beat must be there, unless there is none.
  assign last_step = left_q == (wide_i ? 6'd0 : 6'd1);
  assign looks_ahead = last_step ||
                       32'(left_q) * Step + Step < (wide_i ? Step : Rows) + 32'(first_bit_i);
  assign bits_valid_o = valid_q && (!looks_ahead || last_q || in_valid_i);
  assign take = bits_valid_o && bits_ready_i;
  assign load = in_valid_i && in_ready_o;
  // The last beat of values can end in the next beat of the bitmap before the last step of this one: that is the last one then.
  assign in_ready_o = !valid_q || (take && !last_q && (last_step || (end_i && looks_ahead)));

  always_comb begin
    window = hold_q[Window-1:0];
    for (int unsigned left = 1; left * Step < Window; left++) begin
      if (looks_ahead && 32'(left_q) + 1 == left) window = hold_q[Window-1:0] | (window_t'(in_i.data[6:0]) << left * Step);
    end
  end
  assign bits_o = Rows'(window >> first_bit_i);

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
      hold_q <= wide_i ? hold_q >> Step : hold_q >> Rows;
      left_q <= left_q - (wide_i ? 6'd1 : 6'd2);
    end
  end

  `GW_INVARIANT(EndIsInLastBeat_A, !(take && end_i) || last_q || (looks_ahead && in_i.last))
  `GW_COVER(SpillsToNext_C, take && looks_ahead && !last_q && end_i)

  // Where the bitmap ends is told by `last`.
  logic unused;
  assign unused = ^{in_i.bytes, in_i.data};

endmodule
