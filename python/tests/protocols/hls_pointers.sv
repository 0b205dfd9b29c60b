// SPDX-License-Identifier: Apache-2.0
//
// The second control port that Vitis HLS gives pointers without a bundle, `control_r`: 0x10 src, 0x1c dst, and no start.
module hls_pointers (
  input  logic        clk,
  input  logic        rst_n,
  input  logic [5:0]  awaddr,
  input  logic        awvalid,
  output logic        awready,
  input  logic [31:0] wdata,
  input  logic        wvalid,
  output logic        wready,
  output logic        bvalid,
  input  logic        bready,
  input  logic [5:0]  araddr,
  input  logic        arvalid,
  output logic        arready,
  output logic [31:0] rdata,
  output logic        rvalid,
  input  logic        rready,
  output logic [63:0] src,
  output logic [63:0] dst
);

  typedef enum logic [1:0] {Idle, Data, Answer} channel_e;
  channel_e write_q, read_q;
  logic [5:0] waddr_q;

  assign awready = write_q == Idle;
  assign wready = write_q == Data;
  assign bvalid = write_q == Answer;
  assign arready = read_q == Idle;
  assign rvalid = read_q == Data;

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      write_q <= Idle;
      read_q <= Idle;
    end else begin
      case (write_q)
        Idle: if (awvalid) write_q <= Data;
        Data: if (wvalid) write_q <= Answer;
        default: if (bready) write_q <= Idle;
      endcase
      case (read_q)
        Idle: if (arvalid) read_q <= Data;
        default: if (rready) read_q <= Idle;
      endcase
    end
    if (awvalid && awready) waddr_q <= awaddr;
    if (wvalid && wready) begin
      case (waddr_q)
        6'h10: src[31:0] <= wdata;
        6'h14: src[63:32] <= wdata;
        6'h1c: dst[31:0] <= wdata;
        6'h20: dst[63:32] <= wdata;
        default: ;
      endcase
    end
    if (arvalid && arready) begin
      case (araddr)
        6'h10: rdata <= src[31:0];
        6'h14: rdata <= src[63:32];
        6'h1c: rdata <= dst[31:0];
        6'h20: rdata <= dst[63:32];
        default: rdata <= '0;
      endcase
    end
  end

endmodule
