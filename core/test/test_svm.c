// SPDX-License-Identifier: Apache-2.0
/* Unit tests of fault coalescing, prefetch and stays: what they decide, case by case. Those of eviction are in test_evict.c. */
#include "test_svm.h"

#include <godwit/fault.h>
#include <godwit/prefetch.h>
#include <godwit/stay.h>

#include <string.h>

static void a_batch_becomes_aligned_groups(void)
{
	/* Pages 4 to 10 of one context in any order, 6 twice; page 11 belongs to another one. */
	struct gw_fault faults[] = {
		{ 9, 1, 0, 0 }, { 4, 1, 1, 0 }, { 11, 2, 2, 0 }, { 6, 1, 3, 0 }, { 8, 1, 4, 0 },
		{ 5, 1, 5, 0 }, { 6, 1, 6, GW_FAULT_WRITE }, { 10, 1, 7, 0 }, { 7, 1, 8, 0 },
	};
	struct gw_fault_group groups[9];
	struct gw_fault_stats stats;

	CHECK(gw_fault_coalesce(faults, 9, GW_FAULT_MAX_ORDER, groups, &stats) == 4);
	CHECK(groups[0].page == 4 && groups[0].order == 2 && groups[0].count == 5 && groups[0].first == 0);
	CHECK(groups[0].flags == GW_FAULT_WRITE);
	CHECK(groups[1].page == 8 && groups[1].order == 1 && groups[1].count == 2 && !groups[1].flags);
	CHECK(groups[2].page == 10 && groups[2].order == 0);
	CHECK(groups[3].page == 11 && groups[3].context == 2);
	CHECK(stats.groups == 4 && stats.pages == 8 && stats.duplicates == 1 && stats.answers == 9);
}

static void a_request_is_answered_once(void)
{
	struct gw_fault faults[] = { { 3, 1, 7, 0 }, { 3, 1, 8, 0 }, { 3, 1, 7, 0 }, { 3, 1, 7, 0 } };
	struct gw_fault_group groups[4];
	struct gw_fault_stats stats;

	CHECK(gw_fault_coalesce(faults, 4, 0, groups, &stats) == 1);
	CHECK(groups[0].count == 4 && stats.answers == 2 && stats.duplicates == 3);
	CHECK(!(faults[0].flags & GW_FAULT_REPEAT) && (faults[1].flags & GW_FAULT_REPEAT));
	CHECK((faults[2].flags & GW_FAULT_REPEAT) && !(faults[3].flags & GW_FAULT_REPEAT));
}

static void groups_end_at_the_largest_allowed_and_an_empty_batch_is_none(void)
{
	struct gw_fault faults[1024];
	struct gw_fault_group groups[1024];

	CHECK(gw_fault_coalesce(faults, 0, 9, groups, NULL) == 0);
	for (uint32_t i = 0; i < 1024; i++)
		faults[i] = (struct gw_fault){ .page = 1023 - i, .context = 5, .tag = i };
	CHECK(gw_fault_coalesce(faults, 1024, 99, groups, NULL) == 2);
	CHECK(groups[0].order == 9 && groups[1].page == 512);
	CHECK(gw_fault_coalesce(faults, 1024, 4, groups, NULL) == 64);
}

static void use(struct gw_prefetch_block *block, uint32_t page)
{
	block->used[page / 64] |= (uint64_t)1 << page % 64;
	block->resident[page / 64] |= (uint64_t)1 << page % 64;
}

static struct gw_prefetch_plan ask(struct gw_prefetch *p, struct gw_prefetch_block *block, uint64_t page)
{
	const struct gw_prefetch_fault fault = { .page = page, .first = 100, .last = 99999, .context = 1 };
	struct gw_prefetch_plan plan;

	block->used[page % 512 / 64] |= (uint64_t)1 << page % 64;
	gw_prefetch_plan(p, &fault, block, &plan);
	return plan;
}

static bool is(struct gw_prefetch_plan plan, uint64_t page, int64_t stride, uint32_t count)
{
	return plan.page == page && plan.stride == stride && plan.count == count;
}

static void one_fault_brings_what_it_is_worth(void)
{
	struct gw_prefetch p;
	struct gw_prefetch_block block = { 0 };

	gw_prefetch_init(&p, 16, 4096);
	CHECK(is(ask(&p, &block, 1024 + 37), 1024 + 32, 1, 16));
	/* Never beyond the limits. */
	memset(&block, 0, sizeof(block));
	CHECK(is(ask(&p, &block, 101), 100, 1, 12));
	gw_prefetch_init(&p, 0, 0);
	memset(&block, 0, sizeof(block));
	CHECK(is(ask(&p, &block, 1024), 1024, 1, 1));
}

static void pages_used_make_the_part_grow_and_those_in_vain_do_not(void)
{
	struct gw_prefetch p;
	struct gw_prefetch_block block = { 0 };

	gw_prefetch_init(&p, 16, 4096);
	use(&block, 3);
	use(&block, 9);
	use(&block, 22);
	use(&block, 40);
	block.resident[0] = ~(uint64_t)0;
	CHECK(is(ask(&p, &block, 512 + 100), 512, 1, 128)); /* more than one in 32 */
	memset(&block, 0, sizeof(block));
	block.resident[0] = ~(uint64_t)0;
	CHECK(is(ask(&p, &block, 1024 + 100), 1024 + 96, 1, 16));
}

static void what_came_back_unused_makes_faults_worth_less(void)
{
	struct gw_prefetch p;
	struct gw_prefetch_block block = { 0 };

	gw_prefetch_init(&p, 16, 4096);
	gw_prefetch_returned(&p, 1000, 0);
	CHECK(is(ask(&p, &block, 1024 + 37), 1024 + 37, 1, 1));
	for (int i = 0; i < 20; i++)
		gw_prefetch_returned(&p, 1000, 1000);
	memset(&block, 0, sizeof(block));
	CHECK(is(ask(&p, &block, 2048 + 37), 2048 + 32, 1, 16));
}

static void a_stream_is_followed_across_blocks(void)
{
	struct gw_prefetch p;
	struct gw_prefetch_block block = { 0 };

	gw_prefetch_init(&p, 16, 4096);
	for (uint32_t i = 0; i < 16; i++)
		use(&block, 480 + i);
	CHECK(is(ask(&p, &block, 1024 + 496), 1520, 1, 16));
	memset(&block, 0, sizeof(block));
	CHECK(is(ask(&p, &block, 1536), 1536, 1, 64));
	CHECK(is(ask(&p, &block, 1600), 1600, 1, 256));
	memset(&block, 0, sizeof(block));
	CHECK(is(ask(&p, &block, 1856), 1856, 1, 1024));
}

static void a_stride_moves_nothing_between(void)
{
	struct gw_prefetch p;
	struct gw_prefetch_block block = { 0 };

	gw_prefetch_init(&p, 16, 4096);
	for (uint32_t i = 0; i < 4; i++)
		use(&block, 37 * i);
	CHECK(is(ask(&p, &block, 1024 + 148), 1024 + 148, 37, 16));
	CHECK(is(ask(&p, &block, 1024 + 148 + 16 * 37), 1024 + 148 + 16 * 37, 37, 64));
	/* Downwards: its pages lie above and are resident. */
	gw_prefetch_init(&p, 16, 4096);
	memset(&block, 0, sizeof(block));
	for (uint32_t i = 0; i < 4; i++)
		use(&block, 500 - 20 * i);
	CHECK(is(ask(&p, &block, 1024 + 420), 1024 + 420, -20, 16));
	/* Upwards within one batch: they lie above and are not there. */
	gw_prefetch_init(&p, 16, 4096);
	memset(&block, 0, sizeof(block));
	for (uint32_t i = 0; i < 16; i++)
		block.used[0] |= (uint64_t)1 << 4 * i;
	CHECK(is(ask(&p, &block, 1024), 1024, 4, 16));
}

static void a_plan_that_was_cut_is_followed_by_a_smaller_one(void)
{
	struct gw_prefetch p;
	struct gw_prefetch_block block = { 0 };

	gw_prefetch_init(&p, 16, 4096);
	for (uint32_t i = 0; i < 4; i++)
		use(&block, i);
	CHECK(is(ask(&p, &block, 512 + 4), 516, 1, 16));
	CHECK(is(ask(&p, &block, 512 + 20), 532, 1, 64));
	CHECK(is(ask(&p, &block, 512 + 84), 596, 1, 256));
	/* Twenty pages of it came. */
	CHECK(is(ask(&p, &block, 512 + 104), 616, 1, 64));
	CHECK(is(ask(&p, &block, 512 + 110), 622, 1, 16));
	CHECK(is(ask(&p, &block, 512 + 111), 623, 1, 16));
}

static void used_pages_before_others_that_are_there_are_no_stream(void)
{
	struct gw_prefetch p;
	struct gw_prefetch_block block = { 0 };

	gw_prefetch_init(&p, 16, 4096);
	for (uint32_t i = 0; i < 4; i++)
		use(&block, i);
	use(&block, 7);
	CHECK(!ask(&p, &block, 512 + 4).stream);
	memset(&block, 0, sizeof(block));
	for (uint32_t i = 0; i < 4; i++)
		use(&block, i);
	use(&block, 9);
	CHECK(ask(&p, &block, 512 + 4).stream);
}

static void streams_begin_small_when_memory_is_full(void)
{
	struct gw_prefetch p;
	struct gw_prefetch_block block = { 0 };

	gw_prefetch_init(&p, 16, 4096);
	gw_prefetch_limit(&p, 31, true);
	for (uint32_t i = 0; i < 4; i++)
		use(&block, i);
	CHECK(is(ask(&p, &block, 512 + 4), 516, 1, 2));
	CHECK(is(ask(&p, &block, 512 + 6), 518, 1, 8));
	CHECK(is(ask(&p, &block, 512 + 14), 526, 1, 31));
	CHECK(is(ask(&p, &block, 512 + 45), 557, 1, 31));
	/* Cut, and cut again: pages are used in no order, and near ones come. */
	CHECK(is(ask(&p, &block, 512 + 50), 562, 1, 7) && is(ask(&p, &block, 512 + 52), 564, 1, 2));
	CHECK(!ask(&p, &block, 512 + 53).stream);
}

static void distances_beyond_a_block_are_seen_in_the_faults(void)
{
	struct gw_prefetch p;

	gw_prefetch_init(&p, 16, 4096);
	for (uint32_t i = 0; i < 4; i++) {
		struct gw_prefetch_block block = { 0 };
		struct gw_prefetch_plan plan = ask(&p, &block, 1000 + 700 * i);

		CHECK(plan.stride == (i == 3 ? 700 : 1));
	}
}

static void streams_that_go_on_in_turn_are_expected_to(void)
{
	struct gw_prefetch p;
	struct gw_prefetch_block block = { 0 };
	uint64_t a = 1028, b = 40964, page;
	uint32_t window = 16, since;

	gw_prefetch_init(&p, 16, 4096);
	for (uint32_t i = 0; i < 4; i++)
		use(&block, i);
	CHECK(!gw_prefetch_expect(&p, 1, 0, &page));
	CHECK(is(ask(&p, &block, a), a, 1, window) && !gw_prefetch_expect(&p, 1, 0, &page));
	since = gw_prefetch_time(&p);
	CHECK(is(ask(&p, &block, b), b, 1, window) && !gw_prefetch_expect(&p, 1, since, &page));
	memset(&block, 0, sizeof(block));
	/* Four times without being asked for. */
	for (uint32_t i = 0; i < 4; i++) {
		a += window;
		b += window;
		window *= 4;
		since = gw_prefetch_time(&p);
		CHECK(is(ask(&p, &block, a), a, 1, window));
		CHECK(!gw_prefetch_expect(&p, 2, since, &page));
		CHECK(gw_prefetch_expect(&p, 1, since, &page) && page == b);
		CHECK(is(ask(&p, &block, b), b, 1, window) && !gw_prefetch_expect(&p, 1, since, &page));
	}
	since = gw_prefetch_time(&p);
	CHECK(ask(&p, &block, a += window).stream && !gw_prefetch_expect(&p, 1, since, &page));
	CHECK(ask(&p, &block, b += window).stream);
	since = gw_prefetch_time(&p);
	CHECK(ask(&p, &block, a += window).stream && gw_prefetch_expect(&p, 1, since, &page) && page == b + window);
	/* What goes on alone goes with no other. */
	since = gw_prefetch_time(&p);
	CHECK(ask(&p, &block, a += window).stream && !gw_prefetch_expect(&p, 1, since, &page));
}

/* A line costs 2; moving costs 100 more at the begin of a stay, and 300 in it. */
static const struct gw_stay_costs COSTS = { .line = 2, .begin = 100, .move = 300 };

/* A stay of so many lines in place, ended by the host; whether the group moved, and where it began. */
static bool stay(struct gw_stay *s, uint32_t lines, enum gw_stay_place *began)
{
	gw_stay_begin(s);
	*began = s->place;
	gw_stay_crossed(s, lines);
	if (gw_stay_due(s, &COSTS))
		gw_stay_moved(s);
	bool moved = s->place == GW_STAY_DEVICE;
	gw_stay_end(s, &COSTS, false, 0);
	CHECK(s->place == GW_STAY_HOME);
	return moved;
}

static void a_group_moves_when_its_lines_have_cost_what_moving_costs(void)
{
	struct gw_stay s = { 0 };
	enum gw_stay_place began;

	CHECK(!stay(&s, 49, &began) && began == GW_STAY_IN_PLACE);
	/* Less than the move, more than moving at the begin: the next stay begins on the device, this one does not move. */
	CHECK(!stay(&s, 149, &began) && began == GW_STAY_IN_PLACE);
	CHECK(stay(&s, 0, &began) && began == GW_STAY_DEVICE);

	struct gw_stay other = { 0 };
	CHECK(stay(&other, 150, &began) && began == GW_STAY_IN_PLACE);
	CHECK(stay(&other, 0, &began) && began == GW_STAY_DEVICE);
}

static void now_and_then_a_stay_looks_whether_it_still_pays(void)
{
	struct gw_stay s = { 0 };
	enum gw_stay_place began;
	uint32_t at[4], looks = 0;

	stay(&s, 1000, &began);
	for (uint32_t i = 0; looks < 4; i++) {
		/* A look moves for what moving at the begin would have cost. */
		CHECK(stay(&s, 50, &began));
		if (began == GW_STAY_IN_PLACE)
			at[looks++] = i;
	}
	CHECK(at[0] == 16 && at[1] - at[0] == 33 && at[2] - at[1] == 65 && at[3] - at[2] == 65);
	/* It does not any more: the group stays where it is from then on. */
	do
		stay(&s, 49, &began);
	while (began == GW_STAY_DEVICE);
	for (uint32_t i = 0; i < 100; i++)
		CHECK(!stay(&s, 49, &began) && began == GW_STAY_IN_PLACE);
}

static void what_nobody_reported_is_asked_for_now_and_then(void)
{
	struct gw_stay s = { 0 };
	uint32_t asked[3], count = 0;

	CHECK(!gw_stay_wants_lines(&s));
	for (uint32_t i = 0; count < 3; i++) {
		gw_stay_begin(&s);
		if (gw_stay_wants_lines(&s))
			asked[count++] = i;
		/* Not worth moving. */
		gw_stay_crossed(&s, 49);
		gw_stay_end(&s, &COSTS, false, 0);
	}
	CHECK(asked[0] == 0 && asked[1] == 16 && asked[2] == 32);
	/* On the device there is nothing to ask for, and a look asks. */
	gw_stay_begin(&s);
	gw_stay_crossed(&s, 50);
	gw_stay_end(&s, &COSTS, false, 0);
	for (uint32_t i = 0; i < 16; i++) {
		gw_stay_begin(&s);
		CHECK(s.place == GW_STAY_DEVICE && !gw_stay_wants_lines(&s));
		gw_stay_end(&s, &COSTS, false, 0);
	}
	gw_stay_begin(&s);
	CHECK(s.place == GW_STAY_IN_PLACE && gw_stay_wants_lines(&s));
}

/* A stay that begins on the device, at other costs. */
static void stay_there(struct gw_stay *s, const struct gw_stay_costs *costs)
{
	gw_stay_begin(s);
	CHECK(s->place == GW_STAY_DEVICE);
	gw_stay_end(s, costs, false, 0);
}

static void what_lines_turn_out_to_cost_decides_again(void)
{
	const struct gw_stay_costs hardly = { .line = 1, .begin = 120, .move = 300 };
	const struct gw_stay_costs cheaper = { .line = 1, .begin = 122, .move = 300 };
	struct gw_stay s = { 0 };
	enum gw_stay_place began;

	CHECK(!stay(&s, 60, &began));
	/* A little cheaper than moving is not worth going to and fro. */
	stay_there(&s, &COSTS);
	stay_there(&s, &hardly);
	stay_there(&s, &cheaper);
	for (uint32_t i = 0; i < 40; i++) {
		gw_stay_begin(&s);
		CHECK(s.place == GW_STAY_IN_PLACE);
		gw_stay_crossed(&s, gw_stay_wants_lines(&s) ? 60 : 0);
		CHECK(!gw_stay_due(&s, &cheaper));
		gw_stay_end(&s, &cheaper, false, 0);
	}
	/* And dearer again: what was counted at one stay of many is enough. */
	CHECK(!stay(&s, 0, &began) && began == GW_STAY_IN_PLACE);
	stay_there(&s, &COSTS);
}

static void a_count_that_ended_with_a_move_is_looked_at_again(void)
{
	const struct gw_stay_costs dear = { .line = 2, .begin = 1000, .move = 1200 };
	struct gw_stay s = { 0 };
	enum gw_stay_place began;

	CHECK(stay(&s, 150, &began) && began == GW_STAY_IN_PLACE);
	stay_there(&s, &dear);
	gw_stay_begin(&s);
	CHECK(s.place == GW_STAY_IN_PLACE && gw_stay_wants_lines(&s));
	gw_stay_crossed(&s, 500);
	CHECK(gw_stay_due(&s, &dear));
	gw_stay_moved(&s);
	gw_stay_end(&s, &dear, false, 0);
	/* It moved for more than that: nothing is looked at before its time. */
	for (uint32_t i = 0; i < 16; i++)
		stay_there(&s, &dear);
}

static void short_memory_makes_moving_dearer(void)
{
	struct gw_stay s = { 0 };
	enum gw_stay_place began;

	for (uint32_t shift = 0; shift < 8; shift++) {
		const uint32_t price = 150u << (shift < 6 ? shift : 6);

		gw_stay_begin(&s);
		CHECK(s.place == GW_STAY_IN_PLACE);
		gw_stay_crossed(&s, price - 1);
		CHECK(!gw_stay_due(&s, &COSTS));
		gw_stay_crossed(&s, 1);
		CHECK(gw_stay_due(&s, &COSTS));
		gw_stay_moved(&s);
		gw_stay_end(&s, &COSTS, true, 0);
	}
	/* Each end that the host brings halves it; a refusal doubles it at once. */
	CHECK(!stay(&s, 10, &began));
	gw_stay_begin(&s);
	gw_stay_crossed(&s, 150u << 5);
	CHECK(gw_stay_due(&s, &COSTS));
	gw_stay_refused(&s);
	CHECK(!gw_stay_due(&s, &COSTS) && s.place == GW_STAY_IN_PLACE);
}

static void costs_that_are_not_known_or_beyond_all_numbers_move_nothing_wrongly(void)
{
	const struct gw_stay_costs unknown = { .line = 0, .begin = 0, .move = 0 };
	const struct gw_stay_costs huge = { .line = UINT64_MAX, .begin = 1, .move = UINT64_MAX };
	const struct gw_stay_costs never = { .line = 1, .begin = 1, .move = UINT64_MAX };
	struct gw_stay s = { 0 };

	gw_stay_crossed(&s, 7);
	CHECK(!s.lines && !gw_stay_due(&s, &COSTS));
	gw_stay_begin(&s);
	CHECK(!gw_stay_due(&s, &huge));
	gw_stay_crossed(&s, UINT32_MAX);
	gw_stay_crossed(&s, 2);
	CHECK(s.lines == UINT32_MAX);
	CHECK(!gw_stay_due(&s, &unknown) && !gw_stay_due(&s, &never) && gw_stay_due(&s, &huge));
}

int main(void)
{
	a_batch_becomes_aligned_groups();
	a_request_is_answered_once();
	groups_end_at_the_largest_allowed_and_an_empty_batch_is_none();
	one_fault_brings_what_it_is_worth();
	pages_used_make_the_part_grow_and_those_in_vain_do_not();
	what_came_back_unused_makes_faults_worth_less();
	a_stream_is_followed_across_blocks();
	a_stride_moves_nothing_between();
	a_plan_that_was_cut_is_followed_by_a_smaller_one();
	used_pages_before_others_that_are_there_are_no_stream();
	streams_begin_small_when_memory_is_full();
	distances_beyond_a_block_are_seen_in_the_faults();
	streams_that_go_on_in_turn_are_expected_to();
	a_group_moves_when_its_lines_have_cost_what_moving_costs();
	now_and_then_a_stay_looks_whether_it_still_pays();
	what_nobody_reported_is_asked_for_now_and_then();
	what_lines_turn_out_to_cost_decides_again();
	a_count_that_ended_with_a_move_is_looked_at_again();
	short_memory_makes_moving_dearer();
	costs_that_are_not_known_or_beyond_all_numbers_move_nothing_wrongly();
	test_around();
	test_evict();
	puts("tests passed");
	return 0;
}
