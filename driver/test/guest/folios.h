/* SPDX-License-Identifier: GPL-2.0-only */
/* What has become of huge pages, and what is in them. */
#ifndef GODWIT_FOLIOS_H_
#define GODWIT_FOLIOS_H_

#include "parts.h"

/* Before what is looked at. */
static struct {
	long long out, home, touches;
} was;

static inline void begin(void)
{
	was.out = after(DEBUG "counters", "\nfolios_out ");
	was.home = after(DEBUG "counters", "\nfolios_home ");
	was.touches = after(DEBUG "counters", "\ntouches ");
}

/* What has happened since: folios that went to the card and came home, and touches. */
#define HAPPENED(out_, home_, touches_)                                                                                \
	do {                                                                                                           \
		long long got_out_ = after(DEBUG "counters", "\nfolios_out ") - was.out;                               \
		long long got_home_ = after(DEBUG "counters", "\nfolios_home ") - was.home;                            \
		long long got_touches_ = after(DEBUG "counters", "\ntouches ") - was.touches;                          \
		CHECK(got_out_ == (out_) && got_home_ == (home_) && got_touches_ == (touches_),                        \
		      "%lld folios out, %lld home, %lld touches", got_out_, got_home_, got_touches_);                  \
	} while (0)

/* The same without touches: what goes to the card ahead of requests may be what the program uses meanwhile. */
#define FOLIOS(out_, home_)                                                                                             \
	do {                                                                                                           \
		long long got_out_ = after(DEBUG "counters", "\nfolios_out ") - was.out;                               \
		long long got_home_ = after(DEBUG "counters", "\nfolios_home ") - was.home;                            \
		CHECK(got_out_ == (out_) && got_home_ == (home_), "%lld folios out, %lld home", got_out_, got_home_);    \
	} while (0)

/* Folios that are on the card, and pages, be they of these or not. */
#define ON_CARD(folios, pages)                                                                                         \
	do {                                                                                                           \
		long long got_ = after(DEBUG "pages", "\npool_folios "), used_ = after(DEBUG "pages", "\npool_used "); \
		CHECK(got_ == (folios) && used_ == (long long)(pages), "%lld folios and %lld pages on the card", got_, used_); \
	} while (0)

static inline bool folios_fail(bool fail)
{
	return tell(DEBUG "fail_folios", fail ? "1" : "0");
}

/* The process's own look at pages that parts() has filled, but for those from @first on that are @away. */
static inline bool own(const uint64_t *values, uint64_t count, uint64_t first, uint64_t away)
{
	uint64_t i;

	for (i = 0; i < count * PAGE / 8; i++)
		if ((i < first * PAGE / 8 || i >= (first + away) * PAGE / 8) && values[i] != i * 0x9e3779b97f4a7c15ull)
			return false;
	return true;
}

static inline bool zeros(const uint64_t *values, uint64_t bytes)
{
	uint64_t i;

	for (i = 0; i < bytes / 8 && !values[i]; i++)
		;
	return i == bytes / 8;
}

/* The card's look at all of a part. */
static inline bool card_sees(const uint64_t *values, uint64_t wanted)
{
	struct card_sum got;

	return !card_array_sum(card, values, HUGE / 8, 0, &got) && got.run.end == GODWIT_RUN_DONE && got.sum == wanted;
}

static inline uint64_t part_sum(uint64_t part)
{
	uint64_t sum = 0, i;

	for (i = part * HUGE / 8; i < (part + 1) * HUGE / 8; i++)
		sum += i * 0x9e3779b97f4a7c15ull;
	return sum;
}

/* Huge pages that the process has, be they in the host or on the card, in KiB. */
static inline long long host_huge(const void *at)
{
	const char *text = contents("/proc/self/smaps"), *line;
	char start[32];

	snprintf(start, sizeof(start), "\n%lx-", (unsigned long)at);
	line = strstr(text, start);
	line = line ? strstr(line, "AnonHugePages:") : NULL;
	return line ? strtoll(line + strlen("AnonHugePages:"), NULL, 10) : -1;
}

#endif /* GODWIT_FOLIOS_H_ */
