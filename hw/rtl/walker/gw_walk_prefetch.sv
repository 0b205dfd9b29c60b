// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Which line of page-table entries to fetch before it is asked for: the one after a line that followed its predecessor.
//
// Contract
// - `touch_i`: a walk uses a line for the first time since it was fetched. If it is the line after one that was touched
//   before, in one of `Streams` streams, the next line is wanted (`want_o`), until it is taken (`take_i`) or another takes its
//   place. `back_i`: what was taken last could not be had, and is wanted again. Never a line of another 4 KiB table.
// - A stream that pauses is forgotten when as many others began since. One stream may be followed twice; it wants a line once.
// - Credit: a prefetched line that is used earns, one that is replaced unused costs. Without credit only one line in
//   `ProbeInterval` is wanted, which finds out when prefetching is worth it again.
// - An invalidation forgets streams and what is wanted.
`include "gw_assert.svh"

module gw_walk_prefetch #(
  /// Beats of 64 bytes of a line: 1, 2, 4, 8 or 16.
  parameter int unsigned LineBeats = 1,
  /// Streams followed at a time, 1 or more.
  parameter int unsigned Streams = 4,
  /// Opportunities for each that is taken while there is no credit; a power of two.
  parameter int unsigned ProbeInterval = 16,
  /// Derived: width of a line's physical address.
  localparam int unsigned LineWidth = gw_pkg::PaWidth - $clog2(gw_spec_pkg::PtBeatBytes * LineBeats)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic inval_i,
  input logic touch_i,
  input logic [LineWidth-1:0] touch_line_i,
  /// A prefetched line was used, or replaced before it was.
  input logic used_i,
  input logic useless_i,
  output logic want_o,
  output logic [LineWidth-1:0] line_o,
  input logic take_i,
  input logic back_i
);

  localparam int unsigned IdxWidth = (Streams > 1) ? $clog2(Streams) : 1;
  localparam int unsigned InTable = $clog2(gw_spec_pkg::PtPageSize / (gw_spec_pkg::PtBeatBytes * LineBeats));
  // Half of it at first: as much trust as doubt. A useless line costs as much as Gain useful ones earn.
  localparam int unsigned CreditWidth = 5;
  localparam int unsigned Gain = 1;
  localparam int unsigned Loss = 4;
  localparam int unsigned MaxCredit = 2 ** CreditWidth - 1;

  typedef logic [LineWidth-1:0] line_t;

  // Each stream: the line that would continue it.
  logic [Streams-1:0] valid_q, match, victim;
  line_t [Streams-1:0] next_q;
  line_t after;
  logic follows, last;
  logic [IdxWidth-1:0] victim_q;

  always_comb begin
    for (int unsigned i = 0; i < Streams; i++) match[i] = valid_q[i] && next_q[i] == touch_line_i;
  end
  assign follows = match != '0;
  assign last = &touch_line_i[InTable-1:0];
  assign after = touch_line_i + 1'b1;
  always_comb begin
    victim = '0;
    victim[victim_q] = 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      victim_q <= '0;
    end else if (inval_i) begin
      valid_q <= '0;
    end else if (touch_i && follows && last) begin
      valid_q <= valid_q & ~match;
    end else if (touch_i && !follows && !last) begin
      valid_q <= valid_q | victim;
      victim_q <= (victim_q == IdxWidth'(Streams - 1)) ? '0 : victim_q + 1'b1;
    end
  end
  for (genvar i = 0; i < Streams; i++) begin : gen_stream
    always_ff @(posedge clk_i) begin
      if (touch_i && (follows ? match[i] : victim[i] && !last)) next_q[i] <= after;
    end
  end

  logic [CreditWidth-1:0] credit_q;
  logic [$clog2(ProbeInterval)-1:0] probe_q;
  logic opportunity, worth_it;
  assign opportunity = touch_i && follows && !last;
  assign worth_it = credit_q != '0 || probe_q == '1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      credit_q <= CreditWidth'(MaxCredit / 2);
      probe_q <= '0;
    end else begin
      if (used_i && !useless_i) begin
        credit_q <= (32'(credit_q) > MaxCredit - Gain) ? CreditWidth'(MaxCredit) : credit_q + CreditWidth'(Gain);
      end else if (useless_i && !used_i) begin
        credit_q <= (32'(credit_q) < Loss) ? '0 : credit_q - CreditWidth'(Loss);
      end
      if (opportunity && credit_q == '0) probe_q <= probe_q + 1'b1;
    end
  end

  logic want_q;
  line_t line_q;
  assign want_o = want_q;
  assign line_o = line_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) want_q <= 1'b0;
    else want_q <= !inval_i && ((opportunity && worth_it) || (want_q && !take_i) || back_i);
  end
  always_ff @(posedge clk_i) begin
    if (opportunity && worth_it) line_q <= after;
  end

  `GW_INVARIANT(TakenWasWanted_A, !take_i || want_q)
  `GW_COVER(SwitchedOff_C, credit_q == '0)
  `GW_COVER(Probe_C, opportunity && credit_q == '0 && worth_it)

endmodule
