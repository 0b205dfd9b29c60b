// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Lines by group of host memory: a direct-mapped table of counts with tags, one step after the other.
//
// Contract
// - A step (fill, writeback, clear) is taken every fourth cycle at most: op_ready_o. Nothing else is held up by it.
// - fill, writeback: lines_i more of that kind for the group, up to the largest count. A group that finds another one in its place takes so
//   many lines off that one's counts, fills first; when nothing is left of them the place is the new group's, with its own lines. So a group
//   that is used more than its neighbours in the table together stays there; counts are never too high.
// - A group whose fills and writebacks together reach threshold_i (0: none does) is reported with the step that finds it so while there is
//   room_i: a pulse, once until it is cleared or has lost its place.
// - clear: the group's counts are zero, and it may be reported again; one that is not in the table is left alone. With the step, three cycles
//   after it was taken, cleared_o is a pulse, and says what the counts were until then: zero of one that is not in the table.
// - sweep_i: from the end of the step under way on no step is taken for a cycle a place (busy_o); then all counts are zero.
// - Reset: the same, busy_o.
`include "gw_assert.svh"

module gw_access_table #(
  /// Places, a power of two, 2 or more.
  parameter int unsigned Places = 256,
  /// Bits of a group's number, more than those of a place.
  parameter int unsigned GroupWidth = 40,
  /// Bits of a count.
  parameter int unsigned CountWidth = 16,
  /// Bits of the lines of a step, at most those of a count.
  parameter int unsigned LinesWidth = 7
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  sweep_i,
  output logic                  busy_o,
  input  logic [CountWidth:0]   threshold_i,
  /// Steps: neither `clear` nor `write` is a fill.
  input  logic                  op_valid_i,
  output logic                  op_ready_o,
  input  logic                  op_clear_i,
  input  logic                  op_write_i,
  input  logic [GroupWidth-1:0] op_group_i,
  input  logic [LinesWidth-1:0] op_lines_i,
  /// Reports.
  input  logic                  room_i,
  output logic                  report_o,
  output logic [GroupWidth-1:0] report_group_o,
  output logic [CountWidth-1:0] report_fills_o,
  output logic [CountWidth-1:0] report_writebacks_o,
  /// A clear is done.
  output logic                  cleared_o,
  output logic [CountWidth-1:0] cleared_fills_o,
  output logic [CountWidth-1:0] cleared_writebacks_o
);

  localparam int unsigned IdxWidth = $clog2(Places);
  localparam int unsigned TagWidth = GroupWidth - IdxWidth;
  if (Places < 2 || Places != 2 ** IdxWidth || GroupWidth <= IdxWidth || LinesWidth > CountWidth) begin : gen_bad_parameter
    $fatal(1, "gw_access_table: Places must be a power of two from 2 on, GroupWidth above its bits, LinesWidth at most CountWidth");
  end
  typedef logic [IdxWidth-1:0] idx_t;
  typedef logic [CountWidth-1:0] count_t;
  typedef struct packed {
    logic                reported;
    count_t              writebacks;
    count_t              fills;
    logic [TagWidth-1:0] tag;
  } entry_t;
  typedef enum logic [2:0] {
    Sweep  = 3'd0,
    Idle   = 3'd1,
    Fetch  = 3'd2,
    Look   = 3'd3,
    Settle = 3'd4,
    Store  = 3'd5
  } state_e;

  state_e                state_q;
  idx_t                  sweep_q, idx;
  logic                  sweep_wanted_q, take, clear_q, write_q, hit_q, gone, full;
  logic [GroupWidth-1:0] group_q;
  logic [TagWidth-1:0]   tag;
  count_t                lines_q, rest, rest_q, fills_less_q, writebacks_less;
  logic [CountWidth:0]   fills_more, writebacks_more, sum;
  entry_t                found_q, old_q, next_q, stored;

  assign {tag, idx} = group_q;
  assign busy_o = state_q == Sweep || sweep_wanted_q;
  assign op_ready_o = (state_q == Idle || state_q == Store) && !sweep_wanted_q;
  assign take = op_valid_i && op_ready_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Sweep;
      sweep_q <= '0;
      sweep_wanted_q <= 1'b0;
    end else begin
      sweep_wanted_q <= sweep_i || (sweep_wanted_q && state_q != Idle && state_q != Store);
      case (state_q)
        Sweep: begin
          sweep_q <= sweep_q + 1'b1;
          if (sweep_q == '1) state_q <= Idle;
        end
        Fetch:  state_q <= Look;
        Look:   state_q <= Settle;
        Settle: state_q <= Store;
        default: state_q <= sweep_wanted_q ? Sweep : take ? Fetch : Idle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      clear_q <= op_clear_i;
      write_q <= op_write_i;
      group_q <= op_group_i;
      lines_q <= count_t'(op_lines_i);
    end
  end

  // The table: read in Fetch, written in Store and by the sweep.
  entry_t mem[Places];
  logic mem_we;
  assign mem_we = state_q == Sweep || (state_q == Store && (hit_q || !clear_q));
  always_ff @(posedge clk_i) begin
    if (mem_we) mem[(state_q == Sweep) ? sweep_q : idx] <= stored;
    if (state_q == Fetch) found_q <= mem[idx];
  end

  // Look: whose place it is, and what another group's counts become, fills first.
  assign rest = (found_q.fills > lines_q) ? '0 : lines_q - found_q.fills;
  always_ff @(posedge clk_i) begin
    hit_q <= found_q.tag == tag;
    fills_less_q <= (found_q.fills > lines_q) ? found_q.fills - lines_q : '0;
    rest_q <= rest;
    old_q <= found_q;
  end
  // hit_q holds until the next Look: found_q and group_q change with the next step.

  // Settle: the new entry.
  assign fills_more = {1'b0, old_q.fills} + {1'b0, lines_q};
  assign writebacks_more = {1'b0, old_q.writebacks} + {1'b0, lines_q};
  assign writebacks_less = (old_q.writebacks > rest_q) ? old_q.writebacks - rest_q : '0;
  assign gone = fills_less_q == '0 && writebacks_less == '0;
  always_ff @(posedge clk_i) begin
    if (state_q == Settle) begin
      next_q <= old_q;
      if (hit_q && write_q) begin
        next_q.writebacks <= writebacks_more[CountWidth] ? '1 : writebacks_more[CountWidth-1:0];
      end else if (hit_q) begin
        next_q.fills <= fills_more[CountWidth] ? '1 : fills_more[CountWidth-1:0];
      end else if (gone) begin
        next_q <= '{
          reported:   1'b0,
          writebacks: write_q ? lines_q : '0,
          fills:      write_q ? '0 : lines_q,
          tag:        tag
        };
      end else begin
        next_q.fills <= fills_less_q;
        next_q.writebacks <= writebacks_less;
      end
    end
  end

  // Store: whether it is reported.
  assign sum = {1'b0, next_q.fills} + {1'b0, next_q.writebacks};
  assign full = threshold_i != '0 && sum >= threshold_i && next_q.tag == tag;
  assign report_o = state_q == Store && !clear_q && full && !next_q.reported && room_i;
  assign report_group_o = group_q;
  assign report_fills_o = next_q.fills;
  assign report_writebacks_o = next_q.writebacks;
  // As they were found: old_q and hit_q hold from Settle until the next step's Look.
  assign cleared_o = state_q == Store && clear_q;
  assign cleared_fills_o = hit_q ? old_q.fills : '0;
  assign cleared_writebacks_o = hit_q ? old_q.writebacks : '0;
  always_comb begin
    stored = next_q;
    stored.reported = next_q.reported || report_o;
    if (state_q == Sweep || clear_q) stored = '0;
  end

  `GW_INVARIANT(State_A, state_q inside {Sweep, Idle, Fetch, Look, Settle, Store})
  `GW_INVARIANT(ReportReached_A, !report_o || sum >= threshold_i)
  `GW_ASSERT(ReportOnce_A, report_o |=> !report_o)
  `GW_COVER(ClearedAll_C, cleared_o && cleared_fills_o != '0 && cleared_writebacks_o != '0)
  `GW_COVER(Displaced_C, state_q == Store && !hit_q && !clear_q && next_q.tag == tag && found_q.fills != '0)
  `GW_COVER(Saturated_C, state_q == Settle && fills_more[CountWidth])
  `GW_COVER(NoRoom_C, state_q == Store && !clear_q && full && !next_q.reported && !room_i)

endmodule
