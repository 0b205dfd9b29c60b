// SPDX-License-Identifier: GPL-2.0-only
/*
 * A card that is pulled out while a kernel runs and memory moves: every register reads as ones from when this says so, or a
 * little later, wherever that is.
 *
 *	lost [MICROSECONDS [PAGES [huge]]]	how long kernel and migration have been running when this says so, and how much moves, in huge pages
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "bind.h"
#include "bus.h"
#include "card.h"
#include "check.h"
#include "files.h"
#include "huge.h"

#define COUNT 20000
#define HEAP_PAGES 64

static unsigned int first_us;
static int moving_pages = 64;
static bool moving_huge;
static uint64_t *moving;
static int moved_last;

/* Of pages that moved, one in so many is looked at: each by a process of its own. */
#define LOOK_AT (moving_pages > 64 ? 17 : 1)

static uint64_t moving_value(int page)
{
	return page * 0x9e3779b97f4a7c15ull + 1;
}

/* Has memory go to the card and come back, until that is refused. */
static void *move(void *card)
{
	struct godwit_migrate what = { .addr = (uint64_t)moving, .size = moving_pages * 4096 };
	int i;

	for (i = 0; i < 1000000; i++) {
		what.flags = i % 2 ? GODWIT_MIGRATE_TO_HOST : 0;
		if (ioctl(*(int *)card, GODWIT_IOC_MIGRATE, &what)) {
			moved_last = errno;
			break;
		}
	}
	return NULL;
}

/* Whether a page that moved has what was in it, or is lost and says so. */
static bool kept_or_lost(int page)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(moving[page * 512] != moving_value(page));
	if (child < 0 || waitpid(child, &status, 0) != child)
		return false;
	return WIFSIGNALED(status) ? WTERMSIG(status) == SIGBUS : WEXITSTATUS(status) == 0;
}

/* Memory of the heap in hardware, with one page that was touched; NULL on a card without a heap. */
static char *of_the_heap(int fd)
{
	struct godwit_allocation what = { .op = GODWIT_ALLOCATION_MALLOC, .size = HEAP_PAGES * 4096 };
	char *there;

	if (ioctl(fd, GODWIT_IOC_HEAP, &what) || what.status)
		return NULL;
	there = mmap((void *)what.pointer, what.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, what.pointer);
	there[0] = 5;
	return there;
}

static void a_card_that_is_pulled_out_ends_launches_and_nothing_else(const char *name)
{
	uint64_t *pinned = calloc(COUNT, 8), *touched = calloc(COUNT, 8);
	struct godwit_migrate what = { .size = 8 * 4096 };
	struct card_sum got;
	int fd = card_open(), i, last = 0, status;
	uint64_t *there = mmap(NULL, what.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct godwit_allocation more = { .op = GODWIT_ALLOCATION_MALLOC, .size = 4096 };
	char *heap = of_the_heap(fd);
	bool moved;
	pthread_t mover;
	pid_t child;

	there[0] = 7;
	what.addr = (uint64_t)there;
	moved = !ioctl(fd, GODWIT_IOC_MIGRATE, &what);
	CHECK(moved ? what.pages == 8 : errno == EOPNOTSUPP, "migrate: %s", strerror(errno));

	pinned[3] = touched[4] = 9;
	CHECK(!card_pin(fd, pinned, COUNT * 8, GODWIT_PIN_WRITE), "pin: %s", strerror(errno));
	CHECK(!card_array_sum(fd, pinned, COUNT, 0, &got) && got.sum == 9, "%s", strerror(errno));
	moving = mmap(NULL, moving_pages * 4096 + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (moving_huge) {
		moving = (uint64_t *)(((uintptr_t)moving + HUGE - 1) & ~(HUGE - 1));
		CHECK(huge_pages_when_asked(), "%s", strerror(errno));
		CHECK(!madvise(moving, moving_pages * 4096, MADV_HUGEPAGE), "madvise: %s", strerror(errno));
	}
	for (i = 0; i < moving_pages; i++)
		moving[i * 512] = moving_value(i);
	CHECK(!pthread_create(&mover, NULL, move, &fd), "pthread_create");
	for (i = 0; moving_huge && after(DEBUG "counters", "\nfolios_out ") < 1; i++) {
		CHECK(i < 10000, "no huge page has gone");
		usleep(1000);
	}
	usleep(first_us);
	printf("pull the card out\n");
	fflush(stdout);
	for (i = 0; i < 1000000 && !last; i++)
		last = card_array_sum(fd, i % 2 ? touched : pinned, COUNT, 0, &got) ? errno : 0;
	CHECK(last == ENODEV, "a launch ended with %s", strerror(last));
	REFUSED(card_array_sum(fd, touched, COUNT, 0, &got), ENODEV);
	if (heap) {
		REFUSED(ioctl(fd, GODWIT_IOC_HEAP, &more), ENODEV);
		CHECK(is_nothing(heap + 4096), "the heap gives memory without a card");
	}
	if (moved) {
		/* Who asks the card whether it is there is told; who only moves pages home loses them. */
		CHECK(card_find() && card_tell(CARD_DRIVER "/unbind"), "unbind: %s", strerror(errno));
		pthread_join(mover, NULL);
		CHECK(moved_last == ENODEV, "a migration ended with %s", strerror(moved_last));
		for (i = 0; i < moving_pages; i += LOOK_AT)
			CHECK(kept_or_lost(i), "page %d has other content", i);
	} else {
		pthread_join(mover, NULL);
	}
	/* The memory is the process's, and can be given back. */
	CHECK(pinned[3] == 9 && touched[4] == 9, "other content");
	/* What was in the card's memory is lost, and that is said, whoever asks: not a zero comes instead. */
	child = moved ? fork() : 0;
	if (moved && !child)
		_exit(there[0]);
	if (moved) {
		CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS,
		      "lost memory was read: %x", status);
	}
	munmap(there, what.size);
	if (heap)
		munmap(heap, HEAP_PAGES * 4096);
	card_unpin(fd, pinned, COUNT * 8);
	close(fd);
	free(pinned);
	free(touched);
}

int main(int count, char **words)
{
	if (count > 1)
		first_us = strtoul(words[1], NULL, 0);
	if (count > 2)
		moving_pages = strtoul(words[2], NULL, 0);
	moving_huge = count > 3;
	TEST(a_card_that_is_pulled_out_ends_launches_and_nothing_else);
	return failures != 0;
}
