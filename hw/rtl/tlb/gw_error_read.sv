// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Answers faulted reads: len + 1 beats of SLVERR, the last one marked.
//
// Contract
// - A faulted read is answered once every earlier read of its ID is complete; the channel sees to
//   it that no later one of this ID goes to the memory meanwhile. Reads whose ID is not drained yet
//   do not hold up the others.
// - One beat a cycle as far as the response channel takes them. Data is zero.
// - last_o: the last beat is taken in this cycle. done_o: one cycle, after that; at most every second cycle.
// - in_ready_o is always high: there is room for one of every slot.
`include "gw_assert.svh"

module gw_error_read #(
  parameter int unsigned IdWidth = 4,
  parameter int unsigned Slots = 64,
  /// AXI R channel.
  parameter type r_t = gw_axi_pkg::axi_r_t,
  /// Derived.
  localparam int unsigned SlotWidth = $clog2(Slots)
) (
  input  logic clk_i,
  input  logic rst_ni,
  /// Faulted reads.
  input  logic                 in_valid_i,
  output logic                 in_ready_o,
  input  logic [SlotWidth-1:0] in_slot_i,
  input  logic [IdWidth-1:0]   in_id_i,
  /// In the cycle after.
  input  logic [7:0]           in_len_i,
  /// Whether reads of an ID are at the memory.
  output logic [IdWidth-1:0]   query_id_o,
  input  logic                 query_sent_i,
  /// Error beats.
  output logic r_valid_o,
  input  logic r_ready_i,
  output r_t   r_o,
  /// A read is answered; a cycle later, which.
  output logic                 last_o,
  output logic                 done_o,
  output logic [SlotWidth-1:0] done_slot_o,
  output logic [IdWidth-1:0]   done_id_o
);

  typedef struct packed {
    logic [SlotWidth-1:0] slot;
    logic [IdWidth-1:0]   id;
    logic [7:0]           len;
  } faulted_t;

  // Its length comes a cycle later.
  logic came_q;
  logic [SlotWidth-1:0] came_slot_q;
  logic [IdWidth-1:0] came_id_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) came_q <= 1'b0;
    else came_q <= in_valid_i;
  end
  always_ff @(posedge clk_i) begin
    came_slot_q <= in_slot_i;
    came_id_q <= in_id_i;
  end

  // The first one is a register, because whether its ID is drained is asked for, and decides, within a cycle. One that cannot be answered
  // yet goes to the back of the queue.
  logic out_valid, out_ready, head_valid_q, head_pop, queue_ready, serve, rotate, active_q, active_last;
  faulted_t out, head_q, active_q_data;
  gw_fifo #(
    .T    (faulted_t),
    .Depth(Slots)
  ) u_queue (
    .clk_i,
    .rst_ni,
    .in_valid_i (came_q || rotate),
    .in_ready_o (queue_ready),
    .in_data_i  (came_q ? faulted_t'{slot: came_slot_q, id: came_id_q, len: in_len_i} : head_q),
    .out_valid_o(out_valid),
    .out_ready_i(out_ready),
    .out_data_o (out),
    .usage_o    ()
  );
  assign in_ready_o = 1'b1;
  assign query_id_o = head_q.id;
  assign serve = head_valid_q && !query_sent_i && !active_q && !done_o;
  assign rotate = head_valid_q && query_sent_i && !came_q;
  assign head_pop = serve || rotate;
  assign out_ready = !head_valid_q || head_pop;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) head_valid_q <= 1'b0;
    else if (out_ready) head_valid_q <= out_valid;
  end
  always_ff @(posedge clk_i) begin
    if (out_ready) head_q <= out;
  end

  assign active_last = active_q_data.len == '0;
  assign r_valid_o = active_q;
  assign last_o = r_valid_o && r_ready_i && active_last;
  assign r_o = '{id: active_q_data.id, data: '0, resp: gw_axi_pkg::RespSlvErr, last: active_last};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      done_o <= 1'b0;
    end else begin
      done_o <= last_o;
      if (serve) active_q <= 1'b1;
      else if (r_ready_i && active_last) active_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (serve) active_q_data <= head_q;
    else if (r_valid_o && r_ready_i) active_q_data.len <= active_q_data.len - 1'b1;
  end

  assign done_slot_o = active_q_data.slot;
  assign done_id_o = active_q_data.id;

  `GW_INVARIANT(QueueRoom_A, queue_ready || !(came_q || rotate))
  `GW_COVER(Rotate_C, rotate)

endmodule
