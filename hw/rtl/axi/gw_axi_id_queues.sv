// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// A queue for each AXI ID, all in one memory: what belongs to the bursts of an ID, in the order of their addresses.
//
// Contract
// - What is pushed in cycle t can be seen as the head of its ID from t+1.
// - `push_ready_o` is about `push_id_i`, head_* about `head_id_i`, both in the same cycle. One push and one pop a cycle.
// - The heads of an ID come in the order of its pushes; other IDs make no difference.
// - Reset empties all queues; the memory itself is not reset, so it maps to LUT RAM.
`include "gw_assert.svh"

module gw_axi_id_queues #(
  /// Type of an item.
  parameter type T = logic [7:0],
  /// Bits of an ID, >= 1.
  parameter int unsigned IdWidth = 1,
  /// Items an ID can have, a power of two, >= 2.
  parameter int unsigned Depth = 16
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               push_valid_i,
  output logic               push_ready_o,
  input  logic [IdWidth-1:0] push_id_i,
  input  T                   push_data_i,
  input  logic [IdWidth-1:0] head_id_i,
  output logic               head_valid_o,
  output T                   head_data_o,
  input  logic               pop_i
);

  if (Depth < 2 || (Depth & (Depth - 1)) != 0) begin : gen_bad_depth
    $fatal(1, "gw_axi_id_queues: Depth must be a power of two, 2 or more");
  end

  localparam int unsigned NumIds = 2 ** IdWidth;
  localparam int unsigned PtrWidth = $clog2(Depth);
  // One bit more than an index, so that full and empty differ.
  typedef logic [PtrWidth:0] ptr_t;

  T mem[NumIds*Depth];
  ptr_t [NumIds-1:0] wptr_q, rptr_q;
  ptr_t push_ptr, head_ptr;
  logic push, pop;

  assign push_ptr = wptr_q[push_id_i];
  assign head_ptr = rptr_q[head_id_i];
  assign push_ready_o = ptr_t'(push_ptr - rptr_q[push_id_i]) != ptr_t'(Depth);
  assign head_valid_o = wptr_q[head_id_i] != head_ptr;
  assign head_data_o = mem[{head_id_i, head_ptr[PtrWidth-1:0]}];
  assign push = push_valid_i && push_ready_o;
  assign pop = pop_i && head_valid_o;

  always_ff @(posedge clk_i) begin
    if (push) mem[{push_id_i, push_ptr[PtrWidth-1:0]}] <= push_data_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
    end else begin
      if (push) wptr_q[push_id_i] <= push_ptr + 1'b1;
      if (pop) rptr_q[head_id_i] <= head_ptr + 1'b1;
    end
  end

  `GW_INVARIANT(PopHasHead_A, !pop_i || head_valid_o)
  `GW_COVER(Full_C, push_valid_i && !push_ready_o)

endmodule
