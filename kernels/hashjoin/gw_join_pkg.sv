// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Types of the hash join.
//
// The table in memory: `heads`, a 32-bit word a bucket (0 none, else 1 + the build row inserted last), and `nodes`, 16
// bytes a build row: key, then 1 + the next row of the bucket (0 none), then 4 bytes of zero.
package gw_join_pkg;

  typedef logic [31:0] row_t;
  typedef logic [30:0] bucket_t;

  localparam int unsigned HeadBytes = 4;
  localparam int unsigned NodeBytes = 16;

  // Fewest buckets fill a beat of heads; most are what bucket_t numbers.
  localparam int unsigned MinBucketBits = 4;
  localparam int unsigned MaxBucketBits = 31;

  // A row on its way into the table or past it.
  typedef struct packed {
    logic [63:0] key;
    row_t        row;
    bucket_t     bucket;
  } entry_t;

  // A match; in memory the build row comes first.
  typedef struct packed {
    row_t probe;
    row_t build;
  } pair_t;

  // 2^64 divided by the golden ratio (Knuth's multiplicative hashing): the upper bits of the product name the bucket.
  localparam logic [63:0] HashFactor = 64'h9E37_79B9_7F4A_7C15;

  function automatic bucket_t bucket_of(logic [63:0] key, logic [4:0] bits);
    logic [31:0] upper;
    upper = 32'((key * HashFactor) >> 32);
    return bucket_t'(upper >> (6'd32 - {1'b0, bits}));
  endfunction

endpackage
