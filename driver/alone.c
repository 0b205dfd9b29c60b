// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages in place that are the card's alone. A page cache keeps and writes whole lines of 64 bytes: what a processor writes in a line of which the
 * card has written other bytes would be lost. So on a card with one, a page that the card may write is taken from the processors
 * (Linux's device-exclusive access); one that touches it waits until the card has it no more, and all of its lines are written, and goes on.
 *
 * DOC: which pages
 *   Anonymous memory of one process. What has a file, is shared with other processes, or is of hugetlbfs cannot be taken, nor, before Linux
 *   6.15, pages of a large folio; nor can any on a kernel without device-private memory. These are both sides' at the same time, as are pages
 *   that are pinned, and those that nobody may write.
 *
 * DOC: turns
 *   The page's lock is held from when it is taken until the card has it, so who touches it meanwhile waits. From then on the card has it for
 *   `alone_us` at least: the access that it was taken for would come too late otherwise, again and again. Who walks through memory that the card
 *   has alone has more and more pages taken from it in one go (core's around), and touches each of them by itself all the same.
 *
 * DOC: locking
 *   The memory map's lock, while the page is taken; the page's, from then on; under it the context's. A touch has the page's lock when it comes
 *   to the notifier, too.
 */
#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/hmm.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>

#include "compat.h"
#include "entries.h"

void godwit_alone_init(struct godwit_device *gdev)
{
	gdev->alone = gdev->demand && gdev->queue.caches && IS_ENABLED(CONFIG_DEVICE_PRIVATE);
	if (gdev->demand && gdev->queue.caches && !gdev->alone)
		dev_warn(&gdev->pdev->dev, "this kernel gives no page to the card alone: of a line of 64 bytes that the card and a processor write at the same time, something may be lost\n");
}

/* Whether a page that was found is to be the card's alone. */
bool godwit_alone_is_wanted(const struct godwit_context *ctx, unsigned long pfn)
{
	struct page *page;

	if (!ctx->device->alone || (pfn & (HMM_PFN_VALID | HMM_PFN_WRITE)) != (HMM_PFN_VALID | HMM_PFN_WRITE))
		return false;
	page = hmm_pfn_to_page(pfn);
	return !is_device_private_page(page) && godwit_can_be_alone(page);
}

/* Shows the card a page that no processor reaches until it touches it. -EBUSY: look again; -EOPNOTSUPP: it cannot be alone. */
int godwit_alone_show(struct godwit_context *ctx, unsigned long index, struct godwit_page **fresh)
{
	unsigned long sequence = mmu_interval_read_begin(&ctx->notifier);
	struct godwit_row row = {};
	struct page *page;
	int err = 0, last;

	mmap_read_lock(ctx->mm);
	page = godwit_take_alone(ctx->mm, index << PAGE_SHIFT, ctx->device);
	mmap_read_unlock(ctx->mm);
	if (IS_ERR(page))
		return PTR_ERR(page) == -EOPNOTSUPP || PTR_ERR(page) == -ENOMEM ? PTR_ERR(page) : -EBUSY;
	mutex_lock(&ctx->lock);
	if (!ctx->alive)
		err = -EFAULT;
	else if (mmu_interval_read_retry(&ctx->notifier, sequence))
		err = -EBUSY;
	else
		err = godwit_inplace_show(ctx, index, page, true, fresh, &row);
	last = godwit_entries_map(ctx, &row);
	if (row.shown) {
		struct godwit_page *shown = xa_load(&ctx->pages, index);

		shown->alone = true;
		shown->since_ns = ktime_get_ns();
		godwit_count(ctx->device, GODWIT_EVENT_PAGES_ALONE, 1);
	}
	mutex_unlock(&ctx->lock);
	unlock_page(page);
	put_page(page);
	return err ? : last;
}

/* How long the card is to have a page yet that a processor touches, in nanoseconds. */
static s64 godwit_alone_left(struct godwit_context *ctx, unsigned long index)
{
	struct godwit_page *page;
	s64 left = 0;

	mutex_lock(&ctx->lock);
	page = xa_load(&ctx->pages, index);
	if (page && page->alone)
		left = page->since_ns + READ_ONCE(godwit_param_alone_us) * NSEC_PER_USEC - ktime_get_ns();
	mutex_unlock(&ctx->lock);
	return left;
}

/* A processor touches a page that may be the card's alone: it waits while that is its turn. */
void godwit_alone_keep(struct godwit_context *ctx, unsigned long index)
{
	s64 left = godwit_alone_left(ctx, index);

	if (left <= 0 || READ_ONCE(ctx->device->going))
		return;
	left = DIV_ROUND_UP_ULL(left, NSEC_PER_USEC);
	usleep_range(left, left + left / 4);
}

/* The last page that goes with one that a processor touches: where it walks through memory, those that it is likely to touch next. */
unsigned long godwit_alone_last(struct godwit_context *ctx, unsigned long index)
{
	struct godwit_page *page = xa_load(&ctx->pages, index);
	unsigned long last = index;
	u64 first, end;

	lockdep_assert_held(&ctx->lock);
	if (!page || !page->alone)
		return last;
	godwit_count(ctx->device, GODWIT_EVENT_ALONE_TOUCHES, 1);
	end = index + gw_around_touched(&ctx->around, 0, index, 1, GODWIT_BRING_PAGES, &first);
	while (last + 1 < end && (page = xa_load(&ctx->pages, last + 1)) && page->alone)
		last++;
	return last;
}

/* Which of the pages from @first to @last are the card's alone, a bit each; these are taken from it in one go. */
static u64 godwit_alone_drop(struct godwit_context *ctx, unsigned long first, unsigned long last)
{
	unsigned long index, lowest = last, highest = first;
	struct godwit_page *page;
	u64 alone = 0;

	mutex_lock(&ctx->lock);
	xa_for_each_range(&ctx->pages, index, page, first, last) {
		if (!page->alone)
			continue;
		alone |= BIT_ULL(index - first);
		lowest = min(lowest, index);
		highest = index;
	}
	if (alone && ctx->alive)
		godwit_inplace_drop(ctx, lowest, highest);
	mutex_unlock(&ctx->lock);
	return alone;
}

/*
 * Gives pages that are the card's alone back to the process, for Linux moves none of these. The memory map's lock is held, and nothing is
 * under way.
 */
void godwit_alone_end(struct godwit_context *ctx, u64 first, u64 end)
{
	u64 next, alone;

	for (; ctx->device->alone && (first = godwit_inplace_next(ctx, first, end)) < end; first = next) {
		next = min_t(u64, end, first + GODWIT_STEP_PAGES);
		for (alone = godwit_alone_drop(ctx, first, next - 1); alone; alone &= alone - 1)
			fixup_user_fault(ctx->mm, (first + __ffs64(alone)) << PAGE_SHIFT, 0, NULL);
	}
}
