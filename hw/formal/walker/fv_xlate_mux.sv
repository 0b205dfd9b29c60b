// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_xlate_mux: a request leaves exactly when one source's is taken, with that source's number and otherwise
// unchanged; an answer reaches exactly the source it names; an offered request is stable; no source starves.
module fv_xlate_mux #(
  parameter int unsigned NumSrc = 4
) (
  input logic                            clk_i,
  input logic                            rst_ni,
  input logic              [NumSrc-1:0]  src_valid_i,
  input gw_pkg::xlate_req_t [NumSrc-1:0] src_req_i,
  input logic                            ready_i,
  input logic                            rsp_valid_i,
  input gw_pkg::xlate_rsp_t              rsp_i
);

  localparam int unsigned CountWidth = $clog2(NumSrc) + 1;

  logic               [NumSrc-1:0] src_ready, src_rsp_valid;
  logic                            valid;
  gw_pkg::xlate_req_t              req;
  gw_pkg::xlate_rsp_t              src_rsp;

  gw_xlate_mux #(
    .NumSrc(NumSrc)
  ) u_dut (
    .clk_i,
    .rst_ni,
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

  logic                      past_valid_q = 1'b0;
  logic                      waits_q;
  gw_pkg::xlate_req_t        req_q;
  logic [NumSrc-1:0]         src_waits_q;
  gw_pkg::xlate_req_t [NumSrc-1:0] src_req_q;
  logic [CountWidth-1:0]     overtaken_q[NumSrc];

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    waits_q      <= rst_ni && valid && !ready_i;
    req_q        <= req;
    src_waits_q  <= rst_ni ? src_valid_i & ~src_ready : '0;
    src_req_q    <= src_req_i;
    for (int unsigned i = 0; i < NumSrc; i++) begin
      if (!rst_ni || !src_valid_i[i] || src_ready[i]) overtaken_q[i] <= '0;
      else if (ready_i) overtaken_q[i] <= overtaken_q[i] + 1'b1;
    end
  end

  always_comb assume (rst_ni == past_valid_q);
  // Only who asked is answered.
  always_comb if (rsp_valid_i) assume (32'(rsp_i.src) < NumSrc);

  // What the source's request becomes.
  function automatic gw_pkg::xlate_req_t numbered(gw_pkg::xlate_req_t in, int unsigned src);
    numbered     = in;
    numbered.src = gw_pkg::src_t'(src);
  endfunction

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      OneTaken_A : assert ($onehot0(src_ready) && (src_ready & ~src_valid_i) == '0);
      TakenIsSent_A : assert ((src_ready != '0) == (valid && ready_i));
      NothingIsHeldBack_A : assert (valid == (src_valid_i != '0));
      if (waits_q) OfferedIsStable_A : assert (valid && req == req_q);
      AnswerUnchanged_A : assert (src_rsp == rsp_i);
    end
  end

  for (genvar i = 0; i < NumSrc; i++) begin : gen_src
    always_comb begin
      if (src_waits_q[i]) assume (src_valid_i[i] && src_req_i[i] == src_req_q[i]);
    end
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        if (src_ready[i]) RequestUnchanged_A : assert (req == numbered(src_req_i[i], i));
        AnswerToItsSource_A : assert (src_rsp_valid[i] == (rsp_valid_i && rsp_i.src == gw_pkg::src_t'(i)));
        Fair_A : assert (overtaken_q[i] <= CountWidth'(NumSrc - 1));
        Waited_C : cover (overtaken_q[i] == CountWidth'(NumSrc - 1) && src_ready[i]);
      end
    end
  end

endmodule
