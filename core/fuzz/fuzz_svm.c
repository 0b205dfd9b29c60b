// SPDX-License-Identifier: Apache-2.0
/*
 * libFuzzer target: the input is batches of page requests, faults of streams, and calls of the eviction policy. What is
 * compared: a naive count of the batch, the limits of every plan, and which groups are resident and why.
 */
#include <godwit/evict.h>
#include <godwit/fault.h>
#include <godwit/prefetch.h>

#include <stdlib.h>
#include <string.h>

#define MAX_FAULTS 64u
#define GROUPS 24u
#define MAX_CALLS 400u

#define REQUIRE(condition)          \
	do {                        \
		if (!(condition))   \
			abort();    \
	} while (0)

struct input {
	const uint8_t *data;
	size_t size;
};

static uint32_t take(struct input *in, uint32_t below)
{
	uint32_t value = 0;

	for (unsigned int i = 0; i < 2 && in->size; i++, in->size--)
		value = value << 8 | *in->data++;
	return value % below;
}

/* The page is asked for by one of the first @count requests of @list. */
static bool asked(const struct gw_fault *list, uint32_t count, uint32_t context, uint64_t page)
{
	for (uint32_t i = 0; i < count; i++)
		if (list[i].context == context && list[i].page == page)
			return true;
	return false;
}

static bool covers(const struct gw_fault_group *group, uint32_t context, uint64_t first, uint64_t pages)
{
	return group->context == context && group->page <= first &&
	       first - group->page + pages <= (uint64_t)1 << group->order;
}

static void fuzz_coalesce(struct input *in)
{
	struct gw_fault before[MAX_FAULTS], faults[MAX_FAULTS];
	struct gw_fault_group groups[MAX_FAULTS];
	struct gw_fault_stats stats;
	uint32_t count = take(in, MAX_FAULTS + 1), max_order = take(in, 12), made, next = 0, answers = 0, pages = 0;
	uint32_t span = 1 + take(in, 90);
	uint64_t base = take(in, 2) ? 0 - (uint64_t)span : (uint64_t)take(in, 1000);

	for (uint32_t i = 0; i < count; i++)
		before[i] = (struct gw_fault){ base + take(in, span), take(in, 2), take(in, 3), take(in, 4) };
	memcpy(faults, before, sizeof(faults[0]) * count);
	made = gw_fault_coalesce(faults, count, max_order, groups, &stats);
	max_order = max_order > GW_FAULT_MAX_ORDER ? GW_FAULT_MAX_ORDER : max_order;
	for (uint32_t g = 0; g < made; g++) {
		const struct gw_fault_group *group = &groups[g];
		uint64_t size = (uint64_t)1 << group->order;
		uint32_t flags = 0;

		REQUIRE(group->order <= max_order && group->page % size == 0);
		REQUIRE(group->first == next && group->count >= size);
		for (uint64_t i = 0; i < size; i++)
			REQUIRE(asked(before, count, group->context, group->page + i));
		for (uint32_t i = next; i < next + group->count; i++) {
			REQUIRE(covers(group, faults[i].context, faults[i].page, 1));
			flags |= faults[i].flags & GW_FAULT_WRITE;
			answers += !(faults[i].flags & GW_FAULT_REPEAT);
		}
		REQUIRE(flags == group->flags);
		/* It is the largest: its parent is not asked for as a whole. */
		if (group->order < max_order) {
			bool whole = true;

			for (uint64_t i = 0; i < 2 * size; i++)
				whole = whole && asked(before, count, group->context, (group->page & ~(2 * size - 1)) + i);
			REQUIRE(!whole);
		}
		next += group->count;
		pages += (uint32_t)size;
	}
	REQUIRE(next == count && stats.groups == made && stats.pages == pages && stats.duplicates == count - pages);
	REQUIRE(stats.answers == answers);
	/* Every request is there, and (context, page, tag) that are equal have one answer. */
	for (uint32_t i = 0; i < count; i++) {
		uint32_t open = 0, there = 0, gone = 0;

		for (uint32_t j = 0; j < count; j++) {
			bool same = faults[j].context == before[i].context && faults[j].page == before[i].page &&
				    faults[j].tag == before[i].tag;

			there += same;
			open += same && !(faults[j].flags & GW_FAULT_REPEAT);
			gone += before[j].context == before[i].context && before[j].page == before[i].page &&
				before[j].tag == before[i].tag;
		}
		REQUIRE(open == 1 && there == gone);
	}
}

static void fuzz_prefetch(struct input *in)
{
	struct gw_prefetch p;
	uint32_t most = 1 + take(in, GW_PREFETCH_MAX_WINDOW);
	uint64_t base = take(in, 3) ? 0 : (uint64_t)0 - 20000, page = 0;

	gw_prefetch_init(&p, take(in, 600), most);
	for (uint32_t i = 0; i < MAX_CALLS && in->size; i++) {
		struct gw_prefetch_block block;
		struct gw_prefetch_fault fault;
		struct gw_prefetch_plan plan;
		uint64_t expected;
		uint32_t step = take(in, 4);

		if (step == 3)
			page = take(in, 20000);
		else
			page = (page + (step == 2 ? 1 + take(in, 20) : step == 1 ? 7 : 20000u - 3)) % 20000;
		for (uint32_t w = 0; w < GW_PREFETCH_WORDS; w++) {
			block.used[w] = step ? (uint64_t)take(in, 65536) * 0x1000100010001u : 0x1111111111111111u;
			block.resident[w] = block.used[w] | take(in, 65536);
		}
		fault.page = base + page;
		fault.first = base + page - take(in, (uint32_t)page + 1);
		fault.last = base + page + take(in, 20000 - (uint32_t)page);
		fault.context = take(in, 2);
		gw_prefetch_plan(&p, &fault, &block, &plan);
		REQUIRE(plan.stride && plan.count >= 1);
		REQUIRE(plan.count <= (plan.stride == 1 && most < GW_PREFETCH_BLOCK ? GW_PREFETCH_BLOCK : most));
		REQUIRE(plan.page >= fault.first && plan.page <= fault.last);
		/* In steps that cannot wrap around, to the last page. */
		for (uint64_t at = plan.page, n = plan.count; --n; at += (uint64_t)plan.stride)
			REQUIRE(plan.stride > 0 ? fault.last - at >= (uint64_t)plan.stride :
						  at - fault.first >= (uint64_t)-plan.stride);
		REQUIRE((int64_t)(fault.page - plan.page) % plan.stride == 0);
		REQUIRE((uint64_t)((int64_t)(fault.page - plan.page) / plan.stride) < plan.count);
		/* At most once for each other stream, and not for one that is not there. */
		for (uint32_t n = 0, since = gw_prefetch_time(&p) - 1; gw_prefetch_expect(&p, fault.context, since, &expected); n++) {
			REQUIRE(n < GW_PREFETCH_STREAMS);
			fault = (struct gw_prefetch_fault){ expected, expected, expected, fault.context };
			gw_prefetch_plan(&p, &fault, &block, &plan);
			REQUIRE(plan.page == expected && plan.count == 1);
		}
		if (!take(in, 4))
			gw_prefetch_returned(&p, take(in, 3000), take(in, 3000));
	}
}

struct world {
	struct gw_evict e;
	struct gw_evict_node nodes[GROUPS];
	uint32_t pages[GROUPS];
	bool asked[GROUPS]; /* since it came, or known to be used */
	bool used[GROUPS];
	uint32_t looks;
};

static bool accessed(void *ctx, uint32_t group)
{
	struct world *w = ctx;
	bool was = w->used[group];

	REQUIRE(group < GROUPS && w->pages[group]);
	w->looks++;
	w->asked[group] = w->asked[group] || was;
	w->used[group] = false;
	return was;
}

static void fuzz_evict(struct input *in)
{
	static struct world w;

	memset(&w, 0, sizeof(w));
	gw_evict_init(&w.e, w.nodes, GROUPS, 1 + take(in, 300));
	for (uint32_t i = 0; i < MAX_CALLS && in->size; i++) {
		uint32_t group = take(in, GROUPS + 1), pages = 1 + take(in, 16), resident = 0, kind = take(in, 7);
		uint64_t sum = 0;
		bool flag = take(in, 2);

		if (!take(in, 8))
			gw_evict_resize(&w.e, 1 + take(in, 300));
		for (uint32_t g = 0; g < GROUPS; g++) {
			sum += w.pages[g];
			resident += w.pages[g] != 0;
		}
		REQUIRE(gw_evict_pages(&w.e) == sum && gw_evict_check(&w.e));
		if (kind < 2) {
			REQUIRE(gw_evict_added(&w.e, group, pages, flag) == (group < GROUPS));
			if (group < GROUPS) {
				w.asked[group] = flag || (w.pages[group] && w.asked[group]);
				w.pages[group] += pages;
			}
		} else if (kind == 2) {
			REQUIRE(gw_evict_removed(&w.e, group) == (group < GROUPS ? w.pages[group] : 0));
			if (group < GROUPS)
				w.pages[group] = 0;
		} else if (kind == 3 && group < GROUPS) {
			w.used[group] = w.pages[group] != 0;
		} else if (kind == 4) {
			bool there = group < GROUPS && w.pages[group];

			gw_evict_coming(&w.e, take(in, 400));
			REQUIRE(gw_evict_spared(&w.e, group, pages) == (group < GROUPS && !there));
			if (group < GROUPS && !there) {
				w.pages[group] = pages;
				w.asked[group] = true;
			}
		} else {
			uint32_t keep = take(in, 2) ? group : GW_EVICT_NONE, victim;

			w.looks = 0;
			victim = gw_evict_choose(&w.e, flag, keep, take(in, 4) ? accessed : NULL, &w);
			REQUIRE(w.looks <= 6 * resident + 4);
			if (victim != GW_EVICT_NONE) {
				REQUIRE(victim < GROUPS && w.pages[victim] && victim != keep);
				REQUIRE(!flag || !w.asked[victim]);
				REQUIRE(gw_evict_removed(&w.e, victim) == w.pages[victim]);
				w.pages[victim] = 0;
			} else {
				REQUIRE(flag || !resident || (resident == 1 && keep < GROUPS && w.pages[keep]));
			}
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	switch (take(&in, 3)) {
	case 0: fuzz_coalesce(&in); break;
	case 1: fuzz_prefetch(&in); break;
	default: fuzz_evict(&in);
	}
	return 0;
}
