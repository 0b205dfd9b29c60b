// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// AXI4-Lite in front of the generated register block: one access at a time, every output from a register.
//
// Contract
// - Of each direction one access is held, from when its address (and data) came until its answer is taken; the next is taken
//   after that. The two wait for one another only for the register block: reads and writes that wait take turns, and an
//   answer that is not taken holds up its own direction only.
// - `req_o` is a pulse; `write_o` and `addr_o`, of a write also `wdata_o` and `wmask_o`, belong to it and stay until `rd_ack_i` or
//   `wr_ack_i`, which may come in the pulse's cycle. The block never makes a request wait (`stall_i`).
// - `err_i` with the acknowledge: the answer is SLVERR.
`include "gw_assert.svh"

module gw_csr_axil #(
  /// Bits of the address, at least 3: upper ones of the bus are not looked at.
  parameter int unsigned AddrWidth = 12
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  gw_axi_pkg::axil_req_t axil_req_i,
  output gw_axi_pkg::axil_rsp_t axil_rsp_o,
  output logic                  req_o,
  output logic                  write_o,
  output logic [AddrWidth-1:0]  addr_o,
  output logic [31:0]           wdata_o,
  output logic [31:0]           wmask_o,
  input  logic                  stall_i,
  input  logic                  rd_ack_i,
  input  logic                  wr_ack_i,
  input  logic                  err_i,
  input  logic [31:0]           rdata_i
);

  logic ar_held_q, aw_held_q, w_held_q, r_valid_q, b_valid_q, r_err_q, b_err_q;
  logic req_q, write_q, busy_q, read_turn_q;
  logic [AddrWidth-1:0] ar_addr_q, aw_addr_q, addr_q;
  logic [31:0] w_data_q, r_data_q;
  logic [3:0]  w_strb_q;
  logic read_waits, write_waits, begin_read, begin_write, r_taken, b_taken;

  assign axil_rsp_o = '{
    aw_ready: !aw_held_q,
    w_ready:  !w_held_q,
    b_resp:   b_err_q ? gw_axi_pkg::RespSlvErr : gw_axi_pkg::RespOkay,
    b_valid:  b_valid_q,
    ar_ready: !ar_held_q,
    r_data:   r_data_q,
    r_resp:   r_err_q ? gw_axi_pkg::RespSlvErr : gw_axi_pkg::RespOkay,
    r_valid:  r_valid_q
  };
  assign r_taken = r_valid_q && axil_req_i.r_ready;
  assign b_taken = b_valid_q && axil_req_i.b_ready;

  // An access waits from when it is here until its answer.
  assign read_waits = ar_held_q && !r_valid_q && !busy_q;
  assign write_waits = aw_held_q && w_held_q && !b_valid_q && !busy_q;
  assign begin_read = read_waits && (read_turn_q || !write_waits);
  assign begin_write = write_waits && !begin_read;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {ar_held_q, aw_held_q, w_held_q, r_valid_q, b_valid_q} <= '0;
      {req_q, write_q, busy_q} <= '0;
      read_turn_q <= 1'b1;
    end else begin
      ar_held_q <= axil_req_i.ar_valid || ar_held_q;
      aw_held_q <= axil_req_i.aw_valid || aw_held_q;
      w_held_q <= axil_req_i.w_valid || w_held_q;
      if (r_taken) {r_valid_q, ar_held_q} <= '0;
      if (b_taken) {b_valid_q, aw_held_q, w_held_q} <= '0;
      req_q <= begin_read || begin_write;
      if (begin_read || begin_write) begin
        busy_q <= 1'b1;
        write_q <= begin_write;
        read_turn_q <= begin_write;
      end
      if (rd_ack_i) {r_valid_q, busy_q} <= 2'b10;
      if (wr_ack_i) {b_valid_q, busy_q} <= 2'b10;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!ar_held_q) ar_addr_q <= axil_req_i.ar_addr[AddrWidth-1:0];
    if (!aw_held_q) aw_addr_q <= axil_req_i.aw_addr[AddrWidth-1:0];
    if (!w_held_q) {w_data_q, w_strb_q} <= {axil_req_i.w_data, axil_req_i.w_strb};
    if (begin_read || begin_write) addr_q <= {begin_write ? aw_addr_q[AddrWidth-1:2] : ar_addr_q[AddrWidth-1:2], 2'b0};
    if (rd_ack_i) {r_data_q, r_err_q} <= {rdata_i, err_i};
    if (wr_ack_i) b_err_q <= err_i;
  end

  assign req_o = req_q;
  assign write_o = write_q;
  assign addr_o = addr_q;
  assign wdata_o = w_data_q;
  for (genvar i = 0; i < 4; i++) begin : gen_lane
    assign wmask_o[8*i+:8] = {8{w_strb_q[i]}};
  end

  logic unused;
  assign unused = ^{axil_req_i, ar_addr_q[1:0], aw_addr_q[1:0], stall_i};

  `GW_ASSERT(NeverStalled_A, req_q |-> !stall_i)
  `GW_ASSERT(AckOfARequest_A, rd_ack_i || wr_ack_i |-> busy_q && !(rd_ack_i && wr_ack_i) && wr_ack_i == write_q)
  `GW_ASSERT(ReadAnswerStable_A, r_valid_q && !axil_req_i.r_ready |=> r_valid_q && $stable({r_data_q, r_err_q}))
  `GW_ASSERT(WriteAnswerStable_A, b_valid_q && !axil_req_i.b_ready |=> b_valid_q && $stable(b_err_q))
  `GW_COVER(BothWait_C, read_waits && write_waits)
  `GW_COVER(WriteBesideAnUntakenRead_C, begin_write && r_valid_q)

endmodule
