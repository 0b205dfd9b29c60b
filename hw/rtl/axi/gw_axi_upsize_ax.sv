// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// An address of a narrow bus as it goes to a wider one.
//
// Contract
// - Combinational.
// - An INCR burst of several beats that may be modified (AxCACHE[1]) and is not exclusive is packed: beats as wide as the
//   wider bus, from the same address to the word that has the last byte. It never leaves the aligned words of the burst, so
//   it stays in the burst's 4 KiB page.
// - Everything else goes as it is, each beat in its lanes of the wider bus: FIXED, WRAP, single beats, exclusive accesses,
//   and bursts that must not be modified.
module gw_axi_upsize_ax #(
  /// Bits of the wider bus.
  parameter int unsigned MstDataWidth = 512,
  /// AXI4 address channel (gw_axi_typedef.svh).
  parameter type ax_t = gw_axi_pkg::axi_ax_t
) (
  input  ax_t                   ax_i,
  output ax_t                   ax_o,
  output gw_axi_pkg::up_burst_t burst_o
);

  localparam int unsigned WordShift = $clog2(MstDataWidth / 8);
  // 256 beats of 64 bytes from the last byte of a word.
  localparam int unsigned EndWidth = 16;

  logic pack;
  logic [EndWidth-1:0] first, last;

  assign pack = ax_i.burst == gw_axi_pkg::BurstIncr && ax_i.cache[1] && !ax_i.lock && ax_i.len != '0;
  // Containers of the first and of the last beat, from the first word on.
  assign first = EndWidth'(ax_i.addr[WordShift-1:0]) & ~((EndWidth'(1) << ax_i.size) - 1'b1);
  assign last = first + (EndWidth'(ax_i.len) << ax_i.size);

  always_comb begin
    ax_o = ax_i;
    burst_o = '{
      pack:  pack,
      size:  ax_i.size,
      burst: ax_i.burst,
      lane:  gw_axi_pkg::lane_t'(ax_i.addr[WordShift-1:0]),
      limit: gw_axi_pkg::wrap_window(ax_i.len, ax_i.size)
    };
    if (pack) begin
      ax_o.len = 8'(last >> WordShift);
      ax_o.size = 3'(WordShift);
      burst_o.limit = gw_axi_pkg::lane_t'(last[WordShift-1:0]);
    end
  end

endmodule
