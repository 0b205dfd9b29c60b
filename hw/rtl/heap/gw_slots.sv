// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// malloc, realloc and free: gives slots of the heap's window, which are cut equally, and knows what each is. No frame and no page table
// is touched here: frames come on first touch, and what is freed is handed to the reclaimer.
//
// Contract
// - A slot is at one address in all contexts and belongs to one at a time. Slots of 2**SlotOrder pages begin at LargeBase; a malloc of
//   more takes up to 2**MaxSpan neighbours. Small slots (`compact`) of 2**SmallOrder pages begin at SmallBase.
// - Each command is answered once, in order; an answer stays until it is taken. Errors (gw_spec_pkg::Heap*) change nothing.
// - malloc gives the first byte of a slot, realloc keeps the pointer. A realloc may grow to the end of what the malloc took.
// - Latency (acceptance to answer), whatever the size: malloc 5 cycles, realloc 9, free 8. A malloc of n slots n - 1 more and the time of the bitmap; one
//   that finds the stock empty waits for it: gw_slot_stock. Lookups and jobs add 20 cycles at most.
// - After reset nothing is taken for 2 * Slots cycles: the table is cleared.
// - Jobs: pages that a free or a shrink left behind, to the end of what the malloc took, one job at a time. Until `job_done_i` a freed
//   slot is not given again, and an allocation that was shrunk cannot grow (HeapBusy); pages that grew back before their job began
//   are not in it.
// - Lookup: one at a time; the answer, for one cycle, comes 5 cycles after its acceptance, 8 behind the first slot of several.
`include "gw_assert.svh"

module gw_slots #(
  parameter int unsigned NumContexts = 16,
  /// Memories, 1 to 8.
  parameter int unsigned Regions = 1,
  /// Slots of each class, a power of two, 1024 to 65536.
  parameter int unsigned Slots = 4096,
  /// log2 of a slot's pages, 4 to 27; of a small one's.
  parameter int unsigned SlotOrder = 21,
  parameter int unsigned SmallOrder = 4,
  /// log2 of the neighbours that one allocation may take, 0 to 3.
  parameter int unsigned MaxSpan = 3,
  /// First pages of the two classes, aligned to their sizes.
  parameter gw_pkg::vpn_t LargeBase = 45'h4_0000_0000,
  parameter gw_pkg::vpn_t SmallBase = 45'h6_0000_0000,
  /// Slots of each class that are ready.
  parameter int unsigned Stock = 8,
  /// Derived.
  localparam int unsigned SlotWidth = $clog2(Slots),
  localparam int unsigned PagesWidth = SlotOrder + MaxSpan + 1
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             cmd_valid_i,
  output logic                             cmd_ready_o,
  input  gw_pkg::heap_cmd_t                cmd_i,
  output logic                             rsp_valid_o,
  input  logic                             rsp_ready_i,
  output gw_pkg::heap_rsp_t                rsp_o,
  /// Allocations that a context may have; regions that refuse what they have no pages for, and their free pages.
  input  logic [NumContexts-1:0][SlotWidth:0] quota_i,
  input  logic [Regions-1:0]               strict_i,
  input  logic [Regions-1:0][31:0]         free_pages_i,
  output logic                             job_valid_o,
  input  logic                             job_ready_i,
  output gw_pkg::heap_job_t                job_o,
  input  logic                             job_done_i,
  /// No job is queued or under way.
  output logic                             idle_o,
  input  logic                             look_valid_i,
  output logic                             look_ready_o,
  input  gw_pkg::ctx_id_t                  look_ctx_i,
  input  gw_pkg::vpn_t                     look_vpn_i,
  output logic                             look_done_o,
  output gw_pkg::heap_page_t               look_page_o
);

  import gw_pkg::*;
  import gw_spec_pkg::*;

  if (Regions < 1 || Regions > 2 ** RegionWidth) begin : gen_bad_regions
    $fatal(1, "gw_slots: Regions must be 1 to 8");
  end
  if (SlotOrder < 4 || SlotOrder > 27 || SmallOrder > SlotOrder || MaxSpan > 3) begin : gen_bad_orders
    $fatal(1, "gw_slots: SlotOrder must be 4 to 27, SmallOrder at most that, MaxSpan at most 3");
  end
  if ((LargeBase & ((vpn_t'(Slots) << SlotOrder) - 1'b1)) != '0 ||
      (SmallBase & ((vpn_t'(Slots) << SmallOrder) - 1'b1)) != '0) begin : gen_bad_base
    $fatal(1, "gw_slots: LargeBase and SmallBase must be aligned to the sizes of their classes");
  end

  // A group stays inside its slot.
  localparam group_order_t MostSmall = (SmallOrder < GroupOrders) ? group_order_t'(SmallOrder) : group_order_t'(GroupOrders - 1);
  localparam group_order_t MostLarge = (SlotOrder < GroupOrders) ? group_order_t'(SlotOrder) : group_order_t'(GroupOrders - 1);

  typedef logic [((Regions > 1) ? $clog2(Regions) : 1)-1:0] region_idx_t;
  typedef logic [SlotWidth-1:0] slot_t;
  typedef logic [SlotWidth:0] index_t;  // {small, slot}
  typedef logic [PagesWidth-1:0] pages_t;
  typedef enum logic [1:0] {
    Dead    = 2'd0,
    Live    = 2'd1,
    Freed   = 2'd2,
    Follows = 2'd3  // behind the first slot of several
  } state_e;
  typedef struct packed {
    state_e       state;
    logic         trimming;  // a job is under way
    logic         queued;    // one is to come
    logic [1:0]   span;
    ctx_id_t      ctx;
    region_t      region;
    group_order_t granule;
    logic         write;
    pages_t       pages;
    pages_t       high;      // pages that may have frames
  } entry_t;

  // Where a page number leads: is it in a class, which slot, and how far into it.
  typedef struct packed {
    logic   ours;
    index_t index;
    pages_t offset;
  } place_t;
  function automatic place_t place(vpn_t vpn);
    place_t found;
    logic in_large, in_small;
    in_large = vpn >> (SlotOrder + SlotWidth) == LargeBase >> (SlotOrder + SlotWidth);
    in_small = vpn >> (SmallOrder + SlotWidth) == SmallBase >> (SmallOrder + SlotWidth);
    found.ours = in_large || in_small;
    found.index = {in_small, in_small ? slot_t'(vpn >> SmallOrder) : slot_t'(vpn >> SlotOrder)};
    found.offset = pages_t'(vpn & ~(vpn_t'('1) << (in_small ? SmallOrder : SlotOrder)));
    return found;
  endfunction
  function automatic vpn_t first_page(index_t index);
    return index[SlotWidth] ? SmallBase | (vpn_t'(slot_t'(index)) << SmallOrder) : LargeBase | (vpn_t'(slot_t'(index)) << SlotOrder);
  endfunction

  typedef enum logic [3:0] {
    Clear,
    Idle,
    Size,    // pages of the size, slot of the pointer
    Judge,   // what can be refused without looking
    Get,     // malloc: a slot
    Pop,     // a job begins: whose
    Popped,
    Read,    // the entry: the table's output
    Load,    // ... the register behind it
    Check,
    Weigh,   // realloc: the pages that are added
    Decide,
    Write,   // the entry, and those that follow
    Answer
  } step_e;
  typedef enum logic [2:0] {
    Malloc,
    Realloc,
    Free,
    JobBegin,
    JobEnd
  } op_e;
  step_e step_q, step_d;
  op_e op_q;
  heap_cmd_t cmd_q;
  index_t index_q, clear_q;
  place_t pointed;
  pages_t pages_q, grown_q, fits_q;
  logic [31:0] free_pages_q;
  logic bad_q, no_slot, zero_q, over_q, home_q, argument_q, quota_q, frames_q, turn_q;
  logic [1:0] span_q, span;
  logic [3:0] status_q, status_d;
  logic [2:0] follow_q;
  entry_t entry_q, next_q, next_d, rdata;

  // Slots.
  logic [1:0] one_valid, none;
  logic [1:0][SlotWidth-1:0] one_slot;
  logic one_take, span_done, span_ok, give_q, give_ready;
  slot_t span_slot;
  index_t given_q;
  logic [1:0] given_span_q;
  gw_slot_stock #(
    .Slots(Slots),
    .Stock(Stock)
  ) u_stock (
    .clk_i,
    .rst_ni,
    .one_valid_o (one_valid),
    .one_slot_o  (one_slot),
    .one_take_i  ({one_take && cmd_q.compact, one_take && !cmd_q.compact}),
    .none_o      (none),
    .span_valid_i(step_q == Get && !bad_q && span_q != '0),
    .span_order_i(group_order_t'(span_q)),
    .span_done_o (span_done),
    .span_ok_o   (span_ok),
    .span_slot_o (span_slot),
    .give_valid_i(give_q),
    .give_ready_o(give_ready),
    .give_class_i(given_q[SlotWidth]),
    .give_order_i(group_order_t'(given_span_q)),
    .give_slot_i (slot_t'(given_q))
  );
  assign one_take = step_q == Get && !bad_q && span_q == '0 && one_valid[cmd_q.compact];
  assign no_slot = (span_q != '0) ? span_done && !span_ok : none[cmd_q.compact];

  // The table. Lookups read before all else; no entry is written meanwhile, for it could be the one that is read.
  logic re, we, look_re_q, storing;
  assign storing = step_q == Write && !look_re_q;
  index_t raddr, waddr, look_index_q;
  entry_t wdata;
  gw_ram #(
    .Width($bits(entry_t)),
    .Depth(2 * Slots)
  ) u_table (
    .clk_i,
    .we_i   (we),
    .waddr_i(waddr),
    .wdata_i(wdata),
    .re_i   (re),
    .raddr_i(raddr),
    .rdata_o(rdata)
  );
  assign re = look_re_q || step_q == Read;
  assign raddr = look_re_q ? look_index_q : index_q;
  // The entry itself, then the slots behind it.
  always_comb begin
    we = step_q == Clear || storing;
    waddr = (step_q == Clear) ? clear_q : index_q | index_t'(follow_q);
    wdata = next_q;
    if (follow_q != '0) wdata.state = (next_q.state == Dead) ? Dead : Follows;
    if (step_q == Clear) wdata = '0;
  end

  // Slots with pages to take back, each once.
  logic push, pop;
  logic [SlotWidth+1:0] queued_q;
  index_t tail_q, head_q, popped;
  gw_ram #(
    .Width(SlotWidth + 1),
    .Depth(2 * Slots)
  ) u_queue (
    .clk_i,
    .we_i   (push),
    .waddr_i(tail_q),
    .wdata_i(index_q),
    .re_i   (pop),
    .raddr_i(head_q),
    .rdata_o(popped)
  );

  // The job under way.
  logic job_q, job_valid_q, job_freed_q, ended_q;
  index_t job_index_q;
  heap_job_t job;
  logic [NumContexts-1:0][SlotWidth:0] live_q;
  logic opened_q, closed_q;

  // What comes next. Commands and jobs take turns, so none waits for more than one other.
  logic take_command, take_end, take_begin, some_job;
  assign take_end = ended_q && !give_q;
  assign take_begin = !job_q && queued_q != '0;
  assign some_job = take_end || take_begin;
  assign take_command = cmd_valid_i && !(some_job && turn_q);
  assign cmd_ready_o = step_q == Idle && !(some_job && turn_q);

  // Size and pointer.
  assign pointed = place(vpn_t'(cmd_q.pointer >> PageShift));
  always_comb begin
    span = 2'd0;
    for (int unsigned s = 0; s < MaxSpan; s++) if (pages_q > (pages_t'(1) << (SlotOrder + s))) span = 2'(s + 1);
  end

  // What is wrong, told a step later: without the entry, then by it, then by the pages added.
  always_comb begin
    status_d = HeapOk;
    if (step_q == Judge) begin
      if (op_q != Free && zero_q) status_d = HeapSizeZero;
      else if (op_q != Free && over_q) status_d = HeapTooLarge;
      else if (op_q == Malloc && cmd_q.compact && pages_q > pages_t'(1 << SmallOrder)) status_d = HeapTooLarge;
      else if (op_q == Malloc && argument_q) status_d = HeapArgument;
      else if (op_q == Malloc && quota_q) status_d = HeapQuota;
      else if (op_q == Malloc && frames_q && 32'(pages_q) > free_pages_q) status_d = HeapNoFrame;
      else if (op_q != Malloc && !home_q) status_d = HeapForeign;
    end else if (step_q == Check) begin
      if (entry_q.state != Live) status_d = HeapNotLive;
      else if (entry_q.ctx != cmd_q.ctx) status_d = HeapOtherContext;
      else if (op_q == Realloc && pages_q > fits_q) status_d = HeapTooLarge;
      else if (op_q == Realloc && entry_q.trimming && pages_q > entry_q.pages) status_d = HeapBusy;
    end else begin
      if (frames_q && 32'(grown_q) > free_pages_q) status_d = HeapNoFrame;
    end
  end

  // The entry as it will be.
  logic trim, nothing_left;
  assign trim = op_q == Free || pages_q < entry_q.pages;
  assign nothing_left = entry_q.state == Live && entry_q.pages == entry_q.high;
  always_comb begin
    next_d = entry_q;
    unique case (op_q)
      Malloc: begin
        next_d = '0;
        next_d.state = Live;
        next_d.span = span_q;
        next_d.ctx = cmd_q.ctx;
        next_d.region = cmd_q.region;
        next_d.granule = cmd_q.granule;
        next_d.write = cmd_q.write;
        next_d.pages = pages_q;
        next_d.high = pages_q;
      end
      Realloc: begin
        next_d.pages = pages_q;
        if (pages_q > entry_q.high) next_d.high = pages_q;
        next_d.queued = entry_q.queued || trim;
      end
      Free: begin
        next_d.state = Freed;
        next_d.queued = 1'b1;
      end
      JobBegin: begin
        next_d.queued = 1'b0;
        next_d.trimming = !nothing_left;
      end
      default: begin
        next_d.trimming = 1'b0;
        next_d.high = pages_t'(job.from);
        if (job_freed_q) next_d = '{state: Dead, span: entry_q.span, default: '0};
      end
    endcase
  end

  always_comb begin
    step_d = step_q;
    unique case (step_q)
      Clear: if (&clear_q) step_d = Idle;
      Idle: begin
        if (take_command) step_d = Size;
        else if (take_end) step_d = Read;
        else if (take_begin) step_d = Pop;
      end
      Size: step_d = Judge;
      Judge: step_d = (op_q == Malloc) ? Get : Read;
      Get: begin
        if (bad_q) step_d = Answer;
        else if (one_take || (span_done && span_ok)) step_d = Write;
        else if (no_slot) step_d = Answer;
      end
      Pop: step_d = Popped;
      Popped: step_d = Read;
      Read: if (bad_q) step_d = Answer; else if (!look_re_q) step_d = Load;
      Load: step_d = Check;
      Check: begin
        if (op_q inside {JobBegin, JobEnd}) step_d = Write;
        else step_d = (op_q == Realloc) ? Weigh : Decide;
      end
      Weigh: step_d = Decide;
      Decide: step_d = bad_q ? Answer : Write;
      Write: begin
        if (storing && (follow_q == 3'((32'd1 << next_q.span) - 1) || !(op_q inside {Malloc, JobEnd}))) begin
          step_d = (op_q inside {JobBegin, JobEnd}) ? Idle : Answer;
        end
      end
      default: if (rsp_ready_i) step_d = Idle;
    endcase
  end

  assign rsp_valid_o = step_q == Answer;
  assign rsp_o = '{
    status: status_q,
    pointer: (op_q == Malloc) ? 64'(first_page(index_q)) << PageShift : cmd_q.pointer
  };
  assign idle_o = !job_q && queued_q == '0 && !(op_q == JobBegin && step_q != Idle) && !ended_q && !give_q;
  assign push = storing && next_q.queued && !entry_q.queued && op_q inside {Realloc, Free};
  assign pop = step_q == Pop;
  assign job_valid_o = job_valid_q;
  assign job_o = job;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      step_q <= Clear;
      clear_q <= '0;
      turn_q <= 1'b0;
      give_q <= 1'b0;
      queued_q <= '0;
      tail_q <= '0;
      head_q <= '0;
      job_q <= 1'b0;
      job_valid_q <= 1'b0;
      ended_q <= 1'b0;
      live_q <= '0;
      opened_q <= 1'b0;
      closed_q <= 1'b0;
    end else begin
      step_q <= step_d;
      if (step_q == Clear) clear_q <= clear_q + 1'b1;
      if (step_q == Idle) turn_q <= take_command;
      if (push) tail_q <= tail_q + 1'b1;
      if (pop) head_q <= head_q + 1'b1;
      queued_q <= queued_q + (SlotWidth + 2)'(push) - (SlotWidth + 2)'(pop);
      give_q <= (give_q && !give_ready) || (storing && op_q == JobEnd && job_freed_q);
      job_valid_q <= (job_valid_q && !job_ready_i) || (step_q == Check && op_q == JobBegin && !nothing_left);
      ended_q <= (ended_q && !(step_q == Idle && !take_command && take_end)) || job_done_i;
      if (step_q == Check && op_q == JobBegin && !nothing_left) job_q <= 1'b1;
      if (storing && op_q == JobEnd) job_q <= 1'b0;
      // Counted a cycle later: the command stays until its answer is taken.
      opened_q <= storing && op_q == Malloc && follow_q == '0;
      closed_q <= storing && op_q == Free;
      for (int unsigned c = 0; c < NumContexts; c++) begin
        if (cmd_q.ctx == ctx_id_t'(c)) begin
          if (opened_q) live_q[c] <= live_q[c] + 1'b1;
          if (closed_q) live_q[c] <= live_q[c] - 1'b1;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (step_q == Idle) begin
      cmd_q <= cmd_i;
      if (take_command) op_q <= op_e'(cmd_i.op);
      else op_q <= take_end ? JobEnd : JobBegin;
      if (!take_command) index_q <= job_index_q;
    end
    if (step_q == Size) begin
      pages_q <= pages_t'(cmd_q.size >> PageShift) + pages_t'(cmd_q.size[PageShift-1:0] != '0);
      zero_q <= cmd_q.size == '0;
      // The largest is refused if anything is above it.
      over_q <= cmd_q.size > 64'd1 << (SlotOrder + MaxSpan + PageShift);
      home_q <= pointed.ours && pointed.offset == '0 && cmd_q.pointer[PageShift-1:0] == '0 &&
          cmd_q.pointer >> (VpnWidth + PageShift) == '0;
      index_q <= pointed.index;
      argument_q <= 32'(cmd_q.region) >= Regions || cmd_q.granule > (cmd_q.compact ? MostSmall : MostLarge);
      frames_q <= strict_i[(Regions > 1) ? region_idx_t'(cmd_q.region) : '0];
      free_pages_q <= free_pages_i[(Regions > 1) ? region_idx_t'(cmd_q.region) : '0];
      quota_q <= 1'b1;
      for (int unsigned c = 0; c < NumContexts; c++) if (cmd_q.ctx == ctx_id_t'(c)) quota_q <= live_q[c] >= quota_i[c];
    end
    span_q <= cmd_q.compact ? 2'd0 : span;
    if (step_q == Get) index_q <= {cmd_q.compact, (span_q != '0) ? span_slot : one_slot[cmd_q.compact]};
    if (step_q == Popped) index_q <= popped;
    if (step_q == Load) begin
      entry_q <= rdata;
      fits_q <= pages_t'(1) << (index_q[SlotWidth] ? SmallOrder : SlotOrder + 32'(rdata.span));
    end
    if (step_q == Check) begin
      grown_q <= (pages_q > entry_q.pages) ? pages_q - entry_q.pages : '0;
      frames_q <= strict_i[(Regions > 1) ? region_idx_t'(entry_q.region) : '0];
      free_pages_q <= free_pages_i[(Regions > 1) ? region_idx_t'(entry_q.region) : '0];
      if (op_q == JobBegin) begin
        job_index_q <= index_q;
        job_freed_q <= entry_q.state == Freed;
        job <= '{
            ctx: entry_q.ctx,
            region: entry_q.region,
            granule: entry_q.granule,
            first: first_page(index_q),
            from: (entry_q.state == Freed) ? '0 : vpn_t'(entry_q.pages),
            to: vpn_t'(fits_q)
        };
      end
    end
    if (step_q == Get) entry_q <= '0;
    if (step_q != Write) next_q <= next_d;
    follow_q <= (step_q == Write) ? follow_q + 3'(!look_re_q) : '0;
    if (step_q == Write && op_q == JobEnd) begin
      given_q <= index_q;
      given_span_q <= next_q.span;
    end
    // The first thing that is wrong is told.
    if (step_q == Idle) begin
      status_q <= HeapOk;
      bad_q <= 1'b0;
    end else if (!bad_q && step_q inside {Judge, Check, Weigh}) begin
      status_q <= status_d;
      bad_q <= status_d != HeapOk;
    end else if (step_q == Get && !bad_q && no_slot) begin
      status_q <= HeapNoSlot;
    end
  end

  // Lookup.
  typedef enum logic [2:0] {
    Wait,
    Where,
    Fetch,
    Fetched,
    Compare,
    Tell
  } look_e;
  look_e look_q, look_d;
  ctx_id_t look_ctx_q;
  vpn_t look_vpn_q;
  entry_t found_q;
  place_t looked;
  logic ours_q, behind_q;
  pages_t offset_q;
  assign looked = place(look_vpn_q);
  assign look_ready_o = look_q == Wait && step_q != Clear;
  always_comb begin
    look_d = look_q;
    unique case (look_q)
      Wait: if (look_valid_i && look_ready_o) look_d = Where;
      Where: look_d = Fetch;
      Fetch: look_d = Fetched;
      Fetched: look_d = Compare;
      Compare: look_d = (ours_q && found_q.state == Follows && !behind_q) ? Fetch : Tell;
      default: look_d = Wait;
    endcase
  end
  assign look_done_o = look_q == Tell;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      look_q <= Wait;
      look_re_q <= 1'b0;
    end else begin
      look_q <= look_d;
      look_re_q <= look_d == Fetch;
    end
  end
  index_t span_mask;
  assign span_mask = index_t'((32'd1 << found_q.span) - 1);
  always_ff @(posedge clk_i) begin
    if (look_q == Wait) begin
      look_ctx_q <= look_ctx_i;
      look_vpn_q <= look_vpn_i;
    end
    if (look_q == Where) begin
      ours_q <= looked.ours;
      look_index_q <= looked.index;
      offset_q <= looked.offset;
      behind_q <= 1'b0;
    end
    if (look_q == Fetched) found_q <= rdata;
    if (look_q == Compare) begin
      look_page_o <= '{
          live: ours_q && found_q.state == Live && found_q.ctx == look_ctx_q && offset_q < found_q.pages,
          write: found_q.write,
          region: found_q.region,
          granule: found_q.granule
      };
      // Behind the first slot: the page is that much further from the first one's beginning.
      behind_q <= 1'b1;
      look_index_q <= look_index_q & ~span_mask;
      offset_q <= offset_q + pages_t'((64'(look_index_q & span_mask)) << SlotOrder);
    end
  end

  logic unused;
  assign unused = ^{cmd_i.op, cmd_q.op, job.first, found_q.trimming, found_q.queued, found_q.high};

  `GW_INVARIANT(ReadsNoEntryInChange_A, !(re && we && raddr == waddr))
  `GW_INVARIANT(QueueHoldsAll_A, queued_q <= (SlotWidth + 2)'(2 * Slots))
  `GW_INVARIANT(JobEndsOnce_A, !job_done_i || (job_q && !job_valid_q && !ended_q))
  `GW_ASSERT(CommandStable_A, cmd_valid_i && !cmd_ready_o |=> cmd_valid_i && $stable(cmd_i))
  `GW_ASSERT(AnswerStable_A, rsp_valid_o && !rsp_ready_i |=> rsp_valid_o && $stable(rsp_o))
  `GW_ASSERT(JobStable_A, job_valid_o && !job_ready_i |=> job_valid_o && $stable(job_o))
  `GW_COVER(GrowthWaits_C, step_q == Decide && status_q == HeapBusy)
  `GW_COVER(GrewBack_C, step_q == Check && op_q == JobBegin && nothing_left)

endmodule
