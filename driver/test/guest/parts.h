/* SPDX-License-Identifier: GPL-2.0-only */
/* Aligned memory of 2 MiB and more, and the entries that the card has for it. */
#ifndef GODWIT_PARTS_H_
#define GODWIT_PARTS_H_

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "files.h"
#include "huge.h"
#include "values.h"

#define HUGE_PAGES (HUGE / PAGE)
#define GROUP (16 * PAGE)
#define GROUPS (HUGE / GROUP)

/* Of this process's context. */
static struct {
	unsigned long long tables, small, groups, huge;
} entries;

static inline bool look(void)
{
	const char *line = contents(DEBUG "entries");
	int context, process;

	while ((line = strchr(line, '\n')) && *++line)
		if (sscanf(line, "%d %d %llu %llu %llu %llu", &context, &process, &entries.tables, &entries.small, &entries.groups,
			   &entries.huge) == 6 && process == getpid())
			return true;
	return false;
}

#define ENTRIES(wanted_huge, wanted_groups, wanted_small)                                                                           \
	do {                                                                                                                        \
		CHECK(look(), "no line of this process");                                                                           \
		CHECK(entries.huge == (wanted_huge) && entries.groups == (wanted_groups) && entries.small == (wanted_small),        \
		      "entries: %llu of 2 MiB, %llu of 64 KiB, %llu of 4 KiB", entries.huge, entries.groups, entries.small);        \
	} while (0)

/* Aligned memory of so many parts of 2 MiB that nobody has touched, with nothing around it. */
static inline uint64_t *empty_parts(int count, int advice)
{
	char *area = mmap(NULL, (count + 1) * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *values = (uint64_t *)(((uintptr_t)area + HUGE - 1) & ~(HUGE - 1));

	munmap(area, (char *)values - area);
	munmap((char *)values + count * HUGE, area + HUGE - (char *)values);
	madvise(values, count * HUGE, advice);
	return values;
}

/* The same, filled. */
static inline uint64_t *parts(int count, int advice)
{
	uint64_t *values = empty_parts(count, advice), i;

	for (i = 0; i < count * HUGE / 8; i++)
		values[i] = i * 0x9e3779b97f4a7c15ull;
	return values;
}

/* Whether process (if it may look) and card see what parts() has put there, in a piece from page @first on; then @other was added to it. */
static inline bool right(const uint64_t *values, unsigned long first, uint64_t other, bool touch)
{
	uint64_t sum = other, i;

	for (i = first * PAGE / 8; i < first * PAGE / 8 + COUNT; i++)
		sum += i * 0x9e3779b97f4a7c15ull;
	return seen(values + first * PAGE / 8) == sum && (!touch || sum_of(values + first * PAGE / 8) == sum);
}

#endif /* GODWIT_PARTS_H_ */
