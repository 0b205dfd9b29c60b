// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// split_text: rows of an Arrow column of text, chosen by a comparison on the column beside it, go to one column or to another.
//
//   values, validity ─────────────> gw_text_streams ─┬─> gw_write_stream ──> offsets, twice
//   offsets, text, text_validity ─>                  ├─> gw_write_stream ──> text, twice
//                                                    └─> gw_write_stream ──> validity, twice
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
//   is read or written. 3 as well when the offsets add up to something else than text_bytes. After an error the contents of the outputs
//   and the counts are unspecified.
module split_text
  import gw_kernel_pkg::*;
  import split_text_args_pkg::*;
#(
  `include "gw_hls_params.svh"
) (
  `include "gw_hls_ports.svh"
);

  `include "gw_hls_connect.svh"

  localparam int unsigned NumOutputs = C_M_AXI_GMEM_ID_WIDTH > 2 ? 6 : 4;

  // ---- Texts, packed
  logic abort;
  logic [NumOutputs-1:0] addr_valid, addr_ready, write_busy, write_error, out_valid, out_ready;
  stream_beat_t [NumOutputs-1:0] out_beat;
  logic [63:0] match_count;
  logic [31:0] match_bytes;
  status_e status;

  gw_text_streams #(
    .IdWidth(C_M_AXI_GMEM_ID_WIDTH)
  ) u_texts (
    .clk_i          (ap_clk),
    .rst_ni         (ap_rst_n),
    .start_i        (start),
    .done_o         (done),
    .status_o       (status),
    .values_i       (args[word(ValuesOffset)+:2]),
    .validity_i     (args[word(ValidityOffset)+:2]),
    .rows_i         (args[word(RowsOffset)+:2]),
    .offset_i       (args[word(OffsetOffset)+:2]),
    .dtype_i        (args[word(DtypeOffset)]),
    .op_i           (args[word(OpOffset)]),
    .constant_i     (args[word(ConstantOffset)+:2]),
    .bad_args_i     (1'b0),
    .offsets_i      (args[word(OffsetsOffset)+:2]),
    .text_i         (args[word(TextOffset)+:2]),
    .text_bytes_i   (args[word(TextBytesOffset)+:2]),
    .text_validity_i(args[word(TextValidityOffset)+:2]),
    .addr_valid_o   (addr_valid),
    .addr_ready_i   (addr_ready),
    .write_busy_i   (write_busy),
    .write_error_i  (write_error),
    .abort_o        (abort),
    .out_valid_o    (out_valid),
    .out_ready_i    (out_ready),
    .out_o          (out_beat),
    .match_count_o  (match_count),
    .match_bytes_o  (match_bytes),
    .ar_valid_o     (ar_valid),
    .ar_ready_i     (ar_ready),
    .ar_o           (ar),
    .r_valid_i      (r_valid),
    .r_i            (r)
  );

  // ---- To memory
  addr_t [5:0] out_addr_q;

  always_ff @(posedge ap_clk) begin
    if (start) begin
      out_addr_q[0] <= args[word(MatchesOffsetsOffset)+:2];
      out_addr_q[1] <= args[word(MatchesTextOffset)+:2];
      out_addr_q[2] <= args[word(RestOffsetsOffset)+:2];
      out_addr_q[3] <= args[word(RestTextOffset)+:2];
      out_addr_q[4] <= args[word(MatchesValidityOffset)+:2];
      out_addr_q[5] <= args[word(RestValidityOffset)+:2];
    end
  end

  gw_text_writers #(
    .IdWidth(C_M_AXI_GMEM_ID_WIDTH)
  ) u_writers (
    .clk_i       (ap_clk),
    .rst_ni      (ap_rst_n),
    .abort_i     (abort),
    .busy_o      (write_busy),
    .error_o     (write_error),
    .addr_valid_i(addr_valid),
    .addr_ready_o(addr_ready),
    .addr_i      (out_addr_q[NumOutputs-1:0]),
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
    results[word(MatchBytesOffset)+:2] = 64'(match_bytes);
    results[word(StatusOffset)] = status;
  end

  // Without IDs for bitmaps nobody writes them.
  logic unused;
  assign unused = ^out_addr_q[5:4];

endmodule
