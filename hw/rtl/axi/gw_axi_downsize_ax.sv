// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// An address of a wide bus in pieces for a narrower one.
//
// Contract
// - Combinational from the address to a piece; one piece a cycle, in the order of the bytes; the address is taken with its
//   last piece.
// - A burst whose beats fit the narrower bus is one piece, as it is.
// - Otherwise the pieces are INCR bursts with beats as wide as the narrower bus, which together have the bytes of the burst
//   and nothing else of other words: INCR in pieces of up to 256 beats, WRAP as one or two (up to the end of its window, then
//   from its beginning), FIXED as one a beat. A burst that stays in its 4 KiB page has pieces that do.
// - An exclusive access that does not fit is an ordinary one: it is answered OKAY, which says that it was not exclusive.
// - What AXI forbids (a WRAP burst of an odd length, a burst type that does not exist) goes as INCR, so that its number of
//   beats is right.
`include "gw_assert.svh"

module gw_axi_downsize_ax #(
  /// Bits of the narrower bus.
  parameter int unsigned MstDataWidth = 128,
  /// AXI4 address channel (gw_axi_typedef.svh).
  parameter type ax_t = gw_axi_pkg::axi_ax_t
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    s_valid_i,
  output logic                    s_ready_o,
  input  ax_t                     s_i,
  output logic                    m_valid_o,
  input  logic                    m_ready_i,
  output ax_t                     m_o,
  output gw_axi_pkg::down_piece_t piece_o
);

  localparam int unsigned BeatShift = $clog2(MstDataWidth / 8);
  // Narrow beats of 256 beats of 128 bytes.
  localparam int unsigned CountWidth = 15 - BeatShift + 1;
  localparam int unsigned OffsetWidth = 16;
  typedef logic [CountWidth-1:0] count_t;
  typedef logic [OffsetWidth-1:0] offset_t;
  typedef logic [7:0] runs_t;

  // The burst as runs of neighbouring narrow beats: where the first is, how long it is, how many come after it; and those.
  logic fits, is_wrap, is_fixed;
  offset_t beat_mask, bytes_mask, offset, beats_end;
  logic [63:0] next_run_addr;
  count_t first_run, next_run;
  runs_t runs;

  assign fits = s_i.size <= 3'(BeatShift);
  assign is_fixed = s_i.burst == gw_axi_pkg::BurstFixed;
  assign is_wrap = s_i.burst == gw_axi_pkg::BurstWrap && s_i.len inside {8'd1, 8'd3, 8'd7, 8'd15};
  assign beat_mask = (offset_t'(1) << s_i.size) - 1'b1;
  // INCR and FIXED: within the first beat; WRAP: within the window.
  assign bytes_mask = is_wrap ? (offset_t'(s_i.len) << s_i.size) | beat_mask : beat_mask;
  assign offset = offset_t'(s_i.addr) & bytes_mask & ~((offset_t'(1) << BeatShift) - 1'b1);
  assign beats_end = (is_wrap || is_fixed) ? bytes_mask : (offset_t'(s_i.len) << s_i.size) | beat_mask;
  assign first_run = count_t'((beats_end - offset) >> BeatShift) + 1'b1;
  assign next_run = is_wrap ? count_t'(offset >> BeatShift) : first_run;
  assign next_run_addr = is_wrap ? s_i.addr & ~64'(bytes_mask) : s_i.addr;
  always_comb begin
    runs = '0;
    if (is_wrap) runs = runs_t'(offset != '0);
    else if (is_fixed) runs = s_i.len;
  end

  logic begun_q, last_of_run, last;
  logic [63:0] addr, addr_q;
  count_t left, left_q, beats;
  runs_t more, more_q;

  assign addr = begun_q ? addr_q : s_i.addr;
  assign left = begun_q ? left_q : first_run;
  assign more = begun_q ? more_q : runs;
  assign beats = (left > count_t'(256)) ? count_t'(256) : left;
  assign last_of_run = left <= count_t'(256);
  assign last = fits || (last_of_run && more == '0);

  assign m_valid_o = s_valid_i;
  assign s_ready_o = m_ready_i && last;

  always_comb begin
    m_o = s_i;
    piece_o = '{
      keep:        fits,
      final_piece: last,
      size:        s_i.size,
      burst:       s_i.burst,
      lane:        gw_axi_pkg::lane_t'(s_i.addr),
      window:      gw_axi_pkg::wrap_window(s_i.len, s_i.size)
    };
    if (!fits) begin
      m_o.addr = addr;
      m_o.len = 8'(beats - 1'b1);
      m_o.size = 3'(BeatShift);
      m_o.burst = gw_axi_pkg::BurstIncr;
      m_o.lock = 1'b0;
      piece_o.lane = gw_axi_pkg::lane_t'(addr);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      begun_q <= 1'b0;
    end else if (s_valid_i && m_ready_i) begin
      begun_q <= !last;
    end
  end

  always_ff @(posedge clk_i) begin
    if (s_valid_i && m_ready_i) begin
      if (last_of_run) begin
        addr_q <= next_run_addr;
        left_q <= next_run;
        more_q <= more - 1'b1;
      end else begin
        addr_q <= {addr[63:BeatShift] + (64 - BeatShift)'(256), BeatShift'(0)};
        left_q <= left - count_t'(256);
        more_q <= more;
      end
    end
  end

  `GW_COVER(WrapInTwo_C, s_valid_i && m_ready_i && begun_q && is_wrap)
  `GW_COVER(MoreThan256_C, s_valid_i && m_ready_i && !last_of_run)

endmodule
