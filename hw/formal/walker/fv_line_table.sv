// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_line_table: a slot with beats on their way or waiters is never given away; a line is found in one slot at
// most (an assertion in the module), and what is found was fetched for that line; of each beat it is known whether it came;
// what was read and not dropped is found; nothing fetched before an invalidation or a drop is found after it; a slot that may
// go is offered within five cycles; after a prefetch a slot is on offer.
module fv_line_table #(
  parameter int unsigned Lines = 2,
  parameter int unsigned LineBeats = 1,
  localparam int unsigned Places = Lines * LineBeats,
  localparam int unsigned PlaceWidth = $clog2(Places)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic inval_i,
  input logic [1:0] line_i,
  input logic beat_i,
  // What comes into the second cycle, when the one before it leaves.
  input logic step_i,
  input logic prefetch_i,
  input logic [Places-1:0] done_i,
  input logic ret_i,
  input logic [PlaceWidth-1:0] ret_place_i,
  input logic ret_error_i,
  input logic drop_i,
  input logic [PlaceWidth-1:0] drop_place_i
);

  localparam int unsigned LineWidth = gw_pkg::PaWidth - $clog2(64 * LineBeats);

  logic hit, hit_fetching, hit_prefetched, victim_valid, spare, fetching, alloc, prefetch, append, useless, failed_q;
  logic step_q, look_ahead_q, load, beat_q;
  logic [1:0] asked_q;
  logic [PlaceWidth-1:0] hit_place, victim_place;
  logic [Places-1:0] pending_q, fetching_q, append_mask, ret_mask, dut_fetching;
  logic [Lines-1:0] good_q, used_mask, alloc_mask, error_mask, drop_mask, known, busy, hit_mask, victim_mask;
  logic [Lines-1:0][1:0] line_q;
  logic [Lines-1:0] joining_q, given_q;

  // Second cycle. A step stays until it has a slot, and one that has it for it was found leaves none behind it where none is on offer.
  assign alloc = step_q && !hit && victim_valid;
  assign prefetch = look_ahead_q && !hit && victim_valid && spare && !inval_i;
  assign append = step_q && (hit || victim_valid);
  assign load = !step_q || victim_valid;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) {step_q, look_ahead_q} <= '0;
    else begin
      step_q <= load ? step_i : !append;
      look_ahead_q <= load && prefetch_i && !step_i;
    end
    if (load) begin
      asked_q <= line_i;
      beat_q <= beat_i;
    end
  end

  gw_line_table #(
    .Lines(Lines),
    .LineBeats(LineBeats)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .inval_i,
    .load_i(load && (step_i || prefetch_i)),
    .line_i(LineWidth'(line_i)),
    .lookup_i(step_q || look_ahead_q),
    .hit_o(hit),
    .hit_mask_o(hit_mask),
    .hit_prefetched_o(hit_prefetched),
    .used_i(step_q),
    .victim_valid_o(victim_valid),
    .victim_mask_o(victim_mask),
    .spare_o(spare),
    .alloc_i(alloc || prefetch),
    .alloc_prefetch_i(prefetch),
    .fetching_o(dut_fetching),
    .some_fetching_o(fetching),
    .pending_i(pending_q),
    .joining_i(joining_q),
    .ret_i,
    .ret_place_i,
    .ret_error_i,
    .drop_i,
    .drop_place_i,
    .useless_o(useless)
  );

  always_comb begin
    hit_place = '0;
    victim_place = '0;
    for (int unsigned i = 0; i < Lines; i++) begin
      if (hit_mask[i]) hit_place |= PlaceWidth'(i * LineBeats);
      if (victim_mask[i]) victim_place |= PlaceWidth'(i * LineBeats);
    end
    if (LineBeats > 1) begin
      hit_place[0] = beat_q;
      victim_place[0] = beat_q;
    end
  end
  assign hit_fetching = dut_fetching[hit_place];

  logic past_valid_q = 1'b0;
  logic [2:0] starved_q;
  logic prefetch_q;
  // Prefetched, not used since, and to be found.
  logic [Lines-1:0] unused_q;

  for (genvar p = 0; p < Places; p++) begin : gen_place
    assign append_mask[p] = append && (hit ? hit_place : victim_place) == PlaceWidth'(p);
    assign ret_mask[p] = ret_i && ret_place_i == PlaceWidth'(p);
    always_ff @(posedge clk_i) begin
      pending_q[p] <= rst_ni && (append_mask[p] || (pending_q[p] && !done_i[p]));
      fetching_q[p] <= rst_ni && (alloc_mask[p/LineBeats] || (fetching_q[p] && !ret_mask[p]));
      if (rst_ni && hit && hit_place == PlaceWidth'(p)) begin
        FoundBeat_A : assert (hit_fetching == fetching_q[p]);
        if (LineBeats > 1) WantedBeat_A : assert (beat_q == 1'(p % LineBeats));
      end
    end
    // Waiters of a beat on its way stay until it is there.
    always_comb begin
      if (done_i[p]) assume (!fetching_q[p] || ret_mask[p]);
      if (ret_mask[p]) assume (fetching_q[p]);
    end
  end

  for (genvar s = 0; s < Lines; s++) begin : gen_slot
    assign used_mask[s] = append_mask[s*LineBeats +: LineBeats] != '0;
    assign error_mask[s] = ret_mask[s*LineBeats +: LineBeats] != '0 && ret_error_i;
    assign drop_mask[s] = (drop_i && drop_place_i / LineBeats == s && !given_q[s]) || error_mask[s];
    assign alloc_mask[s] = (append && !hit || prefetch) && victim_place / LineBeats == s;
    assign known[s] = good_q[s] && line_q[s] == asked_q;
    assign busy[s] = (fetching_q[s*LineBeats +: LineBeats] | pending_q[s*LineBeats +: LineBeats]) != '0;
    always_ff @(posedge clk_i) begin
      joining_q[s] <= rst_ni && used_mask[s];
      given_q[s] <= rst_ni && alloc_mask[s];
      // Read, or to be read, after the last invalidation, drop and error.
      good_q[s] <= rst_ni && (alloc_mask[s] || (good_q[s] && !inval_i && !drop_mask[s]));
      unused_q[s] <= rst_ni && ((prefetch && alloc_mask[s]) ||
          (unused_q[s] && !alloc_mask[s] && !used_mask[s] && !inval_i && !drop_mask[s]));
      if (alloc_mask[s]) line_q[s] <= asked_q;
      if (rst_ni && alloc_mask[s]) IdleSlotTaken_A : assert (!busy[s]);
      if (rst_ni && hit && hit_place / LineBeats == s) begin
        FoundIsGood_A : assert (good_q[s] && line_q[s] == asked_q);
        FoundUnused_A : assert (hit_prefetched == unused_q[s]);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    prefetch_q <= rst_ni && prefetch;
    failed_q <= rst_ni && error_mask != '0;
    starved_q <= (!rst_ni || victim_valid || step_q || &busy) ? '0 : starved_q + 1'b1;
  end
  always_comb begin
    assume (rst_ni == past_valid_q);
    if (LineBeats == 1) assume (!beat_i);
    if (!step_i) assume (!beat_i);
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      PrefetchLeavesASlot_A : assert (!prefetch_q || victim_valid);
      UselessExactly_A : assert (useless == ((alloc_mask & unused_q) != '0));
      OfferedSoon_A : assert (starved_q <= 3'd5);
      Joined_C : cover (append && hit && hit_fetching);
      Kept_C : cover (append && hit && !hit_fetching);
      PrefetchedUsed_C : cover (append && hit && hit_prefetched && !hit_fetching);
      Useless_C : cover (useless);
      Failed_C : cover (failed_q);
      FoundIfGood_A : assert (!(step_q || look_ahead_q) || hit == (known != '0));
      SomeFetching_A : assert (fetching == (fetching_q != '0));
      if (LineBeats > 1) begin
        // A beat that came, of a line the rest of which is still on its way.
        Early_C : cover (append && hit && !hit_fetching && fetching_q[hit_place^1'b1]);
      end
    end
  end

endmodule
