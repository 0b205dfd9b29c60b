/* SPDX-License-Identifier: GPL-2.0-only */
/* Which pages of a pool are given: neighbours in a process are neighbours in the pool, at the same offsets, where there is room. */
#ifndef GODWIT_GROUPS_H_
#define GODWIT_GROUPS_H_

#include <linux/list.h>
#include <linux/types.h>

/* Of 2 MiB, and within those that are broken of 64 KiB: what the card's tables have larger entries for. */
#define GODWIT_GROUP_LEVELS 2
/* Log2 of the pages of a 2 MiB one. */
#define GODWIT_GROUP_ORDER 9
/* No page is left. */
#define GODWIT_NO_PAGE (~0ul)

/**
 * enum godwit_group_state - what an aligned part of a pool is for
 * @GODWIT_GROUP_INSIDE: it belongs to a larger one that is not broken
 * @GODWIT_GROUP_EMPTY: nothing; no page of it is in use
 * @GODWIT_GROUP_HELD: one part of one process's memory; others have none of its pages
 * @GODWIT_GROUP_BROKEN: groups of the level below, or single pages, are given for themselves
 */
enum godwit_group_state {
	GODWIT_GROUP_INSIDE,
	GODWIT_GROUP_EMPTY,
	GODWIT_GROUP_HELD,
	GODWIT_GROUP_BROKEN,
};

/**
 * struct godwit_group - an aligned part of a pool
 * @held: in its level's hash, while it is held
 * @node: in a list of its level's
 * @owner: whose memory it is held for; only compared
 * @part: which part of that, by number of parts of this size
 * @used: pages in use
 * @state: enum godwit_group_state
 */
struct godwit_group {
	struct hlist_node held;
	struct list_head node;
	const void *owner;
	u64 part;
	u16 used;
	u8 state;
};

/**
 * struct godwit_group_level - all groups of one size
 * @group: they
 * @count: how many
 * @order: log2 of their pages
 * @hash: those that are held, by whom and for what
 * @hash_bits: log2 of its size
 * @empty: those in which nothing is
 * @room: held ones that are not full, the longest held first; on the last level also what is left of broken ones is in struct
 *        godwit_groups.loose
 */
struct godwit_group_level {
	struct godwit_group *group;
	unsigned long count;
	u32 order;
	struct hlist_head *hash;
	u32 hash_bits;
	struct list_head empty;
	struct list_head room;
};

/**
 * struct godwit_groups - pages of a pool, by index; the caller has a lock
 * @level: of 2 MiB, and of 64 KiB
 * @loose: broken groups of 64 KiB with pages that are not in use
 * @bits: pages in use
 * @pages: how many there are
 * @used: in use
 */
struct godwit_groups {
	struct godwit_group_level level[GODWIT_GROUP_LEVELS];
	struct list_head loose;
	unsigned long *bits;
	unsigned long pages;
	unsigned long used;
};

int godwit_groups_init(struct godwit_groups *groups, unsigned long pages);
void godwit_groups_fini(struct godwit_groups *groups);
unsigned long godwit_groups_take(struct godwit_groups *groups, const void *owner, u64 page);
unsigned long godwit_groups_take_all(struct godwit_groups *groups, const void *owner, u64 part);
void godwit_groups_free(struct godwit_groups *groups, unsigned long index);

#endif /* GODWIT_GROUPS_H_ */
