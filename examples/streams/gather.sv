// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gather: the first kernel of a pipeline. out[i] = x[i] + y[i], x 32 bits and y 64, each through a memory bundle of its own as
// wide as its elements; results leave as an AXI4-Stream, the last one with TLAST.
module gather
  import gather_args_pkg::*;
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

  output logic        m_axi_gmem0_ARVALID,
  input  logic        m_axi_gmem0_ARREADY,
  output logic [63:0] m_axi_gmem0_ARADDR,
  output logic [7:0]  m_axi_gmem0_ARLEN,
  input  logic        m_axi_gmem0_RVALID,
  output logic        m_axi_gmem0_RREADY,
  input  logic [31:0] m_axi_gmem0_RDATA,
  input  logic [1:0]  m_axi_gmem0_RRESP,
  input  logic        m_axi_gmem0_RLAST,

  output logic        m_axi_gmem1_ARVALID,
  input  logic        m_axi_gmem1_ARREADY,
  output logic [63:0] m_axi_gmem1_ARADDR,
  output logic [7:0]  m_axi_gmem1_ARLEN,
  input  logic        m_axi_gmem1_RVALID,
  output logic        m_axi_gmem1_RREADY,
  input  logic [63:0] m_axi_gmem1_RDATA,
  input  logic [1:0]  m_axi_gmem1_RRESP,
  input  logic        m_axi_gmem1_RLAST,

  output logic        out_TVALID,
  input  logic        out_TREADY,
  output logic [31:0] out_TDATA,
  output logic [3:0]  out_TKEEP,
  output logic        out_TLAST
);

  // Offsets of the manifest as words of the control block.
  localparam int unsigned X = (XOffset - 'h10) / 4;
  localparam int unsigned Y = (YOffset - 'h10) / 4;
  localparam int unsigned N = (NOffset - 'h10) / 4;
  localparam int unsigned Status = (StatusOffset - 'h10) / 4;

  logic start, go, done, busy_q, x_valid, y_valid, x_error, y_error, take;
  logic [NumWords-1:0][31:0] args, results;
  logic [31:0] left_q, x;
  logic [63:0] y;

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

  assign go = start && args[N] != '0;
  assign done = busy_q && left_q == '0;
  assign take = out_TVALID && out_TREADY;
  always_comb begin
    results = '0;
    results[Status] = 32'(x_error || y_error);
  end

  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) begin
      busy_q <= 1'b0;
      left_q <= '0;
    end else begin
      busy_q <= start || (busy_q && !done);
      if (start) left_q <= args[N];
      else if (take) left_q <= left_q - 32'd1;
    end
  end

  burst_reader #(
    .DataWidth(32)
  ) u_x (
    .clk_i     (ap_clk),
    .rst_ni    (ap_rst_n),
    .start_i   (go),
    .addr_i    ({args[X+1], args[X]}),
    .count_i   (args[N]),
    .error_o   (x_error),
    .ar_valid_o(m_axi_gmem0_ARVALID),
    .ar_ready_i(m_axi_gmem0_ARREADY),
    .ar_addr_o (m_axi_gmem0_ARADDR),
    .ar_len_o  (m_axi_gmem0_ARLEN),
    .r_valid_i (m_axi_gmem0_RVALID),
    .r_data_i  (m_axi_gmem0_RDATA),
    .r_resp_i  (m_axi_gmem0_RRESP),
    .valid_o   (x_valid),
    .ready_i   (take),
    .data_o    (x)
  );
  assign m_axi_gmem0_RREADY = 1'b1;

  burst_reader #(
    .DataWidth(64)
  ) u_y (
    .clk_i     (ap_clk),
    .rst_ni    (ap_rst_n),
    .start_i   (go),
    .addr_i    ({args[Y+1], args[Y]}),
    .count_i   (args[N]),
    .error_o   (y_error),
    .ar_valid_o(m_axi_gmem1_ARVALID),
    .ar_ready_i(m_axi_gmem1_ARREADY),
    .ar_addr_o (m_axi_gmem1_ARADDR),
    .ar_len_o  (m_axi_gmem1_ARLEN),
    .r_valid_i (m_axi_gmem1_RVALID),
    .r_data_i  (m_axi_gmem1_RDATA),
    .r_resp_i  (m_axi_gmem1_RRESP),
    .valid_o   (y_valid),
    .ready_i   (take),
    .data_o    (y)
  );
  assign m_axi_gmem1_RREADY = 1'b1;

  assign out_TVALID = x_valid && y_valid;
  assign out_TDATA = x + y[31:0];
  assign out_TKEEP = 4'hf;
  assign out_TLAST = left_q == 32'd1;

  logic unused;
  assign unused = ^{args, y[63:32], m_axi_gmem0_RLAST, m_axi_gmem1_RLAST};

endmodule
