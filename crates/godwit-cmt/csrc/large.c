// SPDX-License-Identifier: Apache-2.0
/* Large blocks: size classes with a cache a thread, and exact blocks without. */
#include "cmt_internal.h"

#include <errno.h>
#include <string.h>

/* The smallest class that holds `size`: three bits below the leading one, rounded up. */
static uint32_t cmt_class_of(size_t size)
{
	size_t units = (size - 1) >> (CMT_LARGE_SHIFT - 4); /* 4 KiB; at least 15 */
	uint32_t doubling = 63 - (uint32_t)__builtin_clzll(units);

	/* The doubling below 64 KiB has its last class alone. */
	return (doubling - 3) * 8 + (uint32_t)(units >> (doubling - 3)) - 15;
}

size_t cmt_class_bytes(uint32_t class)
{
	class += 7;
	return (size_t)(9 + class % 8) << (class / 8 + CMT_LARGE_SHIFT - 4);
}

static void cmt_kind_set(const void *block, uint32_t kind)
{
	__atomic_store_n(cmt_kind_of(cmt_offset(block)), (uint8_t)kind, __ATOMIC_RELEASE);
}

static void cmt_mark(struct cmt_cache *cache, uint32_t class, bool filled)
{
	uint32_t bit = 1u << class % 32;

	if (filled)
		cache->filled[class / 32] |= bit;
	else
		cache->filled[class / 32] &= ~bit;
}

/* The first filled class from `class` on, at most two above: a quarter of the block is the most that is wasted. */
static uint32_t cmt_filled_from(const struct cmt_cache *cache, uint32_t class)
{
	uint64_t all = (uint64_t)cache->filled[1] << 32 | cache->filled[0];
	uint64_t near = all >> class & 7;

	return near ? class + (uint32_t)__builtin_ctzll(near) : CMT_CLASSES;
}

static void *cmt_cache_pop(struct cmt_cache *cache, uint32_t class)
{
	void *block = NULL;

	cmt_lock(&cache->lock);
	class = cmt_filled_from(cache, class);
	if (class < CMT_CLASSES) {
		block = cache->slot[class][--cache->count[class]];
		if (cache->count[class] < cache->least[class])
			cache->least[class] = cache->count[class];
		if (!cache->count[class])
			cmt_mark(cache, class, false);
		cache->bytes -= cmt_class_bytes(class);
		cmt_kind_set(block, CMT_CLASS + class);
	}
	cmt_unlock(&cache->lock);
	return block;
}

static bool cmt_cache_push(struct cmt_cache *cache, uint32_t class, void *block)
{
	size_t bytes = cmt_class_bytes(class);
	bool room;

	cmt_lock(&cache->lock);
	room = cache->count[class] < CMT_SLOTS && cache->bytes + bytes <= cmt_pool.cache_bytes;
	if (room) {
		cache->slot[class][cache->count[class]++] = block;
		cache->bytes += bytes;
		cmt_mark(cache, class, true);
	}
	cmt_unlock(&cache->lock);
	return room;
}

static void cmt_large_return(void *block, bool aged)
{
	cmt_kind_set(block, CMT_NONE);
	cmt_range_return(cmt_offset(block), aged);
}

size_t cmt_cache_flush(struct cmt_thread *thread)
{
	struct cmt_cache *cache = &thread->cache;
	size_t bytes;

	cmt_lock(&cache->lock);
	bytes = cache->bytes;
	for (uint32_t class = 0; class < CMT_CLASSES; class++)
		while (cache->count[class])
			cmt_large_return(cache->slot[class][--cache->count[class]], false);
	memset(cache->least, 0, sizeof(cache->least));
	cache->filled[0] = cache->filled[1] = 0;
	cache->bytes = 0;
	cmt_unlock(&cache->lock);
	return bytes;
}

/* The lowest of a class are those that were not needed. */
void cmt_cache_age(struct cmt_thread *thread)
{
	struct cmt_cache *cache = &thread->cache;

	cmt_lock(&cache->lock);
	for (uint32_t class = 0; class < CMT_CLASSES; class++) {
		void **slot = cache->slot[class];
		uint8_t old = cache->least[class];

		for (uint8_t i = 0; i < old; i++)
			cmt_large_return(slot[i], true);
		cache->count[class] -= old;
		cache->least[class] = cache->count[class];
		memmove(slot, slot + old, cache->count[class] * sizeof(*slot));
		cmt_mark(cache, class, cache->count[class]);
		cache->bytes -= old * cmt_class_bytes(class);
	}
	cmt_unlock(&cache->lock);
}

size_t cmt_caches_flush(void)
{
	size_t bytes = 0;

	for (struct cmt_thread *thread = cmt_pool.threads; thread; thread = thread->next)
		bytes += cmt_cache_flush(thread);
	return bytes;
}

/* Huge pages are asked for when so much has been handed out before: they are not most of what there is then. */
#define CMT_HUGE_AFTER ((uint64_t)8 << 20)

/* For memory that nobody has had before. A block that is larger than all classes is taken to be written. */
static CMT_COLD void cmt_large_pages(uint64_t offset, uint64_t bytes)
{
	if (bytes > CMT_LARGE_MAX) {
		cmt_huge_pages(offset, bytes);
		return;
	}
	pthread_mutex_lock(&cmt_pool.lock);
	cmt_pages_choose(&cmt_pool.large_probe, offset, bytes, __atomic_load_n(&cmt_pool.seen_bytes, __ATOMIC_RELAXED));
	pthread_mutex_unlock(&cmt_pool.lock);
}

/* A range, zeroed if asked for; what caches and small blocks hold unused is given back before it fails. */
static char *cmt_range_take(const struct gw_range_request *request, bool zero)
{
	struct gw_range_why why;
	uint64_t pa, fresh;
	int status = gw_range_alloc(cmt_pool.range, request, &pa, &why);

	if (CMT_UNLIKELY(status <= GW_RANGE_ENOMEM && status >= GW_RANGE_EUNALIGNED)) {
		pthread_mutex_lock(&cmt_pool.lock);
		cmt_caches_flush();
		cmt_small_trim();
		pthread_mutex_unlock(&cmt_pool.lock);
		status = gw_range_alloc(cmt_pool.range, request, &pa, &why);
		if (status <= GW_RANGE_ENOMEM && status >= GW_RANGE_EUNALIGNED)
			return cmt_fail_range(status, request->bytes, &why);
	}
	if (status != GW_RANGE_OK)
		return cmt_fail(status == GW_RANGE_ESIZE ? ENOMEM : EINVAL, "%llu bytes: %s",
				(unsigned long long)request->bytes, gw_range_reason(status));
	fresh = cmt_seen(pa - cmt_pool.pa_base, request->bytes, zero);
	if (fresh && request->bytes >= CMT_HUGE_PAGE && __atomic_load_n(&cmt_pool.seen_bytes, __ATOMIC_RELAXED) - fresh >= CMT_HUGE_AFTER)
		cmt_large_pages(pa - cmt_pool.pa_base, request->bytes);
	return cmt_pool.base + (pa - cmt_pool.pa_base);
}

static void *cmt_class_alloc(struct cmt_thread *self, size_t size, bool zero)
{
	struct gw_range_request request = { .max = ~(uint64_t)0, .node = GW_RANGE_ANY_NODE };
	uint32_t class = cmt_class_of(size);
	void *block = cmt_cache_pop(&self->cache, class);

	if (CMT_LIKELY(block))
		return zero ? memset(block, 0, size) : block;
	request.bytes = cmt_class_bytes(class);
	block = cmt_range_take(&request, zero);
	if (block)
		cmt_kind_set(block, CMT_CLASS + class);
	return block;
}

static void *cmt_exact(const struct gw_range_request *request, bool zero)
{
	void *block = cmt_range_take(request, zero);

	if (block)
		cmt_kind_set(block, CMT_EXACT);
	return block;
}

void *cmt_large_alloc(struct cmt_thread *self, size_t size)
{
	return cmt_class_alloc(self, size, false);
}

void *cmt_exact_alloc(const struct gw_range_request *request)
{
	return cmt_exact(request, false);
}

void *cmt_large_zeroed(struct cmt_thread *self, size_t size)
{
	if (size <= CMT_LARGE_MAX)
		return cmt_class_alloc(self, size, true);
	return cmt_exact(&(struct gw_range_request){ .bytes = size, .max = ~(uint64_t)0, .node = GW_RANGE_ANY_NODE }, true);
}

void cmt_large_free(struct cmt_thread *self, void *block, uint32_t kind)
{
	uint64_t offset = cmt_offset(block);
	uint8_t expected = (uint8_t)kind;

	if (kind == CMT_NONE || kind >= CMT_CACHED || offset & (((uint64_t)1 << cmt_pool.shift) - 1)) {
		cmt_misuse(block, kind >= CMT_CACHED ? "freed already" : "not the start of a block in use");
		return;
	}
	/* Whoever changes the kind frees the block; the other of two threads is late. */
	if (!__atomic_compare_exchange_n(cmt_kind_of(offset), &expected, (uint8_t)(kind + CMT_CACHED), false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		cmt_misuse(block, "freed already");
		return;
	}
	if (kind == CMT_EXACT || !cmt_cache_push(&self->cache, kind - CMT_CLASS, block))
		cmt_large_return(block, false);
	cmt_age(self);
}
