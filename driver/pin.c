// SPDX-License-Identifier: GPL-2.0-only
/* Memory of a program that stays where it is while the card reaches it through the host aperture. */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "driver.h"

/* Ranges to invalidate that are gathered before they are stretched. */
#define GODWIT_RANGES 16

/**
 * struct godwit_pinned - a range
 * @node: in godwit_context.pins
 * @mm: whose limit of locked memory it counts for
 * @addr: first byte of the first page
 * @count: pages
 * @write: the card may write
 * @pages: those
 * @sgt: where the card finds them
 */
struct godwit_pinned {
	struct list_head node;
	struct mm_struct *mm;
	u64 addr;
	unsigned long count;
	bool write;
	struct page **pages;
	struct sg_table sgt;
};

static enum dma_data_direction godwit_direction(const struct godwit_pinned *pinned)
{
	return pinned->write ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
}

/* Takes a range out of the table, and returns when the card has forgotten it. */
static int godwit_unmap(struct godwit_context *ctx, u64 addr, u64 size)
{
	struct gw_pt_range ranges[GODWIT_RANGES];
	struct gw_pt_inval what = { .ranges = ranges, .capacity = GODWIT_RANGES };
	static const struct godwit_flushed all = { .count = GODWIT_FLUSHES + 1 };
	int err;

	lockdep_assert_held(&ctx->lock);
	err = godwit_pt_errno(gw_pt_unmap(&ctx->table, addr, size, &what));
	if (err)
		return err;
	err = godwit_invalidate(ctx->device, ctx->number, &what, &all);
	if (err)
		return err;
	gw_pt_reclaim(&ctx->table);
	return 0;
}

static int godwit_map(struct godwit_context *ctx, struct godwit_pinned *pinned)
{
	u32 perm = pinned->write ? GW_PT_READ | GW_PT_WRITE : GW_PT_READ;
	u64 va = pinned->addr;
	struct scatterlist *sg;
	int i, err;

	lockdep_assert_held(&ctx->lock);
	for_each_sgtable_dma_sg(&pinned->sgt, sg, i) {
		u64 pa = GODWIT_HOST_APERTURE_BASE + sg_dma_address(sg);
		struct gw_pt_range what = { .va = va, .size = sg_dma_len(sg) };

		err = godwit_table_map(ctx->device, &ctx->table, &what, pa, perm, GW_PT_ORDER_2M);
		if (err) {
			if (va > pinned->addr && godwit_unmap(ctx, pinned->addr, va - pinned->addr))
				pci_clear_master(ctx->device->pdev);
			return err;
		}
		va += sg_dma_len(sg);
	}
	return 0;
}

/* The card reaches it no more. */
static void godwit_pinned_free(struct godwit_device *gdev, struct godwit_pinned *pinned)
{
	dma_unmap_sgtable(&gdev->pdev->dev, &pinned->sgt, godwit_direction(pinned), GODWIT_SHARED_ATTRS);
	sg_free_table(&pinned->sgt);
	unpin_user_pages_dirty_lock(pinned->pages, pinned->count, pinned->write);
	account_locked_vm(pinned->mm, pinned->count, false);
	mmdrop(pinned->mm);
	kvfree(pinned->pages);
	kfree(pinned);
}

/* Pins the pages of a range and lets the card's bus reach them. */
static struct godwit_pinned *godwit_pinned_new(struct godwit_device *gdev, u64 addr, unsigned long count, bool write)
{
	unsigned int flags = FOLL_LONGTERM | (write ? FOLL_WRITE : 0);
	struct godwit_pinned *pinned;
	unsigned long got = 0;
	int err = -ENOMEM;

	/* The list alone would take the memory of others. */
	if (count > totalram_pages())
		return ERR_PTR(-ENOMEM);
	pinned = kzalloc(sizeof(*pinned), GFP_KERNEL);
	if (!pinned)
		return ERR_PTR(-ENOMEM);
	pinned->addr = addr;
	pinned->count = count;
	pinned->write = write;
	err = account_locked_vm(current->mm, count, true);
	if (err)
		goto free;
	err = -ENOMEM;
	pinned->pages = kvcalloc(count, sizeof(*pinned->pages), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!pinned->pages)
		goto unaccount;
	while (got < count) {
		int more = min_t(unsigned long, count - got, INT_MAX);

		more = pin_user_pages_fast(addr + (got << PAGE_SHIFT), more, flags, pinned->pages + got);
		if (more <= 0) {
			err = more ?: -EFAULT;
			goto unpin;
		}
		got += more;
		if (fatal_signal_pending(current)) {
			err = -EINTR;
			goto unpin;
		}
	}
	err = sg_alloc_table_from_pages(&pinned->sgt, pinned->pages, count, 0, (u64)count << PAGE_SHIFT, GFP_KERNEL);
	if (err)
		goto unpin;
	err = dma_map_sgtable(&gdev->pdev->dev, &pinned->sgt, godwit_direction(pinned), GODWIT_SHARED_ATTRS);
	if (err)
		goto free_table;
	pinned->mm = current->mm;
	mmgrab(pinned->mm);
	return pinned;

free_table:
	sg_free_table(&pinned->sgt);
unpin:
	unpin_user_pages(pinned->pages, got);
unaccount:
	account_locked_vm(current->mm, count, false);
free:
	kvfree(pinned->pages);
	kfree(pinned);
	return ERR_PTR(err);
}

/* The pages of a range, if it is one that can be pinned. */
static int godwit_pin_pages(struct godwit_device *gdev, const struct godwit_pin *pin, u64 *addr, unsigned long *count)
{
	u64 end;

	if (!pin->size || pin->reserved || (pin->flags & ~GODWIT_PIN_WRITE) ||
	    check_add_overflow(pin->addr, pin->size, &end) || end > BIT_ULL(gdev->va_bits) ||
	    godwit_heap_is_at(gdev, pin->addr, end))
		return -EINVAL;
	*addr = pin->addr & PAGE_MASK;
	*count = (PAGE_ALIGN(end) - *addr) >> PAGE_SHIFT;
	return 0;
}

int godwit_pin(struct godwit_context *ctx, const struct godwit_pin *pin)
{
	struct godwit_device *gdev = ctx->device;
	struct godwit_pinned *pinned;
	unsigned long count;
	u64 addr;
	int err;

	err = godwit_pin_pages(gdev, pin, &addr, &count);
	if (err)
		return err;
	pinned = godwit_pinned_new(gdev, addr, count, pin->flags & GODWIT_PIN_WRITE);
	if (IS_ERR(pinned))
		return PTR_ERR(pinned);
	mutex_lock(&ctx->lock);
	godwit_inplace_drop(ctx, addr >> PAGE_SHIFT, (addr >> PAGE_SHIFT) + count - 1);
	err = godwit_map(ctx, pinned);
	if (!err) {
		list_add(&pinned->node, &ctx->pins);
		ctx->pinned_pages += count;
	}
	mutex_unlock(&ctx->lock);
	if (err)
		godwit_pinned_free(gdev, pinned);
	return err;
}

int godwit_unpin(struct godwit_context *ctx, const struct godwit_pin *pin)
{
	struct godwit_pinned *pinned, *found = NULL;
	unsigned long count;
	u64 addr;
	int err;

	err = godwit_pin_pages(ctx->device, pin, &addr, &count);
	if (err)
		return err;
	mutex_lock(&ctx->lock);
	list_for_each_entry(pinned, &ctx->pins, node) {
		if (pinned->addr == addr && pinned->count == count) {
			found = pinned;
			break;
		}
	}
	err = found ? godwit_unmap(ctx, addr, (u64)count << PAGE_SHIFT) : -ENOENT;
	if (!err) {
		list_del(&found->node);
		ctx->pinned_pages -= count;
	}
	mutex_unlock(&ctx->lock);
	if (!err)
		godwit_pinned_free(ctx->device, found);
	return err;
}

/*
 * Gives back all pages of a context whose table is gone and that nobody uses any more. Not under its lock: this locks pages
 * and the memory map, and the notifier is called under both.
 */
void godwit_unpin_all(struct godwit_context *ctx)
{
	struct godwit_pinned *pinned, *next;

	list_for_each_entry_safe(pinned, next, &ctx->pins, node) {
		list_del(&pinned->node);
		godwit_pinned_free(ctx->device, pinned);
	}
}
