// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Stores that wait for the rest of their line: bytes by line, put over what the link brings.
//
// Contract
// - `ask_*` (combinational): stores of this line can be put (there is an entry of it, or a free one). `put_i` does: a later
//   store of the same bytes wins.
// - `land_*` (combinational): bytes for a line that lands. `retire_i`: it has landed, the entry is free; `pending_o` and `failed_o` know
//   it from the next cycle on.
// - `pending_o`: bursts, by slot, with stores that wait; `failed_o` (one cycle): those whose line did not come.
// - A put and a landing in one cycle are of different lines.
`include "gw_assert.svh"

module gw_cache_merge #(
  /// Lines, a power of two, 1 to 16.
  parameter int unsigned Entries = 4,
  /// Bursts.
  parameter int unsigned Slots = 8,
  /// Bits of the number of a row.
  parameter int unsigned RowWidth = 4,
  /// Derived.
  localparam int unsigned SlotWidth = $clog2(Slots)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic [RowWidth-1:0]  ask_row_i,
  input  logic [5:0]           ask_line_i,
  output logic                 ask_ready_o,
  input  logic                 put_i,
  input  logic [SlotWidth-1:0] put_slot_i,
  input  logic [63:0]          put_strb_i,
  input  logic [511:0]         put_data_i,
  input  logic [RowWidth-1:0]  land_row_i,
  input  logic [5:0]           land_line_i,
  output logic [63:0]          land_strb_o,
  output logic [511:0]         land_data_o,
  input  logic                 retire_i,
  input  logic                 retire_error_i,
  output logic [Slots-1:0]     pending_o,
  output logic [Slots-1:0]     failed_o
);

  if (Entries < 1 || Entries > 16 || (Entries & (Entries - 1)) != 0) begin : gen_bad_entries
    $fatal(1, "gw_cache_merge: Entries must be a power of two, 1 to 16");
  end

  localparam int unsigned EntryWidth = (Entries > 1) ? $clog2(Entries) : 1;
  typedef logic [EntryWidth-1:0] entry_t;
  typedef logic [RowWidth+5:0] place_t;

  place_t place_q[Entries];
  logic [63:0] strb_q[Entries];
  logic [511:0] data_q[Entries];
  logic [Slots-1:0] owners_q[Entries];
  logic [Entries-1:0] used_q, same, lands;
  place_t ask, land;
  entry_t put_idx, same_idx, free_idx, land_idx;
  logic any_free;
  assign ask = {ask_row_i, ask_line_i};
  assign land = {land_row_i, land_line_i};

  gw_first_one #(
    .Width(Entries)
  ) u_free (
    .bits_i(~used_q),
    .any_o (any_free),
    .idx_o (free_idx)
  );
  always_comb begin
    same_idx = '0;
    land_idx = '0;
    for (int unsigned i = 0; i < Entries; i++) begin
      if (same[i]) same_idx |= entry_t'(i);
      if (lands[i]) land_idx |= entry_t'(i);
    end
  end
  assign put_idx = (same != '0) ? same_idx : free_idx;
  assign ask_ready_o = same != '0 || any_free;
  assign land_strb_o = (lands != '0) ? strb_q[land_idx] : '0;
  assign land_data_o = data_q[land_idx];

  always_ff @(posedge clk_i) begin
    for (int unsigned b = 0; b < 64; b++) begin
      if (put_i && put_strb_i[b]) data_q[put_idx][8*b+:8] <= put_data_i[8*b+:8];
    end
  end

  for (genvar i = 0; i < Entries; i++) begin : gen_entry
    assign same[i] = used_q[i] && place_q[i] == ask;
    assign lands[i] = used_q[i] && place_q[i] == land;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        used_q[i] <= 1'b0;
        owners_q[i] <= '0;
      end else if (put_i && put_idx == entry_t'(i)) begin
        used_q[i] <= 1'b1;
        owners_q[i] <= owners_q[i] | (Slots'(1) << put_slot_i);
      end else if (retire_i && lands[i]) begin
        used_q[i] <= 1'b0;
        owners_q[i] <= '0;
      end
    end
    always_ff @(posedge clk_i) begin
      if (put_i && put_idx == entry_t'(i)) begin
        place_q[i] <= ask;
        strb_q[i] <= (used_q[i] ? strb_q[i] : '0) | put_strb_i;
      end
    end
  end

  always_comb begin
    pending_o = '0;
    for (int unsigned i = 0; i < Entries; i++) pending_o |= owners_q[i];
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) failed_o <= '0;
    else failed_o <= (retire_i && retire_error_i && lands != '0) ? owners_q[land_idx] : '0;
  end

  `GW_INVARIANT(OneEntry_A, $onehot0(same) && $onehot0(lands))
  `GW_INVARIANT(PutRoom_A, !put_i || ask_ready_o)
  `GW_INVARIANT(NotBoth_A, !(put_i && retire_i && lands != '0 && ask == land))
  `GW_COVER(Joined_C, put_i && same != '0)

endmodule
