// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device memory that Linux has pages for (device-private: no processor can reach them), so that memory of a process can be
 * there. A pool outlives its card as long as a process has memory in it: what could not be brought back is lost, and who
 * touches it gets SIGBUS. The module stays loaded as long as a process has memory on a card.
 */
#include <linux/delay.h>
#include <linux/ioport.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "migrate.h"

/* Device memory has pages in pieces of this. */
#define GODWIT_POOL_ALIGN SZ_128M

static struct workqueue_struct *godwit_pool_ends;

int godwit_pools_init(void)
{
	godwit_pool_ends = alloc_workqueue("godwit-pools", WQ_UNBOUND, 0);
	return godwit_pool_ends ? 0 : -ENOMEM;
}

/* Nobody has memory in a pool any more, for this is the module's end: all of them end by themselves. */
void godwit_pools_exit(void)
{
	destroy_workqueue(godwit_pool_ends);
}

/* Of the groups, which know single pages only: a folio may have been split when it is let go of. */
static void godwit_pool_give_back(struct godwit_pool *pool, unsigned long index, unsigned long count)
{
	bool idle;

	spin_lock(&pool->free_lock);
	while (count--)
		godwit_groups_free(&pool->groups, index++);
	idle = !pool->groups.used;
	spin_unlock(&pool->free_lock);
	/* The pool's end waits until the caller has let go of the page, and the module's end for that. */
	if (idle)
		module_put(THIS_MODULE);
}

/* May be called with any lock held, by whoever lets go of a page last. */
static void godwit_pool_free(struct page *page, u32 order)
{
	struct godwit_pool *pool = godwit_pool_of(page);

	if (order == GODWIT_GROUP_ORDER)
		atomic_dec(&pool->folios);
	godwit_pool_give_back(pool, page_to_pfn(page) - pool->first_pfn, BIT(order));
}

GODWIT_DEFINE_PAGE_FREE(godwit_pool_free)

#if GODWIT_HAS_FOLIOS
/* The groups have single pages anyway. Without @tail the folio is split, and all that were made of it have been told. */
static void godwit_pool_split(struct folio *head, struct folio *tail)
{
	if (tail) {
		tail->pgmap = head->pgmap;
		tail->mapping = head->mapping;
	} else {
		atomic_dec(&godwit_pool_of(&head->page)->folios);
	}
}
#endif

static const struct dev_pagemap_ops godwit_pool_ops = {
	GODWIT_PAGE_FREE(godwit_pool_free),
#if GODWIT_HAS_FOLIOS
	.folio_split = godwit_pool_split,
#endif
	.migrate_to_ram = godwit_migrate_touched,
};

struct godwit_pool *godwit_pool_of(const struct page *page)
{
	return container_of(page_pgmap(page), struct godwit_pool, pgmap);
}

u64 godwit_pool_address(const struct page *page)
{
	struct godwit_pool *pool = godwit_pool_of(page);

	return pool->base + ((u64)(page_to_pfn(page) - pool->first_pfn) << PAGE_SHIFT);
}

u64 godwit_pool_bytes(struct godwit_device *gdev)
{
	return gdev->pool ? (u64)gdev->pool->groups.pages << PAGE_SHIFT : 0;
}

u64 godwit_pool_used_bytes(struct godwit_device *gdev)
{
	return gdev->pool ? (u64)READ_ONCE(gdev->pool->groups.used) << PAGE_SHIFT : 0;
}

u32 godwit_pool_folios(struct godwit_device *gdev)
{
	return gdev->pool ? atomic_read(&gdev->pool->folios) : 0;
}

/* Pages that come home with one that a processor touches, and the first of them. */
u32 godwit_pool_touched(struct godwit_pool *pool, const struct mm_struct *mm, u64 page, u64 *first)
{
	u32 fewest = READ_ONCE(godwit_param_home_pages), most = max(fewest, READ_ONCE(godwit_param_home_most)), count;

	spin_lock(&pool->free_lock);
	count = gw_around_touched(&pool->around, (unsigned long)mm, page, fewest, most, first);
	spin_unlock(&pool->free_lock);
	return count;
}

/* The module stays as long as any page is in use. */
static struct page *godwit_pool_take_some(struct godwit_pool *pool, const struct mm_struct *mm, u64 number, u32 order)
{
	unsigned long index = GODWIT_NO_PAGE;
	struct page *page;

	spin_lock(&pool->free_lock);
	if (!pool->groups.used && !try_module_get(THIS_MODULE))
		goto unlock;
	if (order)
		index = godwit_groups_take_all(&pool->groups, mm, number >> order);
	else
		index = godwit_groups_take(&pool->groups, mm, number);
	if (!pool->groups.used)
		module_put(THIS_MODULE);
unlock:
	spin_unlock(&pool->free_lock);
	if (index == GODWIT_NO_PAGE)
		return NULL;
	page = pfn_to_page(pool->first_pfn + index);
	godwit_zone_device_page_init(page, &pool->pgmap, order);
	page->zone_device_data = NULL;
	return page;
}

/* A page for page @number of a process's memory, locked and with one reference; NULL when all are in use. */
struct page *godwit_pool_take(struct godwit_pool *pool, const struct mm_struct *mm, u64 number)
{
	return godwit_pool_take_some(pool, mm, number, 0);
}

/* The first of 2 MiB that are one folio, for those from page @number on; NULL without an aligned place for all of it. */
struct page *godwit_pool_take_folio(struct godwit_pool *pool, const struct mm_struct *mm, u64 number)
{
	struct page *page = godwit_pool_take_some(pool, mm, number, GODWIT_GROUP_ORDER);

	if (page)
		atomic_inc(&pool->folios);
	return page;
}

/* The first page in use from @index on, or how many there are; what changes meanwhile may be missed. */
unsigned long godwit_pool_next(struct godwit_pool *pool, unsigned long index)
{
	return find_next_bit(pool->groups.bits, pool->groups.pages, index);
}

static void godwit_pool_delete(struct godwit_pool *pool)
{
	godwit_groups_fini(&pool->groups);
	kvfree(pool->home);
	kfree(pool);
}

/* Waits for processes that have lost memory: not in the card's end, which waits for nobody. */
static void godwit_pool_end(struct work_struct *work)
{
	struct godwit_pool *pool = container_of(work, struct godwit_pool, end);

	memunmap_pages(&pool->pgmap);
	release_mem_region(pool->pgmap.range.start, range_len(&pool->pgmap.range));
	godwit_pool_delete(pool);
}

/*
 * Makes pages of as much device memory as the host has memory, or as the parameter says, at most half of the card's: they
 * cost the host a sixty-fourth of that. They are aligned alike in device memory and in Linux, as the card's largest entries want it. A card without a pool works, in place.
 */
void godwit_pool_init(struct godwit_device *gdev)
{
	u64 wanted = godwit_param_pool_mib == GODWIT_POOL_AUTO ? (u64)totalram_pages() << PAGE_SHIFT :
								 (u64)godwit_param_pool_mib << 20;
	u64 bytes = min(gdev->memory_bytes / 2, wanted);
	struct gw_range_request request = { .align = PAGE_SIZE << GODWIT_GROUP_ORDER, .max = ~0ull, .node = GW_RANGE_ANY_NODE };
	struct godwit_pool *pool;
	struct resource *place;
	void *mapped;

	bytes = round_down(bytes, GODWIT_POOL_ALIGN);
	if (!gdev->demand || !bytes)
		return;
	pool = kzalloc(sizeof(*pool), GFP_KERNEL);
	if (!pool)
		goto without;
	request.bytes = bytes;
	if (godwit_groups_init(&pool->groups, bytes >> PAGE_SHIFT))
		goto free_pool;
	pool->home = kvzalloc(sizeof(*pool->home), GFP_KERNEL);
	if (!pool->home)
		goto free_pool;
	if (gw_range_alloc(&gdev->frames, &request, &pool->base, NULL))
		goto free_pool;
	place = request_free_mem_region(&iomem_resource, bytes, "godwit");
	if (IS_ERR(place))
		goto free_range;
	init_rwsem(&pool->device_lock);
	spin_lock_init(&pool->free_lock);
	INIT_WORK(&pool->end, godwit_pool_end);
	pool->device = gdev;
	pool->first_pfn = PHYS_PFN(place->start);
	pool->pgmap.type = MEMORY_DEVICE_PRIVATE;
	pool->pgmap.range.start = place->start;
	pool->pgmap.range.end = place->end;
	pool->pgmap.nr_range = 1;
	pool->pgmap.ops = &godwit_pool_ops;
	pool->pgmap.owner = pool;
	mapped = memremap_pages(&pool->pgmap, dev_to_node(&gdev->pdev->dev));
	if (IS_ERR(mapped))
		goto release;
	gdev->pool = pool;
	return;

release:
	release_mem_region(place->start, resource_size(place));
free_range:
	gw_range_free(&gdev->frames, pool->base, NULL);
free_pool:
	godwit_pool_delete(pool);
without:
	dev_warn(&gdev->pdev->dev, "no pages for device memory: memory of processes stays in the host\n");
}

/* The card goes: what can be brought back is, the rest is lost. */
void godwit_pool_fini(struct godwit_device *gdev)
{
	struct godwit_pool *pool = gdev->pool;
	u64 lost;

	if (!pool)
		return;
	godwit_migrate_home_all(pool);
	/* Who touches a page waits for this lock with the page locked, and who moves pages may wait for that page: nobody is kept waiting here. */
	while (!down_write_trylock(&pool->device_lock))
		fsleep(1000);
	pool->device = NULL;
	up_write(&pool->device_lock);
	spin_lock(&pool->free_lock);
	lost = pool->groups.used;
	spin_unlock(&pool->free_lock);
	if (lost)
		dev_err(&gdev->pdev->dev, "%llu pages of processes are lost with the card: who touches them gets SIGBUS\n",
			lost);
	gdev->pool = NULL;
	queue_work(godwit_pool_ends, &pool->end);
}
