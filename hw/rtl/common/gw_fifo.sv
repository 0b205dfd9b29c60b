// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// First-in first-out queue with one clock.
//
// Contract
// - Latency: an item put in cycle t can be taken in t+1 (PassThrough = 0), or in t when the queue
//   is empty (PassThrough = 1; then the path from in_valid_i/in_data_i to the output is
//   combinational).
// - Throughput: one item in and one out a cycle for Depth >= 2; one every second cycle for Depth =
//   1 without PassThrough.
// - in_ready_o depends on registered state only: a full queue takes nothing, even while an item
//   leaves.
// - Items leave in the order in which they came; none is lost, invented or changed.
// - Reset empties the queue. The storage itself is not reset, so it maps to LUT RAM.
`include "gw_assert.svh"

module gw_fifo #(
  /// Type of an item.
  parameter type T = logic [7:0],
  /// Items held, >= 1; any number, not only powers of two.
  parameter int unsigned Depth = 4,
  /// Combinational path from input to output while empty.
  parameter bit PassThrough = 1'b0,
  /// Derived: width of the fill level.
  localparam int unsigned UsageWidth = $clog2(Depth + 1)
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic in_valid_i,
  output logic in_ready_o,
  input  T     in_data_i,
  output logic out_valid_o,
  input  logic out_ready_i,
  output T     out_data_o,
  /// Items in the queue, 0 to Depth.
  output logic [UsageWidth-1:0] usage_o
);

  if (Depth < 1) begin : gen_bad_depth
    $fatal(1, "gw_fifo: Depth must be at least 1");
  end

  localparam int unsigned PtrWidth = (Depth > 1) ? $clog2(Depth) : 1;
  typedef logic [PtrWidth-1:0] ptr_t;

  T mem[Depth];
  ptr_t wptr_q, rptr_q;
  logic [UsageWidth-1:0] usage_q;

  // Whether there is any is a register: what is made of it is not later than what is made of the item.
  logic some_q, empty, push, pop;
  assign empty = !some_q;
  assign in_ready_o = usage_q != UsageWidth'(Depth);
  assign usage_o = usage_q;

  if (PassThrough) begin : gen_pass_through
    assign out_valid_o = !empty || in_valid_i;
    assign out_data_o = empty ? in_data_i : mem[rptr_q];
    // An item that goes straight through is never stored.
    assign push = in_valid_i && in_ready_o && !(empty && out_ready_i);
    assign pop = !empty && out_ready_i;
  end else begin : gen_registered
    assign out_valid_o = !empty;
    assign out_data_o = mem[rptr_q];
    assign push = in_valid_i && in_ready_o;
    assign pop = out_valid_o && out_ready_i;
  end

  function automatic ptr_t advance(ptr_t ptr);
    return (ptr == ptr_t'(Depth - 1)) ? '0 : ptr + 1'b1;
  endfunction

  always_ff @(posedge clk_i) begin
    if (push) mem[wptr_q] <= in_data_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
      usage_q <= '0;
      some_q <= 1'b0;
    end else begin
      if (push) wptr_q <= advance(wptr_q);
      if (pop) rptr_q <= advance(rptr_q);
      usage_q <= usage_q + UsageWidth'(push) - UsageWidth'(pop);
      some_q <= push || (some_q && !(pop && usage_q == UsageWidth'(1)));
    end
  end

  `GW_INVARIANT(SomeIsUsed_A, some_q == (usage_q != '0))
  `GW_INVARIANT(UsageBound_A, usage_q <= UsageWidth'(Depth))
  `GW_ASSERT(InputStable_A, in_valid_i && !in_ready_o |=> in_valid_i && $stable(in_data_i))
  `GW_COVER(Full_C, usage_q == UsageWidth'(Depth))

endmodule
