// SPDX-License-Identifier: Apache-2.0
/* Areas, spans and storage of the range allocator; indices and addresses. */
#include "range_internal.h"

#define GW_MIN_SHIFT 4u
#define GW_MAX_SHIFT 30u

/* What the storage holds, from its start on. */
struct gw_layout {
	uint64_t granules; /* indices, the unused ones between spans included */
	uint64_t words[GW_RANGE_LEVELS + 1];
	uint32_t levels;
	uint64_t bytes;
};

/* [first, end) of an area in granules; false if nothing is left of it. */
static bool gw_area_granules(const struct gw_range_area *area, uint32_t shift, uint64_t *first, uint64_t *end)
{
	uint64_t granule = (uint64_t)1 << shift;
	uint64_t last = area->base + area->bytes - 1;

	if (!area->bytes || area->base > GW_NO_INDEX - granule)
		return false;
	*first = (area->base + granule - 1) >> shift;
	/* The last granule below 2^64 would end at an address that does not exist. */
	*end = (last >> shift) + ((last & (granule - 1)) == granule - 1);
	return *first < *end;
}

static int gw_layout_of(const struct gw_range_area *areas, uint32_t count, uint32_t shift, struct gw_layout *layout)
{
	uint64_t words = 0;

	if (shift < GW_MIN_SHIFT || shift > GW_MAX_SHIFT)
		return GW_RANGE_EGRANULE;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t first, end;

		if (!areas[i].bytes)
			continue;
		if (areas[i].bytes - 1 > GW_NO_INDEX - areas[i].base)
			return GW_RANGE_EAREA;
		/*
		 * As if no two were joined: a span is at most one word longer than its granules, and has one more granule
		 * than its areas at each border, where two may also make one of nothing.
		 */
		words += 2;
		if (gw_area_granules(&areas[i], shift, &first, &end))
			words += (end - first) >> GW_WORD_SHIFT;
	}
	if (!words)
		return GW_RANGE_EAREA;
	layout->granules = words << GW_WORD_SHIFT;
	layout->words[0] = words;
	layout->levels = 0;
	layout->bytes = count * (sizeof(struct gw_range_span) + sizeof(struct gw_range_area)) + 3 * words * sizeof(uint64_t);
	do {
		words = (words + GW_WORD_BITS - 1) >> GW_WORD_SHIFT;
		layout->words[++layout->levels] = words;
		layout->bytes += words * sizeof(uint64_t);
	} while (words > 1 && layout->levels < GW_RANGE_LEVELS);
	return GW_RANGE_OK;
}

int gw_range_storage(const struct gw_range_area *areas, uint32_t count, uint32_t granule_shift, size_t *bytes)
{
	struct gw_layout layout;
	int status = gw_layout_of(areas, count, granule_shift, &layout);

	if (status == GW_RANGE_OK)
		*bytes = (size_t)layout.bytes;
	return status;
}

/* Sorted copies of the areas; insertion sort, because there are few. */
static int gw_sort_areas(struct gw_range *r, const struct gw_range_area *areas, uint32_t count)
{
	r->area_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = r->area_count;

		if (!areas[i].bytes)
			continue;
		for (; at && r->areas[at - 1].base > areas[i].base; at--)
			r->areas[at] = r->areas[at - 1];
		r->areas[at] = areas[i];
		r->area_count++;
	}
	for (uint32_t i = 1; i < r->area_count; i++)
		if (r->areas[i].base - r->areas[i - 1].base < r->areas[i - 1].bytes)
			return GW_RANGE_EAREA;
	return GW_RANGE_OK;
}

/*
 * Areas that touch become one span, also when their border is inside a granule. A span starts at a word of its own, and
 * at least one bit behind it stays taken, so that no run crosses a hole.
 */
static void gw_join_areas(struct gw_range *r)
{
	uint64_t next = 0;

	for (uint32_t i = 0; i < r->area_count;) {
		struct gw_range_area joined = r->areas[i];
		struct gw_range_span *span = &r->spans[r->span_count];
		uint64_t first, end;

		while (++i < r->area_count && r->areas[i].base == joined.base + joined.bytes)
			joined.bytes += r->areas[i].bytes;
		if (!gw_area_granules(&joined, r->shift, &first, &end))
			continue;
		span->base = first << r->shift;
		span->first = next;
		span->count = end - first;
		next += ((span->count >> GW_WORD_SHIFT) + 1) << GW_WORD_SHIFT;
		r->free += span->count;
		r->span_count++;
	}
	r->total = r->free;
}

/*
 * Everything is taken but the spans. Of bitmaps that are zero only what is not zero is written: those of free memory are
 * pages that the system need not bring yet.
 */
static void gw_take_gaps(struct gw_range *r)
{
	uint64_t next = 0;

	for (uint32_t level = 0; level < r->levels; level++) {
		uint64_t bits = r->words[level], rest = gw_bit(bits);

		if (rest)
			r->full[level][bits >> GW_WORD_SHIFT] = ~gw_word_mask(0, rest);
	}
	for (uint32_t i = 0; i < r->span_count; i++) {
		if (r->spans[i].first > next)
			gw_map_claim(r, next, r->spans[i].first - next);
		next = r->spans[i].first + r->spans[i].count;
	}
	gw_map_claim(r, next, r->granules - next);
}

int gw_range_init_zeroed(struct gw_range *r, const struct gw_range_area *areas, uint32_t count, uint32_t granule_shift,
			 void *storage, size_t storage_bytes)
{
	struct gw_layout layout;
	struct gw_range fresh = { .shift = granule_shift };
	int status = gw_layout_of(areas, count, granule_shift, &layout);
	uint64_t *words;

	if (status != GW_RANGE_OK)
		return status;
	if (storage_bytes < layout.bytes || (uintptr_t)storage % sizeof(uint64_t))
		return GW_RANGE_ESTORAGE;
	fresh.spans = storage;
	fresh.areas = (struct gw_range_area *)(void *)(fresh.spans + count);
	words = (uint64_t *)(void *)(fresh.areas + count);
	fresh.granules = layout.granules;
	fresh.levels = layout.levels;
	for (uint32_t i = 0; i <= layout.levels; i++)
		fresh.words[i] = layout.words[i];
	fresh.used = words;
	fresh.start = fresh.used + layout.words[0];
	fresh.end = fresh.start + layout.words[0];
	words = fresh.end + layout.words[0];
	for (uint32_t i = 0; i < layout.levels; i++) {
		fresh.full[i] = words;
		words += layout.words[i + 1];
	}
	status = gw_sort_areas(&fresh, areas, count);
	if (status != GW_RANGE_OK)
		return status;
	gw_join_areas(&fresh);
	if (!fresh.span_count)
		return GW_RANGE_EAREA;
	gw_take_gaps(&fresh);
	*r = fresh;
	return GW_RANGE_OK;
}

int gw_range_init(struct gw_range *r, const struct gw_range_area *areas, uint32_t count, uint32_t granule_shift,
		  void *storage, size_t storage_bytes)
{
	struct gw_layout layout;
	int status = gw_layout_of(areas, count, granule_shift, &layout);

	if (status != GW_RANGE_OK)
		return status;
	if (storage_bytes < layout.bytes || (uintptr_t)storage % sizeof(uint64_t))
		return GW_RANGE_ESTORAGE;
	for (uint64_t i = 0; i < layout.bytes / sizeof(uint64_t); i++)
		((uint64_t *)storage)[i] = 0;
	return gw_range_init_zeroed(r, areas, count, granule_shift, storage, storage_bytes);
}

int gw_range_index(const struct gw_range *r, uint64_t pa, uint64_t *index)
{
	uint32_t low = 0, high = r->span_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct gw_range_span *span = &r->spans[middle];

		if (pa < span->base) {
			high = middle;
		} else if ((pa - span->base) >> r->shift >= span->count) {
			low = middle + 1;
		} else {
			*index = span->first + ((pa - span->base) >> r->shift);
			return GW_RANGE_OK;
		}
	}
	return GW_RANGE_EFOREIGN;
}

int gw_range_address(const struct gw_range *r, uint64_t index, uint64_t *pa)
{
	uint32_t low = 0, high = r->span_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct gw_range_span *span = &r->spans[middle];

		if (index < span->first) {
			high = middle;
		} else if (index - span->first >= span->count) {
			low = middle + 1;
		} else {
			*pa = span->base + ((index - span->first) << r->shift);
			return GW_RANGE_OK;
		}
	}
	return GW_RANGE_EFOREIGN;
}

const char *gw_range_reason(int status)
{
	switch (status) {
	case GW_RANGE_OK:
		return "done";
	case GW_RANGE_EAREA:
		return "no usable area, or areas that overlap or wrap around";
	case GW_RANGE_EGRANULE:
		return "the granule is not a power of two from 16 bytes to 1 GiB";
	case GW_RANGE_ESTORAGE:
		return "the storage is too small or not aligned";
	case GW_RANGE_ESIZE:
		return "the size is zero or too large to be rounded up to granules";
	case GW_RANGE_EALIGN:
		return "the alignment is not a power of two";
	case GW_RANGE_ENOMEM:
		return "fewer bytes are free than asked for";
	case GW_RANGE_EFRAGMENT:
		return "enough bytes are free, but not in one piece";
	case GW_RANGE_EPLACE:
		return "there is a piece that is large enough, but not within the limits";
	case GW_RANGE_EUNALIGNED:
		return "there is a piece that is large enough, but none with an aligned place in it";
	case GW_RANGE_EFOREIGN:
		return "the address is in no area";
	case GW_RANGE_ENOTSTART:
		return "no range in use starts at the address: it was freed already, or is inside a range";
	case GW_RANGE_EBUSY:
		return "what follows the range is in use";
	default:
		return "the bitmaps contradict each other";
	}
}
