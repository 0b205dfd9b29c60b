// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which pages of a pool are given. The first page of an aligned 2 MiB of a process's memory has 2 MiB of the pool held for all of
 * them (a reservation: Navarro 2002), so that later ones come to the same offsets, whenever they do, and the card's tables can have
 * one entry for all. When none is left, the longest held one that has room is broken: what is not in use of it is held in groups of
 * 64 KiB in the same way, and when none of these is left, it is given as single pages. So pages are refused only when all are in use.
 * A group in which nothing is left joins with its neighbours again.
 *
 * No function waits, and the caller has a lock: pages are let go of under any.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "groups.h"

#define GODWIT_LAST_LEVEL (GODWIT_GROUP_LEVELS - 1)

static const u32 godwit_group_orders[GODWIT_GROUP_LEVELS] = { GODWIT_GROUP_ORDER, 4 };

static struct godwit_group *godwit_group_first(struct list_head *list)
{
	return list_first_entry_or_null(list, struct godwit_group, node);
}

static struct hlist_head *godwit_group_bucket(struct godwit_group_level *level, const void *owner, u64 part)
{
	return &level->hash[hash_64((unsigned long)owner + part, level->hash_bits)];
}

static void godwit_group_keep(struct godwit_group_level *level, struct godwit_group *group, const void *owner, u64 part)
{
	group->owner = owner;
	group->part = part;
	group->state = GODWIT_GROUP_HELD;
	hlist_add_head(&group->held, godwit_group_bucket(level, owner, part));
}

static struct godwit_group *godwit_group_find(struct godwit_group_level *level, const void *owner, u64 part)
{
	struct godwit_group *group;

	hlist_for_each_entry(group, godwit_group_bucket(level, owner, part), held)
		if (group->owner == owner && group->part == part)
			return group;
	return NULL;
}

static bool godwit_group_full(const struct godwit_group_level *level, const struct godwit_group *group)
{
	return group->used == 1 << level->order;
}

/* The groups of the last level in a broken one stand for themselves: those in use stay for what the whole was held for. */
static void godwit_group_divide(struct godwit_groups *groups, const struct godwit_group *whole)
{
	struct godwit_group_level *level = &groups->level[GODWIT_LAST_LEVEL];
	unsigned long each = 1ul << (groups->level[0].order - level->order), i;
	struct godwit_group *group = level->group + (whole - groups->level[0].group) * each;

	for (i = 0; i < each; i++, group++) {
		if (!group->used) {
			group->state = GODWIT_GROUP_EMPTY;
			list_add_tail(&group->node, &level->empty);
			continue;
		}
		godwit_group_keep(level, group, whole->owner, whole->part * each + i);
		if (!godwit_group_full(level, group))
			list_add_tail(&group->node, &level->room);
	}
}

/* Has pages of a group be given for themselves: of an empty one, else of the longest held one that has room; false without one. */
static bool godwit_group_break(struct godwit_groups *groups, u32 number)
{
	struct godwit_group_level *level = &groups->level[number];
	struct godwit_group *group = godwit_group_first(&level->empty);

	if (!group)
		group = godwit_group_first(&level->room);
	if (!group)
		return false;
	if (group->state == GODWIT_GROUP_HELD)
		hlist_del_init(&group->held);
	list_del_init(&group->node);
	group->state = GODWIT_GROUP_BROKEN;
	if (number == GODWIT_LAST_LEVEL)
		list_add_tail(&group->node, &groups->loose);
	else
		godwit_group_divide(groups, group);
	return true;
}

/* The group that is held for a part of somebody's memory, or an empty one, from now on; NULL without one. */
static struct godwit_group *godwit_group_hold(struct godwit_groups *groups, u32 number, const void *owner, u64 part)
{
	struct godwit_group_level *level = &groups->level[number];
	struct godwit_group *group = godwit_group_find(level, owner, part);

	if (group)
		return group;
	if (number && list_empty(&level->empty))
		godwit_group_break(groups, number - 1);
	group = godwit_group_first(&level->empty);
	if (!group)
		return NULL;
	godwit_group_keep(level, group, owner, part);
	list_move_tail(&group->node, &level->room);
	return group;
}

static unsigned long godwit_groups_use(struct godwit_groups *groups, unsigned long index)
{
	u32 i;

	__set_bit(index, groups->bits);
	groups->used++;
	for (i = 0; i < GODWIT_GROUP_LEVELS; i++) {
		struct godwit_group *group = &groups->level[i].group[index >> groups->level[i].order];

		group->used++;
		if (godwit_group_full(&groups->level[i], group))
			list_del_init(&group->node);
	}
	return index;
}

/* A page of broken groups, wherever it is. */
static unsigned long godwit_groups_any(struct godwit_groups *groups)
{
	struct godwit_group_level *level = &groups->level[GODWIT_LAST_LEVEL];
	struct godwit_group *group;

	while (!(group = godwit_group_first(&groups->loose)))
		if (!godwit_group_break(groups, GODWIT_LAST_LEVEL) && !godwit_group_break(groups, 0))
			return GODWIT_NO_PAGE;
	return find_next_zero_bit(groups->bits, groups->pages, (group - level->group) << level->order);
}

/* The index of a page for page @page of somebody's memory; GODWIT_NO_PAGE when all are in use. */
unsigned long godwit_groups_take(struct godwit_groups *groups, const void *owner, u64 page)
{
	unsigned long index;
	u32 i;

	for (i = 0; i < GODWIT_GROUP_LEVELS; i++) {
		struct godwit_group_level *level = &groups->level[i];
		struct godwit_group *group = godwit_group_hold(groups, i, owner, page >> level->order);

		if (!group)
			continue;
		index = ((group - level->group) << level->order) + (page & GENMASK(level->order - 1, 0));
		/* What was there before may still be in use: a child's, after a fork. */
		if (!test_bit(index, groups->bits))
			return godwit_groups_use(groups, index);
	}
	index = godwit_groups_any(groups);
	return index == GODWIT_NO_PAGE ? index : godwit_groups_use(groups, index);
}

/* The index of the first of 2 MiB, all of which is for such a part of somebody's memory; GODWIT_NO_PAGE when none is empty. */
unsigned long godwit_groups_take_all(struct godwit_groups *groups, const void *owner, u64 part)
{
	struct godwit_group_level *level = &groups->level[0];
	struct godwit_group *group = godwit_group_first(&level->empty);
	unsigned long first, i;

	if (!group)
		return GODWIT_NO_PAGE;
	first = (group - level->group) << level->order;
	/* The newest that is held for a part is found first: what is in an older one, a child's, goes by itself. */
	godwit_group_keep(level, group, owner, part);
	for (i = 0; i < BIT(level->order); i++)
		godwit_groups_use(groups, first + i);
	return first;
}

/* Nothing of a group of the first level is in use: its groups stand for nothing more. */
static void godwit_group_join(struct godwit_groups *groups, const struct godwit_group *whole)
{
	struct godwit_group_level *level = &groups->level[GODWIT_LAST_LEVEL];
	unsigned long each = 1ul << (groups->level[0].order - level->order), i;
	struct godwit_group *group = level->group + (whole - groups->level[0].group) * each;

	for (i = 0; i < each; i++, group++) {
		list_del_init(&group->node);
		group->state = GODWIT_GROUP_INSIDE;
	}
}

/* One page less of a group is in use. */
static void godwit_group_less(struct godwit_groups *groups, u32 number, struct godwit_group *group)
{
	struct godwit_group_level *level = &groups->level[number];
	bool full = godwit_group_full(level, group);

	group->used--;
	if (group->state == GODWIT_GROUP_INSIDE)
		return;
	if (!group->used) {
		if (group->state == GODWIT_GROUP_HELD)
			hlist_del_init(&group->held);
		else if (number != GODWIT_LAST_LEVEL)
			godwit_group_join(groups, group);
		group->state = GODWIT_GROUP_EMPTY;
		list_move(&group->node, &level->empty);
	} else if (full && group->state == GODWIT_GROUP_HELD) {
		list_add_tail(&group->node, &level->room);
	} else if (full && number == GODWIT_LAST_LEVEL) {
		list_add_tail(&group->node, &groups->loose);
	}
}

void godwit_groups_free(struct godwit_groups *groups, unsigned long index)
{
	u32 i = GODWIT_GROUP_LEVELS;

	__clear_bit(index, groups->bits);
	groups->used--;
	while (i--)
		godwit_group_less(groups, i, &groups->level[i].group[index >> groups->level[i].order]);
}

static int godwit_group_level_init(struct godwit_group_level *level, unsigned long pages, u32 order)
{
	unsigned long i;

	level->order = order;
	level->count = pages >> order;
	level->hash_bits = ilog2(level->count) + 1;
	INIT_LIST_HEAD(&level->empty);
	INIT_LIST_HEAD(&level->room);
	level->group = kvcalloc(level->count, sizeof(*level->group), GFP_KERNEL);
	level->hash = kvcalloc(1ul << level->hash_bits, sizeof(*level->hash), GFP_KERNEL);
	if (!level->group || !level->hash)
		return -ENOMEM;
	for (i = 0; i < level->count; i++) {
		INIT_LIST_HEAD(&level->group[i].node);
		if (order != GODWIT_GROUP_ORDER)
			continue;
		level->group[i].state = GODWIT_GROUP_EMPTY;
		list_add_tail(&level->group[i].node, &level->empty);
	}
	return 0;
}

/* Whole groups of the first level. After an error only godwit_groups_fini() may follow. */
int godwit_groups_init(struct godwit_groups *groups, unsigned long pages)
{
	int err = 0;
	u32 i;

	groups->pages = pages;
	groups->used = 0;
	INIT_LIST_HEAD(&groups->loose);
	groups->bits = kvcalloc(BITS_TO_LONGS(pages), sizeof(*groups->bits), GFP_KERNEL);
	if (!groups->bits)
		err = -ENOMEM;
	for (i = 0; i < GODWIT_GROUP_LEVELS; i++)
		err = godwit_group_level_init(&groups->level[i], pages, godwit_group_orders[i]) ? : err;
	return err;
}

void godwit_groups_fini(struct godwit_groups *groups)
{
	u32 i;

	for (i = 0; i < GODWIT_GROUP_LEVELS; i++) {
		kvfree(groups->level[i].group);
		kvfree(groups->level[i].hash);
	}
	kvfree(groups->bits);
}
