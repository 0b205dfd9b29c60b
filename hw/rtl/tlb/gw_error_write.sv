// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Answers faulted writes: one B with SLVERR, when its data was swallowed and every earlier write of
// its ID is answered.
//
// Contract
// - A faulted write is registered; in the next cycle the number of earlier writes of its ID at the memory is asked for
//   (query_id_o, in_earlier_i) and kept with it.
// - The memory's answers count it down. AXI orders answers within an ID, so at zero it is this write's turn:
//   block_o then holds back the memory's answer if it is of that ID, and no other. Whose turn it is is a register, and an
//   answer is subtracted in the cycle after it. A write whose count comes as zero has its turn two cycles after it came: no answer of
//   a later one of its ID can come before, and its data is not known to be swallowed before.
// - in_ready_o, a register, is low while `Entries` faulted writes wait: then further ones wait in
//   the address channel.
// - Those whose turn it is are answered in rounds: nobody waits for those that come later, but for one of each entry. Two of an ID are not
//   told apart: they are alike.
// - b_* is a register; it adds one cycle.
`include "gw_assert.svh"

module gw_error_write #(
  parameter int unsigned IdWidth = 4,
  /// Faulted writes waiting for their turn, >= 1.
  parameter int unsigned Entries = 8,
  parameter int unsigned CountWidth = 7,
  /// AXI B channel.
  parameter type b_t = gw_axi_pkg::axi_b_t
) (
  input  logic clk_i,
  input  logic rst_ni,
  /// A faulted write; in the cycle after, how many writes of its ID were at the memory.
  input  logic                  in_valid_i,
  output logic                  in_ready_o,
  input  logic [IdWidth-1:0]    in_id_i,
  output logic [IdWidth-1:0]    query_id_o,
  input  logic [CountWidth-1:0] in_earlier_i,
  /// The data of the oldest faulted write that still had some is swallowed; from the cycle after it came.
  input  logic swallowed_i,
  /// Memory's answers: one was delivered; the one on offer must wait.
  input  logic               mem_done_i,
  input  logic [IdWidth-1:0] mem_id_i,
  output logic               block_o,
  /// Error answers.
  output logic b_valid_o,
  input  logic b_ready_i,
  output b_t   b_o
);

  localparam int unsigned IndexWidth = (Entries > 1) ? $clog2(Entries) : 1;
  localparam int unsigned FillWidth = $clog2(Entries + 1);
  typedef logic [IndexWidth-1:0] index_t;

  typedef struct packed {
    logic                  valid;
    logic                  swallowed;
    logic                  turn;
    logic                  count;    // one more earlier write is answered
    logic [IdWidth-1:0]    id;
    logic [CountWidth-1:0] earlier;
  } entry_t;

  entry_t [Entries-1:0] entries_q, entries_d;
  logic [Entries-1:0] mine, turn, eligible, round_q, round, pick, place, swallows;
  logic pop, out_valid_q;
  logic [IdWidth-1:0] out_id_q;

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // Those that come: registered, then kept in any free entry.
  //////////////////////////////////////////////////////////////////////////////////////////////////
  // any_q: with nothing held there is nothing to compare: in simulation the loops below are the work of this block.
  logic take, came_q, in_count, any_q, full_q;
  logic [IdWidth-1:0] came_id_q;
  logic [FillWidth-1:0] fill_q, fill_d;
  assign take = in_valid_i && in_ready_o;
  assign fill_d = fill_q + FillWidth'(take) - FillWidth'(pop);
  assign query_id_o = came_id_q;
  assign in_ready_o = !full_q;
  assign in_count = mem_done_i && mem_id_i == came_id_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      came_q <= 1'b0;
      fill_q <= '0;
      any_q <= 1'b0;
      full_q <= 1'b0;
    end else begin
      came_q <= take;
      fill_q <= fill_d;
      any_q <= fill_d != '0;
      full_q <= fill_d == FillWidth'(Entries);
    end
  end
  always_ff @(posedge clk_i) begin
    came_id_q <= in_id_i;
  end

  function automatic logic [Entries-1:0] lowest(logic [Entries-1:0] set);
    return set & (~set + 1'b1);
  endfunction
  function automatic index_t encode(logic [Entries-1:0] onehot);
    index_t index;
    index = '0;
    for (int unsigned i = 0; i < Entries; i++) if (onehot[i]) index |= index_t'(i);
    return index;
  endfunction

  // Data comes in the order of the addresses.
  logic swallowed_q, swallow_some, swallow_room;
  index_t swallow_index;
  logic [Entries-1:0] free;
  for (genvar i = 0; i < Entries; i++) begin : gen_free
    assign free[i] = !entries_q[i].valid;
  end
  assign place = came_q ? lowest(free) : '0;
  gw_fifo #(
    .T    (index_t),
    .Depth(Entries)
  ) u_order (
    .clk_i,
    .rst_ni,
    .in_valid_i (came_q),
    .in_ready_o (swallow_room),
    .in_data_i  (encode(lowest(free))),
    .out_valid_o(swallow_some),
    .out_ready_i(swallowed_q),
    .out_data_o (swallow_index),
    .usage_o    ()
  );
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) swallowed_q <= 1'b0;
    else swallowed_q <= swallowed_i;
  end

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // Whose turn it is.
  //////////////////////////////////////////////////////////////////////////////////////////////////

  always_comb begin
    mine = '0;
    turn = '0;
    eligible = '0;
    swallows = '0;
    if (any_q) begin
      for (int unsigned i = 0; i < Entries; i++) begin
        mine[i] = entries_q[i].id == mem_id_i;
        turn[i] = entries_q[i].turn;
        eligible[i] = entries_q[i].turn && entries_q[i].swallowed;
        swallows[i] = swallowed_q && swallow_index == index_t'(i);
      end
    end
  end
  assign block_o = |(mine & turn) || (out_valid_q && out_id_q == mem_id_i);

  assign round = (|round_q) ? round_q : eligible;
  assign pick = lowest(round);
  assign pop = |eligible && (!out_valid_q || b_ready_i);

  always_comb begin
    entries_d = entries_q;
    if (any_q) begin
      for (int unsigned i = 0; i < Entries; i++) begin
        entries_d[i].earlier = entries_q[i].earlier - CountWidth'(entries_q[i].count);
        entries_d[i].count = mem_done_i && mine[i];
        entries_d[i].turn = entries_q[i].turn || entries_d[i].earlier == CountWidth'(entries_d[i].count);
        entries_d[i].swallowed = entries_q[i].swallowed || swallows[i];
        if (!entries_q[i].valid || (pop && pick[i])) {entries_d[i].valid, entries_d[i].turn} = '0;
        if (place[i]) begin
          entries_d[i] = '{
            valid: 1'b1,
            swallowed: 1'b0,
            turn: in_earlier_i == CountWidth'(in_count),
            count: in_count,
            id: came_id_q,
            earlier: in_earlier_i
          };
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      entries_q <= '0;
      round_q <= '0;
      out_valid_q <= 1'b0;
      out_id_q <= '0;
    end else begin
      if (any_q) entries_q <= entries_d;
      if (pop) begin
        round_q <= round & ~pick;
        out_valid_q <= 1'b1;
        for (int unsigned i = 0; i < Entries; i++) begin
          if (pick[i]) out_id_q <= entries_q[i].id;
        end
      end else if (b_ready_i) begin
        out_valid_q <= 1'b0;
      end
    end
  end

  assign b_valid_o = out_valid_q;
  assign b_o = '{id: out_id_q, resp: gw_axi_pkg::RespSlvErr};

  `GW_INVARIANT(HasPlace_A, !came_q || |free)
  `GW_INVARIANT(SwallowRoom_A, swallow_room || !came_q)
  `GW_INVARIANT(SwallowedHasEntry_A, !swallowed_q || (swallow_some && |(swallows & ~free)))
  `GW_INVARIANT(RoundIsEligible_A, (round_q & ~eligible) == '0)
  `GW_INVARIANT(TurnKept_A, !(mem_done_i && |(mine & turn)))
  `GW_COVER(OutOfOrder_C, pop && !pick[0])
  `GW_COVER(Full_C, !in_ready_o)

endmodule
