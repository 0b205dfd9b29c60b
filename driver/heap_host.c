// SPDX-License-Identifier: GPL-2.0-only
/*
 * A region of the heap in the host's memory, which the card reaches over the link.
 *
 * DOC: memory that a card keeps
 *   Hardware begins a region once, until its reset, and clears and gives its frames from then on. So memory of Linux is the card's until
 *   then, but a driver that goes takes it back: the bus is off before Linux has it again, and the next driver resets the card before it
 *   turns the bus on. A card that cannot be reset by its driver is not taken.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "driver.h"

/**
 * struct godwit_heap_pages - what Linux gave
 * @first: of its pages, which are one piece
 * @bytes: of them
 * @bus: their first address on the bus
 */
struct godwit_heap_pages {
	struct page *first;
	size_t bytes;
	dma_addr_t bus;
};

/* When the device's own allocations go: the bus is off. */
static void godwit_heap_host_give(struct device *dev, void *of)
{
	struct godwit_heap_pages *pages = of;

	dma_free_pages(dev, pages->bytes, pages->first, pages->bus, DMA_BIDIRECTIONAL);
}

int godwit_heap_host_take(struct godwit_device *gdev, struct godwit_heap_region *region)
{
	struct device *dev = &gdev->pdev->dev;
	struct godwit_heap_pages *pages;

	pages = devres_alloc(godwit_heap_host_give, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	pages->bytes = region->bytes;
	if (!godwit_fails(gdev))
		pages->first = dma_alloc_pages(dev, pages->bytes, &pages->bus, DMA_BIDIRECTIONAL, GFP_KERNEL | __GFP_NOWARN);
	if (!pages->first) {
		devres_free(pages);
		dev_err(dev, "heap_regions: Linux has no %llu MiB of the host's memory in one piece (without CMA, such as cma=64M at boot, a piece is of 4 MiB at most)\n",
			region->bytes >> 20);
		return -ENOMEM;
	}
	devres_add(dev, pages);
	if (!IS_ALIGNED(pages->bus, GODWIT_HEAP_BLOCK)) {
		dev_err(dev, "heap_regions: the host's memory is at %pad of the bus, no multiple of %u\n", &pages->bus, GODWIT_HEAP_BLOCK);
		return -EIO;
	}
	region->base = GODWIT_HOST_APERTURE_BASE + pages->bus;
	region->pages = pages->first;
	return 0;
}

/* Before the card has the bus: a heap that a driver before this one has begun with memory of the host, which it has no more, is ended. */
int godwit_heap_host_forget(struct godwit_device *gdev)
{
	struct pci_dev *pdev = gdev->pdev;
	int err;

	if (!godwit_heap_was_host(gdev))
		return 0;
	pci_save_state(pdev);
	err = __pci_reset_function_locked(pdev);
	pci_restore_state(pdev);
	if (!err && !godwit_heap_was_host(gdev))
		return 0;
	dev_err(&pdev->dev, "the heap still has memory of the host that was given to a driver before, and the card's function cannot be reset (%d): switch it off and on\n",
		err);
	return -EBUSY;
}
