// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// sobel: gradient of a picture of bytes, a byte a cycle, with two ways to access memory.
//
//   src ──> gw_read_stream ──> gw_beat_bytes ──> gw_sobel_window ──> gw_byte_beats ──> gw_write_stream ──> dst
//
// Contract
// - |horizontal| + |vertical| of the 3 x 3 Sobel weights, at most 255; 0 for the points of the picture's border.
// - Early: the picture is one range, so bursts are of 4 KiB and 16 of them are asked for ahead; results are written in
//   bursts of 4 KiB, up to 16 of which wait. Late: every access is one of 64 bytes or what there is of them, 4 reads ahead.
// - Throughput: a byte a cycle, while memory gives it. A picture takes a row and two latencies more than its points.
// - status: 3 for arguments out of range (see sobel.toml); then nothing is accessed. After an error dst is unspecified.
module sobel
  import gw_kernel_pkg::*;
  import sobel_args_pkg::*;
#(
  `include "gw_hls_params.svh"
) (
  `include "gw_hls_ports.svh"
);

  `include "gw_hls_connect.svh"

  localparam int unsigned MaxWidth = 4096;
  localparam int unsigned WidthBits = $clog2(MaxWidth) + 1;
  // Reads of 64 bytes ahead of what the window works on.
  localparam int unsigned LateReads = 4;
  localparam int unsigned CountBits = $clog2(LateReads + 1);

  // Bytes to the end of a beat.
  function automatic byte_count_t to_end(byte_idx_t first);
    return byte_count_t'(BeatBytes) - {1'b0, first};
  endfunction

  // ---- Arguments, kept for the run
  logic [31:0] width, height, late;
  logic bad_args, late_q;
  logic [WidthBits-1:0] width_q;
  logic [31:0] height_q;

  assign width = args[word(WidthOffset)];
  assign height = args[word(HeightOffset)];
  assign late = args[word(LateOffset)];
  assign bad_args = width == '0 || width > MaxWidth || height == '0 || late > 32'd1;

  always_ff @(posedge ap_clk) begin
    if (start) begin
      late_q <= late[0];
      width_q <= width[WidthBits-1:0];
      height_q <= height;
    end
  end

  // ---- Run
  logic work, abort, busy, read_busy, write_busy, read_error, write_error, begin_q, all_out_q;
  status_e status;

  assign busy = read_busy || write_busy;

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) begin_q <= 1'b0;
    else begin_q <= start && !bad_args;
  end

  gw_kernel_ctrl u_ctrl (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .start_i      (start),
    .bad_args_i   (bad_args),
    .finished_i   (all_out_q && !busy),
    .read_error_i (read_error),
    .write_error_i(write_error),
    .busy_i       (busy),
    .work_o       (work),
    .abort_o      (abort),
    .done_o       (done),
    .status_o     (status)
  );

  // ---- What to read next: all of it, or up to the end of a beat when there are not too many ahead
  logic range_valid, range_ready, beat_valid, beat_ready, beat_take;
  addr_t src_q, left_q, src_beat;
  range_t range;
  stream_beat_t beat;
  logic [CountBits-1:0] ahead_q;

  assign range_valid = work && !begin_q && left_q != '0 && (!late_q || ahead_q != CountBits'(LateReads));
  assign src_beat = 64'(to_end(src_q[BeatShift-1:0]));
  assign range = '{addr: src_q, bytes: late_q && left_q > src_beat ? src_beat : left_q};
  assign beat_take = beat_valid && beat_ready;

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) begin
      left_q <= '0;
      ahead_q <= '0;
    end else if (start || abort) begin
      left_q <= '0;
      ahead_q <= '0;
    end else begin
      if (begin_q) left_q <= 64'(width_q) * 64'(height_q);
      else if (range_valid && range_ready) left_q <= left_q - range.bytes;
      // A late range is one beat.
      if (late_q) ahead_q <= ahead_q + CountBits'(range_valid && range_ready) - CountBits'(beat_take);
    end
  end

  always_ff @(posedge ap_clk) begin
    if (start) src_q <= args[word(SrcOffset)+:2];
    else if (range_valid && range_ready) src_q <= src_q + range.bytes;
  end

  gw_read_stream #(
    .IdBits(C_M_AXI_GMEM_ID_WIDTH)
  ) u_read (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .abort_i      (abort),
    .busy_o       (read_busy),
    .error_o      (read_error),
    .range_valid_i(range_valid),
    .range_ready_o(range_ready),
    .range_i      (range),
    .ar_valid_o   (ar_valid),
    .ar_ready_i   (ar_ready),
    .ar_o         (ar),
    .r_valid_i    (r_valid),
    .r_i          (r),
    .out_valid_o  (beat_valid),
    .out_ready_i  (beat_ready),
    .out_o        (beat)
  );

  // ---- Bytes
  logic in_valid, in_ready, out_valid, out_ready, out_last;
  logic [7:0] in_point, out_point;

  gw_beat_bytes u_bytes (
    .clk_i      (ap_clk),
    .rst_ni     (ap_rst_n),
    .clear_i    (abort),
    .in_valid_i (beat_valid),
    .in_ready_o (beat_ready),
    .in_i       (beat),
    .out_valid_o(in_valid),
    .out_ready_i(in_ready),
    .out_o      (in_point)
  );

  gw_sobel_window #(
    .MaxWidth(MaxWidth)
  ) u_window (
    .clk_i      (ap_clk),
    .rst_ni     (ap_rst_n),
    .clear_i    (abort),
    .start_i    (begin_q),
    .width_i    (width_q),
    .height_i   (height_q),
    .in_valid_i (in_valid),
    .in_ready_o (in_ready),
    .in_i       (in_point),
    .out_valid_o(out_valid),
    .out_ready_i(out_ready),
    .out_o      (out_point),
    .out_last_o (out_last)
  );

  // ---- Where results go: one address for all, or one a beat
  logic packed_valid, packed_take, write_ready, addr_todo_q, addr_ready;
  addr_t dst_q;
  stream_beat_t packed_beat, write_beat;

  gw_byte_beats u_beats (
    .clk_i      (ap_clk),
    .rst_ni     (ap_rst_n),
    .clear_i    (abort),
    .start_i    (begin_q),
    .first_i    (late_q ? to_end(dst_q[BeatShift-1:0]) : byte_count_t'(BeatBytes)),
    .in_valid_i (out_valid),
    .in_ready_o (out_ready),
    .in_i       (out_point),
    .in_last_i  (out_last),
    .out_valid_o(packed_valid),
    .out_ready_i(write_ready),
    .out_o      (packed_beat)
  );

  assign packed_take = packed_valid && write_ready;

  always_comb begin
    write_beat = packed_beat;
    write_beat.last = late_q || packed_beat.last;
  end

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) begin
      addr_todo_q <= 1'b0;
      all_out_q <= 1'b0;
    end else if (!work) begin
      addr_todo_q <= 1'b0;
      all_out_q <= 1'b0;
    end else begin
      addr_todo_q <= begin_q || (addr_todo_q && !addr_ready) || (late_q && packed_take && !packed_beat.last);
      all_out_q <= all_out_q || (packed_take && packed_beat.last);
    end
  end

  always_ff @(posedge ap_clk) begin
    if (start) dst_q <= args[word(DstOffset)+:2];
    else if (packed_take) dst_q <= dst_q + 64'(packed_beat.bytes);
  end

  // As far behind as reads are ahead, 16 pages, so that a page that is away holds up neither.
  gw_write_stream #(
    .BufferBeats(1024),
    .IdBits     (C_M_AXI_GMEM_ID_WIDTH)
  ) u_write (
    .clk_i       (ap_clk),
    .rst_ni      (ap_rst_n),
    .abort_i     (abort),
    .busy_o      (write_busy),
    .error_o     (write_error),
    .addr_valid_i(work && addr_todo_q),
    .addr_ready_o(addr_ready),
    .addr_i      (dst_q),
    .in_valid_i  (packed_valid),
    .in_ready_o  (write_ready),
    .in_i        (write_beat),
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

  // Every late range is one beat, and of an early one the bytes are counted.
  logic unused;
  assign unused = beat.last;

endmodule
