// SPDX-License-Identifier: Apache-2.0
/*
 * Unmapping and changing permissions: one walk for both. Look first, reserve the frames that splits need, then write.
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

/* Counts the tables that splits need; fails if any page of [lo, hi] is not mapped. */
static int change_plan(const struct change *c, uint64_t table, unsigned int level, uint64_t lo, uint64_t hi,
		       uint64_t *need)
{
	uint64_t at, end;
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
	uint32_t order = level ? GODWIT_PT_LEVEL_BITS * level : GW_PT_ORDER_64K;
	unsigned int i;

	for (i = 0; i < GODWIT_PT_TABLE_ENTRIES; i++)
		gw_write(pt, table, i, gw_pte_leaf(pt, page->pa + ((uint64_t)i << gw_level_shift(level)), order, page->perm,
						  page->state));
}

/* Turns the Svnapot group around entry `index` into sixteen 4 KiB pages of the same frames. */
static void split_napot(const struct gw_pt *pt, uint64_t table, unsigned int index, const struct gw_pte *page)
{
	unsigned int first = index & ~((1u << GW_PT_ORDER_64K) - 1);
	unsigned int i;

	for (i = 0; i < 1u << GW_PT_ORDER_64K; i++)
		gw_write(pt, table, first + i,
			 gw_pte_leaf(pt, page->pa + ((uint64_t)i << GODWIT_PT_PAGE_SHIFT), GW_PT_ORDER_4K, page->perm,
				     page->state));
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

static void change_write(struct change *c, uint64_t table, unsigned int level, uint64_t lo, uint64_t hi);

static void change_leaf(struct change *c, uint64_t table, unsigned int level, uint64_t at, uint64_t end,
			struct gw_pte pte)
{
	struct gw_pt *pt = c->pt;
	unsigned int index = gw_index(at, level);

	change_record(c, at, &pte);
	/* All of a page that is changed is given back, with what hardware left in it. */
	pte.state = gw_page_state(pt, table, index, &pte) & ~GW_PT_FROZEN;
	if (level && !gw_span_full(at, end, level)) {
		uint64_t child = gw_frames_pop(pt, &c->frames);

		/* The one write of the link is what makes the split and the change in it visible, together. */
		pt->tables++;
		split_fill(pt, child, level - 1, &pte);
		change_write(c, child, level - 1, at, end);
		gw_write(pt, table, index, gw_pte_table(child));
		return;
	}
	if (pte.order == GW_PT_ORDER_64K) {
		uint64_t mask = gw_order_mask(GW_PT_ORDER_64K);

		if ((at & ~mask) < c->lo || (at | mask) > c->hi) {
			split_napot(pt, table, index, &pte);
			pte.order = GW_PT_ORDER_4K;
		}
		pte.pa += at & mask;
	}
	gw_write(pt, table, index, c->unmap ? 0 : gw_pte_leaf(pt, pte.pa, pte.order, c->perm, pte.state));
}

static void change_write(struct change *c, uint64_t table, unsigned int level, uint64_t lo, uint64_t hi)
{
	struct gw_pt *pt = c->pt;
	uint64_t at, end;

	for (at = lo; at <= hi; at = end + 1) {
		unsigned int index = gw_index(at, level);
		struct gw_pte pte = gw_pte_decode(pt, gw_read(pt, table, index), level);

		end = gw_span_end(at, hi, level);
		if (pte.kind == GW_PTE_LEAF) {
			if (change_needed(c, &pte))
				change_leaf(c, table, level, at, end, pte);
			continue;
		}
		/* As in map_write(): memory that is gone holds no tables. */
		if (pte.kind != GW_PTE_TABLE)
			continue;
		change_write(c, pte.pa, level - 1, at, end);
		if (c->unmap && table_empty(pt, pte.pa, level - 1, at, end)) {
			gw_write(pt, table, index, 0);
			gw_frames_push(pt, &pt->dead, pte.pa);
			pt->tables--;
			if (c->inval)
				c->inval->tables++;
		}
	}
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
	change_write(c, pt->root, pt->levels - 1, c->lo, c->hi);
	return GW_PT_OK;
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
