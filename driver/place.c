// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where memory is to be that the card asks for: in device memory or where it is. As the program has said of it (GODWIT_IOC_ADVISE),
 * which may be that the driver is to decide (stays.c), else as the parameter `move` has it; and pages that processors and the card take
 * from each other again and again stay in the host for a while, where both reach them.
 *
 * Advice holds for addresses, in a tree of ranges. What is remembered of a group of neighbours is when it last
 * went to the card, and how often in a row it was asked for soon after that, having come back. The same is remembered of a huge page
 * that goes whole since one of its pages is asked for, which may be another one each time: one that is fought for goes no more
 * than the group, which splits it, and from then on each group has its own fights.
 */
#include <linux/jiffies.h>
#include <linux/maple_tree.h>

#include "driver.h"
#include "stays.h"

/* So often in a row, and there is a fight for a group. */
#define GODWIT_FIGHT_TURNS 3ul
/* Of a group's record: turns; above them, when it went. */
#define GODWIT_FIGHT_BITS 2
#define GODWIT_FIGHT_MASK GENMASK(GODWIT_FIGHT_BITS - 1, 0)

void godwit_place_init(struct godwit_context *ctx)
{
	/* The thread that brings pages looks at it while programs change it. */
	mt_init_flags(&ctx->advice, MT_FLAGS_USE_RCU);
	xa_init(&ctx->fights);
	xa_init(&ctx->whole_fights);
	xa_init(&ctx->stays);
}

void godwit_place_fini(struct godwit_context *ctx)
{
	mtree_destroy(&ctx->advice);
	xa_destroy(&ctx->fights);
	xa_destroy(&ctx->whole_fights);
	godwit_stays_forget(ctx, 0, ULONG_MAX);
	xa_destroy(&ctx->stays);
}

/* What advice comes to on this card, and on this kernel. */
static u32 godwit_advice_served(struct godwit_context *ctx, u32 advice)
{
	/* A page in device memory is in no processor's reach: both sides read what is in the host. */
	if (!ctx->device->pool || advice == GODWIT_ADVICE_READ_MOSTLY)
		return GODWIT_ADVICE_IN_PLACE;
	if (advice == GODWIT_ADVICE_NONE)
		return READ_ONCE(godwit_param_move) ? GODWIT_ADVICE_MOVE : GODWIT_ADVICE_IN_PLACE;
	/* Nobody knows what the link is used for where it is not counted. */
	if (advice == GODWIT_ADVICE_AUTO && !ctx->device->lines.on)
		return GODWIT_ADVICE_MOVE;
	return advice;
}

/* What a program says of its memory: whole pages that are in the range. */
int godwit_advise(struct godwit_context *ctx, struct godwit_advise *what)
{
	u64 first = DIV_ROUND_UP_ULL(what->addr, PAGE_SIZE), end;
	void *advice = what->advice ? xa_mk_value(what->advice) : NULL;
	int err;

	if (what->advice > GODWIT_ADVICE_READ_MOSTLY || what->served || !what->size || what->addr + what->size < what->addr)
		return -EINVAL;
	end = (what->addr + what->size) >> PAGE_SHIFT;
	if (end > BIT_ULL(ctx->device->va_bits - PAGE_SHIFT))
		return -EINVAL;
	what->served = godwit_advice_served(ctx, what->advice);
	/* What was learnt of it holds. */
	if (first >= end || (advice && mtree_load(&ctx->advice, first) == advice && godwit_place_alike(ctx, first, end) == end))
		return 0;
	err = mtree_store_range(&ctx->advice, first, end - 1, advice, GFP_KERNEL_ACCOUNT);
	if (err)
		return err;
	godwit_stays_forget(ctx, first, end - 1);
	if (what->served != GODWIT_ADVICE_AUTO)
		return 0;
	/* What the card reaches already is to be asked for, so that it counts. */
	mutex_lock(&ctx->lock);
	if (ctx->alive)
		godwit_inplace_drop(ctx, first, end - 1);
	mutex_unlock(&ctx->lock);
	return 0;
}

/* There is no memory any more of which something was said; what is not easily forgotten is said of what comes there. */
void godwit_place_ends(struct godwit_context *ctx, unsigned long first, unsigned long last)
{
	unsigned long group;
	void *record;

	if (!mtree_empty(&ctx->advice))
		mtree_store_range(&ctx->advice, first, last, NULL, GFP_NOWAIT | __GFP_NOWARN);
	godwit_stays_forget(ctx, first, last);
	/* Else they would be as many as there ever were addresses. */
	xa_for_each_range(&ctx->fights, group, record, round_down(first, GODWIT_BRING_PAGES), last)
		xa_erase(&ctx->fights, group);
	xa_for_each_range(&ctx->whole_fights, group, record, round_down(first, GODWIT_MOVE_PAGES), last)
		xa_erase(&ctx->whole_fights, group);
}

/* Whether memory moves of which this was said and of which nobody has to decide. */
static bool godwit_advice_moves(struct godwit_context *ctx, const void *advice)
{
	return godwit_advice_served(ctx, advice ? xa_to_value(advice) : GODWIT_ADVICE_NONE) == GODWIT_ADVICE_MOVE;
}

/* Whether the driver decides about a page. */
bool godwit_place_is_auto(struct godwit_context *ctx, u64 page)
{
	void *advice = mtree_load(&ctx->advice, page);

	return advice && godwit_advice_served(ctx, xa_to_value(advice)) == GODWIT_ADVICE_AUTO;
}

/* The end of the pages from @first on, up to @end, of which the same was said. */
u64 godwit_place_alike(struct godwit_context *ctx, u64 first, u64 end)
{
	void *advice = mtree_load(&ctx->advice, first++);

	while (first < end && mtree_load(&ctx->advice, first) == advice)
		first++;
	return first;
}

/*
 * Which pages around one that the card asks for are to move to it: @first and @count are given as a group of neighbours and
 * narrowed to those of which the same was said. false: none, they are used where they are.
 */
bool godwit_place_moves(struct godwit_context *ctx, u64 page, u64 *first, u32 *count)
{
	void *advice = mtree_load(&ctx->advice, page);
	u64 start = page, end = *first + *count;

	if (godwit_place_is_auto(ctx, page) ? !godwit_stay_moves(ctx, page) : !godwit_advice_moves(ctx, advice))
		return false;
	while (start > *first && mtree_load(&ctx->advice, start - 1) == advice)
		start--;
	*count = godwit_place_alike(ctx, page, end) - start;
	*first = start;
	return true;
}

/* A page that was to move did not, for want of room or because of a fight. */
void godwit_place_refused(struct godwit_context *ctx, u64 page)
{
	if (godwit_place_is_auto(ctx, page))
		godwit_stay_refused(ctx, page);
}

/* When a group went, in a record that a pointer holds. */
static unsigned long godwit_fight_now(void)
{
	return jiffies & (LONG_MAX >> GODWIT_FIGHT_BITS);
}

/*
 * Whether pages that are to go to the card were there a moment ago and came back, time and again; takes down that they go. As
 * long as some of them are still there it is the same visit.
 */
static bool godwit_fights(struct godwit_context *ctx, struct xarray *records, u64 first, u32 count)
{
	unsigned long soon = msecs_to_jiffies(READ_ONCE(godwit_param_fight_ms)), now = godwit_fight_now(), turns = 0;
	void *record = xa_load(records, first);

	if (!soon)
		return false;
	if (record) {
		unsigned long since = (now - (xa_to_value(record) >> GODWIT_FIGHT_BITS)) & (LONG_MAX >> GODWIT_FIGHT_BITS);

		turns = xa_to_value(record) & GODWIT_FIGHT_MASK;
		/* A fight is over when nobody has asked for so long. */
		if (since > soon)
			turns = 0;
		else if (turns < GODWIT_FIGHT_TURNS && !godwit_inplace_any_moved(ctx, first, count))
			turns++;
	}
	/* Without memory for that it is not remembered. */
	xa_store(records, first, xa_mk_value(now << GODWIT_FIGHT_BITS | turns), GFP_KERNEL | __GFP_NOWARN);
	if (turns < GODWIT_FIGHT_TURNS)
		return false;
	godwit_count(ctx->device, GODWIT_EVENT_FIGHTS, 1);
	return true;
}

/* Of a group, one of whose pages is asked for. */
bool godwit_place_fights(struct godwit_context *ctx, u64 first, u32 count)
{
	return godwit_fights(ctx, &ctx->fights, first, count);
}

/* Of a huge page around such a group. */
bool godwit_place_whole_fights(struct godwit_context *ctx, u64 first)
{
	return godwit_fights(ctx, &ctx->whole_fights, first, GODWIT_MOVE_PAGES);
}

/* Whether pages in a row that nobody has asked for may move: all of them by what was said, and nobody fights for any. */
bool godwit_place_lets(struct godwit_context *ctx, u64 first, u32 count)
{
	unsigned long group;
	void *record;

	if (!godwit_advice_moves(ctx, mtree_load(&ctx->advice, first)) ||
	    godwit_place_alike(ctx, first, first + count) != first + count)
		return false;
	xa_for_each_range(&ctx->fights, group, record, round_down(first, GODWIT_BRING_PAGES), first + count - 1)
		if ((xa_to_value(record) & GODWIT_FIGHT_MASK) == GODWIT_FIGHT_TURNS)
			return false;
	return true;
}
