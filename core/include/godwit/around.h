/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pages go back to the host with one that it touches.
 *
 * DOC: policy
 *   A touch takes the naturally aligned group around it, of the fewest pages. One that is where the group of an earlier one ended goes on
 *   with a walk, and takes twice as many as that, from there to the next multiple of so many, at most the most. So a walk costs a touch for
 *   each doubling at first, and then one for each group of the most pages, and touches at random take the fewest.
 *   Several walks are told apart by whose memory it is and where they go on. The one that nobody went on with for longest makes room.
 *
 * Pure: memory of the caller, no globals, no allocation, no I/O. No locks: one caller at a time.
 */
#ifndef GODWIT_AROUND_H_
#define GODWIT_AROUND_H_

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Walks that are told apart. */
#define GW_AROUND_WALKS 8u

/**
 * struct gw_around_walk - where touches go on one behind the other; private
 * @owner: whose memory
 * @next: page behind the last group
 * @pages: of that group, before it was cut to where it began; 0: no walk
 */
struct gw_around_walk {
	uint64_t owner;
	uint64_t next;
	uint32_t pages;
};

/**
 * struct gw_around - walks, the one that was gone on with last first; private, all zero at first
 */
struct gw_around {
	struct gw_around_walk walk[GW_AROUND_WALKS];
};

/**
 * gw_around_touched() - the host touches a page that is on the device
 * @a: walks
 * @owner: whose memory
 * @page: its number
 * @fewest: pages of a group, a power of two
 * @most: the same of a walk, a power of two, not less than @fewest
 * @first: set to the first page of the group, which has @page
 *
 * Return: the pages of the group, which end at a multiple of at most @most pages.
 */
uint32_t gw_around_touched(struct gw_around *a, uint64_t owner, uint64_t page, uint32_t fewest, uint32_t most, uint64_t *first);

#ifdef __cplusplus
}
#endif

#endif /* GODWIT_AROUND_H_ */
