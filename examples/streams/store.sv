// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// store: the last kernel of a pipeline. Writes what a stream brings to an array, 32 bits a beat, as HLS does by default: INCR bursts
// of up to 16 beats that stay in their 4 KiB page, each sent when all its data is there.
module store
  import store_args_pkg::*;
(
  input  logic        ap_clk,
  input  logic        ap_rst_n,
  // verilator lint_off SYMRSVDWORD
  output logic        interrupt,
  // verilator lint_on SYMRSVDWORD

  input  logic        s_axi_control_AWVALID,
  output logic        s_axi_control_AWREADY,
  input  logic [11:0] s_axi_control_AWADDR,
  input  logic        s_axi_control_WVALID,
  output logic        s_axi_control_WREADY,
  input  logic [31:0] s_axi_control_WDATA,
  input  logic [3:0]  s_axi_control_WSTRB,
  input  logic        s_axi_control_ARVALID,
  output logic        s_axi_control_ARREADY,
  input  logic [11:0] s_axi_control_ARADDR,
  output logic        s_axi_control_RVALID,
  input  logic        s_axi_control_RREADY,
  output logic [31:0] s_axi_control_RDATA,
  output logic [1:0]  s_axi_control_RRESP,
  output logic        s_axi_control_BVALID,
  input  logic        s_axi_control_BREADY,
  output logic [1:0]  s_axi_control_BRESP,

  output logic        m_axi_gmem_AWVALID,
  input  logic        m_axi_gmem_AWREADY,
  output logic [63:0] m_axi_gmem_AWADDR,
  output logic [7:0]  m_axi_gmem_AWLEN,
  output logic        m_axi_gmem_WVALID,
  input  logic        m_axi_gmem_WREADY,
  output logic [31:0] m_axi_gmem_WDATA,
  output logic [3:0]  m_axi_gmem_WSTRB,
  output logic        m_axi_gmem_WLAST,
  input  logic        m_axi_gmem_BVALID,
  output logic        m_axi_gmem_BREADY,
  input  logic [1:0]  m_axi_gmem_BRESP,

  input  logic        in_TVALID,
  output logic        in_TREADY,
  input  logic [31:0] in_TDATA,
  input  logic [3:0]  in_TKEEP,
  input  logic        in_TLAST
);

  localparam int unsigned Out = (OutOffset - 'h10) / 4;
  localparam int unsigned N = (NOffset - 'h10) / 4;
  localparam int unsigned Status = (StatusOffset - 'h10) / 4;
  localparam int unsigned Room = 64;

  typedef struct packed {
    logic [3:0]  keep;
    logic [31:0] data;
  } beat_t;

  logic start, done, busy_q, error_q, beat_valid, bursts_valid, bursts_ready, take_aw, take_w, last;
  logic [NumWords-1:0][31:0] args, results;
  logic [63:0] addr_q;
  logic [31:0] left_q;
  logic [6:0] usage, waiting, promised_q;
  logic [4:0] beats, count, sent_q;
  logic [12:0] page_left, wanted;
  logic [8:0] unanswered_q;
  beat_t beat;

  gw_hls_control #(
    .NumWords   (NumWords),
    .ArgWords   (ArgWords),
    .ResultWords(ResultWords)
  ) u_control (
    .clk_i      (ap_clk),
    .rst_ni     (ap_rst_n),
    .aw_valid_i (s_axi_control_AWVALID),
    .aw_ready_o (s_axi_control_AWREADY),
    .aw_addr_i  (s_axi_control_AWADDR),
    .w_valid_i  (s_axi_control_WVALID),
    .w_ready_o  (s_axi_control_WREADY),
    .w_data_i   (s_axi_control_WDATA),
    .w_strb_i   (s_axi_control_WSTRB),
    .b_valid_o  (s_axi_control_BVALID),
    .b_ready_i  (s_axi_control_BREADY),
    .ar_valid_i (s_axi_control_ARVALID),
    .ar_ready_o (s_axi_control_ARREADY),
    .ar_addr_i  (s_axi_control_ARADDR),
    .r_valid_o  (s_axi_control_RVALID),
    .r_ready_i  (s_axi_control_RREADY),
    .r_data_o   (s_axi_control_RDATA),
    .interrupt_o(interrupt),
    .start_o    (start),
    .done_i     (done),
    .args_o     (args),
    .results_i  (results)
  );
  assign s_axi_control_BRESP = 2'b00;
  assign s_axi_control_RRESP = 2'b00;

  // ---- Addresses: a burst whose data is all in the buffer
  assign page_left = (13'd4096 - 13'(addr_q[11:0])) >> 2;
  assign wanted = (left_q < 32'd16) ? 13'(left_q) : 13'd16;
  assign beats = 5'((page_left < wanted) ? page_left : wanted);
  // Beats in the buffer that belong to no burst yet.
  assign waiting = usage - promised_q;
  assign m_axi_gmem_AWVALID = left_q != '0 && waiting >= 7'(beats) && bursts_ready;
  assign m_axi_gmem_AWADDR = addr_q;
  assign m_axi_gmem_AWLEN = 8'(beats) - 8'd1;
  assign take_aw = m_axi_gmem_AWVALID && m_axi_gmem_AWREADY;

  // ---- Data
  assign last = sent_q == count - 5'd1;
  assign m_axi_gmem_WVALID = bursts_valid && beat_valid;
  assign m_axi_gmem_WDATA = beat.data;
  assign m_axi_gmem_WSTRB = beat.keep;
  assign m_axi_gmem_WLAST = last;
  assign take_w = m_axi_gmem_WVALID && m_axi_gmem_WREADY;

  gw_fifo #(
    .T    (beat_t),
    .Depth(Room)
  ) u_beats (
    .clk_i      (ap_clk),
    .rst_ni     (ap_rst_n),
    .in_valid_i (in_TVALID),
    .in_ready_o (in_TREADY),
    .in_data_i  ('{keep: in_TKEEP, data: in_TDATA}),
    .out_valid_o(beat_valid),
    .out_ready_i(take_w),
    .out_data_o (beat),
    .usage_o    (usage)
  );

  gw_fifo #(
    .T    (logic [4:0]),
    .Depth(4)
  ) u_bursts (
    .clk_i      (ap_clk),
    .rst_ni     (ap_rst_n),
    .in_valid_i (take_aw),
    .in_ready_o (bursts_ready),
    .in_data_i  (beats),
    .out_valid_o(bursts_valid),
    .out_ready_i(take_w && last),
    .out_data_o (count),
    .usage_o    ()
  );

  // ---- A run ends with the last answer
  assign m_axi_gmem_BREADY = 1'b1;
  assign done = busy_q && left_q == '0 && unanswered_q == '0;
  always_comb begin
    results = '0;
    results[Status] = 32'(error_q);
  end

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) begin
      busy_q <= 1'b0;
      left_q <= '0;
      promised_q <= '0;
      sent_q <= '0;
      unanswered_q <= '0;
      error_q <= 1'b0;
    end else begin
      busy_q <= start || (busy_q && !done);
      if (start) left_q <= args[N];
      else if (take_aw) left_q <= left_q - 32'(beats);
      promised_q <= promised_q + (take_aw ? 7'(beats) : '0) - 7'(take_w);
      if (take_w) sent_q <= last ? '0 : sent_q + 5'd1;
      unanswered_q <= unanswered_q + 9'(take_aw) - 9'(m_axi_gmem_BVALID);
      if (start) error_q <= 1'b0;
      else if (m_axi_gmem_BVALID && m_axi_gmem_BRESP != '0) error_q <= 1'b1;
    end
  end

  always_ff @(posedge ap_clk) begin
    if (start) addr_q <= {args[Out+1], args[Out]};
    else if (take_aw) addr_q <= addr_q + (64'(beats) << 2);
  end

  logic unused;
  assign unused = ^{args, in_TLAST};

endmodule
