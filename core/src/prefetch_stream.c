// SPDX-License-Identifier: Apache-2.0
/* Streams: found in the used pages of a block or in the distances of faults, then followed. */
#include "prefetch_internal.h"

/* Equal distances that make a stream. */
#define GW_CHAIN 3u
/* Pages ahead that are to be away where the used pages of a block make a stream. */
#define GW_AHEAD 4u
/* By how much plans grow. */
#define GW_GROWTH 4u
/* Faults farther apart than 128 MiB are not looked at together. */
#define GW_FAR ((int64_t)1 << 15)
/* Pages from one end of a plan to the other, at most. */
#define GW_REACH (GW_FAR * (int64_t)GW_PREFETCH_MAX_WINDOW)
/* How often a stream is expected after another before it has to be seen there again. */
#define GW_CREDIT 4u
/* Pages of a stream that may be passed over, because another fault had brought them. */
#define GW_LATE ((int64_t)4)

/* Distance to the next used page upwards or downwards, 0 if the block has none. */
static uint32_t gw_next_used(const uint64_t used[GW_PREFETCH_WORDS], uint32_t at, bool up)
{
	for (uint32_t i = 1; up ? at + i < GW_PREFETCH_BLOCK : i <= at; i++)
		if (gw_page_in(used, up ? at + i : at - i))
			return i;
	return 0;
}

/* How many used pages follow at exactly this distance, with none between, up to GW_CHAIN. */
static uint32_t gw_chain(const uint64_t used[GW_PREFETCH_WORDS], uint32_t at, bool up, uint32_t distance)
{
	uint32_t links = 0;

	while (links < GW_CHAIN && distance && gw_next_used(used, at, up) == distance) {
		at = up ? at + distance : at - distance;
		links++;
	}
	return links;
}

/* Whether a stream that goes on from here would bring its next pages: where they are there, pages around are used in no order. */
static bool gw_opens(const struct gw_prefetch_block *block, uint32_t at, bool up, uint32_t distance)
{
	for (uint32_t i = 1; i <= GW_AHEAD; i++) {
		uint32_t away = i * distance;

		if (up ? at + away >= GW_PREFETCH_BLOCK : away > at)
			return true;
		if (gw_page_in(block->resident, up ? at + away : at - away))
			return false;
	}
	return true;
}

/*
 * The stride that the block shows around a page, 0 if none. A stream comes from where it has been: used pages below make
 * one that goes up. Used pages above that are resident make one that goes down; if they are not, they are of the same
 * batch, whose lowest page comes first.
 */
static int64_t gw_stride_in_block(const struct gw_prefetch_block *block, uint32_t at)
{
	uint32_t below = gw_next_used(block->used, at, false), above = gw_next_used(block->used, at, true);
	uint32_t down = gw_chain(block->used, at, false, below), up = gw_chain(block->used, at, true, above);

	if (down >= GW_CHAIN || (below == above && down && down + up >= GW_CHAIN))
		return gw_opens(block, at, true, below) ? (int64_t)below : 0;
	if (up < GW_CHAIN)
		return 0;
	if (!gw_page_in(block->resident, at + above))
		return gw_opens(block, at, true, above) ? (int64_t)above : 0;
	return gw_opens(block, at, false, above) ? -(int64_t)above : 0;
}

static int64_t gw_distance(uint64_t to, uint64_t from)
{
	return (int64_t)(to - from);
}

/*
 * The stream that expected a fault here, or NULL. One within the last plan belongs to it, too: not all of the plan was
 * moved, for want of memory, so the next one is to be smaller.
 */
static struct gw_prefetch_stream *gw_expecting(struct gw_prefetch *p, const struct gw_prefetch_fault *fault, bool *cut)
{
	for (uint32_t i = 0; i < GW_PREFETCH_STREAMS; i++) {
		struct gw_prefetch_stream *s = &p->streams[i];
		int64_t beyond = gw_distance(fault->page, s->next), along = gw_distance(fault->page, s->last);

		if (!s->window || s->context != fault->context || beyond > GW_REACH || beyond < -GW_REACH)
			continue;
		if (beyond % s->stride)
			continue;
		*cut = along / s->stride > 0 && beyond / s->stride < 0;
		if (*cut || (beyond / s->stride >= 0 && beyond / s->stride <= GW_LATE))
			return s;
	}
	return NULL;
}

/* A place for a new series: a free one, then the oldest that is no stream, then the oldest. */
static struct gw_prefetch_stream *gw_make_room(struct gw_prefetch *p)
{
	struct gw_prefetch_stream *oldest = &p->streams[0];

	for (uint32_t i = 1; i < GW_PREFETCH_STREAMS; i++) {
		struct gw_prefetch_stream *s = &p->streams[i];
		bool established = s->window > GW_FIRST_WINDOW, other = oldest->window > GW_FIRST_WINDOW;

		if (established != other ? other : p->clock - s->age > p->clock - oldest->age)
			oldest = s;
	}
	return oldest;
}

/* Learns the distance to the nearest fault of the context; the series if the same distance came GW_CHAIN times. */
static struct gw_prefetch_stream *gw_learn(struct gw_prefetch *p, const struct gw_prefetch_fault *fault)
{
	struct gw_prefetch_stream *nearest = NULL;
	int64_t distance = 0;

	for (uint32_t i = 0; i < GW_PREFETCH_STREAMS; i++) {
		struct gw_prefetch_stream *s = &p->streams[i];
		int64_t apart = gw_distance(fault->page, s->last);

		if (!s->age || s->window || s->context != fault->context || apart > GW_FAR || apart < -GW_FAR || !apart)
			continue;
		if (apart == s->stride) {
			nearest = s;
			distance = apart;
			break;
		}
		if (!nearest || (apart < 0 ? -apart : apart) < (distance < 0 ? -distance : distance)) {
			nearest = s;
			distance = apart;
		}
	}
	if (!nearest) {
		nearest = gw_make_room(p);
		*nearest = (struct gw_prefetch_stream){ .context = fault->context };
	} else if (nearest->stride == distance) {
		nearest->repeats++;
	} else {
		nearest->stride = distance;
		nearest->repeats = 1;
	}
	nearest->last = fault->page;
	nearest->age = p->clock;
	return nearest->repeats >= GW_CHAIN ? nearest : NULL;
}

/* Notes which stream went on after which; of one that was only expected to, nothing is learnt. */
static void gw_note_order(struct gw_prefetch *p, const struct gw_prefetch_stream *s)
{
	uint32_t number = (uint32_t)(s - p->streams) + 1;
	struct gw_prefetch_stream *before = p->newest ? &p->streams[p->newest - 1] : NULL;

	if (p->newest == number)
		before->then = 0;
	else if (before && before->context == s->context && !p->guessed) {
		before->credit = GW_CREDIT;
		before->then = number;
	}
	p->newest = number;
	p->guessed = false;
}

bool gw_prefetch_expect(struct gw_prefetch *p, uint32_t context, uint32_t since, uint64_t *page)
{
	struct gw_prefetch_stream *s = p->newest ? &p->streams[p->newest - 1] : NULL, *next;

	p->guessed = false;
	if (!s || s->context != context || !s->then || !s->credit || p->clock - s->age >= p->clock - since)
		return false;
	next = &p->streams[s->then - 1];
	/* Another stream may have taken its place. */
	if (!next->window || next->context != context || p->clock - next->age < p->clock - since)
		return false;
	s->credit--;
	p->guessed = true;
	*page = next->next;
	return true;
}

/* The next @window pages of @s from the fault on, as far as one may go. */
static void gw_follow(struct gw_prefetch *p, struct gw_prefetch_stream *s, const struct gw_prefetch_fault *fault,
		      uint32_t window, struct gw_prefetch_plan *plan)
{
	uint64_t room = s->stride > 0 ? (fault->last - fault->page) / (uint64_t)s->stride :
					(fault->page - fault->first) / (uint64_t)-s->stride;
	uint32_t count = room + 1 < window ? (uint32_t)room + 1 : window;

	s->window = window;
	s->last = fault->page;
	s->next = fault->page + (uint64_t)s->stride * count;
	s->age = p->clock;
	gw_note_order(p, s);
	*plan = (struct gw_prefetch_plan){ fault->page, s->stride, count, true };
}

static uint32_t gw_window(const struct gw_prefetch *p, uint32_t pages)
{
	return pages < p->max_window ? pages : p->max_window;
}

bool gw_plan_stream(struct gw_prefetch *p, const struct gw_prefetch_fault *fault,
		    const struct gw_prefetch_block *block, struct gw_prefetch_plan *plan)
{
	bool cut = false;
	struct gw_prefetch_stream *s = gw_expecting(p, fault, &cut);
	int64_t stride;

	/* In a full memory: asked for once more within a smallest plan, it is none, for pages are used in no order. */
	if (s && cut && s->window <= GW_FIRST_WINDOW_FULL) {
		s->window = 0;
		s->repeats = 0;
		s = NULL;
	}
	if (s) {
		uint32_t less = s->window / GW_GROWTH > p->first_window ? s->window / GW_GROWTH : p->first_window;

		gw_follow(p, s, fault, gw_window(p, cut ? less : s->window * GW_GROWTH), plan);
		return true;
	}
	stride = gw_stride_in_block(block, (uint32_t)(fault->page % GW_PREFETCH_BLOCK));
	if (stride) {
		s = gw_make_room(p);
		*s = (struct gw_prefetch_stream){ .context = fault->context, .stride = stride };
	} else {
		s = gw_learn(p, fault);
	}
	if (!s)
		return false;
	gw_follow(p, s, fault, gw_window(p, p->first_window), plan);
	return true;
}
