// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Valid and dirty bits of the page cache: a row is 64 lines, the lines of 4 KiB.
//
// Contract
// - Valid bit of a line: combinational (look_*).
// - One change of a row a cycle, and what it held before, combinational: of stores first (store_try_i holds the row, store_i
//   stores), then of a line that lands, then of jobs. land_ready_o and job_ready_o are functions of registers outside.
// - A line that lands on a valid one changes nothing: it is older.
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
  /// A store of the line looked at.
  input  logic                store_try_i,
  input  logic                store_i,
  /// A line from the link.
  input  logic                land_valid_i,
  output logic                land_ready_o,
  input  logic [RowWidth-1:0] land_row_i,
  input  logic [5:0]          land_line_i,
  input  logic                land_set_i,
  input  logic                land_dirty_i,
  output logic                land_old_o,
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
  logic [63:0] look, valid, dirty, store_bit, land_bit, set, set_dirty, keep, keep_dirty;
  logic change;

  assign look = valid_mem[look_row_i];
  assign look_valid_o = look[look_line_i];
  assign store_bit = 64'd1 << look_line_i;
  assign land_bit = 64'd1 << land_line_i;
  assign land_ready_o = !store_try_i && ready_o;
  assign job_ready_o = !store_try_i && !land_valid_i && ready_o;
  assign row = !ready_o ? init_q : store_try_i ? look_row_i : land_valid_i ? land_row_i : job_row_i;
  assign valid = valid_mem[row];
  assign dirty = dirty_mem[row];
  assign land_old_o = (valid & land_bit) != '0;
  assign job_dirty_o = dirty;
  assign job_left_o = valid & ~job_drop_i;

  always_comb begin
    change = 1'b1;
    set = '0;
    set_dirty = '0;
    keep = '1;
    keep_dirty = '1;
    if (!ready_o) begin
      keep = '0;
      keep_dirty = '0;
    end else if (store_try_i) begin
      change = store_i;
      set = store_bit;
      set_dirty = store_bit;
    end else if (land_valid_i) begin
      change = land_set_i;
      set = land_bit;
      if (land_dirty_i && !land_old_o) set_dirty = land_bit;
    end else begin
      change = job_valid_i;
      keep = ~job_drop_i;
      keep_dirty = ~(job_drop_i | job_clean_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (change) begin
      valid_mem[row] <= (valid & keep) | set;
      dirty_mem[row] <= (dirty & keep_dirty) | set_dirty;
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
  `GW_INVARIANT(StoreTries_A, !store_i || store_try_i)
  `GW_COVER(LandsOnValid_C, land_valid_i && land_ready_o && land_old_o)

endmodule
