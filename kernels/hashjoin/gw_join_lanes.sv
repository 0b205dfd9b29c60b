// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Works on many rows at a time: each lane inserts one row into the hash table, or follows one row's bucket to its matches.
//
//   insert: read head ──> write node (key, old head) ──> write head ──> both answered
//   probe:  read head ──> read node ──> match, when the keys are equal ──> next node ...
//
// Contract
// - One row a cycle goes to a free lane. A row whose bucket a lane is inserting into waits until that is done: no insertion
//   is lost. probe_i changes only while busy_o is low.
// - Lane l uses AXI ID NumLanes + l. All accesses are single beats; read data and responses are always taken.
// - Matches of a row come in the order of its bucket, those of different rows in any order.
// - error_o: a response was an error. abort_i: no row is taken; lanes end after the access or match they are at.
// - Reset: all lanes free.
`include "gw_assert.svh"

module gw_join_lanes
  import gw_kernel_pkg::*;
  import gw_join_pkg::*;
#(
  /// log2 of the lanes, 0 to 5.
  parameter int unsigned LaneBits = 3
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        abort_i,
  /// Rows are looked up; otherwise they are inserted.
  input  logic        probe_i,
  input  addr_t       heads_i,
  input  addr_t       nodes_i,
  output logic        busy_o,
  output logic        error_o,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  entry_t      in_i,
  output logic        pair_valid_o,
  input  logic        pair_ready_i,
  output pair_t       pair_o,

  output logic        ar_valid_o,
  input  logic        ar_ready_i,
  output burst_t      ar_o,
  input  logic        r_valid_i,
  input  read_beat_t  r_i,
  output logic        aw_valid_o,
  input  logic        aw_ready_i,
  output burst_t      aw_o,
  output logic        w_valid_o,
  input  logic        w_ready_i,
  output write_beat_t w_o,
  input  logic        b_valid_i,
  input  write_rsp_t  b_i
);

  localparam int unsigned NumLanes = 2 ** LaneBits;
  localparam int unsigned IdxWidth = (LaneBits > 0) ? LaneBits : 1;
  typedef logic [IdxWidth-1:0] lane_t;
  if (LaneBits > 5) begin : gen_bad_lanes
    $fatal(1, "gw_join_lanes: LaneBits must be 0 to 5; it is %0d", LaneBits);
  end

  typedef enum logic [3:0] {
    Free, HeadAsk, HeadWait, NodeAsk, NodeWait, Match, NodeWrite, HeadWrite, Answers
  } state_e;

  state_e [NumLanes-1:0] state_q;
  entry_t [NumLanes-1:0] entry_q;
  row_t [NumLanes-1:0] node_q;      // where the lane is in its bucket
  row_t [NumLanes-1:0] next_q;      // 1 + the node behind it, 0 none; of an insertion, the old head
  logic [NumLanes-1:0][1:0] writes_q;  // writes not answered

  // ---- Rows to free lanes
  logic [NumLanes-1:0] free, same_bucket, asks, writing, paired;
  lane_t free_lane;
  logic take;

  always_comb begin
    free_lane = '0;
    for (int l = NumLanes - 1; l >= 0; l--) begin
      free[l] = state_q[l] == Free;
      same_bucket[l] = !free[l] && entry_q[l].bucket == in_i.bucket;
      asks[l] = state_q[l] == HeadAsk || state_q[l] == NodeAsk;
      writing[l] = state_q[l] == NodeWrite || state_q[l] == HeadWrite;
      paired[l] = state_q[l] == Match;
      if (free[l]) free_lane = lane_t'(l);
    end
  end

  assign in_ready_o = free != '0 && (probe_i || same_bucket == '0) && !abort_i;
  assign take = in_valid_i && in_ready_o;
  assign busy_o = !(&free);

  // ---- Who reads, who writes, whose match goes out
  logic [NumLanes-1:0] read_gnt, write_gnt, match_gnt;
  lane_t read_lane, write_lane, match_lane;

  gw_rr_arbiter #(.NumReq(NumLanes)) u_read_arbiter (
    .clk_i, .rst_ni, .req_i(asks), .gnt_o(read_gnt), .idx_o(read_lane), .valid_o(ar_valid_o), .ready_i(ar_ready_i)
  );
  logic write_valid, order_ready;
  gw_rr_arbiter #(.NumReq(NumLanes)) u_write_arbiter (
    .clk_i, .rst_ni, .req_i(writing), .gnt_o(write_gnt), .idx_o(write_lane), .valid_o(write_valid),
    .ready_i(aw_ready_i && order_ready)
  );
  gw_rr_arbiter #(.NumReq(NumLanes)) u_match_arbiter (
    .clk_i, .rst_ni, .req_i(paired), .gnt_o(match_gnt), .idx_o(match_lane), .valid_o(pair_valid_o), .ready_i(pair_ready_i)
  );

  function automatic addr_t beat_at(addr_t addr);
    return addr & ~(addr_t'(BeatBytes) - 1'b1);
  endfunction

  row_t [NumLanes-1:0] node;  // the build row whose node is read or written
  addr_t [NumLanes-1:0] head_addr, node_addr;
  always_comb begin
    for (int l = 0; l < int'(NumLanes); l++) begin
      head_addr[l] = heads_i + addr_t'(entry_q[l].bucket) * HeadBytes;
      node[l] = probe_i ? node_q[l] : entry_q[l].row;
      node_addr[l] = nodes_i + addr_t'(node[l]) * NodeBytes;
    end
  end

  assign ar_o = '{
    id:   id_t'(NumLanes) | id_t'(read_lane),
    addr: beat_at(state_q[read_lane] == HeadAsk ? head_addr[read_lane] : node_addr[read_lane]),
    len:  '0
  };
  assign pair_o = '{build: node_q[match_lane], probe: entry_q[match_lane].row};

  // ---- Writes: an insertion's fields stay until it is answered, so that its data is made when its turn comes.
  typedef struct packed {
    lane_t lane;
    logic  head;
  } write_t;

  logic write_head, order_valid;
  write_t order;
  logic [$clog2(2*NumLanes+1)-1:0] unused_usage;

  assign write_head = state_q[write_lane] == HeadWrite;
  assign aw_valid_o = write_valid && order_ready;
  assign aw_o = '{
    id:   id_t'(NumLanes) | id_t'(write_lane),
    addr: beat_at(write_head ? head_addr[write_lane] : node_addr[write_lane]),
    len:  '0
  };

  gw_fifo #(
    .T    (write_t),
    .Depth(2 * NumLanes)
  ) u_order (
    .clk_i,
    .rst_ni,
    .in_valid_i (aw_valid_o && aw_ready_i),
    .in_ready_o (order_ready),
    .in_data_i  ('{lane: write_lane, head: write_head}),
    .out_valid_o(order_valid),
    .out_ready_i(w_ready_i),
    .out_data_o (order),
    .usage_o    (unused_usage)
  );

  entry_t written;
  assign written = entry_q[order.lane];
  assign w_valid_o = order_valid;
  always_comb begin
    w_o = '{data: '0, strb: '0, last: 1'b1};
    if (order.head) begin
      w_o.data[32*written.bucket[3:0]+:32] = written.row + 1'b1;
      w_o.strb[4*written.bucket[3:0]+:4] = '1;
    end else begin
      w_o.data[128*written.row[1:0]+:128] = {32'b0, next_q[order.lane], written.key};
      w_o.strb[16*written.row[1:0]+:16] = '1;
    end
  end

  // ---- What came back
  lane_t r_lane, b_lane;
  logic [31:0] head;
  row_t node_next;
  logic [63:0] node_key;

  assign r_lane = LaneBits > 0 ? r_i.id[IdxWidth-1:0] : '0;
  assign b_lane = LaneBits > 0 ? b_i.id[IdxWidth-1:0] : '0;
  assign head = r_i.data[32*entry_q[r_lane].bucket[3:0]+:32];
  assign node_key = r_i.data[128*node_q[r_lane][1:0]+:64];
  assign node_next = r_i.data[128*node_q[r_lane][1:0]+64+:32];
  assign error_o = (r_valid_i && r_i.error) || (b_valid_i && b_i.error);

  for (genvar l = 0; l < int'(NumLanes); l++) begin : gen_lane
    logic taken, answered, equal, given, written_now, b_now, quit;
    row_t follow;  // 1 + the node to go on with

    assign taken = take && free_lane == lane_t'(l);
    assign answered = r_valid_i && r_lane == lane_t'(l);
    assign equal = node_key == entry_q[l].key;
    assign given = match_gnt[l] && pair_ready_i;
    assign written_now = write_gnt[l] && aw_valid_o && aw_ready_i;
    assign b_now = b_valid_i && b_lane == lane_t'(l);
    assign quit = abort_i || r_i.error;
    assign follow = state_q[l] == HeadWait ? head : state_q[l] == NodeWait ? node_next : next_q[l];

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        state_q[l] <= Free;
        writes_q[l] <= '0;
      end else begin
        unique case (state_q[l])
          Free: if (taken) state_q[l] <= HeadAsk;
          HeadAsk: if (read_gnt[l] && ar_ready_i) state_q[l] <= HeadWait;
          HeadWait:
          if (answered) state_q[l] <= quit ? Free : !probe_i ? NodeWrite : follow == '0 ? Free : NodeAsk;
          NodeAsk: if (read_gnt[l] && ar_ready_i) state_q[l] <= NodeWait;
          NodeWait:
          if (answered) state_q[l] <= quit ? Free : equal ? Match : follow == '0 ? Free : NodeAsk;
          Match:
          if (given) state_q[l] <= abort_i || follow == '0 ? Free : NodeAsk;
          NodeWrite: if (written_now) state_q[l] <= HeadWrite;
          HeadWrite: if (written_now) state_q[l] <= Answers;
          Answers: if (writes_q[l] == '0) state_q[l] <= Free;
          default: state_q[l] <= Free;
        endcase
        writes_q[l] <= writes_q[l] + 2'(written_now) - 2'(b_now);
      end
    end

    always_ff @(posedge clk_i) begin
      if (taken) entry_q[l] <= in_i;
      if (answered) next_q[l] <= follow;
      // A match stays where it is until it is out.
      if (state_q[l] == Match ? given : answered && !(state_q[l] == NodeWait && equal)) node_q[l] <= follow - 1'b1;
    end

    `GW_INVARIANT(AnswerIsExpected_A, !answered || state_q[l] == HeadWait || state_q[l] == NodeWait)
    `GW_INVARIANT(ResponseIsExpected_A, !b_now || writes_q[l] != '0)
    `GW_COVER(LongBucket_C, answered && state_q[l] == NodeWait && !equal && follow != '0)
  end

  // IDs say more than the lane; which beat a bucket's head is in is in the address.
  logic unused;
  assign unused = ^{r_i.id, r_i.last, b_i.id, written};

  `GW_ASSERT(ArStable_A, ar_valid_o && !ar_ready_i |=> ar_valid_o && $stable(ar_o))
  `GW_ASSERT(AwStable_A, aw_valid_o && !aw_ready_i |=> aw_valid_o && $stable(aw_o))
  `GW_COVER(BucketWaits_C, in_valid_i && !probe_i && free != '0 && same_bucket != '0)

endmodule
