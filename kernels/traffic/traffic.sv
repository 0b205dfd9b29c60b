// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// traffic: bursts on purpose. Linear, strided and random accesses, reads and writes mixed, and pointer chasing.
//
//   gw_traffic_address ──┬──> gw_traffic_reads  (checksum, latencies)
//                        └──> gw_traffic_writes (data that follows from the place)
//
// Contract
// - `count` bursts of `beats` beats. Burst i is at base + p * stride with the position p < positions: in order (pattern 0),
//   random (1), or at the offset that the first word of the burst before holds (2, the first at offset 0, one in flight).
//   A burst that would cross a multiple of 4 KiB begins earlier, so that it ends there. base is a multiple of 4 KiB, so that
//   nothing before it is touched.
// - Of 256 bursts, `writes` write: the word at offset o becomes o xor seed. The others read and are added up.
// - One burst a cycle at most; reads and writes each have up to `outstanding` in flight, with `ids` IDs in turn.
// - status: 3 for arguments out of range; then nothing is accessed. After an error the results are unspecified.
module traffic
  import gw_kernel_pkg::*;
  import gw_traffic_pkg::*;
  import traffic_args_pkg::*;
#(
  `include "gw_hls_params.svh"
) (
  `include "gw_hls_ports.svh"
);

  `include "gw_hls_connect.svh"

  // ---- Arguments, kept for the run
  localparam int unsigned MaxBeats = PageBytes / BeatBytes;
  addr_t base;
  logic [31:0] positions, stride, pattern, beats, writes, ids, outstanding;
  logic [63:0] seed;
  logic bad_args;
  plan_t plan_q;

  assign base = args[word(BaseOffset)+:2];
  assign positions = args[word(PositionsOffset)];
  assign stride = args[word(StrideOffset)];
  assign pattern = args[word(PatternOffset)];
  assign beats = args[word(BeatsOffset)];
  assign writes = args[word(WritesOffset)];
  assign ids = args[word(IdsOffset)];
  assign outstanding = args[word(OutstandingOffset)];
  assign seed = args[word(SeedOffset)+:2];

  assign bad_args = base[$clog2(PageBytes)-1:0] != '0 || stride[BeatShift-1:0] != '0 || positions == '0 ||
                    pattern > 32'(Chase) || beats == '0 || beats > 32'(MaxBeats) || writes > 32'd256 ||
                    (pattern == 32'(Chase) && writes != '0) || seed == '0 ||
                    ids == '0 || ids > 32'(2 ** C_M_AXI_GMEM_ID_WIDTH) ||
                    outstanding == '0 || outstanding > 32'(MaxOutstanding);

  always_ff @(posedge ap_clk) begin
    if (start) begin
      plan_q <= '{
        base:        base,
        positions:   positions,
        stride:      stride,
        count:       bad_args ? '0 : args[word(CountOffset)],
        pattern:     pattern_e'(pattern[1:0]),
        len:         len_t'(beats - 1'b1),
        writes:      writes[8:0],
        ids:         ids[6:0],
        outstanding: outstanding[6:0],
        seed:        seed
      };
    end
  end

  // ---- Run
  logic work, abort, address_busy, read_busy, write_busy, read_error, write_error;
  status_e status;

  gw_kernel_ctrl u_ctrl (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .start_i      (start),
    .bad_args_i   (bad_args),
    .finished_i   (!address_busy && !read_busy && !write_busy),
    .read_error_i (read_error),
    .write_error_i(write_error),
    .busy_i       (read_busy || write_busy),
    .work_o       (work),
    .abort_o      (abort),
    .done_o       (done),
    .status_o     (status)
  );

  logic [63:0] cycles_q;
  always_ff @(posedge ap_clk) begin
    if (start) cycles_q <= '0;
    else if (work) cycles_q <= cycles_q + 1'b1;
  end

  // ---- Accesses
  logic access_valid, access_ready, read_ready, write_ready, next_valid;
  access_t access;
  addr_t next_offset;

  assign access_ready = access.write ? write_ready : read_ready;

  gw_traffic_address u_address (
    .clk_i       (ap_clk),
    .rst_ni      (ap_rst_n),
    .start_i     (start),
    .abort_i     (abort),
    .plan_i      (plan_q),
    .busy_o      (address_busy),
    .next_valid_i(next_valid && plan_q.pattern == Chase),
    .next_i      (next_offset),
    .out_valid_o (access_valid),
    .out_ready_i (access_ready),
    .out_o       (access)
  );

  logic [63:0] checksum, latency_sum;
  logic [31:0] latency_max, reads;

  gw_traffic_reads #(
    .IdBits(C_M_AXI_GMEM_ID_WIDTH)
  ) u_reads (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .start_i      (start),
    .abort_i      (abort),
    .plan_i       (plan_q),
    .busy_o       (read_busy),
    .error_o      (read_error),
    .in_valid_i   (access_valid && !access.write),
    .in_ready_o   (read_ready),
    .in_addr_i    (access.addr),
    .next_valid_o (next_valid),
    .next_o       (next_offset),
    .ar_valid_o   (ar_valid),
    .ar_ready_i   (ar_ready),
    .ar_o         (ar),
    .r_valid_i    (r_valid),
    .r_i          (r),
    .checksum_o   (checksum),
    .latency_sum_o(latency_sum),
    .latency_max_o(latency_max),
    .bursts_o     (reads)
  );

  gw_traffic_writes u_writes (
    .clk_i     (ap_clk),
    .rst_ni    (ap_rst_n),
    .start_i   (start),
    .abort_i   (abort),
    .plan_i    (plan_q),
    .busy_o    (write_busy),
    .error_o   (write_error),
    .in_valid_i(access_valid && access.write),
    .in_ready_o(write_ready),
    .in_i      (access),
    .aw_valid_o(aw_valid),
    .aw_ready_i(aw_ready),
    .aw_o      (aw),
    .w_valid_o (w_valid),
    .w_ready_i (w_ready),
    .w_o       (w),
    .b_valid_i (b_valid),
    .b_i       (b)
  );

  always_comb begin
    results = '0;
    results[word(ChecksumOffset)+:2] = checksum;
    results[word(RunCyclesOffset)+:2] = cycles_q;
    results[word(LatencySumOffset)+:2] = latency_sum;
    results[word(LatencyMaxOffset)] = latency_max;
    results[word(ReadsOffset)] = reads;
    results[word(StatusOffset)] = status;
  end

endmodule
