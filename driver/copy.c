// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages between the host and device memory: by the page DMA, or, on a card without one or whose page DMA fails, by the
 * processor through BAR 2. Both sides are nobody's meanwhile: Linux has taken the page from the process and from the card.
 */
#include <linux/highmem.h>
#include <linux/io.h>
#include <linux/migrate.h>

#include "migrate.h"

/* Whether a card that is gone gave ones instead of what is in its memory. */
static bool godwit_is_lost(struct godwit_device *gdev)
{
	return godwit_read(gdev, GODWIT_MMU(id)) == ~0u;
}

/* A page in the host, NULL to clear its other end, and where that is in device memory. */
static void godwit_copy_page(struct godwit_device *gdev, struct page *host, u64 device, bool home)
{
	void __iomem *place = gdev->memory + device;
	void *data;

	if (!host) {
		memset_io(place, 0, PAGE_SIZE);
		return;
	}
	data = kmap_local_page(host);
	if (home)
		memcpy_fromio(data, place, PAGE_SIZE);
	else
		memcpy_toio(place, data, PAGE_SIZE);
	kunmap_local(data);
}

static int godwit_copy_by_processor(struct godwit_device *gdev, const struct godwit_copy *copy)
{
	unsigned long i;

	for (i = 0; i < copy->count; i++)
		if (copy->dst[i])
			godwit_copy_page(gdev, godwit_copy_host(copy, i), godwit_copy_device(copy, i), copy->home);
	return godwit_is_lost(gdev) ? -ENODEV : 0;
}

/* Whether the page DMA has copied all of it. */
static bool godwit_copy_by_dma(struct godwit_device *gdev, const struct godwit_copy *copy)
{
	unsigned long i;
	int err = 0;

	if (!godwit_dma_begin(gdev, copy->home))
		return false;
	for (i = 0; i < copy->count && !err; i++)
		if (copy->dst[i])
			err = godwit_dma_add(gdev, godwit_copy_host(copy, i), godwit_copy_device(copy, i));
	return !godwit_dma_end(gdev, err);
}

/* Copies the pages that have a place to go to, all or none. -ENODEV: the card is gone. */
int godwit_copy(struct godwit_pool *pool, const struct godwit_copy *copy)
{
	struct godwit_device *gdev;
	int err = -ENODEV;

	down_read(&pool->device_lock);
	gdev = pool->device;
	if (gdev)
		err = godwit_copy_by_dma(gdev, copy) ? 0 : godwit_copy_by_processor(gdev, copy);
	up_read(&pool->device_lock);
	return err;
}
