// SPDX-License-Identifier: Apache-2.0
/* Runs of bits in a plain map, a word at a time. */
#include "range_internal.h"

/* Bits of [first, first + count) that are in first's word. */
static uint64_t gw_in_word(uint64_t first, uint64_t count)
{
	return gw_min(count, GW_WORD_BITS - gw_bit(first));
}

void gw_bits_set(uint64_t *map, uint64_t first, uint64_t count)
{
	for (uint64_t step; count; first += step, count -= step) {
		uint64_t *word = &map[first >> GW_WORD_SHIFT];

		step = gw_in_word(first, count);
		gw_word_store(word, gw_word_load(word) | gw_word_mask(gw_bit(first), step));
	}
}

void gw_bits_clear(uint64_t *map, uint64_t first, uint64_t count)
{
	for (uint64_t step; count; first += step, count -= step) {
		uint64_t *word = &map[first >> GW_WORD_SHIFT];

		step = gw_in_word(first, count);
		gw_word_store(word, gw_word_load(word) & ~gw_word_mask(gw_bit(first), step));
	}
}

uint64_t gw_bits_next_set(const uint64_t *map, uint64_t first, uint64_t end)
{
	if (first >= end)
		return end;
	uint64_t at = first >> GW_WORD_SHIFT;
	uint64_t last = (end - 1) >> GW_WORD_SHIFT;
	uint64_t word = gw_word_load(&map[at]) >> gw_bit(first) << gw_bit(first);

	while (!word && at < last)
		word = gw_word_load(&map[++at]);
	return word ? gw_min(end, (at << GW_WORD_SHIFT) + gw_first_set(word)) : end;
}

uint64_t gw_bits_last_set(const uint64_t *map, uint64_t first, uint64_t last)
{
	uint64_t at = last >> GW_WORD_SHIFT;
	uint64_t word = gw_word_load(&map[at]) & gw_word_mask(0, gw_bit(last) + 1u);

	while (!word && at > first >> GW_WORD_SHIFT)
		word = gw_word_load(&map[--at]);
	return word ? (at << GW_WORD_SHIFT) + gw_last_set(word) : first;
}
