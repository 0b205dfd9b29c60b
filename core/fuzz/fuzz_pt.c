// SPDX-License-Identifier: Apache-2.0
/*
 * libFuzzer target: the input is a mode, a set of page sizes, a number of table frames, and a sequence of calls. Each call's status,
 * every page, the list of what to invalidate and the use of frames are compared with the model after each call; so is what walks
 * find that read while the call writes, and pages are the largest that they may be. Half of the inputs go on in memory that says
 * something else than was written there: calls end.
 */
#include <godwit/pt.h>
#include <godwit_layout.h>

#include <stddef.h>

#include "../test/memory.h"
#include "model.h"
#include "walks.h"

#define MAX_CALLS 64u
#define VPN_MASK (((uint64_t)1 << 52) - 1)
#define PPN_MASK (((uint64_t)1 << 44) - 1)

struct input {
	const uint8_t *data;
	size_t size;
	uint64_t more; /* xorshift64: what follows when the data ends, so that short inputs are whole sequences, too; not 0 */
};

/* One call: [first, last] are virtual pages; `at` is the page that stands in its way. */
struct call {
	uint64_t kind;
	bool aimed; /* at what is mapped, or at a frame that is aligned as the pages are */
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

	for (; bytes && in->size; bytes--, in->size--) {
		in->more = (in->more ^ *in->data) * 0x2545f4914f6cdd1d | 1;
		value = value << 8 | *in->data++;
	}
	for (; bytes; bytes--) {
		in->more ^= in->more << 13;
		in->more ^= in->more >> 7;
		in->more ^= in->more << 17;
		value = value << 8 | (in->more >> 32 & 0xff);
	}
	return value;
}

/* With the sizes that one entry of each level has, up to the largest. */
static uint64_t orders_closed(uint64_t orders)
{
	unsigned int level;

	for (level = 0; orders >> 9 * level || level == 0; level++)
		orders |= (uint64_t)1 << 9 * level;
	return orders;
}

/* A set of orders, as one may ask for it; most are legal. */
static uint64_t take_orders(struct input *in, unsigned int levels)
{
	uint64_t choice = take(in, 1);
	const uint64_t sets[4] = { GW_PT_ORDERS_DEFAULT, GW_PT_ORDERS_TO(GW_PT_ORDER_1G), take(in, 3), take(in, 6) };
	uint64_t orders = sets[choice & 3];

	return choice >> 2 & 7 ? orders_closed(orders & GW_PT_ORDERS_TO(9 * levels - 1)) : orders;
}

/* One of the table's orders. */
static unsigned int take_order(struct input *in, const struct gw_pt *pt)
{
	unsigned int order = (unsigned int)(take(in, 1) % GW_PT_ORDERS);

	while (!(pt->orders >> order & 1))
		order--;
	return order;
}

/* A page: from a place where indices or signs change, steps of one of the page sizes. */
static uint64_t take_vpn(struct input *in, const struct gw_pt *pt, unsigned int va_bits)
{
	uint64_t half = (uint64_t)1 << (va_bits - 1);
	uint64_t two_gib = (uint64_t)1 << 31;
	const uint64_t bases[8] = { 0, 0, two_gib / 2, half - two_gib, half - 8192, 0 - half, 8192 - half, 0 - two_gib };
	uint64_t choice = take(in, 1);
	unsigned int order = take_order(in, pt);

	return ((bases[choice & 7] >> 12) + (take(in, 1) << order) + (choice >> 3)) & VPN_MASK;
}

static uint64_t take_pages(struct input *in, const struct gw_pt *pt)
{
	uint64_t choice = take(in, 1);

	return ((choice & 15) << take_order(in, pt)) + (choice >> 4);
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

/* A part of what is mapped: most that is not aimed at it is a hole. */
static void take_part(struct input *in, const struct gw_pt *pt, const struct model *model, struct call *call)
{
	const struct run *run = &model->runs[take(in, 1) % model->count];
	uint64_t pages = run->last - run->first + 1;
	uint64_t skip = ((take(in, 1) << take_order(in, pt)) + take(in, 1) % 16) % pages;

	call->first = run->first + skip;
	call->pages = 1 + (take_pages(in, pt) + pages - skip - 1) % (pages - skip);
}

static struct call take_call(struct input *in, const struct gw_pt *pt, const struct model *model)
{
	unsigned int va_bits = 12 + 9 * pt->levels;
	uint64_t what = take(in, 1);
	struct call call = {
		.kind = what & 7,
		.perm = what & 8 ? GW_PT_READ | GW_PT_WRITE : GW_PT_READ,
		.max_order = what & 32 ? (uint32_t)take(in, 1) % 48 : GW_PT_ORDER_1G,
	};

	call.aimed = what & 16;
	if (call.aimed && call.kind > 2 && model->count) {
		take_part(in, pt, model, &call);
	} else {
		call.first = take_vpn(in, pt, va_bits);
		call.pages = take_pages(in, pt);
	}
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

/* What lies in one part of the address space, whose pages have these orders at most. */
struct part {
	uint64_t first, last;
	uint64_t orders;
};

static int compare_size(void *arg, const struct gw_pt_mapping *page)
{
	const struct part *part = arg;
	uint64_t vpn = page->va >> 12, ppn = page->pa >> 12;

	CHECK(part->orders >> page->order & 1);
	CHECK(vpn >= part->first && vpn + ((uint64_t)1 << page->order) - 1 <= part->last);
	for (unsigned int order = page->order + 1; part->orders >> order; order++) {
		uint64_t mask = ((uint64_t)1 << order) - 1;

		CHECK(!(part->orders >> order & 1) || (vpn ^ ppn) & mask || (vpn & ~mask) < part->first || (vpn | mask) > part->last);
	}
	return 0;
}

/* No page of the part could be larger, and none leaves it. */
static void compare_sizes(struct gw_pt *pt, uint64_t first, uint64_t last, uint64_t orders)
{
	struct part part = { first, last, orders };

	if (first <= last)
		CHECK(gw_pt_walk(pt, first << 12, (last << 12) + 4095, compare_size, &part) == GW_PT_OK);
}

/* `page` was around one end of the call's range: where that cut it, its pieces are as large as they may be. */
static void compare_pieces(struct gw_pt *pt, const struct call *call, const struct gw_pt_mapping *page)
{
	uint64_t first = page->va >> 12, last = first + ((uint64_t)1 << page->order) - 1;
	uint64_t orders = pt->orders & GW_PT_ORDERS_TO(page->order);

	if (page->perm == call->perm && call->kind == 5)
		return;
	if (first < call->first)
		compare_sizes(pt, first, call->first - 1, orders);
	compare_sizes(pt, first > call->first ? first : call->first, last < call->last ? last : call->last, orders);
	if (last > call->last)
		compare_sizes(pt, call->last + 1, last, orders);
}

static int run_map(struct gw_pt *pt, struct model *model, struct call *call, struct input *in)
{
	int status;

	call->ppn = (call->aimed ? call->first + (take(in, 1) << take_order(in, pt)) : take_vpn(in, pt, 56)) & PPN_MASK;
	if (!call->expected && call->pages > PPN_MASK + 1 - call->ppn)
		call->expected = GW_PT_EPHYS;
	if (!call->expected && call->max_order > GW_PT_ORDER_1G && !(pt->orders >> call->max_order))
		call->expected = GW_PT_EORDER;
	if (!call->expected && model_first_mapped(model, call->first, call->last, &call->at))
		call->expected = GW_PT_EEXIST;
	status = gw_pt_map(pt, call->first << 12, call->ppn << 12, call->pages << 12, call->perm, call->max_order);
	if (status == GW_PT_OK) {
		model_map(model, call->first, call->last, call->ppn, call->perm);
		compare_sizes(pt, call->first, call->last, pt->orders & GW_PT_ORDERS_TO(call->max_order));
	}
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
	for (unsigned int order = 0; order < GW_PT_ORDERS; order++)
		pages -= stats.pages[order] << order;
	CHECK(pages == 0);
}

/* Whether all of it is in pages of which none needs a table below that of a page of this order, or that of 2 MiB. */
static int small_page(void *arg, const struct gw_pt_mapping *page)
{
	const uint32_t *order = arg;

	return page->order / 9 < (*order - 1) / 9;
}

/* What is one run of the model, and aligned, becomes one page; nothing that is mapped changes, whatever comes of it. */
static void run_join(struct gw_pt *pt, const struct memory *memory, const struct model *model, const struct call *call)
{
	uint32_t order = call->max_order;
	uint64_t mask = ((uint64_t)1 << order) - 1, first = call->first & ~mask;
	const struct run *run = model_find(model, first);
	struct gw_pt_mapping page;
	struct gw_pt_inval inval = { 0 };
	bool legal = order > GW_PT_ORDER_4K && order < GW_PT_ORDER_1G && (pt->orders >> order & 1);
	bool whole = run && run->last - first >= mask && !((run->ppn + first - run->first) & mask);
	bool leaves = whole && !gw_pt_walk(pt, first << 12, ((first + mask) << 12) + 4095, small_page, &order);
	int status = gw_pt_join(pt, first << 12, order, &inval);

	CHECK((status == GW_PT_EORDER) == !legal);
	if (legal && whole)
		CHECK(status == (leaves ? GW_PT_OK : GW_PT_EAPART));
	if (status == GW_PT_OK)
		CHECK(gw_pt_lookup(pt, first << 12, &page) == GW_PT_OK && page.order >= order);
	CHECK(inval.tables == (pt->joined != GW_PT_NO_FRAME) && inval.narrowed == (inval.tables != 0));
	compare_all(pt, memory, model);
	CHECK(gw_pt_reclaim(pt) == inval.tables);
}

static void run_call(struct gw_pt *pt, struct memory *memory, struct model *model, struct input *in)
{
	static struct memory before;
	static struct memory_log log;
	static struct model was;
	struct call call = take_call(in, pt, model);
	struct walks walks = { .pt = pt, .memory = &before, .log = &log, .before = &was, .after = model,
			       .first = call.first, .last = call.last, .dice = call.first << 20 ^ call.pages ^ in->size ^ ~0ull << 40 };
	struct gw_pt_mapping ends[2];
	bool cut[2];
	struct gw_pt_range ranges[2];
	struct gw_pt_inval inval = { .ranges = ranges, .capacity = 1 + (call.pages & 1) };
	uint64_t dead = pt->dead.count;
	int status;

	memory_copy(&before, memory);
	was = *model;
	log.count = 0;
	memory->log = &log;
	cut[0] = gw_pt_lookup(pt, call.first << 12, &ends[0]) == GW_PT_OK;
	cut[1] = gw_pt_lookup(pt, call.last << 12, &ends[1]) == GW_PT_OK;
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
		if (call.expected == GW_PT_OK)
			walks_check(&walks);
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
		walks_check(&walks);
		for (int i = 0; i < 2; i++)
			if (cut[i] && call.kind >= 3)
				compare_pieces(pt, &call, &ends[i]);
	}
}

/* Nothing is known of what comes of it, but that it ends, and leaves a table that can be freed. */
static void run_untrue(struct gw_pt *pt, struct memory *memory, const struct model *model, struct input *in)
{
	memory->lenient = true;
	memory->log = NULL;
	for (uint64_t calls = take(in, 1) % MAX_CALLS; calls > 0; calls--) {
		struct call call = take_call(in, pt, model);
		struct gw_pt_inval inval = { 0 };
		uint64_t va = call.first << 12, size = (call.pages % 2048) << 12;

		memory->dice = take(in, 8) | 1;
		switch (call.kind) {
		case 0:
		case 1:
			(void)gw_pt_map(pt, va, call.first << 12 & ((uint64_t)1 << 50) - 1, size, call.perm, call.max_order);
			break;
		case 2:
			(void)gw_pt_protect(pt, va, size, call.perm, &inval);
			break;
		case 3:
		case 4:
			(void)gw_pt_unmap(pt, va, size, &inval);
			break;
		case 5:
			(void)gw_pt_join(pt, va, call.max_order, &inval);
			break;
		default:
			(void)gw_pt_reclaim(pt);
		}
		CHECK(pt->tables);
		memory->dice = call.aimed ? memory->dice : 0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory memory;
	static struct model model;
	struct input in = { data, size, 1 };
	uint32_t mode = (uint32_t)(GODWIT_MODE_SV39 + take(&in, 1) % 3);
	uint64_t orders = take_orders(&in, 3 + mode - GODWIT_MODE_SV39);
	bool legal = orders == orders_closed(orders) && !(orders >> 9 * (3 + mode - GODWIT_MODE_SV39));
	struct gw_pt pt;

	memory_reset(&memory, 1 + take(&in, 1) % MEMORY_FRAMES);
	model.count = 0;
	CHECK(gw_pt_init_orders(&pt, &memory_ops, &memory, mode, orders) == (legal ? GW_PT_OK : GW_PT_EORDER));
	if (!legal)
		return 0;
	for (uint64_t calls = take(&in, 1) % MAX_CALLS; calls > 0; calls--)
		run_call(&pt, &memory, &model, &in);
	compare_all(&pt, &memory, &model);
	if (take(&in, 1) & 1)
		run_untrue(&pt, &memory, &model, &in);
	gw_pt_destroy(&pt);
	CHECK(memory.lenient || memory.used == 0);
	return 0;
}
