// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Control block of kernel beta, laid out as HLS does. It shares its name with the one of kernel alpha and nothing else.
`timescale 1 ns / 1 ps
`default_nettype none

module outside_control_s_axi (
  input wire clk,
  input wire rst_n,
  input wire awvalid, output wire awready, input wire [5:0] awaddr,
  input wire wvalid, output wire wready, input wire [31:0] wdata, input wire [3:0] wstrb,
  output reg bvalid, input wire bready, output wire [1:0] bresp,
  input wire arvalid, output wire arready, input wire [5:0] araddr,
  output reg rvalid, input wire rready, output reg [31:0] rdata, output wire [1:0] rresp,
  output wire interrupt,
  output reg ap_start,
  input wire ap_done,
  output reg [31:0] a,
  input wire [31:0] result
);
  reg gie, ier, isr, done;
  wire write = awvalid && wvalid && !bvalid;
  wire read = arvalid && !rvalid;

  assign awready = write;
  assign wready = write;
  assign arready = read;
  assign bresp = 2'b00;
  assign rresp = 2'b00;
  assign interrupt = gie && isr;

  always @(posedge clk) begin
    if (!rst_n) begin
      {ap_start, gie, ier, isr, done, bvalid, rvalid} <= 7'd0;
      a <= 32'd0;
      rdata <= 32'd0;
    end else begin
      if (bready) bvalid <= 1'b0;
      if (rready) rvalid <= 1'b0;
      if (write) begin
        bvalid <= 1'b1;
        case (awaddr)
          6'h00: if (wstrb[0] && wdata[0]) ap_start <= 1'b1;
          6'h04: gie <= wdata[0];
          6'h08: ier <= wdata[0];
          6'h0c: isr <= isr ^ wdata[0];
          6'h20: a <= wdata;
          default: ;
        endcase
      end
      if (read) begin
        rvalid <= 1'b1;
        case (araddr)
          6'h00: begin
            rdata <= {29'd0, !ap_start, done, ap_start};
            done <= 1'b0;
          end
          6'h04: rdata <= {31'd0, gie};
          6'h08: rdata <= {31'd0, ier};
          6'h0c: rdata <= {31'd0, isr};
          6'h20: rdata <= a;
          6'h28: rdata <= result;
          default: rdata <= 32'd0;
        endcase
      end
      if (ap_done) begin
        ap_start <= 1'b0;
        done <= 1'b1;
        if (ier) isr <= 1'b1;
      end
    end
  end
endmodule

`default_nettype wire
