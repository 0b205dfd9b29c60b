// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a process moves to device memory when an accelerator asks for it, when it is likely to, or when the program says so, and
 * comes back when a processor touches it, when the program says so, or when the card goes. Linux takes a page from the process
 * (migrate_vma_setup(), which has the notifier take it from the card), it is copied (copy.c), and the process gets the copy:
 * nobody can write it in between.
 *
 * DOC: locking
 *   The memory map's lock of the process first, then struct godwit_pool.device_lock, and under that the page DMA's. The
 *   notifier's locks are taken inside migrate_vma_setup(), before these.
 */
#include <linux/hmm.h>
#include <linux/migrate.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "migrate.h"
#include "trace.h"

/* How often pages are brought back that somebody else holds for a moment. */
#define GODWIT_HOME_TRIES 10
/* Looks at pages that are made writable: one comes home, is written, and is so. */
#define GODWIT_WRITABLE_TRIES 4

/* Whether an allocation for a page of this pool is to fail. */
static bool godwit_pool_fails(struct godwit_pool *pool)
{
	bool fails;

	down_read(&pool->device_lock);
	fails = pool->device && godwit_fails(pool->device);
	up_read(&pool->device_lock);
	return fails;
}

/* A page of the pool for one of the host; 0: it stays where it is. */
static unsigned long godwit_place_out(struct godwit_pool *pool, unsigned long src, bool writable)
{
	struct page *to;

	if (!(src & MIGRATE_PFN_MIGRATE) || godwit_pool_fails(pool))
		return 0;
	to = godwit_pool_take(pool);
	if (!to)
		return 0;
	/* A page that was never touched is as writable as its area. */
	if (src & MIGRATE_PFN_VALID)
		writable = src & MIGRATE_PFN_WRITE;
	return migrate_pfn(page_to_pfn(to)) | (writable ? MIGRATE_PFN_WRITE : 0);
}

/* Memory for a page that nobody waits for: what is not easily had is not wanted. */
#define GODWIT_GFP_ALONG (GFP_HIGHUSER | __GFP_NORETRY | __GFP_NOWARN)

/* A page of the host for one of a pool; 0: it stays where it is, @err says why. */
static unsigned long godwit_place_home(unsigned long src, gfp_t gfp, int *err)
{
	struct page *from = migrate_pfn_to_page(src), *to;

	if (!(src & MIGRATE_PFN_MIGRATE) || !from || !is_device_private_page(from))
		return 0;
	to = godwit_pool_fails(godwit_pool_of(from)) ? NULL : alloc_page(gfp);
	if (!to) {
		*err = -ENOMEM;
		return 0;
	}
	lock_page(to);
	return migrate_pfn(page_to_pfn(to)) | (src & MIGRATE_PFN_WRITE);
}

/* Fills the places that pages have got, or takes these back, and they stay where they are. */
static int godwit_fill(struct godwit_pool *pool, const unsigned long *src, unsigned long *dst, unsigned long count, bool home)
{
	struct godwit_copy copy = { .src = src, .dst = dst, .count = count, .home = home };
	unsigned long i;
	int err;

	for (i = 0; i < count && !dst[i]; i++)
		;
	if (i == count)
		return 0;
	err = godwit_copy(pool, &copy);
	for (i = 0; i < count && err; i++) {
		struct page *to = migrate_pfn_to_page(dst[i]);

		if (!to)
			continue;
		unlock_page(to);
		put_page(to);
		dst[i] = 0;
	}
	return err;
}

static u32 godwit_count_moved(const unsigned long *src, const unsigned long *dst, unsigned long count)
{
	unsigned long i;
	u32 moved = 0;

	for (i = 0; i < count; i++)
		moved += dst[i] && src[i] & MIGRATE_PFN_MIGRATE;
	return moved;
}

static void godwit_tell_out(struct godwit_pool *pool, u64 address, u32 pages)
{
	down_read(&pool->device_lock);
	if (pool->device && pages) {
		trace_godwit_out(pool->device->id, address, pages);
		godwit_count(pool->device, GODWIT_EVENT_PAGES_OUT, pages);
	}
	up_read(&pool->device_lock);
}

/* @address is 0 when all pages come home, whosever they are. */
static void godwit_tell_home(struct godwit_pool *pool, u64 address, u32 pages)
{
	down_read(&pool->device_lock);
	if (pool->device && pages) {
		trace_godwit_home(pool->device->id, address, pages);
		godwit_count(pool->device, GODWIT_EVENT_PAGES_HOME, pages);
	}
	up_read(&pool->device_lock);
}

/* Moves what can be of an area's range that is at most GODWIT_STEP_PAGES pages; how many pages went. */
static int godwit_move(struct godwit_pool *pool, struct vm_area_struct *vma, unsigned long start, unsigned long end,
		       bool home)
{
	unsigned long src[GODWIT_STEP_PAGES] = {}, dst[GODWIT_STEP_PAGES] = {}, i, count = (end - start) >> PAGE_SHIFT;
	struct migrate_vma args = {
		.vma = vma,
		.src = src,
		.dst = dst,
		.start = start,
		.end = end,
		.pgmap_owner = pool,
		.flags = home ? MIGRATE_VMA_SELECT_DEVICE_PRIVATE : MIGRATE_VMA_SELECT_SYSTEM,
	};
	int err = migrate_vma_setup(&args), why = 0;
	u32 moved;

	if (err)
		return err;
	for (i = 0; i < count; i++)
		dst[i] = home ? godwit_place_home(src[i], GFP_HIGHUSER, &why) :
				godwit_place_out(pool, src[i], vma->vm_flags & VM_WRITE);
	err = godwit_fill(pool, src, dst, count, home);
	/* Of pages that go to the card nothing is wrong when they stay. */
	if (home && err)
		why = err;
	migrate_vma_pages(&args);
	moved = godwit_count_moved(src, dst, count);
	migrate_vma_finalize(&args);
	if (home)
		godwit_tell_home(pool, start, moved);
	else
		godwit_tell_out(pool, start, moved);
	return moved ? moved : why;
}

/* Whether memory of this area can be anywhere but in the host. */
static bool godwit_can_move(struct vm_area_struct *vma)
{
	return !(vma->vm_flags & (VM_SPECIAL | VM_HUGETLB | VM_LOCKED)) && vma_is_anonymous(vma);
}

/* Moves pages of the program; those that cannot be stay where they are. */
int godwit_migrate(struct godwit_context *ctx, struct godwit_migrate *what)
{
	u64 at = what->addr & PAGE_MASK, end = PAGE_ALIGN(what->addr + what->size);
	bool home = what->flags & GODWIT_MIGRATE_TO_HOST;
	struct vm_area_struct *vma;
	int done = 0;

	if (what->flags & ~GODWIT_MIGRATE_TO_HOST || what->reserved || !what->size ||
	    what->addr + what->size < what->addr || end < at || end > BIT_ULL(ctx->device->va_bits))
		return -EINVAL;
	if (!ctx->device->pool)
		return -EOPNOTSUPP;
	what->pages = 0;
	if (!mmget_not_zero(ctx->mm))
		return -EFAULT;
	while (at < end && done >= 0) {
		unsigned long next = min_t(u64, end, at + GODWIT_STEP_PAGES * PAGE_SIZE);

		if (READ_ONCE(ctx->device->going) || fatal_signal_pending(current)) {
			done = READ_ONCE(ctx->device->going) ? -ENODEV : -EINTR;
			break;
		}
		mmap_read_lock(ctx->mm);
		vma = find_vma_intersection(ctx->mm, at, end);
		done = 0;
		if (!vma) {
			next = end;
		} else if (!godwit_can_move(vma)) {
			next = min_t(u64, end, vma->vm_end);
		} else {
			at = max_t(u64, at, vma->vm_start);
			next = min3((u64)end, (u64)vma->vm_end, at + GODWIT_STEP_PAGES * PAGE_SIZE);
			done = godwit_move(ctx->device->pool, vma, at, next, home);
			what->pages += max(done, 0);
		}
		mmap_read_unlock(ctx->mm);
		/* The card is not to ask for what has just gone to it. */
		if (done > 0 && !home)
			godwit_inplace_bring(ctx, at >> PAGE_SHIFT, (next - at) >> PAGE_SHIFT, GODWIT_BRING_MOVED);
		at = next;
		cond_resched();
	}
	mmput(ctx->mm);
	return min(done, 0);
}

/*
 * Pages that may not be written yet (shared with a child, of zeros, protected meanwhile) would move as they are, and come back
 * when the card is to have what it may write: they are made writable first.
 */
static void godwit_make_writable(struct godwit_context *ctx, unsigned long start, unsigned long end)
{
	unsigned long pfns[GODWIT_STEP_PAGES] = {};
	struct hmm_range range = {
		.notifier = &ctx->notifier,
		.start = start,
		.end = end,
		.hmm_pfns = pfns,
		.dev_private_owner = ctx->device->pool,
	};
	int tries;

	for (tries = 0; tries < GODWIT_WRITABLE_TRIES; tries++) {
		range.notifier_seq = mmu_interval_read_begin(&ctx->notifier);
		if (hmm_range_fault(&range) || !godwit_inplace_make_writable(ctx, &range))
			return;
	}
}

/*
 * The card asks for pages, or is going to: what of them can move to it does, what does not stays where it is, and is used there. Runs in the
 * interrupt's thread.
 */
void godwit_migrate_asked(struct godwit_context *ctx, u64 first, u32 count)
{
	unsigned long at = first << PAGE_SHIFT, end = (first + count) << PAGE_SHIFT;
	struct vm_area_struct *vma;

	if (WARN_ON_ONCE(count > GODWIT_STEP_PAGES) || end > BIT_ULL(ctx->device->va_bits) || !mmget_not_zero(ctx->mm))
		return;
	mmap_read_lock(ctx->mm);
	for (; at < end && (vma = find_vma_intersection(ctx->mm, at, end)); at = vma->vm_end) {
		unsigned long start = max(at, vma->vm_start), stop = min(end, vma->vm_end);

		if (!godwit_can_move(vma))
			continue;
		if (vma->vm_flags & VM_WRITE)
			godwit_make_writable(ctx, start, stop);
		if (godwit_move(ctx->device->pool, vma, start, stop, false) < 0)
			break;
	}
	mmap_read_unlock(ctx->mm);
	mmput(ctx->mm);
}

static void godwit_tell_touch(struct godwit_pool *pool)
{
	down_read(&pool->device_lock);
	if (pool->device)
		godwit_count(pool->device, GODWIT_EVENT_TOUCHES, 1);
	up_read(&pool->device_lock);
}

/*
 * A processor touches a page that is in device memory: those of the naturally aligned group around it that are in the same
 * pool come home with it, as far as the area reaches and memory is easily had. Only what becomes of the touched one is an
 * error.
 */
vm_fault_t godwit_migrate_touched(struct vm_fault *vmf)
{
	unsigned long src[GODWIT_HOME_PAGES] = {}, dst[GODWIT_HOME_PAGES] = {}, i, count, touched;
	unsigned long bytes = READ_ONCE(godwit_param_home_pages) * PAGE_SIZE, first = round_down(vmf->address, bytes);
	struct godwit_pool *pool = godwit_pool_of(vmf->page);
	struct migrate_vma args = {
		.vma = vmf->vma,
		.src = src,
		.dst = dst,
		.start = max(first, vmf->vma->vm_start),
		.end = min(first + bytes, vmf->vma->vm_end),
		.pgmap_owner = pool,
		.flags = MIGRATE_VMA_SELECT_DEVICE_PRIVATE,
		.fault_page = vmf->page,
	};
	int err = 0, along;

	if (migrate_vma_setup(&args))
		return VM_FAULT_SIGBUS;
	godwit_tell_touch(pool);
	/* Somebody else was faster: the process looks again. */
	if (!args.cpages)
		return 0;
	count = (args.end - args.start) >> PAGE_SHIFT;
	touched = ((vmf->address & PAGE_MASK) - args.start) >> PAGE_SHIFT;
	dst[touched] = godwit_place_home(src[touched], GFP_HIGHUSER, &err);
	for (i = 0; i < count && !err; i++)
		if (i != touched)
			dst[i] = godwit_place_home(src[i], GODWIT_GFP_ALONG, &along);
	if (!err)
		err = godwit_fill(pool, src, dst, count, true);
	migrate_vma_pages(&args);
	godwit_tell_home(pool, args.start, godwit_count_moved(src, dst, count));
	migrate_vma_finalize(&args);
	if (err == -ENOMEM)
		return VM_FAULT_OOM;
	return err ? VM_FAULT_SIGBUS : 0;
}

/* Brings all pages of a pool back, whosever they are. */
void godwit_migrate_home_all(struct godwit_pool *pool)
{
	unsigned long src[GODWIT_STEP_PAGES], dst[GODWIT_STEP_PAGES], at, count, i;
	int tries, err;

	for (tries = 0; tries < GODWIT_HOME_TRIES && READ_ONCE(pool->used); tries++) {
		for (at = 0, err = 0; at < pool->fresh && err != -ENODEV; at += count) {
			count = min_t(unsigned long, GODWIT_STEP_PAGES, pool->fresh - at);
			memset(dst, 0, sizeof(dst));
			migrate_device_range(src, pool->first_pfn + at, count);
			for (i = 0; i < count; i++)
				dst[i] = godwit_place_home(src[i], GFP_HIGHUSER, &err);
			/* The one error that there is no use in going on after. */
			if (godwit_fill(pool, src, dst, count, true))
				err = -ENODEV;
			migrate_device_pages(src, dst, count);
			godwit_tell_home(pool, 0, godwit_count_moved(src, dst, count));
			migrate_device_finalize(src, dst, count);
			cond_resched();
		}
		if (err == -ENODEV)
			return;
	}
}
