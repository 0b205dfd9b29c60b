// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Two read streams on one AXI port, told apart by one bit of the ID.
//
// Contract
// - Addresses: round robin, no latency, one a cycle. Data goes to the stream whose ID bit it has, in the same cycle.
module gw_read_mux
  import gw_kernel_pkg::*;
#(
  /// ID bit that is 0 for stream 0 and 1 for stream 1.
  parameter int unsigned SelBit = 3
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic   [1:0] ar_valid_i,
  output logic   [1:0] ar_ready_o,
  input  burst_t [1:0] ar_i,
  output logic         ar_valid_o,
  input  logic         ar_ready_i,
  output burst_t       ar_o,
  input  logic         r_valid_i,
  input  id_t          r_id_i,
  output logic   [1:0] r_valid_o
);

  logic [1:0] grant;
  logic sel, r_sel;

  gw_rr_arbiter #(
    .NumReq(2)
  ) u_arbiter (
    .clk_i,
    .rst_ni,
    .req_i  (ar_valid_i),
    .gnt_o  (grant),
    .idx_o  (sel),
    .valid_o(ar_valid_o),
    .ready_i(ar_ready_i)
  );

  assign ar_ready_o = grant & {2{ar_ready_i}};
  assign ar_o = ar_i[sel];
  assign r_sel = 1'(r_id_i >> SelBit);
  assign r_valid_o = {r_valid_i && r_sel, r_valid_i && !r_sel};

endmodule
