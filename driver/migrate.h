/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of processes in device memory: what pool.c, migrate.c and copy.c know of each other. */
#ifndef GODWIT_MIGRATE_H_
#define GODWIT_MIGRATE_H_

#include <linux/memremap.h>
#include <linux/migrate.h>
#include <linux/mm_types.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "driver.h"

/**
 * struct godwit_pool - device memory with pages
 * @pgmap: of these
 * @device_lock: held for reading while a page is copied
 * @device: the card; NULL when it is gone
 * @base: physical address in device memory
 * @first_pfn: of Linux
 * @pages: how many
 * @free_lock: for what follows
 * @free: pages that were in use, by their zone_device_data
 * @fresh: pages from here on never were
 * @used: pages that processes have
 * @end: gives it all back when no process has a page
 */
struct godwit_pool {
	struct dev_pagemap pgmap;
	struct rw_semaphore device_lock;
	struct godwit_device *device;
	u64 base;
	unsigned long first_pfn;
	unsigned long pages;
	spinlock_t free_lock;
	struct page *free;
	unsigned long fresh;
	unsigned long used;
	struct work_struct end;
};

/**
 * struct godwit_copy - pages of a migration, as Linux has them
 * @src: where they are
 * @dst: where they go; 0: not at all
 * @count: how many, at most GODWIT_STEP_PAGES
 * @home: to the host
 */
struct godwit_copy {
	const unsigned long *src;
	const unsigned long *dst;
	unsigned long count;
	bool home;
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
int godwit_copy(struct godwit_pool *pool, const struct godwit_copy *copy);

/* pool.c */
struct godwit_pool *godwit_pool_of(const struct page *page);
struct page *godwit_pool_take(struct godwit_pool *pool);

/* migrate.c */
vm_fault_t godwit_migrate_touched(struct vm_fault *vmf);
void godwit_migrate_home_all(struct godwit_pool *pool);

#endif /* GODWIT_MIGRATE_H_ */
