// SPDX-License-Identifier: Apache-2.0
/* Unit tests of what only C sees: the ABI's corners. Behaviour is in the fuzzer and in crates/godwit-core. */
#include <godwit/pt.h>
#include <godwit_layout.h>

#include <string.h>

#include "memory.h"

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
	for (int a = GW_PT_ECORRUPT - 1; a <= GW_PT_OK; a++)
		for (int b = a + 1; b <= GW_PT_OK; b++)
			CHECK(strcmp(gw_pt_reason(a), gw_pt_reason(b)) != 0);
	CHECK(strcmp(gw_pt_reason(1), gw_pt_reason(GW_PT_ECORRUPT - 1)) == 0);
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
	puts("7 tests passed");
	return 0;
}
