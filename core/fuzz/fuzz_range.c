// SPDX-License-Identifier: Apache-2.0
/*
 * libFuzzer target: the input is a set of areas and a sequence of calls. Every status, address, reason and the whole
 * state are compared with a model that has a byte a granule.
 */
#include <godwit/range.h>

#include <stdlib.h>
#include <string.h>

#include "../test/range_model.h"

#define SHIFT 12u
#define MAX_AREAS 8u
#define MAX_CALLS 200u
#define NODES 3u

#define REQUIRE(condition)          \
	do {                        \
		if (!(condition))   \
			abort();    \
	} while (0)

struct input {
	const uint8_t *data;
	size_t size;
};

struct run {
	struct gw_range range;
	struct model model;
	uint8_t node[MODEL_GRANULES];
};

static uint32_t take(struct input *in, uint32_t below)
{
	uint32_t value = 0;

	for (unsigned int i = 0; i < 2 && in->size; i++, in->size--)
		value = value << 8 | *in->data++;
	return value % below;
}

/* Areas from left to right with gaps that are often zero; given to the allocator last first. */
static uint32_t make_areas(struct input *in, struct run *run, struct gw_range_area *areas)
{
	uint32_t count = 1 + take(in, MAX_AREAS), made = 0, at = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t gap = take(in, 4) ? 0 : take(in, 100);
		uint32_t length = 1 + take(in, MODEL_GRANULES / MAX_AREAS - 100);
		uint32_t node = take(in, NODES);

		at += gap;
		model_fill(&run->model, at, at + length, MODEL_FREE);
		memset(run->node + at, (int)node + 1, length);
		areas[MAX_AREAS - ++made] =
			(struct gw_range_area){ (uint64_t)at << SHIFT, (uint64_t)length << SHIFT, node };
		at += length;
	}
	return made;
}

/* First fit on the node's runs of areas, then anywhere. */
static uint32_t expect_place(const struct run *run, const struct gw_range_request *request, uint32_t first, uint32_t end,
			     uint32_t align, uint32_t count)
{
	if (request->node != GW_RANGE_ANY_NODE) {
		for (uint32_t at = first; at < end;) {
			uint32_t stop = at + 1, place;

			if (run->node[at] != request->node + 1) {
				at++;
				continue;
			}
			while (stop < end && run->node[stop] == request->node + 1)
				stop++;
			place = model_place(&run->model, at, stop, align, count);
			if (place != MODEL_GRANULES)
				return place;
			at = stop;
		}
		if (request->flags)
			return MODEL_GRANULES;
	}
	return model_place(&run->model, first, end, align, count);
}

static void call_alloc(struct input *in, struct run *run)
{
	uint32_t count = take(in, 4) ? take(in, 100) : take(in, MODEL_GRANULES);
	uint32_t first = take(in, 4) ? 0 : take(in, MODEL_GRANULES);
	uint32_t end = take(in, 4) ? MODEL_GRANULES : take(in, MODEL_GRANULES) + 1;
	uint32_t align = 1u << take(in, 4) * take(in, 3);
	struct gw_range_request request = {
		.bytes = (uint64_t)count << SHIFT,
		.align = (uint64_t)align << SHIFT,
		.min = (uint64_t)first << SHIFT,
		.max = ((uint64_t)end << SHIFT) - 1,
		.node = take(in, 2) ? GW_RANGE_ANY_NODE : take(in, NODES),
		.flags = take(in, 2) ? GW_RANGE_STRICT_NODE : 0,
	};
	struct gw_range_why why = { 0 };
	uint64_t pa = 0;
	int status = gw_range_alloc(&run->range, &request, &pa, &why);
	uint32_t place = count ? expect_place(run, &request, first, end, align, count) : MODEL_GRANULES;

	if (!count) {
		REQUIRE(status == GW_RANGE_ESIZE);
	} else if (place != MODEL_GRANULES) {
		REQUIRE(status == GW_RANGE_OK && pa == (uint64_t)place << SHIFT);
		model_fill(&run->model, place, place + count, MODEL_USED);
		model_fill(&run->model, place, place + 1, MODEL_FIRST);
	} else {
		uint32_t free = model_free(&run->model), longest = model_longest(&run->model, 0, MODEL_GRANULES);

		REQUIRE(why.free == (uint64_t)free << SHIFT && why.largest == (uint64_t)longest << SHIFT);
		REQUIRE((status == GW_RANGE_ENOMEM) == (count > free));
		REQUIRE((status == GW_RANGE_EFRAGMENT) == (count <= free && count > longest));
		REQUIRE(status == GW_RANGE_ENOMEM || status == GW_RANGE_EFRAGMENT || status == GW_RANGE_EPLACE ||
			status == GW_RANGE_EUNALIGNED);
		REQUIRE(status != GW_RANGE_EUNALIGNED || align > 1);
	}
}

static void call_free(struct input *in, struct run *run)
{
	uint32_t at = take(in, MODEL_GRANULES), length;
	uint64_t bytes = 0;
	int status;

	/* Mostly the next range there is, sometimes any address. */
	if (take(in, 8))
		while (at < MODEL_GRANULES - 1 && run->model.state[at] != MODEL_FIRST)
			at++;
	length = model_length(&run->model, at);
	status = gw_range_free(&run->range, (uint64_t)at << SHIFT, &bytes);
	if (length) {
		REQUIRE(status == GW_RANGE_OK && bytes == (uint64_t)length << SHIFT);
		model_fill(&run->model, at, at + length, MODEL_FREE);
	} else {
		REQUIRE(status == (run->model.state[at] == MODEL_HOLE ? GW_RANGE_EFOREIGN : GW_RANGE_ENOTSTART));
	}
}

static void call_resize(struct input *in, struct run *run)
{
	uint32_t at = take(in, MODEL_GRANULES), length, wanted = 1 + take(in, 200);
	bool fits = true;
	int status;

	while (at < MODEL_GRANULES - 1 && run->model.state[at] != MODEL_FIRST)
		at++;
	length = model_length(&run->model, at);
	status = gw_range_resize(&run->range, (uint64_t)at << SHIFT, (uint64_t)wanted << SHIFT);
	if (!length) {
		REQUIRE(status == GW_RANGE_EFOREIGN || status == GW_RANGE_ENOTSTART);
		return;
	}
	for (uint32_t i = at + length; i < at + wanted; i++)
		fits = fits && i < MODEL_GRANULES && run->model.state[i] == MODEL_FREE;
	REQUIRE(status == (fits ? GW_RANGE_OK : GW_RANGE_EBUSY));
	if (fits) {
		model_fill(&run->model, at, at + length, MODEL_FREE);
		model_fill(&run->model, at, at + wanted, MODEL_USED);
		model_fill(&run->model, at, at + 1, MODEL_FIRST);
	}
}

static void call_split(struct input *in, struct run *run)
{
	uint32_t at = take(in, MODEL_GRANULES), length, each = 1 + take(in, 20);
	int status;

	while (at < MODEL_GRANULES - 1 && run->model.state[at] != MODEL_FIRST)
		at++;
	length = model_length(&run->model, at);
	status = gw_range_split(&run->range, (uint64_t)at << SHIFT, (uint64_t)each << SHIFT);
	REQUIRE(length ? status == GW_RANGE_OK : status == GW_RANGE_EFOREIGN || status == GW_RANGE_ENOTSTART);
	for (uint32_t first = at; first < at + length; first += each)
		model_fill(&run->model, first, first + 1, MODEL_FIRST);
}

static void call_find(struct input *in, struct run *run)
{
	uint32_t at = take(in, MODEL_GRANULES), first = at;
	uint64_t pa, bytes;
	int status = gw_range_find(&run->range, (uint64_t)at << SHIFT, &pa, &bytes);

	if (run->model.state[at] < MODEL_USED) {
		REQUIRE(status == (run->model.state[at] == MODEL_HOLE ? GW_RANGE_EFOREIGN : GW_RANGE_ENOTSTART));
		return;
	}
	while (run->model.state[first] != MODEL_FIRST)
		first--;
	REQUIRE(status == GW_RANGE_OK && pa == (uint64_t)first << SHIFT);
	REQUIRE(bytes == (uint64_t)model_length(&run->model, first) << SHIFT);
}

static bool compare(void *ctx, bool used, uint64_t pa, uint64_t bytes)
{
	struct run *run = ctx;
	uint32_t at = (uint32_t)(pa >> SHIFT), count = (uint32_t)(bytes >> SHIFT);

	for (uint32_t i = 0; i < count; i++)
		REQUIRE(run->model.state[at + i] == (!used ? MODEL_FREE : i ? MODEL_USED : MODEL_FIRST));
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct run run;
	struct input in = { data, size };
	struct gw_range_area areas[MAX_AREAS];
	size_t bytes = 0;
	uint32_t count;
	void *storage;

	memset(&run, 0, sizeof(run));
	count = make_areas(&in, &run, areas);
	REQUIRE(gw_range_storage(areas + MAX_AREAS - count, count, SHIFT, &bytes) == GW_RANGE_OK);
	storage = malloc(bytes);
	REQUIRE(storage && gw_range_init(&run.range, areas + MAX_AREAS - count, count, SHIFT, storage, bytes) ==
				   GW_RANGE_OK);
	for (unsigned int i = 0; i < MAX_CALLS && in.size; i++) {
		switch (take(&in, 9)) {
		case 0: case 1: case 2: case 3: call_alloc(&in, &run); break;
		case 4: case 5: call_free(&in, &run); break;
		case 6: call_resize(&in, &run); break;
		case 7: call_split(&in, &run); break;
		default: call_find(&in, &run);
		}
		REQUIRE(gw_range_free_bytes(&run.range) == (uint64_t)model_free(&run.model) << SHIFT);
	}
	REQUIRE(gw_range_check(&run.range, NULL) == GW_RANGE_OK);
	gw_range_walk(&run.range, compare, &run);
	free(storage);
	return 0;
}
