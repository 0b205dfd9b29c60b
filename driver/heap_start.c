// SPDX-License-Identifier: GPL-2.0-only
/*
 * The heap's memory, given to the hardware when the driver takes the card.
 *
 * DOC: a heap that was there before
 *   Hardware begins once, until its reset. A driver that comes later finds where its memory is in the registers, and takes it
 *   as it is: all was given back when contexts ended, and frames are cleared before they are given. If something was not given
 *   back, the card has no heap until it is reset.
 */
#include <linux/delay.h>
#include <linux/minmax.h>
#include <linux/sizes.h>

#include "driver.h"

/* What the heap's memory is counted in. */
#define GODWIT_HEAP_BLOCK SZ_2M
/* Of a block's bits, of one bitmap. */
#define GODWIT_HEAP_BITS 64
/* Frames that it keeps at hand: for tables, and those that it clears. */
#define GODWIT_HEAP_AT_HAND (4 + 16)

/* Takes exactly this part of device memory. */
static int godwit_heap_reserve(struct godwit_device *gdev, u64 pa, u64 bytes)
{
	struct gw_range_request request = {
		.bytes = bytes,
		.min = pa,
		.max = pa + bytes - 1,
		.node = GW_RANGE_ANY_NODE,
	};
	u64 got;

	return bytes && pa + bytes <= gdev->memory_bytes && !gw_range_alloc(&gdev->frames, &request, &got, NULL) ? 0 :
														   -EBUSY;
}

static u64 godwit_heap_bits(u64 bytes)
{
	return ALIGN(bytes / GODWIT_HEAP_BLOCK * GODWIT_HEAP_BITS, GODWIT_FRAME_BYTES);
}

/* A heap that begins: the end of device memory, and what it keeps of it before that. */
static int godwit_heap_begin(struct godwit_device *gdev, u64 bytes)
{
	u64 base = gdev->memory_bytes - bytes, bits = godwit_heap_bits(bytes);
	u64 kept = base - 2 * bits - GODWIT_FRAME_BYTES;

	if (godwit_heap_reserve(gdev, base, bytes) || godwit_heap_reserve(gdev, kept, base - kept))
		return -ENOMEM;
	memset_io(gdev->memory + kept, 0, GODWIT_FRAME_BYTES);
	godwit_write64(gdev, GODWIT_HEAP_REG(zero), kept / GODWIT_FRAME_BYTES);
	godwit_write64(gdev, GODWIT_HEAP_REG(clean_bits), (base - 2 * bits) / GODWIT_FRAME_BYTES);
	godwit_write64(gdev, GODWIT_HEAP_REG(dirty_bits), (base - bits) / GODWIT_FRAME_BYTES);
	godwit_write64(gdev, GODWIT_HEAP_REG(base), base / GODWIT_FRAME_BYTES);
	/* Who knows what is in there: it is cleared before it is given. */
	godwit_write(gdev, GODWIT_HEAP_REG(memory), bytes / GODWIT_HEAP_BLOCK << GW_HEAP__MEMORY__BLOCKS_bp);
	godwit_write(gdev, GODWIT_HEAP_REG(start), GW_HEAP__START__START_bm);
	gdev->heap.base = base;
	gdev->heap.bytes = bytes;
	return 0;
}

/* One that a driver before this one has begun. */
static int godwit_heap_take(struct godwit_device *gdev, u64 bytes)
{
	u64 base = godwit_read64(gdev, GODWIT_HEAP_REG(base)) * GODWIT_FRAME_BYTES;
	u64 kept = godwit_read64(gdev, GODWIT_HEAP_REG(zero)) * GODWIT_FRAME_BYTES;

	if (kept >= base || base - kept != 2 * godwit_heap_bits(bytes) + GODWIT_FRAME_BYTES ||
	    godwit_heap_reserve(gdev, base, bytes) || godwit_heap_reserve(gdev, kept, base - kept))
		return -EBUSY;
	gdev->heap.base = base;
	gdev->heap.bytes = bytes;
	return 0;
}

/* Waits until all of its frames are there, but for those at hand. */
static int godwit_heap_filled(struct godwit_device *gdev)
{
	u64 all = gdev->heap.bytes - GODWIT_HEAP_AT_HAND * GODWIT_FRAME_BYTES;
	unsigned long deadline = jiffies + msecs_to_jiffies(READ_ONCE(godwit_param_fence_ms));

	for (;;) {
		bool late = time_after(jiffies, deadline);

		/* A card that is gone reads as broken. */
		if (late || (godwit_read(gdev, GODWIT_HEAP_REG(status)) & GW_HEAP__STATUS__BROKEN_bm))
			return -EIO;
		if (godwit_heap_free_bytes(gdev) >= all)
			return 0;
		usleep_range(GODWIT_HEAP_POLL_US, 2 * GODWIT_HEAP_POLL_US);
	}
}

/* A card without a heap works; so does one whose heap cannot be used. */
void godwit_heap_init(struct godwit_device *gdev)
{
	u32 id = godwit_read(gdev, GODWIT_HEAP_REG(id)), blocks;
	u64 bytes, most;
	int err;

	mutex_init(&gdev->heap.lock);
	/* Registers that are not there read as ones. */
	if (id == ~0u)
		return;
	if (GODWIT_HEAP_FIELD(ID__MAGIC, id) != GW_HEAP__ID__MAGIC_reset ||
	    GODWIT_HEAP_FIELD(ID__MAJOR, id) != GW_HEAP__ID__MAJOR_reset) {
		dev_warn(&gdev->pdev->dev, "a heap that identifies itself as %#010x: this driver knows none such\n", id);
		return;
	}
	blocks = GODWIT_HEAP_FIELD(MEMORY__BLOCKS, godwit_read(gdev, GODWIT_HEAP_REG(memory)));
	if (blocks) {
		/* Whoever wants none: its memory is taken all the same. */
		err = godwit_heap_take(gdev, (u64)blocks * GODWIT_HEAP_BLOCK);
	} else {
		most = (u64)GODWIT_HEAP_BLOCK
		       << GODWIT_HEAP_FIELD(CAPABILITIES__BLOCKS, godwit_read(gdev, GODWIT_HEAP_REG(capabilities)));
		bytes = round_down(min3(most, gdev->memory_bytes / 2, (u64)godwit_param_heap_mib << 20), GODWIT_HEAP_BLOCK);
		if (!bytes)
			return;
		err = godwit_heap_begin(gdev, bytes);
	}
	if (!err)
		err = godwit_heap_filled(gdev);
	if (err) {
		dev_warn(&gdev->pdev->dev, "the heap is in use, or its memory is: programs have none until the card is reset\n");
		gdev->heap.bytes = 0;
	}
	if (!godwit_param_heap_mib)
		gdev->heap.bytes = 0;
}
