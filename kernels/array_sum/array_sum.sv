// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// array_sum: wrapping 64-bit sum of an integer array.
//
//   values ──> gw_read_stream ──> sums of four lanes ──> sum of the beat ──> accumulator
//
// Contract
// - int32 elements are sign-extended. Any alignment. Throughput: one beat a cycle, 16 int32 or 8 int64 elements.
// - Reads go round all AXI IDs.
// - status: 3 for count >= 2^60 or an unknown dtype; then nothing is read. After an error the sum is unspecified.
module array_sum
  import gw_kernel_pkg::*;
  import array_sum_args_pkg::*;
#(
  `include "gw_hls_params.svh"
) (
  `include "gw_hls_ports.svh"
);

  `include "gw_hls_connect.svh"

  // ---- Arguments, kept for the run
  logic [31:0] dtype;
  logic [63:0] count;
  logic bad_args, wide_q, todo_q;
  range_t values_q;

  assign dtype = args[word(DtypeOffset)];
  assign count = args[word(CountOffset)+:2];
  // Bytes are counted in 64 bits.
  assign bad_args = dtype > 32'd1 || count[63:60] != '0;

  always_ff @(posedge ap_clk) begin
    if (start) begin
      wide_q <= dtype[0];
      values_q.addr <= args[word(ValuesOffset)+:2];
      values_q.bytes <= dtype[0] ? count << 3 : count << 2;
    end
  end

  // ---- Run
  logic work, abort, read_busy, read_error, range_ready, summed_q;
  status_e status;

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) todo_q <= 1'b0;
    else if (start) todo_q <= 1'b1;
    else if (!work || range_ready) todo_q <= 1'b0;
  end

  gw_kernel_ctrl u_ctrl (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .start_i      (start),
    .bad_args_i   (bad_args),
    .finished_i   (summed_q),
    .read_error_i (read_error),
    .write_error_i(1'b0),
    .busy_i       (read_busy),
    .work_o       (work),
    .abort_o      (abort),
    .done_o       (done),
    .status_o     (status)
  );

  logic data_valid;
  stream_beat_t data;

  gw_read_stream #(
    .IdBits(C_M_AXI_GMEM_ID_WIDTH)
  ) u_read (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .abort_i      (abort),
    .busy_o       (read_busy),
    .error_o      (read_error),
    .range_valid_i(work && todo_q),
    .range_ready_o(range_ready),
    .range_i      (values_q),
    .ar_valid_o   (ar_valid),
    .ar_ready_i   (ar_ready),
    .ar_o         (ar),
    .r_valid_i    (r_valid),
    .r_i          (r),
    .out_valid_o  (data_valid),
    .out_ready_i  (1'b1),
    .out_o        (data)
  );

  // ---- Sum in three stages: groups of four lanes, the beat, the array
  logic [15:0][63:0] terms;
  logic [3:0][63:0] group_q;
  logic [63:0] beat_q, sum_q;
  logic group_valid_q, group_last_q, beat_valid_q, beat_last_q;

  for (genvar i = 0; i < 16; i++) begin : gen_term
    // Lanes past the end count as zero; for int64 the lower eight lanes hold the elements.
    logic [31:0] narrow;
    assign narrow = data.data[32*i+:32];
    if (i < 8) begin : gen_lower
      assign terms[i] = wide_q ? (7'(8 * i) < data.bytes ? data.data[64*i+:64] : '0)
                               : (7'(4 * i) < data.bytes ? {{32{narrow[31]}}, narrow} : '0);
    end else begin : gen_upper
      assign terms[i] = !wide_q && 7'(4 * i) < data.bytes ? {{32{narrow[31]}}, narrow} : '0;
    end
  end

  always_ff @(posedge ap_clk) begin
    for (int g = 0; g < 4; g++) group_q[g] <= terms[4*g] + terms[4*g+1] + terms[4*g+2] + terms[4*g+3];
    group_last_q <= data.last;
    beat_q <= group_q[0] + group_q[1] + group_q[2] + group_q[3];
    beat_last_q <= group_last_q;
    if (start) sum_q <= '0;
    else if (beat_valid_q) sum_q <= sum_q + beat_q;
  end

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) begin
      group_valid_q <= 1'b0;
      beat_valid_q <= 1'b0;
      summed_q <= 1'b0;
    end else if (abort || !work) begin
      group_valid_q <= 1'b0;
      beat_valid_q <= 1'b0;
      summed_q <= 1'b0;
    end else begin
      group_valid_q <= data_valid;
      beat_valid_q <= group_valid_q;
      summed_q <= beat_valid_q && beat_last_q;
    end
  end

  // ---- No writes
  assign aw_valid = 1'b0;
  assign aw = '0;
  assign w_valid = 1'b0;
  assign w = '0;

  always_comb begin
    results = '0;
    results[word(SumOffset)+:2] = sum_q;
    results[word(StatusOffset)] = status;
  end

  logic unused;
  assign unused = ^{aw_ready, w_ready, b_valid, b};

endmodule
