// SPDX-License-Identifier: GPL-2.0-only
/*
 * Huge pages of the host (folios of 2 MiB) that move whole: one migration, one copy, one page of device memory in Linux's eyes, and one
 * entry for the card. Memory that was never touched is made on the card so where the program has asked for huge pages.
 *
 * DOC: places
 *   A folio has its place, in device memory or in the host, before it is taken from the process. Linux can split one that is taken already
 *   when its place is of single pages, but not for another process that has it, too (a child's): so without a place it is taken in pages.
 *
 * DOC: touches
 *   Who touches a folio on the card has it come home whole. Without a free huge page in the host Linux is told that its first page goes to a
 *   single one; it cannot split what is being touched, but has the process see it in pages from then on, and the touch comes again: for a
 *   page, which splits it. Until that happens a folio of which parts were unmapped keeps its place.
 *
 * DOC: the card's end
 *   Pages are brought home by what they are in device memory, which only whole folios can be that go to whole ones. One for which the host has
 *   no huge page is split in the memory of a process that has it, whoever that is: they are looked for among all.
 */
#include <linux/hmm.h>
#include <linux/huge_mm.h>
#include <linux/migrate.h>
#include <linux/mmap_lock.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/string.h>

#include "migrate.h"

#if GODWIT_HAS_FOLIOS

static_assert(GODWIT_GROUP_ORDER == HPAGE_PMD_ORDER && BIT(GODWIT_GROUP_ORDER) == GODWIT_MOVE_PAGES);

bool godwit_folios_move(void)
{
	return READ_ONCE(godwit_param_large_folios);
}

/* Whether 2 MiB from @start on are one folio that can move whole, or were never touched and are to be one; @pfns: room for what is found. */
static bool godwit_folio_is_at(struct godwit_context *ctx, const struct vm_area_struct *vma, unsigned long start, bool home,
			       unsigned long *pfns)
{
	struct hmm_range range = {
		.notifier = &ctx->notifier,
		.start = start,
		.end = start + PAGE_SIZE,
		.hmm_pfns = pfns,
		.dev_private_owner = ctx->device->pool,
	};

	if (!IS_ALIGNED(start, GODWIT_FOLIO_BYTES) || start < vma->vm_start || vma->vm_end - start < GODWIT_FOLIO_BYTES)
		return false;
	/* What is not asked for is not brought. The first page says what most are, at little cost: no folio. */
	memset(pfns, 0, GODWIT_MOVE_PAGES * sizeof(*pfns));
	range.notifier_seq = mmu_interval_read_begin(&ctx->notifier);
	if (hmm_range_fault(&range))
		return false;
	if (pfns[0] & HMM_PFN_VALID)
		return hmm_pfn_to_map_order(pfns[0]) == GODWIT_GROUP_ORDER && is_device_private_page(hmm_pfn_to_page(pfns[0])) == home;
	if (home || !(vma->vm_flags & VM_HUGEPAGE))
		return false;
	range.end = start + GODWIT_FOLIO_BYTES;
	range.notifier_seq = mmu_interval_read_begin(&ctx->notifier);
	return !hmm_range_fault(&range) && !memchr_inv(pfns, 0, GODWIT_MOVE_PAGES * sizeof(*pfns));
}

/* Whether a huge page is not to be had: on purpose, as allocations of other kinds. */
static bool godwit_folio_fails(struct godwit_device *gdev)
{
	return godwit_fails(gdev) || READ_ONCE(gdev->observed.fail_folios);
}

/* A huge page of the host, locked; NULL without a free one, which is looked for harder where the program has asked for such. */
struct page *godwit_folio_alloc(struct godwit_device *gdev, bool hard)
{
	gfp_t gfp = hard ? GFP_TRANSHUGE | __GFP_NORETRY : GFP_TRANSHUGE_LIGHT;
	struct folio *folio = godwit_folio_fails(gdev) ? NULL : folio_alloc(gfp, GODWIT_GROUP_ORDER);

	if (!folio)
		return NULL;
	folio_lock(folio);
	return folio_page(folio, 0);
}

/* A place for the folio that is the next to move, if there is one; it is to be used, or to be put. The memory map's lock is held. */
struct page *godwit_folio_place(struct godwit_moves *moves, struct vm_area_struct *vma, unsigned long start, unsigned long end,
				unsigned long *pfns)
{
	if (!godwit_folios_move() || end - start < GODWIT_FOLIO_BYTES || !godwit_folio_is_at(moves->ctx, vma, start, moves->home, pfns))
		return NULL;
	if (moves->home)
		return godwit_folio_alloc(moves->device, vma->vm_flags & VM_HUGEPAGE);
	return godwit_folio_fails(moves->device) ? NULL : godwit_pool_take_folio(moves->pool, moves->ctx->mm, start >> PAGE_SHIFT);
}

/* Whether Linux has taken a folio whole. */
bool godwit_folio_is_taken(const struct godwit_copy *copy)
{
	unsigned long src = copy->src[0];

	return src & MIGRATE_PFN_MIGRATE && src & MIGRATE_PFN_COMPOUND && (!copy->home || migrate_pfn_to_page(src));
}

/* Where Linux has a folio that it has taken in areas of anonymous memory, by number of pages. */
pgoff_t godwit_folio_index(const struct godwit_copy *copy)
{
	return page_folio(migrate_pfn_to_page(copy->src[0]))->index;
}

/* It goes to its place. */
void godwit_folio_add(struct godwit_device *gdev, struct godwit_copy *copy, struct page *place, bool write)
{
	copy->dst[0] = migrate_pfn(page_to_pfn(place)) | MIGRATE_PFN_COMPOUND | (write ? MIGRATE_PFN_WRITE : 0);
	godwit_copy_add(gdev, copy, 0);
}

/*
 * Pages of an area that the card asks for are part of folios at the ends: all of these goes, as far as nothing else was said of any page,
 * and nobody fights for it.
 */
void godwit_folio_widen(struct godwit_moves *moves, struct vm_area_struct *vma, unsigned long *start, unsigned long *stop)
{
	unsigned long *pfns = moves->pieces[0]->args.src;
	unsigned long firsts[] = { round_down(*start, GODWIT_FOLIO_BYTES), round_down(*stop - PAGE_SIZE, GODWIT_FOLIO_BYTES) };
	u32 count = firsts[0] == firsts[1] ? 1 : ARRAY_SIZE(firsts), i;

	for (i = 0; i < count && godwit_folios_move(); i++) {
		unsigned long first = firsts[i], end = first + GODWIT_FOLIO_BYTES;

		if ((first >= *start && end <= *stop) || !godwit_folio_is_at(moves->ctx, vma, first, false, pfns) ||
		    !godwit_place_lets(moves->ctx, first >> PAGE_SHIFT, GODWIT_MOVE_PAGES) ||
		    godwit_place_whole_fights(moves->ctx, first >> PAGE_SHIFT))
			continue;
		*start = min(*start, first);
		*stop = max(*stop, end);
	}
}

/* Whether it is a folio that is touched, which the process sees as such. */
bool godwit_folio_is_touched(const struct vm_fault *vmf)
{
	return !vmf->pte;
}

/* Whether a touched page is one of a folio that is to be split: Linux does that only where no other page is asked for with it. */
bool godwit_folio_is_split(const struct vm_fault *vmf)
{
	return vmf->pte && folio_test_large(page_folio(vmf->page));
}

/* Has Linux split what an area has of a folio in device memory: it comes to that where pages are taken one by one, and stay. */
static void godwit_folio_split_in(struct godwit_pool *pool, struct vm_area_struct *vma, pgoff_t first)
{
	unsigned long src[GODWIT_HOME_PAGES], dst[GODWIT_HOME_PAGES];
	pgoff_t from = max(first, vma->vm_pgoff), to = min(first + GODWIT_MOVE_PAGES, vma->vm_pgoff + vma_pages(vma));
	struct migrate_vma args = {
		.vma = vma,
		.src = src,
		.dst = dst,
		.pgmap_owner = pool,
		.flags = MIGRATE_VMA_SELECT_DEVICE_PRIVATE,
	};

	for (; from < to; from += GODWIT_HOME_PAGES) {
		args.start = vma->vm_start + ((from - vma->vm_pgoff) << PAGE_SHIFT);
		args.end = min(args.start + GODWIT_HOME_PAGES * PAGE_SIZE, vma->vm_start + ((to - vma->vm_pgoff) << PAGE_SHIFT));
		if (migrate_vma_setup(&args))
			return;
		migrate_vma_pages(&args);
		migrate_vma_finalize(&args);
		if (args.cpages)
			return;
	}
}

/* The process after one, the first for NULL; NULL: that was the last, or has ended meanwhile, and nobody knows which is next. */
static struct task_struct *godwit_next_process(struct task_struct *task)
{
	struct task_struct *next = &init_task;

	rcu_read_lock();
	if (!task || pid_alive(task))
		next = next_task(task ? task : &init_task);
	if (next == &init_task)
		next = NULL;
	else
		get_task_struct(next);
	rcu_read_unlock();
	if (task)
		put_task_struct(task);
	return next;
}

/* Has a folio that stayed in device memory be split, whosever it is, by its godwit_folio_index(). */
void godwit_folio_split(struct godwit_pool *pool, pgoff_t first)
{
	struct task_struct *task = NULL;

	while ((task = godwit_next_process(task))) {
		struct mm_struct *mm = get_task_mm(task);
		struct vm_area_struct *vma;

		if (!mm)
			continue;
		mmap_read_lock(mm);
		VMA_ITERATOR(areas, mm, 0);
		for_each_vma(areas, vma)
			if (vma->anon_vma && vma->vm_pgoff < first + GODWIT_MOVE_PAGES && first < vma->vm_pgoff + vma_pages(vma))
				godwit_folio_split_in(pool, vma, first);
		mmap_read_unlock(mm);
		mmput(mm);
		cond_resched();
	}
}
#endif
