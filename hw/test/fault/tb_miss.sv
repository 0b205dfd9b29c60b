// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// gw_miss with plain pins for cocotb.
module tb_miss #(
  parameter int unsigned Depth = 4,
  parameter int unsigned Pages = 8,
  parameter bit Touch = 1'b1
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [3:0]  asks_i,
  input  logic        end_valid_i,
  input  logic [7:0]  end_ctx_i,
  input  logic        inval_i,
  input  logic        walk_valid_i,
  input  logic [13:0] walk_id_i,
  input  logic [7:0]  walk_ctx_i,
  input  logic [44:0] walk_vpn_i,
  input  logic        walk_fault_i,
  input  logic [43:0] walk_ppn_i,
  input  logic [1:0]  walk_why_i,
  input  logic        walk_write_i,
  input  logic [2:0]  walk_level_i,
  input  logic [52:0] walk_entry_i,
  output logic        hold_o,
  output logic        rsp_valid_o,
  output logic [13:0] rsp_id_o,
  output logic [7:0]  rsp_ctx_o,
  output logic [44:0] rsp_vpn_o,
  output logic [43:0] rsp_ppn_o,
  output logic        rsp_cacheable_o,
  output logic        rsp_fault_o,
  output logic [11:0] rsp_cause_o,
  output logic        rsp_parked_o,
  output logic [6:0]  rsp_park_o,
  output logic        fault_valid_o,
  input  logic        fault_ready_i,
  output logic [67:0] fault_req_o,  // {src, tag, ctx, vpn, write}
  input  logic        fault_ans_valid_i,
  output logic        fault_ans_ready_o,
  input  logic        fault_ans_parked_i,
  input  logic [6:0]  fault_ans_park_i,
  input  logic        fault_wake_valid_i,
  input  logic        fault_wake_ok_i,
  input  logic [6:0]  fault_wake_park_i,
  output logic        fault_wake_ready_o,
  output logic        touch_valid_o,
  input  logic        touch_ready_i,
  output logic [67:0] touch_req_o,
  output logic [55:0] touch_where_o,  // {level, entry}
  input  logic        touch_ans_valid_i,
  output logic        touch_ans_ready_o,
  input  logic [43:0] touch_ans_ppn_i,
  input  logic        touch_ans_fault_i,
  input  logic        touch_ans_parked_i,
  input  logic [6:0]  touch_ans_park_i,
  input  logic        touch_wake_valid_i,
  input  logic        touch_wake_ok_i,
  input  logic [6:0]  touch_wake_park_i,
  output logic        touch_wake_ready_o,
  input  logic        settle_i,
  output logic        settled_o,
  output logic        wake_valid_o,
  output logic        wake_ok_o,
  output logic [6:0]  wake_park_o,
  output logic        event_parked_o,
  output logic        event_no_room_o,
  output logic [13:0] event_of_o
);

  gw_pkg::xlate_rsp_t walk, rsp, touch;
  gw_pkg::miss_t miss, where;
  gw_pkg::wake_t wake;
  always_comb begin
    walk = '0;
    {walk.src, walk.tag} = walk_id_i;
    walk.ctx = walk_ctx_i;
    walk.vpn = walk_vpn_i;
    walk.ppn = walk_ppn_i;
    walk.fault = walk_fault_i;
    walk.cacheable = !walk_fault_i;
    walk.cause = walk_write_i ? 12'd15 : 12'd13;
    touch = '0;
    touch.ppn = touch_ans_ppn_i;
    touch.fault = touch_ans_fault_i;
    touch.cause = 12'd77;
    touch.parked = touch_ans_parked_i;
    touch.park = touch_ans_park_i;
    touch.cacheable = !touch_ans_fault_i && !touch_ans_parked_i;
    miss.why = gw_pkg::miss_why_e'(walk_why_i);
    miss.asks = asks_i[walk_ctx_i[1:0]];
    miss.write = walk_write_i;
    miss.level = walk_level_i;
    miss.entry = walk_entry_i;
  end
  assign rsp_id_o = {rsp.src, rsp.tag};
  assign rsp_ctx_o = rsp.ctx;
  assign rsp_vpn_o = rsp.vpn;
  assign rsp_ppn_o = rsp.ppn;
  assign rsp_cacheable_o = rsp.cacheable;
  assign rsp_fault_o = rsp.fault;
  assign rsp_cause_o = rsp.cause;
  assign rsp_parked_o = rsp.parked;
  assign rsp_park_o = rsp.park;
  assign touch_where_o = {where.level, where.entry};
  assign {wake_valid_o, wake_ok_o, wake_park_o} = wake;

  gw_miss #(
    .Depth      (Depth),
    .Pages      (Pages),
    .NumContexts(4),
    .Touch      (Touch),
    .HeapFirst  (45'h1000),
    .HeapLast   (45'h1fff),
    .SoonCycles (40),
    .RetryCycles(400)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .asks_i,
    .end_i             ('{valid: end_valid_i, ctx: end_ctx_i}),
    .inval_valid_i     (inval_i),
    .walk_valid_i,
    .walk_rsp_i        (walk),
    .walk_miss_i       (miss),
    .hold_o,
    .rsp_valid_o,
    .rsp_o             (rsp),
    .fault_valid_o,
    .fault_ready_i,
    .fault_req_o,
    .fault_ans_valid_i,
    .fault_ans_ready_o,
    .fault_ans_parked_i,
    .fault_ans_park_i,
    .fault_wake_i      ('{valid: fault_wake_valid_i, ok: fault_wake_ok_i, park: fault_wake_park_i}),
    .fault_wake_ready_o,
    .touch_valid_o,
    .touch_ready_i,
    .touch_req_o,
    .touch_miss_o      (where),
    .touch_ans_valid_i,
    .touch_ans_ready_o,
    .touch_ans_i       (touch),
    .touch_wake_i      ('{valid: touch_wake_valid_i, ok: touch_wake_ok_i, park: touch_wake_park_i}),
    .touch_wake_ready_o,
    .settle_i,
    .settled_o,
    .wake_o            (wake),
    .event_parked_o,
    .event_no_room_o,
    .event_of_o
  );

  logic unused;
  assign unused = ^{rsp.order, rsp.cluster, rsp.perm, rsp.is_global, where.why, where.asks, where.write};

endmodule
