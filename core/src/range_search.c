// SPDX-License-Identifier: Apache-2.0
/* Where a run of free granules is. Without the exclusive lock the answer is a guess. */
#include "range_internal.h"

/* The lowest aligned index at or after @index; may be past every index, but does not wrap around. */
static uint64_t gw_align_up(const struct gw_range_window *window, uint64_t index)
{
	uint64_t over = (index + window->phase) & (window->align - 1);

	if (!over)
		return index;
	return window->align - over > GW_NO_INDEX - index ? GW_NO_INDEX : index + (window->align - over);
}

uint64_t gw_search_run(const struct gw_range *r, const struct gw_range_window *window, uint64_t count)
{
	uint64_t at = window->first;

	while (at < window->end) {
		at = gw_align_up(window, gw_map_next_free(r, at, window->end));
		if (at >= window->end || count > window->end - at)
			break;
		uint64_t taken = gw_bits_next_set(r->used, at, at + count);

		if (taken == at + count)
			return at;
		at = taken + 1;
	}
	return GW_NO_INDEX;
}

uint64_t gw_search_longest(const struct gw_range *r, uint64_t first, uint64_t end)
{
	uint64_t longest = 0;

	for (uint64_t at = gw_map_next_free(r, first, end); at < end;) {
		uint64_t taken = gw_bits_next_set(r->used, at, end);

		longest = gw_max(longest, taken - at);
		at = gw_map_next_free(r, taken, end);
	}
	return longest;
}

bool gw_search_clip(const struct gw_range *r, uint32_t span, uint64_t min, uint64_t max, uint64_t align,
		    struct gw_range_window *window)
{
	const struct gw_range_span *s = &r->spans[span];
	uint64_t granule = (uint64_t)1 << r->shift;
	uint64_t last = s->base + ((s->count << r->shift) - 1);
	uint64_t above, below;

	if (min > max || min > last || max < s->base)
		return false;
	/* Granules that lie wholly below min or reach above max are out. */
	above = min > s->base ? ((min - s->base - 1) >> r->shift) + 1 : 0;
	below = max < last ? (max - s->base + 1) >> r->shift : s->count;
	if (above >= below)
		return false;
	window->first = s->first + above;
	window->end = s->first + below;
	window->align = align > granule ? align >> r->shift : 1;
	window->phase = (s->base >> r->shift) - s->first;
	return true;
}
