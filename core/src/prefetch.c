// SPDX-License-Identifier: Apache-2.0
/* Density within a block, and what a fault is worth. Streams are in prefetch_stream.c. */
#include "prefetch_internal.h"

/* A value is kept over so many pages that came back. */
#define GW_RETURNED_MEMORY 1024u

static uint32_t gw_clamp(uint32_t value, uint32_t low, uint32_t high)
{
	return value < low ? low : value > high ? high : value;
}

void gw_prefetch_init(struct gw_prefetch *p, uint32_t fault_pages, uint32_t max_window)
{
	*p = (struct gw_prefetch){
		.fault_pages = gw_clamp(fault_pages, 1, GW_PREFETCH_BLOCK),
		.max_window = gw_clamp(max_window, 1, GW_PREFETCH_MAX_WINDOW),
		.first_window = GW_FIRST_WINDOW,
	};
}

void gw_prefetch_limit(struct gw_prefetch *p, uint32_t max_window, bool full)
{
	p->max_window = gw_clamp(max_window, 1, GW_PREFETCH_MAX_WINDOW);
	p->first_window = full ? GW_FIRST_WINDOW_FULL : GW_FIRST_WINDOW;
}

uint32_t gw_prefetch_time(const struct gw_prefetch *p)
{
	return p->clock;
}

void gw_prefetch_returned(struct gw_prefetch *p, uint32_t pages, uint32_t used)
{
	pages = gw_clamp(pages, 0, GW_RETURNED_MEMORY);
	p->returned += pages;
	p->used += gw_clamp(used, 0, pages);
	if (p->returned > GW_RETURNED_MEMORY) {
		p->returned /= 2;
		p->used /= 2;
	}
}

/* All of it while at least half of what came back had been used; a block's worth of doubt is needed to say otherwise. */
static uint32_t gw_fault_worth(const struct gw_prefetch *p)
{
	uint64_t used = 2 * (uint64_t)p->used + GW_PREFETCH_BLOCK / 8, all = p->returned + GW_PREFETCH_BLOCK / 8;
	uint64_t worth = used < all ? p->fault_pages * used / all : p->fault_pages;

	return worth ? (uint32_t)worth : 1;
}

static uint32_t gw_count_used(const uint64_t used[GW_PREFETCH_WORDS], uint32_t first, uint32_t pages)
{
	uint32_t found = 0;

	for (uint32_t i = first; i < first + pages; i++)
		found += gw_page_in(used, i);
	return found;
}

static void gw_plan_density(const struct gw_prefetch *p, const struct gw_prefetch_fault *fault,
			    const uint64_t used[GW_PREFETCH_WORDS], struct gw_prefetch_plan *plan)
{
	uint32_t at = (uint32_t)(fault->page % GW_PREFETCH_BLOCK), worth = gw_fault_worth(p), pages = 1;
	uint64_t block = fault->page - at, first, last;

	/* The first fault pays for as many pages as it is worth. A larger part takes more: more than one page used in
	 * twice that many, as every fault has brought pages of it. */
	for (uint32_t size = 2; size <= GW_PREFETCH_BLOCK; size *= 2) {
		if (size <= worth || 2 * worth * (uint64_t)gw_count_used(used, at & ~(size - 1), size) > size)
			pages = size;
	}
	first = block + (at & ~(pages - 1));
	last = first + pages - 1;
	first = first < fault->first ? fault->first : first;
	last = last > fault->last ? fault->last : last;
	*plan = (struct gw_prefetch_plan){ first, 1, (uint32_t)(last - first) + 1, false };
}

void gw_prefetch_plan(struct gw_prefetch *p, const struct gw_prefetch_fault *fault,
		      const struct gw_prefetch_block *block, struct gw_prefetch_plan *plan)
{
	p->clock++;
	if (!gw_plan_stream(p, fault, block, plan))
		gw_plan_density(p, fault, block->used, plan);
}
