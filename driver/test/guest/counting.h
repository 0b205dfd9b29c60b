/* SPDX-License-Identifier: GPL-2.0-only */
/* A thread that counts in every page of some memory while that moves: no count may be lost. */
#ifndef GODWIT_COUNTING_H_
#define GODWIT_COUNTING_H_

#include <pthread.h>

#include "values.h"

static uint64_t *counted, counts;
static pthread_t counter;
static volatile bool counting;

static void *count_up(void *none)
{
	uint64_t i;

	(void)none;
	for (counts = 0; counting; counts++)
		for (i = 0; i < PAGES; i++)
			counted[i * PAGE / 8]++;
	return NULL;
}

/* In memory of its own, @counted. */
static inline bool counting_begins(void)
{
	counted = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	counting = true;
	return !pthread_create(&counter, NULL, count_up, NULL);
}

/* The first page that has another count than @counts; PAGES: none. */
static inline int counting_ends(void)
{
	int page = 0;

	counting = false;
	pthread_join(counter, NULL);
	while (page < PAGES && counted[page * PAGE / 8] == counts)
		page++;
	return page;
}

#endif /* GODWIT_COUNTING_H_ */
