// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages that nobody has asked for yet: of a walk through memory that core sees in what was asked for, and around a page once its
 * neighbourhood is used much. They move after all that was asked for is there and answered, so that nobody waits for them; who
 * asks for one meanwhile finds it.
 *
 * All of this is done by the MMU's interrupt thread alone.
 */
#include <linux/minmax.h>
#include <linux/sched/mm.h>

#include "driver.h"

/* A plan takes no more than such a part of the pool: what it brings shall not keep out what is asked for. */
#define GODWIT_AHEAD_SHARE 8

static u32 godwit_ahead_most(struct godwit_device *gdev)
{
	u64 pool = godwit_pool_bytes(gdev) >> PAGE_SHIFT;

	return min_t(u64, READ_ONCE(godwit_param_ahead_pages), pool / GODWIT_AHEAD_SHARE);
}

/* The area of a page, in pages; false without one. */
static bool godwit_ahead_limits(struct godwit_context *ctx, struct gw_prefetch_fault *fault)
{
	struct vm_area_struct *vma;

	if (!mmget_not_zero(ctx->mm))
		return false;
	mmap_read_lock(ctx->mm);
	vma = vma_lookup(ctx->mm, fault->page << PAGE_SHIFT);
	if (vma) {
		fault->first = vma->vm_start >> PAGE_SHIFT;
		fault->last = (vma->vm_end >> PAGE_SHIFT) - 1;
	}
	mmap_read_unlock(ctx->mm);
	mmput(ctx->mm);
	return vma;
}

/* Whether a plan of this batch has a page already. */
static bool godwit_ahead_has(const struct godwit_pages *pages, u32 context, u64 page)
{
	u32 i;

	for (i = 0; i < pages->plan_count; i++) {
		const struct gw_prefetch_plan *plan = &pages->plans[i].plan;
		s64 away = page - plan->page;

		if (pages->plans[i].context == context && away % plan->stride == 0 && away / plan->stride >= 0 &&
		    away / plan->stride < plan->count)
			return true;
	}
	return false;
}

/* A page was asked for, and is to move: what is likely to be next is taken down. */
void godwit_ahead_note(struct godwit_context *ctx, u64 page)
{
	struct godwit_pages *pages = &ctx->device->pages;
	struct gw_prefetch_fault fault = { .page = page, .context = ctx->number };
	struct gw_prefetch_block block = {};
	u32 most = godwit_ahead_most(ctx->device), worth = READ_ONCE(godwit_param_bring_pages);

	if (!most || pages->plan_count == GODWIT_BATCH || godwit_ahead_has(pages, ctx->number, page) ||
	    !godwit_ahead_limits(ctx, &fault))
		return;
	if (ctx->ahead.fault_pages != worth)
		gw_prefetch_init(&ctx->ahead, worth, most);
	gw_prefetch_limit(&ctx->ahead, most, false);
	/* Nothing says which of the pages there were accessed: all count as used. */
	godwit_inplace_moved(ctx, round_down(page, GW_PREFETCH_BLOCK), block.resident);
	memcpy(block.used, block.resident, sizeof(block.used));
	pages->plans[pages->plan_count].context = ctx->number;
	gw_prefetch_plan(&ctx->ahead, &fault, &block, &pages->plans[pages->plan_count++].plan);
}

/* How far pages from @first on, of which the card has none, are to move together: nothing else was said or shown of any. */
static u64 godwit_ahead_reach(struct godwit_context *ctx, u64 first, u64 end)
{
	u64 stop;

	for (; first < end; first = stop) {
		stop = min(end, round_down(first, GODWIT_STEP_PAGES) + GODWIT_STEP_PAGES);
		if (!godwit_place_lets(ctx, first, stop - first))
			break;
	}
	return first;
}

/* Moves and shows pages in a row, as far as they are to move. */
static void godwit_ahead_bring(struct godwit_context *ctx, u64 first, u64 count)
{
	u64 end = first + count, stop;

	for (; first < end && !READ_ONCE(ctx->device->going); first = stop) {
		/* Moving a page takes what is shown around it from the card for a moment. */
		u64 shown = godwit_inplace_next(ctx, first, end);

		stop = godwit_ahead_reach(ctx, first, shown);
		if (stop != first)
			godwit_migrate_asked(ctx, first, stop - first);
		else if (shown == first)
			stop = first + 1;
		else
			stop = min(shown, round_down(first, GODWIT_STEP_PAGES) + GODWIT_STEP_PAGES);
	}
}

/* Does what was taken down. */
void godwit_ahead_run(struct godwit_device *gdev)
{
	struct godwit_pages *pages = &gdev->pages;
	u32 i, k;

	for (i = 0; i < pages->plan_count; i++) {
		const struct gw_prefetch_plan *plan = &pages->plans[i].plan;
		struct godwit_context *ctx = godwit_context_get(gdev, pages->plans[i].context);

		if (!ctx)
			continue;
		if (plan->stride == 1)
			godwit_ahead_bring(ctx, plan->page, plan->count);
		else if (plan->stride == -1)
			godwit_ahead_bring(ctx, plan->page - plan->count + 1, plan->count);
		else
			for (k = 0; k < plan->count; k++)
				godwit_ahead_bring(ctx, plan->page + k * plan->stride, 1);
		godwit_context_put(ctx);
	}
	pages->plan_count = 0;
}
