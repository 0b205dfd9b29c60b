// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// On which of two sides the bursts of an ID are, so that none overtakes another: one direction of gw_axi_split.
//
// Contract
// - Combinational: `ready_o` says that a burst of `id_i` may go to `side_i`. `take_i` only with it.
// - Ready while no burst of the ID is under way on the other side, and fewer than `Bursts` are on this one. Once ready for an ID and
//   a side, ready until it is taken.
// - IDs that have their low four bits in common count as one.
`include "gw_assert.svh"

module gw_axi_sides #(
  parameter int unsigned IdWidth = 4,
  /// Bursts of an ID under way, 1 or more.
  parameter int unsigned Bursts = 64
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  // A burst begins
  input  logic [IdWidth-1:0] id_i,
  input  logic               side_i,
  output logic               ready_o,
  input  logic               take_i,
  // One was answered
  input  logic               done_i,
  input  logic [IdWidth-1:0] done_id_i
);

  localparam int unsigned KeyWidth = (IdWidth < 4) ? IdWidth : 4;
  localparam int unsigned Keys = 2 ** KeyWidth;
  localparam int unsigned CountWidth = $clog2(Bursts + 1);
  typedef logic [CountWidth-1:0] count_t;

  logic [Keys-1:0] side_q;
  count_t [Keys-1:0] count_q;
  logic [KeyWidth-1:0] key, done_key;
  assign key = id_i[KeyWidth-1:0];
  assign done_key = done_id_i[KeyWidth-1:0];
  assign ready_o = count_q[key] == '0 || (side_q[key] == side_i && count_q[key] != count_t'(Bursts));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
    end else begin
      for (int unsigned i = 0; i < Keys; i++) begin
        count_q[i] <= count_q[i] + count_t'(take_i && key == KeyWidth'(i)) - count_t'(done_i && done_key == KeyWidth'(i));
      end
    end
  end
  always_ff @(posedge clk_i) if (take_i) side_q[key] <= side_i;

  if (IdWidth > KeyWidth) begin : gen_unused_id
    logic unused;
    assign unused = ^{id_i[IdWidth-1:KeyWidth], done_id_i[IdWidth-1:KeyWidth]};
  end

  `GW_INVARIANT(TakenWhenReady_A, !take_i || ready_o)
  `GW_INVARIANT(DoneIsUnderWay_A, !done_i || count_q[done_key] != '0)
  `GW_COVER(OtherSide_C, count_q[key] != '0 && side_q[key] != side_i)

endmodule
