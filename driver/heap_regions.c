// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memories that the heap gives frames from: which parts of device memory, or memory of the host, and what of them is free.
 *
 * DOC: regions
 *   Hardware has a number of regions, each with frames of its own, and a malloc names one. Nothing in the card's registers says
 *   where one of its memories ends and the next begins: that is the configuration's, so who wants more than one region says
 *   where they are. Registers of memory are about one region at a time; who reads them chooses it first.
 */
#include <linux/kernel.h>
#include <linux/moduleparam.h>
#include <linux/sizes.h>

#include "driver.h"

static char *godwit_heap_texts[GODWIT_HEAP_REGIONS];
static int godwit_heap_text_count;
module_param_array_named(heap_regions, godwit_heap_texts, charp, &godwit_heap_text_count, 0444);
MODULE_PARM_DESC(heap_regions,
		 "Memory that a heap in hardware gives, by region: up to 8 of BASE:BYTES[:strict], in steps of 2 MiB of device memory, such as 0x1e000000:32M, or host:BYTES[:strict], but for the first (default: one region, by heap_mib)");

/* BASE:BYTES[:strict], or host for BASE */
static int godwit_heap_parse(const char *text, struct godwit_heap_region *region)
{
	char *rest;

	*region = (struct godwit_heap_region){ .host = !strncmp(text, "host:", 5) };
	if (region->host)
		rest = (char *)text + 4;
	else
		region->base = memparse(text, &rest);
	if (rest == text || *rest != ':')
		return -EINVAL;
	text = rest + 1;
	region->bytes = memparse(text, &rest);
	region->strict = !strcmp(rest, ":strict");
	return rest == text || (*rest && !region->strict) ? -EINVAL : 0;
}

bool godwit_heap_region_fits(struct godwit_device *gdev, const struct godwit_heap_region *region)
{
	u32 most = GODWIT_HEAP_FIELD(CAPABILITIES__BLOCKS, godwit_read(gdev, GODWIT_HEAP_REG(capabilities)));

	return region->bytes && IS_ALIGNED(region->base | region->bytes, GODWIT_HEAP_BLOCK) &&
	       region->bytes <= (u64)GODWIT_HEAP_BLOCK << most &&
	       (region->host || (region->base < gdev->memory_bytes && region->bytes <= gdev->memory_bytes - region->base));
}

u32 godwit_heap_hardware_regions(struct godwit_device *gdev)
{
	return 1u << GODWIT_HEAP_FIELD(CAPABILITIES__REGIONS, godwit_read(gdev, GODWIT_HEAP_REG(capabilities)));
}

/* What the parameters say of this card; no region if it shall have no heap. */
int godwit_heap_plan(struct godwit_device *gdev)
{
	u64 wanted = (u64)READ_ONCE(godwit_param_heap_mib) << 20, most, bytes;
	struct godwit_heap *heap = &gdev->heap;
	int i;

	heap->regions = 0;
	if (!wanted)
		return 0;
	if (!godwit_heap_text_count) {
		most = (u64)GODWIT_HEAP_BLOCK
		       << GODWIT_HEAP_FIELD(CAPABILITIES__BLOCKS, godwit_read(gdev, GODWIT_HEAP_REG(capabilities)));
		bytes = round_down(min3(most, gdev->memory_bytes / 2, wanted), GODWIT_HEAP_BLOCK);
		heap->region[0] = (struct godwit_heap_region){ .base = gdev->memory_bytes - bytes, .bytes = bytes };
		heap->regions = bytes ? 1 : 0;
		return 0;
	}
	if (godwit_heap_text_count > godwit_heap_hardware_regions(gdev)) {
		dev_err(&gdev->pdev->dev, "heap_regions: %d regions, the card has %u\n", godwit_heap_text_count,
			godwit_heap_hardware_regions(gdev));
		return -EINVAL;
	}
	for (i = 0; i < godwit_heap_text_count; i++) {
		const char *text = godwit_heap_texts[i];

		if (godwit_heap_parse(text, &heap->region[i]) || !godwit_heap_region_fits(gdev, &heap->region[i])) {
			dev_err(&gdev->pdev->dev,
				"heap_regions: \"%s\" is no BASE:BYTES[:strict] in multiples of %u bytes of device memory, nor host:BYTES[:strict]\n",
				text, GODWIT_HEAP_BLOCK);
			return -EINVAL;
		}
		if (!i && heap->region[i].host) {
			dev_err(&gdev->pdev->dev,
				"heap_regions: \"%s\" is the first, in which page tables are: they are in device memory\n", text);
			return -EINVAL;
		}
	}
	heap->regions = godwit_heap_text_count;
	return 0;
}

/* Registers of memory are about this region until the lock is given back. */
void godwit_heap_choose(struct godwit_device *gdev, u32 region)
{
	lockdep_assert_held(&gdev->heap.choice);
	if (gdev->heap.regions > 1)
		godwit_write(gdev, GODWIT_HEAP_REG(region), region);
}

/* Bytes of a region that nobody has, and in @clean, which may be NULL, those that need not be cleared first. */
u64 godwit_heap_free_of(struct godwit_device *gdev, u32 region, u64 *clean)
{
	u64 frames, cleared;

	mutex_lock(&gdev->heap.choice);
	godwit_heap_choose(gdev, region);
	/* A frame that is taken between the two looks was clean. */
	cleared = clean ? godwit_read(gdev, GODWIT_HEAP_REG(clean_frames)) : 0;
	frames = godwit_read(gdev, GODWIT_HEAP_REG(free_frames));
	mutex_unlock(&gdev->heap.choice);
	if (clean)
		*clean = min(cleared, frames) * GODWIT_FRAME_BYTES;
	return frames * GODWIT_FRAME_BYTES;
}

u64 godwit_heap_bytes(struct godwit_device *gdev)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < gdev->heap.regions; i++)
		bytes += gdev->heap.region[i].bytes;
	return bytes;
}

u64 godwit_heap_free_bytes(struct godwit_device *gdev)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < gdev->heap.regions; i++)
		bytes += godwit_heap_free_of(gdev, i, NULL);
	return bytes;
}

/* Of which region a frame is; NULL: it is not the heap's to give. */
const struct godwit_heap_region *godwit_heap_region_of(struct godwit_device *gdev, u64 pa)
{
	u32 i;

	for (i = 0; i < gdev->heap.regions; i++) {
		const struct godwit_heap_region *region = &gdev->heap.region[i];

		if (pa >= region->base && pa - region->base < region->bytes)
			return region;
	}
	return NULL;
}

int godwit_heap_state(struct godwit_context *ctx, struct godwit_heap_state *state)
{
	struct godwit_device *gdev = ctx->device;
	const struct godwit_heap_region *region;
	u32 status, number = state->region;

	if (!gdev->heap.regions)
		return -EOPNOTSUPP;
	if (number >= gdev->heap.regions)
		return -EINVAL;
	godwit_heap_look(gdev);
	status = godwit_read(gdev, GODWIT_HEAP_REG(status));
	if (status == ~0u)
		return -ENODEV;
	region = &gdev->heap.region[number];
	*state = (struct godwit_heap_state){
		.start = region->base,
		.bytes = region->bytes,
		.region = number,
		.regions = gdev->heap.regions,
		.flags = (status & GW_HEAP__STATUS__LACKS_bm ? GODWIT_HEAP_STATE_LACKS : 0) |
			 (status & GW_HEAP__STATUS__RECLAIMING_bm ? GODWIT_HEAP_STATE_RECLAIMING : 0) |
			 (region->strict ? GODWIT_HEAP_STATE_STRICT : 0) | (region->host ? GODWIT_HEAP_STATE_HOST : 0),
	};
	state->free_bytes = godwit_heap_free_of(gdev, number, &state->clean_bytes);
	return 0;
}
