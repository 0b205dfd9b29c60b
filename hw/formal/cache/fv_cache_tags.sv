// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_cache_tags with four pages of eight: a page is in one place, whoever looks; it stays there, with its tag, until
// it is released; pages put and victims are what they are said to be. Surroundings put a page, also one that is read ahead, only if a lookup
// of the cycle before missed it and none was put then, freeze what is active, and end what is frozen, as gw_page_cache does.
module fv_cache_tags (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       ready_i,
  input logic       read_i,
  input logic [2:0] read_tag_i,
  input logic [2:0] write_tag_i,
  input logic       use_i,
  input logic [1:0] use_idx_i,
  input logic       alloc_i,
  input logic       alloc_write_i,
  input logic       ahead_put_i,
  input logic [2:0] ahead_tag_i,
  input logic       met_i,
  input logic [1:0] met_idx_i,
  input logic [3:0] busy_i,
  input logic [3:0] prefer_i,
  input logic [1:0] job_idx_i,
  input logic       freeze_i,
  input logic [1:0] end_idx_i,
  input logic       thaw_i,
  input logic       release_i
);

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  logic read_hit, write_hit, free_valid, victim_valid, ahead_here, put;
  logic [1:0] read_idx, write_idx, free_idx, victim_idx;
  logic [3:0] active, frozen;
  logic [2:0] free_count, job_tag, alloc_tag, put_tag;
  logic read_missed_q, write_missed_q, put_q, alloc_q, was_here_q;
  logic [2:0] read_tag_q, write_tag_q, ahead_tag_q;

  assign alloc_tag = alloc_write_i ? write_tag_q : read_tag_q;
  assign put = alloc_i || ahead_put_i;
  assign put_tag = ahead_put_i ? ahead_tag_i : alloc_tag;

  gw_cache_tags #(
    .Pages   (4),
    .TagWidth(3)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .ready_i,
    .read_i,
    .read_tag_i,
    .read_hit_o    (read_hit),
    .read_idx_o    (read_idx),
    .write_tag_i,
    .write_hit_o   (write_hit),
    .write_idx_o   (write_idx),
    .active_o      (active),
    .frozen_o      (frozen),
    .use_i,
    .use_idx_i,
    .free_valid_o  (free_valid),
    .free_idx_o    (free_idx),
    .alloc_i,
    .alloc_tag_i   (alloc_tag),
    .ahead_put_i,
    .ahead_tag_i,
    .ahead_here_o  (ahead_here),
    .met_i,
    .met_idx_i,
    .busy_i,
    .prefer_i,
    .victim_valid_o(victim_valid),
    .victim_idx_o  (victim_idx),
    .free_count_o  (free_count),
    .job_idx_i,
    .job_tag_o     (job_tag),
    .freeze_i,
    .end_idx_i,
    .thaw_i,
    .release_i
  );

  // Any page, followed.
  logic [2:0] page_q;
  always_ff @(posedge clk_i) page_q <= page_q;

  logic here_q;
  logic [1:0] place_q;
  logic [3:0] eligible, eligible_q, eligible_before_q, used_q, frozen_q;
  assign eligible = active & ~busy_i;

  always_comb begin
    if (alloc_i) assume (free_valid && !put_q && !ahead_put_i && (alloc_write_i ? write_missed_q : read_missed_q));
    if (ahead_put_i) assume (free_valid && !put_q && !ahead_here && ahead_tag_i == ahead_tag_q);
    if (met_i) assume (!alloc_q);
    if (freeze_i) assume (active[job_idx_i]);
    if (thaw_i || release_i) assume (frozen_q[end_idx_i]);
    assume (!(thaw_i && release_i));
  end

  always_ff @(posedge clk_i) begin
    read_tag_q <= read_tag_i;
    write_tag_q <= write_tag_i;
    ahead_tag_q <= ahead_tag_i;
    if (!rst_ni) begin
      read_missed_q <= 1'b0;
      write_missed_q <= 1'b0;
      put_q <= 1'b1;
      alloc_q <= 1'b0;
      was_here_q <= 1'b0;
      here_q <= 1'b0;
      frozen_q <= '0;
      used_q <= '0;
      eligible_q <= '0;
      eligible_before_q <= '0;
    end else begin
      read_missed_q <= read_i && !read_hit;
      write_missed_q <= !write_hit;
      put_q <= put;
      alloc_q <= alloc_i;
      was_here_q <= here_q;
      if (thaw_i || release_i) frozen_q[end_idx_i] <= 1'b0;
      if (freeze_i) frozen_q[job_idx_i] <= 1'b1;
      if (put) used_q[free_idx] <= 1'b1;
      if (release_i) used_q[end_idx_i] <= 1'b0;
      if (put && put_tag == page_q) begin
        here_q <= 1'b1;
        place_q <= free_idx;
      end else if (release_i && end_idx_i == place_q) begin
        here_q <= 1'b0;
      end
      eligible_q <= ((eligible & prefer_i) != '0) ? eligible & prefer_i : eligible;
      eligible_before_q <= eligible_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (read_tag_i == page_q) ReadFinds_A : assert (read_hit == (here_q && read_i) && (!read_hit || read_idx == place_q));
      if (write_tag_i == page_q) WriteFinds_A : assert (write_hit == here_q && (!here_q || write_idx == place_q));
      NotAsked_A : assert (read_i || (!read_hit && read_idx == '0));
      if (here_q) Active_A : assert (active[place_q] == !frozen_q[place_q]);
      Frozen_A : assert (frozen == frozen_q && (frozen & active) == '0);
      if (here_q && job_idx_i == place_q) JobTag_A : assert (job_tag == page_q);
      if (ahead_tag_q == page_q) Ahead_A : assert (ahead_here == was_here_q);
      if (free_valid) Free_A : assert (!used_q[free_idx]);
      if (victim_valid) Victim_A : assert (eligible_before_q[victim_idx]);
      Full_C : cover (used_q == '1 && victim_valid && victim_idx == 2'd2);
      Preferred_C : cover (eligible_before_q == 4'd8 && victim_valid && used_q == '1);
      Two_C : cover ($countones(frozen) == 2 && release_i);
      AheadMeets_C : cover (ahead_put_i && read_hit && read_tag_i == page_q && victim_valid);
      Again_C : cover (here_q && place_q == 2'd3 && free_valid);
    end
  end

endmodule
