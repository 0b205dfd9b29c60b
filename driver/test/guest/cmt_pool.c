// SPDX-License-Identifier: GPL-2.0-only
/* A pool of the cmt library on the driver's memory: blocks are where the driver says, and the pool's end is the process's. */
#include <stdlib.h>
#include <sys/wait.h>

#include "cmt.h"

#include "blocks.h"
#include "values.h"

static struct godwit_cmt_info whole;

static struct godwit_cmt_info now(void)
{
	int fd = device_open();
	struct godwit_cmt_info info = device_info(fd);

	close(fd);
	return info;
}

static void a_pool_that_is_too_large_says_what_there_is(const char *name)
{
	CHECK(cmt_init("backing=device size=1GiB") == -1 && errno == ENOMEM, "it was opened");
	CHECK(strstr(cmt_reason(), "/dev/godwit-cmt") && strstr(cmt_reason(), "1073741824 bytes asked for"), "%s", cmt_reason());
	CHECK(now().free_bytes == whole.total_bytes, "it has kept some");
}

static void blocks_are_of_the_drivers_memory(const char *name)
{
	struct cmt_constraints limits = { .align = 1 << 16, .node = CMT_ANY_NODE };
	struct cmt_extent extent;
	struct cmt_stats stats;
	uint64_t *block, sum;
	char *small;
	pid_t child;
	int status;

	CHECK(!cmt_init("backing=device size=6MiB"), "%s", cmt_reason());
	CHECK(now().free_bytes == whole.total_bytes - (6 << 20), "%lld are free", (long long)now().free_bytes);
	cmt_stats(&stats);
	CHECK(stats.total == 6 << 20, "%lld bytes", (long long)stats.total);
	block = cmt_alloc_contiguous(BYTES, &limits);
	CHECK(block && cmt_extents(block, &extent, 1) == 1, "%s", cmt_reason());
	CHECK(extent.pa % limits.align == 0 && extent.bytes == BYTES, "at %llx", (unsigned long long)extent.pa);
	small = cmt_calloc(1, 1000);
	CHECK(small && cmt_physical(small), "%s", cmt_reason());
	/* The card has it at the same pointers, if Linux has pages of it. */
	card = card_open();
	sum = fill(block, 5);
	CHECK(seen(block) == (whole.flags & GODWIT_CMT_PAGES ? sum : 1), "the card sees something else");
	close(card);
	child = fork();
	if (!child)
		_exit(cmt_malloc(100) || errno != EPERM || block[1] != block[0] + 0x9e3779b97f4a7c15ull);
	waitpid(child, &status, 0);
	CHECK(!status, "a child sees something else, or allocates");
	cmt_free(block);
	cmt_free(small);
	CHECK(!cmt_check(), "the pool's bookkeeping");
}

static void a_pool_ends_with_its_process(const char *name)
{
	pid_t child = fork();
	int status;

	if (!child) {
		TEST(blocks_are_of_the_drivers_memory);
		_exit(failures != 0);
	}
	waitpid(child, &status, 0);
	CHECK(!status, "the process failed");
	CHECK(now().free_bytes == whole.total_bytes, "it has left some");
}

int main(void)
{
	whole = now();
	TEST(a_pool_that_is_too_large_says_what_there_is);
	TEST(a_pool_ends_with_its_process);
	return failures != 0;
}
