// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages that come when the RTL touches them, and go when the process's memory changes. Names that the kernel's own test of
 * HMM (tools/testing/selftests/mm/hmm-tests.c) has too are of its cases; here an accelerator makes the accesses.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "values.h"

static void anon_read(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum;

	SEES(values, 0);
	sum = fill(values, 1);
	SEES(values, sum);
	values[COUNT / 2] += 7;
	SEES(values, sum + 7);
	munmap(values, BYTES);
	SEES(values, 1);
}

static void anon_read_prot(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 2);

	SEES(values, sum);
	mprotect(values, BYTES, PROT_NONE);
	SEES(values, 1);
	mprotect(values, BYTES, PROT_READ);
	SEES(values, sum);
	munmap(values, BYTES);
}

static void anon_write(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);

	fill(from, 3);
	CHECK(copies(to, from), "no copy");
	CHECK(!memcmp(to, from, BYTES), "another content");
	/* What the card wrote is the process's: a store goes on from there. */
	to[5] = ~to[5];
	CHECK(copies(from, to) && !memcmp(to, from, BYTES), "another content, back");
	munmap(from, BYTES);
	munmap(to, BYTES);
}

static void anon_write_prot(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to = fresh(PROT_READ, MAP_PRIVATE);

	fill(from, 4);
	CHECK(!copies(to, from), "a copy into memory that is read-only");
	CHECK(!to[0] && !to[COUNT - 1], "something was written");
	mprotect(to, BYTES, PROT_READ | PROT_WRITE);
	CHECK(copies(to, from) && !memcmp(to, from, BYTES), "no copy");
	/* The card could write it: that ends with the call, not some time after. */
	mprotect(to, BYTES, PROT_READ);
	CHECK(!copies(to, from), "a copy after mprotect");
	munmap(from, BYTES);
	munmap(to, BYTES);
}

/* After a fork parent and child have the same page until one of them, or the card, writes. */
static void anon_write_child(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	uint64_t old = fill(to, 5);
	int status, ready[2], i;
	pid_t child;

	fill(from, 6);
	SEES(to, old);
	CHECK(!pipe(ready), "pipe");
	child = fork();
	if (!child) {
		uint64_t sum = 0;
		char byte;

		status = read(ready[0], &byte, 1);
		for (i = 0; i < (int)COUNT; i++)
			sum += to[i];
		_exit(sum != old);
	}
	CHECK(copies(to, from) && !memcmp(to, from, BYTES), "no copy");
	CHECK(write(ready[1], "x", 1) == 1, "write");
	waitpid(child, &status, 0);
	CHECK(!status, "the child sees what the card wrote for the parent");
	close(ready[0]);
	close(ready[1]);
	munmap(from, BYTES);
	munmap(to, BYTES);
}

static void anon_write_child_shared(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to = fresh(PROT_READ | PROT_WRITE, MAP_SHARED);
	uint64_t sum = fill(from, 7);
	int status;
	pid_t child;

	child = fork();
	if (!child) {
		card = card_open();
		_exit(!copies(to, from));
	}
	waitpid(child, &status, 0);
	CHECK(!status, "child: %x", status);
	CHECK(!memcmp(to, from, BYTES), "another content");
	SEES(to, sum);
	munmap(from, BYTES);
	munmap(to, BYTES);
}

static void file_read(const char *name)
{
	uint64_t *values, sum, *buffer = malloc(BYTES);
	int file = memfd_create("values", 0);

	sum = fill(buffer, 8);
	CHECK(write(file, buffer, BYTES) == (ssize_t)BYTES, "write");
	values = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, file, 0);
	SEES(values, sum);
	/* What the file loses is a fault, and no page of somebody else. */
	CHECK(!ftruncate(file, BYTES / 2), "truncate");
	SEES(values, 1);
	munmap(values, BYTES);
	close(file);
	free(buffer);
}

static void file_write(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to, *buffer = malloc(BYTES);
	int file = memfd_create("values", 0);

	fill(from, 9);
	CHECK(!ftruncate(file, BYTES), "truncate");
	to = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(copies(to, from), "no copy");
	munmap(to, BYTES);
	CHECK(pread(file, buffer, BYTES, 0) == (ssize_t)BYTES && !memcmp(buffer, from, BYTES), "not in the file");
	munmap(from, BYTES);
	close(file);
	free(buffer);
}

static void memory_that_is_given_back_reads_as_zero(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 10);

	SEES(values, sum);
	madvise(values, BYTES, MADV_DONTNEED);
	SEES(values, 0);
	munmap(values, BYTES);
}

static void memory_that_moves_is_found_where_it_is(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 11), *there;

	SEES(values, sum);
	there = fresh(PROT_NONE, MAP_PRIVATE);
	there = mremap(values, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, there);
	CHECK(there != MAP_FAILED, "mremap: %s", strerror(errno));
	SEES(there, sum);
	SEES(values, 1);
	munmap(there, BYTES);
}

static void huge_pages_are_used_and_split(const char *name)
{
	const size_t huge = 2ul << 20;
	char *area = mmap(NULL, 2 * huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *values = (uint64_t *)(((uintptr_t)area + huge - 1) & ~(huge - 1)), sum;

	madvise(values, huge, MADV_HUGEPAGE);
	sum = fill(values, 12);
	SEES(values, sum);
	munmap((char *)values + BYTES, huge - BYTES);
	SEES(values, sum);
	munmap(area, 2 * huge);
}

static void pinned_and_touched_memory_live_together(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 13);

	SEES(values, sum);
	CHECK(!card_pin(card, (char *)values + 8 * PAGE, 8 * PAGE, 0), "pin: %s", strerror(errno));
	SEES(values, sum);
	CHECK(!card_unpin(card, (char *)values + 8 * PAGE, 8 * PAGE), "unpin: %s", strerror(errno));
	SEES(values, sum);
	munmap(values, BYTES);
}

/* While the card sums, another thread takes pages away and gives new ones: every sum is of zeros or of what was there. */
static volatile bool stop;

/* At longer and longer intervals, so that the kernel comes to its end on a machine however slow. */
static void *disturb(void *area)
{
	unsigned int rest_us = 0;

	while (!stop) {
		madvise(area, BYTES, MADV_DONTNEED);
		usleep(rest_us);
		rest_us += rest_us / 256 + 1;
	}
	return NULL;
}

static void pages_may_go_while_a_kernel_runs(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	pthread_t other;
	int i;

	stop = false;
	CHECK(!pthread_create(&other, NULL, disturb, values), "pthread_create");
	for (i = 0; i < 5; i++) {
		uint64_t sum = seen(values);

		if (sum) {
			stop = true;
			pthread_join(other, NULL);
			CHECK(!sum, "the card sees %llx in zeros", (unsigned long long)sum);
		}
	}
	stop = true;
	pthread_join(other, NULL);
	munmap(values, BYTES);
}

static void a_process_that_is_killed_while_a_kernel_runs_leaves_nothing(const char *name)
{
	struct godwit_info before = { 0 }, after = { 0 };
	int status, i;

	ioctl(card, GODWIT_IOC_INFO, &before);
	for (i = 0; i < 5; i++) {
		pid_t child = fork();

		if (!child) {
			card = card_open();
			for (;;)
				seen(fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE));
		}
		usleep(20000 + 7000 * i);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
	ioctl(card, GODWIT_IOC_INFO, &after);
	CHECK(before.free_bytes == after.free_bytes, "%lld bytes of device memory",
	      (long long)(before.free_bytes - after.free_bytes));
	anon_read(name);
}

int main(void)
{
	card = card_open();
	TEST(anon_read);
	TEST(anon_read_prot);
	TEST(anon_write);
	TEST(anon_write_prot);
	TEST(anon_write_child);
	TEST(anon_write_child_shared);
	TEST(file_read);
	TEST(file_write);
	TEST(memory_that_is_given_back_reads_as_zero);
	TEST(memory_that_moves_is_found_where_it_is);
	TEST(huge_pages_are_used_and_split);
	TEST(pinned_and_touched_memory_live_together);
	TEST(pages_may_go_while_a_kernel_runs);
	TEST(a_process_that_is_killed_while_a_kernel_runs_leaves_nothing);
	return failures != 0;
}
