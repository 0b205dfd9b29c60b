// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Two write streams on one AXI port, told apart by one bit of the ID.
//
// Contract
// - Addresses: round robin, no latency, one a cycle. Data goes out in the order of the addresses, the first beat a cycle
//   after its address at the earliest, without a gap between bursts. Responses go to the stream whose ID bit they have.
// - A stream must have a burst's data before it offers the address; otherwise it would hold up the other one.
module gw_write_mux
  import gw_kernel_pkg::*;
#(
  /// ID bit that is 0 for stream 0 and 1 for stream 1.
  parameter int unsigned SelBit = 3,
  /// Addresses taken ahead of their data.
  parameter int unsigned Depth = 32
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic        [1:0] aw_valid_i,
  output logic        [1:0] aw_ready_o,
  input  burst_t      [1:0] aw_i,
  input  logic        [1:0] w_valid_i,
  output logic        [1:0] w_ready_o,
  input  write_beat_t [1:0] w_i,
  output logic        [1:0] b_valid_o,

  output logic              aw_valid_o,
  input  logic              aw_ready_i,
  output burst_t            aw_o,
  output logic              w_valid_o,
  input  logic              w_ready_i,
  output write_beat_t       w_o,
  input  logic              b_valid_i,
  input  id_t               b_id_i
);

  logic [1:0] grant;
  logic sel, any, w_sel, w_sel_valid, order_ready, b_sel;

  gw_rr_arbiter #(
    .NumReq(2)
  ) u_arbiter (
    .clk_i,
    .rst_ni,
    .req_i  (aw_valid_i),
    .gnt_o  (grant),
    .idx_o  (sel),
    .valid_o(any),
    .ready_i(aw_ready_i && order_ready)
  );

  assign aw_valid_o = any && order_ready;
  assign aw_ready_o = grant & {2{aw_ready_i && order_ready}};
  assign aw_o = aw_i[sel];

  logic [$clog2(Depth + 1)-1:0] unused_usage;

  gw_fifo #(
    .T    (logic),
    .Depth(Depth)
  ) u_order (
    .clk_i,
    .rst_ni,
    .in_valid_i (aw_valid_o && aw_ready_i),
    .in_ready_o (order_ready),
    .in_data_i  (sel),
    .out_valid_o(w_sel_valid),
    .out_ready_i(w_valid_o && w_ready_i && w_o.last),
    .out_data_o (w_sel),
    .usage_o    (unused_usage)
  );

  assign w_valid_o = w_sel_valid && w_valid_i[w_sel];
  assign w_o = w_i[w_sel];
  assign w_ready_o = {2{w_sel_valid && w_ready_i}} & {w_sel, !w_sel};

  assign b_sel = 1'(b_id_i >> SelBit);
  assign b_valid_o = {b_valid_i && b_sel, b_valid_i && !b_sel};

endmodule
