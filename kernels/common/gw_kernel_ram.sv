// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Memory with one write and one read port, for block RAM.
//
// Contract
// - rdata_o is the word at raddr_i of the last cycle with re_i, and stays until the next; a word that is written and read
//   in the same cycle reads old data.
// - No reset.
module gw_kernel_ram #(
  /// Bits of a word.
  parameter int unsigned Width = 512,
  /// Words, a power of two >= 2.
  parameter int unsigned Depth = 256,
  /// Derived: address bits.
  localparam int unsigned AddrWidth = $clog2(Depth)
) (
  input  logic                 clk_i,
  input  logic                 we_i,
  input  logic [AddrWidth-1:0] waddr_i,
  input  logic [Width-1:0]     wdata_i,
  input  logic                 re_i,
  input  logic [AddrWidth-1:0] raddr_i,
  output logic [Width-1:0]     rdata_o
);

  if (Depth < 2 || Depth != 2 ** AddrWidth) begin : gen_bad_depth
    $fatal(1, "gw_kernel_ram: Depth must be a power of two, 2 or more; it is %0d", Depth);
  end

  logic [Width-1:0] mem[Depth];
  logic [Width-1:0] rdata_q;

  always_ff @(posedge clk_i) begin
    if (we_i) mem[waddr_i] <= wdata_i;
  end

  always_ff @(posedge clk_i) begin
    if (re_i) rdata_q <= mem[raddr_i];
  end

  assign rdata_o = rdata_q;

endmodule
