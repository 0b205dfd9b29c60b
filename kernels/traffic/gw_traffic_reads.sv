// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Read half of the traffic generator: addresses out, data added up, latencies measured.
//
// Contract
// - Throughput: one burst and one beat a cycle. Data is always taken at once.
// - At most plan_i.outstanding bursts in flight; IDs 0 to plan_i.ids - 1 in turn.
// - checksum_o: sum modulo 2^64 of all 64-bit words read since start_i. latency_*_o: cycles from the first cycle in which
//   an address is offered to the first beat of its data; sum and maximum of the bursts since start_i. They are final
//   when busy_o is low.
// - next_valid_o is high for a cycle with the first word of every burst.
// - error_o is high in every cycle in which a beat with an error response arrives. abort_i: nothing new is taken; the
//   address that is offered stays until taken. Reset: nothing in flight.
`include "gw_assert.svh"

module gw_traffic_reads
  import gw_kernel_pkg::*;
  import gw_traffic_pkg::*;
#(
  /// Bits of an AXI ID, 1 to 6.
  parameter int unsigned IdBits = 4
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,
  input  logic        abort_i,
  input  plan_t       plan_i,
  output logic        busy_o,
  output logic        error_o,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  addr_t       in_addr_i,
  output logic        next_valid_o,
  output addr_t       next_o,

  output logic        ar_valid_o,
  input  logic        ar_ready_i,
  output burst_t      ar_o,
  input  logic        r_valid_i,
  input  read_beat_t  r_i,

  output logic [63:0] checksum_o,
  output logic [63:0] latency_sum_o,
  output logic [31:0] latency_max_o,
  /// Bursts that were read.
  output logic [31:0] bursts_o
);

  localparam int unsigned NumIds = 2 ** IdBits;
  localparam int unsigned SlotWidth = $clog2(MaxOutstanding);
  typedef logic [IdBits-1:0] lane_t;
  typedef logic [SlotWidth-1:0] slot_t;
  typedef logic [31:0] time_t;

  // ---- Addresses
  logic ar_valid_q, take;
  burst_t ar_q;
  lane_t id_q;
  logic [6:0] in_flight_q;
  time_t now_q;

  assign in_ready_o = (!ar_valid_q || ar_ready_i) && in_flight_q < plan_i.outstanding && !abort_i;
  assign take = in_valid_i && in_ready_o;
  assign ar_valid_o = ar_valid_q;
  assign ar_o = ar_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ar_valid_q <= 1'b0;
      id_q <= '0;
      in_flight_q <= '0;
      now_q <= '0;
    end else begin
      if (take) ar_valid_q <= 1'b1;
      else if (ar_ready_i) ar_valid_q <= 1'b0;
      if (start_i) id_q <= '0;
      else if (take) id_q <= 7'(id_q) == plan_i.ids - 1'b1 ? '0 : id_q + 1'b1;
      in_flight_q <= in_flight_q + 7'(take) - 7'(r_valid_i && r_i.last);
      now_q <= now_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) ar_q <= '{id: id_t'(id_q), addr: in_addr_i, len: plan_i.len};
  end

  // ---- When each burst was offered, a queue an ID: bursts of one ID are answered in order.
  slot_t [NumIds-1:0] wptr_q, rptr_q;
  logic [NumIds-1:0] inside_q;  // the next beat of this ID is not its burst's first
  lane_t lane;
  logic first, measure_q;
  time_t began, ended_q, latency;

  assign lane = r_i.id[IdBits-1:0];
  assign first = r_valid_i && !inside_q[lane];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
      inside_q <= '0;
      measure_q <= 1'b0;
    end else begin
      if (take) wptr_q[id_q] <= wptr_q[id_q] + 1'b1;
      if (first) rptr_q[lane] <= rptr_q[lane] + 1'b1;
      if (r_valid_i) inside_q[lane] <= !r_i.last;
      measure_q <= first;
    end
  end

  gw_kernel_ram #(
    .Width($bits(time_t)),
    .Depth(NumIds * MaxOutstanding)
  ) u_began (
    .clk_i,
    .we_i   (take),
    .waddr_i({id_q, wptr_q[id_q]}),
    .wdata_i(now_q),
    .re_i   (first),
    .raddr_i({lane, rptr_q[lane]}),
    .rdata_o(began)
  );

  // The address is on the bus one cycle after it was taken.
  assign latency = ended_q - began - 1'b1;

  logic [63:0] latency_sum_q;
  time_t latency_max_q;
  logic [31:0] bursts_q;

  always_ff @(posedge clk_i) begin
    ended_q <= now_q;
    if (start_i) begin
      latency_sum_q <= '0;
      latency_max_q <= '0;
      bursts_q <= '0;
    end else if (measure_q) begin
      latency_sum_q <= latency_sum_q + 64'(latency);
      if (latency > latency_max_q) latency_max_q <= latency;
      bursts_q <= bursts_q + 1'b1;
    end
  end

  // ---- Sum in two stages: groups of four words, the beat
  logic data_valid_q, sums_valid_q;
  data_t data_q;
  logic [1:0][63:0] sums_q;
  logic [63:0] checksum_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      data_valid_q <= 1'b0;
      sums_valid_q <= 1'b0;
    end else begin
      data_valid_q <= r_valid_i;
      sums_valid_q <= data_valid_q;
    end
  end

  always_ff @(posedge clk_i) begin
    data_q <= r_i.data;
    for (int g = 0; g < 2; g++) begin
      sums_q[g] <= data_q[256*g+:64] + data_q[256*g+64+:64] + data_q[256*g+128+:64] + data_q[256*g+192+:64];
    end
    if (start_i) checksum_q <= '0;
    else if (sums_valid_q) checksum_q <= checksum_q + sums_q[0] + sums_q[1];
  end

  assign next_valid_o = first;
  assign next_o = r_i.data[63:0];
  assign error_o = r_valid_i && r_i.error;
  assign busy_o = in_flight_q != '0 || data_valid_q || sums_valid_q || measure_q;
  assign checksum_o = checksum_q;
  assign latency_sum_o = latency_sum_q;
  assign latency_max_o = latency_max_q;
  assign bursts_o = bursts_q;

  // A port with few ID bits has none above them; addresses come from elsewhere.
  logic unused;
  assign unused = ^{r_i.id, plan_i};

  `GW_INVARIANT(InFlightBound_A, in_flight_q <= 7'(MaxOutstanding))
  `GW_INVARIANT(AnswerIsExpected_A, !r_valid_i || in_flight_q != '0)
  `GW_ASSERT(ArStable_A, ar_valid_o && !ar_ready_i |=> ar_valid_o && $stable(ar_o))
  `GW_COVER(OtherIdInside_C, first && (inside_q & ~(NumIds'(1) << lane)) != '0)
  `GW_COVER(Full_C, in_flight_q == 7'(MaxOutstanding))

endmodule
