/* SPDX-License-Identifier: Apache-2.0 */
/* check=some: what is seen of wrong pointers without bits of blocks in use, and that the rest is as with them. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static unsigned int reports;

static void report(const void *pointer, const char *why)
{
	(void)pointer;
	CHECK(why[0]);
	__atomic_fetch_add(&reports, 1, __ATOMIC_RELAXED);
}

static void refused(void *pointer)
{
	unsigned int before = reports;

	errno = 0;
	cmt_free(pointer);
	CHECK(reports == before + 1 && errno == EINVAL);
	CHECK(cmt_check() == 0);
}

static void *free_twice(void *block)
{
	cmt_free(block);
	refused(block);
	return NULL;
}

/* Of a page that has other blocks in use: as most have when a block is freed twice. */
static void twice(size_t size, bool here)
{
	char *block = cmt_malloc(size), *neighbour = cmt_malloc(size);
	pthread_t thread;

	CHECK(block && neighbour);
	memset(neighbour, 'n', size);
	refused(block + 1);
	if (here)
		free_twice(block);
	else
		CHECK(pthread_create(&thread, NULL, free_twice, block) == 0 && pthread_join(thread, NULL) == 0);
	for (size_t at = 0; at < size; at++)
		CHECK(neighbour[at] == 'n');
	cmt_free(neighbour);
}

#define MANY 300

static void *free_many(void *blocks)
{
	for (int i = 0; i < MANY; i++)
		cmt_free(((void **)blocks)[i]);
	return NULL;
}

static void *free_many_twice(void *blocks)
{
	for (int i = 0; i < MANY; i++)
		free_twice(((void **)blocks)[i]);
	return NULL;
}

/* Of another thread's pages, of which most blocks wait until there are more. What is full is nobody's page, and a second free not seen there. */
static void many(size_t size, void *(*free_them)(void *blocks))
{
	void *blocks[MANY];
	pthread_t thread;

	for (int i = 0; i < MANY; i++)
		CHECK(blocks[i] = cmt_malloc(size));
	CHECK(pthread_create(&thread, NULL, free_them, blocks) == 0 && pthread_join(thread, NULL) == 0);
	for (int i = 0; i < MANY; i++)
		CHECK((blocks[i] = cmt_malloc(size)) && memset(blocks[i], i, size));
	for (int i = 0; i < MANY; i++)
		for (size_t at = 0; at < size; at++)
			CHECK(((unsigned char *)blocks[i])[at] == (unsigned char)i);
	for (int i = 0; i < MANY; i++)
		cmt_free(blocks[i]);
}

/* Blocks of all kinds change size and place, and keep what is in them. */
static void resized(void)
{
	unsigned char *block = cmt_calloc(1, 8), *aligned;
	size_t last = 0;

	for (size_t size = 8; size < 20 << 20; last = size, size = size * 5 / 3) {
		block = cmt_realloc(block, size);
		CHECK(block && cmt_usable_size(block) >= size);
		for (size_t at = 0; at < last; at++)
			CHECK(block[at] == (unsigned char)(at * 7));
		for (size_t at = last; at < size; at++)
			block[at] = (unsigned char)(at * 7);
	}
	for (size_t size = last / 3; size; size /= 3) {
		block = cmt_realloc(block, size);
		for (size_t at = 0; at < size; at++)
			CHECK(block[at] == (unsigned char)(at * 7));
	}
	CHECK(!cmt_realloc(block, 0));
	for (size_t align = 16; align <= 1 << 20; align *= 2) {
		for (size_t size = 1; size < 200000; size = size * 3 + 1) {
			aligned = cmt_aligned_alloc(align, size);
			CHECK(aligned && (uintptr_t)aligned % align == 0 && cmt_usable_size(aligned) >= size);
			memset(aligned, 1, size);
			aligned = cmt_realloc(aligned, size + 40);
			CHECK(aligned && aligned[size - 1] == 1);
			cmt_free(aligned);
		}
	}
}

/* A block that is freed and taken again is not zero, whoever freed it; calloc's is. */
static void zeroed(void)
{
	for (size_t size = 16; size < 60000; size = size * 3 / 2) {
		for (int turn = 0; turn < 20; turn++) {
			unsigned char *dirty = cmt_malloc(size), *clean;

			memset(dirty, 0xff, size);
			cmt_free(dirty);
			clean = cmt_calloc(1, size);
			for (size_t at = 0; at < size; at++)
				CHECK(!clean[at]);
			memset(clean, 0xff, size);
			cmt_free(clean);
		}
	}
}

int main(void)
{
	struct cmt_stats before, after;
	char outside[64];

	CHECK(cmt_init("size=128MiB check=some") == 0);
	cmt_on_misuse(report);
	cmt_stats(&before);
	for (size_t size = 24; size < 60000; size *= 3) {
		twice(size, true);
		twice(size, false);
	}
	for (size_t size = 70000; size < 20 << 20; size *= 5)
		twice(size, true);
	many(24, free_many_twice);
	many(72, free_many_twice);
	for (size_t size = 24; size < 9000; size *= 3)
		many(size, free_many);
	refused(outside);
	refused((void *)(uintptr_t)4096);
	cmt_free(NULL);
	resized();
	zeroed();
	CHECK(!cmt_realloc(outside, 10) && !cmt_usable_size(outside) && !cmt_expand(outside, 1));
	cmt_trim();
	cmt_stats(&after);
	CHECK(after.largest_free == before.largest_free && after.misuses >= reports);
	return 0;
}
