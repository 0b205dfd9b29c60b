// SPDX-License-Identifier: GPL-2.0-only
/*
 * The card's function is reset, by Linux's own file for that: launches end with ENODEV, what programs have in memory is whole, what they had
 * of the card's heap is gone and says so, and the card is as new.
 */
#include <pthread.h>

#include "allocations.h"
#include "bind.h"
#include "bus.h"
#include "files.h"
#include "moves.h"

#define HEAP_BYTES "/sys/class/misc/godwit0/heap_bytes"

/* The hardware is reset when this returns. */
static bool is_reset(void)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", card_slot);
	return tell(path, "1");
}

struct launches {
	pthread_t thread;
	uint64_t *from;
	uint64_t *to;
	int ended_with;
};

/* Launches until one fails: a sum, or a copy if there is a place for it. */
static void *launch(void *all)
{
	struct launches *what = all;
	struct card_sum sum;
	struct godwit_run run;
	uint32_t done;

	while (what->to ? !card_memcopy(card, what->to, what->from, BYTES, &run, &done) :
			  !card_array_sum(card, what->from, COUNT, 0, &sum))
		;
	what->ended_with = errno;
	return NULL;
}

/* Whether the card has a heap, as far as programs are concerned. */
static bool has_heap(void)
{
	struct godwit_info info;

	return !ioctl(card, GODWIT_IOC_INFO, &info) && info.flags & GODWIT_INFO_HEAP;
}

/* Memory is used here, is on the card, is pinned, and is the heap's; kernels read and write all of it. */
static void a_card_is_reset_while_it_is_used(const char *name)
{
	uint64_t *busy = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *away = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE),
		 *pinned = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *copied = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE),
		 *heap, wanted[3];
	struct godwit_allocation more = { .op = GODWIT_ALLOCATION_MALLOC, .size = PAGE };
	struct launches summing = { .from = busy }, copying = { .from = pinned };
	struct godwit_info info;
	int old, round;

	for (round = 0; round < 3; round++) {
		card = card_open();
		CHECK(card >= 0, "open: %s", strerror(errno));
		wanted[0] = fill(busy, 1 + round);
		wanted[1] = fill(away, 11 + round);
		wanted[2] = fill(pinned, 21 + round);
		if (migrates())
			MOVES(away, BYTES, 0, PAGES);
		CHECK(!card_pin(card, pinned, BYTES, GODWIT_PIN_WRITE), "pin: %s", strerror(errno));
		heap = has_heap() ? give(card, BYTES, 0, 0) : NULL;
		CHECK(heap || !has_heap(), "status %u: %s", status, strerror(errno));
		if (heap) {
			CHECK(!heap[0] && !heap[COUNT - 1], "what was there before the reset is there");
			fill(heap, 31 + round);
		}
		copying.to = heap ? heap : copied;
		CHECK(!pthread_create(&summing.thread, NULL, launch, &summing), "pthread_create");
		CHECK(!pthread_create(&copying.thread, NULL, launch, &copying), "pthread_create");
		usleep(20000 + 7000 * round);
		CHECK(is_reset(), "reset: %s", strerror(errno));
		pthread_join(summing.thread, NULL);
		pthread_join(copying.thread, NULL);
		CHECK(summing.ended_with == ENODEV && copying.ended_with == ENODEV, "launches ended with %s and %s",
		      strerror(summing.ended_with), strerror(copying.ended_with));
		REFUSED(ioctl(card, GODWIT_IOC_INFO, &info), ENODEV);
		REFUSED(card_unpin(card, pinned, BYTES), ENODEV);
		CHECK(sum_of(busy) == wanted[0] && sum_of(away) == wanted[1] && sum_of(pinned) == wanted[2], "another content");
		if (heap) {
			CHECK(is_nothing(heap) && is_nothing(heap + COUNT - 1), "memory of the heap outlives its card");
			REFUSED(ioctl(card, GODWIT_IOC_HEAP, &more), ENODEV);
			munmap(heap, BYTES);
		}
		/* The old file stays open, which is in nobody's way. */
		old = card;
		card = card_open();
		CHECK(card >= 0, "open afterwards: %s", strerror(errno));
		SEES(away, wanted[1]);
		SEES(busy, wanted[0]);
		CHECK(copies(copied, pinned) && sum_of(copied) == wanted[2], "the card does not copy");
		if (has_heap())
			CHECK(free_in_the_end(card, 0) + 20 * PAGE >= state_of(card, 0).bytes, "the heap lacks %llu bytes",
			      (unsigned long long)(state_of(card, 0).bytes - free_in_the_end(card, 0)));
		close(card);
		close(old);
	}
	munmap(busy, BYTES);
	munmap(away, BYTES);
	munmap(pinned, BYTES);
	munmap(copied, BYTES);
}

/* Takes the bus from the card, whose driver knows nothing of it. */
static bool is_taken_off_the_bus(void)
{
	char path[96];
	uint16_t command;
	int config;
	bool done;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config", card_slot);
	config = open(path, O_RDWR);
	done = config >= 0 && pread(config, &command, 2, 4) == 2;
	command &= ~4;
	done = done && pwrite(config, &command, 2, 4) == 2;
	close(config);
	return done;
}

/* It neither gets at the host's memory nor tells of pages that it needs: whoever waits for it, waits in vain. */
static void a_card_that_stands_works_after_its_reset(const char *name)
{
	uint64_t *busy = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *away = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), wanted[2];
	struct launches summing = { .from = busy };
	int old;

	CHECK(tell(PARAMETERS "fence_ms", "500"), "%s", strerror(errno));
	card = card_open();
	CHECK(card >= 0, "open: %s", strerror(errno));
	wanted[0] = fill(busy, 1);
	wanted[1] = fill(away, 11);
	if (migrates())
		MOVES(away, BYTES, 0, PAGES);
	CHECK(!pthread_create(&summing.thread, NULL, launch, &summing), "pthread_create");
	usleep(20000);
	CHECK(is_taken_off_the_bus(), "%s", strerror(errno));
	usleep(100000);
	CHECK(is_reset(), "reset: %s", strerror(errno));
	pthread_join(summing.thread, NULL);
	CHECK(summing.ended_with == ENODEV, "a launch ended with %s", strerror(summing.ended_with));
	CHECK(sum_of(busy) == wanted[0] && sum_of(away) == wanted[1], "another content");
	old = card;
	card = card_open();
	CHECK(card >= 0, "open afterwards: %s", strerror(errno));
	SEES(away, wanted[1]);
	SEES(busy, wanted[0]);
	close(card);
	close(old);
	CHECK(tell(PARAMETERS "fence_ms", "60000"), "%s", strerror(errno));
	munmap(busy, BYTES);
	munmap(away, BYTES);
}

/* With the driver or without it, which takes the card before or after. */
static void an_idle_card_is_reset(const char *name)
{
	uint64_t *values = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), sum = fill(values, 1);
	int round;

	for (round = 0; round < 3; round++) {
		CHECK(is_reset() && is_reset(), "reset: %s", strerror(errno));
		CHECK(card_tell(CARD_DRIVER "/unbind"), "unbind: %s", strerror(errno));
		if (round)
			CHECK(is_reset(), "reset without a driver: %s", strerror(errno));
		CHECK(card_tell(CARD_DRIVER "/bind"), "bind: %s", strerror(errno));
		card = card_open();
		CHECK(card >= 0, "open: %s", strerror(errno));
		SEES(values, sum);
		close(card);
	}
	munmap(values, BYTES);
}

static bool has_heap_of(long long mib)
{
	return after(HEAP_BYTES, "") == mib << 20;
}

/* Hardware begins its heap once, until its reset. */
static void a_heap_is_begun_anew_after_a_reset_and_no_sooner(const char *name)
{
	card = card_open();
	CHECK(card >= 0, "open: %s", strerror(errno));
	if (!has_heap()) {
		close(card);
		return;
	}
	close(card);
	CHECK(has_heap_of(4), "%s", contents(HEAP_BYTES));
	CHECK(tell(PARAMETERS "heap_mib", "2"), "%s", strerror(errno));
	CHECK(card_tell(CARD_DRIVER "/unbind") && card_tell(CARD_DRIVER "/bind"), "%s", strerror(errno));
	CHECK(has_heap_of(4), "%s", contents(HEAP_BYTES));
	CHECK(is_reset() && has_heap_of(2), "%s", contents(HEAP_BYTES));
	CHECK(tell(PARAMETERS "heap_mib", "0") && is_reset() && has_heap_of(0), "%s", contents(HEAP_BYTES));
	/* Nothing was begun, so this needs no reset. */
	CHECK(tell(PARAMETERS "heap_mib", "4"), "%s", strerror(errno));
	CHECK(card_tell(CARD_DRIVER "/unbind") && card_tell(CARD_DRIVER "/bind"), "%s", strerror(errno));
	CHECK(has_heap_of(4), "%s", contents(HEAP_BYTES));
}

int main(void)
{
	card_find();
	TEST(a_card_is_reset_while_it_is_used);
	TEST(a_card_that_stands_works_after_its_reset);
	TEST(an_idle_card_is_reset);
	TEST(a_heap_is_begun_anew_after_a_reset_and_no_sooner);
	return failures != 0;
}
