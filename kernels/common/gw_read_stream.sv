// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Reads ranges of bytes over AXI and gives them as a stream of beats: splitter, reorder buffer, aligner.
//
// Contract
// - Ranges are served in order; the next one's bursts go out while the data of the one before still comes. A range without
//   bytes gives one beat with none and `last`. Every range ends with `last`.
// - Throughput: one beat a cycle while the bus gives one; at most Slots bursts on the bus.
// - Read data is always taken at once: the stream never holds the bus.
// - abort_i: see gw_read_reorder; when busy_o is low under abort_i, everything is empty. Reset: empty.
module gw_read_stream
  import gw_kernel_pkg::*;
#(
  /// Bursts in flight, a power of two >= 2.
  parameter int unsigned Slots = 16,
  /// Longest burst in beats, a power of two, at least 2 (gw_read_split).
  parameter int unsigned BurstBeats = LongBurst,
  /// First AXI ID.
  parameter id_t IdBase = '0,
  /// log2 of the AXI IDs used.
  parameter int unsigned IdBits = 4,
  /// Ranges whose data is still to come.
  parameter int unsigned Ranges = 4
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         abort_i,
  output logic         busy_o,
  output logic         error_o,

  input  logic         range_valid_i,
  output logic         range_ready_o,
  input  range_t       range_i,

  output logic         ar_valid_o,
  input  logic         ar_ready_i,
  output burst_t       ar_o,
  input  logic         r_valid_i,
  input  read_beat_t   r_i,

  output logic         out_valid_o,
  input  logic         out_ready_i,
  output stream_beat_t out_o
);

  typedef struct packed {
    byte_idx_t   offset;
    beat_count_t beats;
    byte_count_t tail_bytes;
    logic        same_beats;
  } shape_t;

  // ---- Shape of a range
  logic [64:0] end_offset;  // bytes from the first beat's first to the range's end
  addr_t last_byte;
  beat_count_t in_beats, out_beats;
  shape_t shape, next_shape;
  logic nothing;

  assign nothing = range_i.bytes == '0;
  assign end_offset = {1'b0, range_i.bytes} + 65'(range_i.addr[BeatShift-1:0]);
  assign last_byte = range_i.bytes - 1'b1;
  assign out_beats = nothing ? '0 : {1'b0, last_byte[63:BeatShift]} + 1'b1;
  assign in_beats = nothing ? '0 : end_offset[64:BeatShift] + beat_count_t'(end_offset[BeatShift-1:0] != '0);
  assign shape.offset = range_i.addr[BeatShift-1:0];
  assign shape.beats = in_beats;
  assign shape.tail_bytes = nothing ? '0 : {1'b0, last_byte[BeatShift-1:0]} + 1'b1;
  assign shape.same_beats = out_beats == in_beats;

  // ---- Every range goes to the splitter, and its shape waits for the data. The queue is emptied by the aligner even in an
  // abort: the aligner is kept idle and takes one a cycle.
  logic split_ready, shape_ready, shape_valid, align_ready;
  assign range_ready_o = split_ready && shape_ready && !abort_i;

  logic burst_valid, burst_ready;
  addr_t burst_addr;
  len_t burst_len;

  gw_read_split #(
    .BurstBeats(BurstBeats)
  ) u_split (
    .clk_i,
    .rst_ni,
    .abort_i,
    .range_valid_i(range_valid_i && range_ready_o),
    .range_ready_o(split_ready),
    .addr_i       (range_i.addr),
    .beats_i      (shape.beats),
    .burst_valid_o(burst_valid),
    .burst_ready_i(burst_ready),
    .burst_addr_o (burst_addr),
    .burst_len_o  (burst_len)
  );

  logic [$clog2(Ranges + 1)-1:0] unused_usage;

  gw_fifo #(
    .T    (shape_t),
    .Depth(Ranges)
  ) u_shapes (
    .clk_i,
    .rst_ni,
    .in_valid_i (range_valid_i && range_ready_o),
    .in_ready_o (shape_ready),
    .in_data_i  (shape),
    .out_valid_o(shape_valid),
    .out_ready_i(align_ready || abort_i),
    .out_data_o (next_shape),
    .usage_o    (unused_usage)
  );

  // ---- Data
  logic reorder_busy, data_valid, data_ready;
  data_t data;
  assign busy_o = reorder_busy || shape_valid;

  gw_read_reorder #(
    .Slots     (Slots),
    .BurstBeats(BurstBeats),
    .IdBase    (IdBase),
    .IdBits    (IdBits)
  ) u_reorder (
    .clk_i,
    .rst_ni,
    .abort_i,
    .busy_o       (reorder_busy),
    .error_o,
    .burst_valid_i(burst_valid),
    .burst_ready_o(burst_ready),
    .burst_addr_i (burst_addr),
    .burst_len_i  (burst_len),
    .ar_valid_o,
    .ar_ready_i,
    .ar_o,
    .r_valid_i,
    .r_i,
    .data_valid_o (data_valid),
    .data_ready_i (data_ready),
    .data_o       (data)
  );

  gw_read_align u_align (
    .clk_i,
    .rst_ni,
    .abort_i,
    .range_valid_i(shape_valid),
    .range_ready_o(align_ready),
    .offset_i     (next_shape.offset),
    .beats_i      (next_shape.beats),
    .tail_bytes_i (next_shape.tail_bytes),
    .same_beats_i (next_shape.same_beats),
    .in_valid_i   (data_valid),
    .in_ready_o   (data_ready),
    .in_data_i    (data),
    .out_valid_o,
    .out_ready_i,
    .out_o
  );

endmodule
