// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The edges of the vertices of a level: targets, one by one.
//
//   queue ──> gw_read_stream ──> vertex ──> gw_read_stream ──> begin, end ──> gw_read_stream ──> targets
//                                           offsets                           targets
//
// Contract
// - start_i begins a level of count_i vertices from queue_i on, at least one. busy_o: until the last target of the last vertex was
//   taken. All arguments are constant meanwhile.
// - Throughput: one target a cycle; 16 vertices' offsets are asked for ahead. An end below its beginning is no edge.
// - IDs: the queue's and the offsets' streams have a quarter each, from 0 on, the targets' the upper half.
// - abort_i, bus_busy_o, error_o: as in gw_read_stream. Reset: idle.
module gw_bfs_edges
  import gw_kernel_pkg::*;
#(
  /// log2 of the AXI IDs used, at least 2.
  parameter int unsigned IdBits = 4
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        abort_i,
  input  logic        start_i,
  input  addr_t       queue_i,
  input  logic [31:0] count_i,
  input  addr_t       offsets_i,
  input  addr_t       targets_i,
  output logic        busy_o,
  output logic        bus_busy_o,
  output logic        error_o,

  output logic        ar_valid_o,
  input  logic        ar_ready_i,
  output burst_t      ar_o,
  input  logic        r_valid_i,
  input  read_beat_t  r_i,

  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [31:0] out_o
);

  if (IdBits < 2) begin : gen_bad_ids
    $fatal(1, "gw_bfs_edges: three streams need 2 ID bits or more, not %0d", IdBits);
  end

  // Stream 0 is the queue, 1 the offsets, 2 the targets.
  typedef range_t [2:0] ranges_t;
  localparam logic [2:0][5:0] IdBases = {id_t'(2 ** (IdBits - 1)), id_t'(2 ** (IdBits - 2)), id_t'(0)};
  logic [2:0] range_valid, range_ready, beat_valid, beat_ready, stream_busy, stream_error;
  logic [2:0] ar_valid, ar_ready, r_valid;
  burst_t [2:0] ar;
  stream_beat_t [2:0] beat;
  ranges_t range;

  for (genvar s = 0; s < 3; s++) begin : gen_stream
    gw_read_stream #(
      .Slots     (s == 0 ? 4 : 16),
      .BurstBeats(s == 1 ? 2 : 16),
      .Ranges    (s == 0 ? 4 : 16),
      .IdBase    (IdBases[s]),
      .IdBits    (s == 2 ? IdBits - 1 : IdBits - 2)
    ) u_read (
      .clk_i,
      .rst_ni,
      .abort_i,
      .busy_o       (stream_busy[s]),
      .error_o      (stream_error[s]),
      .range_valid_i(range_valid[s]),
      .range_ready_o(range_ready[s]),
      .range_i      (range[s]),
      .ar_valid_o   (ar_valid[s]),
      .ar_ready_i   (ar_ready[s]),
      .ar_o         (ar[s]),
      .r_valid_i    (r_valid[s]),
      .r_i,
      .out_valid_o  (beat_valid[s]),
      .out_ready_i  (beat_ready[s]),
      .out_o        (beat[s])
    );
  end

  // ---- One port: queue and offsets, then these and targets
  logic pair_valid, pair_ready, pair_r_valid;
  burst_t pair;

  gw_read_mux #(
    .SelBit(IdBits - 2)
  ) u_pair_mux (
    .clk_i,
    .rst_ni,
    .ar_valid_i(ar_valid[1:0]),
    .ar_ready_o(ar_ready[1:0]),
    .ar_i      (ar[1:0]),
    .ar_valid_o(pair_valid),
    .ar_ready_i(pair_ready),
    .ar_o      (pair),
    .r_valid_i (pair_r_valid),
    .r_id_i    (r_i.id),
    .r_valid_o (r_valid[1:0])
  );

  gw_read_mux #(
    .SelBit(IdBits - 1)
  ) u_mux (
    .clk_i,
    .rst_ni,
    .ar_valid_i({ar_valid[2], pair_valid}),
    .ar_ready_o({ar_ready[2], pair_ready}),
    .ar_i      ({ar[2], pair}),
    .ar_valid_o,
    .ar_ready_i,
    .ar_o,
    .r_valid_i,
    .r_id_i    (r_i.id),
    .r_valid_o ({r_valid[2], pair_r_valid})
  );

  // ---- A level
  logic asking_q;
  logic [31:0] left_q;  // vertices whose last target is not taken

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      asking_q <= 1'b0;
      left_q <= '0;
    end else if (abort_i) begin
      asking_q <= 1'b0;
      left_q <= '0;
    end else begin
      if (start_i) asking_q <= 1'b1;
      else if (range_ready[0]) asking_q <= 1'b0;
      if (start_i) left_q <= count_i;
      else if (beat_valid[2] && beat_ready[2] && beat[2].last) left_q <= left_q - 1'b1;
    end
  end

  assign busy_o = start_i || left_q != '0;
  assign bus_busy_o = stream_busy != '0;
  assign error_o = stream_error != '0;
  assign range_valid[0] = asking_q;
  assign range[0] = '{addr: queue_i, bytes: 64'(count_i) << 2};

  // ---- Vertex of the queue to its offsets, offsets to targets
  logic [1:0] word_ends;
  logic [1:0][3:0] word_q;  // of the queue's beat, of the targets'
  logic [1:0][4:0] words;
  logic [31:0] vertex, first, behind;

  assign words = {beat[2].bytes[6:2], beat[0].bytes[6:2]};
  for (genvar w = 0; w < 2; w++) begin : gen_word
    logic step;
    assign word_ends[w] = 5'(word_q[w]) + 1'b1 >= words[w];
    assign step = w == 0 ? range_valid[1] && range_ready[1] : out_valid_o && out_ready_i;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) word_q[w] <= '0;
      else if (abort_i) word_q[w] <= '0;
      else if (step) word_q[w] <= word_ends[w] ? '0 : word_q[w] + 1'b1;
    end
  end

  assign vertex = beat[0].data[32*word_q[0]+:32];
  assign range_valid[1] = beat_valid[0];
  assign beat_ready[0] = range_ready[1] && word_ends[0];
  assign range[1] = '{addr: offsets_i + (64'(vertex) << 2), bytes: 64'd8};

  assign first = beat[1].data[31:0];
  assign behind = beat[1].data[63:32];
  assign range_valid[2] = beat_valid[1];
  assign beat_ready[1] = range_ready[2];
  assign range[2] = '{addr: targets_i + (64'(first) << 2), bytes: behind > first ? 64'(behind - first) << 2 : '0};

  // A vertex without edges gives a beat without words.
  assign out_valid_o = beat_valid[2] && words[1] != '0;
  assign out_o = beat[2].data[32*word_q[1]+:32];
  assign beat_ready[2] = words[1] == '0 || (out_ready_i && word_ends[1]);

  // Words are whole, and every beat of the first two streams is wanted as a whole.
  logic unused;
  assign unused = ^{beat[2].bytes[1:0], beat[0].bytes[1:0], beat[0].last, beat[1].bytes, beat[1].last,
                    beat[1].data[511:64]};

endmodule
