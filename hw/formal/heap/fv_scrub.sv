// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_scrub, for any answers of gw_frames and memory:
//  - a group is given only after it was taken as dirty, as that group, when every write of it was acknowledged and none was refused;
//  - addresses are those of the group, each burst once and in order; data never come before their address;
//  - held_o says of what is in its hand which order it has, until it is given;
//  - a burst is begun in a cycle of `room_i` or `lack_i` only;
//  - a region that may have dirty frames is asked again until a single one was refused.
module fv_scrub (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       dirty_i,
  input logic       lack_i,
  input logic [1:0] wanted_i,
  input logic       room_i,
  input logic       cmd_ready_i,
  input logic       rsp_valid_i,
  input logic       rsp_ok_i,
  input logic [2:0] rsp_frame_i,
  input logic       aw_ready_i,
  input logic       w_ready_i,
  input logic       b_valid_i,
  input logic       b_bad_i
);

  import gw_pkg::*;
  import gw_axi_pkg::*;

  localparam int unsigned BigOrder = 1;
  localparam group_orders_t Orders = 10'h003;
  localparam int unsigned FrameBursts = 4;  // of 16 words

  frames_cmd_t cmd;
  bitmap_req_t req;
  bitmap_rsp_t rsp;
  logic cmd_valid, busy, done, broken;
  group_order_t order;
  group_orders_t held;
  always_comb begin
    rsp = '0;
    rsp.aw_ready = aw_ready_i;
    rsp.w_ready = w_ready_i;
    rsp.b_valid = b_valid_i;
    rsp.b.resp = b_bad_i ? RespSlvErr : RespOkay;
  end

  gw_scrub #(
    .Regions (1),
    .BigOrder(BigOrder),
    .Orders  (Orders),
    .Beats   (16),
    .Bursts  (2)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .dirty_i,
    .lack_i,
    .wanted_i     (group_orders_t'(wanted_i)),
    .room_i,
    .cmd_valid_o  (cmd_valid),
    .cmd_ready_i,
    .cmd_o        (cmd),
    .rsp_valid_i,
    .rsp_i        ('{ok: rsp_ok_i, frame: ppn_t'({rsp_frame_i, 1'b0})}),
    .m_req_o      (req),
    .m_rsp_i      (rsp),
    .busy_o       (busy),
    .held_o       (held),
    .event_o      (done),
    .event_order_o(order),
    .broken_o     (broken)
  );

  logic past_valid_q = 1'b0;
  logic asked_q, give_q, held_q, bad_q, could_q, offered_q, owed_q;
  ppn_t frame_q;
  group_order_t order_q;
  logic [3:0] aw_q, w_q, b_q;
  logic aw, w, b;
  assign aw = req.aw_valid && aw_ready_i;
  assign w = req.w_valid && w_ready_i && req.w.last;
  assign b = b_valid_i && req.b_ready;
  always_comb begin
    assume (rst_ni == past_valid_q);
    assume (!rsp_valid_i || asked_q);
    // A group is aligned; one of a single frame is any.
    assume (!b_valid_i || b_q != w_q);
  end
  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    could_q <= room_i || lack_i;
    offered_q <= rst_ni && req.aw_valid && !aw_ready_i;
    if (!rst_ni) begin
      asked_q <= 1'b0;
      held_q <= 1'b0;
      owed_q <= 1'b0;
      {aw_q, w_q, b_q} <= '0;
    end else begin
      asked_q <= (cmd_valid && cmd_ready_i) || (asked_q && !rsp_valid_i);
      if (cmd_valid && cmd_ready_i) begin
        give_q <= cmd.give;
        order_q <= cmd.order;
        if (cmd.give) held_q <= 1'b0;
      end
      if (asked_q && rsp_valid_i && !give_q && rsp_ok_i) begin
        held_q <= 1'b1;
        frame_q <= ppn_t'({rsp_frame_i, 1'b0});
        {aw_q, w_q, b_q} <= '0;
        bad_q <= 1'b0;
      end
      if (aw) aw_q <= aw_q + 1'b1;
      if (w) w_q <= w_q + 1'b1;
      if (b) b_q <= b_q + 1'b1;
      if (b && b_bad_i) bad_q <= 1'b1;
      owed_q <= dirty_i || (owed_q && !(cmd_valid && cmd_ready_i && !cmd.give && cmd.order == '0));
    end
  end

  logic [3:0] bursts;
  assign bursts = 4'(FrameBursts << order_q);
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (cmd_valid && cmd.give) begin
        GivesWhatItTook_A : assert (held_q && cmd.frame == frame_q && cmd.order == order_q && !cmd.dirty);
        AllCleared_A : assert (b_q == bursts && w_q == bursts && aw_q == bursts && !bad_q);
      end
      if (cmd_valid && !cmd.give) TakesDirty_A : assert (cmd.dirty && Orders[cmd.order]);
      if (held_q) Held_A : assert (bad_q || held == orders_to(order_q));
      if (req.aw_valid) begin
        ItsOwn_A : assert (held_q && aw_q < bursts && req.aw.addr == (64'(frame_q) << 12) + (64'(aw_q) << 10));
        Room_A : assert (could_q || offered_q);
      end
      DataBehindAddress_A : assert (!req.w_valid || w_q < aw_q);
      Forgotten_A : assert (!owed_q || cmd_valid || asked_q || held_q || u_dut.pending_q != '0);
      Cleared_C : cover (done);
    end
  end

endmodule
