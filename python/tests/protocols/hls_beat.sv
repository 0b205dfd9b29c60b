// SPDX-License-Identifier: Apache-2.0
//
// The function behind the control blocks: 64 bytes at src, `add` added to each 32-bit word, go to dst; echo is the first word
// that was written. It starts, ends and waits for ap_continue as a function made by HLS does.
module hls_beat (
  input  logic         clk,
  input  logic         rst_n,
  input  logic         ap_start,
  output logic         ap_done,
  output logic         ap_ready,
  output logic         ap_idle,
  input  logic         ap_continue,
  input  logic [31:0]  add,
  output logic [31:0]  echo,
  output logic         arvalid,
  input  logic         arready,
  input  logic         rvalid,
  input  logic [511:0] rdata,
  output logic         awvalid,
  input  logic         awready,
  output logic         wvalid,
  input  logic         wready,
  output logic [511:0] wdata,
  input  logic         bvalid
);

  typedef enum logic [2:0] {Idle, Address, Data, Write, Response, Done} state_e;
  state_e state_q;
  logic held_q;  // done, and not told to go on
  logic aw_q, w_q;

  assign arvalid = state_q == Address;
  assign awvalid = state_q == Write && !aw_q;
  assign wvalid = state_q == Write && !w_q;
  assign ap_done = state_q == Done || held_q;
  assign ap_ready = state_q == Done;
  assign ap_idle = state_q == Idle && !ap_start;
  assign echo = wdata[31:0];

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      state_q <= Idle;
      {held_q, aw_q, w_q} <= '0;
    end else begin
      if (ap_continue) held_q <= 1'b0;
      case (state_q)
        Idle: if (ap_start && !held_q) state_q <= Address;
        Address: if (arready) state_q <= Data;
        Data: if (rvalid) state_q <= Write;
        Write: begin
          if (awready) aw_q <= 1'b1;
          if (wready) w_q <= 1'b1;
          if ((aw_q || awready) && (w_q || wready)) begin
            state_q <= Response;
            {aw_q, w_q} <= '0;
          end
        end
        Response: if (bvalid) state_q <= Done;
        default: begin
          state_q <= Idle;
          if (!ap_continue) held_q <= 1'b1;
        end
      endcase
    end
    if (state_q == Data && rvalid) for (int i = 0; i < 16; i++) wdata[32*i+:32] <= rdata[32*i+:32] + add;
  end

endmodule
