// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// A lane of the page DMA: jobs whose source is one port. Splits them, reads ahead, and offers whole bursts to be written.
//
// Contract
// - A read leaves only with room for all of its data in the buffer, so read data is always taken; a burst is offered to be
//   written only with all of its data there. Nothing a lane has begun waits for anybody else's read or write.
// - Reads have one ID: data comes back in order. Up to `Bursts` are under way.
// - A burst one beat of which came with an error is not written: its data is thrown away, and `drop_o` reports it.
// - write_*: bursts in the order of the reads, for the port that write_host_o names; data_*: their beats, in that order. A
//   burst for the other port is offered only when the beats of all before it are gone, so that ports never wait for each other.
// - kill_i: no further burst is begun, jobs end with an error (gw_dma_split); what is under way goes on to its end.
`include "gw_assert.svh"

module gw_dma_lane #(
  /// Bursts read and not yet written, >= 2.
  parameter int unsigned Bursts = 32,
  /// Beats of the buffer, a power of two, at least two bursts.
  parameter int unsigned BufferLines = 256,
  /// Jobs waiting, >= 1.
  parameter int unsigned Jobs = 16
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 kill_i,
  input  logic                 job_valid_i,
  output logic                 job_ready_o,
  input  gw_pkg::dma_job_t     job_i,
  /// To the scoreboard: a burst was begun, none of the job follows, one was dropped.
  output gw_pkg::dma_done_t    begin_o,
  output gw_pkg::dma_done_t    end_o,
  output gw_pkg::dma_done_t    drop_o,
  /// Reads: address of a line, lines less one.
  output logic                 ar_valid_o,
  input  logic                 ar_ready_i,
  output gw_pkg::dma_line_t    ar_line_o,
  output logic [7:0]           ar_len_o,
  input  logic                 r_valid_i,
  input  logic [511:0]         r_data_i,
  input  logic                 r_fault_i,
  input  logic                 r_last_i,
  /// Writes.
  output logic                 write_valid_o,
  output logic                 write_host_o,
  input  logic                 write_ready_i,
  output gw_pkg::dma_write_t   write_o,
  output logic                 data_valid_o,
  input  logic                 data_ready_i,
  output logic [511:0]         data_o
);

  import gw_pkg::*;

  if (Bursts < 2 || BufferLines < 2 * DmaBurstLines || Jobs < 1) begin : gen_bad_size
    $fatal(1, "gw_dma_lane: Bursts must be at least 2, BufferLines two bursts, Jobs 1");
  end

  localparam int unsigned HostBit = gw_spec_pkg::HostApertureBit - DmaLineShift;
  localparam int unsigned RoomWidth = $clog2(BufferLines + 1);
  typedef logic [RoomWidth-1:0] room_t;

  logic split_valid, split_ready, job_valid, job_ready;
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

  // Reads.
  room_t room_q;
  logic header_ready, header_valid, begin_burst, pop;
  assign split_ready = (!ar_valid_o || ar_ready_i) && header_ready && room_q >= room_t'(DmaBurstLines);
  assign begin_burst = split_valid && split_ready;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ar_valid_o <= 1'b0;
      room_q <= room_t'(BufferLines);
    end else begin
      if (begin_burst) ar_valid_o <= 1'b1;
      else if (ar_ready_i) ar_valid_o <= 1'b0;
      room_q <= room_q - (begin_burst ? room_t'(burst.lines) : '0) + room_t'(pop);
    end
  end

  always_ff @(posedge clk_i) begin
    if (begin_burst) begin
      ar_line_o <= burst.src;
      ar_len_o <= 8'(burst.lines) - 8'd1;
    end
  end

  assign begin_o = '{valid: begin_burst, slot: burst.slot, error: 1'b0};

  // What was read, and what came of it.
  logic header_pop, result_valid, result_ready, bad, bad_q;
  dma_write_t header;
  gw_fifo #(
    .T    (dma_write_t),
    .Depth(Bursts)
  ) u_headers (
    .clk_i,
    .rst_ni,
    .in_valid_i (begin_burst),
    .in_ready_o (header_ready),
    .in_data_i  ('{slot: burst.slot, dst: burst.dst, lines: burst.lines}),
    .out_valid_o(header_valid),
    .out_ready_i(header_pop),
    .out_data_o (header),
    .usage_o    ()
  );

  gw_fifo #(
    .T    (logic),
    .Depth(Bursts)
  ) u_results (
    .clk_i,
    .rst_ni,
    .in_valid_i (r_valid_i && r_last_i),
    .in_ready_o (result_ready),
    .in_data_i  (bad_q || r_fault_i),
    .out_valid_o(result_valid),
    .out_ready_i(header_pop),
    .out_data_o (bad),
    .usage_o    ()
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) bad_q <= 1'b0;
    else if (r_valid_i) bad_q <= !r_last_i && (bad_q || r_fault_i);
  end

  logic beat_valid, beat_ready;
  gw_dma_buffer #(
    .Width(512),
    .Depth(BufferLines)
  ) u_buffer (
    .clk_i,
    .rst_ni,
    .in_valid_i (r_valid_i),
    .in_data_i  (r_data_i),
    .out_valid_o(beat_valid),
    .out_ready_i(beat_ready),
    .out_data_o (data_o)
  );

  // The burst on offer, in registers: header and what came of it.
  dma_write_t offer_q;
  logic offer_valid_q, offer_bad_q, offer_done;
  assign header_pop = result_valid && (!offer_valid_q || offer_done);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) offer_valid_q <= 1'b0;
    else if (header_pop) offer_valid_q <= 1'b1;
    else if (offer_done) offer_valid_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (header_pop) begin
      offer_q <= header;
      offer_bad_q <= bad;
    end
  end

  // Beats of bursts that were taken (or are thrown away), still to come out of the buffer.
  room_t owed_q;
  logic owed_host_q, dropping_q, drop, drop_q, take;
  dma_slot_t drop_slot_q;
  assign write_host_o = offer_q.dst[HostBit];
  assign write_valid_o = offer_valid_q && !offer_bad_q && !dropping_q && (owed_q == '0 || owed_host_q == write_host_o);
  assign write_o = offer_q;
  assign take = write_valid_o && write_ready_i;
  assign drop = offer_valid_q && offer_bad_q && !dropping_q && owed_q == '0;
  assign offer_done = take || drop;
  assign data_valid_o = beat_valid && owed_q != '0 && !dropping_q;
  assign beat_ready = dropping_q || (data_ready_i && owed_q != '0);
  assign pop = beat_valid && beat_ready;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      owed_q <= '0;
      dropping_q <= 1'b0;
      drop_q <= 1'b0;
    end else begin
      owed_q <= owed_q + (offer_done ? room_t'(offer_q.lines) : '0) - room_t'(pop);
      if (drop) dropping_q <= 1'b1;
      else if (owed_q == room_t'(pop)) dropping_q <= 1'b0;
      drop_q <= drop;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) owed_host_q <= write_host_o;
    drop_slot_q <= offer_q.slot;
  end
  assign drop_o = '{valid: drop_q, slot: drop_slot_q, error: 1'b1};

  `GW_INVARIANT(ResultRoom_A, result_ready || !(r_valid_i && r_last_i))
  `GW_INVARIANT(ResultHasHeader_A, header_valid || !result_valid)
  `GW_INVARIANT(RoomBound_A, room_q <= room_t'(BufferLines))
  `GW_INVARIANT(BeatIsOwed_A, !pop || owed_q != '0)
  `GW_ASSERT(ReadStable_A, ar_valid_o && !ar_ready_i |=> ar_valid_o && $stable(ar_line_o) && $stable(ar_len_o))
  `GW_COVER(OtherPortWaits_C, offer_valid_q && !offer_bad_q && owed_q != '0 && owed_host_q != write_host_o)
  `GW_COVER(NoRoom_C, split_valid && room_q < room_t'(DmaBurstLines))
  `GW_COVER(Drop_C, drop)

endmodule
