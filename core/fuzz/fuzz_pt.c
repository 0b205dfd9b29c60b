// SPDX-License-Identifier: Apache-2.0
/*
 * libFuzzer target: the input is a mode, a number of table frames, and a sequence of calls. Each call's status, every
 * page, the list of what to invalidate and the use of frames are compared with the model, after each call.
 */
#include <godwit/pt.h>
#include <godwit_layout.h>

#include <stddef.h>

#include "../test/memory.h"
#include "model.h"

#define MAX_CALLS 64u
#define VPN_MASK (((uint64_t)1 << 52) - 1)
#define PPN_MASK (((uint64_t)1 << 44) - 1)
#define ALL_ORDERS ((const unsigned int[4]){ 0, 4, 9, 18 })

struct input {
	const uint8_t *data;
	size_t size;
};

/* One call: [first, last] are virtual pages; `at` is the page that stands in its way. */
struct call {
	uint64_t kind;
	uint64_t first, last, pages;
	uint64_t ppn;
	uint32_t perm;
	uint32_t max_order;
	int expected;
	uint64_t at;
};

static uint64_t take(struct input *in, unsigned int bytes)
{
	uint64_t value = 0;

	for (; bytes && in->size; bytes--, in->size--)
		value = value << 8 | *in->data++;
	return value;
}

/* A page: from a place where indices or signs change, steps of one of the page sizes. */
static uint64_t take_vpn(struct input *in, unsigned int va_bits)
{
	uint64_t half = (uint64_t)1 << (va_bits - 1);
	uint64_t two_gib = (uint64_t)1 << 31;
	const uint64_t bases[8] = { 0, 0, two_gib / 2, half - two_gib, half - 8192, 0 - half, 8192 - half, 0 - two_gib };
	uint64_t choice = take(in, 1);

	return ((bases[choice & 7] >> 12) + (take(in, 1) << ALL_ORDERS[choice >> 3 & 3]) + (choice >> 5)) & VPN_MASK;
}

static uint64_t take_pages(struct input *in)
{
	uint64_t choice = take(in, 1);

	return ((choice & 15) << ALL_ORDERS[choice >> 4 & 3]) + (choice >> 6);
}

/* What the arguments alone decide; GW_PT_OK: it depends on what is mapped. */
static int expect_range(uint64_t first, uint64_t pages, unsigned int va_bits)
{
	uint64_t half = (uint64_t)1 << (va_bits - 13);
	uint64_t last = first + pages - 1;

	if (!pages)
		return GW_PT_ESIZE;
	if (last < half || (first > VPN_MASK - half && last <= VPN_MASK))
		return GW_PT_OK;
	return GW_PT_ECANON;
}

static struct call take_call(struct input *in, unsigned int va_bits)
{
	uint64_t what = take(in, 1);
	struct call call = {
		.kind = what & 7,
		.perm = what & 8 ? GW_PT_READ | GW_PT_WRITE : GW_PT_READ,
		.max_order = what & 32 ? ALL_ORDERS[what >> 6] : GW_PT_ORDER_1G,
	};

	call.first = take_vpn(in, va_bits);
	call.pages = take_pages(in);
	call.last = call.first + call.pages - 1;
	call.expected = expect_range(call.first, call.pages, va_bits);
	return call;
}

static bool covered(const struct gw_pt_inval *inval, uint64_t vpn)
{
	for (size_t i = 0; i < inval->count; i++)
		if ((vpn << 12) - inval->ranges[i].va < inval->ranges[i].size)
			return true;
	return false;
}

static int run_map(struct gw_pt *pt, struct model *model, struct call *call, struct input *in)
{
	int status;

	call->ppn = take_vpn(in, 56) & PPN_MASK;
	if (!call->expected && call->pages > PPN_MASK + 1 - call->ppn)
		call->expected = GW_PT_EPHYS;
	if (!call->expected && model_first_mapped(model, call->first, call->last, &call->at))
		call->expected = GW_PT_EEXIST;
	status = gw_pt_map(pt, call->first << 12, call->ppn << 12, call->pages << 12, call->perm, call->max_order);
	if (status == GW_PT_OK)
		model_map(model, call->first, call->last, call->ppn, call->perm);
	return status;
}

static int run_unmap(struct gw_pt *pt, struct model *model, struct call *call, struct gw_pt_inval *inval)
{
	uint64_t dead = pt->dead.count;
	int status;

	if (!call->expected && model_first_hole(model, call->first, call->last, &call->at))
		call->expected = GW_PT_ENOENT;
	status = gw_pt_unmap(pt, call->first << 12, call->pages << 12, inval);
	if (status == GW_PT_OK) {
		CHECK(inval->narrowed && inval->count == 1);
		CHECK(covered(inval, call->first) && covered(inval, call->last));
		CHECK(inval->tables == pt->dead.count - dead);
		model_unmap(model, call->first, call->last);
	}
	return status;
}

static int run_protect(struct gw_pt *pt, struct model *model, struct call *call, struct gw_pt_inval *inval)
{
	bool changed = false;
	bool narrowed = false;
	int status;

	if (!call->expected && model_first_hole(model, call->first, call->last, &call->at))
		call->expected = GW_PT_ENOENT;
	status = gw_pt_protect(pt, call->first << 12, call->pages << 12, call->perm, inval);
	if (status != GW_PT_OK)
		return status;
	for (unsigned int i = 0; i < model->count; i++) {
		const struct run *run = &model->runs[i];
		uint64_t lo = run->first > call->first ? run->first : call->first;
		uint64_t hi = run->last < call->last ? run->last : call->last;

		if (lo > hi || run->perm == call->perm)
			continue;
		changed = true;
		narrowed |= (run->perm & ~call->perm) != 0;
		CHECK(covered(inval, lo) && covered(inval, hi));
	}
	CHECK(inval->narrowed == narrowed && !inval->tables && changed == (inval->count != 0));
	model_protect(model, call->first, call->last, call->perm);
	return status;
}

static int run_lookup(struct gw_pt *pt, const struct model *model, struct call *call)
{
	const struct run *run = model_find(model, call->first);
	uint64_t va = (call->first << 12) + call->pages % 4096;
	struct gw_pt_mapping page;
	int status = gw_pt_lookup(pt, va, &page);

	call->expected = expect_range(call->first, 1, 12 + 9 * pt->levels);
	if (!call->expected && !run)
		call->expected = GW_PT_ENOENT;
	call->at = call->first;
	if (status == GW_PT_OK)
		CHECK(run && page.pa + (va - page.va) == ((run->ppn + call->first - run->first) << 12) + va % 4096);
	return status;
}

struct compare {
	const struct model *model;
	uint64_t pages;
	uint64_t last_va;
};

/* Every page of the walk must lie in runs of the model that say the same. */
static int compare_page(void *arg, const struct gw_pt_mapping *page)
{
	struct compare *compare = arg;
	uint64_t vpn = page->va >> 12;
	uint64_t end = vpn + ((uint64_t)1 << page->order);

	CHECK(compare->pages == 0 || page->va > compare->last_va);
	compare->last_va = page->va;
	compare->pages += end - vpn;
	while (vpn < end) {
		const struct run *run = model_find(compare->model, vpn);

		CHECK(run && run->perm == page->perm);
		CHECK(run->ppn + (vpn - run->first) == (page->pa >> 12) + (vpn - (page->va >> 12)));
		vpn = run->last + 1;
	}
	return 0;
}

static void compare_all(struct gw_pt *pt, const struct memory *memory, const struct model *model)
{
	struct compare compare = { .model = model };
	struct gw_pt_stats stats;
	uint64_t pages = 0;

	CHECK(gw_pt_check(pt, &stats) == GW_PT_OK);
	CHECK(stats.tables + pt->dead.count + (pt->joined != GW_PT_NO_FRAME) == memory->used);
	CHECK(gw_pt_table_bytes(pt) == memory->used * 4096);
	CHECK(gw_pt_walk(pt, 0, ~(uint64_t)0, compare_page, &compare) == GW_PT_OK);
	for (unsigned int i = 0; i < model->count; i++)
		pages += model->runs[i].last - model->runs[i].first + 1;
	CHECK(compare.pages == pages);
	CHECK(stats.pages_4k + (stats.pages_64k << 4) + (stats.pages_2m << 9) + (stats.pages_1g << 18) == pages);
}

/* What is one run of the model, and aligned, becomes one page; nothing that is mapped changes, whatever comes of it. */
static void run_join(struct gw_pt *pt, const struct memory *memory, const struct model *model, const struct call *call)
{
	uint32_t order = call->pages & 1 ? GW_PT_ORDER_2M : GW_PT_ORDER_64K;
	uint64_t mask = ((uint64_t)1 << order) - 1, first = call->first & ~mask;
	const struct run *run = model_find(model, first);
	struct gw_pt_mapping page;
	struct gw_pt_inval inval = { 0 };
	int status = gw_pt_join(pt, first << 12, order, &inval);

	if (run && run->last - first >= mask && !((run->ppn + first - run->first) & mask))
		CHECK(status == GW_PT_OK);
	if (status == GW_PT_OK)
		CHECK(gw_pt_lookup(pt, first << 12, &page) == GW_PT_OK && page.order >= order);
	CHECK(inval.tables == (pt->joined != GW_PT_NO_FRAME) && inval.narrowed == (inval.tables != 0));
	compare_all(pt, memory, model);
	CHECK(gw_pt_reclaim(pt) == inval.tables);
}

static void run_call(struct gw_pt *pt, struct memory *memory, struct model *model, struct input *in)
{
	static struct memory before;
	struct call call = take_call(in, 12 + 9 * pt->levels);
	struct gw_pt_range ranges[2];
	struct gw_pt_inval inval = { .ranges = ranges, .capacity = 1 + (call.pages & 1) };
	uint64_t dead = pt->dead.count;
	int status;

	memory_copy(&before, memory);
	switch (call.kind) {
	case 0:
	case 1:
	case 2:
		status = run_map(pt, model, &call, in);
		break;
	case 3:
	case 4:
		status = run_unmap(pt, model, &call, &inval);
		break;
	case 5:
		status = run_protect(pt, model, &call, &inval);
		break;
	case 6:
		status = run_lookup(pt, model, &call);
		memory_check_same(&before, memory);
		break;
	default:
		CHECK(gw_pt_reclaim(pt) == dead && pt->dead.count == 0);
		CHECK(pt->tables == memory->used);
		run_join(pt, memory, model, &call);
		return;
	}

	/* The model knows everything but whether the frames suffice. */
	CHECK(status == call.expected || (status == GW_PT_ENOMEM && call.expected == GW_PT_OK));
	if (status == GW_PT_EEXIST || status == GW_PT_ENOENT)
		CHECK(pt->error_va == call.at << 12);
	if (status != GW_PT_OK) {
		CHECK(pt->dead.count == dead && !inval.count && !inval.tables && !inval.narrowed);
		memory_check_same(&before, memory);
	} else if (call.kind < 6) {
		compare_all(pt, memory, model);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory memory;
	static struct model model;
	struct input in = { data, size };
	uint32_t mode = (uint32_t)(GODWIT_MODE_SV39 + take(&in, 1) % 3);
	struct gw_pt pt;

	memory_reset(&memory, 1 + take(&in, 1) % MEMORY_FRAMES);
	model.count = 0;
	CHECK(gw_pt_init(&pt, &memory_ops, &memory, mode) == GW_PT_OK);
	for (unsigned int calls = 0; in.size && calls < MAX_CALLS; calls++)
		run_call(&pt, &memory, &model, &in);
	compare_all(&pt, &memory, &model);
	gw_pt_destroy(&pt);
	CHECK(memory.used == 0);
	return 0;
}
