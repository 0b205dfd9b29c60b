// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_access_table with two places of four groups, counts of two bits and steps of up to three lines: of any group no
// more is reported than was seen since it was cleared, and enough; the counts of one whose place nobody else wants are exact; such a
// one is reported once until it is cleared, and is reported as soon as there is room; a clear says what the counts were; steps are taken in bounded time.
module fv_access_table (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       sweep_i,
  input logic       op_valid_i,
  input logic       op_clear_i,
  input logic       op_write_i,
  input logic [1:0] op_group_i,
  input logic [1:0] op_lines_i,
  input logic       room_i
);

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  // Any group, followed; any threshold.
  logic [1:0] group_q;
  logic [2:0] threshold_q;
  always_ff @(posedge clk_i) begin
    group_q <= group_q;
    threshold_q <= threshold_q;
  end

  logic busy, ready, report;
  logic [1:0] report_group;
  logic [1:0] report_fills, report_writebacks;
  logic cleared;
  logic [1:0] cleared_fills, cleared_writebacks;
  gw_access_table #(
    .Places    (2),
    .GroupWidth(2),
    .CountWidth(2),
    .LinesWidth(2)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .sweep_i,
    .busy_o             (busy),
    .threshold_i        (threshold_q),
    .op_valid_i,
    .op_ready_o         (ready),
    .op_clear_i,
    .op_write_i,
    .op_group_i,
    .op_lines_i,
    .room_i,
    .report_o           (report),
    .report_group_o     (report_group),
    .report_fills_o     (report_fills),
    .report_writebacks_o(report_writebacks),
    .cleared_o          (cleared),
    .cleared_fills_o    (cleared_fills),
    .cleared_writebacks_o(cleared_writebacks)
  );

  // What was seen of the group since it was cleared, up to the largest count; alone: no other one of its place was seen since.
  // A sweep forgets when it begins, behind the last step; steps are taken before.
  logic take, mine, other, alone_q, reported_q, doing_q;
  logic [2:0] age_q;
  logic [1:0] fills_q, writebacks_q;
  assign take = op_valid_i && ready;
  assign mine = take && op_group_i == group_q;
  assign other = take && !op_clear_i && op_group_i != group_q && op_group_i[0] == group_q[0];

  function automatic logic [1:0] more(logic [1:0] count, logic [1:0] lines);
    logic [2:0] sum;
    sum = {1'b0, count} + {1'b0, lines};
    return sum[2] ? 2'd3 : sum[1:0];
  endfunction

  // What was seen of the group when its clear was taken: that step is the one under way.
  logic clears_q, clearing_q, clear_alone_q;
  logic [1:0] clear_fills_q, clear_writebacks_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || busy) {clears_q, clearing_q} <= '0;
    else if (take) begin
      clears_q <= op_clear_i;
      clearing_q <= mine && op_clear_i;
      clear_alone_q <= alone_q;
      {clear_writebacks_q, clear_fills_q} <= {writebacks_q, fills_q};
    end
  end

  // A report of a step comes three cycles behind it, with what was seen up to it: the next one is taken in that cycle.
  always_ff @(posedge clk_i) begin
    if (!rst_ni || busy) begin
      fills_q <= '0;
      writebacks_q <= '0;
      alone_q <= 1'b1;
      reported_q <= 1'b0;
      doing_q <= 1'b0;
      age_q <= '0;
    end else begin
      if (mine && op_clear_i) begin
        fills_q <= '0;
        writebacks_q <= '0;
      end else if (mine && op_write_i) begin
        writebacks_q <= more(writebacks_q, op_lines_i);
      end else if (mine) begin
        fills_q <= more(fills_q, op_lines_i);
      end
      if (other) alone_q <= 1'b0;
      if (mine && op_clear_i) reported_q <= 1'b0;
      else if (report && report_group == group_q) reported_q <= 1'b1;
      doing_q <= take ? mine && !op_clear_i : doing_q;
      age_q <= ready ? '0 : age_q + 1'b1;
    end
  end

  always_comb if (take) assume (op_lines_i != '0);

  // The cycle before was not ready: this one ends a step. And the group was cleared after a report.
  logic age_last_q, again_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || busy) {age_last_q, again_q} <= '0;
    else begin
      age_last_q <= !ready;
      if (mine && op_clear_i && reported_q) again_q <= 1'b1;
    end
  end

  logic about, enough;
  assign about = report && report_group == group_q;
  assign enough = threshold_q != '0 && {1'b0, fills_q} + {1'b0, writebacks_q} >= threshold_q;
  always_ff @(posedge clk_i) begin
    if (rst_ni && !busy) begin
      if (about) NotMore_A : assert (report_fills <= fills_q && report_writebacks <= writebacks_q);
      if (report) Enough_A : assert (threshold_q != '0 && {1'b0, report_fills} + {1'b0, report_writebacks} >= threshold_q);
      if (about && alone_q) Exact_A : assert (report_fills == fills_q && report_writebacks == writebacks_q);
      if (about && alone_q) Once_A : assert (!reported_q);
      if (about) Doing_A : assert (doing_q);
      // Its step is in the last cycle when the next one can be taken, and the table is not idle.
      if (alone_q && doing_q && ready && age_last_q && room_i && enough && !reported_q) Told_A : assert (about);
      // A clear says what its group's counts were, when it is done: with the end of its step.
      if (cleared) Cleared_A : assert (clears_q && ready);
      if (clears_q && ready && age_last_q) Clears_A : assert (cleared);
      if (cleared && clearing_q) begin
        ClearedNotMore_A : assert (cleared_fills <= clear_fills_q && cleared_writebacks <= clear_writebacks_q);
        if (clear_alone_q)
          ClearedExact_A : assert (cleared_fills == clear_fills_q && cleared_writebacks == clear_writebacks_q);
      end
      Cleared_C : cover (cleared && clearing_q && cleared_fills == 2'd2 && cleared_writebacks == 2'd3);
      Bounded_A : assert (age_q < 3'd4);
      Told_C : cover (about && !alone_q && fills_q == 2'd3);
      Again_C : cover (about && writebacks_q == 2'd3 && again_q);
    end
  end

endmodule
