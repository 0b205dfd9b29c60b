// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// What a command of the queue asks for. Combinational.
//
// Contract
// - IOTINVAL.VMA and IOFENCE.C of the RISC-V IOMMU specification, the former with the S bit of its address-range
//   invalidation; with page requests ATS.PRGR for an existing context; with a page cache CACHE.RANGE, a custom command, whose range ends
//   below 2**56 and which does something. A reserved bit that is set, a context that this hardware does not have, and everything else is illegal:
//   there is no second stage (GV, GSCID), and tables above leaves are always dropped with them (NL).
// - Never drops less than it was asked to. More: an address without a context drops everything, because it covers global
//   mappings; a range above 1 GiB drops its context.
module gw_cq_decode #(
  /// Contexts, 1 to 2**gw_pkg::CtxIdWidth.
  parameter int unsigned NumContexts = 16,
  /// There are page requests, and so responses.
  parameter bit PageRequests = 1'b0,
  /// There is a page cache, and so maintenance of it.
  parameter bit PageCache = 1'b0
) (
  input  logic [8*gw_spec_pkg::CommandBytes-1:0] cmd_i,
  output gw_pkg::command_t                       command_o
);

  import gw_spec_pkg::*;
  import gw_pkg::*;

  logic [63:0] what, where;
  assign what = cmd_i[63:0];
  assign where = cmd_i[127:64];

  function automatic logic [63:0] bits(int unsigned lsb, int unsigned width);
    return ((64'd1 << width) - 64'd1) << lsb;
  endfunction

  localparam logic [63:0] HeadBits = bits(CommandFieldOpcodeLsb, CommandFieldOpcodeWidth) |
    bits(CommandFieldFunc3Lsb, CommandFieldFunc3Width);
  localparam logic [63:0] InvalBits = HeadBits | bits(IotinvalAvLsb, IotinvalAvWidth) |
    bits(IotinvalPscidLsb, IotinvalPscidWidth) | bits(IotinvalPscvLsb, IotinvalPscvWidth);
  localparam logic [63:0] InvalWhereBits = bits(IotinvalWhereSLsb, IotinvalWhereSWidth) |
    bits(IotinvalWhereVpnLsb, IotinvalWhereVpnWidth);
  localparam logic [63:0] FenceBits = HeadBits | bits(IofenceAvLsb, IofenceAvWidth) |
    bits(IofenceWsiLsb, IofenceWsiWidth) | bits(IofencePrLsb, IofencePrWidth) |
    bits(IofencePwLsb, IofencePwWidth) | bits(IofenceDataLsb, IofenceDataWidth);
  localparam logic [63:0] FenceWhereBits = bits(IofenceWhereAddrLsb, IofenceWhereAddrWidth);

  localparam logic [63:0] RespondBits = HeadBits | bits(AtsPrgrPidLsb, AtsPrgrPidWidth) | bits(AtsPrgrPvLsb, AtsPrgrPvWidth);
  localparam logic [63:0] RespondPayloadBits = bits(AtsPrgrPayloadPlaceLsb, AtsPrgrPayloadPlaceWidth) |
    bits(AtsPrgrPayloadGenerationLsb, AtsPrgrPayloadGenerationWidth) | bits(AtsPrgrPayloadCodeLsb, AtsPrgrPayloadCodeWidth);

  // IOTINVAL.VMA.
  logic [IotinvalPscidWidth-1:0] pscid;
  logic [IotinvalWhereVpnWidth-1:0] vpn, open_bits;
  logic is_inval, is_fence, known_context, has_address, has_context, is_range;
  page_order_t order;
  logic too_large;

  assign is_inval = what[CommandFieldOpcodeLsb+:CommandFieldOpcodeWidth] == CommandIotinval &&
                    what[CommandFieldFunc3Lsb+:CommandFieldFunc3Width] == CommandIotinvalVma &&
                    (what & ~InvalBits) == '0 && (where & ~InvalWhereBits) == '0;
  assign pscid = what[IotinvalPscidLsb+:IotinvalPscidWidth];
  assign has_context = what[IotinvalPscvLsb];
  assign has_address = what[IotinvalAvLsb];
  assign is_range = where[IotinvalWhereSLsb];
  assign vpn = where[IotinvalWhereVpnLsb+:IotinvalWhereVpnWidth];
  assign known_context = 32'(pscid) < 32'(NumContexts);

  // Ones up to the lowest zero bit and with it: the page-number bits inside the range.
  assign open_bits = is_range ? vpn ^ (vpn + 1'b1) : '0;
  always_comb begin
    order = '0;
    for (int unsigned i = 0; i < int'(MaxPageOrder); i++) begin
      if (open_bits[i]) order = page_order_t'(i + 1);
    end
  end
  assign too_large = open_bits[int'(MaxPageOrder)];

  inval_scope_e scope;
  always_comb begin
    scope = InvalAll;
    if (has_context) scope = (has_address && !too_large) ? InvalRange : InvalContext;
  end

  // IOFENCE.C.
  assign is_fence = what[CommandFieldOpcodeLsb+:CommandFieldOpcodeWidth] == CommandIofence &&
                    what[CommandFieldFunc3Lsb+:CommandFieldFunc3Width] == CommandIofenceC &&
                    (what & ~FenceBits) == '0 && (where & ~FenceWhereBits) == '0;

  // ATS.PRGR.
  logic is_respond;
  assign is_respond = PageRequests && what[CommandFieldOpcodeLsb+:CommandFieldOpcodeWidth] == CommandAts &&
                      what[CommandFieldFunc3Lsb+:CommandFieldFunc3Width] == CommandAtsPrgr &&
                      (what & ~RespondBits) == '0 && (where & ~RespondPayloadBits) == '0 && what[AtsPrgrPvLsb] &&
                      32'(what[AtsPrgrPidLsb+:AtsPrgrPidWidth]) < 32'(NumContexts);

  // CACHE.RANGE.
  localparam logic [63:0] CacheBits = HeadBits | bits(CacheRangeAvLsb, CacheRangeAvWidth) |
    bits(CacheRangeCleanLsb, CacheRangeCleanWidth) | bits(CacheRangeDropLsb, CacheRangeDropWidth) |
    bits(CacheRangeLinesLsb, CacheRangeLinesWidth);
  localparam logic [63:0] CacheWhereBits = bits(CacheRangeWhereLineLsb, CacheRangeWhereLineWidth);
  logic is_cache, cache_all;
  logic [LineAddrWidth-1:0] first_line;
  logic [LineAddrWidth:0] last_line;
  assign first_line = where[CacheRangeWhereLineLsb+:CacheRangeWhereLineWidth];
  assign last_line = {1'b0, first_line} + (LineAddrWidth + 1)'(what[CacheRangeLinesLsb+:CacheRangeLinesWidth]);
  assign cache_all = !what[CacheRangeAvLsb];
  assign is_cache = PageCache && what[CommandFieldOpcodeLsb+:CommandFieldOpcodeWidth] == CommandCache &&
                    what[CommandFieldFunc3Lsb+:CommandFieldFunc3Width] == CommandCacheRange &&
                    (what & ~CacheBits) == '0 && (where & ~CacheWhereBits) == '0 &&
                    (what[CacheRangeCleanLsb] || what[CacheRangeDropLsb]) && !last_line[LineAddrWidth] &&
                    (!cache_all || (where == '0 && what[CacheRangeLinesLsb+:CacheRangeLinesWidth] == '0));

  cmd_kind_e kind;
  always_comb begin
    kind = CmdIllegal;
    if (is_inval && (known_context || !has_context)) kind = CmdInval;
    else if (is_fence) kind = CmdFence;
    else if (is_respond) kind = CmdRespond;
    else if (is_cache) kind = CmdCache;
  end

  assign command_o = '{
    kind: kind,
    inval: '{
      scope: scope,
      ctx: ctx_id_t'(pscid),
      vpn: vpn_t'(vpn & ~open_bits),
      order: order
    },
    fence: '{
      write: what[IofenceAvLsb],
      signal: what[IofenceWsiLsb],
      data: what[IofenceDataLsb+:IofenceDataWidth],
      addr: {where[IofenceWhereAddrLsb+:IofenceWhereAddrWidth], 2'b00}
    },
    drain: kind == CmdFence && (what[IofencePrLsb] || what[IofencePwLsb]),
    response: '{
      code: where[AtsPrgrPayloadCodeLsb+:AtsPrgrPayloadCodeWidth],
      generation: where[AtsPrgrPayloadGenerationLsb+:AtsPrgrPayloadGenerationWidth],
      place: park_t'(where[AtsPrgrPayloadPlaceLsb+:AtsPrgrPayloadPlaceWidth])
    },
    cache: '{
      clean: what[CacheRangeCleanLsb],
      drop: what[CacheRangeDropLsb],
      first: first_line,
      last: cache_all ? '1 : last_line[LineAddrWidth-1:0]
    }
  };

  if (NumContexts < 1 || NumContexts > 2 ** CtxIdWidth) begin : gen_bad_num_contexts
    $fatal(1, "gw_cq_decode: NumContexts must be 1 to 2**CtxIdWidth");
  end

endmodule
