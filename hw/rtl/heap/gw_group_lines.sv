// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The bits of a bitmap, a block at a time: takes a group out of a block, or gives one back. Blocks are all on chip, or in memory
// behind a few lines.
//
// Contract
// - A bit that is set is a free unit. A group is 2**order units, naturally aligned.
// - take: the first group of that size in the block, whose `state_i` (gw_group_index) says that there is one. give: refused, and
//   nothing changed, unless every unit of the group is taken.
// - `state_o` is the block's state after the command.
// - One command at a time, each answered once. Latency (acceptance to answer) of a block that is here: take 17 cycles, give 13; a
//   group of several words 10 and their number. A block in which all is free, or nothing, needs no read: a cycle a word and 4 more.
//   Another one 8 beats and the memory's latency more, and as much, with 3 cycles a word, if a changed one has to go first.
// - A block in memory: 64 bytes, at `base_i` of its pool, in the order of the blocks; read and written in beats of 8 bytes.
// - An access that memory answers with an error ends everything: that command and all later ones are refused, `broken_o`.
// - `drop_i`: nothing of that pool is here any more. Only between commands.
`include "gw_assert.svh"

module gw_group_lines #(
  parameter int unsigned Pools = 2,
  parameter int unsigned Blocks = 2048,
  /// log2 of the units of a block, WordBits to WordBits + 3.
  parameter int unsigned BlockBits = 9,
  /// log2 of the bits of a word.
  parameter int unsigned WordBits = 6,
  /// Blocks that are here, a power of two up to 64; 0: all of them, and no memory.
  parameter int unsigned Lines = 4,
  /// Derived.
  localparam int unsigned PoolWidth = (Pools > 1) ? $clog2(Pools) : 1,
  localparam int unsigned BlockWidth = $clog2(Blocks)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  gw_pkg::ppn_t [Pools-1:0] base_i,
  input  logic                  drop_i,
  input  logic                  valid_i,
  output logic                  ready_o,
  input  logic                  give_i,
  input  gw_pkg::group_order_t  order_i,
  input  logic [PoolWidth-1:0]  pool_i,
  input  logic [BlockWidth-1:0] block_i,
  input  gw_pkg::group_state_t  state_i,
  input  logic [BlockBits-1:0]  unit_i,
  /// For one cycle.
  output logic                  done_o,
  output logic                  ok_o,
  output logic [BlockBits-1:0]  unit_o,
  output gw_pkg::group_state_t  state_o,
  output logic                  broken_o,
  output gw_axi_pkg::bitmap_req_t m_req_o,
  input  gw_axi_pkg::bitmap_rsp_t m_rsp_i
);

  import gw_pkg::*;
  import gw_axi_pkg::*;

  localparam int unsigned Words = 2 ** (BlockBits - WordBits);
  localparam int unsigned WordIdx = (Words > 1) ? $clog2(Words) : 1;
  localparam int unsigned Bits = 2 ** WordBits;
  localparam bit OnChip = Lines == 0;
  localparam int unsigned Here = OnChip ? Pools * Blocks : Lines;
  localparam int unsigned LineWidth = (Here > 1) ? $clog2(Here) : 1;
  localparam group_state_t Top = group_state_t'(BlockBits + 1);
  localparam logic [2:0] Full = 3'(WordBits + 1);

  if (BlockBits < WordBits || BlockBits > WordBits + 3) begin : gen_bad_block_bits
    $fatal(1, "gw_group_lines: BlockBits must be WordBits to WordBits + 3");
  end
  if (!OnChip && (WordBits != 6 || BlockBits != 9 || Lines > 64 || (Lines & (Lines - 1)) != 0)) begin : gen_bad_lines
    $fatal(1, "gw_group_lines: Lines must be 0, or a power of two up to 64 with blocks of 512 units in words of 64");
  end

  typedef logic [WordIdx-1:0] index_t;
  typedef logic [LineWidth-1:0] line_t;
  typedef logic [Bits-1:0] word_t;
  typedef logic [Words-1:0][2:0] sums_t;  // states of a block's words, as gw_group_word tells them
  typedef struct packed {
    logic [PoolWidth-1:0]  pool;
    logic [BlockWidth-1:0] block;
  } tag_t;
  typedef struct packed {
    tag_t  tag;
    sums_t sums;
  } info_t;

  typedef enum logic [4:0] {
    Idle,
    Info,      // what the line holds: the RAM's output
    Judge,
    EvictAddr,
    EvictRead,
    EvictSettle,
    EvictData,
    EvictDone,
    FetchAddr,
    FetchData,
    Fill,      // all is free, or nothing
    Drain,     // ... until the states of what was put are known
    Choose,    // which words would do
    Pick,      // ... the first of them
    Read,
    Settle,
    Levels,    // four cycles until the place is known, and its bits
    Change,
    Wipe,      // groups of several words
    Sum,       // states of the words to that of the block
    Done
  } step_e;
  step_e step_q, step_d;

  // The command.
  logic give_q, ok_q, broken_q;
  group_order_t order_q;
  tag_t tag_q;
  group_state_t state_q;
  logic [BlockBits-1:0] unit_q;
  line_t line_q, line;
  assign line = (Here == 1) ? '0 : OnChip ? line_t'({pool_i, block_i}) : line_t'(block_i) ^ line_t'(pool_i);

  // Bits, and what is known of each line.
  logic re, info_we;
  word_t rdata, word_q;
  index_t beat_q;  // of those that go through all words, or some
  index_t at_q;
  logic put_q;  // word_q is written to at_q
  word_t beat;
  info_t info, info_q, info_d;
  localparam int unsigned Depth = (Here * Words > 1) ? Here * Words : 2;
  function automatic logic [$clog2(Depth)-1:0] address(line_t of_line, index_t word);
    return ($clog2(Depth))'((Words > 1) ? 32'(of_line) * Words + 32'(word) : 32'(of_line));
  endfunction
  gw_ram #(
    .Width(Bits),
    .Depth(Depth)
  ) u_bits (
    .clk_i,
    .we_i   (put_q),
    .waddr_i(address(line_q, at_q)),
    .wdata_i(word_q),
    .re_i   (re),
    .raddr_i(address(line_q, (step_q == EvictRead) ? beat_q : at_q)),
    .rdata_o(rdata)
  );
  gw_ram #(
    .Width($bits(info_t)),
    .Depth((Here > 1) ? Here : 2)
  ) u_info (
    .clk_i,
    .we_i   (info_we),
    .waddr_i(line_q),
    .wdata_i(info_d),
    .re_i   (step_q == Info),
    .raddr_i(line_q),
    .rdata_o(info)
  );

  // Lines that hold a block, and differ from memory.
  logic valid, dirty, drop_lines;
  if (OnChip) begin : gen_all
    assign valid = 1'b1;
    assign dirty = 1'b0;
  end else begin : gen_lines
    logic [Here-1:0] valid_q, dirty_q;
    logic [Here-1:0][PoolWidth-1:0] pool_q;
    assign valid = valid_q[line_q];
    assign dirty = dirty_q[line_q];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        valid_q <= '0;
        dirty_q <= '0;
      end else begin
        if (drop_lines) begin
          for (int unsigned i = 0; i < Here; i++) if (pool_q[i] == pool_i) valid_q[i] <= 1'b0;
        end
        if (step_q inside {FetchAddr, Fill}) valid_q[line_q] <= 1'b0;
        if (info_we) begin
          valid_q[line_q] <= 1'b1;
          // What all states tell need not be in memory.
          dirty_q[line_q] <= !(state_q == '0 || state_q == Top);
        end
      end
    end
    always_ff @(posedge clk_i) if (info_we) pool_q[line_q] <= tag_q.pool;
  end
  assign drop_lines = drop_i && step_q == Idle;

  logic known, here;  // the state says it all; the bits are in the line
  assign known = state_q == '0 || state_q == Top;
  assign here = OnChip || (valid && info_q.tag == tag_q);

  // States of words, behind what is put.
  logic [2:0] word_state;
  logic [WordBits-1:0] place;
  logic [1:0] put_later_q;
  index_t [1:0] at_later_q;
  sums_t sums_q;
  gw_group_word #(
    .WordBits(WordBits)
  ) u_word (
    .clk_i,
    .word_i (word_q),
    .order_i(order_q[2:0]),
    .state_o(word_state),
    .place_o(place)
  );
  logic settled;
  assign settled = !put_q && put_later_q == '0;

  // Which word, or words.
  logic in_word;
  logic [Words-1:0] full, empty, starts, starts_q, chosen, chosen_q;
  logic any_start, taken_partly_q;
  index_t first;
  logic [2:0] span_q;  // log2 of the words of a large group; known since Info, as what follows from it
  assign in_word = order_q <= group_order_t'(WordBits);
  always_ff @(posedge clk_i) span_q <= 3'(order_q - group_order_t'(WordBits));
  always_comb begin
    for (int unsigned w = 0; w < Words; w++) begin
      full[w] = sums_q[w] == Full;
      empty[w] = sums_q[w] == '0;
      starts[w] = in_word && sums_q[w] > order_q[2:0];
    end
    for (int unsigned l = 1; l <= BlockBits - WordBits; l++) begin
      for (int unsigned g = 0; g < (Words >> l); g++) begin
        if (!in_word && span_q == 3'(l)) starts[g<<l] = &(full >> (g << l) | ~Words'((1 << (1 << l)) - 1));
      end
    end
    // Words of the group at unit_q.
    for (int unsigned w = 0; w < Words; w++) chosen[w] = (32'(w) >> span_q) == (32'(unit_q >> WordBits) >> span_q);
  end
  gw_first_one #(.Width(Words)) u_first (.bits_i(starts_q), .any_o(any_start), .idx_o(first));

  // Bits of the group in its word.
  word_t mask_d, mask_q;
  logic [WordBits-1:0] mask_place;
  assign mask_place = give_q ? unit_q[WordBits-1:0] : place;
  // Those whose place in the word has bit b.
  function automatic logic [WordBits-1:0][Bits-1:0] with_bits();
    for (int unsigned b = 0; b < WordBits; b++) begin
      for (int unsigned i = 0; i < Bits; i++) with_bits[b][i] = 1'(i >> b);
    end
  endfunction
  localparam logic [WordBits-1:0][Bits-1:0] WithBits = with_bits();
  always_comb begin
    mask_d = '1;
    for (int unsigned b = 0; b < WordBits; b++) begin
      if (order_q[2:0] <= 3'(b)) mask_d &= mask_place[b] ? WithBits[b] : ~WithBits[b];
    end
  end

  always_ff @(posedge clk_i) mask_q <= mask_d;

  // State of the block.
  group_state_t block_state;
  always_comb begin
    block_state = '0;
    for (int unsigned w = 0; w < Words; w++) begin
      if (group_state_t'(sums_q[w]) > block_state) block_state = group_state_t'(sums_q[w]);
    end
    for (int unsigned l = 1; l <= BlockBits - WordBits; l++) begin
      for (int unsigned g = 0; g < (Words >> l); g++) begin
        if (&(full >> (g << l) | ~Words'((1 << (1 << l)) - 1))) block_state = group_state_t'(WordBits + 1 + l);
      end
    end
  end

  // Steps.
  logic last_word, wipe_last;
  logic [1:0] wait_q;
  assign last_word = beat_q == index_t'(Words - 1);
  assign wipe_last = (32'(beat_q) + 1) >> span_q != 32'(beat_q) >> span_q;
  always_comb begin
    step_d = step_q;
    unique case (step_q)
      Idle: if (valid_i) step_d = broken_q ? Done : Info;
      Info: step_d = Judge;
      Judge: begin
        if (wait_q == '0) begin
          if (here && !known) step_d = Choose;
          else if (valid && dirty && !here) step_d = EvictAddr;
          else step_d = known ? Fill : FetchAddr;
        end
      end
      EvictAddr: if (m_rsp_i.aw_ready) step_d = EvictRead;
      EvictRead: step_d = EvictSettle;
      EvictSettle: step_d = EvictData;
      EvictData: if (m_rsp_i.w_ready) step_d = last_word ? EvictDone : EvictRead;
      EvictDone: if (m_rsp_i.b_valid) step_d = m_rsp_i.b.resp[1] ? Done : (known ? Fill : FetchAddr);
      FetchAddr: if (m_req_o.ar_valid && m_rsp_i.ar_ready) step_d = FetchData;
      FetchData: if (m_rsp_i.r_valid && m_rsp_i.r.last) step_d = Drain;
      Fill: if (last_word) step_d = Drain;
      Drain: if (settled) step_d = broken_q ? Done : Choose;
      Choose: step_d = Pick;
      Pick: begin
        if (in_word) step_d = Read;
        else step_d = (give_q && taken_partly_q) ? Done : Wipe;
      end
      Read: step_d = Settle;
      Settle: step_d = give_q ? Change : Levels;
      Levels: if (wait_q == '0) step_d = Change;
      Change: step_d = (give_q && (word_q & mask_q) != '0) ? Done : Sum;
      Wipe: if (wipe_last) step_d = Sum;
      Sum: if (settled) step_d = Done;
      default: step_d = Idle;
    endcase
  end

  assign ready_o = step_q == Idle && !drop_i;
  assign re = step_q inside {EvictRead, Read};
  assign done_o = step_q == Done;
  assign ok_o = ok_q;
  assign unit_o = unit_q;
  assign state_o = state_q;
  assign broken_o = broken_q;
  assign info_d = '{tag: tag_q, sums: sums_q};
  assign info_we = step_q == Done && ok_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      step_q <= Idle;
      put_q <= 1'b0;
      put_later_q <= '0;
      broken_q <= 1'b0;
    end else begin
      step_q <= step_d;
      put_q <= (step_q == FetchData && m_rsp_i.r_valid) || step_q == Fill || (step_q == Change && step_d == Sum) || step_q == Wipe;
      put_later_q <= {put_later_q[0], put_q};
      if (step_q == EvictDone && m_rsp_i.b_valid && m_rsp_i.b.resp[1]) broken_q <= 1'b1;
      if (step_q == FetchData && m_rsp_i.r_valid && m_rsp_i.r.resp[1]) broken_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (step_q == Idle) begin
      give_q <= give_i;
      order_q <= order_i;
      tag_q <= '{pool: pool_i, block: block_i};
      state_q <= state_i;
      unit_q <= unit_i;
      line_q <= line;
      ok_q <= 1'b0;
    end

    wait_q <= (wait_q != '0) ? wait_q - 2'd1 : '0;
    if (step_q == Info) wait_q <= 2'd1;
    if (step_q == Settle) wait_q <= 2'd3;
    info_q <= info;
    if (step_q == Judge) sums_q <= info_q.sums;
    if (put_later_q[1]) sums_q[at_later_q[1]] <= word_state;
    at_later_q <= {at_later_q[0], at_q};

    if (step_q == Idle) beat_q <= '0;
    else if (step_q == Pick) beat_q <= give_q ? index_t'(unit_q >> WordBits) : first;
    else if (Words > 1 && ((step_q == EvictData && m_rsp_i.w_ready) || (step_q == FetchData && m_rsp_i.r_valid) ||
        step_q inside {Fill, Wipe})) beat_q <= beat_q + 1'b1;

    starts_q <= starts;
    chosen_q <= chosen;
    taken_partly_q <= (chosen_q & ~empty) != '0;

    unique case (step_q)
      FetchData, Fill, Wipe: at_q <= beat_q;
      Pick: at_q <= give_q ? index_t'(unit_q >> WordBits) : first;
      default: ;
    endcase
    unique case (step_q)
      EvictSettle, Settle: word_q <= rdata;
      FetchData: word_q <= beat;
      Fill: word_q <= (state_q == '0) ? '0 : '1;
      Wipe: word_q <= give_q ? '1 : '0;
      Change: word_q <= give_q ? word_q | mask_q : word_q & ~mask_q;
      default: ;
    endcase
    if (!give_q && step_q == Pick && !in_word) unit_q <= BlockBits'(32'(first) << WordBits);
    if (!give_q && step_q == Change) unit_q <= BlockBits'((32'(at_q) << WordBits) | 32'(place));
    if (step_q == Sum && settled) begin
      state_q <= block_state;
      ok_q <= 1'b1;
    end
  end

  // Memory. The address is that of the block which goes, then that of the one which comes.
  if (OnChip) begin : gen_no_memory
    assign m_req_o = '0;
    assign beat = '0;
    logic unused;
    assign unused = ^{m_rsp_i, base_i, drop_i, drop_lines, info_q.tag};
  end else begin : gen_memory
    localparam int unsigned Bytes = Bits / 8;
    logic [PaWidth-1:0] addr_q;
    logic addressed_q;
    tag_t addressed;
    assign addressed = (step_q inside {Judge, EvictAddr}) ? info_q.tag : tag_q;
    assign beat = m_rsp_i.r.data[Bits*beat_q +: Bits];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) addressed_q <= 1'b0;
      else addressed_q <= step_q == FetchAddr && !(addressed_q && m_rsp_i.ar_ready);
    end
    always_ff @(posedge clk_i) begin
      addr_q <= {base_i[addressed.pool], PageShift'(0)} + PaWidth'({addressed.block, ($clog2(Bytes * Words))'(0)});
    end
    always_comb begin
      m_req_o = '0;
      m_req_o.ar_valid = step_q == FetchAddr && addressed_q;
      m_req_o.aw_valid = step_q == EvictAddr;
      m_req_o.ar.addr = 64'(addr_q);
      m_req_o.ar.len = 8'(Words - 1);
      m_req_o.ar.size = 3'($clog2(Bytes));
      m_req_o.ar.burst = BurstIncr;
      m_req_o.ar.cache = 4'b0011;
      m_req_o.ar.prot = 3'b001;
      m_req_o.aw = m_req_o.ar;
      m_req_o.r_ready = step_q == FetchData;
      m_req_o.w_valid = step_q == EvictData;
      m_req_o.w.data = {Words{word_q}};
      m_req_o.w.strb[Bytes*beat_q +: Bytes] = '1;
      m_req_o.w.last = last_word;
      m_req_o.b_ready = step_q == EvictDone;
    end
  end

  `GW_INVARIANT(DropBetween_A, !drop_i || step_q == Idle)
  `GW_INVARIANT(StateAllowsIt_A, !valid_i || give_i || state_i > order_i)
  `GW_INVARIANT(Aligned_A, !valid_i || !give_i || (unit_i & ~(BlockBits'('1) << order_i)) == '0)
  `GW_INVARIANT(FoundWord_A, step_q != Pick || give_q || any_start)
  `GW_COVER(DoubleGive_C, step_q == Change && step_d == Done)

endmodule
