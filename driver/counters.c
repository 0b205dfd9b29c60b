// SPDX-License-Identifier: GPL-2.0-only
/* The card's own counters, for programs: they are read and stopped while that lasts, and nothing else of the card is shown. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "driver.h"

#define GODWIT_BLOCK(name)                                                                  \
	{                                                                                   \
		.first = offsetof(gw_mmu_t, name), .bytes = sizeof_field(gw_mmu_t, name),   \
	}
#define GODWIT_PORT_COUNTERS sizeof(gw_mmu__port_counters__portx__stride100_t)

/* What counts for the whole card. */
static const struct {
	u32 first;
	u32 bytes;
} godwit_blocks[] = {
	GODWIT_BLOCK(faults_lost),  GODWIT_BLOCK(walker_counters), GODWIT_BLOCK(l2_counters),
	GODWIT_BLOCK(page_counters), GODWIT_BLOCK(heap_counters),   GODWIT_BLOCK(cache_counters),
};

/* Whether a word at @offset is one of a channel's counters. */
static bool godwit_is_channels(u32 offset, u32 channel)
{
	return offset >= channel && offset - channel < sizeof(gw_mmu__port_counters__portx__ar_t);
}

static bool godwit_is_counter(struct godwit_device *gdev, u32 offset)
{
	u32 ports = offsetof(gw_mmu_t, port_counters), within;
	size_t i;

	if (offset % 4)
		return false;
	for (i = 0; i < ARRAY_SIZE(godwit_blocks); i++)
		if (offset >= godwit_blocks[i].first && offset - godwit_blocks[i].first < godwit_blocks[i].bytes)
			return true;
	if (offset < ports || (offset - ports) / GODWIT_PORT_COUNTERS >= gdev->ports)
		return false;
	within = (offset - ports) % GODWIT_PORT_COUNTERS;
	return godwit_is_channels(within, offsetof(gw_mmu__port_counters__portx__stride100_t, ar)) ||
	       godwit_is_channels(within, offsetof(gw_mmu__port_counters__portx__stride100_t, aw));
}

/* All as of one cycle. */
static int godwit_read_counters(struct godwit_device *gdev, struct godwit_register *words, u32 count)
{
	u32 control, i;
	int err;

	mutex_lock(&gdev->counters_lock);
	control = godwit_read(gdev, GODWIT_MMU(count_control));
	godwit_write(gdev, GODWIT_MMU(count_control), control | GW_MMU__COUNT_CONTROL__INHIBIT_bm);
	for (i = 0; i < count; i++)
		words[i].value = godwit_read(gdev, GODWIT_REGISTER_SPACE_MMU_BASE + words[i].offset);
	godwit_write(gdev, GODWIT_MMU(count_control), control);
	err = godwit_read(gdev, GODWIT_MMU(id)) == ~0u ? -ENODEV : 0;
	mutex_unlock(&gdev->counters_lock);
	return err;
}

int godwit_counters(struct godwit_context *ctx, const struct godwit_counters *what)
{
	size_t bytes = (size_t)what->count * sizeof(struct godwit_register);
	struct godwit_device *gdev = ctx->device;
	struct godwit_register *words;
	int err = 0;
	u32 i;

	if (what->reserved || !what->count || what->count > GODWIT_COUNTER_WORDS)
		return -EINVAL;
	words = vmemdup_user(u64_to_user_ptr(what->words), bytes);
	if (IS_ERR(words))
		return PTR_ERR(words);
	for (i = 0; i < what->count && !err; i++)
		err = godwit_is_counter(gdev, words[i].offset) ? 0 : -EINVAL;
	if (!err)
		err = godwit_read_counters(gdev, words, what->count);
	if (!err && copy_to_user(u64_to_user_ptr(what->words), words, bytes))
		err = -EFAULT;
	kvfree(words);
	return err;
}
