// SPDX-License-Identifier: GPL-2.0-only
/* Memory that a card with a page cache uses where it is: the card's alone until a processor touches it, so that nothing is lost of what both
 * write at the same time, however near. Where Linux cannot give it to one side, a program is told so. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "files.h"
#include "places.h"
#include "values.h"

/* Launches, and copies in each. */
#define LAUNCHES 40
#define COPIES 20
/* Words of a line. */
#define LINE 8
/* What the card copies: the second half of a page's last line, and the first half of the next page's first. */
#define COPIED LINE
/* The two lines' words, and where they are. */
#define FIRST_LINE (PAGE / 8 - LINE)
#define WORDS (2 * LINE)

/**
 * struct writer - a thread that counts in words that are its own, beside those that the card writes
 * @words: they
 * @count: how often
 * @lost: counts that were not there any more
 * @stop: it shall end
 */
static struct writer {
	pthread_t thread;
	volatile uint64_t *words;
	uint64_t count, lost;
	volatile bool stop;
} writers[2];

static void *count_up(void *argument)
{
	struct writer *writer = argument;
	int i;

	while (!writer->stop) {
		writer->count++;
		for (i = 0; i < LINE / 2; i++) {
			writer->lost += writer->words[i] != writer->count - 1;
			writer->words[i] = writer->count;
		}
	}
	return NULL;
}

static bool can_lose(void)
{
	struct godwit_info info;

	return !ioctl(card, GODWIT_IOC_INFO, &info) && info.flags & GODWIT_INFO_LINES_MIX;
}

/* Both write two lines at the two sides of a page's end for long. */
static void both_write(const char *name, uint32_t advice)
{
	uint64_t *to = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	uint64_t *lines = to + FIRST_LINE, launch, lost;
	struct godwit_run run;
	uint32_t status;
	int i;

	CHECK(advise(to, BYTES, advice) && advise(from, BYTES, GODWIT_ADVICE_IN_PLACE), "%s", strerror(errno));
	memset(lines, 0, WORDS * 8);
	for (i = 0; i < 2; i++) {
		writers[i] = (struct writer){ .words = lines + (i ? WORDS - LINE / 2 : 0) };
		CHECK(!pthread_create(&writers[i].thread, NULL, count_up, &writers[i]), "no thread");
	}
	for (launch = 1; launch <= LAUNCHES; launch++) {
		for (i = 0; i < COPIED; i++)
			from[i] = launch << 32 | i;
		CHECK(!card_memcopy_often(card, lines + LINE / 2, from, COPIED * 8, COPIES, &run, &status) &&
			      run.end == GODWIT_RUN_DONE && !status, "launch %d: end %u, cause %u, %s", (int)launch, run.end,
		      run.fault_cause, strerror(errno));
		for (i = 0; i < COPIED; i++)
			CHECK(lines[LINE / 2 + i] == from[i], "what the card wrote in launch %d is lost: word %d is %llx", (int)launch, i,
			      (unsigned long long)lines[LINE / 2 + i]);
	}
	for (i = 0; i < 2; i++) {
		writers[i].stop = true;
		pthread_join(writers[i].thread, NULL);
	}
	lost = writers[0].lost + writers[1].lost;
	printf("%s: %llu and %llu counts\n", name, (unsigned long long)writers[0].count, (unsigned long long)writers[1].count);
	CHECK(!lost, "%llu of %llu counts are lost", (unsigned long long)lost,
	      (unsigned long long)(writers[0].count + writers[1].count));
	for (i = 0; i < 2; i++)
		CHECK(writers[i].words[0] == writers[i].count, "the last count is lost");
	munmap(to, BYTES);
	munmap(from, BYTES);
}

static void no_write_is_lost_in_a_line_that_both_write(const char *name)
{
	both_write(name, GODWIT_ADVICE_IN_PLACE);
}

/* Memory that moves for its lines, and is written by both meanwhile. */
static void no_write_is_lost_in_memory_of_which_the_driver_decides(const char *name)
{
	both_write(name, GODWIT_ADVICE_AUTO);
}

static void a_touch_takes_a_page_from_the_card_and_no_other(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	long long alone = after(DEBUG "counters", "\npages_alone "), touches;

	CHECK(advise(from, BYTES, GODWIT_ADVICE_IN_PLACE) && advise(to, BYTES, GODWIT_ADVICE_IN_PLACE), "%s", strerror(errno));
	fill(from, 1);
	CHECK(copies(to, from), "no copy");
	CHECK(after(DEBUG "counters", "\npages_alone ") == alone + 2 * PAGES, "pages_alone: %s", text);
	touches = after(DEBUG "counters", "\nalone_touches ");
	CHECK(((volatile uint64_t *)to)[5 * PAGE / 8] == from[5 * PAGE / 8], "another content");
	LOOK(to);
	ARE(0, 4, GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	ARE(5, 5, GODWIT_PLACE_HOST);
	ARE(6, PAGES - 1, GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	CHECK(after(DEBUG "counters", "\nalone_touches ") == touches + 2, "alone_touches: %s", text);
	CHECK(!memcmp(to, from, BYTES), "another content");
	munmap(to, BYTES);
	munmap(from, BYTES);
}

/* Linux moves no page that a device has alone. */
static void what_is_alone_moves_when_it_is_told(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	struct godwit_migrate what = { .addr = (uint64_t)to, .size = BYTES };

	CHECK(advise(to, BYTES, GODWIT_ADVICE_IN_PLACE), "%s", strerror(errno));
	fill(from, 2);
	CHECK(copies(to, from), "no copy");
	CHECK(!ioctl(card, GODWIT_IOC_MIGRATE, &what) && what.pages == PAGES, "%llu pages moved", (unsigned long long)what.pages);
	LOOK(to);
	ARE(0, PAGES - 1, GODWIT_PLACE_CARD | GODWIT_PLACE_SHOWN);
	CHECK(!memcmp(to, from, BYTES), "another content");
	munmap(to, BYTES);
	munmap(from, BYTES);
}

static void a_child_has_what_the_card_wrote(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	int status = -1;
	pid_t child;

	CHECK(advise(to, BYTES, GODWIT_ADVICE_IN_PLACE), "%s", strerror(errno));
	fill(from, 3);
	CHECK(copies(to, from), "no copy");
	child = fork();
	if (!child)
		_exit(memcmp(to, from, BYTES) != 0);
	CHECK(waitpid(child, &status, 0) == child && !status, "the child ended with %#x", status);
	fill(from, 4);
	CHECK(copies(to, from) && !memcmp(to, from, BYTES), "another content");
	munmap(to, BYTES);
	munmap(from, BYTES);
}

/* Linux's entries for what a device has alone are its own: they go through mprotect, and hold what the card wrote. */
static void what_is_protected_has_what_the_card_wrote(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	uint64_t sum = fill(from, 6), next;

	CHECK(advise(to, BYTES, GODWIT_ADVICE_IN_PLACE), "%s", strerror(errno));
	CHECK(copies(to, from), "no copy");
	CHECK(!mprotect(to, BYTES, PROT_READ), "%s", strerror(errno));
	SEES(to, sum);
	CHECK(sum_of(to) == sum, "another content");
	next = fill(from, 7);
	CHECK(!copies(to, from), "the card writes what may only be read");
	SEES(to, sum);
	CHECK(!mprotect(to, BYTES, PROT_READ | PROT_WRITE), "%s", strerror(errno));
	CHECK(copies(to, from), "no copy");
	/* Not even its own program reads it meanwhile. */
	CHECK(!mprotect(to, BYTES, PROT_NONE) && !mprotect(to, BYTES, PROT_READ | PROT_WRITE), "%s", strerror(errno));
	CHECK(sum_of(to) == next, "another content");
	munmap(to, BYTES);
	munmap(from, BYTES);
}

/* What the card writes after a fork is the parent's alone, and what a child writes its own. */
static void a_child_keeps_what_was_there_when_it_began(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	uint64_t sum = fill(from, 8), next;
	int status = -1, go[2];
	pid_t child;
	char word;

	CHECK(advise(to, BYTES, GODWIT_ADVICE_IN_PLACE) && !pipe(go), "%s", strerror(errno));
	CHECK(copies(to, from), "no copy");
	child = fork();
	if (!child) {
		close(go[1]);
		if (read(go[0], &word, 1) || sum_of(to) != sum)
			_exit(1);
		memset(to, 9, BYTES);
		_exit(0);
	}
	next = fill(from, 9);
	CHECK(copies(to, from), "no copy");
	close(go[1]);
	CHECK(waitpid(child, &status, 0) == child && !status, "the child ended with %#x", status);
	close(go[0]);
	SEES(to, next);
	CHECK(sum_of(to) == next, "another content");
	munmap(to, BYTES);
	munmap(from, BYTES);
}

/* Two files of a process are two contexts, and have its pages in turns. */
static void two_contexts_of_a_process_see_what_each_writes(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	int other = card_open(), turn;
	struct godwit_run run;
	uint32_t status;

	CHECK(other >= 0 && advise(to, BYTES, GODWIT_ADVICE_IN_PLACE), "%s", strerror(errno));
	for (turn = 0; turn < 3; turn++) {
		uint64_t sum = fill(from, turn);

		CHECK(copies(to, from), "no copy");
		CHECK(!card_memcopy(other, to + 3, from + COUNT - 2, 2 * 8, &run, &status) && run.end == GODWIT_RUN_DONE && !status,
		      "no copy of the other one");
		SEES(to, sum - from[3] - from[4] + from[COUNT - 2] + from[COUNT - 1]);
	}
	close(other);
	munmap(to, BYTES);
	munmap(from, BYTES);
}

static void what_has_a_file_or_is_shared_is_both_sides(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_SHARED), sum = fill(values, 5);
	long long alone = after(DEBUG "counters", "\npages_alone ");

	SEES(values, sum);
	CHECK(sum_of(values) == sum, "another content");
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	CHECK(after(DEBUG "counters", "\npages_alone ") == alone, "pages_alone: %s", text);
	munmap(values, BYTES);
}

int main(void)
{
	card = card_open();
	if (can_lose()) {
		printf("skip: this kernel gives pages to no device alone\n");
		return 0;
	}
	TEST(no_write_is_lost_in_a_line_that_both_write);
	TEST(no_write_is_lost_in_memory_of_which_the_driver_decides);
	TEST(a_touch_takes_a_page_from_the_card_and_no_other);
	TEST(what_is_alone_moves_when_it_is_told);
	TEST(a_child_has_what_the_card_wrote);
	TEST(a_child_keeps_what_was_there_when_it_began);
	TEST(what_is_protected_has_what_the_card_wrote);
	TEST(two_contexts_of_a_process_see_what_each_writes);
	TEST(what_has_a_file_or_is_shared_is_both_sides);
	return failures != 0;
}
