// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Memory with one write port and one read port that infers block RAM.
//
// Contract
// - A read (`re_i`) in cycle t has its word at the output from t+1 until the next read. A read of the very word that is
//   written in the same cycle gives anything: to promise the old one costs most devices a comparator, a register and a
//   multiplexer a bit behind the memory (ECP5: 90 LUTs for 71 bits, and their delay).
// - Nothing is reset: what was never written is unknown.
module gw_ram #(
  /// Bits of a word.
  parameter int unsigned Width = 64,
  /// Words, >= 2.
  parameter int unsigned Depth = 256,
  /// Block RAM also where a tool would take LUT RAM by itself: from 17 words on its banks cost a multiplexer a bit.
  // verilator lint_off UNUSEDPARAM
  parameter bit Block = 1'b0,
  // verilator lint_on UNUSEDPARAM
  /// Derived.
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

  if (Depth < 2) begin : gen_bad_depth
    $fatal(1, "gw_ram: Depth must be at least 2");
  end

  (* ram_style = (Block && Depth > 16) ? "block" : "auto" *) logic [Width-1:0] mem[Depth];
  logic [Width-1:0] rdata_q;

  always_ff @(posedge clk_i) begin
    if (we_i) mem[waddr_i] <= wdata_i;
    if (re_i) rdata_q <= (we_i && waddr_i == raddr_i) ? 'x : mem[raddr_i];
  end

  assign rdata_o = rdata_q;

endmodule
