// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_cache_lines with two rows: any line, followed. It is valid from the cycle on after it was first written, by a store or
// a landing, until a job drops it, dirty from a store (or a landing with stores) until a job takes that; a landing on a valid line changes nothing.
module fv_cache_lines (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        look_row_i,
  input logic [5:0]  look_line_i,
  input logic        write_i,
  input logic        write_row_i,
  input logic [5:0]  write_line_i,
  input logic        write_land_i,
  input logic        write_set_i,
  input logic        write_dirty_i,
  input logic        job_valid_i,
  input logic        job_row_i,
  input logic [63:0] job_clean_i,
  input logic [63:0] job_drop_i
);

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  logic ready, look_valid, look_same, old, job_ready;
  logic [63:0] job_dirty, job_left;

  gw_cache_lines #(
    .Rows(2)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .ready_o     (ready),
    .look_row_i,
    .look_line_i,
    .look_valid_o(look_valid),
    .look_same_o (look_same),
    .write_i,
    .write_row_i,
    .write_line_i,
    .write_land_i,
    .write_set_i,
    .write_dirty_i,
    .write_old_o (old),
    .job_valid_i,
    .job_ready_o (job_ready),
    .job_row_i,
    .job_clean_i,
    .job_drop_i,
    .job_dirty_o (job_dirty),
    .job_left_o  (job_left)
  );

  logic row_q;
  logic [5:0] line_q;
  always_ff @(posedge clk_i) begin
    row_q <= row_q;
    line_q <= line_q;
  end

  logic valid_q, dirty_q, here, writes, works;
  assign here = write_i && write_row_i == row_q && write_line_i == line_q;
  assign writes = here && write_set_i;
  assign works = job_valid_i && job_ready && job_row_i == row_q;

  always_comb begin
    // A store makes dirty.
    if (write_i && write_set_i && !write_land_i) assume (write_dirty_i);
    if (!ready) assume (!write_i && !job_valid_i);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      dirty_q <= 1'b0;
    end else begin
      if (writes) begin
        valid_q <= 1'b1;
        if (write_dirty_i && !(write_land_i && valid_q)) dirty_q <= 1'b1;
      end else if (works) begin
        if (job_drop_i[line_q]) valid_q <= 1'b0;
        if (job_drop_i[line_q] || job_clean_i[line_q]) dirty_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && ready) begin
      if (look_row_i == row_q && look_line_i == line_q) begin
        Valid_A : assert (look_valid == valid_q);
        Same_A : assert (look_same == here);
      end
      if (here) Old_A : assert (old == valid_q);
      if (works) Dirty_A : assert (job_dirty[line_q] == dirty_q);
      if (works) Left_A : assert (job_left[line_q] == (valid_q && !job_drop_i[line_q]));
      OneAtATime_A : assert (!(write_i && job_ready));
      Taken_C : cover (works && dirty_q && job_clean_i[line_q]);
    end
  end

endmodule
