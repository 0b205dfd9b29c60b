// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// hashjoin: inner equi-join of two integer columns over a chained hash table in device memory.
//
//                  ┌──> gw_join_lanes ──> gw_join_pairs ──> gw_write_stream ──> pairs
//   gw_join_keys ──┘        │
//                           └──> heads, nodes
//
// Contract
// - Three phases: heads are cleared; every build row is inserted; every probe row is looked up. A phase begins when all of
//   the one before is in memory.
// - Every pair of rows with equal keys gives one pair {build row, probe row}, 4 bytes each, in no particular order; keys may
//   repeat on both sides. match_count counts all of them; those that do not fit into `capacity` are not written.
// - 2^(ID bits - 1) rows are worked on at a time.
// - status: 3 for arguments out of range; then nothing is accessed. After an error the results are unspecified.
module hashjoin
  import gw_kernel_pkg::*;
  import gw_join_pkg::*;
  import hashjoin_args_pkg::*;
#(
  `include "gw_hls_params.svh"
) (
  `include "gw_hls_ports.svh"
);

  `include "gw_hls_connect.svh"

  // Streams have the lower half of the IDs, lanes the upper one.
  localparam int unsigned LaneBits = C_M_AXI_GMEM_ID_WIDTH - 1;

  // ---- Arguments, kept for the run
  logic [31:0] dtype, bucket_bits;
  addr_t heads, nodes;
  logic bad_args, wide_q;
  logic [4:0] bucket_bits_q;
  addr_t build_q, probe_q, heads_q, nodes_q, pairs_q;
  row_t build_rows_q, probe_rows_q, capacity_q;

  assign dtype = args[word(DtypeOffset)];
  assign bucket_bits = args[word(BucketBitsOffset)];
  assign heads = args[word(HeadsOffset)+:2];
  assign nodes = args[word(NodesOffset)+:2];
  assign bad_args = dtype > 32'd1 || bucket_bits < MinBucketBits || bucket_bits > MaxBucketBits ||
                    heads[BeatShift-1:0] != '0 || nodes[BeatShift-1:0] != '0;

  always_ff @(posedge ap_clk) begin
    if (start) begin
      wide_q <= dtype[0];
      bucket_bits_q <= bucket_bits[4:0];
      build_q <= args[word(BuildOffset)+:2];
      probe_q <= args[word(ProbeOffset)+:2];
      heads_q <= heads;
      nodes_q <= nodes;
      pairs_q <= args[word(PairsOffset)+:2];
      build_rows_q <= args[word(BuildRowsOffset)];
      probe_rows_q <= args[word(ProbeRowsOffset)];
      capacity_q <= args[word(CapacityOffset)];
    end
  end

  // ---- Run
  logic work, abort, keys_busy, keys_bus_busy, lanes_busy, write_busy, keys_error, lanes_error, write_error, finished;
  status_e status;

  gw_kernel_ctrl u_ctrl (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .start_i      (start),
    .bad_args_i   (bad_args),
    .finished_i   (finished),
    .read_error_i (keys_error || lanes_error),
    .write_error_i(write_error),
    .busy_i       (keys_bus_busy || lanes_busy || write_busy),
    .work_o       (work),
    .abort_o      (abort),
    .done_o       (done),
    .status_o     (status)
  );

  typedef enum logic [2:0] {Begin, Clear, Build, Probe, Flush, Finish} phase_e;
  phase_e phase_q, phase_d;
  logic addr_valid_q, addr_ready, stream_valid, stream_ready, begin_keys;
  logic [26:0] zeros_q;  // beats of heads to clear
  stream_beat_t stream;

  always_comb begin
    phase_d = phase_q;
    unique case (phase_q)
      Begin: if (work) phase_d = Clear;
      Clear: if (zeros_q == '0 && !addr_valid_q && !write_busy) phase_d = Build;
      Build: if (!keys_busy && !lanes_busy) phase_d = Probe;
      Probe: if (!keys_busy && !lanes_busy) phase_d = Flush;
      Flush: if (stream_valid && stream_ready && stream.last) phase_d = Finish;
      Finish: if (!work) phase_d = Begin;
      default: phase_d = Begin;
    endcase
    if (!work) phase_d = Begin;
  end

  assign finished = phase_q == Finish && !write_busy && !keys_bus_busy;
  assign begin_keys = phase_q != phase_d && (phase_d == Build || phase_d == Probe);

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) begin
      phase_q <= Begin;
      addr_valid_q <= 1'b0;
    end else begin
      phase_q <= phase_d;
      if (phase_q != phase_d && (phase_d == Clear || phase_d == Probe)) addr_valid_q <= 1'b1;
      else if (addr_ready || !work) addr_valid_q <= 1'b0;
    end
  end

  logic [63:0] build_cycles_q, probe_cycles_q;
  always_ff @(posedge ap_clk) begin
    if (phase_q == Begin) begin
      // 2^bits heads of 4 bytes.
      zeros_q <= 27'd1 << (bucket_bits_q - 5'(MinBucketBits));
    end else if (phase_q == Clear && stream_valid && stream_ready) begin
      zeros_q <= zeros_q - 1'b1;
    end
    if (start) begin
      build_cycles_q <= '0;
      probe_cycles_q <= '0;
    end else begin
      if (phase_q == Clear || phase_q == Build) build_cycles_q <= build_cycles_q + 1'b1;
      if (phase_q == Probe || phase_q == Flush) probe_cycles_q <= probe_cycles_q + 1'b1;
    end
  end

  // ---- Keys of the phase's side
  logic [1:0] ar_valids, ar_readys, r_valids;
  burst_t [1:0] ars;
  logic key_valid, key_ready;
  entry_t key;
  logic probing_q;  // the side whose keys are read; changes with the phase

  always_ff @(posedge ap_clk) begin
    if (begin_keys) probing_q <= phase_d == Probe;
  end

  logic keys_start_q;
  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) keys_start_q <= 1'b0;
    else keys_start_q <= begin_keys;
  end

  gw_join_keys #(
    .IdBits(LaneBits)
  ) u_keys (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .abort_i      (abort),
    .start_i      (keys_start_q),
    .addr_i       (probing_q ? probe_q : build_q),
    .rows_i       (probing_q ? probe_rows_q : build_rows_q),
    .wide_i       (wide_q),
    .bucket_bits_i(bucket_bits_q),
    .busy_o       (keys_busy),
    .bus_busy_o   (keys_bus_busy),
    .error_o      (keys_error),
    .ar_valid_o   (ar_valids[0]),
    .ar_ready_i   (ar_readys[0]),
    .ar_o         (ars[0]),
    .r_valid_i    (r_valids[0]),
    .r_i          (r),
    .out_valid_o  (key_valid),
    .out_ready_i  (key_ready),
    .out_o        (key)
  );

  gw_read_mux #(
    .SelBit(LaneBits)
  ) u_read_mux (
    .clk_i     (ap_clk),
    .rst_ni    (ap_rst_n),
    .ar_valid_i(ar_valids),
    .ar_ready_o(ar_readys),
    .ar_i      (ars),
    .ar_valid_o(ar_valid),
    .ar_ready_i(ar_ready),
    .ar_o      (ar),
    .r_valid_i (r_valid),
    .r_id_i    (r.id),
    .r_valid_o (r_valids)
  );

  // ---- Lanes
  logic [1:0] aw_valids, aw_readys, w_valids, w_readys, b_valids;
  burst_t [1:0] aws;
  write_beat_t [1:0] ws;
  logic pair_valid, pair_ready;
  pair_t pair;

  gw_join_lanes #(
    .LaneBits(LaneBits)
  ) u_lanes (
    .clk_i       (ap_clk),
    .rst_ni      (ap_rst_n),
    .abort_i     (abort),
    .probe_i     (probing_q),
    .heads_i     (heads_q),
    .nodes_i     (nodes_q),
    .busy_o      (lanes_busy),
    .error_o     (lanes_error),
    .in_valid_i  (key_valid),
    .in_ready_o  (key_ready),
    .in_i        (key),
    .pair_valid_o(pair_valid),
    .pair_ready_i(pair_ready || abort),
    .pair_o      (pair),
    .ar_valid_o  (ar_valids[1]),
    .ar_ready_i  (ar_readys[1]),
    .ar_o        (ars[1]),
    .r_valid_i   (r_valids[1]),
    .r_i         (r),
    .aw_valid_o  (aw_valids[1]),
    .aw_ready_i  (aw_readys[1]),
    .aw_o        (aws[1]),
    .w_valid_o   (w_valids[1]),
    .w_ready_i   (w_readys[1]),
    .w_o         (ws[1]),
    .b_valid_i   (b_valids[1]),
    .b_i         (b)
  );

  // ---- Zeros for the heads, then matches
  logic [63:0] match_count;
  logic packed_valid;
  stream_beat_t packed_beat;

  gw_join_pairs u_pairs (
    .clk_i      (ap_clk),
    .rst_ni     (ap_rst_n),
    .clear_i    (start),
    .flush_i    (phase_q == Flush),
    .capacity_i (capacity_q),
    .count_o    (match_count),
    .in_valid_i (pair_valid),
    .in_ready_o (pair_ready),
    .in_i       (pair),
    .out_valid_o(packed_valid),
    .out_ready_i(stream_ready && phase_q != Clear),
    .out_o      (packed_beat)
  );

  assign stream_valid = phase_q == Clear ? zeros_q != '0 : packed_valid;
  assign stream = phase_q == Clear ? '{data: '0, bytes: 7'(BeatBytes), last: zeros_q == 27'd1} : packed_beat;

  gw_write_stream #(
    .IdBits(LaneBits)
  ) u_write (
    .clk_i       (ap_clk),
    .rst_ni      (ap_rst_n),
    .abort_i     (abort),
    .busy_o      (write_busy),
    .error_o     (write_error),
    .addr_valid_i(addr_valid_q),
    .addr_ready_o(addr_ready),
    .addr_i      (phase_q == Clear ? heads_q : pairs_q),
    .in_valid_i  (stream_valid),
    .in_ready_o  (stream_ready),
    .in_i        (stream),
    .aw_valid_o  (aw_valids[0]),
    .aw_ready_i  (aw_readys[0]),
    .aw_o        (aws[0]),
    .w_valid_o   (w_valids[0]),
    .w_ready_i   (w_readys[0]),
    .w_o         (ws[0]),
    .b_valid_i   (b_valids[0]),
    .b_i         (b)
  );

  gw_write_mux #(
    .IdBase({id_t'(1) << LaneBits, id_t'(0)}),
    .IdBits({2{3'(LaneBits)}})
  ) u_write_mux (
    .clk_i     (ap_clk),
    .rst_ni    (ap_rst_n),
    .aw_valid_i(aw_valids),
    .aw_ready_o(aw_readys),
    .aw_i      (aws),
    .w_valid_i (w_valids),
    .w_ready_o (w_readys),
    .w_i       (ws),
    .b_valid_o (b_valids),
    .aw_valid_o(aw_valid),
    .aw_ready_i(aw_ready),
    .aw_o      (aw),
    .w_valid_o (w_valid),
    .w_ready_i (w_ready),
    .w_o       (w),
    .b_valid_i (b_valid),
    .b_id_i    (b.id)
  );

  always_comb begin
    results = '0;
    results[word(MatchCountOffset)+:2] = match_count;
    results[word(BuildCyclesOffset)+:2] = build_cycles_q;
    results[word(ProbeCyclesOffset)+:2] = probe_cycles_q;
    results[word(StatusOffset)] = status;
  end

endmodule
