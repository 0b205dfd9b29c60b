// SPDX-License-Identifier: Apache-2.0
/*
 * Mapping: look first, reserve the frames, then write. From the first write on nothing can fail, unless memory says something else
 * then than it did before.
 */
#include "pt_internal.h"

struct map {
	struct gw_pt *pt;
	uint64_t lo, hi;         /* the whole range */
	uint64_t delta;          /* physical address - offset, modulo 2^64 */
	uint32_t perm, state;
	uint64_t orders;         /* those of the table that max_order and the alignment of delta allow */
	unsigned int leaf_level; /* that of the largest of them */
	struct gw_pt_frames frames;
};

/* Counts the tables that [lo, hi] lacks; fails if any page of it is mapped. */
static int map_plan(const struct map *m, uint64_t table, unsigned int level, uint64_t lo, uint64_t hi, uint64_t *need)
{
	uint64_t at, end;
	int status;

	for (at = lo; at <= hi; at = end + 1) {
		struct gw_pte pte = gw_pte_decode(m->pt, gw_read(m->pt, table, gw_index(at, level)), level);

		end = gw_span_end(at, hi, level);
		switch (pte.kind) {
		case GW_PTE_EMPTY:
			*need += gw_tables_below(level, m->leaf_level, at, end);
			break;
		case GW_PTE_TABLE:
			status = map_plan(m, pte.pa, level - 1, at, end, need);
			if (status)
				return status;
			break;
		case GW_PTE_LEAF:
			return gw_fail_at(m->pt, at, GW_PT_EEXIST);
		case GW_PTE_BAD:
			return gw_fail_at(m->pt, at, GW_PT_ECORRUPT);
		}
	}
	return GW_PT_OK;
}

/*
 * `fresh`: the table is not linked yet and all zero, so there is nothing to read. Memory of a card that was pulled out since the plan
 * reads as ones, and one that is not what it says it is answers anything: what is not as planned ends it.
 */
static int map_write(struct map *m, uint64_t table, unsigned int level, uint64_t lo, uint64_t hi, bool fresh)
{
	uint64_t at, end;
	int status;

	for (at = lo; at <= hi; at = end + 1) {
		unsigned int index = gw_index(at, level);
		uint64_t raw = fresh ? 0 : gw_read(m->pt, table, index);
		uint64_t child;

		end = gw_span_end(at, hi, level);
		if (raw & GODWIT_PTE_V) {
			struct gw_pte pte = gw_pte_decode(m->pt, raw, level);

			if (pte.kind != GW_PTE_TABLE)
				return gw_fail_at(m->pt, at, GW_PT_ECORRUPT);
			status = map_write(m, pte.pa, level - 1, at, end, false);
			if (status)
				return status;
			continue;
		}
		if (level <= m->leaf_level && gw_span_full(at, end, level)) {
			uint32_t order = gw_order_fit(m->orders, level, at, m->lo, m->hi);

			gw_write(m->pt, table, index, gw_pte_leaf(m->pt, at + m->delta, order, m->perm, m->state));
			continue;
		}
		child = gw_frames_pop(m->pt, &m->frames);
		if (child == GW_PT_NO_FRAME)
			return gw_fail_at(m->pt, at, GW_PT_ECORRUPT);
		m->pt->tables++;
		status = map_write(m, child, level - 1, at, end, true);
		/* Linked all the same, so that it goes with the table. */
		gw_write(m->pt, table, index, gw_pte_table(child));
		if (status)
			return status;
	}
	return GW_PT_OK;
}

int gw_pt_map(struct gw_pt *pt, uint64_t va, uint64_t pa, uint64_t size, uint32_t perm, uint32_t max_order)
{
	return gw_pt_map_as(pt, va, pa, size, perm, max_order, 0);
}

int gw_pt_map_as(struct gw_pt *pt, uint64_t va, uint64_t pa, uint64_t size, uint32_t perm, uint32_t max_order,
		 uint32_t state)
{
	struct map m = { .pt = pt, .perm = perm, .state = state };
	uint64_t need = 0;
	int status;

	status = gw_pt_span(pt, va, size, &m.lo, &m.hi);
	if (status)
		return status;
	if (pa & (GODWIT_PT_PAGE_SIZE - 1))
		return GW_PT_EALIGN;
	if (pa >> GODWIT_PA_BITS || size > ((uint64_t)1 << GODWIT_PA_BITS) - pa)
		return GW_PT_EPHYS;
	if (!gw_perm_legal(perm) || state & ~(GW_PT_ACCESSED | GW_PT_DIRTY))
		return GW_PT_EPERM;
	if (max_order > GW_PT_ORDER_1G && max_order > gw_orders_largest(pt->orders))
		return GW_PT_EORDER;

	m.delta = pa - m.lo;
	m.orders = pt->orders & GW_PT_ORDERS_TO(max_order);
	while (m.delta & gw_order_mask(gw_orders_largest(m.orders)))
		m.orders &= ~GW_PT_ORDER_BIT(gw_orders_largest(m.orders));
	m.leaf_level = gw_orders_largest(m.orders) / GODWIT_PT_LEVEL_BITS;

	status = map_plan(&m, pt->root, pt->levels - 1, m.lo, m.hi, &need);
	if (status)
		return status;
	status = gw_frames_reserve(pt, &m.frames, need);
	if (status)
		return status;
	status = map_write(&m, pt->root, pt->levels - 1, m.lo, m.hi, false);
	return gw_frames_end(pt, &m.frames, m.lo, status);
}
