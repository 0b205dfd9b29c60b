// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Tags of the page cache: which page is where, and what becomes of it.
//
//   free ─alloc─> active ─freeze─> frozen ─thaw─> active
//                                         └release─> free
//
// Contract
// - Two lookups a cycle, combinational; a read that is not asked for (`read_i`) finds nothing, number 0. A page that is not free matches; a physical page is in one place at most, as long as
//   `alloc_i` is given only for a page that matched nothing in the cycle before and none was put then.
// - `free_valid_o`/`free_idx_o` (registers): a page to be put; taken by `alloc_i`, the next one is on offer two cycles later.
// - `victim_valid_o`/`victim_idx_o` (registers): an active page that was not busy two cycles before, by the policy; if some of them were
//   preferred (`prefer_i`), of these. Whoever freezes it looks at `busy_i` again.
// - A page read ahead (`ahead_put_i`, never with `alloc_i`) is put like another one, but counts as touched only when it is met (`met_i`, never
//   in the cycle behind an `alloc_i`). `ahead_here_o` (register): in the cycle before, a page whose number ends like `ahead_tag_i` was here.
// - Freeze is of the page whose tag is asked for (`job_idx_i`), thaw and release are of another one (`end_idx_i`); several may be frozen.
// - Pages are free after reset, and offered from `ready_i` on.
`include "gw_assert.svh"

module gw_cache_tags #(
  /// Pages, a power of two, 2 to 64.
  parameter int unsigned Pages = 16,
  /// Bits of a page's number.
  parameter int unsigned TagWidth = 44,
  /// gw_replace: 0 true LRU, 1 bit-PLRU, 2 FIFO, 3 random.
  parameter int unsigned Replacement = 0,
  /// Derived.
  localparam int unsigned IdxWidth = $clog2(Pages)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                ready_i,
  /// Lookups: reads and writes.
  input  logic                read_i,
  input  logic [TagWidth-1:0] read_tag_i,
  output logic                read_hit_o,
  output logic [IdxWidth-1:0] read_idx_o,
  input  logic [TagWidth-1:0] write_tag_i,
  output logic                write_hit_o,
  output logic [IdxWidth-1:0] write_idx_o,
  output logic [Pages-1:0]    active_o,
  output logic [Pages-1:0]    frozen_o,
  input  logic                use_i,
  input  logic [IdxWidth-1:0] use_idx_i,
  /// A new page.
  output logic                free_valid_o,
  output logic [IdxWidth-1:0] free_idx_o,
  input  logic                alloc_i,
  input  logic [TagWidth-1:0] alloc_tag_i,
  /// A page read ahead.
  input  logic                ahead_put_i,
  input  logic [TagWidth-1:0] ahead_tag_i,
  output logic                ahead_here_o,
  input  logic                met_i,
  input  logic [IdxWidth-1:0] met_idx_i,
  /// A page that may go.
  input  logic [Pages-1:0]    busy_i,
  input  logic [Pages-1:0]    prefer_i,
  output logic                victim_valid_o,
  output logic [IdxWidth-1:0] victim_idx_o,
  output logic [$clog2(Pages+1)-1:0] free_count_o,
  /// What the evicting side does with the page of its job.
  input  logic [IdxWidth-1:0] job_idx_i,
  output logic [TagWidth-1:0] job_tag_o,
  input  logic                freeze_i,
  input  logic [IdxWidth-1:0] end_idx_i,
  input  logic                thaw_i,
  input  logic                release_i
);

  // Enough to tell pages apart that lie near each other; one that is taken for another is not read ahead.
  localparam int unsigned AheadWidth = (TagWidth < 12) ? TagWidth : 12;
  typedef logic [IdxWidth-1:0] idx_t;
  logic [TagWidth-1:0] tag_q[Pages];
  logic [Pages-1:0] used_q, frozen_q, read_match, write_match, ahead_match, eligible_q;
  logic [Pages-1:0] eligible, preferred;
  logic put;
  logic [TagWidth-1:0] put_tag;
  assign put = alloc_i || ahead_put_i;
  assign put_tag = ahead_put_i ? ahead_tag_i : alloc_tag_i;
  assign active_o = used_q & ~frozen_q;
  assign frozen_o = frozen_q;
  assign job_tag_o = tag_q[job_idx_i];

  for (genvar i = 0; i < Pages; i++) begin : gen_page
    assign read_match[i] = read_i && used_q[i] && tag_q[i] == read_tag_i;
    assign write_match[i] = used_q[i] && tag_q[i] == write_tag_i;
    assign ahead_match[i] = used_q[i] && tag_q[i][AheadWidth-1:0] == ahead_tag_i[AheadWidth-1:0];
    always_ff @(posedge clk_i) if (put && free_idx_o == idx_t'(i)) tag_q[i] <= put_tag;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        used_q[i] <= 1'b0;
        frozen_q[i] <= 1'b0;
      end else begin
        if (put && free_idx_o == idx_t'(i)) used_q[i] <= 1'b1;
        else if (release_i && end_idx_i == idx_t'(i)) used_q[i] <= 1'b0;
        if (freeze_i && job_idx_i == idx_t'(i)) frozen_q[i] <= 1'b1;
        else if ((thaw_i || release_i) && end_idx_i == idx_t'(i)) frozen_q[i] <= 1'b0;
      end
    end
  end

  always_comb begin
    read_idx_o = '0;
    write_idx_o = '0;
    for (int unsigned i = 0; i < Pages; i++) begin
      if (read_match[i]) read_idx_o |= idx_t'(i);
      if (write_match[i]) write_idx_o |= idx_t'(i);
    end
  end
  assign read_hit_o = read_match != '0;
  assign write_hit_o = write_match != '0;

  // Free pages: the first of them.
  logic any_free;
  idx_t first_free, victim;
  gw_first_one #(
    .Width(Pages)
  ) u_free (
    .bits_i(~used_q),
    .any_o (any_free),
    .idx_o (first_free)
  );
  logic named_valid;
  // A page counts as touched a cycle after it was put: whether it is, is known late.
  logic [Pages-1:0] put_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) put_q <= '0;
    else put_q <= alloc_i ? Pages'(1) << free_idx_o : '0;
  end
  logic [Pages-1:0] met;
  assign met = met_i ? Pages'(1) << met_idx_i : '0;
  logic [Pages-1:0] named;
  idx_t named_idx;
  gw_replace #(
    .Num   (Pages),
    .Policy(Replacement)
  ) u_replace (
    .clk_i,
    .rst_ni,
    .use_i     (use_i ? Pages'(1) << use_idx_i : '0),
    .fill_i    (put_q | met),
    .eligible_i(eligible_q),
    .valid_o   (named_valid),
    .onehot_o  (named)
  );
  always_comb begin
    named_idx = '0;
    for (int unsigned i = 0; i < Pages; i++) if (named[i]) named_idx |= idx_t'(i);
  end
  if (Replacement == 1) begin : gen_any
    // All that may go are marked: the first of them.
    logic any_eligible;
    idx_t first_eligible;
    gw_first_one #(
      .Width(Pages)
    ) u_eligible (
      .bits_i(eligible_q),
      .any_o (any_eligible),
      .idx_o (first_eligible)
    );
    assign victim = named_valid ? named_idx : first_eligible;
    logic unused;
    assign unused = any_eligible;
  end else begin : gen_named
    assign victim = named_idx;
    logic unused;
    assign unused = named_valid;
  end

  assign eligible = active_o & ~busy_i;
  assign preferred = eligible & prefer_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      free_valid_o <= 1'b0;
      victim_valid_o <= 1'b0;
      eligible_q <= '0;
      ahead_here_o <= 1'b0;
      free_count_o <= '0;
    end else begin
      free_valid_o <= ready_i && any_free && !put;
      ahead_here_o <= ahead_match != '0;
      eligible_q <= (preferred != '0) ? preferred : eligible;
      victim_valid_o <= eligible_q != '0;
      free_count_o <= ($clog2(Pages + 1))'($countones(~used_q));
    end
  end
  always_ff @(posedge clk_i) begin
    free_idx_o <= first_free;
    victim_idx_o <= victim;
  end

  `GW_INVARIANT(OnePlace_A, $onehot0(read_match) && $onehot0(write_match))
  `GW_INVARIANT(AllocFree_A, !put || (free_valid_o && !used_q[free_idx_o]))
  `GW_INVARIANT(OnePut_A, !(alloc_i && ahead_put_i))
  `GW_INVARIANT(FreezeActive_A, !freeze_i || active_o[job_idx_i])
  `GW_INVARIANT(EndFrozen_A, !(thaw_i || release_i) || frozen_q[end_idx_i])
  `GW_COVER(ReadMeetsFrozen_C, (read_match & frozen_q) != '0)

endmodule
