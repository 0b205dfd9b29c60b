// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Entries of the range TLB: registers `ranges` of gw_mmu.rdl.
//
// Contract
// - Base, limit and offset are held until the control word is written, which writes the entry as a whole in that
//   cycle. One set of holding registers serves all entries: write the three words, then the entry's control word.
//   Reads show the entry that is in effect; entries that the configuration does not have read zero.
// - A request is a pulse; `ack_o` follows in the next cycle, with what it read.
module gw_csr_ranges #(
  /// Entries of the range TLB, 1 to 16 (1 if there is none).
  parameter int unsigned NumRanges = 8,
  /// Derived.
  localparam int unsigned IdxWidth = (NumRanges > 1) ? $clog2(NumRanges) : 1
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           req_i,
  input  logic                           write_i,
  /// Byte offset, 32 bytes an entry.
  input  logic [8:0]                     addr_i,
  input  logic [31:0]                    wdata_i,
  output logic                           ack_o,
  output logic [31:0]                    rdata_o,
  output logic                           range_we_o,
  output logic [IdxWidth-1:0]            range_idx_o,
  output gw_pkg::range_t                 range_o,
  input  gw_pkg::range_t [NumRanges-1:0] ranges_i
);

  import gw_pkg::*;

  // 32-bit words of an entry.
  typedef enum logic [2:0] {
    BaseLo   = 3'd0,
    BaseHi   = 3'd1,
    LimitLo  = 3'd2,
    LimitHi  = 3'd3,
    OffsetLo = 3'd4,
    OffsetHi = 3'd5,
    Control  = 3'd6
  } word_e;

  logic [3:0]  idx;
  word_e       word;
  logic [63:0] base_q, limit_q, offset_q;
  range_t      shown;
  assign idx = addr_i[8:5];
  assign word = word_e'(addr_i[4:2]);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {base_q, limit_q, offset_q} <= '0;
    else if (req_i && write_i) begin
      case (word)
        BaseLo:   base_q[31:0] <= wdata_i;
        BaseHi:   base_q[63:32] <= wdata_i;
        LimitLo:  limit_q[31:0] <= wdata_i;
        LimitHi:  limit_q[63:32] <= wdata_i;
        OffsetLo: offset_q[31:0] <= wdata_i;
        OffsetHi: offset_q[63:32] <= wdata_i;
        default: ;
      endcase
    end
  end

  assign range_we_o = req_i && write_i && word == Control && 32'(idx) < NumRanges;
  assign range_idx_o = IdxWidth'(idx);
  assign range_o = '{
      valid: wdata_i[0],
      perm: '{r: wdata_i[1], w: wdata_i[2]},
      ctx: wdata_i[15:8],
      base: vpn_t'(base_q),
      limit: vpn_t'(limit_q),
      offset: ppn_t'(offset_q)
  };

  // What was written to each entry: a copy in memory, so that reading takes no multiplexer of all entries. Only `valid` changes
  // otherwise, when an invalidation clears it.
  localparam int unsigned Copies = (NumRanges > 1) ? 2 ** IdxWidth : 2;
  range_t            copy[Copies];
  logic [Copies-1:0] written_q, valid;
  logic              exists;
  logic [31:0]       rdata;
  assign exists = 32'(idx) < NumRanges;
  always_ff @(posedge clk_i) begin
    if (range_we_o) copy[range_idx_o] <= range_o;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) written_q <= '0;
    else if (range_we_o) written_q[range_idx_o] <= 1'b1;
  end
  always_comb begin
    valid = '0;
    for (int unsigned i = 0; i < NumRanges; i++) valid[i] = ranges_i[i].valid;
    shown = (exists && written_q[range_idx_o]) ? copy[range_idx_o] : '0;
    shown.valid = exists && valid[range_idx_o];
    case (word)
      BaseLo:   rdata = shown.base[31:0];
      BaseHi:   rdata = 32'(shown.base[VpnWidth-1:32]);
      LimitLo:  rdata = shown.limit[31:0];
      LimitHi:  rdata = 32'(shown.limit[VpnWidth-1:32]);
      OffsetLo: rdata = shown.offset[31:0];
      OffsetHi: rdata = 32'(shown.offset[PpnWidth-1:32]);
      Control:  rdata = {16'b0, shown.ctx, 5'b0, shown.perm.w, shown.perm.r, shown.valid};
      default:  rdata = '0;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) ack_o <= 1'b0;
    else ack_o <= req_i;
  end
  always_ff @(posedge clk_i) rdata_o <= rdata;

  logic unused;
  assign unused = ^{addr_i[1:0], base_q[63:VpnWidth], limit_q[63:VpnWidth], offset_q[63:PpnWidth], ranges_i};

endmodule
