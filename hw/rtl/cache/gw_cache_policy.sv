// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Which page goes next: true LRU, bit-PLRU, FIFO or random.
//
// Contract
// - `victim_o` is one of `eligible_i` if there is one (`any_o`); combinational.
// - True LRU: the one whose latest use or fill is longest ago. FIFO: the one filled longest ago. Bit-PLRU: the first one not
//   marked as used, marks are given up when all but one are set. Random: the first one from a pseudo-random place on.
// - What is used or filled in cycle t counts from t+1. At most one of each in a cycle.
module gw_cache_policy #(
  /// Pages, a power of two, 2 to 64.
  parameter int unsigned Pages = 16,
  /// 0 true LRU, 1 bit-PLRU, 2 FIFO, 3 random.
  parameter int unsigned Replacement = 0,
  /// Derived.
  localparam int unsigned IdxWidth = $clog2(Pages)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                use_i,
  input  logic [IdxWidth-1:0] use_idx_i,
  input  logic                fill_i,
  input  logic [IdxWidth-1:0] fill_idx_i,
  input  logic [Pages-1:0]    eligible_i,
  output logic                any_o,
  output logic [IdxWidth-1:0] victim_o
);

  if (Pages < 2 || Pages > 64 || (Pages & (Pages - 1)) != 0 || Replacement > 3) begin : gen_bad_parameter
    $fatal(1, "gw_cache_policy: Pages must be a power of two, 2 to 64, Replacement 0 to 3");
  end

  typedef logic [IdxWidth-1:0] idx_t;
  logic [Pages-1:0] used, filled;
  assign used = use_i ? Pages'(1) << use_idx_i : '0;
  assign filled = fill_i ? Pages'(1) << fill_idx_i : '0;
  assign any_o = eligible_i != '0;
  logic unused;
  assign unused = ^{used, filled};

  if (Replacement == 0 || Replacement == 2) begin : gen_age
    // older_q[i][j]: i was touched before j.
    logic [Pages-1:0] older_q[Pages];
    logic [Pages-1:0] touched, oldest;
    assign touched = (Replacement == 0) ? used | filled : filled;
    for (genvar i = 0; i < Pages; i++) begin : gen_row
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) older_q[i] <= Pages'((64'd1 << i) - 64'd1);
        else if (touched[i]) older_q[i] <= touched & ~((Pages'(2) << i) - Pages'(1));
        else older_q[i] <= older_q[i] | touched;
      end
      assign oldest[i] = eligible_i[i] && (eligible_i & ~older_q[i] & ~(Pages'(1) << i)) == '0;
    end
    always_comb begin
      victim_o = '0;
      for (int unsigned i = 0; i < Pages; i++) if (oldest[i]) victim_o |= idx_t'(i);
    end
  end else begin : gen_first
    logic [Pages-1:0] first, mark_q, mark;
    logic none;
    idx_t chosen, chosen_first;
    logic any_first;
    if (Replacement == 1) begin : gen_plru
      assign mark = mark_q | used | filled;
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) mark_q <= '0;
        else mark_q <= (mark == '1) ? used | filled : mark;
      end
      assign first = eligible_i & ~mark_q;
    end else begin : gen_random
      logic [15:0] lfsr_q;
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) lfsr_q <= 16'hACE1;
        else lfsr_q <= {lfsr_q[14:0], lfsr_q[15] ^ lfsr_q[13] ^ lfsr_q[12] ^ lfsr_q[10]};
      end
      assign mark_q = '0;
      assign mark = mark_q;
      assign first = eligible_i & ~((Pages'(1) << lfsr_q[IdxWidth-1:0]) - Pages'(1));
    end
    gw_first_one #(
      .Width(Pages)
    ) u_first (
      .bits_i(first),
      .any_o (any_first),
      .idx_o (chosen_first)
    );
    gw_first_one #(
      .Width(Pages)
    ) u_any (
      .bits_i(eligible_i),
      .any_o (none),
      .idx_o (chosen)
    );
    assign victim_o = any_first ? chosen_first : chosen;
    logic unused_mark;
    assign unused_mark = ^{none, mark};
  end

endmodule
