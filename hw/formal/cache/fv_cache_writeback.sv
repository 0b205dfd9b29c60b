// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_cache_writeback with two pages and eager runs: any page, followed. It is thawed or released only when every burst of it
// is answered, once for each end, a victim that had nothing to write too; ends of pages that stay come out as nothing; a line is not
// read in the cycle in which it is written. The surroundings hand over what gw_cache_evict and gw_cache_eager do: the runs of a page and
// its end one after the other, none of a page that is leaving, eager ones of a page once at a time.
module fv_cache_writeback (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        run_valid_i,
  input logic        ends_i,
  input logic        range_i,
  input logic        left_i,
  input logic        eager_i,
  input logic        idx_i,
  input logic [5:0]  first_i,
  input logic [5:0]  last_i,
  input logic        read_ready_i,
  input logic        clash_i,
  input logic        aw_ready_i,
  input logic        w_ready_i,
  input logic        b_valid_i,
  input logic        b_error_i
);

  typedef struct packed {
    logic ends;
    logic left;
    logic range;
    logic eager;
    logic idx;
    logic row;
    logic [43:0] block;
    logic [5:0] first;
    logic [5:0] last;
  } run_t;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  run_t run;
  logic run_ready, end_idx, thaw, release_page, end_victim, range_open, idle, read_valid, aw_valid, w_valid, error, written;
  logic [1:0] cleaning;
  logic [6:0] read_addr;
  gw_axi_pkg::axi_ax_t aw;
  gw_axi_pkg::axi_w_t w;
  // Victims leave as a whole, pages that stay are left.
  assign run = '{
    ends: ends_i,
    left: eager_i || (range_i && left_i),
    range: range_i && !eager_i,
    eager: eager_i,
    idx: idx_i,
    row: idx_i,
    block: '0,
    first: first_i,
    last: last_i
  };

  gw_cache_writeback #(
    .Pages(2),
    .Eager(2),
    .run_t(run_t)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .run_valid_i,
    .run_ready_o (run_ready),
    .run_i       (run),
    .end_idx_o   (end_idx),
    .thaw_o      (thaw),
    .release_o   (release_page),
    .end_victim_o(end_victim),
    .range_open_o(range_open),
    .cleaning_o  (cleaning),
    .idle_o      (idle),
    .read_valid_o(read_valid),
    .read_ready_i,
    .read_addr_o (read_addr),
    .clash_i,
    .read_data_i ('0),
    .aw_valid_o  (aw_valid),
    .aw_ready_i,
    .aw_o        (aw),
    .w_valid_o   (w_valid),
    .w_ready_i,
    .w_o         (w),
    .b_valid_i,
    .b_error_i,
    .error_o     (error),
    .written_o   (written)
  );

  // Which page is followed.
  logic page_q;
  always_ff @(posedge clk_i) page_q <= page_q;

  typedef logic [5:0] count_t;
  count_t begun_q, written_q, answered_q, mine_q;
  logic [1:0] leaving_q, told_q;
  logic inside_q, inside_idx_q, taken, begins, ends;
  assign taken = run_valid_i && run_ready;
  assign begins = taken && !ends_i;
  assign ends = taken && ends_i;

  always_comb begin
    // Runs of a page and its end beside each other; of pages that stay, those of others may come between.
    if (inside_q) assume (!run_valid_i || (!eager_i && idx_i == inside_idx_q));
    assume (!run_valid_i || (!leaving_q[idx_i] && (!eager_i || !told_q[idx_i])));
    assume (!(run_valid_i && eager_i && ends_i) || cleaning[idx_i]);
    assume (last_i >= first_i && last_i - first_i <= 6'd1);
    assume (!b_valid_i || answered_q < written_q);
  end
  logic waits_q;
  run_t run_q;
  always_ff @(posedge clk_i) begin
    waits_q <= rst_ni && run_valid_i && !run_ready;
    run_q <= run;
    if (past_valid_q && waits_q) assume (run_valid_i && run == run_q);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      begun_q <= '0;
      written_q <= '0;
      answered_q <= '0;
      mine_q <= '0;
      leaving_q <= '0;
      told_q <= '0;
      inside_q <= 1'b0;
    end else begin
      begun_q <= begun_q + count_t'(begins);
      written_q <= written_q + count_t'(w_valid && w_ready_i && w.last);
      answered_q <= answered_q + count_t'(b_valid_i);
      if (begins && idx_i == page_q) mine_q <= begun_q + 6'd1;
      if (taken && !eager_i) inside_q <= !ends_i;
      if (taken) inside_idx_q <= idx_i;
      for (int unsigned i = 0; i < 2; i++) begin
        if (ends && !eager_i && idx_i == 1'(i)) leaving_q[i] <= 1'b1;
        if ((thaw || release_page) && end_idx == 1'(i)) leaving_q[i] <= 1'b0;
        if (ends && eager_i && idx_i == 1'(i)) told_q[i] <= 1'b1;
        else if (!cleaning[i]) told_q[i] <= 1'b0;
      end
    end
  end

  logic mine_out, at_once;
  assign mine_out = (thaw || release_page) && end_idx == page_q;
  assign at_once = ends && !eager_i && idx_i == page_q;
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (mine_out) Answered_A : assert (answered_q >= mine_q);
      if (mine_out) Once_A : assert (leaving_q[page_q] || at_once);
      OneOfBoth_A : assert (!(thaw && release_page));
      if (cleaning[page_q] == 1'b0 && !leaving_q[page_q] && !inside_q) Cleaned_A : assert (answered_q >= mine_q);
      if (clash_i) NotRead_A : assert (!read_valid);
      AtOnce_C : cover (release_page && at_once && begun_q != answered_q);
      Thawed_C : cover (thaw && begun_q != '0);
      Stays_C : cover (told_q[page_q] && !cleaning[page_q]);
    end
  end

endmodule
