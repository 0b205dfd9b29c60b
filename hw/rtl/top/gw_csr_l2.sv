// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Registers of the second level: its counters (`l2_counters` of gw_mmu.rdl) and the entries of the range TLB (`ranges`).
//
// Contract
// - Counters: as in gw_csr_counters.
// - Ranges: base, limit and offset are held until the control word is written, which writes the entry as a whole in that
//   cycle. One set of holding registers serves all entries: write the three words, then the entry's control word.
//   Reads show the entry that is in effect; entries that the configuration does not have read zero.
// - A request is acknowledged in its own cycle.
module gw_csr_l2 #(
  /// Entries of the range TLB, 1 to 16 (1 if there is none).
  parameter int unsigned NumRanges = 8,
  /// Derived.
  localparam int unsigned IdxWidth = (NumRanges > 1) ? $clog2(NumRanges) : 1
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           inhibit_i,
  input  logic                           clear_i,
  input  gw_pkg::l2_event_t              event_i,
  /// Byte offset in l2_counters.
  input  logic [5:0]                     count_addr_i,
  output logic [31:0]                    count_rdata_o,
  // Ranges; addr_i: byte offset, 32 bytes an entry.
  input  logic                           req_i,
  input  logic                           write_i,
  input  logic [8:0]                     addr_i,
  input  logic [31:0]                    wdata_i,
  output logic [31:0]                    rdata_o,
  output logic                           range_we_o,
  output logic [IdxWidth-1:0]            range_idx_o,
  output gw_pkg::range_t                 range_o,
  input  gw_pkg::range_t [NumRanges-1:0] ranges_i
);

  import gw_pkg::*;

  // In the order of the registers.
  localparam int unsigned NumCounters = 8;
  logic [63:0] count_q[NumCounters];
  logic [4:0]  step[NumCounters];
  always_comb begin
    step[0] = 5'(event_i.hit);
    step[1] = 5'(event_i.range_hit);
    step[2] = 5'(event_i.miss);
    step[3] = 5'(event_i.fill);
    step[4] = 5'(event_i.merge);
    step[5] = 5'(event_i.evict);
    step[6] = 5'(event_i.drop);
    step[7] = event_i.invalidated;
  end

  for (genvar i = 0; i < NumCounters; i++) begin : gen_counter
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) count_q[i] <= '0;
      else if (clear_i) count_q[i] <= '0;
      else if (!inhibit_i && step[i] != '0) count_q[i] <= count_q[i] + 64'(step[i]);
    end
  end
  assign count_rdata_o = count_addr_i[2] ? count_q[count_addr_i[5:3]][63:32] : count_q[count_addr_i[5:3]][31:0];

  // Ranges: 32-bit words of an entry.
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

  always_comb begin
    shown = '0;
    for (int unsigned i = 0; i < NumRanges; i++) begin
      if (32'(idx) == i) shown = ranges_i[i];
    end
    case (word)
      BaseLo:   rdata_o = shown.base[31:0];
      BaseHi:   rdata_o = 32'(shown.base[VpnWidth-1:32]);
      LimitLo:  rdata_o = shown.limit[31:0];
      LimitHi:  rdata_o = 32'(shown.limit[VpnWidth-1:32]);
      OffsetLo: rdata_o = shown.offset[31:0];
      OffsetHi: rdata_o = 32'(shown.offset[PpnWidth-1:32]);
      Control:  rdata_o = {16'b0, shown.ctx, 5'b0, shown.perm.w, shown.perm.r, shown.valid};
      default:  rdata_o = '0;
    endcase
  end

  logic unused;
  assign unused = ^{
    event_i.lookup_of, event_i.fill_ctx, count_addr_i[1:0], addr_i[1:0], base_q[63:VpnWidth], limit_q[63:VpnWidth],
    offset_q[63:PpnWidth]
  };

endmodule
