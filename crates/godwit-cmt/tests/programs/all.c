/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `all CONFIG SIZE PERCENT`: blocks of one size get so much of the pool at least, and it is one piece again afterwards.
 * `all border`: a pool of more than 8 GiB has small blocks on both sides of that. `all sparse`: zeroed memory that was
 * never used is not written. `all written`, `all written-large`: of blocks of 60 KB or 3 MiB, what is not written is not there. `all grow`: what is realloc'ed from 64 KiB on never moves.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int fill(const char *config, size_t size, unsigned long per_cent)
{
	struct cmt_stats before, after;
	void **list = NULL;
	uint64_t count = 0;

	CHECK(open_pool(config) == 0);
	cmt_stats(&before);
	for (;; count++) {
		void **block = cmt_malloc(size < sizeof(*block) ? sizeof(*block) : size);

		if (!block)
			break;
		*block = list;
		list = block;
	}
	CHECK(count * size >= before.total / 100 * per_cent);
	while (list) {
		void **next = *list;

		cmt_free(list);
		list = next;
	}
	cmt_trim();
	cmt_stats(&after);
	CHECK(after.free == before.free && after.largest_free == before.largest_free && after.misuses == 0);
	return cmt_check();
}

static int border(void)
{
	const uint64_t region = (uint64_t)8 << 30;
	char *block[64];
	void *below;
	int above = 0;

	CHECK(open_pool("size=20GiB") == 0);
	CHECK((below = cmt_alloc_contiguous(region - (5 << 20), NULL)));
	/* 31 MiB, 5 of them below the border: pieces end at the border, or begin behind it. */
	for (int i = 0; i < 64; i++) {
		for (int j = 0; j < 7000; j++)
			CHECK((block[i] = cmt_malloc(30)));
		block[i][0] = (char)i;
		above += cmt_physical(block[i]) - cmt_physical(below) >= region;
		for (int j = 0; j < 8; j++)
			CHECK(cmt_malloc(30000));
	}
	CHECK(above > 10 && above < 60);
	for (int i = 0; i < 64; i++)
		CHECK(block[i][0] == i);
	cmt_free(below);
	return cmt_check();
}

static size_t pages_present(void *start, size_t bytes)
{
	static unsigned char present[(512 << 20) / 4096];
	size_t count = 0;

	CHECK(mincore(start, bytes, present) == 0);
	for (size_t i = 0; i < bytes / (size_t)sysconf(_SC_PAGESIZE); i++)
		count += present[i] & 1;
	return count;
}

static int sparse(void)
{
	const size_t bytes = 48 << 20;
	char *block;

	CHECK(open_pool("size=256MiB") == 0);
	CHECK((block = cmt_calloc(1, bytes)));
	CHECK(pages_present(block, bytes) <= 1);
	memset(block, 1, bytes);
	cmt_free(block);
	CHECK((block = cmt_calloc(3, bytes / 2)));
	for (size_t i = 0; i < bytes / 2 * 3; i++)
		CHECK(!block[i]);
	return 0;
}

static int written(size_t size)
{
	const size_t count = (360 << 20) / size;
	char *first = NULL, *last = NULL;
	size_t present;

	CHECK(open_pool("size=512MiB") == 0);
	for (size_t i = 0; i < count; i++) {
		char *block = cmt_malloc(size);

		CHECK(block);
		*block = 1;
		first = !first || block < first ? block : first;
		last = block > last ? block : last;
	}
	first -= (uintptr_t)first % 4096;
	present = pages_present(first, (size_t)(last - first));
	CHECK(present + 1 >= count && present < count * size / 4096 / 3);
	return 0;
}

static int grow(void)
{
	CHECK(open_pool("size=256MiB") == 0);
	for (size_t start = 64 << 10; start < 5 << 20; start += 4 << 10) {
		char *block = cmt_malloc(start);

		CHECK(block && cmt_usable_size(block) >= start && cmt_usable_size(block) <= start + start / 8);
		block[0] = block[start - 1] = 7;
		for (size_t size = start; size < 200 << 20; size += size / 2) {
			CHECK(cmt_realloc(block, size) == block);
			CHECK(cmt_usable_size(block) >= size);
		}
		CHECK(block[0] == 7 && block[start - 1] == 7);
		cmt_free(block);
	}
	return cmt_check();
}

int main(int argc, char **argv)
{
	if (argc == 4)
		return fill(argv[1], strtoul(argv[2], NULL, 0), strtoul(argv[3], NULL, 0));
	CHECK(argc == 2);
	if (!strcmp(argv[1], "border"))
		return border();
	if (!strcmp(argv[1], "written"))
		return written(60000);
	if (!strcmp(argv[1], "written-large"))
		return written(3 << 20);
	return !strcmp(argv[1], "grow") ? grow() : sparse();
}
