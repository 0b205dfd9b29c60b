// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// How long a block's clock has to go on: a while after the last sign of work.
//
// Contract
// - `awake_o`: high for `Settle` cycles after each cycle with `busy_i`, and as long after reset. Low in the first cycle of work
//   that follows a pause: whoever stops the clock looks at the same inputs as `busy_i`.
// - `Settle` is longer than the block's way from its last input, or from the last item in a queue, to its last register.

module gw_awake #(
  /// Cycles, 1 or more.
  parameter int unsigned Settle = 7
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic busy_i,
  output logic awake_o
);

  localparam int unsigned Width = $clog2(Settle + 1);
  typedef logic [Width-1:0] count_t;

  if (Settle < 1) begin : gen_bad_settle
    $fatal(1, "gw_awake: Settle must be at least 1");
  end

  count_t left_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) left_q <= count_t'(Settle);
    else if (busy_i) left_q <= count_t'(Settle);
    else if (awake_o) left_q <= left_q - 1'b1;
  end
  assign awake_o = left_q != '0;

endmodule
