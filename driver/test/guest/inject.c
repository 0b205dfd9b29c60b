// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that the driver does not get: one in so many of its allocations fails while pages come, go to the card, come home and
 * contexts open. Calls and launches may end with an error, and nothing is lost, and nothing is left over.
 */
#include <stdlib.h>

#include "files.h"
#include "values.h"

#define ROUNDS 8
/* More than one list either way, of which two are under way at a time; and rounds of that. */
#define MANY 600
#define MANY_ROUNDS 3

static bool fail_every(const char *allocations)
{
	return tell(DEBUG "fail_every", allocations);
}

static long long injected(void)
{
	return after(DEBUG "counters", "\ninjected ");
}

/* Pages of the last call. */
static uint64_t moved;

static bool moves(const uint64_t *values, uint64_t bytes, uint32_t flags)
{
	struct godwit_migrate what = { .addr = (uint64_t)values, .size = bytes, .flags = flags };

	moved = 0;
	if (ioctl(card, GODWIT_IOC_MIGRATE, &what))
		return errno == EOPNOTSUPP || errno == ENOMEM;
	moved = what.pages;
	return true;
}

/* Whether the card sees what is there, or is refused. */
static void launches_end_right_or_with_a_fault(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 1), got;
	char every[8];
	int i, ends = 0;

	for (i = 0; i < ROUNDS; i++) {
		long long before = injected();

		snprintf(every, sizeof(every), "%d", 3 + 20 * i);
		CHECK(fail_every(every), "%s", strerror(errno));
		got = seen(values);
		CHECK(fail_every("0"), "%s", strerror(errno));
		CHECK(got == sum || got == 1, "the card sees %llx", (unsigned long long)got);
		CHECK(got == sum || injected() > before, "a fault without a reason");
		ends += got == sum;
		/* Taken from the card, so that all comes anew. */
		mprotect(values, BYTES, PROT_READ);
		mprotect(values, BYTES, PROT_READ | PROT_WRITE);
	}
	CHECK(ends, "no launch came to its end");
	SEES(values, sum);
	munmap(values, BYTES);
}

static void pages_that_move_keep_what_is_in_them(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 2);
	long long before = injected();
	char every[8];
	int i;

	for (i = 0; i < ROUNDS; i++) {
		snprintf(every, sizeof(every), "%d", 2 + 3 * i);
		CHECK(fail_every(every), "%s", strerror(errno));
		CHECK(moves(values, BYTES, 0), "to the card: %s", strerror(errno));
		if (i % 2)
			CHECK(moves(values, BYTES, GODWIT_MIGRATE_TO_HOST), "home: %s", strerror(errno));
		CHECK(sum_of(values) == sum, "another content in round %d", i);
		CHECK(fail_every("0"), "%s", strerror(errno));
	}
	CHECK(moves(values, BYTES, 0), "to the card: %s", strerror(errno));
	SEES(values, sum);
	CHECK(injected() > before || !migrates(), "nothing failed");
	munmap(values, BYTES);
}

/* A list fails, by a page that it lacks or a card that stands at one of its descriptors, while another is behind it or before it. */
static void lists_that_fail_while_others_are_under_way_lose_nothing(const char *name)
{
	uint64_t bytes = MANY * PAGE, *values = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), i;
	long long before = injected(), lists = after(DEBUG "counters", "\ndma_lists ");
	char every[8];
	int round;

	for (i = 0; i < bytes / 8; i++)
		values[i] = i * 0x9e3779b97f4a7c15ull;
	for (round = 0; round < MANY_ROUNDS; round++) {
		snprintf(every, sizeof(every), "%d", 97 + 301 * round);
		CHECK(fail_every(every), "%s", strerror(errno));
		CHECK(moves(values, bytes, 0), "to the card: %s", strerror(errno));
		CHECK(moves(values, bytes, GODWIT_MIGRATE_TO_HOST), "home: %s", strerror(errno));
		CHECK(fail_every("0"), "%s", strerror(errno));
		for (i = 0; i < bytes / 8 && values[i] == i * 0x9e3779b97f4a7c15ull; i++)
			;
		CHECK(i == bytes / 8, "word %llu has another content in round %d", (unsigned long long)i, round);
	}
	/* And nothing is left of it: all go, and all come. */
	CHECK(moves(values, bytes, 0) && (moved == MANY || !migrates()), "%llu pages went", (unsigned long long)moved);
	CHECK(moves(values, bytes, GODWIT_MIGRATE_TO_HOST) && (moved == MANY || !migrates()), "%llu pages came",
	      (unsigned long long)moved);
	CHECK(injected() > before || !migrates(), "nothing failed");
	CHECK(!lists || after(DEBUG "counters", "\ndma_lists ") >= lists + 2 * MANY_ROUNDS, "the page DMA was not used any more");
	munmap(values, bytes);
}

static void contexts_that_do_not_open_leave_nothing(const char *name)
{
	long long frames = after(DEBUG "pages", "frames_free "), before = injected();
	int i, opened = 0;

	CHECK(fail_every("2"), "%s", strerror(errno));
	for (i = 0; i < 2 * ROUNDS; i++) {
		int more = card_open();

		CHECK(more >= 0 || errno == ENOMEM, "%s", strerror(errno));
		opened += more >= 0;
		close(more);
	}
	CHECK(fail_every("0"), "%s", strerror(errno));
	CHECK(opened && opened < 2 * ROUNDS && injected() > before, "%d opened", opened);
	CHECK(after(DEBUG "pages", "frames_free ") == frames, "%lld frames are free, not %lld",
	      after(DEBUG "pages", "frames_free "), frames);
}

int main(void)
{
	card = card_open();
	TEST(contexts_that_do_not_open_leave_nothing);
	TEST(launches_end_right_or_with_a_fault);
	TEST(pages_that_move_keep_what_is_in_them);
	TEST(lists_that_fail_while_others_are_under_way_lose_nothing);
	return failures != 0;
}
