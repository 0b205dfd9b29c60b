// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Sets the A and D bits of page-table entries (RISC-V Svadu): an AXI4 exclusive read of the entry, a comparison, an exclusive
// write of the same entry with the bits set. Decides nothing about translations: every waiter looks at its entry again after.
//
// Contract
// - Waiters are taken always, and served one after the other, in order. Each leaves by `again_*`, exactly once.
// - An entry is written only if it still is what the waiter saw (`in_pte_i`), by an exclusive write, and nothing but A, and D
//   if `in_dirty_i`, changes in it. So whatever somebody else wrote since is never undone.
// - Without a change the waiter just looks again: the entry was changed meanwhile, or the exclusive write failed.
// - Memory that answers the read without exclusive access, or either with an error, denies the update: the waiter leaves with
//   `denied` set.
// - At most one access is under way. A waiter for the entry updated last leaves without one and is `told` so; coming back, it
//   gets one whatever was done last, for the bits may have been taken away since.
`include "gw_assert.svh"

module gw_walk_update #(
  /// Walks in flight.
  parameter int unsigned Requests = 64,
  /// Who looks, and how: waiter, walked, retry, denied, told.
  parameter type look_t = logic,
  /// Derived: bits of an entry's address.
  localparam int unsigned EntryWidth = gw_pkg::PaWidth - $clog2(gw_spec_pkg::PtEntryBytes)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic in_valid_i,
  input look_t in_look_i,
  input logic [EntryWidth-1:0] in_entry_i,
  input logic [63:0] in_pte_i,
  input logic in_dirty_i,
  output logic again_valid_o,
  input logic again_ready_i,
  output look_t again_o,
  /// Address of both accesses, in entries.
  output logic [EntryWidth-1:0] entry_o,
  output logic ar_valid_o,
  input logic ar_ready_i,
  input logic r_valid_i,
  input logic [63:0] r_data_i,
  input logic [1:0] r_resp_i,
  output logic aw_valid_o,
  input logic aw_ready_i,
  output logic w_valid_o,
  input logic w_ready_i,
  output logic [63:0] w_data_o,
  input logic b_valid_i,
  input logic [1:0] b_resp_i,
  /// An entry was changed, for this waiter.
  output logic event_update_o,
  output logic [$clog2(Requests)-1:0] event_id_o
);

  import gw_axi_pkg::*;
  import gw_spec_pkg::*;

  typedef struct packed {
    look_t look;
    logic [EntryWidth-1:0] entry;
    logic [63:0] pte;
    logic dirty;
  } update_t;

  typedef enum logic [2:0] {
    Idle,
    Read,
    Data,
    Write,
    Answer,
    Again
  } state_e;

  update_t in, head;
  logic head_valid, head_done;
  assign in = '{look: in_look_i, entry: in_entry_i, pte: in_pte_i, dirty: in_dirty_i};

  // Never full: a waiter is here once.
  gw_walk_queue #(
    .T(update_t),
    .Depth(Requests)
  ) u_waiters (
    .clk_i,
    .rst_ni,
    .in_valid_i,
    .in_data_i(in),
    .out_valid_o(head_valid),
    .out_ready_i(head_done),
    .out_data_o(head)
  );

  state_e state_q, state_d;
  logic aw_done_q, w_done_q, denied_q, told_q;
  logic [63:0] wanted;
  assign entry_o = head.entry;
  always_comb begin
    wanted = head.pte;
    wanted[PteA] = 1'b1;
    if (head.dirty) wanted[PteD] = 1'b1;
  end

  // What was done last, as a hint: who asks for no more than that only looks again.
  logic last_valid_q, last_dirty_q, as_last;
  logic [EntryWidth-1:0] last_entry_q;
  assign as_last = last_valid_q && last_entry_q == entry_o && (last_dirty_q || !head.dirty) && !head.look.told;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (head_valid) state_d = as_last ? Again : Read;
      Read: if (ar_ready_i) state_d = Data;
      Data: if (r_valid_i) state_d = (r_resp_i == RespExOkay && r_data_i == head.pte) ? Write : Again;
      Write: if ((aw_done_q || aw_ready_i) && (w_done_q || w_ready_i)) state_d = Answer;
      Answer: if (b_valid_i) state_d = Again;
      Again: if (again_ready_i) state_d = Idle;
      default: state_d = Idle;
    endcase
  end

  assign ar_valid_o = state_q == Read;
  assign aw_valid_o = state_q == Write && !aw_done_q;
  assign w_valid_o = state_q == Write && !w_done_q;
  assign w_data_o = wanted;
  assign again_valid_o = state_q == Again;
  assign head_done = again_valid_o && again_ready_i;
  always_comb begin
    again_o = head.look;
    again_o.retry = 1'b0;
    again_o.denied = denied_q;
    again_o.told = told_q;
  end
  assign event_id_o = head.look.waiter;
  assign event_update_o = state_q == Answer && b_valid_i && b_resp_i == RespExOkay;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      aw_done_q <= 1'b0;
      w_done_q <= 1'b0;
      denied_q <= 1'b0;
      told_q <= 1'b0;
      last_valid_q <= 1'b0;
    end else begin
      state_q <= state_d;
      aw_done_q <= state_q == Write && (aw_done_q || aw_ready_i);
      w_done_q <= state_q == Write && (w_done_q || w_ready_i);
      if (state_q == Idle) begin
        denied_q <= 1'b0;
        told_q <= as_last;
      end
      if (state_q == Data && r_valid_i) denied_q <= r_resp_i != RespExOkay;
      if (state_q == Answer && b_valid_i) denied_q <= b_resp_i[1];
      if (event_update_o) last_valid_q <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (event_update_o) begin
      last_entry_q <= entry_o;
      last_dirty_q <= head.dirty;
    end
  end

  `GW_INVARIANT(OnlySetsBits_A, !w_valid_o || ((w_data_o ^ head.pte) & ~(64'd1 << PteA) & ~(64'd1 << PteD)) == '0)
  `GW_COVER(ChangedMeanwhile_C, state_q == Data && r_valid_i && r_resp_i == RespExOkay && r_data_i != head.pte)
  `GW_COVER(LostReservation_C, state_q == Answer && b_valid_i && b_resp_i == RespOkay)
  `GW_COVER(AsLast_C, state_q == Idle && head_valid && as_last)

endmodule
