// SPDX-License-Identifier: Apache-2.0
/* Taking, giving back and resizing ranges. */
#include "range_internal.h"

/* Guesses that may go wrong under the shared lock before the exclusive one is taken. */
#define GW_GUESSES 8u

static uint64_t gw_granules_of(const struct gw_range *r, uint64_t bytes)
{
	return ((bytes - 1) >> r->shift) + 1;
}

static int gw_size_check(const struct gw_range *r, uint64_t bytes)
{
	return !bytes || bytes > GW_NO_INDEX - (((uint64_t)1 << r->shift) - 1) ? GW_RANGE_ESIZE : GW_RANGE_OK;
}

/* The lowest place within [min, max] of any span. */
static uint64_t gw_place_within(const struct gw_range *r, uint64_t min, uint64_t max, uint64_t align, uint64_t count)
{
	for (uint32_t i = 0; i < r->span_count; i++) {
		struct gw_range_window window;
		uint64_t at;

		if (!gw_search_clip(r, i, min, max, align, &window))
			continue;
		at = gw_search_run(r, &window, count);
		if (at != GW_NO_INDEX)
			return at;
	}
	return GW_NO_INDEX;
}

/*
 * The next addresses [*low, *high] of a node, from area *i on, which is moved behind them. Neighbours on the node count
 * as one, as everywhere.
 */
static bool gw_next_of_node(const struct gw_range *r, uint32_t node, uint32_t *i, uint64_t *low, uint64_t *high)
{
	for (; *i < r->area_count; ++*i) {
		if (r->areas[*i].node != node)
			continue;
		*low = r->areas[*i].base;
		do {
			*high = r->areas[*i].base + (r->areas[*i].bytes - 1);
			++*i;
		} while (*i < r->area_count && r->areas[*i].node == node && r->areas[*i].base - 1 == *high);
		return true;
	}
	return false;
}

static uint64_t gw_place(const struct gw_range *r, const struct gw_range_request *request, uint64_t count)
{
	if (request->node != GW_RANGE_ANY_NODE) {
		uint64_t low, high;

		for (uint32_t i = 0; gw_next_of_node(r, request->node, &i, &low, &high);) {
			uint64_t at = gw_place_within(r, gw_max(request->min, low), gw_min(request->max, high),
						      request->align, count);

			if (at != GW_NO_INDEX)
				return at;
		}
		if (request->flags & GW_RANGE_STRICT_NODE)
			return GW_NO_INDEX;
	}
	return gw_place_within(r, request->min, request->max, request->align, count);
}

static void gw_mark_ends(struct gw_range *r, uint64_t first, uint64_t count)
{
	uint64_t last = first + count - 1;

	gw_word_or(&r->end[last >> GW_WORD_SHIFT], (uint64_t)1 << gw_bit(last));
	gw_word_or(&r->start[first >> GW_WORD_SHIFT], (uint64_t)1 << gw_bit(first));
}

static void gw_count_free(struct gw_range *r, uint64_t granules, bool more)
{
	gw_word_add(&r->free, more ? granules : 0 - granules);
}

/* Under the shared lock: a place within one word, or GW_NO_INDEX if that did not work out. */
static uint64_t gw_take_shared(struct gw_range *r, const struct gw_range_request *request, uint64_t count)
{
	uint64_t at = GW_NO_INDEX;

	gw_range_lock_shared(r);
	for (unsigned int guess = 0; guess < GW_GUESSES; guess++) {
		at = gw_place(r, request, count);
		if (at == GW_NO_INDEX || gw_bit(at) + count > GW_WORD_BITS) {
			at = GW_NO_INDEX;
			break;
		}
		if (gw_map_claim_word(r, at, count)) {
			gw_mark_ends(r, at, count);
			gw_count_free(r, count, false);
			break;
		}
		at = GW_NO_INDEX;
	}
	gw_range_unlock_shared(r);
	return at;
}

static uint64_t gw_longest_within(const struct gw_range *r, uint64_t min, uint64_t max)
{
	uint64_t longest = 0;

	for (uint32_t i = 0; i < r->span_count; i++) {
		struct gw_range_window window;

		if (gw_search_clip(r, i, min, max, 1, &window))
			longest = gw_max(longest, gw_search_longest(r, window.first, window.end));
	}
	return longest;
}

/* The longest run that the request's limits allow, the node's memory alone if it insists on that. */
static uint64_t gw_longest_placed(const struct gw_range *r, const struct gw_range_request *request)
{
	uint64_t longest = 0, low, high;

	if (request->node == GW_RANGE_ANY_NODE || !(request->flags & GW_RANGE_STRICT_NODE))
		return gw_longest_within(r, request->min, request->max);
	for (uint32_t i = 0; gw_next_of_node(r, request->node, &i, &low, &high);)
		longest = gw_max(longest, gw_longest_within(r, gw_max(request->min, low), gw_min(request->max, high)));
	return longest;
}

static int gw_why(const struct gw_range *r, const struct gw_range_request *request, uint64_t count,
		  struct gw_range_why *why)
{
	uint64_t free = gw_word_load(&r->free);
	uint64_t longest = gw_longest_within(r, 0, GW_NO_INDEX);
	uint64_t placed = gw_longest_placed(r, request);

	if (why)
		*why = (struct gw_range_why){
			.free = free << r->shift,
			.largest = longest << r->shift,
			.largest_placed = placed << r->shift,
		};
	if (count > free)
		return GW_RANGE_ENOMEM;
	if (count > longest)
		return GW_RANGE_EFRAGMENT;
	return count > placed ? GW_RANGE_EPLACE : GW_RANGE_EUNALIGNED;
}

int gw_range_alloc(struct gw_range *r, const struct gw_range_request *request, uint64_t *pa, struct gw_range_why *why)
{
	uint64_t count, at = GW_NO_INDEX;
	int status = gw_size_check(r, request->bytes);

	if (status != GW_RANGE_OK)
		return status;
	if (request->align & (request->align - 1))
		return GW_RANGE_EALIGN;
	count = gw_granules_of(r, request->bytes);
	if (count <= GW_WORD_BITS)
		at = gw_take_shared(r, request, count);
	if (at == GW_NO_INDEX) {
		gw_range_lock_exclusive(r);
		at = gw_place(r, request, count);
		if (at != GW_NO_INDEX) {
			gw_map_claim(r, at, count);
			gw_mark_ends(r, at, count);
			gw_count_free(r, count, false);
		} else {
			status = gw_why(r, request, count, why);
		}
		gw_range_unlock_exclusive(r);
	}
	return status == GW_RANGE_OK ? gw_range_address(r, at, pa) : status;
}

/* Index of the range that starts at exactly @pa. */
static int gw_start_of(const struct gw_range *r, uint64_t pa, uint64_t *first)
{
	int status = gw_range_index(r, pa, first);

	if (status != GW_RANGE_OK)
		return status;
	if (pa & (((uint64_t)1 << r->shift) - 1) || !gw_bit_get(r->start, *first))
		return GW_RANGE_ENOTSTART;
	return GW_RANGE_OK;
}

/* The last granule of the range that starts at @first. */
static uint64_t gw_last_of(const struct gw_range *r, uint64_t first)
{
	return gw_bits_next_set(r->end, first, r->granules - 1);
}

static bool gw_in_one_word(uint64_t first, uint64_t last)
{
	return first >> GW_WORD_SHIFT == last >> GW_WORD_SHIFT;
}

/*
 * Frees a range that lies within one word, under the shared lock; false: it is not one, or another thread is at it.
 * Its start bit says whose it is: of two threads that free the same range, one finds the bit cleared. Only who cleared
 * it knows the end, because until then the range may have been freed and its place taken again.
 */
static bool gw_free_shared(struct gw_range *r, uint64_t first, uint64_t *count)
{
	uint64_t *start = &r->start[first >> GW_WORD_SHIFT];
	uint64_t bit = (uint64_t)1 << gw_bit(first);
	uint64_t last;

	if (!gw_in_one_word(first, gw_last_of(r, first)) || !(gw_word_clear(start, bit) & bit))
		return false;
	last = gw_last_of(r, first);
	if (!gw_in_one_word(first, last)) {
		gw_word_or(start, bit);
		return false;
	}
	gw_word_clear(&r->end[last >> GW_WORD_SHIFT], (uint64_t)1 << gw_bit(last));
	*count = last - first + 1;
	gw_map_release_word(r, first, *count);
	gw_count_free(r, *count, true);
	return true;
}

int gw_range_free(struct gw_range *r, uint64_t pa, uint64_t *bytes)
{
	uint64_t first, count = 0;
	int status;

	gw_range_lock_shared(r);
	status = gw_start_of(r, pa, &first);
	if (status == GW_RANGE_OK && !gw_free_shared(r, first, &count))
		count = 0;
	gw_range_unlock_shared(r);
	if (status == GW_RANGE_OK && !count) {
		gw_range_lock_exclusive(r);
		status = gw_start_of(r, pa, &first);
		if (status == GW_RANGE_OK) {
			count = gw_last_of(r, first) - first + 1;
			gw_bits_clear(r->start, first, 1);
			gw_bits_clear(r->end, first + count - 1, 1);
			gw_map_release(r, first, count);
			gw_count_free(r, count, true);
		}
		gw_range_unlock_exclusive(r);
	}
	if (status == GW_RANGE_OK && bytes)
		*bytes = count << r->shift;
	return status;
}

int gw_range_resize(struct gw_range *r, uint64_t pa, uint64_t bytes)
{
	uint64_t first, end, wanted;
	int status = gw_size_check(r, bytes);

	if (status != GW_RANGE_OK)
		return status;
	gw_range_lock_exclusive(r);
	status = gw_start_of(r, pa, &first);
	if (status == GW_RANGE_OK) {
		end = gw_last_of(r, first) + 1;
		wanted = first + gw_granules_of(r, bytes);
		if (wanted < first || wanted > r->granules ||
		    (wanted > end && gw_bits_next_set(r->used, end, wanted) != wanted)) {
			status = GW_RANGE_EBUSY;
		} else if (wanted != end) {
			gw_bits_clear(r->end, end - 1, 1);
			gw_bits_set(r->end, wanted - 1, 1);
			if (wanted > end)
				gw_map_claim(r, end, wanted - end);
			else
				gw_map_release(r, wanted, end - wanted);
			gw_count_free(r, wanted > end ? wanted - end : end - wanted, wanted < end);
		}
	}
	gw_range_unlock_exclusive(r);
	return status;
}

int gw_range_split(struct gw_range *r, uint64_t pa, uint64_t bytes)
{
	uint64_t first, end, step;
	int status = gw_size_check(r, bytes);

	if (status != GW_RANGE_OK)
		return status;
	step = gw_granules_of(r, bytes);
	gw_range_lock_exclusive(r);
	status = gw_start_of(r, pa, &first);
	if (status == GW_RANGE_OK) {
		end = gw_last_of(r, first) + 1;
		for (uint64_t at = step; at < end - first; at += step) {
			gw_bits_set(r->end, first + at - 1, 1);
			gw_bits_set(r->start, first + at, 1);
		}
	}
	gw_range_unlock_exclusive(r);
	return status;
}
