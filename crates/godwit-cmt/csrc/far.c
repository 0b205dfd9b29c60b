// SPDX-License-Identifier: Apache-2.0
/*
 * Blocks of other threads' pages. To give one back takes an atomic step on a line that its page's thread writes, and if the
 * page is nobody's, taking it over and leaving it again. A thread that frees many does it for many at a time: those of the
 * pages that it met last wait in its record. The first block of a page goes back at once: only who frees more of them waits.
 */
#include "cmt_internal.h"

#include <errno.h>

/* What waits of a page at most. */
#define CMT_FAR_BLOCKS 24u

/* The thread has ended for the pool: what it still frees does not wait. */
static __thread bool cmt_ended __attribute__((tls_model("initial-exec")));

/* To what other threads have freed in the page, as mimalloc does it: a list from `head` to `tail`. */
static void cmt_far_return(mi_page_t *page, mi_block_t *head, mi_block_t *tail)
{
	mi_thread_free_t before = mi_atomic_load_relaxed(&page->xthread_free);

	do {
		mi_block_set_next(page, tail, mi_tf_block(before));
	} while (!mi_atomic_cas_weak_acq_rel(&page->xthread_free, &before, mi_tf_create(head, true)));
	/* The page was nobody's: now it is this thread's to look after. */
	if (CMT_UNLIKELY(!mi_tf_is_owned(before)))
		mi_free_try_collect_mt(page, head);
}

/* A pointer that is no block in use. */
static CMT_COLD void cmt_free_refuse(void *block)
{
	const mi_page_t *page = cmt_pool.pages[cmt_offset(block) >> CMT_SLICE_SHIFT];
	bool start = page && ((uintptr_t)block - (uintptr_t)mi_page_start(page)) % mi_page_block_size(page) == 0;

	cmt_misuse(block, start ? "freed already" : "not the start of a block in use");
}

/* What waits of a page goes back. */
static void cmt_far_empty(struct cmt_far *far)
{
	mi_block_t *head = far->head;

	far->head = NULL;
	far->room = 0;
	if (head)
		cmt_far_return(far->page, head, far->tail);
}

/* After all that the list is made of: a child of fork may find it as it is in between. */
static inline void cmt_far_head(struct cmt_far *far, mi_block_t *block)
{
	__atomic_store_n(&far->head, block, __ATOMIC_RELEASE);
}

static inline struct cmt_far *cmt_far_of(struct cmt_thread *self, const void *block)
{
	return &self->far[(uintptr_t)block / CMT_SLICE % CMT_FAR_PAGES];
}

void cmt_far_flush(struct cmt_thread *self)
{
	for (uint32_t i = 0; i < CMT_FAR_PAGES; i++) {
		cmt_far_empty(&self->far[i]);
		self->far[i].page = NULL;
	}
}

/*
 * What waits in the record of a thread that the process does not have any more, since it is a child of fork. The thread stood
 * anywhere in the functions below, whose stores end a list before its head is there: what they had not finished is not in a list.
 */
void cmt_far_inherit(struct cmt_thread *gone)
{
	for (uint32_t i = 0; i < CMT_FAR_PAGES; i++) {
		struct cmt_far *far = &gone->far[i];
		mi_block_t *next;

		for (far->tail = far->head; far->tail && (next = mi_block_next(far->page, far->tail)); far->tail = next)
			;
		cmt_far_empty(far);
	}
}

void cmt_far_end(struct cmt_thread *self)
{
	cmt_far_flush(self);
	cmt_ended = true;
}

/* The record of a thread that frees; NULL: there is no memory for it. */
static struct cmt_thread *cmt_enter_free(void)
{
	struct cmt_thread *self = cmt_self;
	int error = errno;

	if (CMT_UNLIKELY(!self) && (self = cmt_attach()))
		errno = error;
	return self;
}

/* A page that was this thread's, and nobody's when it was full: with its first block that is free it is this thread's again. */
static inline bool cmt_far_mine(const mi_page_t *page)
{
	return page->theap == cmt_theap;
}

/* A block that cannot wait beside others. */
static __attribute__((noinline)) void cmt_far_first(mi_page_t *page, mi_block_t *block)
{
	struct cmt_thread *self = CMT_UNLIKELY(cmt_ended) ? cmt_self : cmt_enter_free();
	struct cmt_far *far = self ? cmt_far_of(self, block) : NULL;
	const mi_block_t *last;
	bool met;

	if (self)
		cmt_small_answer(self);
	met = far && far->page == page && !cmt_far_mine(page);
	last = met && far->head ? far->head : mi_tf_block(mi_atomic_load_relaxed(&page->xthread_free));
	if (CMT_UNLIKELY(last == block)) {
		cmt_free_refuse(block);
		return;
	}
	if (far) {
		cmt_far_empty(far);
		far->page = page;
	}
	if (!met) {
		cmt_far_return(page, block, block);
		return;
	}
	mi_block_set_next(page, block, NULL);
	far->tail = block;
	cmt_far_head(far, block);
	far->room = CMT_FAR_BLOCKS - 1;
}

/* A block of a page of another thread, or of none; refused if it is what this one freed in it last. */
static inline void cmt_far_free(mi_page_t *page, mi_block_t *block)
{
	struct cmt_thread *self = cmt_self;
	struct cmt_far *far = self ? cmt_far_of(self, block) : NULL;

	if (CMT_UNLIKELY(!far || far->page != page || !far->room || far->head == block || cmt_far_mine(page))) {
		cmt_far_first(page, block);
		return;
	}
	mi_block_set_next(page, block, far->head);
	cmt_far_head(far, block);
	far->room--;
}
