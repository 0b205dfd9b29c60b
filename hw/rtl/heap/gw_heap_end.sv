// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Ends a context's heap: frees whatever it still has, kernels' allocations included, waits until that came back, then takes back the
// tables that its slots shared.
//
// Contract
// - One context at a time, taken by start_i && !busy_o; done_o, a pulse, when it has nothing of the heap any more: no allocation, no frame,
//   no table, and no entry in the heap's window. Nobody may allocate in its name meanwhile.
// - One free a slot, through gw_heap_commands like everybody's, so others wait for one at a time.
// - Its own job, of the whole window, waits for those of gw_slots.
`include "gw_assert.svh"

module gw_heap_end #(
  /// As in gw_slots.
  parameter int unsigned Slots = 4096,
  parameter int unsigned SlotOrder = 21,
  parameter int unsigned SmallOrder = 4,
  parameter gw_pkg::vpn_t LargeBase = 45'h4_0000_0000,
  parameter gw_pkg::vpn_t SmallBase = 45'h6_0000_0000,
  /// The window: whole entries of the root.
  parameter gw_pkg::vpn_t First = LargeBase,
  parameter gw_pkg::vpn_t Last = 45'h6_07ff_ffff
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               start_i,
  input  gw_pkg::ctx_id_t    ctx_i,
  output logic               busy_o,
  output logic               done_o,
  output logic               cmd_valid_o,
  input  logic               cmd_ready_i,
  output gw_pkg::heap_cmd_t  cmd_o,
  input  logic               rsp_valid_i,
  /// No job of gw_slots is queued or under way.
  input  logic               idle_i,
  output logic               job_valid_o,
  input  logic               job_ready_i,
  output gw_pkg::heap_job_t  job_o,
  input  logic               job_done_i
);

  import gw_pkg::*;

  localparam int unsigned IndexWidth = $clog2(Slots) + 1;  // {small, slot}

  typedef enum logic [2:0] {
    Idle,
    Free,
    Freed,
    Quiet,
    Offer,
    Tables
  } state_e;
  state_e state_q, state_d;
  ctx_id_t ctx_q;
  logic [IndexWidth-1:0] index_q;
  vpn_t page;
  assign page = index_q[IndexWidth-1] ? SmallBase | vpn_t'(index_q[IndexWidth-2:0]) << SmallOrder
                                      : LargeBase | vpn_t'(index_q[IndexWidth-2:0]) << SlotOrder;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (start_i) state_d = Free;
      Free: if (cmd_ready_i) state_d = Freed;
      Freed: if (rsp_valid_i) state_d = (&index_q) ? Quiet : Free;
      Quiet: if (idle_i) state_d = Offer;
      Offer: if (job_ready_i) state_d = Tables;
      default: if (job_done_i) state_d = Idle;
    endcase
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= Idle;
    else state_q <= state_d;
  end
  always_ff @(posedge clk_i) begin
    if (state_q == Idle) begin
      ctx_q <= ctx_i;
      index_q <= '0;
    end else if (state_q == Freed && rsp_valid_i) begin
      index_q <= index_q + 1'b1;
    end
  end

  assign busy_o = state_q != Idle;
  assign done_o = state_q == Tables && job_done_i;
  assign cmd_valid_o = state_q == Free;
  always_comb begin
    cmd_o = '0;
    cmd_o.op = HeapFree;
    cmd_o.ctx = ctx_q;
    cmd_o.pointer = 64'(page) << PageShift;
  end
  assign job_valid_o = state_q == Offer;
  always_comb begin
    job_o = '0;
    job_o.ctx = ctx_q;
    job_o.first = First;
    job_o.to = Last - First + 1'b1;
  end

  `GW_ASSERT(CommandStable_A, cmd_valid_o && !cmd_ready_i |=> cmd_valid_o && $stable(cmd_o))
  `GW_COVER(Waits_C, state_q == Quiet && !idle_i)

endmodule
