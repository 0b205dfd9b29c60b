// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Types of the traffic generator.
package gw_traffic_pkg;

  typedef enum logic [1:0] {
    Sequence = 2'd0,  // positions 0, 1, 2, ..., and again from 0
    Random   = 2'd1,  // every position equally likely
    Chase    = 2'd2   // the first word of a burst is the offset of the next one
  } pattern_e;

  // What a run does; constant while it lasts.
  typedef struct packed {
    gw_kernel_pkg::addr_t base;
    logic [31:0]          positions;
    logic [31:0]          stride;       // bytes from one position to the next
    logic [31:0]          count;        // bursts
    pattern_e             pattern;
    gw_kernel_pkg::len_t  len;
    logic [8:0]           writes;       // bursts of 256 that write
    logic [6:0]           ids;
    logic [6:0]           outstanding;  // bursts in flight a direction
    logic [63:0]          seed;
  } plan_t;

  // One burst: where it is, and how far that is from the plan's base.
  typedef struct packed {
    gw_kernel_pkg::addr_t addr;
    gw_kernel_pkg::addr_t offset;
    logic                 write;
  } access_t;

  // Bursts a direction can have in flight.
  localparam int unsigned MaxOutstanding = 64;

  // Marsaglia's xorshift64: period 2^64 - 1, and 0 stays 0.
  function automatic logic [63:0] xorshift(logic [63:0] state);
    logic [63:0] x;
    x = state ^ (state << 13);
    x = x ^ (x >> 7);
    return x ^ (x << 17);
  endfunction

endpackage
