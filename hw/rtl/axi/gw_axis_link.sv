// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// An AXI4-Stream from one kernel to another: a queue between them.
//
// Contract
// - A transfer that is taken in cycle t is offered in t+1; one a cycle. `Depth` transfers are held.
// - Transfers leave in the order in which they came, as they came: data and all side-band signals are `data_i`.
// - No path from one side to the other. Reset empties it.
module gw_axis_link #(
  /// Bits of a transfer, side-band signals included.
  parameter int unsigned Width = 32,
  /// Transfers held, >= 2.
  parameter int unsigned Depth = 2
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             valid_i,
  output logic             ready_o,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [Width-1:0] data_o
);

  if (Depth < 2) begin : gen_bad_depth
    $fatal(1, "gw_axis_link: Depth must be at least 2");
  end

  logic [$clog2(Depth+1)-1:0] unused_usage;
  gw_fifo #(
    .T    (logic [Width-1:0]),
    .Depth(Depth)
  ) u_queue (
    .clk_i,
    .rst_ni,
    .in_valid_i (valid_i),
    .in_ready_o (ready_o),
    .in_data_i  (data_i),
    .out_valid_o(valid_o),
    .out_ready_i(ready_i),
    .out_data_o (data_o),
    .usage_o    (unused_usage)
  );

endmodule
