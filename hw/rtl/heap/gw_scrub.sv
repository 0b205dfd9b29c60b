// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Clears frames that were given back, in cycles that memory has left: dirty frames of gw_frames become clean ones.
//
// Contract
// - What is given as clean was taken as dirty, all of it written with zeros, and each write was acknowledged.
// - `dirty_i`: a region may have dirty frames. It is served until gw_frames refuses a single dirty frame and no `dirty_i` came since the
//   take that was refused. Regions that lack clean frames (`lack_i`) come first, else the lowest.
// - Groups of 2**BigOrder frames as long as there are some, then single ones. Before them a larger group that somebody waits for, and
//   before single ones a smaller group (`wanted_i`): so who waits for a group that is all dirty waits for two groups at most.
// - A burst of `Beats` words of 64 bytes is begun in a cycle of `room_i`, or of `lack_i` of any region; it is never stopped. At most
//   `Bursts` are under way. So traffic that leaves no cycle stops scrubbing, until frames are lacking.
// - A write that memory refuses (broken_o): its group is kept for ever, in nobody's hand.
// - Latency of a group, with memory that takes a beat each cycle and answers n cycles later: its beats and the time of gw_frames'
//   take and give, and n + 8.
`include "gw_assert.svh"

module gw_scrub #(
  /// Memories, 1 to 8.
  parameter int unsigned Regions = 1,
  /// log2 of the frames of a large group: 64 KiB.
  parameter int unsigned BigOrder = 4,
  /// Orders that somebody may wait for.
  parameter gw_pkg::group_orders_t Orders = 10'h011,
  /// Words of a burst, 1 to 16, a power of two.
  parameter int unsigned Beats = 4,
  /// Bursts under way.
  parameter int unsigned Bursts = 8
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  /// Pulses: something was given to a region as dirty, or it began so.
  input  logic [Regions-1:0]      dirty_i,
  /// Somebody waits for a clean frame of it.
  input  logic [Regions-1:0]      lack_i,
  /// Orders of the groups that are waited for.
  input  gw_pkg::group_orders_t [Regions-1:0] wanted_i,
  /// Memory has cycles left.
  input  logic                    room_i,
  /// gw_frames.
  output logic                    cmd_valid_o,
  input  logic                    cmd_ready_i,
  output gw_pkg::frames_cmd_t     cmd_o,
  input  logic                    rsp_valid_i,
  input  gw_pkg::frames_rsp_t     rsp_i,
  output gw_axi_pkg::bitmap_req_t m_req_o,
  input  gw_axi_pkg::bitmap_rsp_t m_rsp_i,
  /// A group was taken and is not given yet: its region's, its order and those below.
  output logic                    busy_o,
  output gw_pkg::group_orders_t [Regions-1:0] held_o,
  /// Pulse: a group was cleared and given; its order.
  output logic                    event_o,
  output gw_pkg::group_order_t    event_order_o,
  output logic                    broken_o
);

  import gw_pkg::*;
  import gw_axi_pkg::*;

  localparam int unsigned LineShift = 6;
  localparam int unsigned BurstShift = LineShift + $clog2(Beats);
  localparam int unsigned FrameBursts = PageShift - BurstShift;  // log2
  function automatic int unsigned max_order();
    max_order = BigOrder;
    for (int unsigned k = BigOrder; k < GroupOrders; k++) if (Orders[k]) max_order = k;
  endfunction
  localparam int unsigned MaxOrder = max_order();
  localparam int unsigned CountWidth = FrameBursts + MaxOrder + 1;
  localparam int unsigned IdxWidth = (Regions > 1) ? $clog2(Regions) : 1;
  localparam int unsigned WayWidth = $clog2(Bursts + 1);
  typedef logic [IdxWidth-1:0] idx_t;
  typedef logic [CountWidth-1:0] count_t;

  if (Regions < 1 || Regions > 2 ** RegionWidth) begin : gen_bad_regions
    $fatal(1, "gw_scrub: Regions must be 1 to 8");
  end
  if (!(Beats inside {1, 2, 4, 8, 16})) begin : gen_bad_beats
    $fatal(1, "gw_scrub: Beats must be 1, 2, 4, 8 or 16");
  end
  if (BigOrder < 1 || BigOrder > 9 || Bursts < 1) begin : gen_bad_big_order
    $fatal(1, "gw_scrub: BigOrder must be 1 to 9, Bursts at least 1");
  end

  typedef enum logic [2:0] {
    Idle,
    Ask,   // for a dirty group
    Wait,
    Clear,
    Give,
    Given
  } state_e;
  state_e state_q, state_d;
  logic [Regions-1:0] pending_q, lacking;
  idx_t region_q, next_region;
  logic failed_q;
  ppn_t frame_q;
  group_order_t order_q;

  // The largest that is waited for in each region.
  group_order_t [Regions-1:0] wanted_q;
  group_order_t wanted, next_wanted;
  always_ff @(posedge clk_i) begin
    for (int unsigned r = 0; r < Regions; r++) wanted_q[r] <= order_number(largest_order(wanted_i[r] & Orders));
  end
  assign wanted = wanted_q[region_q];
  assign next_wanted = wanted_q[next_region];

  // Whose turn it is.
  assign lacking = (pending_q & lack_i) != '0 ? pending_q & lack_i : pending_q;
  always_comb begin
    next_region = '0;
    for (int unsigned r = Regions; r > 0; r--) if (lacking[r-1]) next_region = idx_t'(r - 1);
  end

  // Bursts: addresses that left, bursts whose data left, and those that were answered.
  count_t bursts_q, sent_q, filled_q;
  logic [$clog2(Beats+1)-1:0] beat_q;
  logic [WayWidth-1:0] way_q;
  logic open_q, aw_taken, w_taken, last_beat, b_taken, done;
  assign aw_taken = m_req_o.aw_valid && m_rsp_i.aw_ready;
  assign w_taken = m_req_o.w_valid && m_rsp_i.w_ready;
  assign last_beat = beat_q == ($bits(beat_q))'(Beats - 1);
  assign b_taken = m_rsp_i.b_valid && m_req_o.b_ready;
  assign done = sent_q == bursts_q && filled_q == bursts_q && way_q == '0 && !open_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: if (pending_q != '0) state_d = Ask;
      Ask: if (cmd_ready_i) state_d = Wait;
      Wait: if (rsp_valid_i) state_d = rsp_i.ok ? Clear : (order_q != '0) ? Ask : Idle;
      Clear: if (done) state_d = failed_q ? Idle : Give;
      Give: if (cmd_ready_i) state_d = Given;
      default: if (rsp_valid_i) state_d = Idle;
    endcase
  end
  assign cmd_valid_o = state_q inside {Ask, Give};
  assign cmd_o = '{
    give: state_q == Give,
    dirty: state_q == Ask,
    region: region_t'(region_q),
    order: order_q,
    frame: frame_q
  };
  always_comb begin
    for (int unsigned r = 0; r < Regions; r++) held_o[r] = {GroupOrders{busy_o && region_q == idx_t'(r)}} & orders_to(order_q);
  end
  assign busy_o = state_q inside {Clear, Give, Given};
  assign event_o = state_q == Given && rsp_valid_i;
  assign event_order_o = order_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      pending_q <= '0;
      open_q <= 1'b0;
      way_q <= '0;
      broken_o <= 1'b0;
    end else begin
      state_q <= state_d;
      // Cleared when the last take begins: what comes while it is under way is looked for again.
      pending_q <= pending_q | dirty_i;
      if (state_q == Ask && cmd_ready_i && order_q == '0) pending_q[region_q] <= dirty_i[region_q];
      if (state_q == Wait && rsp_valid_i && rsp_i.ok) pending_q[region_q] <= 1'b1;
      // An address that is offered stays.
      if (state_q == Clear && !open_q) open_q <= sent_q != bursts_q && 32'(way_q) < Bursts && (room_i || lack_i != '0);
      else if (aw_taken) open_q <= 1'b0;
      way_q <= way_q + WayWidth'(aw_taken) - WayWidth'(b_taken);
      if (b_taken && m_rsp_i.b.resp != RespOkay) broken_o <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Idle) begin
      region_q <= next_region;
      order_q <= (next_wanted > group_order_t'(BigOrder)) ? next_wanted : group_order_t'(BigOrder);
    end
    if (state_q == Wait) begin
      frame_q <= rsp_i.frame;
      if (rsp_valid_i && !rsp_i.ok) begin
        if (order_q > group_order_t'(BigOrder)) order_q <= group_order_t'(BigOrder);
        else if (order_q == group_order_t'(BigOrder) && wanted < group_order_t'(BigOrder)) order_q <= wanted;
        else order_q <= '0;
      end
      bursts_q <= count_t'(1) << (FrameBursts + 32'(order_q));
      sent_q <= '0;
      filled_q <= '0;
      beat_q <= '0;
      failed_q <= 1'b0;
    end
    if (aw_taken) sent_q <= sent_q + 1'b1;
    if (w_taken) begin
      beat_q <= last_beat ? '0 : beat_q + 1'b1;
      if (last_beat) filled_q <= filled_q + 1'b1;
    end
    if (b_taken && m_rsp_i.b.resp != RespOkay) failed_q <= 1'b1;
  end

  always_comb begin
    m_req_o = '0;
    m_req_o.aw_valid = open_q;
    m_req_o.aw.addr = 64'({frame_q, PageShift'(0)}) | 64'(sent_q) << BurstShift;
    m_req_o.aw.len = 8'(Beats - 1);
    m_req_o.aw.size = 3'(LineShift);
    m_req_o.aw.burst = BurstIncr;
    m_req_o.aw.cache = 4'b0011;
    m_req_o.aw.prot = 3'b001;  // privileged data
    m_req_o.w_valid = state_q == Clear && filled_q != sent_q;
    m_req_o.w.strb = '1;
    m_req_o.w.last = last_beat;
    m_req_o.b_ready = 1'b1;
  end

  logic unused;
  assign unused = ^{m_rsp_i.ar_ready, m_rsp_i.r_valid, m_rsp_i.r, m_rsp_i.b.id};

  `GW_INVARIANT(WritesWhatItHolds_A, !(m_req_o.aw_valid || m_req_o.w_valid) || state_q == Clear)
  `GW_ASSERT(AddressStable_A, m_req_o.aw_valid && !m_rsp_i.aw_ready |=> m_req_o.aw_valid && $stable(m_req_o.aw))
  `GW_COVER(Lacking_C, state_q == Clear && !room_i && lack_i != '0 && open_q)
  `GW_COVER(CameMeanwhile_C, state_q == Wait && rsp_valid_i && !rsp_i.ok && order_q == '0 && pending_q[region_q])

endmodule
