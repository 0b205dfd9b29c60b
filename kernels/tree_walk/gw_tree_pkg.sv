// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Types of the tree's look-ups.
package gw_tree_pkg;

  // A node in memory, aligned to its size: half a beat.
  typedef struct packed {
    logic [63:0] right;  // address of the child with larger keys, 0 none
    logic [63:0] left;   // ... with smaller ones
    logic [63:0] value;
    logic [63:0] key;    // signed
  } node_t;

  localparam int unsigned NodeBytes = 32;

  // Which of the keys, and what it is.
  typedef struct packed {
    logic [31:0] row;
    logic [63:0] key;
  } lookup_t;

  typedef struct packed {
    logic [31:0] row;
    logic        found;
    logic [63:0] value;  // of the node; unspecified if there is none
  } answer_t;

endpackage
