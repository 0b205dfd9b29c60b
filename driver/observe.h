/* SPDX-License-Identifier: GPL-2.0-only */
/* What is counted of a card, and where it can be seen: debugfs.c and sysfs.c. */
#ifndef GODWIT_OBSERVE_H_
#define GODWIT_OBSERVE_H_

#include <linux/atomic.h>
#include <linux/types.h>

struct attribute_group;
struct dentry;
struct godwit_device;

/* What happens on a card, counted from when the driver took it. The order is that of debugfs's file `counters`. */
enum godwit_event {
	GODWIT_EVENT_CALLS,
	GODWIT_EVENT_LAUNCHES,
	GODWIT_EVENT_MMU_INTERRUPTS,
	GODWIT_EVENT_KERNEL_INTERRUPTS,
	GODWIT_EVENT_PAGE_REQUESTS,
	GODWIT_EVENT_BATCHES,
	GODWIT_EVENT_GROUPS,
	GODWIT_EVENT_PAGES_SHOWN,
	GODWIT_EVENT_PAGES_HIDDEN,
	GODWIT_EVENT_JOINS,
	GODWIT_EVENT_PIECES,
	GODWIT_EVENT_PAGES_OUT,
	GODWIT_EVENT_PAGES_HOME,
	GODWIT_EVENT_FOLIOS_OUT,
	GODWIT_EVENT_FOLIOS_HOME,
	GODWIT_EVENT_TOUCHES,
	GODWIT_EVENT_PAGES_ALONE,
	GODWIT_EVENT_ALONE_TOUCHES,
	GODWIT_EVENT_FIGHTS,
	GODWIT_EVENT_DMA_INTERRUPTS,
	GODWIT_EVENT_DMA_LISTS,
	GODWIT_EVENT_DMA_COPIES,
	GODWIT_EVENT_DMA_PAGES,
	GODWIT_EVENT_DMA_DOORBELLS,
	GODWIT_EVENT_DMA_DRAINS,
	GODWIT_EVENT_LINE_REPORTS,
	GODWIT_EVENT_STAYS_MOVED,
	GODWIT_EVENT_STAYS_REFUSED,
	GODWIT_EVENT_FLUSHES,
	GODWIT_EVENT_INVALIDATIONS,
	GODWIT_EVENT_FENCES,
	GODWIT_EVENT_FAULTS,
	GODWIT_EVENT_INJECTED,
	GODWIT_EVENT_HEAP_COMMANDS,
	GODWIT_EVENT_HEAP_TOUCHES,
	GODWIT_EVENTS,
};

/**
 * struct godwit_observed - of a card
 * @events: how often each happened
 * @folder: in debugfs
 * @fail_every: one in so many allocations fails on purpose; 0: none does
 * @fail_turn: allocations since
 * @fail_folios: no huge page is had on purpose, neither in the host nor in device memory
 */
struct godwit_observed {
	atomic64_t events[GODWIT_EVENTS];
	struct dentry *folder;
	u32 fail_every;
	atomic_t fail_turn;
	u32 fail_folios;
};

/* debugfs.c */
void godwit_debugfs_init(void);
void godwit_debugfs_exit(void);
void godwit_debugfs_add(struct godwit_device *gdev);
void godwit_debugfs_remove(struct godwit_device *gdev);
bool godwit_fails(struct godwit_device *gdev);

/* sysfs.c */
extern const struct attribute_group *godwit_sysfs_groups[];

#endif /* GODWIT_OBSERVE_H_ */
