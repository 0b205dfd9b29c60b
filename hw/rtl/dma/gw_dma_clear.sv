// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The lane of the page DMA for clears: as gw_dma_lane, without a source. Its data is zero and always there.
//
// Contract
// - write_*: bursts in the order of the jobs; offers stay. Beats need no words: whoever writes them puts in zeros.
// - kill_i: no further burst is begun, jobs end with an error.
`include "gw_assert.svh"

module gw_dma_clear #(
  /// Jobs waiting, >= 1.
  parameter int unsigned Jobs = 16
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               kill_i,
  input  logic               job_valid_i,
  output logic               job_ready_o,
  input  gw_pkg::dma_job_t   job_i,
  output gw_pkg::dma_done_t  begin_o,
  output gw_pkg::dma_done_t  end_o,
  output logic               write_valid_o,
  output logic               write_host_o,
  input  logic               write_ready_i,
  output gw_pkg::dma_write_t write_o
);

  import gw_pkg::*;

  logic job_valid, job_ready, split_valid, split_ready;
  dma_job_t job;
  dma_burst_t burst;

  gw_fifo #(
    .T    (dma_job_t),
    .Depth(Jobs)
  ) u_jobs (
    .clk_i,
    .rst_ni,
    .in_valid_i (job_valid_i),
    .in_ready_o (job_ready_o),
    .in_data_i  (job_i),
    .out_valid_o(job_valid),
    .out_ready_i(job_ready),
    .out_data_o (job),
    .usage_o    ()
  );

  gw_dma_split u_split (
    .clk_i,
    .rst_ni,
    .kill_i,
    .job_valid_i  (job_valid),
    .job_ready_o  (job_ready),
    .job_i        (job),
    .burst_valid_o(split_valid),
    .burst_ready_i(split_ready),
    .burst_o      (burst),
    .end_o
  );

  assign begin_o = '{valid: split_valid && split_ready, slot: burst.slot, error: 1'b0};

  gw_slice #(
    .T(dma_write_t)
  ) u_slice (
    .clk_i,
    .rst_ni,
    .in_valid_i  (split_valid),
    .in_ready_o  (split_ready),
    .in_data_i   ('{slot: burst.slot, dst: burst.dst, lines: burst.lines}),
    .cancel_i    (1'b0),
    .out_valid_o (write_valid_o),
    .out_cancel_o(),
    .out_ready_i (write_ready_i),
    .out_data_o  (write_o)
  );

  assign write_host_o = write_o.dst[gw_spec_pkg::HostApertureBit-DmaLineShift];

  logic unused;
  assign unused = ^burst.src;

endmodule
