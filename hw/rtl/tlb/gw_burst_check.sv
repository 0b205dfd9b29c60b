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
  // 256 beats of 128 bytes, from the last byte of a page.
  localparam int unsigned EndWidth = 17;

  logic [PageShift-1:0] beat_mask, first_beat;
  logic [EndWidth-1:0] beats_end;
  logic incr_crosses, wrap_illegal;

  // The first beat of an unaligned burst ends where an aligned one would.
  assign beat_mask = (PageShift'(1) << size_i) - 1'b1;
  assign first_beat = offset_i & ~beat_mask;
  assign beats_end = EndWidth'(first_beat) + ((EndWidth'(len_i) + 1'b1) << size_i);
  assign incr_crosses = beats_end > EndWidth'(1 << PageShift);
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
