// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// array_sum: wrapping 64-bit sum of an integer array, nulls left out.
//
//   values ───> gw_read_stream ───────────────────────┬─> sums of four lanes ──> sum of the beat ──> accumulator
//   validity ─> gw_read_stream ──> gw_validity_bits ──┘
//
// Contract
// - int32 elements are sign-extended. Any alignment. Throughput: one beat a cycle, of 64 bytes 16 int32 or 8 int64 elements. The
//   bitmap shares the read channel: one beat of it for 32 (int64: 64) beats of values.
// - An element whose bit is 0 counts as 0; a null `validity` is a bitmap of ones. `offset` is the first element in both.
// - Values go round the lower half of the AXI IDs, the bitmap round the upper one, so that neither waits for a miss of the other.
// - status: 3 for count or offset >= 2^60 or an unknown dtype; then nothing is read. After an error the sum is unspecified.
module array_sum
  import gw_kernel_pkg::*;
  import array_sum_args_pkg::*;
#(
  `include "gw_hls_params.svh"
) (
  `include "gw_hls_ports.svh"
);

  `include "gw_hls_connect.svh"

  localparam int unsigned HalfBits = C_M_AXI_GMEM_ID_WIDTH - 1;
  localparam id_t UpperHalf = id_t'(1) << HalfBits;
  localparam int unsigned Lanes = BeatBytes / 4;  // elements of a beat, of int64 half of them
  localparam int unsigned Groups = (Lanes + 3) / 4;
  localparam int unsigned GroupLanes = Lanes / Groups;

  // ---- Arguments, kept for the run
  logic [31:0] dtype;
  logic [63:0] count, offset, validity;
  logic bad_args, wide_q, nullable_d, nullable_q;
  logic [2:0] first_bit_q;
  range_t values_q, validity_q;

  assign dtype = args[word(DtypeOffset)];
  assign count = args[word(CountOffset)+:2];
  assign offset = args[word(OffsetOffset)+:2];
  assign validity = args[word(ValidityOffset)+:2];
  assign nullable_d = validity != '0 && count != '0;
  // Bytes are counted in 64 bits.
  assign bad_args = dtype > 32'd1 || count[63:60] != '0 || offset[63:60] != '0;

  always_ff @(posedge ap_clk) begin
    if (start) begin
      wide_q <= dtype[0];
      values_q.addr <= args[word(ValuesOffset)+:2] + (dtype[0] ? offset << 3 : offset << 2);
      values_q.bytes <= dtype[0] ? count << 3 : count << 2;
      nullable_q <= nullable_d;
      first_bit_q <= offset[2:0];
      validity_q.addr <= validity + (offset >> 3);
      validity_q.bytes <= (count + 64'(offset[2:0]) + 64'd7) >> 3;
    end
  end

  // ---- Run; of two bits the lower one is the values', the upper one the bitmap's
  logic work, abort, summed_q;
  logic [1:0] todo_q, read_busy, read_error, range_ready;
  status_e status;

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) todo_q <= '0;
    else if (start) todo_q <= {nullable_d, 1'b1};
    else todo_q <= work ? todo_q & ~range_ready : '0;
  end

  gw_kernel_ctrl u_ctrl (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .start_i      (start),
    .bad_args_i   (bad_args),
    .finished_i   (summed_q),
    .read_error_i (read_error != '0),
    .write_error_i(1'b0),
    .busy_i       (read_busy != '0),
    .work_o       (work),
    .abort_o      (abort),
    .done_o       (done),
    .status_o     (status)
  );

  logic data_valid, data_ready, bitmap_valid, bitmap_ready;
  stream_beat_t data, bitmap;
  logic [1:0] rd_ar_valid, rd_ar_ready, rd_r_valid;
  burst_t [1:0] rd_ar;

  gw_read_stream #(
    .IdBits(HalfBits)
  ) u_values (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .abort_i      (abort),
    .busy_o       (read_busy[0]),
    .error_o      (read_error[0]),
    .range_valid_i(work && todo_q[0]),
    .range_ready_o(range_ready[0]),
    .range_i      (values_q),
    .ar_valid_o   (rd_ar_valid[0]),
    .ar_ready_i   (rd_ar_ready[0]),
    .ar_o         (rd_ar[0]),
    .r_valid_i    (rd_r_valid[0]),
    .r_i          (r),
    .out_valid_o  (data_valid),
    .out_ready_i  (data_ready),
    .out_o        (data)
  );

  // A beat of the bitmap lasts 32 cycles, whatever its width, so a few short bursts ahead are enough.
  gw_read_stream #(
    .Slots     (4),
    .BurstBeats(16),
    .IdBase    (UpperHalf),
    .IdBits    (HalfBits)
  ) u_validity (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .abort_i      (abort),
    .busy_o       (read_busy[1]),
    .error_o      (read_error[1]),
    .range_valid_i(work && todo_q[1]),
    .range_ready_o(range_ready[1]),
    .range_i      (validity_q),
    .ar_valid_o   (rd_ar_valid[1]),
    .ar_ready_i   (rd_ar_ready[1]),
    .ar_o         (rd_ar[1]),
    .r_valid_i    (rd_r_valid[1]),
    .r_i          (r),
    .out_valid_o  (bitmap_valid),
    .out_ready_i  (bitmap_ready),
    .out_o        (bitmap)
  );

  gw_read_mux #(
    .SelBit(HalfBits)
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

  // ---- Elements that count
  logic [Lanes-1:0] valid_bits;
  logic bits_valid, take;

  gw_validity_bits u_bits (
    .clk_i       (ap_clk),
    .rst_ni      (ap_rst_n),
    .clear_i     (start || abort),
    .wide_i      (wide_q),
    .first_bit_i (first_bit_q),
    .in_valid_i  (bitmap_valid),
    .in_ready_o  (bitmap_ready),
    .in_i        (bitmap),
    .bits_valid_o(bits_valid),
    .bits_ready_i(data_valid && nullable_q),
    .end_i       (data.last),
    .bits_o      (valid_bits)
  );

  assign data_ready = !nullable_q || bits_valid;
  assign take = data_valid && data_ready;

  // ---- Sum in three stages: groups of four lanes, the beat, the array
  logic [Lanes-1:0][63:0] terms;
  logic [Groups-1:0][63:0] group_d, group_q;
  logic [63:0] beat_d, beat_q, sum_q;
  logic group_valid_q, group_last_q, beat_valid_q, beat_last_q;

  for (genvar i = 0; i < int'(Lanes); i++) begin : gen_term
    // Nulls and lanes past the end count as zero; for int64 the lower half of the lanes holds the elements.
    logic [31:0] narrow;
    logic counts;
    assign narrow = data.data[32*i+:32];
    assign counts = !nullable_q || valid_bits[i];
    if (i < int'(Lanes / 2)) begin : gen_lower
      assign terms[i] = wide_q ? (counts && byte_count_t'(8 * i) < data.bytes ? data.data[64*i+:64] : '0)
                               : (counts && byte_count_t'(4 * i) < data.bytes ? {{32{narrow[31]}}, narrow} : '0);
    end else begin : gen_upper
      assign terms[i] = counts && !wide_q && byte_count_t'(4 * i) < data.bytes ? {{32{narrow[31]}}, narrow} : '0;
    end
  end

  always_comb begin
    group_d = '0;
    beat_d = '0;
    for (int unsigned g = 0; g < Groups; g++) begin
      for (int unsigned l = 0; l < GroupLanes; l++) group_d[g] += terms[GroupLanes*g+l];
      beat_d += group_q[g];
    end
  end

  always_ff @(posedge ap_clk) begin
    group_q <= group_d;
    group_last_q <= data.last;
    beat_q <= beat_d;
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
      group_valid_q <= take;
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
