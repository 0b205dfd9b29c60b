// SPDX-License-Identifier: Apache-2.0
/*
 * Threads' records: made on the first call, kept when the thread ends, taken over by the next thread. And what happens around fork.
 */
#include "cmt_internal.h"

#include <sched.h>
#include <sys/mman.h>

__thread struct cmt_thread *cmt_self CMT_TLS;

void cmt_relax(uint32_t looks)
{
	/* Whoever holds the lock may need this processor. */
	if (looks % 32 == 0)
		sched_yield();
	else
		__builtin_ia32_pause();
}

void cmt_lock(uint32_t *lock)
{
	uint32_t looks = 0;

	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
		cmt_relax(++looks);
}

void cmt_unlock(uint32_t *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

/* A thread ends: what it kept goes back, and others may take over its pages. */
static void cmt_detach(void *record)
{
	struct cmt_thread *thread = record;

	cmt_cache_flush(thread);
	cmt_far_end(thread);
	pthread_mutex_lock(&cmt_pool.lock);
	cmt_theap_use(thread, NULL);
	cmt_theaps_end(thread);
	thread->taken = false;
	pthread_mutex_unlock(&cmt_pool.lock);
	cmt_self = NULL;
}

static struct cmt_thread *cmt_record(void)
{
	const size_t bytes = sizeof(struct cmt_thread) + cmt_theap_bytes;
	struct cmt_thread *thread;

	for (thread = cmt_pool.threads; thread; thread = thread->next)
		if (!thread->taken)
			return thread;
	thread = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (thread == MAP_FAILED)
		return NULL;
	cmt_pool.metadata_bytes += bytes;
	thread->next = cmt_pool.threads;
	__atomic_store_n(&cmt_pool.threads, thread, __ATOMIC_RELEASE);
	return thread;
}

struct cmt_thread *cmt_attach(void)
{
	struct cmt_thread *thread;

	if (cmt_self)
		return cmt_self;
	pthread_mutex_lock(&cmt_pool.lock);
	thread = cmt_record();
	if (thread)
		thread->taken = true;
	/* A new thread may have the place, and so the name, of one that is gone. */
	if (thread && CMT_UNLIKELY(cmt_pool.orphans))
		cmt_orphans_adopt(thread);
	pthread_mutex_unlock(&cmt_pool.lock);
	if (!thread)
		return cmt_fail(12, "no memory for the record of a thread");
	cmt_self = thread;
	pthread_setspecific(cmt_pool.thread_key, thread);
	return thread;
}

static void cmt_make_key(void)
{
	pthread_key_create(&cmt_pool.thread_key, cmt_detach);
}

/*
 * When the pool opens, and not when the process starts, of which it would be a hundredth. Keys end in the order they were made in:
 * mimalloc's must end later than this one, and has nothing left then. Others may allocate and free before and after it.
 */
void cmt_threads_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, cmt_make_key);
}

/*
 * How many more handlers of the same fork are to come: a child that was forked while its parent opened the pool opens it by itself,
 * and may have the parent's handlers beside its own.
 */
static __thread uint32_t forking __attribute__((tls_model("initial-exec")));

/* The child gets everything at rest. */
static void cmt_before_fork(void)
{
	if (forking++)
		return;
	pthread_mutex_lock(&cmt_pool.lock);
	for (struct cmt_thread *thread = cmt_pool.threads; thread; thread = thread->next)
		cmt_lock(&thread->cache.lock);
	gw_range_freeze(cmt_pool.range);
}

static void cmt_after_fork(void)
{
	if (--forking)
		return;
	gw_range_thaw(cmt_pool.range);
	for (struct cmt_thread *thread = cmt_pool.threads; thread; thread = thread->next)
		cmt_unlock(&thread->cache.lock);
	pthread_mutex_unlock(&cmt_pool.lock);
}

/*
 * Private memory: the child has its own copy of all of it and goes on by itself; blocks of others that the parent's other
 * threads kept go back to their pages, and what they had in caches and in pages of their own when somebody wants memory. Shared
 * memory: blocks and bookkeeping are the parent's, and the child only looks at them.
 */
static void cmt_in_child(void)
{
	if (forking > 1) {
		forking--;
		return;
	}
	if (cmt_pool.shared) {
		cmt_pool.closed = true;
		cmt_pool.free_bytes = 0;
		if (cmt_self)
			cmt_theap_use(cmt_self, NULL);
		cmt_self = NULL;
	} else {
		for (struct cmt_thread *thread = cmt_pool.threads; thread; thread = thread->next) {
			if (thread != cmt_self && thread->taken)
				cmt_orphans_begin();
			if (thread != cmt_self)
				thread->theap = NULL;
		}
	}
	cmt_after_fork();
	for (struct cmt_thread *thread = cmt_pool.threads; thread && !cmt_pool.shared; thread = thread->next)
		if (thread != cmt_self)
			cmt_far_inherit(thread);
}

int cmt_fork_init(void)
{
	return pthread_atfork(cmt_before_fork, cmt_after_fork, cmt_in_child);
}
