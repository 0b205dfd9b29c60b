/* SPDX-License-Identifier: GPL-2.0-only */
/* A thread that counts in every page of some memory while that moves: no count may be lost. */
#ifndef GODWIT_COUNTING_H_
#define GODWIT_COUNTING_H_

#include <pthread.h>

#include "values.h"

static uint64_t *counted, counts;
static unsigned long counted_pages;
static pthread_t counter;
static volatile bool counting;

static void *count_up(void *none)
{
	uint64_t i;

	(void)none;
	for (counts = 0; counting; counts++)
		for (i = 0; i < counted_pages; i++)
			counted[i * PAGE / 8]++;
	return NULL;
}

/* In memory that is zero yet, @counted from then on. */
static inline bool counting_begins_in(uint64_t *values, unsigned long pages)
{
	counted = values;
	counted_pages = pages;
	counting = true;
	return !pthread_create(&counter, NULL, count_up, NULL);
}

/* In memory of its own. */
static inline bool counting_begins(void)
{
	return counting_begins_in(fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), PAGES);
}

/* The first page that has another count than @counts; as many as there are: none. */
static inline int counting_ends(void)
{
	unsigned long page = 0;

	counting = false;
	pthread_join(counter, NULL);
	while (page < counted_pages && counted[page * PAGE / 8] == counts)
		page++;
	return page;
}

#endif /* GODWIT_COUNTING_H_ */
