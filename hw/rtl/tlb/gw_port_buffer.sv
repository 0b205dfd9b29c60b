// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Stands between an accelerator and its translator, so that every burst that was let through ends without the accelerator: a fence
// waits for bursts at the memory, and they for whoever takes their data. For accelerators whose channels may wait for each
// other, or that may stop; without it a fence is as long as they are silent.
//
// Contract
// - AR leaves when there is room for all its data, not promised to others; R is always taken from the memory side.
// - AW leaves when all its data is here, and room for its B; its data follows without a gap of more than a cycle, no earlier than
//   it is offered, and B is always taken.
// - Order, IDs, attributes and data pass unchanged. A read costs a cycle for the address and two for each beat that does not
//   queue; a write as long as its data takes to come, and two cycles. One address and one beat a cycle on every channel.
// - A read cannot be faster than Beats a latency of memory and translation.
// - Bursts are at most Beats long; 256 is what AXI allows.
// - Every output is a register, or depends on registers only. Reset empties it.
`include "gw_assert.svh"
`include "gw_axi_typedef.svh"

module gw_port_buffer #(
  /// Beats of data each way, a power of two, at least 256.
  parameter int unsigned Beats = 256,
  /// Writes that left and whose B was not taken, 1 to 256.
  parameter int unsigned Writes = 64,
  /// AXI bundles of the port (`GW_AXI_TYPEDEF).
  parameter type req_t = gw_axi_pkg::axi_req_t,
  parameter type rsp_t = gw_axi_pkg::axi_rsp_t
) (
  input  logic clk_i,
  input  logic rst_ni,
  /// Accelerator.
  input  req_t s_req_i,
  output rsp_t s_rsp_o,
  /// Translator.
  output req_t m_req_o,
  input  rsp_t m_rsp_i
);

`ifndef FORMAL
  if (Beats < 256 || 2 ** $clog2(Beats) != Beats) begin : gen_bad_beats
    $fatal(1, "gw_port_buffer: Beats must be a power of two, at least 256");
  end
`endif
  if (Writes < 1 || Writes > 256) begin : gen_bad_writes
    $fatal(1, "gw_port_buffer: Writes must be 1 to 256");
  end

  localparam int unsigned IdWidth = $bits(s_req_i.ar.id);
  localparam int unsigned DataWidth = $bits(s_req_i.w.data);
  `GW_AXI_TYPEDEF(port, IdWidth, DataWidth)

  localparam int unsigned BeatWidth = $clog2(Beats + 1);
  localparam int unsigned WriteWidth = $clog2(Writes + 1);
  typedef logic [BeatWidth-1:0] beats_t;
  typedef logic [WriteWidth-1:0] writes_t;

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // Reads: room is promised with the address, and given back as the accelerator takes the data.
  //////////////////////////////////////////////////////////////////////////////////////////////////
  port_ax_t ar;
  logic ar_ready, ar_waits, ar_fits, ar_go, r_room, r_valid;
  port_r_t r;
  beats_t room_q;
  gw_slice #(
    .T(port_ax_t)
  ) u_ar (
    .clk_i,
    .rst_ni,
    .in_valid_i  (s_req_i.ar_valid),
    .in_ready_o  (ar_ready),
    .in_data_i   (s_req_i.ar),
    .cancel_i    (1'b0),
    .out_valid_o (ar_waits),
    .out_cancel_o(),
    .out_ready_i (ar_fits && m_rsp_i.ar_ready),
    .out_data_o  (ar)
  );
  assign ar_fits = 32'(room_q) > 32'(ar.len);
  assign ar_go = ar_waits && ar_fits && m_rsp_i.ar_ready;

  gw_beat_fifo #(
    .T    (port_r_t),
    .Depth(Beats)
  ) u_r (
    .clk_i,
    .rst_ni,
    .in_valid_i (m_rsp_i.r_valid),
    .in_ready_o (r_room),
    .in_data_i  (m_rsp_i.r),
    .out_valid_o(r_valid),
    .out_ready_i(s_req_i.r_ready),
    .out_data_o (r)
  );
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) room_q <= beats_t'(Beats);
    else room_q <= room_q - (ar_go ? beats_t'(ar.len) + 1'b1 : '0) + beats_t'(r_valid && s_req_i.r_ready);
  end

  //////////////////////////////////////////////////////////////////////////////////////////////////
  // Writes: data first. `whole_q`: bursts whose data is here and whose address is not gone; `open_q`: bursts whose address was
  // offered and whose data is not through.
  //////////////////////////////////////////////////////////////////////////////////////////////////
  port_ax_t aw;
  port_w_t w;
  port_b_t b;
  logic aw_ready, aw_waits, aw_may, aw_go, aw_offered_q, w_room, w_waits, w_goes, b_room, b_valid;
  beats_t whole_q, open_q, open;
  writes_t b_left_q;
  gw_slice #(
    .T(port_ax_t)
  ) u_aw (
    .clk_i,
    .rst_ni,
    .in_valid_i  (s_req_i.aw_valid),
    .in_ready_o  (aw_ready),
    .in_data_i   (s_req_i.aw),
    .cancel_i    (1'b0),
    .out_valid_o (aw_waits),
    .out_cancel_o(),
    .out_ready_i (aw_may && m_rsp_i.aw_ready),
    .out_data_o  (aw)
  );
  assign aw_may = whole_q != '0 && b_left_q != '0;
  assign aw_go = aw_waits && aw_may && m_rsp_i.aw_ready;

  gw_beat_fifo #(
    .T    (port_w_t),
    .Depth(Beats)
  ) u_w (
    .clk_i,
    .rst_ni,
    .in_valid_i (s_req_i.w_valid),
    .in_ready_o (w_room),
    .in_data_i  (s_req_i.w),
    .out_valid_o(w_waits),
    .out_ready_i(open != '0 && m_rsp_i.w_ready),
    .out_data_o (w)
  );
  assign open = open_q + beats_t'(aw_waits && aw_may && !aw_offered_q);
  assign w_goes = w_waits && open != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      whole_q <= '0;
      open_q <= '0;
      aw_offered_q <= 1'b0;
      b_left_q <= writes_t'(Writes);
    end else begin
      whole_q <= whole_q + beats_t'(s_req_i.w_valid && w_room && s_req_i.w.last) - beats_t'(aw_go);
      open_q <= open - beats_t'(w_goes && m_rsp_i.w_ready && w.last);
      aw_offered_q <= aw_waits && aw_may && !m_rsp_i.aw_ready;
      b_left_q <= b_left_q - writes_t'(aw_go) + writes_t'(b_valid && s_req_i.b_ready);
    end
  end

  gw_fifo #(
    .T    (port_b_t),
    .Depth(Writes)
  ) u_b (
    .clk_i,
    .rst_ni,
    .in_valid_i (m_rsp_i.b_valid),
    .in_ready_o (b_room),
    .in_data_i  (m_rsp_i.b),
    .out_valid_o(b_valid),
    .out_ready_i(s_req_i.b_ready),
    .out_data_o (b),
    .usage_o    ()
  );

  assign s_rsp_o = '{
    aw_ready: aw_ready,
    w_ready: w_room,
    b: b,
    b_valid: b_valid,
    ar_ready: ar_ready,
    r: r,
    r_valid: r_valid
  };
  assign m_req_o = '{
    aw: aw,
    aw_valid: aw_waits && aw_may,
    w: w,
    w_valid: w_goes,
    b_ready: 1'b1,
    ar: ar,
    ar_valid: ar_waits && ar_fits,
    r_ready: 1'b1
  };

  `GW_INVARIANT(RoomForRead_A, r_room || !m_rsp_i.r_valid)
  `GW_INVARIANT(RoomForAnswer_A, b_room || !m_rsp_i.b_valid)
  `GW_INVARIANT(RoomBound_A, 32'(room_q) <= Beats && 32'(b_left_q) <= Writes)
  `GW_COVER(ReadWaits_C, ar_waits && !ar_fits)
  `GW_COVER(WriteWaits_C, aw_waits && whole_q == '0)
  `GW_COVER(DataFirst_C, whole_q != '0 && !aw_waits)
  `GW_COVER(AnswersFull_C, aw_waits && b_left_q == '0)

endmodule
