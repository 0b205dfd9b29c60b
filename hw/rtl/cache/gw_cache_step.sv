// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Address of the next beat of an AXI burst, within its 4 KiB.
//
// Contract
// - Combinational. INCR and WRAP go on at the next container, FIXED stays; `wrap_i` is the last byte of a WRAP burst's window,
//   counted from its begin.
module gw_cache_step (
  input  logic [11:0] offset_i,
  input  logic [2:0]  size_i,
  input  logic [1:0]  burst_i,
  input  logic [11:0] wrap_i,
  output logic [11:0] next_o
);

  import gw_axi_pkg::*;

  logic [11:0] after;
  assign after = (offset_i & ~12'((13'd1 << size_i) - 13'd1)) + 12'(13'd1 << size_i);

  always_comb begin
    unique case (burst_i)
      BurstFixed: next_o = offset_i;
      BurstWrap: next_o = (offset_i & ~wrap_i) | (after & wrap_i);
      default: next_o = after;
    endcase
  end

endmodule
