// SPDX-License-Identifier: GPL-2.0-only
/*
 * The heap's memory, given to the hardware when the driver takes the card.
 *
 * DOC: a heap that was there before
 *   Hardware begins a region once, until its reset, and its registers tell of one region only. So what was begun is written down
 *   in device memory, behind the zero frame, where a driver that comes later finds it, and takes the heap as it is: all was given
 *   back when contexts ended, and frames are cleared before they are given. If something was not given back, or nothing is
 *   written there that can be true, the card has no heap until it is reset.
 *
 *   What is written there may be older than a reset, for device memory may outlive one. The register of the memory's size does not: the
 *   driver sets it to a size before it begins a region and never to none, so it reads as none after a reset and nowhere else. Then nothing
 *   was begun, whatever is written, and regions are those that the parameters say now.
 */
#include <linux/delay.h>
#include <linux/sizes.h>

#include "driver.h"

/* Of a block's bits, of one bitmap. */
#define GODWIT_HEAP_BITS 64
/* Frames that it keeps at hand: for tables, and those that it clears. */
#define GODWIT_HEAP_AT_HAND (4 + 16)
/* Before the first region's bits: the zero frame, and the record. */
#define GODWIT_HEAP_HEAD (2 * GODWIT_FRAME_BYTES)
#define GODWIT_HEAP_RECORD_MAGIC 0x70616568474eull
#define GODWIT_HEAP_RECORD_STRICT 1
#define GODWIT_HEAP_RECORD_HOST 2
/* Since this version of its registers what kernels free waits for the driver. */
#define GODWIT_HEAP_HOLDS 3

/**
 * struct godwit_heap_record - what was begun, in device memory
 * @magic: GODWIT_HEAP_RECORD_MAGIC
 * @regions: how many
 * @region: first byte, bytes, first byte of the bits, and GODWIT_HEAP_RECORD_*
 */
struct godwit_heap_record {
	__le64 magic;
	__le64 regions;
	struct {
		__le64 base;
		__le64 bytes;
		__le64 bits;
		__le64 flags;
	} region[GODWIT_HEAP_REGIONS];
};

/* Takes a part of device memory: any one, or if @pa says which, exactly that. */
static int godwit_heap_reserve(struct godwit_device *gdev, u64 *pa, u64 bytes, bool exactly)
{
	struct gw_range_request request = {
		.bytes = bytes,
		.min = exactly ? *pa : 0,
		.max = exactly ? *pa + bytes - 1 : gdev->memory_bytes - 1,
		.node = GW_RANGE_ANY_NODE,
	};

	if (exactly && (!bytes || *pa > gdev->memory_bytes || bytes > gdev->memory_bytes - *pa))
		return -EBUSY;
	return gw_range_alloc(&gdev->frames, &request, pa, NULL) ? -EBUSY : 0;
}

/* Bytes of one bitmap of a region. */
static u64 godwit_heap_bits(const struct godwit_heap_region *region)
{
	return ALIGN(region->bytes / GODWIT_HEAP_BLOCK * GODWIT_HEAP_BITS, GODWIT_FRAME_BYTES);
}

/* What a region keeps beside its memory; the first has the head in front of its bits. */
static u64 godwit_heap_kept(const struct godwit_heap_region *region, u32 number)
{
	return 2 * godwit_heap_bits(region) + (number ? 0 : GODWIT_HEAP_HEAD);
}

/* Takes all regions' memory, and what they keep; @where_they_were: exactly there. */
static int godwit_heap_reserve_all(struct godwit_device *gdev, bool where_they_were)
{
	struct godwit_heap *heap = &gdev->heap;
	u32 i;

	for (i = 0; i < heap->regions; i++)
		if (!heap->region[i].host && godwit_heap_reserve(gdev, &heap->region[i].base, heap->region[i].bytes, true))
			return -EBUSY;
	for (i = 0; i < heap->regions; i++) {
		struct godwit_heap_region *region = &heap->region[i];
		u64 head = i ? 0 : GODWIT_HEAP_HEAD, kept = region->bits - head;

		if (godwit_heap_reserve(gdev, &kept, godwit_heap_kept(region, i), where_they_were))
			return -EBUSY;
		region->bits = kept + head;
	}
	return 0;
}

static void godwit_heap_write_down(struct godwit_device *gdev)
{
	struct godwit_heap_record record = {
		.magic = cpu_to_le64(GODWIT_HEAP_RECORD_MAGIC),
		.regions = cpu_to_le64(gdev->heap.regions),
	};
	u64 head = gdev->heap.region[0].bits - GODWIT_HEAP_HEAD;
	u32 i;

	for (i = 0; i < gdev->heap.regions; i++) {
		const struct godwit_heap_region *region = &gdev->heap.region[i];

		record.region[i].base = cpu_to_le64(region->base);
		record.region[i].bytes = cpu_to_le64(region->bytes);
		record.region[i].bits = cpu_to_le64(region->bits);
		record.region[i].flags = cpu_to_le64((region->strict ? GODWIT_HEAP_RECORD_STRICT : 0) |
						     (region->host ? GODWIT_HEAP_RECORD_HOST : 0));
	}
	memset_io(gdev->memory + head, 0, GODWIT_HEAP_HEAD);
	memcpy_toio(gdev->memory + head + GODWIT_FRAME_BYTES, &record, sizeof(record));
}

static void godwit_heap_begin_region(struct godwit_device *gdev, u32 number)
{
	const struct godwit_heap_region *region = &gdev->heap.region[number];
	u32 how = region->bytes / GODWIT_HEAP_BLOCK << GW_HEAP__MEMORY__BLOCKS_bp;

	godwit_heap_choose(gdev, number);
	godwit_write64(gdev, GODWIT_HEAP_REG(clean_bits), region->bits / GODWIT_FRAME_BYTES);
	godwit_write64(gdev, GODWIT_HEAP_REG(dirty_bits), (region->bits + godwit_heap_bits(region)) / GODWIT_FRAME_BYTES);
	godwit_write64(gdev, GODWIT_HEAP_REG(base), region->base / GODWIT_FRAME_BYTES);
	/* Who knows what is in there: it is cleared before it is given. */
	godwit_write(gdev, GODWIT_HEAP_REG(memory), how | (region->strict ? GW_HEAP__MEMORY__STRICT_bm : 0));
	godwit_write(gdev, GODWIT_HEAP_REG(start), GW_HEAP__START__START_bm);
}

/* A heap that begins: regions as planned, and what they keep of device memory besides. */
static int godwit_heap_begin(struct godwit_device *gdev)
{
	int err;
	u32 i;

	for (i = 0; i < gdev->heap.regions; i++) {
		err = gdev->heap.region[i].host ? godwit_heap_host_take(gdev, &gdev->heap.region[i]) : 0;
		if (err)
			return err;
	}
	if (godwit_heap_reserve_all(gdev, false))
		return -ENOMEM;
	godwit_heap_write_down(gdev);
	godwit_write64(gdev, GODWIT_HEAP_REG(zero), (gdev->heap.region[0].bits - GODWIT_HEAP_HEAD) / GODWIT_FRAME_BYTES);
	mutex_lock(&gdev->heap.choice);
	/* The first is the last, so that registers tell of it from then on. */
	for (i = gdev->heap.regions; i--;)
		godwit_heap_begin_region(gdev, i);
	mutex_unlock(&gdev->heap.choice);
	return 0;
}

/* Where the record is, with the zero frame in front of it, if the register can be true. */
static u64 godwit_heap_head(struct godwit_device *gdev)
{
	return godwit_read64(gdev, GODWIT_HEAP_REG(zero)) * GODWIT_FRAME_BYTES;
}

/* What is written down; how many regions, or 0 where it cannot be true. */
static u32 godwit_heap_read_down(struct godwit_device *gdev, struct godwit_heap_record *record)
{
	u64 head = godwit_heap_head(gdev), regions;

	if (gdev->memory_bytes < GODWIT_HEAP_HEAD || head > gdev->memory_bytes - GODWIT_HEAP_HEAD)
		return 0;
	memcpy_fromio(record, gdev->memory + head + GODWIT_FRAME_BYTES, sizeof(*record));
	regions = le64_to_cpu(record->regions);
	if (le64_to_cpu(record->magic) != GODWIT_HEAP_RECORD_MAGIC ||
	    regions > min_t(u64, GODWIT_HEAP_REGIONS, godwit_heap_hardware_regions(gdev)))
		return 0;
	return regions;
}

/* One that a driver before this one has begun; memory of the host is no part of it (godwit_heap_host_forget()). */
static int godwit_heap_take(struct godwit_device *gdev, u64 first_bytes)
{
	u64 base = godwit_read64(gdev, GODWIT_HEAP_REG(base)) * GODWIT_FRAME_BYTES;
	struct godwit_heap *heap = &gdev->heap;
	struct godwit_heap_record record;
	u32 regions = godwit_heap_read_down(gdev, &record), i;

	if (!regions)
		return -EBUSY;
	for (i = 0; i < regions; i++) {
		struct godwit_heap_region *region = &heap->region[i];

		*region = (struct godwit_heap_region){
			.base = le64_to_cpu(record.region[i].base),
			.bytes = le64_to_cpu(record.region[i].bytes),
			.bits = le64_to_cpu(record.region[i].bits),
			.strict = le64_to_cpu(record.region[i].flags) & GODWIT_HEAP_RECORD_STRICT,
		};
		if (!godwit_heap_region_fits(gdev, region) || !IS_ALIGNED(region->bits, GODWIT_FRAME_BYTES))
			return -EBUSY;
	}
	if (heap->region[0].base != base || heap->region[0].bytes != first_bytes ||
	    heap->region[0].bits != godwit_heap_head(gdev) + GODWIT_HEAP_HEAD)
		return -EBUSY;
	heap->regions = regions;
	return godwit_heap_reserve_all(gdev, true);
}

/* Waits until all frames of a region are there, but for those at hand. */
static int godwit_heap_filled(struct godwit_device *gdev, u32 region)
{
	u64 all = gdev->heap.region[region].bytes - GODWIT_HEAP_AT_HAND * GODWIT_FRAME_BYTES;
	unsigned long deadline = jiffies + msecs_to_jiffies(READ_ONCE(godwit_param_fence_ms));

	for (;;) {
		bool late = time_after(jiffies, deadline);

		/* A card that is gone reads as broken. */
		if (late || (godwit_read(gdev, GODWIT_HEAP_REG(status)) & GW_HEAP__STATUS__BROKEN_bm))
			return -EIO;
		if (godwit_heap_free_of(gdev, region, NULL) >= all)
			return 0;
		usleep_range(GODWIT_HEAP_POLL_US, 2 * GODWIT_HEAP_POLL_US);
	}
}

/* Bytes of the first region that was begun since the card's reset; 0: none was. */
static u64 godwit_heap_begun(struct godwit_device *gdev)
{
	return (u64)GODWIT_HEAP_FIELD(MEMORY__BLOCKS, godwit_read(gdev, GODWIT_HEAP_REG(memory))) * GODWIT_HEAP_BLOCK;
}

/* Asks once whether the card has a heap that this driver knows: on a card without one that is a read of what is not there. */
void godwit_heap_probe(struct godwit_device *gdev)
{
	u32 id = godwit_read(gdev, GODWIT_HEAP_REG(id));

	gdev->heap.known = GODWIT_HEAP_FIELD(ID__MAGIC, id) == GW_HEAP__ID__MAGIC_reset &&
			   GODWIT_HEAP_FIELD(ID__MAJOR, id) == GW_HEAP__ID__MAJOR_reset &&
			   GODWIT_HEAP_FIELD(ID__MINOR, id) >= GODWIT_HEAP_HOLDS;
	/* Registers that are not there read as ones. */
	if (!gdev->heap.known && id != ~0u)
		dev_warn(&gdev->pdev->dev, "a heap that identifies itself as %#010x: this driver knows none such\n", id);
}

/* Whether a heap was begun with memory of the host. */
bool godwit_heap_was_host(struct godwit_device *gdev)
{
	struct godwit_heap_record record;
	u32 regions, i;

	if (!gdev->heap.known || !godwit_heap_begun(gdev))
		return false;
	regions = godwit_heap_read_down(gdev, &record);
	for (i = 0; i < regions; i++)
		if (le64_to_cpu(record.region[i].flags) & GODWIT_HEAP_RECORD_HOST)
			return true;
	return false;
}

/* Hardware clears memory behind a page cache's back: what the heap clears in the host's would not be seen. */
void godwit_heap_check_cache(struct godwit_device *gdev)
{
	u32 i;

	for (i = 0; i < gdev->heap.regions && gdev->queue.caches; i++) {
		if (!gdev->heap.region[i].host)
			continue;
		dev_err(&gdev->pdev->dev, "heap_regions: the card has a page cache, and its heap can have no memory of the host: programs have no heap until the card is reset\n");
		gdev->heap.regions = 0;
	}
}

/* What kernels free is taken back when the driver has seen it, from now on; nobody has memory of the heap yet. */
static void godwit_heap_hold(struct godwit_device *gdev)
{
	godwit_write(gdev, GODWIT_HEAP_REG(hold), GW_HEAP__HOLD__HOLD_bm);
	gdev->heap.seen = godwit_read(gdev, GODWIT_HEAP_REG(kernel_frees));
	godwit_write(gdev, GODWIT_HEAP_REG(frees_seen), gdev->heap.seen);
}

/* A card without a heap works; so does one whose heap cannot be used. */
void godwit_heap_init(struct godwit_device *gdev)
{
	u64 begun;
	int err;
	u32 i;

	mutex_init(&gdev->heap.lock);
	mutex_init(&gdev->heap.choice);
	INIT_LIST_HEAD(&gdev->heap.contexts);
	if (!gdev->heap.known)
		return;
	begun = godwit_heap_begun(gdev);
	if (begun) {
		/* Whoever wants none: its memory is taken all the same. */
		err = godwit_heap_take(gdev, begun);
	} else {
		err = godwit_heap_plan(gdev);
		if (!err && gdev->heap.regions)
			err = godwit_heap_begin(gdev);
	}
	if (!err && gdev->heap.regions)
		godwit_heap_hold(gdev);
	for (i = 0; i < gdev->heap.regions && !err; i++)
		err = godwit_heap_filled(gdev, i);
	if (err)
		dev_warn(&gdev->pdev->dev, "the heap is in use, or its memory is: programs have none until the card is reset\n");
	if (err || !READ_ONCE(godwit_param_heap_mib))
		gdev->heap.regions = 0;
}
