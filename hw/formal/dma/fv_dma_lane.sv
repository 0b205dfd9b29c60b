// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_dma_lane with two bursts and the smallest buffer, beside a memory that answers in order at any time and ports that
// take at any time: no read without room for its data (the lane's own invariants: nothing it counts overflows); each burst that was
// read is offered once and in order, or dropped if a beat of it failed; its beats carry the data of its lines. A memory word is the
// low bits of its line, and every job's destination is its source, so that data says where it belongs; only the host bit differs.
module fv_dma_lane (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        kill_i,
  input logic        job_valid_i,
  input logic [5:0]  job_lines_i,
  input logic        job_host_i,
  input logic        ar_ready_i,
  input logic        r_valid_i,
  input logic        r_fault_i,
  input logic        write_ready_i,
  input logic        data_ready_i
);

  import gw_pkg::*;

  localparam int unsigned HostBit = gw_spec_pkg::HostApertureBit - DmaLineShift;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);
  always_comb assume (job_lines_i != '0 && job_lines_i <= 6'd20);

  logic job_ready, ar_valid, write_valid, write_host, data_valid, r_last;
  dma_job_t job;
  dma_done_t begun, ended, dropped;
  dma_line_t ar_line;
  logic [7:0] ar_len;
  dma_write_t write;
  logic [511:0] r_data, data;

  // Jobs one behind the other.
  logic [7:0] place_q;
  always_comb begin
    job = '0;
    job.src = dma_line_t'(place_q);
    job.dst = dma_line_t'(place_q);
    job.dst[HostBit] = job_host_i;
    job.lines = 24'(job_lines_i);
  end
  // An offered job stays.
  logic held_q, held_host_q;
  logic [5:0] held_lines_q;
  always_comb if (held_q) assume (job_valid_i && job_lines_i == held_lines_q && job_host_i == held_host_q);

  gw_dma_lane #(
    .Bursts     (2),
    .BufferLines(32),
    .Jobs       (2)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .kill_i,
    .job_valid_i,
    .job_ready_o  (job_ready),
    .job_i        (job),
    .begin_o      (begun),
    .end_o        (ended),
    .drop_o       (dropped),
    .ar_valid_o   (ar_valid),
    .ar_ready_i,
    .ar_line_o    (ar_line),
    .ar_len_o     (ar_len),
    .r_valid_i,
    .r_data_i     (r_data),
    .r_fault_i,
    .r_last_i     (r_last),
    .write_valid_o(write_valid),
    .write_host_o (write_host),
    .write_ready_i,
    .write_o      (write),
    .data_valid_o (data_valid),
    .data_ready_i,
    .data_o       (data)
  );

  // The memory's reads: up to two under way; and their fate, in order.
  typedef struct packed {
    logic [7:0] line;
    logic [4:0] lines;
    logic [4:0] given;
    logic       bad;
  } read_t;
  read_t [2:0] reads_q, done_q;
  logic [1:0] reads, dones;
  logic take_ar, give, write_take, drop_q;
  assign take_ar = ar_valid && ar_ready_i;
  assign give = r_valid_i;
  assign r_last = reads_q[0].given + 5'd1 == reads_q[0].lines;
  assign r_data = 512'(reads_q[0].line + 8'(reads_q[0].given));
  always_comb if (reads == '0) assume (!r_valid_i);
  assign write_take = write_valid && write_ready_i;

  // Beats of the writes taken.
  logic [7:0] beat_q[4];
  logic [4:0] beats_q[4];
  logic [2:0] whead_q, wtail_q;
  logic [1:0] ahead;
  assign ahead = 2'(wtail_q - whead_q);

  read_t after;
  always_comb begin
    after = reads_q[0];
    after.given = after.given + 5'd1;
    after.bad = after.bad || r_fault_i;
  end

  always_ff @(posedge clk_i) begin
    held_q <= rst_ni && job_valid_i && !job_ready;
    held_lines_q <= job_lines_i;
    held_host_q <= job_host_i;
    drop_q <= dropped.valid;
    if (!rst_ni) begin
      place_q <= '0;
      reads <= '0;
      dones <= '0;
      whead_q <= '0;
      wtail_q <= '0;
    end else begin
      if (job_valid_i && job_ready) place_q <= place_q + 8'(job_lines_i);
      if (give) reads_q[0] <= after;
      if (give && r_last) begin
        reads_q[1:0] <= reads_q[2:1];
        done_q[2'(dones - 2'(write_take || dropped.valid))] <= after;
      end
      if (take_ar) reads_q[2'(reads - 2'(give && r_last))] <= '{line: ar_line[7:0], lines: 5'(ar_len + 8'd1), given: '0, bad: 1'b0};
      reads <= reads + 2'(take_ar) - 2'(give && r_last);
      if (write_take || dropped.valid) begin
        done_q[0] <= (dones == 2'd1 && give && r_last) ? after : done_q[1];
        done_q[1] <= (dones == 2'd2 && give && r_last) ? after : done_q[2];
      end
      dones <= dones + 2'(give && r_last) - 2'(write_take || dropped.valid);
      if (write_take) begin
        beat_q[wtail_q[1:0]] <= write.dst[7:0];
        beats_q[wtail_q[1:0]] <= write.lines;
        wtail_q <= wtail_q + 3'd1;
      end
      if (data_valid && data_ready_i) begin
        beat_q[whead_q[1:0]] <= beat_q[whead_q[1:0]] + 8'd1;
        beats_q[whead_q[1:0]] <= beats_q[whead_q[1:0]] - 5'd1;
        if (beats_q[whead_q[1:0]] == 5'd1) whead_q <= whead_q + 3'd1;
      end
    end
  end

  // The write that waits for its data is picked at most three ahead: the ports hold no more.
  always_comb if (ahead == 2'd3) assume (!write_ready_i);

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (take_ar) UnderWay_A : assert (reads != 2'd3);
      if (write_valid) begin
        WasRead_A : assert (dones != '0 && !done_q[0].bad);
        InOrder_A : assert (write.dst[7:0] == done_q[0].line && write.lines == done_q[0].lines);
        Port_A : assert (write_host == write.dst[HostBit]);
      end
      if (dropped.valid) WasBad_A : assert (dones != '0 && done_q[0].bad);
      if (data_valid) begin
        WasTaken_A : assert (whead_q != wtail_q);
        Data_A : assert (data[7:0] == beat_q[whead_q[1:0]]);
      end
      Written_C : cover (data_valid && data_ready_i && beats_q[whead_q[1:0]] == 5'd1 && beat_q[whead_q[1:0]] == 8'd2);
      Dropped_C : cover (dropped.valid && place_q != '0 && wtail_q != '0);
    end
  end

endmodule
