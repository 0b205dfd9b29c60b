// SPDX-License-Identifier: Apache-2.0
/*
 * Pages taken out of use and given back, and their A taken, in tables whose A and D hardware sets. All visit each leaf entry of a range,
 * for larger pages all of it, and look at the whole range before they write.
 */
#include "pt_internal.h"

struct visit {
	struct gw_pt *pt;
	struct gw_pt_inval *inval;
	bool write; /* otherwise look only */
	bool freeze;
	bool clear;
	bool age;
};

static void entry_write(const struct visit *v, uint64_t table, unsigned int index, unsigned int level)
{
	uint64_t raw = gw_read(v->pt, table, index);
	struct gw_pte pte = gw_pte_decode(v->pt, raw, level);
	uint32_t state = v->clear ? 0 : pte.state & ~GW_PT_FROZEN;

	if (v->age)
		gw_write(v->pt, table, index, raw & ~(uint64_t)GODWIT_PTE_A);
	else if (v->freeze)
		v->pt->ops->write_high(v->pt->ctx, gw_entry_addr(table, index), (uint32_t)((raw | GODWIT_PTE_FROZEN_BIT) >> 32));
	else if (pte.state & GW_PT_FROZEN)
		gw_write(v->pt, table, index, gw_pte_leaf(v->pt, pte.pa, pte.order, pte.perm, state));
}

static void page_write(const struct visit *v, uint64_t table, unsigned int level, uint64_t at, const struct gw_pte *pte)
{
	uint64_t mask = gw_order_mask(pte->order);
	unsigned int index = gw_index(at, level), first = gw_page_index(index, pte->order);
	unsigned int i;

	if (v->age && !(gw_page_state(v->pt, table, index, pte) & GW_PT_ACCESSED))
		return;
	if (v->inval) {
		gw_inval_add(v->inval, gw_va(v->pt, at & ~mask), mask + 1);
		v->inval->narrowed |= v->freeze;
	}
	for (i = 0; i < gw_page_entries(pte->order); i++)
		entry_write(v, table, first + i, level);
}

static int visit_table(const struct visit *v, uint64_t table, unsigned int level, uint64_t lo, uint64_t hi)
{
	uint64_t at, end;
	int status;

	for (at = lo; at <= hi; at = end + 1) {
		struct gw_pte pte = gw_pte_decode(v->pt, gw_read(v->pt, table, gw_index(at, level)), level);

		end = gw_span_end(at, hi, level);
		switch (pte.kind) {
		case GW_PTE_EMPTY:
			return gw_fail_at(v->pt, at, GW_PT_ENOENT);
		case GW_PTE_TABLE:
			status = visit_table(v, pte.pa, level - 1, at, end);
			if (status)
				return status;
			break;
		case GW_PTE_LEAF:
			end = gw_page_end(at, hi, pte.order);
			if (v->write)
				page_write(v, table, level, at, &pte);
			break;
		case GW_PTE_BAD:
			return gw_fail_at(v->pt, at, GW_PT_ECORRUPT);
		}
	}
	return GW_PT_OK;
}

static int visit_run(struct visit *v, uint64_t va, uint64_t size)
{
	uint64_t lo, hi;
	int status = gw_pt_span(v->pt, va, size, &lo, &hi);

	if (!status)
		status = visit_table(v, v->pt->root, v->pt->levels - 1, lo, hi);
	if (status)
		return status;
	v->write = true;
	return visit_table(v, v->pt->root, v->pt->levels - 1, lo, hi);
}

void gw_pt_track(struct gw_pt *pt)
{
	pt->tracks = true;
}

int gw_pt_freeze(struct gw_pt *pt, uint64_t va, uint64_t size, struct gw_pt_inval *inval)
{
	struct visit v = { .pt = pt, .inval = inval, .freeze = true };

	return visit_run(&v, va, size);
}

int gw_pt_thaw(struct gw_pt *pt, uint64_t va, uint64_t size, bool clear)
{
	struct visit v = { .pt = pt, .clear = clear };

	return visit_run(&v, va, size);
}

int gw_pt_age(struct gw_pt *pt, uint64_t va, uint64_t size, struct gw_pt_inval *inval)
{
	struct visit v = { .pt = pt, .inval = inval, .age = true };

	return visit_run(&v, va, size);
}
