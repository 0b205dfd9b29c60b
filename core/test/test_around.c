// SPDX-License-Identifier: Apache-2.0
/* Unit tests of what goes back to the host with a page that it touches. */
#include <stdint.h>

#include <godwit/around.h>

#include "test_svm.h"

#define FEWEST 16u
#define MOST 512u

static void takes(struct gw_around *a, uint64_t owner, uint64_t page, uint64_t first, uint32_t count)
{
	uint64_t found = ~0ull;

	CHECK(gw_around_touched(a, owner, page, FEWEST, MOST, &found) == count && found == first);
}

static void groups_grow_where_touches_go_on(void)
{
	struct gw_around a = { 0 };
	uint64_t page;

	takes(&a, 1, 5, 0, 16);
	takes(&a, 1, 16, 16, 16);
	takes(&a, 1, 32, 32, 32);
	takes(&a, 1, 64, 64, 64);
	takes(&a, 1, 128, 128, 128);
	takes(&a, 1, 256, 256, 256);
	for (page = 512; page < 8 * 512; page += 512)
		takes(&a, 1, page, page, 512);
	/* What comes before, once more, or beyond is no walk. */
	takes(&a, 1, 3, 0, 16);
	takes(&a, 1, 0, 0, 16);
	takes(&a, 1, 40, 32, 16);
	takes(&a, 1, 8 * 512, 8 * 512, 512);
}

static void walks_of_several_are_told_apart(void)
{
	struct gw_around a = { 0 };
	uint64_t owner;

	for (owner = 1; owner <= GW_AROUND_WALKS; owner++)
		takes(&a, owner, 0, 0, 16);
	for (owner = 1; owner <= GW_AROUND_WALKS; owner++)
		takes(&a, owner, 16, 16, 16);
	/* One more, and the first has been forgotten, and then the second. */
	takes(&a, owner, 32, 32, 16);
	takes(&a, 1, 32, 32, 16);
	takes(&a, 3, 32, 32, 32);
	takes(&a, 2, 32, 32, 16);
	/* Page 0 is not where nobody ever was. */
	a = (struct gw_around){ 0 };
	takes(&a, 0, 0, 0, 16);
}

static void the_most_may_be_the_fewest(void)
{
	struct gw_around a = { 0 };
	uint64_t page, first;

	for (page = 7; page < 20; page++)
		CHECK(gw_around_touched(&a, 1, page, 1, 1, &first) == 1 && first == page);
	for (page = 8; page < 80; page += 8)
		CHECK(gw_around_touched(&a, 2, page, 8, 8, &first) == 8 && first == page);
}

void test_around(void)
{
	groups_grow_where_touches_go_on();
	walks_of_several_are_told_apart();
	the_most_may_be_the_fewest();
}
