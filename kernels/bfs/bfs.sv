// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// bfs: breadth-first search on a graph of compressed rows (CSR), level by level.
//
//   queue, offsets, targets ──> gw_bfs_edges ──> gw_bfs_seen ─┬─> gw_write_stream ──> levels
//                                                              └─> gw_write_stream ──> queue
//
// Contract
// - Every vertex has a level at the end: the edges on its shortest way from `source`, or 0xffffffff. The queue has those that were
//   reached, level by level, in the order in which their first edge was met.
// - Levels are cleared here. A level begins when everything of the one before is in memory.
// - Throughput: an edge a cycle, two cycles for one that leads to a new vertex. A level costs four latencies besides, of
//   queue, offsets, targets and the answers of its writes.
// - An edge that leads to no vertex is counted in `skipped` and left out.
// - status: 3 for arguments out of range; then nothing is accessed. After an error levels and queue are unspecified.
module bfs
  import gw_kernel_pkg::*;
  import bfs_args_pkg::*;
#(
  `include "gw_hls_params.svh"
) (
  `include "gw_hls_ports.svh"
);

  `include "gw_hls_connect.svh"

  localparam int unsigned MaxVertices = 1 << 20;
  localparam int unsigned VertexWidth = $clog2(MaxVertices);
  localparam int unsigned HalfBits = C_M_AXI_GMEM_ID_WIDTH - 1;
  typedef logic [VertexWidth-1:0] vertex_t;
  typedef logic [VertexWidth:0] count_t;

  // ---- Arguments, kept for the run
  logic [31:0] vertices, source;
  logic bad_args;
  addr_t offsets_q, targets_q, levels_q, queue_q;
  count_t vertices_q;
  vertex_t source_q;

  assign vertices = args[word(VerticesOffset)];
  assign source = args[word(SourceOffset)];
  assign bad_args = vertices == '0 || vertices > MaxVertices || source >= vertices;

  always_ff @(posedge ap_clk) begin
    if (start) begin
      offsets_q <= args[word(OffsetsOffset)+:2];
      targets_q <= args[word(TargetsOffset)+:2];
      levels_q <= args[word(LevelsOffset)+:2];
      queue_q <= args[word(QueueOffset)+:2];
      vertices_q <= vertices[VertexWidth:0];
      source_q <= source[VertexWidth-1:0];
    end
  end

  // ---- Run
  logic work, abort, edges_busy, edges_bus_busy, edges_error, seen_busy, cleared;
  logic [1:0] write_busy, write_error;  // levels, queue
  status_e status;

  // Seed gives the source as the only vertex of level 0; Search those of the level behind. Flush ends the queue's stream.
  typedef enum logic [2:0] {Begin, Clear, Seed, Search, Flush, Settle, Finish} phase_e;
  phase_e phase_d, phase_q;
  count_t count_q, reached_q, first_q;  // vertices of the level that is searched, all, and where the level begins in the queue
  logic [31:0] level_q;                 // of the vertices that are found
  logic enter_clear, enter_seed, enter_search, flush_done, fill_done_q, vertex_valid, vertex_ready, level_free;

  always_comb begin
    phase_d = phase_q;
    unique case (phase_q)
      Begin: phase_d = Clear;
      Clear: if (cleared && fill_done_q && write_busy == '0) phase_d = Seed;
      Seed: if (vertex_ready) phase_d = Flush;
      Search: if (!edges_busy && !seen_busy) phase_d = Flush;
      Flush: if (flush_done) phase_d = Settle;
      Settle: if (level_free && write_busy == '0) phase_d = reached_q == first_q + count_q ? Finish : Search;
      Finish: phase_d = Finish;
      default: phase_d = Begin;
    endcase
    if (!work) phase_d = Begin;
  end

  assign enter_clear = phase_q == Begin && phase_d == Clear;
  assign enter_seed = phase_q == Clear && phase_d == Seed;
  assign enter_search = phase_q == Settle && phase_d == Search;

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) phase_q <= Begin;
    else phase_q <= phase_d;
  end

  logic new_valid, new_ready;
  vertex_t new_vertex;

  always_ff @(posedge ap_clk) begin
    if (enter_clear) begin
      first_q <= '0;
      count_q <= '0;
      reached_q <= '0;
      level_q <= '0;
    end else if (enter_search) begin
      first_q <= first_q + count_q;
      count_q <= reached_q - (first_q + count_q);
      level_q <= level_q + 1'b1;
    end else if (new_valid && new_ready) begin
      reached_q <= reached_q + 1'b1;
    end
  end

  gw_kernel_ctrl u_ctrl (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .start_i      (start),
    .bad_args_i   (bad_args),
    .finished_i   (phase_q == Finish && !edges_bus_busy),
    .read_error_i (edges_error),
    .write_error_i(write_error != '0),
    .busy_i       (edges_bus_busy || write_busy != '0),
    .work_o       (work),
    .abort_o      (abort),
    .done_o       (done),
    .status_o     (status)
  );

  // ---- Edges of the level
  logic search_q, target_valid, target_ready;
  logic [31:0] target;

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) search_q <= 1'b0;
    else search_q <= enter_search;
  end

  gw_bfs_edges #(
    .IdBits(C_M_AXI_GMEM_ID_WIDTH)
  ) u_edges (
    .clk_i      (ap_clk),
    .rst_ni     (ap_rst_n),
    .abort_i    (abort),
    .start_i    (search_q),
    .queue_i    (queue_q + (64'(first_q) << 2)),
    .count_i    (32'(count_q)),
    .offsets_i  (offsets_q),
    .targets_i  (targets_q),
    .busy_o     (edges_busy),
    .bus_busy_o (edges_bus_busy),
    .error_o    (edges_error),
    .ar_valid_o (ar_valid),
    .ar_ready_i (ar_ready),
    .ar_o       (ar),
    .r_valid_i  (r_valid),
    .r_i        (r),
    .out_valid_o(target_valid),
    .out_ready_i(target_ready),
    .out_o      (target)
  );

  // ---- Vertices that are new
  logic is_vertex;
  logic [63:0] edges_q;
  logic [31:0] skipped_q;

  assign is_vertex = target < 32'(vertices_q);
  assign vertex_valid = phase_q == Seed || (target_valid && is_vertex);
  assign target_ready = phase_q != Seed && (vertex_ready || !is_vertex);

  always_ff @(posedge ap_clk) begin
    if (start) begin
      edges_q <= '0;
      skipped_q <= '0;
    end else if (target_valid && target_ready) begin
      edges_q <= edges_q + 1'b1;
      if (!is_vertex) skipped_q <= skipped_q + 1'b1;
    end
  end

  gw_bfs_seen #(
    .Vertices(MaxVertices)
  ) u_seen (
    .clk_i      (ap_clk),
    .rst_ni     (ap_rst_n),
    .flush_i    (abort),
    .clear_i    (enter_clear),
    .last_i     (vertex_t'(vertices_q - 1'b1)),
    .cleared_o  (cleared),
    .busy_o     (seen_busy),
    .in_valid_i (vertex_valid),
    .in_ready_o (vertex_ready),
    .in_i       (phase_q == Seed ? source_q : target[VertexWidth-1:0]),
    .out_valid_o(new_valid),
    .out_ready_i(new_ready),
    .out_o      (new_vertex)
  );

  // ---- Streams to memory: 0 levels, 1 the queue
  logic [1:0] addr_valid, addr_ready, beat_valid, beat_ready;
  addr_t [1:0] addr;
  stream_beat_t [1:0] beat;

  // ---- The queue: sixteen vertices a beat, a stream a level
  logic [15:0][31:0] pack_q;
  logic [4:0] packed_q;
  logic queue_addr_q, pack_valid, pack_ready, pack_free, flushing;
  stream_beat_t pack;

  assign flushing = phase_q == Flush && !seen_busy;
  assign pack_free = !packed_q[4];
  assign pack_valid = packed_q[4] || flushing;
  assign pack = '{data: pack_q, bytes: {packed_q, 2'b00}, last: flushing};
  assign flush_done = flushing && pack_ready;

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) begin
      packed_q <= '0;
      queue_addr_q <= 1'b0;
    end else if (!work) begin
      packed_q <= '0;
      queue_addr_q <= 1'b0;
    end else begin
      if (pack_valid && pack_ready) packed_q <= '0;
      else if (new_valid && new_ready) packed_q <= packed_q + 1'b1;
      if (enter_seed || enter_search) queue_addr_q <= 1'b1;
      else if (addr_ready[1]) queue_addr_q <= 1'b0;
    end
  end

  always_ff @(posedge ap_clk) begin
    if (new_valid && new_ready) pack_q[packed_q[3:0]] <= 32'(new_vertex);
  end

  // ---- Levels: first all ones, a stream of whole beats, then a stream a vertex
  logic fill_addr_q, filling, level_valid_q, level_addressed_q, level_done;
  vertex_t level_vertex_q;
  count_t fill_q;  // vertices to fill

  assign filling = phase_q == Clear && fill_q != '0;
  assign level_done = level_addressed_q && beat_ready[0];
  assign level_free = !level_valid_q;
  assign new_ready = pack_free && (!level_valid_q || level_done);

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) begin
      fill_addr_q <= 1'b0;
      fill_done_q <= 1'b0;
      level_valid_q <= 1'b0;
      level_addressed_q <= 1'b0;
      fill_q <= '0;
    end else if (!work || enter_clear) begin
      fill_addr_q <= enter_clear;
      fill_done_q <= 1'b0;
      level_valid_q <= 1'b0;
      level_addressed_q <= 1'b0;
      fill_q <= vertices_q;
    end else begin
      if (addr_ready[0]) fill_addr_q <= 1'b0;
      if (filling && beat_ready[0]) begin
        fill_q <= beat[0].last ? '0 : fill_q - count_t'(16);
        fill_done_q <= beat[0].last;
      end
      level_valid_q <= (new_valid && new_ready) || (level_valid_q && !level_done);
      level_addressed_q <= (level_valid_q && !level_addressed_q && addr_ready[0]) || (level_addressed_q && !level_done);
    end
  end

  always_ff @(posedge ap_clk) begin
    if (new_valid && new_ready) level_vertex_q <= new_vertex;
  end

  assign addr_valid = {queue_addr_q, fill_addr_q || (level_valid_q && !level_addressed_q)};
  assign addr[0] = fill_addr_q ? levels_q : levels_q + (64'(level_vertex_q) << 2);
  assign addr[1] = queue_q + (64'(first_q + count_q) << 2);
  assign beat_valid = {pack_valid, filling || level_addressed_q};
  assign beat[1] = pack;
  assign pack_ready = beat_ready[1];

  always_comb begin
    if (filling) begin
      beat[0] = '{data: '1, bytes: fill_q > count_t'(16) ? 7'd64 : {fill_q[4:0], 2'b00}, last: fill_q <= count_t'(16)};
    end else begin
      beat[0] = '{data: data_t'(level_q), bytes: 7'd4, last: 1'b1};
    end
  end

  // ---- Both streams on the port
  logic [1:0] aw_valids, aw_readys, w_valids, w_readys, b_valids;
  burst_t [1:0] aws;
  write_beat_t [1:0] ws;

  for (genvar s = 0; s < 2; s++) begin : gen_write
    gw_write_stream #(
      .BufferBeats(32),
      .BurstBeats (16),
      .IdBase     (s == 0 ? id_t'(0) : id_t'(1) << HalfBits),
      .IdBits     (HalfBits)
    ) u_write (
      .clk_i       (ap_clk),
      .rst_ni      (ap_rst_n),
      .abort_i     (abort),
      .busy_o      (write_busy[s]),
      .error_o     (write_error[s]),
      .addr_valid_i(work && addr_valid[s]),
      .addr_ready_o(addr_ready[s]),
      .addr_i      (addr[s]),
      .in_valid_i  (work && beat_valid[s]),
      .in_ready_o  (beat_ready[s]),
      .in_i        (beat[s]),
      .aw_valid_o  (aw_valids[s]),
      .aw_ready_i  (aw_readys[s]),
      .aw_o        (aws[s]),
      .w_valid_o   (w_valids[s]),
      .w_ready_i   (w_readys[s]),
      .w_o         (ws[s]),
      .b_valid_i   (b_valids[s]),
      .b_i         (b)
    );
  end

  gw_write_mux #(
    .IdBase({id_t'(1) << HalfBits, id_t'(0)}),
    .IdBits({2{3'(HalfBits)}})
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
    results[word(ReachedOffset)] = 32'(reached_q);
    // The last level that was searched found none.
    results[word(DepthOffset)] = level_q - 1'b1;
    results[word(EdgesOffset)+:2] = edges_q;
    results[word(SkippedOffset)] = skipped_q;
    results[word(StatusOffset)] = status;
  end

endmodule
