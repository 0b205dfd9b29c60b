// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The 64-bit counters of the MMU: registers `walker_counters` and `port_counters` of gw_mmu.rdl.
//
// Contract
// - An event pulse in cycle t is in its counter from t+1 on. `clear_i` sets all counters to zero and wins over events of
//   its cycle; while `inhibit_i` is high no counter changes (a clear still works).
// - Reads are combinational; offsets without a counter read zero.
// - Counters wrap after 2**64 events; latency_max is a maximum.
module gw_csr_counters #(
  /// Accelerator ports, 1 to 2**(gw_pkg::SrcWidth-1).
  parameter int unsigned NumPorts = 1
) (
  input  logic                                    clk_i,
  input  logic                                    rst_ni,
  input  logic                                    inhibit_i,
  input  logic                                    clear_i,
  /// Per port: [0] AR, [1] AW.
  input  gw_pkg::chan_event_t [NumPorts-1:0][1:0] chan_event_i,
  input  gw_pkg::walk_event_t                     walk_event_i,
  input  gw_pkg::l2_event_t                       l2_event_i,
  /// Byte offset in walker_counters.
  input  logic [6:0]                              walk_addr_i,
  output logic [31:0]                             walk_rdata_o,
  /// Byte offset in port_counters: 256 bytes a port, AR counters from 0, AW counters from 64.
  input  logic [gw_pkg::SrcWidth+6:0]             port_addr_i,
  output logic [31:0]                             port_rdata_o
);

  // A channel's own events, then what the levels behind it did for it.
  localparam int unsigned NumChanEvents = $bits(gw_pkg::chan_event_t);
  localparam int unsigned NumChanCounters = NumChanEvents + 3;

  // In the order of the registers.
  typedef enum logic [3:0] {
    Walks,
    LatencySum,
    LatencyMax,
    Faults,
    Merges,
    LineHits,
    CacheHits,
    PteReads,
    Prefetches,
    PrefetchesUsed,
    PrefetchesUseless,
    Updates,
    NumWalkCounters
  } walk_counter_e;

  logic [63:0] chan_q[NumPorts][2][NumChanCounters];
  logic [63:0] walk_q[NumWalkCounters];

  for (genvar p = 0; p < NumPorts; p++) begin : gen_port
    for (genvar c = 0; c < 2; c++) begin : gen_channel
      localparam gw_pkg::src_t Src = gw_pkg::src_t'(2 * p + c);
      logic looked_up, walked;
      logic [NumChanCounters-1:0] count;
      assign looked_up = l2_event_i.lookup_of.src == Src;
      assign walked = walk_event_i.done_of.src == Src;
      always_comb begin
        // The first field of the struct is its highest bit and the first register.
        for (int unsigned i = 0; i < NumChanEvents; i++) count[i] = chan_event_i[p][c][NumChanEvents-1-i];
        count[NumChanEvents] = l2_event_i.hit && looked_up;
        count[NumChanEvents+1] = l2_event_i.range_hit && looked_up;
        count[NumChanEvents+2] = walk_event_i.done && walked;
      end

      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) begin
          for (int unsigned i = 0; i < NumChanCounters; i++) chan_q[p][c][i] <= '0;
        end else if (clear_i) begin
          for (int unsigned i = 0; i < NumChanCounters; i++) chan_q[p][c][i] <= '0;
        end else if (!inhibit_i && count != '0) begin
          for (int unsigned i = 0; i < NumChanCounters; i++) begin
            chan_q[p][c][i] <= chan_q[p][c][i] + 64'(count[i]);
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned i = 0; i < NumWalkCounters; i++) walk_q[i] <= '0;
    end else if (clear_i) begin
      for (int unsigned i = 0; i < NumWalkCounters; i++) walk_q[i] <= '0;
    end else if (!inhibit_i) begin
      if (walk_event_i.done) begin
        walk_q[Walks] <= walk_q[Walks] + 64'd1;
        walk_q[LatencySum] <= walk_q[LatencySum] + 64'(walk_event_i.latency);
        if (walk_q[LatencyMax] < 64'(walk_event_i.latency)) walk_q[LatencyMax] <= 64'(walk_event_i.latency);
        walk_q[Faults] <= walk_q[Faults] + 64'(walk_event_i.fault);
      end
      walk_q[Merges] <= walk_q[Merges] + 64'(walk_event_i.merge);
      walk_q[LineHits] <= walk_q[LineHits] + 64'(walk_event_i.line_hit);
      walk_q[CacheHits] <= walk_q[CacheHits] + 64'(walk_event_i.cache_hit);
      walk_q[PteReads] <= walk_q[PteReads] + 64'(walk_event_i.pte_read);
      walk_q[Prefetches] <= walk_q[Prefetches] + 64'(walk_event_i.prefetch);
      walk_q[PrefetchesUsed] <= walk_q[PrefetchesUsed] + 64'(walk_event_i.prefetch_used);
      walk_q[PrefetchesUseless] <= walk_q[PrefetchesUseless] + 64'(walk_event_i.prefetch_useless);
      walk_q[Updates] <= walk_q[Updates] + 64'(walk_event_i.update);
    end
  end

  function automatic logic [31:0] half(logic [63:0] counter, logic upper);
    return upper ? counter[63:32] : counter[31:0];
  endfunction

  assign walk_rdata_o = (walk_addr_i[6:3] < NumWalkCounters) ? half(walk_q[walk_addr_i[6:3]], walk_addr_i[2]) : '0;

  always_comb begin
    port_rdata_o = '0;
    for (int unsigned p = 0; p < NumPorts; p++) begin
      for (int unsigned i = 0; i < NumChanCounters; i++) begin
        if (port_addr_i[gw_pkg::SrcWidth+6:8] == (gw_pkg::SrcWidth - 1)'(p) && !port_addr_i[7] && port_addr_i[5:3] == 3'(i)) begin
          port_rdata_o = half(chan_q[p][port_addr_i[6]][i], port_addr_i[2]);
        end
      end
    end
  end

  logic unused;
  assign unused = ^{walk_addr_i[1:0], port_addr_i[1:0], walk_event_i, l2_event_i};

endmodule
