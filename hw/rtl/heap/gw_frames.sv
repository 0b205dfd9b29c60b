// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Frames of the heap's memories: of each region which are free and clean, which are free and not yet cleared, and a stock of clean groups
// that first touches take without waiting for a bitmap.
//
// Contract
// - A frame is clean, dirty, in the stock, or out: taken, and not given back. What is given back as dirty comes out as clean only
//   after somebody took it as dirty and gave it as clean.
// - Commands: take a naturally aligned group of 2**order frames, or give one. Each is answered once, by a pulse to its client. A take of
//   clean frames is refused only if neither bitmap nor stock has such a group: a refusal puts the region's stock back and asks again. A give is
//   refused, and changes nothing, if the group is not the region's, not aligned, or partly free already in the same state.
// - Stock: for each region a shelf of groups of 2**order frames for every order of `Orders`, offered and taken in one cycle; filled when
//   no client asks anything: what somebody waits for (`wanted_i`) first, then the largest. A shelf holds `Stock` groups, above 64 KiB one.
// - When a shelf is empty and nothing for it is left but in larger groups of the stock, the smallest of these goes back: for single
//   frames always, for groups while somebody waits for one. Smaller groups of the stock do not go back for a larger one.
// - `soon_o`: a group of 2**order frames, or more, is in stock or in a bitmap, or is being cleared (`held_i`): who waits for one gets
//   it. It falls when there is none for sure. Single frames: always.
// - Clients take turns. A command waits for one other of each client and one filling at most; gw_groups says how long each takes.
// - `start_i`: a region begins with `blocks_i` blocks of 2 MiB from `base_i` on, all dirty (or clean: `start_clean_i`). Once for each
//   region; until then it has nothing. What describes it is held from then on.
// - `free_o`: frames of a region that are clean, dirty, or in stock; one change behind while a command is under way. `clean_o`: those of them that are not dirty.
`include "gw_assert.svh"

module gw_frames #(
  /// Memories, 1, 2, 4 or 8.
  parameter int unsigned Regions = 1,
  /// 2 MiB blocks of a region at most, a power of two, 16 to 65536.
  parameter int unsigned Blocks = 2048,
  /// Blocks whose bits are on chip.
  parameter int unsigned Lines = 4,
  parameter int unsigned Clients = 3,
  /// Orders of the groups in stock: bit k, 2**k frames; bit 0 is set. Groups of a shelf.
  parameter gw_pkg::group_orders_t Orders = 10'h011,
  parameter int unsigned Stock = 8,
  /// Derived.
  localparam int unsigned CountWidth = $clog2(Blocks) + 10
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic [Regions-1:0]              start_i,
  input  logic [Regions-1:0]              start_clean_i,
  input  logic [Regions-1:0][$clog2(Blocks):0] blocks_i,
  /// First frame of a region, aligned to 2 MiB; frames of its bits: clean, then dirty, 64 bytes a block.
  input  gw_pkg::ppn_t [Regions-1:0]      base_i,
  input  gw_pkg::ppn_t [Regions-1:0][1:0] bits_i,
  input  logic [Clients-1:0]              cmd_valid_i,
  output logic [Clients-1:0]              cmd_ready_o,
  input  gw_pkg::frames_cmd_t [Clients-1:0] cmd_i,
  output logic [Clients-1:0]              rsp_valid_o,
  output gw_pkg::frames_rsp_t             rsp_o,
  /// By order.
  output gw_pkg::group_orders_t [Regions-1:0] stock_valid_o,
  output gw_pkg::ppn_t [Regions-1:0][gw_pkg::GroupOrders-1:0] stock_frame_o,
  input  gw_pkg::group_orders_t [Regions-1:0] stock_take_i,
  output gw_pkg::group_orders_t [Regions-1:0] soon_o,
  /// Orders that somebody waits for; orders that what is being cleared has, and those below.
  input  gw_pkg::group_orders_t [Regions-1:0] wanted_i,
  input  gw_pkg::group_orders_t [Regions-1:0] held_i,
  output logic [Regions-1:0][CountWidth-1:0] free_o,
  output logic [Regions-1:0][CountWidth-1:0] clean_o,
  output logic                            broken_o,
  output gw_axi_pkg::bitmap_req_t         m_req_o,
  input  gw_axi_pkg::bitmap_rsp_t         m_rsp_i
);

  import gw_pkg::*;

  localparam int unsigned BlockBits = 9;
  localparam int unsigned Pools = 2 * Regions;
  localparam int unsigned UnitWidth = $clog2(Blocks) + BlockBits;
  localparam int unsigned ClientWidth = (Clients > 1) ? $clog2(Clients) : 1;
  localparam int unsigned IdxWidth = (Regions > 1) ? $clog2(Regions) : 1;
  typedef logic [IdxWidth-1:0] idx_t;
  typedef logic [UnitWidth-1:0] unit_t;

  if (!(Regions inside {1, 2, 4, 8})) begin : gen_bad_regions
    $fatal(1, "gw_frames: Regions must be 1, 2, 4 or 8");
  end
  if (!Orders[0]) begin : gen_bad_orders
    $fatal(1, "gw_frames: Orders must have order 0");
  end
  if (Clients < 1 || Stock < 1) begin : gen_bad_clients
    $fatal(1, "gw_frames: Clients and Stock must be at least 1");
  end

  typedef enum logic [2:0] {
    Idle,
    Prepare,  // the frame as a unit of its region
    Ask,
    Wait,
    Settle,   // the unit as a frame
    Return,   // the stock goes back
    Answer
  } step_e;
  typedef enum logic [2:0] {
    Start,   // dirty, then clean
    Client,
    Fill,
    Restock, // a frame of the stock goes back, for the client
    Break    // a group of the stock goes back, for smaller ones
  } what_e;
  step_e step_q, step_d;
  what_e what_q;
  frames_cmd_t cmd_q, kept_q;  // kept: the client's, while its region's stock goes back
  logic [ClientWidth-1:0] client_q, chosen;
  logic some_client, take_client, legal_q, ok_q, retried_q;
  group_order_t shelf_q;
  logic [1:0] prepared_q;
  idx_t region;
  unit_t unit_q;
  ppn_t frame_q, distance_q;
  assign region = (Regions > 1) ? idx_t'(cmd_q.region) : '0;

  // Groups: pool 2r is region r's clean frames, 2r + 1 its dirty ones.
  logic groups_ready, groups_done, groups_ok;
  group_orders_t [Pools-1:0] some;
  unit_t groups_unit;
  group_op_e op;
  ppn_t [Pools-1:0] bits;
  always_comb for (int unsigned p = 0; p < Pools; p++) bits[p] = bits_i[p/2][p%2];
  logic all_blocks;
  assign all_blocks = what_q == Start && cmd_q.dirty != start_clean_i[region];
  assign op = (what_q == Start) ? GroupReset : cmd_q.give ? GroupGive : GroupTake;
  gw_groups #(
    .Pools    (Pools),
    .Blocks   (Blocks),
    .BlockBits(BlockBits),
    .Lines    (Lines)
  ) u_groups (
    .clk_i,
    .rst_ni,
    .base_i     (bits),
    .cmd_valid_i(step_q == Ask),
    .cmd_ready_o(groups_ready),
    .cmd_op_i   (op),
    .cmd_pool_i (($clog2(Pools))'({region, cmd_q.dirty})),
    .cmd_order_i(cmd_q.order),
    .cmd_unit_i (unit_q),
    .cmd_count_i(all_blocks ? blocks_i[region] : '0),
    .rsp_valid_o(groups_done),
    .rsp_ready_i(1'b1),
    .rsp_ok_o   (groups_ok),
    .rsp_unit_o (groups_unit),
    .some_o     (some),
    .broken_o,
    .m_req_o,
    .m_rsp_i
  );

  gw_rr_arbiter #(
    .NumReq(Clients)
  ) u_clients (
    .clk_i,
    .rst_ni,
    .req_i  (cmd_valid_i),
    .gnt_o  (),
    .idx_o  (chosen),
    .valid_o(some_client),
    .ready_i(take_client)
  );

  // Stock. While it goes back none is offered.
  group_orders_t [Regions-1:0] put, ready, has, back, none_q, soon_q;
  ppn_t [Regions-1:0][GroupOrders-1:0] next_out;
  group_orders_t lowest;  // shelf of the region that has something
  logic returning;
  assign lowest = has[region] & ~(has[region] - group_orders_t'(1));
  assign returning = step_q == Return || what_q == Restock;
  for (genvar r = 0; r < Regions; r++) begin : gen_region
    for (genvar s = 0; s < GroupOrders; s++) begin : gen_order
      if (Orders[s]) begin : gen_shelf
        gw_fifo #(
          .T    (ppn_t),
          .Depth(s > 4 ? 1 : Stock)
        ) u_shelf (
          .clk_i,
          .rst_ni,
          .in_valid_i (put[r][s]),
          .in_ready_o (ready[r][s]),
          .in_data_i  (frame_q),
          .out_valid_o(has[r][s]),
          .out_ready_i(back[r][s] || (stock_take_i[r][s] && !returning)),
          .out_data_o (next_out[r][s]),
          .usage_o    ()
        );
        assign put[r][s] = step_q == Answer && what_q == Fill && ok_q && region == idx_t'(r) && shelf_q == group_order_t'(s);
        assign back[r][s] = step_q == Return && region == idx_t'(r) &&
            (what_q == Break ? shelf_q == group_order_t'(s) : lowest[s]);
      end else begin : gen_none
        assign {put[r][s], ready[r][s], has[r][s], back[r][s], next_out[r][s]} = '0;
      end
      assign stock_valid_o[r][s] = has[r][s] && !returning;
      assign stock_frame_o[r][s] = next_out[r][s];
      // Between the change of a bitmap and what is told of it, it is as before.
      if (s == 0 || !Orders[s]) begin : gen_always
        assign soon_q[r][s] = s == 0;
      end else begin : gen_soon
        always_ff @(posedge clk_i or negedge rst_ni) begin
          if (!rst_ni) begin
            soon_q[r][s] <= 1'b0;
          end else begin
            soon_q[r][s] <= (has[r] >> s) != '0 || (some[2*r][s] && !none_q[r][s]) || some[2*r+1][s] || held_i[r][s] ||
                (soon_q[r][s] && !groups_ready);
          end
        end
      end
    end
  end
  assign soon_o = soon_q;

  // Regions that began, and those that are to; a shelf to be filled: the first one with room, unless there was nothing for it.
  logic [Regions-1:0] pending_q, started_q;
  logic begins, breaks, fills;
  group_orders_t [Regions-1:0] fillable, urgent;
  idx_t begin_region, break_region, fill_region;
  group_order_t break_shelf, fill_shelf;
  always_comb begin
    begins = 1'b0;
    begin_region = '0;
    breaks = 1'b0;
    break_region = '0;
    break_shelf = '0;
    fills = 1'b0;
    fill_region = '0;
    fill_shelf = '0;
    for (int unsigned r = 0; r < Regions; r++) begin
      if (pending_q[r]) begin
        begins = 1'b1;
        begin_region = idx_t'(r);
      end
      // What is left for an empty shelf is in groups of the stock: the smallest that will do for it.
      for (int unsigned s = GroupOrders - 1; s > 0; s--) begin
        if (has[r][s] && (none_q[r] & ~has[r] & Orders & (wanted_i[r] | group_orders_t'(1)) & group_orders_t'((1 << s) - 1)) != '0) begin
          breaks = 1'b1;
          break_region = idx_t'(r);
          break_shelf = group_order_t'(s);
        end
      end
      fillable[r] = started_q[r] ? ready[r] & ~none_q[r] : '0;
      urgent[r] = fillable[r] & wanted_i[r] & ~has[r];
    end
    for (int unsigned r = 0; r < Regions; r++) begin
      for (int unsigned s = 0; s < GroupOrders; s++) begin
        if (urgent != '0 ? urgent[r][s] : fillable[r][s]) begin
          fills = 1'b1;
          fill_region = idx_t'(r);
          fill_shelf = group_order_t'(s);
        end
      end
    end
  end
  assign take_client = step_q == Idle && !begins && some_client;
  always_comb begin
    for (int unsigned c = 0; c < Clients; c++) cmd_ready_o[c] = take_client && chosen == ClientWidth'(c);
  end

  // A refused take of clean frames: what is in stock may be what is missing.
  logic give_back;
  assign give_back = what_q == Client && !cmd_q.give && !cmd_q.dirty && !ok_q && legal_q && !retried_q && has[region] != '0;

  always_comb begin
    step_d = step_q;
    unique case (step_q)
      Idle: begin
        if (begins || some_client) step_d = Prepare;
        else if (breaks) step_d = Return;
        else if (fills) step_d = Prepare;
      end
      // The distance, then what it says.
      Prepare: if (prepared_q == 2'd2) step_d = (what_q == Client && !legal_q) ? Answer : Ask;
      Ask: if (groups_ready) step_d = Wait;
      Wait: if (groups_done) step_d = Settle;
      Settle: begin
        step_d = (give_back || what_q == Restock) ? Return : Answer;
      end
      Return: step_d = (what_q == Break && !has[region][shelf_q]) ? Idle : Prepare;
      default: step_d = (what_q == Start && cmd_q.dirty) ? Prepare : Idle;
    endcase
  end

  always_comb begin
    for (int unsigned c = 0; c < Clients; c++) rsp_valid_o[c] = step_q == Answer && what_q == Client && client_q == ClientWidth'(c);
  end
  assign rsp_o = '{ok: ok_q && legal_q, frame: frame_q};

  logic [Regions-1:0][CountWidth-1:0] free_q, clean_q;
  assign free_o = free_q;
  assign clean_o = clean_q;
  logic [CountWidth-1:0] size_q;
  group_orders_t [Regions-1:0] taken_q;
  logic [Regions-1:0][CountWidth-1:0] given, took, given_clean, took_clean;
  always_comb begin
    for (int unsigned r = 0; r < Regions; r++) begin
      given[r] = '0;
      took[r] = CountWidth'(taken_q[r]);  // a bit is as many frames
      given_clean[r] = '0;
      took_clean[r] = took[r];
      if (step_q == Answer && what_q == Client && ok_q && legal_q && region == idx_t'(r)) begin
        if (cmd_q.give) given[r] = size_q;
        else took[r] = took[r] + size_q;
        if (!cmd_q.dirty) {given_clean[r], took_clean[r]} = {given[r], took[r]};
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      step_q <= Idle;
      pending_q <= '0;
      started_q <= '0;
      none_q <= '0;
      free_q <= '0;
      clean_q <= '0;
      taken_q <= '0;
    end else begin
      step_q <= step_d;
      pending_q <= pending_q | (start_i & ~started_q);
      if (step_q == Answer && what_q == Start && !cmd_q.dirty) begin
        pending_q[region] <= 1'b0;
        started_q[region] <= 1'b1;
      end
      // What came back may be what a shelf lacked.
      if (step_q == Answer && what_q == Fill && !ok_q) none_q[region][shelf_q] <= 1'b1;
      else if (step_q == Answer && what_q == Break) none_q[region] <= ~group_orders_t'((1 << shelf_q) - 1);
      else if (step_q == Answer && what_q == Client && ((ok_q && cmd_q.give && !cmd_q.dirty) || retried_q)) none_q[region] <= '0;
      taken_q <= stock_take_i & stock_valid_o;
      for (int unsigned r = 0; r < Regions; r++) begin
        free_q[r] <= free_q[r] + given[r] - took[r];
        clean_q[r] <= clean_q[r] + given_clean[r] - took_clean[r];
        if (step_q == Answer && what_q == Start && !cmd_q.dirty && region == idx_t'(r)) begin
          free_q[r] <= CountWidth'(blocks_i[r]) << BlockBits;
          clean_q[r] <= start_clean_i[r] ? CountWidth'(blocks_i[r]) << BlockBits : '0;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    unique case (step_q)
      Idle: begin
        what_q <= begins ? Start : some_client ? Client : breaks ? Break : Fill;
        cmd_q <= cmd_i[chosen];
        if (begins) cmd_q <= '{give: 1'b0, dirty: 1'b1, region: region_t'(begin_region), order: '0, frame: '0};
        else if (!some_client) begin
          cmd_q <= '{
              give: 1'b0,
              dirty: 1'b0,
              region: breaks ? region_t'(break_region) : region_t'(fill_region),
              order: fill_shelf,
              frame: '0
          };
        end
        client_q <= chosen;
        shelf_q <= breaks ? break_shelf : fill_shelf;
        retried_q <= 1'b0;
        ok_q <= 1'b1;
        prepared_q <= '0;
      end
      Prepare: begin
        distance_q <= cmd_q.frame - base_i[region];
        prepared_q <= prepared_q + 1'b1;
        legal_q <= 32'(cmd_q.region) < Regions && cmd_q.order <= group_order_t'(BlockBits) && started_q[region] &&
            (!cmd_q.give || ((distance_q >> BlockBits) < ppn_t'(blocks_i[region]) &&
             (distance_q & ~(ppn_t'('1) << cmd_q.order)) == '0));
        unit_q <= unit_t'(distance_q);
        size_q <= CountWidth'(1) << cmd_q.order;
      end
      Settle: begin
        if (give_back) begin
          kept_q <= cmd_q;
          retried_q <= 1'b1;
        end
        frame_q <= base_i[region] + ppn_t'(groups_unit);
        prepared_q <= '0;
      end
      Return: begin
        prepared_q <= '0;
        if (what_q == Break) begin
          cmd_q.give <= 1'b1;
          cmd_q.order <= shelf_q;
          cmd_q.frame <= next_out[region][shelf_q];
        end else if (has[region] == '0) begin
          what_q <= Client;
          cmd_q <= kept_q;
        end else begin
          what_q <= Restock;
          cmd_q <= '{
              give: 1'b1,
              dirty: 1'b0,
              region: cmd_q.region,
              order: order_number(lowest),
              frame: next_out[region][order_number(lowest)]
          };
        end
      end
      Answer: begin
        if (what_q == Start) cmd_q.dirty <= 1'b0;
        prepared_q <= '0;
      end
      default: ;
    endcase
    if (step_q == Wait && groups_done) ok_q <= groups_ok;
  end

  `GW_INVARIANT(ShelvesTakeAll_A, (put & ~ready) == '0)
  `GW_INVARIANT(StockIsOurs_A, !(step_q == Settle && what_q inside {Restock, Break}) || ok_q || broken_o)
  `GW_ASSERT(TakesAreOffered_A, (stock_take_i & ~stock_valid_o) == '0)
  `GW_COVER(StockGoesBack_C, step_q == Return)
  `GW_COVER(GroupBroken_C, step_q == Return && what_q == Break)
  `GW_COVER(StockTakenMeanwhile_C, step_q == Return && has[region] == '0 && what_q == Client)

endmodule
