// SPDX-License-Identifier: Apache-2.0
/*
 * Unmapping and changing permissions: one walk for both. Look first, reserve the frames that splits need, then write; what is not as
 * planned then ends it, as in pt_map.c.
 */
#include "pt_internal.h"

struct change {
	struct gw_pt *pt;
	uint64_t lo, hi; /* the whole range */
	bool unmap;
	uint32_t perm;   /* the new one, when not unmapping */
	struct gw_pt_inval *inval;
	struct gw_pt_frames frames;
};

static bool change_needed(const struct change *c, const struct gw_pte *pte)
{
	return c->unmap || pte->perm != c->perm || (pte->state & GW_PT_FROZEN);
}

/*
 * Where the entries of [at, end], which begin with `page`, are of that page no longer, or above `end`: they are going to be written as
 * such.
 */
static uint64_t page_until(const struct gw_pt *pt, uint64_t table, unsigned int level, uint64_t at, uint64_t end, const struct gw_pte *page)
{
	uint64_t mask = gw_level_mask(level);

	for (at = (at | mask) + 1; at <= end; at += mask + 1) {
		struct gw_pte pte = gw_pte_decode(pt, gw_read(pt, table, gw_index(at, level)), level);

		if (pte.kind != GW_PTE_LEAF || pte.order != page->order || pte.pa != page->pa || pte.perm != page->perm)
			return at;
	}
	return at;
}

/* Counts the tables that splits need; fails if any page of [lo, hi] is not mapped. */
static int change_plan(const struct change *c, uint64_t table, unsigned int level, uint64_t lo, uint64_t hi,
		       uint64_t *need)
{
	uint64_t at, end, same;
	int status;

	for (at = lo; at <= hi; at = end + 1) {
		struct gw_pte pte = gw_pte_decode(c->pt, gw_read(c->pt, table, gw_index(at, level)), level);

		end = gw_span_end(at, hi, level);
		switch (pte.kind) {
		case GW_PTE_EMPTY:
			return gw_fail_at(c->pt, at, GW_PT_ENOENT);
		case GW_PTE_TABLE:
			status = change_plan(c, pte.pa, level - 1, at, end, need);
			if (status)
				return status;
			break;
		case GW_PTE_LEAF:
			end = gw_page_end(at, hi, pte.order);
			same = page_until(c->pt, table, level, at, end, &pte);
			if (same <= end)
				return gw_fail_at(c->pt, same, GW_PT_ECORRUPT);
			if (change_needed(c, &pte))
				*need += gw_tables_below(level, level, at, end);
			break;
		case GW_PTE_BAD:
			return gw_fail_at(c->pt, at, GW_PT_ECORRUPT);
		}
	}
	return GW_PT_OK;
}

/* To the last range if they touch or the array is full, else as a new one. */
void gw_inval_add(struct gw_pt_inval *inval, uint64_t va, uint64_t size)
{
	struct gw_pt_range *range;
	uint64_t first, last, range_last;

	if (!inval->capacity)
		return;
	if (!inval->count)
		inval->ranges[inval->count++] = (struct gw_pt_range){ .va = va, .size = size };

	/* Last bytes, because the end of the address space is 2^64. */
	range = &inval->ranges[inval->count - 1];
	range_last = range->va + (range->size - 1);
	last = va + (size - 1);
	if (inval->count < inval->capacity &&
	    ((va > range_last && va - range_last > 1) || (last < range->va && range->va - last > 1))) {
		inval->ranges[inval->count++] = (struct gw_pt_range){ .va = va, .size = size };
		return;
	}
	first = va < range->va ? va : range->va;
	last = last > range_last ? last : range_last;
	range->va = first;
	range->size = last - first + 1;
}

static void change_record(const struct change *c, uint64_t at, const struct gw_pte *pte)
{
	uint64_t mask = gw_order_mask(pte->order);

	if (!c->inval)
		return;
	gw_inval_add(c->inval, gw_va(c->pt, at & ~mask), mask + 1);
	c->inval->narrowed |= c->unmap || (pte->perm & ~c->perm);
}

/* Fills a table that is not linked yet with smaller pages for everything that `page` maps. */
static void split_fill(const struct gw_pt *pt, uint64_t table, unsigned int level, const struct gw_pte *page)
{
	uint32_t order = gw_orders_largest(pt->orders & GW_PT_ORDERS_TO(gw_level_order(level + 1) - 1));
	unsigned int i;

	for (i = 0; i < GODWIT_PT_TABLE_ENTRIES; i++)
		gw_write(pt, table, i, gw_pte_leaf(pt, page->pa + ((uint64_t)i << gw_level_shift(level)), order, page->perm,
						  page->state));
}

/* Of the page of `order` around `at`: the order of what at's entry is part of when the range does not cut it any more. */
static uint32_t piece_order(const struct change *c, uint64_t at, unsigned int level, uint32_t order)
{
	uint64_t orders = c->pt->orders & GW_PT_ORDERS_TO(order);

	if (at < c->lo)
		return gw_order_fit(orders, level, at, 0, c->lo - 1);
	if (at > c->hi)
		return gw_order_fit(orders, level, at, c->hi + 1, ~(uint64_t)0);
	return gw_order_fit(orders, level, at, c->lo, c->hi);
}

/*
 * Turns the page around `at`, which the range cuts, into its pieces, of the same frames. What is frozen and is going to change stays
 * frozen until then: what hardware set in between would be lost.
 */
static void split_page(const struct change *c, uint64_t table, unsigned int level, uint64_t at, const struct gw_pte *page)
{
	uint64_t last = at | gw_order_mask(page->order);

	for (at &= ~gw_order_mask(page->order); at <= last; at += gw_level_mask(level) + 1) {
		bool changes = (at | gw_level_mask(level)) >= c->lo && at <= c->hi;

		gw_write(c->pt, table, gw_index(at, level),
			 gw_pte_leaf(c->pt, page->pa + (at & gw_order_mask(page->order)), piece_order(c, at, level, page->order),
				     page->perm, changes ? page->state : page->state & ~GW_PT_FROZEN));
	}
}

/*
 * Whether a table is empty after [lo, hi] was unmapped. Entries wholly inside are clear; those at the two ends may still
 * link a table with something beside the range, and so they and their neighbours are the first to look at.
 */
static bool table_empty(const struct gw_pt *pt, uint64_t table, unsigned int level, uint64_t lo, uint64_t hi)
{
	unsigned int i;

	for (i = gw_index(hi, level); i < GODWIT_PT_TABLE_ENTRIES; i++)
		if (gw_read(pt, table, i) & GODWIT_PTE_V)
			return false;
	for (i = gw_index(lo, level) + 1; i-- > 0;)
		if (gw_read(pt, table, i) & GODWIT_PTE_V)
			return false;
	return true;
}

static int change_write(struct change *c, uint64_t table, unsigned int level, uint64_t lo, uint64_t hi);

/* Changes [at, end] of one entry; `piece` is the leaf in it. */
static int change_entry(struct change *c, uint64_t table, unsigned int level, uint64_t at, uint64_t end, const struct gw_pte *piece)
{
	struct gw_pt *pt = c->pt;
	unsigned int index = gw_index(at, level);
	uint64_t child;
	int status;

	if (gw_span_full(at, end, level)) {
		gw_write(pt, table, index, c->unmap ? 0 : gw_pte_leaf(pt, piece->pa, piece->order, c->perm, piece->state));
		return GW_PT_OK;
	}
	/* The one write of the link is what makes the split and the change in it visible, together. */
	child = gw_frames_pop(pt, &c->frames);
	if (child == GW_PT_NO_FRAME)
		return gw_fail_at(pt, at, GW_PT_ECORRUPT);
	pt->tables++;
	split_fill(pt, child, level - 1, piece);
	status = change_write(c, child, level - 1, at, end);
	gw_write(pt, table, index, gw_pte_table(child));
	return status;
}

/* Changes what lies in [at, last] of the page around `at`. */
static int change_page(struct change *c, uint64_t table, unsigned int level, uint64_t at, uint64_t last, struct gw_pte page)
{
	uint64_t end;
	int status = GW_PT_OK;

	change_record(c, at, &page);
	page.state = gw_page_state(c->pt, table, gw_index(at, level), &page);
	if (piece_order(c, at, level, page.order) != page.order)
		split_page(c, table, level, at, &page);
	/* All of a page that is changed is given back, with what hardware left in it. */
	page.state &= ~GW_PT_FROZEN;
	for (; at <= last && !status; at = end + 1) {
		struct gw_pte piece = page;

		end = gw_span_end(at, last, level);
		piece.order = piece_order(c, at, level, page.order);
		piece.pa += at & gw_order_mask(page.order) & ~gw_order_mask(piece.order);
		status = change_entry(c, table, level, at, end, &piece);
	}
	return status;
}

static int change_write(struct change *c, uint64_t table, unsigned int level, uint64_t lo, uint64_t hi)
{
	struct gw_pt *pt = c->pt;
	uint64_t at, end;
	int status;

	for (at = lo; at <= hi; at = end + 1) {
		unsigned int index = gw_index(at, level);
		struct gw_pte pte = gw_pte_decode(pt, gw_read(pt, table, index), level);

		end = gw_span_end(at, hi, level);
		if (pte.kind == GW_PTE_LEAF) {
			end = gw_page_end(at, hi, pte.order);
			status = change_needed(c, &pte) ? change_page(c, table, level, at, end, pte) : GW_PT_OK;
			if (status)
				return status;
			continue;
		}
		if (pte.kind != GW_PTE_TABLE)
			return gw_fail_at(pt, at, GW_PT_ECORRUPT);
		status = change_write(c, pte.pa, level - 1, at, end);
		if (status)
			return status;
		if (c->unmap && table_empty(pt, pte.pa, level - 1, at, end)) {
			/* The root is one; so this is no table that was made here. */
			if (pt->tables == 1)
				return gw_fail_at(pt, at, GW_PT_ECORRUPT);
			gw_write(pt, table, index, 0);
			gw_frames_push(pt, &pt->dead, pte.pa);
			pt->tables--;
			if (c->inval)
				c->inval->tables++;
		}
	}
	return GW_PT_OK;
}

static int change_run(struct change *c, uint64_t va, uint64_t size)
{
	struct gw_pt *pt = c->pt;
	uint64_t need = 0;
	int status;

	status = gw_pt_span(pt, va, size, &c->lo, &c->hi);
	if (status)
		return status;
	if (!c->unmap && !gw_perm_legal(c->perm))
		return GW_PT_EPERM;
	status = change_plan(c, pt->root, pt->levels - 1, c->lo, c->hi, &need);
	if (status)
		return status;
	status = gw_frames_reserve(pt, &c->frames, need);
	if (status)
		return status;
	status = change_write(c, pt->root, pt->levels - 1, c->lo, c->hi);
	return gw_frames_end(pt, &c->frames, c->lo, status);
}

int gw_pt_unmap(struct gw_pt *pt, uint64_t va, uint64_t size, struct gw_pt_inval *inval)
{
	struct change c = { .pt = pt, .unmap = true, .inval = inval };

	return change_run(&c, va, size);
}

int gw_pt_protect(struct gw_pt *pt, uint64_t va, uint64_t size, uint32_t perm, struct gw_pt_inval *inval)
{
	struct change c = { .pt = pt, .perm = perm, .inval = inval };

	return change_run(&c, va, size);
}

uint64_t gw_pt_reclaim(struct gw_pt *pt)
{
	uint64_t freed = pt->dead.count;

	gw_frames_free(pt, &pt->dead);
	if (pt->joined != GW_PT_NO_FRAME) {
		pt->ops->free(pt->ctx, pt->joined);
		pt->joined = GW_PT_NO_FRAME;
		freed++;
	}
	return freed;
}
