// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The two stages of a lookup in the page cache: whose turn it is, its page by the tags, and the register in which it is decided.
//
//   read beat  ─┐  turn   tags         register
//   write beat ─┴───────> cycle 1 ───────────> cycle 2: decided (gw_cache_decide)
//
// Contract
// - A beat a cycle, reads and writes in turn; what goes in cycle t (`read_go_o`, `write_go_o`) is decided in t+1 (`read_o`, `write_o`), unless
//   its side has taken it back (`*_kill_i`). `line_o` is its line.
// - `addr_o` is the place of the line that a read's beat wants, if its page is here; 0 if none does, which is known early: then the data memory
//   is free for others (`free_o`).
// - Lookups make way: of writes when a line that lands or a job's row has waited (`row_waits_i`), of reads when data that is written back has waited
//   for four cycles (`data_waits_i`), or when there is no room for the answer.
// - A page that a store has put (`alloc_i`) counts as pinned until the store is in it.
// - Pages: gw_cache_tags.
module gw_cache_lookup #(
  /// Those of gw_page_cache.
  parameter int unsigned Pages = 16,
  parameter int unsigned PageRows = 1,
  parameter int unsigned BlockWidth = 44,
  parameter int unsigned Replacement = 0,
  parameter int unsigned Reads = 8,
  /// Derived.
  localparam int unsigned IdxWidth = $clog2(Pages),
  localparam int unsigned SubWidth = $clog2(PageRows),
  localparam int unsigned RowWidth = IdxWidth + SubWidth,
  localparam int unsigned TagWidth = BlockWidth - SubWidth,
  localparam int unsigned ReadWidth = $clog2(Reads)
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       ready_i,
  /// Beats.
  input  logic                       read_valid_i,
  output logic                       read_go_o,
  input  logic [ReadWidth-1:0]       read_slot_i,
  input  logic [BlockWidth-1:0]      read_block_i,
  input  logic [11:0]                read_offset_i,
  input  logic [7:0]                 read_left_i,
  input  logic [5:0]                 read_last_i,
  input  logic                       read_kill_i,
  input  logic                       read_first_i,
  input  logic                       write_valid_i,
  output logic                       write_go_o,
  input  logic [BlockWidth-1:0]      write_block_i,
  input  logic [5:0]                 write_line_i,
  input  logic                       write_kill_i,
  /// Answers of reads that wait to be taken, up to 4.
  input  logic [2:0]                 answers_i,
  input  logic                       row_waits_i,
  input  logic                       data_waits_i,
  output logic                       free_o,
  output logic [RowWidth+5:0]        addr_o,
  output logic [5:0]                 line_o,
  /// What is decided.
  output logic                       read_o,
  output logic                       first_o,
  output logic                       write_o,
  output logic                       hit_o,
  output logic                       active_o,
  output logic                       alloc_last_o,
  output logic [ReadWidth-1:0]       slot_o,
  output logic [BlockWidth-1:0]      block_o,
  output logic [11:0]                offset_o,
  output logic [7:0]                 left_o,
  output logic [5:0]                 last_o,
  /// Its row: of the page that was found; of that, or of the one that is put.
  output logic [RowWidth-1:0]        row_o,
  output logic [RowWidth-1:0]        put_row_o,
  input  logic                       ok_i,
  input  logic                       stored_i,
  input  logic                       alloc_i,
  /// A page read ahead: is it here, is it put, is it met (gw_cache_tags).
  input  logic                       ahead_put_i,
  input  logic [TagWidth-1:0]        ahead_tag_i,
  output logic                       ahead_here_o,
  input  logic                       met_i,
  input  logic [IdxWidth-1:0]        met_idx_i,
  /// Pages.
  output logic [Pages-1:0]           pages_active_o,
  output logic [Pages-1:0]           pages_frozen_o,
  output logic [Pages-1:0]           pages_pinned_o,
  input  logic [Pages-1:0]           pages_busy_i,
  input  logic [Pages-1:0]           pages_prefer_i,
  output logic                       free_valid_o,
  output logic [IdxWidth-1:0]        free_idx_o,
  output logic [$clog2(Pages+1)-1:0] free_count_o,
  output logic                       victim_valid_o,
  output logic [IdxWidth-1:0]        victim_idx_o,
  input  logic [IdxWidth-1:0]        job_idx_i,
  output logic [TagWidth-1:0]        job_tag_o,
  input  logic                       freeze_i,
  input  logic [IdxWidth-1:0]        end_idx_i,
  input  logic                       thaw_i,
  input  logic                       release_i
);

  typedef logic [IdxWidth-1:0] idx_t;
  typedef logic [RowWidth-1:0] row_t;

  // A row of a page's place.
  function automatic row_t row_of(idx_t idx, row_t block);
    return (row_t'(idx) << SubWidth) | (block & row_t'((32'd1 << SubWidth) - 32'd1));
  endfunction

  // Turns.
  logic read_can, write_can, wrote_q, hold_writes_q, hold_reads_q;
  logic [1:0] waited_q;
  assign read_can = read_valid_i && !hold_reads_q && (4'(answers_i) + 4'(read_o)) < 4'd4;
  assign write_can = write_valid_i && !hold_writes_q;
  assign read_go_o = read_can && !(write_can && !wrote_q);
  assign write_go_o = write_can && !read_go_o;

  // Cycle 1, and the register.
  logic read_hit, write_hit, use_q;
  idx_t read_idx, write_idx, idx_q, use_idx_q;
  assign free_o = !read_valid_i || hold_reads_q;
  assign addr_o = {row_of(read_idx, free_o ? '0 : row_t'(read_block_i)), free_o ? 6'd0 : read_offset_i[11:6]};
  assign line_o = read_go_o ? read_offset_i[11:6] : write_line_i;
  assign row_o = row_of(idx_q, row_t'(block_o));
  assign put_row_o = row_of(alloc_i ? free_idx_o : idx_q, row_t'(block_o));
  assign active_o = pages_active_o[idx_q];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_o <= 1'b0;
      write_o <= 1'b0;
      wrote_q <= 1'b0;
      use_q <= 1'b0;
      alloc_last_o <= 1'b0;
      hold_writes_q <= 1'b0;
      hold_reads_q <= 1'b0;
      waited_q <= '0;
    end else begin
      read_o <= read_go_o && !read_kill_i;
      write_o <= write_go_o && !write_kill_i;
      if (read_go_o || write_go_o) wrote_q <= write_go_o;
      use_q <= ok_i && hit_o;
      alloc_last_o <= alloc_i || ahead_put_i;
      hold_writes_q <= row_waits_i;
      waited_q <= data_waits_i ? waited_q + 2'd1 : '0;
      hold_reads_q <= data_waits_i && waited_q == 2'd3;
    end
  end
  always_ff @(posedge clk_i) begin
    hit_o <= read_go_o ? read_hit : write_hit;
    idx_q <= read_go_o ? read_idx : write_idx;
    block_o <= read_go_o ? read_block_i : write_block_i;
    offset_o <= read_go_o ? read_offset_i : {write_line_i, 6'd0};
    last_o <= read_go_o ? read_last_i : write_line_i;
    slot_o <= read_slot_i;
    left_o <= read_left_i;
    first_o <= read_first_i;
    use_idx_q <= idx_q;
  end

  // A page that a store has put is not a victim before the store is in it.
  logic pin_q;
  idx_t pin_idx_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) pin_q <= 1'b0;
    else if (write_o && alloc_i) pin_q <= 1'b1;
    else if (stored_i) pin_q <= 1'b0;
  end
  always_ff @(posedge clk_i) if (write_o && alloc_i) pin_idx_q <= free_idx_o;
  assign pages_pinned_o = pin_q ? Pages'(1) << pin_idx_q : '0;

  gw_cache_tags #(
    .Pages      (Pages),
    .TagWidth   (TagWidth),
    .Replacement(Replacement)
  ) u_tags (
    .clk_i,
    .rst_ni,
    .ready_i,
    .read_i      (!free_o),
    .read_tag_i  (read_block_i[BlockWidth-1-:TagWidth]),
    .read_hit_o  (read_hit),
    .read_idx_o  (read_idx),
    .write_tag_i (write_block_i[BlockWidth-1-:TagWidth]),
    .write_hit_o (write_hit),
    .write_idx_o (write_idx),
    .active_o    (pages_active_o),
    .frozen_o    (pages_frozen_o),
    .use_i       (use_q),
    .use_idx_i   (use_idx_q),
    .free_valid_o,
    .free_idx_o,
    .alloc_i,
    .alloc_tag_i (block_o[BlockWidth-1-:TagWidth]),
    .ahead_put_i,
    .ahead_tag_i,
    .ahead_here_o,
    .met_i,
    .met_idx_i,
    .busy_i      (pages_busy_i | pages_pinned_o),
    .prefer_i    (pages_prefer_i),
    .victim_valid_o,
    .victim_idx_o,
    .free_count_o,
    .job_idx_i,
    .job_tag_o,
    .freeze_i,
    .end_idx_i,
    .thaw_i,
    .release_i
  );

endmodule
