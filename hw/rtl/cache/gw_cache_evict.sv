// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Jobs on pages of the cache: a victim leaves, or a page is cleaned, dropped or both as far as a range goes. Which lines must be written,
// page after page; gw_cache_writeback writes them, of several pages at a time.
//
//   choose ─> freeze ─> nothing to land ─> row: dirty bits taken ─> runs of lines, one by one ─> next row ─> its end, behind its runs
//          └─> eager: not frozen ─────────┘
//
// Contract
// - From freeze to end a page is neither read nor written. At its end it is thawed, or released if nothing of it is valid (`run_o.left`).
// - For a page ahead (`ahead_want_i`) a victim goes that is plain (`plain_i`), if nothing else is wanted. A page that was read ahead and that
//   nobody has met (`ahead_i`) goes as a whole with any range job, in its range or not.
// - Eager jobs (gw_cache_eager), when nothing else is wanted, are of lines of an active page that stays so; or a look only, at which lines are
//   dirty. What is stored meanwhile is dirty again.
// - Runs (`run_*`) are lines of a row beside each other, dirty ones only; the last item of a page is its end.
// - Victims are wanted while `want_i`; a range job goes first, and waits for a page of its range that is leaving. `range_done_o`: the job's
//   end was handed over, or the page is none of its own.
`include "gw_assert.svh"

module gw_cache_evict #(
  /// Pages, and rows of 64 lines a page, powers of two.
  parameter int unsigned Pages = 16,
  parameter int unsigned PageRows = 1,
  /// Bits of the number of 4 KiB in memory.
  parameter int unsigned BlockWidth = 44,
  /// What is handed over (gw_cache_leave).
  parameter type run_t = logic,
  /// Derived.
  localparam int unsigned IdxWidth = $clog2(Pages),
  localparam int unsigned PageRowWidth = $clog2(PageRows),
  localparam int unsigned RowWidth = IdxWidth + PageRowWidth,
  localparam int unsigned TagWidth = BlockWidth - PageRowWidth
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  want_i,
  input  logic                  ahead_want_i,
  input  logic [Pages-1:0]      plain_i,
  input  logic [Pages-1:0]      ahead_i,
  input  logic                  victim_valid_i,
  input  logic [IdxWidth-1:0]   victim_idx_i,
  /// A job of a range, for one page: what lies in the range (lines, both ends included) is cleaned, dropped, or both.
  input  logic                  range_i,
  input  logic [IdxWidth-1:0]   range_idx_i,
  input  logic                  range_clean_i,
  input  logic                  range_drop_i,
  input  logic [BlockWidth+5:0] range_first_i,
  input  logic [BlockWidth+5:0] range_last_i,
  output logic                  range_done_o,
  /// A job of gw_cache_eager.
  input  logic                  eager_i,
  input  logic [IdxWidth-1:0]   eager_idx_i,
  input  logic                  eager_look_i,
  input  logic [5:0]            eager_first_i,
  input  logic [5:0]            eager_last_i,
  input  logic                  eager_ends_i,
  output logic                  eager_done_o,
  output logic                  eager_ok_o,
  output logic [5:0]            eager_run_first_o,
  output logic [5:0]            eager_run_last_o,
  /// The page of the job; the victim is frozen.
  output logic [IdxWidth-1:0]   job_idx_o,
  input  logic [TagWidth-1:0]   job_tag_i,
  input  logic [Pages-1:0]      active_i,
  input  logic [Pages-1:0]      frozen_i,
  input  logic [Pages-1:0]      filling_i,
  input  logic [Pages-1:0]      pinned_i,
  output logic                  freeze_o,
  output logic                  victim_o,
  /// Its rows.
  output logic                  row_valid_o,
  input  logic                  row_ready_i,
  output logic [RowWidth-1:0]   row_o,
  output logic [63:0]           row_clean_o,
  output logic [63:0]           row_drop_o,
  input  logic [63:0]           row_dirty_i,
  input  logic [63:0]           row_left_i,
  /// What is to be written, and ends.
  output logic                  run_valid_o,
  input  logic                  run_ready_i,
  output run_t                  run_o
);

  typedef enum logic [3:0] {
    Choose,
    Fetch,
    Check,
    Freeze,
    Wait,
    Edges,
    Mask,
    Row,
    Find,
    Run,
    End,
    Settle
  } state_e;
  typedef logic [RowWidth-1:0] row_t;
  localparam int unsigned SubWidth = (PageRowWidth > 0) ? PageRowWidth : 1;
  typedef logic [SubWidth-1:0] sub_t;

  // Lines below a line, and those with it: from eights, one lookup table a line.
  function automatic logic [63:0] below(logic [5:0] line);
    logic [7:0] eights, ones, same;
    eights = ~(8'hff << line[5:3]);
    same = 8'h01 << line[5:3];
    ones = ~(8'hff << line[2:0]);
    for (int unsigned i = 0; i < 8; i++) below[8*i+:8] = {8{eights[i]}} | ({8{same[i]}} & ones);
  endfunction
  function automatic logic [63:0] through(logic [5:0] line);
    return (below(line) << 1) | 64'd1;
  endfunction

  state_e state_q;
  logic range_q, left_q, overlaps, any, in_first_q, in_last_q, outside_q, whole_q, plain_q, for_ahead_q, ahead, victim_go, eager_q, ok_q;
  logic [IdxWidth-1:0] idx_q;
  logic [TagWidth-1:0] tag_q;
  sub_t sub_q;
  logic [63:0] todo_q, in_range_q;
  logic [5:0] first, first_q, last, last_q;
  logic [BlockWidth-1:0] block;
  assign job_idx_o = idx_q;

  if (PageRows == 1) begin : gen_row
    assign row_o = row_t'(idx_q);
    assign block = BlockWidth'(tag_q);
  end else begin : gen_rows
    assign row_o = {idx_q, sub_q};
    assign block = {tag_q, sub_q};
  end

  // Which lines of the row are in the range, registers behind each step; a victim is whole.
  logic [TagWidth-1:0] first_tag, last_tag;
  assign first_tag = range_first_i[BlockWidth+5-:TagWidth];
  assign last_tag = range_last_i[BlockWidth+5-:TagWidth];
  assign overlaps = tag_q >= first_tag && tag_q <= last_tag;
  logic [5:0] from, upto;
  assign from = eager_q ? eager_first_i : range_first_i[5:0];
  assign upto = eager_q ? eager_last_i : range_last_i[5:0];
  always_ff @(posedge clk_i) begin
    tag_q <= job_tag_i;
    in_first_q <= eager_q || (!whole_q && block == range_first_i[6+:BlockWidth]);
    in_last_q <= eager_q || (!whole_q && block == range_last_i[6+:BlockWidth]);
    outside_q <= !whole_q && (block < range_first_i[6+:BlockWidth] || block > range_last_i[6+:BlockWidth]);
    in_range_q <= outside_q ? '0 : (in_first_q ? ~below(from) : '1) & (in_last_q ? through(upto) : '1);
  end
  assign row_valid_o = state_q == Row;
  assign row_clean_o = (eager_q && eager_look_i) ? '0 : in_range_q;
  assign row_drop_o = (!eager_q && (whole_q || range_drop_i)) ? in_range_q : '0;

  // A run: from the first line that is left to the first one behind which there is none.
  gw_first_one #(
    .Width(64)
  ) u_first (
    .bits_i(todo_q),
    .any_o (any),
    .idx_o (first)
  );
  gw_first_one #(
    .Width(64)
  ) u_last (
    .bits_i(todo_q & ~(todo_q >> 1)),
    .any_o (),
    .idx_o (last)
  );

  logic go_row, last_row, run_taken, mine;
  assign last_row = sub_q == sub_t'(PageRows - 1);
  assign go_row = row_valid_o && row_ready_i;
  assign run_valid_o = state_q == Run || state_q == End;
  assign run_taken = run_valid_o && run_ready_i;
  assign run_o = '{
    ends: state_q == End,
    left: left_q || eager_q,
    range: range_q,
    eager: eager_q,
    idx: idx_q,
    row: row_o,
    block: block,
    first: first_q,
    last: last_q
  };
  assign freeze_o = state_q == Freeze;
  assign victim_o = !range_q;
  assign mine = active_i[idx_q] && (overlaps || ahead_i[idx_q]);
  // What was chosen a cycle before may be another one now: looked at again.
  assign ahead = ahead_want_i && plain_q;
  assign victim_go = (want_i || ahead) && victim_valid_i;
  assign eager_done_o = eager_q && state_q == Settle;
  assign eager_ok_o = ok_q;
  assign eager_run_first_o = first_q;
  assign eager_run_last_o = last_q;
  assign range_done_o = range_q && ((state_q == End && run_ready_i) || (state_q == Check && !mine && !(frozen_i[idx_q] && overlaps)));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Choose;
      range_q <= 1'b0;
      eager_q <= 1'b0;
      ok_q <= 1'b0;
      left_q <= 1'b0;
      sub_q <= '0;
      plain_q <= 1'b0;
      for_ahead_q <= 1'b0;
    end else begin
      plain_q <= plain_i[victim_idx_i];
      unique case (state_q)
        Choose: begin
          range_q <= range_i;
          eager_q <= !range_i && !victim_go && eager_i;
          left_q <= 1'b0;
          sub_q <= '0;
          for_ahead_q <= !want_i;
          if (range_i || victim_go || eager_i) state_q <= Fetch;
        end
        Fetch: state_q <= Check;
        // A victim may have come into use since it was chosen.
        Check: begin
          ok_q <= active_i[idx_q];
          if (eager_q) state_q <= active_i[idx_q] ? Edges : Settle;
          else if (!range_q) begin
            state_q <= (active_i[idx_q] && !filling_i[idx_q] && !pinned_i[idx_q] && !(for_ahead_q && !plain_i[idx_q])) ? Freeze : Choose;
          end
          else if (mine) state_q <= Freeze;
          else if (range_done_o) state_q <= Choose;
        end
        Freeze: state_q <= Wait;
        Wait: if (!filling_i[idx_q]) state_q <= Edges;
        Edges: state_q <= Mask;
        Mask: state_q <= Row;
        Row: begin
          if (go_row) begin
            left_q <= left_q || row_left_i != '0;
            state_q <= Find;
          end
        end
        Find: begin
          if (eager_q && (eager_look_i || (!any && !eager_ends_i))) state_q <= Settle;
          else if (any) state_q <= Run;
          else if (last_row) state_q <= End;
          else begin
            sub_q <= sub_q + 1'b1;
            state_q <= Edges;
          end
        end
        Run: if (run_taken) state_q <= Find;
        End: if (run_taken) state_q <= Settle;
        // Whether another victim is wanted is known a cycle later.
        Settle: state_q <= Choose;
        default: state_q <= Choose;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Choose) idx_q <= range_i ? range_idx_i : (victim_go || !eager_i) ? victim_idx_i : eager_idx_i;
    if (state_q == Check) whole_q <= !range_q || ahead_i[idx_q];
    if (go_row) todo_q <= (whole_q || range_clean_i) ? row_dirty_i & in_range_q : '0;
    else if (state_q == Run) todo_q <= todo_q & ~through(last_q);
    if (state_q == Find) begin
      first_q <= first;
      last_q <= last;
    end
  end

  `GW_INVARIANT(EagerStays_A, !(eager_q && freeze_o))
  `GW_COVER(LongRun_C, state_q == Run && first_q == '0 && last_q == '1)
  `GW_COVER(WaitsForLeaving_C, state_q == Check && range_q && overlaps && frozen_i[idx_q])

endmodule
