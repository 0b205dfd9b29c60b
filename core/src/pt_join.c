// SPDX-License-Identifier: Apache-2.0
/*
 * Neighbours become one page: look at all of them first, then write. No frame moves and no permission changes, so that a walker
 * finds the same whether it reads an entry from before the call or one from after it.
 */
#include "pt_internal.h"

/*
 * Whether the entries of `table`, of this level, for the page of `order` from `lo` on are leaves that lie as it would, with one
 * permission; `page` is the first of them, and its pa that of `lo`.
 */
static int join_look(struct gw_pt *pt, uint64_t table, unsigned int level, uint64_t lo, uint32_t order, struct gw_pte *page)
{
	uint64_t at;

	for (at = lo; at <= (lo | gw_order_mask(order)); at += gw_level_mask(level) + 1) {
		struct gw_pte pte = gw_pte_decode(pt, gw_read(pt, table, gw_index(at, level)), level);

		if (pte.kind == GW_PTE_EMPTY)
			return gw_fail_at(pt, at, GW_PT_ENOENT);
		if (pte.kind == GW_PTE_BAD)
			return gw_fail_at(pt, at, GW_PT_ECORRUPT);
		pte.pa += at & gw_order_mask(pte.order);
		if (at == lo)
			*page = pte;
		if (pte.kind == GW_PTE_TABLE || pte.pa != page->pa + (at - lo) || pte.perm != page->perm)
			return gw_fail_at(pt, at, GW_PT_EAPART);
	}
	/* The first of them decides where the larger page is. */
	if (page->pa & gw_order_mask(order))
		return gw_fail_at(pt, lo, GW_PT_EAPART);
	return GW_PT_OK;
}

static int join_group(struct gw_pt *pt, uint64_t table, unsigned int level, uint64_t lo, uint32_t order)
{
	unsigned int first = gw_index(lo, level), i;
	struct gw_pte page;
	int status = join_look(pt, table, level, lo, order, &page);

	if (status || page.order >= order)
		return status;
	/* Each of them says of all of them what the others say. */
	for (i = 0; i < gw_page_entries(order); i++)
		gw_write(pt, table, first + i, gw_pte_leaf(pt, page.pa, order, page.perm, 0));
	return GW_PT_OK;
}

/* The table `child` below entry `index` of `table` gives way to one entry. It stays as it is while a walk may still be in it. */
static int join_table(struct gw_pt *pt, uint64_t table, unsigned int level, uint64_t child, uint64_t lo, struct gw_pt_inval *inval)
{
	uint32_t order = gw_level_order(level);
	struct gw_pte page;
	int status;

	if (pt->joined != GW_PT_NO_FRAME)
		return gw_fail_at(pt, lo, GW_PT_EEXIST);
	status = join_look(pt, child, level - 1, lo, order, &page);
	if (status)
		return status;
	/* The root is one; so this is no table that was made here. */
	if (pt->tables == 1)
		return gw_fail_at(pt, lo, GW_PT_ECORRUPT);
	gw_write(pt, table, gw_index(lo, level), gw_pte_leaf(pt, page.pa, order, page.perm, 0));
	pt->joined = child;
	pt->tables--;
	if (inval) {
		gw_inval_add(inval, gw_va(pt, lo), gw_order_mask(order) + 1);
		inval->tables++;
		inval->narrowed = true;
	}
	return GW_PT_OK;
}

int gw_pt_join(struct gw_pt *pt, uint64_t va, uint32_t order, struct gw_pt_inval *inval)
{
	unsigned int level = pt->levels - 1;
	uint64_t lo, hi, table = pt->root;
	int status;

	/* What hardware sets meanwhile in entries that give way would be lost. */
	if (order == GW_PT_ORDER_4K || order >= GW_PT_ORDER_1G || !(pt->orders & GW_PT_ORDER_BIT(order)) || pt->tracks)
		return GW_PT_EORDER;
	if (va & gw_order_mask(order))
		return GW_PT_EALIGN;
	status = gw_pt_span(pt, va, gw_order_mask(order) + 1, &lo, &hi);
	if (status)
		return status;
	for (;; level--) {
		struct gw_pte pte = gw_pte_decode(pt, gw_read(pt, table, gw_index(lo, level)), level);

		if (level == order / GODWIT_PT_LEVEL_BITS && gw_page_entries(order) > 1)
			return join_group(pt, table, level, lo, order);
		if (pte.kind == GW_PTE_EMPTY)
			return gw_fail_at(pt, lo, GW_PT_ENOENT);
		if (pte.kind == GW_PTE_BAD)
			return gw_fail_at(pt, lo, GW_PT_ECORRUPT);
		/* One page already, or part of a larger one. */
		if (pte.kind == GW_PTE_LEAF)
			return GW_PT_OK;
		if (level == order / GODWIT_PT_LEVEL_BITS)
			return join_table(pt, table, level, pte.pa, lo, inval);
		table = pte.pa;
	}
}
