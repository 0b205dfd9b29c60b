// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Which vertices were seen: a bit each in block RAM, tested and set one vertex a cycle.
//
// Contract
// - A vertex that comes in for the first time since the bits were cleared goes out, once; others end here. In order, a cycle later.
// - clear_i begins to clear the bits of vertices 0 to last_i, one a cycle; cleared_o is high when that is done. Nothing comes in
//   meanwhile.
// - Throughput: one a cycle while out_ready_i is high. busy_o: a vertex is inside. flush_i drops it. Reset: empty.
module gw_bfs_seen #(
  /// Most vertices, a power of two.
  parameter int unsigned Vertices = 1 << 20,
  /// Derived.
  localparam int unsigned Width = $clog2(Vertices)
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             flush_i,
  input  logic             clear_i,
  /// Number of vertices - 1.
  input  logic [Width-1:0] last_i,
  output logic             cleared_o,
  output logic             busy_o,
  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [Width-1:0] in_i,
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [Width-1:0] out_o
);

  typedef logic [Width-1:0] vertex_t;
  logic clearing_q, valid_q, same_q, seen, leaves, take;
  vertex_t clear_q, vertex_q;

  assign cleared_o = !clearing_q;
  assign busy_o = valid_q;
  assign out_valid_o = valid_q && !seen;
  assign out_o = vertex_q;
  assign leaves = valid_q && (seen || out_ready_i);
  assign in_ready_o = !clearing_q && (!valid_q || leaves);
  assign take = in_valid_i && in_ready_o;

  logic stored;
  // Read in the cycle in which the vertex before is set: the same vertex twice would miss that.
  assign seen = stored || same_q;

  gw_kernel_ram #(
    .Width(1),
    .Depth(Vertices)
  ) u_bits (
    .clk_i,
    .we_i   (clearing_q || leaves),
    .waddr_i(clearing_q ? clear_q : vertex_q),
    .wdata_i(!clearing_q),
    .re_i   (take),
    .raddr_i(in_i),
    .rdata_o(stored)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      clearing_q <= 1'b0;
      clear_q <= '0;
      valid_q <= 1'b0;
    end else begin
      if (clear_i) clear_q <= '0;
      else if (clearing_q) clear_q <= clear_q + 1'b1;
      clearing_q <= clear_i || (clearing_q && clear_q != last_i && !flush_i);
      valid_q <= !flush_i && (take || (valid_q && !leaves));
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      vertex_q <= in_i;
      same_q <= leaves && vertex_q == in_i;
    end
  end

endmodule
