// SPDX-License-Identifier: GPL-2.0-only
/*
 * Linux swaps out what the card uses, and moves it from page to page (compaction), whenever it likes: the card is told, asks again, and has
 * what was there. The system has a place to swap to, and this program is in a control group of its own, of which memory is reclaimed.
 *
 *	swapped GROUP
 */
#include "counting.h"
#include "files.h"

/* The C library here is older than the kernel. */
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

static const char *reclaim;

static bool stays(void *values)
{
	struct godwit_advise what = { .addr = (uint64_t)values, .size = BYTES, .advice = GODWIT_ADVICE_IN_PLACE };

	return !ioctl(card, GODWIT_IOC_ADVISE, &what);
}

static long long written_out(void)
{
	return after("/proc/vmstat", "\npswpout ");
}

/* What only the program has used is swapped out when it says so; then the card asks for it. */
static void what_was_swapped_out_is_there_for_the_card(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 1);
	long long before = written_out();

	CHECK(!madvise(values, BYTES, MADV_PAGEOUT), "madvise: %s", strerror(errno));
	CHECK(written_out() - before >= PAGES / 2, "%lld pages were written out", written_out() - before);
	SEES(values, sum);
	CHECK(sum_of(values) == sum, "another content");
	munmap(values, BYTES);
}

/* The card has it in place, perhaps alone, and Linux wants the memory. */
static void what_the_card_uses_can_be_swapped_out(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum;
	long long before;
	int round;

	CHECK(stays(values), "advise: %s", strerror(errno));
	for (round = 0; round < 4; round++) {
		sum = fill(from, 7 + round);
		CHECK(copies(values, from), "no copy in round %d", round);
		before = written_out();
		/* As much as there is to be had, and more, is not an error that matters. */
		tell(reclaim, "8M");
		madvise(values, BYTES, MADV_PAGEOUT);
		printf("# %lld pages were written out\n", written_out() - before);
		if (round % 2)
			CHECK(sum_of(values) == sum, "another content in round %d", round);
		SEES(values, sum);
		CHECK(!memcmp(values, from, BYTES), "another content in round %d", round);
	}
	munmap(values, BYTES);
	munmap(from, BYTES);
}

/* What is on the card is no page of the host, and stays what it is. */
static void what_is_on_the_card_stays_there(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 1);

	SEES(values, sum);
	CHECK(!madvise(values, BYTES, MADV_PAGEOUT), "madvise: %s", strerror(errno));
	tell(reclaim, "8M");
	tell("/proc/sys/vm/compact_memory", "1");
	SEES(values, sum);
	CHECK(sum_of(values) == sum, "another content");
	munmap(values, BYTES);
}

static volatile bool disturbing;

static void *disturb(void *values)
{
	while (disturbing) {
		madvise(values, BYTES, MADV_PAGEOUT);
		madvise(counted, BYTES, MADV_PAGEOUT);
		tell(reclaim, "2M");
		tell("/proc/sys/vm/compact_memory", "1");
		usleep(2000);
	}
	return NULL;
}

/* One thread counts in memory that the card reads, another one has it, and what the card writes, swapped out and moved all the time. */
static void no_write_is_lost_while_pages_are_swapped_out_and_moved(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum;
	long long before = written_out(), moved = after("/proc/vmstat", "\npgmigrate_success ");
	bool right = true;
	pthread_t other;
	int round, wrong;

	sum = fill(from, 3);
	CHECK(stays(values) && counting_begins() && stays(counted), "%s", strerror(errno));
	disturbing = true;
	CHECK(!pthread_create(&other, NULL, disturb, values), "pthread_create");
	for (round = 0; round < 10 && right; round++) {
		memset(values, 0, BYTES);
		right = seen(counted) > 2 && copies(values, from) && sum_of(values) == sum && seen(values) == sum;
	}
	disturbing = false;
	pthread_join(other, NULL);
	wrong = counting_ends();
	CHECK(right, "round %d: %s", round, strerror(errno));
	CHECK(wrong == PAGES, "page %d counts %llu of %llu", wrong, (unsigned long long)counted[wrong * PAGE / 8],
	      (unsigned long long)counts);
	CHECK(written_out() > before, "nothing was written out");
	printf("# %lld pages were written out, %lld moved\n", written_out() - before,
	       after("/proc/vmstat", "\npgmigrate_success ") - moved);
	munmap(values, BYTES);
	munmap(from, BYTES);
	munmap(counted, BYTES);
}

int main(int count, char **words)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/memory.reclaim", count > 1 ? words[1] : ".");
	reclaim = path;
	card = card_open();
	TEST(what_was_swapped_out_is_there_for_the_card);
	TEST(what_the_card_uses_can_be_swapped_out);
	TEST(what_is_on_the_card_stays_there);
	TEST(no_write_is_lost_while_pages_are_swapped_out_and_moved);
	close(card);
	return failures != 0;
}
