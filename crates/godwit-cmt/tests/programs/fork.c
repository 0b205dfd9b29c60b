/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork: `fork private` has a child that goes on with its own copy, `fork shared` one that sees the parent's blocks but
 * may neither allocate nor free, `fork waiting` one that gets what other threads kept of blocks that they did not make.
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

int main(int argc, char **argv)
{
	bool shared = argc > 1 && !strcmp(argv[1], "shared");
	char *blocks[BLOCKS];
	pthread_t thread;

	if (argc > 1 && !strcmp(argv[1], "waiting"))
		return waiting();
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
