// SPDX-License-Identifier: Apache-2.0
/*
 * What the pool knows of mimalloc's inside, for which its version is fixed: where it looks up the page of an address,
 * and a word in a thread's heap that it does not use.
 */
#include "cmt_internal.h"

#include <errno.h>

#define CMT_THEAP_NONE ((mi_theap_t *)&_mi_theap_empty)

/* Of a thread without a record: it stays empty, as such a thread has no pages. The short paths need not ask. */
static struct cmt_recent cmt_recent_none = {
	.top = { cmt_recent_none.block[0], cmt_recent_none.block[1], cmt_recent_none.block[2], cmt_recent_none.block[3],
		 cmt_recent_none.block[4], cmt_recent_none.block[5], cmt_recent_none.block[6], cmt_recent_none.block[7],
		 cmt_recent_none.block[8] },
	.theap = CMT_THEAP_NONE,
};
static __thread struct cmt_recent *cmt_recent __attribute__((tls_model("initial-exec"))) = &cmt_recent_none;

/* mimalloc asks two tables, a piece of the second at a time. With all pieces in a row one look finds the page. */
int cmt_pages_open(void *table, uint64_t window_bytes)
{
	mi_page_t **pages = table;

	_Static_assert(CMT_SLICE_SHIFT == MI_ARENA_SLICE_SHIFT, "a slice is mimalloc's");
	mi_process_init();
	for (uint64_t slice = 0; slice < window_bytes >> CMT_SLICE_SHIFT; slice += MI_PAGE_MAP_SUB_COUNT) {
		size_t index = _mi_page_map_index(cmt_pool.base + (slice << CMT_SLICE_SHIFT), NULL);
		mi_submap_t before = NULL;

		/* A piece that is there is of addresses that nobody has any more: the whole window is ours. */
		if (!mi_page_map_ensure_committed(index, &before))
			return ENOMEM;
		mi_atomic_store_ptr_release(mi_page_t *, &_mi_page_map[index], pages + slice);
	}
	cmt_pool.pages = pages;
	return 0;
}

/* A heap's cookie is a random number that nothing looks at. */
static inline struct cmt_counts *cmt_theap_counts(const mi_theap_t *theap)
{
	return (struct cmt_counts *)theap->cookie;
}

void cmt_recent_use(struct cmt_thread *self)
{
	if (self && !self->recent.theap) {
		self->recent.theap = CMT_THEAP_NONE;
		for (uint32_t units = 0; units <= CMT_RECENT_SIZES; units++)
			self->recent.top[units] = self->recent.block[units];
	}
	cmt_recent = self ? &self->recent : &cmt_recent_none;
}

void cmt_theap_use(struct cmt_thread *self, mi_theap_t *theap, uint32_t super)
{
	self->theap = theap;
	self->super = super;
	self->recent.theap = theap ? theap : CMT_THEAP_NONE;
	self->recent.counts = &self->counts[super];
}

mi_theap_t *cmt_theap_of(struct cmt_thread *self, uint32_t super)
{
	mi_theap_t *theap;

	/* A table that grows step by step has the heaps of an ended thread in it: what lies behind a step is not cleared. */
	if (mi_thread_locals->count < CMT_SUPERBLOCKS && !mi_thread_locals_expand(CMT_SUPERBLOCKS - 1))
		return NULL;
	theap = mi_heap_theap(cmt_pool.super[super].heap);
	/* mimalloc remembers it for the next such call, and would still write to it when its superblock is given back. */
	_mi_theap_cached_set(CMT_THEAP_NONE);
	/* cmt_theaps_end() is what ends this thread for mimalloc. */
	_mi_prim_thread_associate_default_theap(NULL);
	if (!mi_theap_is_initialized(theap))
		return NULL;
	theap->cookie = (uintptr_t)&self->counts[super];
	return theap;
}

void cmt_theaps_end(void)
{
	mi_thread_done();
	_mi_prim_thread_associate_default_theap(NULL);
}
