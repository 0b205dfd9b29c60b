// SPDX-License-Identifier: Apache-2.0
/* The calls of cmt.h. The first ones are the fast paths: everything rare is behind a call that is not inlined. */
#include "cmt_internal.h"

#include <errno.h>
#include <string.h>

#define CMT_ALIGN_MAX ((size_t)1 << 30)

struct cmt_pool cmt_pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The calling thread's record if the pool serves it; NULL otherwise, with the reason. */
static CMT_COLD struct cmt_thread *cmt_enter(void)
{
	return cmt_ready() ? cmt_attach() : NULL;
}

static CMT_COLD void *cmt_malloc_slow(size_t size)
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

/* A small block from the thread's superblock, or NULL: then there is more to do. */
static inline void *cmt_malloc_fast(size_t size)
{
	struct cmt_thread *self = cmt_self;
	void *block;

	if (CMT_UNLIKELY(!self || size > CMT_SMALL_MAX || !self->theap))
		return NULL;
	if (CMT_LIKELY(size <= MI_SMALL_SIZE_MAX))
		block = mi_theap_malloc_small(self->theap, size < CMT_MIN_BLOCK ? CMT_MIN_BLOCK : size);
	else
		block = mi_theap_malloc(self->theap, size);
	if (CMT_UNLIKELY(!block))
		return NULL;
	cmt_count(self->allocs);
	*cmt_mark_of(block) = 0;
	return block;
}

void *gw_cmt_malloc(size_t size)
{
	void *block = cmt_malloc_fast(size);

	return CMT_LIKELY(block) ? block : cmt_malloc_slow(size);
}

static CMT_COLD void *cmt_new_slow(size_t size)
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

void gw_cmt_free(void *block)
{
	struct cmt_thread *self = cmt_self;
	uint64_t offset = cmt_offset(block);
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
	if (CMT_UNLIKELY(offset % CMT_MIN_BLOCK)) {
		cmt_misuse(block, "not the start of a block");
		return;
	}
	if (CMT_UNLIKELY(*cmt_mark_of(block) == cmt_freed_mark(block))) {
		cmt_misuse(block, "freed already");
		return;
	}
	*cmt_mark_of(block) = cmt_freed_mark(block);
	/* Counted afterwards: a superblock that is found empty is given back at once. */
	mi_free(block);
	cmt_count(&self->counts[kind - CMT_SUPER].frees);
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
