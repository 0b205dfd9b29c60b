// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Registers of the access counters: register file `access_counters` of gw_mmu.rdl.
//
// Contract
// - A request is a pulse, its address, and a write's data, held until rsp_o.ack, in the next cycle or, of a write of `clear_group`'s upper
//   half, when the table has cleared it; then rsp_o.data is what it asked for. One request at a time.
// - `report_group` and `report_lines` are the oldest report's, zero without one; a write of `take` drops it.
// - `cleared_lines` are those of the group that was cleared last, until then.
// - missed_i (bursts that were not counted) adds up to the largest value; `control.clear` sets it to zero.
// - rsp_o.irq is a level: with `control.irq_enable`, a report is there.
// - Reset: all zero.
`include "gw_assert.svh"

module gw_access_regs #(
  /// Places of the table.
  parameter int unsigned Places = 256,
  /// Bits of a group's number, 33 to 63.
  parameter int unsigned GroupWidth = 40,
  /// Bits of a count, at most 16.
  parameter int unsigned CountWidth = 16,
  /// Bits of the number of reports, at most 8.
  parameter int unsigned ReportsWidth = 5
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  gw_pkg::access_req_t     req_i,
  output gw_pkg::access_rsp_t     rsp_o,
  output logic                    enable_o,
  output logic [CountWidth:0]     threshold_o,
  output logic                    sweep_o,
  input  logic                    busy_i,
  /// Bursts that are not counted, 0 to 2.
  input  logic [1:0]              missed_i,
  /// One group cleared; stays until it is taken.
  output logic                    clear_valid_o,
  input  logic                    clear_ready_i,
  output logic [GroupWidth-1:0]   clear_group_o,
  /// It is done, and these were the group's counts.
  input  logic                    cleared_i,
  input  logic [CountWidth-1:0]   cleared_fills_i,
  input  logic [CountWidth-1:0]   cleared_writebacks_i,
  /// The oldest report.
  input  logic                    report_valid_i,
  output logic                    report_ready_o,
  input  logic [GroupWidth-1:0]   report_group_i,
  input  logic [CountWidth-1:0]   report_fills_i,
  input  logic [CountWidth-1:0]   report_writebacks_i,
  input  logic [ReportsWidth-1:0] reports_i
);

  typedef enum logic [3:0] {
    Control   = 4'd0,
    Threshold = 4'd1,
    Status    = 4'd2,
    Take      = 4'd3,
    ReportLo  = 4'd4,
    ReportHi  = 4'd5,
    Lines     = 4'd6,
    Cleared   = 4'd7,
    ClearLo   = 4'd8,
    ClearHi   = 4'd9
  } word_e;
  localparam int unsigned EnableBit = 0, IrqBit = 1, ClearBit = 2;

  word_e               word;
  logic                write, enable_q, irq_q, ack_q, clear_q;
  logic [31:0]         old, merged, data_q, clear_lo_q;
  logic [CountWidth-1:0] fills_q, writebacks_q;
  logic [CountWidth:0] threshold_q;
  logic [GroupWidth-33:0] clear_hi_q;
  logic [15:0]         missed_q;
  logic [16:0]         missed_more;
  assign word = word_e'(req_i.addr[5:2]);
  assign write = req_i.valid && req_i.write;
  assign merged = (old & ~req_i.mask) | (req_i.data & req_i.mask);
  assign missed_more = {1'b0, missed_q} + 17'(missed_i);

  always_comb begin
    old = '0;
    case (word)
      Control: begin
        old[EnableBit] = enable_q;
        old[IrqBit] = irq_q;
        old[ClearBit] = busy_i;
        old[12:8] = 5'($clog2(Places));
      end
      Threshold: old = 32'(threshold_q);
      Status:    old = {missed_q, 16'(reports_i)};
      ReportLo:  old = report_valid_i ? report_group_i[31:0] : '0;
      ReportHi: begin
        old = report_valid_i ? 32'(report_group_i[GroupWidth-1:32]) : '0;
        old[31] = report_valid_i;
      end
      Lines:     old = report_valid_i ? {16'(report_writebacks_i), 16'(report_fills_i)} : '0;
      Cleared:   old = {16'(writebacks_q), 16'(fills_q)};
      ClearLo:   old = clear_lo_q;
      ClearHi:   old = 32'(clear_hi_q);
      default:   old = '0;
    endcase
  end

  assign sweep_o = write && word == Control && req_i.data[ClearBit] && req_i.mask[ClearBit];
  assign report_ready_o = write && word == Take;
  assign clear_valid_o = clear_q;
  assign clear_group_o = {clear_hi_q, clear_lo_q};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {enable_q, irq_q, ack_q, clear_q} <= '0;
      threshold_q <= '0;
      clear_lo_q <= '0;
      clear_hi_q <= '0;
      missed_q <= '0;
      {writebacks_q, fills_q} <= '0;
    end else begin
      ack_q <= (req_i.valid && !(write && word == ClearHi)) || cleared_i;
      clear_q <= (write && word == ClearHi) || (clear_q && !clear_ready_i);
      if (cleared_i) {writebacks_q, fills_q} <= {cleared_writebacks_i, cleared_fills_i};
      missed_q <= sweep_o ? '0 : missed_more[16] ? '1 : missed_more[15:0];
      if (write) begin
        case (word)
          Control:   {irq_q, enable_q} <= {merged[IrqBit], merged[EnableBit]};
          Threshold: threshold_q <= merged[CountWidth:0];
          ClearLo:   clear_lo_q <= merged;
          ClearHi:   clear_hi_q <= merged[GroupWidth-33:0];
          default:   ;
        endcase
      end
    end
  end
  always_ff @(posedge clk_i) if (req_i.valid) data_q <= old;

  assign rsp_o = '{ack: ack_q, data: data_q, irq: irq_q && report_valid_i};
  assign enable_o = enable_q;
  assign threshold_o = threshold_q;

  logic unused;
  assign unused = ^{req_i.addr[1:0], merged};

  `GW_ASSERT(OneAtATime_A, req_i.valid |-> !ack_q && !clear_q)
  `GW_ASSERT(ClearStable_A, clear_valid_o && !clear_ready_i |=> clear_valid_o && $stable(clear_group_o))

endmodule
