// SPDX-License-Identifier: Apache-2.0
/* Queues of resident groups, and which of them leaves. */
#include <godwit/evict.h>

/* flags: it was here before; its stamp says when. */
#define GW_SEEN 1u
/* flags: just fetched: its A bits are of the access that fetched it. */
#define GW_FRESH 2u
/* flags: without A bits, it was kept and made way for one that came back; its stamp says when. */
#define GW_REPLACED 4u

/* One page in so many passes through; the others are kept. More, when more come at once: */
#define GW_PASSING_SHARE 32u
/* so many batches, for the end of one is still in use when the next one comes, */
#define GW_PASSING_BATCHES 2u
/* but never more than this share of the memory. */
#define GW_PASSING_MOST 4u
/* The size of batches that is known falls by one part in so many of what is too much. */
#define GW_BATCH_SLOW 8u
/* Kept groups looked at for one that came back, before it passes through instead; or before the oldest leaves anyway. */
#define GW_TRIES 4u
/* A prefetched group may wait for its use while this share of the memory is fetched. */
#define GW_AHEAD_SHARE 4u
/* Without A bits, one group in so many that come back may replace a kept one: at first, and at least. */
#define GW_BLIND_SHARE 1u
#define GW_BLIND_LEAST 16u
/* So many replaced ones that nobody misses, and twice as many may be. */
#define GW_CALM 2u

static void gw_push(struct gw_evict *e, uint32_t group, enum gw_evict_queue queue)
{
	struct gw_evict_list *list = &e->lists[queue];
	struct gw_evict_node *node = &e->nodes[group];

	node->queue = (uint8_t)queue;
	node->next = GW_EVICT_NONE;
	node->previous = list->newest;
	if (list->newest == GW_EVICT_NONE)
		list->oldest = group;
	else
		e->nodes[list->newest].next = group;
	list->newest = group;
	list->pages += node->pages;
}

/* In front of all others. */
static void gw_push_oldest(struct gw_evict *e, uint32_t group, enum gw_evict_queue queue)
{
	struct gw_evict_list *list = &e->lists[queue];
	struct gw_evict_node *node = &e->nodes[group];

	node->queue = (uint8_t)queue;
	node->previous = GW_EVICT_NONE;
	node->next = list->oldest;
	if (list->oldest == GW_EVICT_NONE)
		list->newest = group;
	else
		e->nodes[list->oldest].previous = group;
	list->oldest = group;
	list->pages += node->pages;
}

static void gw_pull(struct gw_evict *e, uint32_t group)
{
	struct gw_evict_node *node = &e->nodes[group];
	struct gw_evict_list *list = &e->lists[node->queue];

	if (node->previous == GW_EVICT_NONE)
		list->oldest = node->next;
	else
		e->nodes[node->previous].next = node->next;
	if (node->next == GW_EVICT_NONE)
		list->newest = node->previous;
	else
		e->nodes[node->next].previous = node->previous;
	list->pages -= node->pages;
	node->queue = GW_EVICT_AWAY;
}

static void gw_move(struct gw_evict *e, uint32_t group, enum gw_evict_queue queue)
{
	gw_pull(e, group);
	gw_push(e, group, queue);
}

/* Pages fetched since the group was last known to be used. */
static uint32_t gw_idle(const struct gw_evict *e, uint32_t group)
{
	return e->now - e->nodes[group].stamp;
}

void gw_evict_init(struct gw_evict *e, struct gw_evict_node *nodes, uint32_t count, uint64_t capacity)
{
	*e = (struct gw_evict){ .nodes = nodes, .count = count, .share = GW_BLIND_SHARE };
	gw_evict_resize(e, capacity);
	for (uint32_t i = 0; i < 4; i++)
		e->lists[i] = (struct gw_evict_list){ GW_EVICT_NONE, GW_EVICT_NONE, 0 };
}

static void gw_set_passing(struct gw_evict *e)
{
	uint64_t least = e->capacity / GW_PASSING_SHARE, most = e->capacity / GW_PASSING_MOST;
	uint64_t wanted = GW_PASSING_BATCHES * e->batch;

	e->passing_pages = wanted < least ? least : wanted > most ? most : wanted;
}

void gw_evict_resize(struct gw_evict *e, uint64_t capacity)
{
	e->capacity = capacity;
	gw_set_passing(e);
}

void gw_evict_coming(struct gw_evict *e, uint64_t pages)
{
	/* Up at once, and down slowly: batches differ. */
	if (pages < e->batch)
		pages = e->batch - (e->batch - pages + GW_BATCH_SLOW - 1) / GW_BATCH_SLOW;
	e->batch = pages;
	gw_set_passing(e);
}

uint64_t gw_evict_pages(const struct gw_evict *e)
{
	return e->lists[GW_EVICT_KEPT].pages + e->lists[GW_EVICT_PASSING].pages + e->lists[GW_EVICT_AHEAD].pages;
}

static bool gw_room_to_keep(const struct gw_evict *e, uint32_t pages)
{
	return e->lists[GW_EVICT_KEPT].pages + pages + e->passing_pages <= e->capacity;
}

/* A group comes. Was it replaced not long ago, it was for nothing: fewer are. */
static void gw_miss(struct gw_evict *e, struct gw_evict_node *node)
{
	if (node->flags & GW_REPLACED && e->now - node->stamp < e->capacity) {
		e->share = e->share < GW_BLIND_LEAST ? 2 * e->share : GW_BLIND_LEAST;
		e->calm = 0;
	}
	node->flags &= (uint8_t)~GW_REPLACED;
}

bool gw_evict_added(struct gw_evict *e, uint32_t group, uint32_t pages, bool asked)
{
	struct gw_evict_node *node;
	bool was_ahead, known;

	if (group >= e->count || !pages || pages > (uint32_t)UINT16_MAX - e->nodes[group].pages)
		return false;
	node = &e->nodes[group];
	was_ahead = node->queue == GW_EVICT_AHEAD;
	known = node->queue != GW_EVICT_AWAY && !(was_ahead && asked);
	e->now += pages;
	if (known) {
		/* It stays where it is, with more pages. */
		node->pages = (uint16_t)(node->pages + pages);
		e->lists[node->queue].pages += pages;
		if (asked && !(node->flags & GW_FRESH))
			node->stamp = e->now;
		/* It began to be kept when it had fewer pages. */
		if (node->queue == GW_EVICT_KEPT && node->flags & GW_FRESH && !gw_room_to_keep(e, 0))
			gw_move(e, group, GW_EVICT_PASSING);
		return true;
	}
	if (was_ahead)
		gw_pull(e, group);
	node->pages = (uint16_t)(node->pages + pages);
	if (!asked) {
		/* When it was used last is unknown from now on: what counts is how long it waits. */
		node->flags = GW_FRESH;
		node->stamp = e->now;
		gw_push(e, group, GW_EVICT_AHEAD);
		return true;
	}
	gw_miss(e, node);
	node->flags |= GW_FRESH;
	/* One that comes back has its old stamp until its turn comes: the time from use to use decides. */
	if (!(node->flags & GW_SEEN))
		node->stamp = e->now;
	/* What comes first is kept, as long as there is room for it. */
	gw_push(e, group, gw_room_to_keep(e, node->pages) ? GW_EVICT_KEPT : GW_EVICT_PASSING);
	return true;
}

uint32_t gw_evict_removed(struct gw_evict *e, uint32_t group)
{
	struct gw_evict_node *node;
	uint32_t pages;

	if (group >= e->count || e->nodes[group].queue == GW_EVICT_AWAY)
		return 0;
	node = &e->nodes[group];
	pages = node->pages;
	gw_pull(e, group);
	node->pages = 0;
	node->flags = GW_SEEN | (node->flags & GW_REPLACED);
	return pages;
}

bool gw_evict_spared(struct gw_evict *e, uint32_t group, uint32_t pages)
{
	if (group >= e->count || !pages || pages > UINT16_MAX || e->nodes[group].queue != GW_EVICT_AWAY)
		return false;
	e->nodes[group].pages = (uint16_t)pages;
	gw_push(e, group, GW_EVICT_PASSING);
	return true;
}

static bool gw_used(gw_evict_accessed_fn accessed, void *ctx, uint32_t group)
{
	return accessed && accessed(ctx, group);
}

/* Nobody knows whether this one is used: when it comes back it was. */
static void gw_replaced(struct gw_evict *e, uint32_t group)
{
	e->nodes[group].flags |= GW_REPLACED;
	e->nodes[group].stamp = e->now;
	if (++e->calm >= GW_CALM) {
		e->share = e->share > 1 ? e->share / 2 : 1;
		e->calm = 0;
	}
}

/*
 * A group that is used again replaces a kept one that was idle for more than twice the time from use to use of this one
 * (once would make all of a loop change places, for nothing). A kept one that was used meanwhile starts anew.
 */
static void gw_keep_instead(struct gw_evict *e, uint32_t group, uint32_t interval, gw_evict_accessed_fn accessed,
			    void *ctx)
{
	uint32_t tries = GW_TRIES;

	e->nodes[group].stamp = e->now;
	/*
	 * Without A bits a kept group looks idle, however often it is used. If each group that comes back replaced one, a loop would
	 * throw out what it is about to use; if none did, what nobody uses any more would stay. So a few do, fewer when those that they
	 * replaced are asked for again, and more when they are not.
	 */
	if (!accessed && e->returned++ % e->share)
		tries = 0;
	while (!gw_room_to_keep(e, e->nodes[group].pages)) {
		uint32_t kept = e->lists[GW_EVICT_KEPT].oldest;

		if (kept == GW_EVICT_NONE || !tries--) {
			gw_move(e, group, GW_EVICT_PASSING);
			return;
		}
		if (gw_used(accessed, ctx, kept)) {
			e->nodes[kept].stamp = e->now;
			e->nodes[kept].flags &= (uint8_t)~GW_FRESH;
			gw_move(e, kept, GW_EVICT_KEPT);
		} else if (gw_idle(e, kept) / 2 > interval) {
			if (!accessed)
				gw_replaced(e, kept);
			gw_move(e, kept, GW_EVICT_PASSING);
		} else {
			gw_move(e, group, GW_EVICT_PASSING);
			return;
		}
	}
	gw_move(e, group, GW_EVICT_KEPT);
}

/* A prefetched group that was used is one of the others. */
static void gw_settle(struct gw_evict *e, uint32_t group)
{
	e->nodes[group].flags &= (uint8_t)~GW_FRESH;
	e->nodes[group].stamp = e->now;
	gw_move(e, group, gw_room_to_keep(e, e->nodes[group].pages) ? GW_EVICT_KEPT : GW_EVICT_PASSING);
}

/* The oldest prefetched group that waited long enough in vain; those that were used join the others. */
static uint32_t gw_choose_ahead(struct gw_evict *e, uint32_t keep, gw_evict_accessed_fn accessed, void *ctx)
{
	uint32_t last = e->lists[GW_EVICT_AHEAD].newest, group = GW_EVICT_NONE;

	while (group != last) {
		group = e->lists[GW_EVICT_AHEAD].oldest;
		if (gw_idle(e, group) < e->capacity / GW_AHEAD_SHARE)
			return GW_EVICT_NONE;
		if (group == keep) {
			gw_move(e, group, GW_EVICT_AHEAD);
		} else if (gw_used(accessed, ctx, group)) {
			gw_settle(e, group);
		} else {
			return group;
		}
	}
	return GW_EVICT_NONE;
}

/* Looks at all that is ahead: what was used may leave in place of what is kept. */
static void gw_settle_ahead(struct gw_evict *e, gw_evict_accessed_fn accessed, void *ctx)
{
	uint32_t last = e->lists[GW_EVICT_AHEAD].newest, group = GW_EVICT_NONE;

	while (group != last) {
		group = e->lists[GW_EVICT_AHEAD].oldest;
		if (gw_used(accessed, ctx, group))
			gw_settle(e, group);
		else
			gw_move(e, group, GW_EVICT_AHEAD);
	}
}

static uint32_t gw_choose_passing(struct gw_evict *e, uint32_t keep, gw_evict_accessed_fn accessed, void *ctx)
{
	uint32_t last = e->lists[GW_EVICT_PASSING].newest, group = GW_EVICT_NONE;

	while (group != last) {
		struct gw_evict_node *node;
		bool used, fresh;

		group = e->lists[GW_EVICT_PASSING].oldest;
		node = &e->nodes[group];
		if (group == keep) {
			gw_move(e, group, GW_EVICT_PASSING);
			continue;
		}
		used = gw_used(accessed, ctx, group);
		fresh = node->flags & GW_FRESH;
		node->flags &= (uint8_t)~GW_FRESH;
		/*
		 * The A bits of a fresh one tell nothing; that it was here before does. What is used while it passes passes once more, and is
		 * not kept for that: it may be the same walk that is not through with it.
		 */
		if (fresh && node->flags & GW_SEEN) {
			gw_keep_instead(e, group, gw_idle(e, group), accessed, ctx);
		} else if (fresh || used) {
			if (used)
				node->stamp = e->now;
			gw_move(e, group, GW_EVICT_PASSING);
		} else {
			return group;
		}
	}
	return GW_EVICT_NONE;
}

/* Of what is kept, the newest passes through when larger batches come. A loop needs the older ones first. */
static void gw_make_passing(struct gw_evict *e)
{
	while (!gw_room_to_keep(e, 0) && e->lists[GW_EVICT_KEPT].newest != GW_EVICT_NONE) {
		uint32_t group = e->lists[GW_EVICT_KEPT].newest;

		gw_pull(e, group);
		gw_push_oldest(e, group, GW_EVICT_PASSING);
	}
}

static uint32_t gw_oldest_but(const struct gw_evict *e, enum gw_evict_queue queue, uint32_t keep)
{
	uint32_t group = e->lists[queue].oldest;

	return group == keep && group != GW_EVICT_NONE ? e->nodes[group].next : group;
}

uint32_t gw_evict_choose(struct gw_evict *e, bool for_prefetch, uint32_t keep, gw_evict_accessed_fn accessed, void *ctx)
{
	uint32_t group = gw_choose_ahead(e, keep, accessed, ctx);

	if (group != GW_EVICT_NONE || for_prefetch)
		return group;
	/* Groups that grew one by one, with A bits, are looked at where they are. */
	if (!accessed || e->batch)
		gw_make_passing(e);
	group = gw_choose_passing(e, keep, accessed, ctx);
	if (group != GW_EVICT_NONE)
		return group;
	if (gw_oldest_but(e, GW_EVICT_PASSING, keep) == GW_EVICT_NONE)
		gw_settle_ahead(e, accessed, ctx);
	group = gw_oldest_but(e, GW_EVICT_PASSING, keep);
	if (group != GW_EVICT_NONE)
		return group;
	for (uint32_t i = 0; i < GW_TRIES; i++) {
		group = gw_oldest_but(e, GW_EVICT_KEPT, keep);
		if (group == GW_EVICT_NONE || !gw_used(accessed, ctx, group))
			break;
		e->nodes[group].stamp = e->now;
		gw_move(e, group, GW_EVICT_KEPT);
		group = gw_oldest_but(e, GW_EVICT_KEPT, keep);
	}
	return group != GW_EVICT_NONE ? group : gw_oldest_but(e, GW_EVICT_AHEAD, keep);
}

bool gw_evict_check(const struct gw_evict *e)
{
	uint64_t resident = 0, listed = 0;

	for (uint32_t i = 0; i < e->count; i++) {
		if (e->nodes[i].queue > GW_EVICT_AHEAD || (e->nodes[i].queue == GW_EVICT_AWAY) != !e->nodes[i].pages)
			return false;
		resident += e->nodes[i].queue != GW_EVICT_AWAY;
	}
	for (uint32_t queue = GW_EVICT_KEPT; queue <= GW_EVICT_AHEAD; queue++) {
		uint32_t before = GW_EVICT_NONE;
		uint64_t pages = 0;

		for (uint32_t at = e->lists[queue].oldest; at != GW_EVICT_NONE; before = at, at = e->nodes[at].next) {
			if (at >= e->count || e->nodes[at].queue != queue || e->nodes[at].previous != before ||
			    ++listed > resident)
				return false;
			pages += e->nodes[at].pages;
		}
		if (e->lists[queue].newest != before || e->lists[queue].pages != pages)
			return false;
	}
	return listed == resident;
}
