// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Write half of the traffic generator: addresses out, data that follows from the place it is written to.
//
// Contract
// - The 64-bit word at offset o from the plan's base is written as o xor plan_i.seed: whatever the order of writes, memory
//   is the same afterwards.
// - Throughput: one burst and one beat a cycle; data follows accepted addresses, in their order.
// - At most plan_i.outstanding bursts in flight; IDs 0 to plan_i.ids - 1 in turn.
// - error_o: a response was an error. abort_i: nothing new is taken; bursts whose address was offered are finished.
//   Reset: nothing in flight.
`include "gw_assert.svh"

module gw_traffic_writes
  import gw_kernel_pkg::*;
  import gw_traffic_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,
  input  logic        abort_i,
  input  plan_t       plan_i,
  output logic        busy_o,
  output logic        error_o,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  access_t     in_i,

  output logic        aw_valid_o,
  input  logic        aw_ready_i,
  output burst_t      aw_o,
  output logic        w_valid_o,
  input  logic        w_ready_i,
  output write_beat_t w_o,
  input  logic        b_valid_i,
  input  write_rsp_t  b_i
);

  localparam int unsigned CountWidth = $clog2(MaxOutstanding + 1);

  // ---- Addresses
  logic aw_valid_q, take;
  burst_t aw_q;
  addr_t offset_q;
  id_t id_q;
  logic [6:0] in_flight_q;

  assign in_ready_o = (!aw_valid_q || aw_ready_i) && in_flight_q < plan_i.outstanding && !abort_i;
  assign take = in_valid_i && in_ready_o;
  assign aw_valid_o = aw_valid_q;
  assign aw_o = aw_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      aw_valid_q <= 1'b0;
      id_q <= '0;
      in_flight_q <= '0;
    end else begin
      if (take) aw_valid_q <= 1'b1;
      else if (aw_ready_i) aw_valid_q <= 1'b0;
      if (start_i) id_q <= '0;
      else if (take) id_q <= 7'(id_q) == plan_i.ids - 1'b1 ? '0 : id_q + 1'b1;
      in_flight_q <= in_flight_q + 7'(take) - 7'(b_valid_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      aw_q <= '{id: id_q, addr: in_i.addr, len: plan_i.len};
      offset_q <= in_i.offset;
    end
  end

  // ---- Data
  logic offset_valid, offset_ready, beat_last;
  logic [CountWidth-1:0] unused_usage;
  addr_t offset;
  len_t sent_q;

  gw_fifo #(
    .T    (addr_t),
    .Depth(MaxOutstanding)
  ) u_offsets (
    .clk_i,
    .rst_ni,
    .in_valid_i (aw_valid_q && aw_ready_i),
    .in_ready_o (offset_ready),
    .in_data_i  (offset_q),
    .out_valid_o(offset_valid),
    .out_ready_i(w_ready_i && beat_last),
    .out_data_o (offset),
    .usage_o    (unused_usage)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) sent_q <= '0;
    else if (w_valid_o && w_ready_i) sent_q <= beat_last ? '0 : sent_q + 1'b1;
  end

  addr_t beat_offset;
  assign beat_offset = offset + (addr_t'(sent_q) << BeatShift);
  assign beat_last = sent_q == plan_i.len;
  assign w_valid_o = offset_valid;
  for (genvar i = 0; i < 8; i++) begin : gen_word
    assign w_o.data[64*i+:64] = (beat_offset | addr_t'(8 * i)) ^ plan_i.seed;
  end
  assign w_o.strb = '1;
  assign w_o.last = beat_last;

  assign error_o = b_valid_i && b_i.error;
  assign busy_o = in_flight_q != '0;

  // The count of bursts in flight answers for all IDs; addresses come from elsewhere.
  logic unused;
  assign unused = ^{plan_i, b_i.id, in_i.write};

  `GW_INVARIANT(OffsetFits_A, !(aw_valid_q && aw_ready_i) || offset_ready)
  `GW_INVARIANT(InFlightBound_A, in_flight_q <= 7'(MaxOutstanding))
  `GW_INVARIANT(AnswerIsExpected_A, !b_valid_i || in_flight_q != '0)
  `GW_ASSERT(AwStable_A, aw_valid_o && !aw_ready_i |=> aw_valid_o && $stable(aw_o))
  `GW_ASSERT(WStable_A, w_valid_o && !w_ready_i |=> w_valid_o && $stable(w_o))

endmodule
