// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_walk_lists: every waiter appended is selected exactly once, with its own slot and only when its line is
// there; the selection never pauses while a line that is there has waiters; a slot with waiters is pending; the queues never
// overflow (an assertion in the module). Any one waiter is followed; the environment keeps the contract of gw_walk_step.
module fv_walk_lists #(
  parameter int unsigned Requests = 3,
  parameter int unsigned Lines = 2,
  localparam int unsigned IdWidth = $clog2(Requests),
  localparam int unsigned SlotWidth = (Lines > 1) ? $clog2(Lines) : 1,
  localparam int unsigned ListWidth = $clog2(Lines + 1)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic append_i,
  input logic append_alloc_i,
  input logic [ListWidth-1:0] append_list_i,
  input logic [IdWidth-1:0] append_id_i,
  // A line is fetched that nobody waits for.
  input logic prefetch_i,
  input logic [SlotWidth-1:0] prefetch_slot_i,
  input logic ret_i,
  input logic [SlotWidth-1:0] ret_slot_i
);

  logic sel_valid;
  logic [SlotWidth-1:0] sel_slot;
  logic [IdWidth-1:0] sel_id;
  logic [Lines-1:0] pending;
  logic append_fetching;

  gw_walk_lists #(
    .Requests(Requests),
    .Lines(Lines)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .append_i,
    .append_fetching_i(append_fetching),
    .append_list_i,
    .append_id_i,
    .ret_i,
    .ret_slot_i,
    .sel_valid_o(sel_valid),
    .sel_slot_o(sel_slot),
    .sel_id_o(sel_id),
    .pending_o(pending)
  );

  localparam logic [ListWidth-1:0] NoLine = ListWidth'(Lines);

  logic past_valid_q = 1'b0;
  logic [Requests-1:0] listed_q, sel_mask, append_mask;
  logic [Requests-1:0][ListWidth-1:0] list_q;
  logic [Lines-1:0] fetching_q, ret_mask, alloc_mask, prefetch_mask;
  // A line is there from the cycle in which it comes.
  logic [Requests-1:0] due;
  // Lists with a due waiter that was already due a cycle ago; a fresh one may need a cycle to be seen.
  logic any_due_q;

  for (genvar i = 0; i < Requests; i++) begin : gen_waiter
    assign sel_mask[i] = sel_valid && sel_id == IdWidth'(i);
    assign append_mask[i] = append_i && append_id_i == IdWidth'(i);
    assign due[i] = listed_q[i] && (list_q[i] == NoLine || !fetching_q[SlotWidth'(list_q[i])] || ret_mask[SlotWidth'(list_q[i])]);
    always_ff @(posedge clk_i) begin
      listed_q[i] <= rst_ni && (append_mask[i] || (listed_q[i] && !sel_mask[i]));
      if (append_mask[i]) list_q[i] <= append_list_i;
      if (rst_ni && sel_mask[i]) begin
        SelectedIsDue_A : assert (due[i]);
        SelectedWithItsSlot_A : assert (list_q[i] == NoLine || sel_slot == SlotWidth'(list_q[i]));
      end
      if (rst_ni && listed_q[i] && list_q[i] != NoLine) WaiterKeepsSlot_A : assert (pending[SlotWidth'(list_q[i])]);
      Selected_C : cover (rst_ni && sel_mask[i] && list_q[i] == '0);
    end
  end

  assign append_fetching = append_list_i != NoLine && (append_alloc_i || fetching_q[SlotWidth'(append_list_i)]);
  for (genvar s = 0; s < Lines; s++) begin : gen_slot
    assign ret_mask[s] = ret_i && ret_slot_i == SlotWidth'(s);
    assign alloc_mask[s] = append_i && append_alloc_i && append_list_i == ListWidth'(s);
    assign prefetch_mask[s] = prefetch_i && prefetch_slot_i == SlotWidth'(s);
    // Only an idle slot is given to another line.
    always_comb if (alloc_mask[s] || prefetch_mask[s]) assume (!fetching_q[s] && !pending[s]);
  end

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    fetching_q <= rst_ni ? (fetching_q & ~ret_mask) | alloc_mask | prefetch_mask : '0;
    any_due_q <= rst_ni && (due & ~sel_mask) != '0;
  end

  always_comb begin
    assume (rst_ni == past_valid_q);
    assume (append_list_i <= NoLine && 32'(append_id_i) < Requests);
    if (append_i) assume ((listed_q & append_mask) == '0);
    if (append_alloc_i) assume (append_list_i != NoLine);
    if (prefetch_i) assume (!append_i && 32'(prefetch_slot_i) < Lines);
    if (ret_i) assume ((fetching_q & ret_mask) != '0);
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      SelectedIsKnown_A : assert (!sel_valid || sel_mask != '0);
      NoPause_A : assert (!any_due_q || sel_valid);
      SelectedAtOnce_A : assert (!ret_i || sel_valid || (pending & ret_mask) == '0);
      NobodyWaited_C : cover (ret_i && (pending & ret_mask) == '0);
    end
  end

endmodule
