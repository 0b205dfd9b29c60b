// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Free slots of the heap: two classes, each a bitmap (gw_groups, all on chip), and of each some single slots ready to be taken.
//
// Contract
// - After reset, and a time of about Slots / 8 cycles, all slots of both classes are free.
// - `one_*`: a free slot of each class is offered, and taken by `one_take_i` in the same cycle. None is offered while the stock is
//   filled again (50 cycles a slot at most while nothing else is asked); `none_o`: none is offered, and there is none.
// - `span_*`: a naturally aligned group of 2**order large slots, or refused; one request at a time, held until `span_done_o`.
// - `give_*`: a group comes back; held until `give_ready_o`. Gives come before spans, spans before the stock.
`include "gw_assert.svh"

module gw_slot_stock #(
  /// Slots of a class, a power of two, 1024 or more.
  parameter int unsigned Slots = 4096,
  /// Slots of each class that are ready.
  parameter int unsigned Stock = 8,
  /// Derived.
  localparam int unsigned SlotWidth = $clog2(Slots)
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  output logic [1:0]                one_valid_o,
  output logic [1:0][SlotWidth-1:0] one_slot_o,
  input  logic [1:0]                one_take_i,
  output logic [1:0]                none_o,
  input  logic                      span_valid_i,
  input  gw_pkg::group_order_t      span_order_i,
  output logic                      span_done_o,
  output logic                      span_ok_o,
  output logic [SlotWidth-1:0]      span_slot_o,
  input  logic                      give_valid_i,
  output logic                      give_ready_o,
  input  logic                      give_class_i,
  input  gw_pkg::group_order_t      give_order_i,
  input  logic [SlotWidth-1:0]      give_slot_i
);

  import gw_pkg::*;

  localparam int unsigned BlockBits = 6;
  localparam int unsigned Blocks = Slots >> BlockBits;
  localparam int unsigned UsageWidth = $clog2(Stock + 1);

  if (Slots < 1024 || (Slots & (Slots - 1)) != 0) begin : gen_bad_slots
    $fatal(1, "gw_slot_stock: Slots must be a power of two, 1024 or more");
  end
  if (Stock < 1) begin : gen_bad_stock
    $fatal(1, "gw_slot_stock: Stock must be at least 1");
  end

  typedef enum logic [2:0] {
    Reset0,
    Reset1,
    Choose,
    Give,
    Span,
    Refill
  } what_e;
  what_e what_q, what_d;
  logic asked_q, class_q, class_d, cmd_valid, cmd_ready, rsp_valid, rsp_ok;
  group_op_e op;
  group_order_t order;
  logic [SlotWidth-1:0] unit;
  logic [1:0] ready, put, none_q;
  logic [1:0][UsageWidth-1:0] usage;

  gw_groups #(
    .Pools    (2),
    .Blocks   (Blocks),
    .BlockBits(BlockBits),
    .Lines    (0)
  ) u_groups (
    .clk_i,
    .rst_ni,
    .base_i     ('0),
    .cmd_valid_i(cmd_valid),
    .cmd_ready_o(cmd_ready),
    .cmd_op_i   (op),
    .cmd_pool_i (class_q),
    .cmd_order_i(order),
    .cmd_unit_i (give_slot_i),
    .cmd_count_i(($clog2(Blocks) + 1)'(Blocks)),
    .rsp_valid_o(rsp_valid),
    .rsp_ready_i(1'b1),
    .rsp_ok_o   (rsp_ok),
    .rsp_unit_o (unit),
    .some_o     (),
    .broken_o   (),
    .m_req_o    (),
    .m_rsp_i    ('0)
  );

  for (genvar c = 0; c < 2; c++) begin : gen_class
    assign put[c] = what_q == Refill && rsp_valid && rsp_ok && class_q == 1'(c);
    gw_fifo #(
      .T    (logic [SlotWidth-1:0]),
      .Depth(Stock)
    ) u_stock (
      .clk_i,
      .rst_ni,
      .in_valid_i (put[c]),
      .in_ready_o (ready[c]),
      .in_data_i  (unit),
      .out_valid_o(one_valid_o[c]),
      .out_ready_i(one_take_i[c]),
      .out_data_o (one_slot_o[c]),
      .usage_o    (usage[c])
    );
    assign none_o[c] = none_q[c] && !one_valid_o[c];
  end

  assign cmd_valid = what_q != Choose && !asked_q;
  always_comb begin
    op = GroupTake;
    order = '0;
    unique case (what_q)
      Reset0, Reset1: op = GroupReset;
      Give: begin
        op = GroupGive;
        order = give_order_i;
      end
      Span: order = span_order_i;
      default: ;
    endcase
  end

  // A class that has nothing is not asked again before something came back.
  logic [1:0] wanting;
  assign wanting = ready & ~none_q;
  always_comb begin
    what_d = what_q;
    class_d = class_q;
    if (what_q == Choose) begin
      if (give_valid_i) begin
        what_d = Give;
        class_d = give_class_i;
      end else if (span_valid_i) begin
        what_d = Span;
        class_d = 1'b0;
      end else if (wanting != '0) begin
        what_d = Refill;
        class_d = (wanting == 2'b11) ? usage[1] < usage[0] : wanting[1];
      end
    end else if (rsp_valid) begin
      what_d = (what_q == Reset0) ? Reset1 : Choose;
      if (what_q == Reset0) class_d = 1'b1;
    end
  end
  assign give_ready_o = what_q == Give && rsp_valid;
  assign span_done_o = what_q == Span && rsp_valid;
  assign span_ok_o = rsp_ok;
  assign span_slot_o = unit;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      what_q <= Reset0;
      class_q <= 1'b0;
      asked_q <= 1'b0;
      none_q <= '0;
    end else begin
      what_q <= what_d;
      class_q <= class_d;
      asked_q <= (asked_q || (cmd_valid && cmd_ready)) && !rsp_valid;
      for (int unsigned c = 0; c < 2; c++) begin
        if (rsp_valid && class_q == 1'(c)) begin
          if (what_q == Refill && !rsp_ok) none_q[c] <= 1'b1;
          if (what_q == Give) none_q[c] <= 1'b0;
        end
      end
    end
  end

  `GW_INVARIANT(StockTakesAll_A, (put & ~ready) == '0)
  `GW_INVARIANT(GivesAreOurs_A, !(what_q == Give && rsp_valid) || rsp_ok)
  `GW_ASSERT(SpanStable_A, span_valid_i && !span_done_o |=> span_valid_i && $stable(span_order_i))
  `GW_COVER(AllTaken_C, none_o == 2'b11)

endmodule
