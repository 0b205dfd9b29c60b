// SPDX-License-Identifier: GPL-2.0-only
/* Huge pages that both sides want: they go whole no longer when that has been for nothing time and again. */
#define _GNU_SOURCE
#include "folios.h"

/* Turns of card and processor that are a fight. */
#define TURNS 3

/* The card has a look at other pages of it each time, none of which is fought for by itself. */
static void a_huge_page_that_both_want_goes_in_pages(const char *name)
{
	uint64_t *values = parts(1, MADV_HUGEPAGE);
	long long fights = after(DEBUG "counters", "\nfights ");
	int turn;

	begin();
	for (turn = 0; turn < TURNS; turn++) {
		CHECK(right(values, turn * PAGES, 0, false), "another content in turn %d", turn);
		HAPPENED(turn + 1, turn, turn);
		values[HUGE / 8 - 1] ^= 1;
		HAPPENED(turn + 1, turn + 1, turn + 1);
		values[HUGE / 8 - 1] ^= 1;
	}
	CHECK(after(DEBUG "counters", "\nfights ") == fights, "a fight before there was one");
	for (; turn < TURNS + 2; turn++) {
		CHECK(right(values, turn * PAGES, 0, false), "another content in turn %d", turn);
		ON_CARD(0, (turn - TURNS + 1) * PAGES);
		values[HUGE / 8 - 1] ^= 1;
		values[HUGE / 8 - 1] ^= 1;
	}
	HAPPENED(TURNS, TURNS, TURNS);
	fights = after(DEBUG "counters", "\nfights ") - fights;
	CHECK(fights == 1, "%lld fights", fights);
	CHECK(own(values, HUGE_PAGES, 0, 0), "another content at home");
	munmap(values, HUGE);
	ON_CARD(0, 0);
}

/* What comes to the same place is nobody's fight. */
static void a_huge_page_that_comes_after_it_goes_whole(const char *name)
{
	uint64_t *values = parts(1, MADV_HUGEPAGE), i;
	int turn;

	for (turn = 0; turn < TURNS; turn++) {
		CHECK(right(values, turn * PAGES, 0, false), "another content in turn %d", turn);
		values[HUGE / 8 - 1] ^= 1;
		values[HUGE / 8 - 1] ^= 1;
	}
	CHECK(!munmap(values, HUGE), "munmap: %s", strerror(errno));
	CHECK(mmap(values, HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == values, "%s",
	      strerror(errno));
	CHECK(!madvise(values, HUGE, MADV_HUGEPAGE), "madvise: %s", strerror(errno));
	for (i = 0; i < HUGE / 8; i++)
		values[i] = i * 0x9e3779b97f4a7c15ull;
	begin();
	CHECK(right(values, 0, 0, false), "another content");
	HAPPENED(1, 0, 0);
	munmap(values, HUGE);
	ON_CARD(0, 0);
}

int main(void)
{
	card = card_open();
	huge_pages_when_asked();
	/* A simulated card takes its time; and what comes is what was asked for. */
	tell(PARAMETERS "fight_ms", "60000");
	tell(PARAMETERS "ahead_pages", "0");
	TEST(a_huge_page_that_both_want_goes_in_pages);
	TEST(a_huge_page_that_comes_after_it_goes_whole);
	return failures != 0;
}
