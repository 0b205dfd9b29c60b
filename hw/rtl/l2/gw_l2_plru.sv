// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Tree pseudo-LRU of all sets: a node of a set's tree points to the half that was used longer ago.
//
// Contract
// - A use (`touch_i`) in cycle t counts from t+1 on; it turns the nodes on the way's path away from it. One a cycle.
// - `victim_o` is combinational from the stored nodes of `set_i`.
// - Nothing is reset: any state is a good start.
// - Each node is a memory of one bit a set that is written without being read, so all of it fits LUT RAM.
module gw_l2_plru #(
  parameter int unsigned Sets = 256,
  /// Ways, a power of two >= 1.
  parameter int unsigned Ways = 4,
  /// Derived.
  localparam int unsigned SetWidth = $clog2(Sets),
  localparam int unsigned WayWidth = (Ways > 1) ? $clog2(Ways) : 1
) (
  input  logic                clk_i,
  input  logic                touch_i,
  input  logic [SetWidth-1:0] touch_set_i,
  input  logic [WayWidth-1:0] touch_way_i,
  input  logic [SetWidth-1:0] set_i,
  output logic [WayWidth-1:0] victim_o
);

  typedef logic [WayWidth-1:0] way_t;

  if (Ways == 1) begin : gen_direct
    assign victim_o = '0;
    logic unused;
    assign unused = ^{clk_i, touch_i, touch_set_i, touch_way_i, set_i};
  end else begin : gen_tree
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
  end

endmodule
