// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Lookups of a translator channel that are under way: which are of this epoch, and whose answers may be kept.
//
// Contract
// - begin_i: one of `begin_slot_i` begins, with the epoch `stamp_i`; end_i: that of `slot_i` is answered, whatever the answer. A slot has one at
//   a time.
// - epoch_o: of the lookup of `slot_i`. old_o: one that began up to the latest flip_i is left.
// - fresh_o: no pulse_i came since the lookup of `slot_i` began, its own cycle included. It may say no although none came: lookups are told
//   apart by two generations, and the second of two pulses waits until those from before the first are answered. Until then all count as
//   from before it.
// - epoch_o and fresh_o depend on slot_i and registers only.
//
// What is set for all at once is counted, so no bit a slot is a flip-flop.
`include "gw_assert.svh"

module gw_lookups #(
  /// Slots, 2 to 256.
  parameter int unsigned Slots = 64,
  /// Derived.
  localparam int unsigned SlotWidth = $clog2(Slots)
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic                 begin_i,
  input  logic [SlotWidth-1:0] begin_slot_i,
  input  logic                 stamp_i,
  input  logic                 end_i,
  input  logic [SlotWidth-1:0] slot_i,
  output logic                 fresh_o,
  output logic                 epoch_o,
  /// Invalidation.
  input  logic flip_i,
  input  logic pulse_i,
  input  logic epoch_i,
  output logic old_o
);

  typedef logic [SlotWidth:0] count_t;
  typedef struct packed {
    logic generation;
    logic epoch;
  } stamp_t;

  stamp_t stamp_mem[Slots], stamp;
  logic generation_q, waits_q, turn;
  count_t all_q, all_d, old_q, stale_q;
  assign stamp = stamp_mem[slot_i];
  assign fresh_o = !waits_q && stamp.generation == generation_q;
  assign epoch_o = stamp.epoch;
  assign old_o = old_q != '0;
  assign all_d = all_q + count_t'(begin_i) - count_t'(end_i);
  assign turn = (pulse_i || waits_q) && stale_q == '0;

  always_ff @(posedge clk_i) begin
    if (begin_i) stamp_mem[begin_slot_i] <= '{generation: generation_q, epoch: stamp_i};
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      all_q <= '0;
      old_q <= '0;
      stale_q <= '0;
      generation_q <= 1'b0;
      waits_q <= 1'b0;
    end else begin
      all_q <= all_d;
      old_q <= flip_i ? all_d : old_q - count_t'(end_i && stamp.epoch != epoch_i);
      stale_q <= turn ? all_d : stale_q - count_t'(end_i && stamp.generation != generation_q);
      generation_q <= generation_q ^ turn;
      waits_q <= (pulse_i || waits_q) && !turn;
    end
  end

  `GW_INVARIANT(Counts_A, all_q <= count_t'(Slots) && old_q <= all_q && stale_q <= all_q)
  `GW_INVARIANT(EndOfOne_A, !end_i || all_q != '0)
  `GW_INVARIANT(TurnOfNone_A, !flip_i || old_q == '0)
  `GW_COVER(SecondPulseWaits_C, pulse_i && !turn)

endmodule
