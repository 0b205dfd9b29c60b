// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// AXI4 and AXI4-Lite bundles. Modules take `axi_req_t`/`axi_rsp_t` as type parameters; `GW_AXI_TYPEDEF` in
// gw_axi_typedef.svh makes them for a given ID and data width. The structs here are the defaults: 512-bit data, 4-bit ID.
`include "gw_axi_typedef.svh"

package gw_axi_pkg;

  localparam int unsigned AddrWidth = 64;

  typedef enum logic [1:0] {
    RespOkay   = 2'b00,
    RespExOkay = 2'b01,
    RespSlvErr = 2'b10,
    RespDecErr = 2'b11
  } resp_e;

  typedef enum logic [1:0] {
    BurstFixed = 2'b00,
    BurstIncr  = 2'b01,
    BurstWrap  = 2'b10
  } burst_e;

  localparam int unsigned AxiIdWidth = 4;
  `GW_AXI_TYPEDEF(axi, AxiIdWidth, 512)

  // Page-table port of the walker: reads of a line of one or more 64-byte beats, ID = line slot; exclusive accesses to one
  // entry with the topmost ID bit set.
  localparam int unsigned PtIdWidth = 7;
  `GW_AXI_TYPEDEF(pt, PtIdWidth, 512)

  // Port of the command queue: reads of one 64-byte beat, writes of one beat with four bytes (what fences write) or
  // sixteen (page requests), one ID.
  localparam int unsigned CqIdWidth = 1;
  `GW_AXI_TYPEDEF(cq, CqIdWidth, 512)

  // Port of a bitmap of the heap: bursts of eight beats of 8 bytes, one ID.
  `GW_AXI_TYPEDEF(bitmap, 1, 512)

  // Port of the heap: bitmaps, entries of page tables (exclusive accesses), tables that are taken back, frames that are cleared.
  localparam int unsigned HeapIdWidth = 3;
  `GW_AXI_TYPEDEF(heap_mem, HeapIdWidth, 512)

  // Where a beat is on its bus: a byte of up to 128.
  localparam int unsigned ByteLaneWidth = 7;
  typedef logic [ByteLaneWidth-1:0] lane_t;

  // Bytes of a WRAP burst, minus one, as far as they reach on a bus.
  function automatic lane_t wrap_window(logic [7:0] len, logic [2:0] size);
    return lane_t'((16'(len) << size) | ((16'd1 << size) - 16'd1));
  endfunction

  // Lane of a beat's container, and of the beat after it.
  function automatic lane_t aligned_lane(lane_t lane, logic [2:0] size);
    return lane & ~lane_t'((8'd1 << size) - 8'd1);
  endfunction

  function automatic lane_t next_lane(lane_t lane, logic [2:0] size, logic [1:0] burst, lane_t window);
    lane_t after;
    after = aligned_lane(lane, size) + lane_t'(8'd1 << size);
    unique case (burst)
      BurstFixed: return lane;
      BurstWrap: return (lane & ~window) | (after & window);
      default: return after;
    endcase
  endfunction

  // A burst on its way through a wider bus. `pack`: its beats share words of that bus, `limit` is the lane of the last one;
  // otherwise each has a word, and `limit` is the window of a WRAP burst.
  typedef struct packed {
    logic       pack;
    logic [2:0] size;
    logic [1:0] burst;
    lane_t      lane;
    lane_t      limit;
  } up_burst_t;

  // A piece of a burst on its way through a narrower bus. `keep`: it goes there as it is. `final_piece`: none of the same
  // burst follows.
  typedef struct packed {
    logic       keep;
    logic       final_piece;
    logic [2:0] size;
    logic [1:0] burst;
    lane_t      lane;
    lane_t      window;
  } down_piece_t;

  // AXI4-Lite, 32-bit data.
  typedef struct packed {
    logic [31:0] aw_addr;
    logic [2:0]  aw_prot;
    logic        aw_valid;
    logic [31:0] w_data;
    logic [3:0]  w_strb;
    logic        w_valid;
    logic        b_ready;
    logic [31:0] ar_addr;
    logic [2:0]  ar_prot;
    logic        ar_valid;
    logic        r_ready;
  } axil_req_t;

  typedef struct packed {
    logic        aw_ready;
    logic        w_ready;
    logic [1:0]  b_resp;
    logic        b_valid;
    logic        ar_ready;
    logic [31:0] r_data;
    logic [1:0]  r_resp;
    logic        r_valid;
  } axil_rsp_t;

endpackage
