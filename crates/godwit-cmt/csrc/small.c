// SPDX-License-Identifier: Apache-2.0
/*
 * Small blocks: memory for mimalloc's heaps. It is taken from the range allocator in pieces that grow with what there is
 * already, and every unit of a piece is a range of its own: what holds no block goes back alone, whatever is beside it.
 * A unit is a slice, or a granule if that is larger.
 */
#include "cmt_internal.h"

#include <errno.h>
#include <sys/mman.h>

/* The first pieces; later ones are huge pages, and an eighth of all there is, to what the configuration says. */
#define CMT_PIECE_MIN ((size_t)1 << 20)
/* To so much small blocks get huge pages whatever the program does with them. */
#define CMT_HUGE_ALWAYS ((uint64_t)32 << 20)
/* Blocks to this size are in pages of one slice. */
#define CMT_ONE_SLICE ((size_t)10 << 10)

static size_t cmt_unit(void)
{
	size_t granule = (size_t)1 << cmt_pool.shift;

	return granule > CMT_SLICE ? granule : CMT_SLICE;
}

static void cmt_kinds_set(uint64_t offset, uint64_t bytes, uint32_t kind)
{
	for (uint64_t at = offset; at < offset + bytes; at += (uint64_t)1 << cmt_pool.shift)
		__atomic_store_n(cmt_kind_of(at), (uint8_t)kind, __ATOMIC_RELEASE);
}

/* A range for at least one page of `least` bytes, as large as is worth it or as there is. */
static bool cmt_piece(size_t least, uint64_t *offset, size_t *bytes)
{
	struct gw_range_request request = { .node = GW_RANGE_ANY_NODE };
	size_t wanted = cmt_pool.small_bytes < CMT_HUGE_PAGE ? CMT_PIECE_MIN : CMT_HUGE_PAGE;

	while (wanted < cmt_pool.small_bytes / 8)
		wanted *= 2;
	if (wanted > cmt_pool.super_bytes)
		wanted = cmt_pool.super_bytes;
	if (wanted < least)
		wanted = least;
	request.max = cmt_pool.pa_base + CMT_REGIONS * CMT_REGION - 1;
	for (*bytes = wanted; *bytes >= least; *bytes /= 2) {
		uint64_t pa;

		request.bytes = *bytes;
		/* Whole huge pages, or whole pages of mimalloc's. */
		request.align = *bytes >= CMT_HUGE_PAGE ? CMT_HUGE_PAGE : least;
		if (gw_range_alloc(cmt_pool.range, &request, &pa, NULL) != GW_RANGE_OK)
			continue;
		*offset = pa - cmt_pool.pa_base;
		gw_range_split(cmt_pool.range, pa, cmt_unit());
		return true;
	}
	return false;
}

/*
 * The bits of a piece's blocks are needed soon, and read before they are written: one by one the system would bring each
 * of their pages twice. Not to have them yet is no failure.
 */
static void cmt_live_populate(uint64_t offset, size_t bytes)
{
	uintptr_t first = (uintptr_t)cmt_live_word(cmt_pool.base + offset) & ~(uintptr_t)(CMT_PAGE - 1);
	uintptr_t end = (uintptr_t)cmt_live_word(cmt_pool.base + offset + bytes);

	madvise((void *)first, (end - first + CMT_PAGE - 1) & ~(CMT_PAGE - 1), MADV_POPULATE_WRITE);
}

static void cmt_piece_return(uint64_t offset, size_t bytes)
{
	for (uint64_t at = offset; at < offset + bytes; at += cmt_unit())
		gw_range_free(cmt_pool.range, cmt_pa(at), NULL);
}

/* More memory for the heap of the region it lies in, or CMT_REGIONS. Holds cmt_pool.lock. */
static uint32_t cmt_small_grow(size_t size)
{
	size_t unit = cmt_unit(), least = size <= CMT_ONE_SLICE ? CMT_SLICE : CMT_MEDIUM_SLICES * CMT_SLICE, bytes;
	uint64_t offset, fresh;
	uint32_t index;

	if (!cmt_piece(least > unit ? least : unit, &offset, &bytes))
		return CMT_REGIONS;
	index = (uint32_t)(offset >> CMT_REGION_SHIFT);
	/* The few pieces that would cross a border end there. */
	if ((offset + bytes - 1) >> CMT_REGION_SHIFT != index) {
		uint64_t border = (uint64_t)(index + 1) << CMT_REGION_SHIFT;

		cmt_piece_return(border, (size_t)(offset + bytes - border));
		bytes = (size_t)(border - offset);
	}
	if (!cmt_pool.region[index].heap && !cmt_region_open(index)) {
		cmt_piece_return(offset, bytes);
		return CMT_REGIONS;
	}
	if (cmt_pool.region_count <= index)
		__atomic_store_n(&cmt_pool.region_count, index + 1, __ATOMIC_RELAXED);
	if (cmt_pool.checks)
		cmt_live_populate(offset, bytes);
	cmt_kinds_set(offset, bytes, CMT_SMALL);
	cmt_pool.small_bytes += bytes;
	fresh = cmt_seen(offset, bytes, false);
	if (fresh == bytes && cmt_pool.small_bytes <= CMT_HUGE_ALWAYS)
		cmt_huge_pages(offset, bytes);
	else if (fresh == bytes)
		cmt_pages_choose(&cmt_pool.small_probe, offset, bytes, cmt_pool.small_bytes);
	cmt_region_give(index, (offset & (CMT_REGION - 1)) >> CMT_SLICE_SHIFT, bytes >> CMT_SLICE_SHIFT, fresh < bytes);
	return index;
}

size_t cmt_small_trim(void)
{
	size_t unit = cmt_unit(), slices = unit >> CMT_SLICE_SHIFT, before = cmt_pool.small_bytes;

	if (!before)
		return 0;
	if (CMT_UNLIKELY(cmt_pool.orphans) && cmt_self)
		cmt_orphans_adopt(cmt_self);
	/* The others do the same with their next call that is not a short one. */
	__atomic_add_fetch(&cmt_pool.collect, 1, __ATOMIC_RELEASE);
	if (cmt_self)
		cmt_small_answer(cmt_self);
	for (uint32_t index = 0; index < cmt_pool.region_count; index++) {
		uint64_t first = (uint64_t)index << CMT_REGION_SHIFT;

		if (!cmt_pool.region[index].heap)
			continue;
		for (size_t slice = 0;; slice += slices) {
			uint64_t offset;

			slice = cmt_region_next(index, slice) / slices * slices;
			offset = first + ((uint64_t)slice << CMT_SLICE_SHIFT);
			if (slice >= CMT_REGION >> CMT_SLICE_SHIFT || offset >= cmt_pool.bytes)
				break;
			if (!cmt_region_take(index, slice, slices))
				continue;
			cmt_kinds_set(offset, unit, CMT_NONE);
			cmt_pool.small_bytes -= unit;
			cmt_range_return(offset, false);
		}
	}
	return before - cmt_pool.small_bytes;
}

void cmt_small_answer(struct cmt_thread *self)
{
	uint32_t now = __atomic_load_n(&cmt_pool.collect, __ATOMIC_ACQUIRE);

	if (self->collected == now)
		return;
	self->collected = now;
	cmt_far_flush(self);
	for (uint32_t index = 0; self->theap && index < cmt_pool.region_count; index++)
		if (cmt_pool.region[index].heap)
			mi_theap_collect(cmt_theap_of(self, index), true);
}

/*
 * Every block is aligned to its smallest size. Asked for as an aligned one, a block would come from a larger size class
 * where its own has no page left, and every such allocation would first search the whole region in vain.
 */
static void *cmt_theap_alloc(mi_theap_t *theap, size_t size, size_t align)
{
	return align <= CMT_MIN_BLOCK ? mi_theap_malloc(theap, size) : mi_theap_malloc_aligned(theap, size, align);
}

static void *cmt_region_try(struct cmt_thread *self, uint32_t index, size_t size, size_t align)
{
	mi_theap_t *theap = cmt_theap_of(self, index);
	void *block = theap ? cmt_theap_alloc(theap, size, align) : NULL;

	if (block)
		cmt_theap_use(self, theap);
	return block;
}

static void *cmt_small_grown(struct cmt_thread *self, size_t size, size_t align)
{
	uint32_t index = cmt_small_grow(size + (align > CMT_MIN_BLOCK ? align : 0));

	return index < CMT_REGIONS ? cmt_region_try(self, index, size, align) : NULL;
}

static void *cmt_small_search(struct cmt_thread *self, size_t size, size_t align)
{
	void *block = NULL;

	pthread_mutex_lock(&cmt_pool.lock);
	if (CMT_UNLIKELY(cmt_pool.orphans))
		cmt_orphans_adopt(self);
	/* Another thread may have brought memory, or freed some elsewhere. */
	for (uint32_t index = 0; !block && index < cmt_pool.region_count; index++)
		if (cmt_pool.region[index].heap)
			block = cmt_region_try(self, index, size, align);
	if (!block)
		block = cmt_small_grown(self, size, align);
	if (!block && cmt_caches_flush())
		block = cmt_small_grown(self, size, align);
	pthread_mutex_unlock(&cmt_pool.lock);
	return block;
}

void *cmt_small_slow(struct cmt_thread *self, size_t size, size_t align)
{
	int error = errno;
	void *block = NULL;

	if (size < CMT_MIN_BLOCK)
		size = CMT_MIN_BLOCK;
	/* Heaps for small blocks cost what opening the pool does: a program of large ones may never need them. */
	if (!__atomic_load_n(&cmt_pool.region_count, __ATOMIC_RELAXED) && cmt_boot_serves && cmt_boot_serves(size + align))
		return cmt_boot_malloc(align, size);
	cmt_age(self);
	cmt_small_answer(self);
	if (self->theap)
		block = cmt_theap_alloc(self->theap, size, align);
	if (!block)
		block = cmt_small_search(self, size, align);
	if (block) {
		cmt_live_begin(block);
		errno = error;
		return block;
	}
	/* No slice is left in one piece, but perhaps a granule. */
	return cmt_exact_alloc(&(struct gw_range_request){
		.bytes = size, .align = align, .max = ~(uint64_t)0, .node = GW_RANGE_ANY_NODE });
}
