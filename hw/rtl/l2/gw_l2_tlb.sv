// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Second-level TLB: set-associative, in block RAM, pages of all sizes in one array.
//
//   t      lookup_i: one set of each size is read
//   t + 1  tags compared, straight from the memories, into registers
//   t + 2  `hit_o`: the comparisons joined; the frame of the entry that matches is read
//   t + 3  frame + page: the translation is at the output
//
// Contract
// - A lookup a cycle, for any mixture of page sizes, also while entries are filled and invalidations sweep. Never waits.
// - A lookup that reads an entry in the very cycle in which it is written is a miss.
// - A lookup that an entry does not allow (write to a page that may only be read) is a miss.
// - If several sizes translate a page (only while the host changes a mapping and has not invalidated yet), the smallest wins.
// - Answers of the walker are kept as gw_l2_fill says, which may drop any of them.
// - Invalidation pulse in cycle t: no lookup with its `lookup_vpn_i` in t or later uses what it drops, from the pulse on; a sweep
//   then clears it from the memories, which ends within two sweeps whatever pulses come meanwhile (gw_l2_inval). A sweep takes a
//   cycle a set without fills; with fills an answer's time (gw_l2_fill) for every 8 sets more. Other lookups hit meanwhile.
// - `inval_busy_o`: a pulse that came in the other epoch (not `epoch_i`) is not swept.
// - After reset everything misses until the first sweep is over, which `inval_busy_o` does not show.
// - Clock: the longest ways are memory -> comparison (t + 1, a block RAM's 5.7 ns of clock to output and three lookup tables;
//   the same in the sweep and in gw_l2_fill) and memory -> addition -> answer (t + 3). No cycle holds a memory's output,
//   a comparison and a memory's input.
`include "gw_assert.svh"

module gw_l2_tlb #(
  /// Sets, a power of two, 2 to 65536.
  parameter int unsigned Sets = 256,
  /// Ways, a power of two, 1 to 16.
  parameter int unsigned Ways = 4,
  parameter gw_pkg::l2_policy_e Policy = gw_pkg::L2Hashed,
  /// Which way goes: 0 true LRU, 1 tree pseudo-LRU, 2 FIFO, 3 random.
  parameter int unsigned Replacement = 1,
  /// Entries hold the pages of a cluster that the walker found in a row; 0: single pages and whole clusters only.
  parameter bit Clusters = 1'b1,
  /// Answers that wait to be kept, 1 to 1024.
  parameter int unsigned FillDepth = 64,
  /// There are 64 KiB pages (Svnapot). Without them and Clusters no lookup of clusters is built.
  parameter bit Svnapot = 1'b1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  // Lookup, first cycle
  input  logic                lookup_i,
  input  gw_pkg::vpn_t        lookup_vpn_i,
  // Second cycle
  input  logic                req_valid_i,
  input  gw_pkg::vpn_t        vpn_i,
  input  gw_pkg::ctx_id_t     ctx_i,
  input  logic                write_i,
  // Third cycle
  output logic                hit_o,
  // Fourth cycle; {src, tag, ctx, vpn, cacheable} are not this module's.
  output gw_pkg::ppn_t        ppn_o,
  output gw_pkg::page_order_t order_o,
  output gw_pkg::cluster_t    cluster_o,
  output gw_pkg::perm_t       perm_o,
  output logic                is_global_o,
  // Answers of the walker
  input  logic                rsp_valid_i,
  input  gw_pkg::xlate_rsp_t  rsp_i,
  // Invalidation
  input  logic                inval_valid_i,
  input  gw_pkg::inval_t      inval_i,
  input  logic                epoch_i,
  output logic                inval_busy_o,
  /// An answer is being kept or sets are being swept: the clock must go on.
  output logic                busy_o,
  /// All but miss and range_hit.
  output gw_pkg::l2_event_t   event_o
);

  import gw_pkg::*;

  if (Sets < 2 || Sets > 65536 || 2 ** $clog2(Sets) != Sets) begin : gen_bad_sets
    $fatal(1, "gw_l2_tlb: Sets must be a power of two, 2 to 65536");
  end
  if (Ways < 1 || Ways > 16 || 2 ** $clog2(Ways) != Ways) begin : gen_bad_ways
    $fatal(1, "gw_l2_tlb: Ways must be a power of two, 1 to 16");
  end
  if (FillDepth < 1 || FillDepth > 1024) begin : gen_bad_fill_depth
    $fatal(1, "gw_l2_tlb: FillDepth must be 1 to 1024");
  end
  if (Policy > L2Hashed) begin : gen_bad_policy
    $fatal(1, "gw_l2_tlb: Policy must be L2Partition, L2Rehash or L2Hashed");
  end

  localparam int unsigned SetWidth = $clog2(Sets);
  localparam int unsigned WayWidth = (Ways > 1) ? $clog2(Ways) : 1;
  typedef logic [SetWidth-1:0] set_t;
  typedef logic [WayWidth-1:0] way_t;

  // First cycle; the sets are needed once more in the third.
  set_t [L2Sizes-1:0] set, read_set_q, set_q;
  gw_l2_index #(
    .Sets  (Sets),
    .Policy(Policy)
  ) u_index (
    .vpn_i(lookup_vpn_i),
    .set_o(set)
  );
  always_ff @(posedge clk_i) {set_q, read_set_q} <= {read_set_q, set};

  // What is written while it is read cannot be relied on: it is no hit.
  logic [Ways-1:0] we;
  set_t wset;
  logic [Ways-1:0] we_q;
  set_t wset_q;
  logic [L2Sizes-1:0][Ways-1:0] written;
  always_ff @(posedge clk_i) {we_q, wset_q} <= {we, wset};
  always_comb begin
    for (int unsigned s = 0; s < L2Sizes; s++) written[s] = (read_set_q[s] == wset_q) ? we_q : '0;
  end

  // Second and third cycle.
  l2_tag_t [L2Sizes-1:0][Ways-1:0] tags;
  l2_told_t [L2Sizes-1:0] told;
  logic [L2Sizes-1:0][Ways-1:0] match;
  logic [L2Sizes-1:0] blocked;
  logic blocked_global;
  // Where single pages and clusters lie in one set, the entries read for both are the same: at most one translates the page.
  localparam bit SharedSingles = Policy == L2Partition;
  for (genvar s = 0; s < L2Sizes; s++) begin : gen_match
    if (s == L2Cluster && (SharedSingles || (!Clusters && !Svnapot))) begin : gen_never
      assign match[s] = '0;
      assign told[s] = '0;
      logic unused;
      assign unused = ^{tags[s], blocked[s], written[s]};
    end else begin : gen_size
      gw_l2_match #(
        .Ways       (Ways),
        .Size       (l2_size_e'(s)),
        .AndClusters(s == L2Single && SharedSingles && (Clusters || Svnapot))
      ) u_match (
        .clk_i,
        .rst_ni,
        .valid_i         (req_valid_i),
        .vpn_i           (vpn_i),
        .ctx_i           (ctx_i),
        .write_i         (write_i),
        .tags_i          (tags[s]),
        .written_i       (written[s]),
        .blocked_i       (blocked[s]),
        .blocked_global_i(blocked_global),
        .match_o         (match[s]),
        .told_o          (told[s])
      );
    end
  end

  // The smallest size that matches.
  l2_size_e hit_size;
  set_t     hit_set;
  way_t     hit_way;
  way_t [L2Sizes-1:0] size_way;
  always_comb begin
    size_way = '0;
    for (int unsigned s = 0; s < L2Sizes; s++) begin
      for (int unsigned w = 0; w < Ways; w++) if (match[s][w]) size_way[s] |= way_t'(w);
    end
    {hit_size, hit_set, hit_way} = {L2Giga, set_q[L2Giga], size_way[L2Giga]};
    for (int unsigned s = L2Sizes - 1; s > 0; s--) begin
      if (match[s-1] != '0) {hit_size, hit_set, hit_way} = {l2_size_e'(s - 1), set_q[s-1], size_way[s-1]};
    end
  end
  assign hit_o = match != '0;

  // Fourth cycle.
  logic     touch_q;
  set_t     touch_set_q;
  way_t     touch_way_q;
  l2_told_t told_q;
  l2_size_e size_q;
  vpn_t     vpn_q, answer_vpn_q;
  l2_frame_t frame;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) touch_q <= 1'b0;
    else touch_q <= hit_o;
  end
  always_ff @(posedge clk_i) begin
    touch_set_q <= hit_set;
    touch_way_q <= hit_way;
    told_q <= told[hit_size];
    size_q <= hit_size;
    {answer_vpn_q, vpn_q} <= {vpn_q, vpn_i};
  end

  gw_l2_answer u_answer (
    .told_i     (told_q),
    .size_i     (size_q),
    .frame_i    (frame),
    .vpn_i      (answer_vpn_q),
    .ppn_o,
    .order_o,
    .cluster_o,
    .perm_o,
    .is_global_o
  );

  // Maintenance.
  logic sweep_valid, sweep_take, sweep_active, fill_busy, first_sweep, fill_touch, m_re, m_ppn_re, ppn_we;
  logic [Ways-1:0] sweep_drop;
  set_t sweep_set, m_set, m_ppn_set, victim_set;
  way_t m_ppn_way, ppn_wway, fill_way, victim;
  l2_tag_t [Ways-1:0] m_tags, wtags;
  ppn_t m_ppn, ppn_wdata;
  l2_event_t fill_event;

  gw_l2_store #(
    .Sets         (Sets),
    .Ways         (Ways),
    .SharedSingles(SharedSingles)
  ) u_store (
    .clk_i,
    .rst_ni,
    .re_i       (lookup_i),
    .set_i      (set),
    .tags_o     (tags),
    .ppn_re_i   (hit_o),
    .ppn_set_i  (hit_set),
    .ppn_way_i  (hit_way),
    .frame_o    (frame),
    .m_re_i     (m_re),
    .m_set_i    (m_set),
    .m_tags_o   (m_tags),
    .m_ppn_re_i (m_ppn_re),
    .m_ppn_set_i(m_ppn_set),
    .m_ppn_way_i(m_ppn_way),
    .m_ppn_o    (m_ppn),
    .we_i       (we),
    .wset_i     (wset),
    .wtags_i    (wtags),
    .ppn_we_i   (ppn_we),
    .ppn_wway_i (ppn_wway),
    .ppn_wdata_i(ppn_wdata)
  );

  gw_l2_inval #(
    .Sets(Sets),
    .Ways(Ways)
  ) u_inval (
    .clk_i,
    .rst_ni,
    .inval_valid_i,
    .inval_i,
    .epoch_i,
    .busy_o          (inval_busy_o),
    .vpn_i           (vpn_i),
    .ctx_i           (ctx_i),
    .blocked_o       (blocked),
    .blocked_global_o(blocked_global),
    .sweep_valid_o   (sweep_valid),
    .sweep_take_i    (sweep_take),
    .sweep_set_o     (sweep_set),
    .tags_i          (m_tags),
    .drop_o          (sweep_drop),
    .active_o        (sweep_active),
    .first_o         (first_sweep)
  );

  gw_l2_fill #(
    .Sets    (Sets),
    .Ways    (Ways),
    .Policy  (Policy),
    .Clusters(Clusters),
    .Svnapot (Svnapot),
    .Depth   (FillDepth)
  ) u_fill (
    .clk_i,
    .rst_ni,
    .rsp_valid_i,
    .rsp_i,
    .inval_valid_i,
    .sweep_valid_i(sweep_valid),
    .sweep_take_o (sweep_take),
    .sweep_set_i  (sweep_set),
    .sweep_drop_i (sweep_drop),
    .re_o         (m_re),
    .set_o        (m_set),
    .tags_i       (m_tags),
    .ppn_re_o     (m_ppn_re),
    .ppn_set_o    (m_ppn_set),
    .ppn_way_o    (m_ppn_way),
    .ppn_i        (m_ppn),
    .we_o         (we),
    .wset_o       (wset),
    .wtags_o      (wtags),
    .ppn_we_o     (ppn_we),
    .ppn_wway_o   (ppn_wway),
    .ppn_wdata_o  (ppn_wdata),
    .victim_set_o (victim_set),
    .victim_i     (victim),
    .touch_o      (fill_touch),
    .touch_way_o  (fill_way),
    .busy_o       (fill_busy),
    .event_o      (fill_event)
  );

  logic fill_touch_q;
  set_t fill_set_q;
  way_t fill_way_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) fill_touch_q <= 1'b0;
    else fill_touch_q <= fill_touch;
  end
  always_ff @(posedge clk_i) {fill_set_q, fill_way_q} <= {wset, fill_way};

  // A use in the cycle of a fill is not marked: the entry filled would be the next to go otherwise.
  gw_l2_replace #(
    .Sets  (Sets),
    .Ways  (Ways),
    .Policy(Replacement)
  ) u_replace (
    .clk_i,
    .rst_ni,
    .touch_i    (fill_touch_q || touch_q),
    .fill_i     (fill_touch_q),
    .touch_set_i(fill_touch_q ? fill_set_q : touch_set_q),
    .touch_way_i(fill_touch_q ? fill_way_q : touch_way_q),
    .set_i      (victim_set),
    .victim_o   (victim)
  );

  assign busy_o = fill_busy || sweep_active;

  always_comb begin
    event_o = fill_event;
    event_o.hit = hit_o;
    if (first_sweep) event_o.invalidated = '0;
  end

  `GW_COVER(HitWhileSweeping_C, hit_o && inval_busy_o)

endmodule
