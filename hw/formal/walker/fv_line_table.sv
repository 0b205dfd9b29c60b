// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_line_table: a slot on its way or with waiters is never given away; a line is found in one slot at most
// (an assertion in the module), and what is found was fetched for that line; nothing fetched before an invalidation or a
// drop is found after it; a slot that may go is offered within three cycles; after a prefetch a slot is on offer.
module fv_line_table #(
  parameter int unsigned Lines = 2
) (
  input logic clk_i,
  input logic rst_ni,
  input logic inval_i,
  input logic [1:0] line_i,
  input logic step_i,
  input logic prefetch_i,
  input logic [Lines-1:0] done_i,
  input logic ret_i,
  input logic ret_slot_i,
  input logic ret_error_i,
  input logic drop_i,
  input logic drop_slot_i
);

  localparam int unsigned LineWidth = gw_pkg::PaWidth - 6;

  logic hit, hit_fetching, hit_prefetched, hit_slot, victim_valid, victim, spare, alloc, prefetch, append, useless;
  logic [Lines-1:0] error, pending_q, fetching_q, good_q, append_mask, alloc_mask, ret_mask, drop_mask;
  logic [Lines-1:0][1:0] line_q;

  assign alloc = step_i && !hit && victim_valid;
  assign prefetch = prefetch_i && !step_i && !hit && victim_valid && spare && !inval_i;
  assign append = step_i && (hit || victim_valid);

  gw_line_table #(
    .Lines(Lines)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .inval_i,
    .lookup_i(step_i || prefetch_i),
    .line_i(LineWidth'(line_i)),
    .hit_o(hit),
    .hit_fetching_o(hit_fetching),
    .hit_slot_o(hit_slot),
    .hit_prefetched_o(hit_prefetched),
    .used_i(step_i),
    .victim_valid_o(victim_valid),
    .victim_o(victim),
    .spare_o(spare),
    .fetching_o(fetching),
    .alloc_i(alloc || prefetch),
    .alloc_prefetch_i(prefetch),
    .pending_i(pending_q),
    .ret_i,
    .ret_slot_i,
    .ret_error_i,
    .drop_i,
    .drop_slot_i,
    .error_o(error),
    .useless_o(useless)
  );

  logic past_valid_q = 1'b0;
  logic [2:0] starved_q;
  logic prefetch_q;
  // Prefetched, not used since, and to be found.
  logic [Lines-1:0] unused_q;

  for (genvar s = 0; s < Lines; s++) begin : gen_slot
    assign append_mask[s] = append && (hit ? hit_slot : victim) == 1'(s);
    assign alloc_mask[s] = (append_mask[s] && !hit) || (prefetch && victim == 1'(s));
    assign ret_mask[s] = ret_i && ret_slot_i == 1'(s);
    assign drop_mask[s] = drop_i && drop_slot_i == 1'(s);
    always_ff @(posedge clk_i) begin
      pending_q[s] <= rst_ni && (append_mask[s] || (pending_q[s] && !done_i[s]));
      fetching_q[s] <= rst_ni && (alloc_mask[s] || (fetching_q[s] && !ret_mask[s]));
      // Read, or to be read, after the last invalidation, drop and error.
      good_q[s] <= rst_ni && (alloc_mask[s] || (good_q[s] && !inval_i && !drop_mask[s] && !(ret_mask[s] && ret_error_i)));
      unused_q[s] <= rst_ni && ((prefetch && alloc_mask[s]) ||
          (unused_q[s] && !alloc_mask[s] && !append_mask[s] && !inval_i && !drop_mask[s] && !(ret_mask[s] && ret_error_i)));
      if (alloc_mask[s]) line_q[s] <= line_i;
      if (rst_ni && alloc_mask[s]) IdleSlotTaken_A : assert (!fetching_q[s] && !pending_q[s]);
      if (rst_ni && hit && hit_slot == 1'(s)) begin
        FoundIsGood_A : assert (good_q[s] && line_q[s] == line_i && hit_fetching == fetching_q[s]);
        FoundUnused_A : assert (hit_prefetched == unused_q[s]);
      end
    end
    // Waiters of a line on its way stay until it is there.
    always_comb begin
      if (done_i[s]) assume (!fetching_q[s] || ret_mask[s]);
      if (ret_mask[s]) assume (fetching_q[s]);
    end
  end

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    prefetch_q <= rst_ni && prefetch;
    starved_q <= (!rst_ni || victim_valid || step_i || &(fetching_q | pending_q)) ? '0 : starved_q + 1'b1;
  end
  always_comb assume (rst_ni == past_valid_q);

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      PrefetchLeavesASlot_A : assert (!prefetch_q || victim_valid);
      UselessExactly_A : assert (useless == ((alloc_mask & unused_q) != '0));
      OfferedSoon_A : assert (starved_q <= 3'd3);
      Joined_C : cover (append && hit && hit_fetching);
      Kept_C : cover (append && hit && !hit_fetching);
      PrefetchedUsed_C : cover (append && hit && hit_prefetched && !hit_fetching);
      Useless_C : cover (useless);
      Failed_C : cover (error != '0);
    end
  end

endmodule
