/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the range allocator's files share: atomic words, the lock, bitmaps.
 *
 * An index is a granule's bit number. Words are read and written through gw_word_*(), because threads with the shared
 * lock change them at any time.
 */
#ifndef GODWIT_RANGE_INTERNAL_H_
#define GODWIT_RANGE_INTERNAL_H_

#include <godwit/range.h>

#define GW_WORD_BITS 64u
#define GW_WORD_SHIFT 6u
#define GW_NO_INDEX (~(uint64_t)0)

/*
 * Loads and the read-modify-writes below are sequentially consistent: the summary's protocol is about the order of two
 * locations. That costs a plain load on the usual machines.
 */
static inline uint64_t gw_word_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static inline void gw_word_store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Both return the word from before. */
static inline uint64_t gw_word_or(uint64_t *word, uint64_t bits)
{
	return __atomic_fetch_or(word, bits, __ATOMIC_SEQ_CST);
}

static inline uint64_t gw_word_clear(uint64_t *word, uint64_t bits)
{
	return __atomic_fetch_and(word, ~bits, __ATOMIC_SEQ_CST);
}

static inline bool gw_word_swap(uint64_t *word, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static inline void gw_word_add(uint64_t *word, uint64_t value)
{
	__atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

static inline unsigned int gw_first_set(uint64_t word)
{
	return (unsigned int)__builtin_ctzll(word);
}

static inline unsigned int gw_last_set(uint64_t word)
{
	return GW_WORD_BITS - 1 - (unsigned int)__builtin_clzll(word);
}

/* @count bits from bit @first on; both within one word, count at least 1. */
static inline uint64_t gw_word_mask(unsigned int first, uint64_t count)
{
	return ~(uint64_t)0 >> (GW_WORD_BITS - count) << first;
}

static inline unsigned int gw_bit(uint64_t index)
{
	return (unsigned int)(index & (GW_WORD_BITS - 1));
}

static inline bool gw_bit_get(const uint64_t *map, uint64_t index)
{
	return gw_word_load(&map[index >> GW_WORD_SHIFT]) >> gw_bit(index) & 1;
}

static inline uint64_t gw_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t gw_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* range_lock.c */
void gw_range_lock_shared(struct gw_range *r);
void gw_range_unlock_shared(struct gw_range *r);
void gw_range_lock_exclusive(struct gw_range *r);
void gw_range_unlock_exclusive(struct gw_range *r);

/* range_bits.c: plain maps; a set or a clear of many bits needs the exclusive lock. */
void gw_bits_set(uint64_t *map, uint64_t first, uint64_t count);
void gw_bits_clear(uint64_t *map, uint64_t first, uint64_t count);
/* The first set bit in [first, end), or end. */
uint64_t gw_bits_next_set(const uint64_t *map, uint64_t first, uint64_t end);
/* The last set bit in [first, last]; there must be one. */
uint64_t gw_bits_last_set(const uint64_t *map, uint64_t first, uint64_t last);

/* range_map.c: the bitmap of granules in use with its summary. */
/* The first free granule in [first, end), or end. */
uint64_t gw_map_next_free(const struct gw_range *r, uint64_t first, uint64_t end);
/* Takes bits of one word; false if one is taken already. Shared or exclusive lock. */
bool gw_map_claim_word(struct gw_range *r, uint64_t first, uint64_t count);
void gw_map_release_word(struct gw_range *r, uint64_t first, uint64_t count);
/* Any number of words. Exclusive lock. */
void gw_map_claim(struct gw_range *r, uint64_t first, uint64_t count);
void gw_map_release(struct gw_range *r, uint64_t first, uint64_t count);
/* An address at which the summary hides free memory, or GW_NO_INDEX. Exclusive lock. */
uint64_t gw_map_check(const struct gw_range *r);

/* range_search.c */
struct gw_range_window {
	uint64_t first, end; /* indices within one span */
	uint64_t align;      /* granules */
	uint64_t phase;      /* an index i is aligned if (i + phase) % align is 0 */
};

/* The lowest place for @count granules, or GW_NO_INDEX. */
uint64_t gw_search_run(const struct gw_range *r, const struct gw_range_window *window, uint64_t count);
/* Granules of the longest free run in [first, end). */
uint64_t gw_search_longest(const struct gw_range *r, uint64_t first, uint64_t end);
/* Part of span @span within the addresses [min, max]; false if there is none. */
bool gw_search_clip(const struct gw_range *r, uint32_t span, uint64_t min, uint64_t max, uint64_t align,
		    struct gw_range_window *window);

#endif /* GODWIT_RANGE_INTERNAL_H_ */
