// SPDX-License-Identifier: Apache-2.0
/* The calls of cmt.h. The first ones are the fast paths: everything rare is behind a call that is not inlined. */
#include "cmt_internal.h"

#include <errno.h>
#include <string.h>

#define CMT_ALIGN_MAX ((size_t)1 << 30)

/* Aligned: what the short paths read is in one line of the cache. */
struct cmt_pool cmt_pool __attribute__((aligned(64))) = { .lock = PTHREAD_MUTEX_INITIALIZER };

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
		*cmt_mark_of(block) = 0;
	return block;
}

/* From the thread's superblock, when no free block of the size is at hand. */
static __attribute__((noinline)) void *cmt_malloc_slow(size_t size)
{
	struct cmt_thread *self = cmt_self;
	void *block = NULL;

	if (CMT_LIKELY(self && self->theap && size <= CMT_SMALL_MAX))
		block = mi_theap_malloc(self->theap, size < CMT_MIN_BLOCK ? CMT_MIN_BLOCK : size);
	if (CMT_UNLIKELY(!block))
		return cmt_malloc_rare(size);
	cmt_count(self->allocs);
	*cmt_mark_of(block) = 0;
	return block;
}

/*
 * The first free block of the size in the thread's superblock, or NULL: then there is more to do. As mimalloc does it,
 * but in steps of the smallest block; nothing is ever allocated in its smaller classes, so that 0 bytes find nothing.
 */
static inline void *cmt_malloc_fast(size_t size)
{
	struct cmt_thread *self = cmt_self;
	mi_page_t *page;
	mi_block_t *block;

	if (CMT_UNLIKELY(!self || size > MI_SMALL_SIZE_MAX || !self->theap))
		return NULL;
	page = self->theap->pages_free_direct[(size + CMT_MIN_BLOCK - 1) / CMT_MIN_BLOCK * (CMT_MIN_BLOCK / MI_INTPTR_SIZE)];
	block = page->free;
	if (CMT_UNLIKELY(!block))
		return NULL;
	page->free = mi_block_next(page, block);
	page->used++;
	cmt_count(self->allocs);
	*cmt_mark_of(block) = 0;
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

static CMT_COLD void cmt_free_slow(void *block)
{
	int error = errno;

	if (!block || cmt_pool.closed || (cmt_boot_size && cmt_boot_size(block)))
		return;
	if (!cmt_pool.base || cmt_offset(block) >= cmt_pool.bytes) {
		cmt_misuse(block, "not of this pool");
		return;
	}
	if (cmt_attach()) {
		gw_cmt_free(block);
		errno = error;
	}
}

static CMT_COLD void cmt_free_refuse(void *block)
{
	bool inside = cmt_offset(block) % CMT_MIN_BLOCK || !_mi_checked_ptr_page(block);

	cmt_misuse(block, inside ? "not the start of a block" : "freed already");
}

/* Counted when all is done: a superblock that is found empty is given back at once. */
static inline void cmt_count_free(struct cmt_thread *self, uint32_t kind)
{
	cmt_count(&self->counts[(size_t)kind - CMT_SUPER].frees);
}

/* A block of another thread's page, or of one that is full or whose blocks start anywhere. */
static __attribute__((noinline)) void cmt_free_generic(struct cmt_thread *self, void *block, uint32_t kind)
{
	mi_free(block);
	cmt_count_free(self, kind);
}

/* The page of this thread has no block in use any more. */
static __attribute__((noinline)) void cmt_free_last(struct cmt_thread *self, mi_page_t *page, uint32_t kind)
{
	if (!page->retire_expire)
		_mi_page_retire(page);
	cmt_count_free(self, kind);
}

/* The last part is what mimalloc does for a block of a thread's own page, without finding the page once more. */
void gw_cmt_free(void *block)
{
	struct cmt_thread *self = cmt_self;
	uint64_t offset = cmt_offset(block);
	mi_page_t *page;
	uint32_t kind;

	if (CMT_UNLIKELY(offset >= cmt_pool.bytes || !self)) {
		cmt_free_slow(block);
		return;
	}
	kind = cmt_kind_get(offset);
	if (CMT_UNLIKELY(kind < CMT_SUPER)) {
		cmt_large_free(self, block, kind);
		return;
	}
	page = _mi_checked_ptr_page(block);
	if (CMT_UNLIKELY(offset % CMT_MIN_BLOCK || !page || *cmt_mark_of(block) == cmt_freed_mark(block))) {
		cmt_free_refuse(block);
		return;
	}
	*cmt_mark_of(block) = cmt_freed_mark(block);
	if (CMT_UNLIKELY(mi_page_xthread_id(page) != _mi_prim_thread_id())) {
		cmt_free_generic(self, block, kind);
		return;
	}
	mi_block_set_next(page, block, page->local_free);
	page->local_free = block;
	if (CMT_UNLIKELY(--page->used == 0)) {
		cmt_free_last(self, page, kind);
		return;
	}
	cmt_count_free(self, kind);
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
			*cmt_mark_of(block) = 0;
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
	if (cmt_self)
		cmt_self->theap = NULL;
	bytes += cmt_small_trim(0);
	pthread_mutex_unlock(&cmt_pool.lock);
	return bytes;
}
