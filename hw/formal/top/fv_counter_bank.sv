// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_counter_bank, for any of its counters: no event is lost and none is counted twice (what is read is the sum, or
// the maximum, of everything that came before the visit and since the last clear), no adder overflows between two visits, and a
// read is answered within Period + 2 cycles.
module fv_counter_bank #(
  parameter int unsigned NumCounters = 5,
  parameter int unsigned Width = 8,
  parameter int unsigned IncWidth = 3,
  parameter logic [NumCounters-1:0][4:0] IncBits = {5'd3, 5'd1, 5'd2, 5'd1, 5'd3},
  parameter logic [NumCounters-1:0] IsMax = 5'b10000,
  localparam int unsigned IdxWidth = $clog2(NumCounters)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic clear_i,
  input logic [NumCounters-1:0][IncWidth-1:0] inc_i,
  input logic read_i,
  input logic [IdxWidth-1:0] idx_i
);

  localparam int unsigned Period = (NumCounters < 4) ? 4 : NumCounters;

  logic done;
  logic [Width-1:0] value;
  gw_counter_bank #(
    .NumCounters(NumCounters),
    .Width      (Width),
    .IncWidth   (IncWidth),
    .IncBits    (IncBits),
    .IsMax      (IsMax)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .clear_i,
    .inc_i,
    .read_i,
    .idx_i,
    .done_o (done),
    .value_o(value)
  );

  // Any counter: a register that never changes and has no first value.
  logic [IdxWidth-1:0] pick_q;
  always_ff @(posedge clk_i) pick_q <= pick_q;
  always_comb assume (32'(pick_q) < NumCounters);

  // Increments are no wider than said, and a reader waits.
  logic past_valid_q = 1'b0;
  logic read_q, done_q;
  logic [IdxWidth-1:0] idx_q;
  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    read_q <= rst_ni && read_i;
    done_q <= rst_ni && done;
    idx_q <= idx_i;
  end
  always_comb begin
    if (!past_valid_q) assume (!rst_ni);
    for (int unsigned i = 0; i < NumCounters; i++) assume (32'(inc_i[i]) < 2 ** 32'(IncBits[i]));
    assume (32'(idx_i) < NumCounters);
    if (read_q && rst_ni) assume (idx_i == idx_q && read_i == !done_q);
  end

  // What came since the last clear, and what of it came before each of the last two cycles.
  logic [Width-1:0] total_q, total1_q, total2_q, inc;
  logic is_max;
  assign inc = Width'(inc_i[pick_q]);
  assign is_max = IsMax[pick_q];
  logic [2:0] age_q, wait_q;
  logic [1:0] started_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) total_q <= '0;
    else if (is_max) total_q <= (total_q > inc) ? total_q : inc;
    else total_q <= total_q + inc;
    total1_q <= total_q;
    total2_q <= total1_q;
    // Cycles since the visit whose leftovers are pending; before the first one, since reset.
    if (!rst_ni) age_q <= '0;
    else age_q <= (u_dut.slot_q == 3'(pick_q)) ? 3'd1 : age_q + 3'd1;
    if (!rst_ni) started_q <= '0;
    else if (started_q != '1) started_q <= started_q + 2'd1;
    if (!rst_ni || !read_i || done) wait_q <= '0;
    else wait_q <= wait_q + 3'd1;
  end

  // What the bank holds for the counter, wherever it is.
  logic [Width-1:0] held, pending;
  assign pending = Width'(u_dut.pending[pick_q]);
  always_comb begin
    held = u_dut.word[pick_q];
    if (u_dut.fresh[pick_q]) held = '0;
    else if (u_dut.slot1_q == 3'(pick_q) && started_q >= 2'd1) begin
      if (is_max) held = (u_dut.old_q > Width'(u_dut.add_q)) ? u_dut.old_q : Width'(u_dut.add_q);
      else held = u_dut.old_q + Width'(u_dut.add_q);
    end else if (u_dut.slot2_q == 3'(pick_q) && started_q >= 2'd2) held = u_dut.new_q;
  end

  logic [31:0] max_inc;
  assign max_inc = (32'd1 << IncBits[pick_q]) - 32'd1;

  always_ff @(posedge clk_i) begin
    if (rst_ni && past_valid_q) begin
      // Where the scanner is.
      SlotInRange_A : assert (32'(u_dut.slot_q) < Period);
      if (started_q >= 2'd1) Slot1_A : assert (32'(u_dut.slot1_q) == ((u_dut.slot_q == 0) ? Period - 1 : 32'(u_dut.slot_q) - 1));
      if (started_q >= 2'd2) Slot2_A : assert (32'(u_dut.slot2_q) == ((u_dut.slot1_q == 0) ? Period - 1 : 32'(u_dut.slot1_q) - 1));
      Start_A : assert (started_q == '1 || 32'(u_dut.slot_q) == 32'(started_q));
      Age_A : assert (32'(age_q) <= Period);
      if (u_dut.slot_q > 3'(pick_q)) AgeAfter_A : assert (age_q == u_dut.slot_q - 3'(pick_q));
      if (u_dut.slot_q <= 3'(pick_q)) begin
        AgeBefore_A : assert (age_q == u_dut.slot_q - 3'(pick_q) + 3'(Period) || age_q == u_dut.slot_q);
      end
      if (u_dut.slot1_q == 3'(pick_q) && started_q >= 2'd1) MaxOfPick_A : assert (u_dut.max_q == is_max);

      // An adder never overflows between two visits.
      Pending_A : assert (32'(u_dut.pending[pick_q]) <= (is_max ? max_inc : max_inc * 32'(age_q)));
      // Nothing is lost, nothing twice.
      if (is_max) Maximum_A : assert (total_q == ((held > pending) ? held : pending));
      else Sum_A : assert (total_q == held + pending);
      if (is_max) Small_A : assert (32'(total_q) <= max_inc);
      if (is_max && u_dut.slot1_q == 3'(pick_q) && started_q >= 2'd1) OldSmall_A : assert (32'(u_dut.old_q) <= max_inc);
      // What is in the pipeline is of the visit.
      if (u_dut.read1_q && u_dut.slot1_q == 3'(pick_q) && !is_max) OnItsWay_A : assert (u_dut.old_q + Width'(u_dut.add_q) == total1_q);
      if (u_dut.read1_q && u_dut.slot1_q == 3'(pick_q) && is_max) begin
        MaxOnItsWay_A : assert (((u_dut.old_q > Width'(u_dut.add_q)) ? u_dut.old_q : Width'(u_dut.add_q)) == total1_q);
      end
      if (u_dut.read1_q) Asked_A : assert (read_i && idx_i == idx_q && u_dut.slot1_q == 3'(idx_i) && started_q >= 2'd1);
      if (u_dut.read2_q) Answers_A : assert (read_i && u_dut.slot2_q == 3'(idx_i) && started_q >= 2'd2);
      if (done && idx_i == pick_q) Exact_A : assert (value == total2_q);
      // Every read ends.
      Bounded_A : assert (32'(wait_q) <= Period + 1);
      DoneWasAsked_A : assert (!done || read_i);
      if (read_i && !u_dut.read1_q && !u_dut.read2_q) begin
        Waits_A : assert (32'(wait_q) + 32'(idx_i) + ((u_dut.slot_q <= 3'(idx_i)) ? 0 : Period) - 32'(u_dut.slot_q) <= Period - 1);
      end
      if (u_dut.read1_q) Waits1_A : assert (32'(wait_q) <= Period);
      Once_A : assert (!(u_dut.read1_q && u_dut.read2_q));
      Cleared_C : cover (done && idx_i == pick_q && value == 0 && total_q > 3);
      Large_C : cover (done && idx_i == pick_q && value > 20);
      Max_C : cover (done && idx_i == pick_q && is_max && value == 5);
    end
  end

endmodule
