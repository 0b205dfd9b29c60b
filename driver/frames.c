// SPDX-License-Identifier: GPL-2.0-only
/* Frames of device memory: core's bitmaps over BAR 2. */
#include <linux/mm.h>
#include <linux/sched.h>

#include "driver.h"

static void godwit_frames_relax(u32 looks)
{
	cond_resched();
}

int godwit_frames_init(struct godwit_device *gdev)
{
	struct gw_range_area all = { .base = 0, .bytes = gdev->memory_bytes };
	size_t bytes;

	if (gw_range_storage(&all, 1, PAGE_SHIFT, &bytes))
		return -EINVAL;
	gdev->frames_storage = kvzalloc(bytes, GFP_KERNEL);
	if (!gdev->frames_storage)
		return -ENOMEM;
	if (gw_range_init(&gdev->frames, &all, 1, PAGE_SHIFT, gdev->frames_storage, bytes)) {
		godwit_frames_fini(gdev);
		return -EINVAL;
	}
	gdev->frames.relax = godwit_frames_relax;
	return 0;
}

void godwit_frames_fini(struct godwit_device *gdev)
{
	kvfree(gdev->frames_storage);
	gdev->frames_storage = NULL;
}

/* A frame that reads as zero, or GW_PT_NO_FRAME. */
u64 godwit_frame_alloc(struct godwit_device *gdev)
{
	struct gw_range_request request = {
		.bytes = GODWIT_FRAME_BYTES,
		.max = ~0ull,
		.node = GW_RANGE_ANY_NODE,
	};
	u64 pa;

	if (godwit_fails(gdev) || gw_range_alloc(&gdev->frames, &request, &pa, NULL))
		return GW_PT_NO_FRAME;
	memset_io(gdev->memory + pa, 0, GODWIT_FRAME_BYTES);
	return pa;
}

void godwit_frame_free(struct godwit_device *gdev, u64 pa)
{
	u64 first, bytes;

	/*
	 * What a card wrote over its own tables may come here; bitmaps know what is a frame in use, and what is more than one: the pool,
	 * the heap. Tables that a broken heap has left are its own.
	 */
	if (godwit_heap_region_of(gdev, pa) || gw_range_find(&gdev->frames, pa, &first, &bytes) || bytes != GODWIT_FRAME_BYTES ||
	    gw_range_free(&gdev->frames, pa, NULL))
		dev_warn_ratelimited(&gdev->pdev->dev, "frame %#llx is not in use: page tables were overwritten\n", pa);
}
