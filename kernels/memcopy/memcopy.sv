// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// memcopy: copies a range of bytes, as often as asked.
//
//   src ──> gw_read_stream ──> gw_write_stream ──> dst
//
// Contract
// - Any number of bytes, any alignment of both. Source and destination must not overlap.
// - Throughput: one beat read and one written a cycle; three cycles between iterations. Copies follow each other without
//   waiting for the responses of the one before.
// - Reads go round all AXI IDs, and so do writes.
// - status: 0, or 1 and 2 after an error; the destination is then written in part.
module memcopy
  import gw_kernel_pkg::*;
  import memcopy_args_pkg::*;
#(
  `include "gw_hls_params.svh"
) (
  `include "gw_hls_ports.svh"
);

  `include "gw_hls_connect.svh"

  // ---- Arguments, kept for the run, and how many copies are still to be given to each side
  range_t src_q;
  addr_t dst_q;
  logic [31:0] reads_left_q, writes_left_q;
  logic work, abort, busy, read_busy, write_busy, read_error, write_error, range_ready, addr_ready;
  status_e status;

  always_ff @(posedge ap_clk) begin
    if (start) begin
      src_q.addr <= args[word(SrcOffset)+:2];
      src_q.bytes <= args[word(BytesOffset)+:2];
      dst_q <= args[word(DstOffset)+:2];
    end
  end

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) begin
      reads_left_q <= '0;
      writes_left_q <= '0;
    end else if (start) begin
      reads_left_q <= args[word(IterationsOffset)];
      writes_left_q <= args[word(IterationsOffset)];
    end else if (abort) begin
      reads_left_q <= '0;
      writes_left_q <= '0;
    end else if (work) begin
      if (reads_left_q != '0 && range_ready) reads_left_q <= reads_left_q - 1'b1;
      if (writes_left_q != '0 && addr_ready) writes_left_q <= writes_left_q - 1'b1;
    end
  end

  assign busy = read_busy || write_busy;

  gw_kernel_ctrl u_ctrl (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .start_i      (start),
    .bad_args_i   (1'b0),
    .finished_i   (reads_left_q == '0 && writes_left_q == '0 && !busy),
    .read_error_i (read_error),
    .write_error_i(write_error),
    .busy_i       (busy),
    .work_o       (work),
    .abort_o      (abort),
    .done_o       (done),
    .status_o     (status)
  );

  // ---- Data
  logic data_valid, data_ready;
  stream_beat_t data;

  gw_read_stream #(
    .IdBits(C_M_AXI_GMEM_ID_WIDTH)
  ) u_read (
    .clk_i        (ap_clk),
    .rst_ni       (ap_rst_n),
    .abort_i      (abort),
    .busy_o       (read_busy),
    .error_o      (read_error),
    .range_valid_i(work && reads_left_q != '0),
    .range_ready_o(range_ready),
    .range_i      (src_q),
    .ar_valid_o   (ar_valid),
    .ar_ready_i   (ar_ready),
    .ar_o         (ar),
    .r_valid_i    (r_valid),
    .r_i          (r),
    .out_valid_o  (data_valid),
    .out_ready_i  (data_ready),
    .out_o        (data)
  );

  gw_write_stream #(
    .IdBits(C_M_AXI_GMEM_ID_WIDTH)
  ) u_write (
    .clk_i       (ap_clk),
    .rst_ni      (ap_rst_n),
    .abort_i     (abort),
    .busy_o      (write_busy),
    .error_o     (write_error),
    .addr_valid_i(work && writes_left_q != '0),
    .addr_ready_o(addr_ready),
    .addr_i      (dst_q),
    .in_valid_i  (data_valid),
    .in_ready_o  (data_ready),
    .in_i        (data),
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

endmodule
