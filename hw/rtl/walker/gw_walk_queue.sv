// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Queue whose head is a register, so that what is done with it begins at once.
//
// Contract
// - An item put in cycle t is offered in t+1, if it is the first. One in and one out a cycle.
// - Items leave in order. Never full: its user has no more than Depth items.
// - Reset empties it. What waits behind the head is in LUT RAM.
`include "gw_assert.svh"

module gw_walk_queue #(
  /// Type of an item.
  parameter type T = logic [7:0],
  /// Items, 1 or more.
  parameter int unsigned Depth = 4
) (
  input logic clk_i,
  input logic rst_ni,
  input logic in_valid_i,
  input T in_data_i,
  output logic out_valid_o,
  input logic out_ready_i,
  output T out_data_o
);

  localparam int unsigned PtrWidth = (Depth > 1) ? $clog2(Depth) : 1;
  typedef logic [PtrWidth-1:0] ptr_t;

  (* ram_style = "distributed" *) T mem[Depth];
  ptr_t wptr_q, rptr_q;
  // Whether anything is in the memory: Depth - 1 items at most, for then there is a head.
  logic some_q, head_valid_q, load, push, pop;
  T head_q;

  function automatic ptr_t advance(ptr_t ptr);
    return (ptr == ptr_t'(Depth - 1)) ? '0 : ptr + 1'b1;
  endfunction

  assign out_valid_o = head_valid_q;
  assign out_data_o = head_q;
  assign load = !head_valid_q || out_ready_i;
  assign pop = load && some_q;
  assign push = in_valid_i && (!load || some_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
      some_q <= 1'b0;
      head_valid_q <= 1'b0;
    end else begin
      if (push) wptr_q <= advance(wptr_q);
      if (pop) rptr_q <= advance(rptr_q);
      if (push != pop) some_q <= push || advance(rptr_q) != wptr_q;
      if (load) head_valid_q <= some_q || in_valid_i;
    end
  end
  // The next place is written whether or not an item comes: whether it does is known last.
  always_ff @(posedge clk_i) begin
    mem[wptr_q] <= in_data_i;
    if (load) head_q <= some_q ? mem[rptr_q] : in_data_i;
  end

  `GW_INVARIANT(TakesAll_A, !push || pop || (Depth > 1 && (!some_q || advance(wptr_q) != rptr_q)))
  `GW_INVARIANT(HeadFirst_A, !some_q || head_valid_q)
  `GW_COVER(Waits_C, some_q)

endmodule
