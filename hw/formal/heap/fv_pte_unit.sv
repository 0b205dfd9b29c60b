// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_pte_unit with two clients, groups of two entries, and a memory that has one exclusive monitor, refuses now and
// then, and that others write to at any time. One entry is followed.
//  - It changes only by the others' writes, and by a command from exactly what that expected to what it wanted: nobody's write is undone.
//  - Stored is told if and only if the command's write is in memory, so of two that fill an empty entry one is told Stored.
//  - A group is written if both of its entries were 0, and then both are; of others' entries nothing is written.
//  - Changed or Denied: the command wrote nothing. Changed with the expected value in `found`: somebody wrote in between.
//  - Each command is answered once, to its client.
module fv_pte_unit (
  input logic            clk_i,
  input logic            rst_ni,
  input logic [1:0]      valid_i,
  input logic [1:0]      group_i,
  input logic [1:0]      entry_i,
  input logic [1:0][1:0] expected_i,
  input logic [1:0][1:0] wanted_i,
  input logic            ar_ready_i,
  input logic            r_go_i,
  input logic            aw_ready_i,
  input logic            w_ready_i,
  input logic            commit_i,
  input logic            b_go_i,
  input logic            refuse_i,
  input logic            other_write_i,
  input logic [1:0]      other_data_i,
  input logic            other_place_i,
  /// What is read of the entry that is not followed.
  input logic [1:0]      away_i
);

  import gw_pkg::*;
  import gw_axi_pkg::*;

  localparam int unsigned EntryWidth = PaWidth - 3;
  logic past_valid_q = 1'b0;
  logic [1:0] ready, rsp_valid, waits_q, pending_q, entry_wait_q, group_wait_q;
  logic [1:0][1:0] expected_wait_q, wanted_wait_q;
  pte_result_e result;
  logic [63:0] found;
  pt_req_t req;
  pt_rsp_t rsp;

  gw_pte_unit #(
    .Clients (2),
    .Together(2)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .cmd_valid_i   (valid_i),
    .cmd_ready_o   (ready),
    .cmd_group_i   (group_i),
    .cmd_entry_i   ({EntryWidth'(entry_i[1]), EntryWidth'(entry_i[0])}),
    .cmd_expected_i({64'(expected_i[1]), 64'(expected_i[0])}),
    .cmd_wanted_i  ({64'(wanted_i[1]), 64'(wanted_i[0])}),
    .rsp_valid_o   (rsp_valid),
    .rsp_result_o  (result),
    .found_o       (found),
    .m_req_o       (req),
    .m_rsp_i       (rsp)
  );

  // The command under way.
  logic who_q, here_q, there_q, wrote_q;
  logic [1:0] was_expected_q, was_wanted_q;

  // Memory.
  logic [1:0] memory_q, data_q, away_q, found_all, write_q, write_away_q;
  logic reading_q, aw_q, w_q, answering_q, reserved_q, okay_q, refused_read_q, refused_write_q;
  logic commit, success, write_here, write_there, disturbed;
  assign write_here = other_write_i && !other_place_i;
  assign write_there = other_write_i && other_place_i;
  assign commit = aw_q && w_q && commit_i;
  assign success = commit && reserved_q && !refuse_i && !disturbed;
  assign disturbed = (here_q && write_here) || (there_q && write_there);
  assign found_all = (here_q ? data_q : '0) | (there_q ? away_q : '0);

  always_comb begin
    rsp = '0;
    rsp.ar_ready = ar_ready_i;
    rsp.aw_ready = aw_ready_i;
    rsp.w_ready = w_ready_i;
    rsp.r_valid = reading_q && r_go_i;
    rsp.r.data = {4{62'd0, away_q, 62'd0, data_q}};
    rsp.r.resp = refused_read_q ? RespOkay : RespExOkay;
    rsp.r.last = 1'b1;
    rsp.b_valid = answering_q && b_go_i;
    rsp.b.resp = okay_q ? RespExOkay : refused_write_q ? RespSlvErr : RespOkay;
  end

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    waits_q <= rst_ni ? valid_i & ~ready : '0;
    entry_wait_q <= entry_i;
    group_wait_q <= group_i;
    expected_wait_q <= expected_i;
    wanted_wait_q <= wanted_i;
    for (int unsigned c = 0; c < 2; c++) begin
      pending_q[c] <= rst_ni && ((valid_i[c] && ready[c]) || (pending_q[c] && !rsp_valid[c]));
      if (valid_i[c] && ready[c]) begin
        who_q <= 1'(c);
        here_q <= entry_i[c] == 1'b0 || group_i[c];
        there_q <= entry_i[c] == 1'b1 || group_i[c];
        was_expected_q <= expected_i[c];
        was_wanted_q <= wanted_i[c];
      end
    end
    wrote_q <= rst_ni && (success || (wrote_q && rsp_valid == '0));

    reading_q <= rst_ni && ((req.ar_valid && ar_ready_i) || (reading_q && !r_go_i));
    if (req.ar_valid && ar_ready_i) begin
      data_q <= write_here ? other_data_i : memory_q;
      away_q <= away_i;
      refused_read_q <= refuse_i;
    end
    reserved_q <= rst_ni && ((req.ar_valid && ar_ready_i) || (reserved_q && !commit && !disturbed));
    aw_q <= rst_ni && ((req.aw_valid && aw_ready_i) || (aw_q && !commit));
    w_q <= rst_ni && ((req.w_valid && w_ready_i) || (w_q && !commit));
    if (req.w_valid && w_ready_i) begin
      write_q <= req.w.data[1:0];
      write_away_q <= req.w.data[65:64];
    end
    answering_q <= rst_ni && (commit || (answering_q && !b_go_i));
    if (commit) begin
      okay_q <= success;
      refused_write_q <= refuse_i;
    end
    if (write_here) memory_q <= other_data_i;
    else if (success && here_q) memory_q <= write_q;
  end

  always_comb begin
    assume (rst_ni == past_valid_q);
    for (int unsigned c = 0; c < 2; c++) begin
      if (waits_q[c]) begin
        assume (valid_i[c] && entry_i[c] == entry_wait_q[c] && group_i[c] == group_wait_q[c]);
        assume (expected_i[c] == expected_wait_q[c] && wanted_i[c] == wanted_wait_q[c]);
      end
      assume (!group_i[c] || expected_i[c] == '0);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      FromExpected_A : assert (!(success && here_q) || memory_q == was_expected_q);
      ToWanted_A : assert (!success || ((!here_q || write_q == was_wanted_q) && (!there_q || write_away_q == was_wanted_q)));
      ItsEntries_A : assert (!req.w_valid || req.w.strb == {48'd0, {8{there_q}}, {8{here_q}}});
      OneAtATime_A : assert (pending_q != 2'b11 && rsp_valid != 2'b11);
      ItsClient_A : assert ((rsp_valid & ~pending_q) == '0 && (rsp_valid == '0 || rsp_valid[who_q]));
      StoredIsStored_A : assert (rsp_valid == '0 || (result == PteStored) == wrote_q);
      FoundSays_A : assert (!(rsp_valid != '0 && result == PteStored) || found == 64'(was_expected_q));
      NoWriteAfter_A : assert (!(req.aw_valid || req.w_valid) || found_all == was_expected_q);
      Stored_C : cover (rsp_valid != '0 && result == PteStored && here_q);
      Group_C : cover (rsp_valid != '0 && result == PteStored && here_q && there_q);
      Changed_C : cover (rsp_valid != '0 && result == PteChanged && found == 64'(was_expected_q));
      Denied_C : cover (rsp_valid[1] && result == PteDenied);
    end
  end

endmodule
