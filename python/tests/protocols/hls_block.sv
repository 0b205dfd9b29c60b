// SPDX-License-Identifier: Apache-2.0
//
// Control block as Vitis HLS makes it, in its four generations: interrupt status cleared by reading (2020 and later, with a
// registered interrupt) or by toggling (before, with a combinational one), ap_ctrl_hs or ap_ctrl_chain.
//
// Registers: 0x00 ap_ctrl, 0x04 global enable, 0x08 enable, 0x0c status, 0x10 src, 0x1c dst, 0x28 add, 0x30 echo (with its valid
// word at 0x34, cleared by reading). A read and a write are one access at a time each.
module hls_block #(
  parameter bit Chain = 1'b0,
  parameter bit ClearOnRead = 1'b1
) (
  input  logic        clk,
  input  logic        rst_n,
  input  logic [6:0]  awaddr,
  input  logic        awvalid,
  output logic        awready,
  input  logic [31:0] wdata,
  input  logic [3:0]  wstrb,
  input  logic        wvalid,
  output logic        wready,
  output logic        bvalid,
  input  logic        bready,
  input  logic [6:0]  araddr,
  input  logic        arvalid,
  output logic        arready,
  output logic [31:0] rdata,
  output logic        rvalid,
  input  logic        rready,
  output logic        interrupt,
  output logic        ap_start,
  input  logic        ap_done,
  input  logic        ap_ready,
  input  logic        ap_idle,
  output logic        ap_continue,
  output logic [63:0] src,
  output logic [63:0] dst,
  output logic [31:0] add,
  input  logic [31:0] echo
);

  typedef enum logic [1:0] {Idle, Data, Answer} channel_e;
  channel_e write_q, read_q;
  logic [6:0] waddr_q;
  logic take_w, take_r;

  assign awready = write_q == Idle;
  assign wready = write_q == Data && !take_r;
  assign bvalid = write_q == Answer;
  assign take_w = wvalid && wready;
  assign arready = read_q == Idle;
  assign rvalid = read_q == Data;
  assign take_r = arvalid && arready;

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      write_q <= Idle;
      read_q <= Idle;
    end else begin
      case (write_q)
        Idle: if (awvalid) write_q <= Data;
        Data: if (take_w) write_q <= Answer;
        default: if (bready) write_q <= Idle;
      endcase
      case (read_q)
        Idle: if (arvalid) read_q <= Data;
        default: if (rready) read_q <= Idle;
      endcase
    end
    if (awvalid && awready) waddr_q <= awaddr;
  end

  logic start_q, done_q, idle_q, ready_q, continue_q, auto_q, was_auto_q, auto_done_q, gie_q, irq_q;
  logic [1:0] ier_q, isr_q;
  logic write_ctrl, read_ctrl, read_isr, task_done;
  logic [31:0] echo_q;
  logic echo_valid_q;

  assign write_ctrl = take_w && waddr_q == 7'h00 && wstrb[0];
  assign read_ctrl = take_r && araddr == 7'h00;
  assign read_isr = take_r && araddr == 7'h0c;
  // What auto-restart does is no end of a task but for the last.
  assign task_done = (ap_done && !was_auto_q) || auto_done_q;
  assign ap_start = start_q;
  assign ap_continue = Chain ? continue_q || was_auto_q : 1'b1;
  assign interrupt = ClearOnRead ? irq_q : gie_q && |isr_q;

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      {start_q, done_q, idle_q, ready_q, continue_q, auto_q, was_auto_q, auto_done_q, gie_q, irq_q} <= '0;
      {ier_q, isr_q, echo_valid_q} <= '0;
    end else begin
      if (write_ctrl && wdata[0]) start_q <= 1'b1;
      else if (ap_ready) start_q <= auto_q;

      if (Chain) done_q <= task_done && !continue_q;
      else if (task_done) done_q <= 1'b1;
      else if (read_ctrl) done_q <= 1'b0;

      idle_q <= ap_idle;
      if (ap_ready && !auto_q) ready_q <= 1'b1;
      else if (read_ctrl) ready_q <= 1'b0;
      continue_q <= write_ctrl && wdata[4];
      if (write_ctrl) auto_q <= wdata[7];

      if (auto_q) was_auto_q <= 1'b1;
      else if (ap_idle) was_auto_q <= 1'b0;
      if (was_auto_q && ap_idle && !idle_q) auto_done_q <= 1'b1;
      else if (Chain ? continue_q : auto_done_q) auto_done_q <= 1'b0;

      if (take_w && waddr_q == 7'h04 && wstrb[0]) gie_q <= wdata[0];
      if (take_w && waddr_q == 7'h08 && wstrb[0]) ier_q <= wdata[1:0];
      for (int i = 0; i < 2; i++) begin
        if (ier_q[i] && (i == 0 ? ap_done : ap_ready)) isr_q[i] <= 1'b1;
        else if (ClearOnRead ? read_isr : 1'b0) isr_q[i] <= 1'b0;
        else if (!ClearOnRead && take_w && waddr_q == 7'h0c && wstrb[0]) isr_q[i] <= isr_q[i] ^ wdata[i];
      end
      irq_q <= gie_q && |isr_q;

      if (ap_done) echo_valid_q <= 1'b1;
      else if (take_r && araddr == 7'h34) echo_valid_q <= 1'b0;
    end
    if (ap_done) echo_q <= echo;
    if (take_w) begin
      case (waddr_q)
        7'h10: src[31:0] <= wdata;
        7'h14: src[63:32] <= wdata;
        7'h1c: dst[31:0] <= wdata;
        7'h20: dst[63:32] <= wdata;
        7'h28: add <= wdata;
        default: ;
      endcase
    end
    if (take_r) begin
      case (araddr)
        7'h00: rdata <= {24'b0, auto_q, 2'b0, Chain && continue_q, ready_q, idle_q, done_q, start_q};
        7'h04: rdata <= {31'b0, gie_q};
        7'h08: rdata <= {30'b0, ier_q};
        7'h0c: rdata <= {30'b0, isr_q};
        7'h30: rdata <= echo_q;
        7'h34: rdata <= {31'b0, echo_valid_q};
        default: rdata <= '0;
      endcase
    end
  end

  logic unused;
  assign unused = ^wstrb[3:1];

endmodule
