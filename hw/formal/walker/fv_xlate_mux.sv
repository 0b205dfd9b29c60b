// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_xlate_mux: a request that was taken leaves once, with its source's number and otherwise unchanged, those of a
// source in their order; an answer reaches exactly the source it names; an offered request is stable; while there is a request one
// is offered, but in its first cycle only if the source was the lowest that wanted to ask; no source starves.
module fv_xlate_mux #(
  parameter int unsigned NumSrc = 4
) (
  input logic                            clk_i,
  input logic                            rst_ni,
  input logic              [NumSrc-1:0]  src_want_i,
  input logic              [NumSrc-1:0]  src_valid_i,
  input gw_pkg::xlate_req_t [NumSrc-1:0] src_req_i,
  input logic                            ready_i,
  input logic                            rsp_valid_i,
  input gw_pkg::xlate_rsp_t              rsp_i
);

  localparam int unsigned CountWidth = $clog2(NumSrc + 3);

  logic               [NumSrc-1:0] src_ready, src_rsp_valid;
  logic                            valid;
  gw_pkg::xlate_req_t              req;
  gw_pkg::xlate_rsp_t              src_rsp;

  gw_xlate_mux #(
    .NumSrc(NumSrc)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .src_want_i,
    .src_req_valid_i(src_valid_i),
    .src_req_ready_o(src_ready),
    .src_req_i,
    .src_rsp_valid_o(src_rsp_valid),
    .src_rsp_o      (src_rsp),
    .req_valid_o    (valid),
    .req_ready_i    (ready_i),
    .req_o          (req),
    .rsp_valid_i,
    .rsp_i
  );

  logic                            past_valid_q = 1'b0;
  logic                            offered_q;
  gw_pkg::xlate_req_t              req_q;
  logic               [NumSrc-1:0] taken_q, sent, here, first;
  assign first = src_want_i & ~(src_want_i - NumSrc'(1));
  gw_pkg::xlate_req_t [NumSrc-1:0] taken_req_q, oldest;
  logic           [CountWidth-1:0] overtaken_q[NumSrc];

  // What the source's request becomes.
  function automatic gw_pkg::xlate_req_t numbered(gw_pkg::xlate_req_t in, int unsigned src);
    numbered     = in;
    numbered.src = gw_pkg::src_t'(src);
  endfunction

  // A source's oldest request: taken before, or on offer.
  always_comb begin
    for (int unsigned i = 0; i < NumSrc; i++) begin
      sent[i]   = valid && ready_i && req.src == gw_pkg::src_t'(i);
      here[i]   = taken_q[i] || src_valid_i[i];
      oldest[i] = taken_q[i] ? taken_req_q[i] : numbered(src_req_i[i], i);
    end
  end

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    offered_q    <= rst_ni && valid && !ready_i;
    req_q        <= req;
    for (int unsigned i = 0; i < NumSrc; i++) begin
      taken_q[i] <= rst_ni && (taken_q[i] || (src_valid_i[i] && src_ready[i])) && !sent[i];
      if (!taken_q[i]) taken_req_q[i] <= numbered(src_req_i[i], i);
      if (!rst_ni || !here[i] || sent[i]) overtaken_q[i] <= '0;
      else if (valid && ready_i) overtaken_q[i] <= overtaken_q[i] + 1'b1;
    end
  end

  always_comb assume (rst_ni == past_valid_q);
  // Only who asked is answered.
  always_comb if (rsp_valid_i) assume (32'(rsp_i.src) < NumSrc);

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      OfSomeSource_A : assert (!valid || 32'(req.src) < NumSrc);
      NothingIsHeldBack_A : assert (valid == (taken_q != '0 || (first & src_valid_i) != '0));
      if (offered_q) OfferedIsStable_A : assert (valid && req == req_q);
      AnswerUnchanged_A : assert (src_rsp == rsp_i);
    end
  end

  for (genvar i = 0; i < NumSrc; i++) begin : gen_src
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        OneOfASourceWaits_A : assert (src_ready[i] == !taken_q[i]);
        if (sent[i]) OldestIsSent_A : assert (here[i] && req == oldest[i]);
        AnswerToItsSource_A : assert (src_rsp_valid[i] == (rsp_valid_i && rsp_i.src == gw_pkg::src_t'(i)));
        Fair_A : assert (overtaken_q[i] <= CountWidth'(NumSrc + 1));
        Passes_C : cover (sent[i] && !taken_q[i]);
        Waited_C : cover (overtaken_q[i] == CountWidth'(NumSrc) && sent[i]);
      end
    end
  end

endmodule
