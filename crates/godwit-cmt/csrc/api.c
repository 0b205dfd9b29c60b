// SPDX-License-Identifier: Apache-2.0
/* The calls of cmt.h. The first ones are the fast paths: everything rare is behind a call that is not inlined. */
#include "cmt_internal.h"

#include <errno.h>
#include <string.h>

#define CMT_ALIGN_MAX ((size_t)1 << 30)

/* Aligned: what the short paths read is in one line of the cache. */
struct cmt_pool cmt_pool CMT_HIDDEN __attribute__((aligned(64))) = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The calling thread's record if the pool serves it; NULL otherwise, with the reason. */
static CMT_COLD struct cmt_thread *cmt_enter(void)
{
	return cmt_ready() ? cmt_attach() : NULL;
}

/* What neither the thread's free lists nor its superblock have. */
static CMT_COLD void *cmt_malloc_rare(size_t size)
{
	struct cmt_thread *self = cmt_self;
	void *block;

	if (!self && !(self = cmt_enter()))
		return cmt_boot_malloc ? cmt_boot_malloc(CMT_MIN_BLOCK, size) : NULL;
	if (size > CMT_SMALL_MAX) {
		struct gw_range_request request = { .bytes = size, .max = ~(uint64_t)0, .node = GW_RANGE_ANY_NODE };

		return size <= CMT_LARGE_MAX ? cmt_large_alloc(self, size) : cmt_exact_alloc(&request);
	}
	block = cmt_small_slow(self, size < CMT_MIN_BLOCK ? CMT_MIN_BLOCK : size, CMT_MIN_BLOCK);
	if (block)
		cmt_live_change(block, true);
	return block;
}

/* Where a thread's heap has its pages with free blocks of a size. Nothing is ever allocated in mimalloc's smaller classes. */
static inline mi_page_t *cmt_page_for(const mi_theap_t *theap, size_t units)
{
	return theap->pages_free_direct[units * (CMT_MIN_BLOCK / MI_INTPTR_SIZE)];
}

/*
 * What the thread freed last of the size, else the first free block in its superblock, or NULL: then there is more to do. As
 * mimalloc does it, but in steps of the smallest block, so that 0 bytes find nothing.
 */
static inline void *cmt_malloc_fast(size_t size)
{
	struct cmt_recent *recent = cmt_recent;
	size_t units = (size + CMT_MIN_BLOCK - 1) / CMT_MIN_BLOCK;
	mi_page_t *page;
	mi_block_t *block;

	if (CMT_LIKELY(size <= CMT_RECENT_SIZES * CMT_MIN_BLOCK)) {
		void **top = recent->top[units], *last = *top;

		if (last) {
			recent->top[units] = top - 1;
			cmt_live_change(last, true);
			return last;
		}
	} else if (CMT_UNLIKELY(size > MI_SMALL_SIZE_MAX)) {
		return NULL;
	}
	page = cmt_page_for(recent->theap, units);
	block = page->free;
	if (CMT_UNLIKELY(!block))
		return NULL;
	page->free = mi_block_next(page, block);
	/* The next allocation of the size reads it, and it may be long out of the caches. */
	__builtin_prefetch(page->free, 1);
	page->used++;
	cmt_live_change(block, true);
	cmt_count(&recent->counts->allocs);
	return block;
}

/* Blocks that the thread itself has freed in the page that it allocates from become free there. */
static inline bool cmt_page_collect(size_t size)
{
	mi_page_t *page;

	if (size > MI_SMALL_SIZE_MAX)
		return false;
	page = cmt_page_for(cmt_recent->theap, (size + CMT_MIN_BLOCK - 1) / CMT_MIN_BLOCK);
	if (!page->local_free)
		return false;
	page->free = page->local_free;
	page->local_free = NULL;
	page->free_is_zero = false;
	page->retire_expire = 0;
	return true;
}

/* From the thread's superblock, when no free block of the size is at hand. */
static __attribute__((noinline)) void *cmt_malloc_slow(size_t size)
{
	struct cmt_thread *self = cmt_self;
	void *block = NULL;

	if (cmt_page_collect(size))
		return cmt_malloc_fast(size);
	if (CMT_LIKELY(self && self->theap && size <= CMT_SMALL_MAX))
		block = mi_theap_malloc(self->theap, size < CMT_MIN_BLOCK ? CMT_MIN_BLOCK : size);
	if (CMT_UNLIKELY(!block))
		return cmt_malloc_rare(size);
	cmt_count(&cmt_theap_counts(self->theap)->allocs);
	cmt_live_change(block, true);
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

/* The record of a thread that frees; NULL: there is no memory for it, and the block stays. */
static inline struct cmt_thread *cmt_enter_free(void)
{
	struct cmt_thread *self = cmt_self;
	int error = errno;

	if (CMT_UNLIKELY(!self) && (self = cmt_attach()))
		errno = error;
	return self;
}

/* Not in the window, or not to be freed by this process. */
static CMT_COLD void cmt_free_outside(void *block)
{
	if (!block || cmt_pool.closed || (cmt_boot_size && cmt_boot_size(block)))
		return;
	cmt_misuse(block, "not of this pool");
}

static CMT_COLD void cmt_free_refuse(void *block)
{
	const mi_page_t *page = _mi_checked_ptr_page(block);
	bool start = page && ((uintptr_t)block - (uintptr_t)mi_page_start(page)) % mi_page_block_size(page) == 0;

	cmt_misuse(block, start ? "freed already" : "not the start of a block in use");
}

/* Not in a page of small blocks. */
static __attribute__((noinline)) void cmt_free_large(void *block)
{
	uint32_t kind = cmt_kind_get(cmt_offset(block));
	struct cmt_thread *self;

	if (CMT_UNLIKELY(kind >= CMT_SUPER))
		cmt_free_refuse(block);
	else if ((self = cmt_enter_free()))
		cmt_large_free(self, block, kind);
}

/*
 * A block of another thread's page, or of one that is full or whose blocks start anywhere. Counted when all is done: a
 * superblock that is found empty is given back at once.
 */
static __attribute__((noinline)) void cmt_free_generic(void *block)
{
	uint32_t kind = cmt_kind_get(cmt_offset(block));
	struct cmt_thread *self = cmt_enter_free();

	if (CMT_UNLIKELY(!self))
		return;
	if (CMT_UNLIKELY(kind < CMT_SUPER || !cmt_live_clear_shared(block))) {
		cmt_free_refuse(block);
		return;
	}
	mi_free(block);
	cmt_count(&self->counts[(size_t)kind - CMT_SUPER].frees);
}

/* The page of this thread has no block in use any more. */
static __attribute__((noinline)) void cmt_free_last(mi_page_t *page)
{
	struct cmt_counts *counts = cmt_theap_counts(page->theap);

	if (!page->retire_expire)
		_mi_page_retire(page);
	cmt_count(&counts->frees);
}

/* What mimalloc does for a block of a thread's own page. */
static inline void cmt_free_into(mi_page_t *page, void *block)
{
	mi_block_set_next(page, block, page->local_free);
	page->local_free = block;
	if (CMT_UNLIKELY(--page->used == 0)) {
		cmt_free_last(page);
		return;
	}
	cmt_count(&cmt_theap_counts(page->theap)->frees);
}

void gw_cmt_free(void *block)
{
	uint64_t offset = cmt_offset(block);
	mi_page_t *page;

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
	if (CMT_UNLIKELY(mi_page_xthread_id(page) != _mi_prim_thread_id())) {
		cmt_free_generic(block);
		return;
	}
	if (CMT_UNLIKELY(!cmt_live_change(block, false))) {
		cmt_free_refuse(block);
		return;
	}
	if (CMT_LIKELY(page->block_size <= CMT_RECENT_SIZES * CMT_MIN_BLOCK)) {
		struct cmt_recent *recent = cmt_recent;
		size_t units = page->block_size / CMT_MIN_BLOCK;
		void **top = recent->top[units] + 1;

		if ((uintptr_t)top % sizeof(recent->block[0])) {
			recent->top[units] = top;
			*top = block;
			return;
		}
	}
	cmt_free_into(page, block);
}

void cmt_recent_flush(struct cmt_thread *self)
{
	for (uint32_t units = 1; units <= CMT_RECENT_SIZES; units++) {
		void ***top = &self->recent.top[units];

		for (; **top; --*top)
			cmt_free_into(cmt_pool.pages[cmt_offset(**top) >> CMT_SLICE_SHIFT], **top);
	}
}

void *gw_cmt_calloc(size_t count, size_t size)
{
	size_t bytes;
	void *block;

	if (__builtin_mul_overflow(count, size, &bytes))
		return cmt_fail(ENOMEM, "%zu times %zu bytes do not fit into an address space", count, size);
	block = gw_cmt_malloc(bytes);
	return block ? memset(block, 0, bytes) : NULL;
}

void *gw_cmt_aligned_alloc(size_t align, size_t size)
{
	struct cmt_thread *self = cmt_self;
	void *block;

	if (!align || align & (align - 1) || align > CMT_ALIGN_MAX)
		return cmt_fail(EINVAL, "the alignment %zu is not a power of two up to 1 GiB", align);
	if (align <= CMT_MIN_BLOCK)
		return gw_cmt_malloc(size);
	if (!self && !(self = cmt_enter()))
		return cmt_boot_malloc ? cmt_boot_malloc(align, size) : NULL;
	if (size <= CMT_SMALL_MAX && align <= 4096) {
		block = cmt_small_slow(self, size < CMT_MIN_BLOCK ? CMT_MIN_BLOCK : size, align);
		if (block)
			cmt_live_change(block, true);
		return block;
	}
	if (align <= (size_t)1 << cmt_pool.shift && size > CMT_SMALL_MAX)
		return gw_cmt_malloc(size);
	return gw_cmt_alloc_contiguous(size ? size : 1, &(struct cmt_constraints){ .align = align, .node = CMT_ANY_NODE });
}

void *gw_cmt_alloc_contiguous(size_t size, const struct cmt_constraints *limits)
{
	struct gw_range_request request = { .bytes = size, .max = ~(uint64_t)0, .node = GW_RANGE_ANY_NODE };

	if (!cmt_enter())
		return NULL;
	if (limits) {
		request.align = limits->align;
		request.min = limits->min;
		request.max = limits->max ? limits->max : ~(uint64_t)0;
		request.node = limits->node;
		request.flags = limits->flags & CMT_STRICT_NODE;
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

size_t gw_cmt_trim(void)
{
	size_t bytes;

	if (!cmt_ready())
		return 0;
	pthread_mutex_lock(&cmt_pool.lock);
	bytes = cmt_caches_flush();
	if (cmt_self) {
		cmt_recent_flush(cmt_self);
		cmt_theap_use(cmt_self, NULL, 0);
	}
	bytes += cmt_small_trim(0);
	pthread_mutex_unlock(&cmt_pool.lock);
	return bytes;
}
