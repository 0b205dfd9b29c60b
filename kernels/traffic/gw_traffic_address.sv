// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Makes the addresses of a traffic plan.
//
// Contract
// - A run begins with start_i, gives plan_i.count accesses, and ends when busy_o is low. plan_i is constant from the cycle
//   after start_i on.
// - Throughput: one access a cycle; in pattern Chase the next one comes three cycles after next_valid_i.
// - A burst that would cross a multiple of 4 KiB begins earlier, so that it ends there.
// - The generator of random numbers steps once an access: its upper half chooses the position, its lowest byte whether the
//   access writes, whatever the pattern.
// - abort_i drops what is not yet taken. Reset: idle.
`include "gw_assert.svh"

module gw_traffic_address
  import gw_kernel_pkg::*;
  import gw_traffic_pkg::*;
(
  input  logic    clk_i,
  input  logic    rst_ni,
  input  logic    start_i,
  input  logic    abort_i,
  input  plan_t   plan_i,
  output logic    busy_o,
  /// Pattern Chase: offset of the next burst, from the data of the last one; rounded down to a beat.
  input  logic    next_valid_i,
  input  addr_t   next_i,
  output logic    out_valid_o,
  input  logic    out_ready_i,
  output access_t out_o
);

  logic started_q, advance, issue, chase;
  logic [31:0] left_q, position_q;
  logic [63:0] random_q, random;
  logic next_valid_q;
  addr_t next_q;

  assign chase = plan_i.pattern == Chase;
  assign random = xorshift(random_q);
  assign issue = advance && left_q != '0 && (!chase || next_valid_q);

  // The plan is there one cycle after start_i.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      started_q <= 1'b0;
      left_q <= '0;
      next_valid_q <= 1'b0;
    end else begin
      started_q <= start_i;
      if (started_q) left_q <= plan_i.count;
      else if (abort_i) left_q <= '0;
      else if (issue) left_q <= left_q - 1'b1;
      if (started_q) next_valid_q <= 1'b1;
      else if (next_valid_i) next_valid_q <= 1'b1;
      else if (issue) next_valid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (started_q) begin
      position_q <= '0;
      random_q <= plan_i.seed;
      next_q <= '0;
    end else begin
      if (issue) begin
        position_q <= position_q == plan_i.positions - 1'b1 ? '0 : position_q + 1'b1;
        random_q <= random;
      end
      if (next_valid_i) next_q <= {next_i[63:BeatShift], BeatShift'(0)};
    end
  end

  // ---- Stage 1: position. Stage 2: offset. Stage 3: address, moved back from the end of a page.
  logic [2:0] valid_q, write_q;
  logic [63:0] scaled;
  addr_t position1_q, offset2_q, sum;
  access_t access_q;
  logic [12:0] burst_end, over;

  assign advance = !valid_q[2] || out_ready_i;
  assign scaled = {32'b0, random[63:32]} * {32'b0, plan_i.positions};
  assign sum = plan_i.base + offset2_q;
  assign burst_end = {1'b0, sum[11:0]} + {(13 - BeatShift)'(plan_i.len) + 1'b1, BeatShift'(0)};
  assign over = burst_end > 13'(PageBytes) ? burst_end - 13'(PageBytes) : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else if (abort_i) valid_q <= '0;
    else if (advance) valid_q <= {valid_q[1:0], issue};
  end

  always_ff @(posedge clk_i) begin
    if (advance) begin
      write_q <= {write_q[1:0], {1'b0, random[7:0]} < plan_i.writes};
      unique case (plan_i.pattern)
        Chase: position1_q <= next_q;
        Random: position1_q <= {32'b0, scaled[63:32]};
        default: position1_q <= {32'b0, position_q};
      endcase
      offset2_q <= chase ? position1_q : position1_q * {32'b0, plan_i.stride};
      access_q <= '{addr: sum - addr_t'(over), offset: offset2_q - addr_t'(over), write: write_q[1]};
    end
  end

  assign out_valid_o = valid_q[2] && !abort_i;
  assign out_o = access_q;
  assign busy_o = start_i || started_q || left_q != '0 || valid_q != '0;

  // Stage 3 has taken over what stage 2 decided; the product's lower half is a fraction of a position; offsets are of beats. The plan's
  // other fields are for the rest of the kernel.
  logic unused;
  assign unused = ^{plan_i, write_q[2], scaled[31:0], next_i[BeatShift-1:0]};

  `GW_INVARIANT(OneChase_A, !(next_valid_i && next_valid_q))
  `GW_ASSERT(OutStable_A, out_valid_o && !out_ready_i && !abort_i |=> abort_i || (out_valid_o && $stable(out_o)))
  `GW_COVER(MovedBack_C, valid_q[1] && over != '0)

endmodule
