// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Which blocks of a bitmap have what free: a state for each block, and for each state a tree of bits that leads to a block with it.
// Finding a block and changing a state take a bounded number of cycles, however many blocks there are.
//
// Contract
// - State of a block: 0 nothing is free, else 1 + log2 of the largest naturally aligned group in it; `Top` all is free.
// - One command at a time, each answered once:
//   find   the lowest block of the smallest state that is at least `state_i`; without one `found_o` is low
//   read   the state of `block_i`
//   write  the state of `block_i` becomes `state_i`
//   init   blocks below `count_i` become Top, the others 0
// - Latency (acceptance to answer): find 11 cycles, or 2 without a block; read 4; write at most 17, 5 if it changes nothing; init one a word of
//   the pool, and one more.
// - Memory: one block RAM. A word holds the states of 2**GroupBits blocks, or 2**MapBits bits of a tree. Nothing of a pool is
//   read before its init but its roots, which say "nothing is free" after reset.
`include "gw_assert.svh"

module gw_group_index #(
  /// Bitmaps beside one another, a power of two.
  parameter int unsigned Pools = 2,
  /// Blocks of each, a power of two, 2**GroupBits to 2**(GroupBits + 2 * MapBits).
  parameter int unsigned Blocks = 2048,
  /// log2 of the units of a block: states are 0 to BlockBits + 1.
  parameter int unsigned BlockBits = 9,
  /// log2 of the states in a word.
  parameter int unsigned GroupBits = 4,
  /// log2 of the bits of a tree's word.
  parameter int unsigned MapBits = 6,
  /// Derived.
  localparam int unsigned PoolWidth = (Pools > 1) ? $clog2(Pools) : 1,
  localparam int unsigned BlockWidth = $clog2(Blocks)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  valid_i,
  output logic                  ready_o,
  input  gw_pkg::group_index_op_e op_i,
  input  logic [PoolWidth-1:0]  pool_i,
  input  logic [BlockWidth-1:0] block_i,
  input  gw_pkg::group_state_t  state_i,
  input  logic [BlockWidth:0]   count_i,
  /// For one cycle.
  output logic                  done_o,
  output logic                  found_o,
  output logic [BlockWidth-1:0] block_o,
  output gw_pkg::group_state_t  state_o,
  /// Of each pool, whether a block has a free group of 2**order units, order 0 to BlockBits. Means something while ready_o is high.
  output logic [Pools-1:0][BlockBits:0] some_o
);

  import gw_pkg::*;

  localparam int unsigned Groups = Blocks >> GroupBits;
  localparam int unsigned GroupWidth = (Groups > 1) ? $clog2(Groups) : 1;
  // A tree has two levels: a bit for each group, and a bit for each word of these.
  localparam int unsigned MapWords = (Groups > 2 ** MapBits) ? Groups >> MapBits : 1;
  localparam int unsigned MapWidth = (MapWords > 1) ? $clog2(MapWords) : 1;
  localparam int unsigned StatesInWord = 2 ** GroupBits;
  localparam int unsigned BitsInMap = 2 ** MapBits;
  localparam int unsigned StateBits = $bits(group_state_t);
  localparam int unsigned Width = (StatesInWord * StateBits > BitsInMap) ? StatesInWord * StateBits : BitsInMap;
  localparam group_state_t Top = group_state_t'(BlockBits + 1);

  if (Pools < 1 || (Pools & (Pools - 1)) != 0) begin : gen_bad_pools
    $fatal(1, "gw_group_index: Pools must be a power of two");
  end
  if ((Blocks & (Blocks - 1)) != 0 || Groups < 1 || MapWords > BitsInMap) begin : gen_bad_blocks
    $fatal(1, "gw_group_index: Blocks must be a power of two, 2**GroupBits to 2**(GroupBits + 2 * MapBits)");
  end

  // Addresses: states by pool and group; trees by pool, state, level and word. The larger part comes first.
  localparam int unsigned NumStates = 2 ** $clog2(BlockBits + 2);
  localparam int unsigned StateWords = Pools * Groups;
  localparam int unsigned TreeWords = Pools * NumStates * 2 * MapWords;
  localparam int unsigned StatesAt = (StateWords >= TreeWords) ? 0 : TreeWords;
  localparam int unsigned TreesAt = (StateWords >= TreeWords) ? StateWords : 0;
  localparam int unsigned AddrWidth = $clog2(StateWords + TreeWords);
  typedef logic [AddrWidth-1:0] addr_t;
  typedef logic [Width-1:0] word_t;
  typedef logic [GroupWidth-1:0] group_t;
  typedef logic [MapWidth-1:0] map_t;
  typedef logic [PoolWidth-1:0] pool_t;
  typedef logic [$clog2(NumStates)-1:0] tree_t;

  function automatic addr_t at_states(pool_t pool, group_t group);
    return addr_t'(StatesAt) | addr_t'(32'(pool) * Groups + 32'(group));
  endfunction
  function automatic addr_t at_tree(pool_t pool, group_state_t state, logic upper, map_t word);
    return addr_t'(TreesAt) | addr_t'(((32'(pool) * NumStates + 32'(state)) * 2 + 32'(upper)) * MapWords + 32'(word));
  endfunction

  typedef enum logic [3:0] {
    Idle,
    Root,    // find: which state
    Read,    // a word: the RAM's output
    Settle,  // ... the register behind it
    Pick,    // find: the lowest bit of a tree's word, or block of the state
    Old,     // read, write: the state that is there
    Merge,   // write: the new one; is another block of the group in the old one
    Edit,    // write: a bit of a tree
    Sweep,   // init
    Done
  } step_e;
  // What the word that is read, edited or swept is.
  typedef enum logic [1:0] {
    Upper,
    Lower,
    States
  } level_e;

  step_e step_q, step_d;
  level_e level_q, level_d;
  group_index_op_e op_q;
  pool_t pool_q;
  logic [BlockWidth-1:0] block_q;
  group_state_t want_q, old_q, edited, read_state;
  logic found_q, adding_q, adding_d;

  logic [Pools-1:0][NumStates-1:0] roots_q;
  logic [NumStates-1:0] root_q, wide_enough;

  // The RAM and the register behind it.
  logic re, we;
  addr_t raddr, waddr;
  word_t rdata, wdata, word_q;
  gw_ram #(
    .Width(Width),
    .Depth(StateWords + TreeWords)
  ) u_words (
    .clk_i,
    .we_i   (we),
    .waddr_i(waddr),
    .wdata_i(wdata),
    .re_i   (re),
    .raddr_i(raddr),
    .rdata_o(rdata)
  );
  always_ff @(posedge clk_i) if (step_q == Settle) word_q <= rdata;

  // Where a block's state and bits are.
  group_t group;
  logic [MapBits-1:0] map_bit;
  map_t map_word;
  logic [GroupBits-1:0] in_group;
  assign group = group_t'(block_q >> GroupBits);
  assign in_group = block_q[GroupBits-1:0];
  assign map_bit = MapBits'(group);
  assign map_word = map_t'(32'(group) >> MapBits);

  // find: the smallest state that is large enough, then down its tree.
  logic any_state;
  tree_t first_state;
  logic [MapBits-1:0] first_bit;
  logic [GroupBits-1:0] first_block;
  logic [StatesInWord-1:0] of_state;
  always_comb begin
    for (int unsigned s = 0; s < NumStates; s++) wide_enough[s] = root_q[s] && group_state_t'(s) >= want_q;
    for (int unsigned i = 0; i < StatesInWord; i++) of_state[i] = word_q[StateBits*i +: StateBits] == want_q;
  end
  gw_first_one #(.Width(NumStates)) u_first_state (.bits_i(wide_enough), .any_o(any_state), .idx_o(first_state));
  gw_first_one #(.Width(BitsInMap)) u_first_bit (.bits_i(word_q[BitsInMap-1:0]), .any_o(), .idx_o(first_bit));
  gw_first_one #(.Width(StatesInWord)) u_first_block (.bits_i(of_state), .any_o(), .idx_o(first_block));

  // write: the group's word, and whether the old state is still in it; then a tree's word.
  word_t merged, bit_mask_q, with_bit;
  logic others, bit_was_last, map_was_empty;
  assign edited = adding_q ? want_q : old_q;
  always_comb begin
    merged = word_q;
    read_state = '0;
    others = 1'b0;
    for (int unsigned i = 0; i < StatesInWord; i++) begin
      if (GroupBits'(i) == in_group) begin
        read_state = word_q[StateBits*i +: StateBits];
        merged[StateBits*i +: StateBits] = want_q;
      end
      others |= word_q[StateBits*i +: StateBits] == old_q && GroupBits'(i) != in_group;
    end
    with_bit = adding_q ? word_q | bit_mask_q : word_q & ~bit_mask_q;
  end
  // Known since the read began.
  always_ff @(posedge clk_i) bit_mask_q <= word_t'(1) << ((level_q == Upper) ? MapBits'(map_word) : map_bit);
  assign map_was_empty = word_q[BitsInMap-1:0] == '0;
  assign bit_was_last = (word_q[BitsInMap-1:0] & ~bit_mask_q[BitsInMap-1:0]) == '0;

  // init: `total_q` ones in the words of a level, from its first on.
  localparam int unsigned SweepWidth = (Groups > 2 * NumStates * MapWords) ? $clog2(Groups) : $clog2(2 * NumStates * MapWords);
  logic [SweepWidth-1:0] sweep_q;
  logic [BlockWidth:0] blocks_q, groups_q, maps_q;
  logic [StatesInWord-1:0] states_ones;
  logic [BitsInMap-1:0] map_ones;
  group_state_t sweep_state;
  logic sweep_upper, sweep_last;
  map_t sweep_word;
  word_t swept;
  assign sweep_word = (MapWords > 1) ? map_t'(sweep_q) : '0;
  assign sweep_upper = sweep_q[$clog2(MapWords)];
  assign sweep_state = group_state_t'(32'(sweep_q) >> ($clog2(MapWords) + 1));
  assign sweep_last = sweep_q == ((level_q == States) ? SweepWidth'(Groups - 1) : SweepWidth'(2 * NumStates * MapWords - 1));
  always_comb begin
    for (int unsigned i = 0; i < StatesInWord; i++) states_ones[i] = 32'(sweep_q) * StatesInWord + i < 32'(blocks_q);
    for (int unsigned i = 0; i < BitsInMap; i++) begin
      map_ones[i] = sweep_state == Top &&
          (sweep_upper ? sweep_word == '0 && i < 32'(maps_q) : 32'(sweep_word) * BitsInMap + i < 32'(groups_q));
    end
    swept = word_t'(map_ones);
    if (level_q == States) begin
      swept = '0;
      for (int unsigned i = 0; i < StatesInWord; i++) swept[StateBits*i +: StateBits] = states_ones[i] ? Top : '0;
    end
  end

  always_comb begin
    step_d = step_q;
    level_d = level_q;
    adding_d = adding_q;
    unique case (step_q)
      Idle: begin
        adding_d = 1'b0;
        level_d = (op_i == GroupFind) ? Upper : States;
        if (valid_i) begin
          unique case (op_i)
            GroupFind: step_d = Root;
            GroupInit: step_d = Sweep;
            default: step_d = Read;
          endcase
        end
      end
      Root: step_d = any_state ? Read : Done;
      Read: step_d = Settle;
      Settle: begin
        unique case (op_q)
          GroupFind: step_d = Pick;
          default: step_d = (level_q == States) ? Old : Edit;
        endcase
      end
      Pick: begin
        step_d = (level_q == States) ? Done : Read;
        level_d = (level_q == Upper) ? Lower : States;
      end
      Old: step_d = (op_q == GroupWrite) ? Merge : Done;
      Merge: begin
        level_d = Lower;
        adding_d = others || old_q == '0;
        step_d = (old_q == want_q || (adding_d && want_q == '0)) ? Done : Read;
      end
      Edit: begin
        // Up to the next level where this one became empty, or was; then to the other tree.
        if (level_q == Lower && (adding_q ? map_was_empty : bit_was_last)) begin
          level_d = Upper;
          step_d = Read;
        end else begin
          level_d = Lower;
          adding_d = 1'b1;
          step_d = (adding_q || want_q == '0) ? Done : Read;
        end
      end
      Sweep: begin
        if (sweep_last) begin
          level_d = Lower;
          step_d = (level_q == States) ? Sweep : Done;
        end
      end
      default: step_d = Idle;
    endcase
  end

  always_comb begin
    some_o = '0;
    for (int unsigned p = 0; p < Pools; p++) begin
      for (int unsigned o = 0; o <= BlockBits; o++) begin
        for (int unsigned t = o + 1; t <= BlockBits + 1; t++) some_o[p][o] |= roots_q[p][t];
      end
    end
  end
  assign ready_o = step_q == Idle;
  assign done_o = step_q == Done;
  assign found_o = found_q;
  assign block_o = block_q;
  assign state_o = (op_q == GroupFind) ? want_q : old_q;

  always_comb begin
    re = step_q == Read;
    unique case (level_q)
      States: raddr = at_states(pool_q, group);
      Upper: raddr = at_tree(pool_q, (op_q == GroupFind) ? want_q : edited, 1'b1, '0);
      default: raddr = at_tree(pool_q, (op_q == GroupFind) ? want_q : edited, 1'b0, map_word);
    endcase
    we = step_q inside {Merge, Edit, Sweep};
    waddr = raddr;
    wdata = (step_q == Merge) ? merged : with_bit;
    if (step_q == Sweep) begin
      waddr = (level_q == States) ? at_states(pool_q, group_t'(sweep_q)) : at_tree(pool_q, sweep_state, sweep_upper, sweep_word);
      wdata = swept;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      step_q <= Idle;
      level_q <= States;
      adding_q <= 1'b0;
      roots_q <= '0;
    end else begin
      step_q <= step_d;
      level_q <= level_d;
      adding_q <= adding_d;
      if (step_q == Edit && level_q == Upper && (adding_q || bit_was_last)) roots_q[(Pools > 1) ? pool_q : '0][tree_t'(edited)] <= adding_q;
      if (step_q == Sweep) begin
        roots_q[(Pools > 1) ? pool_q : '0] <= '0;
        roots_q[(Pools > 1) ? pool_q : '0][tree_t'(Top)] <= blocks_q != '0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (step_q == Idle) begin
      op_q <= op_i;
      pool_q <= (Pools > 1) ? pool_i : '0;
      block_q <= block_i;
      want_q <= state_i;
      root_q <= roots_q[(Pools > 1) ? pool_i : '0];
      blocks_q <= count_i;
      found_q <= 1'b1;
    end
    groups_q <= (BlockWidth + 1)'((32'(blocks_q) + StatesInWord - 1) >> GroupBits);
    maps_q <= (BlockWidth + 1)'((32'(groups_q) + BitsInMap - 1) >> MapBits);
    if (step_q == Root) begin
      found_q <= any_state;
      want_q <= group_state_t'(first_state);
    end
    if (step_q == Pick) begin
      unique case (level_q)
        Upper: block_q <= BlockWidth'(32'(first_bit) << (GroupBits + MapBits));
        Lower: block_q <= block_q | BlockWidth'(32'(first_bit) << GroupBits);
        default: block_q <= block_q | BlockWidth'(first_block);
      endcase
    end
    if (step_q == Old) old_q <= read_state;
    sweep_q <= (step_q == Sweep && !sweep_last) ? sweep_q + 1'b1 : '0;
  end

  `GW_INVARIANT(LegalState_A, !valid_i || !(op_i inside {GroupFind, GroupWrite}) || state_i <= Top)
  `GW_INVARIANT(TreesLeadToABlock_A, step_q != Pick || (level_q == States ? of_state != '0 : !map_was_empty))
  `GW_COVER(RootFalls_C, step_q == Edit && level_q == Upper && !adding_q && bit_was_last)
  `GW_COVER(StateStays_C, step_q == Merge && old_q == want_q)

endmodule
