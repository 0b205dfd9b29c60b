// SPDX-License-Identifier: Apache-2.0
/* Unit tests of eviction: which group leaves, case by case. */
#include "test_svm.h"

#include <godwit/evict.h>

#include <string.h>

static bool used[8];

static bool accessed(void *ctx, uint32_t group)
{
	bool was = used[group];

	(void)ctx;
	used[group] = false;
	return was;
}

static uint32_t evict(struct gw_evict *e, bool for_prefetch)
{
	uint32_t group = gw_evict_choose(e, for_prefetch, GW_EVICT_NONE, accessed, NULL);

	if (group != GW_EVICT_NONE)
		CHECK(gw_evict_removed(e, group) == 16);
	CHECK(gw_evict_check(e));
	return group;
}

static void a_loop_keeps_most_of_the_memory(void)
{
	struct gw_evict_node nodes[8] = { 0 };
	struct gw_evict e;
	uint32_t faults = 0;

	/* Room for 6 of 8 groups: least recently used would fault 8 times a round, the least possible is 2.4. */
	gw_evict_init(&e, nodes, 8, 96);
	for (uint32_t round = 0; round < 100; round++) {
		for (uint32_t group = 0; group < 8; group++) {
			used[group] = true;
			if (nodes[group].queue != GW_EVICT_AWAY)
				continue;
			faults++;
			while (gw_evict_pages(&e) + 16 > 96)
				CHECK(evict(&e, false) != GW_EVICT_NONE);
			/* Page by page: those behind the first one do not make it look as if it had just been used. */
			for (uint32_t page = 0; page < 16; page++)
				CHECK(gw_evict_added(&e, group, 1, true));
		}
	}
	CHECK(faults < 8 + 100 * 4);
}

/* Rounds over so many of 40 groups from `first` on, page by page, in a device that has room for 32, without A bits; groups that had to come. */
static uint32_t rounds_without_a_bits(struct gw_evict *e, uint32_t first, uint32_t groups, uint32_t rounds)
{
	uint32_t faults = 0;

	for (uint32_t at = 0; at < rounds * groups; at++) {
		uint32_t group = first + at % groups;

		if (e->nodes[group].queue != GW_EVICT_AWAY)
			continue;
		faults++;
		while (gw_evict_pages(e) + 16 > 512) {
			uint32_t victim = gw_evict_choose(e, false, GW_EVICT_NONE, NULL, NULL);

			CHECK(victim != GW_EVICT_NONE && gw_evict_removed(e, victim) == 16);
		}
		for (uint32_t page = 0; page < 16; page++)
			CHECK(gw_evict_added(e, group, 1, true));
		CHECK(gw_evict_check(e));
	}
	return faults;
}

static void without_a_bits_a_loop_keeps_its_memory_and_gives_it_up_when_it_ends(void)
{
	struct gw_evict_node nodes[80] = { 0 };
	struct gw_evict e;

	gw_evict_init(&e, nodes, 80, 512);
	/* Least recently used would fault 40 times a round, the least possible is 9. */
	CHECK(rounds_without_a_bits(&e, 0, 40, 50) < 40 + 50 * 12);
	/* Others that fit: what the loop had goes, one for eight that come. */
	CHECK(rounds_without_a_bits(&e, 40, 28, 200) < 2000);
	CHECK(rounds_without_a_bits(&e, 40, 28, 10) < 20);
}

/*
 * Rounds over so many groups, several at a time, without A bits, in a device that has room for 512 pages: room is made for a
 * batch before any of it comes. Groups that had to come.
 */
static uint32_t rounds_in_batches(struct gw_evict *e, uint32_t groups, uint32_t rounds, uint32_t together)
{
	uint32_t faults = 0;

	for (uint32_t at = 0; at < rounds * groups;) {
		uint32_t batch[8], count = 0;

		for (; at < rounds * groups && count < together; at++)
			if (e->nodes[at % groups].queue == GW_EVICT_AWAY)
				batch[count++] = at % groups;
			else if (count)
				break;
		if (gw_evict_pages(e) + 16 * count > 512)
			gw_evict_coming(e, 16 * count);
		while (gw_evict_pages(e) + 16 * count > 512) {
			uint32_t victim = gw_evict_choose(e, false, GW_EVICT_NONE, NULL, NULL);

			CHECK(victim != GW_EVICT_NONE && gw_evict_removed(e, victim) == 16);
		}
		for (uint32_t i = 0; i < count; i++)
			CHECK(gw_evict_added(e, batch[i], 16, true));
		CHECK(gw_evict_check(e));
		faults += count;
	}
	return faults;
}

static void batches_push_out_those_before_them_and_not_what_is_kept(void)
{
	for (uint32_t together = 1; together <= 4; together++) {
		struct gw_evict_node nodes[64] = { 0 };
		struct gw_evict e;

		/* Twice the memory: the least is 32 a round, least recently used has 64. Two batches pass, a quarter of the memory at most. */
		gw_evict_init(&e, nodes, 64, 512);
		CHECK(rounds_in_batches(&e, 64, 20, together) <= 64 + 19 * (34 + 3 * together));
	}
}

static void what_is_replaced_for_nothing_makes_it_rare_and_what_nobody_misses_makes_it_common(void)
{
	struct gw_evict_node nodes[80] = { 0 };
	struct gw_evict e;

	gw_evict_init(&e, nodes, 80, 512);
	rounds_without_a_bits(&e, 0, 40, 50);
	CHECK(e.share >= 8);
	/* Other groups that fit: in a few rounds they are what is kept. */
	CHECK(rounds_without_a_bits(&e, 40, 28, 50) < 28 * 8);
	CHECK(e.share == 1);
	CHECK(rounds_without_a_bits(&e, 40, 28, 10) == 0);
}

static void a_group_that_could_not_leave_is_there(void)
{
	struct gw_evict_node nodes[4] = { 0 };
	struct gw_evict e;

	gw_evict_init(&e, nodes, 4, 64);
	CHECK(gw_evict_added(&e, 0, 16, true) && gw_evict_added(&e, 1, 16, true));
	CHECK(!gw_evict_spared(&e, 0, 16) && !gw_evict_spared(&e, 2, 0) && !gw_evict_spared(&e, 4, 1));
	CHECK(gw_evict_choose(&e, false, GW_EVICT_NONE, NULL, NULL) == 0 && gw_evict_removed(&e, 0) == 16);
	CHECK(gw_evict_spared(&e, 0, 16) && gw_evict_pages(&e) == 32 && gw_evict_check(&e));
}

static void a_device_that_shrinks_keeps_less(void)
{
	struct gw_evict_node nodes[40] = { 0 };
	struct gw_evict e;
	uint32_t faults;

	/* Told of a memory that is never full, it keeps whatever comes, and a loop loses all of it. */
	gw_evict_init(&e, nodes, 40, 1 << 20);
	CHECK(rounds_without_a_bits(&e, 0, 40, 10) == 400);
	gw_evict_resize(&e, 512);
	rounds_without_a_bits(&e, 0, 40, 10);
	faults = rounds_without_a_bits(&e, 0, 40, 20);
	CHECK(faults < 20 * 12);
}

static bool is_new(void *ctx, uint32_t group)
{
	(void)ctx;
	return group >= 32;
}

static void what_is_still_used_while_it_passes_replaces_nothing_that_is_kept(void)
{
	static struct gw_evict_node nodes[200];
	struct gw_evict e;

	gw_evict_init(&e, nodes, 200, 512);
	/* Nobody uses what came first; all that comes later is used for as long as it is there, and never again. */
	for (uint32_t group = 0; group < 200; group++) {
		gw_evict_coming(&e, 64);
		while (gw_evict_pages(&e) + 16 > 512) {
			uint32_t victim = gw_evict_choose(&e, false, GW_EVICT_NONE, is_new, NULL);

			CHECK(gw_evict_removed(&e, victim) == 16);
		}
		CHECK(gw_evict_added(&e, group, 16, true) && gw_evict_check(&e));
	}
	/* Two batches pass, a quarter of the memory; the rest is kept. */
	for (uint32_t group = 0; group < 24; group++)
		CHECK(nodes[group].queue == GW_EVICT_KEPT);
}

static void a_prefetch_takes_room_from_unused_prefetches_only(void)
{
	struct gw_evict_node nodes[8] = { 0 };
	struct gw_evict e;

	memset(used, 0, sizeof(used));
	gw_evict_init(&e, nodes, 8, 64);
	CHECK(gw_evict_added(&e, 0, 16, true) && gw_evict_added(&e, 1, 16, true));
	CHECK(evict(&e, true) == GW_EVICT_NONE);
	CHECK(gw_evict_added(&e, 2, 16, false) && gw_evict_added(&e, 3, 16, false));
	used[2] = true;
	CHECK(gw_evict_added(&e, 4, 16, false));
	CHECK(evict(&e, true) == 3);
	CHECK(evict(&e, true) == GW_EVICT_NONE);
	CHECK(gw_evict_pages(&e) == 64);
}

static void bad_calls_change_nothing(void)
{
	struct gw_evict_node nodes[2] = { 0 };
	struct gw_evict e;

	gw_evict_init(&e, nodes, 2, 64);
	CHECK(!gw_evict_added(&e, 2, 1, true) && !gw_evict_added(&e, 0, 0, true) && !gw_evict_added(&e, 0, 65536, true));
	CHECK(gw_evict_removed(&e, 0) == 0 && gw_evict_removed(&e, 9) == 0);
	CHECK(evict(&e, false) == GW_EVICT_NONE);
	CHECK(gw_evict_added(&e, 1, 16, true));
	CHECK(gw_evict_choose(&e, false, 1, accessed, NULL) == GW_EVICT_NONE);
	CHECK(gw_evict_choose(&e, false, 0, accessed, NULL) == 1);
	nodes[1].pages = 3;
	CHECK(!gw_evict_check(&e));
}

void test_evict(void)
{
	a_loop_keeps_most_of_the_memory();
	batches_push_out_those_before_them_and_not_what_is_kept();
	what_is_replaced_for_nothing_makes_it_rare_and_what_nobody_misses_makes_it_common();
	a_group_that_could_not_leave_is_there();
	without_a_bits_a_loop_keeps_its_memory_and_gives_it_up_when_it_ends();
	a_device_that_shrinks_keeps_less();
	what_is_still_used_while_it_passes_replaces_nothing_that_is_kept();
	a_prefetch_takes_room_from_unused_prefetches_only();
	bad_calls_change_nothing();
}
