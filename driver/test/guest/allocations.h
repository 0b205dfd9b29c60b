/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of the heap in hardware, as the driver has them, and what a process sees of what they give. */
#ifndef GODWIT_ALLOCATIONS_H_
#define GODWIT_ALLOCATIONS_H_

#include "values.h"

#define SLOT (8ull << 30)
/* As the card answers: `heap` of its layout. */
#define SIZE_ZERO 1
#define TOO_LARGE 2
#define ARGUMENT 3
#define NO_FRAME 5
#define FOREIGN 6
#define NOT_LIVE 7
#define OTHER_CONTEXT 8

static uint32_t status;

static inline uint64_t ask(int fd, struct godwit_allocation what)
{
	status = ~0u;
	if (ioctl(fd, GODWIT_IOC_HEAP, &what))
		return 0;
	status = what.status;
	return what.status ? 0 : what.pointer;
}

static inline uint64_t call(int fd, uint32_t op, uint64_t pointer, uint64_t size, uint32_t granule, uint32_t flags)
{
	return ask(fd, (struct godwit_allocation){ .op = op, .flags = flags, .granule = granule, .pointer = pointer, .size = size });
}

/* What is at an allocation's addresses for this process. */
static inline void *look_at(int fd, uint64_t pointer, uint64_t bytes)
{
	return mmap((void *)pointer, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, pointer);
}

/* Memory that this process sees; NULL without it. */
static inline void *give_what(int fd, struct godwit_allocation what)
{
	uint64_t bytes = what.size, pointer = ask(fd, what);
	void *seen = pointer ? look_at(fd, pointer, (bytes + PAGE - 1) / PAGE * PAGE) : NULL;

	return seen == (void *)pointer ? seen : NULL;
}

static inline void *give(int fd, uint64_t bytes, uint32_t granule, uint32_t flags)
{
	return give_what(fd, (struct godwit_allocation){
				     .op = GODWIT_ALLOCATION_MALLOC, .size = bytes, .granule = granule, .flags = flags });
}

/* The same of a region. */
static inline void *give_of(int fd, uint32_t region, uint64_t bytes, uint32_t granule)
{
	return give_what(fd, (struct godwit_allocation){
				     .op = GODWIT_ALLOCATION_MALLOC, .size = bytes, .granule = granule, .region = region });
}

static inline bool freed(int fd, void *pointer)
{
	return call(fd, GODWIT_ALLOCATION_FREE, (uint64_t)pointer, 0, 0, 0);
}

static inline bool resized(int fd, void *pointer, uint64_t bytes)
{
	return call(fd, GODWIT_ALLOCATION_REALLOC, (uint64_t)pointer, bytes, 0, 0);
}

static inline struct godwit_heap_state state_of(int fd, uint32_t region)
{
	struct godwit_heap_state state = { .region = region };

	ioctl(fd, GODWIT_IOC_HEAP_STATE, &state);
	return state;
}

/* Bytes of a region that nobody has, when all is taken back that was freed; the card clears some at any time. */
static inline uint64_t free_in_the_end(int fd, uint32_t region)
{
	struct godwit_heap_state state;

	do
		state = state_of(fd, region);
	while (state.flags & GODWIT_HEAP_STATE_RECLAIMING);
	return state.free_bytes;
}

#endif /* GODWIT_ALLOCATIONS_H_ */
