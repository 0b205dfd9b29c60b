// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Decodes a descriptor of the page DMA and says whether it is one. Combinational but for what is compared with what: two
// stages, a descriptor a cycle.
//
// Contract
// - out_* is the descriptor taken, two cycles later or when the one before has gone; `legal` is what spec/layout.toml says of
//   `dma_cause.illegal`.
// - flush_i empties it.
`include "gw_assert.svh"

module gw_dma_decode #(
  /// The operation `respond` is one.
  parameter bit Respond = 1
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             flush_i,
  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [255:0]     in_i,
  input  logic             in_fault_i,
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [3:0]       op_o,
  output logic             fence_o,
  output logic             irq_o,
  output logic             after_o,
  output logic [31:0]      value_o,
  output logic [63:0]      source_o,
  output logic [gw_pkg::PaWidth-1:0] dest_o,
  output gw_pkg::dma_job_t job_o,
  output logic             legal_o,
  output logic             fault_o
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned LineWidth = PaWidth - DmaLineShift;
  localparam int unsigned PageLines = 1 << (PageShift - DmaLineShift);

  // First stage: the words, and sums.
  logic first_valid_q, second_valid_q, first_ready, second_ready;
  logic [63:0] control_q, source_q, dest_q, mask_q;
  logic fault_q;
  assign second_ready = !second_valid_q || out_ready_i;
  assign first_ready = !first_valid_q || second_ready;
  assign in_ready_o = first_ready && !flush_i;
  assign out_valid_o = second_valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first_valid_q <= 1'b0;
      second_valid_q <= 1'b0;
    end else if (flush_i) begin
      first_valid_q <= 1'b0;
      second_valid_q <= 1'b0;
    end else begin
      if (first_ready) first_valid_q <= in_valid_i;
      if (second_ready) second_valid_q <= first_valid_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (first_ready) begin
      {mask_q, dest_q, source_q, control_q} <= in_i;
      fault_q <= in_fault_i;
    end
  end

  // Second stage: what it means.
  logic [3:0] op;
  logic [23:0] lines;
  logic masked;
  assign op = control_q[DmaControlOpLsb+:DmaControlOpWidth];
  assign lines = control_q[DmaControlLinesLsb+:DmaControlLinesWidth];
  assign masked = control_q[DmaControlMaskedLsb];

  // Both ends of a range lie on one side of the host aperture's border, and the end below the top.
  function automatic logic in_memory(logic [63:0] addr, logic [23:0] count);
    logic [LineWidth:0] last;
    last = {1'b0, addr[PaWidth-1:DmaLineShift]} + (LineWidth + 1)'(count) - 1'b1;
    return addr[63:PaWidth] == '0 && addr[DmaLineShift-1:0] == '0 && !last[LineWidth] &&
           last[LineWidth-1] == addr[PaWidth-1];
  endfunction

  logic plain, page, legal;
  assign plain = !masked && mask_q == '0;
  assign page = source_q[PageShift-1:0] == '0 && dest_q[PageShift-1:0] == '0 && lines == 24'(PageLines);
  always_comb begin
    unique case (op)
      4'(DmaCopy):
        legal = lines != '0 && in_memory(source_q, lines) && in_memory(dest_q, lines) && (plain || (masked && page));
      4'(DmaClear): legal = lines != '0 && source_q == '0 && in_memory(dest_q, lines) && plain;
      4'(DmaEntry): legal = lines == '0 && dest_q[63:PaWidth] == '0 && dest_q[2:0] == '0 && plain;
      4'(DmaWait): legal = lines == '0 && source_q[63:32] == '0 && dest_q == '0 && plain;
      4'(DmaRespond): legal = Respond && lines == '0 && dest_q == '0 && plain;
      4'(DmaNone): legal = lines == '0 && source_q == '0 && dest_q == '0 && plain;
      default: legal = 1'b0;
    endcase
    // An interrupt is a fence's.
    if (control_q[DmaControlIrqLsb] && !control_q[DmaControlFenceLsb]) legal = 1'b0;
    if (control_q[DmaControlValueLsb+:32] != '0 && !control_q[DmaControlFenceLsb]) legal = 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (second_ready) begin
      op_o <= op;
      fence_o <= control_q[DmaControlFenceLsb];
      irq_o <= control_q[DmaControlIrqLsb];
      after_o <= control_q[DmaControlAfterLsb];
      value_o <= control_q[DmaControlValueLsb+:32];
      source_o <= source_q;
      dest_o <= dest_q[PaWidth-1:0];
      job_o <= '{
        slot: '0,
        src: source_q[PaWidth-1:DmaLineShift],
        dst: dest_q[PaWidth-1:DmaLineShift],
        lines: lines,
        masked: masked,
        mask: mask_q
      };
      legal_o <= legal;
      fault_o <= fault_q;
    end
  end

endmodule
