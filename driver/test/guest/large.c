// SPDX-License-Identifier: GPL-2.0-only
/*
 * Neighbours share entries of the card's tables: what is whole has one of 2 MiB or of 64 KiB, and of what is taken away in part the rest
 * stays. The card finds the same content through all of them.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/wait.h>

#include "bind.h"
#include "moves.h"
#include "parts.h"

static bool moving;

static void whole_parts_have_one_entry(const char *name)
{
	uint64_t *values = parts(3, MADV_HUGEPAGE);
	long long joins;

	MOVES(values, 3 * HUGE, 0, 3 * HUGE_PAGES);
	ENTRIES(3, 0, 0);
	CHECK(right(values, 0, 0, false) && right(values, 2 * HUGE_PAGES - PAGES / 2, 0, false), "another content");
	joins = after(DEBUG "counters", "\njoins ");
	CHECK(joins >= 3, "%lld joins", joins);
	MOVES(values, 3 * HUGE, GODWIT_MIGRATE_TO_HOST, 3 * HUGE_PAGES);
	ENTRIES(0, 0, 0);
	CHECK(right(values, HUGE_PAGES - PAGES / 2, 0, true), "another content at home");
	munmap(values, 3 * HUGE);
}

/* Single pages, as memory is without huge pages, and in an order of their own: each comes to where it belongs. */
static void pages_that_come_one_by_one_become_one(const char *name)
{
	uint64_t *values = parts(1, MADV_NOHUGEPAGE);
	unsigned long i;

	for (i = 0; i < HUGE_PAGES; i += 2)
		MOVES((char *)values + i * PAGE, PAGE, 0, 1);
	ENTRIES(0, 0, HUGE_PAGES / 2);
	for (i = 1; i < HUGE_PAGES; i += 2)
		MOVES((char *)values + i * PAGE, PAGE, 0, 1);
	ENTRIES(1, 0, 0);
	CHECK(right(values, 0, 0, false), "another content");
	munmap(values, HUGE);
}

static void a_part_that_goes_leaves_the_rest(const char *name)
{
	uint64_t *values = parts(1, MADV_HUGEPAGE);
	char *at = (char *)values;

	MOVES(values, HUGE, 0, HUGE_PAGES);
	ENTRIES(1, 0, 0);
	/* One touch brings its group home. */
	values[5 * GROUP / 8] += 3;
	ENTRIES(0, GROUPS - 1, 0);
	CHECK(right(values, 10 * GROUP / PAGE, 0, false), "another content");
	CHECK(!madvise(at + 2 * GROUP + PAGE, PAGE, MADV_DONTNEED), "madvise: %s", strerror(errno));
	ENTRIES(0, GROUPS - 2, 15);
	/* The touched group goes again: one page is missing for all of it to be whole. */
	MOVES(at + 5 * GROUP, GROUP, 0, 16);
	ENTRIES(0, GROUPS - 1, 15);
	MOVES(at + 2 * GROUP + PAGE, PAGE, 0, 1);
	ENTRIES(1, 0, 0);
	/* Where an area is split Linux takes all of the 2 MiB around away, which the card asks for again. */
	CHECK(!munmap(at + 2 * GROUP + PAGE, PAGE), "munmap: %s", strerror(errno));
	CHECK(!mprotect(at + 20 * GROUP, GROUP, PROT_READ), "mprotect: %s", strerror(errno));
	CHECK(right(values, 5 * GROUP / PAGE, 3, false) && right(values, 18 * GROUP / PAGE, 0, false), "another content");
	CHECK(look() && !entries.huge && entries.groups >= 8, "entries: %llu of 2 MiB, %llu of 64 KiB", entries.huge, entries.groups);
	CHECK(values[2 * GROUP / 8] == 2 * GROUP / 8 * 0x9e3779b97f4a7c15ull, "another content");
	munmap(values, HUGE);
}

/* The child has the parent's pages; who writes gets one of its own, and never one that the other sees. */
static void a_child_splits_nothing_of_its_parent(const char *name)
{
	uint64_t *values = parts(1, MADV_HUGEPAGE);
	int status;
	pid_t child;

	MOVES(values, HUGE, 0, HUGE_PAGES);
	child = fork();
	if (!child) {
		card = card_open();
		values[GROUP] ^= 7;
		values[GROUP] ^= 7;
		_exit(!right(values, GROUP * 8 / PAGE, 0, true) || moved(values, HUGE, 0) < 0 || !right(values, 0, 0, true));
	}
	values[0] += 9;
	waitpid(child, &status, 0);
	CHECK(!status, "child: %x", status);
	CHECK(right(values, 0, 9, true), "another content");
	munmap(values, HUGE);
}

/* On demand: a walk of the card through all of it. */
static void what_the_card_asks_for_becomes_one(const char *name)
{
	uint64_t *values = parts(2, MADV_HUGEPAGE);
	struct card_sum got;
	uint64_t sum = 0, i;

	for (i = 0; i < HUGE / 4; i++)
		sum += values[i];
	/* What goes ahead of requests takes parts away for a moment, which are asked for again. */
	for (i = 0; i < 4 && (!i || !look() || entries.huge != 2); i++) {
		CHECK(!card_array_sum(card, values, HUGE / 4, 0, &got) && got.run.end == GODWIT_RUN_DONE && got.sum == sum, "another sum");
		usleep(100000);
	}
	ENTRIES(2, 0, 0);
	munmap(values, 2 * HUGE);
}

/* In place: a huge page of the host is one for the card. */
static void huge_pages_of_the_host_have_one_entry(const char *name)
{
	uint64_t *values = parts(1, MADV_HUGEPAGE);
	struct godwit_advise stay = { .addr = (uint64_t)values, .size = HUGE, .advice = GODWIT_ADVICE_IN_PLACE };
	struct card_sum got;
	uint64_t sum = 0, i;

	CHECK(!ioctl(card, GODWIT_IOC_ADVISE, &stay), "advise: %s", strerror(errno));
	for (i = 0; i < HUGE / 8; i++)
		sum += values[i];
	CHECK(!card_array_sum(card, values, HUGE / 8, 0, &got) && got.run.end == GODWIT_RUN_DONE && got.sum == sum, "another sum");
	ENTRIES(1, 0, 0);
	/* Linux takes all of a huge page away before it splits it. */
	CHECK(!mprotect(values, GROUP, PROT_READ), "mprotect: %s", strerror(errno));
	CHECK(look() && !entries.huge, "%llu of 2 MiB", entries.huge);
	CHECK(right(values, 0, 0, true), "another content");
	munmap(values, HUGE);
}

/* Frames of tables that are not had: what cannot be split goes whole, and comes again. */
static void what_cannot_be_split_goes_whole(const char *name)
{
	uint64_t *values = parts(1, MADV_HUGEPAGE);
	int i;

	for (i = 0; i < 8; i++) {
		MOVES(values, HUGE, 0, HUGE_PAGES);
		CHECK(tell(DEBUG "fail_every", "1"), "%s", strerror(errno));
		CHECK(!mprotect((char *)values + i * GROUP, PAGE, PROT_READ), "mprotect: %s", strerror(errno));
		CHECK(tell(DEBUG "fail_every", "0"), "%s", strerror(errno));
		CHECK(!mprotect((char *)values + i * GROUP, PAGE, PROT_READ | PROT_WRITE), "mprotect: %s", strerror(errno));
		CHECK(right(values, i * GROUP / PAGE, 0, i % 2), "another content in round %d", i);
		CHECK(moved(values, HUGE, GODWIT_MIGRATE_TO_HOST) >= 0, "home: %s", strerror(errno));
	}
	munmap(values, HUGE);
}

static void without_large_pages_there_are_none(const char *name)
{
	uint64_t *values = parts(1, MADV_HUGEPAGE);
	bool seen_right;
	long moves;

	CHECK(tell(PARAMETERS "large_pages", "N"), "%s", strerror(errno));
	moves = moving ? moved(values, HUGE, 0) : 0;
	seen_right = right(values, 0, 0, false);
	CHECK(tell(PARAMETERS "large_pages", "Y"), "%s", strerror(errno));
	CHECK(moves == (moving ? (long)HUGE_PAGES : 0) && seen_right, "%ld pages moved, or another content", moves);
	CHECK(look() && !entries.huge && !entries.groups, "%llu of 64 KiB", entries.groups);
	CHECK(entries.small >= (moving ? HUGE_PAGES : PAGES), "%llu of 4 KiB", entries.small);
	munmap(values, HUGE);
}

/* More than the pool: single pages are all that is left in the end, and what has no place stays. The module has a pool of 128 MiB. */
static void a_full_pool_gives_all_its_pages(const char *name)
{
	unsigned long pool = after(DEBUG "pages", "\npool "), count = pool / HUGE_PAGES + 2, i;
	char *all = (char *)parts(count, MADV_NOHUGEPAGE);
	long long left;

	/* One page of each part first: places are held for more than there are. */
	for (i = 0; i < count; i++)
		MOVES(all + i * HUGE + i * 37 % HUGE_PAGES * PAGE, PAGE, 0, 1);
	CHECK(moved(all, count * HUGE, 0) >= 0, "%s", strerror(errno));
	CHECK(after(DEBUG "pages", "\npool_used ") == (long long)pool, "%lld of %lu pages", after(DEBUG "pages", "\npool_used "), pool);
	for (i = 0; i < 4; i++)
		CHECK(right((uint64_t *)all, i * (count - 1) * HUGE_PAGES / 4, 0, i % 2), "another content in piece %lu", i);
	munmap(all, count * HUGE);
	/* What was under way ahead of requests ends, too. */
	for (i = 0; (left = after(DEBUG "pages", "\npool_used ")) && i < 100; i++)
		usleep(10000);
	CHECK(!left, "%lld pages are left", left);
	/* What was broken is whole again. */
	all = (char *)parts(8, MADV_HUGEPAGE);
	MOVES(all, 8 * HUGE, 0, 8 * HUGE_PAGES);
	ENTRIES(8, 0, 0);
	munmap(all, 8 * HUGE);
}

static void large_pages_come_home_when_the_card_goes(const char *name)
{
	uint64_t *values = parts(2, MADV_HUGEPAGE), i;

	MOVES(values, 2 * HUGE, 0, 2 * HUGE_PAGES);
	ENTRIES(2, 0, 0);
	CHECK(card_find(), "no card at " CARD_DRIVER);
	CHECK(card_tell(CARD_DRIVER "/unbind"), "unbind: %s", strerror(errno));
	for (i = 0; i < 2 * HUGE / 8 && values[i] == i * 0x9e3779b97f4a7c15ull; i++)
		;
	CHECK(i == 2 * HUGE / 8, "another content at %llu", (unsigned long long)i);
	close(card);
	CHECK(card_tell(CARD_DRIVER "/bind"), "bind: %s", strerror(errno));
	card = card_open();
	MOVES(values, 2 * HUGE, 0, 2 * HUGE_PAGES);
	ENTRIES(2, 0, 0);
	munmap(values, 2 * HUGE);
}

/* Any argument: without the pool that is full, for its pages take a simulated page DMA minutes. */
int main(int argc, char **argv)
{
	(void)argv;
	card = card_open();
	moving = migrates();
	huge_pages_when_asked();
	/* What moves whole needs no joining: folios.c. */
	tell(PARAMETERS "large_folios", "N");
	TEST(huge_pages_of_the_host_have_one_entry);
	TEST(without_large_pages_there_are_none);
	if (!moving) {
		printf("skip: this kernel has no device-private memory\n");
		return failures != 0;
	}
	TEST(whole_parts_have_one_entry);
	TEST(pages_that_come_one_by_one_become_one);
	TEST(a_part_that_goes_leaves_the_rest);
	TEST(a_child_splits_nothing_of_its_parent);
	TEST(what_the_card_asks_for_becomes_one);
	TEST(what_cannot_be_split_goes_whole);
	if (argc < 2)
		TEST(a_full_pool_gives_all_its_pages);
	TEST(large_pages_come_home_when_the_card_goes);
	return failures != 0;
}
