// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
//
// Types that the translation blocks exchange. Field widths are those of the widest mode (Sv57); a build for Sv39 or
// Sv48 ties the upper bits to zero and synthesis removes them. PTE bits, causes and address-space constants are not
// here but in gw_spec_pkg, which is generated from spec/.
package gw_pkg;

  // Widths of the widest mode: Sv57 virtual pages, 56-bit physical addresses, 4 KiB frames.
  localparam int unsigned PageShift = 12;
  localparam int unsigned VaWidth = 64;
  localparam int unsigned PaWidth = 56;
  localparam int unsigned VpnWidth = 45;
  localparam int unsigned PpnWidth = 44;

  // Upper bounds of what a configuration may ask for; unused bits are constant and vanish in synthesis.
  localparam int unsigned CtxIdWidth = 8;  // contexts (processes)
  localparam int unsigned TagWidth = 8;    // requests a channel of a translator has waiting
  localparam int unsigned SrcWidth = 6;    // translator channels, 2 a port: {port, is_write}

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

  // Translation answer. With `fault` only {src, tag, cause} mean anything.
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
  } xlate_rsp_t;

  // What a walk found in a beat of an upper table, for the walk cache: which entries are pointers, which map globally (by
  // themselves or from above), and where they point.
  typedef struct packed {
    logic [2:0] level;  // of the table the beat is from, 1 or more
    ctx_id_t    ctx;
    vpn_t       vpn;    // a page on the way to which the beat is
    logic [7:0] pointer;
    logic [7:0] is_global;
    ppn_t [7:0] ppn;
  } walk_fill_t;

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

  // A decoded command.
  typedef enum logic [1:0] {
    CmdIllegal = 2'd0,
    CmdInval   = 2'd1,
    CmdFence   = 2'd2
  } cmd_kind_e;

  typedef struct packed {
    logic        write;   // data to addr when done
    logic        signal;  // fence_w_ip when done
    logic [31:0] data;
    logic [63:0] addr;
  } fence_t;

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
  // sets A and D (Svadu; the name is the RISC-V IOMMU's); otherwise entries without them fault (Svade).
  typedef struct packed {
    logic [3:0] mode;
    logic       sade;
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

  // One faulted access, as the fault record register shows it.
  typedef struct packed {
    cause_t      cause;
    ctx_id_t     ctx;
    logic        write;
    logic [15:0] id;    // AXI ID of the access
    logic [63:0] addr;  // virtual address of the burst's first byte (the specification's iotval)
  } fault_t;

  // Event pulses of one translator channel (AR or AW): each bit is high for one cycle an event, the cycle after it.
  typedef struct packed {
    logic request;  // address accepted from the accelerator
    logic hit;      // ... and translated by the L1 at once
    logic miss;     // ... and sent to the next level
    logic fault;    // answered with an error
    logic stall;    // a cycle in which an address was offered and not accepted
  } chan_event_t;

  // Events of one accelerator port, with the context it is bound to.
  typedef struct packed {
    ctx_id_t     ctx;
    chan_event_t write;
    chan_event_t read;
  } port_event_t;

  // Whose access an event is of: the port's channel, and the context it was translated in.
  typedef struct packed {
    src_t    src;
    ctx_id_t ctx;
  } owner_t;

  // Event pulses of the walker. Walk latency: cycles from the request's acceptance to its answer's, both included. A line that
  // several walks use was read for the one whose step began it; a prefetch was read for none.
  typedef struct packed {
    logic        start;         // request accepted
    owner_t      start_of;
    logic        done;          // answer taken; `latency` is its walk latency
    owner_t      done_of;
    logic [15:0] latency;
    logic        fault;         // ... and it was a fault
    logic        cache_hit;     // the walk cache skipped at least one level; of `start_of`
    logic        merge;         // a step joined a read of its beat that was under way
    logic        line_hit;      // a step was served by a beat that an earlier read had brought
    logic        prefetch_used; // ... which was prefetched, and used for the first time
    logic        pte_read;      // the read of a line was begun
    owner_t      step_of;       // whose walk's step the last four are of, but for a prefetch's read
    logic        prefetch;      // ... a read that no walk asked for
    logic        prefetch_useless;  // a prefetched line was replaced before it was used
    logic        update;        // A, or A and D, set in an entry
    owner_t      update_of;
  } walk_event_t;

  // Event pulses of the second level.
  typedef struct packed {
    logic       hit;          // lookup answered by the L2 TLB
    logic       range_hit;    // ... by the range TLB
    logic       miss;         // ... by neither: sent on to the walker
    owner_t     lookup_of;
    logic       fill;         // entry written for an answer of the walker
    logic       merge;        // pages of an answer joined an entry that was there
    logic       evict;        // a valid entry gave way to another
    ctx_id_t    fill_ctx;     // context of the answer that filled, merged or evicted
    logic       drop;         // an answer was not kept: queue full, or an invalidation came first
    logic [4:0] invalidated;  // entries cleared by invalidations
  } l2_event_t;

  // Which events are counted: all, or of those that have a context only `ctx`'s.
  typedef struct packed {
    logic    enable;
    ctx_id_t ctx;
  } count_filter_t;

  // Events that belong to no port.
  typedef struct packed {
    l2_event_t   l2;
    walk_event_t walk;
    logic        inval;         // an invalidation reaches everything that caches; `inval_scope` and `inval_ctx` are its
    inval_scope_e inval_scope;
    ctx_id_t     inval_ctx;
  } mmu_event_t;

endpackage
