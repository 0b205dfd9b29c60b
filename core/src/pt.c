// SPDX-License-Identifier: Apache-2.0
/* Life of a table, and everything that only reads it. */
#include "pt_internal.h"

/* All lie within the levels, and up to the largest there is one that fills one entry of each. */
static bool orders_legal(uint64_t orders, unsigned int levels)
{
	unsigned int level;

	if (!orders || orders >> gw_level_order(levels))
		return false;
	for (level = 0; orders >> gw_level_order(level); level++)
		if (!(orders & GW_PT_ORDER_BIT(gw_level_order(level))))
			return false;
	return true;
}

int gw_pt_init(struct gw_pt *pt, const struct gw_pt_ops *ops, void *ctx, uint32_t mode)
{
	return gw_pt_init_orders(pt, ops, ctx, mode, GW_PT_ORDERS_DEFAULT);
}

int gw_pt_init_orders(struct gw_pt *pt, const struct gw_pt_ops *ops, void *ctx, uint32_t mode, uint64_t orders)
{
	struct gw_pt_frames root;
	int status;

	*pt = (struct gw_pt){ .ops = ops, .ctx = ctx, .joined = GW_PT_NO_FRAME, .orders = orders, .mode = mode };
	switch (mode) {
	case GODWIT_MODE_SV39:
		pt->levels = 3;
		break;
	case GODWIT_MODE_SV48:
		pt->levels = 4;
		break;
	case GODWIT_MODE_SV57:
		pt->levels = 5;
		break;
	default:
		return GW_PT_EMODE;
	}
	if (!orders_legal(orders, pt->levels))
		return GW_PT_EORDER;
	status = gw_frames_reserve(pt, &root, 1);
	if (status)
		return status;
	pt->root = gw_frames_pop(pt, &root);
	pt->tables = 1;
	return GW_PT_OK;
}

/* As many tables as there are, whatever memory says that is not what was written there. */
static void table_destroy(struct gw_pt *pt, uint64_t table, unsigned int level)
{
	unsigned int i;

	pt->tables--;
	for (i = 0; level > 0 && pt->tables && i < GODWIT_PT_TABLE_ENTRIES; i++) {
		struct gw_pte pte = gw_pte_decode(pt, gw_read(pt, table, i), level);

		if (pte.kind == GW_PTE_TABLE)
			table_destroy(pt, pte.pa, level - 1);
	}
	pt->ops->free(pt->ctx, table);
}

void gw_pt_destroy(struct gw_pt *pt)
{
	if (!pt->tables)
		return;
	gw_pt_reclaim(pt);
	table_destroy(pt, pt->root, pt->levels - 1);
	pt->tables = 0;
}

int gw_pt_lookup(struct gw_pt *pt, uint64_t va, struct gw_pt_mapping *out)
{
	uint64_t offset = gw_offset(pt, va);
	uint64_t table = pt->root;
	unsigned int level;

	if (gw_va(pt, offset) != va)
		return GW_PT_ECANON;
	for (level = pt->levels; level-- > 0;) {
		struct gw_pte pte = gw_pte_decode(pt, gw_read(pt, table, gw_index(offset, level)), level);

		switch (pte.kind) {
		case GW_PTE_EMPTY:
			return gw_fail_at(pt, offset, GW_PT_ENOENT);
		case GW_PTE_TABLE:
			table = pte.pa;
			break;
		case GW_PTE_LEAF:
			*out = (struct gw_pt_mapping){
				.va = va & ~gw_order_mask(pte.order),
				.pa = pte.pa,
				.order = pte.order,
				.perm = pte.perm,
				.state = gw_page_state(pt, table, gw_index(offset, level), &pte),
			};
			return GW_PT_OK;
		case GW_PTE_BAD:
			return gw_fail_at(pt, offset, GW_PT_ECORRUPT);
		}
	}
	/* Level 0 has no tables below it, so its entry has returned above. */
	return gw_fail_at(pt, offset, GW_PT_ECORRUPT);
}

static int table_walk(struct gw_pt *pt, uint64_t table, unsigned int level, uint64_t lo, uint64_t hi,
		      gw_pt_visit_fn visit, void *arg)
{
	uint64_t at, end;
	int status;

	for (at = lo; at <= hi; at = end + 1) {
		struct gw_pte pte = gw_pte_decode(pt, gw_read(pt, table, gw_index(at, level)), level);
		uint64_t mask = gw_order_mask(pte.order);

		end = gw_span_end(at, hi, level);
		if (pte.kind == GW_PTE_EMPTY)
			continue;
		if (pte.kind == GW_PTE_BAD)
			return gw_fail_at(pt, at, GW_PT_ECORRUPT);
		if (pte.kind == GW_PTE_TABLE) {
			status = table_walk(pt, pte.pa, level - 1, at, end, visit, arg);
		} else {
			struct gw_pt_mapping page = {
				.va = gw_va(pt, at & ~mask),
				.pa = pte.pa,
				.order = pte.order,
				.perm = pte.perm,
				.state = gw_page_state(pt, table, gw_index(at, level), &pte),
			};

			end = at | mask; /* a page with several entries is visited once */
			status = visit(arg, &page);
		}
		if (status)
			return status;
	}
	return GW_PT_OK;
}

int gw_pt_walk(struct gw_pt *pt, uint64_t first, uint64_t last, gw_pt_visit_fn visit, void *arg)
{
	uint64_t half = (uint64_t)1 << (gw_va_bits(pt) - 1);
	uint64_t low_last = last < half ? last : half - 1;
	uint64_t high_first = first > (uint64_t)0 - half ? first : (uint64_t)0 - half;
	int status;

	/* The two canonical halves, each as far as [first, last] reaches into it. */
	if (first <= low_last) {
		status = table_walk(pt, pt->root, pt->levels - 1, first, low_last, visit, arg);
		if (status)
			return status;
	}
	if (high_first > last)
		return GW_PT_OK;
	return table_walk(pt, pt->root, pt->levels - 1, gw_offset(pt, high_first), gw_offset(pt, last), visit, arg);
}

uint64_t gw_pt_table_bytes(const struct gw_pt *pt)
{
	return (pt->tables + pt->dead.count + (pt->joined != GW_PT_NO_FRAME)) * GODWIT_PT_PAGE_SIZE;
}
