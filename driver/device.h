/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the driver knows of a card: its queues, its kernels, its memory, and its registers. What may be held with what is said
 * in driver.h (DOC: locking order).
 */
#ifndef GODWIT_DEVICE_H_
#define GODWIT_DEVICE_H_

#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <godwit/fault.h>
#include <godwit/prefetch.h>
#include <godwit/pt.h>
#include <godwit/range.h>
#include <godwit_layout.h>
#include <godwit_regs.h>

#include "dma.h"
#include "heap.h"
#include "lines.h"
#include "observe.h"
#include "params.h"
#include "uapi/godwit.h"

struct godwit_context;

/*
 * Of DMA mappings of pages that processors go on using, and that may be mapped more than once: nothing is to be done for either
 * side at the mapping or its end. So the card must reach the page itself (pci.c sees to that); where Linux has a word for it,
 * it refuses to map a copy.
 */
#ifdef DMA_ATTR_REQUIRE_COHERENT
#define GODWIT_SHARED_ATTRS (DMA_ATTR_SKIP_CPU_SYNC | DMA_ATTR_REQUIRE_COHERENT)
#else
#define GODWIT_SHARED_ATTRS DMA_ATTR_SKIP_CPU_SYNC
#endif

/* Frames of device memory are those of the page tables. */
#define GODWIT_FRAME_BYTES GODWIT_PT_PAGE_SIZE

/* Offset of a register of the MMU, or of something in its register space. */
#define GODWIT_MMU(name) (GODWIT_REGISTER_SPACE_MMU_BASE + offsetof(gw_mmu_t, name))

/**
 * struct godwit_queue - the command ring, in device memory
 * @lock: from the first command to the fence behind the last, or to the end of an answer
 * @ring: physical address in device memory
 * @tail: next entry
 * @answers: to page requests, behind which there was no fence yet
 * @caches: the card has a page cache
 * @broken: a fence did not end; nothing can be invalidated any more
 */
struct godwit_queue {
	struct mutex lock;
	u64 ring;
	u32 tail;
	u32 answers;
	bool caches;
	bool broken;
};

/* What a page cache reads and writes of the host's memory. */
#define GODWIT_LINE_BYTES 64
/* Ranges that it is told of one by one. */
#define GODWIT_FLUSHES 16u

/**
 * struct godwit_flushed - memory of the host that a page cache is to write and forget
 * @count: ranges; more than GODWIT_FLUSHES: all that it has
 * @ranges: where the card finds them
 */
struct godwit_flushed {
	u32 count;
	struct gw_pt_range ranges[GODWIT_FLUSHES];
};

/* Page requests of one batch; the rest is the next one. */
#define GODWIT_BATCH 64

/**
 * struct godwit_plan - pages to be brought that nobody has asked for
 * @context: number of the context
 * @plan: which
 */
struct godwit_plan {
	u32 context;
	struct gw_prefetch_plan plan;
};

/**
 * struct godwit_pages - the page-request queue; used by the MMU's interrupt thread alone
 * @ring: records, in host memory; NULL without page requests
 * @bus: where the card finds it
 * @head: next record to read
 * @faults: a batch
 * @groups: what is made of it
 * @plans: what is brought ahead of what will be asked for, and whose it is
 * @plan_count: of them
 */
struct godwit_pages {
	__le64 *ring;
	dma_addr_t bus;
	u32 head;
	struct gw_fault *faults;
	struct gw_fault_group *groups;
	struct godwit_plan *plans;
	u32 plan_count;
};

/**
 * struct godwit_fault - an access that the MMU refused
 * @valid: there was one
 * @cause: GODWIT_CAUSE_*
 * @address: virtual address
 */
struct godwit_fault {
	bool valid;
	u32 cause;
	u64 address;
};

/**
 * struct godwit_turn - a launch, from when it begins to wait for its kernel
 * @node: in struct godwit_kernel.turns
 * @ctx: whose it is
 * @runs: it has the kernel, and nobody has taken its end yet
 * @cancelled: it shall end
 */
struct godwit_turn {
	struct list_head node;
	const struct godwit_context *ctx;
	bool runs;
	bool cancelled;
};

/**
 * struct godwit_kernel - an accelerator
 * @lock: its launch
 * @freed: woken when the lock is free, and when somebody's turn is cancelled
 * @turns: struct godwit_turn.node of launches that run or wait; under struct godwit_device.fault_lock
 * @done: completed by its interrupt, and when the card goes
 * @fault: the first refused access of its port since the start of the launch; under struct godwit_device.fault_lock
 * @irq: its interrupt
 * @rested: nothing but a launch can raise its line
 * @stuck: it did not come to rest when it was told to
 */
struct godwit_kernel {
	struct mutex lock;
	wait_queue_head_t freed;
	struct list_head turns;
	struct completion done;
	struct godwit_fault fault;
	int irq;
	bool rested;
	bool stuck;
};

struct godwit_pool;

/**
 * struct godwit_device - a card
 * @kref: the driver's binding, and every open file
 * @pdev: only while @going is false, or under @alive_lock
 * @misc: /dev/godwit@id
 * @alive_lock: see DOC: locking order
 * @going: the card is gone, or about to
 * @regs: BAR 0
 * @memory: BAR 2
 * @memory_bytes: its size
 * @spec_hash: that it was made from
 * @contexts: that the card holds
 * @kernels: slots
 * @ports: of the MMU, at least one a kernel
 * @demand: the card asks for pages that are not there
 * @alone: pages in place that it may write are its alone (alone.c)
 * @mode: of page tables, GODWIT_MODE_*
 * @va_bits: of user addresses in that mode
 * @frames: of device memory
 * @frames_storage: theirs
 * @queue: the command ring
 * @lines: which host memory crosses the link
 * @dma: the page DMA
 * @heap: the heap in hardware
 * @pool: device memory that processes' memory can be in; NULL without
 * @pages: page requests
 * @contexts_lock: for the two below
 * @context_list: struct godwit_context.node
 * @context_numbers: in use
 * @fault_lock: the MMU's fault record, and those of the kernels
 * @kernel: accelerators, by slot
 * @counters_lock: held by who reads the card's counters
 * @observed: what is counted of it
 */
struct godwit_device {
	struct kref kref;
	struct pci_dev *pdev;
	struct miscdevice misc;
	int id;
	char name[16];

	struct rw_semaphore alive_lock;
	bool going;

	void __iomem *regs;
	void __iomem *memory;
	u64 memory_bytes;
	u32 spec_hash;
	u32 contexts;
	u32 kernels;
	u32 ports;
	bool demand;
	bool alone;
	u32 mode;
	u32 va_bits;

	struct gw_range frames;
	void *frames_storage;
	struct godwit_queue queue;
	struct godwit_lines lines;
	struct godwit_dma dma;
	struct godwit_heap heap;
	struct godwit_pool *pool;
	struct godwit_pages pages;

	struct mutex contexts_lock;
	struct list_head context_list;
	DECLARE_BITMAP(context_numbers, GODWIT_MAX_CONTEXTS);

	struct mutex fault_lock;
	struct godwit_kernel *kernel;
	struct mutex counters_lock;
	struct godwit_observed observed;
};

static inline u32 godwit_read(struct godwit_device *gdev, u32 offset)
{
	return readl(gdev->regs + offset);
}

static inline void godwit_write(struct godwit_device *gdev, u32 offset, u32 value)
{
	writel(value, gdev->regs + offset);
}

static inline void godwit_count(struct godwit_device *gdev, enum godwit_event event, u32 times)
{
	atomic64_add(times, &gdev->observed.events[event]);
}

/* Both halves, the lower first: the hardware takes them with the upper one. */
static inline void godwit_write64(struct godwit_device *gdev, u32 offset, u64 value)
{
	godwit_write(gdev, offset, lower_32_bits(value));
	godwit_write(gdev, offset + 4, upper_32_bits(value));
}

/* Both halves of what does not change meanwhile. */
static inline u64 godwit_read64(struct godwit_device *gdev, u32 offset)
{
	return godwit_read(gdev, offset) | (u64)godwit_read(gdev, offset + 4) << 32;
}

#endif /* GODWIT_DEVICE_H_ */
