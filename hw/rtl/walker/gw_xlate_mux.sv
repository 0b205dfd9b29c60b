// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Gathers the translation requests of all translator channels into one stream and spreads the answers back.
//
// Contract
// - Requests: combinational, one a cycle, round-robin between sources (see gw_rr_arbiter); `req_o.src` is the source's
//   number, whatever the source wrote there. A request offered stays as it is until it is taken.
// - Answers: combinational, one a cycle, to the source named in `rsp_i.src`, which is one that there is; no back-pressure. The
//   payload bus is shared: `src_rsp_valid_o` says whose it is.
// - Nothing is stored but the arbiter's turn.
`include "gw_assert.svh"

module gw_xlate_mux #(
  /// Sources: translator channels, numbered {port, is_write}; at most 2**gw_pkg::SrcWidth.
  parameter int unsigned NumSrc = 2
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
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

  logic [NumSrc-1:0]   gnt;
  logic [IdxWidth-1:0] idx;

  gw_rr_arbiter #(
    .NumReq(NumSrc)
  ) u_arbiter (
    .clk_i,
    .rst_ni,
    .req_i  (src_req_valid_i),
    .gnt_o  (gnt),
    .idx_o  (idx),
    .valid_o(req_valid_o),
    .ready_i(req_ready_i)
  );

  assign src_req_ready_o = gnt & {NumSrc{req_ready_i}};

  // AND-OR with the one-hot grant: no encode and decode in the way of the payload.
  always_comb begin
    req_o = '0;
    for (int unsigned i = 0; i < NumSrc; i++) begin
      if (gnt[i]) req_o |= src_req_i[i];
    end
    req_o.src = gw_pkg::src_t'(idx);
  end

  // No more bits than sources have: a wider comparison would be later.
  assign src_rsp_o = rsp_i;
  always_comb begin
    for (int unsigned i = 0; i < NumSrc; i++) begin
      src_rsp_valid_o[i] = rsp_valid_i && (IdxWidth'(rsp_i.src) == IdxWidth'(i));
    end
  end

  `GW_ASSERT(RequestStable_A, req_valid_o && !req_ready_i |=> req_valid_o && $stable(req_o))
  `GW_ASSERT(AnswerHasSource_A, rsp_valid_i |-> 32'(rsp_i.src) < NumSrc)

endmodule
