// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Which entry of a fully associative memory goes next: true LRU, bit-PLRU, FIFO or random.
//
// Contract
// - `onehot_o`, while `valid_o`, is one of `eligible_i`; combinational. There is one whenever an entry is eligible, but with
//   bit-PLRU not while all that are eligible are marked: who asks waits, or takes any.
// - True LRU: the one whose latest use or fill is longest ago; of two touched in one cycle the lower one. FIFO: the one filled
//   longest ago. Bit-PLRU: the first one that is not marked; every use or fill marks, and when all are marked, for a cycle, all
//   marks but those of the latest touches are given up. Random: the first one from a pseudo-random place on, else the first.
// - What is used or filled in cycle t counts from t + 1. At most one entry is used and one filled in a cycle.
// - Reset: untouched, the lower one goes first.
//
// Area: true LRU and FIFO keep a bit for each pair of entries in each order, bit-PLRU two an entry, random 16.
`include "gw_assert.svh"

module gw_replace #(
  /// Entries, 1 to 64; any number.
  parameter int unsigned Num = 16,
  /// 0 true LRU, 1 bit-PLRU, 2 FIFO, 3 random.
  parameter int unsigned Policy = 0
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  /// The entry that is used, or none.
  input  logic [Num-1:0] use_i,
  /// The entry that is filled, or none.
  input  logic [Num-1:0] fill_i,
  /// Entries that may go.
  input  logic [Num-1:0] eligible_i,
  output logic           valid_o,
  output logic [Num-1:0] onehot_o
);

  if (Num < 1 || Num > 64 || Policy > 3) begin : gen_bad_parameter
    $fatal(1, "gw_replace: Num must be 1 to 64, Policy 0 to 3");
  end

  typedef logic [Num-1:0] set_t;
  function automatic set_t lowest(set_t set);
    return set & (~set + 1'b1);
  endfunction

  if (Policy == 0 || Policy == 2) begin : gen_age
    // older_q[i][j]: i was touched before j.
    set_t older_q[Num];
    set_t touched;
    assign touched = (Policy == 0) ? use_i | fill_i : fill_i;
    for (genvar i = 0; i < Num; i++) begin : gen_row
      localparam set_t Above = set_t'(~((65'd2 << i) - 65'd1));
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) older_q[i] <= Above;
        else if (touched[i]) older_q[i] <= touched & Above;
        else older_q[i] <= older_q[i] | touched;
      end
      assign onehot_o[i] = eligible_i[i] && (eligible_i & ~older_q[i] & ~(set_t'(1) << i)) == '0;
    end
    assign valid_o = eligible_i != '0;
    if (Policy == 2) begin : gen_unused
      logic unused;
      assign unused = ^use_i;
    end
  end else if (Policy == 1) begin : gen_marks
    // The latest touches are a register of their own: a use may come late in its cycle.
    set_t touch_q, used_q, marked, unmarked;
    assign marked = used_q | touch_q;
    assign unmarked = eligible_i & ~marked;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        touch_q <= '0;
        used_q <= '0;
      end else begin
        touch_q <= use_i | fill_i;
        used_q <= (&marked) ? touch_q : marked;
      end
    end
    assign valid_o = unmarked != '0;
    assign onehot_o = lowest(unmarked);
  end else begin : gen_random
    localparam int unsigned Width = (Num > 1) ? $clog2(Num) : 1;
    logic [15:0] lfsr_q;
    logic [Width:0] place;
    set_t behind;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) lfsr_q <= 16'hACE1;
      else lfsr_q <= {lfsr_q[14:0], lfsr_q[15] ^ lfsr_q[13] ^ lfsr_q[12] ^ lfsr_q[10]};
    end
    assign place = (Width + 1)'(lfsr_q[Width-1:0]);
    assign behind = eligible_i & (set_t'('1) << ((place >= (Width + 1)'(Num)) ? place - (Width + 1)'(Num) : place));
    assign valid_o = eligible_i != '0;
    assign onehot_o = lowest((behind != '0) ? behind : eligible_i);
    logic unused;
    assign unused = ^{use_i, fill_i};
  end

  `GW_INVARIANT(OneUse_A, $onehot0(use_i) && $onehot0(fill_i))
  `GW_INVARIANT(Choice_A, valid_o ? $onehot(onehot_o) && (onehot_o & ~eligible_i) == '0 : onehot_o == '0)

endmodule
