// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Answers faulted writes: one B with SLVERR, when its data was swallowed and every earlier write of
// its ID is answered.
//
// Contract
// - Each faulted write holds the number of earlier writes of its ID at the memory; the memory's
//   answers count it down. AXI orders answers within an ID, so at zero it is this write's turn:
//   block_o then holds back the memory's answer if it is of that ID, and no other.
// - in_ready_o, a register, is low while `Entries` faulted writes wait: then further ones wait in
//   the address channel.
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
  /// A faulted write, and how many writes of its ID are at the memory.
  input  logic                  in_valid_i,
  output logic                  in_ready_o,
  input  logic [IdWidth-1:0]    in_id_i,
  input  logic [CountWidth-1:0] in_earlier_i,
  /// The data of the oldest faulted write that still had some is swallowed.
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

  typedef struct packed {
    logic                  valid;
    logic                  swallowed;
    logic [IdWidth-1:0]    id;
    logic [CountWidth-1:0] earlier;
  } entry_t;

  // Entry 0 is the oldest; the others follow without gaps.
  entry_t [Entries-1:0] entries_q, updated, entries_d;
  entry_t incoming;
  logic [Entries-1:0] turn, mine, eligible, pick;
  logic pop, out_valid_q, found;
  logic [IdWidth-1:0] out_id_q;

  assign in_ready_o = !entries_q[Entries-1].valid;

  // With nothing held there is nothing to compare: in simulation these loops are the work of this block.
  logic any;
  assign any = entries_q[0].valid;

  always_comb begin
    mine = '0;
    turn = '0;
    eligible = '0;
    if (any) begin
      for (int unsigned i = 0; i < Entries; i++) begin
        mine[i] = entries_q[i].valid && entries_q[i].id == mem_id_i;
        turn[i] = entries_q[i].valid && entries_q[i].earlier == '0;
        eligible[i] = turn[i] && entries_q[i].swallowed;
      end
    end
  end
  assign block_o = |(mine & turn) || (out_valid_q && out_id_q == mem_id_i);

  // Oldest first: for entries of one ID that is their order.
  assign pick = eligible & (~eligible + 1'b1);
  assign pop = |eligible && (!out_valid_q || b_ready_i);

  always_comb begin
    incoming = '{
      valid: in_valid_i && in_ready_o,
      swallowed: 1'b0,
      id: in_id_i,
      earlier: in_earlier_i - CountWidth'(mem_done_i && mem_id_i == in_id_i)
    };
    found = 1'b0;
    updated = entries_q;
    if (any) begin
      for (int unsigned i = 0; i < Entries; i++) begin
        updated[i].earlier = entries_q[i].earlier - CountWidth'(mem_done_i && mine[i]);
        if (swallowed_i && entries_q[i].valid && !entries_q[i].swallowed && !found) begin
          updated[i].swallowed = 1'b1;
          found = 1'b1;
        end
      end
    end
  end

  // Close the gap of the one that leaves, then append.
  logic gone, appended;
  always_comb begin
    entries_d = updated;
    gone = 1'b0;
    if (pop) begin
      for (int unsigned i = 0; i < Entries; i++) begin
        gone |= pick[i];
        if (gone) begin
          if (i + 1 < Entries) entries_d[i] = updated[i+1];
          else entries_d[i].valid = 1'b0;
        end
      end
    end
    appended = 1'b0;
    if (incoming.valid) begin
      for (int unsigned i = 0; i < Entries; i++) begin
        if (!entries_d[i].valid && !appended) begin
          entries_d[i] = incoming;
          appended = 1'b1;
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      entries_q <= '0;
      out_valid_q <= 1'b0;
      out_id_q <= '0;
    end else begin
      if (any || incoming.valid) entries_q <= entries_d;
      if (pop) begin
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

  `GW_INVARIANT(SwallowedHasEntry_A, !swallowed_i || found)
  `GW_INVARIANT(TurnKept_A, !(mem_done_i && |(mine & turn)))
  `GW_COVER(OutOfOrder_C, pop && !pick[0])
  `GW_COVER(Full_C, !in_ready_o)

endmodule
