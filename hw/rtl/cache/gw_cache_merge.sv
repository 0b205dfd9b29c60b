// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Stores that wait for the rest of their line. Their bytes are in the line's place already, which is not valid yet; here is which ones
// they are, so that what the link brings leaves them alone.
//
// Contract
// - `ask_*` (combinational): stores of this line can be put (there is an entry of it, or a free one). `put_i` does.
// - `land_i`: the line lands, its entry is free; `land_any_o` (combinational): it has one. `pending_o` and `failed_o` know it from the
//   next cycle on.
// - In the cycle after a put its bytes are at `strb_i`; in the cycle after a landing `strb_o` has those that were stored.
// - `pending_o`: bursts, by slot, with stores that wait; `failed_o` (one cycle): those whose line did not come.
// - A put and a landing are not in one cycle.
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
  input  logic                 land_i,
  input  logic                 land_error_i,
  input  logic [RowWidth-1:0]  land_row_i,
  input  logic [5:0]           land_line_i,
  output logic                 land_any_o,
  input  logic [63:0]          strb_i,
  output logic [63:0]          strb_o,
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
  logic [63:0] strb_mem[Entries];
  logic [Slots-1:0] owners_q[Entries];
  logic [Slots-1:0] landed;
  logic [Entries-1:0] used_q, same, lands;
  place_t ask, land;
  entry_t put_idx, same_idx, free_idx, land_idx, idx_q;
  logic any_free, put_q, any_q;
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
    landed = '0;
    for (int unsigned i = 0; i < Entries; i++) begin
      if (same[i]) same_idx |= entry_t'(i);
      if (lands[i]) land_idx |= entry_t'(i);
      if (lands[i]) landed |= owners_q[i];
    end
  end
  assign put_idx = (same != '0) ? same_idx : free_idx;
  assign ask_ready_o = same != '0 || any_free;
  assign land_any_o = lands != '0;

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
      end else if (land_i && lands[i]) begin
        used_q[i] <= 1'b0;
        owners_q[i] <= '0;
      end
    end
    // A free entry's place means nothing: it is whatever was asked for.
    always_ff @(posedge clk_i) if (!used_q[i]) place_q[i] <= ask;
  end

  // One cycle later: the bytes.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) put_q <= 1'b0;
    else put_q <= put_i;
  end
  always_ff @(posedge clk_i) begin
    idx_q <= land_i ? land_idx : put_idx;
    any_q <= land_i ? land_any_o : same != '0;
    if (put_q) strb_mem[idx_q] <= strb_o | strb_i;
  end
  assign strb_o = any_q ? strb_mem[idx_q] : '0;

  always_comb begin
    pending_o = '0;
    for (int unsigned i = 0; i < Entries; i++) pending_o |= owners_q[i];
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) failed_o <= '0;
    else failed_o <= (land_i && land_error_i) ? landed : '0;
  end

  `GW_INVARIANT(OneEntry_A, $onehot0(same) && $onehot0(lands))
  `GW_INVARIANT(PutRoom_A, !put_i || ask_ready_o)
  `GW_INVARIANT(NotBoth_A, !(put_i && land_i))
  `GW_COVER(Joined_C, put_i && same != '0)

endmodule
