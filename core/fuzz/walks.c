// SPDX-License-Identifier: Apache-2.0
#include "walks.h"

#include <godwit_layout.h>

/* Looking through the log takes most of the time. */
#define WALKS_SHORT 24u
#define WALKS_LONG 3u
#define LOG_SHORT 1024u

#define VPN_MASK (((uint64_t)1 << 52) - 1)

static uint64_t roll(struct walks *walks, uint64_t n)
{
	walks->dice ^= walks->dice << 13;
	walks->dice ^= walks->dice >> 7;
	walks->dice ^= walks->dice << 17;
	return walks->dice % n;
}

/* The entry after `time` of the call's writes. A frame that is new in it began with zeros. */
static uint64_t entry_at(const struct walks *walks, uint64_t pa, size_t time)
{
	uint64_t word = 0;

	while (time-- > 0)
		if (walks->log->writes[time].pa == pa)
			return walks->log->writes[time].pte;
	(void)memory_peek(walks->memory, pa, &word);
	return word;
}

/* The page around `vpn`: its first page, its frame there, its permission and log2 of its pages; false: there is none. */
static bool walk(struct walks *walks, uint64_t vpn, size_t time, struct run *page, unsigned int *order)
{
	uint64_t table = walks->pt->root, mask, pte;
	unsigned int level;

	for (level = walks->pt->levels - 1;; level--) {
		pte = entry_at(walks, table + (vpn >> 9 * level & 511) * 8, time);
		if (!(pte & GODWIT_PTE_V))
			return false;
		if (pte & GODWIT_PTE_R)
			break;
		CHECK(level > 0 && !(pte & GODWIT_PTE_N));
		table = (pte & GODWIT_PTE_PPN_MASK) >> GODWIT_PTE_PPN_SHIFT << 12;
		time += roll(walks, walks->log->count - time + 1);
	}
	page->ppn = (pte & GODWIT_PTE_PPN_MASK) >> GODWIT_PTE_PPN_SHIFT;
	*order = 9 * level;
	if (pte & GODWIT_PTE_N) {
		/* 1, 10, 100, ... up to 1000_0000, in the bits above the level's. */
		for (*order += 1; !(page->ppn >> (*order - 1) & 1); ++*order)
			CHECK(*order < 9 * level + 8);
		page->ppn ^= (uint64_t)1 << (*order - 1);
	}
	mask = ((uint64_t)1 << *order) - 1;
	CHECK((walks->pt->orders >> *order & 1) && !(page->ppn & mask));
	page->first = vpn & ~mask;
	page->last = vpn | mask;
	page->perm = pte & GODWIT_PTE_W ? GW_PT_READ | GW_PT_WRITE : GW_PT_READ;
	return true;
}

static bool says(const struct model *model, uint64_t vpn, const struct run *page)
{
	const struct run *run = model_find(model, vpn);

	return run && run->perm == page->perm && run->ppn + (vpn - run->first) == page->ppn + (vpn - page->first);
}

void walks_check(struct walks *walks)
{
	const uint64_t edges[4] = { walks->first, walks->last, walks->first - 1, walks->last + 1 };
	unsigned int rounds = walks->log->count > LOG_SHORT ? WALKS_LONG : WALKS_SHORT, i, order;

	if (walks->log->count == MEMORY_LOG)
		return;
	for (; rounds > 0; rounds--) {
		uint64_t vpn = rounds % 2 ? edges[roll(walks, 4)] : walks->first + roll(walks, walks->last - walks->first + 1);
		struct run page;

		/* Beside the end of the address space, or of one of its halves, there may be no page. */
		if (vpn > VPN_MASK || ((vpn + ((uint64_t)1 << (9 * walks->pt->levels - 1))) & VPN_MASK) >> 9 * walks->pt->levels)
			continue;
		if (!walk(walks, vpn, roll(walks, walks->log->count + 1), &page, &order)) {
			CHECK(!model_find(walks->before, vpn) || !model_find(walks->after, vpn));
			continue;
		}
		for (i = 0; i < 12; i++) {
			uint64_t at = i < 4 ? edges[i] : page.first + roll(walks, page.last - page.first + 1);

			if (at >= page.first && at <= page.last)
				CHECK(says(walks->before, at, &page) || says(walks->after, at, &page));
		}
	}
}
