// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Looks many keys up in a binary search tree at a time: each lane follows one from the root down, a read a node.
//
//   key ──> check pointer ──> read node ──> equal: answer; smaller, larger: left, right ──> check pointer ...
//
// Contract
// - One key a cycle goes to a free lane; answers come in any order. root_i and depth_i are constant while busy_o is high.
// - A pointer that is no multiple of 32, or leads to more than depth_i nodes on one way, is bad: bad_o is high for a cycle,
//   with the pointer, and the lane ends without an answer.
// - Lane l uses AXI ID NumLanes + l. Reads are single beats; data is always taken. node_o: a node came.
// - error_o: a response was an error; its lane ends without an answer. abort_i: no key is taken; lanes end after the
//   access they are at, and those that are done when their answer is taken.
// - Reset: all lanes free.
`include "gw_assert.svh"

module gw_tree_lanes
  import gw_kernel_pkg::*;
  import gw_tree_pkg::*;
#(
  /// log2 of the lanes, 0 to 5.
  parameter int unsigned LaneBits = 3
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        abort_i,
  input  addr_t       root_i,
  /// Nodes on the longest way.
  input  logic [31:0] depth_i,
  output logic        busy_o,
  output logic        error_o,
  output logic        node_o,
  output logic        bad_o,
  output addr_t       bad_addr_o,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  lookup_t     in_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output answer_t     out_o,

  output logic        ar_valid_o,
  input  logic        ar_ready_i,
  output burst_t      ar_o,
  input  logic        r_valid_i,
  input  read_beat_t  r_i
);

  localparam int unsigned NumLanes = 2 ** LaneBits;
  localparam int unsigned IdxWidth = (LaneBits > 0) ? LaneBits : 1;
  localparam int unsigned NodeShift = $clog2(NodeBytes);
  typedef logic [IdxWidth-1:0] lane_t;
  if (LaneBits > 5) begin : gen_bad_lanes
    $fatal(1, "gw_tree_lanes: LaneBits must be 0 to 5; it is %0d", LaneBits);
  end

  typedef enum logic [2:0] {Free, Check, Ask, Wait, Done} state_e;

  state_e [NumLanes-1:0] state_q;
  lookup_t [NumLanes-1:0] lookup_q;
  addr_t [NumLanes-1:0] at_q;           // node that the lane is at
  logic [NumLanes-1:0][31:0] steps_q;   // nodes read on the way
  logic [NumLanes-1:0][63:0] value_q;
  logic [NumLanes-1:0] found_q;

  // ---- Keys to free lanes; who reads; whose answer goes out
  logic [NumLanes-1:0] free, asks, done, bad, read_gnt, out_gnt;
  lane_t free_lane, bad_lane, read_lane, out_lane;
  logic take;

  always_comb begin
    free_lane = '0;
    bad_lane = '0;
    for (int l = NumLanes - 1; l >= 0; l--) begin
      free[l] = state_q[l] == Free;
      asks[l] = state_q[l] == Ask;
      done[l] = state_q[l] == Done;
      bad[l] = state_q[l] == Check && at_q[l] != '0 &&
               (at_q[l][NodeShift-1:0] != '0 || steps_q[l] == depth_i);
      if (free[l]) free_lane = lane_t'(l);
      if (bad[l]) bad_lane = lane_t'(l);
    end
  end

  assign in_ready_o = free != '0 && !abort_i;
  assign take = in_valid_i && in_ready_o;
  assign busy_o = !(&free);
  assign bad_o = bad != '0 && !abort_i;
  assign bad_addr_o = at_q[bad_lane];

  gw_rr_arbiter #(.NumReq(NumLanes)) u_read_arbiter (
    .clk_i, .rst_ni, .req_i(asks), .gnt_o(read_gnt), .idx_o(read_lane), .valid_o(ar_valid_o), .ready_i(ar_ready_i)
  );
  gw_rr_arbiter #(.NumReq(NumLanes)) u_out_arbiter (
    .clk_i, .rst_ni, .req_i(done), .gnt_o(out_gnt), .idx_o(out_lane), .valid_o(out_valid_o), .ready_i(out_ready_i)
  );

  assign ar_o = '{
    id:   id_t'(NumLanes) | id_t'(read_lane),
    addr: {at_q[read_lane][63:BeatShift], {BeatShift{1'b0}}},
    len:  '0
  };
  assign out_o = '{row: lookup_q[out_lane].row, found: found_q[out_lane], value: value_q[out_lane]};

  // ---- What came back
  lane_t r_lane;
  node_t node;
  logic smaller, equal;

  assign r_lane = LaneBits > 0 ? r_i.id[IdxWidth-1:0] : '0;
  assign node = at_q[r_lane][NodeShift] ? r_i.data[8*NodeBytes+:8*NodeBytes] : r_i.data[0+:8*NodeBytes];
  assign equal = node.key == lookup_q[r_lane].key;
  assign smaller = $signed(lookup_q[r_lane].key) < $signed(node.key);
  assign error_o = r_valid_i && r_i.error;
  assign node_o = r_valid_i;

  for (genvar l = 0; l < int'(NumLanes); l++) begin : gen_lane
    logic taken, answered;

    assign taken = take && free_lane == lane_t'(l);
    assign answered = r_valid_i && r_lane == lane_t'(l);

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        state_q[l] <= Free;
      end else begin
        unique case (state_q[l])
          Free: if (taken) state_q[l] <= Check;
          Check: state_q[l] <= abort_i || bad[l] ? Free : at_q[l] == '0 ? Done : Ask;
          Ask: if (read_gnt[l] && ar_ready_i) state_q[l] <= Wait;
          Wait: if (answered) state_q[l] <= abort_i || r_i.error ? Free : equal ? Done : Check;
          Done: if (out_gnt[l] && out_ready_i) state_q[l] <= Free;
          default: state_q[l] <= Free;
        endcase
      end
    end

    always_ff @(posedge clk_i) begin
      if (taken) begin
        lookup_q[l] <= in_i;
        at_q[l] <= root_i;
        steps_q[l] <= '0;
        found_q[l] <= 1'b0;
      end else if (answered) begin
        at_q[l] <= smaller ? node.left : node.right;
        steps_q[l] <= steps_q[l] + 1'b1;
        found_q[l] <= equal;
        value_q[l] <= node.value;
      end
    end

    `GW_INVARIANT(AnswerIsExpected_A, !answered || state_q[l] == Wait)
    `GW_INVARIANT(NeverTooDeep_A, free[l] || steps_q[l] <= depth_i)
  end

  // IDs say more than the lane.
  logic unused;
  assign unused = ^{r_i.id, r_i.last};

  `GW_ASSERT(ArStable_A, ar_valid_o && !ar_ready_i |=> ar_valid_o && $stable(ar_o))
  `GW_ASSERT(AnswerStable_A, out_valid_o && !out_ready_i |=> out_valid_o && $stable(out_o))
  `GW_COVER(AllLanes_C, free == '0)
  `GW_COVER(BadAtOnce_C, NumLanes > 1 && (bad & (bad - 1'b1)) != '0)

endmodule
