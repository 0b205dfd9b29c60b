// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Block RAMs of the L2 TLB: tags in one copy for each size that a lookup reads (single pages share that of clusters where both
// lie in one set) and one for maintenance, frames in one copy for lookups and one for maintenance.
//
// Contract
// - Every read port takes an address in t and has its words in t+1, until its next read; nothing ever waits.
// - A word that is read in the cycle in which it is written is undefined (gw_ram).
// - Tags are written in the cycle of `we_i`, all ways of a set at will; the frame given with them two cycles later. So a
//   lookup that reads a tag in t and its frame in t+2 gets the frame of exactly that tag, whatever is written when.
`include "gw_assert.svh"

module gw_l2_store #(
  parameter int unsigned Sets = 256,
  parameter int unsigned Ways = 4,
  /// Single pages are looked up in the set of their cluster: one copy serves both.
  parameter bit SharedSingles = 1'b0,
  /// Derived.
  localparam int unsigned SetWidth = $clog2(Sets),
  localparam int unsigned WayWidth = (Ways > 1) ? $clog2(Ways) : 1
) (
  input  logic                                            clk_i,
  input  logic                                            rst_ni,
  // Lookup
  input  logic                                            re_i,
  input  logic [gw_pkg::L2Sizes-1:0][SetWidth-1:0]        set_i,
  output gw_pkg::l2_tag_t [gw_pkg::L2Sizes-1:0][Ways-1:0] tags_o,
  input  logic                                            ppn_re_i,
  input  logic [SetWidth-1:0]                             ppn_set_i,
  input  logic [WayWidth-1:0]                             ppn_way_i,
  output gw_pkg::l2_frame_t                               frame_o,
  // Maintenance
  input  logic                                            m_re_i,
  input  logic [SetWidth-1:0]                             m_set_i,
  output gw_pkg::l2_tag_t [Ways-1:0]                      m_tags_o,
  input  logic                                            m_ppn_re_i,
  input  logic [SetWidth-1:0]                             m_ppn_set_i,
  input  logic [WayWidth-1:0]                             m_ppn_way_i,
  output gw_pkg::ppn_t                                    m_ppn_o,
  // Write
  input  logic [Ways-1:0]                                 we_i,
  input  logic [SetWidth-1:0]                             wset_i,
  input  gw_pkg::l2_tag_t [Ways-1:0]                      wtags_i,
  input  logic                                            ppn_we_i,
  input  logic [WayWidth-1:0]                             ppn_wway_i,
  input  gw_pkg::ppn_t                                    ppn_wdata_i
);

  import gw_pkg::*;

  if (SharedSingles) begin : gen_check
    `GW_INVARIANT(SameSet_A, !re_i || set_i[L2Single] == set_i[L2Cluster])
  end

  localparam int unsigned Entries = Sets * Ways;
  localparam int unsigned EntryWidth = $clog2(Entries);

  function automatic logic [EntryWidth-1:0] entry(logic [SetWidth-1:0] set, logic [WayWidth-1:0] way);
    return EntryWidth'({way, set});
  endfunction

  for (genvar w = 0; w < Ways; w++) begin : gen_way
    for (genvar s = 0; s < L2Sizes; s++) begin : gen_size
      l2_tag_t tag;
      assign tags_o[s][w] = tag;
      if (s == L2Single && SharedSingles) begin : gen_shared
        assign tag = gen_size[L2Cluster].tag;
      end else begin : gen_copy
        gw_ram #(
          .Width($bits(l2_tag_t)),
          .Depth(Sets)
        ) u_tags (
          .clk_i,
          .we_i   (we_i[w]),
          .waddr_i(wset_i),
          .wdata_i(wtags_i[w]),
          .re_i,
          .raddr_i(set_i[s]),
          .rdata_o(tag)
        );
      end
    end

    gw_ram #(
      .Width($bits(l2_tag_t)),
      .Depth(Sets)
    ) u_maintenance (
      .clk_i,
      .we_i   (we_i[w]),
      .waddr_i(wset_i),
      .wdata_i(wtags_i[w]),
      .re_i   (m_re_i),
      .raddr_i(m_set_i),
      .rdata_o(m_tags_o[w])
    );
  end

  // Two cycles behind the tags.
  typedef struct packed {
    logic [EntryWidth-1:0] addr;
    ppn_t                  data;
  } frame_write_t;
  logic [1:0]         ppn_we_q;
  frame_write_t [1:0] ppn_write_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) ppn_we_q <= '0;
    else ppn_we_q <= {ppn_we_q[0], ppn_we_i};
  end
  // Counted here, where there is time: of the word that is read half a cycle is gone.
  l2_frame_t frame;
  always_comb begin
    frame.base = ppn_write_q[1].data;
    for (int unsigned o = 1; o <= ClusterShift; o++) begin
      frame.zeros[o] = (frame.base & ((ppn_t'(1) << o) - 1'b1)) == '0 && (o == ClusterShift || frame.base[o%ClusterShift]);
    end
  end
  always_ff @(posedge clk_i) begin
    ppn_write_q <= {ppn_write_q[0], frame_write_t'{addr: entry(wset_i, ppn_wway_i), data: ppn_wdata_i}};
  end

  gw_ram #(
    .Width($bits(l2_frame_t)),
    .Depth(Entries)
  ) u_ppn (
    .clk_i,
    .we_i   (ppn_we_q[1]),
    .waddr_i(ppn_write_q[1].addr),
    .wdata_i(frame),
    .re_i   (ppn_re_i),
    .raddr_i(entry(ppn_set_i, ppn_way_i)),
    .rdata_o(frame_o)
  );

  gw_ram #(
    .Width(PpnWidth),
    .Depth(Entries)
  ) u_m_ppn (
    .clk_i,
    .we_i   (ppn_we_q[1]),
    .waddr_i(ppn_write_q[1].addr),
    .wdata_i(ppn_write_q[1].data),
    .re_i   (m_ppn_re_i),
    .raddr_i(entry(m_ppn_set_i, m_ppn_way_i)),
    .rdata_o(m_ppn_o)
  );

endmodule
