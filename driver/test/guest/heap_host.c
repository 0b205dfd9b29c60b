// SPDX-License-Identifier: GPL-2.0-only
/* A heap whose second region is memory of the host: frames of it are one memory for program and card, and Linux's again when the driver goes. */
#include "allocations.h"
#include "bind.h"
#include "bus.h"

#define HOST 1u

static void frames_of_the_host_are_one_memory_for_both(const char *name)
{
	struct godwit_heap_state device = state_of(card, 0), host = state_of(card, HOST);
	uint64_t *from, *values, *copy, sum, before = free_in_the_end(card, 0);

	CHECK(host.flags & GODWIT_HEAP_STATE_HOST && !(device.flags & GODWIT_HEAP_STATE_HOST), "flags %x, %x", device.flags,
	      host.flags);
	CHECK(host.start > device.start + device.bytes && host.bytes == 4 << 20, "%llu bytes at %llx",
	      (unsigned long long)host.bytes, (unsigned long long)host.start);
	from = give(card, BYTES, 0, 0);
	values = give_of(card, HOST, BYTES, 0);
	copy = give_of(card, HOST, BYTES, 4);
	CHECK(from && values && copy, "status %u: %s", status, strerror(errno));
	CHECK(!values[0] && !values[COUNT - 1], "what Linux had there is seen");
	/* From the card's memory to the host's, between frames of the host, and back. */
	sum = fill(from, 1);
	CHECK(copies(values, from) && !memcmp(values, from, BYTES), "other content in the host");
	CHECK(copies(copy, values) && !memcmp(copy, from, BYTES), "other content from host to host");
	SEES(copy, sum);
	sum = fill(copy, 7);
	SEES(copy, sum);
	CHECK(copies(from, copy) && !memcmp(from, copy, BYTES), "other content on the card");
	/* The three allocations' tables, and the first one's frames; the card clears 64 KiB at a time. */
	CHECK(before - free_in_the_end(card, 0) <= BYTES + 12 * PAGE + 65536, "%llu bytes of the card are taken",
	      (unsigned long long)(before - free_in_the_end(card, 0)));
	CHECK(freed(card, values) && freed(card, copy) && freed(card, from), "status %u", status);
	CHECK(is_nothing(values) && is_nothing(copy), "the program still sees it");
	munmap(values, BYTES);
	munmap(copy, BYTES);
	munmap(from, BYTES);
	values = give_of(card, HOST, BYTES, 0);
	CHECK(values && !values[0] && !values[COUNT - 1], "what another one wrote is there");
	CHECK(freed(card, values), "status %u", status);
	munmap(values, BYTES);
	CHECK(!give_of(card, HOST, 2 * host.bytes, 0) && status == NO_FRAME, "status %u", status);
}

/* The card may clear and give frames until its reset; the driver that comes next resets it before it can reach memory. */
static void a_driver_that_goes_takes_them_back(const char *name)
{
	uint64_t *values, *again, sum;
	int round;

	CHECK(card_find(), "no card at " CARD_DRIVER);
	for (round = 0; round < 3; round++) {
		values = give_of(card, HOST, BYTES, 0);
		CHECK(values, "status %u: %s", status, strerror(errno));
		fill(values, 3);
		CHECK(card_tell(CARD_DRIVER "/unbind"), "unbind: %s", strerror(errno));
		CHECK(is_nothing(values), "the program still sees it");
		munmap(values, BYTES);
		close(card);
		CHECK(card_tell(CARD_DRIVER "/bind"), "bind: %s", strerror(errno));
		card = card_open();
		CHECK(card >= 0, "open: %s", strerror(errno));
		CHECK(state_of(card, HOST).flags & GODWIT_HEAP_STATE_HOST, "no memory of the host");
		again = give_of(card, HOST, BYTES, 0);
		CHECK(again && !again[0] && !again[COUNT - 1], "what was there before is seen");
		sum = fill(again, 9);
		SEES(again, sum);
		CHECK(freed(card, again), "status %u", status);
		munmap(again, BYTES);
	}
}

int main(void)
{
	card = card_open();
	TEST(frames_of_the_host_are_one_memory_for_both);
	TEST(a_driver_that_goes_takes_them_back);
	close(card);
	return failures != 0;
}
