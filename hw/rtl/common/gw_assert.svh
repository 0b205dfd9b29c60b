// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Assertion macros. They expect `clk_i` and `rst_ni` in scope and end with their own semicolon.
//   `GW_ASSERT(name, property)    any concurrent property; simulation only
//   `GW_INVARIANT(name, boolean)  a boolean that holds in every cycle; simulation and proofs
//   `GW_COVER(name, property)     a corner that a bug would love; simulation only
`ifndef GW_ASSERT_SVH_
`define GW_ASSERT_SVH_

`ifdef FORMAL
`define GW_ASSERT(__name, __prop)
`define GW_COVER(__name, __prop)
`define GW_INVARIANT(__name, __cond) \
  always @(posedge clk_i) if (rst_ni) __name : assert (__cond);
`elsif SYNTHESIS
`define GW_ASSERT(__name, __prop)
`define GW_COVER(__name, __prop)
`define GW_INVARIANT(__name, __cond)
`else
`define GW_ASSERT(__name, __prop) \
  __name : assert property (@(posedge clk_i) disable iff (!rst_ni) (__prop)) \
    else $fatal(1, "%m: assertion failed");
`define GW_COVER(__name, __prop) \
  __name : cover property (@(posedge clk_i) disable iff (!rst_ni) (__prop));
`define GW_INVARIANT(__name, __cond) `GW_ASSERT(__name, __cond)
`endif

`endif
