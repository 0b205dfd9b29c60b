// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_group_lines with all blocks on chip, against one bit a unit, for any commands; the states that it is given are
// those that it told last:
//  - take: all of the group was free, and is the first of its size in the block;
//  - give: done if all of the group was taken, else refused with nothing changed;
//  - the state told is the block's;
//  - each command is answered once, within `Limit` cycles.
module fv_group_lines #(
  parameter int unsigned Blocks = 2,
  parameter int unsigned BlockBits = 2,
  parameter int unsigned WordBits = 1,
  parameter int unsigned Limit = 28,
  localparam int unsigned BlockWidth = $clog2(Blocks),
  localparam int unsigned Units = 2 ** BlockBits
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  input logic                  valid_i,
  input logic                  give_i,
  input logic [1:0]            order_i,
  input logic [BlockWidth-1:0] block_i,
  input logic [BlockBits-1:0]  unit_i,
  input logic [Blocks-1:0]     free_i
);

  import gw_pkg::*;

  logic past_valid_q = 1'b0;
  logic ready, done, ok, broken, busy_q, give_q;
  logic [BlockWidth-1:0] block_q;
  logic [1:0] order_q;
  logic [BlockBits-1:0] unit, unit_q, first;
  group_state_t state, state_in;
  logic [Blocks-1:0][Units-1:0] free_q;
  logic [Units-1:0] group, was, is_free;
  logic [7:0] age_q;

  // State of a block by its bits.
  function automatic group_state_t state_of(logic [Units-1:0] bits);
    state_of = '0;
    for (int unsigned k = 0; k <= BlockBits; k++) begin
      for (int unsigned g = 0; g < (Units >> k); g++) begin
        if (&(bits >> (g << k) | ~Units'((1 << (1 << k)) - 1))) state_of = group_state_t'(k + 1);
      end
    end
  endfunction

  assign state_in = state_of(free_q[block_i]);

  gw_group_lines #(
    .Pools    (1),
    .Blocks   (Blocks),
    .BlockBits(BlockBits),
    .WordBits (WordBits),
    .Lines    (0)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .base_i  ('0),
    .drop_i  (1'b0),
    .valid_i,
    .ready_o (ready),
    .give_i,
    .order_i (group_order_t'(order_i)),
    .pool_i  (1'b0),
    .block_i,
    .state_i (state_in),
    .unit_i,
    .done_o  (done),
    .ok_o    (ok),
    .unit_o  (unit),
    .state_o (state),
    .broken_o(broken),
    .m_req_o (),
    .m_rsp_i ('0)
  );

  assign first = give_q ? unit_q : unit;
  assign was = free_q[block_q];
  logic earlier;
  always_comb begin
    for (int unsigned i = 0; i < Units; i++) group[i] = (BlockBits'(i) >> order_q) == (first >> order_q);
    is_free = was;
    if (ok) is_free = give_q ? was | group : was & ~group;
    earlier = 1'b0;
    for (int unsigned k = 0; k <= BlockBits; k++) begin
      for (int unsigned g = 0; g < (Units >> k); g++) begin
        if (order_q == 2'(k) && &(was >> (g << k) | ~Units'((1 << (1 << k)) - 1)) && (g << k) < 32'(unit)) earlier = 1'b1;
      end
    end
  end

  always_comb begin
    assume (rst_ni == past_valid_q);
    if (valid_i) begin
      assume (32'(order_i) <= BlockBits);
      assume (give_i || state_in > group_order_t'(order_i));
      assume ((unit_i & ~(BlockBits'('1) << order_i)) == '0);
    end
  end

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    busy_q <= rst_ni && ((valid_i && ready) || (busy_q && !done));
    age_q <= (rst_ni && busy_q && !done) ? age_q + 1'b1 : '0;
    if (valid_i && ready) begin
      give_q <= give_i;
      order_q <= order_i;
      block_q <= block_i;
      unit_q <= unit_i;
    end
    if (!rst_ni) for (int unsigned b = 0; b < Blocks; b++) free_q[b] <= {Units{free_i[b]}};
    else if (done) free_q[block_q] <= is_free;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      OnceEach_A : assert (!done || busy_q);
      OneAtATime_A : assert (!ready || !busy_q);
      Answered_A : assert (32'(age_q) < Limit);
      if (done) begin
        State_A : assert (state == state_of(is_free));
        TakeDone_A : assert (give_q || ok);
        WasFree_A : assert (give_q || (was & group) == group);
        Aligned_A : assert ((first & ~(BlockBits'('1) << order_q)) == '0);
        First_A : assert (give_q || !earlier);
        GiveOnce_A : assert (!give_q || ok == ((was & group) == '0));
      end
      NotBroken_A : assert (!broken);
      TakenLate_C : cover (done && !give_q && order_q == 2'd1 && unit != '0);
      GivenBack_C : cover (done && give_q && ok && order_q == 2'd2);
    end
  end

endmodule
