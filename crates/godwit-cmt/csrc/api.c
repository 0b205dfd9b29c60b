// SPDX-License-Identifier: Apache-2.0
/* The calls of cmt.h. The first ones are the fast paths: everything rare is behind a call that is not inlined. */
#include "cmt_internal.h"

#include <errno.h>
#include <string.h>

#define CMT_ALIGN_MAX ((size_t)1 << 30)

/* Aligned: what the short paths read is in one line of the cache. */
struct cmt_pool cmt_pool CMT_HIDDEN __attribute__((aligned(64))) = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The calling thread's record if the pool serves it for so many bytes; NULL otherwise, with the reason. */
static CMT_COLD struct cmt_thread *cmt_enter(size_t bytes)
{
	if (!gw_cmt_is_open() && cmt_boot_serves && cmt_boot_serves(bytes))
		return NULL;
	return cmt_ready() ? cmt_attach() : NULL;
}

/* What neither the thread's free lists nor its heap have. */
static CMT_COLD void *cmt_malloc_rare(size_t size)
{
	struct cmt_thread *self = cmt_self;

	if (!self && !(self = cmt_enter(size)))
		return cmt_boot_malloc ? cmt_boot_malloc(CMT_MIN_BLOCK, size) : NULL;
	if (size <= CMT_SMALL_MAX)
		return cmt_small_slow(self, size, CMT_MIN_BLOCK);
	if (size <= CMT_LARGE_MAX)
		return cmt_large_alloc(self, size);
	return cmt_exact_alloc(&(struct gw_range_request){ .bytes = size, .max = ~(uint64_t)0, .node = GW_RANGE_ANY_NODE });
}

/* Where a thread's heap has its pages with free blocks of a size. Nothing is ever allocated in mimalloc's smaller classes. */
static inline mi_page_t *cmt_page_for(const mi_theap_t *theap, size_t size)
{
	return theap->pages_free_direct[(size + CMT_MIN_BLOCK - 1) / CMT_MIN_BLOCK * (CMT_MIN_BLOCK / MI_INTPTR_SIZE)];
}

/*
 * The first free block of the size in the thread's heap, or NULL: then there is more to do. As mimalloc does it, but in
 * steps of the smallest block, so that 0 bytes find nothing.
 */
static inline void *cmt_malloc_fast(size_t size)
{
	mi_page_t *page;
	mi_block_t *block;

	if (CMT_UNLIKELY(size > MI_SMALL_SIZE_MAX))
		return NULL;
	page = cmt_page_for(cmt_theap, size);
	block = page->free;
	if (CMT_UNLIKELY(!block))
		return NULL;
	page->free = mi_block_next(page, block);
	/* The next one's link has often left the caches, and whoever gets it writes there anyway. */
	__builtin_prefetch(page->free, 1);
	page->used++;
	cmt_live_begin(block);
	return block;
}

/* Blocks that the thread itself has freed in the page that it allocates from become free there. */
static inline bool cmt_page_collect(size_t size)
{
	mi_page_t *page;

	if (size > MI_SMALL_SIZE_MAX)
		return false;
	page = cmt_page_for(cmt_theap, size);
	if (!page->local_free)
		return false;
	page->free = page->local_free;
	page->local_free = NULL;
	page->free_is_zero = false;
	page->retire_expire = 0;
	return true;
}

/* From the thread's heap, when no free block of the size is at hand. */
static __attribute__((noinline)) void *cmt_malloc_slow(size_t size)
{
	struct cmt_thread *self = cmt_self;
	void *block;

	if (cmt_page_collect(size))
		return cmt_malloc_fast(size);
	if (CMT_UNLIKELY(!self || size > CMT_SMALL_MAX || !self->theap || self->collected != cmt_pool.collect))
		return cmt_malloc_rare(size);
	cmt_age(self);
	block = mi_theap_malloc(self->theap, size < CMT_MIN_BLOCK ? CMT_MIN_BLOCK : size);
	if (CMT_UNLIKELY(!block))
		return cmt_malloc_rare(size);
	cmt_live_begin(block);
	return block;
}

void *gw_cmt_malloc(size_t size)
{
	void *block = cmt_malloc_fast(size);

	return CMT_LIKELY(block) ? block : cmt_malloc_slow(size);
}

static __attribute__((noinline)) void *cmt_new_slow(size_t size)
{
	void *block = cmt_malloc_slow(size);

	return !block && cmt_new_failed ? cmt_new_failed(size) : block;
}

void *gw_cmt_new(size_t size)
{
	void *block = cmt_malloc_fast(size);

	return CMT_LIKELY(block) ? block : cmt_new_slow(size);
}

/* Not in the window, or not to be freed by this process. */
static CMT_COLD void cmt_free_outside(void *block)
{
	if (!block || cmt_pool.closed || (cmt_boot_free && cmt_boot_free(block)))
		return;
	cmt_misuse(block, "not of this pool");
}

/* Not in a page of small blocks. */
static __attribute__((noinline)) void cmt_free_large(void *block)
{
	uint32_t kind = cmt_kind_get(cmt_offset(block));
	struct cmt_thread *self;

	if (CMT_UNLIKELY(kind >= CMT_SMALL))
		cmt_free_refuse(block);
	else if ((self = cmt_enter_free()))
		cmt_large_free(self, block, kind);
}

/* A block of another thread's page, or of one that is full or whose blocks start anywhere; `far`: how the page's thread differs. */
static __attribute__((noinline)) void cmt_free_generic(mi_page_t *page, void *block, uintptr_t far)
{
	if (cmt_pool.checks && !(far <= MI_PAGE_FLAG_MASK ? cmt_live_change(block, false) : cmt_live_clear_shared(block)))
		cmt_free_refuse(block);
	else if (CMT_UNLIKELY(far & MI_PAGE_FLAG_MASK))
		mi_free_ex(block, NULL, page);
	else
		cmt_far_free(page, block);
}

/* The page of this thread has no block in use any more. */
static __attribute__((noinline)) void cmt_free_last(mi_page_t *page)
{
	if (!page->retire_expire)
		_mi_page_retire(page);
}

void gw_cmt_free(void *block)
{
	uint64_t offset = cmt_offset(block);
	mi_page_t *page;
	uintptr_t far;

	if (CMT_UNLIKELY(offset >= cmt_pool.free_bytes)) {
		cmt_free_outside(block);
		return;
	}
	page = __atomic_load_n(&cmt_pool.pages[offset >> CMT_SLICE_SHIFT], __ATOMIC_RELAXED);
	if (CMT_UNLIKELY(!page)) {
		cmt_free_large(block);
		return;
	}
	if (CMT_UNLIKELY((uintptr_t)block % CMT_MIN_BLOCK)) {
		cmt_free_refuse(block);
		return;
	}
	far = mi_page_xthread_id(page) ^ _mi_prim_thread_id();
	if (CMT_UNLIKELY(far)) {
		cmt_free_generic(page, block, far);
		return;
	}
	if (CMT_UNLIKELY(cmt_pool.checks ? !cmt_live_change(block, false) : page->free == block)) {
		cmt_free_refuse(block);
		return;
	}
	/*
	 * Unlike mimalloc, which keeps it for later: the next block of the size is this one, which is still in the caches. None of
	 * the page's is known to be zero then.
	 */
	mi_block_set_next(page, block, page->free);
	/* After its link: a child of fork may find the list as it is in between. */
	__atomic_store_n(&page->free, block, __ATOMIC_RELEASE);
	page->free_is_zero = false;
	if (CMT_UNLIKELY(--page->used == 0))
		cmt_free_last(page);
}

void *gw_cmt_calloc(size_t count, size_t size)
{
	const mi_page_t *page;
	size_t bytes;
	void *block;

	if (__builtin_mul_overflow(count, size, &bytes))
		return cmt_fail(ENOMEM, "%zu times %zu bytes do not fit into an address space", count, size);
	if (CMT_UNLIKELY(bytes > CMT_SMALL_MAX || !cmt_self)) {
		if (!cmt_self && !cmt_enter(bytes))
			return cmt_boot_calloc ? cmt_boot_calloc(1, bytes) : NULL;
		if (bytes > CMT_SMALL_MAX)
			return cmt_large_zeroed(cmt_self, bytes);
	}
	block = gw_cmt_malloc(bytes);
	if (!block)
		return NULL;
	/* One of those a program begins with: they are zero. */
	if (CMT_UNLIKELY(cmt_offset(block) >= cmt_pool.bytes))
		return block;
	/* Memory that has never been used is zero but for the link to the next free block. */
	page = cmt_pool.pages[cmt_offset(block) >> CMT_SLICE_SHIFT];
	if (!page || !page->free_is_zero)
		return memset(block, 0, bytes);
	((mi_block_t *)block)->next = 0;
	return block;
}

/* Of a small block in use that starts where mimalloc's does; 0: of no such one. */
static inline size_t cmt_small_size(const void *block)
{
	uint64_t offset = cmt_offset(block);
	const mi_page_t *page;

	if (CMT_UNLIKELY(offset >= cmt_pool.free_bytes))
		return 0;
	page = __atomic_load_n(&cmt_pool.pages[offset >> CMT_SLICE_SHIFT], __ATOMIC_RELAXED);
	if (CMT_UNLIKELY(!page || (uintptr_t)block % CMT_MIN_BLOCK || mi_page_has_interior_pointers(page) ||
			 (cmt_pool.checks && !cmt_live(block))))
		return 0;
	return mi_page_usable_block_size(page);
}

void *gw_cmt_realloc(void *block, size_t size)
{
	size_t usable = cmt_small_size(block);
	void *moved;

	if (CMT_UNLIKELY(!usable || !size))
		return cmt_realloc_rare(block, size);
	if (size <= usable && (size >= usable / 2 || size <= CMT_MIN_BLOCK))
		return block;
	moved = gw_cmt_malloc(size);
	if (CMT_LIKELY(moved)) {
		memcpy(moved, block, size < usable ? size : usable);
		gw_cmt_free(block);
	}
	return moved;
}

/* The block that a request of the size would get, if it is aligned by chance. */
static inline void *cmt_aligned_fast(size_t align, size_t size)
{
	if (size > MI_SMALL_SIZE_MAX || (uintptr_t)cmt_page_for(cmt_theap, size)->free & (align - 1))
		return NULL;
	return cmt_malloc_fast(size);
}

void *gw_cmt_aligned_alloc(size_t align, size_t size)
{
	struct cmt_thread *self = cmt_self;
	void *block;

	if (!align || align & (align - 1) || align > CMT_ALIGN_MAX)
		return cmt_fail(EINVAL, "the alignment %zu is not a power of two up to 1 GiB", align);
	if (align <= CMT_MIN_BLOCK)
		return gw_cmt_malloc(size);
	block = cmt_aligned_fast(align, size);
	if (block)
		return block;
	if (!self && !(self = cmt_enter(size > SIZE_MAX - align ? SIZE_MAX : size + align)))
		return cmt_boot_malloc ? cmt_boot_malloc(align, size) : NULL;
	if (size <= CMT_SMALL_MAX && align <= 4096)
		return cmt_small_slow(self, size, align);
	if (align <= (size_t)1 << cmt_pool.shift && size > CMT_SMALL_MAX)
		return gw_cmt_malloc(size);
	return gw_cmt_alloc_contiguous(size ? size : 1, &(struct cmt_constraints){ .align = align, .node = CMT_ANY_NODE });
}

void *gw_cmt_alloc_contiguous(size_t size, const struct cmt_constraints *limits)
{
	struct gw_range_request request = { .bytes = size, .max = ~(uint64_t)0, .node = GW_RANGE_ANY_NODE };

	if (!cmt_enter(SIZE_MAX))
		return NULL;
	if (limits) {
		request.align = limits->align;
		request.min = limits->min;
		request.max = limits->max ? limits->max : ~(uint64_t)0;
		request.node = limits->node;
		request.flags = limits->flags;
		if (limits->flags & ~CMT_STRICT_NODE)
			return cmt_fail(EINVAL, "the flags %#x are not known", limits->flags & ~CMT_STRICT_NODE);
	}
	return cmt_exact_alloc(&request);
}

bool gw_cmt_is_open(void)
{
	return __atomic_load_n(&cmt_pool.bytes, __ATOMIC_ACQUIRE) != 0;
}

bool gw_cmt_owns(const void *address)
{
	return cmt_offset(address) < cmt_pool.bytes;
}

size_t cmt_reclaim(void)
{
	size_t bytes;

	pthread_mutex_lock(&cmt_pool.lock);
	bytes = cmt_caches_flush();
	bytes += cmt_small_trim();
	pthread_mutex_unlock(&cmt_pool.lock);
	return bytes;
}

size_t gw_cmt_trim(void)
{
	size_t bytes;

	if (!cmt_ready())
		return 0;
	bytes = cmt_reclaim();
	cmt_purge_free(true);
	return bytes;
}
