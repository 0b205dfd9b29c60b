// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// stencil: 2D stencil on a picture of bytes, any number of iterations in one run.
//
//   a ──> gw_read_stream ──> gw_stencil_window ──> gw_write_stream ──> b        and back, iteration by iteration
//
// Contract
// - 5 points: (4 c + n + s + w + e + 4) / 8. 9 points: (4 c + 2 (n + s + w + e) + the corners + 8) / 16. Rounded down; the
//   points of the picture's border stay as they are.
// - An iteration begins when everything of the one before is in memory. The result is in `a` after an even number of them,
//   in `b` after an odd one.
// - Throughput: one beat a cycle read and one written, 64 points; each is read once an iteration, two rows are kept.
//   An iteration takes a row and a latency each way more than its beats.
// - status: 3 for arguments out of range (see stencil.toml); then nothing is accessed. After an error both buffers are
//   unspecified.
module stencil
  import gw_kernel_pkg::*;
  import stencil_args_pkg::*;
#(
  `include "gw_hls_params.svh"
) (
  `include "gw_hls_ports.svh"
);

  `include "gw_hls_connect.svh"

  // Beats of the longest row.
  localparam int unsigned RowBeats = 256;
  localparam int unsigned PitchWidth = BeatShift + $clog2(RowBeats) + 1;
  typedef logic [PitchWidth-1:0] pitch_t;

  // ---- Arguments, kept for the run
  logic [31:0] width, height, pitch, points;
  logic bad_args, nine_q;
  pitch_t width_q, pitch_q;
  logic [31:0] height_q;
  addr_t from_q, to_q, bytes_q;

  assign width = args[word(WidthOffset)];
  assign height = args[word(HeightOffset)];
  assign pitch = args[word(PitchOffset)];
  assign points = args[word(PointsOffset)];
  assign bad_args = pitch[BeatShift-1:0] != '0 || pitch < 32'(2 * BeatBytes) || pitch > 32'(RowBeats * BeatBytes) ||
                    width == '0 || width > pitch || height == '0 || (points != 32'd5 && points != 32'd9);

  // ---- Run: an iteration is a range to read and an address to write
  logic work, abort, busy, idle, begin_iteration, read_busy, write_busy, read_error, write_error, range_ready, addr_ready;
  logic range_todo_q, addr_todo_q;
  logic [31:0] left_q;
  status_e status;

  assign busy = read_busy || write_busy;
  assign idle = work && !range_todo_q && !addr_todo_q && !busy;
  assign begin_iteration = idle && left_q != '0;

  always_ff @(posedge ap_clk) begin
    if (start) begin
      nine_q <= points[3];
      width_q <= width[PitchWidth-1:0];
      pitch_q <= pitch[PitchWidth-1:0];
      height_q <= height;
      bytes_q <= 64'(height) * 64'(pitch[PitchWidth-1:0]);
      // Turned round by the first iteration.
      from_q <= args[word(BOffset)+:2];
      to_q <= args[word(AOffset)+:2];
    end else if (begin_iteration) begin
      from_q <= to_q;
      to_q <= from_q;
    end
  end

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) begin
      left_q <= '0;
      range_todo_q <= 1'b0;
      addr_todo_q <= 1'b0;
    end else begin
      if (start) left_q <= args[word(IterationsOffset)];
      else if (begin_iteration) left_q <= left_q - 1'b1;
      range_todo_q <= begin_iteration || (work && range_todo_q && !range_ready);
      addr_todo_q <= begin_iteration || (work && addr_todo_q && !addr_ready);
    end
  end

  gw_kernel_ctrl u_ctrl (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .start_i      (start),
    .bad_args_i   (bad_args),
    .finished_i   (idle && left_q == '0),
    .read_error_i (read_error),
    .write_error_i(write_error),
    .busy_i       (busy),
    .work_o       (work),
    .abort_o      (abort),
    .done_o       (done),
    .status_o     (status)
  );

  // ---- Data
  logic in_valid, in_ready, out_valid, out_ready;
  stream_beat_t in_beat, out_beat;

  gw_read_stream #(
    .IdBits(C_M_AXI_GMEM_ID_WIDTH)
  ) u_read (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .abort_i      (abort),
    .busy_o       (read_busy),
    .error_o      (read_error),
    .range_valid_i(work && range_todo_q),
    .range_ready_o(range_ready),
    .range_i      ('{addr: from_q, bytes: bytes_q}),
    .ar_valid_o   (ar_valid),
    .ar_ready_i   (ar_ready),
    .ar_o         (ar),
    .r_valid_i    (r_valid),
    .r_i          (r),
    .out_valid_o  (in_valid),
    .out_ready_i  (in_ready),
    .out_o        (in_beat)
  );

  gw_stencil_window #(
    .RowBeats(RowBeats)
  ) u_window (
    .clk_i      (ap_clk),
    .rst_ni     (ap_rst_n),
    .clear_i    (abort),
    .start_i    (begin_iteration),
    .nine_i     (nine_q),
    .width_i    (width_q),
    .pitch_i    (pitch_q),
    .height_i   (height_q),
    .in_valid_i (in_valid),
    .in_ready_o (in_ready),
    .in_i       (in_beat.data),
    .out_valid_o(out_valid),
    .out_ready_i(out_ready),
    .out_o      (out_beat)
  );

  gw_write_stream #(
    .IdBits(C_M_AXI_GMEM_ID_WIDTH)
  ) u_write (
    .clk_i       (ap_clk),
    .rst_ni      (ap_rst_n),
    .abort_i     (abort),
    .busy_o      (write_busy),
    .error_o     (write_error),
    .addr_valid_i(work && addr_todo_q),
    .addr_ready_o(addr_ready),
    .addr_i      (to_q),
    .in_valid_i  (out_valid),
    .in_ready_o  (out_ready),
    .in_i        (out_beat),
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
    results[word(StatusOffset)] = status;
  end

  // Every beat is full, and the window counts them.
  logic unused;
  assign unused = ^{in_beat.bytes, in_beat.last};

endmodule
