// SPDX-License-Identifier: GPL-2.0-only
/* A heap of two regions, of which the second is strict: each gives frames of its own, to the program and to the card. */
#include "allocations.h"
#include "bus.h"

/* Bytes of a region that somebody has. */
static uint64_t used(uint32_t region)
{
	return state_of(card, region).bytes - free_in_the_end(card, region);
}

static void each_region_gives_its_own_frames(const char *name)
{
	struct godwit_heap_state first = state_of(card, 0), second = state_of(card, 1);
	uint64_t before[2], *values, *copy, sum;

	CHECK(first.regions == 2 && second.regions == 2, "%u regions", first.regions);
	CHECK(first.start + first.bytes <= second.start, "the second is at %llx", (unsigned long long)second.start);
	CHECK(!(first.flags & GODWIT_HEAP_STATE_STRICT) && second.flags & GODWIT_HEAP_STATE_STRICT, "strictness");
	CHECK(free_in_the_end(card, 1) + 20 * PAGE >= second.bytes, "%llu bytes are free",
	      (unsigned long long)free_in_the_end(card, 1));
	values = give_of(card, 0, BYTES, 0);
	copy = give_of(card, 1, BYTES, 4);
	CHECK(values && copy, "status %u: %s", status, strerror(errno));
	sum = fill(values, 1);
	before[0] = used(0);
	before[1] = used(1);
	CHECK(copies(copy, values), "the card does not copy");
	/* A page table of it in the first region, and the card clears 64 KiB at a time in each. */
	CHECK(used(1) >= before[1] + BYTES - 65536, "%llu bytes", (unsigned long long)used(1));
	CHECK(used(0) <= before[0] + 4 * PAGE + 65536, "%llu bytes", (unsigned long long)used(0));
	CHECK(!memcmp(copy, values, BYTES) && copy[0], "other content");
	SEES(copy, sum);
	CHECK(freed(card, copy) && freed(card, values), "status %u", status);
	CHECK(is_nothing(copy), "the program still sees it");
	munmap(values, BYTES);
	munmap(copy, BYTES);
	values = give_of(card, 1, BYTES, 0);
	CHECK(values && !values[0] && !values[COUNT - 1], "what another one wrote is there");
	CHECK(freed(card, values), "status %u", status);
	munmap(values, BYTES);
}

static void a_strict_region_refuses_what_it_has_not(const char *name)
{
	uint64_t bytes = state_of(card, 1).bytes, *values;
	void *promised;

	CHECK(!give_of(card, 1, 2 * bytes, 0) && status == NO_FRAME, "status %u", status);
	values = give_of(card, 1, BYTES, 0);
	CHECK(values, "status %u", status);
	fill(values, 1);
	CHECK(!resized(card, values, 2 * bytes) && status == NO_FRAME, "status %u", status);
	CHECK(values[1] == 2 * 0x9e3779b97f4a7c15ull, "other content");
	/* The first has less, and promises it. */
	promised = give_of(card, 0, 8 * bytes, 0);
	CHECK(promised && freed(card, promised), "status %u", status);
	munmap(promised, 8 * bytes);
	CHECK(freed(card, values), "status %u", status);
	munmap(values, BYTES);
}

static void a_region_that_is_not_there_is_refused(const char *name)
{
	struct godwit_allocation what = { .op = GODWIT_ALLOCATION_MALLOC, .size = 1, .region = 2 };
	struct godwit_heap_state state = { .region = 2 };
	void *values;

	REFUSED(ioctl(card, GODWIT_IOC_HEAP, &what), EINVAL);
	REFUSED(ioctl(card, GODWIT_IOC_HEAP_STATE, &state), EINVAL);
	state.region = ~0u;
	REFUSED(ioctl(card, GODWIT_IOC_HEAP_STATE, &state), EINVAL);
	/* Only a malloc names one. */
	values = give_of(card, 1, PAGE, 0);
	what = (struct godwit_allocation){ .op = GODWIT_ALLOCATION_FREE, .pointer = (uint64_t)values, .region = 1 };
	REFUSED(ioctl(card, GODWIT_IOC_HEAP, &what), EINVAL);
	CHECK(freed(card, values), "status %u", status);
	munmap(values, PAGE);
}

int main(void)
{
	card = card_open();
	TEST(each_region_gives_its_own_frames);
	TEST(a_strict_region_refuses_what_it_has_not);
	TEST(a_region_that_is_not_there_is_refused);
	close(card);
	return failures != 0;
}
