// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Reads an array as HLS does by default: INCR bursts of up to 16 beats that stay in their 4 KiB page, 16 of them in flight.
//
// Contract
// - `start_i` begins a run of `count_i` (> 0) beats from `addr_i`, which is a multiple of the beat's bytes; not while busy.
// - One beat a cycle. Read data is always taken: there is room for it from before its address goes out.
// - `error_o` stays high after a read that failed, until the next run.
module burst_reader #(
  /// Bits of a beat.
  parameter int unsigned DataWidth = 32
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 start_i,
  input  logic [63:0]          addr_i,
  input  logic [31:0]          count_i,
  output logic                 error_o,
  output logic                 ar_valid_o,
  input  logic                 ar_ready_i,
  output logic [63:0]          ar_addr_o,
  output logic [7:0]           ar_len_o,
  input  logic                 r_valid_i,
  input  logic [DataWidth-1:0] r_data_i,
  input  logic [1:0]           r_resp_i,
  output logic                 valid_o,
  input  logic                 ready_i,
  output logic [DataWidth-1:0] data_o
);

  localparam int unsigned Shift = $clog2(DataWidth / 8);
  localparam int unsigned Room = 256;

  logic [63:0] addr_q;
  logic [31:0] left_q;
  // Beats asked for and not yet given on.
  logic [$clog2(Room+1)-1:0] reserved_q;
  logic [12:0] page_left, wanted;
  logic [4:0] beats;
  logic take_ar, give;

  assign page_left = (13'd4096 - 13'(addr_q[11:0])) >> Shift;
  assign wanted = (left_q < 32'd16) ? 13'(left_q) : 13'd16;
  assign beats = 5'((page_left < wanted) ? page_left : wanted);
  assign ar_valid_o = left_q != '0 && reserved_q <= ($clog2(Room + 1))'(Room - 16);
  assign ar_addr_o = addr_q;
  assign ar_len_o = 8'(beats) - 8'd1;
  assign take_ar = ar_valid_o && ar_ready_i;
  assign give = valid_o && ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q <= '0;
      reserved_q <= '0;
      error_o <= 1'b0;
    end else begin
      if (start_i) left_q <= count_i;
      else if (take_ar) left_q <= left_q - 32'(beats);
      reserved_q <= reserved_q + (take_ar ? ($clog2(Room + 1))'(beats) : '0) - ($clog2(Room + 1))'(give);
      if (start_i) error_o <= 1'b0;
      else if (r_valid_i && r_resp_i != '0) error_o <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) addr_q <= addr_i;
    else if (take_ar) addr_q <= addr_q + (64'(beats) << Shift);
  end

  gw_fifo #(
    .T    (logic [DataWidth-1:0]),
    .Depth(Room)
  ) u_data (
    .clk_i,
    .rst_ni,
    .in_valid_i (r_valid_i),
    .in_ready_o (),
    .in_data_i  (r_data_i),
    .out_valid_o(valid_o),
    .out_ready_i(ready_i),
    .out_data_o (data_o),
    .usage_o    ()
  );

endmodule
