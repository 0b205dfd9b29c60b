// SPDX-License-Identifier: GPL-2.0-only
/* Memory that nobody moves: it goes to the card when an accelerator asks for it, unless the program says otherwise, and comes home when a
 * processor touches it. Where nothing can move, or by advice, it stays where it is. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/wait.h>

#include "counting.h"
#include "files.h"
#include "places.h"
#include "values.h"

/* Turns of card and processor that are a fight, with some to spare. */
#define TURNS 6
/* Neighbouring pages that move together, at least. */
#define GROUP 16
/* Pages that come home while a thread counts in them, and copies by the card at most until that. */
#define COUNTED_HOME (32 * PAGES)
#define COPIES 12

static long long events(const char *event)
{
	return after(DEBUG "counters", event);
}

/* What the card has is said by the card's own configuration; a page DMA is in its registers only, and in the kernel's interrupts. */
static bool has_dma(void)
{
	return strstr(contents("/proc/interrupts"), "godwit-dma");
}

static void pages_go_to_the_card_that_asks_for_them(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 1);
	long long out = events("\npages_out "), asked = events("\npage_requests "), lists = events("\ndma_lists ");
	long long copied = events("\ndma_pages ");
	int first = GROUP - (uintptr_t)values / PAGE % GROUP;
	struct card_sum got;

	/* What is around a page comes with it, and is not asked for. */
	CHECK(!card_array_sum(card, (char *)values + (first + 3) * PAGE, 1, 0, &got) && got.run.end == GODWIT_RUN_DONE, "no sum");
	LOOK(values);
	ARE(first, first + GROUP - 1, GODWIT_PLACE_CARD | GODWIT_PLACE_SHOWN);
	CHECK(events("\npage_requests ") == asked + 1, "%lld requests", events("\npage_requests ") - asked);
	SEES(values, sum);
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_CARD | GODWIT_PLACE_SHOWN);
	CHECK(events("\npages_out ") == out + PAGES, "%lld went", events("\npages_out ") - out);
	if (has_dma()) {
		CHECK(events("\ndma_pages ") == copied + PAGES, "%lld copies", events("\ndma_pages ") - copied);
		CHECK(events("\ndma_lists ") > lists, "no list");
	} else {
		CHECK(events("\ndma_lists ") == 0, "lists of a page DMA that is not there");
	}
	asked = events("\npage_requests ");
	SEES(values, sum);
	CHECK(events("\npage_requests ") == asked, "asked for again");
	CHECK(sum_of(values) == sum, "the process sees another content");
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_HOST);
	values[7] += 3;
	SEES(values, sum + 3);
	munmap(values, BYTES);
}

/* It is not read by anybody: zeros are made where they are wanted. */
static void pages_that_were_never_touched_come_into_being_on_the_card(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	uint64_t sum = fill(from, 2);

	SEES(to, 0);
	LOOK(to);
	ARE(0, PAGES - 1, GODWIT_PLACE_CARD | GODWIT_PLACE_SHOWN);
	CHECK(copies(to, from), "no copy");
	LOOK(to);
	ARE(0, PAGES - 1, GODWIT_PLACE_CARD | GODWIT_PLACE_SHOWN);
	CHECK(sum_of(to) == sum && sum_of(from) == sum, "another content");
	munmap(from, BYTES);
	munmap(to, BYTES);
}

/* Of the pages in the order of @values, those from 16 to 31 are on the card, and the others are used where they are. */
static void sees_the_second_group_alone_move(const char *name, uint64_t *values, uint64_t sum)
{
	SEES(values, sum);
	LOOK(values);
	ARE(0, 15, GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	ARE(16, 31, GODWIT_PLACE_CARD | GODWIT_PLACE_SHOWN);
	ARE(32, PAGES - 1, GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
}

static void advice_is_followed_until_something_else_is_said(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 3);
	char *page = (char *)values;

	CHECK(advise(values, BYTES, GODWIT_ADVICE_IN_PLACE), "%s", strerror(errno));
	SEES(values, sum);
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	/* Whole pages of the range: the halves at its ends keep what was said of them. */
	CHECK(advise(page + 15 * PAGE + 8, 17 * PAGE, GODWIT_ADVICE_MOVE), "%s", strerror(errno));
	sum = fill(values, 3);
	/* Taken from the card, so that it asks anew. */
	CHECK(!mprotect(page, BYTES, PROT_READ) && !mprotect(page, BYTES, PROT_READ | PROT_WRITE), "%s", strerror(errno));
	sees_the_second_group_alone_move(name, values, sum);
	munmap(values, BYTES);
}

static void the_parameter_is_for_memory_of_which_nothing_is_said(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 4);
	char *page = (char *)values;

	CHECK(tell(PARAMETERS "move", "N"), "%s", strerror(errno));
	CHECK(advise(page + 16 * PAGE, 16 * PAGE, GODWIT_ADVICE_MOVE), "%s", strerror(errno));
	sees_the_second_group_alone_move(name, values, sum);
	CHECK(tell(PARAMETERS "move", "Y"), "%s", strerror(errno));
	munmap(values, BYTES);
}

static void what_cannot_move_is_used_where_it_is(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_SHARED), sum = fill(values, 5);

	SEES(values, sum);
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN);
	munmap(values, BYTES);
}

/* A group of pages of which some are in a hole, of a file, read-only, or pinned. */
static void pages_around_may_be_anything(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 6), i;
	char *page = (char *)(((uintptr_t)values + 16 * PAGE - 1) / (16 * PAGE) * (16 * PAGE));
	struct card_sum got;

	for (i = 0, sum = 0; i < PAGE / 8; i++)
		sum += ((uint64_t *)(page + 8 * PAGE))[i];
	munmap(page + PAGE, PAGE);
	mprotect(page + 4 * PAGE, PAGE, PROT_READ);
	CHECK(mmap(page + 6 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page + 6 * PAGE,
	      "%s", strerror(errno));
	CHECK(!card_pin(card, page + 10 * PAGE, PAGE, GODWIT_PIN_WRITE), "%s", strerror(errno));
	CHECK(!card_array_sum(card, page + 8 * PAGE, PAGE / 8, 0, &got) && got.sum == sum && !got.status, "another sum");
	LOOK(page);
	ARE(1, 1, GODWIT_PLACE_NONE);
	ARE(6, 6, GODWIT_PLACE_NONE);
	ARE(8, 8, GODWIT_PLACE_CARD | GODWIT_PLACE_SHOWN);
	CHECK(places[10] == GODWIT_PLACE_HOST, "a pinned page is at %#x", places[10]);
	/* What moved along and may only be read is asked for as such, and what writes it is refused. */
	CHECK(!card_array_sum(card, page + 4 * PAGE, PAGE / 8, 0, &got) && got.run.end == GODWIT_RUN_DONE, "a read-only page");
	CHECK(!card_unpin(card, page + 10 * PAGE, PAGE), "%s", strerror(errno));
	munmap(values, BYTES);
}

static void pages_that_both_want_stay_in_the_host_for_a_while(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 7);
	long long fights = events("\nfights ");
	int turn;

	CHECK(tell(PARAMETERS "fight_ms", "60000"), "%s", strerror(errno));
	for (turn = 0; turn < TURNS; turn++) {
		SEES(values, sum + turn);
		values[turn]++;
	}
	CHECK(sum_of(values) == sum + TURNS, "another content");
	CHECK(events("\nfights ") > fights, "no fight was seen");
	/* A processor's touch takes the group from nobody any more. */
	SEES(values, sum + TURNS);
	LOOK(values);
	CHECK(places[0] == (GODWIT_PLACE_HOST | GODWIT_PLACE_SHOWN), "it is at %#x", places[0]);
	/* What comes there when it is gone is nobody's fight. */
	munmap(values, BYTES);
	CHECK(mmap(values, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == values, "%s",
	      strerror(errno));
	CHECK(fill(values, 7) == sum, "another sum");
	SEES(values, sum);
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_CARD | GODWIT_PLACE_SHOWN);
	CHECK(sum_of(values) == sum, "another content");
	CHECK(tell(PARAMETERS "fight_ms", "0"), "%s", strerror(errno));
	SEES(values, sum);
	LOOK(values);
	ARE(0, PAGES - 1, GODWIT_PLACE_CARD | GODWIT_PLACE_SHOWN);
	CHECK(tell(PARAMETERS "fight_ms", "10"), "%s", strerror(errno));
	munmap(values, BYTES);
}

/* What is on the card and was protected, or shared with a child, and may be written again: the card writes it, and only it. */
static void pages_that_may_be_written_again_are_written(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	uint64_t sum = fill(from, 8), before = fill(to, 9);
	int ended = 1, turn[2];
	char go;
	pid_t child;

	SEES(to, before);
	CHECK(!mprotect(to, BYTES, PROT_READ) && !mprotect(to, BYTES, PROT_READ | PROT_WRITE), "%s", strerror(errno));
	CHECK(copies(to, from), "no copy");
	LOOK(to);
	ARE(0, PAGES - 1, GODWIT_PLACE_CARD | GODWIT_PLACE_SHOWN);
	CHECK(sum_of(to) == sum, "another content");
	before = fill(to, 9);
	SEES(to, before);
	CHECK(!pipe(turn), "%s", strerror(errno));
	child = fork();
	if (!child)
		_exit(read(turn[0], &go, 1) != 1 || sum_of(to) != before);
	CHECK(copies(to, from), "no copy");
	LOOK(to);
	ARE(0, PAGES - 1, GODWIT_PLACE_CARD | GODWIT_PLACE_SHOWN);
	CHECK(sum_of(to) == sum, "another content");
	CHECK(write(turn[1], "", 1) == 1, "%s", strerror(errno));
	close(turn[0]);
	close(turn[1]);
	waitpid(child, &ended, 0);
	CHECK(!ended, "the child sees another content: %x", ended);
	munmap(from, BYTES);
	munmap(to, BYTES);
}

/* Kernels copy what a thread counts in, and so have it go to the card, until enough of it has come home. */
static void no_write_is_lost_while_both_use_pages(const char *name)
{
	uint64_t *to = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	long long home = events("\npages_home ");
	bool copied = true;
	int i, wrong;

	/* Whoever wins: they go every time. */
	CHECK(tell(PARAMETERS "fight_ms", "0"), "%s", strerror(errno));
	CHECK(counting_begins(), "pthread_create");
	for (i = 0; i < COPIES && copied && events("\npages_home ") < home + COUNTED_HOME; i++)
		copied = copies(to, counted);
	home = events("\npages_home ") - home;
	wrong = counting_ends();
	CHECK(tell(PARAMETERS "fight_ms", "10"), "%s", strerror(errno));
	CHECK(copied, "no copy");
	CHECK(home > PAGES, "%lld pages came home", home);
	CHECK(wrong == PAGES, "page %d counts %llu of %llu", wrong, (unsigned long long)counted[wrong * PAGE / 8],
	      (unsigned long long)counts);
	CHECK(copies(to, counted) && !memcmp(to, counted, BYTES), "another content");
	munmap(counted, BYTES);
	munmap(to, BYTES);
}

static volatile bool advising;
static int advised_with;

/* Of every other page something else is said, and then of none, again and again. */
static void *advise_all(void *values)
{
	bool said = true;
	int i;

	while (advising && said) {
		for (i = 0; i < PAGES && said; i += 2)
			said = advise((char *)values + i * PAGE, PAGE, GODWIT_ADVICE_IN_PLACE);
		said = said && advise(values, BYTES, GODWIT_ADVICE_NONE);
	}
	advised_with = said ? 0 : errno;
	return NULL;
}

static void advice_may_change_while_the_card_asks(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 9);
	pthread_t adviser;
	int i;

	advising = true;
	CHECK(!pthread_create(&adviser, NULL, advise_all, values), "pthread_create");
	for (i = 0; i < 5 && seen(values) == sum; i++) {
		/* Taken from the card, so that it asks anew. */
		mprotect(values, BYTES, PROT_READ);
		mprotect(values, BYTES, PROT_READ | PROT_WRITE);
	}
	advising = false;
	pthread_join(adviser, NULL);
	CHECK(i == 5, "the card sees another content in round %d", i);
	CHECK(!advised_with, "advise: %s", strerror(advised_with));
	SEES(values, sum);
	munmap(values, BYTES);
}

static void advice_that_makes_no_sense_is_refused(const char *name)
{
	struct godwit_advise what = { .addr = (uint64_t)&what, .size = PAGE, .advice = GODWIT_ADVICE_READ_MOSTLY + 1 };

	REFUSED(ioctl(card, GODWIT_IOC_ADVISE, &what), EINVAL);
	what.advice = GODWIT_ADVICE_MOVE;
	what.served = 1;
	REFUSED(ioctl(card, GODWIT_IOC_ADVISE, &what), EINVAL);
	what.served = 0;
	what.size = 0;
	REFUSED(ioctl(card, GODWIT_IOC_ADVISE, &what), EINVAL);
	what.size = -what.addr + 1;
	REFUSED(ioctl(card, GODWIT_IOC_ADVISE, &what), EINVAL);
	what.addr = 1ull << 63;
	what.size = PAGE;
	REFUSED(ioctl(card, GODWIT_IOC_ADVISE, &what), EINVAL);
	REFUSED(ioctl(card, GODWIT_IOC_ADVISE, NULL), EFAULT);
	/* No whole page: nothing is said. */
	what.addr = (uint64_t)&what;
	what.size = 8;
	CHECK(!ioctl(card, GODWIT_IOC_ADVISE, &what), "%s", strerror(errno));
}

int main(void)
{
	card = card_open();
	if (!migrates()) {
		printf("skip: this kernel has no device-private memory\n");
		TEST(what_cannot_move_is_used_where_it_is);
		TEST(advice_that_makes_no_sense_is_refused);
		return failures != 0;
	}
	TEST(pages_go_to_the_card_that_asks_for_them);
	TEST(pages_that_were_never_touched_come_into_being_on_the_card);
	TEST(advice_is_followed_until_something_else_is_said);
	TEST(the_parameter_is_for_memory_of_which_nothing_is_said);
	TEST(what_cannot_move_is_used_where_it_is);
	TEST(pages_around_may_be_anything);
	TEST(pages_that_both_want_stay_in_the_host_for_a_while);
	TEST(pages_that_may_be_written_again_are_written);
	TEST(no_write_is_lost_while_both_use_pages);
	TEST(advice_may_change_while_the_card_asks);
	TEST(advice_that_makes_no_sense_is_refused);
	return failures != 0;
}
