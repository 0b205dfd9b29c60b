// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_walk_lists: every waiter appended is selected exactly once, with its own place and only when its beat is
// there; the selection never pauses while a beat that is there has waiters; a place with waiters is pending; the queues never
// overflow (an assertion in the module). Any one waiter is followed; the environment keeps the contract of gw_walk_step.
module fv_walk_lists #(
  parameter int unsigned Requests = 3,
  parameter int unsigned Places = 2,
  localparam int unsigned IdWidth = $clog2(Requests),
  localparam int unsigned PlaceWidth = (Places > 1) ? $clog2(Places) : 1,
  localparam int unsigned ListWidth = $clog2(Places + 1)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic append_i,
  input logic append_alloc_i,
  input logic [ListWidth-1:0] append_list_i,
  input logic [IdWidth-1:0] append_id_i,
  // A beat is fetched that nobody waits for.
  input logic prefetch_i,
  input logic [PlaceWidth-1:0] prefetch_place_i,
  input logic ret_i,
  input logic [PlaceWidth-1:0] ret_place_i
);

  logic sel_valid;
  logic [PlaceWidth-1:0] sel_place;
  logic [IdWidth-1:0] sel_id;
  logic [Places-1:0] pending;
  logic append_fetching;

  gw_walk_lists #(
    .Requests(Requests),
    .Places(Places)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .append_i,
    .append_fetching_i(append_fetching),
    .append_list_i,
    .append_id_i,
    .ret_i,
    .ret_place_i,
    .sel_valid_o(sel_valid),
    .sel_place_o(sel_place),
    .sel_id_o(sel_id),
    .pending_o(pending)
  );

  localparam logic [ListWidth-1:0] NoPlace = ListWidth'(Places);

  logic past_valid_q = 1'b0;
  logic [Requests-1:0] listed_q, sel_mask, append_mask;
  logic [Requests-1:0][ListWidth-1:0] list_q;
  logic [Places-1:0] fetching_q, ret_mask, alloc_mask, prefetch_mask;
  // A beat is there from the cycle in which it comes.
  logic [Requests-1:0] due;
  // Waiters were due in the cycle before and were not selected in it; a beat came then that some waited for.
  logic any_due_q, ret_wanted_q;

  for (genvar i = 0; i < Requests; i++) begin : gen_waiter
    assign sel_mask[i] = sel_valid && sel_id == IdWidth'(i);
    assign append_mask[i] = append_i && append_id_i == IdWidth'(i);
    assign due[i] = listed_q[i] && (list_q[i] == NoPlace || !fetching_q[PlaceWidth'(list_q[i])] || ret_mask[PlaceWidth'(list_q[i])]);
    always_ff @(posedge clk_i) begin
      listed_q[i] <= rst_ni && (append_mask[i] || (listed_q[i] && !sel_mask[i]));
      if (append_mask[i]) list_q[i] <= append_list_i;
      if (rst_ni && sel_mask[i]) begin
        SelectedIsDue_A : assert (due[i] && (list_q[i] == NoPlace || !fetching_q[PlaceWidth'(list_q[i])]));
        SelectedWithItsPlace_A : assert (list_q[i] == NoPlace || sel_place == PlaceWidth'(list_q[i]));
      end
      if (rst_ni && listed_q[i] && !sel_mask[i] && list_q[i] != NoPlace) WaiterKeepsPlace_A : assert (pending[PlaceWidth'(list_q[i])]);
      Selected_C : cover (rst_ni && sel_mask[i] && list_q[i] == '0);
    end
  end

  assign append_fetching = append_list_i != NoPlace && (append_alloc_i || fetching_q[PlaceWidth'(append_list_i)]);
  for (genvar s = 0; s < Places; s++) begin : gen_place
    assign ret_mask[s] = ret_i && ret_place_i == PlaceWidth'(s);
    assign alloc_mask[s] = append_i && append_alloc_i && append_list_i == ListWidth'(s);
    assign prefetch_mask[s] = prefetch_i && prefetch_place_i == PlaceWidth'(s);
    // Only an idle place is given to another beat.
    always_comb if (alloc_mask[s] || prefetch_mask[s]) assume (!fetching_q[s] && !pending[s]);
  end

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    fetching_q <= rst_ni ? (fetching_q & ~ret_mask) | alloc_mask | prefetch_mask : '0;
    any_due_q <= rst_ni && (due & ~sel_mask) != '0;
    ret_wanted_q <= rst_ni && ret_i && (pending & ret_mask) != '0;
  end

  always_comb begin
    assume (rst_ni == past_valid_q);
    assume (append_list_i <= NoPlace && 32'(append_id_i) < Requests);
    if (append_i) assume ((listed_q & append_mask) == '0);
    if (append_alloc_i) assume (append_list_i != NoPlace);
    if (prefetch_i) assume (32'(prefetch_place_i) < Places && !(append_i && append_list_i == ListWidth'(prefetch_place_i)));
    if (ret_i) assume ((fetching_q & ret_mask) != '0);
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      SelectedIsKnown_A : assert (!sel_valid || sel_mask != '0);
      NoPause_A : assert (!any_due_q || sel_valid);
      SelectedAtOnce_A : assert (!ret_wanted_q || sel_valid);
      NobodyWaited_C : cover (ret_i && (pending & ret_mask) == '0);
    end
  end

endmodule
