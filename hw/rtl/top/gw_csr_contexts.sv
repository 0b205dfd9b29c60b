// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The context table: registers `contexts.fsc` of gw_mmu.rdl, 64 bits each behind a 32-bit bus.
//
// Contract
// - A context changes only with the write of its upper half, as a whole and in one cycle: a lower half written before to
//   the same context is held until then. One holding register serves all contexts; a lower half for another context
//   replaces what it holds. An upper half alone keeps the lower half as it is.
// - write_o: in the cycle before a context changes, or is written again with what it was.
// - Reads show what is in effect. A request is acknowledged in its own cycle.
// - Reset: every context is off.
module gw_csr_contexts #(
  /// Contexts, 1 to 2**gw_pkg::CtxIdWidth.
  parameter int unsigned NumContexts = 16
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic                              req_i,
  input  logic                              write_i,
  /// Byte offset in the table.
  input  logic [gw_pkg::CtxIdWidth+2:0]     addr_i,
  input  logic [31:0]                       wdata_i,
  input  logic [31:0]                       wmask_i,
  output logic [31:0]                       rdata_o,
  output logic                              write_o,
  output gw_pkg::ctx_t [NumContexts-1:0]    ctx_o
);

  if (NumContexts < 1 || NumContexts > 2 ** gw_pkg::CtxIdWidth) begin : gen_bad_num_contexts
    $fatal(1, "gw_csr_contexts: NumContexts must be 1 to 2**CtxIdWidth");
  end

  localparam int unsigned PpnLsb = gw_spec_pkg::FscPpnLsb;
  localparam int unsigned PpnWidth = gw_spec_pkg::FscPpnWidth;
  localparam int unsigned SadeLsb = gw_spec_pkg::FscSadeLsb;
  localparam int unsigned ModeLsb = gw_spec_pkg::FscModeLsb;
  localparam int unsigned ModeWidth = gw_spec_pkg::FscModeWidth;

  gw_pkg::ctx_t [NumContexts-1:0] ctx_q;
  logic            hold_valid_q;
  gw_pkg::ctx_id_t hold_idx_q;
  logic [31:0]     hold_q;

  gw_pkg::ctx_id_t idx;
  logic            upper;
  assign idx = addr_i[3+:gw_pkg::CtxIdWidth];
  assign upper = addr_i[2];

  // The addressed context in the register's layout; zero past the last context.
  logic [63:0] current;
  always_comb begin
    current = '0;
    for (int unsigned i = 0; i < NumContexts; i++) begin
      if (idx == gw_pkg::ctx_id_t'(i)) begin
        current[PpnLsb+:PpnWidth] = ctx_q[i].root;
        current[SadeLsb] = ctx_q[i].sade;
        current[ModeLsb+:ModeWidth] = ctx_q[i].mode;
      end
    end
  end

  assign rdata_o = upper ? current[63:32] : current[31:0];

  logic [31:0] merged;
  logic [63:0] next;
  assign merged = (rdata_o & ~wmask_i) | (wdata_i & wmask_i);
  assign next[63:32] = merged;
  assign next[31:0] = (hold_valid_q && hold_idx_q == idx) ? hold_q : current[31:0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ctx_q <= '0;
      hold_valid_q <= 1'b0;
      hold_idx_q <= '0;
      hold_q <= '0;
    end else if (req_i && write_i) begin
      if (upper) begin
        for (int unsigned i = 0; i < NumContexts; i++) begin
          if (idx == gw_pkg::ctx_id_t'(i)) begin
            ctx_q[i] <= '{mode: next[ModeLsb+:ModeWidth], sade: next[SadeLsb], root: next[PpnLsb+:PpnWidth]};
          end
        end
        if (hold_idx_q == idx) hold_valid_q <= 1'b0;
      end else begin
        hold_valid_q <= 1'b1;
        hold_idx_q <= idx;
        hold_q <= merged;
      end
    end
  end

  assign ctx_o = ctx_q;
  assign write_o = req_i && write_i && upper;

  // Bits of the register that have no meaning, and the offset of a byte in a word.
  logic unused;
  assign unused = ^{next, addr_i[1:0]};

endmodule
