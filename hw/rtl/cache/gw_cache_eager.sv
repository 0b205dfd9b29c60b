// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Eager write-back: pages that were written through are written to the host while the link has nothing else to take, and stay here, clean.
//
//   stores ─> its last line, then none ─> looked at: dirty from a line on to the end ─> written, piece after piece
//
// Contract
// - A page is looked at when its last line was the latest that was stored in it, and nothing was for 16 to 32 cycles; it is written if its dirty
//   lines are one run of 32 or more up to the last one. It stays active: who reads it hits, who stores to it makes lines dirty again. What
//   the link brings of such lines meanwhile, as a rest, lands on valid ones, and means nothing.
// - Jobs (`job_o`) are of gw_cache_evict, behind victims and maintenance. A piece is `RestLines` lines, asked for while the link is idle
//   (`idle_i`): so a victim's lines wait for two pieces at most. Nothing is asked for while `hold_i`.
// - A page that is frozen is left alone: what is dirty of it goes its way. So is one of which bursts are under way (`cleaning_i`).
// - Victims: while a page's bursts are under way, those with nothing to write are asked for first (`prefer_o`, of registers): the place that
//   they leave is there at once.
// - Credit (gw_cache_credit): a page that leaves as it was written earns, one that is stored to again costs.
`include "gw_assert.svh"

module gw_cache_eager #(
  /// Pages, a power of two; of 64 lines.
  parameter int unsigned Pages = 16,
  /// Lines of a piece, 1 to 64.
  parameter int unsigned RestLines = 64,
  /// Derived.
  localparam int unsigned IdxWidth = $clog2(Pages)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  /// A beat is stored: known late.
  input  logic                store_i,
  input  logic [IdxWidth-1:0] idx_i,
  input  logic [5:0]          line_i,
  /// What becomes of pages.
  input  logic                freeze_i,
  input  logic [IdxWidth-1:0] job_idx_i,
  input  logic                release_i,
  input  logic [IdxWidth-1:0] end_idx_i,
  input  logic [Pages-1:0]    cleaning_i,
  output logic [Pages-1:0]    prefer_o,
  input  logic                idle_i,
  input  logic                hold_i,
  /// A job: which lines are dirty (`look_o`), or lines to be cleaned, the last of the page among them (`ends_o`).
  output logic                job_o,
  output logic [IdxWidth-1:0] job_idx_o,
  output logic                look_o,
  output logic [5:0]          first_o,
  output logic [5:0]          last_o,
  output logic                ends_o,
  /// It is done, or (not `ok_i`) the page is not active any more; a look's first run of dirty lines.
  input  logic                done_i,
  input  logic                ok_i,
  input  logic [5:0]          run_first_i,
  input  logic [5:0]          run_last_i,
  /// Events: a page was written; one that was, or is just being, is stored to again.
  output logic                written_o,
  output logic                again_o
);

  localparam logic [5:0] Latest = 6'd32;
  typedef logic [IdxWidth-1:0] idx_t;
  typedef enum logic [1:0] {
    Idle,
    Look,
    Clean
  } state_e;

  // The latest store, a register behind.
  logic store_q;
  idx_t store_idx_q;
  logic [5:0] line_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) store_q <= 1'b0;
    else store_q <= store_i;
  end
  always_ff @(posedge clk_i) begin
    store_idx_q <= idx_i;
    line_q <= line_i;
  end

  // Pages: its last line was stored, and since then none; how many ticks ago; written and not stored to since.
  state_e state_q;
  idx_t idx_q, pick;
  logic [Pages-1:0] ended_q, written_q, dirty_q, ripe, stored, starts;
  logic [3:0] tick_q;
  logic any, trusted, takes, refuses, runs;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) tick_q <= '0;
    else tick_q <= tick_q + 4'd1;
  end
  assign stored = store_q ? Pages'(1) << store_idx_q : '0;
  for (genvar i = 0; i < Pages; i++) begin : gen_page
    logic [1:0] quiet_q;
    assign ripe[i] = ended_q[i] && quiet_q == '0 && !cleaning_i[i];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        ended_q[i] <= 1'b0;
        written_q[i] <= 1'b0;
        dirty_q[i] <= 1'b0;
        quiet_q <= '0;
      end else begin
        if (stored[i]) ended_q[i] <= line_q == '1;
        else if (release_i && end_idx_i == idx_t'(i)) ended_q[i] <= 1'b0;
        else if ((takes || refuses) && pick == idx_t'(i)) ended_q[i] <= 1'b0;
        if (starts[i]) written_q[i] <= 1'b1;
        else if (stored[i] || (release_i && end_idx_i == idx_t'(i))) written_q[i] <= 1'b0;
        if (stored[i]) dirty_q[i] <= 1'b1;
        else if (starts[i] || (release_i && end_idx_i == idx_t'(i))) dirty_q[i] <= 1'b0;
        if (stored[i]) quiet_q <= 2'd3;
        else if (tick_q == '0) quiet_q <= {1'b0, quiet_q[1]};
      end
    end
  end
  gw_first_one #(
    .Width(Pages)
  ) u_pick (
    .bits_i(ripe),
    .any_o (any),
    .idx_o (pick)
  );
  assign takes = state_q == Idle && any && trusted && !hold_i;
  assign refuses = state_q == Idle && any && !trusted;

  logic gain, loss;
  assign gain = release_i && written_q[end_idx_i];
  assign loss = (stored & written_q) != '0;
  gw_cache_credit u_credit (
    .clk_i,
    .rst_ni,
    .gain_i   (gain),
    .loss_i   (loss),
    .chance_i (takes || refuses),
    .trusted_o(trusted)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) prefer_o <= '0;
    else prefer_o <= (cleaning_i != '0) ? ~(dirty_q | cleaning_i) : '0;
  end

  // One page after the other.
  logic frozen, done, last_piece;
  logic [5:0] next_q;
  logic [6:0] piece_last;
  assign frozen = freeze_i && job_idx_i == idx_q;
  assign done = done_i && ok_i;
  assign runs = run_last_i == '1 && run_first_i <= Latest;
  assign starts = (state_q == Look && done && runs && !frozen) ? Pages'(1) << idx_q : '0;
  assign piece_last = 7'(next_q) + 7'(RestLines - 1);
  assign last_piece = piece_last >= 7'd63;
  assign job_o = !hold_i && (state_q == Look || (state_q == Clean && idle_i));
  assign job_idx_o = idx_q;
  assign look_o = state_q == Look;
  assign first_o = look_o ? 6'd0 : next_q;
  assign last_o = (look_o || last_piece) ? 6'd63 : piece_last[5:0];
  assign ends_o = !look_o && last_piece;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      written_o <= 1'b0;
      again_o <= 1'b0;
    end else begin
      written_o <= state_q == Clean && done && last_piece;
      again_o <= loss;
      unique case (state_q)
        Idle: if (takes) state_q <= Look;
        Look: begin
          if (frozen) state_q <= Idle;
          else if (done_i) state_q <= (ok_i && runs) ? Clean : Idle;
        end
        Clean: if (frozen || (done_i && (!ok_i || last_piece))) state_q <= Idle;
        default: state_q <= Idle;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == Idle) idx_q <= pick;
    if (state_q == Look) next_q <= run_first_i;
    else if (done) next_q <= piece_last[5:0] + 6'd1;
  end

  `GW_INVARIANT(DoneIsAsked_A, !done_i || state_q != Idle)
  `GW_INVARIANT(NotFrozenAtWork_A, !(done_i && frozen))
  `GW_COVER(Refused_C, refuses)
  `GW_COVER(NotWhole_C, state_q == Look && done && !runs)
  `GW_COVER(TakenAway_C, state_q == Clean && frozen)

endmodule
