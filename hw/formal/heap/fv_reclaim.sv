// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_reclaim, for any tables, answers and delays of its neighbours:
//  - an entry is changed only from what is there to 0, while a job is under way and after it settled, and the entry is of a page of the job;
//  - a frame or table is given back only when, since the last entry was cleared, an invalidation of the job's context that names all
//    pages that were cleared, then the end of a fence, and then of a settling, came; and never more of them than entries were cleared (none is a table here);
//  - a frame that no entry leads to is never given;
//  - a job ends once, with nothing asked of anybody, and nothing that was cleared not yet given.
// Sv39, a small slot; the entries of its tables are any. Neighbours take what they are asked at once, and answer at any time.
module fv_reclaim (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        job_valid_i,
  input logic [1:0]  granule_i,
  input logic [3:0]  from_i,
  input logic        settle_done_i,
  input logic        inval_ready_i,
  input logic        fence_done_i,
  input logic        pte_ready_i,
  input logic        pte_done_i,
  input logic [1:0]  result_i,
  input logic [2:0]  found_i,
  input logic        cmd_ready_i,
  input logic        rsp_valid_i,
  input logic        rsp_ok_i,
  input logic        ar_ready_i,
  input logic        r_valid_i,
  input logic        r_bad_i,
  input logic [7:0][2:0] r_i
);

  import gw_pkg::*;
  import gw_axi_pkg::*;
  import gw_spec_pkg::*;

  localparam ppn_t Root = 44'h77;
  localparam vpn_t First = 45'h2000;  // a small slot of 16 pages

  localparam group_orders_t Orders = 10'h013;

  // An entry: 0, a table, a page, one of a group of 2 or 16, something else; frames and tables 0x10 to 0x1f.
  function automatic logic [63:0] entry_of(logic [2:0] what);
    logic [63:0] entry;
    entry = 64'h10 << PtePpnLsb;
    entry[PtePpnLsb] = what[0];
    entry[PteV] = 1'b1;
    unique case (what)
      3'd0, 3'd1: return '0;
      3'd2, 3'd3: return entry;
      3'd4: entry[PteR] = 1'b1;
      3'd5: begin
        entry[PteR] = 1'b1;
        entry[PteN] = 1'b1;
      end
      3'd6: begin
        entry[PteR] = 1'b1;
        entry[PteN] = 1'b1;
        entry[PtePpnLsb +: 4] = 4'd8;
      end
      default: entry[PteV] = 1'b0;
    endcase
    return entry;
  endfunction

  heap_job_t job;
  inval_t inval;
  frames_cmd_t cmd;
  bitmap_req_t req;
  bitmap_rsp_t rsp;
  logic ready, done, settle, inval_valid, fence, pte_valid, cmd_valid, busy, given, broken;
  ctx_id_t ctx_id;
  ctx_t ctx;
  group_order_t order;
  logic [52:0] entry;
  logic [63:0] expected, wanted;

  always_comb begin
    job = '0;
    job.ctx = ctx_id_t'(3);
    job.granule = group_order_t'({granule_i, 1'b0});
    job.first = First;
    job.from = vpn_t'(from_i);
    job.to = vpn_t'(16);
    ctx = '0;
    ctx.mode = 4'd8;
    ctx.root = Root;
    rsp = '0;
    rsp.ar_ready = ar_ready_i;
    rsp.r_valid = r_valid_i;
    rsp.r.resp = r_bad_i ? RespSlvErr : RespOkay;
    for (int unsigned i = 0; i < 8; i++) rsp.r.data[64*i +: 64] = entry_of(r_i[i]);
  end

  gw_reclaim #(
    .Levels(3),
    .Orders(Orders)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .job_valid_i,
    .job_ready_o   (ready),
    .job_i         (job),
    .job_done_o    (done),
    .ctx_id_o      (ctx_id),
    .ctx_i         (ctx),
    .settle_o      (settle),
    .settle_done_i,
    .inval_valid_o (inval_valid),
    .inval_ready_i,
    .inval_o       (inval),
    .fence_o       (fence),
    .fence_done_i,
    .pte_valid_o   (pte_valid),
    .pte_ready_i,
    .pte_entry_o   (entry),
    .pte_expected_o(expected),
    .pte_wanted_o  (wanted),
    .pte_done_i,
    .pte_result_i  (pte_result_e'(result_i)),
    .pte_found_i   (entry_of(found_i)),
    .cmd_valid_o   (cmd_valid),
    .cmd_ready_i,
    .cmd_o         (cmd),
    .rsp_valid_i,
    .rsp_i         ('{ok: rsp_ok_i, frame: '0}),
    .m_req_o       (req),
    .m_rsp_i       (rsp),
    .busy_o        (busy),
    .event_o       (given),
    .event_order_o (order),
    .broken_o      (broken)
  );

  logic past_valid_q = 1'b0;
  logic reading_q, changing_q, giving_q, settled_q, named_q, fenced_q, safe_q, some_q;
  logic [5:0] cleared_q, given_q;  // entries, and what was given
  logic [3:0] lowest_q;            // page of the lowest entry that was cleared since the last invalidation
  logic [15:0] pages_q;
  logic [63:0] expected_q;
  logic [3:0] page, page_q;
  logic [4:0] from_q;
  assign page = entry[3:0];
  logic stored;
  assign stored = pte_done_i && result_i == 2'd0;

  always_comb begin
    assume (rst_ni == past_valid_q);
    assume (!settle_done_i || settle);
    assume (!fence_done_i || fence);
    assume (!r_valid_i || reading_q);
    assume (!pte_done_i || changing_q);
    assume (!rsp_valid_i || giving_q);
    assume (result_i != 2'd3);
    // What is asked is taken at once; answers come at any time.
    assume (ar_ready_i && pte_ready_i && cmd_ready_i && inval_ready_i);
    assume (!(pte_done_i && result_i == 2'd0) || entry_of(found_i) == expected_q);
  end

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    if (!rst_ni) begin
      {reading_q, changing_q, giving_q, settled_q, named_q, fenced_q, safe_q, some_q} <= '0;
      {cleared_q, given_q} <= '0;
      pages_q <= '0;
    end else begin
      reading_q <= (req.ar_valid && ar_ready_i) || (reading_q && !r_valid_i);
      changing_q <= (pte_valid && pte_ready_i) || (changing_q && !pte_done_i);
      giving_q <= (cmd_valid && cmd_ready_i) || (giving_q && !rsp_valid_i);
      if (job_valid_i && ready) begin
        // Rounded up to groups of 16, or of 2.
        if (granule_i >= 2'd2) from_q <= (from_i == '0) ? 5'd0 : 5'd16;
        else from_q <= (granule_i == 2'd1) ? (5'(from_i) + 5'd1) & ~5'd1 : 5'(from_i);
        settled_q <= 1'b0;
        {cleared_q, given_q} <= '0;
      end
      if (settle_done_i) settled_q <= 1'b1;
      if (pte_valid && pte_ready_i) begin
        expected_q <= expected;
        page_q <= page;
      end
      // What stands between clearing and giving.
      if (stored) begin
        {named_q, fenced_q, safe_q} <= '0;
        some_q <= 1'b1;
        cleared_q <= cleared_q + 1'b1;
        lowest_q <= (some_q && lowest_q < page_q) ? lowest_q : page_q;
      end else begin
        if (inval_valid && inval_ready_i) begin
          named_q <= inval.scope == InvalRange && inval.ctx == job.ctx && inval.vpn <= First + vpn_t'(lowest_q) &&
              inval.vpn + (vpn_t'(1) << inval.order) >= First + vpn_t'(16);
          fenced_q <= 1'b0;
        end
        if (fence_done_i) fenced_q <= named_q;
        if (settle_done_i) safe_q <= fenced_q;
      end
      if (cmd_valid && cmd_ready_i) given_q <= given_q + 1'b1;
      if (ready) some_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (pte_valid) begin
        ClearsWhatIsThere_A : assert (expected != '0 && wanted == '0 && settled_q && !ready);
        InTheJob_A : assert (5'(page) >= from_q && entry[8:4] == '0);
      end
      if (cmd_valid) begin
        Safe_A : assert (safe_q && cmd.give && cmd.dirty && !changing_q && !pte_valid);
        NotMore_A : assert (given_q < cleared_q);
        LedTo_A : assert (cmd.frame[PpnWidth-1:1] == 43'h8 && Orders[cmd.order] && (cmd.order == '0 || !cmd.frame[0]));
      end
      if (done) begin
        Quiet_A : assert (!reading_q && !changing_q && !giving_q && !cmd_valid && !pte_valid);
        AllGiven_A : assert (u_dut.usage == '0 && (!some_q || safe_q));
      end
      Asks_A : assert (!(ready && (req.ar_valid || settle || fence || inval_valid)));
      GroupGiven_C : cover (cmd_valid && cmd.order == group_order_t'(1));
      Given_C : cover (done && given_q == 6'd1 && !broken);
    end
  end

endmodule
