// SPDX-License-Identifier: GPL-2.0-only
/*
 * The card's function is reset, by Linux's own file for that: launches end with ENODEV, what programs have in memory is whole, what they had
 * of the card's heap is gone and says so, and the card is as new.
 */
#include "allocations.h"
#include "bind.h"
#include "bus.h"
#include "files.h"
#include "in_use.h"

#define HEAP_BYTES "/sys/class/misc/godwit0/heap_bytes"

/* The hardware is reset when this returns. */
static bool is_reset(void)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", card_slot);
	return tell(path, "1");
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
	struct in_use used = in_use_new();
	uint64_t *copied = fresh(PROT_READ | PROT_WRITE, MAP_PRIVATE), *heap;
	struct godwit_allocation more = { .op = GODWIT_ALLOCATION_MALLOC, .size = PAGE };
	struct launches summing = { .from = used.busy }, copying = { .from = used.pinned };
	int old, round;

	for (round = 0; round < 3; round++) {
		USE(&used, round);
		heap = has_heap() ? give(card, BYTES, 0, 0) : NULL;
		CHECK(heap || !has_heap(), "status %u: %s", status, strerror(errno));
		if (heap) {
			CHECK(!heap[0] && !heap[COUNT - 1], "what was there before the reset is there");
			fill(heap, 31 + round);
		}
		copying.to = heap ? heap : copied;
		CHECK(launches_begin(&summing) && launches_begin(&copying), "pthread_create");
		usleep(20000 + 7000 * round);
		CHECK(is_reset(), "reset: %s", strerror(errno));
		CHECK(launches_end(&summing) == ENODEV && launches_end(&copying) == ENODEV, "launches ended with %s and %s",
		      strerror(summing.ended_with), strerror(copying.ended_with));
		GONE_AND_WHOLE(&used);
		if (heap) {
			CHECK(is_nothing(heap) && is_nothing(heap + COUNT - 1), "memory of the heap outlives its card");
			REFUSED(ioctl(card, GODWIT_IOC_HEAP, &more), ENODEV);
			munmap(heap, BYTES);
		}
		old = card;
		WORKS_AGAIN(&used);
		CHECK(copies(copied, used.pinned) && sum_of(copied) == used.wanted[2], "the card does not copy");
		if (has_heap())
			CHECK(free_in_the_end(card, 0) + 20 * PAGE >= state_of(card, 0).bytes, "the heap lacks %llu bytes",
			      (unsigned long long)(state_of(card, 0).bytes - free_in_the_end(card, 0)));
		close(card);
		close(old);
	}
	in_use_free(&used);
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
	struct in_use used = in_use_new();
	struct launches summing = { .from = used.busy };
	int old;

	CHECK(tell(PARAMETERS "fence_ms", "500"), "%s", strerror(errno));
	USE(&used, 0);
	CHECK(launches_begin(&summing), "pthread_create");
	usleep(20000);
	CHECK(is_taken_off_the_bus(), "%s", strerror(errno));
	usleep(100000);
	CHECK(is_reset(), "reset: %s", strerror(errno));
	CHECK(launches_end(&summing) == ENODEV, "a launch ended with %s", strerror(summing.ended_with));
	GONE_AND_WHOLE(&used);
	/* What works may take as long as it likes, on a machine that has other things to do. */
	CHECK(tell(PARAMETERS "fence_ms", "60000"), "%s", strerror(errno));
	old = card;
	WORKS_AGAIN(&used);
	close(card);
	close(old);
	in_use_free(&used);
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
