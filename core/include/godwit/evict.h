/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pages leave a device whose memory is full.
 *
 * DOC: model
 *   Pages are taken in groups, such as the 64 KiB that one TLB entry covers; a group has as many pages as are resident.
 *   The caller numbers the groups and gives a node for each, which remembers it when it is away, too. Groups stand in
 *   one of three queues: *kept* (most of the memory), *passing* (a small part), *ahead* (prefetched, not used yet).
 *
 * DOC: policy
 *   What is fetched passes through the small queue and leaves; the kept ones stay, so a data set larger than the memory
 *   that is walked again and again keeps most of the memory useful, where evicting the least recently used keeps none
 *   of it (LIRS, Jiang and Zhang, SIGMETRICS 2002). A group that comes back replaces a kept one that has
 *   not been used for more than twice as long as it was away. Time is the number of pages fetched. Whether a group was used is
 *   known from the A bits, read and cleared by a callback only for groups that are looked at. What is used while it passes passes once
 *   more; only leaving and coming back shows that it is used again, and not still (2Q, Johnson and Shasha, VLDB 1994).
 *
 * DOC: without A bits
 *   Nobody knows whether a kept group is used: then one group in eight that come back may replace one. When one that was
 *   replaced is asked for again before a memory's worth of pages has come, half as many may from then on, one in 16 at least; two
 *   that are not asked for, and twice as many may, up to all: the policy tries out whether it does better with what is kept or with
 *   what comes, as set duelling does for caches (DIP, Qureshi et al., ISCA 2007), without memory set apart for that.
 *
 * DOC: prefetch
 *   Prefetched groups that stay unused are the first to go. A prefetch gets room from no others, so it never evicts what
 *   was faulted.
 *
 * All functions are pure: memory of the caller, no globals, no allocation, no I/O. No locks: one caller at a time.
 */
#ifndef GODWIT_EVICT_H_
#define GODWIT_EVICT_H_

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

/* No group. */
#define GW_EVICT_NONE (~(uint32_t)0)

/**
 * enum gw_evict_queue - where a group is
 * @GW_EVICT_AWAY: not resident
 * @GW_EVICT_KEPT: resident, looked at last
 * @GW_EVICT_PASSING: resident, leaves unless it is used again
 * @GW_EVICT_AHEAD: resident, prefetched, not asked for
 */
enum gw_evict_queue {
	GW_EVICT_AWAY = 0,
	GW_EVICT_KEPT = 1,
	GW_EVICT_PASSING = 2,
	GW_EVICT_AHEAD = 3,
};

/**
 * struct gw_evict_node - one group; private, all zero at first
 * @next: in its queue
 * @previous: in its queue
 * @stamp: pages fetched when it was last known to be used
 * @pages: that are resident
 * @queue: enum gw_evict_queue
 * @flags: private
 */
struct gw_evict_node {
	uint32_t next;
	uint32_t previous;
	uint32_t stamp;
	uint16_t pages;
	uint8_t queue;
	uint8_t flags;
};

/**
 * struct gw_evict_list - a queue; private
 * @oldest: first to be looked at
 * @newest: last
 * @pages: of all of its groups
 */
struct gw_evict_list {
	uint32_t oldest;
	uint32_t newest;
	uint64_t pages;
};

/**
 * struct gw_evict - all state; private
 */
struct gw_evict {
	struct gw_evict_node *nodes;
	uint32_t count;
	uint32_t now;
	uint64_t capacity;
	uint64_t passing_pages;
	uint64_t batch;
	struct gw_evict_list lists[4];
	uint32_t returned;
	uint32_t share;
	uint32_t calm;
};

/**
 * gw_evict_accessed_fn - whether any page of a group was accessed since the last call; clears the A bits
 */
typedef bool (*gw_evict_accessed_fn)(void *ctx, uint32_t group);

/**
 * gw_evict_init() - nothing resident
 * @e: state
 * @nodes: one a group, zeroed; theirs as long as @e is used
 * @count: groups, less than GW_EVICT_NONE
 * @capacity: pages of the device, less than 2^31
 */
void gw_evict_init(struct gw_evict *e, struct gw_evict_node *nodes, uint32_t count, uint64_t capacity);

/**
 * gw_evict_resize() - the device has more room for pages from now on, or less
 * @e: state
 * @capacity: pages, less than 2^31
 */
void gw_evict_resize(struct gw_evict *e, uint64_t capacity);

/**
 * gw_evict_coming() - a batch of pages is to come at once, and room is to be made for it
 * @e: state
 * @pages: of the batch
 *
 * To be called before the gw_evict_choose() for it; without, pages come one by one. Two batches pass through at a time, up to a
 * quarter of the memory, so that a large one pushes out those before it and not what is kept.
 */
void gw_evict_coming(struct gw_evict *e, uint64_t pages);

/**
 * gw_evict_added() - pages of a group have become resident
 * @e: state
 * @group: its number, below the count of groups
 * @pages: how many more
 * @asked: one of them was asked for; false: all of them are prefetched
 *
 * Return: false, and nothing is changed, if there is no such group or it cannot have so many pages.
 */
bool gw_evict_added(struct gw_evict *e, uint32_t group, uint32_t pages, bool asked);

/**
 * gw_evict_removed() - the whole group has left, for whatever reason
 * @e: state
 * @group: its number
 *
 * Return: the pages that it had, 0 if it was not resident.
 */
uint32_t gw_evict_removed(struct gw_evict *e, uint32_t group);

/**
 * gw_evict_spared() - a group that was chosen and removed could not leave after all; it passes, behind all others
 * @e: state
 * @group: its number
 * @pages: that it has
 *
 * Return: false, and nothing is changed, if there is no such group, it is resident, or it cannot have so many pages.
 */
bool gw_evict_spared(struct gw_evict *e, uint32_t group, uint32_t pages);

/**
 * gw_evict_choose() - the group that is to leave next; it stays resident until gw_evict_removed()
 * @e: state
 * @for_prefetch: room is wanted for a prefetch
 * @keep: a group that must not be chosen, such as the one that is being fetched, or GW_EVICT_NONE
 * @accessed: reads and clears A bits; NULL: there are none
 * @ctx: for @accessed
 *
 * Reads the A bits of at most six groups for each one that passes or waits ahead, and four more.
 * Return: its number, or GW_EVICT_NONE: nothing (else) is resident, or nothing that a prefetch may replace.
 */
uint32_t gw_evict_choose(struct gw_evict *e, bool for_prefetch, uint32_t keep, gw_evict_accessed_fn accessed,
			 void *ctx);

/**
 * gw_evict_pages() - resident pages of all groups
 */
uint64_t gw_evict_pages(const struct gw_evict *e);

/**
 * gw_evict_check() - whether queues, links and sums agree; for tests
 */
bool gw_evict_check(const struct gw_evict *e);

#ifdef __cplusplus
}
#endif

#endif /* GODWIT_EVICT_H_ */
