// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// split_text: rows of an Arrow column of text, chosen by a comparison on the column beside it, go to one column or to another.
//
//   values ────────> gw_read_stream ─┬─> gw_row_match ─┐
//   validity ──────> gw_read_stream ─┘                 │
//   offsets ───────> gw_read_stream ───────────────────┼─> gw_text_cut ─┬─> gw_lane_compactor ─> gw_write_stream ─> offsets, twice
//   text ──────────> gw_read_stream ───────────────────┤                └─> gw_byte_compactor ─> gw_write_stream ─> text, twice
//   text_validity ─> gw_read_stream ─> gw_validity_bits┴───────────────────> gw_bit_compactor ──> gw_write_stream ─> validity, twice
//
// Contract
// - Throughput: one row a cycle, and one cycle more for each beat of text in which a row goes on.
// - Every stream has AXI IDs of its own, so that none waits for a miss of another: a quarter of them, reads and writes each, or half of a
//   quarter where a bitmap has the other half. An ID has 2 bits at least, and 3 where text may be NULL.
// - NULL rows of the compared column go to rest. NaN and zeros as gw_row_compare says.
// - A text that is NULL goes where its row goes, with the bytes that its offsets give it. matches_validity and rest_validity are written
//   when there is a text_validity: a bit for each row, from bit 0 on; bits behind the last row of the last byte are zero.
// - Each side has rows + 1 offsets, of which the first is 0.
// - status: 3 for rows >= 2^32, text of 2^31 bytes and more, an unknown dtype or op, or a text_validity with IDs of 2 bits; then nothing
//   is read or written. 3 as well, at the end, when the offsets add up to something else than text_bytes. After an error the contents
//   of the outputs and the counts are unspecified.
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

  // ---- Streams and their IDs: stream i of the first four has quarter i; bitmaps of the text have the second half of one.
  localparam bit Nullable = C_M_AXI_GMEM_ID_WIDTH > 2;
  localparam int unsigned NumReads = Nullable ? 5 : 4;
  localparam int unsigned NumWrites = Nullable ? 6 : 4;
  localparam int unsigned QuarterBits = C_M_AXI_GMEM_ID_WIDTH - 2;
  localparam int unsigned SharedBits = Nullable ? QuarterBits - 1 : QuarterBits;
  localparam logic [2:0] Own = 3'(QuarterBits);
  localparam logic [2:0] Shared = 3'(SharedBits);
  localparam id_t [3:0] Quarter = {id_t'(3) << QuarterBits, id_t'(2) << QuarterBits, id_t'(1) << QuarterBits, id_t'(0)};
  localparam id_t Second = id_t'(1) << SharedBits;
  // Reads: values, validity, offsets, text, text_validity.
  localparam id_t [4:0] ReadBase = {Quarter[1] | Second, Quarter};
  localparam logic [4:0][2:0] ReadBits = {Shared, Own, Own, Shared, Own};
  // Writes: of matches offsets and text, of rest offsets and text, validity of matches and of rest.
  localparam id_t [5:0] WriteBase = {Quarter[2] | Second, Quarter[0] | Second, Quarter};
  localparam logic [5:0][2:0] WriteBits = {Shared, Shared, Own, Shared, Own, Shared};

  // ---- Arguments of the text, kept for the run
  logic [63:0] rows, offset, text_validity, text_bytes;
  logic has_text_bits, text_nullable_q;
  logic [NumReads-1:0] reads;
  logic [NumWrites-1:0] writes;
  range_t [4:2] range_q;
  range_t [1:0] compared;
  addr_t [5:0] out_addr_q;
  logic has_bitmap, bad_args;

  assign rows = args[word(RowsOffset)+:2];
  assign offset = args[word(OffsetOffset)+:2];
  assign text_validity = args[word(TextValidityOffset)+:2];
  assign text_bytes = args[word(TextBytesOffset)+:2];
  assign has_text_bits = text_validity != '0 && rows != '0;
  assign bad_args = text_bytes[63:31] != '0 || (!Nullable && text_validity != '0);
  assign reads = NumReads'({has_text_bits, 2'b11, has_bitmap, 1'b1});
  assign writes = NumWrites'({{2{has_text_bits}}, 4'b1111});

  always_ff @(posedge ap_clk) begin
    if (start) begin
      out_addr_q[0] <= args[word(MatchesOffsetsOffset)+:2];
      out_addr_q[1] <= args[word(MatchesTextOffset)+:2];
      out_addr_q[2] <= args[word(RestOffsetsOffset)+:2];
      out_addr_q[3] <= args[word(RestTextOffset)+:2];
      out_addr_q[4] <= args[word(MatchesValidityOffset)+:2];
      out_addr_q[5] <= args[word(RestValidityOffset)+:2];
      range_q[2].addr <= args[word(OffsetsOffset)+:2] + (offset << 2);
      range_q[2].bytes <= (rows + 64'd1) << 2;
      range_q[3].addr <= args[word(TextOffset)+:2];
      range_q[3].bytes <= text_bytes;
      range_q[4].addr <= text_validity + (offset >> 3);
      range_q[4].bytes <= (rows + 64'(offset[2:0]) + 64'd7) >> 3;
      text_nullable_q <= has_text_bits;
    end
  end

  // ---- What is compared, and which rows match
  logic abort, wide, unused_nullable;
  logic [2:0] first_bit;
  logic [NumReads-1:0] range_valid, range_ready, read_busy, read_error, in_valid, in_ready;
  logic [NumWrites-1:0] addr_valid, addr_ready, write_busy, write_error, out_valid, out_ready;
  range_t [4:0] ranges;
  stream_beat_t [NumReads-1:0] in_beat;
  stream_beat_t [NumWrites-1:0] out_beat;
  logic rows_valid, rows_ready, rows_last;
  logic [1:0][15:0] masks;  // matches, rest
  logic [15:0] unused_valid;
  data_t unused_values;
  logic [63:0] match_count;
  status_e status;

  assign ranges = {range_q, compared};

  gw_split_front #(
    .NumReads (NumReads),
    .NumWrites(NumWrites)
  ) u_front (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .start_i      (start),
    .done_o       (done),
    .status_o     (status),
    .values_i     (args[word(ValuesOffset)+:2]),
    .validity_i   (args[word(ValidityOffset)+:2]),
    .rows_i       (rows),
    .offset_i     (offset),
    .dtype_i      (args[word(DtypeOffset)]),
    .op_i         (args[word(OpOffset)]),
    .constant_i   (args[word(ConstantOffset)+:2]),
    .bad_args_i   (bad_args),
    .has_bitmap_o (has_bitmap),
    .reads_i      (reads),
    .range_valid_o(range_valid),
    .range_ready_i(range_ready),
    .range_o      (compared),
    .read_busy_i  (read_busy),
    .read_error_i (read_error),
    .writes_i     (writes),
    .addr_valid_o (addr_valid),
    .addr_ready_i (addr_ready),
    .write_busy_i (write_busy),
    .write_error_i(write_error),
    .abort_o      (abort),
    .in_valid_i   (in_valid[1:0]),
    .in_ready_o   (in_ready[1:0]),
    .in_i         (in_beat[1:0]),
    .wide_o       (wide),
    .nullable_o   (unused_nullable),
    .first_bit_o  (first_bit),
    .rows_valid_o (rows_valid),
    .rows_ready_i (rows_ready),
    .match_o      (masks[0]),
    .rest_o       (masks[1]),
    .valid_o      (unused_valid),
    .data_o       (unused_values),
    .last_o       (rows_last),
    .match_count_o(match_count)
  );

  gw_readers #(
    .NumStreams(NumReads),
    .Short     (NumReads'(5'b10010)),
    .Slots     (8),
    .BurstBeats(32),
    .IdBase    (ReadBase[NumReads-1:0]),
    .IdBits    (ReadBits[NumReads-1:0])
  ) u_readers (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .abort_i      (abort),
    .busy_o       (read_busy),
    .error_o      (read_error),
    .range_valid_i(range_valid),
    .range_ready_o(range_ready),
    .range_i      (ranges[NumReads-1:0]),
    .out_valid_o  (in_valid),
    .out_ready_i  (in_ready),
    .out_o        (in_beat),
    .ar_valid_o   (ar_valid),
    .ar_ready_i   (ar_ready),
    .ar_o         (ar),
    .r_valid_i    (r_valid),
    .r_i          (r)
  );

  // ---- Texts of the rows: a beat of rows waits for the bits of its texts
  logic cut_valid, cut_end, mismatch;
  logic [31:0] cut_offset;
  logic [1:0] offset_valid, offset_ready, piece_valid, piece_ready;
  logic [1:0][31:0] side_bytes;
  stream_beat_t piece;

  gw_text_cut u_cut (
    .clk_i          (ap_clk),
    .rst_ni         (ap_rst_n),
    .clear_i        (start || abort),
    .wide_i         (wide),
    .rows_valid_i   (cut_valid),
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

  // ---- Packed: stream 2 s offsets of side s, stream 2 s + 1 its text, stream 4 + s its validity
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

  if (Nullable) begin : gen_bits
    logic bits_valid, rows_taken;
    logic [15:0] bits;
    logic [1:0] packer_ready;

    assign cut_valid = rows_valid && (!text_nullable_q || (bits_valid && packer_ready == '1));
    assign rows_taken = text_nullable_q && cut_valid && rows_ready;

    gw_validity_bits u_bits (
      .clk_i       (ap_clk),
      .rst_ni      (ap_rst_n),
      .clear_i     (start || abort),
      .wide_i      (wide),
      .first_bit_i (first_bit),
      .in_valid_i  (in_valid[4]),
      .in_ready_o  (in_ready[4]),
      .in_i        (in_beat[4]),
      .bits_valid_o(bits_valid),
      .bits_ready_i(rows_taken),
      .end_i       (rows_last),
      .bits_o      (bits)
    );

    for (genvar s = 0; s < 2; s++) begin : gen_side_bits
      gw_bit_compactor u_packer (
        .clk_i      (ap_clk),
        .rst_ni     (ap_rst_n),
        .clear_i    (abort),
        .in_valid_i (rows_taken),
        .in_ready_o (packer_ready[s]),
        .mask_i     (masks[s]),
        .bits_i     (bits),
        .last_i     (rows_last),
        .out_valid_o(out_valid[4+s]),
        .out_ready_i(out_ready[4+s]),
        .out_o      (out_beat[4+s])
      );
    end
  end else begin : gen_no_bits
    assign cut_valid = rows_valid;

    logic unused;
    assign unused = ^{ranges[4], out_addr_q[5:4], text_nullable_q, first_bit};
  end

  // ---- To memory
  gw_writers #(
    .NumStreams (NumWrites),
    .Short      (NumWrites'(6'b110000)),
    .BufferBeats(64),
    .BurstBeats (32),
    .IdBase     (WriteBase[NumWrites-1:0]),
    .IdBits     (WriteBits[NumWrites-1:0])
  ) u_writers (
    .clk_i       (ap_clk),
    .rst_ni      (ap_rst_n),
    .abort_i     (abort),
    .busy_o      (write_busy),
    .error_o     (write_error),
    .addr_valid_i(addr_valid),
    .addr_ready_o(addr_ready),
    .addr_i      (out_addr_q[NumWrites-1:0]),
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
    results[word(MatchBytesOffset)+:2] = 64'(side_bytes[0]);
    results[word(StatusOffset)] = status == StatusOk && mismatch ? StatusBadArgument : status;
  end

  logic unused;
  assign unused = ^side_bytes[1];

endmodule
