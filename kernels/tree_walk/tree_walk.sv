// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// tree_walk: looks keys up in a binary search tree whose nodes point at each other.
//
//   keys ──> gw_read_stream ──> gw_tree_lanes ──> gw_write_stream ──> values
//                                  │    ▲
//                                  └────┴── nodes, wherever they are
//
// Contract
// - A node is {int64 key, int64 value, left, right}, 32 bytes, aligned to them; left leads to smaller keys, right to larger
//   ones, 0 to none. values[i] is the value of the node on the way from `root` that has keys[i], or `absent`.
// - 2^(ID bits - 1) keys are looked up at a time, one beat a node. Throughput: a node a cycle, while memory gives it, and an
//   answer every three cycles.
// - status: 3 for a pointer that is no multiple of 32, or more than `depth` nodes on one way; `bad` says which. After that or
//   another error values are unspecified.
module tree_walk
  import gw_kernel_pkg::*;
  import gw_tree_pkg::*;
  import tree_walk_args_pkg::*;
#(
  `include "gw_hls_params.svh"
) (
  `include "gw_hls_ports.svh"
);

  `include "gw_hls_connect.svh"

  // The keys' stream has the lower half of the IDs, lanes the upper one.
  localparam int unsigned LaneBits = C_M_AXI_GMEM_ID_WIDTH - 1;

  // ---- Arguments, kept for the run
  addr_t root_q, keys_q, values_q, absent_q;
  logic [31:0] count_q, depth_q;

  always_ff @(posedge ap_clk) begin
    if (start) begin
      root_q <= args[word(RootOffset)+:2];
      keys_q <= args[word(KeysOffset)+:2];
      values_q <= args[word(ValuesOffset)+:2];
      absent_q <= args[word(AbsentOffset)+:2];
      count_q <= args[word(CountOffset)];
      depth_q <= args[word(DepthOffset)];
    end
  end

  // ---- Run
  logic work, abort, keys_busy, lanes_busy, write_busy, keys_error, lanes_error, write_error, bad, finished, begin_q;
  logic node_came, answer_valid, answer_ready, answer_take;
  answer_t answer;
  addr_t bad_addr, bad_q;
  logic [31:0] left_q, found_q;
  logic [63:0] visited_q;
  status_e status;

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) begin_q <= 1'b0;
    else begin_q <= start;
  end

  gw_kernel_ctrl u_ctrl (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .start_i      (start),
    .bad_args_i   (1'b0),
    .finished_i   (finished),
    .read_error_i (keys_error || lanes_error || bad),
    .write_error_i(write_error),
    .busy_i       (keys_busy || lanes_busy || write_busy),
    .work_o       (work),
    .abort_o      (abort),
    .done_o       (done),
    .status_o     (status)
  );

  always_ff @(posedge ap_clk) begin
    if (start) begin
      bad_q <= '0;
      found_q <= '0;
      visited_q <= '0;
    end else if (work) begin
      if (bad && !keys_error && !lanes_error) bad_q <= bad_addr;
      visited_q <= visited_q + 64'(node_came);
      found_q <= found_q + 32'(answer_take && answer.found);
    end
  end

  // ---- Keys, one by one
  logic asking_q, range_ready, beat_valid, beat_ready, key_ready, beat_ends;
  stream_beat_t beat;
  lookup_t lookup;
  logic [2:0] key_q;   // of the beat
  logic [31:0] row_q;

  assign lookup = '{row: row_q, key: beat.data[64*key_q+:64]};
  assign beat_ends = {1'b0, key_q} + 1'b1 == beat.bytes[6:3];
  assign beat_ready = key_ready && beat_ends;

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) begin
      asking_q <= 1'b0;
      key_q <= '0;
    end else if (!work) begin
      asking_q <= 1'b0;
      key_q <= '0;
    end else begin
      asking_q <= begin_q ? count_q != '0 : asking_q && !range_ready;
      if (beat_valid && key_ready) key_q <= beat_ends ? '0 : key_q + 1'b1;
    end
  end

  always_ff @(posedge ap_clk) begin
    if (start) row_q <= '0;
    else if (beat_valid && key_ready) row_q <= row_q + 1'b1;
  end

  logic [1:0] ar_valids, ar_readys, r_valids;
  burst_t [1:0] ars;

  gw_read_stream #(
    .Slots     (4),
    .BurstBeats(16),
    .IdBits    (LaneBits)
  ) u_keys (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .abort_i      (abort),
    .busy_o       (keys_busy),
    .error_o      (keys_error),
    .range_valid_i(work && asking_q),
    .range_ready_o(range_ready),
    .range_i      ('{addr: keys_q, bytes: {29'b0, count_q, 3'b0}}),
    .ar_valid_o   (ar_valids[0]),
    .ar_ready_i   (ar_readys[0]),
    .ar_o         (ars[0]),
    .r_valid_i    (r_valids[0]),
    .r_i          (r),
    .out_valid_o  (beat_valid),
    .out_ready_i  (beat_ready),
    .out_o        (beat)
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

  // ---- Nodes
  gw_tree_lanes #(
    .LaneBits(LaneBits)
  ) u_lanes (
    .clk_i      (ap_clk),
    .rst_ni     (ap_rst_n),
    .abort_i    (abort),
    .root_i     (root_q),
    .depth_i    (depth_q),
    .busy_o     (lanes_busy),
    .error_o    (lanes_error),
    .node_o     (node_came),
    .bad_o      (bad),
    .bad_addr_o (bad_addr),
    .in_valid_i (work && beat_valid),
    .in_ready_o (key_ready),
    .in_i       (lookup),
    .out_valid_o(answer_valid),
    .out_ready_i(answer_ready || abort),
    .out_o      (answer),
    .ar_valid_o (ar_valids[1]),
    .ar_ready_i (ar_readys[1]),
    .ar_o       (ars[1]),
    .r_valid_i  (r_valids[1]),
    .r_i        (r)
  );

  // ---- An answer is a stream of its own: its address, then its eight bytes
  logic value_valid_q, addressed_q, addr_ready, write_ready, value_done;
  logic [31:0] value_row_q;
  logic [63:0] value_q;

  assign value_done = addressed_q && write_ready;
  assign answer_ready = work && (!value_valid_q || value_done);
  assign answer_take = answer_valid && answer_ready;
  assign finished = left_q == '0 && !begin_q && !keys_busy && !lanes_busy && !value_valid_q && !write_busy;

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) begin
      value_valid_q <= 1'b0;
      addressed_q <= 1'b0;
      left_q <= '0;
    end else if (!work) begin
      value_valid_q <= 1'b0;
      addressed_q <= 1'b0;
      left_q <= '0;
    end else begin
      value_valid_q <= answer_take || (value_valid_q && !value_done);
      addressed_q <= (value_valid_q && !addressed_q && addr_ready) || (addressed_q && !value_done);
      left_q <= begin_q ? count_q : left_q - 32'(answer_take);
    end
  end

  always_ff @(posedge ap_clk) begin
    if (answer_take) begin
      value_row_q <= answer.row;
      value_q <= answer.found ? answer.value : absent_q;
    end
  end

  gw_write_stream #(
    .BufferBeats(32),
    .BurstBeats (16),
    .IdBits     (C_M_AXI_GMEM_ID_WIDTH)
  ) u_write (
    .clk_i       (ap_clk),
    .rst_ni      (ap_rst_n),
    .abort_i     (abort),
    .busy_o      (write_busy),
    .error_o     (write_error),
    .addr_valid_i(work && value_valid_q && !addressed_q),
    .addr_ready_o(addr_ready),
    .addr_i      (values_q + {29'b0, value_row_q, 3'b0}),
    .in_valid_i  (work && addressed_q),
    .in_ready_o  (write_ready),
    .in_i        ('{data: data_t'(value_q), bytes: 7'd8, last: 1'b1}),
    .aw_valid_o  (aw_valid),
    .aw_ready_i  (aw_ready),
    .aw_o        (aw),
    .w_valid_o   (w_valid),
    .w_ready_i   (w_ready),
    .w_o         (w),
    .b_valid_i   (b_valid),
    .b_i         (b)
  );

  always_comb begin
    results = '0;
    results[word(FoundOffset)] = found_q;
    results[word(VisitedOffset)+:2] = visited_q;
    results[word(BadOffset)+:2] = bad_q;
    results[word(StatusOffset)] = bad_q != '0 ? StatusBadArgument : status;
  end

  // Keys are whole, and counted.
  logic unused;
  assign unused = ^{beat.bytes[2:0], beat.last};

endmodule
