// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Pages read ahead of who reads in order: which, when, and whether it pays.
//
//   lookups ─┬─> gw_cache_streams: half a page in order ─┐
//            └─> a page that was read ahead is met ──────┴─> gw_cache_neighbours: what is behind it ─> put, and filled
//
// Contract
// - Once half of a page was read in order, or a page that was read ahead is met for the first time, the `Ahead` pages behind it
//   (gw_cache_neighbours) are looked at, one after the other, and those that are not here are put and asked of the link (gw_cache_fills,
//   behind all else), `Ahead` at a time.
// - A page is put only where nobody else needs the place: while more than `Spare` pages are free and no access waits for one, in a cycle in
//   which no access can put one. If none is, one is wanted (`want_o`): only the page that is next to go anyway, if it is clean, was not read
//   ahead itself, and was read in order to its end (`plain_o`).
// - Until an access meets it, a page that was read ahead (`ahead_o`) counts as not used: it goes before all others, and with any
//   maintenance, so that after an acknowledge nothing is here that no access has asked for.
// - Credit (gw_cache_credit): a page that is met earns, one that leaves before costs.
// - `hold_i`: nothing is put. `forget_i`: nothing is known any more of what is behind a page.
`include "gw_assert.svh"

module gw_cache_ahead #(
  /// Pages of the cache.
  parameter int unsigned Pages = 16,
  /// Pages ahead, 1 to 4.
  parameter int unsigned Ahead = 1,
  parameter int unsigned Spare = 1,
  /// Those of gw_cache_neighbours.
  parameter int unsigned WalkLines = 32,
  parameter int unsigned WalkLineBeats = 1,
  /// Derived.
  localparam int unsigned BlockWidth = gw_pkg::PaWidth - 12,
  localparam int unsigned IdxWidth = $clog2(Pages),
  localparam int unsigned CountWidth = $clog2(Pages + 1)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  gw_axi_pkg::pt_req_t   pt_req_i,
  input  gw_axi_pkg::pt_rsp_t   pt_rsp_i,
  /// The beat that is decided: a read or a write, its page here or nowhere.
  input  logic                  read_i,
  /// A burst's first beat, for the first time.
  input  logic                  first_i,
  input  logic                  write_i,
  input  logic                  hit_i,
  input  logic                  active_i,
  input  logic [IdxWidth-1:0]   idx_i,
  input  logic [BlockWidth-1:0] block_i,
  input  logic [5:0]            line_i,
  input  logic [5:0]            last_i,
  /// It is stored; something was put in the cycle before.
  input  logic                  store_i,
  input  logic                  alloc_last_i,
  /// Places.
  input  logic                  free_valid_i,
  input  logic [IdxWidth-1:0]   free_idx_i,
  input  logic [CountWidth-1:0] free_count_i,
  input  logic                  release_i,
  input  logic [IdxWidth-1:0]   end_idx_i,
  /// The page that may be put: in the cycle before, it was here.
  output logic [BlockWidth-1:0] block_o,
  input  logic                  here_i,
  output logic                  put_o,
  input  logic                  fill_ready_i,
  /// A page that was read ahead was met; one has left before (events, a cycle late).
  output logic                  met_o,
  output logic [IdxWidth-1:0]   met_idx_o,
  output logic                  unused_o,
  output logic                  want_o,
  output logic [Pages-1:0]      plain_o,
  output logic [Pages-1:0]      ahead_o,
  input  logic                  hold_i,
  input  logic                  forget_i
);

  localparam int unsigned KeyWidth = 16;
  typedef logic [KeyWidth-1:0] key_t;

  if (Ahead < 1 || Ahead > 4) begin : gen_bad_ahead
    $fatal(1, "gw_cache_ahead: Ahead must be 1 to 4");
  end

  // What is known of the pages: read ahead and not met; stored to; read in order to the end, and not used otherwise since.
  logic [Pages-1:0] ahead_q, dirty_q, ended_q, put_mask;
  logic look, look_q, miss, store_q, meets, begins_q, unused_leaves, put_q, finished;
  logic [IdxWidth-1:0] idx_q, put_idx_q, finished_idx;
  logic [5:0] line_q;
  key_t key_q;
  assign look = (read_i || write_i) && hit_i && active_i;
  assign miss = (read_i || write_i) && !hit_i;
  assign meets = look && ahead_q[idx_i];
  assign unused_leaves = release_i && ahead_q[end_idx_i];
  assign ahead_o = ahead_q;
  assign plain_o = ended_q & ~dirty_q & ~ahead_q;
  assign put_mask = alloc_last_i ? Pages'(1) << put_idx_q : '0;
  for (genvar i = 0; i < Pages; i++) begin : gen_page
    logic used;
    assign used = look_q && idx_q == IdxWidth'(i);
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        ahead_q[i] <= 1'b0;
        dirty_q[i] <= 1'b0;
        ended_q[i] <= 1'b0;
      end else begin
        if (put_o && free_idx_i == IdxWidth'(i)) ahead_q[i] <= 1'b1;
        else if ((meets && idx_i == IdxWidth'(i)) || (release_i && end_idx_i == IdxWidth'(i))) ahead_q[i] <= 1'b0;
        if (put_mask[i]) dirty_q[i] <= 1'b0;
        else if (used && store_q) dirty_q[i] <= 1'b1;
        if (put_mask[i]) ended_q[i] <= 1'b0;
        else if (finished && finished_idx == IdxWidth'(i)) ended_q[i] <= 1'b1;
        else if (used && begins_q && line_q < 6'd48) ended_q[i] <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      look_q <= 1'b0;
      store_q <= 1'b0;
      met_o <= 1'b0;
      put_q <= 1'b0;
      unused_o <= 1'b0;
    end else begin
      look_q <= look;
      store_q <= store_i;
      met_o <= meets;
      put_q <= put_o;
      unused_o <= unused_leaves;
    end
  end
  always_ff @(posedge clk_i) begin
    idx_q <= idx_i;
    put_idx_q <= free_idx_i;
    line_q <= line_i;
    begins_q <= write_i || first_i;
    key_q <= block_i[KeyWidth-1:0];
  end
  assign met_idx_o = idx_q;

  logic trusted, refused;
  gw_cache_credit u_credit (
    .clk_i,
    .rst_ni,
    .gain_i   (met_o),
    .loss_i   (unused_o),
    .chance_i (refused || put_o),
    .trusted_o(trusted)
  );

  // Pages behind which others may be wanted.
  logic found, key_valid, key_take, key_room;
  key_t found_key, key;
  gw_cache_streams #(
    .KeyWidth(KeyWidth),
    .IdxWidth(IdxWidth)
  ) u_streams (
    .clk_i,
    .rst_ni,
    .look_i      (read_i),
    .look_first_i(first_i),
    .look_hit_i  (hit_i),
    .look_idx_i  (idx_i),
    .look_key_i  (block_i[KeyWidth-1:0]),
    .look_line_i (line_i),
    .look_last_i (last_i),
    .look_met_i  (meets),
    .found_o     (found),
    .key_o       (found_key),
    .finished_o  (finished),
    .idx_o       (finished_idx)
  );
  // Of two in one cycle, and of more than there is room for, some are lost: the page that is met next makes up for it.
  gw_fifo #(
    .T    (key_t),
    .Depth(4)
  ) u_keys (
    .clk_i,
    .rst_ni,
    .in_valid_i ((met_o || found) && key_room),
    .in_ready_o (key_room),
    .in_data_i  (met_o ? key_q : found_key),
    .out_valid_o(key_valid),
    .out_ready_i(key_take),
    .out_data_o (key),
    .usage_o    ()
  );

  // One after the other.
  typedef enum logic [1:0] {
    Idle,
    Search,
    Look,
    Decide
  } state_e;
  state_e state_q;
  logic busy, page_valid, next, last, starved_q, room, patient;
  logic [1:0] left_q;
  logic [7:0] waited_q;
  gw_cache_neighbours #(
    .KeyWidth     (KeyWidth),
    .WalkLines    (WalkLines),
    .WalkLineBeats(WalkLineBeats)
  ) u_neighbours (
    .clk_i,
    .rst_ni,
    .pt_req_i,
    .pt_rsp_i,
    .forget_i,
    .find_i      (key_take),
    .key_i       (key),
    .next_i      (next),
    .busy_o      (busy),
    .page_valid_o(page_valid),
    .page_o      (block_o)
  );
  assign key_take = state_q == Idle && key_valid && !hold_i && !busy;
  assign last = left_q == '0;
  // Free places that are nobody's. What is put for somebody who waits comes before.
  if (Spare > 0) begin : gen_spare
    assign room = free_valid_i && free_count_i > CountWidth'(Spare);
  end else begin : gen_no_spare
    assign room = free_valid_i;
    logic unused;
    assign unused = ^free_count_i;
  end
  logic wanted;
  assign wanted = state_q == Decide && page_valid && !here_i && trusted && !hold_i;
  assign put_o = wanted && fill_ready_i && room && !starved_q && !miss && !alloc_last_i;
  assign want_o = wanted && !room;
  assign refused = state_q == Decide && page_valid && !here_i && !trusted;
  assign patient = !key_valid || waited_q != '1;
  assign next = state_q == Decide && (here_i || put_o) && !last;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      starved_q <= 1'b0;
    end else begin
      // An access for which there is no place, until one was put for an access.
      starved_q <= (starved_q && !(alloc_last_i && !put_q)) || (miss && !alloc_last_i && !free_valid_i);
      unique case (state_q)
        Idle: if (key_take) state_q <= Search;
        Search: begin
          if (page_valid) state_q <= Look;
          else if (!busy) state_q <= Idle;
        end
        Look: state_q <= Decide;
        Decide: begin
          if (!page_valid || refused || (last && (here_i || put_o)) || !patient) state_q <= Idle;
          else if (next) state_q <= Search;
        end
        default: state_q <= Idle;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == Idle) left_q <= 2'(Ahead - 1);
    else if (next) left_q <= left_q - 2'd1;
    // For a place, which may never come. A fill does.
    waited_q <= (state_q == Decide && fill_ready_i) ? ((waited_q == '1) ? '1 : waited_q + 8'd1) : '0;
  end

  logic unused_bits;
  assign unused_bits = ^block_i[BlockWidth-1:KeyWidth];

  `GW_INVARIANT(PutIsNew_A, !put_o || !ahead_q[free_idx_i])
  `GW_COVER(Refused_C, refused)
  `GW_COVER(Unused_C, unused_leaves)
  `GW_COVER(WaitsForRoom_C, want_o && waited_q == '1)

endmodule
