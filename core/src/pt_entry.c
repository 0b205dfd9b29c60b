// SPDX-License-Identifier: Apache-2.0
/* Entries and intervals: pure functions. */
#include "pt_internal.h"

/* The lowest bit of an entry's frame number that is set says the size of a page with several entries: that in its middle. */
static uint64_t order_mark(uint32_t order)
{
	return (uint64_t)1 << (GODWIT_PT_PAGE_SHIFT + order - 1);
}

/* Svnapot is one case of it. */
_Static_assert(GW_PT_ORDER_64K == GODWIT_NAPOT_ORDER && GODWIT_NAPOT_PATTERN == 1u << (GODWIT_NAPOT_ORDER - 1),
	       "the mark of a 64 KiB page");

static uint64_t pte_pa(uint64_t raw)
{
	return (raw & GODWIT_PTE_PPN_MASK) >> GODWIT_PTE_PPN_SHIFT << GODWIT_PT_PAGE_SHIFT;
}

static uint64_t pte_ppn(uint64_t pa)
{
	return pa >> GODWIT_PT_PAGE_SHIFT << GODWIT_PTE_PPN_SHIFT;
}

uint64_t gw_pte_table(uint64_t pa)
{
	return pte_ppn(pa) | GODWIT_PTE_V;
}

uint64_t gw_pte_leaf(const struct gw_pt *pt, uint64_t pa, uint32_t order, uint32_t perm, uint32_t state)
{
	uint64_t raw = GODWIT_PTE_V | GODWIT_PTE_R | GODWIT_PTE_U;

	if (perm & GW_PT_WRITE)
		raw |= GODWIT_PTE_W;
	/* Hardware that does not set them wants them set. */
	if (!pt->tracks)
		state = perm & GW_PT_WRITE ? GW_PT_ACCESSED | GW_PT_DIRTY : GW_PT_ACCESSED;
	if (state & GW_PT_ACCESSED)
		raw |= GODWIT_PTE_A;
	if (state & GW_PT_DIRTY)
		raw |= GODWIT_PTE_D;
	if (state & GW_PT_FROZEN)
		raw |= GODWIT_PTE_FROZEN_BIT;
	pa &= ~gw_order_mask(order);
	if (gw_page_entries(order) > 1) {
		pa |= order_mark(order);
		raw |= GODWIT_PTE_N;
	}
	return raw | pte_ppn(pa);
}

static uint32_t pte_state(const struct gw_pt *pt, uint64_t raw)
{
	uint32_t state = 0;

	if (!pt->tracks)
		return 0;
	if (raw & GODWIT_PTE_A)
		state |= GW_PT_ACCESSED;
	if (raw & GODWIT_PTE_D)
		state |= GW_PT_DIRTY;
	if (raw & GODWIT_PTE_FROZEN_BIT)
		state |= GW_PT_FROZEN;
	return state;
}

uint32_t gw_page_state(const struct gw_pt *pt, uint64_t table, unsigned int index, const struct gw_pte *pte)
{
	unsigned int first = gw_page_index(index, pte->order);
	uint32_t state = pte->state;
	unsigned int i;

	for (i = first; pt->tracks && i < first + gw_page_entries(pte->order); i++)
		if (i != index)
			state |= pte_state(pt, gw_read(pt, table, i));
	return state;
}

struct gw_pte gw_pte_decode(const struct gw_pt *pt, uint64_t raw, unsigned int level)
{
	struct gw_pte pte = { .kind = GW_PTE_BAD, .pa = pte_pa(raw) };

	if (!(raw & GODWIT_PTE_V)) {
		pte.kind = GW_PTE_EMPTY;
		return pte;
	}
	if (!(raw & (GODWIT_PTE_R | GODWIT_PTE_W | GODWIT_PTE_X))) {
		if (level > 0 && raw == gw_pte_table(pte.pa))
			pte.kind = GW_PTE_TABLE;
		return pte;
	}
	pte.order = gw_level_order(level);
	if (raw & GODWIT_PTE_N)
		do
			pte.order++;
		while (!(pte.pa & order_mark(pte.order)) && gw_page_entries(pte.order + 1) > 1);
	if (!(pt->orders & GW_PT_ORDER_BIT(pte.order)))
		return pte;

	pte.pa &= ~gw_order_mask(pte.order);
	pte.state = pte_state(pt, raw);
	pte.perm = raw & GODWIT_PTE_W ? GW_PT_READ | GW_PT_WRITE : GW_PT_READ;
	/* A leaf is legal exactly if it is the one that would be written for what it says. */
	if (raw == gw_pte_leaf(pt, pte.pa, pte.order, pte.perm, pte.state))
		pte.kind = GW_PTE_LEAF;
	return pte;
}

uint32_t gw_order_fit(uint64_t orders, unsigned int level, uint64_t at, uint64_t lo, uint64_t hi)
{
	uint32_t one = gw_level_order(level), order;

	for (orders &= GW_PT_ORDERS_TO(one + GODWIT_PT_LEVEL_BITS - 1);; orders &= ~GW_PT_ORDER_BIT(order)) {
		order = gw_orders_largest(orders);
		if (order == one || ((at & ~gw_order_mask(order)) >= lo && (at | gw_order_mask(order)) <= hi))
			return order;
	}
}

uint64_t gw_tables_below(unsigned int level, unsigned int leaf_level, uint64_t lo, uint64_t hi)
{
	uint64_t tables = 0;

	for (; level > 0; level--) {
		uint64_t entries = (hi >> gw_level_shift(level)) - (lo >> gw_level_shift(level)) + 1;
		bool cut_lo = lo & gw_level_mask(level);
		bool cut_hi = (hi + 1) & gw_level_mask(level);

		if (level > leaf_level)
			tables += entries;
		else if (entries == 1)
			tables += cut_lo || cut_hi;
		else
			tables += (uint64_t)cut_lo + (uint64_t)cut_hi;
	}
	return tables;
}

int gw_pt_span(const struct gw_pt *pt, uint64_t va, uint64_t size, uint64_t *lo, uint64_t *hi)
{
	uint64_t last = va + (size - 1);

	if ((va | size) & (GODWIT_PT_PAGE_SIZE - 1))
		return GW_PT_EALIGN;
	if (size == 0)
		return GW_PT_ESIZE;

	*lo = gw_offset(pt, va);
	*hi = gw_offset(pt, last);
	/* Both ends canonical, in order, and in the same half: then everything between is canonical too. */
	if (gw_va(pt, *lo) != va || gw_va(pt, *hi) != last || last < va || (va ^ last) >> (gw_va_bits(pt) - 1))
		return GW_PT_ECANON;
	return GW_PT_OK;
}

bool gw_perm_legal(uint32_t perm)
{
	return perm == GW_PT_READ || perm == (GW_PT_READ | GW_PT_WRITE);
}
