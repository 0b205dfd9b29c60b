// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Joins beats of values with their validity bits and says of every row whether it matches.
//
// Contract
// - Rows of a beat: 16 of 32 bits or 8 of 64 bits from row base_o on, whose values are data_o. Lane l of match_o: row base_o + l
//   exists, is valid and compares true; of rest_o: it exists and is not in match_o; of valid_o: it is valid, if it exists.
// - Latency: one cycle. Throughput: one beat a cycle. rows_valid_o and what goes with it are registers.
// - clear_i drops everything and begins with row 0 again. Reset: empty.
module gw_row_match
  import gw_kernel_pkg::*;
(
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               clear_i,
  /// Elements have 64 bits.
  input  logic               wide_i,
  input  logic               float_i,
  input  logic [2:0]         op_i,
  input  logic [63:0]        constant_i,
  /// There is a bitmap; else every row is valid.
  input  logic               nullable_i,
  input  logic [2:0]         first_bit_i,
  /// Stream 0: values, stream 1: bitmap.
  input  logic         [1:0] in_valid_i,
  output logic         [1:0] in_ready_o,
  input  stream_beat_t [1:0] in_i,
  output logic               rows_valid_o,
  input  logic               rows_ready_i,
  output logic [15:0]        match_o,
  output logic [15:0]        rest_o,
  output logic [15:0]        valid_o,
  output data_t              data_o,
  output logic [31:0]        base_o,
  output logic               last_o
);

  logic [15:0] compare, valid_bits, valid, exists;
  logic bits_valid, room, take;
  logic [4:0] elements;
  logic rows_valid_q;
  logic [31:0] next_base_q;

  gw_row_compare u_compare (
    .data_i    (in_i[0].data),
    .wide_i,
    .float_i,
    .op_i,
    .constant_i,
    .match_o   (compare)
  );

  gw_validity_bits u_validity (
    .clk_i,
    .rst_ni,
    .clear_i,
    .wide_i,
    .first_bit_i,
    .in_valid_i  (in_valid_i[1]),
    .in_ready_o  (in_ready_o[1]),
    .in_i        (in_i[1]),
    .bits_valid_o(bits_valid),
    .bits_ready_i(nullable_i && in_valid_i[0] && room),
    .end_i       (in_i[0].last),
    .bits_o      (valid_bits)
  );

  assign elements = wide_i ? {1'b0, in_i[0].bytes[6:3]} : in_i[0].bytes[6:2];
  for (genvar l = 0; l < 16; l++) begin : gen_lane
    assign exists[l] = 5'(l) < elements;
  end
  assign valid = nullable_i ? valid_bits : '1;

  assign room = !rows_valid_q || rows_ready_i;
  assign in_ready_o[0] = room && (!nullable_i || bits_valid);
  assign take = in_valid_i[0] && in_ready_o[0];
  assign rows_valid_o = rows_valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rows_valid_q <= 1'b0;
      next_base_q <= '0;
    end else if (clear_i) begin
      rows_valid_q <= 1'b0;
      next_base_q <= '0;
    end else begin
      if (room) rows_valid_q <= take;
      if (take) next_base_q <= next_base_q + (wide_i ? 32'd8 : 32'd16);
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      match_o <= compare & valid & exists;
      rest_o <= ~(compare & valid) & exists;
      valid_o <= valid;
      data_o <= in_i[0].data;
      base_o <= next_base_q;
      last_o <= in_i[0].last;
    end
  end

  // Values come in whole elements.
  logic unused;
  assign unused = ^in_i[0].bytes[1:0];

endmodule
