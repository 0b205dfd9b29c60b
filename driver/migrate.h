/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of processes in device memory: what pool.c, migrate.c, moves.c and copy.c know of each other. */
#ifndef GODWIT_MIGRATE_H_
#define GODWIT_MIGRATE_H_

#include <linux/memremap.h>
#include <linux/migrate.h>
#include <linux/mm_types.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <godwit/around.h>

#include "driver.h"
#include "groups.h"

/**
 * struct godwit_pool - device memory with pages
 * @pgmap: of these
 * @device_lock: held for reading while pages are under way
 * @device: the card; NULL when it is gone
 * @base: physical address in device memory
 * @first_pfn: of Linux
 * @free_lock: for what follows
 * @groups: which pages processes have
 * @around: walks of processors through pages that were there
 * @end: gives it all back when no process has a page
 */
struct godwit_pool {
	struct dev_pagemap pgmap;
	struct rw_semaphore device_lock;
	struct godwit_device *device;
	u64 base;
	unsigned long first_pfn;
	spinlock_t free_lock;
	struct godwit_groups groups;
	struct gw_around around;
	struct work_struct end;
};

/**
 * struct godwit_copy - pages of a migration, as Linux has them, and their way to where they go
 * @src: where they are
 * @dst: where they go; 0: not at all
 * @count: how many
 * @home: to the host
 * @hosts: where the card finds pages of the host; room for @count
 * @list: of the page DMA
 */
struct godwit_copy {
	const unsigned long *src;
	unsigned long *dst;
	unsigned long count;
	bool home;
	dma_addr_t *hosts;
	struct godwit_list list;
};

/**
 * struct godwit_moves - pages of a process that go to the card or come home, in pieces of which two are under way at a time: while the
 * page DMA copies one, the next is taken from the process
 * @pool: their device memory
 * @device: its card, from open to close; NULL when it is gone
 * @ctx: to which pages that went to the card are shown
 * @home: they come home
 * @pieces: both
 * @room: what these are about
 * @begun: of them
 * @ended: of them
 * @moved: pages that have
 * @err: why they did not
 */
struct godwit_moves {
	struct godwit_pool *pool;
	struct godwit_device *device;
	struct godwit_context *ctx;
	bool home;
	struct godwit_piece *pieces[2];
	void *room;
	u32 begun;
	u32 ended;
	u64 moved;
	int err;
};

/* The end in the host; NULL for a page that was never touched, which goes to the card as zeros. */
static inline struct page *godwit_copy_host(const struct godwit_copy *copy, unsigned long i)
{
	return migrate_pfn_to_page(copy->home ? copy->dst[i] : copy->src[i]);
}

/* The other end, in device memory. */
static inline u64 godwit_copy_device(const struct godwit_copy *copy, unsigned long i)
{
	return godwit_pool_address(migrate_pfn_to_page(copy->home ? copy->src[i] : copy->dst[i]));
}

/* copy.c */
void godwit_copy_begin(struct godwit_device *gdev, struct godwit_copy *copy);
void godwit_copy_add(struct godwit_device *gdev, struct godwit_copy *copy, unsigned long i);
void godwit_copy_close(struct godwit_device *gdev, struct godwit_copy *copy);
int godwit_copy_end(struct godwit_device *gdev, struct godwit_copy *copy);

/* moves.c */
int godwit_moves_init(struct godwit_moves *moves, struct godwit_context *ctx, u64 pages, bool home);
void godwit_moves_fini(struct godwit_moves *moves);
void godwit_moves_open(struct godwit_moves *moves);
unsigned long godwit_moves_add(struct godwit_moves *moves, struct vm_area_struct *vma, unsigned long start, unsigned long end);
void godwit_moves_close(struct godwit_moves *moves);
void godwit_place_home(struct godwit_device *gdev, struct godwit_copy *copy, unsigned long i, gfp_t gfp, int *err);
int godwit_fill(struct godwit_device *gdev, struct godwit_copy *copy);
void godwit_tell_home(struct godwit_device *gdev, u64 address, const struct godwit_copy *copy);

/* pool.c */
struct godwit_pool *godwit_pool_of(const struct page *page);
u32 godwit_pool_touched(struct godwit_pool *pool, const struct mm_struct *mm, u64 page, u64 *first);
struct page *godwit_pool_take(struct godwit_pool *pool, const struct mm_struct *mm, u64 number);
unsigned long godwit_pool_next(struct godwit_pool *pool, unsigned long index);

/* migrate.c */
vm_fault_t godwit_migrate_touched(struct vm_fault *vmf);
void godwit_migrate_home_all(struct godwit_pool *pool);

#endif /* GODWIT_MIGRATE_H_ */
