// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Reads the commands of a queue from memory: a 64-byte line (of four, with 16 bytes a command) at a time, several ahead.
//
// Contract
// - While run_i: hands out the commands from index `head_i` (as it was in the cycle before run_i rose) up to `tail_i`, each
//   once and in order, around the end of the ring. A command is read after `tail_i` passed it, never before.
// - run_i may rise only while idle_o. When it falls, reads under way are awaited and what was read is thrown away; then
//   idle_o rises.
// - One command a cycle, as long as `Lines` cover the memory's latency (a line of four is four cycles).
// - A line that could not be read gives its first command, with cmd_fault_o; what follows is of no use.
// - Memory: one 64-byte read a line, one ID; an address offered stays as it is. Data is always taken.
`include "gw_assert.svh"

module gw_cq_fetch #(
  /// Lines on their way or read, >= 1; they cover about 4 * Lines - 6 cycles from a read's acceptance to its data.
  parameter int unsigned Lines = 4,
  /// Bytes of a command: a power of two, 32 or less.
  parameter int unsigned CmdBytes = gw_spec_pkg::CommandBytes,
  /// Derived.
  localparam int unsigned CmdWidth = 8 * CmdBytes,
  localparam int unsigned LineCmds = gw_spec_pkg::PtBeatBytes / CmdBytes
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         run_i,
  output logic                         idle_o,
  /// The ring: first frame, its commands less one. Constant while not idle.
  input  gw_pkg::ppn_t                 base_i,
  input  logic [31:0]                  mask_i,
  input  logic [31:0]                  head_i,
  input  logic [31:0]                  tail_i,
  /// Memory.
  output logic                         ar_valid_o,
  input  logic                         ar_ready_i,
  output logic [gw_pkg::PaWidth-1:0]   ar_addr_o,
  input  logic                         r_valid_i,
  input  logic [LineCmds*CmdWidth-1:0] r_data_i,
  input  logic                         r_fault_i,
  /// Commands.
  output logic                         cmd_valid_o,
  input  logic                         cmd_ready_i,
  output logic [CmdWidth-1:0]          cmd_o,
  output logic                         cmd_fault_o
);

  if (Lines < 1) begin : gen_bad_lines
    $fatal(1, "gw_cq_fetch: Lines must be at least 1");
  end
  if (!(CmdBytes inside {8, 16, 32})) begin : gen_bad_bytes
    $fatal(1, "gw_cq_fetch: CmdBytes must be 8, 16 or 32");
  end

  localparam int unsigned PosWidth = $clog2(LineCmds);
  localparam int unsigned LineShift = $clog2(gw_spec_pkg::PtBeatBytes);
  localparam int unsigned CountWidth = $clog2(Lines + 1);

  typedef logic [PosWidth-1:0] pos_t;
  // Which of a line's commands were in the queue when it was asked for.
  typedef struct packed {
    pos_t first;
    pos_t last;
  } part_t;
  typedef struct packed {
    logic fault;
    logic [LineCmds-1:0][CmdWidth-1:0] data;
  } line_t;

  logic [31:0] next_q, left, to_end, count;
  logic [CountWidth-1:0] free_q;
  logic load, drop, line_done;
  part_t part_in, part;
  line_t line;
  logic part_ready, part_valid, line_ready, line_valid;

  // A ring of two commands is half a line.
  pos_t line_mask, at, behind;
  assign line_mask = pos_t'(mask_i);
  assign at = pos_t'(next_q);
  assign behind = line_mask - at;
  assign left = (tail_i - next_q) & mask_i;
  assign to_end = 32'(behind) + 32'd1;
  assign count = (left < to_end) ? left : to_end;
  assign part_in = '{first: at, last: pos_t'(next_q + count - 32'd1)};

  // Whether there is one is told without the difference: this goes to every enable.
  assign load = run_i && ((tail_i ^ next_q) & mask_i) != '0 && free_q != '0 && (!ar_valid_o || ar_ready_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      next_q <= '0;
      free_q <= CountWidth'(Lines);
      ar_valid_o <= 1'b0;
    end else begin
      if (!run_i) next_q <= head_i;
      else if (load) next_q <= (next_q + count) & mask_i;
      free_q <= free_q - CountWidth'(load) + CountWidth'(line_done);
      if (load) ar_valid_o <= 1'b1;
      else if (ar_ready_i) ar_valid_o <= 1'b0;
    end
  end

  // The base is aligned to the ring's size.
  always_ff @(posedge clk_i) begin
    if (load) begin
      ar_addr_o <= {base_i, gw_pkg::PageShift'(0)} |
                   gw_pkg::PaWidth'({next_q[31:PosWidth], LineShift'(0)});
    end
  end

  gw_fifo #(
    .T    (part_t),
    .Depth(Lines)
  ) u_parts (
    .clk_i,
    .rst_ni,
    .in_valid_i (load),
    .in_ready_o (part_ready),
    .in_data_i  (part_in),
    .out_valid_o(part_valid),
    .out_ready_i(line_done),
    .out_data_o (part),
    .usage_o    ()
  );

  gw_fifo #(
    .T    (line_t),
    .Depth(Lines)
  ) u_lines (
    .clk_i,
    .rst_ni,
    .in_valid_i (r_valid_i),
    .in_ready_o (line_ready),
    .in_data_i  ('{fault: r_fault_i, data: r_data_i}),
    .out_valid_o(line_valid),
    .out_ready_i(line_done),
    .out_data_o (line),
    .usage_o    ()
  );

  // Commands of the oldest line.
  pos_t used_q, pos;
  logic take;
  assign pos = part.first + used_q;
  assign cmd_valid_o = run_i && line_valid;
  assign cmd_fault_o = line.fault;
  // Written as a choice: Verilator does not take an index into elements of 256 bits here.
  always_comb begin
    cmd_o = line.data[0];
    for (int unsigned i = 1; i < LineCmds; i++) begin
      if (pos == pos_t'(i)) cmd_o = line.data[i];
    end
  end
  assign take = cmd_valid_o && cmd_ready_i;
  assign drop = !run_i && line_valid;
  assign line_done = drop || (take && pos == part.last);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) used_q <= '0;
    else if (line_done) used_q <= '0;
    else if (take) used_q <= used_q + 1'b1;
  end

  assign idle_o = !ar_valid_o && free_q == CountWidth'(Lines);

  logic unused;
  assign unused = ^{part_ready, line_ready};

  `GW_INVARIANT(PartRoom_A, part_ready || !load)
  `GW_INVARIANT(LineRoom_A, line_ready || !r_valid_i)
  `GW_INVARIANT(LineHasPart_A, part_valid || !line_valid)
  `GW_INVARIANT(DataWasAskedFor_A, !r_valid_i || free_q != CountWidth'(Lines))
  `GW_ASSERT(AddressStable_A, ar_valid_o && !ar_ready_i |=> ar_valid_o && $stable(ar_addr_o))
  `GW_ASSERT(RestartIdle_A, $rose(run_i) |-> idle_o)
  `GW_COVER(Wrap_C, load && next_q + count > mask_i)
  `GW_COVER(PartOfLine_C, load && count < to_end)

endmodule
