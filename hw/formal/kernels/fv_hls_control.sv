// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_hls_control: one run at a time, no start and no done is ever lost, an interrupt that is enabled is
// raised, every access is answered once, and results change only at the end of a run.
module fv_hls_control (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        aw_valid_i,
  input logic [5:0]  aw_addr_i,
  input logic        w_valid_i,
  input logic [31:0] w_data_i,
  input logic [3:0]  w_strb_i,
  input logic        b_ready_i,
  input logic        ar_valid_i,
  input logic [5:0]  ar_addr_i,
  input logic        r_ready_i,
  input logic        kernel_done_i,
  input logic [31:0] result_i
);

  logic aw_ready, w_ready, b_valid, ar_ready, r_valid, interrupt, start, done;
  logic [31:0] r_data;
  logic [1:0][31:0] args;

  // Word 0 (0x10) is an argument, word 1 (0x14) a result.
  gw_hls_control #(
    .NumWords   (2),
    .ArgWords   (2'b01),
    .ResultWords(2'b10),
    .AddrWidth  (6)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .aw_valid_i,
    .aw_ready_o (aw_ready),
    .aw_addr_i,
    .w_valid_i,
    .w_ready_o  (w_ready),
    .w_data_i,
    .w_strb_i,
    .b_valid_o  (b_valid),
    .b_ready_i,
    .ar_valid_i,
    .ar_ready_o (ar_ready),
    .ar_addr_i,
    .r_valid_o  (r_valid),
    .r_ready_i,
    .r_data_o   (r_data),
    .interrupt_o(interrupt),
    .start_o    (start),
    .done_i     (done),
    .args_o     (args),
    .results_i  ({result_i, 32'b0})
  );

  logic past_valid_q = 1'b0;
  logic running_q;             // from start_o to done_i
  logic started_q;             // a start was written in the last cycle
  logic done_unread_q;         // a done that no read has shown yet
  logic read_ctrl_q, read_result_q, done_shown_q;
  logic irq_due_q;             // done in the last cycle, with both enables on
  logic global_q, enable_q;
  logic write_open_q, read_open_q;
  logic [31:0] result_q, result_shown_q, argument_q;
  logic write, read;

  assign write = aw_valid_i && aw_ready;
  assign read = ar_valid_i && ar_ready;
  assign done = kernel_done_i && running_q;

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    if (!rst_ni) begin
      {running_q, started_q, done_unread_q, read_ctrl_q, read_result_q, irq_due_q} <= '0;
      {global_q, enable_q, write_open_q, read_open_q} <= '0;
      {result_q, argument_q} <= '0;
    end else begin
      running_q <= start || (running_q && !done);
      started_q <= write && aw_addr_i[5:2] == 4'd0 && w_strb_i[0] && w_data_i[0];
      read_ctrl_q <= read && ar_addr_i[5:2] == 4'd0;
      read_result_q <= read && ar_addr_i[5:2] == 4'd5;
      done_shown_q <= done_unread_q;
      done_unread_q <= done || (done_unread_q && !(read && ar_addr_i[5:2] == 4'd0));
      if (write && aw_addr_i[5:2] == 4'd1 && w_strb_i[0]) global_q <= w_data_i[0];
      if (write && aw_addr_i[5:2] == 4'd2 && w_strb_i[0]) enable_q <= w_data_i[0];
      irq_due_q <= done && enable_q;
      write_open_q <= write || (write_open_q && !b_ready_i);
      read_open_q <= read || (read_open_q && !r_ready_i);
      if (done) result_q <= result_i;
      result_shown_q <= result_q;
      if (write && aw_addr_i[5:2] == 4'd4) begin
        for (int b = 0; b < 4; b++) if (w_strb_i[b]) argument_q[8*b+:8] <= w_data_i[8*b+:8];
      end
    end
  end

  always_comb assume (rst_ni == past_valid_q);

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      OneRunAtATime_A : assert (!(start && running_q));
      if (started_q && !running_q) StartNeverLost_A : assert (start);
      if (read_ctrl_q) DoneNeverLost_A : assert (r_data[1] == done_shown_q);
      if (irq_due_q && global_q) InterruptRaised_A : assert (interrupt);
      if (!global_q) InterruptMasked_A : assert (!interrupt);
      AddressWithData_A : assert (aw_ready == w_ready && (!aw_ready || (aw_valid_i && w_valid_i)));
      AnsweredOnce_A : assert (b_valid == write_open_q && r_valid == read_open_q);
      OneAtATime_A : assert (!(write && write_open_q) && !(read && read_open_q));
      if (read_result_q) ResultOfLastRun_A : assert (r_data == result_shown_q);
      ArgumentAsWritten_A : assert (args == {32'b0, argument_q});
      StartAtDone_C : cover (past_valid_q && started_q && start && done_unread_q && r_valid);
      Interrupt_C : cover (interrupt && running_q);
    end
  end

endmodule
