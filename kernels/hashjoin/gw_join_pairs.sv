// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Counts matches and packs them into a byte stream, eight a beat.
//
// Contract
// - Every match is counted; those after the first capacity_i are dropped. Throughput: eight matches in nine cycles.
// - flush_i ends the stream with its last beat, of 0 to 56 bytes; it is high until that was taken (out_valid_o, out_last).
// - clear_i empties it and sets the count to zero. Reset: empty.
module gw_join_pairs
  import gw_kernel_pkg::*;
  import gw_join_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         clear_i,
  input  logic         flush_i,
  input  row_t         capacity_i,
  output logic [63:0]  count_o,
  input  logic         in_valid_i,
  output logic         in_ready_o,
  input  pair_t        in_i,
  output logic         out_valid_o,
  input  logic         out_ready_i,
  output stream_beat_t out_o
);

  logic [3:0] fill_q;
  logic [7:0][63:0] beat_q;
  logic [63:0] count_q;
  logic take;

  assign in_ready_o = !fill_q[3] && !flush_i;
  assign take = in_valid_i && in_ready_o;
  assign out_valid_o = fill_q[3] || flush_i;
  assign out_o = '{data: beat_q, bytes: {fill_q, 3'b0}, last: !fill_q[3]};
  assign count_o = count_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fill_q <= '0;
      count_q <= '0;
    end else if (clear_i) begin
      fill_q <= '0;
      count_q <= '0;
    end else begin
      if (take) count_q <= count_q + 1'b1;
      if (out_valid_o && out_ready_i) fill_q <= '0;
      else if (take && count_q < 64'(capacity_i)) fill_q <= fill_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) beat_q[fill_q[2:0]] <= in_i;
  end

endmodule
