// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// One interrupt for several records: when there are enough of them, or the first has waited long enough.
//
// Contract
// - irq_o pulses, for all records (record_i) until two cycles before it, as soon as there are count_i of them (0 as 1), or the first
//   one is cycles_i cycles old: at most cycles_i + 3 cycles after it. No pulse without a record since the last one.
`include "gw_assert.svh"

module gw_fault_moderate (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        record_i,
  input  logic [7:0]  count_i,
  input  logic [31:0] cycles_i,
  output logic        irq_o
);

  logic [7:0] count_q;
  logic [31:0] waited_q;
  logic some, fire;
  assign some = count_q != '0;
  assign fire = some && (count_q >= count_i || waited_q >= cycles_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      waited_q <= '0;
      irq_o <= 1'b0;
    end else begin
      irq_o <= fire;
      if (fire) count_q <= 8'(record_i);
      else if (record_i && count_q != '1) count_q <= count_q + 1'b1;
      waited_q <= (fire || !some) ? '0 : waited_q + 32'd1;
    end
  end

  `GW_COVER(ByCount_C, fire && waited_q < cycles_i)
  `GW_COVER(ByTime_C, fire && count_q < count_i)

endmodule
