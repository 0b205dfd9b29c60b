// SPDX-License-Identifier: GPL-2.0-only
/*
 * The access counters of a card: how many lines each 64 KiB of host memory have moved over the link, and what that says of the memory of
 * programs that leave it to the driver where it is to be (stays.c).
 *
 * DOC: whose lines
 *   The card counts physical memory, and a process has that by pages. So a page whose lines matter is written down when the card gets to
 *   see it, and the lines of 64 KiB are shared out evenly among the pages in them that were. That is exact for memory that Linux gave in
 *   such pieces, as it does with huge pages, nearly so for neighbours that are neighbours there, and an average for what is scattered.
 *   What is counted when the first of them comes was others', whom nobody asks about it, and is forgotten. Before one goes they have what was
 *   counted and not reported yet; where other contexts have pages there, too, which cannot be told then, it waits for a report.
 *
 * DOC: what a line costs
 *   At least its bytes by the link's rate, at most the latency more. In between it is measured: the time from a launch's begin to a report,
 *   less what the driver took for pages meanwhile, by the lines that crossed the link in it. Kernels that run together share that.
 *
 * Reports are served in the MMU's interrupt thread.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "driver.h"
#include "stays.h"
#include "trace.h"

/* Pages of a group that is counted together. */
#define GODWIT_COUNTED_SHIFT (GODWIT_ACCESS_GROUP_SHIFT - PAGE_SHIFT)
#define GODWIT_COUNTED_PAGES (1u << GODWIT_COUNTED_SHIFT)
/* Fewest lines that make a report: one takes the host longer than so many take on the link. */
#define GODWIT_LINES_FEWEST 16u
/* The same, as long as nobody knows what a line costs. */
#define GODWIT_LINES_FIRST 64u
/* Reports of one look. */
#define GODWIT_LINES_REPORTS 16
/* Of the record of a page: its number; above it, its context's. */
#define GODWIT_USER_BITS 48
#define GODWIT_USER_PAGE GENMASK_ULL(GODWIT_USER_BITS - 1, 0)

#define GODWIT_COUNTERS_ON (GW_MMU__ACCESS_COUNTERS__CONTROL__ENABLE_bm | GW_MMU__ACCESS_COUNTERS__CONTROL__IRQ_ENABLE_bm)
#define GODWIT_REPORT_VALID BIT(31)

/**
 * struct godwit_share - pages of a group of a context, and what they have of a report
 * @context: its number
 * @group: of GODWIT_STAY_PAGES
 * @lines: over the link
 */
struct godwit_share {
	u32 context;
	u64 group;
	u32 lines;
};

static void *godwit_user(const struct godwit_context *ctx, u64 page)
{
	return xa_mk_value((unsigned long)ctx->number << GODWIT_USER_BITS | page);
}

/* Lines that have crossed the link, modulo 2^32. */
static u32 godwit_lines_crossed(struct godwit_device *gdev)
{
	return godwit_read(gdev, GODWIT_MMU(cache_counters.fills)) + godwit_read(gdev, GODWIT_MMU(cache_counters.writebacks));
}

/* Has a group counted from zero. */
static void godwit_lines_clear(struct godwit_device *gdev, u64 group)
{
	lockdep_assert_held(&gdev->lines.lock);
	godwit_write64(gdev, GODWIT_MMU(access_counters.clear_group), group);
}

/* What the group had that was cleared last. */
static u32 godwit_lines_cleared(struct godwit_device *gdev)
{
	u32 lines = godwit_read(gdev, GODWIT_MMU(access_counters.cleared_lines));

	return lower_16_bits(lines) + upper_16_bits(lines);
}

/* No finer than what would change the mind of who decides: what moving a group costs at least, and a quarter, for the next measurement may be lower. */
static void godwit_lines_set_threshold(struct godwit_device *gdev)
{
	struct godwit_lines *lines = &gdev->lines;
	u32 threshold = GODWIT_LINES_FIRST;
	struct gw_stay_costs costs;

	if (lines->line_ps) {
		godwit_stay_costs(&costs, lines->line_ps);
		threshold = clamp_t(u64, div64_u64(costs.begin + costs.begin / 4, lines->line_ps), GODWIT_LINES_FEWEST,
				    GW_MMU__ACCESS_COUNTERS__THRESHOLD__LINES_bm);
	}
	if (threshold == lines->threshold)
		return;
	lines->threshold = threshold;
	godwit_write(gdev, GODWIT_MMU(access_counters.threshold), threshold);
}

static void godwit_lines_mark(struct godwit_device *gdev)
{
	gdev->lines.mark_ns = ktime_get_ns();
	gdev->lines.mark_lines = godwit_lines_crossed(gdev);
	gdev->lines.served_ns = 0;
}

static void godwit_lines_measure(struct godwit_device *gdev)
{
	struct godwit_lines *lines = &gdev->lines;
	u32 crossed = godwit_lines_crossed(gdev) - lines->mark_lines;
	u64 took = ktime_get_ns() - lines->mark_ns;

	took -= min(took, lines->served_ns);
	/* A few say little, once something is known; somebody may have set the card's counts to zero. */
	if (crossed < (lines->line_ps ? GODWIT_LINES_FIRST : 1) || crossed > S32_MAX)
		return;
	/* An hour of a kernel's time is beyond what a line can cost. */
	took = min_t(u64, took, 3600ull * NSEC_PER_SEC);
	lines->line_ps = clamp_t(u64, div_u64(took * 1000, crossed), godwit_stay_line_least(), godwit_stay_line_most());
	godwit_lines_mark(gdev);
	godwit_lines_set_threshold(gdev);
}

/* A launch is about to begin. */
void godwit_lines_begin(struct godwit_device *gdev)
{
	if (!gdev->lines.on)
		return;
	mutex_lock(&gdev->lines.lock);
	godwit_lines_mark(gdev);
	mutex_unlock(&gdev->lines.lock);
}

/* From @since_ns to now kernels may have waited for pages. */
void godwit_lines_served(struct godwit_device *gdev, u64 since_ns)
{
	if (!gdev->lines.on)
		return;
	mutex_lock(&gdev->lines.lock);
	/* What was before the mark is not in what is measured. */
	gdev->lines.served_ns += ktime_get_ns() - max(since_ns, gdev->lines.mark_ns);
	mutex_unlock(&gdev->lines.lock);
}

u64 godwit_lines_cost(struct godwit_device *gdev)
{
	return READ_ONCE(gdev->lines.line_ps);
}

/* The group that a page of the host is counted in. */
static u64 godwit_counted_group(dma_addr_t bus)
{
	return (GODWIT_HOST_APERTURE_BASE + bus) >> GODWIT_ACCESS_GROUP_SHIFT;
}

/* Its first page. */
static unsigned long godwit_counted_first(dma_addr_t bus)
{
	return round_down(bus >> PAGE_SHIFT, GODWIT_COUNTED_PAGES);
}

/* The card is about to see a page in the host; whether its lines are written down as this one's, and are until godwit_lines_remove(). */
bool godwit_lines_add(struct godwit_context *ctx, u64 page, dma_addr_t bus)
{
	struct godwit_lines *lines = &ctx->device->lines;
	unsigned long first = godwit_counted_first(bus), index = first;

	lockdep_assert_held(&ctx->lock);
	if (!lines->on || page > GODWIT_USER_PAGE)
		return false;
	if (!xa_find(&lines->pages, &index, first + GODWIT_COUNTED_PAGES - 1, XA_PRESENT)) {
		mutex_lock(&lines->lock);
		godwit_lines_clear(ctx->device, godwit_counted_group(bus));
		mutex_unlock(&lines->lock);
	}
	return !xa_err(xa_store(&lines->pages, bus >> PAGE_SHIFT, godwit_user(ctx, page), GFP_NOWAIT | __GFP_NOWARN));
}

void godwit_lines_remove(struct godwit_context *ctx, u64 page, dma_addr_t bus)
{
	lockdep_assert_held(&ctx->lock);
	/* Another context may have the page, too, and came later. */
	xa_cmpxchg(&ctx->device->lines.pages, bus >> PAGE_SHIFT, godwit_user(ctx, page), NULL, GFP_NOWAIT);
}

/* Shares lines out among those who have pages of a group from its first on, as groups of theirs; how many these are. */
static u32 godwit_lines_share(struct godwit_lines *lines, unsigned long first, u32 count, struct godwit_share *shares)
{
	unsigned long index;
	u32 pages = 0, found = 0, i;
	void *user;

	xa_for_each_range(&lines->pages, index, user, first, first + GODWIT_COUNTED_PAGES - 1) {
		u32 context = xa_to_value(user) >> GODWIT_USER_BITS;
		u64 of = (xa_to_value(user) & GODWIT_USER_PAGE) / GODWIT_STAY_PAGES;

		for (i = 0; i < found && (shares[i].context != context || shares[i].group != of); i++)
			;
		if (i == found)
			shares[found++] = (struct godwit_share){ .context = context, .group = of };
		shares[i].lines++;
		pages++;
	}
	for (i = 0; i < found; i++)
		shares[i].lines = mul_u64_u32_div(count, shares[i].lines, pages);
	return found;
}

/* Whether no other context has pages of a group. */
static bool godwit_lines_are_of(struct godwit_context *ctx, unsigned long first)
{
	unsigned long index;
	void *user;

	xa_for_each_range(&ctx->device->lines.pages, index, user, first, first + GODWIT_COUNTED_PAGES - 1)
		if (xa_to_value(user) >> GODWIT_USER_BITS != ctx->number)
			return false;
	return true;
}

/* Pages in the group that this one is counted in are about to go: the stays that have pages there get what was counted. */
void godwit_lines_settle(struct godwit_context *ctx, dma_addr_t bus)
{
	struct godwit_lines *lines = &ctx->device->lines;
	struct godwit_share shares[GODWIT_COUNTED_PAGES];
	unsigned long first = godwit_counted_first(bus);
	u32 found, i;

	lockdep_assert_held(&ctx->lock);
	if (!godwit_lines_are_of(ctx, first))
		return;
	mutex_lock(&lines->lock);
	godwit_lines_clear(ctx->device, godwit_counted_group(bus));
	found = godwit_lines_share(lines, first, godwit_lines_cleared(ctx->device), shares);
	mutex_unlock(&lines->lock);
	for (i = 0; i < found; i++)
		godwit_stay_left(ctx, shares[i].group, shares[i].lines);
}

/* Takes the oldest report; -1: there is none, else whose lines those are. */
static int godwit_lines_take(struct godwit_device *gdev, struct godwit_share *shares)
{
	u64 aperture = GODWIT_HOST_APERTURE_BASE >> GODWIT_ACCESS_GROUP_SHIFT, group;
	struct godwit_lines *lines = &gdev->lines;
	unsigned long first;
	u32 high;
	int found = -1;

	mutex_lock(&lines->lock);
	high = godwit_read(gdev, GODWIT_MMU(access_counters.report_group) + 4);
	if (high != ~0u && high & GODWIT_REPORT_VALID) {
		group = (u64)(high & ~GODWIT_REPORT_VALID) << 32 | godwit_read(gdev, GODWIT_MMU(access_counters.report_group));
		godwit_write(gdev, GODWIT_MMU(access_counters.take), 1);
		godwit_lines_measure(gdev);
		godwit_lines_clear(gdev, group);
		first = ((group & ~aperture) << GODWIT_COUNTED_SHIFT) & GODWIT_USER_PAGE;
		found = godwit_lines_share(lines, first, godwit_lines_cleared(gdev), shares);
		godwit_count(gdev, GODWIT_EVENT_LINE_REPORTS, 1);
	}
	mutex_unlock(&lines->lock);
	return found;
}

/* Hands on what the card reports; whether there was anything. */
bool godwit_lines_serve(struct godwit_device *gdev)
{
	struct godwit_share shares[GODWIT_COUNTED_PAGES];
	int reports, found = 0, i;

	if (!gdev->lines.on)
		return false;
	for (reports = 0; reports < GODWIT_LINES_REPORTS && !READ_ONCE(gdev->going); reports++) {
		found = godwit_lines_take(gdev, shares);
		if (found < 0)
			break;
		for (i = 0; i < found; i++) {
			struct godwit_context *ctx = godwit_context_get(gdev, shares[i].context);

			if (!ctx)
				continue;
			trace_godwit_lines(gdev->id, shares[i].context, shares[i].group * GODWIT_STAY_PAGES, shares[i].lines);
			godwit_stay_crossed(ctx, shares[i].group, shares[i].lines);
			godwit_context_put(ctx);
		}
	}
	return reports;
}

/* Turns them on, on a card that has them. */
void godwit_lines_init(struct godwit_device *gdev)
{
	u32 control = godwit_read(gdev, GODWIT_MMU(access_counters.control));

	mutex_init(&gdev->lines.lock);
	xa_init(&gdev->lines.pages);
	/* Without page requests nothing is in place but what is pinned. */
	if (!gdev->demand || !gdev->queue.caches || !(control & GW_MMU__ACCESS_COUNTERS__CONTROL__GROUPS_bm))
		return;
	mutex_lock(&gdev->lines.lock);
	godwit_lines_set_threshold(gdev);
	mutex_unlock(&gdev->lines.lock);
	/* A driver before this one may have left counts. */
	godwit_write(gdev, GODWIT_MMU(access_counters.control), GODWIT_COUNTERS_ON | GW_MMU__ACCESS_COUNTERS__CONTROL__CLEAR_bm);
	gdev->lines.on = true;
}

void godwit_lines_fini(struct godwit_device *gdev)
{
	if (gdev->lines.on)
		godwit_write(gdev, GODWIT_MMU(access_counters.control), 0);
}
