// SPDX-License-Identifier: GPL-2.0-only
/* Two cards in one machine: a process's memory is both's, at its own addresses, one after the other and at once; either may go. */
#include <pthread.h>

#include "bind.h"
#include "values.h"

#define CARDS 2
#define ROUNDS 8
#define LAUNCHES 12

static int cards[CARDS];

static uint64_t *memory(void)
{
	return fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
}

static int open_card(int number)
{
	char path[32];

	snprintf(path, sizeof(path), "/dev/godwit%d", number);
	return open(path, O_RDWR | O_CLOEXEC);
}

static void both_cards_see_what_the_process_has(const char *name)
{
	uint64_t *values = memory(), sum;
	int i;

	for (i = 0; i < CARDS; i++) {
		card = cards[i] = open_card(i);
		CHECK(card >= 0, "card %d: %s", i, strerror(errno));
		sum = fill(values, 1 + i);
		SEES(values, sum);
		CHECK(sum_of(values) == sum, "card %d: other memory comes home", i);
	}
	CHECK(open_card(CARDS) < 0, "there is another card");
	munmap(values, BYTES);
}

/* Nobody in between brings it home: it goes from one card to the other. */
static void what_one_card_wrote_the_other_reads(const char *name)
{
	uint64_t *values = memory(), *copied = memory(), sum;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		sum = fill(values, 10 + round);
		card = cards[round % 2];
		CHECK(copies(copied, values), "round %d: no copy", round);
		card = cards[1 - round % 2];
		SEES(copied, sum);
		if (round % 3 == 0)
			CHECK(sum_of(copied) == sum, "round %d: the process sees something else", round);
		SEES(values, sum);
	}
	munmap(values, BYTES);
	munmap(copied, BYTES);
}

/**
 * struct worker - a thread that has one of the cards work
 * @fd: which
 * @from: what is read, by both
 * @to: what is written, by this one alone
 * @wanted: sum of what is read
 * @wrong: launches that did not do what they should
 */
struct worker {
	pthread_t thread;
	int fd;
	uint64_t *from;
	uint64_t *to;
	uint64_t wanted;
	int wrong;
};

static void *work(void *all)
{
	struct worker *own = all;
	struct godwit_run run;
	struct card_sum sum;
	uint32_t status;
	int i;

	for (i = 0; i < LAUNCHES; i++) {
		own->wrong += card_memcopy(own->fd, own->to, own->from, BYTES, &run, &status) || status ||
			      run.end != GODWIT_RUN_DONE;
		own->wrong += card_array_sum(own->fd, own->from, COUNT, 0, &sum) || sum.sum != own->wanted;
		own->wrong += sum_of(own->to) != own->wanted;
	}
	return NULL;
}

static void both_cards_work_at_once(const char *name)
{
	struct worker workers[CARDS] = { 0 };
	uint64_t *from = memory(), sum = fill(from, 100);
	int i;

	for (i = 0; i < CARDS; i++) {
		workers[i] = (struct worker){ .fd = cards[i], .from = from, .to = memory(), .wanted = sum };
		CHECK(!pthread_create(&workers[i].thread, NULL, work, &workers[i]), "pthread_create");
	}
	for (i = 0; i < CARDS; i++)
		pthread_join(workers[i].thread, NULL);
	for (i = 0; i < CARDS; i++) {
		CHECK(!workers[i].wrong, "card %d: %d of %d are wrong", i, workers[i].wrong, 3 * LAUNCHES);
		munmap(workers[i].to, BYTES);
	}
	CHECK(sum_of(from) == sum, "what both read has changed");
	munmap(from, BYTES);
}

static void one_card_goes_and_the_other_stays(const char *name)
{
	uint64_t *used[CARDS] = { memory(), memory() }, sums[CARDS];
	struct godwit_info info;
	int i, gone;

	for (i = 0; i < CARDS; i++) {
		card = cards[i];
		sums[i] = fill(used[i], 200 + i);
		SEES(used[i], sums[i]);
	}
	CHECK(card_find() && card_tell(CARD_DRIVER "/unbind"), "unbind: %s", strerror(errno));
	gone = ioctl(cards[0], GODWIT_IOC_INFO, &info) ? 0 : 1;
	REFUSED(ioctl(cards[gone], GODWIT_IOC_INFO, &info), ENODEV);
	CHECK(sum_of(used[gone]) == sums[gone], "its memory is not what it was");
	card = cards[1 - gone];
	SEES(used[1 - gone], sums[1 - gone]);
	SEES(used[gone], sums[gone]);
	CHECK(card_tell(CARD_DRIVER "/bind"), "bind: %s", strerror(errno));
	close(cards[gone]);
	card = cards[gone] = open_card(gone);
	CHECK(card >= 0, "card %d afterwards: %s", gone, strerror(errno));
	for (i = 0; i < CARDS; i++) {
		SEES(used[i], sums[i]);
		CHECK(sum_of(used[i]) == sums[i], "memory of card %d comes home as something else", i);
		munmap(used[i], BYTES);
	}
	for (i = 0; i < CARDS; i++)
		close(cards[i]);
}

int main(void)
{
	TEST(both_cards_see_what_the_process_has);
	TEST(what_one_card_wrote_the_other_reads);
	TEST(both_cards_work_at_once);
	TEST(one_card_goes_and_the_other_stays);
	return failures != 0;
}
