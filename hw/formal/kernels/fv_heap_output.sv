// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_heap_output: no byte passes that the heap has not given; nothing is allocated twice, freed or changed when it is not
// there; behind a run its memory has exactly the bytes that passed, and behind an error, or without bytes, there is none.
module fv_heap_output
  import gw_kernel_pkg::*;
(
  input logic       clk_i,
  input logic       rst_ni,
  input logic       clear_i,
  input logic       abort_i,
  input logic       begin_valid_i,
  input logic       cmd_ready_i,
  input logic       rsp_valid_i,
  input logic [1:0] rsp_pointer_i,
  input logic [1:0] rsp_status_i,
  input logic       in_valid_i,
  input logic       last_i,
  input logic [6:0] bytes_i,
  input logic       writer_busy_i,
  input logic       addr_ready_i,
  input logic       out_ready_i
);

  localparam int unsigned StepBytes = 128;
  localparam int unsigned MostBeats = 5;

  logic busy, refused, grew, begin_ready, cmd_valid, in_ready, addr_valid, out_valid;
  logic [3:0] refusal;
  addr_t pointer, addr;
  logic [2:0][63:0] cmd;
  stream_beat_t in, out;
  assign in = '{data: '0, bytes: bytes_i, last: last_i};

  gw_heap_output #(
    .StepBytes(StepBytes)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .clear_i,
    .abort_i,
    .busy_o       (busy),
    .refused_o    (refused),
    .refusal_o    (refusal),
    .grew_o       (grew),
    .pointer_o    (pointer),
    .begin_valid_i,
    .begin_ready_o(begin_ready),
    .granule_i    (4'd0),
    .cmd_valid_o  (cmd_valid),
    .cmd_ready_i,
    .cmd_o        (cmd),
    .rsp_valid_i,
    .rsp_pointer_i({58'd0, rsp_pointer_i, 4'd1}),
    .rsp_status_i ({2'd0, rsp_status_i}),
    .in_valid_i,
    .in_ready_o   (in_ready),
    .in_i         (in),
    .writer_busy_i,
    .addr_valid_o (addr_valid),
    .addr_ready_i,
    .addr_o       (addr),
    .out_valid_o  (out_valid),
    .out_ready_i,
    .out_o        (out)
  );

  logic past_valid_q = 1'b0;
  logic waits_q, held_q, begun_q, placed_q, ended_q, failed_q, aborts_q, wrong_q;
  logic [1:0] op_q;
  logic [9:0] asked_q, size_q, bytes_q;
  addr_t pointer_q;
  logic [2:0] beats_q;
  logic cmd_taken, answered, ok, beat;
  assign cmd_taken = cmd_valid && cmd_ready_i;
  assign answered = waits_q && rsp_valid_i;
  assign ok = rsp_status_i == '0;
  assign beat = out_valid && out_ready_i;

  always_comb begin
    assume (rst_ni == past_valid_q);
    assume (!rsp_valid_i || waits_q);
    // One run between two clears.
    assume (!clear_i || (!busy && !abort_i && !begin_valid_i));
    assume (!begin_valid_i || !begun_q);
    // A refusal is answered by an abort, which lasts as long as there is something to do.
    assume (!failed_q || abort_i);
    assume (!aborts_q || abort_i);
    // Of a free that is refused nobody knows anything.
    assume (!answered || op_q != 2'd2 || ok);
    assume (bytes_i <= 7'd64 && (last_i || bytes_i == 7'd64));
    assume (!in_valid_i || (begun_q && !ended_q));
    assume (beats_q < MostBeats || last_i);
  end

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    if (!rst_ni) begin
      {waits_q, held_q, begun_q, placed_q, ended_q, failed_q, aborts_q, wrong_q, beats_q, bytes_q, size_q} <= '0;
      pointer_q <= '0;
    end else begin
      failed_q <= refused;
      wrong_q <= !clear_i && (abort_i || refused || wrong_q);
      aborts_q <= abort_i && busy;
      waits_q <= cmd_taken || (waits_q && !rsp_valid_i);
      if (cmd_taken) begin
        op_q <= cmd[2][1:0];
        asked_q <= cmd[1][9:0];
      end
      if (answered && ok) begin
        held_q <= op_q != 2'd2;
        size_q <= asked_q;
        if (op_q == 2'd0) pointer_q <= {58'd0, rsp_pointer_i, 4'd1};
      end
      if (begin_valid_i && begin_ready) {begun_q, placed_q, ended_q, beats_q, bytes_q} <= {1'b1, 2'b00, 3'd0, 10'd0};
      if (addr_valid && addr_ready_i) placed_q <= 1'b1;
      if (beat) begin
        ended_q <= last_i;
        beats_q <= beats_q + 3'd1;
        bytes_q <= bytes_q + 10'(bytes_i);
      end
      if (clear_i) {held_q, begun_q} <= '0;
    end
  end

  logic run;
  assign run = begun_q && !abort_i && !wrong_q;
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (cmd_valid) begin
        NoTwo_A : assert (!waits_q);
        OnItsOwn_A : assert ((cmd[2][1:0] == 2'd0) == !held_q && (!held_q || cmd[0] == pointer_q));
        Sized_A : assert (cmd[1][63:10] == '0 && (cmd[1] == '0) == (cmd[2][1:0] == 2'd2));
        KeepsWhatPassed_A : assert (cmd[2][1:0] == 2'd2 || cmd[1][9:0] >= bytes_q || abort_i);
      end
      if (addr_valid) AtItsMemory_A : assert (held_q && addr == pointer_q);
      if (out_valid) Fits_A : assert (held_q && placed_q && bytes_q + 10'(bytes_i) <= size_q);
      if (run && !busy) Exact_A : assert (ended_q && (bytes_q == '0 ? !held_q : held_q && size_q == bytes_q && pointer == pointer_q));
      if (abort_i && !busy) NothingLeft_A : assert (!held_q && pointer == '0);
      // What a longer induction would find out.
      Beats_A : assert (!u_dut.passing_q || u_dut.beats_q == 32'(beats_q) - 32'(ended_q));
      Live_A : assert (u_dut.live_q == held_q);
      Pointer_A : assert (!held_q || u_dut.pointer_q == pointer_q);
      Grown_C : cover (grew && out_valid);
      Ended_C : cover (run && !busy && bytes_q == 10'd300);
      Freed_C : cover (abort_i && answered && op_q == 2'd2);
    end
  end

  logic unused;
  assign unused = ^{refusal, out, cmd[2][63:2], in_ready};

endmodule
