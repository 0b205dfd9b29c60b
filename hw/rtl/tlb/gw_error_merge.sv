// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Puts error responses into the memory's response channel (R or B).
//
// Contract
// - Combinational: a response is passed on in the cycle it is offered, beat by beat.
// - An offered response stays until it is taken; between beats the two sources take turns when both
//   want.
// - block_i: the memory's response must wait (an error response of its ID comes first). It does not
//   withdraw one already on offer.
// - No path from out_ready_i to out_valid_o or out_data_o.
`include "gw_assert.svh"

module gw_error_merge #(
  parameter type T = logic [7:0]
) (
  input  logic clk_i,
  input  logic rst_ni,
  /// Memory's responses.
  input  logic mem_valid_i,
  output logic mem_ready_o,
  input  T     mem_data_i,
  input  logic block_i,
  /// Error responses.
  input  logic err_valid_i,
  output logic err_ready_o,
  input  T     err_data_i,
  /// To the accelerator.
  output logic out_valid_o,
  input  logic out_ready_i,
  output T     out_data_o
);

  logic locked_q, err_q, pick_err, mem_wants;
  assign mem_wants = mem_valid_i && !block_i;
  // err_q: what was offered last, which is what must stay while locked and what gives way
  // otherwise.
  assign pick_err = locked_q ? err_q : err_valid_i && !(mem_wants && err_q);
  assign out_valid_o = locked_q || err_valid_i || mem_wants;
  assign out_data_o = pick_err ? err_data_i : mem_data_i;
  assign err_ready_o = pick_err && out_ready_i;
  assign mem_ready_o = !pick_err && (locked_q || mem_wants) && out_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      locked_q <= 1'b0;
      err_q <= 1'b0;
    end else begin
      locked_q <= out_valid_o && !out_ready_i;
      if (out_valid_o) err_q <= pick_err;
    end
  end

  `GW_ASSERT(MemStable_A, mem_valid_i && !mem_ready_o |=> mem_valid_i && $stable(mem_data_i))
  `GW_ASSERT(ErrStable_A, err_valid_i && !err_ready_o |=> err_valid_i && $stable(err_data_i))
  `GW_ASSERT(OutStable_A, out_valid_o && !out_ready_i |=> out_valid_o && $stable(out_data_o))
  `GW_COVER(Both_C, err_valid_i && mem_wants)

endmodule
