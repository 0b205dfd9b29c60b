// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Lets write data follow its address: to the memory behind an address that was sent on, into
// nothing behind one that faulted.
//
// Contract
// - Combinational from accelerator to memory: no latency is added to a beat whose address has gone.
// - Data is never offered before its address is (address in the output register: in the same cycle
//   is allowed, as AXI asks of a master, so the memory may wait for either).
// - Data of a faulted write is taken at one beat a cycle; swallowed_o pulses with its last beat.
// - Addresses are noted in their order, at most `Max` of them; there is always room for one more
//   burst under way.
`include "gw_assert.svh"

module gw_write_route #(
  /// Bursts under way at most.
  parameter int unsigned Max = 64,
  parameter type w_t = gw_axi_pkg::axi_w_t
) (
  input  logic clk_i,
  input  logic rst_ni,
  /// An address leaves: to the memory, or with an error.
  input  logic route_valid_i,
  input  logic route_error_i,
  /// Accelerator.
  input  logic s_valid_i,
  output logic s_ready_o,
  input  w_t   s_w_i,
  /// Memory.
  output logic m_valid_o,
  input  logic m_ready_i,
  output w_t   m_w_o,
  /// The last beat of a faulted write was swallowed.
  output logic swallowed_o
);

  logic have, swallow, last, room;
  gw_fifo #(
    .T    (logic),
    .Depth(Max)
  ) u_routes (
    .clk_i,
    .rst_ni,
    .in_valid_i (route_valid_i),
    .in_ready_o (room),
    .in_data_i  (route_error_i),
    .out_valid_o(have),
    .out_ready_i(last),
    .out_data_o (swallow),
    .usage_o    ()
  );

  assign m_valid_o = s_valid_i && have && !swallow;
  assign m_w_o = s_w_i;
  assign s_ready_o = have && (swallow || m_ready_i);
  assign last = s_valid_i && s_ready_o && s_w_i.last;
  assign swallowed_o = last && swallow;

  `GW_INVARIANT(Room_A, room || !route_valid_i)
  `GW_COVER(Swallow_C, swallowed_o)

endmodule
