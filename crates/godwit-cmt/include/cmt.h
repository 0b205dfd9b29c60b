/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contiguous memory: every block is one piece of physical memory, taken from areas that may be scattered.
 *
 * The pool of a process is opened once, by cmt_init() or, as $GODWIT_CMT says, by the first call that needs it. All
 * addresses are taken then, and the memory too if the configuration says populate=all; later requests only mark what is
 * in use. docs/cmt.md has the configuration.
 *
 * Any thread may call any function, and free what another one allocated. Nothing here prints or aborts: a request that
 * fails returns NULL with errno ENOMEM (EINVAL for wrong arguments), and cmt_reason() says why in words. A pointer that
 * is not a block in use is left alone: errno is EINVAL, and cmt_stats.misuses counts it.
 */
#ifndef GODWIT_CMT_H_
#define GODWIT_CMT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define CMT_NOEXCEPT noexcept
#else
#define CMT_NOEXCEPT
#endif

/* cmt_constraints.node: no preference. */
#define CMT_ANY_NODE (~(uint32_t)0)
/* cmt_constraints.flags: fail rather than take another node's memory. */
#define CMT_STRICT_NODE 1u

/* Limits of a contiguous block; all zero but node = CMT_ANY_NODE asks for nothing but a size. */
struct cmt_constraints {
	uint64_t align;    /* of the physical address, bytes, a power of two; 0: a granule */
	uint64_t min;      /* lowest physical address */
	uint64_t max;      /* highest one, such as 0xffffffff for a 32-bit peripheral; 0: no limit */
	uint32_t node;     /* preferred memory node */
	uint32_t flags;    /* others than the above are EINVAL */
};

/* A piece of physical memory. */
struct cmt_extent {
	uint64_t pa;
	uint64_t bytes;
};

struct cmt_stats {
	uint64_t total;          /* bytes of all areas */
	uint64_t free;           /* bytes that are in no block, no slice of small blocks and no cache */
	uint64_t largest_free;   /* the largest piece of that */
	uint64_t cached;         /* bytes of freed blocks that threads keep for the next request */
	uint64_t superblocks;    /* slices of 64 KiB that small blocks are cut from */
	uint64_t superblock_bytes;
	uint64_t metadata_bytes; /* outside the areas: bitmaps and tables */
	uint64_t misuses;        /* pointers that were refused */
	uint64_t failures;       /* requests that were refused for lack of memory */
};

/* Opens the pool. config: as $GODWIT_CMT, which NULL stands for. 0, or -1 with errno (EBUSY: it is open). */
int cmt_init(const char *config) CMT_NOEXCEPT;

void *cmt_malloc(size_t size) CMT_NOEXCEPT;
void cmt_free(void *block) CMT_NOEXCEPT;
void *cmt_calloc(size_t count, size_t size) CMT_NOEXCEPT;
/*
 * Grows in place if it can. On failure the old block is as it was. A block of cmt_alloc_contiguous() that has to move
 * leaves its limits: cmt_expand() never moves one.
 */
void *cmt_realloc(void *block, size_t size) CMT_NOEXCEPT;
/* The address is a multiple of align, a power of two up to 1 GiB. */
void *cmt_aligned_alloc(size_t align, size_t size) CMT_NOEXCEPT;
/* Bytes that may be used; 0 for what is not a block in use. */
size_t cmt_usable_size(const void *block) CMT_NOEXCEPT;
/* Makes a block at least size bytes long where it is; false (nothing changed) if that cannot be. */
bool cmt_expand(void *block, size_t size) CMT_NOEXCEPT;
/* A block at granule size; limits may be NULL. Freed with cmt_free. */
void *cmt_alloc_contiguous(size_t size, const struct cmt_constraints *limits) CMT_NOEXCEPT;
/* Writes up to capacity extents of a block; returns how many it has: always 1, or 0 for what is not a block in use. */
size_t cmt_extents(const void *block, struct cmt_extent *extents, size_t capacity) CMT_NOEXCEPT;
/* The physical address behind any address of the pool; 0 and EINVAL for others. */
uint64_t cmt_physical(const void *address) CMT_NOEXCEPT;
void cmt_stats(struct cmt_stats *stats) CMT_NOEXCEPT;
/* One line of text for every piece of memory: `PA BYTES KIND`; returns what write returned last, 0 to go on. */
int cmt_dump(int (*write)(void *ctx, const char *line, size_t length), void *ctx) CMT_NOEXCEPT;
/* 0 if all bookkeeping agrees, -1 otherwise. */
int cmt_check(void) CMT_NOEXCEPT;
/*
 * Gives back what caches hold, and slices without a small block; returns the bytes. Memory that is free then goes back to the
 * system, where it came by need.
 */
size_t cmt_trim(void) CMT_NOEXCEPT;
/* Why the calling thread's last call failed. */
const char *cmt_reason(void) CMT_NOEXCEPT;
/* Called with each refused pointer and why, from any thread; NULL: nobody is. Returns the one before. */
typedef void cmt_misuse_fn(const void *pointer, const char *why);
cmt_misuse_fn *cmt_on_misuse(cmt_misuse_fn *report) CMT_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* GODWIT_CMT_H_ */
