// SPDX-License-Identifier: Apache-2.0
/* Looking at the state of the range allocator, all of it at one moment. */
#include "range_internal.h"

uint64_t gw_range_free_bytes(const struct gw_range *r)
{
	return gw_word_load(&r->free) << r->shift;
}

int gw_range_find(struct gw_range *r, uint64_t pa, uint64_t *first, uint64_t *bytes)
{
	uint64_t index, start, last;
	int status = gw_range_index(r, pa, &index);

	if (status != GW_RANGE_OK)
		return status;
	gw_range_lock_exclusive(r);
	if (gw_bit_get(r->used, index)) {
		start = gw_bits_last_set(r->start, 0, index);
		last = gw_bits_next_set(r->end, start, r->granules - 1);
		*bytes = (last - start + 1) << r->shift;
		status = gw_range_address(r, start, first);
	} else {
		status = GW_RANGE_ENOTSTART;
	}
	gw_range_unlock_exclusive(r);
	return status;
}

uint64_t gw_range_largest_free(struct gw_range *r, uint64_t min, uint64_t max)
{
	uint64_t longest = 0;

	gw_range_lock_exclusive(r);
	for (uint32_t i = 0; i < r->span_count; i++) {
		struct gw_range_window window;

		if (gw_search_clip(r, i, min, max, 1, &window))
			longest = gw_max(longest, gw_search_longest(r, window.first, window.end));
	}
	gw_range_unlock_exclusive(r);
	return longest << r->shift;
}

/* Granules of the range in use or the free run at @at, which ends at @end at the latest. */
static uint64_t gw_run_at(const struct gw_range *r, uint64_t at, uint64_t end, bool *used)
{
	*used = gw_bit_get(r->used, at);
	return *used ? gw_bits_next_set(r->end, at, end - 1) + 1 - at : gw_bits_next_set(r->used, at, end) - at;
}

void gw_range_walk(struct gw_range *r, bool (*visit)(void *ctx, bool used, uint64_t pa, uint64_t bytes), void *ctx)
{
	bool more = true;

	gw_range_lock_exclusive(r);
	for (uint32_t i = 0; i < r->span_count && more; i++) {
		const struct gw_range_span *span = &r->spans[i];
		uint64_t end = span->first + span->count;

		for (uint64_t at = span->first, run; at < end && more; at += run) {
			bool used;

			run = gw_run_at(r, at, end, &used);
			more = visit(ctx, used, span->base + ((at - span->first) << r->shift), run << r->shift);
		}
	}
	gw_range_unlock_exclusive(r);
}

static bool gw_count_run(void *ctx, bool used, uint64_t pa, uint64_t bytes)
{
	struct gw_range_stats *stats = ctx;

	(void)pa;
	if (used) {
		stats->ranges++;
	} else {
		stats->free_runs++;
		stats->free += bytes;
		stats->largest = gw_max(stats->largest, bytes);
	}
	return true;
}

void gw_range_stats(struct gw_range *r, struct gw_range_stats *stats)
{
	*stats = (struct gw_range_stats){ .total = r->total << r->shift, .spans = r->span_count };
	gw_range_walk(r, gw_count_run, stats);
}

/* The first index in [first, end) at which ranges do not follow each other as they must, or end. */
static uint64_t gw_check_span(const struct gw_range *r, uint64_t first, uint64_t end, uint64_t *free)
{
	for (uint64_t at = first, run; at < end; at += run) {
		bool used;

		run = gw_run_at(r, at, end, &used);
		if (used != gw_bit_get(r->start, at) || gw_bits_next_set(r->start, at + 1, at + run) != at + run)
			return at;
		if (used ? !gw_bit_get(r->end, at + run - 1) || gw_map_next_free(r, at, at + run) != at + run :
			   gw_bits_next_set(r->end, at, at + run) != at + run)
			return at;
		if (!used)
			*free += run;
	}
	return end;
}

int gw_range_check(struct gw_range *r, uint64_t *at)
{
	uint64_t free = 0, bad, between = 0;

	gw_range_lock_exclusive(r);
	bad = gw_map_check(r);
	for (uint32_t i = 0; i < r->span_count && bad == GW_NO_INDEX; i++) {
		const struct gw_range_span *span = &r->spans[i];
		uint64_t end = span->first + span->count;
		uint64_t found = gw_map_next_free(r, between, span->first);

		if (found != span->first)
			bad = found;
		else if ((found = gw_check_span(r, span->first, end, &free)) != end)
			bad = found;
		between = end;
	}
	if (bad == GW_NO_INDEX && gw_map_next_free(r, between, r->granules) != r->granules)
		bad = between;
	if (bad == GW_NO_INDEX && free != gw_word_load(&r->free))
		bad = 0;
	gw_range_unlock_exclusive(r);
	if (bad == GW_NO_INDEX)
		return GW_RANGE_OK;
	if (at && gw_range_address(r, bad, at) != GW_RANGE_OK)
		*at = 0;
	return GW_RANGE_ECORRUPT;
}
