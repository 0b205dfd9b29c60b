// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Types that the translation blocks exchange. Field widths are those of the widest mode (Sv57); a build for Sv39 or
// Sv48 ties the upper bits to zero and synthesis removes them. PTE bits, causes and address-space constants are not
// here but in gw_spec_pkg, which is generated from spec/; the marked parts here are written by the same generator.
package gw_pkg;

  // Widths of the widest mode: Sv57 virtual pages, 56-bit physical addresses, 4 KiB frames.
  localparam int unsigned PageShift = 12;
  localparam int unsigned VaWidth = 64;
  localparam int unsigned PaWidth = 56;
  localparam int unsigned VpnWidth = 45;
  localparam int unsigned PpnWidth = 44;

  // Upper bounds of what a configuration may ask for; unused bits are constant and vanish in synthesis.
  // begin: generated widths by `python -m godwit.spec pages`
  localparam int unsigned CtxIdWidth = 8;  // contexts (processes): contexts.count
  localparam int unsigned TagWidth = 8;  // requests a channel of a translator has waiting: translator.miss_entries
  localparam int unsigned SrcWidth = 6;  // translator channels, 2 a port: {port, is_write}
  // end: generated

  typedef logic [VpnWidth-1:0] vpn_t;
  typedef logic [PpnWidth-1:0] ppn_t;
  typedef logic [CtxIdWidth-1:0] ctx_id_t;
  typedef logic [TagWidth-1:0] tag_t;
  typedef logic [SrcWidth-1:0] src_t;

  // log2 of a mapping's size in 4 KiB pages: 0 = 4 KiB, 4 = 64 KiB, 9 = 2 MiB, 18 = 1 GiB; every value between is
  // legal, so that general NAPOT sizes and coalesced runs need no other type.
  typedef logic [4:0] page_order_t;
  localparam page_order_t MaxPageOrder = 5'd18;

  // The naturally aligned group of pages around a page, a bit for each.
  localparam int unsigned ClusterShift = 4;
  localparam int unsigned ClusterPages = 1 << ClusterShift;
  typedef logic [ClusterPages-1:0] cluster_t;

  // What a mapping allows. `w` is what a write may do now: it is the PTE's W and D together.
  typedef struct packed {
    logic r;
    logic w;
  } perm_t;

  // RISC-V IOMMU cause (gw_spec_pkg::Cause*), 12 bits as in its fault record.
  typedef logic [11:0] cause_t;

  // Translation request. Every accepted request gets exactly one answer with the same {src, tag}; answers of different
  // tags may come in any order.
  typedef struct packed {
    src_t    src;
    tag_t    tag;
    ctx_id_t ctx;
    vpn_t    vpn;
    logic    write;  // needs W and D; otherwise needs R
  } xlate_req_t;

  // What a parked access waits for: the number of whoever will say when it is there.
  //   0 to 63   a page that the host has to bring: its place in gw_fault
  //   64        room: whoever could not be taken asks again (gw_miss)
  //   65 to 72  a clean frame of a region of the heap (gw_touch)
  localparam int unsigned ParkWidth = 7;
  localparam int unsigned ParkNumbers = 73;
  typedef logic [ParkWidth-1:0] park_t;
  localparam park_t ParkRoom = 7'd64;
  localparam park_t ParkTouch = 7'd65;

  // Why a walk that ended in a fault did: `refused` is whatever is neither of the others.
  typedef enum logic [1:0] {
    MissRefused   = 2'd0,
    MissUntouched = 2'd1,  // the entry is 0
    MissAway      = 2'd2   // V = 0, and it is not 0
  } miss_why_e;

  // ... and where. `asks`: the context asks the host for such pages.
  typedef struct packed {
    miss_why_e          why;
    logic               asks;
    logic               write;
    logic [2:0]         level;  // of the table that ended it
    logic [PaWidth-4:0] entry;  // the entry's physical address, in entries
  } miss_t;

  // Translation answer: ok, `fault` or `parked`. With `fault` only {src, tag, cause} mean anything, with `parked` only
  // {src, tag, park}: the access waits, without a translation, for a wake_t of that number.
  typedef struct packed {
    src_t        src;
    tag_t        tag;
    ctx_id_t     ctx;        // as in the request, for who keeps the answer
    vpn_t        vpn;        // "
    ppn_t        ppn;        // frame of the 4 KiB page that was asked for, also inside larger pages
    page_order_t order;      // size of the mapping around it
    cluster_t    cluster;    // order < ClusterShift: pages of the cluster known to lie as far from their frames, with the
                             // same `perm` and `is_global`; always the page asked for
    perm_t       perm;
    logic        is_global;  // mapped alike in every context
    logic        cacheable;  // may be kept in a TLB: the walk saw no invalidation since it began
    logic        fault;
    cause_t      cause;
    logic        parked;
    park_t       park;
  } xlate_rsp_t;

  // Broadcast to all translators, for one cycle: what `park` stands for has come (accesses parked on it ask again), or never
  // will (they fault). Behind every answer that parks an access on it.
  typedef struct packed {
    logic  valid;
    logic  ok;
    park_t park;
  } wake_t;

  // A context is written: it changes in the next cycle, and who waits in its name shall not wait for what it was.
  typedef struct packed {
    logic    valid;
    ctx_id_t ctx;
  } ctx_write_t;

  // How a waiting address of a translator ends: with the frame, or the cause, known when it came, or with the answer's.
  typedef enum logic [1:0] {
    EndTranslated = 2'd0,
    EndRefused    = 2'd1,
    EndAnswered   = 2'd2,
    EndFaulted    = 2'd3
  } slot_end_e;

  // Why a walk needs no memory: it is refused at once.
  typedef enum logic [1:0] {
    NotRefused     = 2'd0,
    RefusedAddress = 2'd1,  // not canonical in the context's mode
    RefusedOff     = 2'd2,  // context off
    RefusedMode    = 2'd3   // mode unknown, or with more levels than are built
  } walk_refusal_e;

  // Which beat of an upper table a walk looks at, for the walk cache.
  typedef struct packed {
    logic [2:0] level;  // of the table the beat is from, 1 or more
    ctx_id_t    ctx;
    vpn_t       vpn;    // a page on the way to which the beat is
  } walk_key_t;

  // ... and what it found there: which entries are pointers, which map globally (by themselves or from above), and where they
  // point.
  typedef struct packed {
    logic [7:0] pointer;
    logic [7:0] is_global;
    ppn_t [7:0] ppn;
  } walk_beat_t;

  // What an invalidation drops. A range is naturally aligned: 2**order pages, vpn's low `order` bits zero; it drops every
  // mapping that overlaps it. Global mappings go only with InvalAll, as in the RISC-V IOMMU specification.
  typedef enum logic [1:0] {
    InvalAll     = 2'd0,
    InvalContext = 2'd1,
    InvalRange   = 2'd2
  } inval_scope_e;

  typedef struct packed {
    inval_scope_e scope;
    ctx_id_t      ctx;
    vpn_t         vpn;
    page_order_t  order;
  } inval_t;

  // Whether an invalidation names a page of context `ctx`: any of those that differ from `vpn` in the bits of `open` only.
  function automatic logic inval_overlaps(inval_t inval, ctx_id_t ctx, vpn_t vpn, vpn_t open);
    vpn_t offset;
    offset = ~(vpn_t'('1) << inval.order);
    unique case (inval.scope)
      InvalContext: return inval.ctx == ctx;
      InvalRange: return inval.ctx == ctx && ((inval.vpn ^ vpn) & ~(open | offset)) == '0;
      default: return 1'b1;
    endcase
  endfunction

  // The command queue, as its registers set it up.
  typedef struct packed {
    logic        enable;
    logic        stopped;         // an error bit is set
    ppn_t        base;            // first frame of the ring
    logic [4:0]  log2_size_less1; // 2**(n+1) commands
    logic [31:0] tail;
    logic [31:0] timeout_cycles;  // 0: never
  } cq_cfg_t;

  // ... and what it reports to them. All but head and on are pulses.
  typedef struct packed {
    logic [31:0] head;
    logic        on;
    logic        clear;         // the queue was turned on: status bits to zero
    logic        memory_fault;
    logic        timeout;
    logic        illegal;
    logic        fence;         // IOFENCE.C with WSI done
  } cq_status_t;

  // The page-request queue, as its registers set it up.
  typedef struct packed {
    logic        enable;
    logic        stopped;          // an error bit is set
    ppn_t        base;             // first frame of the ring
    logic [4:0]  log2_size_less1;  // 2**(n+1) records
    logic [31:0] head;
    logic [31:0] unsent_cycles;    // timeouts, 0: never
    logic [31:0] sent_cycles;
    logic [7:0]  irq_count;        // interrupt moderation
    logic [31:0] irq_cycles;
  } pq_cfg_t;

  // ... and what it reports to them. All but tail and on are pulses.
  typedef struct packed {
    logic [31:0] tail;
    logic        on;
    logic        memory_fault;
    logic        timeout;          // a page was given up
    logic        irq;              // there are records to read
  } pq_status_t;

  // A decoded command.
  typedef enum logic [2:0] {
    CmdIllegal = 3'd0,
    CmdInval   = 3'd1,
    CmdFence   = 3'd2,
    CmdRespond = 3'd3,
    CmdCache   = 3'd4
  } cmd_kind_e;

  typedef struct packed {
    logic        write;   // data to addr when done
    logic        signal;  // fence_w_ip when done
    logic [31:0] data;
    logic [63:0] addr;
  } fence_t;

  // A page-group response: for the record of this use of a place, how it ended (gw_spec_pkg::PageResponse*). Widths as in
  // gw_spec_pkg::AtsPrgrPayload*.
  typedef struct packed {
    logic [3:0] code;
    logic [2:0] generation;
    park_t      place;
  } page_response_t;

  // Maintenance of the page cache: lines of 64 bytes, both ends included; and how it ended.
  localparam int unsigned LineAddrWidth = PaWidth - 6;
  typedef struct packed {
    logic                     clean;
    logic                     drop;
    logic [LineAddrWidth-1:0] first;
    logic [LineAddrWidth-1:0] last;
  } cache_cmd_t;

  typedef struct packed {
    logic valid;
    logic error;  // a line could not be written
  } cache_ack_t;

  // A request to the registers of the access counters, a pulse, and its answer.
  typedef struct packed {
    logic        valid;
    logic        write;
    logic [5:0]  addr;
    logic [31:0] data;
    logic [31:0] mask;  // bits that are written
  } access_req_t;

  typedef struct packed {
    logic        ack;
    logic [31:0] data;
    logic        irq;
  } access_rsp_t;

  // A command of the queue, as it was decoded: `inval`, `fence`, `response` and `cache` belong to their kinds.
  typedef struct packed {
    cmd_kind_e      kind;
    inval_t         inval;
    fence_t         fence;
    logic           drain;  // the fence waits for everything under way
    page_response_t response;
    cache_cmd_t     cache;
  } command_t;

  // Second-level TLB: sizes of its entries, each with an index of its own. L2Cluster holds the pages of one cluster that lie
  // equally far from their frames; all of them are a 64 KiB page.
  typedef enum logic [1:0] {
    L2Single  = 2'd0,  // 4 KiB
    L2Cluster = 2'd1,  // 16 times 4 KiB
    L2Mega    = 2'd2,  // 2 MiB
    L2Giga    = 2'd3   // 1 GiB
  } l2_size_e;
  localparam int unsigned L2Sizes = 4;

  // log2 of an entry's size in 4 KiB pages, by l2_size_e.
  localparam int unsigned L2Order[L2Sizes] = '{0, ClusterShift, 9, 18};

  // How the set of an entry is found: gw_l2_index.
  typedef enum logic [1:0] {
    L2Partition = 2'd0,
    L2Rehash    = 2'd1,
    L2Hashed    = 2'd2
  } l2_policy_e;

  typedef logic [VpnWidth-ClusterShift-1:0] cluster_vpn_t;

  // What a lookup compares of an entry; its frame is stored beside.
  typedef struct packed {
    logic         valid;
    l2_size_e     size;
    logic         is_global;
    perm_t        perm;
    ctx_id_t      ctx;
    cluster_vpn_t vpn;    // of the entry's first page: zero inside larger pages
    cluster_t     pages;  // L2Single, L2Cluster: pages of the cluster it translates
  } l2_tag_t;

  // An entry's frame, and how many zero bits it ends in, one bit each: from 1 to ClusterShift - 1, and ClusterShift or more.
  typedef struct packed {
    logic [ClusterShift:1] zeros;
    ppn_t                  base;
  } l2_frame_t;

  // What an answer needs of an entry beside its frame and size.
  typedef struct packed {
    logic     is_global;
    perm_t    perm;
    cluster_t pages;
  } l2_told_t;

  // An answer on its way into the L2 TLB. `base`: frame of the first page of its cluster or large page, modulo 2**44.
  typedef struct packed {
    l2_tag_t                 tag;
    ppn_t                    base;
    logic [ClusterShift-1:0] page;  // the page asked for, in its cluster
  } l2_item_t;

  // One entry of the range TLB: pages `base` to `limit`, both included, lie `offset` before their frames (modulo 2**44).
  typedef struct packed {
    logic    valid;
    perm_t   perm;
    ctx_id_t ctx;
    vpn_t    base;
    vpn_t    limit;
    ppn_t    offset;
  } range_t;

  // One context (process). `mode` as in satp: 0 off (every access fails closed), 8 Sv39, 9 Sv48, 10 Sv57. `sade`: hardware
  // sets A and D (Svadu; the name is the RISC-V IOMMU's); otherwise entries without them fault (Svade). `en_pri`: the host is asked
  // for pages that are not there; the specification's name, too.
  typedef struct packed {
    logic [3:0] mode;
    logic       sade;
    logic       en_pri;
    ppn_t       root;
  } ctx_t;

  // How a port is bound. PortOff answers every access with an error. PortBare is the privileged pass-through.
  typedef enum logic [1:0] {
    PortOff       = 2'd0,
    PortTranslate = 2'd1,
    PortBare      = 2'd2
  } port_mode_e;

  typedef struct packed {
    port_mode_e mode;
    ctx_id_t    ctx;
  } port_cfg_t;

  // Bitmaps of the heap (gw_groups): what is free in a block, 0 nothing, else 1 + log2 of the largest naturally aligned group of
  // units; log2 of a group.
  typedef logic [3:0] group_state_t;
  typedef logic [3:0] group_order_t;

  // Orders that groups of frames may have, 4 KiB to 2 MiB: a bit each.
  localparam int unsigned GroupOrders = 10;
  typedef logic [GroupOrders-1:0] group_orders_t;

  // The largest is one entry of a table of level 1; log2 of the entries of a group of another one, at most.
  localparam int unsigned MegaOrder = GroupOrders - 1;
  function automatic int unsigned entry_bits(group_orders_t orders);
    entry_bits = 1;
    for (int unsigned k = 1; k < MegaOrder; k++) if (orders[k]) entry_bits = k;
  endfunction
  // Those of a group's order and below.
  function automatic group_orders_t orders_to(group_order_t order);
    for (int unsigned k = 0; k < GroupOrders; k++) orders_to[k] = group_order_t'(k) <= order;
  endfunction
  // The largest of some.
  function automatic group_orders_t largest_order(group_orders_t orders);
    for (int unsigned k = 0; k < GroupOrders; k++) largest_order[k] = orders[k] && (orders >> (k + 1)) == '0;
  endfunction
  // The number of one.
  function automatic group_order_t order_number(group_orders_t one);
    order_number = '0;
    for (int unsigned k = 0; k < GroupOrders; k++) if (one[k]) order_number |= group_order_t'(k);
  endfunction

  typedef enum logic [1:0] {
    GroupFind  = 2'd0,
    GroupRead  = 2'd1,
    GroupWrite = 2'd2,
    GroupInit  = 2'd3
  } group_index_op_e;

  // Commands of a bitmap. GroupReset makes the first blocks of a pool free, and the others not.
  typedef enum logic [1:0] {
    GroupTake  = 2'd0,
    GroupGive  = 2'd1,
    GroupReset = 2'd2
  } group_op_e;

  // Commands of the heap (gw_slots). `size` in bytes. A malloc names the memory (region), log2 of the pages that come together, and
  // whether writes are allowed; `compact` takes a small slot, which costs hardly a page table and grows no further than its end.
  typedef enum logic [1:0] {
    HeapMalloc  = 2'd0,
    HeapRealloc = 2'd1,
    HeapFree    = 2'd2
  } heap_op_e;

  localparam int unsigned RegionWidth = 3;
  typedef logic [RegionWidth-1:0] region_t;

  typedef struct packed {
    heap_op_e     op;
    ctx_id_t      ctx;
    logic [63:0]  pointer;
    logic [63:0]  size;
    region_t      region;
    group_order_t granule;
    logic         write;
    logic         compact;
  } heap_cmd_t;

  // `status`: gw_spec_pkg::Heap*; the pointer means something with HeapOk only.
  typedef struct packed {
    logic [3:0]  status;
    logic [63:0] pointer;
  } heap_rsp_t;

  // What the heap says of a page: `live`: it is inside an allocation of the context.
  typedef struct packed {
    logic         live;
    logic         write;
    region_t      region;
    group_order_t granule;
  } heap_page_t;

  // Commands of the heap's frames (gw_frames): take a group of 2**order clean or dirty frames of a region, or give one back.
  typedef struct packed {
    logic         give;
    logic         dirty;
    region_t      region;
    group_order_t order;
    ppn_t         frame;
  } frames_cmd_t;

  typedef struct packed {
    logic ok;
    ppn_t frame;
  } frames_rsp_t;

  // How a change of a page-table entry ended (gw_pte_unit).
  typedef enum logic [1:0] {
    PteStored  = 2'd0,
    PteChanged = 2'd1,  // it is not what was expected, or was written meanwhile
    PteDenied  = 2'd2   // memory refused
  } pte_result_e;

  // Pages that nobody uses any more: `first + from` to `first + to`, the latter not included.
  typedef struct packed {
    ctx_id_t      ctx;
    region_t      region;
    group_order_t granule;
    vpn_t         first;
    vpn_t         from;
    vpn_t         to;
  } heap_job_t;

  // One faulted access, as the fault record register shows it.
  typedef struct packed {
    cause_t      cause;
    ctx_id_t     ctx;
    logic        write;
    logic [15:0] id;    // AXI ID of the access
    logic [63:0] addr;  // virtual address of the burst's first byte (the specification's iotval)
  } fault_t;

  // Whose access an event is of: the port's channel, and the context it was translated in.
  typedef struct packed {
    src_t    src;
    ctx_id_t ctx;
  } owner_t;

  // Which events are counted: all, or of those that have a context only `ctx`'s.
  typedef struct packed {
    logic    enable;
    ctx_id_t ctx;
  } count_filter_t;

  // begin: generated structs by `python -m godwit.spec pages`
  // Event pulses of one translator channel (AR or AW): each bit is high for one cycle an event, the cycle after it.
  typedef struct packed {
    logic request;  // address accepted from the accelerator
    logic hit;      // ... and translated by the L1 at once
    logic miss;     // ... and sent to the next level
    logic fault;    // answered with an error
    logic stall;    // a cycle in which an address was offered and not accepted
  } chan_event_t;

  // Event pulses of the walker. Walk latency: cycles from the request's acceptance to its answer's, both included. A line that
  // several walks use was read for the one whose step began it; a prefetch was read for none.
  typedef struct packed {
    logic start;             // request accepted
    logic done;              // answer taken; `latency` is its walk latency
    logic fault;             // ... and it was a fault
    logic merge;             // a step joined a read of its beat that was under way
    logic line_hit;          // a step was served by a beat that an earlier read had brought
    logic cache_hit;         // the walk cache skipped at least one level
    logic pte_read;          // the read of a line was begun
    logic prefetch;          // ... a read that no walk asked for
    logic prefetch_used;     // a line hit found a prefetched line, used for the first time
    logic prefetch_useless;  // a prefetched line was replaced before it was used
    logic update;            // A, or A and D, set in an entry
    logic [15:0] latency;    // of `done`
    owner_t start_of;        // of `start`, `cache_hit`
    owner_t done_of;         // of `done`, `fault`
    owner_t step_of;         // whose walk's step was served, joined or begun
    owner_t update_of;       // of `update`
  } walk_event_t;

  // Event pulses of the second level.
  typedef struct packed {
    logic hit;                // lookup answered by the L2 TLB
    logic range_hit;          // ... by the range TLB
    logic miss;               // ... by neither: sent on to the walker
    logic fill;               // entry written for an answer of the walker
    logic merge;              // pages of an answer joined an entry that was there
    logic evict;              // a valid entry gave way to another
    logic drop;               // an answer was not kept: queue full, or an invalidation came first
    logic [4:0] invalidated;  // entries cleared by invalidations
    owner_t lookup_of;        // of a lookup
    ctx_id_t fill_ctx;        // context of the answer that filled, merged or evicted
  } l2_event_t;

  // Event pulses of page requests.
  typedef struct packed {
    logic parked;          // an access waits for a page that was asked for
    logic no_room;         // ... for room to ask
    logic request;         // record written into the page-request queue
    logic resolved;        // a page came: who waits for it asks again
    logic refused;         // a page will not come: who waits for it fails
    logic timeout;         // ... for it was given up after a timeout
    logic stale;           // a response was ignored: nothing waits for it
    owner_t asked_of;      // of `parked`, `no_room`
    ctx_id_t request_ctx;  // of `request`
  } page_event_t;

  // Event pulses of the heap.
  typedef struct packed {
    logic command;          // malloc, realloc or free answered; those of a context's end are not told
    logic refused;          // ... with an error
    logic touch;            // first touch answered with a frame
    logic zero;             // ... a read with the zero frame
    logic parked;           // ... it waits: for a frame, or because the entry was there by then
    logic fault;            // ... with an error: no live allocation of the context, behind its end, or not allowed
    logic reclaim;          // frames of what was freed given back, to be cleared
    logic scrub;            // frames cleared
    logic [3:0] status;     // of `command`: how it ended
    logic [9:0] reclaimed;  // of `reclaim`: its frames
    logic [9:0] scrubbed;   // of `scrub`: its frames
    ctx_id_t command_ctx;   // of `command`, `refused`
    owner_t touch_of;       // of `touch`, `zero`, `parked`, `fault`
  } heap_event_t;

  // Event pulses of the page cache, beats and lines of 64 bytes.
  typedef struct packed {
    logic eager_again;   // a page that was written, or is just being, before it left is stored to again
    logic eager;         // a page was written to the host before it has to leave, and stays
    logic ahead_unused;  // a page that was read ahead has left and no access had met it
    logic ahead_used;    // an access met a page that was read ahead, for the first time
    logic ahead;         // a page is read ahead of who reads in order
    logic lost;          // a burst of dirty lines could not be written
    logic gone;          // a page has left its place
    logic put;           // a page was given a place
    logic writeback;     // a dirty line was written to the host
    logic fill;          // a line came over the link
    logic store_miss;    // a beat was stored before its line had come
    logic store;         // a beat was stored in a line that is there
    logic read_miss;     // a read's beat was looked up and its line was not there
    logic read;          // a read's beat was answered
  } cache_event_t;

  // Events of one accelerator port, with the context it is bound to.
  typedef struct packed {
    ctx_id_t     ctx;
    chan_event_t write;
    chan_event_t read;
  } port_event_t;

  // Events that belong to no port.
  typedef struct packed {
    walk_event_t walk;
    logic inval;                // an invalidation begins
    inval_scope_e inval_scope;  // what it drops
    ctx_id_t inval_ctx;         // the context it is about
    l2_event_t l2;
    page_event_t page;
    heap_event_t heap;
    cache_event_t cache;
  } mmu_event_t;
  // end: generated

  // What the MMU says to the heap, and the heap to the MMU (gw_heap).
  typedef struct packed {
    logic               touch_valid;
    xlate_req_t         touch_req;
    logic [2:0]         touch_level;
    logic [PaWidth-4:0] touch_entry;
    logic               ans_ready;
    logic               wake_ready;
    logic               ctx_write;
    logic               settled;
    ctx_t               ctx;
    logic               inval_ready;
    logic               fence_done;
  } heap_from_mmu_t;

  typedef struct packed {
    logic        touch_ready;
    logic        ans_valid;
    xlate_rsp_t  ans;
    wake_t       wake;
    logic        settle;
    ctx_id_t     ctx_id;
    logic        inval_valid;
    inval_t      inval;
    logic        fence;
    logic        busy;
    heap_event_t events;
  } heap_to_mmu_t;

  // Page DMA. A line is 64 bytes; addresses of lines have no lower bits.
  localparam int unsigned DmaLineShift = 6;
  localparam int unsigned DmaBurstLines = 16;
  typedef logic [PaWidth-DmaLineShift-1:0] dma_line_t;
  typedef logic [5:0] dma_slot_t;

  // The ring, as software sets it up.
  typedef struct packed {
    logic               enable;
    logic               cancel;           // stop, and say so; until enable falls
    ppn_t               base;             // first frame of the ring
    logic [4:0]         log2_size_less1;  // 2**(n+1) descriptors
    logic [31:0]        first;            // index of the first one, taken when enable rises
    logic [31:0]        tail;
    logic               fence_write;      // the fence number is also written to memory
    logic [PaWidth-3:0] fence_addr;       // there, in units of four bytes
  } dma_cfg_t;

  // ... and what is reported.
  typedef struct packed {
    logic        on;       // it was enabled, and has not come to rest since it was disabled
    logic        stopped;  // by itself, for `cause`
    logic [2:0]  cause;    // gw_spec_pkg::DmaCause*
    logic [31:0] head;     // index of the first descriptor that is not done
    logic [31:0] fence;    // latest fence number
  } dma_status_t;

  // What a lane does: lines from `src` to `dst`; with `masked` those of a page whose bit is set.
  typedef struct packed {
    dma_slot_t   slot;
    dma_line_t   src;
    dma_line_t   dst;
    logic [23:0] lines;
    logic        masked;
    logic [63:0] mask;
  } dma_job_t;

  // A part of it that is a burst on either side.
  typedef struct packed {
    dma_slot_t  slot;
    dma_line_t  src;
    dma_line_t  dst;
    logic [4:0] lines;  // 1 to DmaBurstLines
  } dma_burst_t;

  // What is written for a burst. A single doubleword (`word`) is written from dma_word_t.
  typedef struct packed {
    dma_slot_t  slot;
    dma_line_t  dst;
    logic [4:0] lines;
  } dma_write_t;

  typedef struct packed {
    logic               fence;  // a fence number: four bytes; nobody's slot
    dma_slot_t          slot;
    logic [PaWidth-1:0] addr;
    logic [63:0]        data;
  } dma_word_t;

  // A part of a slot's work has ended.
  typedef struct packed {
    logic      valid;
    dma_slot_t slot;
    logic      error;
  } dma_done_t;

endpackage
