// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_cq_fetch on rings of two, four and eight commands, with a memory that answers in order at any time: the
// commands handed out are those from the head on, each once, in order, around the end of the ring, and none before the tail
// has passed it; a restart begins at the new head. The memory's command is its index, and whether it was in the queue when
// the line's address was taken.
module fv_cq_fetch #(
  parameter int unsigned Lines = 2
) (
  input logic clk_i,
  input logic rst_ni,
  input logic run_i,
  input logic [2:0] head_i,
  input logic [2:0] tail_i,
  input logic [1:0] size_i,
  input logic ar_ready_i,
  input logic r_valid_i,
  input logic r_fault_i,
  input logic cmd_ready_i
);

  localparam int unsigned CmdWidth = 8 * gw_spec_pkg::CommandBytes;

  logic past_valid_q = 1'b0;
  always_ff @(posedge clk_i) past_valid_q <= 1'b1;
  always_comb assume (rst_ni == past_valid_q);

  // The ring's size is anything, but constant.
  logic [2:0] mask_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) mask_q <= (size_i == 2'd0) ? 3'd1 : (size_i == 2'd1) ? 3'd3 : 3'd7;
  end

  logic idle, ar_valid, cmd_valid, cmd_fault;
  logic [gw_pkg::PaWidth-1:0] ar_addr;
  logic [CmdWidth-1:0] cmd;
  logic [4*CmdWidth-1:0] line;

  // Commands done or handed out, and the tail behind them: never further than the ring holds.
  logic run_q;
  logic [2:0] next_q, tail_q, queued, room;
  assign queued = (tail_q - next_q) & mask_q;
  always_comb begin
    if (!past_valid_q) assume (!run_i);
    if (run_i && !run_q) assume (idle);
    // While the queue stands the head is at the next command, or at the one before, which is to be read again.
    if (!run_i) assume (head_i == next_q || (head_i == ((next_q - 3'd1) & mask_q) && queued != mask_q));
    assume ((tail_i & ~mask_q) == '0);
    // The tail moves forward only, and not past the head.
    room = mask_q - queued;
    assume (((tail_i - tail_q) & mask_q) <= room);
  end

  gw_cq_fetch #(
    .Lines(Lines)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .run_i,
    .idle_o     (idle),
    .base_i     ('0),
    .mask_i     (32'(mask_q)),
    .head_i     (32'(head_i)),
    .tail_i     (32'(tail_i)),
    .ar_valid_o (ar_valid),
    .ar_ready_i,
    .ar_addr_o  (ar_addr),
    .r_valid_i,
    .r_data_i   (line),
    .r_fault_i,
    .cmd_valid_o(cmd_valid),
    .cmd_ready_i,
    .cmd_o      (cmd),
    .cmd_fault_o(cmd_fault)
  );

  // Reads under way: whether they are of the second line, and which of the ring's commands were in the queue.
  typedef struct packed {
    logic second;
    logic [7:0] in_queue;
  } read_t;
  read_t [3:0] reads_q;
  logic [2:0] count_q;
  read_t taken;
  logic take, give;
  assign take = ar_valid && ar_ready_i;
  assign give = r_valid_i;
  always_comb begin
    if (count_q == '0) assume (!r_valid_i);
    taken.second = ar_addr[6];
    for (int unsigned i = 0; i < 8; i++) begin
      taken.in_queue[i] = ((3'(i) - next_q) & mask_q) < queued;
    end
    line = '0;
    for (int unsigned i = 0; i < 4; i++) begin
      line[CmdWidth*i+:3] = {reads_q[0].second, 2'(i)} & mask_q;
      line[CmdWidth*i+3] = reads_q[0].in_queue[{reads_q[0].second, 2'(i)} & mask_q];
    end
  end

  always_ff @(posedge clk_i) begin
    run_q <= rst_ni && run_i;
    if (!rst_ni) begin
      next_q <= '0;
      tail_q <= '0;
      count_q <= '0;
    end else begin
      tail_q <= tail_i;
      if (!run_i) next_q <= head_i;
      else if (cmd_valid && cmd_ready_i) next_q <= (next_q + 1'b1) & mask_q;
      count_q <= count_q + 3'(take) - 3'(give);
      if (give) reads_q <= reads_q >> $bits(read_t);
      if (take) reads_q[2'(count_q - 3'(give))] <= taken;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (take) InRing_A : assert (ar_addr[gw_pkg::PaWidth-1:7] == '0 && ar_addr[5:0] == '0 &&
                                    (mask_q == 3'd7 || !ar_addr[6]));
      if (take) Bound_A : assert (count_q < 3'(Lines));
      if (cmd_valid) begin
        InQueue_A : assert (queued != '0);
        // Data of a read that failed says nothing; that it failed does.
        if (!cmd_fault) InOrder_A : assert (cmd[2:0] == next_q && cmd[3]);
      end
      if (idle) NothingUnderWay_A : assert (count_q == '0);
      Wrap_C : cover (cmd_valid && next_q == '0 && mask_q == 3'd7 && tail_q == 3'd2);
      Full_C : cover (cmd_valid && queued == mask_q && mask_q == 3'd3);
    end
  end

endmodule
