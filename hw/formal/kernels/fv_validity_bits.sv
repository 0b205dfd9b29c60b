// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_validity_bits: each row of each beat of values has its bit of the bitmap, from any first bit on, wherever beats of
// the bitmap end; the bitmap is used up with the last beat of values, and nothing of it is in hand then.
module fv_validity_bits
  import gw_kernel_pkg::*;
(
  input logic                   clk_i,
  input logic                   rst_ni,
  input logic                   clear_i,
  input logic                   in_valid_i,
  input logic [8*BeatBytes-1:0] data_i,
  input logic                   bits_ready_i
);

  localparam int unsigned Rows = BeatBytes / 4;
  localparam int unsigned Bits = 8 * BeatBytes;
  typedef logic [15:0] count_t;

  // Never written: any value, the same in all cycles. A bitmap has rows_q rows from bit first_q on; of its bits one is watched.
  (* keep *) logic wide_q, watched_q;
  (* keep *) logic [2:0] first_q;
  (* keep *) count_t rows_q, place_q;
  always_ff @(posedge clk_i) {wide_q, watched_q, first_q, rows_q, place_q} <= {wide_q, watched_q, first_q, rows_q, place_q};

  logic in_ready, bits_valid, ends, take, load, last;
  logic [Rows-1:0] bits;
  count_t given_q, beats_q;  // rows that were given, and beats of the bitmap that were taken
  count_t step, last_beat;
  stream_beat_t in;

  assign step = wide_q ? count_t'(Rows / 2) : count_t'(Rows);
  assign last_beat = (count_t'(first_q) + rows_q - 16'd1) / count_t'(Bits);
  assign last = beats_q == last_beat;
  assign ends = given_q + step >= rows_q;
  assign in = '{data: data_i, bytes: '0, last: last};
  assign take = bits_valid && bits_ready_i;
  assign load = in_valid_i && in_ready;

  gw_validity_bits u_dut (
    .clk_i,
    .rst_ni,
    .clear_i,
    .wide_i      (wide_q),
    .first_bit_i (first_q),
    .in_valid_i,
    .in_ready_o  (in_ready),
    .in_i        (in),
    .bits_valid_o(bits_valid),
    .bits_ready_i,
    .end_i       (ends),
    .bits_o      (bits)
  );

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    if (!rst_ni || clear_i || (take && ends)) {given_q, beats_q} <= '0;
    else begin
      given_q <= given_q + (take ? step : '0);
      beats_q <= beats_q + count_t'(load);
    end
  end

  always_comb begin
    assume (rst_ni == past_valid_q);
    assume (rows_q != '0 && rows_q <= count_t'(3 * Bits));
    assume (place_q < count_t'(4 * Bits));
    assume (!in_valid_i || (beats_q <= last_beat && !clear_i));
    if (in_valid_i && beats_q == place_q / count_t'(Bits)) assume (data_i[place_q % count_t'(Bits)] == watched_q);
  end

  // What is in hand, in places of the bitmap.
  count_t left, behind;
  assign left = (count_t'(u_dut.left_q) + 16'd1) * count_t'(Rows / 2);
  assign behind = beats_q * count_t'(Bits);

  for (genvar l = 0; l < int'(Rows); l++) begin : gen_row
    count_t row;
    assign row = given_q + count_t'(l);
    always_ff @(posedge clk_i) begin
      if (rst_ni && bits_valid && count_t'(l) < step && row < rows_q && row + count_t'(first_q) == place_q) begin
        Bit_A : assert (bits[l] == watched_q);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (take && ends) UsedUp_A : assert (beats_q + count_t'(load) == last_beat + 16'd1);
      if (beats_q == '0) NothingInHand_A : assert (!bits_valid && given_q == '0);

      Bounds_A : assert (given_q < rows_q && beats_q <= last_beat + 16'd1 && beats_q <= 16'd4);
      Steps_A : assert (given_q % step == '0);
      if (u_dut.valid_q) begin
        Hand_A : assert (given_q + left == behind && beats_q != '0);
        Even_A : assert (wide_q || u_dut.left_q[0]);
        Last_A : assert (u_dut.last_q == (beats_q == last_beat + 16'd1));
        ZerosBehind_A : assert ((u_dut.hold_q >> left) == '0);
        if (place_q >= given_q && place_q < behind) Held_A : assert (u_dut.hold_q[place_q - given_q] == watched_q);
      end else begin
        Between_A : assert (given_q == behind && beats_q <= last_beat);
      end

      Spills_C : cover (take && ends && load && beats_q == 16'd1);
      SpillsBeforeTheLastStep_C : cover (take && ends && load && u_dut.left_q > 6'd1);
      EndsInHand_C : cover (take && ends && !load && u_dut.left_q > 6'd1 && rows_q > 16'd20);
    end
  end

endmodule
