// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The one source of invalidation pulses: gathers them from the registers, the context table and the command queue, and tells
// when what came before them has ended everywhere. That is counted in grace periods, as sleepable RCU does: a period
// begins by turning `epoch_o`; what begins from then on carries the new epoch, and the period ends when nothing of the old
// one is left. So pulses without end hold up no end.
//
// Contract
// - A start, or a write of a context, in cycle t is a pulse of scope InvalAll in t+1, always. The heap waits for that cycle only
//   (`heap_ready_o`), a command also for the heap's (`cq_ready_o`); both are pulses in the next cycle. So one pulse a cycle.
// - A period begins when somebody waits for pulses that no period has begun behind, and none runs. So who waits does it for
//   at most two periods, whatever comes meanwhile.
// - epoch_o turns for everybody; port_epoch_o[i] only in a period that concerns the context of port i, or one that the port had
//   since its last turn, because nothing of the others is covered. Who sees its epoch turn in cycle t has `inval_busy_i` high, from t + BusyDelay on at the
//   latest, until nothing is left that began in the other epoch; then it stays low until the next turn.
// - fence_i, heap_fence_i: a fence waits, from its first cycle on until fence_done_o, which says that every pulse up to the cycle before
//   has ended; without any under way it says so at once. Lowered before, the fence is given up.
// - busy_o: from a start, or a write of a context, until the pulse has ended. done_o: one cycle, when a start has.
`include "gw_assert.svh"

module gw_inval_issue #(
  /// Accelerator ports, >= 1.
  parameter int unsigned NumPorts = 1,
  /// Cycles in which `inval_busy_i` may follow a turn of the epoch, 0 to 7.
  parameter int unsigned BusyDelay = 4
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  /// invalidate.start was written.
  input  logic           start_i,
  /// A context is written; it has its new value in the next cycle.
  input  logic           ctx_write_i,
  output logic           busy_o,
  output logic           done_o,
  /// Commands, and the fence that waits.
  input  logic           cq_valid_i,
  output logic           cq_ready_o,
  input  gw_pkg::inval_t cq_inval_i,
  /// The command's pulse stands for all accesses, whatever its scope.
  input  logic           cq_all_i,
  input  logic           fence_i,
  output logic           fence_done_o,
  /// What the heap takes back, and its fence.
  input  logic           heap_valid_i,
  output logic           heap_ready_o,
  input  gw_pkg::inval_t heap_inval_i,
  input  logic           heap_fence_i,
  output logic           heap_fence_done_o,
  /// To all levels, and from them.
  output logic           inval_valid_o,
  output gw_pkg::inval_t inval_o,
  output logic           epoch_o,
  output logic [NumPorts-1:0]            port_epoch_o,
  input  gw_pkg::ctx_id_t [NumPorts-1:0] port_ctx_i,
  input  logic           inval_busy_i
);

  if (NumPorts < 1) begin : gen_bad_num_ports
    $fatal(1, "gw_inval_issue: NumPorts must be at least 1");
  end
  if (BusyDelay > 7) begin : gen_bad_busy_delay
    $fatal(1, "gw_inval_issue: BusyDelay must be 0 to 7");
  end

  logic everything;
  assign everything = start_i || ctx_write_i;
  assign heap_ready_o = !everything;
  assign cq_ready_o = !everything && !heap_valid_i;
  logic some_valid;
  gw_pkg::inval_t some_inval;
  assign some_valid = heap_valid_i || cq_valid_i;
  assign some_inval = heap_valid_i ? heap_inval_i : cq_inval_i;

  // Pulses.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) inval_valid_o <= 1'b0;
    else inval_valid_o <= everything || some_valid;
  end
  always_ff @(posedge clk_i) begin
    inval_o <= everything ? '{scope: gw_pkg::InvalAll, default: '0} : some_inval;
  end

  // What the next period is for. A pulse is counted from the cycle in which it is out.
  logic next_q, next_all_q, pulse_all, turn;
  gw_pkg::ctx_id_t next_ctx_q, pulse_ctx;
  assign pulse_all = everything || (!heap_valid_i && cq_all_i) || some_inval.scope == gw_pkg::InvalAll;
  assign pulse_ctx = some_inval.ctx;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      next_q <= 1'b0;
      next_all_q <= 1'b0;
      next_ctx_q <= '0;
    end else if (everything || some_valid) begin
      next_q <= 1'b1;
      next_all_q <= pulse_all || (next_q && !turn && (next_all_q || next_ctx_q != pulse_ctx));
      next_ctx_q <= pulse_ctx;
    end else if (turn) begin
      next_q <= 1'b0;
    end
  end

  // Periods: the turn is seen in the cycle after it, and busy a register later.
  logic period_q, period_d, period_end, busy_q;
  logic [1:0] fence, fence_seen_q, fence_done, fence_waits;  // of commands, of the heap
  logic [1:0][1:0] fence_q, fence_d;
  logic [1:0] waits_q, waits_d, wanted_q, wanted_d, behind_pulse;
  logic [3:0] wait_q;
  logic [NumPorts-1:0] mixed_q;
  assign period_end = period_q && wait_q == '0 && !busy_q;
  assign turn = next_q && (!period_q || period_end) && (waits_q != '0 || fence_waits != '0);
  assign fence = {heap_fence_i, fence_i};
  always_comb for (int unsigned f = 0; f < 2; f++) fence_waits[f] = fence[f] && !(fence_seen_q[f] && fence_q[f] == '0);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      period_q <= 1'b0;
      wait_q <= '0;
      busy_q <= 1'b0;
      epoch_o <= 1'b0;
      port_epoch_o <= '0;
    end else begin
      busy_q <= inval_busy_i;
      period_q <= period_d;
      if (turn) wait_q <= 4'(BusyDelay + 1);
      else if (wait_q != '0) wait_q <= wait_q - 1'b1;
      epoch_o <= epoch_o ^ turn;
      for (int unsigned i = 0; i < NumPorts; i++) begin
        port_epoch_o[i] <= port_epoch_o[i] ^ (turn && (next_all_q || mixed_q[i] || next_ctx_q == port_ctx_i[i]));
      end
    end
  end

  // Ports with accesses under way that may be of a context they had before. Who sees the new context late begins some more.
  for (genvar i = 0; i < NumPorts; i++) begin : gen_mixed
    gw_pkg::ctx_id_t ctx_q;
    logic [3:0] late_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        ctx_q <= '0;
        late_q <= '0;
        mixed_q[i] <= 1'b0;
      end else begin
        ctx_q <= port_ctx_i[i];
        if (ctx_q != port_ctx_i[i]) begin
          late_q <= 4'(BusyDelay + 1);
          mixed_q[i] <= 1'b1;
        end else if (late_q != '0) begin
          late_q <= late_q - 1'b1;
        end else if (turn) begin
          mixed_q[i] <= 1'b0;
        end
      end
    end
  end

  // Who waits: for the end of so many periods, the one that runs included.
  assign period_d = turn || (period_q && !period_end);
  // A pulse of the next cycle.
  assign behind_pulse = 2'd1 + 2'(period_d);

  always_comb begin
    for (int unsigned f = 0; f < 2; f++) begin
      fence_d[f] = fence_seen_q[f] ? fence_q[f] : 2'(next_q) + 2'(period_q);
      if (period_end && fence_d[f] != '0) fence_d[f] -= 2'd1;
      fence_done[f] = fence[f] && fence_d[f] == '0;
    end
    waits_d = waits_q;
    wanted_d = wanted_q;
    if (period_end) begin
      if (waits_d != '0) waits_d -= 2'd1;
      if (wanted_d != '0) wanted_d -= 2'd1;
    end
    if (everything) waits_d = behind_pulse;
    if (start_i) wanted_d = behind_pulse;
  end
  assign {heap_fence_done_o, fence_done_o} = fence_done;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fence_seen_q <= '0;
      fence_q <= '0;
      waits_q <= '0;
      wanted_q <= '0;
    end else begin
      fence_seen_q <= fence & ~fence_done;
      fence_q <= fence_d;
      waits_q <= waits_d;
      wanted_q <= wanted_d;
    end
  end
  assign busy_o = everything || waits_q != '0;
  assign done_o = wanted_q == 2'd1 && period_end && !start_i;

  `GW_INVARIANT(WaitsInPeriod_A, waits_q == '0 || period_q || next_q)
  `GW_INVARIANT(FenceInPeriod_A, !fence_seen_q[0] || fence_q[0] == '0 || period_q || next_q)
  `GW_INVARIANT(HeapFenceInPeriod_A, !fence_seen_q[1] || fence_q[1] == '0 || period_q || next_q)
  `GW_COVER(PulseWhileBusy_C, inval_valid_o && inval_busy_i)
  `GW_COVER(CommandWaits_C, cq_valid_i && !cq_ready_o)
  `GW_COVER(FenceWaitsForTwo_C, fence_i && fence_d[0] == 2'd2)

endmodule
