// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// split_rows: rows of an Arrow column that match a comparison go to one buffer, the others to a second, with their validity.
//
//   values ───> gw_read_stream ─┬─> gw_row_match ─┬─> gw_lane_compactor ──> gw_write_stream ──> matches
//   validity ─> gw_read_stream ─┘                 ├─> gw_lane_compactor ──> gw_write_stream ──> rest
//                                                 └─> gw_bit_compactor ───> gw_write_stream ──> rest_validity
//
// Contract
// - Throughput: one beat of values a cycle, 16 rows of 32 bits or 8 of 64 bits; as many bytes are written as read. A bitmap shares
//   the channels: one beat of it for 32 (64-bit types: 64) beats of values.
// - The reads use the lower and the upper half of the AXI IDs; of the writes rest has the upper half, matches and rest_validity a
//   quarter each. So none waits for a miss of another. An ID has 2 bits at least.
// - NULL rows go to rest, with their bytes as they are. NaN and zeros as gw_row_compare says.
// - rest_validity is written when there is a validity bitmap: a bit for each row of rest, from bit 0 on; bits behind the last row of
//   its last byte are zero. Matches are all valid.
// - status: 3 for rows >= 2^32 or an unknown dtype or op; then nothing is read or written. After an error the contents of the
//   outputs and match_count are unspecified.
module split_rows
  import gw_kernel_pkg::*;
  import split_rows_args_pkg::*;
#(
  `include "gw_hls_params.svh"
) (
  `include "gw_hls_ports.svh"
);

  `include "gw_hls_connect.svh"

  if (C_M_AXI_GMEM_ID_WIDTH < 2) begin : gen_bad_ids
    $fatal(1, "%m: three writers need IDs of 2 bits at least");
  end

  localparam int unsigned LaneBits = C_M_AXI_GMEM_ID_WIDTH - 1;
  localparam int unsigned QuarterBits = C_M_AXI_GMEM_ID_WIDTH - 2;
  localparam id_t UpperHalf = id_t'(1) << LaneBits;
  localparam id_t SecondQuarter = id_t'(1) << QuarterBits;

  // ---- What is compared, and which rows match
  logic has_bitmap, wide, nullable, abort;
  logic [1:0] range_valid, range_ready, read_busy, read_error, in_valid, in_ready;  // values, validity
  logic [2:0] addr_valid, addr_ready, write_busy, write_error;                      // matches, rest, rest_validity
  range_t [1:0] ranges;
  stream_beat_t [1:0] in_beat;
  logic rows_valid, rows_ready, rows_last;
  logic [1:0][15:0] masks;  // matches, rest
  logic [15:0] valid;
  data_t row_values;
  logic [63:0] match_count;
  logic [2:0] unused_first_bit;
  status_e status;

  gw_split_front #(
    .NumReads (2),
    .NumWrites(3)
  ) u_front (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .start_i      (start),
    .done_o       (done),
    .status_o     (status),
    .values_i     (args[word(ValuesOffset)+:2]),
    .validity_i   (args[word(ValidityOffset)+:2]),
    .rows_i       (args[word(RowsOffset)+:2]),
    .offset_i     (args[word(OffsetOffset)+:2]),
    .dtype_i      (args[word(DtypeOffset)]),
    .op_i         (args[word(OpOffset)]),
    .constant_i   (args[word(ConstantOffset)+:2]),
    .bad_args_i   (1'b0),
    .has_bitmap_o (has_bitmap),
    .reads_i      ({has_bitmap, 1'b1}),
    .range_valid_o(range_valid),
    .range_ready_i(range_ready),
    .range_o      (ranges),
    .read_busy_i  (read_busy),
    .read_error_i (read_error),
    .writes_i     ({has_bitmap, 2'b11}),
    .addr_valid_o (addr_valid),
    .addr_ready_i (addr_ready),
    .write_busy_i (write_busy),
    .write_error_i(write_error),
    .abort_o      (abort),
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
    .match_count_o(match_count)
  );

  gw_readers #(
    .NumStreams(2),
    .Short     (2'b10),
    .IdBase    ({UpperHalf, id_t'(0)}),
    .IdBits    ({2{3'(LaneBits)}})
  ) u_readers (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .abort_i      (abort),
    .busy_o       (read_busy),
    .error_o      (read_error),
    .range_valid_i(range_valid),
    .range_ready_o(range_ready),
    .range_i      (ranges),
    .out_valid_o  (in_valid),
    .out_ready_i  (in_ready),
    .out_o        (in_beat),
    .ar_valid_o   (ar_valid),
    .ar_ready_i   (ar_ready),
    .ar_o         (ar),
    .r_valid_i    (r_valid),
    .r_i          (r)
  );

  // ---- Packed: streams 0 and 1 values, stream 2 validity of rest. All take a beat of rows in the same cycle.
  logic [2:0] pack_ready, out_valid, out_ready;
  stream_beat_t [2:0] out_beat;
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
      .clk_i      (ap_clk),
      .rst_ni     (ap_rst_n),
      .clear_i    (abort),
      .in_valid_i (rows_taken),
      .in_ready_o (pack_ready[i]),
      .mask_i     (lanes),
      .base_i     ('0),
      .data_i     (row_values),
      .last_i     (rows_last),
      .out_valid_o(out_valid[i]),
      .out_ready_i(out_ready[i]),
      .out_o      (out_beat[i])
    );
  end

  gw_bit_compactor u_bits (
    .clk_i      (ap_clk),
    .rst_ni     (ap_rst_n),
    .clear_i    (abort),
    .in_valid_i (rows_taken && nullable),
    .in_ready_o (pack_ready[2]),
    .mask_i     (masks[1]),
    .bits_i     (valid),
    .last_i     (rows_last),
    .out_valid_o(out_valid[2]),
    .out_ready_i(out_ready[2]),
    .out_o      (out_beat[2])
  );

  // ---- To memory. Matches and the bitmap share the lower half of the IDs.
  addr_t [2:0] out_addr_q;

  always_ff @(posedge ap_clk) begin
    if (start) begin
      out_addr_q[0] <= args[word(MatchesOffset)+:2];
      out_addr_q[1] <= args[word(RestOffset)+:2];
      out_addr_q[2] <= args[word(RestValidityOffset)+:2];
    end
  end

  gw_writers #(
    .NumStreams(3),
    .Short     (3'b100),
    .IdBase    ({SecondQuarter, UpperHalf, id_t'(0)}),
    .IdBits    ({3'(QuarterBits), 3'(LaneBits), 3'(QuarterBits)})
  ) u_writers (
    .clk_i       (ap_clk),
    .rst_ni      (ap_rst_n),
    .abort_i     (abort),
    .busy_o      (write_busy),
    .error_o     (write_error),
    .addr_valid_i(addr_valid),
    .addr_ready_o(addr_ready),
    .addr_i      (out_addr_q),
    .in_valid_i  (out_valid),
    .in_ready_o  (out_ready),
    .in_i        (out_beat),
    .aw_valid_o  (aw_valid),
    .aw_ready_i  (aw_ready),
    .aw_o        (aw),
    .w_valid_o   (w_valid),
    .w_ready_i   (w_ready),
    .w_o         (w),
    .b_valid_i   (b_valid),
    .b_i         (b)
  );

  // ---- Results
  always_comb begin
    results = '0;
    results[word(MatchCountOffset)+:2] = match_count;
    results[word(StatusOffset)] = status;
  end

endmodule
