/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of a test program, and what the card's kernels see in it and make of it. */
#ifndef GODWIT_VALUES_H_
#define GODWIT_VALUES_H_

#include <stdbool.h>
#include <sys/mman.h>

#include "card.h"
#include "check.h"

#define PAGE 4096ul
#define PAGES 64
#define BYTES (PAGES * PAGE)
#define COUNT (BYTES / 8)

static int card = -1;

/* Whether memory can be on the card. */
static inline bool migrates(void)
{
	struct godwit_info info;

	return !ioctl(card, GODWIT_IOC_INFO, &info) && info.flags & GODWIT_INFO_MIGRATE;
}

static inline uint64_t *fresh(int prot, int flags)
{
	return mmap(NULL, BYTES, prot, flags | MAP_ANONYMOUS, -1, 0);
}

static inline uint64_t fill(uint64_t *values, uint64_t first)
{
	uint64_t sum = 0, i;

	for (i = 0; i < COUNT; i++)
		sum += values[i] = (first + i) * 0x9e3779b97f4a7c15ull;
	return sum;
}

/* The sum that the process sees. */
static inline uint64_t sum_of(const volatile uint64_t *values)
{
	uint64_t sum = 0, i;

	for (i = 0; i < COUNT; i++)
		sum += values[i];
	return sum;
}

/* The sum that the card sees; 1 after a fault, which no sum here is. */
static inline uint64_t seen(const uint64_t *values)
{
	struct card_sum got;

	if (card_array_sum(card, values, COUNT, 0, &got))
		return 2;
	return got.run.end == GODWIT_RUN_DONE && !got.status ? got.sum : 1;
}

#define SEES(values, wanted)                                                                                    \
	do {                                                                                                    \
		uint64_t sum_ = seen(values);                                                                   \
		CHECK(sum_ == (wanted), "the card sees %llx, not %llx", (unsigned long long)sum_,               \
		      (unsigned long long)(wanted));                                                            \
	} while (0)

/* Whether the card copies; a fault is no copy. */
static inline bool copies(void *to, const void *from)
{
	struct godwit_run run;
	uint32_t status;

	return !card_memcopy(card, to, from, BYTES, &run, &status) && run.end == GODWIT_RUN_DONE && !status;
}

#endif /* GODWIT_VALUES_H_ */
