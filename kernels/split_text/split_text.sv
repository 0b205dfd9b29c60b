// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// split_text: rows of an Arrow column of text, chosen by a comparison on the column beside it, go to one column or to another.
//
//   values ───> gw_read_stream ─┬─> gw_row_match ─┐
//   validity ─> gw_read_stream ─┘                 │
//   offsets ──> gw_read_stream ───────────────────┼─> gw_text_cut ─┬─> gw_lane_compactor ─> gw_write_stream ─> offsets, twice
//   text ─────> gw_read_stream ───────────────────┘                └─> gw_byte_compactor ─> gw_write_stream ─> text, twice
//
// Contract
// - Throughput: one row a cycle, and one cycle more for each beat of text in which a row goes on.
// - Every stream has a quarter of the AXI IDs, reads and writes each, so that none waits for a miss of another. An ID has 2 bits at
//   least.
// - NULL rows of the compared column go to rest. NaN and zeros as gw_row_compare says.
// - Each side has rows + 1 offsets, of which the first is 0.
// - status: 3 for rows >= 2^32, text of 2^31 bytes and more, or an unknown dtype or op; then nothing is read or written. 3 as well,
//   at the end, when the offsets add up to something else than text_bytes. After an error the contents of the outputs and the counts
//   are unspecified.
module split_text
  import gw_kernel_pkg::*;
  import split_text_args_pkg::*;
#(
  `include "gw_hls_params.svh"
) (
  `include "gw_hls_ports.svh"
);

  `include "gw_hls_connect.svh"

  if (C_M_AXI_GMEM_ID_WIDTH < 2) begin : gen_bad_ids
    $fatal(1, "%m: four readers and writers need IDs of 2 bits at least");
  end

  localparam int unsigned LaneBits = C_M_AXI_GMEM_ID_WIDTH - 1;
  localparam int unsigned QuarterBits = C_M_AXI_GMEM_ID_WIDTH - 2;

  // ---- Arguments, kept for the run
  logic [31:0] dtype, op;
  logic [63:0] values, validity, rows, offset;
  logic wide_d, wide_q, float_q, nullable_q;
  logic [2:0] op_q, first_bit_q;
  logic [63:0] constant_q;
  addr_t [3:0] out_addr_q;
  range_t [3:0] range_q;
  logic [63:0] text_bytes;
  logic bad_args, has_bitmap;

  assign values = args[word(ValuesOffset)+:2];
  assign validity = args[word(ValidityOffset)+:2];
  assign rows = args[word(RowsOffset)+:2];
  assign offset = args[word(OffsetOffset)+:2];
  assign dtype = args[word(DtypeOffset)];
  assign op = args[word(OpOffset)];
  assign wide_d = dtype[0];
  assign has_bitmap = validity != '0 && rows != '0;
  assign text_bytes = args[word(TextBytesOffset)+:2];
  assign bad_args = dtype > 32'd3 || op > 32'd5 || rows[63:32] != '0 || text_bytes[63:31] != '0;

  always_ff @(posedge ap_clk) begin
    if (start) begin
      wide_q <= wide_d;
      float_q <= dtype[1];
      op_q <= op[2:0];
      constant_q <= args[word(ConstantOffset)+:2];
      out_addr_q[0] <= args[word(MatchesOffsetsOffset)+:2];
      out_addr_q[1] <= args[word(MatchesTextOffset)+:2];
      out_addr_q[2] <= args[word(RestOffsetsOffset)+:2];
      out_addr_q[3] <= args[word(RestTextOffset)+:2];
      range_q[0].addr <= values + (wide_d ? offset << 3 : offset << 2);
      range_q[0].bytes <= wide_d ? rows << 3 : rows << 2;
      range_q[1].addr <= validity + (offset >> 3);
      range_q[1].bytes <= (rows + 64'(offset[2:0]) + 64'd7) >> 3;
      range_q[2].addr <= args[word(OffsetsOffset)+:2] + (offset << 2);
      range_q[2].bytes <= (rows + 64'd1) << 2;
      range_q[3].addr <= args[word(TextOffset)+:2];
      range_q[3].bytes <= text_bytes;
      nullable_q <= has_bitmap;
      first_bit_q <= offset[2:0];
    end
  end

  // ---- Run
  logic work, abort, busy, finished;
  logic [3:0] read_busy, read_error, write_busy, write_error;
  logic [3:0] range_todo_q, range_ready;  // values, validity, offsets, text
  logic [3:0] addr_todo_q, addr_ready;    // of matches: offsets, text; of rest: offsets, text
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
      range_todo_q <= {2'b11, has_bitmap, 1'b1};
      addr_todo_q <= '1;
    end else begin
      range_todo_q <= work ? range_todo_q & ~range_ready : '0;
      addr_todo_q <= work ? addr_todo_q & ~addr_ready : '0;
    end
  end

  // ---- Reads: stream 0 values, 1 validity, 2 offsets, 3 text
  logic [3:0] rd_ar_valid, rd_ar_ready, rd_r_valid, in_valid, in_ready;
  burst_t [3:0] rd_ar;
  stream_beat_t [3:0] in_beat;

  for (genvar i = 0; i < 4; i++) begin : gen_in
    gw_read_stream #(
      .Slots     (i == 1 ? 4 : 8),
      .BurstBeats(i == 1 ? 16 : 32),
      .IdBase    (id_t'(i) << QuarterBits),
      .IdBits    (QuarterBits)
    ) u_read (
      .clk_i        (ap_clk),
      .rst_ni       (ap_rst_n),
      .abort_i      (abort),
      .busy_o       (read_busy[i]),
      .error_o      (read_error[i]),
      .range_valid_i(work && range_todo_q[i]),
      .range_ready_o(range_ready[i]),
      .range_i      (range_q[i]),
      .ar_valid_o   (rd_ar_valid[i]),
      .ar_ready_i   (rd_ar_ready[i]),
      .ar_o         (rd_ar[i]),
      .r_valid_i    (rd_r_valid[i]),
      .r_i          (r),
      .out_valid_o  (in_valid[i]),
      .out_ready_i  (in_ready[i]),
      .out_o        (in_beat[i])
    );
  end

  logic [1:0] pair_ar_valid, pair_ar_ready, pair_r_valid;
  burst_t [1:0] pair_ar;

  for (genvar p = 0; p < 2; p++) begin : gen_read_pair
    gw_read_mux #(
      .SelBit(QuarterBits)
    ) u_mux (
      .clk_i     (ap_clk),
      .rst_ni    (ap_rst_n),
      .ar_valid_i(rd_ar_valid[2*p+:2]),
      .ar_ready_o(rd_ar_ready[2*p+:2]),
      .ar_i      (rd_ar[2*p+:2]),
      .ar_valid_o(pair_ar_valid[p]),
      .ar_ready_i(pair_ar_ready[p]),
      .ar_o      (pair_ar[p]),
      .r_valid_i (pair_r_valid[p]),
      .r_id_i    (r.id),
      .r_valid_o (rd_r_valid[2*p+:2])
    );
  end

  gw_read_mux #(
    .SelBit(LaneBits)
  ) u_read_mux (
    .clk_i     (ap_clk),
    .rst_ni    (ap_rst_n),
    .ar_valid_i(pair_ar_valid),
    .ar_ready_o(pair_ar_ready),
    .ar_i      (pair_ar),
    .ar_valid_o(ar_valid),
    .ar_ready_i(ar_ready),
    .ar_o      (ar),
    .r_valid_i (r_valid),
    .r_id_i    (r.id),
    .r_valid_o (pair_r_valid)
  );

  // ---- Rows that match and the others, and their text
  logic rows_valid, rows_ready, rows_last, cut_end, mismatch;
  logic [1:0][15:0] masks;  // matches, rest
  logic [15:0] unused_valid;
  data_t unused_values;
  logic [31:0] unused_base, cut_offset;
  logic [1:0] offset_valid, offset_ready, piece_valid, piece_ready;
  logic [1:0][31:0] side_bytes;
  stream_beat_t piece;
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
    .in_valid_i  (in_valid[1:0]),
    .in_ready_o  (in_ready[1:0]),
    .in_i        (in_beat[1:0]),
    .rows_valid_o(rows_valid),
    .rows_ready_i(rows_ready),
    .match_o     (masks[0]),
    .rest_o      (masks[1]),
    .valid_o     (unused_valid),
    .data_o      (unused_values),
    .base_o      (unused_base),
    .last_o      (rows_last)
  );

  gw_text_cut u_cut (
    .clk_i          (ap_clk),
    .rst_ni         (ap_rst_n),
    .clear_i        (start || abort),
    .wide_i         (wide_q),
    .rows_valid_i   (rows_valid),
    .rows_ready_o   (rows_ready),
    .match_i        (masks[0]),
    .rest_i         (masks[1]),
    .rows_last_i    (rows_last),
    .offsets_valid_i(in_valid[2]),
    .offsets_ready_o(in_ready[2]),
    .offsets_i      (in_beat[2]),
    .text_valid_i   (in_valid[3]),
    .text_ready_o   (in_ready[3]),
    .text_i         (in_beat[3]),
    .offset_valid_o (offset_valid),
    .offset_ready_i (offset_ready),
    .offset_o       (cut_offset),
    .piece_valid_o  (piece_valid),
    .piece_ready_i  (piece_ready),
    .piece_o        (piece),
    .end_o          (cut_end),
    .bytes_o        (side_bytes),
    .mismatch_o     (mismatch)
  );

  always_ff @(posedge ap_clk) begin
    if (start) match_count_q <= '0;
    else if (rows_valid && rows_ready) match_count_q <= match_count_q + 64'($countones(masks[0]));
  end

  // ---- Packed and to memory: stream 2 s offsets of side s, stream 2 s + 1 its text
  logic [3:0] out_valid, out_ready, wr_aw_valid, wr_aw_ready, wr_w_valid, wr_w_ready, wr_b_valid;
  stream_beat_t [3:0] out_beat;
  burst_t [3:0] wr_aw;
  write_beat_t [3:0] wr_w;

  for (genvar s = 0; s < 2; s++) begin : gen_side
    gw_lane_compactor #(
      .Values(1'b1)
    ) u_offsets (
      .clk_i      (ap_clk),
      .rst_ni     (ap_rst_n),
      .clear_i    (abort),
      .in_valid_i (offset_valid[s]),
      .in_ready_o (offset_ready[s]),
      .mask_i     ({15'b0, !cut_end}),
      .base_i     ('0),
      .data_i     (data_t'(cut_offset)),
      .last_i     (cut_end),
      .out_valid_o(out_valid[2*s]),
      .out_ready_i(out_ready[2*s]),
      .out_o      (out_beat[2*s])
    );

    gw_byte_compactor u_text (
      .clk_i      (ap_clk),
      .rst_ni     (ap_rst_n),
      .clear_i    (abort),
      .in_valid_i (piece_valid[s]),
      .in_ready_o (piece_ready[s]),
      .in_i       (piece),
      .out_valid_o(out_valid[2*s+1]),
      .out_ready_i(out_ready[2*s+1]),
      .out_o      (out_beat[2*s+1])
    );
  end

  for (genvar i = 0; i < 4; i++) begin : gen_out
    gw_write_stream #(
      .BufferBeats(64),
      .BurstBeats (32),
      .IdBase     (id_t'(i) << QuarterBits),
      .IdBits     (QuarterBits)
    ) u_write (
      .clk_i       (ap_clk),
      .rst_ni      (ap_rst_n),
      .abort_i     (abort),
      .busy_o      (write_busy[i]),
      .error_o     (write_error[i]),
      .addr_valid_i(work && addr_todo_q[i]),
      .addr_ready_o(addr_ready[i]),
      .addr_i      (out_addr_q[i]),
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

  logic [1:0] pair_aw_valid, pair_aw_ready, pair_w_valid, pair_w_ready, pair_b_valid;
  burst_t [1:0] pair_aw;
  write_beat_t [1:0] pair_w;

  for (genvar p = 0; p < 2; p++) begin : gen_write_pair
    gw_write_mux #(
      .SelBit(QuarterBits)
    ) u_mux (
      .clk_i     (ap_clk),
      .rst_ni    (ap_rst_n),
      .aw_valid_i(wr_aw_valid[2*p+:2]),
      .aw_ready_o(wr_aw_ready[2*p+:2]),
      .aw_i      (wr_aw[2*p+:2]),
      .w_valid_i (wr_w_valid[2*p+:2]),
      .w_ready_o (wr_w_ready[2*p+:2]),
      .w_i       (wr_w[2*p+:2]),
      .b_valid_o (wr_b_valid[2*p+:2]),
      .aw_valid_o(pair_aw_valid[p]),
      .aw_ready_i(pair_aw_ready[p]),
      .aw_o      (pair_aw[p]),
      .w_valid_o (pair_w_valid[p]),
      .w_ready_i (pair_w_ready[p]),
      .w_o       (pair_w[p]),
      .b_valid_i (pair_b_valid[p]),
      .b_id_i    (b.id)
    );
  end

  gw_write_mux #(
    .SelBit(LaneBits)
  ) u_write_mux (
    .clk_i     (ap_clk),
    .rst_ni    (ap_rst_n),
    .aw_valid_i(pair_aw_valid),
    .aw_ready_o(pair_aw_ready),
    .aw_i      (pair_aw),
    .w_valid_i (pair_w_valid),
    .w_ready_o (pair_w_ready),
    .w_i       (pair_w),
    .b_valid_o (pair_b_valid),
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
    results[word(MatchBytesOffset)+:2] = 64'(side_bytes[0]);
    results[word(StatusOffset)] = status == StatusOk && mismatch ? StatusBadArgument : status;
  end

  logic unused;
  assign unused = ^side_bytes[1];

endmodule
