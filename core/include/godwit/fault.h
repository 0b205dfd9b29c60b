/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page requests of a device, coalesced: sorted, without repetition, in naturally aligned groups.
 *
 * DOC: why groups
 *   Requests come one a page, in any order, from many ports. A group is moved by one list of the page DMA, gets frames
 *   that are aligned as its pages are, so that one entry of a TLB covers it, and is answered when all of it is there.
 *   A host that replays after each page sees the neighbours' requests again and again; here every request is answered
 *   once.
 *
 * All functions are pure: memory of the caller, no globals, no allocation, no I/O, no recursion.
 */
#ifndef GODWIT_FAULT_H_
#define GODWIT_FAULT_H_

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* gw_fault.flags: the access was a write. */
#define GW_FAULT_WRITE 1u
/* gw_fault.flags, set by gw_fault_coalesce(): the same request stands before it in the list and is answered there. */
#define GW_FAULT_REPEAT 2u
/* Largest group: 2 MiB of 4 KiB pages. */
#define GW_FAULT_MAX_ORDER 9u

/**
 * struct gw_fault - one page request
 * @page: number of the 4 KiB page
 * @context: whose address it is
 * @tag: what the answer names, such as the index of the page-request group
 * @flags: GW_FAULT_WRITE or 0
 */
struct gw_fault {
	uint64_t page;
	uint32_t context;
	uint32_t tag;
	uint32_t flags;
};

/**
 * struct gw_fault_group - 2^order pages, aligned to their number, every one of which was asked for
 * @page: number of the first page
 * @context: whose they are
 * @order: 0 to @max_order of the call
 * @first: index of the first of its requests in the sorted list
 * @count: requests, at least one a page
 * @flags: GW_FAULT_WRITE if any of them is a write
 */
struct gw_fault_group {
	uint64_t page;
	uint32_t context;
	uint32_t order;
	uint32_t first;
	uint32_t count;
	uint32_t flags;
};

/**
 * struct gw_fault_stats - what a batch was
 * @groups: groups made
 * @pages: different pages asked for
 * @duplicates: requests for a page that another one of the batch asked for
 * @answers: requests that are not repeated, each of which is to be answered
 */
struct gw_fault_stats {
	uint32_t groups;
	uint32_t pages;
	uint32_t duplicates;
	uint32_t answers;
};

/**
 * gw_fault_coalesce() - sorts requests in place and says which groups they make
 * @faults: the batch; afterwards ordered by context, page and tag
 * @count: requests
 * @max_order: largest group, at most GW_FAULT_MAX_ORDER (larger ones are taken for it)
 * @groups: room for @count groups; in the order of the requests, and every request is in exactly one
 * @stats: what the batch was, or NULL
 *
 * Groups are the largest there are: two neighbours of one size never make up an aligned group that is allowed.
 * O(count log count) steps, no more memory.
 * Return: the number of groups.
 */
uint32_t gw_fault_coalesce(struct gw_fault *faults, uint32_t count, uint32_t max_order,
			   struct gw_fault_group *groups, struct gw_fault_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* GODWIT_FAULT_H_ */
