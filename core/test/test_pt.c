// SPDX-License-Identifier: Apache-2.0
/* Unit tests of what only C sees: the ABI's corners. Behaviour is in the fuzzer and in crates/godwit-core. */
#include <godwit/pt.h>
#include <godwit_layout.h>

#include <string.h>

#include "memory.h"
#include "test_pt.h"

static struct memory memory;

static void setup(struct gw_pt *pt)
{
	memory_reset(&memory, MEMORY_FRAMES);
	CHECK(gw_pt_init(pt, &memory_ops, &memory, GODWIT_MODE_SV48) == GW_PT_OK);
}

static void test_init_refuses_other_modes_and_destroy_bears_it(void)
{
	struct gw_pt pt;

	memory_reset(&memory, MEMORY_FRAMES);
	for (uint32_t mode = 0; mode < 16; mode++) {
		bool known = mode == GODWIT_MODE_SV39 || mode == GODWIT_MODE_SV48 || mode == GODWIT_MODE_SV57;

		CHECK(gw_pt_init(&pt, &memory_ops, &memory, mode) == (known ? GW_PT_OK : GW_PT_EMODE));
		gw_pt_destroy(&pt);
		gw_pt_destroy(&pt);
		CHECK(memory.used == 0);
	}
}

static void test_a_frame_address_that_is_none_means_no_frame(void)
{
	const uint64_t none[] = { GW_PT_NO_FRAME, 4096 + 8, (uint64_t)1 << GODWIT_PA_BITS };
	struct gw_pt pt;

	setup(&pt);
	for (unsigned int i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		memory.give = none[i];
		CHECK(gw_pt_map(&pt, 0, 0, 4096, GW_PT_READ, 0) == GW_PT_ENOMEM);
	}
	memory.give = 0;
	CHECK(memory.used == 1);
	CHECK(gw_pt_map(&pt, 0, 0, 4096, GW_PT_READ, 0) == GW_PT_OK);
	gw_pt_destroy(&pt);
	CHECK(memory.used == 0);
}

static void test_illegal_permissions_and_orders_write_nothing(void)
{
	struct gw_pt pt;
	uint64_t writes;

	setup(&pt);
	writes = memory.writes;
	CHECK(gw_pt_map(&pt, 0, 0, 4096, 0, 0) == GW_PT_EPERM);
	CHECK(gw_pt_map(&pt, 0, 0, 4096, GW_PT_WRITE, 0) == GW_PT_EPERM);
	CHECK(gw_pt_map(&pt, 0, 0, 4096, 7, 0) == GW_PT_EPERM);
	CHECK(gw_pt_map(&pt, 0, 0, 4096, GW_PT_READ, 19) == GW_PT_EORDER);
	CHECK(gw_pt_map(&pt, 0, 0, 4096, GW_PT_READ, ~0u) == GW_PT_EORDER);
	CHECK(gw_pt_protect(&pt, 0, 4096, GW_PT_WRITE, NULL) == GW_PT_EPERM);
	CHECK(memory.writes == writes);
	gw_pt_destroy(&pt);
}

static void test_orders_between_page_sizes_choose_the_size_below(void)
{
	const uint32_t expected[] = { 0, 0, 0, 0, 4, 4, 4, 4, 4, 9, 9, 9, 9, 9, 9, 9, 9, 9, 18 };
	struct gw_pt_mapping page;
	struct gw_pt pt;

	for (uint32_t order = 0; order <= GW_PT_ORDER_1G; order++) {
		uint64_t size = expected[order] < 9 ? (uint64_t)1 << 21 : (uint64_t)1 << 30;

		setup(&pt);
		CHECK(gw_pt_map(&pt, 0, 0, size, GW_PT_READ, order) == GW_PT_OK);
		CHECK(gw_pt_lookup(&pt, 0, &page) == GW_PT_OK && page.order == expected[order]);
		gw_pt_destroy(&pt);
	}
}

static void test_invalidation_lists_are_optional(void)
{
	struct gw_pt_inval flags_only = { 0 };
	struct gw_pt pt;

	setup(&pt);
	CHECK(gw_pt_map(&pt, 0, 0, 3 * 4096, GW_PT_READ | GW_PT_WRITE, 0) == GW_PT_OK);
	CHECK(gw_pt_protect(&pt, 0, 4096, GW_PT_READ, NULL) == GW_PT_OK);
	CHECK(gw_pt_unmap(&pt, 0, 4096, NULL) == GW_PT_OK);
	CHECK(gw_pt_unmap(&pt, 4096, 2 * 4096, &flags_only) == GW_PT_OK);
	CHECK(flags_only.narrowed && flags_only.tables == 3 && flags_only.count == 0);
	CHECK(gw_pt_reclaim(&pt) == 3);
	gw_pt_destroy(&pt);
}

static int stop(void *arg, const struct gw_pt_mapping *page)
{
	(void)arg;
	return (int)(page->va >> 12);
}

static void test_a_walk_returns_what_the_visitor_says(void)
{
	struct gw_pt pt;

	setup(&pt);
	CHECK(gw_pt_walk(&pt, 0, ~(uint64_t)0, stop, NULL) == GW_PT_OK);
	CHECK(gw_pt_map(&pt, 0, 0, 8 * 4096, GW_PT_READ, 0) == GW_PT_OK);
	CHECK(gw_pt_walk(&pt, 0, ~(uint64_t)0, stop, NULL) == 1);
	CHECK(gw_pt_walk(&pt, 5 * 4096 + 1, ~(uint64_t)0, stop, NULL) == 5);
	CHECK(gw_pt_walk(&pt, 8 * 4096, ~(uint64_t)0, stop, NULL) == GW_PT_OK);
	/* Both ends outside of the canonical halves: nothing lies between. */
	CHECK(gw_pt_walk(&pt, (uint64_t)1 << 47, (uint64_t)1 << 62, stop, NULL) == GW_PT_OK);
	gw_pt_destroy(&pt);
}

static void test_every_status_has_its_own_reason(void)
{
	for (int a = GW_PT_EAPART - 1; a <= GW_PT_OK; a++)
		for (int b = a + 1; b <= GW_PT_OK; b++)
			CHECK(strcmp(gw_pt_reason(a), gw_pt_reason(b)) != 0);
	CHECK(strcmp(gw_pt_reason(1), gw_pt_reason(GW_PT_EAPART - 1)) == 0);
}

/* The leaf entry of a 4 KiB or 64 KiB page, by the tables alone. */
static uint64_t *leaf(const struct gw_pt *pt, uint64_t va)
{
	uint64_t table = pt->root;

	for (unsigned int level = pt->levels - 1; level > 0; level--)
		table = *memory_entry(&memory, table + (va >> (12 + 9 * level) & 511) * 8) >> 10 << 12;
	return memory_entry(&memory, table + (va >> 12 & 511) * 8);
}

static uint32_t state(struct gw_pt *pt, uint64_t va)
{
	struct gw_pt_mapping page;

	CHECK(gw_pt_lookup(pt, va, &page) == GW_PT_OK);
	return page.state;
}

static void test_pages_are_frozen_and_given_back_with_what_hardware_set(void)
{
	const uint64_t bits = GODWIT_PTE_A | GODWIT_PTE_D, page = 4096, large = 16 * page;
	struct gw_pt_range ranges[4];
	struct gw_pt_inval inval = { .ranges = ranges, .capacity = 4 };
	struct gw_pt_stats stats;
	uint64_t writes;
	struct gw_pt pt;

	setup(&pt);
	gw_pt_track(&pt);
	CHECK(gw_pt_map(&pt, 0, 0, 4 * page, GW_PT_READ | GW_PT_WRITE, 0) == GW_PT_OK);
	CHECK(gw_pt_map(&pt, large, large, large, GW_PT_READ | GW_PT_WRITE, GW_PT_ORDER_64K) == GW_PT_OK);
	CHECK(!(*leaf(&pt, 0) & bits) && !(*leaf(&pt, large) & bits) && state(&pt, 0) == 0);

	/* What hardware does: page 1 read, page 2 written, the large page written at its last 4 KiB. */
	*leaf(&pt, page) |= GODWIT_PTE_A;
	*leaf(&pt, 2 * page) |= bits;
	*leaf(&pt, 2 * large - page) |= bits;
	CHECK(state(&pt, page) == GW_PT_ACCESSED);
	CHECK(state(&pt, 2 * page) == (GW_PT_ACCESSED | GW_PT_DIRTY));
	CHECK(state(&pt, large) == (GW_PT_ACCESSED | GW_PT_DIRTY));
	CHECK(gw_pt_check(&pt, &stats) == GW_PT_OK && stats.pages[GW_PT_ORDER_4K] == 4 && stats.pages[GW_PT_ORDER_64K] == 1);

	/* A is taken, of a part of a larger page from all of it; D stays, and nothing has to be invalidated for it. */
	CHECK(gw_pt_age(&pt, page, 4 * page, &inval) == GW_PT_ENOENT && inval.count == 0);
	CHECK(gw_pt_age(&pt, 0, 3 * page, &inval) == GW_PT_OK && gw_pt_age(&pt, large + page, page, &inval) == GW_PT_OK);
	CHECK(state(&pt, page) == 0 && state(&pt, 2 * page) == GW_PT_DIRTY && state(&pt, large) == GW_PT_DIRTY);
	CHECK(!inval.narrowed && inval.count == 2 && ranges[0].va == page && ranges[0].size == 2 * page);
	CHECK(ranges[1].va == large && ranges[1].size == large);
	/* Where there is none nothing is written. */
	writes = memory.writes;
	CHECK(gw_pt_age(&pt, 0, 3 * page, NULL) == GW_PT_OK && memory.writes == writes);
	inval = (struct gw_pt_inval){ .ranges = ranges, .capacity = inval.capacity };
	*leaf(&pt, page) |= GODWIT_PTE_A;
	*leaf(&pt, 2 * page) |= bits;
	*leaf(&pt, 2 * large - page) |= bits;

	/* A hole in the range: nothing is written. */
	writes = memory.writes;
	CHECK(gw_pt_freeze(&pt, page, 4 * page, &inval) == GW_PT_ENOENT && pt.error_va == 4 * page);
	CHECK(memory.writes == writes && inval.count == 0 && !inval.narrowed);

	CHECK(gw_pt_freeze(&pt, page, 2 * page, &inval) == GW_PT_OK);
	CHECK(inval.narrowed && inval.count == 1 && ranges[0].va == page && ranges[0].size == 2 * page);
	CHECK(*leaf(&pt, page) & GODWIT_PTE_FROZEN_BIT && !(*leaf(&pt, 0) & GODWIT_PTE_FROZEN_BIT));
	/* A D bit that was on its way when the page was frozen. */
	*leaf(&pt, page) |= bits;
	CHECK(state(&pt, page) == (GW_PT_ACCESSED | GW_PT_DIRTY | GW_PT_FROZEN));
	CHECK(gw_pt_check(&pt, NULL) == GW_PT_OK);

	/* A part of a larger page freezes all of it, once. */
	CHECK(gw_pt_freeze(&pt, large + 3 * page, 2 * page, &inval) == GW_PT_OK);
	CHECK(inval.count == 2 && ranges[1].va == large && ranges[1].size == large);
	for (uint64_t at = large; at < 2 * large; at += page)
		CHECK(*leaf(&pt, at) & GODWIT_PTE_FROZEN_BIT);

	/* Given back as it is, clean, by a permission, and in part unmapped. */
	CHECK(gw_pt_thaw(&pt, page, page, false) == GW_PT_OK);
	CHECK(state(&pt, page) == (GW_PT_ACCESSED | GW_PT_DIRTY));
	CHECK(gw_pt_thaw(&pt, 2 * page, page, true) == GW_PT_OK);
	CHECK(state(&pt, 2 * page) == 0);
	CHECK(gw_pt_unmap(&pt, large, page, &inval) == GW_PT_OK);
	CHECK(gw_pt_protect(&pt, large + page, 15 * page, GW_PT_READ, &inval) == GW_PT_OK);
	for (uint64_t at = large + page; at < 2 * large; at += page)
		CHECK(state(&pt, at) == (GW_PT_ACCESSED | GW_PT_DIRTY));
	CHECK(gw_pt_check(&pt, NULL) == GW_PT_OK);
	gw_pt_destroy(&pt);
}

static void test_pages_may_count_as_accessed_or_written_from_the_start(void)
{
	const uint32_t both = GW_PT_ACCESSED | GW_PT_DIRTY, rw = GW_PT_READ | GW_PT_WRITE;
	const uint64_t page = 4096, large = 16 * page;
	struct gw_pt pt;

	setup(&pt);
	gw_pt_track(&pt);
	CHECK(gw_pt_map_as(&pt, 0, 0, page, rw, 0, GW_PT_FROZEN) == GW_PT_EPERM);
	CHECK(gw_pt_map_as(&pt, 0, 0, page, rw, 0, GW_PT_ACCESSED) == GW_PT_OK && state(&pt, 0) == GW_PT_ACCESSED);
	CHECK(gw_pt_map_as(&pt, large, large, large, rw, GW_PT_ORDER_64K, both) == GW_PT_OK);
	for (uint64_t at = large; at < 2 * large; at += page)
		CHECK((*leaf(&pt, at) & (GODWIT_PTE_A | GODWIT_PTE_D)) == (GODWIT_PTE_A | GODWIT_PTE_D));
	CHECK(gw_pt_check(&pt, NULL) == GW_PT_OK);
	gw_pt_destroy(&pt);

	/* Without tracking it means nothing. */
	setup(&pt);
	CHECK(gw_pt_map_as(&pt, 0, 0, page, GW_PT_READ, 0, both) == GW_PT_OK && state(&pt, 0) == 0);
	CHECK((*leaf(&pt, 0) & (GODWIT_PTE_A | GODWIT_PTE_D)) == GODWIT_PTE_A);
	gw_pt_destroy(&pt);
}

/* A table that gave way is what it was until it is reclaimed: a walk may still be in it. */
static void test_pages_that_are_neighbours_become_one(void)
{
	const uint64_t page = 4096, group = 16 * page, huge = 512 * page;
	const uint32_t rw = GW_PT_READ | GW_PT_WRITE;
	struct gw_pt_range ranges[2];
	struct gw_pt_inval inval = { .ranges = ranges, .capacity = 2 };
	struct gw_pt_mapping found;
	struct gw_pt_stats stats;
	uint64_t *first;
	struct gw_pt pt;

	setup(&pt);
	CHECK(gw_pt_map(&pt, huge, 2 * huge, huge - page, rw, GW_PT_ORDER_4K) == GW_PT_OK);
	CHECK(gw_pt_join(&pt, huge, GW_PT_ORDER_2M, &inval) == GW_PT_ENOENT && pt.error_va == 2 * huge - page);
	CHECK(gw_pt_map(&pt, 2 * huge - page, 0, page, rw, 0) == GW_PT_OK);
	CHECK(gw_pt_join(&pt, huge, GW_PT_ORDER_2M, &inval) == GW_PT_EAPART && pt.error_va == 2 * huge - page);
	CHECK(gw_pt_unmap(&pt, 2 * huge - page, page, NULL) == GW_PT_OK);
	CHECK(gw_pt_map(&pt, 2 * huge - page, 3 * huge - page, page, GW_PT_READ, 0) == GW_PT_OK);
	CHECK(gw_pt_join(&pt, huge, GW_PT_ORDER_2M, &inval) == GW_PT_EAPART);
	CHECK(gw_pt_protect(&pt, 2 * huge - page, page, rw, NULL) == GW_PT_OK);
	CHECK(gw_pt_join(&pt, huge + page, GW_PT_ORDER_2M, &inval) == GW_PT_EALIGN);
	CHECK(gw_pt_join(&pt, huge, GW_PT_ORDER_4K, &inval) == GW_PT_EORDER);
	CHECK(gw_pt_join(&pt, huge, GW_PT_ORDER_1G, &inval) == GW_PT_EORDER);
	CHECK(!inval.count && !inval.narrowed && pt.joined == GW_PT_NO_FRAME);

	CHECK(gw_pt_join(&pt, huge + group, GW_PT_ORDER_64K, &inval) == GW_PT_OK && !inval.count && !inval.narrowed);
	CHECK(gw_pt_check(&pt, &stats) == GW_PT_OK && stats.pages[GW_PT_ORDER_64K] == 1 && stats.pages[GW_PT_ORDER_4K] == 496);
	first = leaf(&pt, huge);
	CHECK(gw_pt_join(&pt, huge, GW_PT_ORDER_2M, &inval) == GW_PT_OK);
	CHECK(inval.count == 1 && inval.tables == 1 && inval.narrowed && ranges[0].va == huge && ranges[0].size == huge);
	CHECK(gw_pt_lookup(&pt, huge + page, &found) == GW_PT_OK && found.order == GW_PT_ORDER_2M && found.pa == 2 * huge);
	CHECK(*first & GODWIT_PTE_V && gw_pt_check(&pt, &stats) == GW_PT_OK && stats.pages[GW_PT_ORDER_2M] == 1);

	/* One that is whole stays; another one has to wait until the table of the first is reclaimed. */
	CHECK(gw_pt_join(&pt, huge, GW_PT_ORDER_2M, NULL) == GW_PT_OK && gw_pt_join(&pt, huge, GW_PT_ORDER_64K, NULL) == GW_PT_OK);
	CHECK(gw_pt_map(&pt, 0, 0, huge, GW_PT_READ, GW_PT_ORDER_64K) == GW_PT_OK);
	CHECK(gw_pt_join(&pt, 0, GW_PT_ORDER_2M, NULL) == GW_PT_EEXIST);
	CHECK(gw_pt_table_bytes(&pt) == (pt.tables + 1) * page && gw_pt_reclaim(&pt) == 1);
	CHECK(gw_pt_join(&pt, 0, GW_PT_ORDER_2M, NULL) == GW_PT_OK);
	gw_pt_destroy(&pt);
	CHECK(memory.used == 0);

	setup(&pt);
	gw_pt_track(&pt);
	CHECK(gw_pt_map(&pt, 0, 0, huge, rw, GW_PT_ORDER_4K) == GW_PT_OK && gw_pt_join(&pt, 0, GW_PT_ORDER_64K, NULL) == GW_PT_EORDER);
	gw_pt_destroy(&pt);
}

static void test_without_tracking_entries_lack_nothing(void)
{
	struct gw_pt_mapping page;
	struct gw_pt pt;

	setup(&pt);
	CHECK(gw_pt_map(&pt, 0, 0, 4096, GW_PT_READ | GW_PT_WRITE, 0) == GW_PT_OK);
	CHECK((*leaf(&pt, 0) & (GODWIT_PTE_A | GODWIT_PTE_D)) == (GODWIT_PTE_A | GODWIT_PTE_D));
	CHECK(gw_pt_lookup(&pt, 0, &page) == GW_PT_OK && page.state == 0);
	*leaf(&pt, 0) &= ~(uint64_t)GODWIT_PTE_D;
	CHECK(gw_pt_lookup(&pt, 0, &page) == GW_PT_ECORRUPT);
	gw_pt_destroy(&pt);
}

int main(void)
{
	test_init_refuses_other_modes_and_destroy_bears_it();
	test_a_frame_address_that_is_none_means_no_frame();
	test_illegal_permissions_and_orders_write_nothing();
	test_orders_between_page_sizes_choose_the_size_below();
	test_invalidation_lists_are_optional();
	test_a_walk_returns_what_the_visitor_says();
	test_every_status_has_its_own_reason();
	test_pages_are_frozen_and_given_back_with_what_hardware_set();
	test_pages_may_count_as_accessed_or_written_from_the_start();
	test_pages_that_are_neighbours_become_one();
	test_without_tracking_entries_lack_nothing();
	test_orders();
	test_untrue();
	puts("24 tests passed");
	return 0;
}
