// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_dma_split: the bursts of a job are its lines, each once and in ascending order, no burst crosses a 4 KiB border
// on either side, and the end comes when no line is left. Jobs are of up to 100 lines in four pages, or a page with any mask.
module fv_dma_split #(
  parameter bit Masked = 1'b0
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             kill_i,
  input logic             job_valid_i,
  input gw_pkg::dma_job_t job_i,
  input logic             burst_ready_i
);

  import gw_pkg::*;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  logic job_ready, burst_valid;
  dma_burst_t burst;
  dma_done_t ended;

  gw_dma_split u_dut (
    .clk_i,
    .rst_ni,
    .kill_i,
    .job_valid_i,
    .job_ready_o  (job_ready),
    .job_i,
    .burst_valid_o(burst_valid),
    .burst_ready_i,
    .burst_o      (burst),
    .end_o        (ended)
  );

  always_comb begin
    assume (job_i.lines != '0 && job_i.lines <= 24'd100);
    assume (job_i.src < dma_line_t'(256) && job_i.dst < dma_line_t'(256) && job_i.slot < 6'd2);
    assume (job_i.masked == Masked);
    if (Masked) assume (job_i.lines == 24'd64 && job_i.src[5:0] == '0 && job_i.dst[5:0] == '0);
    else assume (job_i.mask == '0);
  end

  // What is left of the job: lines from src and dst on, of a page those whose bit is set.
  logic busy_q, offered_q;
  dma_job_t left_q;
  dma_burst_t offer_q;
  logic [6:0] step, skip;
  logic [63:0] skipped, taken;
  assign skip = left_q.masked ? {1'b0, burst.src[5:0] - left_q.src[5:0]} : '0;
  assign step = skip + 7'(burst.lines);
  assign skipped = ~(64'('1) << skip);
  assign taken = ~(64'('1) << burst.lines) << skip;

  always_ff @(posedge clk_i) begin
    offered_q <= rst_ni && burst_valid && !burst_ready_i;
    offer_q <= burst;
    if (!rst_ni) begin
      busy_q <= 1'b0;
    end else begin
      if (job_valid_i && job_ready) begin
        busy_q <= 1'b1;
        left_q <= job_i;
      end else if (ended.valid) begin
        busy_q <= 1'b0;
      end
      if (burst_valid && burst_ready_i) begin
        left_q.src <= left_q.src + dma_line_t'(step);
        left_q.dst <= left_q.dst + dma_line_t'(step);
        left_q.lines <= left_q.lines - 24'(step);
        left_q.mask <= left_q.mask >> step;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (burst_valid) begin
        OfJob_A : assert (busy_q && burst.slot == left_q.slot);
        HasLines_A : assert (burst.lines != '0 && burst.lines <= 5'd16 && 24'(step) <= left_q.lines);
        Source_A : assert (burst.src == left_q.src + dma_line_t'(skip));
        Dest_A : assert (burst.dst == left_q.dst + dma_line_t'(skip));
        SourcePage_A : assert (7'(burst.src[5:0]) + 7'(burst.lines) <= 7'd64);
        DestPage_A : assert (7'(burst.dst[5:0]) + 7'(burst.lines) <= 7'd64);
        if (left_q.masked) begin
          SkipsUnset_A : assert ((left_q.mask & skipped) == '0);
          TakesSet_A : assert ((left_q.mask & taken) == taken);
        end
      end
      if (offered_q) Stable_A : assert (burst_valid && burst == offer_q);
      if (ended.valid) begin
        EndsJob_A : assert (busy_q && ended.slot == left_q.slot);
        if (!ended.error) NoneLeft_A : assert (left_q.masked ? left_q.mask == '0 : left_q.lines == '0);
      end
      if (Masked) TwoRuns_C : cover (ended.valid && !ended.error && left_q.lines == 24'd2);
      else Plain_C : cover (ended.valid && !ended.error && left_q.dst[5:0] == 6'd3);
    end
  end

endmodule
