// SPDX-License-Identifier: Apache-2.0
#include "store.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* Opening a pool takes a handful of blocks that are larger than the store. */
#define MAPPED_MAX 64u

static char store[STORE_BYTES] __attribute__((aligned(64)));
/* Together: a page less that a process touches. */
static struct {
	size_t taken;
	/* A bit for every place that a block may start at: one in use does. */
	uint64_t live[STORE_BYTES / ALIGN_MIN / 64];
} state;

static struct mapped {
	char *start;
	size_t size;
} mapped[MAPPED_MAX];
static uint32_t mapped_used;

/* The word before a block is its size. */
static void *store_take(size_t align, size_t size)
{
	size_t room = size + align + ALIGN_MIN, at, offset;

	if (room < size || room > STORE_BYTES)
		return NULL;
	room = (room + ALIGN_MIN - 1) & ~(size_t)(ALIGN_MIN - 1);
	at = __atomic_fetch_add(&state.taken, room, __ATOMIC_RELAXED);
	if (at > STORE_BYTES - room)
		return NULL;
	offset = (((uintptr_t)store + at + ALIGN_MIN + align - 1) & ~(uintptr_t)(align - 1)) - (uintptr_t)store;
	memcpy(store + offset - sizeof(size), &size, sizeof(size));
	__atomic_fetch_or(&state.live[offset / ALIGN_MIN / 64], (uint64_t)1 << (offset / ALIGN_MIN % 64), __ATOMIC_RELAXED);
	return store + offset;
}

static void *map_take(size_t align, size_t size)
{
	uint32_t index = __atomic_fetch_add(&mapped_used, 1, __ATOMIC_RELAXED);
	char *start;

	if (index >= MAPPED_MAX || size + align < size)
		return NULL;
	start = mmap(NULL, size + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (start == MAP_FAILED)
		return NULL;
	start = (char *)(((uintptr_t)start + align - 1) & ~(uintptr_t)(align - 1));
	mapped[index].size = size;
	__atomic_store_n(&mapped[index].start, start, __ATOMIC_RELEASE);
	return start;
}

static struct mapped *mapped_find(const void *block)
{
	uint32_t used = __atomic_load_n(&mapped_used, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < used && i < MAPPED_MAX; i++)
		if (__atomic_load_n(&mapped[i].start, __ATOMIC_ACQUIRE) == block)
			return &mapped[i];
	return NULL;
}

void *store_alloc(size_t align, size_t size)
{
	void *block = store_take(align, size ? size : 1);

	return block ? block : map_take(align, size ? size : 1);
}

static bool inside(const void *pointer)
{
	return (uintptr_t)pointer - (uintptr_t)store < STORE_BYTES;
}

bool store_owns(const void *pointer)
{
	return inside(pointer) || (pointer && mapped_find(pointer));
}

size_t store_size(const void *block)
{
	size_t offset = (uintptr_t)block - (uintptr_t)store, size;
	const struct mapped *found;

	if (!inside(block)) {
		found = block ? mapped_find(block) : NULL;
		return found ? found->size : 0;
	}
	if (offset % ALIGN_MIN || !(__atomic_load_n(&state.live[offset / ALIGN_MIN / 64], __ATOMIC_RELAXED) >> offset / ALIGN_MIN % 64 & 1))
		return 0;
	memcpy(&size, store + offset - sizeof(size), sizeof(size));
	return size;
}

bool store_free(void *block)
{
	size_t offset = (uintptr_t)block - (uintptr_t)store;
	uint64_t bit = (uint64_t)1 << (offset / ALIGN_MIN % 64);

	if (!inside(block))
		return mapped_find(block) != NULL;
	return offset % ALIGN_MIN == 0 && __atomic_fetch_and(&state.live[offset / ALIGN_MIN / 64], ~bit, __ATOMIC_RELAXED) & bit;
}

size_t store_used(void)
{
	return __atomic_load_n(&state.taken, __ATOMIC_RELAXED);
}
