/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The heap in hardware, on a card that has one: heap_regions.c knows its memory, heap_host.c has what of it is the host's, heap_start.c
 * begins it, heap.c asks it, heap_pages.c shows its pages to processes.
 */
#ifndef GODWIT_HEAP_H_
#define GODWIT_HEAP_H_

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include <godwit_heap_regs.h>

struct file;
struct godwit_allocation;
struct godwit_context;
struct godwit_device;
struct godwit_heap_state;
struct page;
struct vm_area_struct;

#define GODWIT_HEAP_REG(name) (GODWIT_REGISTER_SPACE_HEAP_BASE + offsetof(gw_heap_t, name))
#define GODWIT_HEAP_FIELD(reg, value) (((value) & GW_HEAP__##reg##_bm) >> GW_HEAP__##reg##_bp)

/* Between two looks at something that takes longer. */
#define GODWIT_HEAP_POLL_US 50
/* What its memory is counted in. */
#define GODWIT_HEAP_BLOCK SZ_2M
/* That hardware can have. */
#define GODWIT_HEAP_REGIONS 8

/**
 * struct godwit_heap_region - memory that has frames of its own
 * @base: physical address, for the card
 * @bytes: of it
 * @bits: physical address of its bitmaps, in device memory
 * @pages: of the host, the first; NULL of device memory
 * @host: it is the host's memory
 * @strict: it gives no allocation that is larger than what is free
 */
struct godwit_heap_region {
	u64 base;
	u64 bytes;
	u64 bits;
	struct page *pages;
	bool host;
	bool strict;
};

/**
 * struct godwit_heap - the heap of a card
 * @lock: commands and touches, each from its registers to its answer, and what processes see of pages
 * @choice: which region registers of memory are about, until they are read
 * @region: its memory; page tables are in the first. Does not change while somebody has the device open
 * @regions: of them; 0 without a heap
 * @contexts: struct godwit_context.heap_node of those that may have memory of it; under @lock
 * @seen: of what kernels freed by themselves, so much no process sees any more; under @lock
 * @known: the card has one, which this driver knows
 * @broken: it did not answer, or said so itself; nothing is asked of it any more
 */
struct godwit_heap {
	struct mutex lock;
	struct mutex choice;
	struct godwit_heap_region region[GODWIT_HEAP_REGIONS];
	u32 regions;
	u32 seen;
	struct list_head contexts;
	bool known;
	bool broken;
};

/* heap.c */
int godwit_heap_call(struct godwit_context *ctx, struct godwit_allocation *what);
void godwit_heap_end(struct godwit_context *ctx);
void godwit_heap_join(struct godwit_context *ctx);
bool godwit_heap_see(struct godwit_device *gdev);
bool godwit_heap_look(struct godwit_device *gdev);
bool godwit_heap_lacks(struct godwit_device *gdev);
bool godwit_heap_is_at(struct godwit_device *gdev, u64 start, u64 end);
int godwit_heap_ask(struct godwit_device *gdev, u32 offset, u32 busy, u32 *answer);

/* heap_pages.c */
int godwit_heap_mmap(struct file *file, struct vm_area_struct *vma);
int godwit_heap_populate(struct godwit_context *ctx, struct godwit_allocation *what);
void godwit_heap_hide(struct godwit_context *ctx, u64 start, u64 end);

/* heap_regions.c */
int godwit_heap_plan(struct godwit_device *gdev);
bool godwit_heap_region_fits(struct godwit_device *gdev, const struct godwit_heap_region *region);
u32 godwit_heap_hardware_regions(struct godwit_device *gdev);
void godwit_heap_choose(struct godwit_device *gdev, u32 region);
u64 godwit_heap_free_of(struct godwit_device *gdev, u32 region, u64 *clean);
u64 godwit_heap_bytes(struct godwit_device *gdev);
u64 godwit_heap_free_bytes(struct godwit_device *gdev);
const struct godwit_heap_region *godwit_heap_region_of(struct godwit_device *gdev, u64 pa);
int godwit_heap_state(struct godwit_context *ctx, struct godwit_heap_state *state);

/* heap_host.c */
int godwit_heap_host_take(struct godwit_device *gdev, struct godwit_heap_region *region);
int godwit_heap_host_forget(struct godwit_device *gdev);

/* heap_start.c */
void godwit_heap_probe(struct godwit_device *gdev);
bool godwit_heap_was_host(struct godwit_device *gdev);
void godwit_heap_init(struct godwit_device *gdev);
void godwit_heap_check_cache(struct godwit_device *gdev);

#endif /* GODWIT_HEAP_H_ */
