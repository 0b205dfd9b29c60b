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

  `GW_AXI_TYPEDEF(axi, 4, 512)

  // Page-table port of the walker: reads of a line of one or more 64-byte beats, ID = line slot; exclusive accesses to one
  // entry with the topmost ID bit set.
  `GW_AXI_TYPEDEF(pt, 7, 512)

  // Port of the command queue: reads of one 64-byte beat, writes of one beat with four bytes, one ID.
  `GW_AXI_TYPEDEF(cq, 1, 512)

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
