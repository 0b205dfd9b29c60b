/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers and sizes that are wrong are refused, counted and named, and everything else is as before. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#define BLOCKS 2000

static unsigned int reports;
static const char *reason;

static void report(const void *pointer, const char *why)
{
	(void)pointer;
	CHECK(why[0]);
	reason = why;
	reports++;
}

static void refused(void *pointer)
{
	unsigned int before = reports;

	errno = 0;
	cmt_free(pointer);
	CHECK(reports == before + 1 && errno == EINVAL);
	CHECK(cmt_check() == 0);
}

static void *free_all(void *blocks)
{
	for (int i = 0; i < BLOCKS; i++)
		cmt_free(((void **)blocks)[i]);
	return NULL;
}

static void *refuse_all(void *blocks)
{
	for (int i = 0; i < BLOCKS; i++)
		refused(((void **)blocks)[i]);
	return NULL;
}

static void in_a_thread(void *(*body)(void *), void *blocks)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, body, blocks) == 0 && pthread_join(thread, NULL) == 0);
}

/* More blocks than wait anywhere before they go back to their pages; by their owner or by another thread, once and again. */
static void blocks_freed_twice(size_t size, bool first_here, bool then_here)
{
	static void *blocks[BLOCKS];

	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = cmt_malloc(size);
		CHECK(blocks[i]);
		memset(blocks[i], 0xff, size);
	}
	/* Aligned like a block, but inside one. */
	if (size > 16) {
		refused((char *)blocks[7] + 16);
		CHECK(strstr(reason, "not the start"));
	}
	if (first_here)
		free_all(blocks);
	else
		in_a_thread(free_all, blocks);
	if (then_here)
		refuse_all(blocks);
	else
		in_a_thread(refuse_all, blocks);
}

int main(void)
{
	const size_t sizes[] = { 1, 24, 1000, 60000, 70000, 1 << 20, 9 << 20 };
	struct cmt_stats stats;
	char outside[64], *neighbour;

	CHECK(cmt_init("size=64MiB") == 0);
	cmt_on_misuse(report);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *block = cmt_malloc(sizes[i]);

		CHECK(block);
		memset(block, 'a', sizes[i]);
		neighbour = cmt_malloc(sizes[i]);
		memset(neighbour, 'b', sizes[i]);
		if (sizes[i] > 1)
			refused(block + sizes[i] / 2 + 1);
		cmt_free(block);
		refused(block);
		refused(block);
		CHECK(cmt_usable_size(block) == 0 && !cmt_expand(block, 1) && !cmt_realloc(block, 10));
		for (size_t at = 0; at < sizes[i]; at++)
			CHECK(neighbour[at] == 'b');
		cmt_free(neighbour);
	}
	for (size_t size = 16; size <= 128; size += 56)
		for (int where = 0; where < 4; where++)
			blocks_freed_twice(size, where & 1, where & 2);
	refused(outside);
	refused((void *)(uintptr_t)4096);
	cmt_free(NULL);

	/* Sizes that wrap around or are more than there is. */
	CHECK(!cmt_calloc(SIZE_MAX / 2, 3) && errno == ENOMEM);
	CHECK(!cmt_malloc(SIZE_MAX) && errno == ENOMEM);
	CHECK(!cmt_malloc(SIZE_MAX - 8192) && errno == ENOMEM);
	CHECK(!cmt_malloc((size_t)1 << 30) && errno == ENOMEM && strstr(cmt_reason(), "largest piece"));
	CHECK(!cmt_aligned_alloc(24, 100) && errno == EINVAL);

	cmt_stats(&stats);
	CHECK(stats.misuses >= reports && stats.failures >= 1);
	cmt_trim();
	cmt_stats(&stats);
	CHECK(stats.cached == 0 && stats.total - stats.free < 1 << 20);
	return 0;
}
