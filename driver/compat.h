/* SPDX-License-Identifier: GPL-2.0-only */
/* What kernels from 6.1 to 7.x call differently. */
#ifndef GODWIT_COMPAT_H_
#define GODWIT_COMPAT_H_

#include <linux/gfp.h>
#include <linux/hmm.h>
#include <linux/memremap.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/rmap.h>
#include <linux/topology.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

/* The name of a namespace of symbols was a word, and is a string. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define GODWIT_IMPORT_NS(name) MODULE_IMPORT_NS(name)
#else
#define GODWIT_IMPORT_NS(name) MODULE_IMPORT_NS(#name)
#endif

/* So many pages in one piece, each of them freed alone; NULL where there is none, or modules cannot ask for it. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0) && defined(CONFIG_CONTIG_ALLOC)
static inline struct page *godwit_contig_pages(unsigned long count)
{
	return alloc_contig_pages(count, GFP_KERNEL | __GFP_NOWARN, numa_mem_id(), NULL);
}
#else
static inline struct page *godwit_contig_pages(unsigned long count)
{
	return NULL;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
static inline struct dev_pagemap *page_pgmap(const struct page *page)
{
	return page->pgmap;
}
#endif

/*
 * godwit_take_alone() takes a page of a process from all processors until one touches it, and has it be writable: the page, locked and with a
 * reference, or an error; @owner is told to notifiers. godwit_can_be_alone(): whether that is worth a try.
 */
#if !IS_ENABLED(CONFIG_DEVICE_PRIVATE)
static inline bool godwit_can_be_alone(const struct page *page)
{
	return false;
}

static inline struct page *godwit_take_alone(struct mm_struct *mm, unsigned long address, void *owner)
{
	return ERR_PTR(-EOPNOTSUPP);
}
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
/* It takes all pages of a large folio, of which it gives the first alone. */
static inline bool godwit_can_be_alone(const struct page *page)
{
	return PageAnon(page) && !PageCompound(page);
}

static inline struct page *godwit_take_alone(struct mm_struct *mm, unsigned long address, void *owner)
{
	struct page *page = NULL;
	int got = make_device_exclusive_range(mm, address, address + PAGE_SIZE, &page, owner);

	return got < 0 ? ERR_PTR(got) : got && page ? page : ERR_PTR(-EBUSY);
}
#else
static inline bool godwit_can_be_alone(const struct page *page)
{
	return PageAnon(page) && !PageHuge(page);
}

static inline struct page *godwit_take_alone(struct mm_struct *mm, unsigned long address, void *owner)
{
	struct folio *folio;

	return make_device_exclusive(mm, address, owner, &folio);
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
#define GODWIT_PAGE_FREE(function) .page_free = function##_page

/* @function##_page, for struct dev_pagemap_ops, from @function(struct page *, order). */
#define GODWIT_DEFINE_PAGE_FREE(function)              \
	static void function##_page(struct page *page) \
	{                                              \
		function(page, 0);                     \
	}

static inline void godwit_zone_device_page_init(struct page *page, struct dev_pagemap *pgmap, u32 order)
{
	zone_device_page_init(page);
}

/* Takes those of @count pages that are somebody's: they are in @src by number, one behind the other. */
static inline void godwit_migrate_device_pfns(unsigned long *src, unsigned long count)
{
	unsigned long at = 0, end;

	for (; at < count; at = end) {
		for (end = at + 1; end < count && src[end] == src[end - 1] + 1;)
			end++;
		migrate_device_range(src + at, src[at], end - at);
	}
}
#else
#define GODWIT_PAGE_FREE(function) .folio_free = function##_folio

#define GODWIT_DEFINE_PAGE_FREE(function)                           \
	static void function##_folio(struct folio *folio)           \
	{                                                           \
		function(&folio->page, folio_order(folio));         \
	}

static inline void godwit_zone_device_page_init(struct page *page, struct dev_pagemap *pgmap, u32 order)
{
	/* What it was before, a part of a folio perhaps, it says of itself until then. */
	zone_device_page_init(page, pgmap, order);
	if (order)
		folio_set_large_rmappable(page_folio(page));
}

static inline void godwit_migrate_device_pfns(unsigned long *src, unsigned long count)
{
	migrate_device_pfns(src, count);
}
#endif

/* Whether Linux has folios of 2 MiB in device memory; what of them was there before 7.3 was not tried. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0) && defined(CONFIG_TRANSPARENT_HUGEPAGE) && \
	defined(CONFIG_ARCH_HAS_PMD_SOFTLEAVES) && IS_ENABLED(CONFIG_DEVICE_PRIVATE)
#define GODWIT_HAS_FOLIOS 1
#else
#define GODWIT_HAS_FOLIOS 0
#endif

/*
 * The page that was found for page @index of a process. Of a part of a folio in device memory Linux 7.3 gives as many pages from the folio's
 * first on, whichever part it is; folios are aligned, so which of its pages it is the number says.
 */
static inline struct page *godwit_found(unsigned long index, unsigned long pfn)
{
	struct page *page = hmm_pfn_to_page(pfn);
	unsigned long pages = 1ul << hmm_pfn_to_map_order(pfn);

	if (pages == 1 || !is_device_private_page(page))
		return page;
	return pfn_to_page(round_down(page_to_pfn(page), pages) + index % pages);
}

#endif /* GODWIT_COMPAT_H_ */
