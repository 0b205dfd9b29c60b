/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buffer pool: what its files share.
 *
 * All memory is one virtual window; the physical address of a byte is its offset in the window plus `pa_base`. One byte
 * a granule, its kind, says what starts (or, for memory of small blocks, lies) there:
 *
 *   small blocks   from mimalloc heaps. A heap's arena spans 8 GiB of the window and owns nothing of it but the slices
 *                  that small.c takes from the range allocator, and gives back, one by one
 *   large blocks   ranges of a size class; freed ones wait in the cache of the thread that freed them
 *   exact blocks   ranges of any number of granules, straight from the range allocator
 *
 * Nothing here calls malloc. Order of locks: cmt_pool.lock, a thread's cache lock, the range allocator's.
 */
#ifndef CMT_INTERNAL_H_
#define CMT_INTERNAL_H_

#include <cmt.h>
#include <godwit/range.h>
#include <mimalloc.h>

#include <pthread.h>

#define CMT_LIKELY(x) __builtin_expect(!!(x), 1)
#define CMT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define CMT_COLD __attribute__((noinline, cold))
/* What the short paths read: found without the linker's table. */
#define CMT_HIDDEN __attribute__((visibility("hidden")))
#define CMT_TLS __attribute__((tls_model("initial-exec"), visibility("hidden")))

/* Kinds. */
#define CMT_NONE 0u     /* nothing, or the inside of a block */
#define CMT_CLASS 1u    /* + size class: a large block in use */
#define CMT_CLASSES 49u
#define CMT_EXACT 62u   /* an exact block in use */
#define CMT_CACHED 64u  /* + a kind in use: it waits in a cache */
#define CMT_SMALL 128u  /* a granule in which small blocks are */

/* Large classes: eight a doubling, from 64 KiB to 4 MiB. 64 KiB is what programs begin to grow from, and only large blocks grow in place. */
#define CMT_LARGE_SHIFT 16u
#define CMT_LARGE_MAX ((size_t)4 << 20)
#define CMT_SMALL_MAX (((size_t)1 << CMT_LARGE_SHIFT) - 1)
/* Freed blocks of a class that a thread keeps. */
#define CMT_SLOTS 8u
/* Smallest block, and what every small block is aligned to: a bit says whether one that is in use starts there. */
#define CMT_MIN_BLOCK 16u
#define CMT_LIVE_SHIFT 10u /* to a word of such bits */
/* mimalloc's unit of memory. */
#define CMT_SLICE_SHIFT 16u
#define CMT_SLICE ((size_t)1 << CMT_SLICE_SHIFT)
/* Slices of a page of mimalloc's for its larger small blocks, and the largest that are in pages of one slice. */
#define CMT_MEDIUM_SLICES 8u
#define CMT_PAGE ((size_t)4 << 10)
#define CMT_HUGE_PAGE ((uint64_t)2 << 20)
/* What one arena spans, and how many there may be: small blocks lie in the TiB that is used first. */
#define CMT_REGION_SHIFT 33u
#define CMT_REGION ((uint64_t)1 << CMT_REGION_SHIFT)
#define CMT_REGIONS 128u
#define CMT_DECAY_NEVER (~(uint32_t)0)

struct cmt_cache {
	uint32_t lock;
	uint32_t filled[2]; /* classes that hold something, a bit each */
	uint64_t bytes;
	uint8_t count[CMT_CLASSES];
	uint8_t least[CMT_CLASSES]; /* of that, since the pool was last looked at for old memory */
	void *slot[CMT_CLASSES][CMT_SLOTS];
};

/* Pages of other threads that a thread keeps freed blocks of. */
#define CMT_FAR_PAGES 128u

struct cmt_far {
	struct mi_page_s *page;
	struct mi_block_s *head, *tail;
	uint64_t room; /* for so many more; 0: or none waits */
};

/* What belongs to a thread; outlives it, to be taken over by the next. A thread without small blocks touches a page of it. */
struct cmt_thread {
	mi_theap_t *theap; /* of the region it allocates from; NULL: none */
	uint32_t collected; /* cmt_pool.collect when it last gave back its empty pages */
	uint32_t looks; /* it looks at the clock after so many calls that are not short ones */
	bool taken;
	struct cmt_thread *next;
	struct cmt_cache cache;
	uint64_t locals[1 + 2 * CMT_REGIONS]; /* mimalloc's table of the thread's heaps */
	struct cmt_far far[CMT_FAR_PAGES];
} __attribute__((aligned(64)));

/* A part of the window that small blocks may lie in. */
struct cmt_region {
	mi_heap_t *heap; /* NULL: none have been there yet */
	struct mi_arena_s *arena;
};

/* The piece that was last left to small pages, and what had been handed out then; and what was found there when. */
struct cmt_probe {
	uint64_t offset;
	uint64_t at;
	uint64_t looked;
	bool dense;
};

struct cmt_pool {
	char *base;
	uint64_t free_bytes; /* of the window, while this process may free blocks in it */
	struct mi_page_s **pages; /* of small blocks, 8 bytes a slice; NULL: none. It is mimalloc's own map, in whole GiB */
	uintptr_t live; /* small blocks in use, a bit each: where the word for address 0 would be */
	uint8_t *kinds;
	uint64_t bytes;      /* of the window */
	uint32_t shift;
	bool shared;         /* the memory is shared with children: they only look at it */
	bool closed;         /* this process is such a child */
	bool checks;         /* the bits of small blocks are kept */
	uint64_t pa_base;
	struct gw_range *range;
	uint64_t metadata_bytes;
	size_t super_bytes;   /* the most that small blocks take at a time */
	size_t cache_bytes;   /* a thread */
	uint64_t *seen;       /* slices that have ever been handed out, a bit each: all else is zero */
	uint64_t seen_bytes;
	uint8_t *recent;      /* a byte a slice: freed since the pool was last looked at for old memory */
	uint32_t decay_ms;    /* 0: freed memory goes back to the system at once; CMT_DECAY_NEVER */
	uint32_t aged_ms;     /* when the pool was last looked at */
	bool huge_later;      /* huge pages are asked for as memory is handed out */
	uint32_t collect;     /* counts requests that wanted what threads hold in empty pages */
	uint64_t small_bytes; /* memory of small blocks */
	struct cmt_probe small_probe, large_probe;
	uint32_t region_count;
	struct cmt_region region[CMT_REGIONS];
	struct cmt_thread *threads;
	uintptr_t survivor;   /* the thread that this process began with, if it is a child of fork; as mimalloc names it */
	bool orphans;         /* there may be pages of its parent's other threads */
	pthread_mutex_t lock;
	pthread_key_t thread_key;
	uint64_t misuses;
	uint64_t failures;
	cmt_misuse_fn *report;
};

/* What the side that opens the pool found out; copied. */
struct cmt_open {
	struct gw_range *range;
	void *base;
	uint64_t bytes;
	uint64_t pa_base;
	void *kinds;
	void *pages;
	void *live;
	uint64_t metadata_bytes;
	uint64_t super_bytes;
	uint64_t cache_bytes;
	void *seen;
	void *recent;
	uint32_t decay_ms;
	uint32_t shift;
	bool shared;
	bool populated;
	bool checks;
};

extern struct cmt_pool cmt_pool CMT_HIDDEN;
extern __thread struct cmt_thread *cmt_self CMT_TLS;

/* api.c, block.c, reason.c and state.c: the calls of cmt.h. Libraries export them under the header's names. */
int gw_cmt_init(const char *config);
void *gw_cmt_malloc(size_t size);
/* As malloc, but what cannot be had ends in cmt_new_failed(). */
void *gw_cmt_new(size_t size);
void gw_cmt_free(void *block);
void *gw_cmt_calloc(size_t count, size_t size);
void *gw_cmt_realloc(void *block, size_t size);
void *gw_cmt_aligned_alloc(size_t align, size_t size);
size_t gw_cmt_usable_size(const void *block);
bool gw_cmt_expand(void *block, size_t size);
void *gw_cmt_alloc_contiguous(size_t size, const struct cmt_constraints *limits);
size_t gw_cmt_extents(const void *block, struct cmt_extent *extents, size_t capacity);
uint64_t gw_cmt_physical(const void *address);
void gw_cmt_stats(struct cmt_stats *stats);
int gw_cmt_dump(int (*write)(void *ctx, const char *line, size_t length), void *ctx);
int gw_cmt_check(void);
size_t gw_cmt_trim(void);
/* Gives back what caches and small blocks hold unused, but nothing to the system; the bytes. */
size_t cmt_reclaim(void);
const char *gw_cmt_reason(void);
/* Whether the pool is open; whether an address is in its window. */
bool gw_cmt_is_open(void);
bool gw_cmt_owns(const void *address);
cmt_misuse_fn *gw_cmt_on_misuse(cmt_misuse_fn *report);

/* state.c */
int cmt_pool_open(const struct cmt_open *how);
/* Whether the pool is usable by this process; opens it if nobody has. */
bool cmt_ready(void);
/* Given by whoever links this: opens the pool as $GODWIT_CMT says. 0, or an errno and the reason in words. */
int cmt_open_default(const char *config, char *reason, size_t reason_bytes);

/*
 * Defined by a library that takes malloc's place: memory for what the pool does not serve, as while it opens or when it
 * could not be opened; the size of such a block, 0 for any other pointer; and whether a block was one and is free now.
 */
void *cmt_boot_malloc(size_t align, size_t size) __attribute__((weak));
void *cmt_boot_calloc(size_t count, size_t size) __attribute__((weak));
void *cmt_boot_realloc(void *block, size_t size) __attribute__((weak));
bool cmt_boot_free(void *block) __attribute__((weak));
size_t cmt_boot_size(const void *block) __attribute__((weak));
/*
 * ... whether it serves a request of so many bytes itself, so that a program of a few blocks needs no pool. Asked as long as
 * the pool is not open, and of small blocks until it has its first one.
 */
bool cmt_boot_serves(size_t bytes) __attribute__((weak));
/* Given by whoever links this: how many bytes such a library may serve first; 0: the pool is to be there from the start. */
uint64_t cmt_open_waits(const char *config);
/* ... and who is told that the pool could not be opened: from then on everything comes from there. */
void cmt_boot_only(const char *why) __attribute__((weak));
/* ... and who is told of misuse when nobody asked to be. */
void cmt_boot_misuse(const void *pointer, const char *why) __attribute__((weak));
/* Whether there is such a library: the program's own memory is the pool's. */
bool cmt_is_malloc(void);
/* Defined by a library that takes operator new's place, for requests that are refused: throws. */
void *cmt_new_failed(size_t size) __attribute__((weak));

/* block.c */
/* What gw_cmt_realloc() does for blocks that are not small ones in use. */
CMT_COLD void *cmt_realloc_rare(void *block, size_t size);

/* reason.c */
void *cmt_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
void *cmt_fail_range(int status, uint64_t bytes, const struct gw_range_why *why);
CMT_COLD void cmt_misuse(const void *pointer, const char *why);

/* thread.c */
/* The calling thread's record; NULL when there is no memory for it. */
struct cmt_thread *cmt_attach(void);
void cmt_lock(uint32_t *lock);
void cmt_unlock(uint32_t *lock);
void cmt_relax(uint32_t looks);
int cmt_fork_init(void);
void cmt_threads_init(void);

/* small.c */
/* What the thread's heap does not have: aligned blocks, memory for a heap, and at last whole granules. */
void *cmt_small_slow(struct cmt_thread *self, size_t size, size_t align);
/* Gives back the memory of small blocks in which none is in use; the bytes. Holds cmt_pool.lock. */
size_t cmt_small_trim(void);
/* Whether someone wants what the thread holds in empty pages; then they are given back to the heap. */
void cmt_small_answer(struct cmt_thread *self);

/* heap.c */
/* Makes a region's arena, which owns no memory yet, and its heap; the first one starts mimalloc. Holds cmt_pool.lock. */
bool cmt_region_open(uint32_t index);
/* Gives slices [slice, slice + count) of a region to its heap; `dirty`: they may hold other than zeros. */
void cmt_region_give(uint32_t index, size_t slice, size_t count, bool dirty);
/* Takes them back, if none of them is in use. */
bool cmt_region_take(uint32_t index, size_t slice, size_t count);
/* The first slice from `slice` on that no page is in, or the region's last and one. */
size_t cmt_region_next(uint32_t index, size_t slice);
/* Of a heap's description, for which there is room behind a thread's record. */
extern const size_t cmt_theap_bytes CMT_HIDDEN;
/* From now on the calling thread allocates with this heap of its own, or with NULL from none. */
void cmt_theap_use(struct cmt_thread *self, mi_theap_t *theap);
/* The calling thread's heap in a region; NULL when there is no memory for it. */
mi_theap_t *cmt_theap_of(struct cmt_thread *self, uint32_t region);
/* Ends the calling thread's heaps. Holds cmt_pool.lock: none is ended twice. */
void cmt_theaps_end(struct cmt_thread *self);

/* far.c */
/* Gives back all blocks of other threads' pages that the calling thread keeps; and from now on it keeps none. */
void cmt_far_flush(struct cmt_thread *self);
void cmt_far_end(struct cmt_thread *self);
/* The same for a thread that ended with the parent. */
void cmt_far_inherit(struct cmt_thread *gone);

/* orphans.c */
/* In a child of fork: the calling thread is the only one of its parent's. Holds cmt_pool.lock. */
void cmt_orphans_begin(void);
/* Small blocks' pages of the others are nobody's, and found by who needs some. Holds cmt_pool.lock. */
void cmt_orphans_adopt(struct cmt_thread *self);

/* large.c */
void *cmt_large_alloc(struct cmt_thread *self, size_t size);
void cmt_large_free(struct cmt_thread *self, void *block, uint32_t kind);
void *cmt_exact_alloc(const struct gw_range_request *request);
/* Memory that starts with zeros; larger than small blocks. */
void *cmt_large_zeroed(struct cmt_thread *self, size_t size);
/* Empties a thread's cache; bytes given back. */
size_t cmt_cache_flush(struct cmt_thread *thread);
/* Empties all caches. Holds cmt_pool.lock. */
size_t cmt_caches_flush(void);
/* Gives back what a thread's cache has not needed since the last call. */
void cmt_cache_age(struct cmt_thread *thread);
size_t cmt_class_bytes(uint32_t class);

/* age.c */
/* Milliseconds of the system's clock that costs least. */
uint32_t cmt_now(void);
/* Gives back the range that starts there; `aged`: nobody has used its memory for long. */
void cmt_range_return(uint64_t offset, bool aged);
/* Gives free memory to the system that has been free for long, or all of it. */
void cmt_purge_free(bool all);
/* gw_cmt_trim() for malloc_trim(): not more often than a program can afford; 0 if it is left out. */
size_t cmt_trim_seldom(void);
/* What cmt_age() does now and then. */
void cmt_age_look(struct cmt_thread *self);

/* With every call that is not a short one: looks for old memory when it is time. No lock is held. */
static inline void cmt_age(struct cmt_thread *self)
{
	if (CMT_UNLIKELY(!self->looks--))
		cmt_age_look(self);
}

/* pages.c */
/* Marks memory as handed out; zeroes what was before if asked to. Bytes of slices that were not. */
uint64_t cmt_seen(uint64_t offset, uint64_t bytes, bool zero);
/* Asks for huge pages where memory has whole ones, if it comes by need. */
void cmt_huge_pages(uint64_t offset, uint64_t bytes);
/* The same, if the program writes into most of what it has, for memory that nobody has had before. Holds cmt_pool.lock. */
void cmt_pages_choose(struct cmt_probe *probe, uint64_t offset, uint64_t bytes, uint64_t now);

static inline uint64_t cmt_offset(const void *p)
{
	return (uint64_t)(uintptr_t)p - (uint64_t)(uintptr_t)cmt_pool.base;
}

static inline uint8_t *cmt_kind_of(uint64_t offset)
{
	return &cmt_pool.kinds[offset >> cmt_pool.shift];
}

static inline uint32_t cmt_kind_get(uint64_t offset)
{
	return __atomic_load_n(cmt_kind_of(offset), __ATOMIC_RELAXED);
}

static inline uint64_t cmt_pa(uint64_t offset)
{
	return cmt_pool.pa_base + offset;
}

/*
 * Bits of small blocks in use. They are not in the blocks because whoever frees one has often not read it for long, and
 * would wait for memory before it knows that all is well. The thread that a page belongs to sets and clears them with plain
 * loads and stores, another thread that frees clears its bit atomically. The owner may put such a bit back if it changes that of a
 * neighbour in the same moment: that block could be freed twice unseen. No bit of a block in use is ever lost.
 */
static inline uint64_t *cmt_live_word(const void *block)
{
	return (uint64_t *)cmt_pool.live + ((uintptr_t)block >> CMT_LIVE_SHIFT);
}

static inline uint64_t cmt_live_bit(const void *block)
{
	return (uint64_t)1 << ((uintptr_t)block / CMT_MIN_BLOCK % 64);
}

static inline bool cmt_live(const void *block)
{
	return __atomic_load_n(cmt_live_word(block), __ATOMIC_RELAXED) & cmt_live_bit(block);
}

/* Sets or clears the bit; what it was before. By the owner of the block's page. */
static inline bool cmt_live_change(const void *block, bool to)
{
	uint64_t *word = cmt_live_word(block), bits = __atomic_load_n(word, __ATOMIC_RELAXED);
	bool was;

#ifdef __x86_64__
	/* Compilers make twice as many instructions of the lines below. */
	if (to)
		__asm__("btsq %2, %0" : "+r"(bits), "=@ccc"(was) : "r"((uintptr_t)block / CMT_MIN_BLOCK) : "cc");
	else
		__asm__("btrq %2, %0" : "+r"(bits), "=@ccc"(was) : "r"((uintptr_t)block / CMT_MIN_BLOCK) : "cc");
#else
	was = bits & cmt_live_bit(block);
	bits = to ? bits | cmt_live_bit(block) : bits & ~cmt_live_bit(block);
#endif
	__atomic_store_n(word, bits, __ATOMIC_RELAXED);
	return was;
}

/* A block is handed out. */
static inline void cmt_live_begin(const void *block)
{
	if (cmt_pool.checks)
		cmt_live_change(block, true);
}

/* By any thread; false: it was not in use. */
static inline bool cmt_live_clear_shared(const void *block)
{
	uint64_t bit = cmt_live_bit(block);

	return __atomic_fetch_and(cmt_live_word(block), ~bit, __ATOMIC_RELAXED) & bit;
}

#endif /* CMT_INTERNAL_H_ */
