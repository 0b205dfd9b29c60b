// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// What becomes of a beat that was looked up in the cycle before: combinational.
//
// Contract
// - Exactly one outcome for each beat: done (`ok_o`), again at once (`again_o`), when its line has landed (`line_o`, reads), when those before
//   it are done (`order_o`, reads), at the next event (`event_o`).
// - A page is put only for a beat whose page was nowhere, with `alloc_last_i` low: a lookup does not see the page that was put
//   in its own cycle. A line is asked for only if it is neither valid nor covered.
// - A read is answered from the page only if its data was not written in the cycle in which it was read (`clash_i`).
`include "gw_assert.svh"

module gw_cache_decide (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic read_i,
  input  logic write_i,
  /// The lookup, and the line now.
  input  logic hit_i,
  input  logic active_i,
  input  logic valid_i,
  input  logic alloc_last_i,
  input  logic clash_i,
  /// It lands now, or will.
  input  logic landing_i,
  input  logic covered_i,
  /// Something was freed in this cycle or the one before.
  input  logic event_i,
  input  logic fill_ready_i,
  input  logic page_ready_i,
  input  logic merge_ready_i,
  /// A read: others of its ID are before it; its line did not come.
  input  logic blocked_i,
  input  logic failed_i,
  /// A write: all bytes of the line, none.
  input  logic full_i,
  input  logic none_i,
  output logic ok_o,
  output logic again_o,
  output logic line_o,
  output logic order_o,
  output logic event_o,
  /// What is done with it.
  output logic store_o,
  output logic merge_o,
  output logic alloc_o,
  output logic fill_o,
  /// The page was put by an earlier beat: it is used more than once.
  output logic fill_more_o
);

  logic stuck;

  always_comb begin
    ok_o = 1'b0;
    again_o = 1'b0;
    line_o = 1'b0;
    order_o = 1'b0;
    store_o = 1'b0;
    merge_o = 1'b0;
    alloc_o = 1'b0;
    fill_o = 1'b0;
    fill_more_o = 1'b0;
    stuck = 1'b0;
    if (read_i && failed_i) begin
      ok_o = 1'b1;
    end else if (write_i && none_i) begin
      ok_o = 1'b1;
    end else if (!hit_i) begin
      if (alloc_last_i) again_o = 1'b1;
      else if (!page_ready_i || (read_i && !fill_ready_i)) stuck = 1'b1;
      else if (read_i || write_i) begin
        alloc_o = 1'b1;
        fill_o = read_i;
        if (write_i) again_o = 1'b1;
        else if (blocked_i) order_o = 1'b1;
        else line_o = 1'b1;
      end
    end else if (!active_i) begin
      stuck = 1'b1;
    end else if (read_i) begin
      if (valid_i) begin
        if (blocked_i) order_o = 1'b1;
        else if (clash_i) again_o = 1'b1;
        else ok_o = 1'b1;
      end else if (landing_i) begin
        again_o = 1'b1;
      end else if (!covered_i && !fill_ready_i) begin
        stuck = 1'b1;
      end else begin
        fill_o = !covered_i;
        fill_more_o = 1'b1;
        if (blocked_i) order_o = 1'b1;
        else line_o = 1'b1;
      end
    end else if (write_i) begin
      if (valid_i || full_i) begin
        store_o = 1'b1;
        ok_o = 1'b1;
      end else if (landing_i) begin
        again_o = 1'b1;
      end else if (!merge_ready_i || (!covered_i && !fill_ready_i)) begin
        stuck = 1'b1;
      end else begin
        merge_o = 1'b1;
        fill_o = !covered_i;
        fill_more_o = 1'b1;
        ok_o = 1'b1;
      end
    end
    event_o = 1'b0;
    if (stuck) begin
      if (read_i && blocked_i) order_o = 1'b1;
      else if (event_i) again_o = 1'b1;
      else event_o = 1'b1;
    end
  end

  `GW_INVARIANT(OneOutcome_A, !(read_i || write_i) || $onehot({ok_o, again_o, line_o, order_o, event_o}))
  `GW_INVARIANT(NotBoth_A, !(read_i && write_i))

endmodule
