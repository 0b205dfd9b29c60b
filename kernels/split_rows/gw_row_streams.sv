// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Rows of an Arrow column that match a comparison, the others, and the validity of these, as three packed streams of bytes.
//
//   values ───> gw_read_stream ─┬─> gw_row_match ─┬─> gw_lane_compactor ──> 0: matches
//   validity ─> gw_read_stream ─┘                 ├─> gw_lane_compactor ──> 1: rest
//                                                 └─> gw_bit_compactor ───> 2: rest_validity
//
// Contract
// - Throughput: one beat of values a cycle, 16 rows of 32 bits or 8 of 64 bits.
// - NULL rows go to rest, with their bytes as they are. Stream 2 is there when there is a validity bitmap: a bit for each row of rest,
//   from bit 0 on; bits behind the last row of its last byte are zero.
// - Arguments, run and the streams' begin (addr_valid_o) and end are those of gw_split_front.
// - The reads use the lower and the upper half of the AXI IDs. Reset: idle.
module gw_row_streams
  import gw_kernel_pkg::*;
#(
  /// Bits of an AXI ID, 1 or more.
  parameter int unsigned IdWidth = 4
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               start_i,
  output logic               done_o,
  output status_e            status_o,

  /// As in gw_split_front.
  input  addr_t              values_i,
  input  addr_t              validity_i,
  input  logic [63:0]        rows_i,
  input  logic [63:0]        offset_i,
  input  logic [31:0]        dtype_i,
  input  logic [31:0]        op_i,
  input  logic [63:0]        constant_i,
  input  logic               bad_args_i,

  output logic         [2:0] addr_valid_o,
  input  logic         [2:0] addr_ready_i,
  input  logic         [2:0] write_busy_i,
  input  logic         [2:0] write_error_i,
  output logic               abort_o,
  output logic         [2:0] out_valid_o,
  input  logic         [2:0] out_ready_i,
  output stream_beat_t [2:0] out_o,
  output logic [63:0]        match_count_o,

  output logic               ar_valid_o,
  input  logic               ar_ready_i,
  output burst_t             ar_o,
  input  logic               r_valid_i,
  input  read_beat_t         r_i
);

  localparam int unsigned HalfBits = IdWidth - 1;

  // ---- What is compared, and which rows match
  logic has_bitmap, wide, nullable;
  logic [1:0] range_valid, range_ready, read_busy, read_error, in_valid, in_ready;  // values, validity
  range_t [1:0] ranges;
  stream_beat_t [1:0] in_beat;
  logic rows_valid, rows_ready, rows_last;
  logic [1:0][15:0] masks;  // matches, rest
  logic [15:0] valid;
  data_t row_values;
  logic [2:0] unused_first_bit;

  gw_split_front #(
    .NumReads (2),
    .NumWrites(3)
  ) u_front (
    .clk_i,
    .rst_ni,
    .start_i,
    .done_o,
    .status_o,
    .values_i,
    .validity_i,
    .rows_i,
    .offset_i,
    .dtype_i,
    .op_i,
    .constant_i,
    .bad_args_i,
    .has_bitmap_o (has_bitmap),
    .reads_i      ({has_bitmap, 1'b1}),
    .range_valid_o(range_valid),
    .range_ready_i(range_ready),
    .range_o      (ranges),
    .read_busy_i  (read_busy),
    .read_error_i (read_error),
    .writes_i     ({has_bitmap, 2'b11}),
    .addr_valid_o,
    .addr_ready_i,
    .write_busy_i,
    .write_error_i,
    .abort_o,
    .in_valid_i   (in_valid),
    .in_ready_o   (in_ready),
    .in_i         (in_beat),
    .wide_o       (wide),
    .nullable_o   (nullable),
    .first_bit_o  (unused_first_bit),
    .rows_valid_o (rows_valid),
    .rows_ready_i (rows_ready),
    .match_o      (masks[0]),
    .rest_o       (masks[1]),
    .valid_o      (valid),
    .data_o       (row_values),
    .last_o       (rows_last),
    .match_count_o
  );

  gw_readers #(
    .NumStreams(2),
    .Short     (2'b10),
    .IdBase    ({id_t'(1) << HalfBits, id_t'(0)}),
    .IdBits    ({2{3'(HalfBits)}})
  ) u_readers (
    .clk_i,
    .rst_ni,
    .abort_i      (abort_o),
    .busy_o       (read_busy),
    .error_o      (read_error),
    .range_valid_i(range_valid),
    .range_ready_o(range_ready),
    .range_i      (ranges),
    .out_valid_o  (in_valid),
    .out_ready_i  (in_ready),
    .out_o        (in_beat),
    .ar_valid_o,
    .ar_ready_i,
    .ar_o,
    .r_valid_i,
    .r_i
  );

  // ---- Packed. All three take a beat of rows in the same cycle.
  logic [2:0] pack_ready;
  logic rows_taken;

  assign rows_ready = pack_ready == '1;
  assign rows_taken = rows_valid && rows_ready;

  for (genvar i = 0; i < 2; i++) begin : gen_values
    logic [15:0] lanes;

    // A row of 64 bits is two lanes.
    always_comb begin
      for (int unsigned l = 0; l < 16; l++) lanes[l] = wide ? masks[i][l/2] : masks[i][l];
    end

    gw_lane_compactor #(
      .Values(1'b1)
    ) u_compactor (
      .clk_i,
      .rst_ni,
      .clear_i    (abort_o),
      .in_valid_i (rows_taken),
      .in_ready_o (pack_ready[i]),
      .mask_i     (lanes),
      .base_i     ('0),
      .data_i     (row_values),
      .last_i     (rows_last),
      .out_valid_o(out_valid_o[i]),
      .out_ready_i(out_ready_i[i]),
      .out_o      (out_o[i])
    );
  end

  gw_bit_compactor u_bits (
    .clk_i,
    .rst_ni,
    .clear_i    (abort_o),
    .in_valid_i (rows_taken && nullable),
    .in_ready_o (pack_ready[2]),
    .mask_i     (masks[1]),
    .bits_i     (valid),
    .last_i     (rows_last),
    .out_valid_o(out_valid_o[2]),
    .out_ready_i(out_ready_i[2]),
    .out_o      (out_o[2])
  );

endmodule
