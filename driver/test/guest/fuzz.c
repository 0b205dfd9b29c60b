// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls that a malicious program makes: structures that are right but for some fields, at addresses that are no memory, while
 * other threads take memory away and close the file. Each comes back, and the card works for others as before.
 *
 *	fuzz [CALLS [SEED]]
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "files.h"
#include "huge.h"
#include "values.h"

#define CALLERS 2
#define ARENA_PAGES 64
/* Calls after which the arena is a huge page again. */
#define RENEWED 256

static uint64_t calls = 4000, seed;
static char *arena;
static volatile bool ended;
/* Closed and opened again meanwhile: a caller may find a file that is none. */
static volatile int victim = -1, victim_blocks = -1;
static int blocks;

static uint64_t next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* A number that somebody may not have thought of. */
static uint64_t odd(uint64_t *state)
{
	static const uint64_t known[] = {
		0, 1, 3, 4, 8, 0xfff, 0x1000, 0x1001, 0x7fffffff, 0x80000000, 0xffffffff, 1ull << 38, 1ull << 39, 1ull << 47,
		1ull << 56, 0x7fffffffffffffff, 1ull << 63, ~0xfffull, ~0ull,
	};
	uint64_t which = next(state);

	return which % 4 ? known[which / 4 % (sizeof(known) / sizeof(known[0]))] : next(state);
}

/* An address: in the arena, mostly. */
static uint64_t place(uint64_t *state)
{
	uint64_t which = next(state);

	if (which % 8 == 0)
		return odd(state);
	return (uint64_t)arena + which / 8 % (ARENA_PAGES * PAGE);
}

static uint64_t size(uint64_t *state)
{
	return next(state) % 4 ? next(state) % (8 * PAGE) : odd(state);
}

/* One time in so many something else than @right. */
static uint64_t mostly(uint64_t *state, uint64_t right)
{
	return next(state) % 4 ? right : odd(state);
}

/* A call with its structure at @at, which may be no memory: what is written there may be lost, or may fault in the kernel. */
static void call(int fd, unsigned long number, const void *what, size_t bytes, uint64_t *state)
{
	static __thread char own[512];
	uint64_t which = next(state) % 8;

	memcpy(own, what, bytes);
	if (which == 0)
		ioctl(fd, number, odd(state));
	else if (which == 1)
		ioctl(fd, number, place(state));
	else
		ioctl(fd, number, own);
}

#include "fuzz_blocks.h"

static void run_call(int fd, uint64_t *state)
{
	uint64_t at = place(state), count = next(state) % 512;
	struct godwit_register writes[] = {
		{ ARRAY_SUM_VALUES, (uint32_t)at }, { ARRAY_SUM_VALUES + 4, (uint32_t)(at >> 32) },
		{ ARRAY_SUM_COUNT, (uint32_t)count }, { ARRAY_SUM_COUNT + 4, 0 }, { ARRAY_SUM_DTYPE, 1 },
		{ ARRAY_SUM_VALIDITY, 0 }, { ARRAY_SUM_VALIDITY + 4, 0 },
		{ ARRAY_SUM_OFFSET, 0 }, { ARRAY_SUM_OFFSET + 4, 0 },
	};
	struct godwit_register reads[] = { { ARRAY_SUM_SUM, 0 }, { ARRAY_SUM_STATUS, 0 } };
	struct godwit_run run = {
		.slot = ARRAY_SUM_SLOT,
		.timeout_ms = 1000,
		.writes = (uint64_t)writes,
		.write_count = sizeof(writes) / sizeof(writes[0]),
		.reads = (uint64_t)reads,
		.read_count = sizeof(reads) / sizeof(reads[0]),
	};

	/* A launch takes the card long: most have something wrong that is to be found before. */
	switch (next(state) % 32) {
	case 0:
		break;
	case 1 ... 8:
		run.slot = 1000 + next(state) % 100000;
		break;
	case 9 ... 16:
		run.writes = next(state) % 2 ? 0 : 1ull << 63;
		break;
	case 17 ... 24:
		run.write_count = GODWIT_RUN_REGISTERS + 1 + odd(state) % 0x7fffffff;
		break;
	default:
		reads[1].offset = next(state) % 2 ? 0xfffffff0 : next(state) % 0x10;
	}
	call(fd, GODWIT_IOC_RUN, &run, sizeof(run), state);
}

/* An address of the heap: a slot that there may be, or something beside it. */
static uint64_t heap_place(uint64_t *state)
{
	uint64_t slot = next(state) % 16;

	if (next(state) % 4 == 0)
		return odd(state);
	return (next(state) % 2 ? 0x200000000000 + (slot << 33) : 0x400000000000 + (slot << 16)) + (next(state) % 8 == 0) * PAGE;
}

/* What is mapped of the heap is touched by a call, which may fail, and is there no longer than that. */
static void map_call(int fd, uint64_t *state)
{
	uint64_t at = heap_place(state) / PAGE * PAGE, offset = mostly(state, at), bytes = PAGE << next(state) % 6;
	int flags = next(state) % 8 ? MAP_SHARED : MAP_PRIVATE;
	void *seen = mmap((void *)at, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, fd, offset);

	if (seen == MAP_FAILED)
		return;
	ioctl(fd, GODWIT_IOC_INFO, seen);
	munmap(seen, bytes);
}

static void any_call(int fd, uint64_t *state)
{
	struct godwit_pin pin = {
		.addr = place(state),
		.size = size(state),
		.flags = mostly(state, next(state) % 2),
		.reserved = mostly(state, 0),
	};
	struct godwit_migrate move = {
		.addr = place(state),
		.size = size(state),
		.flags = mostly(state, next(state) % 2),
		.reserved = mostly(state, 0),
	};
	struct godwit_advise advise = {
		.addr = place(state),
		.size = size(state),
		.advice = mostly(state, next(state) % 5),
		.served = mostly(state, 0),
	};
	struct godwit_cancel cancel = {
		.slot = mostly(state, next(state) % CARD_KERNELS),
		.reserved = mostly(state, 0),
	};
	struct godwit_residency residency = {
		.addr = place(state),
		.size = size(state),
		.reserved = mostly(state, 0),
	};
	static __thread struct godwit_register words[GODWIT_COUNTER_WORDS];
	struct godwit_counters counters = {
		.words = next(state) % 4 ? (uint64_t)words : place(state),
		.count = mostly(state, 1 + next(state) % 8),
		.reserved = mostly(state, 0),
	};
	struct godwit_allocation allocation = {
		.op = mostly(state, next(state) % 4),
		.flags = mostly(state, next(state) % 2),
		.granule = mostly(state, next(state) % 10),
		.pointer = next(state) % 2 ? heap_place(state) : next(state) % 2 * odd(state),
		.size = next(state) % 2 ? size(state) : next(state) % 2 * odd(state),
		.reserved = mostly(state, 0),
	};
	struct godwit_info info;
	size_t i;

	/* What is said of so many pages as the arena has bytes would go over this program's own memory. */
	residency.places = residency.size <= 8 * PAGE ? place(state) : odd(state);
	for (i = 0; i < 8; i++)
		words[i].offset = mostly(state, 0x1000 + next(state) % 0x400 * 4);
	memset(&info, 0, sizeof(info));
	switch (next(state) % 17) {
	case 0:
		call(fd, GODWIT_IOC_INFO, &info, sizeof(info), state);
		break;
	case 1:
	case 2:
		call(fd, GODWIT_IOC_PIN, &pin, sizeof(pin), state);
		break;
	case 3:
		call(fd, GODWIT_IOC_UNPIN, &pin, sizeof(pin), state);
		break;
	case 4:
	case 5:
		call(fd, GODWIT_IOC_MIGRATE, &move, sizeof(move), state);
		break;
	case 6:
		run_call(fd, state);
		break;
	case 7:
		call(fd, GODWIT_IOC_CANCEL, &cancel, sizeof(cancel), state);
		break;
	case 8:
		call(fd, GODWIT_IOC_RESIDENCY, &residency, sizeof(residency), state);
		break;
	case 9:
		call(fd, GODWIT_IOC_COUNTERS, &counters, sizeof(counters), state);
		break;
	case 10:
	case 11:
		call(fd, GODWIT_IOC_HEAP, &allocation, sizeof(allocation), state);
		break;
	case 12:
		map_call(fd, state);
		break;
	case 13:
		call(fd, GODWIT_IOC_ADVISE, &advise, sizeof(advise), state);
		break;
	case 14:
	case 15:
		block_call(next(state) % 4 ? blocks : victim_blocks, state);
		break;
	default:
		/* The numbers and sizes beside the right ones. */
		call(next(state) % 2 ? fd : blocks,
		     _IOC(next(state) % 4, 'g', (next(state) % 2 ? 0x3e : 0x5e) + next(state) % 14, odd(state) % 0x4000), &pin,
		     sizeof(pin), state);
	}
}

/* The arena begins a huge page, of which it is a part: what is done to it meets all of that, as long as it is whole. */
static void renew(void)
{
	mmap(arena, HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	madvise(arena, HUGE, MADV_HUGEPAGE);
	arena[HUGE - 1] = 1;
}

static void *caller(void *which)
{
	uint64_t state = seed + (uintptr_t)which, i;

	for (i = 0; i < calls / CALLERS; i++) {
		if (!which && !(i % RENEWED))
			renew();
		any_call(next(&state) % 4 ? card : victim, &state);
	}
	return NULL;
}

/* Takes memory away, gives new, and forbids it. */
static void *disturb(void *none)
{
	uint64_t state = seed ^ 0x5555;

	while (!ended) {
		char *at = arena + next(&state) % ARENA_PAGES * PAGE;
		size_t bytes = (arena + ARENA_PAGES * PAGE - at) / 2 / PAGE * PAGE + PAGE;

		switch (next(&state) % 4) {
		case 0:
			munmap(at, bytes);
			break;
		case 1:
			mprotect(at, bytes, next(&state) % 2 ? PROT_READ : PROT_NONE);
			break;
		case 2:
			madvise(at, bytes, MADV_DONTNEED);
			break;
		default:
			mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		}
		usleep(200);
	}
	return none;
}

static void *reopen(void *none)
{
	while (!ended) {
		victim = card_open();
		victim_blocks = device_open();
		usleep(1000);
		close(victim);
		close(victim_blocks);
	}
	return none;
}

static void calls_that_make_no_sense_harm_nobody(const char *name)
{
	pthread_t callers[CALLERS], others[2];
	struct godwit_info before = { 0 }, after = { 0 };
	uint64_t *values, sum;
	uintptr_t i;

	card = card_open();
	blocks = device_open();
	CHECK(!ioctl(card, GODWIT_IOC_INFO, &before), "info: %s", strerror(errno));
	huge_pages_when_asked();
	/* A page more, which stays and is no memory: what is filled in at the end goes no further. */
	arena = mmap(NULL, 2 * HUGE + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	arena = (char *)(((uintptr_t)arena + HUGE - 1) & ~(HUGE - 1));
	renew();
	CHECK(!pthread_create(&others[1], NULL, reopen, NULL), "threads");
	for (i = 0; i < CALLERS; i++)
		CHECK(!pthread_create(&callers[i], NULL, caller, (void *)i), "threads");
	/* The last: where memory is taken away no thread's stack must come. */
	CHECK(!pthread_create(&others[0], NULL, disturb, NULL), "threads");
	for (i = 0; i < CALLERS; i++)
		pthread_join(callers[i], NULL);
	ended = true;
	pthread_join(others[0], NULL);
	pthread_join(others[1], NULL);
	close(card);
	close(blocks);
	CHECK(blocks_end(), "contiguous memory is left over");

	card = card_open();
	values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	sum = fill(values, 1);
	SEES(values, sum);
	close(card);
	card = card_open();
	CHECK(!ioctl(card, GODWIT_IOC_INFO, &after), "info: %s", strerror(errno));
	CHECK(before.free_bytes == after.free_bytes, "%lld bytes of device memory are left over",
	      (long long)(before.free_bytes - after.free_bytes));
}

int main(int count, char **words)
{
	if (count > 1)
		calls = strtoull(words[1], NULL, 0);
	seed = count > 2 ? strtoull(words[2], NULL, 0) : (uint64_t)time(NULL) * 1000003 + getpid();
	printf("%llu calls with seed %llu\n", (unsigned long long)calls, (unsigned long long)seed);
	fflush(stdout);
	TEST(calls_that_make_no_sense_harm_nobody);
	return failures != 0;
}
