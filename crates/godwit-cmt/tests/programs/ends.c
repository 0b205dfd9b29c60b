/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that allocate and free while they end, in destructors of keys made before and after the pool opens, while
 * others begin: their contents are right, and all memory returns.
 */
#include "check.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#define THREADS 8
#define ROUNDS 100
#define BLOCKS 500

static pthread_key_t early, late;

struct blocks {
	unsigned char *block[BLOCKS];
	unsigned char fill;
};

static size_t size_of(int number)
{
	return (size_t)16 << number % 6;
}

static struct blocks *make(unsigned char fill)
{
	struct blocks *blocks = cmt_malloc(sizeof(*blocks));

	CHECK(blocks);
	blocks->fill = fill;
	for (int i = 0; i < BLOCKS; i++) {
		blocks->block[i] = cmt_malloc(size_of(i));
		CHECK(blocks->block[i]);
		memset(blocks->block[i], fill, size_of(i));
	}
	return blocks;
}

static void drop(struct blocks *blocks)
{
	for (int i = 0; i < BLOCKS; i++) {
		for (size_t at = 0; at < size_of(i); at++)
			CHECK(blocks->block[i][at] == blocks->fill);
		cmt_free(blocks->block[i]);
	}
	cmt_free(blocks);
}

static void end(void *blocks)
{
	struct blocks *more = make((unsigned char)(((struct blocks *)blocks)->fill + 1));

	drop(blocks);
	drop(more);
}

static void *run(void *number)
{
	unsigned char fill = (unsigned char)(4 * (intptr_t)number);

	pthread_setspecific(early, make(fill));
	pthread_setspecific(late, make(fill + 2));
	return NULL;
}

int main(void)
{
	struct cmt_stats stats;
	pthread_t thread[THREADS];

	CHECK(pthread_key_create(&early, end) == 0);
	CHECK(open_pool("size=128MiB") == 0);
	CHECK(pthread_key_create(&late, end) == 0);
	/* Each round's threads begin while those of the round before end. */
	for (intptr_t i = 0; i < THREADS * ROUNDS; i++) {
		if (i >= THREADS)
			CHECK(pthread_join(thread[i % THREADS], NULL) == 0);
		CHECK(pthread_create(&thread[i % THREADS], NULL, run, (void *)i) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(thread[i], NULL) == 0);
	cmt_trim();
	cmt_stats(&stats);
	CHECK(stats.superblocks == 0 && stats.misuses == 0 && stats.failures == 0);
	return 0;
}
