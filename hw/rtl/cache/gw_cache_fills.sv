// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Fills of the page cache: lines read over the link, the wanted ones first.
//
// Contract
// - A fill is of one row of 64 lines (4 KiB): the wanted lines from the first one on, and with `req_rest_i` the rest of the row
//   behind them, then what lies before. Its bursts have its number as ID, so its lines land in this order; fills among each
//   other land in any order. The rest goes in bursts of up to `RestLines`, each when no more than as many lines of the fill are on the way:
//   on a slow link the wanted lines of the next fill wait behind two such bursts, not behind a page. Up to `Fills` at a time; req_ready_o depends on registers only.
// - `covered_o`: the line asked for is still to land. It is combinational, and counts a fill from the cycle after its request.
// - A line is offered to land two cycles after it came, one a cycle, until it is taken; link data waits meanwhile.
// - `busy_o`: pages of which lines are still to land (from the cycle after the request to the one of the last landing).
// - An error of the link is told with its line.
`include "gw_assert.svh"

module gw_cache_fills #(
  /// Fills at a time, a power of two, 2 to 16.
  parameter int unsigned Fills = 8,
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
  input  logic [RowWidth-1:0]     ask_row_i,
  input  logic [5:0]              ask_line_i,
  output logic                    covered_o,
  output logic [Pages-1:0]        busy_o,
  /// A fill ended.
  output logic                    end_o,
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
  output logic [511:0]            land_data_o,
  output logic                    land_error_o
);

  import gw_axi_pkg::*;

  if (Fills < 2 || Fills > 16 || (Fills & (Fills - 1)) != 0) begin : gen_bad_fills
    $fatal(1, "gw_cache_fills: Fills must be a power of two, 2 to 16");
  end
  if (RestLines < 1 || RestLines > 64) begin : gen_bad_rest
    $fatal(1, "gw_cache_fills: RestLines must be 1 to 64");
  end

  localparam int unsigned FillWidth = $clog2(Fills);
  typedef logic [FillWidth-1:0] fill_t;
  typedef logic [RowWidth-1:0] row_t;

  // first: the line that comes first; span: lines less one, from it on, around the row. wanted: those of the first burst.
  row_t row_q[Fills];
  logic [BlockWidth-1:0] block_q[Fills];
  logic [5:0] first_q[Fills], wanted_q[Fills], span_q[Fills], landed_q[Fills], sent_q[Fills];
  // all: everything of it has arrived, the last line may still be landing. fresh: its wanted lines are not sent.
  logic [Fills-1:0] used_q, send_q, fresh_q, all_q, covers, far;

  // The entry that is put next.
  logic free_valid_q, any_free;
  fill_t free_q, first_free;
  logic [5:0] wanted;
  assign req_ready_o = free_valid_q;
  assign wanted = req_last_i - req_first_i;
  gw_first_one #(
    .Width(Fills)
  ) u_free (
    .bits_i(~used_q),
    .any_o (any_free),
    .idx_o (first_free)
  );
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) free_valid_q <= 1'b0;
    else free_valid_q <= any_free && !(req_i && free_valid_q);
  end
  always_ff @(posedge clk_i) free_q <= first_free;

  // Bursts: of the entry chosen, what was not sent, as far as its segment goes.
  logic any_send, sending_q, burst_done, ar_free;
  fill_t send_first, send_idx_q;
  logic is_rest;
  logic [5:0] begin_line, to_end, left, limit, more;
  gw_first_one #(
    .Width(Fills)
  ) u_send (
    .bits_i((fresh_q != '0) ? fresh_q : send_q & ~far),
    .any_o (any_send),
    .idx_o (send_first)
  );
  assign begin_line = first_q[send_idx_q] + sent_q[send_idx_q];
  // Lines less one: up to the row's end, up to the end of the wanted ones or of all, of a rest as many as go at a time.
  assign to_end = ~begin_line;
  assign is_rest = sent_q[send_idx_q] != '0;
  assign left = (!is_rest ? wanted_q[send_idx_q] : span_q[send_idx_q]) - sent_q[send_idx_q];
  if (RestLines < 64) begin : gen_pieces
    assign limit = (is_rest && to_end > 6'(RestLines - 1)) ? 6'(RestLines - 1) : to_end;
    // As many lines are on the way as may be before a rest.
    for (genvar i = 0; i < Fills; i++) begin : gen_far
      assign far[i] = 6'(sent_q[i] - landed_q[i]) > 6'(RestLines);
    end
  end else begin : gen_whole
    assign limit = to_end;
    assign far = '0;
  end
  assign more = (left < limit) ? left : limit;
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
      ar_o.addr <= 64'({block_q[send_idx_q], begin_line, 6'd0});
      ar_o.len <= 8'(more);
      ar_o.size <= 3'd6;
      ar_o.burst <= BurstIncr;
    end
  end

  // Data: the line it is of, then the landing.
  logic r_valid, r_take, r_last;
  axi_r_t r;
  fill_t r_idx;
  gw_slice #(
    .T(axi_r_t)
  ) u_r (
    .clk_i,
    .rst_ni,
    .in_valid_i  (r_valid_i),
    .in_ready_o  (r_ready_o),
    .in_data_i   (r_i),
    .cancel_i    (1'b0),
    .out_valid_o (r_valid),
    .out_cancel_o(),
    .out_ready_i (r_take),
    .out_data_o  (r)
  );
  assign r_idx = fill_t'(r.id);
  assign r_take = !land_valid_o || land_ready_i;
  assign r_last = landed_q[r_idx] == span_q[r_idx];

  fill_t land_idx_q;
  logic land_last_q;
  assign end_o = land_valid_o && land_ready_i && land_last_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) land_valid_o <= 1'b0;
    else if (r_take) land_valid_o <= r_valid;
  end
  always_ff @(posedge clk_i) begin
    if (r_take) begin
      land_idx_q <= r_idx;
      land_last_q <= r_last;
      land_row_o <= row_q[r_idx];
      land_line_o <= first_q[r_idx] + landed_q[r_idx];
      land_data_o <= r.data;
      land_error_o <= r.resp[1];
    end
  end

  for (genvar i = 0; i < Fills; i++) begin : gen_fill
    logic put, arrives, ends, sends;
    logic [5:0] place;
    assign put = req_i && free_valid_q && free_q == fill_t'(i);
    assign arrives = r_valid && r_take && r_idx == fill_t'(i);
    assign ends = end_o && land_idx_q == fill_t'(i);
    assign sends = burst_done && send_idx_q == fill_t'(i);
    // From its first line on, around the row.
    assign place = ask_line_i - first_q[i];
    assign covers[i] = used_q[i] && row_q[i] == ask_row_i && place <= span_q[i] && place >= landed_q[i] && !all_q[i];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        used_q[i] <= 1'b0;
        send_q[i] <= 1'b0;
        fresh_q[i] <= 1'b0;
        all_q[i] <= 1'b0;
      end else begin
        if (put) used_q[i] <= 1'b1;
        else if (ends) used_q[i] <= 1'b0;
        if (put) send_q[i] <= 1'b1;
        else if (sends && sent_q[i] + more == span_q[i]) send_q[i] <= 1'b0;
        if (put) fresh_q[i] <= 1'b1;
        else if (sends) fresh_q[i] <= 1'b0;
        if (put) all_q[i] <= 1'b0;
        else if (arrives && r_last) all_q[i] <= 1'b1;
      end
    end
    always_ff @(posedge clk_i) begin
      if (put) begin
        row_q[i] <= req_row_i;
        block_q[i] <= req_block_i;
        first_q[i] <= req_first_i;
        wanted_q[i] <= wanted;
        span_q[i] <= req_rest_i ? 6'd63 : wanted;
        landed_q[i] <= '0;
        sent_q[i] <= '0;
      end else begin
        if (arrives) landed_q[i] <= landed_q[i] + 6'd1;
        if (sends) sent_q[i] <= sent_q[i] + more + 6'd1;
      end
    end
  end
  assign covered_o = covers != '0;

  always_comb begin
    busy_o = '0;
    for (int unsigned i = 0; i < Fills; i++) begin
      if (used_q[i]) busy_o[row_q[i][RowWidth-1-:IdxWidth]] = 1'b1;
    end
  end

  logic unused;
  assign unused = ^{r.last, r.resp[0], r.id};

  `GW_INVARIANT(AnswerIsOurs_A, !r_valid || used_q[r_idx])
  `GW_INVARIANT(Ascending_A, !req_i || req_last_i >= req_first_i)
  `GW_ASSERT(ReadStable_A, ar_valid_o && !ar_ready_i |=> ar_valid_o && $stable(ar_o))
  `GW_ASSERT(LandStable_A, land_valid_o && !land_ready_i |=> land_valid_o && $stable(land_line_o) && $stable(land_row_o))
  `GW_COVER(Full_C, &used_q)

endmodule
