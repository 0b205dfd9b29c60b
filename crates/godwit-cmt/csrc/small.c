// SPDX-License-Identifier: Apache-2.0
/*
 * Small blocks: superblocks, each a mimalloc arena of its own with one heap. A thread allocates from one superblock
 * until that is full; a superblock is used again when few enough of its blocks are left, and given back when none is
 * and no thread allocates from it. Its first slices stay: an arena cannot be taken from mimalloc while other threads
 * may look at its description, which is there. Such a superblock sleeps until its range can grow again.
 */
#include "cmt_internal.h"

#include <errno.h>

/* mimalloc works in slices; its smallest arena is larger than a superblock need be. */
#define CMT_ARENA ((size_t)32 << 20)
#define CMT_NO_SUPER CMT_SUPERBLOCKS

/*
 * mimalloc asks for what it is about to use. Behind the superblock the arena has no memory of ours: refused, which makes
 * that allocation fail and no other.
 */
static bool cmt_commit(bool commit, void *start, size_t size, bool *is_zero, void *argument)
{
	struct cmt_super *super = argument;

	if (is_zero)
		*is_zero = false;
	/* The first is what describes the arena. */
	if (!super->info_bytes)
		super->info_bytes = size;
	return !commit || (size_t)((char *)start - super->first) + size <= super->bytes;
}

/* The kind of a superblock's granules from byte `from` on. */
static void cmt_super_kinds(const struct cmt_super *super, size_t from, uint32_t kind)
{
	uint64_t offset = cmt_offset(super->first);

	for (uint64_t at = offset + from; at < offset + super->bytes; at += (uint64_t)1 << cmt_pool.shift)
		__atomic_store_n(cmt_kind_of(at), (uint8_t)kind, __ATOMIC_RELEASE);
}

/* Gives back all but the arena's description; the bytes. */
static size_t cmt_super_sleep(struct cmt_super *super)
{
	size_t granule = (size_t)1 << cmt_pool.shift;
	size_t rest = (super->info_bytes + granule - 1) / granule * granule;

	mi_heap_destroy(super->heap);
	super->heap = NULL;
	cmt_super_kinds(super, rest, CMT_NONE);
	gw_range_resize(cmt_pool.range, cmt_pa(cmt_offset(super->first)), rest);
	return super->bytes - rest;
}

static bool cmt_super_wake(uint32_t index)
{
	struct cmt_super *super = &cmt_pool.super[index];
	uint64_t pa = cmt_pa(cmt_offset(super->first));

	if (gw_range_resize(cmt_pool.range, pa, super->bytes) != GW_RANGE_OK)
		return false;
	cmt_super_kinds(super, 0, CMT_SUPER + index);
	super->full = false;
	super->heap = mi_heap_new_in_arena(super->arena);
	return super->heap != NULL;
}

/* A range, as large as configured or as there is; half of that is the least worth having. */
static bool cmt_super_memory(struct cmt_super *super)
{
	struct gw_range_request request = { .max = ~(uint64_t)0, .node = GW_RANGE_ANY_NODE, .align = CMT_SLICE };

	for (size_t bytes = cmt_pool.super_bytes; bytes >= 16 * CMT_SLICE; bytes /= 2) {
		uint64_t pa;

		request.bytes = bytes;
		if (gw_range_alloc(cmt_pool.range, &request, &pa, NULL) != GW_RANGE_OK)
			continue;
		super->first = cmt_pool.base + (pa - cmt_pool.pa_base);
		super->bytes = bytes;
		return true;
	}
	return false;
}

static bool cmt_super_open(uint32_t index)
{
	struct cmt_super *super = &cmt_pool.super[index];
	size_t span;

	*super = (struct cmt_super){ 0 };
	if (!cmt_super_memory(super))
		return false;
	span = (super->bytes + CMT_ARENA - 1) / CMT_ARENA * CMT_ARENA;
	if (!mi_manage_memory(super->first, span, false, true, false, -1, true, cmt_commit, super, &super->arena)) {
		gw_range_free(cmt_pool.range, cmt_pa(cmt_offset(super->first)), NULL);
		return false;
	}
	cmt_pool.supers++;
	cmt_super_kinds(super, 0, CMT_SUPER + index);
	super->heap = mi_heap_new_in_arena(super->arena);
	return super->heap != NULL;
}

/*
 * Blocks in use. Frees are added up before allocations: no count goes down, so if the sums are equal, there was none in
 * use at the moment between.
 */
static uint64_t cmt_super_live(uint32_t index, uint64_t *frees)
{
	uint64_t allocs = 0, freed = 0;

	for (struct cmt_thread *thread = cmt_pool.threads; thread; thread = thread->next)
		freed += __atomic_load_n(&thread->counts[index].frees, __ATOMIC_ACQUIRE);
	for (struct cmt_thread *thread = cmt_pool.threads; thread; thread = thread->next)
		allocs += __atomic_load_n(&thread->counts[index].allocs, __ATOMIC_ACQUIRE);
	if (frees)
		*frees = freed;
	return allocs - freed;
}

static bool cmt_super_in_use(uint32_t index)
{
	for (struct cmt_thread *thread = cmt_pool.threads; thread; thread = thread->next)
		if (thread->theap && thread->super == index)
			return true;
	return cmt_super_live(index, NULL) != 0;
}

size_t cmt_small_trim(uint32_t keep)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < cmt_pool.supers; i++) {
		struct cmt_super *super = &cmt_pool.super[i];

		if (!super->heap || cmt_super_in_use(i))
			continue;
		if (keep) {
			keep--;
			continue;
		}
		bytes += cmt_super_sleep(super);
	}
	return bytes;
}

static bool cmt_super_worth(uint32_t index)
{
	const struct cmt_super *super = &cmt_pool.super[index];
	uint64_t frees;

	if (!super->full)
		return true;
	cmt_super_live(index, &frees);
	return (frees - super->full_frees) * 100 >= super->full_live * (100 - cmt_pool.reuse_percent);
}

/*
 * Every block is aligned to its smallest size. Asked for as an aligned one, a block would come from a larger size class
 * where its own has no page left, and every such allocation would first search the whole superblock in vain.
 */
static void *cmt_theap_alloc(mi_theap_t *theap, size_t size, size_t align)
{
	return align <= CMT_MIN_BLOCK ? mi_theap_malloc(theap, size) : mi_theap_malloc_aligned(theap, size, align);
}

static void *cmt_super_try(struct cmt_thread *self, uint32_t index, size_t size, size_t align)
{
	struct cmt_super *super = &cmt_pool.super[index];
	mi_theap_t *theap = cmt_theap_of(self, index);
	void *block = theap ? cmt_theap_alloc(theap, size, align) : NULL;

	if (block) {
		cmt_theap_use(self, theap, index);
		super->full = false;
	} else {
		super->full = true;
		super->full_live = cmt_super_live(index, &super->full_frees);
	}
	return block;
}

static void *cmt_super_search(struct cmt_thread *self, size_t size, size_t align, bool all)
{
	for (uint32_t i = 0; i < cmt_pool.supers; i++) {
		void *block;

		if (!cmt_pool.super[i].heap || (!all && !cmt_super_worth(i)))
			continue;
		block = cmt_super_try(self, i, size, align);
		if (block)
			return block;
	}
	return NULL;
}

static uint32_t cmt_super_new(void)
{
	for (uint32_t i = 0; i < cmt_pool.supers; i++)
		if (!cmt_pool.super[i].heap && cmt_super_wake(i))
			return i;
	if (cmt_pool.supers < CMT_SUPERBLOCKS && cmt_super_open(cmt_pool.supers))
		return cmt_pool.supers - 1;
	return CMT_NO_SUPER;
}

void *cmt_small_slow(struct cmt_thread *self, size_t size, size_t align)
{
	void *block = NULL;

	/* From the superblock it has, which has nothing left if the block is not an aligned one: the fast path asked it. */
	if (self->theap && align > CMT_MIN_BLOCK)
		block = cmt_theap_alloc(self->theap, size, align);
	if (!block) {
		uint32_t fresh;

		cmt_recent_flush(self);
		pthread_mutex_lock(&cmt_pool.lock);
		if (self->theap) {
			struct cmt_super *old = &cmt_pool.super[self->super];

			old->full = true;
			old->full_live = cmt_super_live(self->super, &old->full_frees);
			cmt_theap_use(self, NULL, 0);
		}
		block = cmt_super_search(self, size, align, false);
		if (!block && (fresh = cmt_super_new()) != CMT_NO_SUPER)
			block = cmt_super_try(self, fresh, size, align);
		if (!block) {
			cmt_caches_flush();
			if ((fresh = cmt_super_new()) != CMT_NO_SUPER)
				block = cmt_super_try(self, fresh, size, align);
		}
		if (!block)
			block = cmt_super_search(self, size, align, true);
		if (block)
			cmt_small_trim(cmt_pool.keep_empty);
		pthread_mutex_unlock(&cmt_pool.lock);
	}
	if (!block) {
		struct gw_range_why why = { gw_range_free_bytes(cmt_pool.range), 0, 0 };

		why.largest = why.largest_placed = gw_range_largest_free(cmt_pool.range, 0, ~(uint64_t)0);
		return cmt_fail_range(why.free < size ? GW_RANGE_ENOMEM : GW_RANGE_EFRAGMENT, size, &why);
	}
	cmt_count(&self->counts[self->super].allocs);
	return block;
}
