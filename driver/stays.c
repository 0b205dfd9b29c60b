// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of which a program says that the driver is to decide where it is used (GODWIT_ADVICE_AUTO), group by group of 64 KiB: core's
 * stays decide, by the lines of them that cross the link (lines.c).
 *
 * DOC: where a stay begins and ends
 *   It begins with the card's request for a page of a group that has none under way. On the card it has ended when none of its pages is in
 *   device memory any more; that is seen at the next request. In place the same is seen of pages that are the card's alone (alone.c): a touch
 *   takes them away. Of others nothing shows when a processor uses them, for both sides reach them: so a stay in place is taken to last for as
 *   many launches of the context as the last one on the card did, which a touch ended; as long as there was none, until it moves. A report
 *   that comes after several such times is shared out among them.
 *
 * DOC: costs
 *   Of the link and of the host's work, by the parameters; both ways, for what comes home is always copied: the host keeps no page of what is
 *   on the card.
 *
 * Records are under the lock of the xarray that they are in. All is done by the MMU's interrupt thread, but for what ends with its memory or
 * with other advice.
 */
#include <linux/hmm.h>
#include <linux/math64.h>
#include <linux/memremap.h>
#include <linux/minmax.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "driver.h"
#include "stays.h"
#include "trace.h"

/* Looks at pages that move meanwhile. */
#define GODWIT_THERE_TRIES 4

/**
 * struct godwit_stay - a group of a context
 * @stay: core's
 * @since: launches of the context when this stay began
 * @lasts: launches that the last stay on the card took; 0: none has ended
 */
struct godwit_stay {
	struct gw_stay stay;
	u32 since;
	u32 lasts;
};

/* Picoseconds of so many bytes by the link's rate. */
static u64 godwit_link_ps(u32 bytes)
{
	return div_u64(bytes * 1000000ull, READ_ONCE(godwit_param_link_mbps));
}

static u64 godwit_latency_ps(void)
{
	return READ_ONCE(godwit_param_link_latency_ns) * 1000ull;
}

/* What a line costs when the link is full. */
u64 godwit_stay_line_least(void)
{
	return max(godwit_link_ps(GODWIT_LINE_BYTES), 1ull);
}

/* ... and when it is waited for alone. */
u64 godwit_stay_line_most(void)
{
	return godwit_stay_line_least() + godwit_latency_ps();
}

void godwit_stay_costs(struct gw_stay_costs *costs, u64 line_ps)
{
	u64 leave_ns = READ_ONCE(godwit_param_leave_ns) + (u64)READ_ONCE(godwit_param_leave_page_ns) * GODWIT_STAY_PAGES;

	costs->line = line_ps;
	costs->begin = 2 * (godwit_latency_ps() + godwit_link_ps(GODWIT_STAY_PAGES * PAGE_SIZE));
	costs->move = costs->begin + leave_ns * 1000;
}

static void godwit_stay_costs_of(struct godwit_context *ctx, struct gw_stay_costs *costs)
{
	godwit_stay_costs(costs, godwit_lines_cost(ctx->device));
}

static void godwit_stay_begin(struct godwit_context *ctx, struct godwit_stay *record)
{
	gw_stay_begin(&record->stay);
	record->since = atomic_read(&ctx->launches);
}

/* Stays in place since this one began, this one included: a processor is likely to have ended the others. */
static u32 godwit_stay_turns(struct godwit_context *ctx, const struct godwit_stay *record)
{
	u32 launches = (u32)atomic_read(&ctx->launches) - record->since + 1;

	return record->lasts ? max(DIV_ROUND_UP(launches, record->lasts), 1u) : 1;
}

/* Whether any page of a group is in this card's memory. */
static bool godwit_stay_is_there(struct godwit_context *ctx, u64 group)
{
	unsigned long pfns[GODWIT_STAY_PAGES], i;
	struct hmm_range range = {
		.notifier = &ctx->notifier,
		.start = group * GODWIT_STAY_PAGES << PAGE_SHIFT,
		.end = (group + 1) * GODWIT_STAY_PAGES << PAGE_SHIFT,
		.hmm_pfns = pfns,
		.dev_private_owner = ctx->device->pool,
	};
	int err = -EBUSY, tries;
	bool there = false;

	if (!mmget_not_zero(ctx->mm))
		return false;
	for (tries = 0; err == -EBUSY && tries < GODWIT_THERE_TRIES; tries++) {
		/* What is not asked for is not brought. */
		memset(pfns, 0, sizeof(pfns));
		range.notifier_seq = mmu_interval_read_begin(&ctx->notifier);
		mmap_read_lock(ctx->mm);
		err = hmm_range_fault(&range);
		mmap_read_unlock(ctx->mm);
	}
	mmput(ctx->mm);
	/* What moves all the time is looked at with the next request. */
	if (err)
		return true;
	for (i = 0; i < GODWIT_STAY_PAGES && !there; i++)
		there = pfns[i] & HMM_PFN_VALID && is_device_private_page(hmm_pfn_to_page(pfns[i]));
	return there;
}

/* A group's record, of which nothing is known at first; NULL: there is no memory for it. */
static struct godwit_stay *godwit_stay_get(struct godwit_context *ctx, u64 group)
{
	struct godwit_stay *record, *fresh = NULL;

	lockdep_assert_held(&ctx->stays.xa_lock);
	record = xa_load(&ctx->stays, group);
	if (record)
		return record;
	fresh = kzalloc(sizeof(*fresh), GFP_NOWAIT | __GFP_NOWARN);
	if (!fresh || xa_err(__xa_store(&ctx->stays, group, fresh, GFP_NOWAIT | __GFP_NOWARN))) {
		kfree(fresh);
		return NULL;
	}
	return fresh;
}

static bool godwit_stay_is_on_card(struct godwit_context *ctx, u64 group)
{
	struct godwit_stay *record;
	bool on_card;

	xa_lock(&ctx->stays);
	record = xa_load(&ctx->stays, group);
	on_card = record && record->stay.place == GW_STAY_DEVICE;
	xa_unlock(&ctx->stays);
	return on_card;
}

/* Whether processors have taken back all of a group that was in place. */
static bool godwit_stay_is_taken(struct godwit_context *ctx, u64 group)
{
	u64 first = group * GODWIT_STAY_PAGES, end = first + GODWIT_STAY_PAGES;

	return ctx->device->alone && godwit_inplace_next(ctx, first, end) == end;
}

/* The card asks for a page of a group: whether that is to move to it. What of it is with the card is still there, or has come home. */
bool godwit_stay_moves(struct godwit_context *ctx, u64 page)
{
	u64 group = page / GODWIT_STAY_PAGES;
	bool taken = godwit_stay_is_taken(ctx, group);
	bool home = godwit_stay_is_on_card(ctx, group) && !godwit_stay_is_there(ctx, group), moves = false;
	struct gw_stay_costs costs;
	struct godwit_stay *record;

	godwit_stay_costs_of(ctx, &costs);
	xa_lock(&ctx->stays);
	record = godwit_stay_get(ctx, group);
	if (!record)
		goto unlock;
	if (home && record->stay.place == GW_STAY_DEVICE) {
		record->lasts = max((u32)atomic_read(&ctx->launches) - record->since, 1u);
		gw_stay_end(&record->stay, &costs, false, group);
	} else if (taken && record->stay.place == GW_STAY_IN_PLACE) {
		gw_stay_end(&record->stay, &costs, false, group);
	}
	if (record->stay.place == GW_STAY_HOME)
		godwit_stay_begin(ctx, record);
	moves = record->stay.place == GW_STAY_DEVICE;
unlock:
	xa_unlock(&ctx->stays);
	return moves;
}

/* Pages of a group are on the card now. */
void godwit_stay_went(struct godwit_context *ctx, u64 page)
{
	struct godwit_stay *record;

	xa_lock(&ctx->stays);
	record = xa_load(&ctx->stays, page / GODWIT_STAY_PAGES);
	if (record && record->stay.place == GW_STAY_IN_PLACE) {
		gw_stay_moved(&record->stay);
		record->since = atomic_read(&ctx->launches);
	}
	xa_unlock(&ctx->stays);
}

/* They were to go, and none did. */
void godwit_stay_refused(struct godwit_context *ctx, u64 page)
{
	struct godwit_stay *record;

	godwit_count(ctx->device, GODWIT_EVENT_STAYS_REFUSED, 1);
	xa_lock(&ctx->stays);
	record = xa_load(&ctx->stays, page / GODWIT_STAY_PAGES);
	if (record) {
		gw_stay_refused(&record->stay);
		record->since = atomic_read(&ctx->launches);
	}
	xa_unlock(&ctx->stays);
}

/* Lines of a group that nobody has reported when pages are taken from the card. */
void godwit_stay_left(struct godwit_context *ctx, u64 group, u32 lines)
{
	struct godwit_stay *record;

	xa_lock(&ctx->stays);
	record = xa_load(&ctx->stays, group);
	if (record)
		gw_stay_crossed(&record->stay, lines);
	xa_unlock(&ctx->stays);
}

/* Whether a group in place is to move now that so many lines of it more have crossed the link. */
static bool godwit_stay_is_due(struct godwit_context *ctx, u64 group, u32 lines)
{
	struct gw_stay_costs costs;
	struct godwit_stay *record;
	bool due = false;
	u32 turns;

	godwit_stay_costs_of(ctx, &costs);
	xa_lock(&ctx->stays);
	record = xa_load(&ctx->stays, group);
	if (record && record->stay.place == GW_STAY_IN_PLACE) {
		turns = godwit_stay_turns(ctx, record);
		gw_stay_crossed(&record->stay, lines / turns);
		if (turns > 1) {
			gw_stay_end(&record->stay, &costs, false, group);
			godwit_stay_begin(ctx, record);
		}
		due = record->stay.place == GW_STAY_DEVICE || gw_stay_due(&record->stay, &costs);
	}
	xa_unlock(&ctx->stays);
	return due;
}

/* Lines of a group have crossed the link: it moves, where kernels that use it go on waiting, when they have cost as much as that. */
void godwit_stay_crossed(struct godwit_context *ctx, u64 group, u32 lines)
{
	u64 first = group * GODWIT_STAY_PAGES, end = first + GODWIT_STAY_PAGES, at, stop;

	if (!godwit_stay_is_due(ctx, group, lines))
		return;
	/* Of some of its pages something else may have been said. */
	for (at = first; at < end; at = stop) {
		stop = godwit_place_alike(ctx, at, end);
		if (godwit_place_is_auto(ctx, at))
			godwit_migrate_asked(ctx, at, stop - at);
	}
	trace_godwit_stay(ctx->device->id, ctx->number, first, godwit_inplace_any_moved(ctx, first, GODWIT_STAY_PAGES));
	if (!godwit_inplace_any_moved(ctx, first, GODWIT_STAY_PAGES)) {
		godwit_stay_refused(ctx, first);
		return;
	}
	godwit_count(ctx->device, GODWIT_EVENT_STAYS_MOVED, 1);
	godwit_stay_went(ctx, first);
}

/* Nothing is known of pages any more: their memory is gone, or something else was said of them. */
void godwit_stays_forget(struct godwit_context *ctx, u64 first, u64 last)
{
	struct godwit_stay *record;
	unsigned long group;

	xa_lock(&ctx->stays);
	xa_for_each_range(&ctx->stays, group, record, first / GODWIT_STAY_PAGES, last / GODWIT_STAY_PAGES) {
		__xa_erase(&ctx->stays, group);
		kfree(record);
	}
	xa_unlock(&ctx->stays);
}
