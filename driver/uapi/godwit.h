/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What programs ask of /dev/godwitN, and of /dev/godwit-cmt (at the end).
 *
 * An open file is a context: an address space of the card in which the program's own addresses mean the same memory. A
 * child that inherits the file shares the context, but what is pinned in it stays the memory of who pinned it.
 */
#ifndef _UAPI_GODWIT_H
#define _UAPI_GODWIT_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Version of this interface; a driver of another one refuses nothing, so programs compare. */
#define GODWIT_ABI 7

/* godwit_info.flags: pages come when accelerators touch them; without it memory has to be pinned. */
#define GODWIT_INFO_DEMAND 1u
/* godwit_info.flags: memory can move to device memory (GODWIT_IOC_MIGRATE). */
#define GODWIT_INFO_MIGRATE 2u
/* godwit_info.flags: the card has a heap (GODWIT_IOC_HEAP). */
#define GODWIT_INFO_HEAP 4u
/* godwit_info.flags: the card counts what crosses the link, so that it can be decided where memory is better (GODWIT_ADVICE_AUTO). */
#define GODWIT_INFO_LINES 8u
/*
 * godwit_info.flags: the card writes whole lines of 64 bytes of the host's memory (it has a page cache), and this kernel gives no page to a
 * device alone: of what a kernel of the card and a processor write in one line while the kernel runs, something may be lost.
 */
#define GODWIT_INFO_LINES_MIX 16u

/**
 * struct godwit_info - what the card is
 * @abi: GODWIT_ABI of the driver
 * @spec_hash: of the registers and layouts that card and driver were made from
 * @kernels: accelerators of the card, by slot
 * @contexts: that the card holds
 * @context: number of this one
 * @va_bits: addresses below 2^@va_bits can be used
 * @flags: GODWIT_INFO_*
 * @reserved: 0
 * @memory_bytes: device memory
 * @free_bytes: of it, not in use
 */
struct godwit_info {
	__u32 abi;
	__u32 spec_hash;
	__u32 kernels;
	__u32 contexts;
	__u32 context;
	__u32 va_bits;
	__u32 flags;
	__u32 reserved;
	__aligned_u64 memory_bytes;
	__aligned_u64 free_bytes;
};

/* The card may write, too. */
#define GODWIT_PIN_WRITE 1u

/**
 * struct godwit_pin - memory of the program that the card reaches, where it is
 * @addr: first byte; the page it is in is pinned as a whole
 * @size: bytes
 * @flags: GODWIT_PIN_WRITE or 0; not looked at by an unpin
 * @reserved: 0
 *
 * Ranges of one context do not share a page. An unpin names the range as it was pinned.
 */
struct godwit_pin {
	__aligned_u64 addr;
	__aligned_u64 size;
	__u32 flags;
	__u32 reserved;
};

/* Registers of a kernel that one launch may write, and read afterwards. */
#define GODWIT_RUN_REGISTERS 256u

/**
 * struct godwit_register - a word of a kernel's control block
 * @offset: in bytes, a multiple of 4, from 0x10 on: the arguments
 * @value: what it is
 */
struct godwit_register {
	__u32 offset;
	__u32 value;
};

/**
 * enum godwit_run_end - how a launch ended
 * @GODWIT_RUN_DONE: the kernel said that it is done
 * @GODWIT_RUN_FAULT: it did, and the MMU had refused an access of its port
 */
enum godwit_run_end {
	GODWIT_RUN_DONE = 0,
	GODWIT_RUN_FAULT = 1,
};

/**
 * struct godwit_run - a launch, from its start to its end
 * @slot: the kernel
 * @write_count: registers to write before the start
 * @read_count: registers to read after the end
 * @timeout_ms: longest time from the start; 0: none
 * @writes: struct godwit_register[@write_count]
 * @reads: struct godwit_register[@read_count]; values are filled in
 * @end: enum godwit_run_end
 * @fault_cause: GODWIT_CAUSE_* of the first refused access
 * @fault_address: its address
 *
 * Launches of one kernel wait for each other. One that is interrupted by a signal, takes too long, or is to end by
 * GODWIT_IOC_CANCEL is cancelled: its port is turned off, and the call fails with EINTR, ETIMEDOUT or ECANCELED; so does one that
 * waits for a frame of a heap in which nothing is freed, with ENOMEM; with EIO when it was to end and its kernel did not.
 */
struct godwit_run {
	__u32 slot;
	__u32 write_count;
	__u32 read_count;
	__u32 timeout_ms;
	__aligned_u64 writes;
	__aligned_u64 reads;
	__u32 end;
	__u32 fault_cause;
	__aligned_u64 fault_address;
};

/* From device memory to the host's; without it, to device memory. */
#define GODWIT_MIGRATE_TO_HOST 1u

/**
 * struct godwit_migrate - memory of the program that is better elsewhere
 * @addr: first byte; its page moves as a whole
 * @size: bytes
 * @flags: GODWIT_MIGRATE_TO_HOST or 0
 * @reserved: 0
 * @pages: filled in: so many pages moved
 *
 * A hint: pages that cannot move (of files, locked, pinned) stay, and nothing is wrong. A processor that touches memory in
 * device memory has it brought back. EOPNOTSUPP without GODWIT_INFO_MIGRATE.
 */
struct godwit_migrate {
	__aligned_u64 addr;
	__aligned_u64 size;
	__u32 flags;
	__u32 reserved;
	__aligned_u64 pages;
};

/* Nothing is said: as the driver's parameter `move` has it. */
#define GODWIT_ADVICE_NONE 0u
/* Pages move to device memory when an accelerator asks for them. */
#define GODWIT_ADVICE_MOVE 1u
/* They stay in the host, and accelerators use them there. */
#define GODWIT_ADVICE_IN_PLACE 2u

/* The driver decides, 64 KiB by 64 KiB: they stay as long as using them there costs less than moving them. */
#define GODWIT_ADVICE_AUTO 3u
/* Both sides read them, and they are seldom written. */
#define GODWIT_ADVICE_READ_MOSTLY 4u

/**
 * struct godwit_advise - where memory is to be when an accelerator asks for it
 * @addr: first byte; it is said of the whole pages of the range
 * @size: bytes
 * @advice: GODWIT_ADVICE_*
 * @served: 0; filled in: GODWIT_ADVICE_MOVE, _IN_PLACE or _AUTO, what this comes to here and now
 *
 * Moves nothing by itself. Holds until something else is said, or the memory is unmapped. Without GODWIT_INFO_MIGRATE it is taken, and
 * all pages stay (GODWIT_ADVICE_IN_PLACE). AUTO moves them without GODWIT_INFO_LINES (GODWIT_ADVICE_MOVE). READ_MOSTLY is
 * GODWIT_ADVICE_IN_PLACE: Linux has a page in one place, and of the two it is the host's memory that both sides can read; where the card has
 * such a page alone (a page cache, without GODWIT_INFO_LINES_MIX) in turns, unless the program may not write it.
 */
struct godwit_advise {
	__aligned_u64 addr;
	__aligned_u64 size;
	__u32 advice;
	__u32 served;
};

/**
 * struct godwit_cancel - launches that shall end
 * @slot: the kernel
 * @reserved: 0
 *
 * Ends the launches of this context on a kernel, that which runs and those that wait: their calls fail with ECANCELED. Does not
 * wait for that. ESRCH when there is none.
 */
struct godwit_cancel {
	__u32 slot;
	__u32 reserved;
};

/* Where a page is: a byte of godwit_residency.places. */
/* Nowhere: never touched, swapped out, not loaded, or of no memory. */
#define GODWIT_PLACE_NONE 0u
/* In the host's memory. */
#define GODWIT_PLACE_HOST 1u
/* In the card's. */
#define GODWIT_PLACE_CARD 2u
/* Besides: the card reaches it without asking. Of pages that are pinned this is not said. */
#define GODWIT_PLACE_SHOWN 0x80u

/**
 * struct godwit_residency - where memory of the program is
 * @addr: first byte; whole pages are looked at
 * @size: bytes
 * @places: a byte a page is filled in: GODWIT_PLACE_*
 * @reserved: 0
 *
 * Brings nothing and moves nothing. Of up to 256 pages in a row, from the first on, it was true at one moment; nothing keeps it so. Of a page
 * that another context has alone in place nothing is known (GODWIT_PLACE_NONE), nor of one that was taken from the card with its neighbours, or
 * by mprotect, until a processor touches it.
 * EOPNOTSUPP without GODWIT_INFO_DEMAND; EBUSY when pages move faster than it can be looked.
 */
struct godwit_residency {
	__aligned_u64 addr;
	__aligned_u64 size;
	__aligned_u64 places;
	__aligned_u64 reserved;
};

/* Words of counters that one call may read. */
#define GODWIT_COUNTER_WORDS 4096u

/**
 * struct godwit_counters - counters of the card
 * @words: struct godwit_register[@count]: each @offset is that of a word of a counter in the MMU's registers; values are filled in
 * @count: how many, at most GODWIT_COUNTER_WORDS
 * @reserved: 0
 *
 * All are as of one cycle: the counters stand still while they are read. They count for all programs, from the card's reset.
 * EINVAL for what is no counter.
 */
struct godwit_counters {
	__aligned_u64 words;
	__u32 count;
	__u32 reserved;
};

/**
 * enum godwit_allocation_op - what is asked of the heap
 * @GODWIT_ALLOCATION_MALLOC: memory, which reads as zero
 * @GODWIT_ALLOCATION_REALLOC: another size where it is
 * @GODWIT_ALLOCATION_FREE: its end
 * @GODWIT_ALLOCATION_POPULATE: frames beforehand, so that no touch has to wait for one
 */
enum godwit_allocation_op {
	GODWIT_ALLOCATION_MALLOC = 0,
	GODWIT_ALLOCATION_REALLOC = 1,
	GODWIT_ALLOCATION_FREE = 2,
	GODWIT_ALLOCATION_POPULATE = 3,
};

/* malloc: a slot of 64 KiB, for small things. */
#define GODWIT_ALLOCATION_SMALL 1u

/**
 * struct godwit_allocation - malloc, realloc and free of the heap in hardware
 * @op: enum godwit_allocation_op
 * @flags: GODWIT_ALLOCATION_SMALL, of a malloc, or 0
 * @granule: of a malloc, log2 of the 4 KiB pages that come together; else 0
 * @status: filled in: 0, or why the card refused it, and nothing has changed (`heap` of the card's layout)
 * @pointer: filled in by a malloc, for which it is 0; else where: what malloc gave, or, to populate, any byte of it
 * @size: bytes; 0 of a free
 * @region: of a malloc, the region that frames come from (GODWIT_IOC_HEAP_STATE); else 0
 * @reserved: 0
 *
 * The memory is the context's, and ends with it. Accelerators use @pointer as it is. A process that maps the file there
 * (MAP_SHARED, the address as the offset) uses it, too; it sees nothing any more of what is freed or cut off, and SIGBUS is
 * what it gets where nothing is allocated, or no frame comes. EOPNOTSUPP without GODWIT_INFO_HEAP; ENOMEM when there are not as
 * many frames as are to be populated.
 */
struct godwit_allocation {
	__u32 op;
	__u32 flags;
	__u32 granule;
	__u32 status;
	__aligned_u64 pointer;
	__aligned_u64 size;
	__u32 region;
	__u32 reserved;
};

/* godwit_heap_state.flags: somebody found no frame, and none has come since. */
#define GODWIT_HEAP_STATE_LACKS 1u
/* godwit_heap_state.flags: what was freed is not all taken back. */
#define GODWIT_HEAP_STATE_RECLAIMING 2u
/* godwit_heap_state.flags: an allocation that is larger than what is free in the region is refused. */
#define GODWIT_HEAP_STATE_STRICT 4u
/* godwit_heap_state.flags: its frames are the host's memory, which accelerators reach over the link. */
#define GODWIT_HEAP_STATE_HOST 8u

/**
 * struct godwit_heap_state - a region of the heap's memory, with what all contexts have of it
 * @start: filled in, as all but @region: where it is, for the card
 * @bytes: of it
 * @free_bytes: ... that nobody has
 * @clean_bytes: ... and that need not be cleared first
 * @flags: GODWIT_HEAP_STATE_*
 * @region: which, below @regions; page tables are in region 0
 * @regions: that the heap has
 * @reserved: 0
 */
struct godwit_heap_state {
	__aligned_u64 start;
	__aligned_u64 bytes;
	__aligned_u64 free_bytes;
	__aligned_u64 clean_bytes;
	__u32 flags;
	__u32 region;
	__u32 regions;
	__u32 reserved;
};

#define GODWIT_IOC_INFO _IOR('g', 0x40, struct godwit_info)
#define GODWIT_IOC_PIN _IOW('g', 0x41, struct godwit_pin)
#define GODWIT_IOC_UNPIN _IOW('g', 0x42, struct godwit_pin)
#define GODWIT_IOC_RUN _IOWR('g', 0x43, struct godwit_run)
#define GODWIT_IOC_MIGRATE _IOWR('g', 0x44, struct godwit_migrate)
#define GODWIT_IOC_CANCEL _IOW('g', 0x45, struct godwit_cancel)
#define GODWIT_IOC_RESIDENCY _IOW('g', 0x46, struct godwit_residency)
#define GODWIT_IOC_COUNTERS _IOW('g', 0x47, struct godwit_counters)
#define GODWIT_IOC_HEAP _IOWR('g', 0x48, struct godwit_allocation)
#define GODWIT_IOC_HEAP_STATE _IOWR('g', 0x49, struct godwit_heap_state)
#define GODWIT_IOC_ADVISE _IOWR('g', 0x4a, struct godwit_advise)

/* Version of the interface of /dev/godwit-cmt. */
#define GODWIT_CMT_ABI 1

/* godwit_cmt_alloc.node: no preference. */
#define GODWIT_CMT_ANY_NODE (~(__u32)0)
/* godwit_cmt_alloc.flags: fail rather than take another node's memory. */
#define GODWIT_CMT_STRICT_NODE 1u

/**
 * enum godwit_cmt_reason - why a request fails with ENOMEM
 * @GODWIT_CMT_FULL: fewer bytes are free than asked for
 * @GODWIT_CMT_IN_PIECES: enough are, but not in one piece
 * @GODWIT_CMT_ELSEWHERE: a piece is large enough, but not within the limits or on the node
 * @GODWIT_CMT_UNALIGNED: a piece within the limits is large enough, but has no aligned place
 */
enum godwit_cmt_reason {
	GODWIT_CMT_FULL = 1,
	GODWIT_CMT_IN_PIECES = 2,
	GODWIT_CMT_ELSEWHERE = 3,
	GODWIT_CMT_UNALIGNED = 4,
};

/**
 * struct godwit_cmt_alloc - a block of contiguous memory, which reads as zero
 * @bytes: rounded up to pages
 * @align: of the physical address, a power of two; 0: a page
 * @min: lowest physical address of it
 * @max: highest one, such as 0xffffffff for a peripheral with 32 bits; 0: no limit
 * @node: memory node that is preferred, or GODWIT_CMT_ANY_NODE
 * @flags: GODWIT_CMT_STRICT_NODE or 0
 * @address: filled in: physical address, and offset for mmap()
 * @reason: filled in when it fails with ENOMEM: enum godwit_cmt_reason, or 0 when the system has no memory for a block's description
 * @reserved: 0
 * @free_bytes: filled in then: all that was free
 * @largest_bytes: ... in one piece
 * @placed_bytes: ... in one piece within the limits
 *
 * A block is the open file's, and ends with it, or with GODWIT_CMT_IOC_FREE. It is mapped by mmap() of the file at its address
 * (MAP_SHARED), all or a part. As long as somebody maps it or has it as a dma-buf, nobody else gets its memory.
 */
struct godwit_cmt_alloc {
	__aligned_u64 bytes;
	__aligned_u64 align;
	__aligned_u64 min;
	__aligned_u64 max;
	__u32 node;
	__u32 flags;
	__aligned_u64 address;
	__u32 reason;
	__u32 reserved;
	__aligned_u64 free_bytes;
	__aligned_u64 largest_bytes;
	__aligned_u64 placed_bytes;
};

/**
 * struct godwit_cmt_piece - a block that is to be freed, or to have another size where it is
 * @address: that it was given
 * @bytes: 0 to free it; else its new size, which is rounded up to pages
 *
 * ENOENT: no block of this file is there. EBUSY: it cannot grow, for what is behind it is in use or no memory of the device; or not
 * become smaller, for it is mapped, exported or pinned.
 */
struct godwit_cmt_piece {
	__aligned_u64 address;
	__aligned_u64 bytes;
};

/**
 * struct godwit_cmt_export - a block as a dma-buf
 * @address: of the block
 * @fd: filled in
 * @reserved: 0
 *
 * The dma-buf has the size that the block has now. EOPNOTSUPP for reserved memory that Linux has no pages of.
 */
struct godwit_cmt_export {
	__aligned_u64 address;
	__s32 fd;
	__u32 reserved;
};

/* godwit_cmt_info.flags: the memory is Linux's pages: it can be pinned, and cards with page requests reach it by the process's pointers. */
#define GODWIT_CMT_PAGES 1u

/**
 * struct godwit_cmt_info - the memory of /dev/godwit-cmt
 * @abi: GODWIT_CMT_ABI of the driver
 * @flags: GODWIT_CMT_PAGES or 0
 * @areas: pieces that it was when nobody had any
 * @blocks: of this file
 * @total_bytes: all of it
 * @free_bytes: that nobody has
 * @largest_bytes: ... in one piece
 * @ending_bytes: that were freed, and are pinned by somebody yet
 */
struct godwit_cmt_info {
	__u32 abi;
	__u32 flags;
	__u32 areas;
	__u32 blocks;
	__aligned_u64 total_bytes;
	__aligned_u64 free_bytes;
	__aligned_u64 largest_bytes;
	__aligned_u64 ending_bytes;
};

#define GODWIT_CMT_IOC_INFO _IOR('g', 0x60, struct godwit_cmt_info)
#define GODWIT_CMT_IOC_ALLOC _IOWR('g', 0x61, struct godwit_cmt_alloc)
#define GODWIT_CMT_IOC_FREE _IOW('g', 0x62, struct godwit_cmt_piece)
#define GODWIT_CMT_IOC_RESIZE _IOWR('g', 0x63, struct godwit_cmt_piece)
#define GODWIT_CMT_IOC_EXPORT _IOWR('g', 0x64, struct godwit_cmt_export)

#endif /* _UAPI_GODWIT_H */
