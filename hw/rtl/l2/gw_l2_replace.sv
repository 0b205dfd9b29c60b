// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Which way of a set goes next, for all sets: true LRU, tree pseudo-LRU, FIFO or random.
//
// Contract
// - A use or fill (`touch_i`) in cycle t counts from t+1 on. One a cycle.
// - `victim_o` is combinational from what is stored of `set_i`. True LRU: the way touched longest ago; FIFO: filled longest ago.
//   Tree: a node points to the half that was used longer ago. Random: any way, another one in the next cycle.
// - Nothing that is kept of sets is reset: any state is a good start. True LRU and FIFO are exact once every way of a set was touched.
// - Each bit that is kept of a set is a memory of its own that is written without being read, so all of it fits LUT RAM: a
//   tree's Ways - 1, or one for each pair of ways.
module gw_l2_replace #(
  parameter int unsigned Sets = 256,
  /// Ways, a power of two >= 1.
  parameter int unsigned Ways = 4,
  /// 0 true LRU, 1 tree pseudo-LRU, 2 FIFO, 3 random.
  parameter int unsigned Policy = 1,
  /// Derived.
  localparam int unsigned SetWidth = $clog2(Sets),
  localparam int unsigned WayWidth = (Ways > 1) ? $clog2(Ways) : 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                touch_i,
  /// The touch is a fill.
  input  logic                fill_i,
  input  logic [SetWidth-1:0] touch_set_i,
  input  logic [WayWidth-1:0] touch_way_i,
  input  logic [SetWidth-1:0] set_i,
  output logic [WayWidth-1:0] victim_o
);

  if (Policy > 3) begin : gen_bad_policy
    $fatal(1, "gw_l2_replace: Policy must be 0 to 3");
  end

  typedef logic [WayWidth-1:0] way_t;
  logic unused_others;
  assign unused_others = ^{rst_ni, fill_i};

  if (Ways == 1) begin : gen_direct
    assign victim_o = '0;
    logic unused;
    assign unused = ^{clk_i, touch_i, touch_set_i, touch_way_i, set_i};
  end else if (Policy == 1) begin : gen_tree
    // Nodes are numbered as in a heap: the children of n are 2n and 2n + 1, the root is 1.
    logic [Ways-1:1] node;
    for (genvar n = 1; n < Ways; n++) begin : gen_node
      localparam int unsigned Depth = $clog2(n + 1) - 1;
      // A way's path at this depth is 1 followed by the top `Depth` bits of its number.
      logic mem[Sets];
      logic on_path;
      assign on_path = (({1'b1, touch_way_i} >> (WayWidth - Depth)) == (WayWidth + 1)'(n));
      always_ff @(posedge clk_i) begin
        if (touch_i && on_path) mem[touch_set_i] <= !touch_way_i[WayWidth-1-Depth];
      end
      assign node[n] = mem[set_i];
    end

    always_comb begin
      // The way's number so far; with a 1 before it, the node.
      victim_o = '0;
      for (int unsigned d = 0; d < WayWidth; d++) begin
        victim_o = (victim_o << 1) | way_t'(node[way_t'(1 << d) | victim_o]);
      end
    end
  end else if (Policy == 3) begin : gen_random
    logic [15:0] lfsr_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) lfsr_q <= 16'hACE1;
      else lfsr_q <= {lfsr_q[14:0], lfsr_q[15] ^ lfsr_q[13] ^ lfsr_q[12] ^ lfsr_q[10]};
    end
    assign victim_o = lfsr_q[WayWidth-1:0];
    logic unused;
    assign unused = ^{touch_i, touch_set_i, touch_way_i, set_i};
  end else begin : gen_age
    // older[i][j], i < j: i was touched before j.
    logic [Ways-1:0][Ways-1:0] older;
    logic touch;
    assign touch = touch_i && (Policy == 0 || fill_i);
    for (genvar i = 0; i < Ways; i++) begin : gen_way
      for (genvar j = 0; j < Ways; j++) begin : gen_other
        if (i < j) begin : gen_pair
          logic mem[Sets];
          always_ff @(posedge clk_i) begin
            if (touch && (touch_way_i == way_t'(i) || touch_way_i == way_t'(j))) mem[touch_set_i] <= touch_way_i == way_t'(j);
          end
          assign older[i][j] = mem[set_i];
        end else begin : gen_none
          assign older[i][j] = 1'b0;
        end
      end
    end
    // Before all were touched pairs may contradict each other, and nobody is the oldest: way 0 then.
    always_comb begin
      logic [Ways-1:0] oldest;
      oldest = '1;
      victim_o = '0;
      for (int unsigned j = 1; j < Ways; j++) begin
        for (int unsigned i = 0; i < j; i++) begin
          if (older[i][j]) oldest[j] = 1'b0;
          else oldest[i] = 1'b0;
        end
      end
      for (int unsigned i = 0; i < Ways; i++) if (oldest[i]) victim_o |= way_t'(i);
    end
  end

endmodule
