// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Packs lanes of 32 bits: of up to 16 consecutive rows a cycle, those with a mask bit, without gaps, 16 lanes a beat. A lane is
// the row's number or, with Values, what it holds; rows of 64 bits are two lanes.
//
// Contract
// - Row of lane l: base_i | l. base_i is a multiple of 16, or of 8 when lanes 8 to 15 are never selected. With Values base_i is not
//   used, without it data_i.
// - Lanes come out in the order of the rows; every beat but the last is full, and the last may be empty.
// - Latency: two cycles. Throughput: 16 rows in and one beat out a cycle; the last input may take one cycle more.
// - clear_i drops everything in one cycle. Reset: empty.
`include "gw_assert.svh"

module gw_lane_compactor
  import gw_kernel_pkg::*;
#(
  /// Lanes of data_i are packed, not row numbers.
  parameter bit Values = 1'b0
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         clear_i,
  input  logic         in_valid_i,
  output logic         in_ready_o,
  input  logic [15:0]  mask_i,
  input  logic [31:0]  base_i,
  input  data_t        data_i,
  input  logic         last_i,
  output logic         out_valid_o,
  input  logic         out_ready_i,
  output stream_beat_t out_o
);

  localparam int unsigned Lanes = 16;

  // ---- Stage 1: how many selected rows are before each lane
  logic valid_q, last_q;
  logic [Lanes-1:0] mask_q;
  logic [Lanes-1:0][31:0] lanes;  // what stage 2 packs
  logic [Lanes-1:0][3:0] before_q;
  logic [4:0] total_q;
  logic step;

  assign in_ready_o = !valid_q || step;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (clear_i) valid_q <= 1'b0;
    else if (in_ready_o) valid_q <= in_valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (in_ready_o) begin
      mask_q <= mask_i;
      last_q <= last_i;
      total_q <= 5'($countones(mask_i));
      for (int unsigned l = 0; l < Lanes; l++) before_q[l] <= 4'($countones(mask_i & ((16'd1 << l) - 16'd1)));
    end
  end

  if (Values) begin : gen_values
    data_t data_q;
    logic unused;
    always_ff @(posedge clk_i) begin
      if (in_ready_o) data_q <= data_i;
    end
    assign lanes = data_q;
    assign unused = ^base_i;
  end else begin : gen_indices
    logic [31:0] base_q;
    logic unused;
    always_ff @(posedge clk_i) begin
      if (in_ready_o) base_q <= base_i;
    end
    for (genvar l = 0; l < int'(Lanes); l++) begin : gen_lane
      assign lanes[l] = base_q | 32'(l);
    end
    assign unused = ^data_i;
  end

  // ---- Stage 2: pending_q lanes wait in hold_q for a full beat; new ones go behind them, and round
  logic [Lanes-1:0][31:0] hold_q, placed, merged;
  logic [3:0] pending_q;
  logic [5:0] total;
  logic flush_q, out_valid_q, emit, load_out;
  stream_beat_t out_d, out_q;

  always_comb begin
    placed = '0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      for (int unsigned j = 0; j < Lanes; j++) begin
        if (mask_q[l] && before_q[l] + pending_q == 4'(j)) placed[j] |= lanes[l];
      end
    end
    for (int unsigned j = 0; j < Lanes; j++) merged[j] = (4'(j) < pending_q) ? hold_q[j] : placed[j];
  end

  // A flush beat holds what the last input left over; nothing new is taken with it.
  logic full, flush_step;
  assign total = 6'(pending_q) + (flush_q ? 6'd0 : 6'(total_q));
  assign full = total >= 6'(Lanes);
  assign load_out = !out_valid_q || out_ready_i;
  assign step = valid_q && !flush_q && load_out;
  assign flush_step = flush_q && load_out;
  assign emit = flush_step || (step && (full || last_q));

  assign out_valid_o = out_valid_q;
  assign out_o = out_q;
  assign out_d.data = merged;
  assign out_d.last = flush_q || (last_q && total <= 6'(Lanes));
  assign out_d.bytes = full ? byte_count_t'(BeatBytes) : {total[4:0], 2'b00};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      pending_q <= '0;
      flush_q <= 1'b0;
      out_valid_q <= 1'b0;
    end else if (clear_i) begin
      pending_q <= '0;
      flush_q <= 1'b0;
      out_valid_q <= 1'b0;
    end else begin
      if (load_out) out_valid_q <= emit;
      if (flush_step) begin
        pending_q <= '0;
        flush_q <= 1'b0;
      end else if (step) begin
        // A full beat leaves total - 16 behind; the end of the stream leaves nothing.
        pending_q <= out_d.last ? '0 : total[3:0];
        flush_q <= last_q && !out_d.last;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (step) hold_q <= full ? placed : merged;
    if (emit) out_q <= out_d;
  end

  `GW_INVARIANT(PartialIsLast_A, !out_valid_q || out_q.last || out_q.bytes == byte_count_t'(BeatBytes))
  `GW_INVARIANT(BaseAligned_A, Values || !in_valid_i || base_i[2:0] == '0 && (!base_i[3] || mask_i[15:8] == '0))
  `GW_ASSERT(OutputStable_A, out_valid_o && !out_ready_i && !clear_i |=> out_valid_o && $stable(out_o))
  `GW_COVER(Flush_C, flush_q)
  `GW_COVER(EmptyEnd_C, out_valid_q && out_q.bytes == '0)

endmodule
