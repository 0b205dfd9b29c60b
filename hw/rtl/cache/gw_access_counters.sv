// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Access counters: how many lines the page cache moves over the link for each 64 KiB of host memory, and which groups of them move many.
// Wiring, and the queues.
//
//   AR, AW of the link ─> register ─> queue, a direction ─> gw_access_table ─> queue of reports ─> gw_access_regs
//
// Contract
// - It watches the link and holds up nothing: a burst is counted by its address, all its lines at once, with its group (physical address
//   divided by 64 KiB). Bursts lie within 4 KiB, so within a group.
// - A burst is counted every fourth cycle; up to Depth wait in each direction. One that finds no room is not counted, and counts as missed.
// - What is counted, reported and cleared: gw_access_table; registers and interrupt: gw_access_regs. Only while `control.enable` is 1
//   bursts are counted.
// - A group's clear comes before bursts that wait. `control.clear` forgets counts, reports and bursts that wait.
// - With no room for its report a group is reported when its next burst finds room.
// - Reset: nothing is counted; the table is busy for a cycle a place.
`include "gw_assert.svh"

module gw_access_counters #(
  /// Groups that are counted at a time, a power of two, 16 or more.
  parameter int unsigned Groups = 256,
  /// Bursts of a direction that wait.
  parameter int unsigned Depth = 16,
  /// Reports that wait, 1 to Groups, 255 at most.
  parameter int unsigned Reports = 16
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  /// The link: addresses that are taken.
  input  logic                       ar_i,
  input  logic [gw_pkg::PaWidth-1:0] ar_addr_i,
  input  logic [7:0]                 ar_len_i,
  input  logic                       aw_i,
  input  logic [gw_pkg::PaWidth-1:0] aw_addr_i,
  input  logic [7:0]                 aw_len_i,
  /// Registers.
  input  gw_pkg::access_req_t        req_i,
  output gw_pkg::access_rsp_t        rsp_o
);

  localparam int unsigned GroupShift = gw_spec_pkg::AccessGroupShift;
  localparam int unsigned GroupWidth = gw_pkg::PaWidth - GroupShift;
  localparam int unsigned CountWidth = 16;
  localparam int unsigned LinesWidth = 7;
  if (Groups < 16 || Reports > Groups || Reports > 255) begin : gen_bad_parameter
    $fatal(1, "gw_access_counters: Groups must be 16 or more, Reports at most Groups and 255");
  end
  typedef struct packed {
    logic [GroupWidth-1:0] group;
    logic [LinesWidth-1:0] lines;
  } burst_t;
  typedef struct packed {
    logic [GroupWidth-1:0] group;
    logic [CountWidth-1:0] writebacks;
    logic [CountWidth-1:0] fills;
  } report_t;

  logic                enable, sweep, busy;
  logic [CountWidth:0] threshold;

  // Bursts, [0] fills, [1] writebacks. The sweep empties the queues.
  logic [1:0] seen_q, room, waits, taken;
  burst_t [1:0] seen_burst_q, burst;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) seen_q <= '0;
    else seen_q <= {aw_i, ar_i} & {2{enable && !busy}};
  end
  always_ff @(posedge clk_i) begin
    seen_burst_q[0] <= '{group: ar_addr_i[gw_pkg::PaWidth-1:GroupShift], lines: LinesWidth'(ar_len_i) + 1'b1};
    seen_burst_q[1] <= '{group: aw_addr_i[gw_pkg::PaWidth-1:GroupShift], lines: LinesWidth'(aw_len_i) + 1'b1};
  end
  for (genvar i = 0; i < 2; i++) begin : gen_queue
    gw_fifo #(
      .T    (burst_t),
      .Depth(Depth)
    ) u_bursts (
      .clk_i,
      .rst_ni,
      .in_valid_i (seen_q[i] && room[i]),
      .in_ready_o (room[i]),
      .in_data_i  (seen_burst_q[i]),
      .out_valid_o(waits[i]),
      .out_ready_i(taken[i] || busy),
      .out_data_o (burst[i]),
      .usage_o    ()
    );
  end

  // Steps: a clear first, then the directions in turns.
  logic clear_valid, turn_q, write, op_ready;
  logic [GroupWidth-1:0] clear_group;
  assign write = waits[1] && (!waits[0] || turn_q);
  assign taken = (op_ready && !clear_valid) ? {write, waits[0] && !write} : 2'b00;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) turn_q <= 1'b0;
    else if (taken != '0) turn_q <= !write;
  end

  logic report, report_room, reports_out, report_valid, report_ready;
  report_t reported, oldest;
  logic cleared;
  logic [CountWidth-1:0] cleared_fills, cleared_writebacks;
  gw_access_table #(
    .Places    (Groups),
    .GroupWidth(GroupWidth),
    .CountWidth(CountWidth),
    .LinesWidth(LinesWidth)
  ) u_table (
    .clk_i,
    .rst_ni,
    .sweep_i            (sweep),
    .busy_o             (busy),
    .threshold_i        (threshold),
    .op_valid_i         (clear_valid || waits != '0),
    .op_ready_o         (op_ready),
    .op_clear_i         (clear_valid),
    .op_write_i         (write),
    .op_group_i         (clear_valid ? clear_group : burst[write].group),
    .op_lines_i         (burst[write].lines),
    .room_i             (report_room),
    .report_o           (report),
    .report_group_o     (reported.group),
    .report_fills_o     (reported.fills),
    .report_writebacks_o(reported.writebacks),
    .cleared_o          (cleared),
    .cleared_fills_o    (cleared_fills),
    .cleared_writebacks_o(cleared_writebacks)
  );

  localparam int unsigned ReportsWidth = $clog2(Reports + 1);
  logic [ReportsWidth-1:0] reports;
  gw_fifo #(
    .T    (report_t),
    .Depth(Reports)
  ) u_reports (
    .clk_i,
    .rst_ni,
    .in_valid_i (report),
    .in_ready_o (report_room),
    .in_data_i  (reported),
    .out_valid_o(reports_out),
    .out_ready_i(report_ready || busy),
    .out_data_o (oldest),
    .usage_o    (reports)
  );
  assign report_valid = reports_out && !busy;

  gw_access_regs #(
    .Places      (Groups),
    .GroupWidth  (GroupWidth),
    .CountWidth  (CountWidth),
    .ReportsWidth(ReportsWidth)
  ) u_regs (
    .clk_i,
    .rst_ni,
    .req_i,
    .rsp_o,
    .enable_o           (enable),
    .threshold_o        (threshold),
    .sweep_o            (sweep),
    .busy_i             (busy),
    .missed_i           (2'(seen_q[0] && !room[0]) + 2'(seen_q[1] && !room[1])),
    .clear_valid_o      (clear_valid),
    .clear_ready_i      (op_ready),
    .clear_group_o      (clear_group),
    .cleared_i          (cleared),
    .cleared_fills_i    (cleared_fills),
    .cleared_writebacks_i(cleared_writebacks),
    .report_valid_i     (report_valid),
    .report_ready_o     (report_ready),
    .report_group_i     (oldest.group),
    .report_fills_i     (oldest.fills),
    .report_writebacks_i(oldest.writebacks),
    .reports_i          (reports)
  );

  logic unused;
  assign unused = ^{ar_addr_i[GroupShift-1:0], aw_addr_i[GroupShift-1:0]};

  `GW_ASSERT(WithinPage_A, ar_i |-> ar_len_i < 8'd64)
  `GW_ASSERT(WithinPageWrite_A, aw_i |-> aw_len_i < 8'd64)
  `GW_COVER(Both_C, waits == 2'b11)
  `GW_COVER(Missed_C, (seen_q & ~room) != '0)

endmodule
