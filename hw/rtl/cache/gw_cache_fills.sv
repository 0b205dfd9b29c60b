// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Fills of the page cache: lines read over the link, the wanted ones first, pages ahead last.
//
// Contract
// - A fill is of one row of 64 lines (4 KiB): the wanted lines from the first one on, and with `req_rest_i` the rest of the row
//   behind them, then what lies before. Its bursts have its number as ID, so its lines land in this order; fills among each
//   other land in any order. The rest goes in bursts of up to `RestLines`, each when no more than as many lines of the fill are on the way:
//   on a slow link the wanted lines of the next fill wait behind two such bursts, not behind a page. Up to `Fills` at a time; req_ready_o depends on registers only.
// - With `Ahead`, as many fills more are of whole pages that nobody has asked for yet (`ahead_i`, taken while `ahead_ready_o`). Of these nothing
//   is asked for while something of the others still is to be, nor while more than `RestLines` lines of anybody are on the way (64: no limit).
//   They cover only what was asked for already, so that nobody waits behind them: who wants another line of such a page asks for it, and
//   without a rest. When the page is met (`met_i`), what is left of it counts as a rest. While `stop_i` of those that nobody has met no more
//   is asked for: they end with what is on its way.
// - `covered_o`: the line asked for is still to land. The line (`look_line_i`) comes a cycle before its row (`ask_row_i`), which is
//   combinational; a fill counts from the cycle after its request. A line that has just arrived, and lands, may be told as covered or not.
// - A line is offered to land two cycles after it came, one a cycle, until it is taken; link data waits meanwhile. In the cycle after it
//   was taken its data is at `land_data_o`.
// - `busy_o`: pages of which lines are still to land (from the cycle after the request to the one of the last landing).
// - An error of the link is told with its line.
`include "gw_assert.svh"

module gw_cache_fills #(
  /// Fills at a time, a power of two, 2 to 16.
  parameter int unsigned Fills = 8,
  /// Pages ahead at a time, 0 (none) to 4; with Fills 16 at most.
  parameter int unsigned Ahead = 0,
  /// Lines of a rest in one burst, 1 to 64; 64: no limit.
  parameter int unsigned RestLines = 64,
  /// Pages.
  parameter int unsigned Pages = 16,
  /// Bits of the number of a row in the cache, and of 4 KiB in memory.
  parameter int unsigned RowWidth = 4,
  parameter int unsigned BlockWidth = 44,
  /// Derived.
  localparam int unsigned IdxWidth = $clog2(Pages)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    req_i,
  output logic                    req_ready_o,
  input  logic [RowWidth-1:0]     req_row_i,
  input  logic [BlockWidth-1:0]   req_block_i,
  input  logic [5:0]              req_first_i,
  input  logic [5:0]              req_last_i,
  input  logic                    req_rest_i,
  /// A page ahead; one of them is met.
  input  logic                    ahead_i,
  output logic                    ahead_ready_o,
  input  logic [RowWidth-1:0]     ahead_row_i,
  input  logic [BlockWidth-1:0]   ahead_block_i,
  input  logic                    met_i,
  input  logic [RowWidth-1:0]     met_row_i,
  input  logic                    stop_i,
  input  logic [5:0]              look_line_i,
  input  logic [RowWidth-1:0]     ask_row_i,
  /// It is the row of a page that is here: a request's, if it is not of a page that is just put.
  input  logic                    ask_here_i,
  output logic                    covered_o,
  output logic [Pages-1:0]        busy_o,
  output logic                    ar_valid_o,
  input  logic                    ar_ready_i,
  output gw_axi_pkg::axi_ax_t     ar_o,
  input  logic                    r_valid_i,
  output logic                    r_ready_o,
  input  gw_axi_pkg::axi_r_t      r_i,
  output logic                    land_valid_o,
  input  logic                    land_ready_i,
  output logic [RowWidth-1:0]     land_row_o,
  output logic [5:0]              land_line_o,
  output logic                    land_error_o,
  output logic [511:0]            land_data_o
);

  import gw_axi_pkg::*;

  if (Fills < 2 || Fills > 16 || (Fills & (Fills - 1)) != 0) begin : gen_bad_fills
    $fatal(1, "gw_cache_fills: Fills must be a power of two, 2 to 16");
  end
  if (RestLines < 1 || RestLines > 64 || Ahead > 4 || Fills + Ahead > 16) begin : gen_bad_rest
    $fatal(1, "gw_cache_fills: RestLines must be 1 to 64, Ahead 0 to 4, Fills + Ahead 16 at most");
  end

  // Those of pages ahead come behind the others.
  localparam int unsigned Entries = Fills + Ahead;
  localparam int unsigned FillWidth = $clog2(Entries);
  typedef logic [FillWidth-1:0] fill_t;
  typedef logic [RowWidth-1:0] row_t;
  typedef logic [5:0] line_t;

  // What a fill still has to bring is `line_q` to `end_q`, around the row's end while `around_q`; what it still has to ask for begins at
  // `next_q`, and goes in one piece as far as `stop_q`.
  row_t row_q[Entries];
  logic [BlockWidth-1:0] block_q[Entries];
  line_t line_q[Entries], end_q[Entries], next_q[Entries], stop_q[Entries];
  // used: given away. open: some of it has not arrived. fresh: its wanted lines are not asked for. low: of a page that nobody has met.
  logic [Entries-1:0] used_q, open_q, send_q, fresh_q, low_q, covers, far, put;
  logic [Fills-1:0] around_q;

  // A request is put a cycle later: whether there is one is known late.
  logic free_valid_q, any_free, put_q, put_rest_q, put_spans_q, put_covers, put_around, is_ahead, rest;
  logic [$clog2(Fills)-1:0] first_free;
  fill_t free_q, put_idx_q;
  row_t put_row_q;
  logic [BlockWidth-1:0] put_block_q;
  line_t put_first_q, put_last_q, put_end;
  assign req_ready_o = free_valid_q;
  assign put_end = put_rest_q ? put_first_q - 6'd1 : put_last_q;
  assign put_around = put_rest_q && put_first_q != '0;
  assign put_covers = put_q && put_spans_q && put_row_q == ask_row_i;
  gw_first_one #(
    .Width(Fills)
  ) u_free (
    .bits_i(~used_q[Fills-1:0]),
    .any_o (any_free),
    .idx_o (first_free)
  );
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      free_valid_q <= 1'b0;
      put_q <= 1'b0;
    end else begin
      free_valid_q <= any_free && !(req_i && free_valid_q);
      put_q <= req_i && free_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    free_q <= fill_t'(first_free);
    put_idx_q <= free_q;
    put_row_q <= req_row_i;
    put_block_q <= req_block_i;
    put_first_q <= req_first_i;
    put_last_q <= req_last_i;
    put_rest_q <= rest;
    put_spans_q <= rest || (look_line_i >= req_first_i && look_line_i <= req_last_i);
  end

  // A page ahead has a fill already: of such a page no rest is asked for again.
  if (Ahead > 0) begin : gen_ahead
    logic [Ahead-1:0] ahead_free, ahead_put, same_row;
    assign ahead_free = ~used_q[Fills+:Ahead];
    assign ahead_ready_o = ahead_free != '0;
    assign ahead_put = ahead_i ? ahead_free & (~ahead_free + 1'b1) : '0;
    for (genvar i = 0; i < Ahead; i++) begin : gen_same
      assign same_row[i] = used_q[Fills+i] && row_q[Fills+i] == ask_row_i;
    end
    assign is_ahead = ask_here_i && same_row != '0;
  end else begin : gen_none_ahead
    assign ahead_ready_o = 1'b0;
    assign is_ahead = 1'b0;
    logic unused;
    assign unused = ^{ask_here_i, ahead_i, ahead_row_i, ahead_block_i, met_i, met_row_i, stop_i};
  end
  assign rest = req_rest_i && !is_ahead;

  // Bursts: wanted lines before rests, and those before pages ahead.
  logic any_send, sending_q, burst_done, ar_free, fresh, whole, few;
  logic [$clog2(2**FillWidth)-1:0] send_first;
  fill_t send_idx_q;
  line_t from, stop, more;
  logic [Entries-1:0] first_ones, rests, lows, turn;
  assign first_ones = fresh_q | put;
  assign rests = send_q & ~low_q;
  assign lows = (few && !stop_i) ? send_q & ~far : '0;
  assign turn = (first_ones != '0) ? first_ones : (rests != '0) ? rests & ~far : lows;
  gw_first_one #(
    .Width(2 ** FillWidth)
  ) u_send (
    .bits_i((2 ** FillWidth)'(turn)),
    .any_o (any_send),
    .idx_o (send_first)
  );
  assign from = next_q[send_idx_q];
  assign stop = stop_q[send_idx_q];
  assign fresh = fresh_q[send_idx_q];
  assign more = stop - from;
  if (RestLines < 64) begin : gen_pieces
    assign whole = fresh || more < 6'(RestLines);
    // As many lines are on the way as may be before a rest.
    for (genvar i = 0; i < Entries; i++) begin : gen_far
      assign far[i] = 6'(next_q[i] - line_q[i]) > 6'(RestLines);
    end
  end else begin : gen_whole
    assign whole = 1'b1;
    assign far = '0;
    logic unused;
    assign unused = fresh;
  end
  assign ar_free = !ar_valid_o || ar_ready_i;
  assign burst_done = sending_q && ar_free;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sending_q <= 1'b0;
      ar_valid_o <= 1'b0;
    end else begin
      // An entry is looked up for a cycle before each of its bursts.
      if (burst_done) sending_q <= 1'b0;
      else if (!sending_q) sending_q <= any_send;
      if (burst_done) ar_valid_o <= 1'b1;
      else if (ar_ready_i) ar_valid_o <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!sending_q) send_idx_q <= send_first;
    if (burst_done) begin
      ar_o <= '0;
      ar_o.id <= 4'(send_idx_q);
      ar_o.addr <= 64'({block_q[send_idx_q], from, 6'd0});
      ar_o.len <= 8'(whole ? more : 6'(RestLines - 1));
      ar_o.size <= 3'd6;
      ar_o.burst <= BurstIncr;
    end
  end

  // What came: whose it is goes ahead, the data stays until it is written.
  typedef struct packed {
    fill_t idx;
    logic error;
  } tag_t;
  localparam int unsigned Depth = 4;
  typedef logic [$clog2(Depth)-1:0] ptr_t;
  tag_t tag;
  logic r_valid, r_take, r_last, taken_q;
  logic [$clog2(Depth):0] count_q;
  ptr_t put_ptr_q, data_ptr_q;
  logic [511:0] data_mem[Depth];
  assign r_ready_o = !count_q[$clog2(Depth)];
  gw_fifo #(
    .T    (tag_t),
    .Depth(Depth)
  ) u_tags (
    .clk_i,
    .rst_ni,
    .in_valid_i (r_valid_i && r_ready_o),
    .in_ready_o (),
    .in_data_i  ('{idx: fill_t'(r_i.id), error: r_i.resp[1]}),
    .out_valid_o(r_valid),
    .out_ready_i(r_take),
    .out_data_o (tag),
    .usage_o    ()
  );
  assign r_take = !land_valid_o || land_ready_i;
  assign r_last = line_q[tag.idx] == end_q[tag.idx];
  assign land_data_o = data_mem[data_ptr_q];

  fill_t land_idx_q;
  logic land_last_q, fill_ends;
  assign fill_ends = land_valid_o && land_ready_i && land_last_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      land_valid_o <= 1'b0;
      taken_q <= 1'b0;
      count_q <= '0;
      put_ptr_q <= '0;
      data_ptr_q <= '0;
    end else begin
      if (r_take) land_valid_o <= r_valid;
      taken_q <= land_valid_o && land_ready_i;
      count_q <= count_q + ($clog2(Depth) + 1)'(r_valid_i && r_ready_o) - ($clog2(Depth) + 1)'(taken_q);
      put_ptr_q <= put_ptr_q + ptr_t'(r_valid_i && r_ready_o);
      data_ptr_q <= data_ptr_q + ptr_t'(taken_q);
    end
  end
  always_ff @(posedge clk_i) begin
    if (r_valid_i && r_ready_o) data_mem[put_ptr_q] <= r_i.data;
    if (r_take) begin
      land_idx_q <= tag.idx;
      land_last_q <= r_last;
      land_row_o <= row_q[tag.idx];
      land_line_o <= line_q[tag.idx];
      land_error_o <= tag.error;
    end
  end

  // Lines on the way, of all.
  if (Ahead > 0 && RestLines < 64) begin : gen_few
    typedef logic [FillWidth+6:0] way_t;
    way_t way_q, sent;
    line_t others;
    assign others = whole ? more : 6'(RestLines - 1);
    assign sent = burst_done ? way_t'(others) + 1'b1 : '0;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        way_q <= '0;
        few <= 1'b1;
      end else begin
        way_q <= way_q + sent - way_t'(r_valid && r_take);
        // Not known in the cycle in which a burst goes, nor in the next one: an entry is chosen in the one after.
        few <= way_q <= way_t'(RestLines) && !burst_done;
      end
    end
  end else begin : gen_any
    assign few = 1'b1;
  end

  for (genvar i = Fills; i < Entries; i++) begin : gen_ahead_fill
    logic begins, arrives, sends, asked, spans_q, cut_q, cut_ends;
    assign begins = gen_ahead.ahead_put[i-Fills];
    assign put[i] = 1'b0;
    assign fresh_q[i] = 1'b0;
    assign arrives = r_valid && r_take && tag.idx == fill_t'(i);
    assign sends = burst_done && send_idx_q == fill_t'(i);
    assign asked = !((low_q[i] && send_q[i]) || cut_q) || look_line_i < next_q[i];
    // Cut short: what was asked for has come, and is written.
    assign cut_ends = cut_q && line_q[i] == next_q[i] && !(land_valid_o && land_idx_q == fill_t'(i));
    always_ff @(posedge clk_i) spans_q <= look_line_i >= line_q[i] && asked;
    assign covers[i] = open_q[i] && spans_q && row_q[i] == ask_row_i;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        used_q[i] <= 1'b0;
        open_q[i] <= 1'b0;
        send_q[i] <= 1'b0;
        low_q[i] <= 1'b0;
        cut_q <= 1'b0;
      end else if (begins) begin
        used_q[i] <= 1'b1;
        open_q[i] <= 1'b1;
        send_q[i] <= 1'b1;
        low_q[i] <= 1'b1;
      end else begin
        if ((fill_ends && land_idx_q == fill_t'(i)) || cut_ends) used_q[i] <= 1'b0;
        if ((arrives && r_last) || cut_ends) open_q[i] <= 1'b0;
        if (stop_i && low_q[i] && send_q[i] && !(sending_q && send_idx_q == fill_t'(i))) begin
          send_q[i] <= 1'b0;
          cut_q <= 1'b1;
        end else begin
          if (sends && whole) send_q[i] <= 1'b0;
          if (cut_ends) cut_q <= 1'b0;
        end
        if (met_i && met_row_i == row_q[i]) low_q[i] <= 1'b0;
      end
    end
    always_ff @(posedge clk_i) begin
      if (begins) begin
        row_q[i] <= ahead_row_i;
        block_q[i] <= ahead_block_i;
        line_q[i] <= '0;
        next_q[i] <= '0;
      end else begin
        if (arrives) line_q[i] <= line_q[i] + 6'd1;
        if (sends) next_q[i] <= whole ? '0 : from + 6'(RestLines);
      end
    end
    assign end_q[i] = '1;
    assign stop_q[i] = '1;
  end

  for (genvar i = 0; i < Fills; i++) begin : gen_fill
    logic arrives, ends, sends, at_or_behind, up_to, spans_q;
    assign low_q[i] = 1'b0;
    assign put[i] = put_q && put_idx_q == fill_t'(i);
    assign arrives = r_valid && r_take && tag.idx == fill_t'(i);
    assign ends = fill_ends && land_idx_q == fill_t'(i);
    assign sends = burst_done && send_idx_q == fill_t'(i);
    assign at_or_behind = look_line_i >= (put[i] ? put_first_q : line_q[i]);
    assign up_to = look_line_i <= (put[i] ? put_end : end_q[i]);
    always_ff @(posedge clk_i) spans_q <= (put[i] ? put_around : around_q[i]) ? at_or_behind || up_to : at_or_behind && up_to;
    assign covers[i] = open_q[i] && spans_q && row_q[i] == ask_row_i;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        used_q[i] <= 1'b0;
        open_q[i] <= 1'b0;
        send_q[i] <= 1'b0;
        fresh_q[i] <= 1'b0;
      end else begin
        if (req_i && free_valid_q && free_q == fill_t'(i)) used_q[i] <= 1'b1;
        else if (ends) used_q[i] <= 1'b0;
        if (put[i]) open_q[i] <= 1'b1;
        else if (arrives && r_last) open_q[i] <= 1'b0;
        if (put[i]) send_q[i] <= 1'b1;
        else if (sends && whole && stop == end_q[i]) send_q[i] <= 1'b0;
        if (put[i]) fresh_q[i] <= 1'b1;
        else if (sends) fresh_q[i] <= 1'b0;
      end
    end
    always_ff @(posedge clk_i) begin
      if (put[i]) begin
        row_q[i] <= put_row_q;
        block_q[i] <= put_block_q;
        line_q[i] <= put_first_q;
        end_q[i] <= put_end;
        around_q[i] <= put_around;
        next_q[i] <= put_first_q;
        stop_q[i] <= put_last_q;
      end else begin
        if (arrives) line_q[i] <= line_q[i] + 6'd1;
        if (arrives && line_q[i] == '1) around_q[i] <= 1'b0;
        if (sends) next_q[i] <= whole ? stop + 6'd1 : from + 6'(RestLines);
        // Behind the wanted lines to the row's end, behind that what lies before them.
        if (sends && whole) stop_q[i] <= (stop == '1) ? end_q[i] : '1;
      end
    end
  end
  assign covered_o = covers != '0 || put_covers;

  // From the cycle after a request: its page, or the row of what was put.
  always_comb begin
    busy_o = '0;
    if (put_q) busy_o[put_row_q[RowWidth-1-:IdxWidth]] = 1'b1;
    for (int unsigned i = 0; i < Entries; i++) begin
      if (used_q[i] && !put[i]) busy_o[row_q[i][RowWidth-1-:IdxWidth]] = 1'b1;
    end
  end

  logic unused;
  assign unused = ^{r_i.last, r_i.resp[0], r_i.id};

  `GW_INVARIANT(AnswerIsOurs_A, !r_valid || open_q[tag.idx])
  `GW_INVARIANT(AheadRoom_A, !ahead_i || ahead_ready_o)
  `GW_INVARIANT(Ascending_A, !req_i || req_last_i >= req_first_i)
  `GW_ASSERT(ReadStable_A, ar_valid_o && !ar_ready_i |=> ar_valid_o && $stable(ar_o))
  `GW_ASSERT(LandStable_A, land_valid_o && !land_ready_i |=> land_valid_o && $stable(land_line_o) && $stable(land_row_o))
  `GW_COVER(Full_C, &used_q)

endmodule
