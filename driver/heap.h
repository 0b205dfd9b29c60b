/* SPDX-License-Identifier: GPL-2.0-only */
/* The heap in hardware, on a card that has one: heap_start.c begins it, heap.c asks it, heap_pages.c shows its pages to processes. */
#ifndef GODWIT_HEAP_H_
#define GODWIT_HEAP_H_

#include <linux/mutex.h>
#include <linux/types.h>

#include <godwit_heap_regs.h>

struct file;
struct godwit_allocation;
struct godwit_context;
struct godwit_device;
struct godwit_heap_state;
struct vm_area_struct;

#define GODWIT_HEAP_REG(name) (GODWIT_REGISTER_SPACE_HEAP_BASE + offsetof(gw_heap_t, name))
#define GODWIT_HEAP_FIELD(reg, value) (((value) & GW_HEAP__##reg##_bm) >> GW_HEAP__##reg##_bp)

/* Between two looks at something that takes longer. */
#define GODWIT_HEAP_POLL_US 50

/**
 * struct godwit_heap - the heap of a card
 * @lock: commands and touches, each from its registers to its answer, and what processes see of pages
 * @base: physical address of its memory
 * @bytes: of it; 0 without a heap. Does not change while somebody has the device open
 * @broken: it did not answer, or said so itself; nothing is asked of it any more
 */
struct godwit_heap {
	struct mutex lock;
	u64 base;
	u64 bytes;
	bool broken;
};

/* heap.c */
int godwit_heap_call(struct godwit_context *ctx, struct godwit_allocation *what);
int godwit_heap_state(struct godwit_context *ctx, struct godwit_heap_state *state);
void godwit_heap_end(struct godwit_context *ctx);
u64 godwit_heap_free_bytes(struct godwit_device *gdev);
bool godwit_heap_lacks(struct godwit_device *gdev);
bool godwit_heap_is_at(struct godwit_device *gdev, u64 start, u64 end);
bool godwit_heap_has_frame(struct godwit_device *gdev, u64 pa);
int godwit_heap_ask(struct godwit_device *gdev, u32 offset, u32 busy, u32 *answer);

/* heap_pages.c */
int godwit_heap_mmap(struct file *file, struct vm_area_struct *vma);
int godwit_heap_populate(struct godwit_context *ctx, struct godwit_allocation *what);
void godwit_heap_hide(struct godwit_context *ctx, u64 start, u64 end);

/* heap_start.c */
void godwit_heap_init(struct godwit_device *gdev);

#endif /* GODWIT_HEAP_H_ */
