// SPDX-License-Identifier: Apache-2.0
/* Pages of any power of two: the format of their entries, what is left of one that is cut, and A and D in several entries. */
#include <godwit/pt.h>
#include <godwit_layout.h>

#include <string.h>

#include "memory.h"
#include "test_pt.h"

#define PAGE ((uint64_t)4096)
#define MIB (256 * PAGE)
#define RW (GW_PT_READ | GW_PT_WRITE)
#define UP_TO_1G GW_PT_ORDERS_TO(GW_PT_ORDER_1G)

static struct memory memory, before;
static struct memory_log written;

static void setup(struct gw_pt *pt, uint32_t mode, uint64_t orders)
{
	memory_reset(&memory, MEMORY_FRAMES);
	CHECK(gw_pt_init_orders(pt, &memory_ops, &memory, mode, orders) == GW_PT_OK);
}

/* The entry for an address in its table of this level. */
static uint64_t *entry(const struct gw_pt *pt, uint64_t va, unsigned int level)
{
	uint64_t table = pt->root;

	for (unsigned int above = pt->levels - 1; above > level; above--)
		table = *memory_entry(&memory, table + (va >> (12 + 9 * above) & 511) * 8) >> 10 << 12;
	return memory_entry(&memory, table + (va >> (12 + 9 * level) & 511) * 8);
}

static void test_a_set_of_orders_has_what_a_cut_page_leaves(void)
{
	const uint64_t top[3] = { 26, 35, 44 };
	const uint64_t no[] = { 0, 1 << 4, 1 << 9, 1 | 1 << 10, 1 | 1 << 18, 1 | 1 << 9 | 1 << 19, ~(uint64_t)0 };
	struct gw_pt pt;

	memory_reset(&memory, MEMORY_FRAMES);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t mode = GODWIT_MODE_SV39 + i;

		for (unsigned int k = 0; k < sizeof(no) / sizeof(no[0]); k++) {
			CHECK(gw_pt_init_orders(&pt, &memory_ops, &memory, mode, no[k]) == GW_PT_EORDER);
			gw_pt_destroy(&pt);
		}
		CHECK(gw_pt_init_orders(&pt, &memory_ops, &memory, mode, GW_PT_ORDERS_TO(top[i] + 1)) == GW_PT_EORDER);
		CHECK(memory.used == 0);
		CHECK(gw_pt_init_orders(&pt, &memory_ops, &memory, mode, GW_PT_ORDERS_TO(top[i])) == GW_PT_OK);
		gw_pt_destroy(&pt);
		CHECK(gw_pt_init_orders(&pt, &memory_ops, &memory, mode, 1) == GW_PT_OK);
		gw_pt_destroy(&pt);
	}
	setup(&pt, GODWIT_MODE_SV48, GW_PT_ORDERS_TO(20));
	CHECK(gw_pt_map(&pt, 0, 0, PAGE, GW_PT_READ, 20) == GW_PT_OK);
	CHECK(gw_pt_map(&pt, PAGE, 0, PAGE, GW_PT_READ, 21) == GW_PT_EORDER);
	gw_pt_destroy(&pt);
	setup(&pt, GODWIT_MODE_SV48, 1);
	CHECK(gw_pt_map(&pt, 0, 0, 2 * MIB, GW_PT_READ, GW_PT_ORDER_1G) == GW_PT_OK && pt.tables == 4);
	gw_pt_destroy(&pt);
}

static int count(void *arg, const struct gw_pt_mapping *page)
{
	(void)page;
	++*(unsigned int *)arg;
	return 0;
}

static void test_a_page_of_each_order_fills_its_entries(void)
{
	struct gw_pt_inval inval = { 0 };
	struct gw_pt_mapping page;
	struct gw_pt_stats stats;
	struct gw_pt pt;

	for (uint32_t mode = GODWIT_MODE_SV39; mode <= GODWIT_MODE_SV57; mode++) {
		setup(&pt, mode, GW_PT_ORDERS_TO(9 * (mode - 5) - 1));
		for (uint32_t order = 0; order < 9 * pt.levels; order++) {
			unsigned int level = order / 9, k = order % 9, pages = 0;
			uint64_t size = PAGE << order, pa = order < 44 ? size : 0, one = PAGE << 9 * level;
			/* The largest is half of the address space, and all of the physical one. */
			uint64_t va = order < 9 * pt.levels - 2 ? size : 0;

			CHECK(gw_pt_map(&pt, va, pa, size, RW, order > 18 ? order : 18) == GW_PT_OK);
			CHECK(pt.tables == pt.levels - level);
			for (uint64_t i = 0; i < (uint64_t)1 << k; i++) {
				uint64_t pte = *entry(&pt, va + i * one, level);
				uint64_t frame = pte >> 10 & (((uint64_t)1 << 44) - 1);

				CHECK(pte == *entry(&pt, va, level) && (pte & 0xff) == 0xd7 && pte >> 63 == (k != 0));
				CHECK(frame >> 9 * level == ((pa / one) | (k ? (uint64_t)1 << (k - 1) : 0)));
				CHECK(!(frame & (((uint64_t)1 << 9 * level) - 1)));
				CHECK(gw_pt_lookup(&pt, va + i * one + one / 2, &page) == GW_PT_OK);
				CHECK(page.va == va && page.pa == pa && page.order == order && page.perm == RW);
			}
			CHECK(gw_pt_lookup(&pt, va + size, &page) == (va + size < (uint64_t)1 << (9 * pt.levels + 11) ? GW_PT_ENOENT : GW_PT_ECANON));
			CHECK(gw_pt_walk(&pt, 0, ~(uint64_t)0, count, &pages) == GW_PT_OK && pages == 1);
			CHECK(gw_pt_check(&pt, &stats) == GW_PT_OK && stats.pages[order] == 1);
			CHECK(gw_pt_unmap(&pt, va, size, &inval) == GW_PT_OK);
			gw_pt_reclaim(&pt);
			CHECK(pt.tables == 1);
		}
		gw_pt_destroy(&pt);
	}
}

struct orders {
	uint32_t list[64];
	unsigned int count;
};

static int collect(void *arg, const struct gw_pt_mapping *page)
{
	struct orders *orders = arg;

	CHECK(orders->count < 64 && page->pa == page->va + 8 * MIB);
	orders->list[orders->count++] = page->order;
	return 0;
}

static void check_orders(struct gw_pt *pt, unsigned int number, const uint32_t *expected)
{
	struct orders orders = { .count = 0 };

	CHECK(gw_pt_walk(pt, 0, ~(uint64_t)0, collect, &orders) == GW_PT_OK && orders.count == number);
	CHECK(!memcmp(orders.list, expected, number * sizeof(*expected)));
	CHECK(gw_pt_check(pt, NULL) == GW_PT_OK);
}

static void test_a_page_that_is_cut_leaves_the_largest_there_are(void)
{
	struct gw_pt_range ranges[4];
	struct gw_pt_inval inval = { .ranges = ranges, .capacity = 4 };
	struct gw_pt pt;

	/* One of 256 pages goes, of a table's entries: no frame is needed. */
	setup(&pt, GODWIT_MODE_SV39, UP_TO_1G);
	CHECK(gw_pt_map(&pt, 8 * MIB, 16 * MIB, MIB, RW, 18) == GW_PT_OK);
	check_orders(&pt, 1, (const uint32_t[]){ 8 });
	memory.limit = memory.used;
	CHECK(gw_pt_unmap(&pt, 8 * MIB + 55 * PAGE, PAGE, &inval) == GW_PT_OK);
	check_orders(&pt, 8, (const uint32_t[]){ 5, 4, 2, 1, 0, 3, 6, 7 });
	CHECK(inval.count == 1 && ranges[0].va == 8 * MIB && ranges[0].size == MIB && inval.narrowed);
	gw_pt_destroy(&pt);

	/* The same where there are few sizes. */
	setup(&pt, GODWIT_MODE_SV39, 1 | 1 << 6 | 1 << 8);
	CHECK(gw_pt_map(&pt, 8 * MIB, 16 * MIB, MIB, RW, 18) == GW_PT_OK);
	CHECK(gw_pt_unmap(&pt, 8 * MIB + 61 * PAGE, 130 * PAGE, &inval) == GW_PT_OK);
	CHECK(gw_pt_unmap(&pt, 8 * MIB, 59 * PAGE, &inval) == GW_PT_OK);
	check_orders(&pt, 4, (const uint32_t[]){ 0, 0, 0, 6 });
	gw_pt_destroy(&pt);

	/* Of 8 MiB, four entries of a table above, two pages lose a permission: one entry becomes a table. */
	setup(&pt, GODWIT_MODE_SV39, UP_TO_1G);
	inval.count = 0;
	CHECK(gw_pt_map(&pt, 8 * MIB, 16 * MIB, 8 * MIB, RW, 18) == GW_PT_OK && pt.tables == 2);
	memory.limit = memory.used;
	memory_copy(&before, &memory);
	CHECK(gw_pt_protect(&pt, 12 * MIB + 2 * PAGE, 2 * PAGE, GW_PT_READ, &inval) == GW_PT_ENOMEM);
	memory_check_same(&before, &memory);
	memory.limit++;
	CHECK(gw_pt_protect(&pt, 12 * MIB + 2 * PAGE, 2 * PAGE, GW_PT_READ, &inval) == GW_PT_OK && pt.tables == 3);
	check_orders(&pt, 11, (const uint32_t[]){ 10, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9 });
	CHECK(inval.count == 1 && ranges[0].va == 8 * MIB && ranges[0].size == 8 * MIB);
	gw_pt_destroy(&pt);
}

static void test_neighbours_become_a_page_of_any_order_below_1g(void)
{
	struct gw_pt_inval inval = { 0 };
	struct gw_pt pt;

	setup(&pt, GODWIT_MODE_SV39, UP_TO_1G & ~GW_PT_ORDER_BIT(3));
	CHECK(gw_pt_map(&pt, 8 * MIB, 16 * MIB, 2 * MIB, RW, 0) == GW_PT_OK);
	CHECK(gw_pt_map(&pt, 10 * MIB, 18 * MIB, 2 * MIB, RW, 18) == GW_PT_OK);
	CHECK(gw_pt_join(&pt, 8 * MIB, 3, &inval) == GW_PT_EORDER && gw_pt_join(&pt, 8 * MIB, 18, &inval) == GW_PT_EORDER);
	CHECK(gw_pt_join(&pt, 8 * MIB + PAGE, 1, &inval) == GW_PT_EALIGN);
	CHECK(gw_pt_join(&pt, 8 * MIB, 1, &inval) == GW_PT_OK && gw_pt_join(&pt, 8 * MIB + 4 * PAGE, 2, &inval) == GW_PT_OK);
	CHECK(gw_pt_join(&pt, 8 * MIB, 8, &inval) == GW_PT_OK);
	/* A part of what is larger already stays. */
	CHECK(gw_pt_join(&pt, 8 * MIB + 6 * PAGE, 1, &inval) == GW_PT_OK && gw_pt_join(&pt, 10 * MIB + 6 * PAGE, 1, &inval) == GW_PT_OK);
	CHECK(gw_pt_join(&pt, 9 * MIB, 8, &inval) == GW_PT_OK);
	check_orders(&pt, 3, (const uint32_t[]){ 8, 8, 9 });
	/* 4 MiB of two leaves; one is a table still. */
	CHECK(gw_pt_join(&pt, 8 * MIB, 10, &inval) == GW_PT_EAPART && pt.error_va == 8 * MIB);
	CHECK(!inval.tables && gw_pt_join(&pt, 8 * MIB, 9, &inval) == GW_PT_OK && inval.tables == 1);
	CHECK(gw_pt_join(&pt, 8 * MIB, 10, NULL) == GW_PT_OK);
	CHECK(gw_pt_join(&pt, 10 * MIB, 9, NULL) == GW_PT_OK && gw_pt_join(&pt, 10 * MIB, 8, NULL) == GW_PT_OK);
	check_orders(&pt, 1, (const uint32_t[]){ 10 });
	gw_pt_destroy(&pt);

	/* Frames in a row that begin in the middle of where the larger page would be. */
	for (uint32_t order = 2; order < 18; order++) {
		uint64_t size = PAGE << order;

		setup(&pt, GODWIT_MODE_SV39, UP_TO_1G);
		CHECK(gw_pt_map(&pt, size, size / 2, size, RW, order) == GW_PT_OK);
		CHECK(gw_pt_join(&pt, size, order, &inval) == GW_PT_EAPART && pt.error_va == size);
		gw_pt_destroy(&pt);
	}
}

/* Of writes since `before`: each gives an entry that is in use up, or writes one that is not. New tables are not. */
static void check_nothing_in_use_is_rewritten(void)
{
	for (size_t i = 0; i < written.count; i++) {
		uint64_t was = 0, pa = written.writes[i].pa;
		size_t k = i;

		if (!memory_peek(&before, pa, &was))
			continue;
		while (k > 0 && written.writes[k - 1].pa != pa)
			k--;
		if (k > 0)
			was = written.writes[k - 1].pte;
		CHECK(!(was & GODWIT_PTE_V) || !(was & GODWIT_PTE_R) || (was & GODWIT_PTE_FROZEN_BIT) || !written.writes[i].pte);
	}
}

static void test_what_any_entry_of_a_frozen_page_says_is_kept_when_it_is_cut(void)
{
	const uint64_t cuts[][2] = { { 0, 1 }, { 3, 2 }, { 7, 1 }, { 0, 8 } };
	struct gw_pt_inval inval = { 0 };
	struct gw_pt_mapping page;
	struct gw_pt pt;

	for (uint32_t order = 3; order <= 17; order++) {
		uint64_t size = PAGE << order, one = PAGE << 9 * (order / 9), part = size / 8;
		unsigned int level = order / 9;

		for (unsigned int cut = 0; cut < 8; cut++) {
			uint64_t at = size + cuts[cut / 2][0] * part, length = cuts[cut / 2][1] * part;
			bool unmap = cut % 2;

			setup(&pt, GODWIT_MODE_SV39, UP_TO_1G);
			gw_pt_track(&pt);
			CHECK(gw_pt_map(&pt, size, 0, size, RW, 18) == GW_PT_OK);
			/* A in its first entry, D in its last, before and after the freeze. */
			*entry(&pt, size, level) |= GODWIT_PTE_A;
			CHECK(gw_pt_lookup(&pt, size + size / 2, &page) == GW_PT_OK && page.state == GW_PT_ACCESSED);
			CHECK(gw_pt_freeze(&pt, size + size / 2, PAGE, &inval) == GW_PT_OK);
			*entry(&pt, 2 * size - PAGE, level) |= GODWIT_PTE_A | GODWIT_PTE_D;
			for (uint64_t va = size; va < 2 * size; va += one)
				CHECK(*entry(&pt, va, level) & GODWIT_PTE_FROZEN_BIT);
			CHECK(gw_pt_lookup(&pt, size, &page) == GW_PT_OK && page.order == order);
			CHECK(page.state == (GW_PT_ACCESSED | GW_PT_DIRTY | GW_PT_FROZEN));

			memory_copy(&before, &memory);
			written.count = 0;
			memory.log = &written;
			if (unmap)
				CHECK(gw_pt_unmap(&pt, at, length, &inval) == GW_PT_OK);
			else
				CHECK(gw_pt_protect(&pt, at, length, GW_PT_READ, &inval) == GW_PT_OK);
			memory.log = NULL;
			check_nothing_in_use_is_rewritten();
			CHECK(gw_pt_check(&pt, NULL) == GW_PT_OK);
			for (uint64_t va = size; va < 2 * size; va += part) {
				bool inside = va >= at && va < at + length;

				CHECK(gw_pt_lookup(&pt, va, &page) == (inside && unmap ? GW_PT_ENOENT : GW_PT_OK));
				if (inside && unmap)
					continue;
				CHECK(page.state == (GW_PT_ACCESSED | GW_PT_DIRTY) && page.perm == (inside ? GW_PT_READ : RW));
				CHECK(page.pa + (va - page.va) == va - size);
			}
			gw_pt_destroy(&pt);
		}
	}
}

static void test_thawing_gives_all_entries_of_a_page_back(void)
{
	struct gw_pt_mapping page;
	struct gw_pt pt;

	for (uint32_t order = 0; order <= 18; order++) {
		uint64_t size = PAGE << order;

		for (int clear = 0; clear < 2; clear++) {
			setup(&pt, GODWIT_MODE_SV39, UP_TO_1G);
			gw_pt_track(&pt);
			CHECK(gw_pt_map_as(&pt, size, size, size, RW, 18, GW_PT_ACCESSED | GW_PT_DIRTY) == GW_PT_OK);
			CHECK(gw_pt_freeze(&pt, 2 * size - PAGE, PAGE, NULL) == GW_PT_OK);
			CHECK(gw_pt_thaw(&pt, size, PAGE, clear) == GW_PT_OK);
			CHECK(gw_pt_lookup(&pt, size, &page) == GW_PT_OK && page.order == order);
			CHECK(page.state == (clear ? 0 : GW_PT_ACCESSED | GW_PT_DIRTY));
			gw_pt_destroy(&pt);
		}
	}
}

static void test_ageing_takes_a_from_all_entries_of_a_page(void)
{
	struct gw_pt_range range;
	struct gw_pt_mapping page;
	struct gw_pt pt;

	for (uint32_t order = 0; order <= 18; order++) {
		uint64_t size = PAGE << order, writes;
		struct gw_pt_inval inval = { .ranges = &range, .capacity = 1 };

		setup(&pt, GODWIT_MODE_SV39, UP_TO_1G);
		gw_pt_track(&pt);
		CHECK(gw_pt_map(&pt, size, size, size, RW, 18) == GW_PT_OK);
		writes = memory.writes;
		CHECK(gw_pt_age(&pt, size, PAGE, &inval) == GW_PT_OK && memory.writes == writes && inval.count == 0);
		*entry(&pt, size, order / 9) |= GODWIT_PTE_A | GODWIT_PTE_D;
		*entry(&pt, 2 * size - PAGE, order / 9) |= GODWIT_PTE_A;
		CHECK(gw_pt_age(&pt, size + size / 2 / PAGE * PAGE, PAGE, &inval) == GW_PT_OK);
		CHECK(gw_pt_lookup(&pt, size, &page) == GW_PT_OK && page.order == order && page.state == GW_PT_DIRTY);
		CHECK(inval.count == 1 && range.va == size && range.size == size && !inval.narrowed);
		gw_pt_destroy(&pt);
	}
}

static void test_entries_that_are_not_of_one_page_are_refused(void)
{
	const uint64_t first = 8 * MIB, at = first + 3 * PAGE;
	uint64_t wrong[5];
	struct gw_pt pt;

	for (unsigned int i = 0; i < 5; i++) {
		setup(&pt, GODWIT_MODE_SV39, 1 | 1 << 3 | 1 << 4);
		CHECK(gw_pt_map(&pt, first, first, 8 * PAGE, RW, 18) == GW_PT_OK);
		wrong[0] = 0;
		wrong[1] = *entry(&pt, at, 0) & ~GODWIT_PTE_W & ~GODWIT_PTE_D;
		wrong[2] = *entry(&pt, at, 0) & ~GODWIT_PTE_N;
		wrong[3] = *entry(&pt, at, 0) ^ (uint64_t)0xc << 10; /* says 64 KiB */
		wrong[4] = *entry(&pt, at, 0) ^ (uint64_t)0x6 << 10; /* says 16 KiB, which this table has not */
		*entry(&pt, at, 0) = wrong[i];
		memory_copy(&before, &memory);
		CHECK(gw_pt_check(&pt, NULL) == GW_PT_ECORRUPT && pt.error_va == at);
		CHECK(gw_pt_unmap(&pt, first + PAGE, 4 * PAGE, NULL) == GW_PT_ECORRUPT && pt.error_va == at);
		CHECK(gw_pt_protect(&pt, first, 8 * PAGE, GW_PT_READ, NULL) == GW_PT_ECORRUPT && pt.error_va == at);
		memory_check_same(&before, &memory);
	}
	/* A page that begins in its middle. */
	setup(&pt, GODWIT_MODE_SV39, UP_TO_1G);
	CHECK(gw_pt_map(&pt, first, first, 8 * PAGE, RW, 18) == GW_PT_OK);
	for (uint64_t va = first; va < first + 4 * PAGE; va += PAGE)
		*entry(&pt, va, 0) = 0;
	CHECK(gw_pt_check(&pt, NULL) == GW_PT_ECORRUPT && pt.error_va == first + 4 * PAGE);

	/* By default N means 64 KiB, in the lowest tables alone. */
	memory_reset(&memory, MEMORY_FRAMES);
	CHECK(gw_pt_init(&pt, &memory_ops, &memory, GODWIT_MODE_SV39) == GW_PT_OK && pt.orders == 0x40211);
	CHECK(gw_pt_map(&pt, first, first, 4 * MIB, RW, 9) == GW_PT_OK);
	*entry(&pt, first, 1) |= GODWIT_PTE_N | (uint64_t)1 << (10 + 9 + 3);
	CHECK(gw_pt_check(&pt, NULL) == GW_PT_ECORRUPT && pt.error_va == first);
}

void test_orders(void)
{
	test_a_set_of_orders_has_what_a_cut_page_leaves();
	test_a_page_of_each_order_fills_its_entries();
	test_a_page_that_is_cut_leaves_the_largest_there_are();
	test_neighbours_become_a_page_of_any_order_below_1g();
	test_what_any_entry_of_a_frozen_page_says_is_kept_when_it_is_cut();
	test_thawing_gives_all_entries_of_a_page_back();
	test_ageing_takes_a_from_all_entries_of_a_page();
	test_entries_that_are_not_of_one_page_are_refused();
}
