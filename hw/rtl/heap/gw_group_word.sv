// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// What is free in one word of a bitmap: the largest naturally aligned group, and the first one of a wanted size.
//
// Contract
// - A word given in t has its state in t+2 (0: nothing is free, else 1 + log2 of the largest group) and the place of its first
//   free group of 2**`order_i` units in t+3. `order_i` is held from t to t+2.
// - One word a cycle. A place means something only if the state is above `order_i`.
module gw_group_word #(
  /// log2 of the word's bits, 1 to 6.
  parameter int unsigned WordBits = 6
) (
  input  logic                  clk_i,
  input  logic [2**WordBits-1:0] word_i,
  input  logic [2:0]            order_i,
  output logic [2:0]            state_o,
  output logic [WordBits-1:0]   place_o
);

  if (WordBits < 1 || WordBits > 6) begin : gen_bad_word_bits
    $fatal(1, "gw_group_word: WordBits must be 1 to 6");
  end

  localparam int unsigned Width = 2 ** WordBits;

  // The first bits of groups of 2**k units.
  function automatic logic [WordBits:0][Width-1:0] firsts();
    for (int unsigned k = 0; k <= WordBits; k++) begin
      for (int unsigned i = 0; i < Width; i++) firsts[k][i] = i % (1 << k) == 0;
    end
  endfunction
  localparam logic [WordBits:0][Width-1:0] Firsts = firsts();

  // Bit i of level k: the group of 2**k units from i on is free. Whole words, and not bit by bit: so it is a few instructions of a simulator.
  logic [WordBits:0][Width-1:0] level_d, level_q;
  always_comb begin
    logic [Width-1:0] groups;
    groups = word_i;
    level_d[0] = groups;
    for (int unsigned k = 1; k <= WordBits; k++) begin
      groups &= (groups >> (1 << (k - 1))) & Firsts[k];
      level_d[k] = groups;
    end
  end


  logic [2:0] state_d, state_q;
  logic [Width-1:0] starts_d, starts_q;
  always_comb begin
    state_d = '0;
    for (int unsigned k = 0; k <= WordBits; k++) if (level_q[k] != '0) state_d = 3'(k + 1);
    starts_d = '0;
    for (int unsigned k = 0; k <= WordBits; k++) if (order_i == 3'(k)) starts_d = level_q[k];
  end

  logic [WordBits-1:0] place_d;
  gw_first_one #(
    .Width(Width)
  ) u_first (
    .bits_i(starts_q),
    .any_o (),
    .idx_o (place_d)
  );

  always_ff @(posedge clk_i) begin
    level_q <= level_d;
    state_q <= state_d;
    starts_q <= starts_d;
    place_o <= place_d;
  end
  assign state_o = state_q;

endmodule
