// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Gathers the translation requests of all translator channels into one stream and spreads the answers back.
//
// Contract
// - Requests: one a cycle; `req_o.src` is the source's number, whatever the source wrote there. While nobody waits the lowest source
//   that wants to ask (`src_want_i`) passes in the same cycle, if it does, and the others wait here, one request a source. Who waits
//   goes first, in turn (gw_rr_arbiter), so at most NumSrc + 1 requests of others go before one that was taken. A cycle passes
//   without a request while there is any only if the lowest that wanted to ask does not, or nobody wanted to; it is the only one. A
//   request offered stays as it is until it is taken.
// - `src_req_ready_o` is a register: nothing of the source waits. Whose turn it is is one, too: there is no way from a source
//   through the choice to another, and `req_o` is chosen by who wants to, which is known early in a cycle.
// - Answers: combinational, one a cycle, to the source named in `rsp_i.src`, which is one that there is; no back-pressure. The
//   payload bus is shared: `src_rsp_valid_o` says whose it is.
`include "gw_assert.svh"

module gw_xlate_mux #(
  /// Sources: translator channels, numbered {port, is_write}; at most 2**gw_pkg::SrcWidth.
  parameter int unsigned NumSrc = 2
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  /// Whether it is likely to ask in this cycle: from registers, as the request is chosen by it.
  input  logic               [NumSrc-1:0]  src_want_i,
  input  logic               [NumSrc-1:0]  src_req_valid_i,
  output logic               [NumSrc-1:0]  src_req_ready_o,
  input  gw_pkg::xlate_req_t [NumSrc-1:0]  src_req_i,
  output logic               [NumSrc-1:0]  src_rsp_valid_o,
  output gw_pkg::xlate_rsp_t               src_rsp_o,
  output logic                             req_valid_o,
  input  logic                             req_ready_i,
  output gw_pkg::xlate_req_t               req_o,
  input  logic                             rsp_valid_i,
  input  gw_pkg::xlate_rsp_t               rsp_i
);

  if (NumSrc < 1 || NumSrc > 2 ** gw_pkg::SrcWidth) begin : gen_bad_num_src
    $fatal(1, "gw_xlate_mux: NumSrc must be 1 to 2**SrcWidth");
  end

  localparam int unsigned IdxWidth = (NumSrc > 1) ? $clog2(NumSrc) : 1;

  // Requests that wait, and whose turn it is: none while none waits.
  logic [NumSrc-1:0] waits_q, turn_q, first, asks, passes, others, kept, next, turn_d;
  gw_pkg::xlate_req_t [NumSrc-1:0] wait_q;
  logic direct_q, first_asks, others_wait, load;
  assign src_req_ready_o = ~waits_q;
  assign asks = src_req_valid_i & ~waits_q;
  // The lowest one that wants to.
  assign first = src_want_i & ~(src_want_i - NumSrc'(1));
  assign first_asks = |(first & src_req_valid_i);
  assign passes = first & src_req_valid_i & {NumSrc{direct_q && req_ready_i}};
  assign kept = asks & ~passes;
  assign others = waits_q & ~turn_q;
  assign load = direct_q || req_ready_i;

  gw_rr_arbiter #(
    .NumReq(NumSrc)
  ) u_arbiter (
    .clk_i,
    .rst_ni,
    .req_i  (others),
    .gnt_o  (next),
    .idx_o  (),
    .valid_o(others_wait),
    .ready_i(load)
  );
  // Of those that wait from now on only, which are known late: the one that was offered, else the lowest.
  always_comb begin
    turn_d = kept & ~(kept - NumSrc'(1));
    if (others_wait) turn_d = next;
    else if (direct_q && first_asks && !req_ready_i) turn_d = first;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waits_q <= '0;
      turn_q <= '0;
      direct_q <= 1'b1;
    end else begin
      waits_q <= others | (turn_q & {NumSrc{!req_ready_i}}) | kept;
      if (load) begin
        turn_q <= turn_d;
        direct_q <= !others_wait && kept == '0;
      end
    end
  end
  for (genvar i = 0; i < NumSrc; i++) begin : gen_wait
    always_ff @(posedge clk_i) begin
      if (!waits_q[i]) wait_q[i] <= src_req_i[i];
    end
  end

  // AND-OR: the one-hot turn, which is nobody's when the lowest one that wants to passes.
  gw_pkg::xlate_req_t waiting, passing, one;
  always_comb begin
    waiting = '0;
    passing = '0;
    one = '0;
    for (int unsigned i = 0; i < NumSrc; i++) begin
      one = wait_q[i];
      one.src = gw_pkg::src_t'(i);
      if (turn_q[i]) waiting |= one;
      one = src_req_i[i];
      one.src = gw_pkg::src_t'(i);
      if (first[i] && direct_q) passing |= one;
    end
  end
  assign req_valid_o = !direct_q || first_asks;
  assign req_o = waiting | passing;

  // No more bits than sources have: a wider comparison would be later.
  assign src_rsp_o = rsp_i;
  always_comb begin
    for (int unsigned i = 0; i < NumSrc; i++) begin
      src_rsp_valid_o[i] = rsp_valid_i && (IdxWidth'(rsp_i.src) == IdxWidth'(i));
    end
  end

  `GW_ASSERT(RequestStable_A, req_valid_o && !req_ready_i |=> req_valid_o && $stable(req_o))
  `GW_ASSERT(AnswerHasSource_A, rsp_valid_i |-> 32'(rsp_i.src) < NumSrc)
  `GW_INVARIANT(TurnIsOfOneThatWaits_A, $onehot0(turn_q) && (turn_q & ~waits_q) == '0 && direct_q == (waits_q == '0) &&
      direct_q == (turn_q == '0))
  `GW_COVER(PassesAndWaits_C, passes != '0 && kept != '0)

endmodule
