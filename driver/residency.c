// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the pages of a program are, as its own tables (hmm_range_fault(), which brings nothing here) and the card's have it.
 * What is said of the pages of one step was true of all of them at one moment, which is over when the program hears of it.
 */
#include <linux/hmm.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "entries.h"

/* Pages of one step. */
#define GODWIT_LOOK_PAGES 256
/* How often pages that move meanwhile are looked for again. */
#define GODWIT_LOOK_TRIES 1000

/**
 * struct godwit_look - a step
 * @pfns: of hmm_range_fault()
 * @places: what is said of each
 */
struct godwit_look {
	unsigned long pfns[GODWIT_LOOK_PAGES];
	u8 places[GODWIT_LOOK_PAGES];
};

static u8 godwit_place(struct godwit_context *ctx, unsigned long index, unsigned long pfn)
{
	const struct godwit_page *page = xa_load(&ctx->pages, index);
	u8 place = GODWIT_PLACE_NONE;

	/* No processor reaches it, so Linux does not say where it is. */
	if (page && page->alone)
		return GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN;
	if (pfn & HMM_PFN_ERROR || !(pfn & HMM_PFN_VALID))
		return place;
	place = is_device_private_page(hmm_pfn_to_page(pfn)) ? GODWIT_PLACE_CARD : GODWIT_PLACE_HOST;
	return page ? place | GODWIT_PLACE_SHOWN : place;
}

/* One look at the pages of a range; -EBUSY: they moved meanwhile. */
static int godwit_look_once(struct godwit_context *ctx, struct hmm_range *range, struct godwit_look *look)
{
	unsigned long index = range->start >> PAGE_SHIFT, count = (range->end - range->start) >> PAGE_SHIFT, i;
	int err;

	range->notifier_seq = mmu_interval_read_begin(&ctx->notifier);
	mmap_read_lock(ctx->mm);
	err = hmm_range_fault(range);
	mmap_read_unlock(ctx->mm);
	if (err)
		return err;
	mutex_lock(&ctx->lock);
	if (!ctx->alive)
		err = -ENODEV;
	else if (mmu_interval_read_retry(&ctx->notifier, range->notifier_seq))
		err = -EBUSY;
	for (i = 0; i < count && !err; i++)
		look->places[i] = godwit_place(ctx, index + i, range->hmm_pfns[i]);
	mutex_unlock(&ctx->lock);
	return err;
}

static int godwit_look_at(struct godwit_context *ctx, u64 start, u64 end, struct godwit_look *look)
{
	struct hmm_range range = {
		.notifier = &ctx->notifier,
		.start = start,
		.end = end,
		.hmm_pfns = look->pfns,
		.dev_private_owner = ctx->device->pool,
	};
	int err = -EBUSY, tries;

	for (tries = 0; err == -EBUSY && tries < GODWIT_LOOK_TRIES; tries++) {
		if (READ_ONCE(ctx->device->going))
			return -ENODEV;
		if (fatal_signal_pending(current))
			return -EINTR;
		/* What is not asked for is not brought; what was found before is no request. */
		memset(look->pfns, 0, sizeof(look->pfns));
		err = godwit_look_once(ctx, &range, look);
		cond_resched();
	}
	return err;
}

/* Says where each page of a range is. */
int godwit_residency(struct godwit_context *ctx, const struct godwit_residency *what)
{
	u64 at = what->addr & PAGE_MASK, end = PAGE_ALIGN(what->addr + what->size);
	u8 __user *places = u64_to_user_ptr(what->places);
	struct godwit_look *look;
	int err = 0;

	if (what->reserved || !what->size || what->addr + what->size < what->addr || end < at ||
	    end > BIT_ULL(ctx->device->va_bits))
		return -EINVAL;
	if (!ctx->device->demand)
		return -EOPNOTSUPP;
	if (!mmget_not_zero(ctx->mm))
		return -EFAULT;
	look = kmalloc(sizeof(*look), GFP_KERNEL);
	if (!look)
		err = -ENOMEM;
	while (at < end && !err) {
		u64 next = min_t(u64, end, at + GODWIT_LOOK_PAGES * PAGE_SIZE);
		size_t count = (next - at) >> PAGE_SHIFT;

		err = godwit_look_at(ctx, at, next, look);
		if (!err && copy_to_user(places, look->places, count))
			err = -EFAULT;
		places += count;
		at = next;
	}
	kfree(look);
	mmput(ctx->mm);
	return err;
}
