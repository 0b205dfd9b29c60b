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

  // ---- Arguments, kept for the run
  logic [31:0] dtype, op;
  logic [63:0] values, validity, rows, offset;
  logic wide_d, wide_q, float_q, nullable_q;
  logic [2:0] op_q, first_bit_q;
  logic [63:0] constant_q;
  addr_t matches_q, rest_q, rest_validity_q;
  range_t values_q, validity_q;
  logic bad_args, has_bitmap;

  assign values = args[word(ValuesOffset)+:2];
  assign validity = args[word(ValidityOffset)+:2];
  assign rows = args[word(RowsOffset)+:2];
  assign offset = args[word(OffsetOffset)+:2];
  assign dtype = args[word(DtypeOffset)];
  assign op = args[word(OpOffset)];
  assign wide_d = dtype[0];
  assign has_bitmap = validity != '0 && rows != '0;
  assign bad_args = dtype > 32'd3 || op > 32'd5 || rows[63:32] != '0;

  always_ff @(posedge ap_clk) begin
    if (start) begin
      wide_q <= wide_d;
      float_q <= dtype[1];
      op_q <= op[2:0];
      constant_q <= args[word(ConstantOffset)+:2];
      matches_q <= args[word(MatchesOffset)+:2];
      rest_q <= args[word(RestOffset)+:2];
      rest_validity_q <= args[word(RestValidityOffset)+:2];
      values_q.addr <= values + (wide_d ? offset << 3 : offset << 2);
      values_q.bytes <= wide_d ? rows << 3 : rows << 2;
      nullable_q <= has_bitmap;
      first_bit_q <= offset[2:0];
      validity_q.addr <= validity + (offset >> 3);
      validity_q.bytes <= (rows + 64'(offset[2:0]) + 64'd7) >> 3;
    end
  end

  // ---- Run
  logic work, abort, busy, finished;
  logic [1:0] read_busy, read_error;
  logic [2:0] write_busy, write_error;
  logic [1:0] range_todo_q, range_ready;  // values, validity
  logic [2:0] addr_todo_q, addr_ready;    // matches, rest, rest_validity
  status_e status;

  assign busy = read_busy != '0 || write_busy != '0;
  assign finished = range_todo_q == '0 && addr_todo_q == '0 && !busy;

  gw_kernel_ctrl u_ctrl (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .start_i      (start),
    .bad_args_i   (bad_args),
    .finished_i   (finished),
    .read_error_i (read_error != '0),
    .write_error_i(write_error != '0),
    .busy_i       (busy),
    .work_o       (work),
    .abort_o      (abort),
    .done_o       (done),
    .status_o     (status)
  );

  // Each stream gets its range or address once a run.
  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) begin
      range_todo_q <= '0;
      addr_todo_q <= '0;
    end else if (start) begin
      range_todo_q <= {has_bitmap, 1'b1};
      addr_todo_q <= {has_bitmap, 2'b11};
    end else begin
      range_todo_q <= work ? range_todo_q & ~range_ready : '0;
      addr_todo_q <= work ? addr_todo_q & ~addr_ready : '0;
    end
  end

  // ---- Reads: stream 0 values, stream 1 validity
  logic [1:0] rd_ar_valid, rd_ar_ready, rd_r_valid, in_valid, in_ready;
  burst_t [1:0] rd_ar;
  stream_beat_t [1:0] in_beat;

  gw_read_stream #(
    .IdBits(LaneBits)
  ) u_values (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .abort_i      (abort),
    .busy_o       (read_busy[0]),
    .error_o      (read_error[0]),
    .range_valid_i(work && range_todo_q[0]),
    .range_ready_o(range_ready[0]),
    .range_i      (values_q),
    .ar_valid_o   (rd_ar_valid[0]),
    .ar_ready_i   (rd_ar_ready[0]),
    .ar_o         (rd_ar[0]),
    .r_valid_i    (rd_r_valid[0]),
    .r_i          (r),
    .out_valid_o  (in_valid[0]),
    .out_ready_i  (in_ready[0]),
    .out_o        (in_beat[0])
  );

  // A beat of the bitmap lasts 32 cycles, so a few short bursts ahead are enough.
  gw_read_stream #(
    .Slots     (4),
    .BurstBeats(16),
    .IdBase    (UpperHalf),
    .IdBits    (LaneBits)
  ) u_validity (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .abort_i      (abort),
    .busy_o       (read_busy[1]),
    .error_o      (read_error[1]),
    .range_valid_i(work && range_todo_q[1]),
    .range_ready_o(range_ready[1]),
    .range_i      (validity_q),
    .ar_valid_o   (rd_ar_valid[1]),
    .ar_ready_i   (rd_ar_ready[1]),
    .ar_o         (rd_ar[1]),
    .r_valid_i    (rd_r_valid[1]),
    .r_i          (r),
    .out_valid_o  (in_valid[1]),
    .out_ready_i  (in_ready[1]),
    .out_o        (in_beat[1])
  );

  gw_read_mux #(
    .SelBit(LaneBits)
  ) u_read_mux (
    .clk_i     (ap_clk),
    .rst_ni    (ap_rst_n),
    .ar_valid_i(rd_ar_valid),
    .ar_ready_o(rd_ar_ready),
    .ar_i      (rd_ar),
    .ar_valid_o(ar_valid),
    .ar_ready_i(ar_ready),
    .ar_o      (ar),
    .r_valid_i (r_valid),
    .r_id_i    (r.id),
    .r_valid_o (rd_r_valid)
  );

  // ---- Rows that match and the others
  logic rows_valid, rows_ready, rows_last;
  logic [1:0][15:0] masks;  // matches, rest
  logic [15:0] valid;
  data_t row_values;
  logic [31:0] unused_base;
  logic [63:0] match_count_q;

  gw_row_match u_rows (
    .clk_i       (ap_clk),
    .rst_ni      (ap_rst_n),
    .clear_i     (start || abort),
    .wide_i      (wide_q),
    .float_i     (float_q),
    .op_i        (op_q),
    .constant_i  (constant_q),
    .nullable_i  (nullable_q),
    .first_bit_i (first_bit_q),
    .in_valid_i  (in_valid),
    .in_ready_o  (in_ready),
    .in_i        (in_beat),
    .rows_valid_o(rows_valid),
    .rows_ready_i(rows_ready),
    .match_o     (masks[0]),
    .rest_o      (masks[1]),
    .valid_o     (valid),
    .data_o      (row_values),
    .base_o      (unused_base),
    .last_o      (rows_last)
  );

  always_ff @(posedge ap_clk) begin
    if (start) match_count_q <= '0;
    else if (rows_valid && rows_ready) match_count_q <= match_count_q + 64'($countones(masks[0]));
  end

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
      for (int unsigned l = 0; l < 16; l++) lanes[l] = wide_q ? masks[i][l/2] : masks[i][l];
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
    .in_valid_i (rows_taken && nullable_q),
    .in_ready_o (pack_ready[2]),
    .mask_i     (masks[1]),
    .bits_i     (valid),
    .last_i     (rows_last),
    .out_valid_o(out_valid[2]),
    .out_ready_i(out_ready[2]),
    .out_o      (out_beat[2])
  );

  // ---- To memory
  logic [2:0] wr_aw_valid, wr_aw_ready, wr_w_valid, wr_w_ready, wr_b_valid;
  addr_t [2:0] out_addr;
  burst_t [2:0] wr_aw;
  write_beat_t [2:0] wr_w;

  assign out_addr = {rest_validity_q, rest_q, matches_q};

  for (genvar i = 0; i < 3; i++) begin : gen_out
    // The bitmap needs no long bursts: a beat of it lasts 32 cycles.
    gw_write_stream #(
      .BufferBeats(i == 2 ? 32 : 256),
      .BurstBeats (i == 2 ? 16 : 64),
      .IdBase     (i == 0 ? '0 : i == 1 ? UpperHalf : SecondQuarter),
      .IdBits     (i == 1 ? LaneBits : QuarterBits)
    ) u_write (
      .clk_i       (ap_clk),
      .rst_ni      (ap_rst_n),
      .abort_i     (abort),
      .busy_o      (write_busy[i]),
      .error_o     (write_error[i]),
      .addr_valid_i(work && addr_todo_q[i]),
      .addr_ready_o(addr_ready[i]),
      .addr_i      (out_addr[i]),
      .in_valid_i  (out_valid[i]),
      .in_ready_o  (out_ready[i]),
      .in_i        (out_beat[i]),
      .aw_valid_o  (wr_aw_valid[i]),
      .aw_ready_i  (wr_aw_ready[i]),
      .aw_o        (wr_aw[i]),
      .w_valid_o   (wr_w_valid[i]),
      .w_ready_i   (wr_w_ready[i]),
      .w_o         (wr_w[i]),
      .b_valid_i   (wr_b_valid[i]),
      .b_i         (b)
    );
  end

  // Matches and the bitmap share the lower half of the IDs.
  logic low_aw_valid, low_aw_ready, low_w_valid, low_w_ready, low_b_valid;
  burst_t low_aw;
  write_beat_t low_w;

  gw_write_mux #(
    .SelBit(QuarterBits)
  ) u_low_mux (
    .clk_i     (ap_clk),
    .rst_ni    (ap_rst_n),
    .aw_valid_i({wr_aw_valid[2], wr_aw_valid[0]}),
    .aw_ready_o({wr_aw_ready[2], wr_aw_ready[0]}),
    .aw_i      ({wr_aw[2], wr_aw[0]}),
    .w_valid_i ({wr_w_valid[2], wr_w_valid[0]}),
    .w_ready_o ({wr_w_ready[2], wr_w_ready[0]}),
    .w_i       ({wr_w[2], wr_w[0]}),
    .b_valid_o ({wr_b_valid[2], wr_b_valid[0]}),
    .aw_valid_o(low_aw_valid),
    .aw_ready_i(low_aw_ready),
    .aw_o      (low_aw),
    .w_valid_o (low_w_valid),
    .w_ready_i (low_w_ready),
    .w_o       (low_w),
    .b_valid_i (low_b_valid),
    .b_id_i    (b.id)
  );

  gw_write_mux #(
    .SelBit(LaneBits)
  ) u_write_mux (
    .clk_i     (ap_clk),
    .rst_ni    (ap_rst_n),
    .aw_valid_i({wr_aw_valid[1], low_aw_valid}),
    .aw_ready_o({wr_aw_ready[1], low_aw_ready}),
    .aw_i      ({wr_aw[1], low_aw}),
    .w_valid_i ({wr_w_valid[1], low_w_valid}),
    .w_ready_o ({wr_w_ready[1], low_w_ready}),
    .w_i       ({wr_w[1], low_w}),
    .b_valid_o ({wr_b_valid[1], low_b_valid}),
    .aw_valid_o(aw_valid),
    .aw_ready_i(aw_ready),
    .aw_o      (aw),
    .w_valid_o (w_valid),
    .w_ready_i (w_ready),
    .w_o       (w),
    .b_valid_i (b_valid),
    .b_id_i    (b.id)
  );

  // ---- Results
  always_comb begin
    results = '0;
    results[word(MatchCountOffset)+:2] = match_count_q;
    results[word(StatusOffset)] = status;
  end

endmodule
