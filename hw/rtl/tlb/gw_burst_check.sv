// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Tells whether an AXI burst stays inside one 4 KiB page, which is what one translation covers.
//
// Contract
// - Combinational.
// - INCR: good if its last byte lies in the page of its first.
// - FIXED: always good, every beat is inside one aligned container of at most 128 bytes.
// - WRAP: good with the lengths AXI allows (2, 4, 8, 16 beats: at most an aligned 2 KiB); other
//   lengths could leave the page and are refused, as is the reserved burst type.

module gw_burst_check (
  /// Address bits inside the page.
  input  logic [gw_pkg::PageShift-1:0] offset_i,
  input  logic [7:0]                   len_i,
  input  logic [2:0]                   size_i,
  input  logic [1:0]                   burst_i,
  output logic                         crosses_o
);

  localparam int unsigned PageShift = gw_pkg::PageShift;
  // The last of 256 beats of 128 bytes, from the last byte of a page.
  localparam int unsigned LastWidth = 16;

  logic [LastWidth-1:0] last_beat;
  logic incr_crosses, wrap_illegal;

  // A beat never leaves its aligned container, nor does that leave the page: all depends on where the last beat begins, and not on
  // what an unaligned first one has below its container.
  assign last_beat = LastWidth'(offset_i) + (LastWidth'(len_i) << size_i);
  assign incr_crosses = |last_beat[LastWidth-1:PageShift];
  logic unused_offset;
  assign unused_offset = ^last_beat[PageShift-1:0];
  assign wrap_illegal = !(len_i inside {8'd1, 8'd3, 8'd7, 8'd15});

  always_comb begin
    unique case (burst_i)
      gw_axi_pkg::BurstFixed: crosses_o = 1'b0;
      gw_axi_pkg::BurstIncr: crosses_o = incr_crosses;
      gw_axi_pkg::BurstWrap: crosses_o = wrap_illegal;
      default: crosses_o = 1'b1;
    endcase
  end

endmodule
