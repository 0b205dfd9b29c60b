// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Rows of an Arrow column of text, dealt out to two sides by a comparison on the column beside it, as packed streams of bytes.
//
//   values ────────> gw_read_stream ─┬─> gw_row_match ─┐
//   validity ──────> gw_read_stream ─┘                 │
//   offsets ───────> gw_read_stream ───────────────────┼─> gw_text_cut ─┬─> gw_lane_compactor ──> 0, 2: offsets of matches, of rest
//   text ──────────> gw_read_stream ───────────────────┤                └─> gw_byte_compactor ──> 1, 3: text of matches, of rest
//   text_validity ─> gw_read_stream ─> gw_validity_bits┴───────────────────> gw_bit_compactor ──> 4, 5: validity of matches, of rest
//
// Contract
// - Throughput: one row a cycle, and one cycle more for each beat of text in which a row goes on.
// - NULL rows of the compared column go to rest. A text that is NULL goes where its row goes, with the bytes that its offsets give it.
// - Streams 4 and 5 are there when there is a text_validity, for which an ID needs 3 bits: a bit for each row, from bit 0 on; bits behind
//   the last row of the last byte are zero.
// - Each side has rows + 1 offsets, of which the first is 0.
// - Arguments, run and the streams' begin (addr_valid_o) and end are those of gw_split_front. Refused besides: text of 2^31 bytes and more,
//   a text_validity with IDs of 2 bits. Offsets that add up to something else than text_bytes_i end the run as an error does, before the
//   streams end, with StatusBadArgument.
// - Every read has AXI IDs of its own, so that none waits for a miss of another: a quarter of them, or half of one where a bitmap has the
//   other half. Reset: idle.
module gw_text_streams
  import gw_kernel_pkg::*;
#(
  /// Bits of an AXI ID, 2 or more.
  parameter int unsigned IdWidth = 4,
  /// Bitmaps need IDs of their own.
  localparam bit Nullable = IdWidth > 2,
  localparam int unsigned NumOutputs = Nullable ? 6 : 4
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic                          start_i,
  output logic                          done_o,
  output status_e                       status_o,

  /// As in gw_split_front.
  input  addr_t                         values_i,
  input  addr_t                         validity_i,
  input  logic [63:0]                   rows_i,
  input  logic [63:0]                   offset_i,
  input  logic [31:0]                   dtype_i,
  input  logic [31:0]                   op_i,
  input  logic [63:0]                   constant_i,
  input  logic                          bad_args_i,

  /// The column of text: offsets and bitmap or 0, whose first row is offset_i, and the bytes from those of the first row on.
  input  addr_t                         offsets_i,
  input  addr_t                         text_i,
  input  logic [63:0]                   text_bytes_i,
  input  addr_t                         text_validity_i,

  output logic         [NumOutputs-1:0] addr_valid_o,
  input  logic         [NumOutputs-1:0] addr_ready_i,
  input  logic         [NumOutputs-1:0] write_busy_i,
  input  logic         [NumOutputs-1:0] write_error_i,
  output logic                          abort_o,
  output logic         [NumOutputs-1:0] out_valid_o,
  input  logic         [NumOutputs-1:0] out_ready_i,
  output stream_beat_t [NumOutputs-1:0] out_o,
  output logic [63:0]                   match_count_o,
  /// Bytes of the texts of matches.
  output logic [31:0]                   match_bytes_o,

  output logic                          ar_valid_o,
  input  logic                          ar_ready_i,
  output burst_t                        ar_o,
  input  logic                          r_valid_i,
  input  read_beat_t                    r_i
);

  if (IdWidth < 2) begin : gen_bad_ids
    $fatal(1, "%m: four readers and writers need IDs of 2 bits at least");
  end

  // ---- Reads: values, validity, offsets, text, text_validity. Read i has quarter i of the IDs, the last one the second half of validity's.
  localparam int unsigned NumReads = Nullable ? 5 : 4;
  localparam int unsigned QuarterBits = IdWidth - 2;
  localparam int unsigned SharedBits = Nullable ? QuarterBits - 1 : QuarterBits;
  localparam logic [2:0] Own = 3'(QuarterBits);
  localparam logic [2:0] Shared = 3'(SharedBits);
  localparam id_t [3:0] Quarter = {id_t'(3) << QuarterBits, id_t'(2) << QuarterBits, id_t'(1) << QuarterBits, id_t'(0)};
  localparam id_t [4:0] ReadBase = {Quarter[1] | (id_t'(1) << SharedBits), Quarter};
  localparam logic [4:0][2:0] ReadBits = {Shared, Own, Own, Shared, Own};

  // ---- Arguments of the text, kept for the run
  logic has_text_bits, text_nullable_q;
  range_t [4:2] range_q;
  range_t [1:0] compared;
  logic has_bitmap, bad_text_args;

  assign has_text_bits = text_validity_i != '0 && rows_i != '0;
  assign bad_text_args = text_bytes_i[63:31] != '0 || (!Nullable && text_validity_i != '0);

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      range_q[2].addr <= offsets_i + (offset_i << 2);
      range_q[2].bytes <= (rows_i + 64'd1) << 2;
      range_q[3].addr <= text_i;
      range_q[3].bytes <= text_bytes_i;
      range_q[4].addr <= text_validity_i + (offset_i >> 3);
      range_q[4].bytes <= (rows_i + 64'(offset_i[2:0]) + 64'd7) >> 3;
      text_nullable_q <= has_text_bits;
    end
  end

  // ---- What is compared, and which rows match
  logic wide, unused_nullable;
  logic [2:0] first_bit;
  logic [NumReads-1:0] range_valid, range_ready, read_busy, read_error, in_valid, in_ready;
  range_t [4:0] ranges;
  stream_beat_t [NumReads-1:0] in_beat;
  logic rows_valid, rows_ready, rows_last;
  logic [1:0][15:0] masks;  // matches, rest
  logic [15:0] unused_valid;
  data_t unused_values;
  status_e status;
  logic mismatch, mismatch_q;

  assign ranges = {range_q, compared};

  gw_split_front #(
    .NumReads (NumReads),
    .NumWrites(NumOutputs)
  ) u_front (
    .clk_i,
    .rst_ni,
    .start_i,
    .done_o,
    .status_o     (status),
    .values_i,
    .validity_i,
    .rows_i,
    .offset_i,
    .dtype_i,
    .op_i,
    .constant_i,
    .bad_args_i   (bad_args_i || bad_text_args),
    .has_bitmap_o (has_bitmap),
    .reads_i      (NumReads'({has_text_bits, 2'b11, has_bitmap, 1'b1})),
    .range_valid_o(range_valid),
    .range_ready_i(range_ready),
    .range_o      (compared),
    .read_busy_i  (read_busy),
    .read_error_i (read_error | NumReads'(mismatch)),
    .writes_i     (NumOutputs'({{2{has_text_bits}}, 4'b1111})),
    .addr_valid_o,
    .addr_ready_i,
    .write_busy_i,
    .write_error_i,
    .abort_o,
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
    .match_count_o
  );

  // Text that does not fit is what ended the run, unless an error came before.
  always_ff @(posedge clk_i) begin
    if (start_i) mismatch_q <= 1'b0;
    else if (mismatch && !abort_o) mismatch_q <= 1'b1;
  end

  assign status_o = mismatch_q ? StatusBadArgument : status;

  gw_readers #(
    .NumStreams(NumReads),
    .Short     (NumReads'(5'b10010)),
    .Slots     (8),
    .BurstBeats(32),
    .IdBase    (ReadBase[NumReads-1:0]),
    .IdBits    (ReadBits[NumReads-1:0])
  ) u_readers (
    .clk_i,
    .rst_ni,
    .abort_i      (abort_o),
    .busy_o       (read_busy),
    .error_o      (read_error),
    .range_valid_i(range_valid),
    .range_ready_o(range_ready),
    .range_i      (ranges[NumReads-1:0]),
    .out_valid_o  (in_valid),
    .out_ready_i  (in_ready),
    .out_o        (in_beat),
    .ar_valid_o,
    .ar_ready_i,
    .ar_o,
    .r_valid_i,
    .r_i
  );

  // ---- Texts of the rows: a beat of rows waits for the bits of its texts
  logic cut_valid, cut_end;
  logic [31:0] cut_offset;
  logic [1:0] offset_valid, offset_ready, piece_valid, piece_ready;
  logic [1:0][31:0] side_bytes;
  stream_beat_t piece;

  gw_text_cut u_cut (
    .clk_i,
    .rst_ni,
    .clear_i        (start_i || abort_o),
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
      .clk_i,
      .rst_ni,
      .clear_i    (abort_o),
      .in_valid_i (offset_valid[s]),
      .in_ready_o (offset_ready[s]),
      .mask_i     ({15'b0, !cut_end}),
      .base_i     ('0),
      .data_i     (data_t'(cut_offset)),
      .last_i     (cut_end),
      .out_valid_o(out_valid_o[2*s]),
      .out_ready_i(out_ready_i[2*s]),
      .out_o      (out_o[2*s])
    );

    gw_byte_compactor u_text (
      .clk_i,
      .rst_ni,
      .clear_i    (abort_o),
      .in_valid_i (piece_valid[s]),
      .in_ready_o (piece_ready[s]),
      .in_i       (piece),
      .out_valid_o(out_valid_o[2*s+1]),
      .out_ready_i(out_ready_i[2*s+1]),
      .out_o      (out_o[2*s+1])
    );
  end

  if (Nullable) begin : gen_bits
    logic bits_valid, rows_taken;
    logic [15:0] bits;
    logic [1:0] packer_ready;

    assign cut_valid = rows_valid && (!text_nullable_q || (bits_valid && packer_ready == '1));
    assign rows_taken = text_nullable_q && cut_valid && rows_ready;

    gw_validity_bits u_bits (
      .clk_i,
      .rst_ni,
      .clear_i     (start_i || abort_o),
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
        .clk_i,
        .rst_ni,
        .clear_i    (abort_o),
        .in_valid_i (rows_taken),
        .in_ready_o (packer_ready[s]),
        .mask_i     (masks[s]),
        .bits_i     (bits),
        .last_i     (rows_last),
        .out_valid_o(out_valid_o[4+s]),
        .out_ready_i(out_ready_i[4+s]),
        .out_o      (out_o[4+s])
      );
    end
  end else begin : gen_no_bits
    assign cut_valid = rows_valid;

    logic unused;
    assign unused = ^{ranges[4], text_nullable_q, first_bit};
  end

  assign match_bytes_o = side_bytes[0];

  logic unused_rest;
  assign unused_rest = ^side_bytes[1];

endmodule
