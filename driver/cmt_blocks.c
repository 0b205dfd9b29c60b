// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of contiguous memory, placed by core/ as in user space.
 *
 * A block that is freed lives on as long as somebody maps it or has it as a dma-buf; then it is cleared, and given to others when
 * nobody has it pinned any more. So memory that is free is clean, and a request only marks it.
 *
 * DOC: locking
 *   godwit_cmt_lock, of blocks of files and their sizes, comes after the memory map's lock, and no memory of a process is touched
 *   under it; struct godwit_cmt_pool.ended_lock is the last. Who holds the only reference of a block, and the lock, has it alone.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "cmt.h"
#include "uapi/godwit.h"

/* Between two looks at blocks that are pinned. */
#define GODWIT_CMT_PINNED_MS 50

DEFINE_MUTEX(godwit_cmt_lock);

/**
 * struct godwit_cmt_pool - all memory of the device
 * @range: what is free
 * @storage: of that
 * @ended_lock: of the two below
 * @ended: blocks that nobody has
 * @ended_bytes: theirs
 * @clear: clears them
 * @queue: where
 */
static struct godwit_cmt_pool {
	struct gw_range range;
	void *storage;
	spinlock_t ended_lock;
	struct list_head ended;
	u64 ended_bytes;
	struct delayed_work clear;
	struct workqueue_struct *queue;
} godwit_cmt = {
	.ended_lock = __SPIN_LOCK_UNLOCKED(godwit_cmt.ended_lock),
	.ended = LIST_HEAD_INIT(godwit_cmt.ended),
};

static void godwit_cmt_relax(u32 looks)
{
	cond_resched();
}

/* In any context. */
static void godwit_cmt_end(struct kref *kref)
{
	struct godwit_cmt_block *block = container_of(kref, struct godwit_cmt_block, kref);
	unsigned long flags;

	spin_lock_irqsave(&godwit_cmt.ended_lock, flags);
	list_add_tail(&block->node, &godwit_cmt.ended);
	godwit_cmt.ended_bytes += block->bytes;
	spin_unlock_irqrestore(&godwit_cmt.ended_lock, flags);
	mod_delayed_work(godwit_cmt.queue, &godwit_cmt.clear, 0);
}

void godwit_cmt_put(struct godwit_cmt_block *block)
{
	kref_put(&block->kref, godwit_cmt_end);
}

static void godwit_cmt_clear_ended(struct work_struct *work)
{
	struct godwit_cmt_block *block, *next;
	LIST_HEAD(ended);
	u64 bytes = 0;

	spin_lock_irq(&godwit_cmt.ended_lock);
	list_splice_init(&godwit_cmt.ended, &ended);
	spin_unlock_irq(&godwit_cmt.ended_lock);
	list_for_each_entry_safe(block, next, &ended, node) {
		if (godwit_cmt_is_used(block->base, block->bytes))
			continue;
		list_del(&block->node);
		godwit_cmt_clear(block->base, block->bytes);
		gw_range_free(&godwit_cmt.range, block->base, NULL);
		bytes += block->bytes;
		kfree(block);
	}
	spin_lock_irq(&godwit_cmt.ended_lock);
	list_splice(&ended, &godwit_cmt.ended);
	godwit_cmt.ended_bytes -= bytes;
	spin_unlock_irq(&godwit_cmt.ended_lock);
	if (!list_empty_careful(&godwit_cmt.ended))
		queue_delayed_work(godwit_cmt.queue, &godwit_cmt.clear, msecs_to_jiffies(GODWIT_CMT_PINNED_MS));
}

/* What was freed before is free afterwards, but for what is pinned. */
static void godwit_cmt_settle(void)
{
	if (!READ_ONCE(godwit_cmt.ended_bytes))
		return;
	mod_delayed_work(godwit_cmt.queue, &godwit_cmt.clear, 0);
	flush_delayed_work(&godwit_cmt.clear);
}

static int godwit_cmt_errno(int status)
{
	switch (status) {
	case GW_RANGE_OK:
		return 0;
	case GW_RANGE_ENOMEM:
	case GW_RANGE_EFRAGMENT:
	case GW_RANGE_EPLACE:
	case GW_RANGE_EUNALIGNED:
		return -ENOMEM;
	case GW_RANGE_EBUSY:
		return -EBUSY;
	default:
		return -EINVAL;
	}
}

static u32 godwit_cmt_reason(int status)
{
	switch (status) {
	case GW_RANGE_ENOMEM:
		return GODWIT_CMT_FULL;
	case GW_RANGE_EFRAGMENT:
		return GODWIT_CMT_IN_PIECES;
	case GW_RANGE_EPLACE:
		return GODWIT_CMT_ELSEWHERE;
	case GW_RANGE_EUNALIGNED:
		return GODWIT_CMT_UNALIGNED;
	default:
		return 0;
	}
}

/* The block of this file in which @address is; NULL if it is nobody's, or somebody else's. */
struct godwit_cmt_block *godwit_cmt_find(struct godwit_cmt_file *owner, u64 address)
{
	u64 first, bytes;

	lockdep_assert_held(&godwit_cmt_lock);
	return gw_range_find(&godwit_cmt.range, address, &first, &bytes) ? NULL : xa_load(&owner->blocks, PHYS_PFN(first));
}

/* The same by its first byte. */
static struct godwit_cmt_block *godwit_cmt_named(struct godwit_cmt_file *owner, u64 address)
{
	struct godwit_cmt_block *block = godwit_cmt_find(owner, address);

	return block && block->base == address ? block : NULL;
}

/* @what says why it fails, too. */
int godwit_cmt_alloc(struct godwit_cmt_file *owner, struct godwit_cmt_alloc *what)
{
	struct gw_range_request request = {
		.bytes = what->bytes,
		.align = what->align,
		.min = what->min,
		.max = what->max ?: ~0ull,
		.node = what->node,
		.flags = what->flags & GODWIT_CMT_STRICT_NODE ? GW_RANGE_STRICT_NODE : 0,
	};
	struct godwit_cmt_block *block;
	struct gw_range_why why = {};
	int err;

	if (what->flags & ~GODWIT_CMT_STRICT_NODE || what->reserved)
		return -EINVAL;
	block = kzalloc(sizeof(*block), GFP_KERNEL_ACCOUNT);
	if (!block)
		return -ENOMEM;
	kref_init(&block->kref);
	err = gw_range_alloc(&godwit_cmt.range, &request, &block->base, &why);
	if (godwit_cmt_errno(err) == -ENOMEM) {
		godwit_cmt_settle();
		err = gw_range_alloc(&godwit_cmt.range, &request, &block->base, &why);
	}
	if (err) {
		kfree(block);
		what->reason = godwit_cmt_reason(err);
		what->free_bytes = why.free;
		what->largest_bytes = why.largest;
		what->placed_bytes = why.largest_placed;
		return godwit_cmt_errno(err);
	}
	block->bytes = PAGE_ALIGN(what->bytes);
	what->address = block->base;
	what->bytes = block->bytes;
	mutex_lock(&godwit_cmt_lock);
	err = xa_err(xa_store(&owner->blocks, PHYS_PFN(block->base), block, GFP_KERNEL_ACCOUNT));
	owner->count += !err;
	mutex_unlock(&godwit_cmt_lock);
	if (err)
		godwit_cmt_put(block);
	return err;
}

int godwit_cmt_free(struct godwit_cmt_file *owner, const struct godwit_cmt_piece *what)
{
	struct godwit_cmt_block *block;

	if (what->bytes)
		return -EINVAL;
	mutex_lock(&godwit_cmt_lock);
	block = godwit_cmt_named(owner, what->address);
	if (block) {
		xa_erase(&owner->blocks, PHYS_PFN(what->address));
		owner->count--;
	}
	mutex_unlock(&godwit_cmt_lock);
	if (!block)
		return -ENOENT;
	godwit_cmt_put(block);
	return 0;
}

/* What is cut off must be nobody else's; what comes behind it was cleared. */
static int godwit_cmt_resize_block(struct godwit_cmt_block *block, u64 bytes)
{
	int err;

	if (bytes < block->bytes) {
		if (kref_read(&block->kref) > 1 || godwit_cmt_is_used(block->base + bytes, block->bytes - bytes))
			return -EBUSY;
		godwit_cmt_clear(block->base + bytes, block->bytes - bytes);
	}
	err = godwit_cmt_errno(gw_range_resize(&godwit_cmt.range, block->base, bytes));
	if (!err)
		block->bytes = bytes;
	return err;
}

int godwit_cmt_resize(struct godwit_cmt_file *owner, struct godwit_cmt_piece *what)
{
	u64 bytes = PAGE_ALIGN(what->bytes);
	struct godwit_cmt_block *block;
	int err = -ENOENT;

	if (!bytes)
		return -EINVAL;
	godwit_cmt_settle();
	mutex_lock(&godwit_cmt_lock);
	block = godwit_cmt_named(owner, what->address);
	if (block)
		err = godwit_cmt_resize_block(block, bytes);
	mutex_unlock(&godwit_cmt_lock);
	what->bytes = bytes;
	return err;
}

/* The block at @address, kept until godwit_cmt_put(), and its size. */
struct godwit_cmt_block *godwit_cmt_get(struct godwit_cmt_file *owner, u64 address, u64 *bytes)
{
	struct godwit_cmt_block *block;

	mutex_lock(&godwit_cmt_lock);
	block = godwit_cmt_named(owner, address);
	if (block) {
		kref_get(&block->kref);
		*bytes = block->bytes;
	}
	mutex_unlock(&godwit_cmt_lock);
	return block;
}

/* All of a file's blocks. */
void godwit_cmt_free_all(struct godwit_cmt_file *owner)
{
	struct godwit_cmt_block *block;
	unsigned long at;

	xa_for_each(&owner->blocks, at, block)
		godwit_cmt_put(block);
	xa_destroy(&owner->blocks);
}

/* Afterwards: what was freed before counts as free, but for what is pinned. */
void godwit_cmt_stats(struct gw_range_stats *stats)
{
	godwit_cmt_settle();
	gw_range_stats(&godwit_cmt.range, stats);
}

/* Bytes that were freed, and are pinned yet or not cleared. */
u64 godwit_cmt_ending(void)
{
	return READ_ONCE(godwit_cmt.ended_bytes);
}

int godwit_cmt_pool_init(const struct gw_range_area *areas, u32 count)
{
	size_t bytes;
	int err;

	if (gw_range_storage(areas, count, PAGE_SHIFT, &bytes))
		return -EINVAL;
	godwit_cmt.storage = kvzalloc(bytes, GFP_KERNEL);
	if (!godwit_cmt.storage)
		return -ENOMEM;
	err = godwit_cmt_errno(gw_range_init_zeroed(&godwit_cmt.range, areas, count, PAGE_SHIFT, godwit_cmt.storage, bytes));
	if (err)
		goto storage;
	godwit_cmt.range.relax = godwit_cmt_relax;
	INIT_DELAYED_WORK(&godwit_cmt.clear, godwit_cmt_clear_ended);
	godwit_cmt.queue = alloc_workqueue("godwit-cmt", WQ_UNBOUND, 1);
	if (godwit_cmt.queue)
		return 0;
	err = -ENOMEM;
storage:
	kvfree(godwit_cmt.storage);
	return err;
}

/* Nobody has blocks any more, but some may be pinned: these pages are freed when they are not. */
void godwit_cmt_pool_fini(void)
{
	struct godwit_cmt_block *block, *next;

	cancel_delayed_work_sync(&godwit_cmt.clear);
	destroy_workqueue(godwit_cmt.queue);
	list_for_each_entry_safe(block, next, &godwit_cmt.ended, node)
		kfree(block);
	kvfree(godwit_cmt.storage);
}
