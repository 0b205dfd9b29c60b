// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Round-robin choice of one of `NumReq` requesters.
//
// Contract
// - The choice is combinational: `valid_o` is high in the cycle any `req_i` is, with `gnt_o` one-hot and `idx_o` its number.
// - A choice that is not taken (`ready_i` low) stays as it is until it is, so payloads selected by it are stable. It relies
//   on requesters doing the same: a `req_i` that is high stays high until it was granted and taken.
// - Fair: a waiting requester sees at most NumReq - 1 others taken before it.
// - `gnt_o` does not depend on `ready_i`.
// - Reset (asynchronous, active low): requester 0 comes first.
`include "gw_assert.svh"

module gw_rr_arbiter #(
  /// Requesters, 1 or more.
  parameter int unsigned NumReq = 2,
  /// Derived: width of a requester's number.
  localparam int unsigned IdxWidth = (NumReq > 1) ? $clog2(NumReq) : 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  /// Requesters that want to be served.
  input  logic [NumReq-1:0]   req_i,
  /// The requester chosen, one-hot; zero when there is none.
  output logic [NumReq-1:0]   gnt_o,
  /// The requester chosen, as a number; 0 when there is none.
  output logic [IdxWidth-1:0] idx_o,
  /// Somebody is chosen.
  output logic                valid_o,
  /// The choice is taken in this cycle.
  input  logic                ready_i
);

  if (NumReq < 1) begin : gen_bad_num_req
    $fatal(1, "gw_rr_arbiter: NumReq must be 1 or more");
  end

  // Requesters that come before all others: those above the one taken last, or while a choice waits, that one alone.
  logic [NumReq-1:0] first_q, first_d;
  logic [NumReq-1:0] preferred, candidates;

  assign preferred  = req_i & first_q;
  assign candidates = (preferred != '0) ? preferred : req_i;
  assign gnt_o      = candidates & ~(candidates - NumReq'(1));
  assign valid_o    = req_i != '0;

  always_comb begin
    idx_o = '0;
    for (int unsigned i = 0; i < NumReq; i++) begin
      if (gnt_o[i]) idx_o |= IdxWidth'(i);
    end
  end

  always_comb begin
    first_d = first_q;
    if (valid_o) begin
      // ~(gnt - 1) are the chosen one and all above it.
      first_d = ready_i ? (~(gnt_o - NumReq'(1)) & ~gnt_o) : gnt_o;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) first_q <= '0;
    else first_q <= first_d;
  end

  `GW_INVARIANT(GrantOneHot_A, $onehot0(gnt_o) && (gnt_o & ~req_i) == '0 && valid_o == (gnt_o != '0))
  `GW_ASSERT(RequestStable_A, valid_o && !ready_i |=> ($past(req_i) & ~req_i) == '0)
  `GW_ASSERT(ChoiceStable_A, valid_o && !ready_i |=> $stable(gnt_o))
  `GW_COVER(WrapAround_C, preferred == '0 && valid_o && first_q != '0)

endmodule
