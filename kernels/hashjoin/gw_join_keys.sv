// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Reads a column of keys and gives them one by one, with their row numbers and buckets.
//
//   gw_read_stream ──> one key of the beat ──> bucket
//
// Contract
// - Throughput: one key a cycle. int32 keys are sign-extended. Rows are numbered from 0.
// - busy_o: from start_i until the last key was taken. wide_i, rows_i, addr_i and bucket_bits_i are constant meanwhile.
// - Memory port, error_o, abort_i, bus_busy_o: as in gw_read_stream. Reset: idle.
module gw_join_keys
  import gw_kernel_pkg::*;
  import gw_join_pkg::*;
#(
  /// log2 of the AXI IDs used, from 0 on.
  parameter int unsigned IdBits = 3
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       abort_i,
  input  logic       start_i,
  input  addr_t      addr_i,
  input  row_t       rows_i,
  /// int64 keys.
  input  logic       wide_i,
  input  logic [4:0] bucket_bits_i,
  output logic       busy_o,
  output logic       bus_busy_o,
  output logic       error_o,

  output logic       ar_valid_o,
  input  logic       ar_ready_i,
  output burst_t     ar_o,
  input  logic       r_valid_i,
  input  read_beat_t r_i,

  output logic       out_valid_o,
  input  logic       out_ready_i,
  output entry_t     out_o
);

  // ---- The column, as beats
  logic asking_q, range_ready, beat_valid, beat_ready;
  range_t range;
  stream_beat_t beat;

  assign range = '{addr: addr_i, bytes: wide_i ? {29'b0, rows_i, 3'b0} : {30'b0, rows_i, 2'b0}};

  gw_read_stream #(
    .IdBits(IdBits)
  ) u_read (
    .clk_i,
    .rst_ni,
    .abort_i,
    .busy_o       (bus_busy_o),
    .error_o,
    .range_valid_i(asking_q),
    .range_ready_o(range_ready),
    .range_i      (range),
    .ar_valid_o,
    .ar_ready_i,
    .ar_o,
    .r_valid_i,
    .r_i,
    .out_valid_o  (beat_valid),
    .out_ready_i  (beat_ready),
    .out_o        (beat)
  );

  // ---- One key a cycle
  logic [3:0] index_q;
  logic [4:0] keys;
  logic active_q, key_valid_q, bucket_valid_q, advance, beat_ends;
  row_t row_q, key_row_q;
  logic [63:0] key, key_q;
  entry_t entry_q;
  logic [31:0] narrow;

  assign keys = wide_i ? 5'(beat.bytes[6:3]) : beat.bytes[6:2];
  assign narrow = beat.data[32*index_q+:32];
  assign key = wide_i ? beat.data[64*index_q[2:0]+:64] : {{32{narrow[31]}}, narrow};
  assign advance = !bucket_valid_q || out_ready_i;
  assign beat_ends = 5'(index_q) + 1'b1 >= keys;
  assign beat_ready = advance && beat_ends;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      asking_q <= 1'b0;
      active_q <= 1'b0;
      key_valid_q <= 1'b0;
      bucket_valid_q <= 1'b0;
      index_q <= '0;
    end else if (abort_i) begin
      asking_q <= 1'b0;
      active_q <= 1'b0;
      key_valid_q <= 1'b0;
      bucket_valid_q <= 1'b0;
      index_q <= '0;
    end else begin
      if (start_i) asking_q <= 1'b1;
      else if (range_ready) asking_q <= 1'b0;
      if (start_i) active_q <= 1'b1;
      else if (beat_valid && beat_ready && beat.last) active_q <= 1'b0;
      if (advance) begin
        key_valid_q <= beat_valid && keys != '0;
        bucket_valid_q <= key_valid_q;
        if (beat_valid) index_q <= beat_ends ? '0 : index_q + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) row_q <= '0;
    else if (advance && beat_valid && keys != '0) row_q <= row_q + 1'b1;
    if (advance) begin
      key_q <= key;
      key_row_q <= row_q;
      entry_q <= '{key: key_q, row: key_row_q, bucket: bucket_of(key_q, bucket_bits_i)};
    end
  end

  assign out_valid_o = bucket_valid_q && !abort_i;
  assign out_o = entry_q;
  assign busy_o = start_i || active_q || key_valid_q || bucket_valid_q;

  // A beat has whole keys.
  logic unused;
  assign unused = ^beat.bytes[1:0];

endmodule
