/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the range allocator must do, said as slowly and plainly as possible: a byte a granule of address space, 0 hole,
 * 1 free, 2 in use, 3 in use and the first of its range. Addresses are granules from 0.
 */
#ifndef GODWIT_RANGE_MODEL_H_
#define GODWIT_RANGE_MODEL_H_

#include <stdbool.h>
#include <stdint.h>

#define MODEL_GRANULES 2048u

enum model_state { MODEL_HOLE, MODEL_FREE, MODEL_USED, MODEL_FIRST };

struct model {
	uint8_t state[MODEL_GRANULES];
};

/* The lowest place of @count granules at a multiple of @align in [first, end); MODEL_GRANULES: none. */
static inline uint32_t model_place(const struct model *m, uint32_t first, uint32_t end, uint32_t align, uint32_t count)
{
	for (uint32_t at = first; at + count <= end; at++) {
		uint32_t run = 0;

		while (run < count && m->state[at + run] == MODEL_FREE)
			run++;
		if (run == count && at % align == 0)
			return at;
	}
	return MODEL_GRANULES;
}

/* The longest free run in [first, end). */
static inline uint32_t model_longest(const struct model *m, uint32_t first, uint32_t end)
{
	uint32_t longest = 0, run = 0;

	for (uint32_t at = first; at < end; at++) {
		run = m->state[at] == MODEL_FREE ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	return longest;
}

/* Granules of the range that starts at @at; 0 if none does. */
static inline uint32_t model_length(const struct model *m, uint32_t at)
{
	uint32_t end = at + 1;

	if (at >= MODEL_GRANULES || m->state[at] != MODEL_FIRST)
		return 0;
	while (end < MODEL_GRANULES && m->state[end] == MODEL_USED)
		end++;
	return end - at;
}

static inline void model_fill(struct model *m, uint32_t first, uint32_t end, enum model_state state)
{
	while (first < end)
		m->state[first++] = (uint8_t)state;
}

static inline uint32_t model_free(const struct model *m)
{
	uint32_t count = 0;

	for (uint32_t at = 0; at < MODEL_GRANULES; at++)
		count += m->state[at] == MODEL_FREE;
	return count;
}

#endif /* GODWIT_RANGE_MODEL_H_ */
