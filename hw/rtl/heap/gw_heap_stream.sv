// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// A kernel's own malloc, realloc and free: an AXI4-Stream of commands and one of responses, in the context of the kernel's port.
//
// Contract
// - A command is 192 bits, three 64-bit words from below: pointer, size, how. `how` is the register `command` of spec/regs/gw_heap.rdl without
//   its context, in bits 18:16 and 7:0; all others are ignored. A response is 128 bits: pointer, status (gw_spec_pkg::Heap*).
// - One command at a time: the next is taken when the response was. Responses stay until they are taken.
// - The context is that of the port when the command is taken. bound_o: the port still has it, and translates; who is asked must look
//   at that when it begins the command. So nothing is allocated in a context that the port was taken from before.
// - No cycle is added in either direction.
`include "gw_assert.svh"

module gw_heap_stream (
  input  logic              clk_i,
  input  logic              rst_ni,
  /// How the kernel's port is bound.
  input  gw_pkg::port_cfg_t port_i,
  /// The kernel.
  input  logic              cmd_valid_i,
  output logic              cmd_ready_o,
  input  logic [191:0]      cmd_i,
  output logic              rsp_valid_o,
  input  logic              rsp_ready_i,
  output logic [127:0]      rsp_o,
  /// gw_heap.
  output logic              bound_o,
  output logic              heap_valid_o,
  input  logic              heap_ready_i,
  output gw_pkg::heap_cmd_t heap_cmd_o,
  input  logic              heap_rsp_valid_i,
  output logic              heap_rsp_ready_o,
  input  gw_pkg::heap_rsp_t heap_rsp_i
);

  import gw_pkg::*;

  logic busy_q;
  ctx_id_t ctx_q;
  logic [63:0] pointer, size, how;
  assign {how, size, pointer} = cmd_i;
  assign heap_valid_o = cmd_valid_i && !busy_q;
  assign cmd_ready_o = heap_ready_i && !busy_q;
  assign heap_cmd_o = '{
    op: heap_op_e'(how[1:0]),
    ctx: port_i.ctx,
    pointer: pointer,
    size: size,
    region: how[18:16],
    granule: how[7:4],
    write: how[2],
    compact: how[3]
  };
  assign bound_o = port_i.mode == PortTranslate && port_i.ctx == ctx_q;
  assign rsp_valid_o = heap_rsp_valid_i;
  assign heap_rsp_ready_o = rsp_ready_i;
  assign rsp_o = {60'd0, heap_rsp_i.status, heap_rsp_i.pointer};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else busy_q <= (heap_valid_o && heap_ready_i) || (busy_q && !(heap_rsp_valid_i && rsp_ready_i));
  end
  always_ff @(posedge clk_i) if (!busy_q) ctx_q <= port_i.ctx;

  logic unused;
  assign unused = ^how;

  `GW_INVARIANT(ResponseToCommand_A, !heap_rsp_valid_i || busy_q)
  `GW_COVER(TakenAway_C, busy_q && !bound_o && !heap_rsp_valid_i)

endmodule
