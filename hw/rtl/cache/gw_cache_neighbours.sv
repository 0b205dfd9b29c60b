// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Which page comes behind a page, in the order of the addresses that accelerators use: from the lines of page tables that the walker reads.
//
//   the walker's reads ─> lines of eight entries ─┬─> the one that has the page ─> entry behind it ─> page
//                                                 └─> behind a line's last entry: the next line of the table, if it is here
//
// Why here: what stands behind a page in memory may be somebody else's, or not there at all. The page that stands behind it in a table was
// given to the card together with it.
//
// Contract
// - A page that is named has been given to the card to be read: its entry is a leaf that is valid, readable, a user's and accessed
//   (gw_pte_kind, gw_pte_check), in the host aperture, and was read since the latest `forget_i`, by a read that was begun after it. It is the
//   4 KiB that the entry maps, or of a 64 KiB mapping those of the entry. The level of a table is not seen here: of a larger leaf only the
//   first 4 KiB are named, and nothing is known to be behind another page of it.
// - `find_i` (ignored while `busy_o`): looks for a page whose number ends with `key_i`, a line a cycle. Then `page_valid_o` with the page
//   behind it, until `next_i` or the next find; `next_i`: the page behind that one. If it is not known, `busy_o` falls without one. So a
//   page may be taken for another one that ends alike; what is named is the card's in any case.
// - Nothing is asked of memory. A line takes the place of another one (`Lines` places, by its address).
// - Reset: nothing is known.
`include "gw_assert.svh"

module gw_cache_neighbours #(
  /// Lines of eight entries, a power of two, 4 to 64.
  parameter int unsigned Lines = 16,
  /// Low bits of a page's number by which it is looked for.
  parameter int unsigned KeyWidth = 16,
  /// Those of the walker: lines, and their beats of 64 bytes.
  parameter int unsigned WalkLines = 32,
  parameter int unsigned WalkLineBeats = 1,
  /// Derived.
  localparam int unsigned BlockWidth = gw_pkg::PaWidth - 12
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  /// The walker's port, to look at.
  input  gw_axi_pkg::pt_req_t   pt_req_i,
  input  gw_axi_pkg::pt_rsp_t   pt_rsp_i,
  input  logic                  forget_i,
  input  logic                  find_i,
  input  logic [KeyWidth-1:0]   key_i,
  input  logic                  next_i,
  output logic                  busy_o,
  output logic                  page_valid_o,
  output logic [BlockWidth-1:0] page_o
);

  import gw_spec_pkg::*;

  localparam int unsigned HostBit = HostApertureBit - 12;
  localparam int unsigned PlaceWidth = $clog2(Lines);
  localparam int unsigned SlotWidth = (WalkLines > 1) ? $clog2(WalkLines) : 1;
  localparam int unsigned LineWidth = gw_pkg::PaWidth - 6;
  localparam int unsigned TableBits = 6;
  typedef logic [PlaceWidth-1:0] place_t;
  typedef logic [LineWidth-1:0] line_t;
  typedef logic [2:0] entry_t;
  // A page of the host; the bit of the aperture is known.
  typedef struct packed {
    logic valid;
    logic [HostBit-1:0] block;
  } known_t;

  if (Lines < 4 || Lines > 64 || (Lines & (Lines - 1)) != 0) begin : gen_bad_lines
    $fatal(1, "gw_cache_neighbours: Lines must be a power of two, 4 to 64");
  end

  // Where a line is kept: tables of two arrays that are read side by side should not meet.
  function automatic place_t place_of(logic [3*PlaceWidth-1:0] line);
    return line[PlaceWidth-1:0] ^ line[PlaceWidth+:PlaceWidth] ^ line[2*PlaceWidth+:PlaceWidth];
  endfunction

  // Which line a beat is of. Reads that were begun before something was forgotten do not count.
  logic [SlotWidth-1:0] ar_slot, r_slot;
  logic ar, r, learn;
  logic [WalkLines-1:0] old_q;
  line_t base_mem[WalkLines];
  line_t first, line;
  assign ar_slot = pt_req_i.ar.id[SlotWidth-1:0];
  assign r_slot = pt_rsp_i.r.id[SlotWidth-1:0];
  // Exclusive accesses of the walker are no lines; their ID has the topmost bit.
  assign ar = pt_req_i.ar_valid && pt_rsp_i.ar_ready && !pt_req_i.ar.id[gw_axi_pkg::PtIdWidth-1];
  assign r = pt_rsp_i.r_valid && pt_req_i.r_ready && !pt_rsp_i.r.id[gw_axi_pkg::PtIdWidth-1];
  assign first = base_mem[r_slot];
  always_ff @(posedge clk_i) if (ar) base_mem[ar_slot] <= pt_req_i.ar.addr[6+:LineWidth];
  for (genvar i = 0; i < WalkLines; i++) begin : gen_slot
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) old_q[i] <= 1'b1;
      else if (forget_i) old_q[i] <= 1'b1;
      else if (ar && ar_slot == SlotWidth'(i)) old_q[i] <= 1'b0;
    end
  end
  if (WalkLineBeats > 1) begin : gen_beats
    localparam int unsigned BeatWidth = $clog2(WalkLineBeats);
    typedef logic [BeatWidth-1:0] beat_t;
    beat_t [WalkLines-1:0] beat_q;
    for (genvar i = 0; i < WalkLines; i++) begin : gen_beat
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) beat_q[i] <= '0;
        else if (r && r_slot == SlotWidth'(i)) beat_q[i] <= pt_rsp_i.r.last ? '0 : beat_q[i] + 1'b1;
      end
    end
    // From the beat that was asked for on and around.
    assign line = {first[LineWidth-1:BeatWidth], beat_t'(first[BeatWidth-1:0] + beat_q[r_slot])};
  end else begin : gen_beat
    assign line = first;
  end

  // What is known of it.
  known_t [7:0] seen;
  for (genvar i = 0; i < 8; i++) begin : gen_entry
    logic [63:0] pte;
    logic leaf;
    logic [BlockWidth-1:0] ppn;
    assign pte = pt_rsp_i.r.data[64*i+:64];
    assign ppn = pte[PtePpnLsb+:PtePpnWidth];
    gw_pte_kind u_kind (
      .pte_i    (pte),
      .pointer_o(),
      .leaf_o   (leaf)
    );
    assign seen[i].valid = leaf && pte[PteR] && pte[PteU] && pte[PteA] && ppn[HostBit] && (!pte[PteN] || ppn[3:0] == 4'(NapotPattern));
    assign seen[i].block = pte[PteN] ? {ppn[HostBit-1:4], line[0], 3'(i)} : ppn[HostBit-1:0];
  end
  logic [7:0] some;
  for (genvar i = 0; i < 8; i++) begin : gen_some
    assign some[i] = seen[i].valid;
  end
  assign learn = r && !pt_rsp_i.r.resp[1] && !old_q[r_slot] && !forget_i && some != '0;

  logic [Lines-1:0] valid_q;
  line_t line_mem[Lines];
  known_t [7:0] known_mem[Lines];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (forget_i) valid_q <= '0;
    else if (learn) valid_q[place_of(line[3*PlaceWidth-1:0])] <= 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (learn) begin
      line_mem[place_of(line[3*PlaceWidth-1:0])] <= line;
      known_mem[place_of(line[3*PlaceWidth-1:0])] <= seen;
    end
  end

  // The search.
  typedef enum logic [2:0] {
    Idle,
    Scan,
    Step,
    Cross,
    Same,
    Read,
    Show
  } state_e;
  state_e state_q;
  place_t place_q;
  entry_t entry_q, match_idx;
  logic [KeyWidth-1:0] key_q;
  line_t behind_q;
  logic inside_q, match_any;
  logic [7:0] match;
  known_t [7:0] here;
  known_t chosen;
  assign here = known_mem[place_q];
  assign chosen = here[entry_q];
  for (genvar i = 0; i < 8; i++) begin : gen_match
    assign match[i] = valid_q[place_q] && here[i].valid && here[i].block[KeyWidth-1:0] == key_q;
  end
  gw_first_one #(
    .Width(8)
  ) u_match (
    .bits_i(match),
    .any_o (match_any),
    .idx_o (match_idx)
  );
  assign busy_o = state_q != Idle && state_q != Show;
  assign page_valid_o = state_q == Show;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) state_q <= Idle;
    else if (forget_i) state_q <= Idle;
    else begin
      unique case (state_q)
        Idle: if (find_i) state_q <= Scan;
        Scan: begin
          if (match_any) state_q <= Step;
          else if (place_q == '1) state_q <= Idle;
        end
        // The entry behind it: of the same line, or of the next one.
        Step: state_q <= (entry_q == '1) ? Cross : Read;
        Cross: state_q <= Same;
        Same: state_q <= (inside_q && valid_q[place_q] && line_mem[place_q] == behind_q) ? Read : Idle;
        Read: state_q <= (valid_q[place_q] && chosen.valid) ? Show : Idle;
        Show: begin
          if (find_i) state_q <= Scan;
          else if (next_i) state_q <= Step;
        end
        default: state_q <= Idle;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (find_i && !busy_o) key_q <= key_i;
    if (find_i && !busy_o) place_q <= '0;
    else if (state_q == Scan && !match_any) place_q <= place_q + 1'b1;
    else if (state_q == Cross) place_q <= place_of(behind_q[3*PlaceWidth-1:0]);
    if (state_q == Scan) entry_q <= match_idx;
    else if (state_q == Step) entry_q <= entry_q + 3'd1;
    if (state_q == Step) begin
      behind_q <= line_mem[place_q] + 1'b1;
      inside_q <= line_mem[place_q][TableBits-1:0] != '1;
    end
    if (state_q == Read) page_o <= {1'b1, chosen.block};
  end

  logic unused;
  assign unused = ^{pt_req_i, pt_rsp_i};

  `GW_INVARIANT(InHost_A, !page_valid_o || page_o[HostBit])
  `GW_COVER(NextLine_C, state_q == Same && inside_q && valid_q[place_q] && line_mem[place_q] == behind_q)
  `GW_COVER(OldRead_C, r && old_q[r_slot])

endmodule
