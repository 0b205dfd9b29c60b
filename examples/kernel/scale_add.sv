// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// scale_add: y[i] = scale * x[i] + y[i] on int32 arrays, as an example of a kernel that brings everything with it: the ports
// of Vitis HLS, a control block, and a data path. One burst of up to 16 beats is read from x and from y at a time,
// computed and written back; kernels/common has what a kernel needs that keeps more on the bus.
//
// x and y are 64-byte aligned; n is any number. Sums and products wrap.
module scale_add #(
  parameter int unsigned C_S_AXI_CONTROL_ADDR_WIDTH = 6,
  parameter int unsigned C_S_AXI_CONTROL_DATA_WIDTH = 32,
  parameter int unsigned C_M_AXI_GMEM_ID_WIDTH = 1,
  parameter int unsigned C_M_AXI_GMEM_ADDR_WIDTH = 64,
  parameter int unsigned C_M_AXI_GMEM_DATA_WIDTH = 512
) (
  input  logic                                    ap_clk,
  input  logic                                    ap_rst_n,
  output logic                                    interrupt,

  input  logic                                    s_axi_control_AWVALID,
  output logic                                    s_axi_control_AWREADY,
  input  logic [  C_S_AXI_CONTROL_ADDR_WIDTH-1:0] s_axi_control_AWADDR,
  input  logic                                    s_axi_control_WVALID,
  output logic                                    s_axi_control_WREADY,
  input  logic [  C_S_AXI_CONTROL_DATA_WIDTH-1:0] s_axi_control_WDATA,
  input  logic [C_S_AXI_CONTROL_DATA_WIDTH/8-1:0] s_axi_control_WSTRB,
  input  logic                                    s_axi_control_ARVALID,
  output logic                                    s_axi_control_ARREADY,
  input  logic [  C_S_AXI_CONTROL_ADDR_WIDTH-1:0] s_axi_control_ARADDR,
  output logic                                    s_axi_control_RVALID,
  input  logic                                    s_axi_control_RREADY,
  output logic [  C_S_AXI_CONTROL_DATA_WIDTH-1:0] s_axi_control_RDATA,
  output logic [                             1:0] s_axi_control_RRESP,
  output logic                                    s_axi_control_BVALID,
  input  logic                                    s_axi_control_BREADY,
  output logic [                             1:0] s_axi_control_BRESP,

  output logic                                    m_axi_gmem_AWVALID,
  input  logic                                    m_axi_gmem_AWREADY,
  output logic [     C_M_AXI_GMEM_ADDR_WIDTH-1:0] m_axi_gmem_AWADDR,
  output logic [       C_M_AXI_GMEM_ID_WIDTH-1:0] m_axi_gmem_AWID,
  output logic [                             7:0] m_axi_gmem_AWLEN,
  output logic [                             2:0] m_axi_gmem_AWSIZE,
  output logic [                             1:0] m_axi_gmem_AWBURST,
  output logic [                             1:0] m_axi_gmem_AWLOCK,
  output logic [                             3:0] m_axi_gmem_AWCACHE,
  output logic [                             2:0] m_axi_gmem_AWPROT,
  output logic [                             3:0] m_axi_gmem_AWQOS,
  output logic [                             3:0] m_axi_gmem_AWREGION,
  output logic                                    m_axi_gmem_WVALID,
  input  logic                                    m_axi_gmem_WREADY,
  output logic [     C_M_AXI_GMEM_DATA_WIDTH-1:0] m_axi_gmem_WDATA,
  output logic [   C_M_AXI_GMEM_DATA_WIDTH/8-1:0] m_axi_gmem_WSTRB,
  output logic                                    m_axi_gmem_WLAST,
  output logic                                    m_axi_gmem_ARVALID,
  input  logic                                    m_axi_gmem_ARREADY,
  output logic [     C_M_AXI_GMEM_ADDR_WIDTH-1:0] m_axi_gmem_ARADDR,
  output logic [       C_M_AXI_GMEM_ID_WIDTH-1:0] m_axi_gmem_ARID,
  output logic [                             7:0] m_axi_gmem_ARLEN,
  output logic [                             2:0] m_axi_gmem_ARSIZE,
  output logic [                             1:0] m_axi_gmem_ARBURST,
  output logic [                             1:0] m_axi_gmem_ARLOCK,
  output logic [                             3:0] m_axi_gmem_ARCACHE,
  output logic [                             2:0] m_axi_gmem_ARPROT,
  output logic [                             3:0] m_axi_gmem_ARQOS,
  output logic [                             3:0] m_axi_gmem_ARREGION,
  input  logic                                    m_axi_gmem_RVALID,
  output logic                                    m_axi_gmem_RREADY,
  input  logic [     C_M_AXI_GMEM_DATA_WIDTH-1:0] m_axi_gmem_RDATA,
  input  logic                                    m_axi_gmem_RLAST,
  input  logic [       C_M_AXI_GMEM_ID_WIDTH-1:0] m_axi_gmem_RID,
  input  logic [                             1:0] m_axi_gmem_RRESP,
  input  logic                                    m_axi_gmem_BVALID,
  output logic                                    m_axi_gmem_BREADY,
  input  logic [                             1:0] m_axi_gmem_BRESP,
  input  logic [       C_M_AXI_GMEM_ID_WIDTH-1:0] m_axi_gmem_BID
);

  // ---- Control block: the words of the manifest's arguments by their index, offset / 4
  localparam int unsigned X = 'h10 / 4, Y = 'h1c / 4, N = 'h28 / 4, Scale = 'h30 / 4, Status = 'h38 / 4;

  typedef enum logic [2:0] {Idle, Plan, Address, Data, Respond, Done} state_e;
  state_e state_q;
  logic [3:0] read_idx, write_idx;
  logic [31:0] reg_q[16];
  logic start_q, done_q, irq_enable_q, done_irq_enable_q, irq_q, b_valid_q, r_valid_q, error_q, write;
  logic [31:0] r_data_q;

  assign write = s_axi_control_AWVALID && s_axi_control_WVALID && !b_valid_q;
  assign write_idx = s_axi_control_AWADDR[5:2];
  assign read_idx = s_axi_control_ARADDR[5:2];
  assign s_axi_control_AWREADY = write;
  assign s_axi_control_WREADY = write;
  assign s_axi_control_BVALID = b_valid_q;
  assign s_axi_control_BRESP = 2'b00;
  assign s_axi_control_ARREADY = !r_valid_q;
  assign s_axi_control_RVALID = r_valid_q;
  assign s_axi_control_RDATA = r_data_q;
  assign s_axi_control_RRESP = 2'b00;
  assign interrupt = irq_enable_q && irq_q;

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      {start_q, done_q, irq_enable_q, done_irq_enable_q, irq_q, b_valid_q, r_valid_q} <= '0;
    end else begin
      if (write) b_valid_q <= 1'b1;
      else if (s_axi_control_BREADY) b_valid_q <= 1'b0;
      if (s_axi_control_ARVALID && !r_valid_q) r_valid_q <= 1'b1;
      else if (s_axi_control_RREADY) r_valid_q <= 1'b0;

      if (s_axi_control_ARVALID && !r_valid_q && read_idx == 4'd0) done_q <= 1'b0;
      if (state_q == Done) {start_q, done_q} <= 2'b01;
      if (write) begin
        unique case (write_idx)
          4'd0: if (s_axi_control_WDATA[0]) start_q <= 1'b1;
          4'd1: irq_enable_q <= s_axi_control_WDATA[0];
          4'd2: done_irq_enable_q <= s_axi_control_WDATA[0];
          4'd3: irq_q <= irq_q ^ s_axi_control_WDATA[0];
          default: reg_q[write_idx] <= s_axi_control_WDATA;
        endcase
      end
      if (state_q == Done && done_irq_enable_q) irq_q <= 1'b1;
    end
  end

  always_ff @(posedge ap_clk) begin
    if (s_axi_control_ARVALID && !r_valid_q) begin
      unique case (read_idx)
        4'd0: r_data_q <= {28'b0, done_q, !start_q, done_q, start_q};
        4'd1: r_data_q <= {31'b0, irq_enable_q};
        4'd2: r_data_q <= {31'b0, done_irq_enable_q};
        4'd3: r_data_q <= {31'b0, irq_q};
        4'(Status): r_data_q <= {31'b0, error_q};
        default: r_data_q <= reg_q[read_idx];
      endcase
    end
  end

  // ---- Bursts: as many beats as are left, at most 16, and none past a multiple of 4 KiB in x or y
  logic [63:0] x_q, y_q;
  logic [31:0] left_q;             // elements
  logic [6:0] beats, beats_q, beats_left, x_room, y_room;

  assign beats_left = (left_q > 32'd256) ? 7'd16 : 7'((left_q + 32'd15) >> 4);
  assign x_room = 7'd64 - {1'b0, x_q[11:6]};
  assign y_room = 7'd64 - {1'b0, y_q[11:6]};
  always_comb begin
    beats = beats_left;
    if (x_room < beats) beats = x_room;
    if (y_room < beats) beats = y_room;
  end

  // ---- Buffers for one burst of each; x has AXI ID 0 and y has 1, so their data may come in any order
  logic [511:0] x_buffer[16], y_buffer[16], result;
  logic [6:0] x_count_q, y_count_q, w_count_q;
  logic ar_y_q, ar_done_q, aw_done_q;

  always_comb begin
    for (int i = 0; i < 16; i++) begin
      result[32*i+:32] = reg_q[Scale] * x_buffer[w_count_q[3:0]][32*i+:32] + y_buffer[w_count_q[3:0]][32*i+:32];
    end
  end

  assign m_axi_gmem_ARVALID = state_q == Address && !ar_done_q;
  assign m_axi_gmem_ARADDR = ar_y_q ? y_q : x_q;
  assign m_axi_gmem_ARID = C_M_AXI_GMEM_ID_WIDTH'(ar_y_q);
  assign m_axi_gmem_ARLEN = 8'(beats_q) - 8'd1;
  assign {m_axi_gmem_ARSIZE, m_axi_gmem_ARBURST, m_axi_gmem_ARCACHE} = {3'd6, 2'b01, 4'b0011};
  assign {m_axi_gmem_ARLOCK, m_axi_gmem_ARPROT, m_axi_gmem_ARQOS, m_axi_gmem_ARREGION} = '0;
  assign m_axi_gmem_RREADY = 1'b1;

  assign m_axi_gmem_AWVALID = state_q == Address && !aw_done_q;
  assign m_axi_gmem_AWADDR = y_q;
  assign m_axi_gmem_AWID = '0;
  assign m_axi_gmem_AWLEN = 8'(beats_q) - 8'd1;
  assign {m_axi_gmem_AWSIZE, m_axi_gmem_AWBURST, m_axi_gmem_AWCACHE} = {3'd6, 2'b01, 4'b0011};
  assign {m_axi_gmem_AWLOCK, m_axi_gmem_AWPROT, m_axi_gmem_AWQOS, m_axi_gmem_AWREGION} = '0;

  assign m_axi_gmem_WVALID = state_q == Data && w_count_q < x_count_q && w_count_q < y_count_q;
  assign m_axi_gmem_WDATA = result;
  assign m_axi_gmem_WLAST = w_count_q == beats_q - 7'd1;
  for (genvar i = 0; i < 16; i++) begin : gen_strobe
    // Elements past the end, and those after a read error, keep what they are.
    assign m_axi_gmem_WSTRB[4*i+:4] = {4{!error_q && 32'(w_count_q) * 32'd16 + 32'(i) < left_q}};
  end
  assign m_axi_gmem_BREADY = 1'b1;

  always_ff @(posedge ap_clk) begin
    if (m_axi_gmem_RVALID && !m_axi_gmem_RID[0]) x_buffer[x_count_q[3:0]] <= m_axi_gmem_RDATA;
    if (m_axi_gmem_RVALID && m_axi_gmem_RID[0]) y_buffer[y_count_q[3:0]] <= m_axi_gmem_RDATA;
  end

  always_ff @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      state_q <= Idle;
      error_q <= 1'b0;
    end else begin
      if (m_axi_gmem_RVALID) begin
        if (m_axi_gmem_RID[0]) y_count_q <= y_count_q + 7'd1;
        else x_count_q <= x_count_q + 7'd1;
        if (m_axi_gmem_RRESP[1]) error_q <= 1'b1;
      end
      unique case (state_q)
        Idle:
        if (start_q) begin
          x_q <= {reg_q[X+1], reg_q[X]};
          y_q <= {reg_q[Y+1], reg_q[Y]};
          left_q <= reg_q[N];
          error_q <= 1'b0;
          state_q <= Plan;
        end
        Plan: begin
          beats_q <= beats;
          {x_count_q, y_count_q, w_count_q} <= '0;
          {ar_y_q, ar_done_q, aw_done_q} <= '0;
          state_q <= (left_q == '0 || error_q) ? Done : Address;
        end
        Address: begin
          if (m_axi_gmem_ARVALID && m_axi_gmem_ARREADY) {ar_done_q, ar_y_q} <= {ar_y_q, 1'b1};
          if (m_axi_gmem_AWVALID && m_axi_gmem_AWREADY) aw_done_q <= 1'b1;
          if (ar_done_q && aw_done_q) state_q <= Data;
        end
        Data:
        if (m_axi_gmem_WVALID && m_axi_gmem_WREADY) begin
          w_count_q <= w_count_q + 7'd1;
          if (m_axi_gmem_WLAST) state_q <= Respond;
        end
        Respond:
        if (m_axi_gmem_BVALID) begin
          if (m_axi_gmem_BRESP[1]) error_q <= 1'b1;
          x_q <= x_q + {51'b0, beats_q, 6'b0};
          y_q <= y_q + {51'b0, beats_q, 6'b0};
          left_q <= (left_q > {21'b0, beats_q, 4'b0}) ? left_q - {21'b0, beats_q, 4'b0} : '0;
          state_q <= Plan;
        end
        default: state_q <= Idle;
      endcase
    end
  end

  // The lanes of a control write are always taken whole, and bursts are counted by their own beats.
  logic unused;
  assign unused = ^{s_axi_control_WSTRB, s_axi_control_AWADDR, s_axi_control_ARADDR, m_axi_gmem_RLAST, m_axi_gmem_RRESP[0],
                    m_axi_gmem_RID, m_axi_gmem_BRESP[0], m_axi_gmem_BID};

endmodule
