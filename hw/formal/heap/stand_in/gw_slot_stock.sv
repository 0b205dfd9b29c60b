// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Stands for gw_slot_stock in proofs of gw_slots: any small number of slots, offered at once; a group that comes back is checked.
`include "gw_assert.svh"

module gw_slot_stock #(
  parameter int unsigned Slots = 2,
  parameter int unsigned Stock = 8,
  localparam int unsigned SlotWidth = $clog2(Slots)
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  output logic [1:0]                one_valid_o,
  output logic [1:0][SlotWidth-1:0] one_slot_o,
  input  logic [1:0]                one_take_i,
  output logic [1:0]                none_o,
  input  logic                      span_valid_i,
  input  gw_pkg::group_order_t      span_order_i,
  output logic                      span_done_o,
  output logic                      span_ok_o,
  output logic [SlotWidth-1:0]      span_slot_o,
  input  logic                      give_valid_i,
  output logic                      give_ready_o,
  input  logic                      give_class_i,
  input  gw_pkg::group_order_t      give_order_i,
  input  logic [SlotWidth-1:0]      give_slot_i
);

  logic [1:0][Slots-1:0] free_q;
  logic [Slots-1:0] given;

  always_comb begin
    for (int unsigned c = 0; c < 2; c++) begin
      one_slot_o[c] = '0;
      for (int unsigned s = Slots; s > 0; s--) if (free_q[c][s-1]) one_slot_o[c] = SlotWidth'(s - 1);
      one_valid_o[c] = free_q[c] != '0;
      none_o[c] = free_q[c] == '0;
    end
    for (int unsigned s = 0; s < Slots; s++) given[s] = (SlotWidth'(s) >> give_order_i) == (give_slot_i >> give_order_i);
  end
  assign span_done_o = span_valid_i;
  assign span_ok_o = &free_q[0] && (32'd1 << span_order_i) == Slots;
  assign span_slot_o = '0;
  assign give_ready_o = give_valid_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      free_q <= '1;
    end else begin
      for (int unsigned c = 0; c < 2; c++) begin
        if (one_take_i[c]) free_q[c][one_slot_o[c]] <= 1'b0;
        if (give_valid_i && give_class_i == 1'(c)) free_q[c] <= free_q[c] | given;
      end
      if (span_valid_i && span_ok_o) free_q[0] <= '0;
    end
  end

  `GW_INVARIANT(GivenOnce_A, !give_valid_i || ((give_class_i ? free_q[1] : free_q[0]) & given) == '0)

endmodule
