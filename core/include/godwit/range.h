/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contiguous ranges of physical memory, handed out from scattered areas.
 *
 * DOC: model
 *   Memory is a set of areas with holes between them. Areas that touch are joined to spans, so that a range may cross
 *   their border; it never crosses a hole. One bitmap has a bit a granule (a power of two of bytes) over all spans in
 *   the order of their addresses; a summary above it says which words are full. Two more bitmaps mark the first and the
 *   last granule of every range in use: a range is freed by its address alone, and an address that starts none is
 *   refused. The struct and all bitmaps live in memory of the caller. No globals, no allocation, no I/O.
 *
 * DOC: placement
 *   The lowest address that fits, within the limits of the request. Ranges of the same lifetime stay together and the
 *   top stays in one piece, so that this fragments later than best fit.
 *
 * DOC: exactness
 *   A request fails only if at one moment during the call no free run satisfied it, whatever other threads did
 *   meanwhile. A call that fails has changed nothing, and struct gw_range_why says how much would have been had.
 *
 * DOC: threads
 *   All functions but gw_range_init() may be called by any number of threads. A range inside one 64-bit word is taken
 *   and given back with single atomic operations under a shared lock; everything longer, and every request that found
 *   nothing, runs under the exclusive one, where nothing is half done. A call guesses a constant number of times before
 *   it takes the exclusive lock, and a search reads a word of the bitmap at most twice, so that the lock is held for
 *   bounded time. Waiting calls struct gw_range.relax, which may sleep.
 */
#ifndef GODWIT_RANGE_H_
#define GODWIT_RANGE_H_

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Levels of the summary: 64^5 granules are more than any machine has. */
#define GW_RANGE_LEVELS 5u
/* gw_range_request.node: no preference. */
#define GW_RANGE_ANY_NODE (~(uint32_t)0)
/* gw_range_request.flags: fail rather than take another node's memory. */
#define GW_RANGE_STRICT_NODE 1u

/**
 * enum gw_range_status - why a call failed; gw_range_reason() says it in words
 * @GW_RANGE_OK: done
 * @GW_RANGE_EAREA: no area, two that overlap, one that wraps around, or nothing left of them in whole granules
 * @GW_RANGE_EGRANULE: the granule is not a power of two from 16 bytes to 1 GiB
 * @GW_RANGE_ESTORAGE: the storage is too small or not aligned to 8 bytes
 * @GW_RANGE_ESIZE: the size is zero, or rounded up to granules it does not fit into 64 bits
 * @GW_RANGE_EALIGN: the alignment is not a power of two
 * @GW_RANGE_ENOMEM: fewer free bytes than asked for
 * @GW_RANGE_EFRAGMENT: enough free bytes, no free run that is long enough
 * @GW_RANGE_EPLACE: a free run is long enough, but not within the limits or on the node
 * @GW_RANGE_EUNALIGNED: a free run within the limits is long enough, none has an aligned place
 * @GW_RANGE_EFOREIGN: the address is in no area
 * @GW_RANGE_ENOTSTART: no range in use starts at the address: freed already, or inside a range
 * @GW_RANGE_EBUSY: memory behind the range is in use, or the span ends: it cannot grow in place
 * @GW_RANGE_ECORRUPT: the bitmaps contradict each other
 */
enum gw_range_status {
	GW_RANGE_OK = 0,
	GW_RANGE_EAREA = -1,
	GW_RANGE_EGRANULE = -2,
	GW_RANGE_ESTORAGE = -3,
	GW_RANGE_ESIZE = -4,
	GW_RANGE_EALIGN = -5,
	GW_RANGE_ENOMEM = -6,
	GW_RANGE_EFRAGMENT = -7,
	GW_RANGE_EPLACE = -8,
	GW_RANGE_EUNALIGNED = -9,
	GW_RANGE_EFOREIGN = -10,
	GW_RANGE_ENOTSTART = -11,
	GW_RANGE_EBUSY = -12,
	GW_RANGE_ECORRUPT = -13,
};

/**
 * struct gw_range_area - memory there is
 * @base: physical address of its first byte
 * @bytes: length; of areas that touch, only what is left of the first and the last granule of all is not used
 * @node: memory node, or whatever the caller prefers areas by
 */
struct gw_range_area {
	uint64_t base;
	uint64_t bytes;
	uint32_t node;
};

/**
 * struct gw_range_request - what is asked for
 * @bytes: length, rounded up to granules
 * @align: power of two, in bytes; 0 and 1 ask for nothing more than the granule
 * @min: lowest physical address that may be part of it
 * @max: highest one, such as 0xffffffff for a 32-bit peripheral
 * @node: preferred node or GW_RANGE_ANY_NODE
 * @flags: GW_RANGE_STRICT_NODE or 0
 */
struct gw_range_request {
	uint64_t bytes;
	uint64_t align;
	uint64_t min;
	uint64_t max;
	uint32_t node;
	uint32_t flags;
};

/**
 * struct gw_range_why - what there was when a request failed for lack of memory, in bytes
 * @free: all that was free
 * @largest: the largest free run
 * @largest_placed: the largest free run within the limits of the request
 */
struct gw_range_why {
	uint64_t free;
	uint64_t largest;
	uint64_t largest_placed;
};

/**
 * struct gw_range_span - areas that touch; part of struct gw_range's storage
 * @base: physical address
 * @first: index of its first granule
 * @count: granules
 */
struct gw_range_span {
	uint64_t base;
	uint64_t first;
	uint64_t count;
};

/**
 * struct gw_range - all state; fields are private but for @relax, which the caller may set after gw_range_init()
 * @relax: called between two looks at a lock that is taken, with the number of looks so far; NULL: just looks again
 */
struct gw_range {
	uint32_t lock;
	uint32_t shift;
	uint32_t span_count;
	uint32_t area_count;
	uint32_t levels;
	struct gw_range_span *spans;
	struct gw_range_area *areas;
	uint64_t *used;
	uint64_t *start;
	uint64_t *end;
	uint64_t *full[GW_RANGE_LEVELS];
	uint64_t words[GW_RANGE_LEVELS + 1];
	uint64_t granules;
	uint64_t total;
	uint64_t free;
	void (*relax)(uint32_t looks);
};

/**
 * struct gw_range_stats - a moment's state
 * @total: bytes of all areas, in whole granules
 * @free: free bytes
 * @largest: the largest free run, bytes
 * @ranges: ranges in use
 * @free_runs: free runs
 * @spans: areas after joining
 */
struct gw_range_stats {
	uint64_t total;
	uint64_t free;
	uint64_t largest;
	uint64_t ranges;
	uint64_t free_runs;
	uint64_t spans;
};

/* Bytes of storage for these areas in @bytes; 8-byte aligned. Only gw_range_init() sees if they overlap or are too small. */
int gw_range_storage(const struct gw_range_area *areas, uint32_t count, uint32_t granule_shift, size_t *bytes);
/* All memory is free. Areas come in any order; @storage stays in use as long as @r. */
int gw_range_init(struct gw_range *r, const struct gw_range_area *areas, uint32_t count, uint32_t granule_shift,
		  void *storage, size_t storage_bytes);
/* The same with storage that holds zeros, most of which is left alone; after a failure it may hold others. */
int gw_range_init_zeroed(struct gw_range *r, const struct gw_range_area *areas, uint32_t count, uint32_t granule_shift,
			 void *storage, size_t storage_bytes);
/* Takes a range; its physical address is in @pa. @why (may be NULL) is written when memory does not suffice. */
int gw_range_alloc(struct gw_range *r, const struct gw_range_request *request, uint64_t *pa, struct gw_range_why *why);
/* Gives back the range that starts at @pa; its length is in @bytes (may be NULL). */
int gw_range_free(struct gw_range *r, uint64_t pa, uint64_t *bytes);
/* Makes the range that starts at @pa @bytes long, where it is. */
int gw_range_resize(struct gw_range *r, uint64_t pa, uint64_t bytes);
/* Makes the range that starts at @pa into ranges of @bytes each, the last as long as is left; they are freed one by one. */
int gw_range_split(struct gw_range *r, uint64_t pa, uint64_t bytes);
/* The range in use that holds @pa. */
int gw_range_find(struct gw_range *r, uint64_t pa, uint64_t *first, uint64_t *bytes);
/* The largest free run in [min, max], bytes. */
uint64_t gw_range_largest_free(struct gw_range *r, uint64_t min, uint64_t max);
/* Free bytes, without a lock. */
uint64_t gw_range_free_bytes(const struct gw_range *r);
void gw_range_stats(struct gw_range *r, struct gw_range_stats *stats);
/*
 * Calls @visit for every range in use and every free run, in the order of addresses, until it returns false. Nothing
 * else happens meanwhile, so that @visit must not call these functions.
 */
void gw_range_walk(struct gw_range *r, bool (*visit)(void *ctx, bool used, uint64_t pa, uint64_t bytes), void *ctx);
/* Whether the bitmaps agree with each other; if not, @at (may be NULL) is an address of the contradiction. */
int gw_range_check(struct gw_range *r, uint64_t *at);
/* Holds back every other call, for fork and for dumps. */
void gw_range_freeze(struct gw_range *r);
void gw_range_thaw(struct gw_range *r);
/* Granules have dense indices in the order of their addresses, with at least one unused index between spans. */
int gw_range_index(const struct gw_range *r, uint64_t pa, uint64_t *index);
int gw_range_address(const struct gw_range *r, uint64_t index, uint64_t *pa);
const char *gw_range_reason(int status);

#ifdef __cplusplus
}
#endif

#endif /* GODWIT_RANGE_H_ */
