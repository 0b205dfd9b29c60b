// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_cache_neighbours with two reads of the walker and four lines: a page that is named is one that the card was given, whichever
// it is: by an entry that is a leaf to be read by a user, was accessed, and came since the latest time that all was forgotten, by a read that
// was begun after it. One page, any, is followed. Whoever asks may do so at any time; memory answers anything in the first, second and last
// entry of a line, of frames that differ in their low bits.
module fv_cache_neighbours (
  input logic         clk_i,
  input logic         rst_ni,
  input logic         ar_valid_i,
  input logic         ar_ready_i,
  input logic         ar_slot_i,
  input logic         ar_update_i,
  input logic [11:0]  ar_line_i,
  input logic         r_valid_i,
  input logic         r_slot_i,
  input logic         r_update_i,
  input logic         r_error_i,
  input logic [511:0] r_data_i,
  input logic         forget_i,
  input logic         find_i,
  input logic [3:0]   key_i,
  input logic         next_i
);

  import gw_axi_pkg::*;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  pt_req_t req;
  pt_rsp_t rsp;
  always_comb begin
    req = '0;
    rsp = '0;
    req.ar_valid = ar_valid_i;
    req.ar.id = {ar_update_i, 5'd0, ar_slot_i};
    req.ar.addr = 64'({ar_line_i, 6'd0});
    req.r_ready = 1'b1;
    rsp.ar_ready = ar_ready_i;
    rsp.r_valid = r_valid_i;
    rsp.r.id = {r_update_i, 5'd0, r_slot_i};
    rsp.r.resp = r_error_i ? RespSlvErr : RespOkay;
    rsp.r.data = r_data_i;
    rsp.r.last = 1'b1;
  end

  logic busy, page_valid;
  logic [43:0] page;
  gw_cache_neighbours #(
    .Lines    (4),
    .KeyWidth (4),
    .WalkLines(2)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .pt_req_i    (req),
    .pt_rsp_i    (rsp),
    .forget_i,
    .find_i,
    .key_i,
    .next_i,
    .busy_o      (busy),
    .page_valid_o(page_valid),
    .page_o      (page)
  );

  // Any page, followed; the reads under way, and which of them were begun since.
  logic [43:0] page_q;
  always_ff @(posedge clk_i) page_q <= page_q;
  logic [1:0] open_q, young_q;
  logic [11:0] line_q[2];
  logic given_q, gives;
  logic ar, r;
  assign ar = ar_valid_i && ar_ready_i && !ar_update_i;
  assign r = r_valid_i && !r_update_i;
  always_comb begin
    if (ar) assume (!open_q[ar_slot_i]);
    if (r) assume (open_q[r_slot_i]);
    for (int unsigned i = 0; i < 8; i++) begin
      assume (r_data_i[64*i+16+:37] == '0);
      if (i > 1 && i < 7) assume (r_data_i[64*i+:64] == '0);
    end
  end
  // Written out as the specification says it.
  always_comb begin
    gives = 1'b0;
    for (int unsigned i = 0; i < 8; i++) begin
      logic [63:0] pte;
      logic [43:0] frame;
      pte = r_data_i[64*i+:64];
      frame = pte[63] ? {pte[53:14], line_q[r_slot_i][0], 3'(i)} : pte[53:10];
      if (pte[0] && pte[1] && pte[4] && pte[6] && pte[62:54] == '0 && pte[53] && (!pte[63] || pte[13:10] == 4'b1000) &&
          frame == page_q) gives = 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q <= '0;
      young_q <= '0;
      given_q <= 1'b0;
    end else begin
      if (r) open_q[r_slot_i] <= 1'b0;
      if (ar) open_q[ar_slot_i] <= 1'b1;
      if (ar) line_q[ar_slot_i] <= ar_line_i;
      if (ar) young_q[ar_slot_i] <= 1'b1;
      if (r && !r_error_i && young_q[r_slot_i] && gives) given_q <= 1'b1;
      if (forget_i) begin
        young_q <= '0;
        given_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (page_valid && page == page_q) Given_A : assert (given_q);
      if (page_valid) Idle_A : assert (!busy);
      Named_C : cover (page_valid);
    end
  end

endmodule
