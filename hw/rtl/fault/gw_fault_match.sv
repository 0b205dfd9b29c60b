// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Pages that wait: who asked for which, in banks of LUT RAM that are searched a row at a time.
//
// Contract
// - start_i begins a search for find_*: done_o, a pulse, Pages / Banks + 1 cycles later, with hit_o and hit_place_o. Compared is what
//   is `alive_i` in the cycle in which its row is read. At most one can be found: no page is written that a search would find.
// - other_o, at any time of a search: alive, of the same context, and of another generation.
// - Without a search: the page and context of read_place_i are at the outputs two cycles later (read_place_i held).
// - write_i not during a search.
`include "gw_assert.svh"

module gw_fault_match #(
  /// Places, a power of two, 2 to 64; searched Banks at a time, a power of two, Pages / 2 at most.
  parameter int unsigned Pages = 64,
  parameter int unsigned Banks = 8,
  parameter int unsigned GenerationWidth = 3,
  /// Derived.
  localparam int unsigned PlaceWidth = $clog2(Pages)
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic [Pages-1:0]           alive_i,
  input  logic                       start_i,
  input  gw_pkg::ctx_id_t            find_ctx_i,
  input  logic [GenerationWidth-1:0] find_generation_i,
  input  gw_pkg::vpn_t               find_vpn_i,
  output logic                       done_o,
  output logic                       hit_o,
  output logic [PlaceWidth-1:0]      hit_place_o,
  output logic [Pages-1:0]           other_o,
  /// What is searched for becomes the page of this place.
  input  logic                       write_i,
  input  logic [PlaceWidth-1:0]      write_place_i,
  input  logic [PlaceWidth-1:0]      read_place_i,
  output gw_pkg::ctx_id_t            read_ctx_o,
  output gw_pkg::vpn_t               read_vpn_o
);

  localparam int unsigned BankWidth = $clog2(Banks);
  localparam int unsigned Rows = Pages / Banks;
  localparam int unsigned RowWidth = $clog2(Rows);

  typedef logic [RowWidth-1:0] row_t;
  typedef logic [PlaceWidth-1:0] place_t;
  typedef struct packed {
    gw_pkg::ctx_id_t            ctx;
    logic [GenerationWidth-1:0] generation;
    gw_pkg::vpn_t               vpn;
  } key_t;

  function automatic row_t row_of(place_t place);
    return row_t'(place >> BankWidth);
  endfunction

  function automatic place_t place_of(row_t row, place_t bank);
    return place_t'(place_t'(row) << BankWidth) | bank;
  endfunction

  // A row is read, and compared in the next cycle.
  logic search_q, compare_q, last_q;
  row_t row_q, compared_q, row;
  key_t find;
  key_t [Banks-1:0] read_q;
  logic [Banks-1:0] alive_q, same, other;
  assign row = search_q ? row_q : row_of(read_place_i);
  assign find = '{ctx: find_ctx_i, generation: find_generation_i, vpn: find_vpn_i};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      search_q <= 1'b0;
      compare_q <= 1'b0;
      last_q <= 1'b0;
    end else begin
      if (start_i) search_q <= 1'b1;
      else if (row_q == row_t'(Rows - 1)) search_q <= 1'b0;
      compare_q <= search_q;
      last_q <= search_q && row_q == row_t'(Rows - 1);
    end
  end
  always_ff @(posedge clk_i) begin
    row_q <= search_q ? row_q + 1'b1 : '0;
    compared_q <= row_q;
  end

  for (genvar b = 0; b < Banks; b++) begin : gen_banks
    key_t mem[Rows];
    always_ff @(posedge clk_i) begin
      if (write_i && (write_place_i & place_t'(Banks - 1)) == place_t'(b)) mem[row_of(write_place_i)] <= find;
      read_q[b] <= mem[row];
    end
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned b = 0; b < Banks; b++) alive_q[b] <= alive_i[place_of(row, place_t'(b))];
  end

  always_comb begin
    other_o = '0;
    for (int unsigned b = 0; b < Banks; b++) begin
      same[b] = compare_q && alive_q[b] && read_q[b] == find;
      other[b] = compare_q && alive_q[b] && read_q[b].ctx == find.ctx && read_q[b].generation != find.generation;
      other_o[place_of(compared_q, place_t'(b))] = other[b];
    end
  end

  // Found in this row, or in one before.
  logic hit_q;
  place_t hit_place_q, place;
  always_comb begin
    place = '0;
    for (int unsigned b = 0; b < Banks; b++) begin
      if (same[b]) place |= place_of(compared_q, place_t'(b));
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) hit_q <= 1'b0;
    else if (same != '0) hit_q <= 1'b1;
    if (same != '0) hit_place_q <= place;
    done_o <= rst_ni && last_q;
  end
  assign hit_o = hit_q;
  assign hit_place_o = hit_place_q;

  always_comb begin
    read_ctx_o = '0;
    read_vpn_o = '0;
    for (int unsigned b = 0; b < Banks; b++) begin
      if ((read_place_i & place_t'(Banks - 1)) == place_t'(b)) begin
        read_ctx_o = read_q[b].ctx;
        read_vpn_o = read_q[b].vpn;
      end
    end
  end

  `GW_INVARIANT(OneOfAPage_A, (same & (same - 1'b1)) == '0 && !(hit_q && same != '0))
  `GW_INVARIANT(NoWriteInSearch_A, !(write_i && (search_q || compare_q)))
  `GW_COVER(OtherGeneration_C, other != '0)

endmodule
