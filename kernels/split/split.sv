// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// split: row indices of an Arrow column that match a comparison go to one buffer, the others to a second.
//
//   values ───> gw_read_stream ─┬─> gw_row_match ─┬─> gw_lane_compactor ──> gw_write_stream ──> matches
//   validity ─> gw_read_stream ─┘                  └─> gw_lane_compactor ──> gw_write_stream ──> rest
//
// Contract
// - Throughput: one beat of values a cycle, 16 rows of 32 bits or 8 of 64 bits; as much is written as 64 or 32 bytes a
//   cycle. The bitmap shares the read channel: one beat of it for 32 (64-bit types: 64) beats of values.
// - The two reads and the two writes use AXI IDs of their own (the upper and lower half), so none waits for a miss of
//   another; an ID width of 1 leaves one ID each.
// - NULL rows go to rest. NaN and zeros as gw_row_compare says. Indices count from the first row at `offset`.
// - status: 3 for rows >= 2^32 or an unknown dtype or op; then nothing is read or written. After an error the contents of the
//   outputs and match_count are unspecified.
module split
  import gw_kernel_pkg::*;
  import split_args_pkg::*;
#(
  `include "gw_hls_params.svh"
) (
  `include "gw_hls_ports.svh"
);

  `include "gw_hls_connect.svh"

  localparam int unsigned LaneBits = C_M_AXI_GMEM_ID_WIDTH - 1;
  localparam id_t UpperHalf = id_t'(1) << LaneBits;

  // ---- Arguments, kept for the run
  logic [31:0] dtype, op;
  logic [63:0] values, validity, rows, offset;
  logic wide_d, wide_q, float_q, nullable_q;
  logic [2:0] op_q, first_bit_q;
  logic [63:0] constant_q;
  addr_t matches_q, rest_q;
  range_t values_q, validity_q;
  logic bad_args;

  assign values = args[word(ValuesOffset)+:2];
  assign validity = args[word(ValidityOffset)+:2];
  assign rows = args[word(RowsOffset)+:2];
  assign offset = args[word(OffsetOffset)+:2];
  assign dtype = args[word(DtypeOffset)];
  assign op = args[word(OpOffset)];
  assign wide_d = dtype[0];
  assign bad_args = dtype > 32'd3 || op > 32'd5 || rows[63:32] != '0;

  always_ff @(posedge ap_clk) begin
    if (start) begin
      wide_q <= wide_d;
      float_q <= dtype[1];
      op_q <= op[2:0];
      constant_q <= args[word(ConstantOffset)+:2];
      matches_q <= args[word(MatchesOffset)+:2];
      rest_q <= args[word(RestOffset)+:2];
      values_q.addr <= values + (wide_d ? offset << 3 : offset << 2);
      values_q.bytes <= wide_d ? rows << 3 : rows << 2;
      nullable_q <= validity != '0 && rows != '0;
      first_bit_q <= offset[2:0];
      validity_q.addr <= validity + (offset >> 3);
      validity_q.bytes <= (rows + 64'(offset[2:0]) + 64'd7) >> 3;
    end
  end

  // ---- Run
  logic work, abort, busy, finished;
  logic [1:0] read_busy, read_error, write_busy, write_error;
  logic [1:0] range_todo_q, range_ready;  // values, validity
  logic [1:0] addr_todo_q, addr_ready;    // matches, rest
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
      range_todo_q <= {validity != '0 && rows != '0, 1'b1};
      addr_todo_q <= '1;
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

  // ---- Rows to indices: lane 0 of every array is matches, lane 1 rest
  logic rows_valid, rows_ready, rows_last;
  logic [1:0][15:0] masks;
  logic [31:0] base;
  logic [63:0] match_count_q;
  // What is written is row numbers: values and validity end here.
  logic [15:0] unused_valid;
  data_t unused_values;

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
    .valid_o     (unused_valid),
    .data_o      (unused_values),
    .base_o      (base),
    .last_o      (rows_last)
  );

  always_ff @(posedge ap_clk) begin
    if (start) match_count_q <= '0;
    else if (rows_valid && rows_ready) match_count_q <= match_count_q + 64'($countones(masks[0]));
  end

  // ---- Indices to memory
  logic [1:0] compact_ready, wr_aw_valid, wr_aw_ready, wr_w_valid, wr_w_ready, wr_b_valid;
  addr_t [1:0] out_addr;
  burst_t [1:0] wr_aw;
  write_beat_t [1:0] wr_w;

  assign out_addr = {rest_q, matches_q};
  // Both compactors take a beat of rows in the same cycle.
  assign rows_ready = compact_ready == '1;

  for (genvar i = 0; i < 2; i++) begin : gen_out
    logic out_valid, out_ready;
    stream_beat_t out_beat;

    gw_lane_compactor u_compactor (
      .clk_i      (ap_clk),
      .rst_ni     (ap_rst_n),
      .clear_i    (abort),
      .in_valid_i (rows_valid && rows_ready),
      .in_ready_o (compact_ready[i]),
      .mask_i     (masks[i]),
      .base_i     (base),
      .data_i     ('0),
      .last_i     (rows_last),
      .out_valid_o(out_valid),
      .out_ready_i(out_ready),
      .out_o      (out_beat)
    );

    gw_write_stream #(
      .IdBase(i == 0 ? '0 : UpperHalf),
      .IdBits(LaneBits)
    ) u_write (
      .clk_i       (ap_clk),
      .rst_ni      (ap_rst_n),
      .abort_i     (abort),
      .busy_o      (write_busy[i]),
      .error_o     (write_error[i]),
      .addr_valid_i(work && addr_todo_q[i]),
      .addr_ready_o(addr_ready[i]),
      .addr_i      (out_addr[i]),
      .in_valid_i  (out_valid),
      .in_ready_o  (out_ready),
      .in_i        (out_beat),
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

  gw_write_mux #(
    .IdBase({id_t'(1) << LaneBits, id_t'(0)}),
    .IdBits({2{3'(LaneBits)}})
  ) u_write_mux (
    .clk_i     (ap_clk),
    .rst_ni    (ap_rst_n),
    .aw_valid_i(wr_aw_valid),
    .aw_ready_o(wr_aw_ready),
    .aw_i      (wr_aw),
    .w_valid_i (wr_w_valid),
    .w_ready_o (wr_w_ready),
    .w_i       (wr_w),
    .b_valid_o (wr_b_valid),
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
