// SPDX-License-Identifier: Apache-2.0
/*
 * Memory that is free for long goes back to the system. Nothing runs by itself: with one of so many calls that are not
 * short a thread looks at the clock, and once in `decay` milliseconds at all of the pool. What is free then, and was at
 * the look before, goes back: after one to two times `decay`. So do blocks that a cache has not needed since.
 */
#include "cmt_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* A thread looks at the clock with one of so many calls that are not short: reading it is a tenth of what they take. */
#define CMT_LOOKS 16u
/* A pool without decay looks for what small blocks left so often. */
#define CMT_DECAY_MIN 10u
/* Pieces found in one walk over the pool, and what goes back at a time: a request that finds nothing waits as long. */
#define CMT_OLD 128u
#define CMT_OLD_BYTES ((uint64_t)16 << 20)
/* Of a program's time malloc_trim() may take one in so many, and what it may have saved of that at most, in ns. */
#define CMT_TRIM_PART 64u
#define CMT_TRIM_SAVED ((uint64_t)10000000)
/* Bytes that the system brings again and zeroes in a ns, which a trim is charged with, too. */
#define CMT_TRIM_BRINGS 4

struct cmt_old {
	uint64_t from; /* physical addresses below have been looked at */
	bool all;      /* whatever its age */
	uint32_t count;
	struct cmt_run_of_slices {
		uint64_t slice, count;
	} run[CMT_OLD];
};

uint32_t cmt_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint32_t)now.tv_sec * 1000 + (uint32_t)(now.tv_nsec / 1000000);
}

static uint64_t cmt_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool cmt_bit(const uint64_t *bits, uint64_t at)
{
	return __atomic_load_n(&bits[at / 64], __ATOMIC_RELAXED) >> at % 64 & 1;
}

/* Of memory that is the caller's. Its content is lost; whole slices are known to be zero then. */
static void cmt_purge(uint64_t offset, uint64_t bytes)
{
	uint64_t first = (offset + CMT_SLICE - 1) >> CMT_SLICE_SHIFT, end = (offset + bytes) >> CMT_SLICE_SHIFT, gone = 0;

	if (madvise(cmt_pool.base + offset, bytes, MADV_DONTNEED))
		return;
	for (uint64_t slice = first; slice < end; slice++) {
		uint64_t bit = (uint64_t)1 << slice % 64;

		if (__atomic_fetch_and(&cmt_pool.seen[slice / 64], ~bit, __ATOMIC_RELAXED) & bit)
			gone += CMT_SLICE;
	}
	__atomic_fetch_sub(&cmt_pool.seen_bytes, gone, __ATOMIC_RELAXED);
	/* What they would look at may not be there any more: the next new memory tells. */
	__atomic_store_n(&cmt_pool.small_probe.at, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&cmt_pool.large_probe.at, 0, __ATOMIC_RELAXED);
}

void cmt_range_return(uint64_t offset, bool aged)
{
	uint64_t pa = cmt_pa(offset), first, bytes = 0;

	if (CMT_UNLIKELY(!cmt_pool.decay_ms) && gw_range_find(cmt_pool.range, pa, &first, &bytes) == GW_RANGE_OK)
		cmt_purge(offset, bytes);
	if (gw_range_free(cmt_pool.range, pa, &bytes) == GW_RANGE_OK && !aged && bytes)
		memset(&cmt_pool.recent[offset >> CMT_SLICE_SHIFT], 1,
		       ((offset + bytes - 1) >> CMT_SLICE_SHIFT) + 1 - (offset >> CMT_SLICE_SHIFT));
}

/* Adds slice, the next one that is to go back. */
static void cmt_old_add(struct cmt_old *old, uint64_t slice)
{
	struct cmt_run_of_slices *last = &old->run[old->count - (old->count > 0)];

	if (old->count && last->slice + last->count == slice && last->count < CMT_OLD_BYTES >> CMT_SLICE_SHIFT)
		last->count++;
	else
		old->run[old->count++] = (struct cmt_run_of_slices){ slice, 1 };
}

static bool cmt_old_visit(void *ctx, bool used, uint64_t pa, uint64_t bytes)
{
	struct cmt_old *old = ctx;
	uint64_t end = pa - cmt_pool.pa_base + bytes, start = pa - cmt_pool.pa_base;

	if (used || pa + bytes <= old->from)
		return true;
	if (pa < old->from)
		start = old->from - cmt_pool.pa_base;
	for (uint64_t slice = (start + CMT_SLICE - 1) >> CMT_SLICE_SHIFT; slice < end >> CMT_SLICE_SHIFT; slice++) {
		if (slice % 64 == 0 && !cmt_pool.seen[slice / 64]) {
			slice += 63;
			continue;
		}
		if (old->count == CMT_OLD) {
			old->from = cmt_pa(slice << CMT_SLICE_SHIFT);
			return false;
		}
		if (cmt_bit(cmt_pool.seen, slice) && (old->all || !cmt_pool.recent[slice]))
			cmt_old_add(old, slice);
		cmt_pool.recent[slice] = 0;
	}
	return true;
}

/*
 * A piece is taken like any block, so that nobody else has it, unless somebody was faster. A request that finds nothing
 * meanwhile asks again when it has the lock.
 */
static void cmt_old_purge(uint64_t offset, uint64_t bytes)
{
	struct gw_range_request request = {
		.bytes = bytes, .min = cmt_pa(offset), .max = cmt_pa(offset + bytes - 1), .node = GW_RANGE_ANY_NODE
	};
	uint64_t pa;

	pthread_mutex_lock(&cmt_pool.lock);
	if (gw_range_alloc(cmt_pool.range, &request, &pa, NULL) == GW_RANGE_OK) {
		cmt_purge(offset, bytes);
		gw_range_free(cmt_pool.range, pa, NULL);
	}
	pthread_mutex_unlock(&cmt_pool.lock);
}

void cmt_purge_free(bool all)
{
	struct cmt_old old = { .all = all };

	if (cmt_pool.decay_ms == CMT_DECAY_NEVER)
		return;
	do {
		old.count = 0;
		gw_range_walk(cmt_pool.range, cmt_old_visit, &old);
		for (uint32_t i = 0; i < old.count; i++)
			cmt_old_purge(old.run[i].slice << CMT_SLICE_SHIFT, old.run[i].count << CMT_SLICE_SHIFT);
	} while (old.count == CMT_OLD);
}

void cmt_age_look(struct cmt_thread *self)
{
	uint32_t now = cmt_now(), then = __atomic_load_n(&cmt_pool.aged_ms, __ATOMIC_RELAXED);
	uint32_t interval = cmt_pool.decay_ms > CMT_DECAY_MIN ? cmt_pool.decay_ms : CMT_DECAY_MIN;
	int error = errno;

	self->looks = CMT_LOOKS;
	if (cmt_pool.decay_ms == CMT_DECAY_NEVER || now - then < interval ||
	    !__atomic_compare_exchange_n(&cmt_pool.aged_ms, &then, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&cmt_pool.lock);
	for (struct cmt_thread *thread = cmt_pool.threads; thread; thread = thread->next)
		cmt_cache_age(thread);
	cmt_small_trim();
	pthread_mutex_unlock(&cmt_pool.lock);
	cmt_purge_free(false);
	errno = error;
}

/*
 * A program that trims again and again would spend its time on giving back pages that it needs again at once. A trim is paid
 * for by CMT_TRIM_PART times what it took and its pages will take; one that comes before the last is paid for, but for what may be saved, is
 * left out, unless there was none for as long as free memory is kept in any case.
 */
size_t cmt_trim_seldom(void)
{
	static uint64_t last, paid; /* until when, if the program goes on */
	uint64_t start = cmt_now_ns(), until = __atomic_load_n(&paid, __ATOMIC_RELAXED), took, before, after;
	size_t bytes;

	if (until > start + CMT_TRIM_PART * CMT_TRIM_SAVED &&
	    start - __atomic_load_n(&last, __ATOMIC_RELAXED) < (uint64_t)cmt_pool.decay_ms * 1000000)
		return 0;
	before = __atomic_load_n(&cmt_pool.seen_bytes, __ATOMIC_RELAXED);
	bytes = gw_cmt_trim();
	after = __atomic_load_n(&cmt_pool.seen_bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&last, start, __ATOMIC_RELAXED);
	took = cmt_now_ns() - start + (before > after ? (before - after) / CMT_TRIM_BRINGS : 0);
	__atomic_store_n(&paid, (until > start ? until : start) + CMT_TRIM_PART * took, __ATOMIC_RELAXED);
	return bytes;
}
