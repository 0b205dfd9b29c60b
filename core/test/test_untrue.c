// SPDX-License-Identifier: Apache-2.0
/* Tables in memory that says something else than was written there: of a card that was pulled out, is being reset, or lies. */
#include <godwit/pt.h>
#include <godwit_layout.h>

#include "memory.h"
#include "test_pt.h"

#define PAGE ((uint64_t)GODWIT_PT_PAGE_SIZE)
#define HUGE_PAGE (512 * PAGE)
/* An entry for a page from 0 on, whatever the level. */
#define LEAF (GODWIT_PTE_V | GODWIT_PTE_R | GODWIT_PTE_U | GODWIT_PTE_A)

static struct memory memory, before;

/* Eight pages in one table. */
static void setup(struct gw_pt *pt)
{
	memory_reset(&memory, MEMORY_FRAMES);
	CHECK(gw_pt_init(pt, &memory_ops, &memory, GODWIT_MODE_SV48) == GW_PT_OK);
	CHECK(gw_pt_map(pt, 0, 0, 8 * PAGE, GW_PT_READ, 0) == GW_PT_OK);
	memory_copy(&before, &memory);
}

static void teardown(struct gw_pt *pt)
{
	memory.reads_left = 0;
	memory.dice = 0;
	gw_pt_destroy(pt);
}

/* The read before which there were so many others is answered by @lie; none after it if @once. */
static void lie(uint64_t reads, uint64_t answer, bool once)
{
	memory.reads_left = reads + 1;
	memory.lie = answer;
	memory.once = once;
}

static int call(struct gw_pt *pt, unsigned int which)
{
	switch (which) {
	case 0:
		return gw_pt_map(pt, 8 * PAGE, 8 * PAGE, 8 * PAGE, GW_PT_READ, 0);
	case 1:
		return gw_pt_map(pt, HUGE_PAGE - PAGE, 0, HUGE_PAGE, GW_PT_READ, 0);
	case 2:
		return gw_pt_unmap(pt, PAGE, 7 * PAGE, NULL);
	case 3:
		return gw_pt_protect(pt, 0, 8 * PAGE, GW_PT_READ | GW_PT_WRITE, NULL);
	default:
		return gw_pt_join(pt, 0, GW_PT_ORDER_2M, NULL);
	}
}

/* Between the plan of a change and the change, too. What cannot be found any more is lost to the liar, and to nobody else. */
static void test_every_call_ends(void)
{
	const uint64_t answers[] = { ~(uint64_t)0, 0, LEAF, 0x40000, GODWIT_PTE_V | 0x40000 >> 2 };
	struct gw_pt pt;

	for (unsigned int i = 0; i < 2 * sizeof(answers) / sizeof(answers[0]); i++) {
		for (uint64_t reads = 0; reads < 60; reads++) {
			for (unsigned int which = 0; which < 5; which++) {
				setup(&pt);
				/* Ones are no frame's address: nothing is written but into tables. */
				memory.lenient = i > 1;
				lie(reads, answers[i / 2], i & 1);
				(void)call(&pt, which);
				teardown(&pt);
				CHECK(pt.tables == 0);
			}
		}
	}
}

/* The plan takes four reads, and so the fifth is the first of the change. */
static void test_a_table_that_is_no_more_takes_no_frame_that_nobody_reserved(void)
{
	struct gw_pt_inval inval = { 0 };
	struct gw_pt pt;

	setup(&pt);
	lie(4, 0, true);
	CHECK(gw_pt_map(&pt, 8 * PAGE, 8 * PAGE, PAGE, GW_PT_READ, 0) == GW_PT_ECORRUPT && pt.error_va == 8 * PAGE);
	memory_check_same(&before, &memory);
	lie(4, LEAF, true);
	CHECK(gw_pt_unmap(&pt, 0, PAGE, &inval) == GW_PT_ECORRUPT && pt.error_va == 0);
	memory_check_same(&before, &memory);
	lie(4, 0, true);
	CHECK(gw_pt_protect(&pt, PAGE, PAGE, GW_PT_READ | GW_PT_WRITE, &inval) == GW_PT_ECORRUPT && pt.error_va == PAGE);
	memory_check_same(&before, &memory);
	CHECK(gw_pt_check(&pt, NULL) == GW_PT_OK);
	teardown(&pt);
	CHECK(memory.used == 0);
}

/* The plan saw no table for the second 2 MiB, and has a frame for one; then there is one. */
static void test_frames_that_are_left_over_are_given_back(void)
{
	struct gw_pt pt;
	uint64_t table;

	setup(&pt);
	CHECK(memory_peek(&memory, pt.root, &table));
	for (int i = 0; i < 2; i++)
		CHECK(memory_peek(&memory, table >> GODWIT_PTE_PPN_SHIFT << GODWIT_PT_PAGE_SHIFT, &table));
	/* Three reads of the plan, one that takes the frame from the stack in vain, and two down to the entry. */
	lie(5, table, true);
	CHECK(gw_pt_map(&pt, HUGE_PAGE + 8 * PAGE, 0, PAGE, GW_PT_READ, 0) == GW_PT_ECORRUPT);
	CHECK(memory.used == 4 && pt.tables == 4);
	teardown(&pt);
	CHECK(memory.used == 0);
}

/* A table full of links to itself is as many tables as were made, and no more. */
static void test_the_end_of_a_table_frees_as_many_as_there_are(void)
{
	struct gw_pt pt;

	setup(&pt);
	memory.lenient = true;
	for (uint64_t i = 0; i < 512; i++)
		*memory_entry(&memory, pt.root + 8 * i) = pt.root >> GODWIT_PT_PAGE_SHIFT << GODWIT_PTE_PPN_SHIFT | GODWIT_PTE_V;
	memory.dice = 0;
	CHECK(pt.tables == 4);
	gw_pt_destroy(&pt);
	CHECK(pt.tables == 0 && memory.used == 3);
}

void test_untrue(void)
{
	test_every_call_ends();
	test_a_table_that_is_no_more_takes_no_frame_that_nobody_reserved();
	test_frames_that_are_left_over_are_given_back();
	test_the_end_of_a_table_frees_as_many_as_there_are();
}
