// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The context table: registers `contexts.fsc` of gw_mmu.rdl, 64 bits each behind a 32-bit bus.
//
// Contract
// - A context changes only with the write of its upper half, as a whole and in one cycle: a lower half written before to
//   the same context is held until then. One holding register serves all contexts; a lower half for another context
//   replaces what it holds. An upper half alone keeps the lower half as it is.
// - write_o: in the cycle before context write_ctx_o changes, or is written again with what it was.
// - Reads show what is in effect. A request is a pulse, its address, and a write's data, held until `ack_o`, two cycles later:
//   then `rdata_o` is what it asked for, and `write_o` is high. One request at a time.
// - Reset: every context is off.
`include "gw_assert.svh"

module gw_csr_contexts #(
  /// Contexts, 1 to 2**gw_pkg::CtxIdWidth.
  parameter int unsigned NumContexts = 16,
  /// There are page requests: `en_pri` can be set.
  parameter bit PageRequests = 1'b0
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic                              req_i,
  input  logic                              write_i,
  /// Byte offset in the table.
  input  logic [gw_pkg::CtxIdWidth+2:0]     addr_i,
  input  logic [31:0]                       wdata_i,
  input  logic [31:0]                       wmask_i,
  output logic                              ack_o,
  output logic [31:0]                       rdata_o,
  output logic                              write_o,
  output gw_pkg::ctx_id_t                   write_ctx_o,
  output gw_pkg::ctx_t [NumContexts-1:0]    ctx_o
);

  if (NumContexts < 1 || NumContexts > 2 ** gw_pkg::CtxIdWidth) begin : gen_bad_num_contexts
    $fatal(1, "gw_csr_contexts: NumContexts must be 1 to 2**CtxIdWidth");
  end

  localparam int unsigned PpnLsb = gw_spec_pkg::FscPpnLsb;
  localparam int unsigned PpnWidth = gw_spec_pkg::FscPpnWidth;
  localparam int unsigned EnPriLsb = gw_spec_pkg::FscEnPriLsb;
  localparam int unsigned SadeLsb = gw_spec_pkg::FscSadeLsb;
  localparam int unsigned ModeLsb = gw_spec_pkg::FscModeLsb;
  localparam int unsigned ModeWidth = gw_spec_pkg::FscModeWidth;

  gw_pkg::ctx_id_t idx;
  logic            upper;
  assign idx = addr_i[3+:gw_pkg::CtxIdWidth];
  assign upper = addr_i[2];

  // First cycle: what the addressed context is now; zero when it was never written or does not exist. A copy in memory, so that
  // reading takes no multiplexer of all contexts.
  localparam int unsigned IdxWidth = (NumContexts > 1) ? $clog2(NumContexts) : 1;
  gw_pkg::ctx_t           copy[2**IdxWidth];
  gw_pkg::ctx_t           found_q;
  logic [2**IdxWidth-1:0] written_q;
  logic [IdxWidth-1:0]    idx_low;
  logic                   exists, look_q;
  assign idx_low = idx[IdxWidth-1:0];
  assign exists = 32'(idx) < NumContexts;

  always_ff @(posedge clk_i) begin
    found_q <= (exists && written_q[idx_low]) ? copy[idx_low] : '0;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) look_q <= 1'b0;
    else look_q <= req_i;
  end

  // Second cycle: what it becomes.
  logic            hold_valid_q;
  gw_pkg::ctx_id_t hold_idx_q;
  logic [31:0]     hold_q, half, merged;
  logic [63:0]     current, next;
  gw_pkg::ctx_t    next_q;
  always_comb begin
    current = '0;
    current[PpnLsb+:PpnWidth] = found_q.root;
    current[EnPriLsb] = found_q.en_pri;
    current[SadeLsb] = found_q.sade;
    current[ModeLsb+:ModeWidth] = found_q.mode;
  end
  assign half = upper ? current[63:32] : current[31:0];
  assign merged = (half & ~wmask_i) | (wdata_i & wmask_i);
  assign next[63:32] = merged;
  assign next[31:0] = (hold_valid_q && hold_idx_q == idx) ? hold_q : current[31:0];

  always_ff @(posedge clk_i) begin
    rdata_o <= half;
    next_q <= '{
        mode: next[ModeLsb+:ModeWidth],
        sade: next[SadeLsb],
        en_pri: PageRequests && next[EnPriLsb],
        root: next[PpnLsb+:PpnWidth]
    };
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ack_o <= 1'b0;
      write_o <= 1'b0;
      hold_valid_q <= 1'b0;
      hold_idx_q <= '0;
      hold_q <= '0;
    end else begin
      ack_o <= look_q;
      write_o <= look_q && write_i && upper;
      if (look_q && write_i) begin
        if (!upper) begin
          hold_valid_q <= 1'b1;
          hold_idx_q <= idx;
          hold_q <= merged;
        end else if (hold_idx_q == idx) hold_valid_q <= 1'b0;
      end
    end
  end

  // Third cycle: it changes, and its copy.
  always_ff @(posedge clk_i) begin
    if (write_o && exists) copy[idx_low] <= next_q;
  end
  for (genvar i = 0; i < 2 ** IdxWidth; i++) begin : gen_written
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) written_q[i] <= 1'b0;
      else if (write_o && idx_low == IdxWidth'(i)) written_q[i] <= 1'b1;
    end
  end
  for (genvar i = 0; i < NumContexts; i++) begin : gen_context
    gw_pkg::ctx_t ctx_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) ctx_q <= '0;
      else if (write_o && idx == gw_pkg::ctx_id_t'(i)) ctx_q <= next_q;
    end
    assign ctx_o[i] = ctx_q;
  end
  assign write_ctx_o = idx;

  // Bits of the register that have no meaning, and the offset of a byte in a word.
  logic unused;
  assign unused = ^{next, addr_i[1:0]};

  `GW_ASSERT(OneAtATime_A, req_i |-> !look_q && !ack_o)
  `GW_ASSERT(HeldUntilAnswered_A, look_q || ack_o |-> $stable({write_i, addr_i}) && (!write_i || $stable({wdata_i, wmask_i})))

endmodule
