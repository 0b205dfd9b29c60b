/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the prefetch policy share. */
#ifndef GODWIT_PREFETCH_INTERNAL_H_
#define GODWIT_PREFETCH_INTERNAL_H_

#include <godwit/prefetch.h>

/* Pages of the first plan of a stream, and when memory is full. */
#define GW_FIRST_WINDOW 16u
#define GW_FIRST_WINDOW_FULL 2u

static inline bool gw_page_in(const uint64_t map[GW_PREFETCH_WORDS], uint32_t page)
{
	return map[page / 64] >> page % 64 & 1;
}

/* prefetch_stream.c: learns from the fault; false if it is part of no stream. */
bool gw_plan_stream(struct gw_prefetch *p, const struct gw_prefetch_fault *fault,
		    const struct gw_prefetch_block *block, struct gw_prefetch_plan *plan);

#endif /* GODWIT_PREFETCH_INTERNAL_H_ */
