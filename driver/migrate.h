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

#include "compat.h"
#include "driver.h"
#include "groups.h"

/* Of a folio that moves whole. */
#define GODWIT_FOLIO_BYTES (PAGE_SIZE << GODWIT_GROUP_ORDER)

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
 * @folios: of 2 MiB, that have not been split
 * @home: room for what comes home when the card goes, when there may be no other
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
	atomic_t folios;
	struct godwit_home *home;
	struct work_struct end;
};

/**
 * struct godwit_home - pages of a pool that come home together, whosever they are
 * @src: where they are
 * @dst: where they go
 * @hosts: struct godwit_copy.hosts
 */
struct godwit_home {
	unsigned long src[GODWIT_MOVE_PAGES];
	unsigned long dst[GODWIT_MOVE_PAGES];
	dma_addr_t hosts[GODWIT_MOVE_PAGES];
};

/**
 * struct godwit_copy - pages of a migration, as Linux has them, and their way to where they go
 * @src: where they are
 * @dst: where they go; 0: not at all
 * @count: how many
 * @home: to the host
 * @whole: they are one folio, with one entry each of @src and @dst
 * @hosts: where the card finds pages of the host; room for @count
 * @list: of the page DMA
 */
struct godwit_copy {
	const unsigned long *src;
	unsigned long *dst;
	unsigned long count;
	bool home;
	bool whole;
	dma_addr_t *hosts;
	struct godwit_list list;
};

/**
 * struct godwit_piece - pages that were taken from their process
 * @args: what Linux is told of them
 * @copy: their way
 * @why: one of them has no place
 */
struct godwit_piece {
	struct migrate_vma args;
	struct godwit_copy copy;
	int why;
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

/* Pages of an entry. */
static inline u32 godwit_copy_pages(const struct godwit_copy *copy)
{
	return copy->whole ? 1u << GODWIT_GROUP_ORDER : 1;
}

/* copy.c */
void godwit_copy_begin(struct godwit_device *gdev, struct godwit_copy *copy);
void godwit_copy_add(struct godwit_device *gdev, struct godwit_copy *copy, unsigned long i);
void godwit_copy_close(struct godwit_device *gdev, struct godwit_copy *copy);
int godwit_copy_end(struct godwit_device *gdev, struct godwit_copy *copy);

/* folios.c, on a kernel that has them in device memory */
#if GODWIT_HAS_FOLIOS
bool godwit_folios_move(void);
struct page *godwit_folio_alloc(struct godwit_device *gdev, bool hard);
struct page *godwit_folio_place(struct godwit_moves *moves, struct vm_area_struct *vma, unsigned long start, unsigned long end,
				unsigned long *pfns);
bool godwit_folio_is_taken(const struct godwit_copy *copy);
pgoff_t godwit_folio_index(const struct godwit_copy *copy);
void godwit_folio_add(struct godwit_device *gdev, struct godwit_copy *copy, struct page *place, bool write);
void godwit_folio_widen(struct godwit_moves *moves, struct vm_area_struct *vma, unsigned long *start, unsigned long *stop);
bool godwit_folio_is_touched(const struct vm_fault *vmf);
bool godwit_folio_is_split(const struct vm_fault *vmf);
void godwit_folio_split(struct godwit_pool *pool, pgoff_t first);
#define GODWIT_SELECT_FOLIOS MIGRATE_VMA_SELECT_COMPOUND
#else
static inline bool godwit_folios_move(void)
{
	return false;
}

static inline struct page *godwit_folio_alloc(struct godwit_device *gdev, bool hard)
{
	return NULL;
}

static inline struct page *godwit_folio_place(struct godwit_moves *moves, struct vm_area_struct *vma, unsigned long start,
					      unsigned long end, unsigned long *pfns)
{
	return NULL;
}

static inline bool godwit_folio_is_taken(const struct godwit_copy *copy)
{
	return false;
}

static inline pgoff_t godwit_folio_index(const struct godwit_copy *copy)
{
	return 0;
}

static inline void godwit_folio_add(struct godwit_device *gdev, struct godwit_copy *copy, struct page *place, bool write)
{
}

static inline void godwit_folio_widen(struct godwit_moves *moves, struct vm_area_struct *vma, unsigned long *start, unsigned long *stop)
{
}

static inline bool godwit_folio_is_touched(const struct vm_fault *vmf)
{
	return false;
}

static inline bool godwit_folio_is_split(const struct vm_fault *vmf)
{
	return false;
}

static inline void godwit_folio_split(struct godwit_pool *pool, pgoff_t first)
{
}

#define GODWIT_SELECT_FOLIOS 0
#endif

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
struct page *godwit_pool_take_folio(struct godwit_pool *pool, const struct mm_struct *mm, u64 number);
unsigned long godwit_pool_next(struct godwit_pool *pool, unsigned long index);

/* migrate.c */
vm_fault_t godwit_migrate_touched(struct vm_fault *vmf);
void godwit_migrate_home_all(struct godwit_pool *pool);

#endif /* GODWIT_MIGRATE_H_ */
