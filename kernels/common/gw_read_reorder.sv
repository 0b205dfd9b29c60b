// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Keeps many read bursts on the bus and gives their beats back in the order of the bursts.
//
// Every burst owns a slot of the buffer from the moment it is offered, so read data is always taken at once and nothing on
// the bus waits for the consumer. Slots go round; slot s uses AXI ID IdBase + s mod 2^IdBits, so that neighbouring bursts
// have different IDs and a slow one (a TLB miss, a page fault) does not hold up those behind it.
//
// Contract
// - Latency: address one cycle after the burst came; data two cycles after the bus brought it. Throughput: one burst and
//   one beat a cycle.
// - Data of different IDs may come in any order and interleaved; data of one ID comes in the order of its bursts.
// - error_o is high in every cycle in which a beat with an error response arrives.
// - abort_i: no new burst is taken and no data comes out; the address that is offered stays until taken. When busy_o is
//   low everything is empty. Reset: empty.
`include "gw_assert.svh"

module gw_read_reorder
  import gw_kernel_pkg::*;
#(
  /// Bursts in flight, a power of two >= 2.
  parameter int unsigned Slots = 16,
  /// Longest burst in beats, a power of two, at least 2 (gw_read_split).
  parameter int unsigned BurstBeats = LongBurst,
  /// First AXI ID.
  parameter id_t IdBase = '0,
  /// log2 of the AXI IDs used; no more than Slots are.
  parameter int unsigned IdBits = 4
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       abort_i,
  /// An address is offered or data is to come.
  output logic       busy_o,
  output logic       error_o,

  input  logic       burst_valid_i,
  output logic       burst_ready_o,
  input  addr_t      burst_addr_i,
  input  len_t       burst_len_i,

  output logic       ar_valid_o,
  input  logic       ar_ready_i,
  output burst_t     ar_o,
  /// Always taken.
  input  logic       r_valid_i,
  input  read_beat_t r_i,

  output logic       data_valid_o,
  input  logic       data_ready_i,
  output data_t      data_o
);

  localparam int unsigned SlotWidth = $clog2(Slots);
  localparam int unsigned IndexWidth = $clog2(BurstBeats);
  // More IDs than slots would never be used.
  localparam int unsigned LaneBits = (IdBits < SlotWidth) ? IdBits : SlotWidth;
  localparam int unsigned Lanes = 2 ** LaneBits;

  if (Slots < 2 || Slots != 2 ** SlotWidth || BurstBeats < 2 || IdBits > $bits(id_t)) begin : gen_bad_params
    $fatal(1, "gw_read_reorder: Slots=%0d BurstBeats=%0d IdBits=%0d", Slots, BurstBeats, IdBits);
  end

  typedef logic [SlotWidth-1:0] slot_t;
  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [IndexWidth:0] count_t;

  function automatic id_t lane_of(slot_t slot);
    return id_t'(slot) & id_t'(Lanes - 1);
  endfunction

  // ---- Slots: head_q takes the next burst, tail_q gives the next data.
  slot_t head_q, tail_q;
  logic [SlotWidth:0] used_q;
  logic [SlotWidth:0] in_flight_q;     // accepted by the bus, last beat not seen
  count_t received_q[Slots];           // beats of the slot in the buffer
  index_t len_q[Slots];                // its beats - 1
  slot_t fill_q[Lanes];                // slot that the next data of an ID belongs to
  index_t read_q;                      // next beat of tail_q
  logic ar_valid_q, data_valid_q;
  burst_t ar_q;
  logic take, issued, load, last_load, drained;

  assign burst_ready_o = !abort_i && used_q != (SlotWidth + 1)'(Slots) && (!ar_valid_q || ar_ready_i);
  assign take = burst_valid_i && burst_ready_o;
  assign issued = ar_valid_q && ar_ready_i;
  assign ar_valid_o = ar_valid_q;
  assign ar_o = ar_q;
  assign busy_o = ar_valid_q || in_flight_q != '0;
  assign drained = abort_i && !busy_o;
  assign error_o = r_valid_i && r_i.error;

  // ---- Data in
  id_t lane;
  slot_t fill;
  assign lane = (r_i.id - IdBase) & id_t'(Lanes - 1);
  if (LaneBits == 0) begin : gen_one_lane
    assign fill = fill_q[0];
  end else begin : gen_lanes
    assign fill = fill_q[lane[LaneBits-1:0]];
  end

  gw_kernel_ram #(
    .Width($bits(data_t)),
    .Depth(Slots * BurstBeats)
  ) u_buffer (
    .clk_i,
    .we_i   (r_valid_i),
    .waddr_i({fill, received_q[fill][IndexWidth-1:0]}),
    .wdata_i(r_i.data),
    .re_i   (load),
    .raddr_i({tail_q, read_q}),
    .rdata_o(data_o)
  );

  // ---- Data out
  assign load = !abort_i && used_q != '0 && {1'b0, read_q} < received_q[tail_q] && (!data_valid_q || data_ready_i);
  assign last_load = load && read_q == len_q[tail_q];
  assign data_valid_o = data_valid_q && !abort_i;

  for (genvar s = 0; s < int'(Slots); s++) begin : gen_slot
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        received_q[s] <= '0;
        len_q[s] <= '0;
      end else if (take && head_q == slot_t'(s)) begin
        received_q[s] <= '0;
        len_q[s] <= index_t'(burst_len_i);
      end else if (r_valid_i && fill == slot_t'(s)) begin
        received_q[s] <= received_q[s] + 1'b1;
      end
    end
  end

  for (genvar l = 0; l < int'(Lanes); l++) begin : gen_lane
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) fill_q[l] <= slot_t'(l);
      else if (drained) fill_q[l] <= slot_t'(l);
      else if (r_valid_i && r_i.last && lane == id_t'(l)) fill_q[l] <= fill_q[l] + slot_t'(Lanes);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_q <= '0;
      tail_q <= '0;
      used_q <= '0;
      read_q <= '0;
      ar_valid_q <= 1'b0;
      data_valid_q <= 1'b0;
      in_flight_q <= '0;
    end else if (drained) begin
      head_q <= '0;
      tail_q <= '0;
      used_q <= '0;
      read_q <= '0;
      data_valid_q <= 1'b0;
    end else begin
      if (take) head_q <= head_q + 1'b1;
      if (last_load) tail_q <= tail_q + 1'b1;
      used_q <= used_q + (SlotWidth + 1)'(take) - (SlotWidth + 1)'(last_load);
      if (load) read_q <= last_load ? '0 : read_q + 1'b1;
      if (take) ar_valid_q <= 1'b1;
      else if (ar_ready_i) ar_valid_q <= 1'b0;
      if (load) data_valid_q <= 1'b1;
      else if (data_ready_i) data_valid_q <= 1'b0;
      in_flight_q <= in_flight_q + (SlotWidth + 1)'(issued)
                     - (SlotWidth + 1)'(r_valid_i && r_i.last);
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) ar_q <= '{id: IdBase | lane_of(head_q), addr: burst_addr_i, len: burst_len_i};
  end

  `GW_INVARIANT(UsedBound_A, used_q <= (SlotWidth + 1)'(Slots) && in_flight_q <= used_q)
  `GW_INVARIANT(DataExpected_A, !r_valid_i || in_flight_q != '0)
  `GW_INVARIANT(LastWhereExpected_A, !r_valid_i || r_i.last == (received_q[fill] == {1'b0, len_q[fill]}))
  `GW_ASSERT(AddressStable_A, ar_valid_o && !ar_ready_i |=> ar_valid_o && $stable(ar_o))
  `GW_COVER(AllSlotsUsed_C, used_q == (SlotWidth + 1)'(Slots))
  `GW_COVER(OutOfOrder_C, r_valid_i && fill != tail_q)

endmodule
