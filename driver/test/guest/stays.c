// SPDX-License-Identifier: GPL-2.0-only
/* Memory of which the driver decides whether it moves, by the lines that cross the link, and memory that both sides read; and what each side
 * writes in memory that a card with a page cache uses where it is. Where nothing can move, it stays. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "files.h"
#include "places.h"
#include "values.h"

/* Pages of a group, and their values. */
#define GROUP 16ul
#define GROUP_VALUES (GROUP * PAGE / 8)
/* Memory in which some in a row is looked for. */
#define AREA (32 * BYTES)
/* Values of a line. */
#define LINE_VALUES 8
/* Longest wait for the driver's thread, in steps of a millisecond. */
#define PATIENCE 60000
/* Values of a launch that costs less in place than moving the group, and the launches after which that is known for certain: those until it
 * moves first, those for which it is taken to be better on the card, and those that show that it is not. */
#define FEW_VALUES (100 * LINE_VALUES)
#define FEW_LAUNCHES 60
/* The lines of every fourth page cost more than moving 64 KiB, and not the quarter more that makes a report. */
#define UNSEEN_STEP 4ul

static long long events(const char *event)
{
	return after(DEBUG "counters", event);
}

static bool counts(void)
{
	struct godwit_info info;

	return !ioctl(card, GODWIT_IOC_INFO, &info) && info.flags & GODWIT_INFO_LINES;
}

/* Whether a touch takes memory in place from the card. */
static bool takes(void)
{
	struct godwit_info info;

	return !ioctl(card, GODWIT_IOC_INFO, &info) && !(info.flags & GODWIT_INFO_LINES_MIX);
}

/* Whether pages are neighbours in physical memory, too, upwards or downwards. */
static bool in_a_row(const char *start)
{
	uint64_t entries[PAGES];
	int pagemap = open("/proc/self/pagemap", O_RDONLY), i;
	bool row = pread(pagemap, entries, sizeof(entries), (uintptr_t)start / PAGE * 8) == sizeof(entries);

	close(pagemap);
	row = row && (entries[1] - entries[0] == 1 || entries[0] - entries[1] == 1);
	for (i = 1; i < PAGES && row; i++)
		row = entries[i] - entries[i - 1] == entries[1] - entries[0];
	return row;
}

/*
 * Memory that begins with a group, in a row if Linux has that: the card counts by 64 KiB of physical memory, and a launch reports nothing
 * of such of which it uses few pages.
 */
static uint64_t *groups(void)
{
	char *found = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *end = found + AREA;
	char *first = (char *)(((uintptr_t)found + GROUP * PAGE - 1) / (GROUP * PAGE) * (GROUP * PAGE)), *start = first;

	memset(found, 0, AREA);
	while (start + BYTES <= end && !in_a_row(start))
		start += GROUP * PAGE;
	if (start + BYTES > end)
		start = first;
	if (start > found)
		munmap(found, start - found);
	if (end > start + BYTES)
		munmap(start + BYTES, end - start - BYTES);
	return (uint64_t *)start;
}

/* What advice on a page comes to; ~0: it was refused. */
static uint32_t served(const void *at, uint32_t advice)
{
	struct godwit_advise what = { .addr = (uint64_t)at, .size = PAGE, .advice = advice };

	return ioctl(card, GODWIT_IOC_ADVISE, &what) ? ~0u : what.served;
}

/* A launch over so many of the values. */
static bool sums(const uint64_t *values, uint64_t count)
{
	struct card_sum got;
	uint64_t sum = 0, i;

	for (i = 0; i < count; i++)
		sum += values[i];
	return !card_array_sum(card, values, count, 0, &got) && got.run.end == GODWIT_RUN_DONE && !got.status && got.sum == sum;
}

/* Waits until so many groups have moved. */
static bool have_moved(long long groups_moved)
{
	int turn;

	for (turn = 0; turn < PATIENCE && events("\nstays_moved ") < groups_moved; turn++)
		usleep(1000);
	return turn < PATIENCE;
}

static void advice_says_what_it_comes_to(const char *name)
{
	uint64_t *values = groups();
	uint32_t moving = migrates() ? GODWIT_ADVICE_MOVE : GODWIT_ADVICE_IN_PLACE;
	uint32_t choice = migrates() && counts() ? GODWIT_ADVICE_AUTO : moving, got;

#define SERVED(advice, wanted)                                                                              \
	do {                                                                                                \
		got = served(values, advice);                                                               \
		CHECK(got == (wanted), "advice %u comes to %u, not %u", advice, got, (unsigned int)(wanted)); \
	} while (0)
	SERVED(GODWIT_ADVICE_AUTO, choice);
	SERVED(GODWIT_ADVICE_AUTO, choice);
	SERVED(GODWIT_ADVICE_READ_MOSTLY, GODWIT_ADVICE_IN_PLACE);
	SERVED(GODWIT_ADVICE_IN_PLACE, GODWIT_ADVICE_IN_PLACE);
	SERVED(GODWIT_ADVICE_MOVE, moving);
	SERVED(GODWIT_ADVICE_NONE, moving);
	munmap(values, BYTES);
}

static void what_both_read_is_where_both_can(const char *name)
{
	uint64_t *values = groups(), sum = fill(values, 1);

	CHECK(advise(values, BYTES, GODWIT_ADVICE_READ_MOSTLY), "%s", strerror(errno));
	SEES(values, sum);
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	CHECK(sum_of(values) == sum, "another content");
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_HOST | (takes() ? 0 : GODWIT_PLACE_SHOWN));
	/* What nobody writes stays with both. */
	CHECK(!mprotect(values, BYTES, PROT_READ), "%s", strerror(errno));
	SEES(values, sum);
	CHECK(sum_of(values) == sum, "another content");
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	munmap(values, BYTES);
}

/* Launch after launch on pages that stay: each sees what the program wrote before it, and the program what each wrote. */
static void what_each_side_writes_the_other_sees(const char *name)
{
	uint64_t *from = groups(), *to = groups(), turn;

	CHECK(advise(from, BYTES, GODWIT_ADVICE_IN_PLACE) && advise(to, BYTES, GODWIT_ADVICE_IN_PLACE), "%s", strerror(errno));
	for (turn = 0; turn < 4; turn++) {
		uint64_t sum = fill(from, turn);

		CHECK(copies(to, from), "no copy");
		CHECK(!memcmp(to, from, BYTES), "the program sees another content in turn %llu", (unsigned long long)turn);
		to[turn * GROUP_VALUES + 7] += 9;
		SEES(to, sum + 9);
	}
	/* What is not there any more takes nothing with it. */
	CHECK(copies(to, from), "no copy");
	CHECK(!mprotect(to, BYTES, PROT_READ), "%s", strerror(errno));
	CHECK(!memcmp(to, from, BYTES), "another content after mprotect");
	munmap(from, BYTES);
	munmap(to, BYTES);
}

static void what_is_used_much_moves_and_goes_on_moving(const char *name)
{
	uint64_t *values = groups(), sum = fill(values, 2);
	long long moved = events("\nstays_moved "), reports = events("\nline_reports ");

	CHECK(advise(values, BYTES, GODWIT_ADVICE_AUTO), "%s", strerror(errno));
	SEES(values, sum);
	CHECK(have_moved(moved + PAGES / GROUP), "%lld groups moved", events("\nstays_moved ") - moved);
	CHECK(events("\nline_reports ") > reports, "no report");
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_CARD | GODWIT_PLACE_SHOWN);
	CHECK(sum_of(values) == sum, "another content");
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_HOST);
	/* What was learnt holds, and nobody has to be told of it again. */
	values[5] += 4;
	moved = events("\nstays_moved ");
	SEES(values, sum + 4);
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_CARD | GODWIT_PLACE_SHOWN);
	CHECK(events("\nstays_moved ") == moved, "it was decided once more");
	/* Nor does it end with the same advice, but with other advice it does. */
	CHECK(advise(values, BYTES, GODWIT_ADVICE_AUTO), "%s", strerror(errno));
	fill(values, 2);
	SEES(values, sum);
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_CARD | GODWIT_PLACE_SHOWN);
	CHECK(advise(values, BYTES, GODWIT_ADVICE_MOVE) && advise(values, BYTES, GODWIT_ADVICE_AUTO), "%s", strerror(errno));
	fill(values, 2);
	CHECK(sums(values + 3 * LINE_VALUES, LINE_VALUES), "another sum");
	LOOK(values);
	ARE(0, 0, GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	munmap(values, BYTES);
}

static void what_is_used_here_and_there_stays(const char *name)
{
	uint64_t *values = groups();
	long long moved = events("\nstays_moved ");
	unsigned long group;
	int turn;

	fill(values, 3);
	CHECK(advise(values, BYTES, GODWIT_ADVICE_AUTO), "%s", strerror(errno));
	for (turn = 0; turn < 6; turn++)
		for (group = 0; group < PAGES / GROUP; group++)
			CHECK(sums(values + group * GROUP_VALUES, LINE_VALUES), "another sum");
	LOOK(values);
	for (group = 0; group < PAGES / GROUP; group++)
		ARE((int)(group * GROUP), (int)(group * GROUP), GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	CHECK(events("\nstays_moved ") == moved, "%lld groups moved", events("\nstays_moved ") - moved);
	munmap(values, BYTES);
}

/* Lines that crossed before anybody decided by them: so many of each 64 KiB of physical memory, wherever these begin. */
static void what_crossed_before_does_not_count(const char *name)
{
	uint64_t *values = groups();
	unsigned long group, page;
	int turn;

	fill(values, 7);
	CHECK(advise(values, BYTES, GODWIT_ADVICE_IN_PLACE), "%s", strerror(errno));
	for (page = 0; page < PAGES; page += UNSEEN_STEP)
		CHECK(sums(values + page * PAGE / 8, PAGE / 8), "another sum");
	CHECK(advise(values, BYTES, GODWIT_ADVICE_AUTO), "%s", strerror(errno));
	for (turn = 0; turn < 3; turn++)
		for (group = 0; group < PAGES / GROUP; group++)
			CHECK(sums(values + group * GROUP_VALUES, LINE_VALUES), "another sum");
	LOOK(values);
	for (group = 0; group < PAGES / GROUP; group++)
		ARE((int)(group * GROUP), (int)(group * GROUP), GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	munmap(values, BYTES);
}

/* Of one array the first half is dense and the other is not: each is where it is better. */
static void halves_of_an_array_are_where_each_is_better(const char *name)
{
	uint64_t *values = groups();
	long long moved = events("\nstays_moved ");
	int turn;

	fill(values, 4);
	CHECK(advise(values, BYTES, GODWIT_ADVICE_AUTO), "%s", strerror(errno));
	for (turn = 0; turn < 3; turn++)
		CHECK(sums(values, COUNT / 2) && sums(values + 3 * GROUP_VALUES, LINE_VALUES), "another sum");
	CHECK(have_moved(moved + PAGES / GROUP / 2), "%lld groups moved", events("\nstays_moved ") - moved);
	CHECK(sums(values, COUNT / 2), "another sum");
	CHECK(sums(values + 3 * GROUP_VALUES, LINE_VALUES), "another sum");
	LOOK(values);
	ARE((int)(3 * GROUP), (int)(3 * GROUP), GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	munmap(values, BYTES);
}

/*
 * The program writes a group before each launch, which uses little of it. Together that is worth moving it, and alone it is not; where a touch
 * takes it back, that is seen at once.
 */
static void what_the_program_takes_back_each_time_stays_in_the_end(const char *name)
{
	uint64_t *values = groups();
	long long home = 0;
	int turn, late = FEW_LAUNCHES - 8;

	fill(values, 5);
	CHECK(advise(values, BYTES, GODWIT_ADVICE_AUTO), "%s", strerror(errno));
	for (turn = 0; turn < FEW_LAUNCHES; turn++) {
		if (turn == late)
			home = events("\npages_home ");
		values[turn] += turn;
		CHECK(sums(values, FEW_VALUES), "another sum in turn %d", turn);
	}
	CHECK((home > 0 || takes()) && events("\npages_home ") == home, "%lld pages came home in the last launches", events("\npages_home ") - home);
	LOOK(values);
	ARE(0, 0, GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	munmap(values, BYTES);
}

/* No room is no reason to fail, nor to ask for it again and again. */
static void what_cannot_move_stays_and_is_asked_less(const char *name)
{
	uint64_t *values = groups(), sum = fill(values, 6);
	long long refused = events("\nstays_refused ");
	int turn;

	CHECK(advise(values, BYTES, GODWIT_ADVICE_AUTO), "%s", strerror(errno));
	/* Locked memory moves nowhere. */
	CHECK(!mlock(values, BYTES), "%s", strerror(errno));
	for (turn = 0; turn < 6; turn++)
		SEES(values, sum);
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	refused = events("\nstays_refused ") - refused;
	CHECK(refused > 0 && refused <= 2 * (long long)(PAGES / GROUP) * 6, "%lld times", refused);
	munlock(values, BYTES);
	munmap(values, BYTES);
}

int main(void)
{
	card = card_open();
	TEST(advice_says_what_it_comes_to);
	TEST(what_both_read_is_where_both_can);
	TEST(what_each_side_writes_the_other_sees);
	if (!migrates()) {
		printf("skip: this kernel has no device-private memory\n");
		return failures != 0;
	}
	if (!counts()) {
		printf("skip: this card counts no lines\n");
		return failures != 0;
	}
	TEST(what_is_used_much_moves_and_goes_on_moving);
	TEST(what_is_used_here_and_there_stays);
	TEST(what_crossed_before_does_not_count);
	TEST(halves_of_an_array_are_where_each_is_better);
	TEST(what_the_program_takes_back_each_time_stays_in_the_end);
	TEST(what_cannot_move_stays_and_is_asked_less);
	return failures != 0;
}
