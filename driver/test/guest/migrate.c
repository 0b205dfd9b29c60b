// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that moves to the card and back. Names that the kernel's own test of HMM (tools/testing/selftests/mm/hmm-tests.c)
 * has too are of its cases; here an accelerator makes the accesses.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "bind.h"
#include "counting.h"
#include "files.h"
#include "moves.h"
#include "values.h"

/* Pages that come home with one that is touched. */
#define GROUP 16
/* Pages of a walk. */
#define WALKED 1024ul

#define TO_DEVICE 0
#define TO_HOST GODWIT_MIGRATE_TO_HOST

static void migrate(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 1);

	MOVES(values, BYTES, TO_DEVICE, PAGES);
	SEES(values, sum);
	CHECK(sum_of(values) == sum, "the process sees another content");
	MOVES(values, BYTES, TO_HOST, 0);
	SEES(values, sum);
	munmap(values, BYTES);
}

static void migrate_fault(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 2);

	MOVES(values, BYTES, TO_DEVICE, PAGES);
	SEES(values, sum);
	CHECK(sum_of(values) == sum, "another content");
	MOVES(values, BYTES, TO_DEVICE, PAGES);
	SEES(values, sum);
	/* One touch brings its group. */
	values[0] += 5;
	MOVES(values, BYTES, TO_HOST, PAGES - (GROUP - (uintptr_t)values / PAGE % GROUP));
	SEES(values, sum + 5);
	munmap(values, BYTES);
}

/* Touches it takes to have all pages home, in their order; -1 when something else is wrong. */
static long long touches(uint64_t *values, uint64_t sum, const char *group)
{
	long long before;

	if (!tell(PARAMETERS "home_pages", group) || !tell(PARAMETERS "home_most", group) || moved(values, BYTES, TO_DEVICE) != PAGES)
		return -1;
	before = after(DEBUG "counters", "\ntouches ");
	if (sum_of(values) != sum)
		return -1;
	return after(DEBUG "counters", "\ntouches ") - before;
}

static void one_touch_brings_as_many_pages_home_as_is_said(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 10);
	long long alone = touches(values, sum, "1"), groups = touches(values, sum, "16");

	/* Linux may have a touch tried again. */
	CHECK(alone >= (long long)PAGES, "%lld touches", alone);
	CHECK(groups >= PAGES / GROUP && groups <= PAGES / 4, "%lld touches", groups);
	munmap(values, BYTES);
}

/* A walk through 4 MiB: 16, 16, 32 ... pages to the end of 2 MiB, and then all of 2 MiB. At random no touch brings more than a group. */
static void a_walk_brings_more_and_more_pages_home(const char *name)
{
	uint64_t bytes = WALKED * PAGE, i;
	volatile uint64_t *values = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long long before;

	CHECK(tell(PARAMETERS "home_most", "512"), "%s", strerror(errno));
	for (i = 0; i < WALKED; i++)
		values[i * PAGE / 8] = i;
	MOVES((void *)values, bytes, TO_DEVICE, WALKED);
	before = after(DEBUG "counters", "\ntouches ");
	for (i = 0; i < WALKED; i++)
		CHECK(values[i * PAGE / 8] == i, "page %d has another content", (int)i);
	/* Linux may have a touch tried again. */
	CHECK(after(DEBUG "counters", "\ntouches ") - before <= 16, "%lld touches", after(DEBUG "counters", "\ntouches ") - before);
	MOVES((void *)values, bytes, TO_DEVICE, WALKED);
	before = after(DEBUG "counters", "\npages_home ");
	for (i = 1; i < WALKED / 64; i++)
		values[(WALKED - 64 * i) * PAGE / 8]++;
	CHECK(after(DEBUG "counters", "\npages_home ") - before <= (long long)(GROUP * (WALKED / 64 - 1)), "%lld pages",
	      after(DEBUG "counters", "\npages_home ") - before);
	munmap((void *)values, bytes);
}

/* What is beside a touched page and is not the card's stays as it is: a hole, pages of the host, another protection. */
static void what_is_around_a_touched_page_may_be_anything(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	char *page = (char *)(((uintptr_t)values + GROUP * PAGE - 1) / (GROUP * PAGE) * (GROUP * PAGE));
	int i;

	for (i = 0; i < GROUP; i++)
		page[i * PAGE] = i + 1;
	munmap(page + PAGE, PAGE);
	mprotect(page + 6 * PAGE, PAGE, PROT_READ);
	MOVES(page + 4 * PAGE, 4 * PAGE, TO_DEVICE, 4);
	page[5 * PAGE]++;
	/* An area ends at each change of protection: of the four only those of its own came. */
	CHECK(page[5 * PAGE] == 7 && page[4 * PAGE] == 5 && page[2 * PAGE] == 3, "another content");
	MOVES(page + 4 * PAGE, 4 * PAGE, TO_HOST, 2);
	CHECK(page[6 * PAGE] == 7 && page[7 * PAGE] == 8, "another content");
	munmap(values, BYTES);
}

static void migrate_release(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 3);

	MOVES(values, BYTES, TO_DEVICE, PAGES);
	SEES(values, sum);
	MOVES(values, BYTES, TO_HOST, PAGES);
	CHECK(sum_of(values) == sum, "another content");
	MOVES(values, BYTES, TO_DEVICE, PAGES);
	munmap(values, BYTES);
	SEES(values, 1);
}

static void migrate_shared(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_SHARED), sum = fill(values, 4);

	MOVES(values, BYTES, TO_DEVICE, 0);
	SEES(values, sum);
	munmap(values, BYTES);
}

/* A hole, pages that were never touched, read-only and writable ones in one range. */
static void migrate_mixed(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	char *page = (char *)values;

	munmap(page + PAGE, PAGE);
	page[3 * PAGE] = 3;
	mprotect(page + 3 * PAGE, PAGE, PROT_READ);
	page[4 * PAGE] = 4;
	MOVES(values, 5 * PAGE, TO_DEVICE, 4);
	CHECK(!page[0] && !page[2 * PAGE] && page[3 * PAGE] == 3 && page[4 * PAGE] == 4, "another content");
	MOVES(page + 3 * PAGE, PAGE, TO_DEVICE, 1);
	CHECK(!copies(page + 3 * PAGE, page + 4 * PAGE), "the card writes a page that is read-only");
	CHECK(page[3 * PAGE] == 3, "another content");
	munmap(values, BYTES);
}

static void migrate_multiple(const char *name)
{
	int i;

	for (i = 0; i < 8; i++) {
		uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 5 + i);

		MOVES(values, BYTES, TO_DEVICE, PAGES);
		SEES(values, sum);
		CHECK(sum_of(values) == sum, "another content");
		munmap(values, BYTES);
	}
}

static void the_card_writes_its_own_memory(const char *name)
{
	uint64_t *from = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *to = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);

	fill(from, 6);
	MOVES(from, BYTES, TO_DEVICE, PAGES);
	MOVES(to, BYTES, TO_DEVICE, PAGES);
	CHECK(copies(to, from), "no copy");
	MOVES(to, BYTES, TO_HOST, PAGES);
	CHECK(!memcmp(to, from, BYTES), "another content");
	munmap(from, BYTES);
	munmap(to, BYTES);
}

/* After a fork parent and child share pages in device memory; who writes gets one of its own. */
static void cow_in_device(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 7);
	int status;
	pid_t child;

	MOVES(values, BYTES, TO_DEVICE, PAGES);
	child = fork();
	if (!child) {
		values[0]++;
		_exit(sum_of(values) != sum + 1);
	}
	waitpid(child, &status, 0);
	CHECK(!status, "the child sees another content");
	SEES(values, sum);
	CHECK(sum_of(values) == sum, "another content");
	munmap(values, BYTES);
}

static void anon_teardown(const char *name)
{
	int status, i;

	for (i = 0; i < 4; i++) {
		pid_t child = fork();

		if (!child) {
			uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 8);

			card = card_open();
			if (moved(values, BYTES, TO_DEVICE) != PAGES || seen(values) != sum)
				_exit(1);
			if (i % 2)
				close(card);
			_exit(0);
		}
		waitpid(child, &status, 0);
		CHECK(!status, "child %d: %x", i, status);
	}
}

static void no_write_is_lost_while_pages_move(const char *name)
{
	long i, there = 0;
	int wrong;

	CHECK(counting_begins(), "pthread_create");
	for (i = 0; i < 50; i++) {
		long now = moved(counted, BYTES, TO_DEVICE);

		there += now;
		if (now < 0)
			break;
	}
	wrong = counting_ends();
	CHECK(i == 50 && there > 0, "%ld pages moved: %s", there, strerror(errno));
	CHECK(wrong == PAGES, "page %d counts %llu of %llu", wrong, (unsigned long long)counted[wrong * PAGE / 8],
	      (unsigned long long)counts);
	munmap(counted, BYTES);
}

static void nonsense_is_refused(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE);

	REFUSED(moved(values, 0, TO_DEVICE), EINVAL);
	REFUSED(moved(values, BYTES, 8), EINVAL);
	REFUSED(moved(values, ~0ull, TO_DEVICE), EINVAL);
	REFUSED(moved((void *)~0xffful, PAGE, TO_DEVICE), EINVAL);
	REFUSED(ioctl(card, GODWIT_IOC_MIGRATE, NULL), EFAULT);
	munmap(values, BYTES);
	MOVES(values, BYTES, TO_DEVICE, 0);
}

/* The driver lets go of the card: what is in its memory comes back first. */
static void memory_comes_home_when_the_card_goes(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 9);

	MOVES(values, BYTES, TO_DEVICE, PAGES);
	CHECK(card_find(), "no card at " CARD_DRIVER);
	CHECK(card_tell(CARD_DRIVER "/unbind"), "unbind: %s", strerror(errno));
	CHECK(sum_of(values) == sum, "another content");
	CHECK(moved(values, BYTES, TO_DEVICE) == -1 && errno == ENODEV, "the card is still there");
	close(card);
	CHECK(card_tell(CARD_DRIVER "/bind"), "bind: %s", strerror(errno));
	card = card_open();
	MOVES(values, BYTES, TO_DEVICE, PAGES);
	SEES(values, sum);
	munmap(values, BYTES);
}

int main(void)
{
	struct godwit_info info = { 0 };

	card = card_open();
	ioctl(card, GODWIT_IOC_INFO, &info);
	if (!(info.flags & GODWIT_INFO_MIGRATE)) {
		printf("skip: this kernel has no device-private memory\n");
		return 0;
	}
	TEST(migrate);
	TEST(migrate_fault);
	TEST(one_touch_brings_as_many_pages_home_as_is_said);
	TEST(a_walk_brings_more_and_more_pages_home);
	TEST(what_is_around_a_touched_page_may_be_anything);
	TEST(migrate_release);
	TEST(migrate_shared);
	TEST(migrate_mixed);
	TEST(migrate_multiple);
	TEST(the_card_writes_its_own_memory);
	TEST(cow_in_device);
	TEST(anon_teardown);
	TEST(no_write_is_lost_while_pages_move);
	TEST(nonsense_is_refused);
	TEST(memory_comes_home_when_the_card_goes);
	return failures != 0;
}
