// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Properties of gw_touch, for any requests, stock, and answers of gw_slots and gw_pte_unit:
//  - each request is answered once, what it asked for unchanged, within `Limit` cycles beside what the two looks take;
//  - a frame leaves the stock only for an answer that gives it, to a write that is allowed to a page whose entry was read as 0 since the
//    request was accepted; that answer gives the frame of the group that was taken, and no other takes one;
//  - an entry is filled only from 0 to something valid, only for such an answer, and the entry that the walk ended at last: whatever
//    a link leads to was stored before;
//  - what is inside the page or group given last is answered by that in the next cycle, with no look and no frame, until it is forgotten;
//  - the group's order is not above the granule; 2 MiB only where no table of level 0 is; and where one is, once a granule got less than its
//    order, a group of 16 only if every entry of it was read as 0 since the request was accepted;
//  - a leaf has the frame that was answered; every request that is parked is followed by a wake-up of its number if the stock is full.
module fv_touch #(
  parameter int unsigned Limit = 12
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        valid_i,
  input logic        write_i,
  input logic [8:0]  vpn_i,
  input logic [2:0]  level_i,
  input logic        ans_ready_i,
  input logic        wake_ready_i,
  input logic        end_i,
  input logic        forget_i,
  input logic        look_ready_i,
  input logic        look_done_i,
  input gw_pkg::heap_page_t page_i,
  // Single frames, groups of 16, and of 512.
  input logic [2:0]  stock_valid_i,
  input logic [2:0][3:0] stock_frame_i,
  input logic [1:0]  soon_i,
  input logic        pte_ready_i,
  input logic        pte_done_i,
  input logic [1:0]  result_i,
  input logic        found_i
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  localparam int unsigned Levels = 3;
  localparam logic [52:0] Entry = 53'h123_4560;

  xlate_req_t req;
  xlate_rsp_t ans;
  wake_t wake;
  ppn_t [0:0][GroupOrders-1:0] frame;
  group_orders_t stock_valid, soon, take, lack;
  localparam group_orders_t Orders = 10'h211;
  logic ready, ans_valid, look_valid, pte_valid, pte_group, busy, broken;
  ctx_id_t look_ctx;
  vpn_t look_vpn;
  logic [52:0] entry;
  logic [63:0] expected, wanted;

  always_comb begin
    req = '0;
    req.write = write_i;
    req.vpn = vpn_t'(vpn_i) | vpn_t'('h2_0000);
    req.tag = tag_t'(vpn_i[2:0]);
    frame = '0;
    frame[0][0] = {40'h5, stock_frame_i[0]};
    frame[0][4] = {36'h9, stock_frame_i[1], 4'd0};
    frame[0][9] = {31'h3, stock_frame_i[2], 9'd0};
    stock_valid = {stock_valid_i[2], 4'd0, stock_valid_i[1], 3'd0, stock_valid_i[0]};
    soon = {soon_i[1], 4'd0, soon_i[0], 4'd1};
  end

  gw_touch #(
    .Regions(1),
    .Orders (Orders),
    .Levels (Levels)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .zero_i       ('0),
    .req_valid_i  (valid_i),
    .req_ready_o  (ready),
    .req_i        (req),
    .level_i,
    .entry_i      (Entry | 53'(vpn_i[3:0])),
    .ans_valid_o  (ans_valid),
    .ans_ready_i,
    .ans_o        (ans),
    .wake_o       (wake),
    .wake_ready_i,
    .end_i,
    .forget_i,
    .look_valid_o (look_valid),
    .look_ready_i,
    .look_ctx_o   (look_ctx),
    .look_vpn_o   (look_vpn),
    .look_done_i,
    .look_page_i  (page_i),
    .stock_valid_i(stock_valid),
    .stock_frame_i(frame),
    .stock_take_o (take),
    .soon_i       (soon),
    .lack_o       (lack),
    .pte_valid_o  (pte_valid),
    .pte_ready_i,
    .pte_group_o  (pte_group),
    .pte_entry_o  (entry),
    .pte_expected_o(expected),
    .pte_wanted_o (wanted),
    .pte_done_i,
    .pte_result_i (pte_result_e'(result_i)),
    .pte_found_i  (64'(found_i)),
    .busy_o       (busy),
    .idle_o       (),
    .gives_o      (),
    .lacks_o      (),
    .broken_o     (broken)
  );

  // What is under way, and what is known of it.
  logic past_valid_q = 1'b0;
  logic pending_q, looking_q, changing_q, reads_q, live_q, empty_q, read_q, given_q, linked_q, owed_q;
  xlate_req_t req_q;
  logic [2:0] level_q;
  ppn_t given_frame_q;
  logic [7:0] age_q, wait_q;
  logic [63:0] wanted_q;
  logic group_q;
  logic [52:0] entry_q;
  logic is_leaf;
  logic [52:0] home;
  assign home = Entry | 53'(req_q.vpn[3:0]);
  assign is_leaf = wanted[PteR];

  // Given last; a request inside of it.
  logic last_valid_q, same, same_q, told;
  group_order_t last_order_q, granule_q;
  // Pages inside of a group that are counted here: all of one of 512.
  function automatic ppn_t inner(group_order_t order, vpn_t vpn);
    return ppn_t'(vpn[8:0] & ~(9'h1ff << order));
  endfunction
  // A granule got less than its order; halves of the request's group of 16 that were read as empty.
  logic mixed_q;
  logic [1:0] seen_q;
  group_orders_t full;
  assign full = largest_order(Orders & orders_to(granule_q));
  xlate_req_t last_req_q, same_req_q;
  ppn_t last_frame_q;
  assign same = valid_i && ready && last_valid_q && req.vpn >> last_order_q == last_req_q.vpn >> last_order_q;
  assign told = ans_valid && ans_ready_i;

  always_comb begin
    assume (rst_ni == past_valid_q);
    if (valid_i) assume (level_i < 3'(Levels));
    assume (!look_done_i || looking_q);
    assume (!pte_done_i || changing_q);
    // No entry is all ones.
    if (pte_done_i && reads_q) assume (result_i inside {2'd1, 2'd2});
    assume (result_i != 2'd3);
  end

  always_ff @(posedge clk_i) begin
    past_valid_q <= 1'b1;
    pending_q <= rst_ni && ((valid_i && ready && !same) || (pending_q && !told));
    same_q <= rst_ni && (same || (same_q && !told));
    if (same) same_req_q <= req;
    last_valid_q <= rst_ni && !forget_i && !end_i && (last_valid_q || (told && pending_q && given_q));
    if (told && pending_q && given_q) begin
      last_req_q <= req_q;
      last_order_q <= group_order_t'(ans.order);
      last_frame_q <= given_frame_q;
    end
    looking_q <= rst_ni && ((look_valid && look_ready_i) || (looking_q && !look_done_i));
    changing_q <= rst_ni && ((pte_valid && pte_ready_i) || (changing_q && !pte_done_i));
    if (pte_valid && pte_ready_i) begin
      reads_q <= expected != '0;
      wanted_q <= wanted;
    end
    if (valid_i && ready && !same) begin
      req_q <= req;
      level_q <= level_i;
      live_q <= 1'b0;
      read_q <= 1'b0;
      seen_q <= '0;
      given_q <= 1'b0;
      linked_q <= 1'b0;
    end
    if (look_done_i) begin
      live_q <= page_i.live && (page_i.write || !req_q.write);
      granule_q <= page_i.granule;
    end
    if (pte_done_i && reads_q) begin
      read_q <= 1'b1;
      // The page's own, at first.
      if (!read_q) empty_q <= !found_i && result_i == 2'd1;
      else if (group_q && entry_q[52:4] == home[52:4] && !found_i && result_i == 2'd1) seen_q[entry_q[3]] <= 1'b1;
    end
    mixed_q <= rst_ni && (mixed_q || (told && pending_q && given_q && !full[ans.order[3:0]]));
    if (pte_valid && pte_ready_i) begin
      group_q <= pte_group;
      entry_q <= entry;
    end
    // While none is under way a frame may leave for tables.
    if (pending_q && take != '0) begin
      given_q <= 1'b1;
      given_frame_q <= take[9] ? frame[0][9] : take[4] ? frame[0][4] : frame[0][0];
    end
    if (pte_valid && pte_ready_i && expected == '0) begin
      if (entry == home && level_q != '0) linked_q <= 1'b1;
    end
    age_q <= (rst_ni && pending_q && !ans_valid && !looking_q && !changing_q && !look_valid && !pte_valid) ? age_q + 1'b1 : '0;
    // Parked: owed a wake-up behind it.
    if (!rst_ni) owed_q <= 1'b0;
    else if (ans_valid && ans_ready_i && ans.parked) owed_q <= 1'b1;
    else if (wake.valid && wake_ready_i) owed_q <= 1'b0;
    wait_q <= (rst_ni && owed_q && (&stock_valid_i) && !wake.valid && ready && !valid_i) ? wait_q + 1'b1 : '0;
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      Pending_A : assert (ans_valid ? pending_q != same_q : !same_q);
      Unchanged_A : assert (!ans_valid || same_q || (ans.tag == req_q.tag && ans.vpn == req_q.vpn && ans.ctx == req_q.ctx));
      if (same_q) begin
        SameUnchanged_A : assert (ans.tag == same_req_q.tag && ans.vpn == same_req_q.vpn && ans.ctx == same_req_q.ctx);
        SameFrame_A : assert (!ans.fault && !ans.parked && ans.order == page_order_t'(last_order_q) &&
            ans.ppn == (last_frame_q | inner(last_order_q, same_req_q.vpn)));
      end
      Answered_A : assert (32'(age_q) < Limit);
      TakenIsOffered_A : assert ((take & ~stock_valid) == '0 && (take & (take - 1'b1)) == '0);
      if (pending_q && take != '0) begin
        Order_A : assert ((take & orders_to(granule_q)) != '0 && !(take[9] && level_q == '0));
        Probed_A : assert (!take[4] || level_q != '0 || !(mixed_q || granule_q >= group_order_t'(9)) || (&seen_q));
      end
      TakenForWhoMay_A : assert (take == '0 || (!pending_q && take[0]) || (read_q && empty_q && live_q && req_q.write && !given_q));
      if (ans_valid && !same_q) begin
        OnlyOne_A : assert (!(ans.fault && ans.parked));
        Gives_A : assert (given_q == (ans.cacheable && !ans.fault && !ans.parked));
        ItsFrame_A : assert (!given_q || ans.ppn == (given_frame_q | inner(group_order_t'(ans.order), req_q.vpn)));
        ReadGetsZero_A : assert (ans.fault || ans.parked || req_q.write || (ans.ppn == '0 && !ans.perm.w));
      end
      if (pte_valid && expected == '0) begin
        StoresForGiven_A : assert (given_q && !pending_q && busy && wanted[PteV]);
        LinkLast_A : assert (!linked_q || (entry == home && wanted == wanted_q));
        GroupOfLeaves_A : assert (pte_group == (is_leaf && wanted[PteN]) && (!pte_group || entry[2:0] == '0));
        LeafFrame_A : assert (!is_leaf || wanted[PteN] || ppn_t'(wanted[53:10]) == given_frame_q);
        NapotFrame_A : assert (!is_leaf || !wanted[PteN] || ppn_t'(wanted[53:10]) == (given_frame_q | ppn_t'(8)));
      end
      Woken_A : assert (32'(wait_q) < Limit);
      Given_C : cover (ans_valid && given_q && level_q == 3'd2);
      Big_C : cover (ans_valid && given_q && ans.order == page_order_t'(4));
      Mega_C : cover (ans_valid && given_q && ans.order == page_order_t'(9));
      Probed_C : cover (ans_valid && given_q && (&seen_q));
      Linked_C : cover (linked_q && !busy && level_q == 3'd2);
      Parked_C : cover (ans_valid && ans.parked && !empty_q);
      Same_C : cover (same_q && busy && ans.order != '0);
    end
  end

endmodule
