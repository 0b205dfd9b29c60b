/* SPDX-License-Identifier: GPL-2.0-only */
/* Where pages of a test's memory are. */
#ifndef GODWIT_PLACES_H_
#define GODWIT_PLACES_H_

#include "values.h"

static uint8_t places[PAGES];

static inline int look(const void *at, uint64_t bytes, void *into)
{
	struct godwit_residency what = { .addr = (uint64_t)at, .size = bytes, .places = (uint64_t)into };

	return ioctl(card, GODWIT_IOC_RESIDENCY, &what);
}

/* The first page from @first to @last that is not at @wanted; @last + 1: all are. */
static inline int elsewhere(int first, int last, unsigned int wanted)
{
	while (first <= last && places[first] == wanted)
		first++;
	return first;
}

#define LOOK(values) CHECK(!look(values, BYTES, places), "%s", strerror(errno))
#define ARE(first, last, wanted)                                                                      \
	do {                                                                                          \
		int at_ = elsewhere(first, last, wanted);                                             \
		CHECK(at_ > (last), "page %d is at %#x, not %#x", at_, places[at_ % PAGES], wanted); \
	} while (0)

/* What is said of where memory is to be. */
static inline bool advise(const void *at, uint64_t bytes, uint32_t advice)
{
	struct godwit_advise what = { .addr = (uint64_t)at, .size = bytes, .advice = advice };

	return !ioctl(card, GODWIT_IOC_ADVISE, &what);
}

#endif /* GODWIT_PLACES_H_ */
