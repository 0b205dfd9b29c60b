// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// The heap in hardware: malloc, realloc and free, frames on first touch, freed memory taken back and cleared. Wiring only.
//
//   host, kernels ─> gw_heap_commands ─> gw_slots ─jobs─> gw_heap_hold ─> gw_reclaim ─dirty─> gw_frames <─> gw_scrub
//   a context's end ─> gw_heap_end ─┘        ^ lookup                              │                 │ clean frames
//   walker's misses ─> gw_miss ─────> gw_touch <───────────────────────────────────┼─────────────────┘
//                                        └──────> gw_pte_unit <────────────────────┘
//
// Contract
// - Commands: those of gw_slots, in 2 cycles more; each port's answers are its own. Port 0 is the context's end, the others are the caller's.
// - First touch: gw_touch. 2 cycles of gw_axi_mux are in its look at the entry.
// - settle_o: stands until settled_i, which says that no request of before waits for gw_touch outside.
// - Memory: one port. Clearing begins a burst in cycles of room_i, or when a region lacks clean frames.
// - broken_o: memory refused something, or entries of the window were not gw_touch's: frames may be lost, none is given twice.
// - Nothing is asked of memory before a region begins.
`include "gw_assert.svh"

module gw_heap #(
  parameter int unsigned NumContexts = 16,
  /// Who allocates, the context's end not counted, >= 1.
  parameter int unsigned NumPorts = 1,
  /// Memories, 1, 2, 4 or 8; 2 MiB blocks of one at most, a power of two, 16 to 65536.
  parameter int unsigned Regions = 1,
  parameter int unsigned Blocks = 2048,
  /// Blocks whose bits are on chip.
  parameter int unsigned Lines = 4,
  /// Tables of a walk, 3 to 5; the region they are in.
  parameter int unsigned Levels = 4,
  parameter int unsigned TableRegion = 0,
  /// Orders of groups that frames come in: bit k, 2**k frames; bit 0 is set, of 1 to 8 those that the walker knows as NAPOT.
  parameter gw_pkg::group_orders_t Orders = 10'h011,
  /// Entries that memory writes at once: 8, or as many words of 64 bits as its beats have if those are less.
  parameter int unsigned Together = 8,
  /// As in gw_slots.
  parameter int unsigned Slots = 4096,
  parameter int unsigned SlotOrder = 21,
  parameter int unsigned SmallOrder = 4,
  parameter gw_pkg::vpn_t LargeBase = 45'h4_0000_0000,
  parameter gw_pkg::vpn_t SmallBase = 45'h6_0000_0000,
  /// The window: whole entries of the root.
  parameter gw_pkg::vpn_t First = 45'h4_0000_0000,
  parameter gw_pkg::vpn_t Last = 45'h6_07ff_ffff,
  /// Derived.
  localparam int unsigned SlotWidth = $clog2(Slots),
  localparam int unsigned BlockWidth = $clog2(Blocks),
  localparam int unsigned CountWidth = BlockWidth + 10,
  localparam int unsigned EntryWidth = gw_pkg::PaWidth - $clog2(gw_spec_pkg::PtEntryBytes)
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  /// Regions, as in gw_frames; a frame that stays zero; what each context may have.
  input  logic [Regions-1:0]               start_i,
  input  logic [Regions-1:0]               start_clean_i,
  input  logic [Regions-1:0][BlockWidth:0] blocks_i,
  input  gw_pkg::ppn_t [Regions-1:0]       base_i,
  input  gw_pkg::ppn_t [Regions-1:0][1:0]  bits_i,
  input  logic [Regions-1:0]               strict_i,
  input  gw_pkg::ppn_t                     zero_i,
  input  logic [NumContexts-1:0][SlotWidth:0] quota_i,
  /// Commands.
  input  logic [NumPorts-1:0]              bound_i,
  input  logic [NumPorts-1:0]              cmd_valid_i,
  output logic [NumPorts-1:0]              cmd_ready_o,
  input  gw_pkg::heap_cmd_t [NumPorts-1:0] cmd_i,
  output logic [NumPorts-1:0]              rsp_valid_o,
  input  logic [NumPorts-1:0]              rsp_ready_i,
  output gw_pkg::heap_rsp_t [NumPorts-1:0] rsp_o,
  /// What kernels free waits for the host: gw_heap_hold.
  input  logic [NumPorts-1:0]              kernels_i,
  input  logic                             hold_i,
  input  logic [31:0]                      seen_i,
  output logic [31:0]                      frees_o,
  output logic                             held_o,
  /// A context ends: gw_heap_end.
  input  logic                             end_start_i,
  input  gw_pkg::ctx_id_t                  end_ctx_i,
  output logic                             end_busy_o,
  /// gw_miss: requests, answers, wake-ups; a context is written.
  input  logic                             touch_valid_i,
  output logic                             touch_ready_o,
  input  gw_pkg::xlate_req_t               touch_req_i,
  input  logic [2:0]                       touch_level_i,
  input  logic [EntryWidth-1:0]            touch_entry_i,
  output logic                             ans_valid_o,
  input  logic                             ans_ready_i,
  output gw_pkg::xlate_rsp_t               ans_o,
  output gw_pkg::wake_t                    wake_o,
  input  logic                             wake_ready_i,
  input  logic                             ctx_write_i,
  output logic                             settle_o,
  input  logic                             settled_i,
  /// The context whose pages are taken back.
  output gw_pkg::ctx_id_t                  ctx_id_o,
  input  gw_pkg::ctx_t                     ctx_i,
  /// Invalidation, and a fence behind it.
  output logic                             inval_valid_o,
  input  logic                             inval_ready_i,
  output gw_pkg::inval_t                   inval_o,
  output logic                             fence_o,
  input  logic                             fence_done_i,
  /// Memory has cycles left for clearing.
  input  logic                             room_i,
  output gw_axi_pkg::heap_mem_req_t            m_req_o,
  input  gw_axi_pkg::heap_mem_rsp_t            m_rsp_i,
  /// Frames of a region that are not out, and those of them that are not dirty.
  output logic [Regions-1:0][CountWidth-1:0] free_o,
  output logic [Regions-1:0][CountWidth-1:0] clean_o,
  /// What gw_touch answered is not all stored; something is freed and not taken back.
  output logic                             touch_busy_o,
  output logic                             reclaim_busy_o,
  /// Somebody waits for a frame.
  output logic                             lacks_o,
  output logic                             broken_o,
  output gw_pkg::heap_event_t              event_o
);

  import gw_pkg::*;
  import gw_axi_pkg::*;

  // Commands.
  logic slots_valid, slots_ready, slots_rsp_valid, slots_rsp_ready;
  heap_cmd_t slots_cmd, end_cmd;
  logic [NumPorts:0] slots_of;
  heap_rsp_t slots_rsp;
  logic end_valid, end_ready, end_rsp_valid, end_done;
  heap_rsp_t [NumPorts:0] rsp;
  assign rsp_o = rsp[NumPorts:1];
  gw_heap_commands #(
    .NumPorts(NumPorts + 1)
  ) u_commands (
    .clk_i,
    .rst_ni,
    .bound_i          ({bound_i, 1'b1}),
    .cmd_valid_i      ({cmd_valid_i, end_valid}),
    .cmd_ready_o      ({cmd_ready_o, end_ready}),
    .cmd_i            ({cmd_i, end_cmd}),
    .rsp_valid_o      ({rsp_valid_o, end_rsp_valid}),
    .rsp_ready_i      ({rsp_ready_i, 1'b1}),
    .rsp_o            (rsp),
    .slots_valid_o    (slots_valid),
    .slots_ready_i    (slots_ready),
    .slots_cmd_o      (slots_cmd),
    .slots_of_o       (slots_of),
    .slots_rsp_valid_i(slots_rsp_valid),
    .slots_rsp_ready_o(slots_rsp_ready),
    .slots_rsp_i      (slots_rsp)
  );

  // Slots.
  logic [Regions-1:0][31:0] free_pages;
  always_comb for (int unsigned r = 0; r < Regions; r++) free_pages[r] = 32'(free_o[r]);
  logic slots_job_valid, slots_job_ready, slots_idle, look_valid, look_ready, look_done;
  heap_job_t slots_job, end_job, job;
  ctx_id_t look_ctx;
  vpn_t look_vpn;
  heap_page_t look_page;
  logic job_done, end_job_q;  // the job under way is the end's
  gw_slots #(
    .NumContexts(NumContexts),
    .Regions    (Regions),
    .Slots      (Slots),
    .SlotOrder  (SlotOrder),
    .SmallOrder (SmallOrder),
    .LargeBase  (LargeBase),
    .SmallBase  (SmallBase)
  ) u_slots (
    .clk_i,
    .rst_ni,
    .cmd_valid_i (slots_valid),
    .cmd_ready_o (slots_ready),
    .cmd_i       (slots_cmd),
    .rsp_valid_o (slots_rsp_valid),
    .rsp_ready_i (slots_rsp_ready),
    .rsp_o       (slots_rsp),
    .quota_i,
    .strict_i,
    .free_pages_i(free_pages),
    .job_valid_o (slots_job_valid),
    .job_ready_i (slots_job_ready),
    .job_o       (slots_job),
    .job_done_i  (job_done && !end_job_q),
    .idle_o      (slots_idle),
    .look_valid_i(look_valid),
    .look_ready_o(look_ready),
    .look_ctx_i  (look_ctx),
    .look_vpn_i  (look_vpn),
    .look_done_o (look_done),
    .look_page_o (look_page)
  );

  // A context's end. Its job comes when gw_slots has none; from its offer on it is the next one.
  logic end_job_valid, end_job_ready, found_valid, found_ready, job_valid, job_ready;
  gw_heap_end #(
    .Slots     (Slots),
    .SlotOrder (SlotOrder),
    .SmallOrder(SmallOrder),
    .LargeBase (LargeBase),
    .SmallBase (SmallBase),
    .First     (First),
    .Last      (Last)
  ) u_end (
    .clk_i,
    .rst_ni,
    .start_i    (end_start_i),
    .ctx_i      (end_ctx_i),
    .busy_o     (end_busy_o),
    .done_o     (end_done),
    .cmd_valid_o(end_valid),
    .cmd_ready_i(end_ready),
    .cmd_o      (end_cmd),
    .rsp_valid_i(end_rsp_valid),
    .idle_i     (slots_idle),
    .job_valid_o(end_job_valid),
    .job_ready_i(end_job_ready),
    .job_o      (end_job),
    .job_done_i (job_done && end_job_q)
  );
  assign found_valid = slots_job_valid || end_job_valid;
  assign job = end_job_valid ? end_job : slots_job;
  assign end_job_ready = found_ready;
  assign slots_job_ready = found_ready && !end_job_valid;
  always_ff @(posedge clk_i) if (job_valid && job_ready) end_job_q <= end_job_valid;
  gw_heap_hold #(
    .NumPorts(NumPorts + 1)
  ) u_hold (
    .clk_i,
    .rst_ni,
    .kernels_i  ({kernels_i, 1'b0}),
    .taken_i    (slots_valid && slots_ready),
    .of_i       (slots_of),
    .op_i       (slots_cmd.op),
    .hold_i,
    .seen_i,
    .frees_o,
    .held_o,
    .job_valid_i(found_valid),
    .job_ready_o(found_ready),
    .job_valid_o(job_valid),
    .job_ready_i(job_ready)
  );

  // Reclaimer. Settled: first what waits outside, then what gw_touch has.
  logic settle, inside_q, touch_idle, reclaim_event, reclaim_broken;
  logic [1:0] pte_valid, pte_ready, pte_done;
  logic [1:0][EntryWidth-1:0] pte_entry;
  logic [1:0][63:0] pte_expected, pte_wanted;
  pte_result_e pte_result;
  logic [63:0] pte_found;
  logic pte_group;
  logic [1:0] frames_valid, frames_ready, frames_rsp_valid;
  frames_cmd_t [1:0] frames_cmd;
  frames_rsp_t frames_rsp;
  group_order_t reclaim_order, scrub_order;
  bitmap_req_t mem_req[4];
  bitmap_rsp_t mem_rsp[4];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) inside_q <= 1'b0;
    else inside_q <= settle && (settled_i || inside_q) && !(inside_q && touch_idle);
  end
  assign settle_o = settle && !inside_q;
  gw_reclaim #(
    .Levels     (Levels),
    .Orders     (Orders),
    .TableRegion(TableRegion)
  ) u_reclaim (
    .clk_i,
    .rst_ni,
    .job_valid_i   (job_valid),
    .job_ready_o   (job_ready),
    .job_i         (job),
    .job_done_o    (job_done),
    .ctx_id_o,
    .ctx_i,
    .settle_o      (settle),
    .settle_done_i (inside_q && touch_idle),
    .inval_valid_o,
    .inval_ready_i,
    .inval_o,
    .fence_o,
    .fence_done_i,
    .pte_valid_o   (pte_valid[1]),
    .pte_ready_i   (pte_ready[1]),
    .pte_entry_o   (pte_entry[1]),
    .pte_expected_o(pte_expected[1]),
    .pte_wanted_o  (pte_wanted[1]),
    .pte_done_i    (pte_done[1]),
    .pte_result_i  (pte_result),
    .pte_found_i   (pte_found),
    .cmd_valid_o   (frames_valid[0]),
    .cmd_ready_i   (frames_ready[0]),
    .cmd_o         (frames_cmd[0]),
    .rsp_valid_i   (frames_rsp_valid[0]),
    .rsp_i         (frames_rsp),
    .m_req_o       (mem_req[2]),
    .m_rsp_i       (mem_rsp[2]),
    .busy_o        (),
    .event_o       (reclaim_event),
    .event_order_o (reclaim_order),
    .broken_o      (reclaim_broken)
  );
  assign reclaim_busy_o = !slots_idle || end_busy_o;

  // Frames.
  group_orders_t [Regions-1:0] stock_valid, stock_take, soon, wanted, held;
  ppn_t [Regions-1:0][GroupOrders-1:0] stock_frame;
  logic frames_broken;
  gw_frames #(
    .Regions(Regions),
    .Blocks (Blocks),
    .Lines  (Lines),
    .Orders (Orders),
    .Clients(2)
  ) u_frames (
    .clk_i,
    .rst_ni,
    .start_i,
    .start_clean_i,
    .blocks_i,
    .base_i,
    .bits_i,
    .cmd_valid_i  (frames_valid),
    .cmd_ready_o  (frames_ready),
    .cmd_i        (frames_cmd),
    .rsp_valid_o  (frames_rsp_valid),
    .rsp_o        (frames_rsp),
    .stock_valid_o(stock_valid),
    .stock_frame_o(stock_frame),
    .stock_take_i (stock_take),
    .soon_o       (soon),
    .wanted_i     (wanted),
    .held_i       (held),
    .free_o,
    .clean_o,
    .broken_o     (frames_broken),
    .m_req_o      (mem_req[0]),
    .m_rsp_i      (mem_rsp[0])
  );

  // Scrubber. Pages up to 64 KiB are lacking when they are not in stock, larger ones when somebody waits. A region has dirty frames when some are given, and when it began: then it has some for the first time.
  localparam group_orders_t AtHand = 10'h01f;
  logic [Regions-1:0] dirty, lack, some_q;
  logic scrub_event, scrub_broken;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) some_q <= '0;
    else for (int unsigned r = 0; r < Regions; r++) some_q[r] <= free_o[r] != '0;
  end
  always_comb begin
    for (int unsigned r = 0; r < Regions; r++) begin
      dirty[r] = (!some_q[r] && free_o[r] != '0) || (reclaim_event && frames_cmd[0].region == region_t'(r));
      lack[r] = (Orders & ~stock_valid[r] & AtHand) != '0 || (wanted[r] & ~AtHand) != '0;
    end
  end
  gw_scrub #(
    .Regions(Regions),
    .Orders (Orders)
  ) u_scrub (
    .clk_i,
    .rst_ni,
    .dirty_i      (dirty),
    .lack_i       (lack),
    .wanted_i     (wanted),
    .room_i,
    .cmd_valid_o  (frames_valid[1]),
    .cmd_ready_i  (frames_ready[1]),
    .cmd_o        (frames_cmd[1]),
    .rsp_valid_i  (frames_rsp_valid[1]),
    .rsp_i        (frames_rsp),
    .m_req_o      (mem_req[3]),
    .m_rsp_i      (mem_rsp[3]),
    .busy_o       (),
    .held_o       (held),
    .event_o      (scrub_event),
    .event_order_o(scrub_order),
    .broken_o     (scrub_broken)
  );

  // First touch.
  logic touch_broken, gives;
  gw_touch #(
    .Regions    (Regions),
    .Levels     (Levels),
    .Orders     (Orders),
    .TableRegion(TableRegion),
    .Together   (Together)
  ) u_touch (
    .clk_i,
    .rst_ni,
    .zero_i,
    .req_valid_i   (touch_valid_i),
    .req_ready_o   (touch_ready_o),
    .req_i         (touch_req_i),
    .level_i       (touch_level_i),
    .entry_i       (touch_entry_i),
    .ans_valid_o,
    .ans_ready_i,
    .ans_o,
    .wake_o,
    .wake_ready_i,
    .end_i         (ctx_write_i),
    .forget_i      (settle),
    .look_valid_o  (look_valid),
    .look_ready_i  (look_ready),
    .look_ctx_o    (look_ctx),
    .look_vpn_o    (look_vpn),
    .look_done_i   (look_done),
    .look_page_i   (look_page),
    .stock_valid_i (stock_valid),
    .stock_frame_i (stock_frame),
    .stock_take_o  (stock_take),
    .soon_i        (soon),
    .lack_o        (wanted),
    .pte_valid_o   (pte_valid[0]),
    .pte_ready_i   (pte_ready[0]),
    .pte_group_o   (pte_group),
    .pte_entry_o   (pte_entry[0]),
    .pte_expected_o(pte_expected[0]),
    .pte_wanted_o  (pte_wanted[0]),
    .pte_done_i    (pte_done[0]),
    .pte_result_i  (pte_result),
    .pte_found_i   (pte_found),
    .busy_o        (touch_busy_o),
    .gives_o       (gives),
    .idle_o        (touch_idle),
    .lacks_o,
    .broken_o      (touch_broken)
  );
  gw_pte_unit #(
    .Clients (2),
    .Together(Together),
    .req_t   (bitmap_req_t),
    .rsp_t   (bitmap_rsp_t)
  ) u_pte_unit (
    .clk_i,
    .rst_ni,
    .cmd_valid_i   (pte_valid),
    .cmd_ready_o   (pte_ready),
    .cmd_group_i   ({1'b0, pte_group}),
    .cmd_entry_i   (pte_entry),
    .cmd_expected_i(pte_expected),
    .cmd_wanted_i  (pte_wanted),
    .rsp_valid_o   (pte_done),
    .rsp_result_o  (pte_result),
    .found_o       (pte_found),
    .m_req_o       (mem_req[1]),
    .m_rsp_i       (mem_rsp[1])
  );

  // Memory.
  gw_axi_mux #(
    .NumMst   (4),
    .slv_req_t(bitmap_req_t),
    .slv_rsp_t(bitmap_rsp_t),
    .mst_req_t(heap_mem_req_t),
    .mst_rsp_t(heap_mem_rsp_t),
    .mst_ax_t (heap_mem_ax_t),
    .mst_w_t  (heap_mem_w_t),
    .mst_r_t  (heap_mem_r_t),
    .mst_b_t  (heap_mem_b_t)
  ) u_memory (
    .clk_i,
    .rst_ni,
    .s_req_i(mem_req),
    .s_rsp_o(mem_rsp),
    .m_req_o,
    .m_rsp_i
  );

  // Told a cycle later; commands when the caller has the answer. Those of a context's end, one a slot, nobody gave.
  logic answered_q;
  logic [3:0] status_q;
  ctx_id_t command_ctx_q;
  owner_t touch_of;
  assign touch_of = '{src: ans_o.src, ctx: ans_o.ctx};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) answered_q <= 1'b0;
    else answered_q <= slots_rsp_valid;
  end
  always_ff @(posedge clk_i) begin
    status_q <= slots_rsp.status;
    if (slots_valid && slots_ready) command_ctx_q <= slots_cmd.ctx;
  end
  logic told, touched;
  assign told = answered_q && !end_rsp_valid;
  assign touched = ans_valid_o && ans_ready_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      event_o <= '0;
      broken_o <= 1'b0;
    end else begin
      event_o <= '{
        command: told,
        refused: told && status_q != gw_spec_pkg::HeapOk,
        status: status_q,
        command_ctx: command_ctx_q,
        touch: gives,
        zero: touched && !ans_o.cacheable && !ans_o.parked && !ans_o.fault,
        parked: touched && ans_o.parked,
        fault: touched && ans_o.fault,
        touch_of: touch_of,
        reclaim: reclaim_event,
        reclaimed: 10'd1 << reclaim_order,
        scrub: scrub_event,
        scrubbed: 10'd1 << scrub_order
      };
      broken_o <= frames_broken || touch_broken || reclaim_broken || scrub_broken;
    end
  end

  logic unused;
  assign unused = ^{end_done, rsp[0]};


endmodule
