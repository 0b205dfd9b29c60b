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

/* Looks now and then whether there is still somebody who takes it. */
#define GODWIT_COPY_LOOK 64

static int godwit_copy_by_processor(struct godwit_device *gdev, const struct godwit_copy *copy)
{
	unsigned long i;

	for (i = 0; i < copy->count; i++) {
		/* A folio has one entry for all of its pages. */
		unsigned long entry = copy->whole ? 0 : i, page = i - entry;
		struct page *host;

		if (i % GODWIT_COPY_LOOK == 0 && godwit_is_lost(gdev))
			return -ENODEV;
		if (!copy->dst[entry])
			continue;
		host = godwit_copy_host(copy, entry);
		godwit_copy_page(gdev, host ? host + page : NULL, godwit_copy_device(copy, entry) + page * PAGE_SIZE, copy->home);
	}
	return godwit_is_lost(gdev) ? -ENODEV : 0;
}

/* Pages that have a place to go to are given to the page DMA as they come. */
void godwit_copy_begin(struct godwit_device *gdev, struct godwit_copy *copy)
{
	godwit_list_begin(gdev, &copy->list, copy->hosts, copy->home, godwit_copy_pages(copy));
}

/* Page @i has a place. */
void godwit_copy_add(struct godwit_device *gdev, struct godwit_copy *copy, unsigned long i)
{
	godwit_list_add(gdev, &copy->list, godwit_copy_host(copy, i), godwit_copy_device(copy, i));
}

/* That were all. */
void godwit_copy_close(struct godwit_device *gdev, struct godwit_copy *copy)
{
	godwit_list_close(gdev, &copy->list);
}

/* Has copied all pages that have a place, or none. -ENODEV: the card is gone. */
int godwit_copy_end(struct godwit_device *gdev, struct godwit_copy *copy)
{
	return godwit_list_end(gdev, &copy->list) ? godwit_copy_by_processor(gdev, copy) : 0;
}
