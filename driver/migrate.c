// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a process moves to device memory when an accelerator asks for it, when it is likely to, or when the program says so, and
 * comes back when a processor touches it, when the program says so, or when the card goes. How it moves: moves.c.
 */
#include <linux/hmm.h>
#include <linux/migrate.h>
#include <linux/minmax.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "migrate.h"

/* How often pages are brought back that somebody else holds for a moment. */
#define GODWIT_HOME_TRIES 10
/* Looks at pages that are made writable: one comes home, is written, and is so. */
#define GODWIT_WRITABLE_TRIES 4

/* Memory for a page that nobody waits for: what is not easily had is not wanted. */
#define GODWIT_GFP_ALONG (GFP_HIGHUSER | __GFP_NORETRY | __GFP_NOWARN)

/* Whether memory of this area can be anywhere but in the host. */
static bool godwit_can_move(struct vm_area_struct *vma)
{
	return !(vma->vm_flags & (VM_SPECIAL | VM_HUGETLB | VM_LOCKED)) && vma_is_anonymous(vma);
}

/* Moves what can be of a range, as far as it gets while nobody else wants the memory map; where that is. */
static u64 godwit_migrate_some(struct godwit_moves *moves, u64 at, u64 end)
{
	struct vm_area_struct *vma;
	u64 stop = at;

	mmap_read_lock(moves->ctx->mm);
	if (!moves->home)
		godwit_alone_end(moves->ctx, at >> PAGE_SHIFT, end >> PAGE_SHIFT);
	godwit_moves_open(moves);
	while (at == stop && at < end && (vma = find_vma_intersection(moves->ctx->mm, at, end))) {
		stop = min_t(u64, end, vma->vm_end);
		at = godwit_can_move(vma) ? godwit_moves_add(moves, vma, max_t(u64, at, vma->vm_start), stop) : stop;
	}
	godwit_moves_close(moves);
	mmap_read_unlock(moves->ctx->mm);
	return at == stop ? end : at;
}

/* Moves pages of the program; those that cannot be stay where they are. */
int godwit_migrate(struct godwit_context *ctx, struct godwit_migrate *what)
{
	u64 at = what->addr & PAGE_MASK, end = PAGE_ALIGN(what->addr + what->size);
	struct godwit_moves moves;
	int err;

	if (what->flags & ~GODWIT_MIGRATE_TO_HOST || what->reserved || !what->size ||
	    what->addr + what->size < what->addr || end < at || end > BIT_ULL(ctx->device->va_bits))
		return -EINVAL;
	err = godwit_moves_init(&moves, ctx, (end - at) >> PAGE_SHIFT, what->flags & GODWIT_MIGRATE_TO_HOST);
	if (err)
		return err;
	if (!mmget_not_zero(ctx->mm)) {
		godwit_moves_fini(&moves);
		return -EFAULT;
	}
	while (at < end && !moves.err) {
		at = godwit_migrate_some(&moves, at, end);
		if (!moves.err && at < end && fatal_signal_pending(current))
			moves.err = -EINTR;
		cond_resched();
	}
	mmput(ctx->mm);
	what->pages = moves.moved;
	godwit_moves_fini(&moves);
	return moves.err;
}

/*
 * Pages that may not be written yet (shared with a child, of zeros, protected meanwhile) would move as they are, and come back
 * when the card is to have what it may write: they are made writable first. What is on the card may come home for that, so nothing
 * is under way yet.
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
		if (hmm_range_fault(&range) || godwit_inplace_make_writable(ctx, &range) != -EBUSY)
			return;
	}
}

/*
 * The card asks for pages, or is going to: what of them can move to it does, and is shown to it, what does not stays where it is, and
 * is used there. Runs in the interrupt's thread.
 */
void godwit_migrate_asked(struct godwit_context *ctx, u64 first, u64 count)
{
	unsigned long at = first << PAGE_SHIFT, end = (first + count) << PAGE_SHIFT, start, stop, step;
	struct vm_area_struct *vma;
	struct godwit_moves moves;

	/* With huge pages it may be more. */
	if (end > BIT_ULL(ctx->device->va_bits) ||
	    godwit_moves_init(&moves, ctx, godwit_folios_move() ? max_t(u64, count, GODWIT_MOVE_PAGES) : count, false))
		return;
	if (!mmget_not_zero(ctx->mm)) {
		godwit_moves_fini(&moves);
		return;
	}
	mmap_read_lock(ctx->mm);
	for (; at < end && !moves.err && (vma = find_vma_intersection(ctx->mm, at, end)); at = vma->vm_end) {
		start = max(at, vma->vm_start);
		stop = min(end, vma->vm_end);
		if (!godwit_can_move(vma))
			continue;
		godwit_folio_widen(&moves, vma, &start, &stop);
		godwit_alone_end(ctx, start >> PAGE_SHIFT, stop >> PAGE_SHIFT);
		for (at = start; at < stop && vma->vm_flags & VM_WRITE; at = step) {
			step = min(stop, at + GODWIT_STEP_PAGES * PAGE_SIZE);
			godwit_make_writable(ctx, at, step);
		}
		godwit_moves_open(&moves);
		at = godwit_moves_add(&moves, vma, start, stop);
		godwit_moves_close(&moves);
		/* Somebody waits for the memory map: what is left is asked for when it is wanted. */
		if (at < stop)
			break;
	}
	mmap_read_unlock(ctx->mm);
	mmput(ctx->mm);
	godwit_moves_fini(&moves);
}

/* Places for pages that come home: for that which is touched; for the others as far as memory is easily had. */
static int godwit_place_touched(struct godwit_device *gdev, struct godwit_copy *copy, unsigned long touched)
{
	unsigned long i;
	int err = 0, along;

	godwit_copy_begin(gdev, copy);
	godwit_place_home(gdev, copy, touched, GFP_HIGHUSER, &err);
	for (i = 0; i < copy->count && !err; i++)
		if (i != touched)
			godwit_place_home(gdev, copy, i, GODWIT_GFP_ALONG, &along);
	godwit_copy_close(gdev, copy);
	return err;
}

/* A place for a folio; without one for its first page, which has Linux see to it that the touch comes again, for a page. */
static int godwit_place_folio(struct godwit_device *gdev, struct godwit_copy *copy, bool hard)
{
	struct page *place = godwit_folio_is_taken(copy) ? godwit_folio_alloc(gdev, hard) : NULL;
	int err = 0;

	copy->whole = place;
	godwit_copy_begin(gdev, copy);
	if (place)
		godwit_folio_add(gdev, copy, place, copy->src[0] & MIGRATE_PFN_WRITE);
	else
		godwit_place_home(gdev, copy, 0, GFP_HIGHUSER, &err);
	godwit_copy_close(gdev, copy);
	return err;
}

/* Brings pages of an area home, or a folio. */
static vm_fault_t godwit_touched_some(struct godwit_device *gdev, struct vm_fault *vmf, struct migrate_vma *args, dma_addr_t *hosts)
{
	struct godwit_copy copy = { .src = args->src, .dst = args->dst, .home = true, .hosts = hosts };
	int err = gdev ? 0 : -ENODEV;

	if (migrate_vma_setup(args))
		return VM_FAULT_SIGBUS;
	if (gdev) {
		godwit_count(gdev, GODWIT_EVENT_PIECES, 1);
		godwit_count(gdev, GODWIT_EVENT_TOUCHES, 1);
	}
	/* Somebody else was faster: the process looks again. */
	if (!args->cpages)
		return 0;
	copy.count = (args->end - args->start) >> PAGE_SHIFT;
	if (!err) {
		if (args->flags & GODWIT_SELECT_FOLIOS)
			err = godwit_place_folio(gdev, &copy, vmf->vma->vm_flags & VM_HUGEPAGE);
		else
			err = godwit_place_touched(gdev, &copy, ((vmf->address & PAGE_MASK) - args->start) >> PAGE_SHIFT);
		err = godwit_fill(gdev, &copy) ? : err;
	}
	migrate_vma_pages(args);
	if (gdev)
		godwit_tell_home(gdev, args->start, &copy);
	migrate_vma_finalize(args);
	if (err == -ENOMEM)
		return VM_FAULT_OOM;
	return err ? VM_FAULT_SIGBUS : 0;
}

/* Pages that come home with one that is touched, and the first of them; @whole: they are a folio, which comes as such. */
static u32 godwit_touched_range(struct godwit_pool *pool, const struct vm_fault *vmf, u64 *first, bool *whole)
{
	u64 page = vmf->address >> PAGE_SHIFT;
	u32 count;

	*first = page;
	*whole = godwit_folio_is_touched(vmf);
	if (*whole) {
		*first = round_down(page, GODWIT_MOVE_PAGES);
		return GODWIT_MOVE_PAGES;
	}
	if (godwit_folio_is_split(vmf))
		return 1;
	count = godwit_pool_touched(pool, vmf->vma->vm_mm, page, first);
	/* A folio that is next comes when it is touched. */
	return godwit_folios_move() ? min_t(u64, count, round_up(page + 1, GODWIT_MOVE_PAGES) - *first) : count;
}

/*
 * A processor touches a page that is in device memory: those around it, or behind it in a walk (core's around), that are in the same pool
 * come home with it, as far as the area reaches. Only what becomes of the touched one is an error.
 */
static vm_fault_t godwit_touched(struct godwit_pool *pool, struct vm_fault *vmf)
{
	unsigned long few[2 * GODWIT_HOME_PAGES] = {}, *pages = few;
	dma_addr_t few_hosts[GODWIT_HOME_PAGES], *hosts = few_hosts;
	struct migrate_vma args = {
		.vma = vmf->vma,
		.pgmap_owner = pool,
		.flags = MIGRATE_VMA_SELECT_DEVICE_PRIVATE,
		.fault_page = vmf->page,
	};
	void *room = NULL;
	vm_fault_t done;
	bool whole;
	u64 first;
	u32 count = godwit_touched_range(pool, vmf, &first, &whole);

	/* A folio, or in a walk, where the touched page is the first: of that the fewest come without memory for the lists. */
	if (count > GODWIT_HOME_PAGES) {
		room = kvzalloc(count * (2 * sizeof(*pages) + sizeof(*hosts)), GFP_KERNEL | __GFP_NOWARN | (whole ? 0 : __GFP_NORETRY));
		if (!room && whole)
			return VM_FAULT_OOM;
		pages = room ? room : few;
		hosts = room ? (void *)(pages + 2 * count) : few_hosts;
		count = room ? count : GODWIT_HOME_PAGES;
	}
	args.src = pages;
	args.dst = pages + count;
	if (whole)
		args.flags |= GODWIT_SELECT_FOLIOS;
	args.start = max_t(u64, first << PAGE_SHIFT, vmf->vma->vm_start);
	args.end = min_t(u64, (first + count) << PAGE_SHIFT, vmf->vma->vm_end);
	done = godwit_touched_some(pool->device, vmf, &args, hosts);
	kvfree(room);
	return done;
}

vm_fault_t godwit_migrate_touched(struct vm_fault *vmf)
{
	struct godwit_pool *pool = godwit_pool_of(vmf->page);
	vm_fault_t done;

	down_read(&pool->device_lock);
	done = godwit_touched(pool, vmf);
	up_read(&pool->device_lock);
	return done;
}

/*
 * Brings pages of a pool back, whosever they are: @count numbers of Linux's, in its @home. -ENODEV: there is no use in going on; -EAGAIN: it
 * is a folio, @at in areas of anonymous memory, which stayed whole.
 */
static int godwit_migrate_home_some(struct godwit_pool *pool, unsigned long count, pgoff_t *at)
{
	struct godwit_home *home = pool->home;
	struct godwit_copy copy = { .src = home->src, .dst = home->dst, .count = count, .home = true, .hosts = home->hosts };
	unsigned long i;
	bool folio;
	int err, lacks = 0;

	memset(home->dst, 0, sizeof(home->dst));
	godwit_migrate_device_pfns(home->src, count);
	folio = godwit_folio_is_taken(&copy);
	if (folio) {
		struct page *place = godwit_folio_alloc(pool->device, true);

		*at = godwit_folio_index(&copy);
		copy.whole = place;
		godwit_copy_begin(pool->device, &copy);
		if (place)
			godwit_folio_add(pool->device, &copy, place, home->src[0] & MIGRATE_PFN_WRITE);
	} else {
		godwit_copy_begin(pool->device, &copy);
		for (i = 0; i < count; i++)
			godwit_place_home(pool->device, &copy, i, GFP_HIGHUSER, &lacks);
	}
	godwit_copy_close(pool->device, &copy);
	err = godwit_fill(pool->device, &copy);
	migrate_device_pages(home->src, home->dst, count);
	if (folio && !err && !(home->src[0] & MIGRATE_PFN_MIGRATE))
		err = -EAGAIN;
	godwit_tell_home(pool->device, 0, &copy);
	migrate_device_finalize(home->src, home->dst, count);
	return err;
}

/* The same of those that are in use of the 2 MiB around one: a folio in use is all of them. */
static int godwit_migrate_home_around(struct godwit_pool *pool, unsigned long index)
{
	unsigned long end = round_up(index + 1, GODWIT_MOVE_PAGES), count = 0;
	pgoff_t at = 0;
	int err;

	for (; index < end; index = godwit_pool_next(pool, index + 1))
		pool->home->src[count++] = pool->first_pfn + index;
	down_read(&pool->device_lock);
	err = godwit_migrate_home_some(pool, count, &at);
	up_read(&pool->device_lock);
	if (err != -EAGAIN)
		return err;
	/* Its pages come the next time. */
	godwit_folio_split(pool, at);
	return 0;
}

/* The same of all of them; the card is still there, unless it is known to be gone. */
void godwit_migrate_home_all(struct godwit_pool *pool)
{
	unsigned long at;
	int tries, err = 0;

	for (tries = 0; tries < GODWIT_HOME_TRIES && READ_ONCE(pool->groups.used) && !err; tries++)
		for (at = godwit_pool_next(pool, 0); at < pool->groups.pages && !err;
		     at = godwit_pool_next(pool, round_up(at + 1, GODWIT_MOVE_PAGES))) {
			err = godwit_migrate_home_around(pool, at);
			cond_resched();
		}
}
