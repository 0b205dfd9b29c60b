// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// What becomes of a beat that was looked up in the cycle before: combinational, reads and writes each on their own; and when those who wait
// go on.
//
// Contract
// - Exactly one outcome for each beat: done (`*_ok_o`), again at once (`again_o`), when its line has landed (`line_o`, reads), when those before
//   it are done (`order_o`, reads), at the next event (`event_o`).
// - A page is put only for a beat whose page was nowhere, with `alloc_last_i` low: a lookup does not see the page that was put
//   in its own cycle. A line is asked for only if it is neither valid nor covered.
// - `event_q_o`: something somebody may wait for has come, known a cycle later, to those who were decided meanwhile as well.
// - A read is answered from the page only if its data was not written in the cycle in which it was read (`clash_i`).
`include "gw_assert.svh"

module gw_cache_decide (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic read_i,
  input  logic write_i,
  /// The lookup, and the line now: whether it is valid is known last.
  input  logic hit_i,
  input  logic active_i,
  input  logic valid_i,
  input  logic alloc_last_i,
  input  logic clash_i,
  /// It lands now, or will.
  input  logic landing_i,
  input  logic covered_i,
  /// A page was thawed or released, a line with stores has landed.
  input  logic free_i,
  output logic event_q_o,
  input  logic fill_ready_i,
  input  logic page_ready_i,
  input  logic merge_ready_i,
  /// A read: others of its ID are before it; its line did not come.
  input  logic blocked_i,
  input  logic failed_i,
  /// A write: all bytes of the line, none.
  input  logic full_i,
  input  logic none_i,
  output logic read_ok_o,
  output logic write_ok_o,
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

  // Nothing of the cache is asked: a read whose line did not come, a write of no byte.
  logic read, write, here, new_page, wait_fill, read_stuck, write_stuck, read_waits, write_again, fill_read;
  assign read = read_i && !failed_i;
  assign write = write_i && !none_i;
  assign here = hit_i && active_i;
  assign new_page = !hit_i && !alloc_last_i && page_ready_i;
  // Of a line that is not valid: what it waits for is on its way, or can be asked for.
  assign wait_fill = covered_i || fill_ready_i;

  assign read_ok_o = (read_i && failed_i) || (read && here && valid_i && !blocked_i && !clash_i);
  assign read_waits = (new_page && fill_ready_i) || (here && !valid_i && !landing_i && wait_fill);
  assign fill_read = read && ((new_page && fill_ready_i) || (here && !valid_i && !landing_i && !covered_i && fill_ready_i));
  assign read_stuck = (hit_i && !active_i) || (!hit_i && !alloc_last_i && !(page_ready_i && fill_ready_i)) ||
                      (here && !valid_i && !landing_i && !wait_fill);
  assign line_o = read && !blocked_i && read_waits;
  assign order_o = read && blocked_i && (read_waits || read_stuck || (here && valid_i));

  assign store_o = write && here && (valid_i || full_i);
  assign merge_o = write && here && !valid_i && !full_i && !landing_i && merge_ready_i && wait_fill;
  assign write_ok_o = (write_i && none_i) || (write && here && (valid_i || full_i || (!landing_i && merge_ready_i && wait_fill)));
  assign write_again = (!hit_i && alloc_last_i) || new_page || (here && !valid_i && !full_i && landing_i);
  assign write_stuck = (hit_i && !active_i) || (!hit_i && !alloc_last_i && !page_ready_i) ||
                       (here && !valid_i && !full_i && !landing_i && !(merge_ready_i && wait_fill));

  assign again_o = (read && ((!hit_i && alloc_last_i) || (here && !valid_i && landing_i) || (here && valid_i && !blocked_i && clash_i) ||
                             (read_stuck && !blocked_i && event_q_o))) || (write && (write_again || (write_stuck && event_q_o)));
  assign event_o = ((read && read_stuck && !blocked_i) || (write && write_stuck)) && !event_q_o;
  assign alloc_o = new_page && (write || (read && fill_ready_i));
  assign fill_o = fill_read || (merge_o && !covered_i);
  assign fill_more_o = hit_i;

  logic page_offered_q, fill_offered_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      event_q_o <= 1'b0;
      page_offered_q <= 1'b0;
      fill_offered_q <= 1'b0;
    end else begin
      event_q_o <= free_i || (fill_ready_i && !fill_offered_q) || (page_ready_i && !page_offered_q);
      page_offered_q <= page_ready_i;
      fill_offered_q <= fill_ready_i;
    end
  end

  `GW_INVARIANT(OneOutcome_A, !(read_i || write_i) || $onehot({read_ok_o, write_ok_o, again_o, line_o, order_o, event_o}))
  `GW_INVARIANT(NotBoth_A, !(read_i && write_i))

endmodule
