// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_heap_hold with any commands of two ports, of which port 1 is a kernel's, any jobs that keep standing, any reclaimer, and a
// host that says in any cycle that it has seen the count. One command of the kernel, any one, is followed:
// - its job is offered only when the host has seen a count with it, or nothing is held;
// - an offer stands until it is taken; a job is taken there and here at once; none is made up;
// - when the host has seen all, a job passes in the next cycle: nobody waits for ever;
// - the count is that of frees and reallocs of the kernel.
module fv_heap_hold (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             taken_i,
  input logic             of_kernel_i,
  input gw_pkg::heap_op_e op_i,
  input logic             hold_i,
  input logic             see_i,
  input logic             job_valid_i,
  input logic             job_mine_i,
  input logic             job_ready_i,
  input logic             follow_i
);

  import gw_pkg::*;

  // Enough for what a host has not seen, in a proof.
  localparam int unsigned CountWidth = 3;
  logic [CountWidth-1:0] frees, seen_q;
  logic held, job_ready, job_valid;
  gw_heap_hold #(
    .NumPorts  (2),
    .CountWidth(CountWidth)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .kernels_i  (2'b10),
    .taken_i,
    .of_i       ({of_kernel_i, !of_kernel_i}),
    .op_i,
    .hold_i,
    .seen_i     (seen_q),
    .frees_o    (frees),
    .held_o     (held),
    .job_valid_i,
    .job_ready_o(job_ready),
    .job_valid_o(job_valid),
    .job_ready_i
  );

  logic past_valid_q = 1'b0;
  logic counts, mine_q, mine_seen_q, waits_q, waits_mine_q, offered_q, hold_q, free_q, all_seen_q;
  logic [CountWidth-1:0] count_q, unseen;
  assign counts = taken_i && of_kernel_i && op_i != HeapMalloc;
  assign unseen = frees - seen_q;
  always_comb begin
    assume (rst_ni == past_valid_q);
    // A count that nobody has seen goes round later than gw_slots has places.
    if (unseen == '1) assume (!counts);
    // Jobs stand, and the one that is followed comes after its command.
    if (waits_q) assume (job_valid_i && job_mine_i == waits_mine_q);
    if (!mine_q) assume (!job_mine_i);
  end

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    seen_q <= !rst_ni ? '0 : see_i ? frees : seen_q;
    count_q <= !rst_ni ? '0 : count_q + CountWidth'(counts);
    // The command that is followed: one, and the host sees a count with it or not.
    mine_q <= rst_ni && (mine_q || (counts && follow_i));
    mine_seen_q <= rst_ni && (mine_seen_q || (mine_q && see_i));
    waits_q <= rst_ni && job_valid_i && !job_ready;
    waits_mine_q <= job_mine_i;
    offered_q <= rst_ni && job_valid && !job_ready_i;
    hold_q <= hold_i;
    // Whether it was let go before it was held.
    free_q <= rst_ni && !hold_i;
    all_seen_q <= rst_ni && seen_q == frees && !counts;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (job_valid && job_mine_i && !offered_q) Seen_A : assert (mine_seen_q || free_q);
      if (offered_q) Stands_A : assert (job_valid);
      if (job_valid) Real_A : assert (job_valid_i);
      TakenAtOnce_A : assert ((job_valid_i && job_ready) == (job_valid && job_ready_i));
      if (all_seen_q && job_valid_i) Passes_A : assert (job_valid);
      if (free_q && job_valid_i) Free_A : assert (job_valid);
      Count_A : assert (frees == count_q);
      Held_A : assert (held == (job_valid_i && !job_valid));
      Held_C : cover (held && job_mine_i);
      Later_C : cover (job_valid && job_mine_i && !free_q && unseen != '0 && hold_q);
      Taken_C : cover (job_valid && job_ready_i && job_mine_i && mine_seen_q && hold_q);
    end
  end

endmodule
