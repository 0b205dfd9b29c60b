// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Where all who allocate meet: gives their commands to gw_slots one after the other, and each its answer.
//
// Contract
// - Ports take turns. A command is taken only when the port's last answer was: so who does not take an answer stops nobody else.
// - Each command is answered once, in order, at its port; an answer stays until it is taken. Of a port that is not bound
//   (bound_i, when it is first offered to gw_slots) it is HeapArgument, and nothing is done. A port that is taken away later is too late:
//   the command is done, and before all that gw_heap_end frees of the context, which takes its turn behind it.
// - Latency: 2 cycles beside those of gw_slots; a command waits for one of every other port at most.
`include "gw_assert.svh"

module gw_heap_commands #(
  /// Who allocates, >= 1.
  parameter int unsigned NumPorts = 2
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic [NumPorts-1:0]               bound_i,
  input  logic [NumPorts-1:0]               cmd_valid_i,
  output logic [NumPorts-1:0]               cmd_ready_o,
  input  gw_pkg::heap_cmd_t [NumPorts-1:0]  cmd_i,
  output logic [NumPorts-1:0]               rsp_valid_o,
  input  logic [NumPorts-1:0]               rsp_ready_i,
  output gw_pkg::heap_rsp_t [NumPorts-1:0]  rsp_o,
  /// gw_slots.
  output logic                              slots_valid_o,
  input  logic                              slots_ready_i,
  output gw_pkg::heap_cmd_t                 slots_cmd_o,
  output logic [NumPorts-1:0]               slots_of_o,  // the port whose command it is
  input  logic                              slots_rsp_valid_i,
  output logic                              slots_rsp_ready_o,
  input  gw_pkg::heap_rsp_t                 slots_rsp_i
);

  import gw_pkg::*;

  if (NumPorts < 1) begin : gen_bad_num_ports
    $fatal(1, "gw_heap_commands: NumPorts must be at least 1");
  end

  localparam int unsigned IdxWidth = (NumPorts > 1) ? $clog2(NumPorts) : 1;
  typedef logic [IdxWidth-1:0] idx_t;
  heap_cmd_t [NumPorts-1:0] item;
  heap_cmd_t head;
  logic [NumPorts-1:0] valid, wants, granted, full_q;
  idx_t chosen, owner_q;
  logic some, taken, refused, bound, under_way_q;
  heap_rsp_t [NumPorts-1:0] rsp_q;

  for (genvar p = 0; p < NumPorts; p++) begin : gen_port
    gw_slice #(
      .T(heap_cmd_t)
    ) u_command (
      .clk_i,
      .rst_ni,
      .in_valid_i  (cmd_valid_i[p]),
      .in_ready_o  (cmd_ready_o[p]),
      .in_data_i   (cmd_i[p]),
      .cancel_i    (1'b0),
      .out_valid_o (valid[p]),
      .out_cancel_o(),
      .out_ready_i (granted[p] && taken),
      .out_data_o  (item[p])
    );
  end

  // One at a time, so that an answer is the owner's.
  assign wants = under_way_q ? '0 : valid & ~full_q;
  gw_rr_arbiter #(
    .NumReq(NumPorts)
  ) u_turn (
    .clk_i,
    .rst_ni,
    .req_i  (wants),
    .gnt_o  (granted),
    .idx_o  (chosen),
    .valid_o(some),
    .ready_i(taken)
  );
  always_comb begin
    head = '0;
    for (int unsigned p = 0; p < NumPorts; p++) head |= {$bits(heap_cmd_t){granted[p]}} & item[p];
  end
  // An offer stays one: whoever loses its port while gw_slots is busy is too late to be refused.
  logic offered_q;
  assign bound = |(granted & bound_i) || offered_q;
  assign refused = some && !bound;
  assign slots_valid_o = some && bound;
  assign slots_cmd_o = head;
  assign slots_of_o = granted;
  assign taken = refused || slots_ready_i;
  assign slots_rsp_ready_o = 1'b1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      full_q <= '0;
      under_way_q <= 1'b0;
      offered_q <= 1'b0;
    end else begin
      offered_q <= slots_valid_o && !slots_ready_i;
      under_way_q <= (slots_valid_o && slots_ready_i) || (under_way_q && !slots_rsp_valid_i);
      for (int unsigned p = 0; p < NumPorts; p++) begin
        if (refused && chosen == idx_t'(p)) full_q[p] <= 1'b1;
        else if (slots_rsp_valid_i && owner_q == idx_t'(p)) full_q[p] <= 1'b1;
        else if (rsp_ready_i[p]) full_q[p] <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (some && !under_way_q) owner_q <= chosen;
    for (int unsigned p = 0; p < NumPorts; p++) begin
      if (refused && chosen == idx_t'(p)) rsp_q[p] <= '{status: gw_spec_pkg::HeapArgument, pointer: '0};
      else if (slots_rsp_valid_i && owner_q == idx_t'(p)) rsp_q[p] <= slots_rsp_i;
    end
  end
  assign rsp_valid_o = full_q;
  assign rsp_o = rsp_q;

  `GW_INVARIANT(AnswerToSomebody_A, !slots_rsp_valid_i || (under_way_q && !full_q[owner_q]))
  `GW_ASSERT(AnswersStable_A, 1'b1 |=> ($past(rsp_valid_o & ~rsp_ready_i) & ~rsp_valid_o) == '0)
  `GW_COVER(SeveralWait_C, $countones(wants) > 1)
  `GW_COVER(OneDoesNotTake_C, |(valid & full_q) && slots_valid_o)

endmodule
