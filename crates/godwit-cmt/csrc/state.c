// SPDX-License-Identifier: Apache-2.0
/* Opening the pool, and looking at all of it: statistics, dump, check. */
#include "cmt_internal.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* OPENING has the process that opens it above these bits: a child of fork does not have the thread that would end it. */
enum { CLOSED, OPENING, OPEN, FAILED, STATE_BITS = 2 };
static uint32_t state;
/* The thread that opens the pool allocates; not from the pool. */
static __thread bool opening __attribute__((tls_model("initial-exec")));

int cmt_pool_open(const struct cmt_open *how)
{
	cmt_pool.range = how->range;
	cmt_pool.pa_base = how->pa_base;
	cmt_pool.kinds = how->kinds;
	cmt_pool.shift = how->shift;
	cmt_pool.shared = how->shared;
	cmt_pool.closed = false;
	cmt_pool.checks = how->checks;
	cmt_pool.metadata_bytes = how->metadata_bytes;
	cmt_pool.super_bytes = how->super_bytes;
	cmt_pool.cache_bytes = how->cache_bytes;
	cmt_pool.seen = how->seen;
	/* What is read first and written then, the system brings twice. */
	__atomic_fetch_or(&cmt_pool.seen[0], 0, __ATOMIC_RELAXED);
	cmt_pool.recent = how->recent;
	cmt_pool.decay_ms = how->decay_ms;
	cmt_pool.aged_ms = cmt_now();
	/* Without decay memory is to be little, and a huge page is all there or not at all. */
	cmt_pool.huge_later = !how->populated && !how->shared && how->decay_ms;
	cmt_pool.base = how->base;
	cmt_pool.live = (uintptr_t)how->live - ((uintptr_t)how->base >> CMT_LIVE_SHIFT) * sizeof(uint64_t);
	how->range->relax = cmt_relax;
	cmt_pool.pages = how->pages;
	cmt_threads_init();
	if (cmt_fork_init())
		return ENOMEM;
	__atomic_store_n(&cmt_pool.bytes, how->bytes, __ATOMIC_RELEASE);
	__atomic_store_n(&cmt_pool.free_bytes, how->bytes, __ATOMIC_RELEASE);
	return 0;
}

static uint32_t cmt_opening_here(void)
{
	return OPENING | (uint32_t)getpid() << STATE_BITS;
}

/* The state; if another process was opening the pool when it forked this one, the pool is closed here. */
static uint32_t cmt_state(void)
{
	uint32_t now = __atomic_load_n(&state, __ATOMIC_ACQUIRE);

	if (CMT_LIKELY(now == OPEN || now == FAILED || now == CLOSED || now == cmt_opening_here()))
		return now;
	/* Another thread of this process may be faster, and be opening it now. */
	return __atomic_compare_exchange_n(&state, &now, CLOSED, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ? CLOSED : now;
}

static int cmt_open_with(const char *config)
{
	uint32_t expected = cmt_state();
	char words[320];
	int error;

	if (expected != CLOSED || !__atomic_compare_exchange_n(&state, &expected, cmt_opening_here(), false, __ATOMIC_ACQ_REL,
							       __ATOMIC_ACQUIRE))
		return EBUSY;
	opening = true;
	error = cmt_open_default(config, words, sizeof(words));
	opening = false;
	/* In place of malloc there is no second try: something else serves the program by then. */
	__atomic_store_n(&state, !error ? OPEN : cmt_boot_malloc ? FAILED : CLOSED, __ATOMIC_RELEASE);
	syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	if (error) {
		cmt_fail(error, "%s", words);
		if (cmt_boot_only)
			cmt_boot_only(words);
	}
	return error;
}

bool cmt_is_malloc(void)
{
	return cmt_boot_malloc != NULL;
}

bool cmt_ready(void)
{
	for (;;) {
		uint32_t now = cmt_state();

		if (CMT_LIKELY(now == OPEN))
			break;
		if (opening || now == FAILED)
			return false;
		if (now == CLOSED && cmt_open_with(NULL) != EBUSY)
			return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == OPEN;
		/* To look again and again would take as much of another processor as opening takes of this one. */
		if (now != CLOSED)
			syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
	}
	if (cmt_pool.closed) {
		cmt_fail(EPERM, "the pool's memory is shared with the process that forked: only that one may allocate");
		return false;
	}
	return true;
}

int gw_cmt_init(const char *config)
{
	int error = cmt_open_with(config);

	if (error == EBUSY)
		cmt_fail(EBUSY, "the pool is open already");
	if (error)
		errno = error;
	return error ? -1 : 0;
}

void gw_cmt_stats(struct cmt_stats *stats)
{
	struct gw_range_stats ranges = { 0 };

	*stats = (struct cmt_stats){ 0 };
	if (!cmt_ready())
		return;
	pthread_mutex_lock(&cmt_pool.lock);
	gw_range_stats(cmt_pool.range, &ranges);
	stats->total = ranges.total;
	stats->free = ranges.free;
	stats->largest_free = ranges.largest;
	for (struct cmt_thread *thread = cmt_pool.threads; thread; thread = thread->next)
		stats->cached += __atomic_load_n(&thread->cache.bytes, __ATOMIC_RELAXED);
	stats->superblock_bytes = cmt_pool.small_bytes;
	stats->superblocks = cmt_pool.small_bytes >> CMT_SLICE_SHIFT;
	stats->metadata_bytes = cmt_pool.metadata_bytes;
	stats->misuses = __atomic_load_n(&cmt_pool.misuses, __ATOMIC_RELAXED);
	stats->failures = __atomic_load_n(&cmt_pool.failures, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&cmt_pool.lock);
}

struct cmt_runs {
	struct cmt_run {
		uint64_t pa, bytes;
		bool used;
	} *run;
	uint64_t count, capacity;
};

static bool cmt_keep_run(void *ctx, bool used, uint64_t pa, uint64_t bytes)
{
	struct cmt_runs *runs = ctx;

	if (runs->count < runs->capacity)
		runs->run[runs->count++] = (struct cmt_run){ pa, bytes, used };
	return runs->count < runs->capacity;
}

/* Each slice of small blocks is a range; they are told as one. */
static void cmt_join_small(struct cmt_runs *runs)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < runs->count; i++) {
		struct cmt_run *last = &runs->run[kept - (kept > 0)], run = runs->run[i];
		bool small = run.used && cmt_kind_get(run.pa - cmt_pool.pa_base) >= CMT_SMALL;

		if (small && kept && last->used && last->pa + last->bytes == run.pa &&
		    cmt_kind_get(last->pa - cmt_pool.pa_base) >= CMT_SMALL)
			last->bytes += run.bytes;
		else
			runs->run[kept++] = run;
	}
	runs->count = kept;
}

static const char *cmt_run_name(const struct cmt_run *run)
{
	uint32_t kind = cmt_kind_get(run->pa - cmt_pool.pa_base);

	if (!run->used)
		return "free";
	if (kind >= CMT_SMALL)
		return "superblock";
	return kind >= CMT_CACHED ? "cached" : "used";
}

/* The runs are copied first: whoever takes the lines may allocate. */
int gw_cmt_dump(int (*write)(void *ctx, const char *line, size_t length), void *ctx)
{
	struct gw_range_stats ranges;
	struct cmt_runs runs = { 0 };
	char line[80];
	size_t bytes;
	int result = 0;

	if (!cmt_ready())
		return -1;
	gw_range_stats(cmt_pool.range, &ranges);
	/* Threads may go on in between: half as much again is enough, or the dump ends early. */
	runs.capacity = (ranges.ranges + ranges.free_runs) * 3 / 2 + 64;
	bytes = runs.capacity * sizeof(*runs.run);
	runs.run = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (runs.run == MAP_FAILED) {
		cmt_fail(ENOMEM, "no memory for a list of %llu pieces", (unsigned long long)runs.capacity);
		return -1;
	}
	/* What goes to the system looks like a block meanwhile. */
	pthread_mutex_lock(&cmt_pool.lock);
	gw_range_walk(cmt_pool.range, cmt_keep_run, &runs);
	pthread_mutex_unlock(&cmt_pool.lock);
	cmt_join_small(&runs);
	for (uint64_t i = 0; i < runs.count && !result; i++) {
		int length = snprintf(line, sizeof(line), "%#llx %llu %s\n", (unsigned long long)runs.run[i].pa,
				      (unsigned long long)runs.run[i].bytes, cmt_run_name(&runs.run[i]));

		result = write(ctx, line, (size_t)length);
	}
	munmap(runs.run, bytes);
	return result;
}

/* Every block in a cache is marked as such, and the sums are right. */
static bool cmt_cache_check(struct cmt_thread *thread)
{
	struct cmt_cache *cache = &thread->cache;
	uint64_t bytes = 0;
	bool good = true;

	cmt_lock(&cache->lock);
	for (uint32_t class = 0; class < CMT_CLASSES; class++) {
		bytes += cache->count[class] * cmt_class_bytes(class);
		for (uint32_t i = 0; i < cache->count[class]; i++)
			good = good && cmt_kind_get(cmt_offset(cache->slot[class][i])) == CMT_CACHED + CMT_CLASS + class;
	}
	good = good && bytes == cache->bytes;
	cmt_unlock(&cache->lock);
	return good;
}

int gw_cmt_check(void)
{
	bool good;
	uint64_t at = 0;

	if (!cmt_ready())
		return -1;
	good = gw_range_check(cmt_pool.range, &at) == GW_RANGE_OK;
	if (!good)
		cmt_fail(EINVAL, "the bitmaps contradict each other at %#llx", (unsigned long long)at);
	pthread_mutex_lock(&cmt_pool.lock);
	for (struct cmt_thread *thread = cmt_pool.threads; thread && good; thread = thread->next) {
		good = cmt_cache_check(thread);
		if (!good)
			cmt_fail(EINVAL, "a thread's cache contradicts what its blocks are marked as");
	}
	pthread_mutex_unlock(&cmt_pool.lock);
	return good ? 0 : -1;
}
