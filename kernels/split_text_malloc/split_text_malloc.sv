// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// split_text_malloc: split_text whose outputs nobody gives it: it takes their memory from the card's heap, lets it grow, and says where it is.
//
//   values, validity ─────────────> gw_text_streams ─┬─> gw_heap_outputs ─┬─> gw_write_stream ──> offsets, twice
//   offsets, text, text_validity ─>                  ├─>   │       ^      ├─> gw_write_stream ──> text, twice
//                                                    └─>   v       │      └─> gw_write_stream ──> validity, twice
//                                                       commands, responses: the heap
//
// Contract
// - Throughput, IDs, rows, NULL, offsets: as split_text.
// - Each output is memory of exactly its bytes in the context of the launch, its caller's from the end of the run on. An output
//   without bytes has none, and its pointer is 0.
// - status: 3 for what split_text does not take, or a granule of more than four bits; then nothing is asked, read or written. 3 as well
//   when the offsets add up to something else than text_bytes. 16 + s: the heap refused with s. After an error nothing is left
//   allocated, and all pointers are 0.
module split_text_malloc
  import gw_kernel_pkg::*;
  import split_text_malloc_args_pkg::*;
#(
  /// As in gw_heap_output.
  parameter int unsigned StepBytes = 64 << 10,
  `include "gw_hls_params.svh"
) (
  output logic         heap_command_TVALID,
  input  logic         heap_command_TREADY,
  output logic [191:0] heap_command_TDATA,
  input  logic         heap_response_TVALID,
  output logic         heap_response_TREADY,
  input  logic [127:0] heap_response_TDATA,
  `include "gw_hls_ports.svh"
);

  `include "gw_hls_connect.svh"

  localparam int unsigned NumOutputs = C_M_AXI_GMEM_ID_WIDTH > 2 ? 6 : 4;

  // ---- Texts, packed
  logic abort;
  logic [NumOutputs-1:0] begin_valid, begin_ready, text_valid, text_ready, output_busy, output_error, writer_busy, writer_error;
  stream_beat_t [NumOutputs-1:0] text_beat;
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
    .bad_args_i     (args[word(GranuleOffset)] > 32'd15),
    .offsets_i      (args[word(OffsetsOffset)+:2]),
    .text_i         (args[word(TextOffset)+:2]),
    .text_bytes_i   (args[word(TextBytesOffset)+:2]),
    .text_validity_i(args[word(TextValidityOffset)+:2]),
    .addr_valid_o   (begin_valid),
    .addr_ready_i   (begin_ready),
    .write_busy_i   (output_busy | writer_busy),
    .write_error_i  (output_error | writer_error),
    .abort_o        (abort),
    .out_valid_o    (text_valid),
    .out_ready_i    (text_ready),
    .out_o          (text_beat),
    .match_count_o  (match_count),
    .match_bytes_o  (match_bytes),
    .ar_valid_o     (ar_valid),
    .ar_ready_i     (ar_ready),
    .ar_o           (ar),
    .r_valid_i      (r_valid),
    .r_i            (r)
  );

  // ---- Into memory of the heap
  logic [NumOutputs-1:0] addr_valid, addr_ready, out_valid, out_ready;
  addr_t [NumOutputs-1:0] out_addr, pointer;
  stream_beat_t [NumOutputs-1:0] out_beat;
  logic [3:0] granule_q, refusal;
  logic [31:0] grown;

  always_ff @(posedge ap_clk) begin
    if (start) granule_q <= args[word(GranuleOffset)][3:0];
  end

  gw_heap_outputs #(
    .NumOutputs(NumOutputs),
    .StepBytes (StepBytes)
  ) u_outputs (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .clear_i      (start),
    .abort_i      (abort),
    .granule_i    (granule_q),
    .refusal_o    (refusal),
    .grown_o      (grown),
    .pointer_o    (pointer),
    .begin_valid_i(begin_valid),
    .begin_ready_o(begin_ready),
    .busy_o       (output_busy),
    .error_o      (output_error),
    .in_valid_i   (text_valid),
    .in_ready_o   (text_ready),
    .in_i         (text_beat),
    .writer_busy_i(writer_busy),
    .addr_valid_o (addr_valid),
    .addr_ready_i (addr_ready),
    .addr_o       (out_addr),
    .out_valid_o  (out_valid),
    .out_ready_i  (out_ready),
    .out_o        (out_beat),
    .cmd_tvalid_o (heap_command_TVALID),
    .cmd_tready_i (heap_command_TREADY),
    .cmd_tdata_o  (heap_command_TDATA),
    .rsp_tvalid_i (heap_response_TVALID),
    .rsp_tready_o (heap_response_TREADY),
    .rsp_tdata_i  (heap_response_TDATA)
  );

  gw_text_writers #(
    .IdWidth(C_M_AXI_GMEM_ID_WIDTH)
  ) u_writers (
    .clk_i       (ap_clk),
    .rst_ni      (ap_rst_n),
    .abort_i     (abort),
    .busy_o      (writer_busy),
    .error_o     (writer_error),
    .addr_valid_i(addr_valid),
    .addr_ready_o(addr_ready),
    .addr_i      (out_addr),
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

  // ---- Results. A refusal ends the run as a write that failed; without IDs for bitmaps there are none.
  addr_t [5:0] pointers;

  assign pointers = $bits(pointers)'(pointer);

  always_comb begin
    results = '0;
    results[word(MatchesOffsetsOffset)+:2] = pointers[0];
    results[word(MatchesTextOffset)+:2] = pointers[1];
    results[word(RestOffsetsOffset)+:2] = pointers[2];
    results[word(RestTextOffset)+:2] = pointers[3];
    results[word(MatchesValidityOffset)+:2] = pointers[4];
    results[word(RestValidityOffset)+:2] = pointers[5];
    results[word(MatchCountOffset)+:2] = match_count;
    results[word(MatchBytesOffset)+:2] = 64'(match_bytes);
    results[word(GrownOffset)] = grown;
    results[word(StatusOffset)] = status == StatusWriteError && refusal != '0 ? 32'd16 + 32'(refusal) : status;
  end

endmodule
