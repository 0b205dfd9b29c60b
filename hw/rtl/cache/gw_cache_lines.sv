// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Valid and dirty bits of the page cache: a row is 64 lines, the lines of 4 KiB.
//
// Contract
// - Valid bit of a line: combinational (look_*). `look_same_o`: this line is written in this cycle, which the bit does not know yet.
// - One change of a row a cycle, and what it held before, combinational: of a line that is written first, then of jobs. `write_i` is a
//   register outside, so job_ready_o is a function of registers.
// - A line that comes from the link (`write_land_i`) and lands on a valid one changes nothing: it is older (`write_old_o`).
// - After reset rows are cleared, one a cycle; then ready_o.
`include "gw_assert.svh"

module gw_cache_lines #(
  /// Rows, a power of two, >= 2.
  parameter int unsigned Rows = 16,
  /// Derived.
  localparam int unsigned RowWidth = $clog2(Rows)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  output logic                ready_o,
  input  logic [RowWidth-1:0] look_row_i,
  input  logic [5:0]          look_line_i,
  output logic                look_valid_o,
  output logic                look_same_o,
  /// A line that is written: by a store or by the link, made valid or not, and dirty.
  input  logic                write_i,
  input  logic [RowWidth-1:0] write_row_i,
  input  logic [5:0]          write_line_i,
  input  logic                write_land_i,
  input  logic                write_set_i,
  input  logic                write_dirty_i,
  output logic                write_old_o,
  /// Bits cleared: what was dirty.
  input  logic                job_valid_i,
  output logic                job_ready_o,
  input  logic [RowWidth-1:0] job_row_i,
  input  logic [63:0]         job_clean_i,
  input  logic [63:0]         job_drop_i,
  output logic [63:0]         job_dirty_o,
  output logic [63:0]         job_left_o
);

  typedef logic [RowWidth-1:0] row_t;
  logic [63:0] valid_mem[Rows];
  logic [63:0] dirty_mem[Rows];
  row_t init_q, row;
  logic [63:0] look, valid, dirty, line_bit, next_valid, next_dirty;
  logic change;

  assign look = valid_mem[look_row_i];
  assign look_same_o = write_i && write_row_i == look_row_i && write_line_i == look_line_i;
  assign look_valid_o = look[look_line_i];
  assign job_ready_o = !write_i && ready_o;
  assign row = !ready_o ? init_q : write_i ? write_row_i : job_row_i;
  assign valid = valid_mem[row];
  assign dirty = dirty_mem[row];
  assign line_bit = 64'd1 << write_line_i;
  assign write_old_o = valid[write_line_i];
  assign job_dirty_o = dirty;
  assign job_left_o = valid & ~job_drop_i;
  assign change = !ready_o || (write_i ? write_set_i : job_valid_i);

  // Of a valid line on which another one lands, dirty stays as it is.
  always_comb begin
    if (!ready_o) begin
      next_valid = '0;
      next_dirty = '0;
    end else if (write_i) begin
      next_valid = valid | line_bit;
      next_dirty = dirty | (write_dirty_i ? line_bit & ~(write_land_i ? valid : '0) : '0);
    end else begin
      next_valid = valid & ~job_drop_i;
      next_dirty = dirty & ~(job_drop_i | job_clean_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (change) begin
      valid_mem[row] <= next_valid;
      dirty_mem[row] <= next_dirty;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      init_q <= '0;
      ready_o <= 1'b0;
    end else if (!ready_o) begin
      init_q <= init_q + 1'b1;
      ready_o <= init_q == '1;
    end
  end

  `GW_INVARIANT(DirtyIsValid_A, !ready_o || (dirty & ~valid) == '0)
  `GW_COVER(LandsOnValid_C, write_i && write_land_i && write_set_i && write_old_o)
  `GW_COVER(SeenAsItIsWritten_C, look_same_o && write_set_i && !look_valid_o)

endmodule
