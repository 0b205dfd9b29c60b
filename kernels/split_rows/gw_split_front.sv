// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// What kernels that deal out rows by a comparison have in common: the arguments of the compared column, the run, and of each beat of
// rows which of them match.
//
// Contract
// - Arguments are taken in the cycle of start_i and kept for the run. Refused: 2^32 rows and more, an unknown dtype or op, bad_args_i.
// - Reads 0 and 1 are values and validity, whose ranges are made here. reads_i and writes_i say, in the cycle of start_i, which of its
//   streams a run has. Each of them is offered once: range_valid_o, addr_valid_o, until taken.
// - The run ends when all reads and writes were taken and none is busy, or after an error, as gw_kernel_ctrl says.
// - Rows: as gw_row_match gives them. match_count_o: matches of the beats that were taken in this run.
// - Reset: idle.
module gw_split_front
  import gw_kernel_pkg::*;
#(
  /// Read streams, 2 or more, and write streams, 1 or more.
  parameter int unsigned NumReads = 2,
  parameter int unsigned NumWrites = 2
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 start_i,
  output logic                 done_o,
  output status_e              status_o,

  /// The compared column: first byte, bitmap or 0, rows, first row in both.
  input  addr_t                values_i,
  input  addr_t                validity_i,
  input  logic [63:0]          rows_i,
  input  logic [63:0]          offset_i,
  input  logic [31:0]          dtype_i,
  input  logic [31:0]          op_i,
  input  logic [63:0]          constant_i,
  /// Other arguments cannot be served.
  input  logic                 bad_args_i,

  /// There are rows, and a bitmap of them: in the cycle of start_i.
  output logic                 has_bitmap_o,
  input  logic [NumReads-1:0]  reads_i,
  output logic [NumReads-1:0]  range_valid_o,
  input  logic [NumReads-1:0]  range_ready_i,
  /// Values, validity.
  output range_t [1:0]         range_o,
  input  logic [NumReads-1:0]  read_busy_i,
  input  logic [NumReads-1:0]  read_error_i,
  input  logic [NumWrites-1:0] writes_i,
  output logic [NumWrites-1:0] addr_valid_o,
  input  logic [NumWrites-1:0] addr_ready_i,
  input  logic [NumWrites-1:0] write_busy_i,
  input  logic [NumWrites-1:0] write_error_i,
  output logic                 abort_o,

  /// Values, validity.
  input  logic [1:0]           in_valid_i,
  output logic [1:0]           in_ready_o,
  input  stream_beat_t [1:0]   in_i,

  /// 8 rows a beat, else 16; there is a bitmap; the first row's bit in its first byte.
  output logic                 wide_o,
  output logic                 nullable_o,
  output logic [2:0]           first_bit_o,
  output logic                 rows_valid_o,
  input  logic                 rows_ready_i,
  output logic [15:0]          match_o,
  output logic [15:0]          rest_o,
  output logic [15:0]          valid_o,
  output data_t                data_o,
  output logic                 last_o,
  output logic [63:0]          match_count_o
);

  // ---- Arguments, kept for the run
  logic wide_d, wide_q, float_q, nullable_q, bad_args;
  logic [2:0] op_q, first_bit_q;
  logic [63:0] constant_q;
  range_t [1:0] range_q;

  assign wide_d = dtype_i[0];
  assign has_bitmap_o = validity_i != '0 && rows_i != '0;
  assign bad_args = dtype_i > 32'd3 || op_i > 32'd5 || rows_i[63:32] != '0 || bad_args_i;
  assign wide_o = wide_q;
  assign nullable_o = nullable_q;
  assign first_bit_o = first_bit_q;
  assign range_o = range_q;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      wide_q <= wide_d;
      float_q <= dtype_i[1];
      op_q <= op_i[2:0];
      constant_q <= constant_i;
      nullable_q <= has_bitmap_o;
      first_bit_q <= offset_i[2:0];
      range_q[0].addr <= values_i + (wide_d ? offset_i << 3 : offset_i << 2);
      range_q[0].bytes <= wide_d ? rows_i << 3 : rows_i << 2;
      range_q[1].addr <= validity_i + (offset_i >> 3);
      range_q[1].bytes <= (rows_i + 64'(offset_i[2:0]) + 64'd7) >> 3;
    end
  end

  // ---- Run
  logic work, busy, finished;
  logic [NumReads-1:0] range_todo_q;
  logic [NumWrites-1:0] addr_todo_q;

  assign busy = read_busy_i != '0 || write_busy_i != '0;
  assign finished = range_todo_q == '0 && addr_todo_q == '0 && !busy;
  assign range_valid_o = range_todo_q & {NumReads{work}};
  assign addr_valid_o = addr_todo_q & {NumWrites{work}};

  gw_kernel_ctrl u_ctrl (
    .clk_i,
    .rst_ni,
    .start_i,
    .bad_args_i   (bad_args),
    .finished_i   (finished),
    .read_error_i (read_error_i != '0),
    .write_error_i(write_error_i != '0),
    .busy_i       (busy),
    .work_o       (work),
    .abort_o,
    .done_o,
    .status_o
  );

  // Each stream gets its range or address once a run.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      range_todo_q <= '0;
      addr_todo_q <= '0;
    end else if (start_i) begin
      range_todo_q <= reads_i;
      addr_todo_q <= writes_i;
    end else begin
      range_todo_q <= work ? range_todo_q & ~range_ready_i : '0;
      addr_todo_q <= work ? addr_todo_q & ~addr_ready_i : '0;
    end
  end

  // ---- Rows that match and the others
  logic [31:0] unused_base;

  gw_row_match u_rows (
    .clk_i,
    .rst_ni,
    .clear_i    (start_i || abort_o),
    .wide_i     (wide_q),
    .float_i    (float_q),
    .op_i       (op_q),
    .constant_i (constant_q),
    .nullable_i (nullable_q),
    .first_bit_i(first_bit_q),
    .in_valid_i,
    .in_ready_o,
    .in_i,
    .rows_valid_o,
    .rows_ready_i,
    .match_o,
    .rest_o,
    .valid_o,
    .data_o,
    .base_o     (unused_base),
    .last_o
  );

  always_ff @(posedge clk_i) begin
    if (start_i) match_count_o <= '0;
    else if (rows_valid_o && rows_ready_i) match_count_o <= match_count_o + 64'($countones(match_o));
  end

endmodule
