// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Bitmaps of free units (frames, slots) that give naturally aligned groups of any power of two, in a bounded number of cycles,
// however many units there are. One engine for several bitmaps, the pools.
//
//   gw_group_index   what is free in each block, and the way to a block with a group of a size
//   gw_group_lines   the bits of a block
//
// Contract
// - take: a group of 2**order units of a pool that was free, or refused: then no such group is free in the pool. Of the blocks that have one
//   it comes from that whose largest free group is the smallest (the lowest of these), and is the first there.
// - give: the group is free again; refused, with nothing changed, if any of its units is free already. Neighbours that are free are
//   one group at once.
// - reset: units of the blocks below `count` are free, the others of the pool are not. A pool gives nothing before its first reset.
// - So a unit is in one hand: it is free, or it was given once and not given back; and none is lost.
// - One command at a time, answered once, in order. An answer stays until it is taken.
// - Latency (acceptance to answer, of blocks that are here): take 31 cycles, of a group of n words 24 + n, refused 4; give 20, 17 + n; the next
//   command is taken up to 18 cycles later. A block in which all was free, or nothing, 4 cycles and one a word more; one that is
//   not here, see gw_group_lines.
// - `broken_o`: memory answered with an error; every command is refused from then on.
`include "gw_assert.svh"

module gw_groups #(
  /// Bitmaps, a power of two.
  parameter int unsigned Pools = 2,
  /// Blocks of each, a power of two, 16 to 65536.
  parameter int unsigned Blocks = 2048,
  /// log2 of a block's units.
  parameter int unsigned BlockBits = 9,
  /// log2 of the bits of a word.
  parameter int unsigned WordBits = 6,
  /// Blocks whose bits are here, the others are in memory; 0: all are here.
  parameter int unsigned Lines = 4,
  /// As in gw_group_index.
  parameter int unsigned GroupBits = 4,
  parameter int unsigned MapBits = 6,
  /// Derived.
  localparam int unsigned PoolWidth = (Pools > 1) ? $clog2(Pools) : 1,
  localparam int unsigned BlockWidth = $clog2(Blocks),
  localparam int unsigned UnitWidth = BlockWidth + BlockBits
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  /// Memory of each pool's bits, 2**BlockBits bits a block. Held from the pool's reset on.
  input  gw_pkg::ppn_t [Pools-1:0]  base_i,
  input  logic                      cmd_valid_i,
  output logic                      cmd_ready_o,
  input  gw_pkg::group_op_e         cmd_op_i,
  input  logic [PoolWidth-1:0]      cmd_pool_i,
  input  gw_pkg::group_order_t      cmd_order_i,
  /// give: the first unit of the group.
  input  logic [UnitWidth-1:0]      cmd_unit_i,
  /// reset: how many blocks are free.
  input  logic [BlockWidth:0]       cmd_count_i,
  output logic                      rsp_valid_o,
  input  logic                      rsp_ready_i,
  output logic                      rsp_ok_o,
  output logic [UnitWidth-1:0]      rsp_unit_o,
  /// Of each pool, whether it has a free group of 2**order units. Means something while cmd_ready_o is high.
  output logic [Pools-1:0][BlockBits:0] some_o,
  output logic                      broken_o,
  output gw_axi_pkg::bitmap_req_t   m_req_o,
  input  gw_axi_pkg::bitmap_rsp_t   m_rsp_i
);

  import gw_pkg::*;

  typedef enum logic [2:0] {
    Idle,
    Ask,     // the index: which block, or its state
    Asked,
    Bits,    // the block
    BitsDone,
    Note,    // the index: the block's new state
    Noted
  } step_e;

  step_e step_q, step_d;
  group_op_e op_q;
  logic [PoolWidth-1:0] pool_q;
  group_order_t order_q;
  logic [UnitWidth-1:0] unit_q;
  logic [BlockWidth:0] count_q;
  logic [BlockWidth-1:0] block_q;
  group_state_t state_q, new_state_q;

  group_index_op_e index_op;
  logic index_valid, index_ready, index_done, index_found, lines_ready, lines_done, lines_ok, drop;
  logic [BlockWidth-1:0] index_block;
  group_state_t index_state, lines_state;
  logic [BlockBits-1:0] lines_unit;
  logic answer, answer_ok, rsp_valid_q;

  always_comb begin
    index_op = GroupRead;
    if (step_q == Note) index_op = GroupWrite;
    else if (op_q == GroupTake) index_op = GroupFind;
    else if (op_q == GroupReset) index_op = GroupInit;
  end
  assign index_valid = step_q inside {Ask, Note};

  gw_group_index #(
    .Pools    (Pools),
    .Blocks   (Blocks),
    .BlockBits(BlockBits),
    .GroupBits(GroupBits),
    .MapBits  (MapBits)
  ) u_index (
    .clk_i,
    .rst_ni,
    .valid_i(index_valid),
    .ready_o(index_ready),
    .op_i   (index_op),
    .pool_i (pool_q),
    .block_i(block_q),
    .state_i((step_q == Note) ? new_state_q : group_state_t'(order_q + 1'b1)),
    .count_i(count_q),
    .done_o (index_done),
    .found_o(index_found),
    .block_o(index_block),
    .state_o(index_state),
    .some_o
  );

  gw_group_lines #(
    .Pools    (Pools),
    .Blocks   (Blocks),
    .BlockBits(BlockBits),
    .WordBits (WordBits),
    .Lines    (Lines)
  ) u_lines (
    .clk_i,
    .rst_ni,
    .base_i,
    .drop_i  (drop),
    .valid_i (step_q == Bits),
    .ready_o (lines_ready),
    .give_i  (op_q == GroupGive),
    .order_i (order_q),
    .pool_i  (pool_q),
    .block_i (block_q),
    .state_i (state_q),
    .unit_i  (unit_q[BlockBits-1:0]),
    .done_o  (lines_done),
    .ok_o    (lines_ok),
    .unit_o  (lines_unit),
    .state_o (lines_state),
    .broken_o,
    .m_req_o,
    .m_rsp_i
  );

  always_comb begin
    step_d = step_q;
    unique case (step_q)
      Idle: if (cmd_valid_i && cmd_ready_o) step_d = Ask;
      Ask: if (index_ready) step_d = Asked;
      Asked: if (index_done) step_d = (op_q == GroupReset || !index_found) ? Idle : Bits;
      Bits: if (lines_ready) step_d = BitsDone;
      BitsDone: if (lines_done) step_d = (lines_ok && lines_state != state_q) ? Note : Idle;
      Note: if (index_ready) step_d = Noted;
      Noted: if (index_done) step_d = Idle;
      default: step_d = Idle;
    endcase
  end

  // An answer is there before the index is: the next command waits for both.
  assign cmd_ready_o = step_q == Idle && !rsp_valid_q;
  assign answer = (step_q == Asked && step_d == Idle) || (step_q == BitsDone && lines_done);
  assign answer_ok = (step_q == BitsDone) ? lines_ok : op_q == GroupReset;
  assign drop = step_q == Ask && op_q == GroupReset;
  assign rsp_valid_o = rsp_valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      step_q <= Idle;
      rsp_valid_q <= 1'b0;
    end else begin
      step_q <= step_d;
      rsp_valid_q <= answer || (rsp_valid_q && !rsp_ready_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (step_q == Idle) begin
      op_q <= cmd_op_i;
      pool_q <= cmd_pool_i;
      order_q <= cmd_order_i;
      unit_q <= cmd_unit_i;
      count_q <= cmd_count_i;
      block_q <= cmd_unit_i[BlockBits +: BlockWidth];
    end
    if (step_q == Asked) begin
      block_q <= index_block;
      state_q <= index_state;
    end
    if (step_q == BitsDone) new_state_q <= lines_state;
    if (answer) begin
      rsp_ok_o <= answer_ok;
      rsp_unit_o <= {block_q, lines_unit};
    end
  end

  // A give's block is taken from it before.
  logic unused;
  assign unused = ^unit_q[UnitWidth-1:BlockBits];

  `GW_INVARIANT(LegalOrder_A, !cmd_valid_i || cmd_op_i == GroupReset || cmd_order_i <= group_order_t'(BlockBits))
  `GW_ASSERT(CommandStable_A, cmd_valid_i && !cmd_ready_o |=> cmd_valid_i)
  `GW_ASSERT(AnswerStable_A, rsp_valid_o && !rsp_ready_i |=> rsp_valid_o && $stable({rsp_ok_o, rsp_unit_o}))

endmodule
