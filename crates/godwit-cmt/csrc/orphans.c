// SPDX-License-Identifier: Apache-2.0
/*
 * Pages of small blocks that belonged to threads which a child of fork does not have. When the child first wants memory they
 * are given up like those of a thread that ends. Such a thread stood anywhere, so its pages' counts are made anew: free is what is found in a list
 * of free blocks, and found once; all else is taken to be in use. Stores are there in their order: a block is in a list with its
 * link, or not at all. What a thread had in its hands is lost, and a page that it was about to take or give back.
 */
#include "cmt_internal.h"

#define CMT_PAGE_BLOCKS (CMT_SLICE / CMT_MIN_BLOCK)

/* How many blocks a list has that are not in `met`, where they are then. It ends before the first that cannot be right. */
static size_t cmt_orphan_list(mi_page_t *page, mi_block_t **head, uint64_t *met)
{
	size_t size = mi_page_block_size(page), count = 0;
	mi_block_t *last = NULL, *block;

	for (block = *head; block; block = mi_block_next(page, block)) {
		size_t at = (uintptr_t)block - (uintptr_t)mi_page_start(page), index = at / size;

		if (index >= page->capacity || at % size || met[index / 64] >> index % 64 & 1)
			break;
		met[index / 64] |= (uint64_t)1 << index % 64;
		last = block;
		count++;
	}
	if (block && last)
		mi_block_set_next(page, last, NULL);
	else if (block)
		*head = NULL;
	return count;
}

/* Of no thread any more. Others of this process may free blocks in it meanwhile. */
static void cmt_orphan_adopt(mi_page_t *page, mi_theap_t *theap)
{
	uint64_t met[CMT_PAGE_BLOCKS / 64] = { 0 };
	size_t free = cmt_orphan_list(page, &page->free, met);

	free += cmt_orphan_list(page, &page->local_free, met);
	page->used = (uint16_t)(page->capacity - free);
	page->free_is_zero = false;
	page->retire_expire = 0;
	page->next = page->prev = NULL;
	mi_page_set_in_full(page, false);
	mi_page_set_theap(page, NULL);
	_mi_page_free_collect(page, true);
	if (mi_page_all_free(page)) {
		mi_page_set_has_interior_pointers(page, false);
		_mi_arenas_page_free(page, theap);
	} else {
		_mi_arenas_page_abandon(page, theap);
	}
}

static bool cmt_is_orphan(const mi_page_t *page)
{
	mi_threadid_t owner = mi_page_thread_id(page);

	return owner > MI_THREADID_ABANDONED_MAPPED && owner != cmt_pool.survivor && page->capacity <= CMT_PAGE_BLOCKS;
}

void cmt_orphans_begin(void)
{
	cmt_pool.orphans = true;
	cmt_pool.survivor = _mi_prim_thread_id();
}

void cmt_orphans_adopt(struct cmt_thread *self)
{
	cmt_pool.orphans = false;
	for (uint32_t index = 0; index < cmt_pool.region_count; index++) {
		const struct cmt_region *region = &cmt_pool.region[index];
		mi_page_t **pages = cmt_pool.pages + ((uint64_t)index << (CMT_REGION_SHIFT - CMT_SLICE_SHIFT));
		mi_theap_t *theap = region->heap ? cmt_theap_of(self, index) : NULL;
		uint64_t slices = (cmt_pool.bytes >> CMT_SLICE_SHIFT) - (uint64_t)(pages - cmt_pool.pages);

		for (uint64_t slice = 0; theap && slice < slices && slice < CMT_REGION >> CMT_SLICE_SHIFT; slice++)
			if (pages[slice] && mi_bitmap_is_set(region->arena->pages_main.pages, slice) && cmt_is_orphan(pages[slice]))
				cmt_orphan_adopt(pages[slice], theap);
	}
}
