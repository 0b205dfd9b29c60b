// SPDX-License-Identifier: Apache-2.0
/* Page requests: sorted in place, then cut into naturally aligned groups in one pass. */
#include <godwit/fault.h>

static bool gw_fault_before(const struct gw_fault *a, const struct gw_fault *b)
{
	if (a->context != b->context)
		return a->context < b->context;
	if (a->page != b->page)
		return a->page < b->page;
	return a->tag < b->tag;
}

static void gw_fault_sift(struct gw_fault *faults, uint32_t root, uint32_t count)
{
	struct gw_fault moved = faults[root];

	for (uint32_t child; (child = 2 * root + 1) < count; root = child) {
		if (child + 1 < count && gw_fault_before(&faults[child], &faults[child + 1]))
			child++;
		if (!gw_fault_before(&moved, &faults[child]))
			break;
		faults[root] = faults[child];
	}
	faults[root] = moved;
}

/* Heapsort: in place, and no order of requests that a device can make is slow. */
static void gw_fault_sort(struct gw_fault *faults, uint32_t count)
{
	for (uint32_t i = count / 2; i-- > 0;)
		gw_fault_sift(faults, i, count);
	for (uint32_t end = count; end-- > 1;) {
		struct gw_fault last = faults[end];

		faults[end] = faults[0];
		faults[0] = last;
		gw_fault_sift(faults, 0, end);
	}
}

/* Joins the last two groups as long as they are halves of an aligned one. */
static uint32_t gw_fault_join(struct gw_fault_group *groups, uint32_t made, uint32_t max_order)
{
	while (made >= 2) {
		struct gw_fault_group *low = &groups[made - 2], *high = &groups[made - 1];
		uint64_t half = (uint64_t)1 << low->order;

		if (low->order != high->order || low->order >= max_order || low->context != high->context ||
		    low->page & half || high->page != low->page + half)
			break;
		low->order++;
		low->count += high->count;
		low->flags |= high->flags;
		made--;
	}
	return made;
}

uint32_t gw_fault_coalesce(struct gw_fault *faults, uint32_t count, uint32_t max_order,
			   struct gw_fault_group *groups, struct gw_fault_stats *stats)
{
	uint32_t made = 0, pages = 0, answers = 0;

	if (max_order > GW_FAULT_MAX_ORDER)
		max_order = GW_FAULT_MAX_ORDER;
	gw_fault_sort(faults, count);
	for (uint32_t i = 0; i < count; i++) {
		struct gw_fault *fault = &faults[i];
		const struct gw_fault *before = i ? &faults[i - 1] : NULL;
		bool same = before && before->context == fault->context && before->page == fault->page;

		fault->flags &= GW_FAULT_WRITE;
		if (same && before->tag == fault->tag)
			fault->flags |= GW_FAULT_REPEAT;
		else
			answers++;
		if (same) {
			/* Its page is the last one of the last group, joined or not. */
			groups[made - 1].count++;
			groups[made - 1].flags |= fault->flags & GW_FAULT_WRITE;
			continue;
		}
		/* The group before has all its requests now. */
		made = gw_fault_join(groups, made, max_order);
		groups[made++] = (struct gw_fault_group){
			.page = fault->page,
			.context = fault->context,
			.first = i,
			.count = 1,
			.flags = fault->flags & GW_FAULT_WRITE,
		};
		pages++;
	}
	made = gw_fault_join(groups, made, max_order);
	if (stats)
		*stats = (struct gw_fault_stats){ made, pages, count - pages, answers };
	return made;
}
