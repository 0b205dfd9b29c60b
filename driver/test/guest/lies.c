// SPDX-License-Identifier: GPL-2.0-only
/*
 * A card that lies, in what it answers and in what it has in its queues: whatever a process does with it ends, with an error or with
 * something that is not so, and nobody else is harmed. After a reset the card is a good one.
 *
 *	lies ROUNDS [SEED]	how often it begins to lie, and what the process does meanwhile
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "allocations.h"
#include "bind.h"
#include "bus.h"
#include "files.h"

#define WORKERS 2
/* How long the process works with a card that lies, and how long it may take to come to an end. */
#define WORK_MS 1500
#define END_MS 240000
/* A launch of a card that does not say that it has ended. */
#define LAUNCH_MS 50

static uint64_t rounds = 3, seed = 1;

static uint64_t next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

static void say(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
	/* The line goes to who has the card do so. */
	usleep(200000);
}

static void move_some(uint64_t *values, uint64_t which)
{
	struct godwit_migrate what = {
		.addr = (uint64_t)values + which % PAGES * PAGE,
		.size = (which / PAGES % 8 + 1) * PAGE,
		.flags = which & 1 << 20 ? GODWIT_MIGRATE_TO_HOST : 0,
	};

	if (which % PAGES + what.size / PAGE <= PAGES)
		ioctl(card, GODWIT_IOC_MIGRATE, &what);
}

static void look_around(uint64_t *values)
{
	static __thread uint8_t places[PAGES];
	struct godwit_register words[] = { { 0x1140, 0 } };
	struct godwit_counters counters = { .words = (uint64_t)words, .count = 1 };
	struct godwit_residency where = { .addr = (uint64_t)values, .size = BYTES, .places = (uint64_t)places };
	struct godwit_heap_state state = { 0 };
	struct godwit_info info;

	ioctl(card, GODWIT_IOC_INFO, &info);
	ioctl(card, GODWIT_IOC_COUNTERS, &counters);
	ioctl(card, GODWIT_IOC_RESIDENCY, &where);
	ioctl(card, GODWIT_IOC_HEAP_STATE, &state);
}

static void use_the_heap(uint64_t which)
{
	uint64_t bytes = (which % 16 + 1) * PAGE;
	volatile uint64_t *there = give(card, bytes, 0, 0);

	if (!there)
		return;
	is_nothing((void *)there);
	call(card, GODWIT_ALLOCATION_REALLOC, (uint64_t)there, bytes / 2, 0, 0);
	munmap((void *)there, bytes);
	call(card, GODWIT_ALLOCATION_FREE, (uint64_t)there, 0, 0, 0);
}

static void do_something(uint64_t *values, uint64_t *copied, uint64_t which)
{
	struct card_sum sum;
	struct godwit_run run;
	uint32_t done;
	int other;

	switch (which % 8) {
	case 0:
	case 1:
		card_array_sum(card, values, COUNT / 8, LAUNCH_MS, &sum);
		break;
	case 2:
		card_memcopy(card, copied, values, BYTES / 8, &run, &done);
		break;
	case 3:
		move_some(values, which >> 8);
		break;
	case 4:
		/* Memory that comes home, or cannot. */
		is_nothing(values + which / 8 % COUNT);
		break;
	case 5:
		if (!card_pin(card, copied, 4 * PAGE, GODWIT_PIN_WRITE))
			card_unpin(card, copied, 4 * PAGE);
		break;
	case 6:
		use_the_heap(which >> 8);
		break;
	default:
		look_around(values);
		other = card_open();
		close(other);
	}
}

static uint64_t until_ms;

static void *work(void *first)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *copied = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	uint64_t state = *(uint64_t *)first;

	fill(values, state);
	while (now_ms() < until_ms)
		do_something(values, copied, next(&state));
	return NULL;
}

/* A memory copy has no limit of its own: one that does not end is told to. */
static void *cancel(void *none)
{
	struct godwit_cancel what = { .slot = MEMCOPY_SLOT };

	for (;;) {
		usleep(4 * LAUNCH_MS * 1000);
		ioctl(card, GODWIT_IOC_CANCEL, &what);
	}
	return none;
}

static void a_process_works(uint64_t round)
{
	uint64_t first[WORKERS];
	pthread_t worker[WORKERS], canceller;
	int i;

	card = card_open();
	until_ms = now_ms() + WORK_MS;
	pthread_create(&canceller, NULL, cancel, NULL);
	for (i = 0; i < WORKERS; i++) {
		first[i] = seed * 1000 + round * WORKERS + i;
		pthread_create(&worker[i], NULL, work, &first[i]);
	}
	for (i = 0; i < WORKERS; i++)
		pthread_join(worker[i], NULL);
	_exit(0);
}

/* Whether a process ended by itself, in its time. */
static bool ends(pid_t child)
{
	uint64_t late = now_ms() + END_MS;
	int status;

	while (waitpid(child, &status, WNOHANG) != child) {
		if (now_ms() > late)
			return false;
		usleep(10000);
	}
	return WIFEXITED(status) || WTERMSIG(status) == SIGBUS;
}

static bool is_good_again(void)
{
	char path[96];

	card_tell(CARD_DRIVER "/unbind");
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", card_slot);
	return tell(path, "1") && card_tell(CARD_DRIVER "/bind");
}

/* After its reset; who had nothing to do with it has what was there. What is on the card when it lies is what it says that it is, so all comes home. */
#define WORKS_AGAIN(mine, sum, round)                                                               \
	do {                                                                                        \
		CHECK(is_good_again(), "round %llu: %s", round, strerror(errno));                   \
		CHECK(sum_of(mine) == (sum), "round %llu: somebody else's memory has changed", round); \
		card = card_open();                                                                 \
		CHECK(card >= 0, "round %llu: open: %s", round, strerror(errno));                   \
		SEES(mine, sum);                                                                    \
		CHECK(sum_of(mine) == (sum), "round %llu: other memory comes home", round);         \
		close(card);                                                                        \
	} while (0)

static void a_card_that_lies_harms_nobody(const char *name)
{
	uint64_t *mine = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(mine, 77), round;
	char begins[32];
	pid_t child;

	CHECK(card_find(), "there is no card");
	for (round = 0; round < rounds; round++) {
		child = fork();
		if (!child)
			a_process_works(round);
		usleep(100000);
		snprintf(begins, sizeof(begins), "lie %llu", (unsigned long long)round);
		say(begins);
		CHECK(ends(child), "round %llu: the process does not end", (unsigned long long)round);
		/* It may be let go of while it lies, too. */
		if (round % 2)
			say("stop lying");
		CHECK(card_tell(CARD_DRIVER "/unbind"), "round %llu: unbind: %s", (unsigned long long)round, strerror(errno));
		if (!(round % 2))
			say("stop lying");
		WORKS_AGAIN(mine, sum, (unsigned long long)round);
	}
	munmap(mine, BYTES);
}

/* Whatever it says of itself when the driver comes. */
static void a_driver_comes_to_a_card_that_lies(const char *name)
{
	uint64_t *mine = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(mine, 78), round;
	char begins[32];

	for (round = rounds; round < 2 * rounds; round++) {
		CHECK(card_tell(CARD_DRIVER "/unbind"), "unbind: %s", strerror(errno));
		snprintf(begins, sizeof(begins), "lie %llu", (unsigned long long)round);
		say(begins);
		printf("%s\n", card_tell(CARD_DRIVER "/bind") ? "it was taken" : "it was refused");
		say("stop lying");
		WORKS_AGAIN(mine, sum, (unsigned long long)round);
	}
	munmap(mine, BYTES);
}

int main(int count, char **words)
{
	if (count > 1)
		rounds = strtoull(words[1], NULL, 0);
	if (count > 2)
		seed = strtoull(words[2], NULL, 0);
	TEST(a_card_that_lies_harms_nobody);
	TEST(a_driver_comes_to_a_card_that_lies);
	return failures != 0;
}
