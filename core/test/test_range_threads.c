// SPDX-License-Identifier: Apache-2.0
/*
 * Threads on one range allocator, for ThreadSanitizer: `test_range_threads SECONDS SEED`. Every granule has one owner
 * at a time, everything is free at the end, and a request that must fit never fails: in each of two windows all ranges
 * have one size (one granule, or an aligned block of two words), and there are exactly as many places as threads may
 * hold, so that a failure is a wrong answer however threads interleave. Ranges of any size live in a third window.
 */
#define _POSIX_C_SOURCE 200809L
#include <godwit/range.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 8u
#define HELD 6u
#define SHIFT 12u
#define BLOCK 128u
#define SINGLES (THREADS * HELD)
#define BLOCKS (THREADS * HELD * BLOCK)
#define MIXED 4096u
#define GRANULES (SINGLES + BLOCK - SINGLES % BLOCK + BLOCKS + MIXED)

struct window {
	uint64_t first, end;
};

static const struct window WINDOWS[3] = {
	{ 0, SINGLES },
	{ GRANULES - MIXED - BLOCKS, GRANULES - MIXED },
	{ GRANULES - MIXED, GRANULES },
};

static struct gw_range range;
static _Atomic uint32_t owner[GRANULES];
static atomic_bool stop;
static uint64_t seed;

static void fail(const char *what)
{
	fprintf(stderr, "%s (seed %llu)\n", what, (unsigned long long)seed);
	exit(1);
}

static void give_way(uint32_t looks)
{
	if (looks % 16 == 0)
		sched_yield();
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void own(uint64_t first, uint64_t count, uint32_t from, uint32_t to)
{
	for (uint64_t at = first; at < first + count; at++)
		if (atomic_exchange_explicit(&owner[at], to, memory_order_relaxed) != from)
			fail("two owners of one granule");
}

struct held {
	uint64_t first, count;
};

static void toggle(struct held *held, unsigned int kind, uint32_t me, uint64_t *random)
{
	struct gw_range_request request = { .node = GW_RANGE_ANY_NODE };
	uint64_t pa, bytes;

	if (held->count) {
		/* A double free at the same time as others allocate: one of the two is refused. */
		own(held->first, held->count, me, 0);
		if (gw_range_free(&range, held->first << SHIFT, &bytes) != GW_RANGE_OK ||
		    bytes != held->count << SHIFT)
			fail("a range cannot be freed");
		held->count = 0;
		return;
	}
	held->count = kind == 0 ? 1 : kind == 1 ? BLOCK : 1 + next_random(random) % (next_random(random) % 2 ? 8 : 300);
	request.bytes = held->count << SHIFT;
	request.align = kind == 1 ? (uint64_t)BLOCK << SHIFT : 0;
	request.min = WINDOWS[kind].first << SHIFT;
	request.max = (WINDOWS[kind].end << SHIFT) - 1;
	if (gw_range_alloc(&range, &request, &pa, NULL) != GW_RANGE_OK) {
		if (kind < 2)
			fail("a request that fits has failed");
		held->count = 0;
		return;
	}
	held->first = pa >> SHIFT;
	own(held->first, held->count, 0, me);
	if (kind == 2 && next_random(random) % 4 == 0) {
		uint64_t wanted = 1 + next_random(random) % 100;

		if (wanted < held->count)
			own(held->first + wanted, held->count - wanted, me, 0);
		if (gw_range_resize(&range, pa, wanted << SHIFT) == GW_RANGE_OK) {
			if (wanted > held->count)
				own(held->first + held->count, wanted - held->count, 0, me);
			held->count = wanted;
		} else if (wanted <= held->count) {
			fail("a range cannot shrink");
		}
	}
}

static void *work(void *argument)
{
	uint32_t me = (uint32_t)(uintptr_t)argument;
	uint64_t random = seed + me, calls = 0;
	struct held held[3][HELD] = { 0 };

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		unsigned int kind = (unsigned int)(next_random(&random) % 3);

		toggle(&held[kind][next_random(&random) % HELD], kind, me, &random);
		calls++;
	}
	for (unsigned int kind = 0; kind < 3; kind++)
		for (unsigned int i = 0; i < HELD; i++)
			if (held[kind][i].count)
				toggle(&held[kind][i], kind, me, &random);
	return (void *)(uintptr_t)calls;
}

int main(int argc, char **argv)
{
	const struct gw_range_area area = { 0, (uint64_t)GRANULES << SHIFT, 0 };
	struct timespec duration = { argc > 1 ? atol(argv[1]) : 1, 0 };
	pthread_t threads[THREADS];
	uint64_t calls = 0;
	size_t bytes;
	void *storage;

	seed = argc > 2 && atol(argv[2]) ? (uint64_t)atol(argv[2]) : (uint64_t)time(NULL);
	if (gw_range_storage(&area, 1, SHIFT, &bytes) || !(storage = malloc(bytes)) ||
	    gw_range_init(&range, &area, 1, SHIFT, storage, bytes))
		fail("no allocator");
	range.relax = give_way;
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	nanosleep(&duration, NULL);
	atomic_store(&stop, true);
	for (unsigned int i = 0; i < THREADS; i++) {
		void *result;

		pthread_join(threads[i], &result);
		calls += (uintptr_t)result;
	}
	if (gw_range_check(&range, NULL) || gw_range_free_bytes(&range) != area.bytes)
		fail("not everything came back");
	free(storage);
	printf("%llu calls by %u threads, seed %llu: tests passed\n", (unsigned long long)calls, THREADS,
	       (unsigned long long)seed);
	return 0;
}
