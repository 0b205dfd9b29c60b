// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Cuts a job of the page DMA into bursts.
//
// Contract
// - The bursts of a job are its lines, each once and in ascending order, at the same place in source and destination. A
//   burst has at most gw_pkg::DmaBurstLines lines and crosses no 4 KiB border on either side; with `masked` it has only lines
//   whose bit is set, of a job that is one aligned page.
// - `end_o` for one cycle behind the last burst of a job, or when it was given up: kill_i ends a job before its next burst,
//   with `end_o.error`. A job without a line to copy ends without a burst.
// - A burst every third cycle, and one cycle a job. All outputs but job_ready_o are registers.
`include "gw_assert.svh"

module gw_dma_split (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               kill_i,
  input  logic               job_valid_i,
  output logic               job_ready_o,
  input  gw_pkg::dma_job_t   job_i,
  output logic               burst_valid_o,
  input  logic               burst_ready_i,
  output gw_pkg::dma_burst_t burst_o,
  output gw_pkg::dma_done_t  end_o
);

  import gw_pkg::*;

  localparam int unsigned PageLines = 1 << (PageShift - DmaLineShift);
  localparam int unsigned InPage = PageShift - DmaLineShift;

  typedef enum logic [1:0] {
    Idle,
    First,
    Size,
    Emit
  } state_e;

  state_e state_q;
  dma_job_t job_q;
  // Lines from here to the burst, and in it. Before: those of a burst without a mask, and the mask from the first line on.
  logic [4:0] skip_q, count_q, plain_q;
  logic [15:0] from_first_q;
  logic has_q, last, end_q, killed_q;
  dma_slot_t end_slot_q;

  // Of lines without a mask: as many as a burst may have, as are left, and as both pages have.
  logic [InPage:0] src_room, dst_room, room;
  logic [4:0] plain;
  assign src_room = (InPage + 1)'(PageLines) - {1'b0, job_q.src[InPage-1:0]};
  assign dst_room = (InPage + 1)'(PageLines) - {1'b0, job_q.dst[InPage-1:0]};
  assign room = (src_room < dst_room) ? src_room : dst_room;
  always_comb begin
    plain = (room < (InPage + 1)'(DmaBurstLines)) ? room[4:0] : 5'(DmaBurstLines);
    if (job_q.lines < 24'(plain)) plain = job_q.lines[4:0];
  end

  // Of lines with one: the first run in the next 16.
  logic [15:0] window;
  logic [4:0] first, run;
  assign window = job_q.mask[15:0];
  always_comb begin
    first = 5'd16;
    for (int unsigned i = 16; i > 0; i--) if (window[i-1]) first = 5'(i - 1);
    run = 5'd16;
    for (int unsigned i = 16; i > 0; i--) if (!from_first_q[i-1]) run = 5'(i - 1);
  end

  logic [4:0] step;
  logic step_done;
  assign step = skip_q + count_q;
  assign last = job_q.lines == 24'(step);
  assign step_done = state_q == Emit && (!has_q || (burst_valid_o && burst_ready_i));
  assign job_ready_o = state_q == Idle;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      burst_valid_o <= 1'b0;
      end_q <= 1'b0;
      killed_q <= 1'b0;
    end else begin
      end_q <= 1'b0;
      killed_q <= 1'b0;
      unique case (state_q)
        Idle: if (job_valid_i) state_q <= First;
        First: begin
          state_q <= Size;
          if (kill_i) begin
            state_q <= Idle;
            end_q <= 1'b1;
            killed_q <= 1'b1;
          end
        end
        Size: begin
          state_q <= Emit;
          burst_valid_o <= has_q;
        end
        Emit: begin
          if (step_done) begin
            burst_valid_o <= 1'b0;
            state_q <= last ? Idle : First;
            end_q <= last;
          end
        end
        default: state_q <= Idle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (job_ready_o) job_q <= job_i;
    if (state_q == First) begin
      plain_q <= plain;
      from_first_q <= window >> first[3:0];
      has_q <= !job_q.masked || window != '0;
      // Nothing in the window: on to the next one, or to the end.
      if (!job_q.masked) skip_q <= '0;
      else if (window != '0) skip_q <= first;
      else skip_q <= (job_q.lines < 24'd16) ? job_q.lines[4:0] : 5'd16;
    end
    if (state_q == Size) count_q <= !has_q ? '0 : job_q.masked ? run : plain_q;
    if (step_done) begin
      job_q.src <= job_q.src + dma_line_t'(step);
      job_q.dst <= job_q.dst + dma_line_t'(step);
      job_q.lines <= job_q.lines - 24'(step);
      job_q.mask <= job_q.mask >> step;
    end
    end_slot_q <= job_q.slot;
  end
  assign end_o = '{valid: end_q, slot: end_slot_q, error: killed_q};

  // A masked job is one aligned page: its lines differ in the lower bits only.
  always_comb begin
    burst_o.slot = job_q.slot;
    burst_o.lines = count_q;
    burst_o.src = job_q.src;
    burst_o.dst = job_q.dst;
    burst_o.src[InPage-1:0] = job_q.src[InPage-1:0] + InPage'(skip_q);
    burst_o.dst[InPage-1:0] = job_q.dst[InPage-1:0] + InPage'(skip_q);
  end

  `GW_INVARIANT(BurstHasLines_A, !burst_valid_o || (count_q != '0 && count_q <= 5'(DmaBurstLines)))
  `GW_INVARIANT(NeverMoreThanLeft_A, state_q != Emit || 24'(step) <= job_q.lines)
  `GW_ASSERT(BurstStable_A, burst_valid_o && !burst_ready_i |=> burst_valid_o && $stable(burst_o))
  `GW_ASSERT(MaskedIsOnePage_A, job_valid_i && job_i.masked |-> job_i.lines == 24'(PageLines) && job_i.src[InPage-1:0] == '0
             && job_i.dst[InPage-1:0] == '0)
  `GW_COVER(Skip_C, burst_valid_o && skip_q != '0)
  `GW_COVER(NothingInWindow_C, state_q == Emit && !has_q)
  `GW_COVER(Killed_C, end_o.valid && end_o.error)

endmodule
