// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The 64-bit counters of the MMU: register files `walker_counters`, `l2_counters`, `page_counters`, `heap_counters`, `cache_counters` and
// `port_counters` of
// gw_mmu.rdl. Which there are, and what they count, is in spec/events.toml.
//
// Contract
// - Every event is counted, whatever comes together and is read meanwhile. `clear_i` sets all counters to zero, and wins over
//   events of its cycle; while `inhibit_i` is high no event counts; `filter_i` as in gw_csr_events.
// - A read is asked for by a pulse and answered by `ack_o`, after 2 cycles (words without a counter, which read zero, and upper
//   words) to 2 * gw_spec_pkg::ChannelSlots + 5. It has every event of the cycles before the pulse that counted, and no event of
//   cycles that `inhibit_i` or `clear_i` kept out. One read at a time.
// - The upper word of a counter whose lower word was the last that was read is of the same cycle as that.
// - Counters wrap after 2**64 events; a maximum stays.
`include "gw_assert.svh"

module gw_csr_counters
  import gw_spec_pkg::*;
#(
  /// Accelerator ports, 1 to 2**(gw_pkg::SrcWidth-1).
  parameter int unsigned NumPorts = 1,
  /// There are page requests, and so counters of them; without them these read zero.
  parameter bit PageRequests = 1'b0,
  /// There is a heap; the same.
  parameter bit Heap = 1'b0,
  /// There is a page cache; the same.
  parameter bit PageCache = 1'b0,
  /// Derived: address bits of the channels of all ports, and of a group: all have as many slots.
  localparam int unsigned ChannelAddrWidth = $clog2(ChannelSlots) + 3,
  localparam int unsigned PortAddrWidth = ChannelAddrWidth + gw_pkg::SrcWidth,
  localparam int unsigned GroupSlots = WalkerSlots,
  localparam int unsigned GroupAddrWidth = $clog2(GroupSlots) + 3
) (
  input  logic                                    clk_i,
  input  logic                                    rst_ni,
  input  logic                                    inhibit_i,
  input  logic                                    clear_i,
  input  gw_pkg::count_filter_t                   filter_i,
  input  gw_pkg::port_cfg_t [NumPorts-1:0]        port_cfg_i,
  /// Per port: [0] AR, [1] AW.
  input  gw_pkg::chan_event_t [NumPorts-1:0][1:0] chan_event_i,
  input  gw_pkg::mmu_event_t                      mmu_event_i,
  // Reads: pulses with the byte offset in the register file.
  input  logic                                    walker_req_i,
  input  logic                                    l2_req_i,
  input  logic                                    page_req_i,
  input  logic                                    heap_req_i,
  input  logic                                    cache_req_i,
  input  logic                                    port_req_i,
  input  logic [GroupAddrWidth-1:0]               group_addr_i,
  /// Ports, in each first the counters of AR, then those of AW.
  input  logic [PortAddrWidth-1:0]                port_addr_i,
  output logic                                    ack_o,
  output logic [31:0]                             rdata_o
);

  if (L2Slots != GroupSlots || PageSlots != GroupSlots || HeapSlots != GroupSlots || CacheSlots != GroupSlots) begin : gen_bad_slots
    $fatal(1, "gw_csr_counters: every group must have as many slots");
  end

  // Events: taken, chosen, counted. A clear reaches all three stages, so that nothing of before is left in them.
  logic                                    inhibit_q, clear_q;
  gw_pkg::count_filter_t                   filter_q;
  gw_pkg::port_cfg_t [NumPorts-1:0]        port_cfg_q;
  gw_pkg::chan_event_t [NumPorts-1:0][1:0] chan_event_q;
  gw_pkg::mmu_event_t                      mmu_event_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {inhibit_q, clear_q, filter_q} <= '0;
      port_cfg_q <= '0;
      {chan_event_q, mmu_event_q} <= '0;
    end else begin
      {inhibit_q, clear_q, filter_q} <= {inhibit_i, clear_i, filter_i};
      port_cfg_q <= port_cfg_i;
      {chan_event_q, mmu_event_q} <= {chan_event_i, mmu_event_i};
    end
  end

  logic [NumPorts-1:0][1:0][ChannelCounters-1:0][ChannelIncWidth-1:0] channel, channel_q;
  logic [WalkerCounters-1:0][WalkerIncWidth-1:0] walker, walker_q;
  logic [L2Counters-1:0][L2IncWidth-1:0]         l2, l2_q;
  logic [PageCounters-1:0][PageIncWidth-1:0]     page, page_q;
  logic [HeapCounters-1:0][HeapIncWidth-1:0]     heap, heap_q;
  logic [CacheCounters-1:0][CacheIncWidth-1:0]   cache, cache_q;
  gw_csr_events #(
    .NumPorts(NumPorts)
  ) u_events (
    .filter_i    (filter_q),
    .port_cfg_i  (port_cfg_q),
    .chan_event_i(chan_event_q),
    .mmu_event_i (mmu_event_q),
    .channel_o   (channel),
    .walker_o    (walker),
    .l2_o        (l2),
    .page_o      (page),
    .heap_o      (heap),
    .cache_o     (cache)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_q || inhibit_q) {channel_q, walker_q, l2_q, page_q, heap_q, cache_q} <= '0;
    else {channel_q, walker_q, l2_q, page_q, heap_q, cache_q} <= {channel, walker, l2, page, heap, cache};
  end

  // Reads: the request waits until the events before it have reached the banks, then for the scanner's visit.
  typedef enum logic [2:0] {
    Port   = 3'd0,
    Walker = 3'd1,
    L2     = 3'd2,
    Page   = 3'd3,
    Heaps  = 3'd4,
    Cache  = 3'd5
  } group_e;
  localparam int unsigned IdxWidth = PortAddrWidth - 3;
  typedef struct packed {
    group_e              group;
    logic [IdxWidth-1:0] idx;
  } counter_t;

  counter_t asked, asked_q, held_q;
  logic req, upper_q, req_q, wait_q, held_valid_q, is_held, exists, done;
  logic [31:0] held_word_q;
  logic [63:0] value;
  assign req = walker_req_i || l2_req_i || page_req_i || heap_req_i || cache_req_i || port_req_i;
  assign asked.group = port_req_i ? Port : walker_req_i ? Walker : l2_req_i ? L2 : page_req_i ? Page : heap_req_i ? Heaps : Cache;
  assign asked.idx = port_req_i ? port_addr_i[PortAddrWidth-1:3] : IdxWidth'(group_addr_i[GroupAddrWidth-1:3]);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      asked_q <= '{group: Port, idx: '0};
      upper_q <= 1'b0;
      {req_q, wait_q} <= '0;
    end else begin
      req_q <= req;
      if (req) begin
        asked_q <= asked;
        upper_q <= port_req_i ? port_addr_i[2] : group_addr_i[2];
      end
      wait_q <= (req_q && exists && !is_held) || (wait_q && !done);
    end
  end
  assign is_held = upper_q && held_valid_q && held_q == asked_q;

  // A bank a port, one each for walker, second level, page requests, heap and page cache. Channels are `ChannelSlots` words apart, in the bank
  // side by side.
  localparam int unsigned NumBanks = NumPorts + 5;
  localparam int unsigned SlotBits = $clog2(ChannelSlots);
  localparam int unsigned BankIdxWidth = $clog2(2 * ChannelCounters);
  logic [NumBanks-1:0]       bank_done;
  logic [NumBanks-1:0][63:0] bank_value;
  logic [gw_pkg::SrcWidth-2:0] port;
  logic [SlotBits-1:0]         slot;
  logic                        is_aw;
  logic [BankIdxWidth-1:0]     channel_idx;
  assign {port, is_aw, slot} = asked_q.idx;
  assign channel_idx = is_aw ? BankIdxWidth'(slot) + BankIdxWidth'(ChannelCounters) : BankIdxWidth'(slot);

  always_comb begin
    case (asked_q.group)
      Port:    exists = 32'(port) < NumPorts && 32'(slot) < ChannelCounters;
      Walker:  exists = 32'(asked_q.idx) < WalkerCounters;
      L2:      exists = 32'(asked_q.idx) < L2Counters;
      Page:    exists = PageRequests && 32'(asked_q.idx) < PageCounters;
      Heaps:   exists = Heap && 32'(asked_q.idx) < HeapCounters;
      default: exists = PageCache && 32'(asked_q.idx) < CacheCounters;
    endcase
  end

  for (genvar p = 0; p < NumPorts; p++) begin : gen_port
    gw_counter_bank #(
      .NumCounters(2 * ChannelCounters),
      .IncWidth   (ChannelIncWidth),
      .IncBits    ({2{ChannelIncBits}}),
      .IsMax      ({2{ChannelIsMax}})
    ) u_bank (
      .clk_i,
      .rst_ni,
      .clear_i(clear_q),
      .inc_i  (channel_q[p]),
      .read_i (wait_q && asked_q.group == Port && 32'(port) == p),
      .idx_i  (channel_idx),
      .done_o (bank_done[p]),
      .value_o(bank_value[p])
    );
  end

  gw_counter_bank #(
    .NumCounters(WalkerCounters),
    .IncWidth   (WalkerIncWidth),
    .IncBits    (WalkerIncBits),
    .IsMax      (WalkerIsMax)
  ) u_walker (
    .clk_i,
    .rst_ni,
    .clear_i(clear_q),
    .inc_i  (walker_q),
    .read_i (wait_q && asked_q.group == Walker),
    .idx_i  (asked_q.idx[$clog2(WalkerCounters)-1:0]),
    .done_o (bank_done[NumPorts]),
    .value_o(bank_value[NumPorts])
  );

  gw_counter_bank #(
    .NumCounters(L2Counters),
    .IncWidth   (L2IncWidth),
    .IncBits    (L2IncBits),
    .IsMax      (L2IsMax)
  ) u_l2 (
    .clk_i,
    .rst_ni,
    .clear_i(clear_q),
    .inc_i  (l2_q),
    .read_i (wait_q && asked_q.group == L2),
    .idx_i  (asked_q.idx[$clog2(L2Counters)-1:0]),
    .done_o (bank_done[NumPorts+1]),
    .value_o(bank_value[NumPorts+1])
  );

  if (PageRequests) begin : gen_page
    gw_counter_bank #(
      .NumCounters(PageCounters),
      .IncWidth   (PageIncWidth),
      .IncBits    (PageIncBits),
      .IsMax      (PageIsMax)
    ) u_bank (
      .clk_i,
      .rst_ni,
      .clear_i(clear_q),
      .inc_i  (page_q),
      .read_i (wait_q && asked_q.group == Page),
      .idx_i  (asked_q.idx[$clog2(PageCounters)-1:0]),
      .done_o (bank_done[NumPorts+2]),
      .value_o(bank_value[NumPorts+2])
    );
  end else begin : gen_no_page
    assign bank_done[NumPorts+2] = 1'b0;
    assign bank_value[NumPorts+2] = '0;
    logic unused_page;
    assign unused_page = ^page_q;
  end

  if (Heap) begin : gen_heap
    gw_counter_bank #(
      .NumCounters(HeapCounters),
      .IncWidth   (HeapIncWidth),
      .IncBits    (HeapIncBits),
      .IsMax      (HeapIsMax)
    ) u_bank (
      .clk_i,
      .rst_ni,
      .clear_i(clear_q),
      .inc_i  (heap_q),
      .read_i (wait_q && asked_q.group == Heaps),
      .idx_i  (asked_q.idx[$clog2(HeapCounters)-1:0]),
      .done_o (bank_done[NumPorts+3]),
      .value_o(bank_value[NumPorts+3])
    );
  end else begin : gen_no_heap
    assign bank_done[NumPorts+3] = 1'b0;
    assign bank_value[NumPorts+3] = '0;
    logic unused_heap;
    assign unused_heap = ^heap_q;
  end

  if (PageCache) begin : gen_cache
    gw_counter_bank #(
      .NumCounters(CacheCounters),
      .IncWidth   (CacheIncWidth),
      .IncBits    (CacheIncBits),
      .IsMax      (CacheIsMax)
    ) u_bank (
      .clk_i,
      .rst_ni,
      .clear_i(clear_q),
      .inc_i  (cache_q),
      .read_i (wait_q && asked_q.group == Cache),
      .idx_i  (asked_q.idx[$clog2(CacheCounters)-1:0]),
      .done_o (bank_done[NumPorts+4]),
      .value_o(bank_value[NumPorts+4])
    );
  end else begin : gen_no_cache
    assign bank_done[NumPorts+4] = 1'b0;
    assign bank_value[NumPorts+4] = '0;
    logic unused_cache;
    assign unused_cache = ^cache_q;
  end

  assign done = bank_done != '0;
  always_comb begin
    value = '0;
    for (int unsigned i = 0; i < NumBanks; i++) value |= bank_value[i] & {64{bank_done[i]}};
  end

  // Answers; the upper word that belongs to a lower one is kept for the next read.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ack_o <= 1'b0;
      rdata_o <= '0;
      held_word_q <= '0;
      held_q <= '{group: Port, idx: '0};
      held_valid_q <= 1'b0;
    end else begin
      ack_o <= done || (req_q && (is_held || !exists));
      rdata_o <= done ? (upper_q ? value[63:32] : value[31:0]) : (req_q && is_held) ? held_word_q : '0;
      if (done) begin
        held_word_q <= value[63:32];
        held_q <= asked_q;
      end
      if (clear_q || req_q) held_valid_q <= 1'b0;
      else if (done) held_valid_q <= !upper_q;
    end
  end

  logic unused;
  assign unused = ^{group_addr_i[1:0], port_addr_i[1:0]};

  `GW_ASSERT(OneReadAtATime_A, !req || !(req_q || wait_q || ack_o))

endmodule
