// SPDX-License-Identifier: Apache-2.0
/* Which pages go back to the host with one that it touches. */
#include <godwit/around.h>

/* The walk that goes on at a page; GW_AROUND_WALKS: none does. */
static uint32_t gw_find_walk(const struct gw_around *a, uint64_t owner, uint64_t page)
{
	uint32_t i;

	for (i = 0; i < GW_AROUND_WALKS; i++)
		if (a->walk[i].pages && a->walk[i].owner == owner && a->walk[i].next == page)
			break;
	return i;
}

uint32_t gw_around_touched(struct gw_around *a, uint64_t owner, uint64_t page, uint32_t fewest, uint32_t most, uint64_t *first)
{
	uint32_t i = gw_find_walk(a, owner, page), pages = fewest;
	uint64_t start;

	if (i < GW_AROUND_WALKS)
		pages = a->walk[i].pages < most / 2 ? 2 * a->walk[i].pages : most;
	start = page & ~(uint64_t)(pages - 1);
	*first = i < GW_AROUND_WALKS ? page : start;
	/* The last one is forgotten, unless it is this. */
	for (i = i < GW_AROUND_WALKS ? i : GW_AROUND_WALKS - 1; i; i--)
		a->walk[i] = a->walk[i - 1];
	a->walk[0] = (struct gw_around_walk){ .owner = owner, .next = start + pages, .pages = pages };
	return (uint32_t)(start + pages - *first);
}
