// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// IDs of one direction as shorter ones: a table of the bursts in flight.
//
// Contract
// - Combinational: `out_id_o` and `ready_o` of an `in_id_i`, and back. `take_i` may be high in a cycle with `ready_o` only.
// - Bursts of one ID that are in flight together have one short ID, so that their order is kept; bursts of two IDs never
//   have the same one.
// - An ID whose bursts are all answered gives its short ID back. Ready is low when all are in use by other IDs, or when
//   the ID has `Bursts` bursts in flight.
`include "gw_assert.svh"

module gw_axi_id_table #(
  parameter int unsigned InIdWidth = 8,
  parameter int unsigned OutIdWidth = 4,
  /// Bursts of an ID in flight.
  parameter int unsigned Bursts = 64
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  // A burst begins
  input  logic                  take_i,
  output logic                  ready_o,
  input  logic [InIdWidth-1:0]  in_id_i,
  output logic [OutIdWidth-1:0] out_id_o,
  // A burst is answered
  input  logic                  done_i,
  input  logic [OutIdWidth-1:0] done_id_i,
  output logic [InIdWidth-1:0]  done_id_o
);

  localparam int unsigned Entries = 2 ** OutIdWidth;
  localparam int unsigned CountWidth = $clog2(Bursts + 1);
  typedef logic [CountWidth-1:0] count_t;

  logic [Entries-1:0][InIdWidth-1:0] id_q;
  count_t [Entries-1:0] count_q;

  logic known, free;
  logic [OutIdWidth-1:0] known_idx, free_idx;
  always_comb begin
    known = 1'b0;
    free = 1'b0;
    known_idx = '0;
    free_idx = '0;
    for (int unsigned i = 0; i < Entries; i++) begin
      if (count_q[i] != '0 && id_q[i] == in_id_i) begin
        known = 1'b1;
        known_idx |= OutIdWidth'(i);
      end
    end
    for (int unsigned i = Entries; i > 0; i--) begin
      if (count_q[i-1] == '0) begin
        free = 1'b1;
        free_idx = OutIdWidth'(i - 1);
      end
    end
  end

  assign out_id_o = known ? known_idx : free_idx;
  assign ready_o = known ? count_q[known_idx] != count_t'(Bursts) : free;
  assign done_id_o = id_q[done_id_i];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
    end else begin
      for (int unsigned i = 0; i < Entries; i++) begin
        count_q[i] <= count_q[i] + count_t'(take_i && out_id_o == OutIdWidth'(i))
                                 - count_t'(done_i && done_id_i == OutIdWidth'(i));
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (take_i) id_q[out_id_o] <= in_id_i;
  end

  `GW_INVARIANT(TakenWhenReady_A, !take_i || ready_o)
  `GW_INVARIANT(DoneIsInFlight_A, !done_i || count_q[done_id_i] != '0)
  `GW_COVER(AllInUse_C, !known && !free)

endmodule
