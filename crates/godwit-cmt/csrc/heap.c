// SPDX-License-Identifier: Apache-2.0
/*
 * What the pool knows of mimalloc's inside, for which its version is fixed: where it looks up the page of an address,
 * and which slices of an arena are free. An arena's bitmap of free slices is the whole truth about them: a slice that is
 * taken out of it is ours, as a slice is that mimalloc takes for a page.
 */
#include "cmt_internal.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CMT_THEAP_NONE ((mi_theap_t *)&_mi_theap_empty)

#define CMT_HEADER_NOW ((size_t)56 << 10)

const size_t cmt_theap_bytes = sizeof(mi_theap_t);

/* For none a heap that never has a block: the short paths need not ask. */
static __thread mi_theap_t *cmt_theap __attribute__((tls_model("initial-exec"))) = CMT_THEAP_NONE;

/*
 * Starts mimalloc, which asks two tables for a page, a piece of the second at a time. With all pieces in a row one look finds it.
 * A program of large blocks alone does without.
 */
static bool cmt_heaps_open(void)
{
	mi_page_t **pages = cmt_pool.pages;

	_Static_assert(CMT_SLICE_SHIFT == MI_ARENA_SLICE_SHIFT, "a slice is mimalloc's");
	/* Half of what mimalloc's bitmaps could have: the description of more is larger than it allows. */
	_Static_assert(CMT_REGION <= MI_BITMAP_MAX_BIT_COUNT * MI_ARENA_SLICE_SIZE, "a region is an arena");
	_Static_assert(CMT_MEDIUM_SLICES * MI_ARENA_SLICE_SIZE == MI_MEDIUM_PAGE_SIZE, "a page is mimalloc's");
	_Static_assert(CMT_SMALL_MAX < MI_MEDIUM_MAX_OBJ_SIZE, "small blocks are in pages of two sizes");
	_Static_assert(CMT_REGIONS < MI_MAX_ARENAS - 8, "mimalloc needs some for itself");
	/*
	 * The thread that starts mimalloc is its main thread, which must not end before the others: for it there is memory that
	 * is never given back. One that may end is a thread like all.
	 */
	if (gettid() != getpid())
		tld_main.thread_id = (mi_threadid_t)&tld_main;
	/* What it keeps its own data in, KiB: little, since the description of much is touched as well. */
	mi_option_set(mi_option_arena_reserve, 32 << 10);
	/* It would look for others in the system's files, and our areas are on no node that it knows. */
	mi_option_set(mi_option_use_numa_nodes, 1);
	mi_process_init();
	os_preloading = false;
	for (uint64_t slice = 0; slice < cmt_pool.bytes >> CMT_SLICE_SHIFT; slice += MI_PAGE_MAP_SUB_COUNT) {
		size_t index = _mi_page_map_index(cmt_pool.base + (slice << CMT_SLICE_SHIFT), NULL);
		mi_submap_t before = NULL;

		/* A piece that is there is of addresses that nobody has any more: the whole window is ours. */
		if (!mi_page_map_ensure_committed(index, &before))
			return false;
		mi_atomic_store_ptr_release(mi_page_t *, &_mi_page_map[index], pages + slice);
	}
	return true;
}

/*
 * A heap as mi_heap_new_in_arena() makes it, but without memory of mimalloc's main heap, which this process has no other
 * use for: what a program costs before it allocates is a few pages that are touched.
 */
static mi_heap_t *cmt_heap_init(mi_heap_t *heap, uint32_t index)
{
	mi_arena_t *arena = cmt_pool.region[index].arena;

	/* There are no other keys. */
	heap->theap = mi_key_create(index, 1);
	heap->subproc = _mi_subproc();
	heap->heap_seq = 1 + index;
	heap->exclusive_arena = arena;
	heap->numa_node = -1;
	mi_stats_header_init(&heap->stats);
	mi_lock_init(&heap->theaps_lock);
	mi_lock_init(&heap->os_abandoned_pages_lock);
	mi_lock_init(&heap->arena_pages_lock);
	mi_atomic_store_ptr_release(mi_arena_pages_t, &heap->arena_pages[arena->arena_idx], &arena->pages_main);
	return heap;
}

bool cmt_region_open(uint32_t index)
{
	struct cmt_region *region = &cmt_pool.region[index];
	uint64_t first = (uint64_t)index << CMT_REGION_SHIFT, rest = cmt_pool.bytes - first;
	size_t slices = _mi_align_up((size_t)((rest < CMT_REGION ? rest : CMT_REGION) + CMT_SLICE - 1) >> CMT_SLICE_SHIFT,
				     MI_BCHUNK_BITS);
	size_t bytes = mi_size_of_slices(mi_arena_info_slices_needed(slices, NULL)), all = bytes + sizeof(mi_heap_t) + CMT_SLICE;
	mi_memid_t memid = _mi_memid_create(MI_MEM_EXTERNAL);
	char *start, *aligned;

	if (!cmt_pool.region_count && !cmt_heaps_open())
		return false;
	start = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (start == MAP_FAILED)
		return false;
	aligned = _mi_align_up_ptr(start, CMT_SLICE);
	/* A small arena's bitmaps are all touched: at once, or not if the system cannot. */
	madvise(aligned, bytes < CMT_HEADER_NOW ? bytes : CMT_HEADER_NOW, MADV_POPULATE_WRITE);
	/* Nothing is committed step by step or given back to the system; what has not been used is zero. */
	memid.initially_committed = memid.initially_zero = memid.is_pinned = true;
	region->arena = mi_arena_initialize(_mi_subproc(), aligned, slices, NULL, mi_size_of_slices(slices), -1, true, memid,
					    NULL, NULL, NULL);
	if (!region->arena) {
		munmap(start, all);
		return false;
	}
	mi_bbitmap_init(region->arena->slices_free, slices, false);
	region->arena->info_slices = 0;
	region->arena->commit_fun_arg = cmt_pool.base + first;
	region->heap = cmt_heap_init((mi_heap_t *)(void *)(aligned + bytes), index);
	return true;
}

void cmt_region_give(uint32_t index, size_t slice, size_t count, bool dirty)
{
	mi_arena_t *arena = cmt_pool.region[index].arena;

	if (dirty)
		mi_bitmap_setN(arena->slices_dirty, slice, count, NULL);
	mi_bbitmap_setN(arena->slices_free, slice, count);
}

bool cmt_region_take(uint32_t index, size_t slice, size_t count)
{
	return mi_bbitmap_try_clearNC(cmt_pool.region[index].arena->slices_free, slice, count);
}

size_t cmt_region_next(uint32_t index, size_t slice)
{
	const mi_arena_t *arena = cmt_pool.region[index].arena;
	const mi_bbitmap_t *free = arena->slices_free;

	while (slice < arena->slice_count) {
		const mi_bchunk_t *chunk = &free->chunks[slice / MI_BCHUNK_BITS];
		size_t bits = mi_atomic_load_relaxed(&chunk->bfields[slice % MI_BCHUNK_BITS / MI_BFIELD_BITS]);

		bits >>= slice % MI_BFIELD_BITS;
		if (bits)
			return slice + mi_ctz(bits);
		slice = (slice / MI_BFIELD_BITS + 1) * MI_BFIELD_BITS;
	}
	return slice;
}

void cmt_theap_use(struct cmt_thread *self, mi_theap_t *theap)
{
	self->theap = theap;
	cmt_theap = theap ? theap : CMT_THEAP_NONE;
}

/* As mimalloc's own, which takes a slice of the region for the heap's description. */
static mi_theap_t *cmt_theap_create(struct cmt_thread *self, mi_heap_t *heap, uint32_t region)
{
	mi_tld_t *tld = _mi_theap_default_safe()->tld;
	mi_thread_locals_t *locals = (mi_thread_locals_t *)(void *)self->locals;
	mi_memid_t memid = _mi_memid_create(MI_MEM_STATIC);
	/* The first, which most threads have alone, is behind the thread's record. */
	mi_theap_t *theap = region ? _mi_meta_zalloc(sizeof(*theap), &memid) : (mi_theap_t *)(void *)(self + 1);

	_Static_assert(sizeof(self->locals) == offsetof(mi_thread_locals_t, slots) + CMT_REGIONS * sizeof(mi_tls_slot_t),
		       "a thread's table of heaps");
	if (!theap)
		return NULL;
	/* Nearly all of it is used at once from now on; not to have it yet is no failure. */
	if (!region)
		madvise(self, sizeof(*self) + cmt_theap_bytes, MADV_POPULATE_WRITE);
	locals->count = CMT_REGIONS;
	mi_thread_locals = locals;
	theap->memid = memid;
	_mi_theap_init(theap, heap, tld);
	_mi_thread_local_set(heap->theap, theap);
	return theap;
}

mi_theap_t *cmt_theap_of(struct cmt_thread *self, uint32_t region)
{
	mi_heap_t *heap = cmt_pool.region[region].heap;
	mi_theap_t *theap = _mi_heap_theap_peek(heap);

	if (!theap && !(theap = cmt_theap_create(self, heap, region)))
		return NULL;
	/* What frees find their way back to their own pages with. */
	_mi_theap_cached_set(theap);
	/* cmt_theaps_end() is what ends this thread for mimalloc. */
	_mi_prim_thread_associate_default_theap(NULL);
	return theap;
}

void cmt_theaps_end(struct cmt_thread *self)
{
	if (!cmt_pool.region_count)
		return;
	memset(self->locals, 0, sizeof(self->locals));
	mi_thread_locals = &mi_thread_locals_empty;
	mi_thread_done();
	_mi_prim_thread_associate_default_theap(NULL);
}
