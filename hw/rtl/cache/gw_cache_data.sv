// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Lines of the page cache: a memory with one read and one write port and an enable a byte, in block RAM.
//
// Contract
// - A read in cycle t has its line at the output in t+1. A read of the very line that is written in the same cycle gives
//   anything.
module gw_cache_data #(
  /// Lines, a power of two, >= 2.
  parameter int unsigned Lines = 1024,
  /// Derived.
  localparam int unsigned AddrWidth = $clog2(Lines)
) (
  input  logic                 clk_i,
  input  logic                 we_i,
  input  logic [AddrWidth-1:0] waddr_i,
  input  logic [63:0]          wstrb_i,
  input  logic [511:0]         wdata_i,
  input  logic                 re_i,
  input  logic [AddrWidth-1:0] raddr_i,
  output logic [511:0]         rdata_o
);

  logic [511:0] mem[Lines];
  logic [511:0] rdata_q;

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 64; i++) begin
      if (we_i && wstrb_i[i]) mem[waddr_i][8*i+:8] <= wdata_i[8*i+:8];
    end
    if (re_i) rdata_q <= (we_i && waddr_i == raddr_i) ? 'x : mem[raddr_i];
  end

  assign rdata_o = rdata_q;

endmodule
