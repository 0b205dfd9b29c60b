/* SPDX-License-Identifier: GPL-2.0-only */
/* A card in use when something happens to it: memory here, on the card and pinned, and threads with launches until one fails. */
#ifndef GODWIT_IN_USE_H_
#define GODWIT_IN_USE_H_

#include <pthread.h>

#include "moves.h"
#include "values.h"

/**
 * struct in_use - memory of each kind, BYTES of it
 * @busy: that kernels work on, wherever it is
 * @away: on the card, where it can be
 * @pinned: pinned
 * @wanted: sums of what is in them
 */
struct in_use {
	uint64_t *busy, *away, *pinned;
	uint64_t wanted[3];
};

static inline struct in_use in_use_new(void)
{
	return (struct in_use){
		.busy = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE),
		.away = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE),
		.pinned = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE),
	};
}

static inline void in_use_free(struct in_use *used)
{
	munmap(used->busy, BYTES);
	munmap(used->away, BYTES);
	munmap(used->pinned, BYTES);
}

/* Opens the card, and has it use all of it, with other content each @round. */
#define USE(used, round)                                                                                     \
	do {                                                                                                 \
		card = card_open();                                                                          \
		CHECK(card >= 0, "open: %s", strerror(errno));                                               \
		(used)->wanted[0] = fill((used)->busy, 1 + (round));                                         \
		(used)->wanted[1] = fill((used)->away, 11 + (round));                                        \
		(used)->wanted[2] = fill((used)->pinned, 21 + (round));                                      \
		if (migrates())                                                                              \
			MOVES((used)->away, BYTES, 0, PAGES);                                                \
		CHECK(!card_pin(card, (used)->pinned, BYTES, GODWIT_PIN_WRITE), "pin: %s", strerror(errno)); \
	} while (0)

/* The card was taken from the file that is open, and the memory is whole. */
#define GONE_AND_WHOLE(used)                                                                                                   \
	do {                                                                                                                   \
		struct godwit_info info_;                                                                                      \
		REFUSED(ioctl(card, GODWIT_IOC_INFO, &info_), ENODEV);                                                         \
		REFUSED(card_unpin(card, (used)->pinned, BYTES), ENODEV);                                                      \
		CHECK(sum_of((used)->busy) == (used)->wanted[0] && sum_of((used)->away) == (used)->wanted[1] &&                \
		      sum_of((used)->pinned) == (used)->wanted[2], "another content");                                         \
	} while (0)

/* It is there again, beside the old file. */
#define WORKS_AGAIN(used)                                                        \
	do {                                                                     \
		card = card_open();                                              \
		CHECK(card >= 0, "open afterwards: %s", strerror(errno));        \
		SEES((used)->away, (used)->wanted[1]);                           \
		SEES((used)->busy, (used)->wanted[0]);                           \
	} while (0)

/**
 * struct launches - of a thread
 * @thread: it
 * @from: what is read
 * @to: where that is copied to; NULL: it is summed
 * @ended_with: errno of the last one
 */
struct launches {
	pthread_t thread;
	const uint64_t *from;
	uint64_t *to;
	int ended_with;
};

static inline void *launches_run(void *all)
{
	struct launches *what = all;
	struct card_sum sum;
	struct godwit_run run;
	uint32_t done;

	while (what->to ? !card_memcopy(card, what->to, what->from, BYTES, &run, &done) :
			  !card_array_sum(card, what->from, COUNT, 0, &sum))
		;
	what->ended_with = errno;
	return NULL;
}

static inline bool launches_begin(struct launches *what)
{
	return !pthread_create(&what->thread, NULL, launches_run, what);
}

static inline int launches_end(struct launches *what)
{
	pthread_join(what->thread, NULL);
	return what->ended_with;
}

#endif /* GODWIT_IN_USE_H_ */
