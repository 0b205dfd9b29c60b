/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of godwit.ko know of each other.
 *
 * DOC: locking order
 *   1. struct godwit_device.alive_lock  read by every call of a program from its begin to its end, written once, when the
 *                                       card goes. What waits under it watches @going and gives up.
 *   2. struct godwit_kernel.lock        a launch, from binding the port to its end
 *   3. struct godwit_device.contexts_lock  the list of contexts and their numbers
 *   4. struct godwit_heap.lock          the heap's registers, and what processes see of its pages
 *   5. struct godwit_context.lock       page table and pinned ranges
 *   6. struct godwit_queue.lock         the command ring: from the first command to the fence behind the last
 *   7. struct godwit_device.fault_lock  the MMU's fault record, and whose launches run and wait
 *   8. struct godwit_device.counters_lock  the card's counters, while they are read and stand still
 *   9. struct godwit_heap.choice        the region that registers of the heap's memory are about, while they are read
 *  10. struct godwit_lines.lock         the access counters' registers, and what was measured by them
 *   The memory map's lock of a process is taken under 1 alone, by pin_user_pages(), hmm_range_fault() and migrations; the
 *   notifier of a context is called under it, and takes 5 and 6, so nothing is allocated under these. A touch of the heap's
 *   memory comes under it, and takes 4 and nothing before, so under 4 it is not taken. Under it, too, struct
 *   godwit_pool.device_lock is held for reading while pages are under way, from before the first is taken from the process, so the
 *   notifier is called under that as well; under it struct godwit_dma.lock for a batch of copies. Nothing is faulted in
 *   meanwhile: a touch of a page in device memory takes device_lock, too. Interrupts are handled
 *   in threads: that of the MMU brings pages and has them move, with 3 for finding a context, then the memory map's lock, then as
 *   above; it takes no 1, for the card's end waits for it. That of the page DMA takes struct godwit_dma.csr_lock alone.
 *   Contiguous memory is of no card, and its locks (cmt_blocks.c) are taken with none of these but the memory map's.
 *
 * DOC: limits
 *   Kernel k has port k: a kernel with further ports gets errors on those. Page tables are written through BAR 2. A launch
 *   occupies its kernel; which of those that wait comes next is not said. A context's pages are those of the process that
 *   opened it. Every change of that process's memory is looked at, whether or not the card uses the place.
 *
 * DOC: a card is not trusted
 *   All that is read of a card - registers, page tables, rings - is data to be checked. A card that is gone reads as ones.
 */
#ifndef GODWIT_DRIVER_H_
#define GODWIT_DRIVER_H_

#include <linux/atomic.h>
#include <linux/interrupt.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/maple_tree.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include <godwit/around.h>
#include <godwit/prefetch.h>
#include <godwit/pt.h>

#include "device.h"
#include "params.h"
#include "uapi/godwit.h"

/**
 * struct godwit_context - an open file
 * @kref: the file, and who brings pages
 * @device: the card; kept by the file's reference
 * @node: in its list
 * @number: of the hardware
 * @mm: the process that opened it
 * @pid: its number, for people
 * @notifier: told of changes of its memory; only on a card that asks for pages
 * @lock: for what follows
 * @table: page table in device memory
 * @pins: struct godwit_pinned.node
 * @pages: in place, struct godwit_page by page number
 * @host_pages: of them, those in the host
 * @device_pages: those in device memory
 * @pinned_pages: of @pins
 * @around: walks of processors through pages that were the card's alone (alone.c)
 * @alive: @number and @table are in use
 * @advice: of pages, by number: GODWIT_ADVICE_* (place.c)
 * @fights: groups of pages that went to the card on demand, by their first (place.c)
 * @whole_fights: the same of huge pages that went whole since one of their pages was asked for
 * @stays: groups of which the driver decides where they are, by their number (stays.c)
 * @launches: begun
 * @ahead: what was asked for so far; of the MMU's interrupt thread
 * @mapping: of its file, by which processes see memory of the heap; as long as it is alive
 * @heap_node: in struct godwit_heap.contexts, as long as it is alive; under struct godwit_heap.lock
 * @heap_ended: it has no memory of the heap any more, and gets none; under struct godwit_heap.lock
 */
struct godwit_context {
	struct kref kref;
	struct godwit_device *device;
	struct list_head node;
	u32 number;
	struct mm_struct *mm;
	struct pid *pid;
	struct mmu_interval_notifier notifier;
	struct mutex lock;
	struct gw_pt table;
	struct list_head pins;
	struct xarray pages;
	unsigned long host_pages;
	unsigned long device_pages;
	unsigned long pinned_pages;
	struct gw_around around;
	bool alive;
	struct maple_tree advice;
	struct xarray fights;
	struct xarray whole_fights;
	struct xarray stays;
	atomic_t launches;
	struct gw_prefetch ahead;
	struct address_space *mapping;
	struct list_head heap_node;
	bool heap_ended;
};

/* ahead.c */
void godwit_ahead_note(struct godwit_context *ctx, u64 page);
void godwit_ahead_run(struct godwit_device *gdev);

struct godwit_page;

/* alone.c */
void godwit_alone_init(struct godwit_device *gdev);
bool godwit_alone_is_wanted(const struct godwit_context *ctx, unsigned long pfn);
int godwit_alone_show(struct godwit_context *ctx, unsigned long index, struct godwit_page **fresh);
void godwit_alone_keep(struct godwit_context *ctx, unsigned long index);
unsigned long godwit_alone_last(struct godwit_context *ctx, unsigned long index);
void godwit_alone_end(struct godwit_context *ctx, u64 first, u64 end);

/* chardev.c */
int godwit_chardev_add(struct godwit_device *gdev);
void godwit_chardev_remove(struct godwit_device *gdev);
void godwit_device_put(struct godwit_device *gdev);

/* counters.c */
int godwit_counters(struct godwit_context *ctx, const struct godwit_counters *what);

/* ctx.c */
struct godwit_context *godwit_context_open(struct godwit_device *gdev, struct address_space *mapping);
void godwit_context_close(struct godwit_context *ctx);
struct godwit_context *godwit_context_get(struct godwit_device *gdev, u32 number);
void godwit_context_put(struct godwit_context *ctx);
void godwit_contexts_end(struct godwit_device *gdev);

/* fault.c */
int godwit_pages_init(struct godwit_device *gdev);
void godwit_pages_fini(struct godwit_device *gdev);
bool godwit_pages_serve(struct godwit_device *gdev);

/* frames.c */
int godwit_frames_init(struct godwit_device *gdev);
void godwit_frames_fini(struct godwit_device *gdev);
u64 godwit_frame_alloc(struct godwit_device *gdev);
void godwit_frame_free(struct godwit_device *gdev, u64 pa);

struct hmm_range;

/**
 * enum godwit_bring - pages that are brought
 * @GODWIT_BRING_READ: for the card to read; to write, too, if the process may
 * @GODWIT_BRING_WRITE: for the card to write
 * @GODWIT_BRING_MOVED: those that are in device memory and may be written; nothing is wrong with others (inplace.c's own)
 */
enum godwit_bring {
	GODWIT_BRING_READ,
	GODWIT_BRING_WRITE,
	GODWIT_BRING_MOVED,
};

/* inplace.c */
extern const struct mmu_interval_notifier_ops godwit_inplace_ops;
int godwit_inplace_bring(struct godwit_context *ctx, u64 first, u32 count, enum godwit_bring how);
void godwit_inplace_show_moved(struct godwit_context *ctx, u64 first, u64 count, bool whole);
int godwit_inplace_make_writable(struct godwit_context *ctx, const struct hmm_range *range);
bool godwit_inplace_any_moved(struct godwit_context *ctx, u64 first, u32 count);
void godwit_inplace_moved(struct godwit_context *ctx, u64 first, u64 *bits);
bool godwit_inplace_has(struct godwit_context *ctx, u64 first, u32 count);
u64 godwit_inplace_next(struct godwit_context *ctx, u64 first, u64 end);
void godwit_inplace_drop(struct godwit_context *ctx, unsigned long first, unsigned long last);
void godwit_inplace_release(struct godwit_context *ctx, struct device *dev, unsigned long first, unsigned long last);

/* launch.c */
int godwit_kernels_init(struct godwit_device *gdev);
void godwit_kernels_wake(struct godwit_device *gdev);
irqreturn_t godwit_kernel_irq(int irq, void *data);
int godwit_run(struct godwit_context *ctx, struct godwit_run *run);
int godwit_cancel(struct godwit_context *ctx, const struct godwit_cancel *what);

/* folios.c, migrate.c, moves.c and pool.c, on a kernel that has device-private memory */
#if IS_ENABLED(CONFIG_DEVICE_PRIVATE)
int godwit_pools_init(void);
void godwit_pools_exit(void);
void godwit_pool_init(struct godwit_device *gdev);
void godwit_pool_fini(struct godwit_device *gdev);
u64 godwit_pool_address(const struct page *page);
u64 godwit_pool_bytes(struct godwit_device *gdev);
u64 godwit_pool_used_bytes(struct godwit_device *gdev);
u32 godwit_pool_folios(struct godwit_device *gdev);
int godwit_migrate(struct godwit_context *ctx, struct godwit_migrate *what);
void godwit_migrate_asked(struct godwit_context *ctx, u64 first, u64 count);
#else
static inline int godwit_pools_init(void)
{
	return 0;
}

static inline void godwit_pools_exit(void)
{
}

static inline void godwit_pool_init(struct godwit_device *gdev)
{
}

static inline void godwit_pool_fini(struct godwit_device *gdev)
{
}

static inline u64 godwit_pool_address(const struct page *page)
{
	return 0;
}

static inline u64 godwit_pool_bytes(struct godwit_device *gdev)
{
	return 0;
}

static inline u64 godwit_pool_used_bytes(struct godwit_device *gdev)
{
	return 0;
}

static inline u32 godwit_pool_folios(struct godwit_device *gdev)
{
	return 0;
}

static inline int godwit_migrate(struct godwit_context *ctx, struct godwit_migrate *what)
{
	return -EOPNOTSUPP;
}

static inline void godwit_migrate_asked(struct godwit_context *ctx, u64 first, u64 count)
{
}
#endif

/* mmu.c */
int godwit_mmu_init(struct godwit_device *gdev);
void godwit_mmu_fini(struct godwit_device *gdev);
irqreturn_t godwit_mmu_irq(int irq, void *data);
bool godwit_mmu_collect_fault(struct godwit_device *gdev);
void godwit_mmu_bind(struct godwit_device *gdev, u32 port, u32 mode, u32 context);
void godwit_mmu_set_context(struct godwit_device *gdev, u32 number, const struct gw_pt *table);
int godwit_table_init(struct godwit_device *gdev, struct gw_pt *table);
int godwit_table_map(struct godwit_device *gdev, struct gw_pt *table, const struct gw_pt_range *what, u64 pa, u32 perm, u32 order);
int godwit_pt_errno(int status);

/* pci.c */
int godwit_up(struct pci_dev *pdev);
void godwit_down(struct pci_dev *pdev);

/* pin.c */
int godwit_pin(struct godwit_context *ctx, const struct godwit_pin *pin);
int godwit_unpin(struct godwit_context *ctx, const struct godwit_pin *pin);
void godwit_unpin_all(struct godwit_context *ctx);

/* place.c */
void godwit_place_init(struct godwit_context *ctx);
void godwit_place_fini(struct godwit_context *ctx);
int godwit_advise(struct godwit_context *ctx, struct godwit_advise *what);
void godwit_place_ends(struct godwit_context *ctx, unsigned long first, unsigned long last);
u64 godwit_place_alike(struct godwit_context *ctx, u64 first, u64 end);
bool godwit_place_fights(struct godwit_context *ctx, u64 first, u32 count);
bool godwit_place_whole_fights(struct godwit_context *ctx, u64 first);
bool godwit_place_lets(struct godwit_context *ctx, u64 first, u32 count);
bool godwit_place_moves(struct godwit_context *ctx, u64 page, u64 *first, u32 *count);
bool godwit_place_is_auto(struct godwit_context *ctx, u64 page);
void godwit_place_refused(struct godwit_context *ctx, u64 page);

/* queue.c */
int godwit_queue_init(struct godwit_device *gdev);
void godwit_queue_fini(struct godwit_device *gdev);
int godwit_invalidate_context(struct godwit_device *gdev, u32 context);
int godwit_invalidate(struct godwit_device *gdev, u32 context, const struct gw_pt_inval *what, const struct godwit_flushed *flushed);
void godwit_flushed_add(struct godwit_flushed *flushed, u64 pa);
int godwit_cache_sync(struct godwit_device *gdev, bool drop);
int godwit_queue_respond(struct godwit_device *gdev, u32 context, u32 group, u32 code);
int godwit_queue_settle(struct godwit_device *gdev);

/* residency.c */
int godwit_residency(struct godwit_context *ctx, const struct godwit_residency *what);

/* sleep.c */
extern const struct pci_error_handlers godwit_reset_handlers;
int godwit_sleep_init(struct pci_driver *driver);
void godwit_sleep_exit(void);

#endif /* GODWIT_DRIVER_H_ */
