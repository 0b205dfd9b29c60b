// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Types of the kernels' data path: AXI without the fields that never change, and streams of whole beats. A beat has 64 bytes, or
// as many as gw_kernel_beat_pkg says; kernels that write "64 bytes" are for beats of 64 alone, and their manifests say so.
package gw_kernel_pkg;

  localparam int unsigned BeatBytes = gw_kernel_beat_pkg::BeatBytes;
  localparam int unsigned BeatShift = $clog2(BeatBytes);
  localparam int unsigned PageBytes = 4096;  // no AXI burst crosses a multiple of this
  // Beats of the longest burst that there can be, and of the longest where nothing else is asked for.
  localparam int unsigned MaxBurst = (PageBytes / BeatBytes < 256) ? PageBytes / BeatBytes : 256;
  localparam int unsigned LongBurst = (MaxBurst < 64) ? MaxBurst : 64;

  typedef logic [63:0]            addr_t;
  typedef logic [8*BeatBytes-1:0] data_t;
  typedef logic [BeatBytes-1:0]   strb_t;
  typedef logic [BeatShift-1:0]   byte_idx_t;   // a byte of a beat
  typedef logic [BeatShift:0]     byte_count_t; // 0 to all bytes of a beat
  typedef logic [64-BeatShift:0]  beat_count_t; // beats that touch a range of up to 2^64 bytes
  typedef logic [7:0]             len_t;        // beats of a burst - 1
  typedef logic [5:0]             id_t;         // widest AXI ID of a card; a port uses the low bits

  // Address of a burst; always INCR with full beats, aligned to a beat.
  typedef struct packed {
    id_t   id;
    addr_t addr;
    len_t  len;
  } burst_t;

  typedef struct packed {
    id_t   id;
    data_t data;
    logic  error;
    logic  last;
  } read_beat_t;

  typedef struct packed {
    data_t data;
    strb_t strb;
    logic  last;
  } write_beat_t;

  typedef struct packed {
    id_t  id;
    logic error;
  } write_rsp_t;

  // A beat of a byte stream. Every beat but the last is full; the last has 0 to all bytes, at the low end.
  typedef struct packed {
    data_t       data;
    byte_count_t bytes;
    logic        last;
  } stream_beat_t;

  // Bytes [addr, addr + bytes), any alignment.
  typedef struct packed {
    addr_t addr;
    addr_t bytes;
  } range_t;

  // What the `status` result of a kernel says.
  typedef enum logic [31:0] {
    StatusOk          = 32'd0,
    StatusReadError   = 32'd1,
    StatusWriteError  = 32'd2,
    StatusBadArgument = 32'd3
  } status_e;

  // Index of the 32-bit word at a register offset, counted from the first argument.
  function automatic int unsigned word(int unsigned offset);
    return (offset - 'h10) / 4;
  endfunction

endpackage
