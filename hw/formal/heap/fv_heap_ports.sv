// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_heap_stream and gw_heap_commands together: a kernel (port 0) and the host (port 1) that keep what they offer, a
// gw_slots that answers each command once, and a binding of the kernel's port that may change in any cycle:
// - a kernel's command reaches gw_slots as it was, in the context that its port had when it was taken, once at most; an offer is stable;
// - it is offered only while the port is bound to that context: nothing is begun for a port that was taken away before;
// - it is answered once, with the answer of gw_slots to it, or with HeapArgument when gw_slots never had it;
// - an answer stays as it is until it is taken, and none comes unasked; the host's commands are answered once likewise.
module fv_heap_ports (
  input logic              clk_i,
  input logic              rst_ni,
  input gw_pkg::port_cfg_t port_i,
  input logic              cmd_valid_i,
  input logic [191:0]      cmd_i,
  input logic              rsp_ready_i,
  input logic              host_valid_i,
  input gw_pkg::heap_cmd_t host_cmd_i,
  input logic              host_rsp_ready_i,
  input logic              slots_ready_i,
  input logic              slots_rsp_valid_i,
  input gw_pkg::heap_rsp_t slots_rsp_i
);

  import gw_pkg::*;

  logic cmd_ready, rsp_valid, bound, valid, ready, answer, answer_ready;
  logic host_ready, host_rsp_valid, slots_valid, slots_rsp_ready;
  logic [127:0] rsp;
  heap_cmd_t cmd, slots_cmd;
  heap_rsp_t [1:0] answers;
  gw_heap_stream u_stream (
    .clk_i,
    .rst_ni,
    .port_i,
    .cmd_valid_i,
    .cmd_ready_o     (cmd_ready),
    .cmd_i,
    .rsp_valid_o     (rsp_valid),
    .rsp_ready_i,
    .rsp_o           (rsp),
    .bound_o         (bound),
    .heap_valid_o    (valid),
    .heap_ready_i    (ready),
    .heap_cmd_o      (cmd),
    .heap_rsp_valid_i(answer),
    .heap_rsp_ready_o(answer_ready),
    .heap_rsp_i      (answers[0])
  );
  gw_heap_commands #(
    .NumPorts(2)
  ) u_commands (
    .clk_i,
    .rst_ni,
    .bound_i          ({1'b1, bound}),
    .cmd_valid_i      ({host_valid_i, valid}),
    .cmd_ready_o      ({host_ready, ready}),
    .cmd_i            ({host_cmd_i, cmd}),
    .rsp_valid_o      ({host_rsp_valid, answer}),
    .rsp_ready_i      ({host_rsp_ready_i, answer_ready}),
    .rsp_o            (answers),
    .slots_valid_o    (slots_valid),
    .slots_ready_i,
    .slots_cmd_o      (slots_cmd),
    .slots_rsp_valid_i,
    .slots_rsp_ready_o(slots_rsp_ready),
    .slots_rsp_i
  );

  // The environment. The host's commands are told from a kernel's by the highest bit of the region.
  logic past_valid_q = 1'b0;
  logic cmd_waits_q, host_waits_q, under_way_q, of_kernel, taken, given;
  logic [191:0] cmd_q;
  heap_cmd_t host_q;
  assign taken = cmd_valid_i && cmd_ready;
  assign of_kernel = slots_valid && !slots_cmd.region[2];
  assign given = slots_valid && slots_ready_i;
  always_comb begin
    assume (rst_ni == past_valid_q);
    assume (host_cmd_i.region[2]);
    assume (!cmd_i[146]);
    if (cmd_waits_q) assume (cmd_valid_i && cmd_i == cmd_q);
    if (host_waits_q) assume (host_valid_i && host_cmd_i == host_q);
    if (!under_way_q) assume (!slots_rsp_valid_i);
  end

  // What the kernel has under way: taken, offered to gw_slots, given to it, answered by it.
  logic asked_q, offered_q, given_q, told_q, kept_q;
  logic [1:0] host_owed_q;
  heap_cmd_t expected_q, slots_cmd_q;
  heap_rsp_t told_rsp_q;
  logic [127:0] rsp_q;
  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    cmd_waits_q <= rst_ni && cmd_valid_i && !cmd_ready;
    host_waits_q <= rst_ni && host_valid_i && !host_ready;
    cmd_q <= cmd_i;
    host_q <= host_cmd_i;
    under_way_q <= rst_ni && (given || (under_way_q && !slots_rsp_valid_i));
    offered_q <= rst_ni && slots_valid && !slots_ready_i;
    slots_cmd_q <= slots_cmd;
    kept_q <= rst_ni && rsp_valid && !rsp_ready_i;
    rsp_q <= rsp;
    asked_q <= rst_ni && (taken || (asked_q && !(rsp_valid && rsp_ready_i)));
    if (taken) begin
      expected_q <= '{
        op: heap_op_e'(cmd_i[129:128]),
        ctx: port_i.ctx,
        pointer: cmd_i[63:0],
        size: cmd_i[127:64],
        region: cmd_i[146:144],
        granule: cmd_i[135:132],
        write: cmd_i[130],
        compact: cmd_i[131]
      };
    end
    given_q <= rst_ni && !taken && ((given && of_kernel) || given_q);
    told_q <= rst_ni && !taken && ((slots_rsp_valid_i && given_q) || told_q);
    if (slots_rsp_valid_i && given_q && !told_q) told_rsp_q <= slots_rsp_i;
    host_owed_q <= rst_ni ? host_owed_q + 2'(host_valid_i && host_ready) - 2'(host_rsp_valid && host_rsp_ready_i) : '0;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (of_kernel) AsItWas_A : assert (asked_q && slots_cmd == expected_q);
      if (of_kernel) Once_A : assert (!given_q);
      if (of_kernel && !offered_q) OnlyBound_A : assert (port_i.mode == PortTranslate && port_i.ctx == expected_q.ctx);
      if (offered_q) Stable_A : assert (slots_valid && slots_cmd == slots_cmd_q);
      if (slots_valid) OneAtATime_A : assert (!under_way_q);
      if (rsp_valid) Asked_A : assert (asked_q);
      if (rsp_valid && given_q) Answer_A : assert (told_q && rsp == {60'd0, told_rsp_q.status, told_rsp_q.pointer});
      if (rsp_valid && !given_q) Refused_A : assert (rsp[67:64] == gw_spec_pkg::HeapArgument);
      if (kept_q) Stays_A : assert (rsp_valid && rsp == rsp_q);
      if (host_rsp_valid) HostAsked_A : assert (host_owed_q != '0);
      Takes_A : assert (slots_rsp_ready);
      Refused_C : cover (rsp_valid && !given_q);
      LostWhileOffered_C : cover (of_kernel && offered_q && !bound && slots_ready_i);
      Turns_C : cover (given_q && under_way_q && host_waits_q);
      Answered_C : cover (rsp_valid && rsp_ready_i && told_q);
    end
  end

endmodule
