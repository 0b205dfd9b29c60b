// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Stops a clock while nothing in its domain can change.
//
// Contract
// - The rising edge of clk_i reaches clk_o if en_i was high when clk_i was low before it; en_i may come from registers on
//   clk_i and from inputs that are stable before the edge. clk_o has no glitches and no skew against clk_i in simulation,
//   so signals cross between the two as inside one domain.
// - Synthesis passes the clock through: in an FPGA clock buffers are scarcer than what they would save here. So a domain
//   must work the same whether its clock stops or not; stopping it is what makes a simulated card with idle parts fast.
// - A domain that stands during a reset which is low from the start sees no edge of either: its registers are zero, as simulation begins,
//   and not what they reset to. So what counts there resets to zero.
module gw_clock_gate (
  input  logic clk_i,
  input  logic en_i,
  output logic clk_o
);

`ifdef SYNTHESIS
  logic unused;
  assign unused = en_i;
  assign clk_o = clk_i;
`else
  logic en_q;
  always_latch begin
    if (!clk_i) en_q = en_i;
  end
  assign clk_o = clk_i & en_q;
`endif

endmodule
