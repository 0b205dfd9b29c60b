// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// split_rows: rows of an Arrow column that match a comparison go to one buffer, the others to a second, with their validity.
//
//   values ───> gw_row_streams ─┬─> gw_write_stream ──> matches
//   validity ─>                 ├─> gw_write_stream ──> rest
//                               └─> gw_write_stream ──> rest_validity
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

  localparam int unsigned HalfBits = C_M_AXI_GMEM_ID_WIDTH - 1;
  localparam int unsigned QuarterBits = C_M_AXI_GMEM_ID_WIDTH - 2;
  localparam id_t UpperHalf = id_t'(1) << HalfBits;
  localparam id_t SecondQuarter = id_t'(1) << QuarterBits;

  // ---- Rows, packed: matches, rest, rest_validity
  logic abort;
  logic [2:0] addr_valid, addr_ready, write_busy, write_error, out_valid, out_ready;
  stream_beat_t [2:0] out_beat;
  logic [63:0] match_count;
  status_e status;

  gw_row_streams #(
    .IdWidth(C_M_AXI_GMEM_ID_WIDTH)
  ) u_rows (
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
    .addr_valid_o (addr_valid),
    .addr_ready_i (addr_ready),
    .write_busy_i (write_busy),
    .write_error_i(write_error),
    .abort_o      (abort),
    .out_valid_o  (out_valid),
    .out_ready_i  (out_ready),
    .out_o        (out_beat),
    .match_count_o(match_count),
    .ar_valid_o   (ar_valid),
    .ar_ready_i   (ar_ready),
    .ar_o         (ar),
    .r_valid_i    (r_valid),
    .r_i          (r)
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
    .IdBits    ({3'(QuarterBits), 3'(HalfBits), 3'(QuarterBits)})
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
