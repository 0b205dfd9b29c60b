// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// heap_calls: gives the card's heap commands that the host chose, right and wrong ones, on a kernel's two AXI4-Streams, for co-simulation.
//
// A command follows its predecessor's response at once, so that the heap meets them as fast as a kernel can ask. The words of a command
// are the stream's (gw_heap_stream): pointer, size, how. Of each the response's pointer and status are results. It ends `rest` cycles behind the last one. Memory is not used.
module heap_calls
  import heap_calls_args_pkg::*;
  import gw_kernel_pkg::*;
#(
  `include "gw_hls_params.svh"
) (
  output logic         heap_command_TVALID,
  input  logic         heap_command_TREADY,
  output logic [191:0] heap_command_TDATA,
  input  logic         heap_response_TVALID,
  output logic         heap_response_TREADY,
  input  logic [127:0] heap_response_TDATA,
  `include "gw_hls_ports.svh"
);

  `include "gw_hls_connect.svh"

  localparam int unsigned Calls = 8;
  // 32-bit words of the control block from one command, or result, to the next.
  localparam int unsigned CallWords = 32'(Pointer1Offset - Pointer0Offset) / 4;
  localparam int unsigned ResultStep = 32'(Result1Offset - Result0Offset) / 4;
  typedef enum logic [2:0] {Idle, Command, Response, Rest, Done} state_e;
  state_e state_q;
  logic [2:0] call_q;
  logic [3:0] left_q;
  logic [Calls-1:0][63:0] pointer_q, size_q, how_q, result_q;
  logic [Calls-1:0][31:0] answer_q;
  logic [31:0] rest_q;
  logic [63:0] answer, status;

  assign heap_command_TVALID = state_q == Command;
  assign heap_command_TDATA = {how_q[call_q], size_q[call_q], pointer_q[call_q]};
  assign heap_response_TREADY = state_q == Response;
  assign {status, answer} = heap_response_TDATA;

  assign ar_valid = 1'b0;
  assign ar = '0;
  assign aw_valid = 1'b0;
  assign aw = '0;
  assign w_valid = 1'b0;
  assign w = '0;

  assign done = state_q == Done;
  always_comb begin
    results = '0;
    for (int unsigned c = 0; c < Calls; c++) begin
      results[word(Result0Offset)+c*ResultStep+:2] = result_q[c];
      results[word(Answer0Offset)+c*ResultStep] = answer_q[c];
    end
  end

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle: if (start) state_q <= Command;
        Command: if (heap_command_TREADY) state_q <= Response;
        Response: if (heap_response_TVALID) state_q <= (left_q == 4'd1) ? Rest : Command;
        Rest: if (rest_q == '0) state_q <= Done;
        default: state_q <= Idle;
      endcase
    end
  end

  always_ff @(posedge ap_clk) begin
    if (state_q == Idle) begin
      call_q <= '0;
      left_q <= args[word(CountOffset)][3:0];
      rest_q <= args[word(RestOffset)];
      for (int unsigned c = 0; c < Calls; c++) begin
        pointer_q[c] <= args[word(Pointer0Offset)+c*CallWords+:2];
        size_q[c] <= args[word(Size0Offset)+c*CallWords+:2];
        how_q[c] <= args[word(How0Offset)+c*CallWords+:2];
      end
    end
    if (state_q == Rest) rest_q <= rest_q - 1'b1;
    if (state_q == Response && heap_response_TVALID) begin
      call_q <= call_q + 1'b1;
      left_q <= left_q - 1'b1;
      result_q[call_q] <= answer;
      answer_q[call_q] <= 32'(status);
    end
  end

  logic unused;
  assign unused = ^{ar_ready, aw_ready, w_ready, r, r_valid, b, b_valid, status[63:32]};

endmodule
