// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Counters in a memory instead of flip-flops: what comes in a cycle is added up in a few bits beside it, and a scanner, which
// visits one counter a cycle, adds those to the counter's word.
//
// Contract
// - `inc_i` is counted in every cycle, for every counter; nothing is lost: between two visits of a counter lie Period cycles,
//   and its adder is as wide as they need at most (asserted here, proven in hw/formal/top/counter_bank.sby).
// - Of a counter in `IsMax` the word is the largest `inc_i` so far.
// - clear_i: every counter is zero in the next cycle; what comes in its cycle is not counted.
// - A read is asked for with `read_i` and `idx_i`, held until `done_o`, at most Period + 2 cycles later. `value_o` is exact
//   as of the visit, which is not before `read_i` is high: it has everything that came in earlier cycles.
// - Counters wrap after 2**Width.
`include "gw_assert.svh"

module gw_counter_bank #(
  /// Counters, 2 to 256.
  parameter int unsigned NumCounters = 16,
  /// Bits of a counter.
  parameter int unsigned Width = 64,
  /// Bits of the widest increment, 1 to 31.
  parameter int unsigned IncWidth = 1,
  /// Bits of each counter's increment, 1 to IncWidth.
  parameter logic [NumCounters-1:0][4:0] IncBits = {NumCounters{5'd1}},
  /// Counters that keep a maximum.
  parameter logic [NumCounters-1:0] IsMax = '0,
  /// Derived.
  localparam int unsigned IdxWidth = $clog2(NumCounters)
) (
  input  logic                                 clk_i,
  input  logic                                 rst_ni,
  input  logic                                 clear_i,
  input  logic [NumCounters-1:0][IncWidth-1:0] inc_i,
  input  logic                                 read_i,
  input  logic [IdxWidth-1:0]                  idx_i,
  output logic                                 done_o,
  output logic [Width-1:0]                     value_o
);

  // A word is written three cycles after it was read for the visit.
  localparam int unsigned Period = (NumCounters < 4) ? 4 : NumCounters;
  localparam int unsigned SlotWidth = $clog2(Period);

  // What can come between two visits.
  function automatic int unsigned pending_bits(int unsigned i);
    return IsMax[i] ? 32'(IncBits[i]) : $clog2(Period * (2 ** 32'(IncBits[i]) - 1) + 1);
  endfunction
  localparam int unsigned PendingWidth = $clog2(Period * (2 ** IncWidth - 1) + 1);

  if (NumCounters < 2 || NumCounters > 256) begin : gen_bad_num_counters
    $fatal(1, "gw_counter_bank: NumCounters must be 2 to 256");
  end
  if (IncWidth < 1 || IncWidth > 20 || PendingWidth > Width) begin : gen_bad_width
    $fatal(1, "gw_counter_bank: IncWidth must be 1 to 20, and Width hold what comes between two visits");
  end

  logic [SlotWidth-1:0] slot_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) slot_q <= '0;
    else slot_q <= (32'(slot_q) == Period - 1) ? '0 : slot_q + SlotWidth'(1);
  end

  // Beside the memory: what came since the last visit, and whether the word counts as zero.
  logic [Period-1:0][PendingWidth-1:0] pending;
  logic [Period-1:0]                   fresh;
  for (genvar i = 0; i < Period; i++) begin : gen_counter
    if (i < NumCounters) begin : gen_used
      localparam int unsigned PendingBits = pending_bits(i);
      logic [PendingBits-1:0] pending_q, kept, total;
      logic fresh_q, visit;
      assign visit = slot_q == SlotWidth'(i);
      assign kept = visit ? '0 : pending_q;
      if (IsMax[i]) begin : gen_max
        assign total = (kept > PendingBits'(inc_i[i])) ? kept : PendingBits'(inc_i[i]);
      end else if (IncBits[i] == 5'd1) begin : gen_pulse
        // One more or none: half adders, which take fewer cells than a carry chain of so few bits.
        logic pulse;
        logic [PendingBits-1:0] carry;
        assign pulse = inc_i[i][0];
        assign carry[0] = pulse;
        for (genvar k = 1; k < PendingBits; k++) begin : gen_carry
          assign carry[k] = pulse && (&kept[k-1:0]);
        end
        assign total = kept ^ carry;
      end else begin : gen_sum
        assign total = kept + PendingBits'(inc_i[i]);
      end
      // With a synchronous reset, which takes no logic beside the adder.
      always_ff @(posedge clk_i) begin
        if (!rst_ni || clear_i) pending_q <= '0;
        else pending_q <= total;
      end
      always_ff @(posedge clk_i) begin
        if (!rst_ni || clear_i) fresh_q <= 1'b1;
        else if (visit) fresh_q <= 1'b0;
      end
      assign pending[i] = PendingWidth'(pending_q);
      assign fresh[i] = fresh_q;
      // The adder holds what comes between two visits, and the increment is no wider than said.
      `GW_ASSERT(NothingLost_A, total >= kept && 32'(inc_i[i]) < 2 ** 32'(IncBits[i]))
    end else begin : gen_unused
      assign pending[i] = '0;
      assign fresh[i] = 1'b0;
    end
  end

  // A visit: read the word, add, write.
  logic [Width-1:0]        word[Period];
  logic [Width-1:0]        old_q, new_q;
  logic [PendingWidth-1:0] add_q;
  logic                    max_q, read1_q, read2_q;
  logic [SlotWidth-1:0]    slot1_q, slot2_q;
  logic [Period-1:0]       is_max;
  assign is_max = Period'(IsMax);

  always_ff @(posedge clk_i) begin
    old_q <= fresh[slot_q] ? '0 : word[slot_q];
    add_q <= pending[slot_q];
    max_q <= is_max[slot_q];
    slot1_q <= slot_q;
    if (max_q) new_q <= (old_q[PendingWidth-1:0] > add_q) ? old_q : Width'(add_q);
    else new_q <= old_q + Width'(add_q);
    slot2_q <= slot1_q;
    word[slot2_q] <= new_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {read2_q, read1_q} <= '0;
    else {read2_q, read1_q} <= {read1_q, read_i && slot_q == SlotWidth'(idx_i)};
  end
  assign done_o = read2_q;
  assign value_o = new_q;

  `GW_ASSERT(ReadInRange_A, !read_i || 32'(idx_i) < NumCounters)

endmodule
