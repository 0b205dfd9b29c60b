// SPDX-License-Identifier: GPL-2.0-only
/* A kernel of the card frees and shrinks memory of the heap by itself, which no driver is told of: the process that has it mapped loses it. */
#include <sys/wait.h>

#include "allocations.h"
#include "bus.h"

/* As the streams of the heap have it. */
#define REALLOC 1u
#define FREE 2u
/* What another process writes. */
#define OTHERS 0x5ec7e7ull
/* Cycles that a launch goes on for: seconds of a simulated card; how often it is looked, a millisecond apart. */
#define RESTS 4000000u
#define LOOKS 5000

/* Has the kernel heap_calls give one command, and go on for so many cycles; how the heap answered, ~0: the launch did not end well. */
static uint32_t kernel_asks_and_rests(uint32_t how, const void *pointer, uint64_t size, uint32_t rest)
{
	uint64_t at = (uint64_t)pointer;
	struct godwit_register writes[] = {
		{ HEAP_CALLS_COUNT, 1 },
		{ HEAP_CALLS_POINTER0, (uint32_t)at }, { HEAP_CALLS_POINTER0 + 4, (uint32_t)(at >> 32) },
		{ HEAP_CALLS_SIZE0, (uint32_t)size }, { HEAP_CALLS_SIZE0 + 4, (uint32_t)(size >> 32) },
		{ HEAP_CALLS_HOW0, how }, { HEAP_CALLS_HOW0 + 4, 0 },
		{ HEAP_CALLS_REST, rest },
	};
	struct godwit_register reads[] = { { HEAP_CALLS_ANSWER0, 0 } };
	struct godwit_run run = {
		.slot = HEAP_CALLS_SLOT,
		.writes = (uint64_t)writes,
		.write_count = sizeof(writes) / sizeof(writes[0]),
		.reads = (uint64_t)reads,
		.read_count = 1,
	};

	return ioctl(card, GODWIT_IOC_RUN, &run) || run.end != GODWIT_RUN_DONE ? ~0u : reads[0].value;
}

static uint32_t kernel_asks(uint32_t how, const void *pointer, uint64_t size)
{
	return kernel_asks_and_rests(how, pointer, size, 0);
}

/* How many pages of memory of the heap the process does not see. */
static int nothing_of(uint64_t *values)
{
	int page, found = 0;

	for (page = 0; page < PAGES; page++)
		found += is_nothing(values + page * PAGE / 8);
	return found;
}

/* Another process takes as much of the heap as there is, and writes all of it. */
static bool another_takes_all(void)
{
	int status = 1;
	pid_t child = fork();

	if (!child) {
		int own = card_open();
		uint64_t bytes = free_in_the_end(own, 0) / 2 / BYTES * BYTES, i;
		uint64_t *values = give(own, bytes, 0, 0);

		for (i = 0; values && i < bytes / 8; i++)
			values[i] = OTHERS;
		_exit(!values);
	}
	return waitpid(child, &status, 0) == child && !status;
}

static void what_a_kernel_frees_is_gone_for_the_process(const char *name)
{
	uint64_t *values = give(card, BYTES, 0, 0), *kept = give(card, BYTES, 0, 0), sum;
	uint32_t answer;

	CHECK(values && kept, "status %u: %s", status, strerror(errno));
	fill(values, 1);
	sum = fill(kept, 2);
	answer = kernel_asks(FREE, values, 0);
	CHECK(!answer, "the heap answers %x", answer);
	CHECK(nothing_of(values) == PAGES, "%d pages are gone", nothing_of(values));
	CHECK(another_takes_all(), "no memory for another process");
	CHECK(nothing_of(values) == PAGES, "%d pages are gone when another process had them", nothing_of(values));
	CHECK(!freed(card, values) && status == NOT_LIVE, "status %u", status);
	CHECK(sum_of(kept) == sum, "another content of what was kept");
	SEES(kept, sum);
	CHECK(freed(card, kept), "status %u", status);
	munmap(values, BYTES);
	munmap(kept, BYTES);
}

/*
 * The same while the launch goes on: a child has the kernel free the memory and rest, and nobody looks at it meanwhile but with loads, so that
 * what was there before is still mapped.
 */
static void what_is_freed_is_nobody_elses_while_the_launch_runs(const char *name)
{
	uint64_t *values = give(card, BYTES, 0, 0), first;
	int code = 1, looks = 0;
	bool taken;
	pid_t child;

	CHECK(values, "status %u: %s", status, strerror(errno));
	fill(values, 5);
	first = values[0];
	child = fork();
	if (!child)
		_exit(kernel_asks_and_rests(FREE, values, 0, RESTS) != 0);
	/* It is freed when its page is gone, or when it is somebody else's: then this is seen here. */
	while (!load(values, &first) && looks++ < LOOKS && first != OTHERS)
		usleep(1000);
	CHECK(first != OTHERS, "what another process wrote is seen after %d looks", looks);
	CHECK(looks < LOOKS, "word 0 is %llx after %d looks", (unsigned long long)first, looks);
	CHECK(waitpid(child, NULL, WNOHANG) == 0, "the launch has ended before anybody looked");
	taken = another_takes_all();
	CHECK(taken, "no memory for another process");
	CHECK(waitpid(child, NULL, WNOHANG) == 0, "the launch has ended before another process had the memory");
	CHECK(nothing_of(values) == PAGES, "%d pages are gone", nothing_of(values));
	CHECK(waitpid(child, &code, 0) == child && !code, "the launch: %x", code);
	munmap(values, BYTES);
}

static void what_a_kernel_cuts_off_is_gone_and_the_rest_stays(const char *name)
{
	uint64_t *values = give(card, BYTES, 0, 0), i;
	uint32_t answer;

	CHECK(values, "status %u: %s", status, strerror(errno));
	fill(values, 3);
	answer = kernel_asks(REALLOC, values, 5 * PAGE);
	CHECK(!answer, "the heap answers %x", answer);
	for (i = 0; i < 5 * PAGE / 8; i++)
		CHECK(values[i] == (3 + i) * 0x9e3779b97f4a7c15ull, "word %llu is another", (unsigned long long)i);
	CHECK(nothing_of(values) == PAGES - 5, "%d pages are gone", nothing_of(values));
	CHECK(freed(card, values), "status %u", status);
	munmap(values, BYTES);
}

/* A launch that gives no command takes nothing from the process: no page is touched anew. */
static void what_a_kernel_refuses_or_leaves_alone_stays(const char *name)
{
	uint64_t *values = give(card, BYTES, 0, 0), sum;
	uint32_t answer;

	CHECK(values, "status %u: %s", status, strerror(errno));
	sum = fill(values, 4);
	answer = kernel_asks(FREE, values + PAGE / 8, 0);
	CHECK(answer == FOREIGN, "the heap answers %x", answer);
	CHECK(sum_of(values) == sum, "another content after a command that was refused");
	SEES(values, sum);
	CHECK(sum_of(values) == sum, "another content after a launch");
	CHECK(freed(card, values), "status %u", status);
	munmap(values, BYTES);
}

int main(void)
{
	card = card_open();
	TEST(what_a_kernel_frees_is_gone_for_the_process);
	TEST(what_is_freed_is_nobody_elses_while_the_launch_runs);
	TEST(what_a_kernel_cuts_off_is_gone_and_the_rest_stays);
	TEST(what_a_kernel_refuses_or_leaves_alone_stays);
	close(card);
	return failures != 0;
}
