// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_group_index against a list of states, for any commands:
//  - find: the block found has the smallest state in the pool that is large enough, and is the lowest with it; without one, none is;
//  - read: the state written last, or the reset's;
//  - each command is answered once, within `Limit` cycles.
// States not above what was asked for are 1 to Top.
module fv_group_index #(
  parameter int unsigned Blocks = 4,
  parameter int unsigned BlockBits = 1,
  parameter int unsigned Limit = 24,
  localparam int unsigned BlockWidth = $clog2(Blocks)
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  input logic                  valid_i,
  input logic [1:0]            op_i,
  input logic [BlockWidth-1:0] block_i,
  input logic [1:0]            state_i,
  input logic [BlockWidth:0]   count_i
);

  import gw_pkg::*;

  localparam logic [1:0] Top = 2'(BlockBits + 1);

  logic past_valid_q = 1'b0;
  logic begun_q, ready, done, found, busy_q;
  group_index_op_e op, op_q;
  logic [BlockWidth-1:0] block, block_q;
  logic [1:0] state_q;
  group_state_t state;
  logic [Blocks-1:0][1:0] states_q;
  logic [7:0] age_q;

  // Nothing is read or written before the first init.
  assign op = begun_q ? group_index_op_e'(op_i) : GroupInit;

  gw_group_index #(
    .Pools    (1),
    .Blocks   (Blocks),
    .BlockBits(BlockBits),
    .GroupBits(1),
    .MapBits  (1)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .valid_i,
    .ready_o(ready),
    .op_i   (op),
    .pool_i (1'b0),
    .block_i,
    .state_i(group_state_t'(state_i)),
    .count_i,
    .done_o (done),
    .found_o(found),
    .block_o(block),
    .state_o(state)
  );

  logic enough, smaller, lower;
  always_comb begin
    enough = 1'b0;
    smaller = 1'b0;
    lower = 1'b0;
    for (int unsigned i = 0; i < Blocks; i++) begin
      if (states_q[i] >= state_q) begin
        enough = 1'b1;
        if (states_q[i] < states_q[block]) smaller = 1'b1;
        if (states_q[i] == states_q[block] && i < 32'(block)) lower = 1'b1;
      end
    end
  end

  always_comb begin
    assume (rst_ni == past_valid_q);
    if (valid_i) begin
      assume (state_i <= Top);
      assume (op != GroupFind || state_i != '0);
      assume (32'(count_i) <= Blocks);
    end
  end

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    begun_q <= rst_ni && (begun_q || (valid_i && ready));
    busy_q <= rst_ni && ((valid_i && ready) || (busy_q && !done));
    age_q <= (rst_ni && busy_q && !done) ? age_q + 1'b1 : '0;
    if (valid_i && ready) begin
      op_q <= op;
      block_q <= block_i;
      state_q <= state_i;
      if (op == GroupWrite) states_q[block_i] <= state_i;
      if (op == GroupInit) for (int unsigned i = 0; i < Blocks; i++) states_q[i] <= (i < 32'(count_i)) ? Top : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      OnceEach_A : assert (!done || busy_q);
      OneAtATime_A : assert (!ready || !busy_q);
      Answered_A : assert (32'(age_q) < Limit);
      if (done && op_q == GroupFind) begin
        FoundIfAny_A : assert (found == enough);
        if (found) begin
          Enough_A : assert (states_q[block] >= state_q);
          Told_A : assert (state == group_state_t'(states_q[block]));
          Smallest_A : assert (!smaller);
          Lowest_A : assert (!lower);
        end
      end
      if (done && op_q == GroupRead) Read_A : assert (state == group_state_t'(states_q[block_q]));
      FoundLast_C : cover (done && op_q == GroupFind && found && block == BlockWidth'(Blocks - 1));
      Emptied_C : cover (done && op_q == GroupFind && !found && states_q != '0);
    end
  end

endmodule
