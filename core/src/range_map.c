// SPDX-License-Identifier: Apache-2.0
/*
 * The bitmap of granules in use, and above it the summary: bit w of level 0 says that word w of the bitmap is full, bit
 * w of level n that word w of level n - 1 is.
 *
 * A summary bit that is clear promises nothing; one that is set promises a full word, but for the moment in which
 * another thread is between its two steps. That order is why: who fills a word sets the bit afterwards and looks at the
 * word once more, and who empties a word clears the bit afterwards. Whichever of the two comes last sees the other.
 */
#include "range_internal.h"

static bool gw_is_full(const uint64_t *word)
{
	return gw_word_load(word) == ~(uint64_t)0;
}

/* The word below bit @index of summary level @level. */
static const uint64_t *gw_below(const struct gw_range *r, uint32_t level, uint64_t index)
{
	return level ? &r->full[level - 1][index] : &r->used[index];
}

/* Word @index of the bitmap may have become full. */
static void gw_mark_full(struct gw_range *r, uint64_t index)
{
	for (uint32_t level = 0; level < r->levels && gw_is_full(gw_below(r, level, index)); level++) {
		uint64_t *word = &r->full[level][index >> GW_WORD_SHIFT];
		uint64_t bit = (uint64_t)1 << gw_bit(index);

		gw_word_or(word, bit);
		if (!gw_is_full(gw_below(r, level, index))) {
			/* Levels above may have become full through this bit: clear them, too. */
			for (; level < r->levels; level++, index >>= GW_WORD_SHIFT)
				gw_word_clear(&r->full[level][index >> GW_WORD_SHIFT], (uint64_t)1 << gw_bit(index));
			return;
		}
		index >>= GW_WORD_SHIFT;
	}
}

/* Word @index of the bitmap is no longer full. */
static void gw_mark_free(struct gw_range *r, uint64_t index)
{
	for (uint32_t level = 0; level < r->levels; level++, index >>= GW_WORD_SHIFT) {
		uint64_t *word = &r->full[level][index >> GW_WORD_SHIFT];

		if (gw_word_load(word) >> gw_bit(index) & 1)
			gw_word_clear(word, (uint64_t)1 << gw_bit(index));
	}
}

bool gw_map_claim_word(struct gw_range *r, uint64_t first, uint64_t count)
{
	uint64_t *word = &r->used[first >> GW_WORD_SHIFT];
	uint64_t mask = gw_word_mask(gw_bit(first), count);

	/* Changes of other bits are no conflict, but they may not go on for ever. */
	for (unsigned int tries = 0; tries < GW_WORD_BITS; tries++) {
		uint64_t old = gw_word_load(word);

		if (old & mask)
			return false;
		if (gw_word_swap(word, old, old | mask)) {
			if ((old | mask) == ~(uint64_t)0)
				gw_mark_full(r, first >> GW_WORD_SHIFT);
			return true;
		}
	}
	return false;
}

void gw_map_release_word(struct gw_range *r, uint64_t first, uint64_t count)
{
	gw_word_clear(&r->used[first >> GW_WORD_SHIFT], gw_word_mask(gw_bit(first), count));
	gw_mark_free(r, first >> GW_WORD_SHIFT);
}

void gw_map_claim(struct gw_range *r, uint64_t first, uint64_t count)
{
	gw_bits_set(r->used, first, count);
	for (uint64_t word = first >> GW_WORD_SHIFT; word <= (first + count - 1) >> GW_WORD_SHIFT; word++)
		gw_mark_full(r, word);
}

void gw_map_release(struct gw_range *r, uint64_t first, uint64_t count)
{
	gw_bits_clear(r->used, first, count);
	for (uint64_t word = first >> GW_WORD_SHIFT; word <= (first + count - 1) >> GW_WORD_SHIFT; word++)
		gw_mark_free(r, word);
}

/* The first bit at or after @index of summary level @level that is clear, or the number of its bits. */
static uint64_t gw_next_not_full(const struct gw_range *r, uint32_t level, uint64_t index)
{
	uint64_t bits = r->words[level];

	/* Up: as long as the rest of the word is full, whole words are skipped by the level above. */
	uint32_t top = level;
	uint64_t at = index;

	for (;;) {
		uint64_t word = at >> GW_WORD_SHIFT;

		if (word >= r->words[top + 1])
			return bits;
		uint64_t clear = ~gw_word_load(&r->full[top][word]) >> gw_bit(at) << gw_bit(at);

		if (clear) {
			at = (word << GW_WORD_SHIFT) + gw_first_set(clear);
			if (top == level)
				return gw_min(bits, at);
			top--;
			at <<= GW_WORD_SHIFT;
		} else if (top + 1 < r->levels) {
			top++;
			at = word + 1;
		} else {
			at = (word + 1) << GW_WORD_SHIFT;
		}
	}
}

uint64_t gw_map_next_free(const struct gw_range *r, uint64_t first, uint64_t end)
{
	while (first < end) {
		uint64_t at = first >> GW_WORD_SHIFT;
		uint64_t clear = ~gw_word_load(&r->used[at]) >> gw_bit(first) << gw_bit(first);

		if (clear)
			return gw_min(end, (at << GW_WORD_SHIFT) + gw_first_set(clear));
		first = gw_next_not_full(r, 0, at + 1) << GW_WORD_SHIFT;
	}
	return end;
}

uint64_t gw_map_check(const struct gw_range *r)
{
	for (uint32_t level = 0; level < r->levels; level++)
		for (uint64_t index = 0; index < r->words[level]; index++)
			if (gw_bit_get(r->full[level], index) && !gw_is_full(gw_below(r, level, index)))
				return index << GW_WORD_SHIFT * (level + 1);
	return GW_NO_INDEX;
}
