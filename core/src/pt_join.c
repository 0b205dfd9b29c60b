// SPDX-License-Identifier: Apache-2.0
/*
 * Neighbours become one page: look at all of them first, then write. No frame moves and no permission changes, so that a walker
 * finds the same whether it reads an entry from before the call or one from after it.
 */
#include "pt_internal.h"

/* Whether the entries of `table` from `first` on are `count` pages in a row from `page` on, with its permission. */
static int join_look(struct gw_pt *pt, uint64_t table, unsigned int first, unsigned int count, uint64_t lo, struct gw_pte *page)
{
	unsigned int i;

	*page = gw_pte_decode(pt, gw_read(pt, table, first), 0);
	for (i = 0; i < count; i++) {
		uint64_t at = lo + ((uint64_t)i << GODWIT_PT_PAGE_SHIFT);
		struct gw_pte pte = gw_pte_decode(pt, gw_read(pt, table, first + i), 0);
		uint64_t pa = pte.pa + (at & gw_order_mask(pte.order));

		if (pte.kind == GW_PTE_EMPTY)
			return gw_fail_at(pt, at, GW_PT_ENOENT);
		if (pte.kind != GW_PTE_LEAF)
			return gw_fail_at(pt, at, GW_PT_ECORRUPT);
		if (pa != page->pa + ((uint64_t)i << GODWIT_PT_PAGE_SHIFT) || pte.perm != page->perm)
			return gw_fail_at(pt, at, GW_PT_EAPART);
	}
	/* The first of them decides where the larger page is. */
	if (page->pa & gw_order_mask(count == GODWIT_PT_TABLE_ENTRIES ? GW_PT_ORDER_2M : GW_PT_ORDER_64K))
		return gw_fail_at(pt, lo, GW_PT_EAPART);
	return GW_PT_OK;
}

static int join_group(struct gw_pt *pt, uint64_t table, uint64_t lo)
{
	unsigned int first = gw_index(lo, 0), i;
	struct gw_pte page;
	int status = join_look(pt, table, first, 1u << GW_PT_ORDER_64K, lo, &page);

	if (status || page.order == GW_PT_ORDER_64K)
		return status;
	/* Each of them says of all sixteen what the others say. */
	for (i = 0; i < 1u << GW_PT_ORDER_64K; i++)
		gw_write(pt, table, first + i, gw_pte_leaf(pt, page.pa, GW_PT_ORDER_64K, page.perm, 0));
	return GW_PT_OK;
}

/* The table `child` below entry `index` of `table` gives way to one entry. It stays as it is while a walk may still be in it. */
static int join_table(struct gw_pt *pt, uint64_t table, unsigned int index, uint64_t child, uint64_t lo, struct gw_pt_inval *inval)
{
	struct gw_pte page;
	int status;

	if (pt->joined != GW_PT_NO_FRAME)
		return gw_fail_at(pt, lo, GW_PT_EEXIST);
	status = join_look(pt, child, 0, GODWIT_PT_TABLE_ENTRIES, lo, &page);
	if (status)
		return status;
	gw_write(pt, table, index, gw_pte_leaf(pt, page.pa, GW_PT_ORDER_2M, page.perm, 0));
	pt->joined = child;
	pt->tables--;
	if (inval) {
		gw_inval_add(inval, gw_va(pt, lo), gw_order_mask(GW_PT_ORDER_2M) + 1);
		inval->tables++;
		inval->narrowed = true;
	}
	return GW_PT_OK;
}

int gw_pt_join(struct gw_pt *pt, uint64_t va, uint32_t order, struct gw_pt_inval *inval)
{
	unsigned int level = pt->levels - 1, last = order == GW_PT_ORDER_2M ? 1 : 0;
	uint64_t lo, hi, table = pt->root;
	int status;

	/* What hardware sets meanwhile in entries that give way would be lost. */
	if ((order != GW_PT_ORDER_64K && order != GW_PT_ORDER_2M) || pt->tracks)
		return GW_PT_EORDER;
	if (va & gw_order_mask(order))
		return GW_PT_EALIGN;
	status = gw_pt_span(pt, va, gw_order_mask(order) + 1, &lo, &hi);
	if (status)
		return status;
	for (;; level--) {
		struct gw_pte pte = gw_pte_decode(pt, gw_read(pt, table, gw_index(lo, level)), level);

		if (!level)
			return join_group(pt, table, lo);
		if (pte.kind == GW_PTE_EMPTY)
			return gw_fail_at(pt, lo, GW_PT_ENOENT);
		if (pte.kind == GW_PTE_BAD)
			return gw_fail_at(pt, lo, GW_PT_ECORRUPT);
		/* One page already, or part of a larger one. */
		if (pte.kind == GW_PTE_LEAF)
			return GW_PT_OK;
		if (level == last)
			return join_table(pt, table, gw_index(lo, level), pte.pa, lo, inval);
		table = pte.pa;
	}
}
