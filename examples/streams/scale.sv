// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// scale: the middle of a pipeline. Every element of a stream times a factor; side-band signals go along.
module scale
  import scale_args_pkg::*;
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

  input  logic        in_TVALID,
  output logic        in_TREADY,
  input  logic [31:0] in_TDATA,
  input  logic [3:0]  in_TKEEP,
  input  logic        in_TLAST,

  output logic        out_TVALID,
  input  logic        out_TREADY,
  output logic [31:0] out_TDATA,
  output logic [3:0]  out_TKEEP,
  output logic        out_TLAST
);

  localparam int unsigned Factor = (FactorOffset - 'h10) / 4;

  logic start, done, busy_q, take;
  logic [NumWords-1:0][31:0] args;

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
    .results_i  ('0)
  );
  assign s_axi_control_BRESP = 2'b00;
  assign s_axi_control_RRESP = 2'b00;

  // A run is one packet: it ends with TLAST.
  assign take = out_TVALID && out_TREADY;
  assign done = busy_q && take && in_TLAST;
  always_ff @(posedge ap_clk or negedge ap_rst_n) begin
    if (!ap_rst_n) busy_q <= 1'b0;
    else busy_q <= start || (busy_q && !done);
  end

  assign out_TVALID = in_TVALID && busy_q;
  assign in_TREADY = out_TREADY && busy_q;
  assign out_TDATA = in_TDATA * args[Factor];
  assign out_TKEEP = in_TKEEP;
  assign out_TLAST = in_TLAST;

  logic unused;
  assign unused = ^args;

endmodule
