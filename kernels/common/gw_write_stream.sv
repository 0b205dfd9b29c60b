// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Writes byte streams to memory over AXI: aligner, beat buffer, bursts, responses.
//
// A burst's address goes out only when all its data is in the buffer. So write data never waits for the kernel, and two
// streams that share a port cannot block each other, whatever the kernel waits for.
//
// Contract
// - One address a stream; streams are written in order, the next one's beats are taken while responses of the one before
//   are outstanding. At most MaxBursts bursts on the bus. IDs go round within IdBase .. IdBase + 2^IdBits - 1: writes of
//   one stream may be done in any order.
// - Throughput: one beat a cycle.
// - busy_o: something was taken that is not yet answered. error_o: a response was an error.
// - abort_i: nothing new is taken, bursts whose address was offered are finished with their data, the rest is dropped. When
//   busy_o is low under abort_i, everything is empty. Reset: empty.
`include "gw_assert.svh"

module gw_write_stream
  import gw_kernel_pkg::*;
#(
  /// Beats buffered, a power of two, at least 2 * BurstBeats.
  parameter int unsigned BufferBeats = 4 * LongBurst,
  /// Longest burst in beats, a power of two, at least 2 (gw_write_align).
  parameter int unsigned BurstBeats = LongBurst,
  /// Bursts on the bus.
  parameter int unsigned MaxBursts = 16,
  /// First AXI ID.
  parameter id_t IdBase = '0,
  /// log2 of the AXI IDs used.
  parameter int unsigned IdBits = 4
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         abort_i,
  output logic         busy_o,
  output logic         error_o,

  input  logic         addr_valid_i,
  output logic         addr_ready_o,
  input  addr_t        addr_i,
  input  logic         in_valid_i,
  output logic         in_ready_o,
  input  stream_beat_t in_i,

  output logic         aw_valid_o,
  input  logic         aw_ready_i,
  output burst_t       aw_o,
  output logic         w_valid_o,
  input  logic         w_ready_i,
  output write_beat_t  w_o,
  /// Always taken.
  input  logic         b_valid_i,
  input  write_rsp_t   b_i
);

  localparam int unsigned CountWidth = $clog2(MaxBursts + 1);
  typedef logic [CountWidth-1:0] count_t;
  if (BufferBeats < 2 * BurstBeats || MaxBursts < 1 || IdBits > $bits(id_t)) begin : gen_bad_params
    $fatal(1, "gw_write_stream: BufferBeats=%0d BurstBeats=%0d MaxBursts=%0d", BufferBeats, BurstBeats, MaxBursts);
  end

  typedef struct packed {
    addr_t addr;
    len_t  len;
  } span_t;

  // ---- Stream to aligned beats and bursts
  logic align_busy, beat_valid, beat_ready, span_in_valid, span_in_ready;
  data_t beat_data;
  strb_t beat_strb;
  span_t span_in;

  gw_write_align #(
    .BurstBeats(BurstBeats)
  ) u_align (
    .clk_i,
    .rst_ni,
    .abort_i,
    .busy_o       (align_busy),
    .addr_valid_i,
    .addr_ready_o,
    .addr_i,
    .in_valid_i,
    .in_ready_o,
    .in_i,
    .beat_valid_o (beat_valid),
    .beat_ready_i (beat_ready),
    .beat_data_o  (beat_data),
    .beat_strb_o  (beat_strb),
    .burst_valid_o(span_in_valid),
    .burst_ready_i(span_in_ready),
    .burst_addr_o (span_in.addr),
    .burst_len_o  (span_in.len)
  );

  logic clear, buffer_valid, w_take;
  gw_ram_fifo #(
    .Width($bits(data_t) + $bits(strb_t)),
    .Depth(BufferBeats)
  ) u_buffer (
    .clk_i,
    .rst_ni,
    .clear_i    (clear),
    .in_valid_i (beat_valid && !abort_i),
    .in_ready_o (beat_ready),
    .in_data_i  ({beat_data, beat_strb}),
    .out_valid_o(buffer_valid),
    .out_ready_i(w_take),
    .out_data_o ({w_o.data, w_o.strb})
  );

  // Bursts of a single beat must not hold up the beats behind them, so there is room for a burst a beat on the bus.
  logic span_valid, span_ready;
  count_t unused_spans;
  span_t span;
  gw_fifo #(
    .T    (span_t),
    .Depth(MaxBursts)
  ) u_spans (
    .clk_i,
    .rst_ni,
    .in_valid_i (span_in_valid && !abort_i),
    .in_ready_o (span_in_ready),
    .in_data_i  (span_in),
    .out_valid_o(span_valid),
    .out_ready_i(span_ready || abort_i),
    .out_data_o (span),
    .usage_o    (unused_spans)
  );

  // ---- Address: a register, so that an abort never withdraws it
  logic aw_valid_q, issue;
  burst_t aw_q;
  id_t id_q;
  count_t outstanding_q;  // offered or accepted, not answered

  assign issue = span_valid && span_ready && !abort_i;
  assign span_ready = (!aw_valid_q || aw_ready_i) && outstanding_q != count_t'(MaxBursts);
  assign aw_valid_o = aw_valid_q;
  assign aw_o = aw_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      aw_valid_q <= 1'b0;
      id_q <= '0;
      outstanding_q <= '0;
    end else begin
      if (issue) aw_valid_q <= 1'b1;
      else if (aw_ready_i) aw_valid_q <= 1'b0;
      if (issue) id_q <= (id_q + 1'b1) & id_t'(2 ** IdBits - 1);
      outstanding_q <= outstanding_q + count_t'(issue) - count_t'(b_valid_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (issue) aw_q <= '{id: IdBase | id_q, addr: span.addr, len: span.len};
  end

  // ---- Data follows accepted addresses, in their order
  logic len_valid, len_ready;
  count_t unused_lens;
  len_t len, sent_q;

  gw_fifo #(
    .T    (len_t),
    .Depth(MaxBursts)
  ) u_lens (
    .clk_i,
    .rst_ni,
    .in_valid_i (aw_valid_q && aw_ready_i),
    .in_ready_o (len_ready),
    .in_data_i  (aw_q.len),
    .out_valid_o(len_valid),
    .out_ready_i(w_take && w_o.last),
    .out_data_o (len),
    .usage_o    (unused_lens)
  );

  assign w_valid_o = len_valid && buffer_valid;
  assign w_take = w_valid_o && w_ready_i;
  assign w_o.last = sent_q == len;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) sent_q <= '0;
    else if (w_take) sent_q <= w_o.last ? '0 : sent_q + 1'b1;
  end

  assign error_o = b_valid_i && b_i.error;
  assign busy_o = align_busy || span_valid || outstanding_q != '0;
  assign clear = abort_i && !busy_o;

  // Responses are only counted: any order of IDs will do.
  logic unused;
  assign unused = ^b_i.id;

  // There are never more bursts waiting for data than are outstanding.
  `GW_INVARIANT(LensHaveRoom_A, !aw_valid_q || len_ready)
  `GW_INVARIANT(ResponseExpected_A, !b_valid_i || outstanding_q != '0)
  `GW_INVARIANT(DataIsThere_A, !len_valid || buffer_valid)
  `GW_ASSERT(AddressStable_A, aw_valid_o && !aw_ready_i |=> aw_valid_o && $stable(aw_o))
  `GW_ASSERT(DataStable_A, w_valid_o && !w_ready_i |=> w_valid_o && $stable(w_o))
  `GW_COVER(AllOutstanding_C, outstanding_q == count_t'(MaxBursts))

endmodule
