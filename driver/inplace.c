// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of a process that the card uses where they are, in the host or in device memory: brought when an accelerator touches them (hmm_range_fault()), and
 * taken away when the process's own tables change (an interval notifier), before the process can notice.
 *
 * A page is mapped writable if the process may write it, whoever asked: the card has no second request for a page that is
 * there and may not be written. No page is pinned. What the card may have written is dirty when it is taken away.
 *
 * The notifier takes the context's lock, and may be called because somebody wants memory: nothing is allocated under that
 * lock but what need not be had.
 */
#include <linux/hmm.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat.h"
#include "entries.h"

/* How often pages that move meanwhile are looked for again. */
#define GODWIT_TRIES 1000
/* ... that only are to be shown. */
#define GODWIT_HINT_TRIES 4
/* Ranges to invalidate that are gathered before they are stretched. */
#define GODWIT_RANGES 16

/* Whether the card reaches any of these pages in device memory. */
bool godwit_inplace_any_moved(struct godwit_context *ctx, u64 first, u32 count)
{
	struct godwit_page *page;
	unsigned long index;
	bool any = false;

	mutex_lock(&ctx->lock);
	xa_for_each_range(&ctx->pages, index, page, first, first + count - 1)
		any |= page->device;
	mutex_unlock(&ctx->lock);
	return any;
}

/* Which of the pages of a block the card reaches in device memory, a bit each: GW_PREFETCH_WORDS. */
void godwit_inplace_moved(struct godwit_context *ctx, u64 first, u64 *bits)
{
	struct godwit_page *page;
	unsigned long index;

	mutex_lock(&ctx->lock);
	xa_for_each_range(&ctx->pages, index, page, first, first + GW_PREFETCH_BLOCK - 1)
		if (page->device)
			bits[(index - first) / 64] |= BIT_ULL((index - first) % 64);
	mutex_unlock(&ctx->lock);
}

/* Whether the card reaches all of these pages. */
bool godwit_inplace_has(struct godwit_context *ctx, u64 first, u32 count)
{
	struct godwit_page *page;
	unsigned long index;

	mutex_lock(&ctx->lock);
	xa_for_each_range(&ctx->pages, index, page, first, first + count - 1)
		count--;
	mutex_unlock(&ctx->lock);
	return !count;
}

/* The first page from @first on that the card reaches; @end: none before it. */
u64 godwit_inplace_next(struct godwit_context *ctx, u64 first, u64 end)
{
	unsigned long index = first;
	bool found;

	mutex_lock(&ctx->lock);
	found = xa_find(&ctx->pages, &index, end - 1, XA_PRESENT);
	mutex_unlock(&ctx->lock);
	return found ? index : end;
}

/* Takes the pages from @first to @last away, and returns when the card has forgotten them. */
void godwit_inplace_drop(struct godwit_context *ctx, unsigned long first, unsigned long last)
{
	struct gw_pt_range ranges[GODWIT_RANGES];
	struct gw_pt_inval what = { .ranges = ranges, .capacity = GODWIT_RANGES };
	struct godwit_flushed flushed = {};
	struct godwit_page *page;
	unsigned long index;
	bool failed;

	lockdep_assert_held(&ctx->lock);
	failed = !godwit_entries_unmap(ctx, &first, &last, &what);
	xa_for_each_range(&ctx->pages, index, page, first, last)
		if (!page->device)
			godwit_flushed_add(&flushed, godwit_page_place(page));
	failed |= godwit_invalidate(ctx->device, ctx->number, &what, &flushed) != 0;
	if (failed)
		/* Tables that were overwritten, or accesses that do not end, must not reach what somebody else gets. */
		pci_clear_master(ctx->device->pdev);
	else
		gw_pt_reclaim(&ctx->table);
	godwit_inplace_release(ctx, &ctx->device->pdev->dev, first, last);
}

/* Gives back pages that the card has forgotten, or whose table is gone. */
void godwit_inplace_release(struct godwit_context *ctx, struct device *dev, unsigned long first, unsigned long last)
{
	dma_addr_t settled = DMA_MAPPING_ERROR;
	struct godwit_page *page;
	unsigned long index;

	lockdep_assert_held(&ctx->lock);
	xa_for_each_range(&ctx->pages, index, page, first, last) {
		/* Neighbours are counted together, once before the first of them goes. */
		if (ctx->alive && page->counted && (page->bus ^ settled) >> GODWIT_ACCESS_GROUP_SHIFT) {
			godwit_lines_settle(ctx, page->bus);
			settled = page->bus;
		}
		godwit_page_forget(ctx, dev, index, page);
		godwit_count(ctx->device, GODWIT_EVENT_PAGES_HIDDEN, 1);
		/* It is still the process's: whoever takes it away waits for this. What comes back from the card is dirty anyway. */
		if (page->write && !page->device)
			set_page_dirty(page->page);
		kfree(page);
	}
}

static bool godwit_inplace_changes(struct mmu_interval_notifier *notifier, const struct mmu_notifier_range *range,
				   unsigned long sequence)
{
	struct godwit_context *ctx = container_of(notifier, struct godwit_context, notifier);
	unsigned long first = range->start >> PAGE_SHIFT, last = (range->end - 1) >> PAGE_SHIFT;
	/* What a processor's touch of a page is that a device has alone, of Linux before and from 6.15 on; others of the second kind are seldom. */
	bool touched = first == last && (range->event == MMU_NOTIFY_EXCLUSIVE || range->event == MMU_NOTIFY_CLEAR);

	/* Waiting for the card is waiting. */
	if (!mmu_notifier_range_blockable(range))
		return false;
	/* The card itself is to have it. */
	if (range->event == MMU_NOTIFY_EXCLUSIVE && range->owner == ctx->device)
		return true;
	if (touched && ctx->device->alone)
		godwit_alone_keep(ctx, first);
	mutex_lock(&ctx->lock);
	mmu_interval_set_seq(notifier, sequence);
	if (range->event == MMU_NOTIFY_UNMAP)
		godwit_place_ends(ctx, first, last);
	if (touched)
		last = godwit_alone_last(ctx, first);
	if (ctx->alive)
		godwit_inplace_drop(ctx, first, last);
	mutex_unlock(&ctx->lock);
	return true;
}

const struct mmu_interval_notifier_ops godwit_inplace_ops = {
	.invalidate = godwit_inplace_changes,
};

/*
 * Has the process write those of the pages found that it may write and cannot yet. -EBUSY: it has, and they are to be looked for again.
 * -ENOMEM: one of them would have been written if there was memory; it may be another time.
 */
int godwit_inplace_make_writable(struct godwit_context *ctx, const struct hmm_range *range)
{
	unsigned long i, count = (range->end - range->start) >> PAGE_SHIFT;
	int err = 0, got;

	for (i = 0; i < count && err != -ENOMEM; i++) {
		if ((range->hmm_pfns[i] & (HMM_PFN_VALID | HMM_PFN_WRITE)) != HMM_PFN_VALID)
			continue;
		got = fixup_user_fault(ctx->mm, range->start + i * PAGE_SIZE, FAULT_FLAG_WRITE, NULL);
		if (!got || got == -ENOMEM)
			err = got ? : -EBUSY;
	}
	return err;
}

/* What is wanted of each page; nothing of what the card reaches alone already, and would lose by that. */
static void godwit_want(struct godwit_context *ctx, struct hmm_range *range, unsigned long flags)
{
	unsigned long index = range->start >> PAGE_SHIFT, i, count = (range->end - range->start) >> PAGE_SHIFT;

	for (i = 0; i < count; i++)
		range->hmm_pfns[i] = ctx->device->alone && xa_load(&ctx->pages, index + i) ? 0 : flags;
	range->pfn_flags_mask = HMM_PFN_REQ_FAULT | HMM_PFN_REQ_WRITE;
}

/* Looks for pages in the process's tables that have moved; none is brought there, and nobody is waited for who moves pages. */
static int godwit_find_moved(struct godwit_context *ctx, struct hmm_range *range)
{
	range->notifier_seq = mmu_interval_read_begin(&ctx->notifier);
	godwit_want(ctx, range, 0);
	return hmm_range_fault(range);
}

/*
 * Looks for pages in the process's tables, and has them brought there: writable, if it may write them. Linux finds nothing wrong
 * with a page in device memory that may not be written yet, so that has to be seen here.
 */
static int godwit_find(struct godwit_context *ctx, struct hmm_range *range, enum godwit_bring how)
{
	int err;

	range->notifier_seq = mmu_interval_read_begin(&ctx->notifier);
	godwit_want(ctx, range, HMM_PFN_REQ_FAULT | HMM_PFN_REQ_WRITE);
	mmap_read_lock(ctx->mm);
	err = hmm_range_fault(range);
	/* What is shown as it is stays so: no access of the card asks for more later. */
	if (!err)
		err = godwit_inplace_make_writable(ctx, range);
	if (err == -EPERM && how == GODWIT_BRING_READ) {
		godwit_want(ctx, range, HMM_PFN_REQ_FAULT);
		err = hmm_range_fault(range);
	}
	mmap_read_unlock(ctx->mm);
	return err == -EPERM ? -EFAULT : err;
}

/* Has a page that was found be mapped; @fresh is taken if it is needed. */
int godwit_inplace_show(struct godwit_context *ctx, unsigned long index, struct page *found, bool write, struct godwit_page **fresh,
			struct godwit_row *row)
{
	struct godwit_page *page = *fresh;
	int err;

	lockdep_assert_held(&ctx->lock);
	if (xa_load(&ctx->pages, index))
		return 0;
	page->page = found;
	page->write = write;
	page->device = is_device_private_page(page->page);
	err = godwit_page_reach(ctx, page);
	if (err)
		return err;
	err = godwit_entries_add(ctx, row, index, page);
	if (err) {
		godwit_page_hide(&ctx->device->pdev->dev, page);
		return err;
	}
	page->counted = !page->device && godwit_place_is_auto(ctx, index) && godwit_lines_add(ctx, index, page->bus);
	*fresh = NULL;
	return 0;
}

/* Whether a page that nobody asked for is to be shown: as it is when it has moved with one that was. */
static bool godwit_has_moved(unsigned long pfn)
{
	return (pfn & (HMM_PFN_VALID | HMM_PFN_WRITE)) == (HMM_PFN_VALID | HMM_PFN_WRITE) &&
	       is_device_private_page(hmm_pfn_to_page(pfn));
}

static int godwit_show(struct godwit_context *ctx, unsigned long index, unsigned long pfn, struct godwit_page **fresh,
		       struct godwit_row *row)
{
	/* Nothing was asked of it, for the card had it. */
	if (!(pfn & HMM_PFN_VALID))
		return xa_load(&ctx->pages, index) ? 0 : -EBUSY;
	return godwit_inplace_show(ctx, index, godwit_found(index, pfn), pfn & HMM_PFN_WRITE, fresh, row);
}

/* @both: pages that cannot be the card's alone, a bit each. */
static int godwit_show_all(struct godwit_context *ctx, const struct hmm_range *range, struct godwit_page **fresh,
			   enum godwit_bring how, u64 both)
{
	unsigned long index = range->start >> PAGE_SHIFT, i, count = (range->end - range->start) >> PAGE_SHIFT;
	struct godwit_row row = {};
	int err = 0, last;

	mutex_lock(&ctx->lock);
	if (!ctx->alive)
		err = -EFAULT;
	else if (mmu_interval_read_retry(&ctx->notifier, range->notifier_seq))
		err = -EBUSY;
	for (i = 0; i < count && !err; i++)
		if (how == GODWIT_BRING_MOVED ? godwit_has_moved(range->hmm_pfns[i]) :
						both & BIT_ULL(i) || !godwit_alone_is_wanted(ctx, range->hmm_pfns[i]))
			err = godwit_show(ctx, index + i, range->hmm_pfns[i], &fresh[i], &row);
	last = godwit_entries_map(ctx, &row);
	if (row.shown)
		godwit_entries_join(ctx, index, GW_PT_ORDER_2M);
	if (row.shown && (index ^ (index + count - 1)) >> GW_PT_ORDER_2M)
		godwit_entries_join(ctx, index + count - 1, GW_PT_ORDER_2M);
	mutex_unlock(&ctx->lock);
	return err ? : last;
}

/* Shows those that are to be the card's alone, one by one. */
static int godwit_show_alone(struct godwit_context *ctx, const struct hmm_range *range, struct godwit_page **fresh, u64 *both)
{
	unsigned long index = range->start >> PAGE_SHIFT, i, count = (range->end - range->start) >> PAGE_SHIFT;
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		if (*both & BIT_ULL(i) || !fresh[i] || !godwit_alone_is_wanted(ctx, range->hmm_pfns[i]))
			continue;
		err = godwit_alone_show(ctx, index + i, &fresh[i]);
		if (err != -EOPNOTSUPP)
			continue;
		*both |= BIT_ULL(i);
		err = -EBUSY;
	}
	return err;
}

/*
 * Brings or shows pages, with room for what is made and found of each; the memory map's lock is held for those that have moved. After an
 * error some of them may be there.
 */
static int godwit_show_with(struct godwit_context *ctx, u64 first, u32 count, enum godwit_bring how, int tries,
			    struct godwit_page **fresh, unsigned long *pfns)
{
	struct hmm_range range = {
		.notifier = &ctx->notifier,
		.start = first << PAGE_SHIFT,
		.end = (first + count) << PAGE_SHIFT,
		.hmm_pfns = pfns,
		.dev_private_owner = ctx->device->pool,
	};
	u64 both = 0;
	int err = 0;
	u32 i;

	for (i = 0; i < count && !err; i++) {
		fresh[i] = godwit_fails(ctx->device) ? NULL : kzalloc(sizeof(*fresh[i]), GFP_KERNEL);
		err = fresh[i] ? xa_reserve(&ctx->pages, first + i, GFP_KERNEL) : -ENOMEM;
	}
	while (!err) {
		err = how == GODWIT_BRING_MOVED ? godwit_find_moved(ctx, &range) : godwit_find(ctx, &range, how);
		if (!err)
			err = godwit_show_all(ctx, &range, fresh, how, both);
		if (!err && how != GODWIT_BRING_MOVED)
			err = godwit_show_alone(ctx, &range, fresh, &both);
		if (err != -EBUSY || !--tries)
			break;
		err = READ_ONCE(ctx->device->going) ? -ENODEV : 0;
		cond_resched();
	}
	for (i = 0; i < count; i++) {
		/* A place that was not taken. */
		xa_release(&ctx->pages, first + i);
		kfree(fresh[i]);
	}
	return err;
}

static int godwit_show_found(struct godwit_context *ctx, u64 first, u32 count, enum godwit_bring how, int tries)
{
	struct godwit_page *fresh[GODWIT_STEP_PAGES] = {};
	unsigned long pfns[GODWIT_STEP_PAGES] = {};

	return godwit_show_with(ctx, first, count, how, tries, fresh, pfns);
}

/* Shows a folio that has moved, in one go: it has one entry from the first. Without room for that it is shown like others. */
static bool godwit_show_whole(struct godwit_context *ctx, u64 first, u32 count)
{
	struct godwit_page **fresh = kvcalloc(count, sizeof(*fresh) + sizeof(unsigned long), GFP_KERNEL | __GFP_NOWARN);
	int err;

	if (!fresh)
		return false;
	err = godwit_show_with(ctx, first, count, GODWIT_BRING_MOVED, GODWIT_HINT_TRIES, fresh, (void *)(fresh + count));
	kvfree(fresh);
	return !err;
}

/* Brings pages of the process for the card. -EFAULT: there are none, or it is not allowed. */
int godwit_inplace_bring(struct godwit_context *ctx, u64 first, u32 count, enum godwit_bring how)
{
	int err;

	if (WARN_ON_ONCE(count > GODWIT_STEP_PAGES))
		return -EINVAL;
	if (first + count > BIT_ULL(ctx->device->va_bits - PAGE_SHIFT) ||
	    godwit_heap_is_at(ctx->device, first << PAGE_SHIFT, (first + count) << PAGE_SHIFT) || !mmget_not_zero(ctx->mm))
		return -EFAULT;
	err = godwit_show_found(ctx, first, count, how, GODWIT_TRIES);
	mmput(ctx->mm);
	return err;
}

/*
 * Shows the card what has moved to it, @whole, and may be written: a hint, so nothing is wrong with what is not shown. The memory map's
 * lock is held, and pages of the process may be under way.
 */
void godwit_inplace_show_moved(struct godwit_context *ctx, u64 first, u64 count, bool whole)
{
	u64 end = first + count;
	u32 step;

	if (whole && godwit_show_whole(ctx, first, count))
		return;

	for (; first < end; first += step) {
		step = min_t(u64, end - first, GODWIT_STEP_PAGES - first % GODWIT_STEP_PAGES);
		if (godwit_show_found(ctx, first, step, GODWIT_BRING_MOVED, GODWIT_HINT_TRIES))
			return;
	}
}
