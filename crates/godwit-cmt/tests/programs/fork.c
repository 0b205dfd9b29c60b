/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork: `fork private` has a child that goes on with its own copy, `fork shared` one that sees the parent's blocks but
 * may neither allocate nor free, `fork waiting` one that gets what other threads kept of blocks that they did not make, `fork opening`
 * many that are forked while another thread opens the pool, `fork orphans` ones that get what other threads' pages have, and
 * `fork orphans-moving` ones whose parent's threads were in the middle of calls.
 */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 200
#define CHILDREN 20

static atomic_bool stop;

/* Others are in the middle of calls while the process forks. */
static void *churn(void *unused)
{
	while (!atomic_load(&stop))
		for (size_t size = 16; size < 4 << 20; size *= 3)
			cmt_free(cmt_malloc(size));
	return unused;
}

static int child_of_private(char **blocks)
{
	for (int i = 0; i < BLOCKS; i++) {
		CHECK(blocks[i][0] == (char)i);
		blocks[i][0] = 'c';
		cmt_free(blocks[i]);
		CHECK(cmt_malloc((size_t)i * 1000 + 1));
	}
	return cmt_check();
}

static int child_of_shared(char **blocks)
{
	CHECK(blocks[7][0] == 7);
	CHECK(!cmt_malloc(100) && errno == EPERM && strstr(cmt_reason(), "forked"));
	CHECK(!cmt_alloc_contiguous(1 << 20, NULL) && errno == EPERM);
	cmt_free(blocks[7]);
	blocks[8][0] = 'c';
	return 0;
}

#define MANY 4000

static char *many[MANY];

/* Frees what another thread made, and lives on with some of it waiting. */
static void *free_many(void *unused)
{
	for (int i = 0; i < MANY; i++)
		if (i % 10)
			cmt_free(many[i]);
	while (!atomic_load(&stop))
		usleep(1000);
	return unused;
}

/* A child of fork has all memory again, also what its parent's other threads kept. */
static int waiting(void)
{
	struct cmt_stats start, end;
	int status;
	pthread_t thread;
	pid_t child;

	CHECK(open_pool("size=64MiB") == 0);
	cmt_free(cmt_malloc(1));
	cmt_trim();
	cmt_stats(&start);
	for (int i = 0; i < MANY; i++)
		CHECK((many[i] = cmt_malloc(3000)));
	pthread_create(&thread, NULL, free_many, NULL);
	usleep(200000);
	child = fork();
	if (!child) {
		for (int i = 0; i < MANY; i += 10)
			cmt_free(many[i]);
		cmt_trim();
		cmt_stats(&end);
		CHECK(end.superblock_bytes == 0 && end.largest_free == start.largest_free);
		_exit(cmt_check());
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	return 0;
}

#define OPENINGS 150
/* Longer than a child takes by far: one that waits for a thread that it does not have waits for ever. */
#define SECONDS 60

static atomic_bool begun;

static void *open_by_need(void *unused)
{
	atomic_store(&begun, true);
	CHECK(cmt_malloc(100));
	return unused;
}

static int uses_its_pool(void)
{
	char *block = cmt_malloc(100), *large = cmt_malloc(1 << 20);

	CHECK(block && large);
	block[99] = large[0] = 1;
	cmt_free(block);
	cmt_free(large);
	return cmt_check();
}

/* What the process has forked has ended well. */
static void ends_well(pid_t child)
{
	int status;

	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* A process of its own: forks when so much of its pool's opening is done, and once more from there. */
static int opens(int steps)
{
	pthread_t thread;
	pid_t child;

	pthread_create(&thread, NULL, open_by_need, NULL);
	while (!atomic_load(&begun))
		;
	for (volatile int i = 0; i < steps; i++)
		;
	child = fork();
	if (!child) {
		alarm(SECONDS);
		CHECK(uses_its_pool() == 0);
		child = fork();
		if (!child) {
			alarm(SECONDS);
			_exit(uses_its_pool());
		}
		ends_well(child);
		_exit(0);
	}
	ends_well(child);
	pthread_join(thread, NULL);
	return uses_its_pool();
}

static int opening(void)
{
	setenv("GODWIT_CMT", "size=64MiB", 1);
	for (int i = 0; i < OPENINGS; i++) {
		pid_t child = fork();

		if (!child)
			_exit(opens(i % 50 * 3000));
		ends_well(child);
	}
	return 0;
}

#define SIZES 6

static const size_t sizes[SIZES] = { 16, 48, 700, 3000, 12000, 40000 };
static atomic_int filled;

/* Makes pages of its own with blocks of every size, frees a fifth, and lives on. */
static void *fill(void *unused)
{
	for (int i = 0; i < MANY; i++)
		CHECK((many[i] = cmt_malloc(sizes[i % SIZES])));
	for (int i = 0; i < MANY; i += 5)
		cmt_free(many[i]);
	atomic_store(&filled, 1);
	while (!atomic_load(&stop))
		usleep(1000);
	return unused;
}

/* A child has use of what is free in the pages of its parent's threads, and all of them when their blocks are freed. */
static int orphans(void)
{
	static char *more[MANY];
	struct cmt_stats start, there, end;
	pthread_t thread;
	pid_t child;

	CHECK(open_pool("size=256MiB") == 0);
	cmt_free(cmt_malloc(1));
	cmt_trim();
	cmt_stats(&start);
	pthread_create(&thread, NULL, fill, NULL);
	while (!atomic_load(&filled))
		usleep(1000);
	child = fork();
	if (!child) {
		cmt_stats(&there);
		for (int i = 0; i < MANY; i += 5)
			CHECK((more[i] = cmt_malloc(sizes[i % SIZES])));
		cmt_stats(&end);
		/* Less than a tenth more than there was; without those pages it would be a fifth. */
		CHECK(end.superblock_bytes < there.superblock_bytes + there.superblock_bytes / 10);
		for (int i = 0; i < MANY; i++)
			cmt_free(i % 5 ? many[i] : more[i]);
		cmt_trim();
		cmt_stats(&end);
		CHECK(end.superblock_bytes == 0 && end.largest_free == start.largest_free && end.misuses == 0);
		_exit(cmt_check());
	}
	ends_well(child);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	return 0;
}

#define MOVERS 2
#define HELD 600

/* Each block that a thread holds is full of a byte that is the thread's. */
static struct held {
	char *_Atomic block;
	size_t bytes;
} held[MOVERS][HELD];

static void *move(void *number)
{
	struct held *mine = held[(uintptr_t)number];
	uint32_t random = (uint32_t)(uintptr_t)number;

	while (!atomic_load(&stop)) {
		uint32_t at = (random = random * 1664525 + 1013904223) >> 8;
		struct held *one = &mine[at % HELD];
		char *block = atomic_exchange(&one->block, NULL);

		cmt_free(block);
		one->bytes = sizes[at / HELD % (SIZES - 1)];
		CHECK((block = cmt_malloc(one->bytes)));
		memset(block, (int)(uintptr_t)number + 1, one->bytes);
		atomic_store(&one->block, block);
	}
	for (int i = 0; i < HELD; i++)
		cmt_free(mine[i].block);
	return NULL;
}

static void held_are_whole(void)
{
	for (int who = 0; who < MOVERS; who++)
		for (int i = 0; i < HELD; i++)
			for (size_t at = 0; held[who][i].block && at < held[who][i].bytes; at++)
				CHECK(held[who][i].block[at] == who + 1);
}

static void *take(void *blocks)
{
	for (int i = 0; i < MANY; i++) {
		size_t size = sizes[i % (SIZES - 1)];
		char *block = cmt_malloc(size);

		CHECK(block);
		memset(block, 'c', size);
		((char **)blocks)[i] = block;
	}
	return NULL;
}

/* No block is anybody's twice: all that the child takes keeps what it writes there, and so does what was the parent's. */
static int child_of_moving(char **blocks, const char *before)
{
	static char *mine[3][MANY];
	struct cmt_stats stats;
	pthread_t thread;

	take(mine[0]);
	cmt_trim();
	pthread_create(&thread, NULL, take, mine[1]);
	take(mine[2]);
	pthread_join(thread, NULL);
	held_are_whole();
	for (int i = 0; i < MANY; i++) {
		size_t size = sizes[i % (SIZES - 1)];

		for (int who = 0; who < 3; who++) {
			for (size_t at = 0; at < size; at++)
				CHECK(mine[who][i][at] == 'c');
			cmt_free(mine[who][i]);
		}
	}
	for (int i = 0; i < BLOCKS; i++) {
		CHECK(!memcmp(blocks[i], before, 700));
		cmt_free(blocks[i]);
	}
	for (int who = 0; who < MOVERS; who++)
		for (int i = 0; i < HELD; i++)
			cmt_free(held[who][i].block);
	cmt_trim();
	cmt_stats(&stats);
	CHECK(stats.misuses == 0);
	return cmt_check();
}

static int orphans_moving(void)
{
	char *blocks[BLOCKS], before[700];
	pthread_t threads[MOVERS];

	CHECK(open_pool("size=256MiB") == 0);
	memset(before, 'p', sizeof(before));
	for (int i = 0; i < BLOCKS; i++) {
		CHECK((blocks[i] = cmt_malloc(sizeof(before))));
		memcpy(blocks[i], before, sizeof(before));
	}
	for (int i = 0; i < MOVERS; i++)
		pthread_create(&threads[i], NULL, move, (void *)(uintptr_t)i);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child;

		usleep(2000 + 700 * i);
		child = fork();
		if (!child) {
			alarm(SECONDS);
			_exit(child_of_moving(blocks, before));
		}
		ends_well(child);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < MOVERS; i++)
		pthread_join(threads[i], NULL);
	return cmt_check();
}

int main(int argc, char **argv)
{
	bool shared = argc > 1 && !strcmp(argv[1], "shared");
	char *blocks[BLOCKS];
	pthread_t thread;

	if (argc > 1 && !strcmp(argv[1], "waiting"))
		return waiting();
	if (argc > 1 && !strcmp(argv[1], "opening"))
		return opening();
	if (argc > 1 && !strcmp(argv[1], "orphans"))
		return orphans();
	if (argc > 1 && !strcmp(argv[1], "orphans-moving"))
		return orphans_moving();
	CHECK(open_pool(shared ? "size=64MiB backing=memfd" : "size=64MiB") == 0);
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = cmt_malloc((size_t)i * 700 + 1);
		CHECK(blocks[i]);
		blocks[i][0] = (char)i;
	}
	pthread_create(&thread, NULL, churn, NULL);
	for (int i = 0; i < CHILDREN; i++) {
		int status;
		pid_t child = fork();

		if (!child)
			_exit(shared ? child_of_shared(blocks) : child_of_private(blocks));
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	CHECK(blocks[8][0] == (shared ? 'c' : 8));
	for (int i = 0; i < BLOCKS; i++)
		cmt_free(blocks[i]);
	CHECK(cmt_check() == 0);
	return 0;
}
