/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page tables of one context in device memory: Sv39, Sv48 or Sv57 with 4 KiB, 64 KiB (Svnapot), 2 MiB and 1 GiB pages, or with
 * any set of powers of two.
 *
 * DOC: orders
 *   A page's size is its order: log2 of its 4 KiB pages. A level of the table decodes nine bits, so a page of order 9 * l + k with
 *   k below nine fills 2^k entries of a table of level l, which all say the same. k = 0 is a leaf as every RISC-V MMU has it, order 4
 *   is Svnapot; all others need hardware that takes N for what docs/page-tables.md says. Which orders a table uses is a set, a bit
 *   for each, and fixed when it is made.
 *
 * DOC: model
 *   A struct gw_pt is owned by its caller and is a few words; everything else lives in table frames that are read,
 *   written, allocated and freed through struct gw_pt_ops. No globals, no allocation, no locks, no I/O: calls on one
 *   table must not overlap, different tables are independent.
 *
 * DOC: failure
 *   Every function that can fail returns GW_PT_OK or a negative enum gw_pt_status. A call that fails has written
 *   no table entry and keeps no frame: frames are reserved before the first change. Only memory that answers differently while the
 *   change is written, as that of a card that was pulled out or is not what it says it is, may have some of it and not the rest; that
 *   is GW_PT_ECORRUPT, too. So who is told that uses the table no more: it is for gw_pt_destroy(), which frees what it finds of it.
 *
 * DOC: a hardware walker may read at any time
 *   - An entry is written with one 64-bit write, and writes must become visible in the order of the calls.
 *   - A table is complete before the entry that links it is written.
 *   - A valid entry is only ever replaced so that each page keeps its frame or loses its translation: an access sees
 *     the translation from before the call or the one from after it, never a third.
 *   - What was taken away may be used by caches of the hardware until the caller has invalidated what struct
 *     gw_pt_inval lists. Table frames that fell empty are unlinked at once but stay allocated, without a valid entry,
 *     until gw_pt_reclaim(), which the caller calls once the invalidation is acknowledged. One that gw_pt_join() unlinked stays
 *     as it is until then.
 *   docs/page-tables.md says why, and what the hardware must bear.
 *
 * DOC: hardware that sets A and D
 *   After gw_pt_track() leaves are written without A and D, and hardware sets them, at any time, by a compare-and-swap of
 *   the whole entry. It never undoes a write of the host. A write of the host that is computed from an entry read before may
 *   undo a D bit set since, so where D matters a range is taken out of use first: gw_pt_freeze(), invalidate, wait for the
 *   acknowledge; then what gw_pt_lookup() and gw_pt_walk() say about A and D is final, and gw_pt_unmap(),
 *   gw_pt_protect() or gw_pt_thaw() follow. The first two give the rest of a larger page back. Freezing is a 32-bit write to the half of an entry in which no A and D are.
 */
#ifndef GODWIT_PT_H_
#define GODWIT_PT_H_

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

/* log2 of a page's size in 4 KiB pages. */
#define GW_PT_ORDER_4K 0u
#define GW_PT_ORDER_64K 4u
#define GW_PT_ORDER_2M 9u
#define GW_PT_ORDER_1G 18u

/* More than the largest order: Sv57 has five levels of nine bits. */
#define GW_PT_ORDERS 45u
/* The set of one order; that of all up to one. */
#define GW_PT_ORDER_BIT(order) ((uint64_t)1 << (order))
#define GW_PT_ORDERS_TO(order) (((uint64_t)2 << (order)) - 1)
/* What gw_pt_init() uses: what a RISC-V MMU with Svnapot has, up to 1 GiB. */
#define GW_PT_ORDERS_DEFAULT                                                                              \
	(GW_PT_ORDER_BIT(GW_PT_ORDER_4K) | GW_PT_ORDER_BIT(GW_PT_ORDER_64K) | GW_PT_ORDER_BIT(GW_PT_ORDER_2M) | \
	 GW_PT_ORDER_BIT(GW_PT_ORDER_1G))

/* Permissions. Writable pages are readable too: the architecture reserves W without R. */
#define GW_PT_READ 1u
#define GW_PT_WRITE 2u

/* What hardware and host left in an entry: gw_pt_mapping.state. Of a page with several entries what any of them says. */
#define GW_PT_ACCESSED 1u
#define GW_PT_DIRTY 2u
#define GW_PT_FROZEN 4u

/* What gw_pt_ops.alloc returns when there is no frame (any value that is not a frame's address says the same). */
#define GW_PT_NO_FRAME (~(uint64_t)0)

/**
 * enum gw_pt_status - why a call failed; gw_pt_reason() says it in words
 * @GW_PT_OK: done
 * @GW_PT_EMODE: the mode is not Sv39, Sv48 or Sv57
 * @GW_PT_EALIGN: an address or the size is not a multiple of 4 KiB
 * @GW_PT_ESIZE: the size is zero
 * @GW_PT_ECANON: the virtual range does not lie within one canonical half of the address space
 * @GW_PT_EPHYS: the physical range ends above the 56-bit physical address space
 * @GW_PT_EPERM: the permission is neither READ nor READ | WRITE
 * @GW_PT_EORDER: an order, or a set of them, is not one that the call, or the table's mode, can have
 * @GW_PT_EEXIST: a page of the range is mapped already; gw_pt.error_va is the first one
 * @GW_PT_ENOENT: a page of the range is not mapped; gw_pt.error_va is the first one
 * @GW_PT_ENOMEM: no frame for a table
 * @GW_PT_ECORRUPT: an entry, around gw_pt.error_va, is not one that these functions write
 * @GW_PT_EAPART: pages that are to be one are no neighbours in physical memory, are not aligned there, or have several permissions;
 *                gw_pt.error_va is the first that is not as the first of all wants it
 */
enum gw_pt_status {
	GW_PT_OK = 0,
	GW_PT_EMODE = -1,
	GW_PT_EALIGN = -2,
	GW_PT_ESIZE = -3,
	GW_PT_ECANON = -4,
	GW_PT_EPHYS = -5,
	GW_PT_EPERM = -6,
	GW_PT_EORDER = -7,
	GW_PT_EEXIST = -8,
	GW_PT_ENOENT = -9,
	GW_PT_ENOMEM = -10,
	GW_PT_ECORRUPT = -11,
	GW_PT_EAPART = -12,
};

/**
 * struct gw_pt_ops - access to the memory that holds the tables; `ctx` is gw_pt.ctx
 * @read: the 64-bit entry at physical address @pa (a multiple of 8)
 * @write: writes it with a single 64-bit access; visible to the walker in the order of the calls
 * @alloc: physical address of a 4 KiB frame that reads as zero, or GW_PT_NO_FRAME
 * @free: takes back a frame that @alloc gave; its content means nothing
 * @write_high: writes bits 63:32 of the entry at @pa with a single 32-bit access that leaves the others alone; only used
 *              by gw_pt_freeze(), and may be NULL where that is not called
 */
struct gw_pt_ops {
	uint64_t (*read)(void *ctx, uint64_t pa);
	void (*write)(void *ctx, uint64_t pa, uint64_t pte);
	uint64_t (*alloc)(void *ctx);
	void (*free)(void *ctx, uint64_t pa);
	void (*write_high)(void *ctx, uint64_t pa, uint32_t high);
};

/**
 * struct gw_pt_frames - a stack of frames, linked through their own first word (whose valid bit stays clear)
 * @head: physical address of the top one, if @count is not 0
 * @count: frames
 */
struct gw_pt_frames {
	uint64_t head;
	uint64_t count;
};

/**
 * struct gw_pt - one context's page table; fields are read-only for callers
 * @ops: memory access
 * @ctx: argument of @ops
 * @root: physical address of the root table
 * @tables: tables that are linked, the root included
 * @dead: tables that are unlinked and wait for gw_pt_reclaim()
 * @joined: a table that gw_pt_join() unlinked, which waits for that, too; GW_PT_NO_FRAME: none does
 * @error_va: page that made the last call fail with EEXIST, ENOENT, EAPART or ECORRUPT
 * @orders: the orders of its pages, a bit for each
 * @levels: 3, 4 or 5
 * @mode: as in satp: 8 Sv39, 9 Sv48, 10 Sv57
 * @tracks: hardware sets A and D: see gw_pt_track()
 */
struct gw_pt {
	const struct gw_pt_ops *ops;
	void *ctx;
	uint64_t root;
	uint64_t tables;
	struct gw_pt_frames dead;
	uint64_t joined;
	uint64_t error_va;
	uint64_t orders;
	uint32_t levels;
	uint32_t mode;
	bool tracks;
};

/* A virtual range; addresses and sizes in bytes, multiples of 4 KiB. */
struct gw_pt_range {
	uint64_t va;
	uint64_t size;
};

/**
 * struct gw_pt_inval - what a caller has to invalidate, gathered over any number of calls
 * @ranges: the caller's array; may be NULL if @capacity is 0
 * @capacity: its length
 * @count: ranges used. They cover every page whose translation changed, and the whole of each larger page that was
 *         split for it. When the array is full its last range is stretched, so the ranges may cover more, never less
 * @tables: tables that were unlinked: cached upper levels of these ranges must go too
 * @narrowed: a mapping, a permission or a table was taken away. While false, hardware that decides faults by a fresh
 *            read (as Godwit's) needs no invalidation at all
 *
 * Start with { .ranges = array, .capacity = n } and all else zero.
 */
struct gw_pt_inval {
	struct gw_pt_range *ranges;
	size_t capacity;
	size_t count;
	uint64_t tables;
	bool narrowed;
};

/**
 * struct gw_pt_mapping - one page
 * @va: its first virtual address, sign extended
 * @pa: its first physical address
 * @order: log2 of its size in 4 KiB pages: one of gw_pt.orders
 * @perm: GW_PT_READ, GW_PT_WRITE
 * @state: GW_PT_ACCESSED, GW_PT_DIRTY, GW_PT_FROZEN
 */
struct gw_pt_mapping {
	uint64_t va;
	uint64_t pa;
	uint32_t order;
	uint32_t perm;
	uint32_t state;
};

/* Tables that gw_pt_check() found, and pages by their order. */
struct gw_pt_stats {
	uint64_t tables;
	uint64_t pages[GW_PT_ORDERS];
};

/**
 * gw_pt_init() - makes an empty table with pages of GW_PT_ORDERS_DEFAULT
 * @pt: gets its first value here
 * @ops: memory access; must outlive @pt
 * @ctx: argument of @ops
 * @mode: GODWIT_MODE_SV39, _SV48 or _SV57
 *
 * Errors: EMODE, ENOMEM. After an error @pt may only be given to gw_pt_init() or gw_pt_destroy() (which does nothing).
 */
int gw_pt_init(struct gw_pt *pt, const struct gw_pt_ops *ops, void *ctx, uint32_t mode);

/**
 * gw_pt_init_orders() - gw_pt_init() with a choice of page sizes, which the hardware that walks the table must have
 * @orders: a bit for each order, below nine times the mode's levels. 4 KiB is one of them and, up to the level of the largest,
 *          so is the size that fills one entry of a level (2 MiB, 1 GiB, ...): a page that is cut leaves at least these
 *
 * Errors: as gw_pt_init(); EORDER.
 */
int gw_pt_init_orders(struct gw_pt *pt, const struct gw_pt_ops *ops, void *ctx, uint32_t mode, uint64_t orders);

/**
 * gw_pt_destroy() - frees every table, those waiting for gw_pt_reclaim() included
 *
 * No hardware may use the root any more: the context is off and its invalidation acknowledged.
 */
void gw_pt_destroy(struct gw_pt *pt);

/**
 * gw_pt_map() - maps a physically contiguous range
 * @va: first virtual address
 * @pa: first physical address
 * @size: bytes
 * @perm: GW_PT_READ or GW_PT_READ | GW_PT_WRITE
 * @max_order: largest page to use, up to GW_PT_ORDER_1G or the table's largest; the choice is the largest of the table's orders that
 *             it allows, that is aligned in @va and @pa, and that lies within the range. 0 forces 4 KiB pages
 *
 * Needs no invalidation on hardware that never caches a missing translation.
 * Errors: EALIGN, ESIZE, ECANON, EPHYS, EPERM, EORDER, EEXIST, ENOMEM, ECORRUPT.
 */
int gw_pt_map(struct gw_pt *pt, uint64_t va, uint64_t pa, uint64_t size, uint32_t perm, uint32_t max_order);

/**
 * gw_pt_map_as() - gw_pt_map() of pages that count as accessed or written from the start
 * @state: GW_PT_ACCESSED, GW_PT_DIRTY or both: hardware need not write the entry for it. Means nothing in a table that does not
 *         track
 *
 * Errors: as gw_pt_map(); EPERM also for another @state.
 */
int gw_pt_map_as(struct gw_pt *pt, uint64_t va, uint64_t pa, uint64_t size, uint32_t perm, uint32_t max_order,
		 uint32_t state);

/**
 * gw_pt_unmap() - removes the mapping of a range, every page of which must be mapped
 * @inval: gets what to invalidate; may be NULL when no hardware uses the table
 *
 * A larger page that the range cuts is split into the largest ones of the table's orders that it does not cut; the rest of it
 * stays mapped. Tables that fall empty are unlinked and freed
 * by the next gw_pt_reclaim().
 * Errors: EALIGN, ESIZE, ECANON, ENOENT, ENOMEM (for a split), ECORRUPT.
 */
int gw_pt_unmap(struct gw_pt *pt, uint64_t va, uint64_t size, struct gw_pt_inval *inval);

/**
 * gw_pt_protect() - sets the permission of a range, every page of which must be mapped
 * @perm: GW_PT_READ or GW_PT_READ | GW_PT_WRITE
 * @inval: as for gw_pt_unmap(); pages that have @perm already are neither split nor listed
 *
 * Errors: EALIGN, ESIZE, ECANON, EPERM, ENOENT, ENOMEM (for a split), ECORRUPT.
 */
int gw_pt_protect(struct gw_pt *pt, uint64_t va, uint64_t size, uint32_t perm, struct gw_pt_inval *inval);

/**
 * gw_pt_join() - makes pages that are neighbours one larger page
 * @va: the first virtual address, a multiple of the larger page's size
 * @order: one of the table's, above GW_PT_ORDER_4K and below GW_PT_ORDER_1G
 * @inval: gets what to invalidate: the cached way to a table that was unlinked; may be NULL when no hardware uses the table
 *
 * No translation and no permission changes, and it takes no frame. What is one page of that size already, or part of a larger one,
 * stays. A page above 2 MiB is made of such as are leaves of its own table: below none of its entries may be a table.
 * At most one table waits: after a call that unlinked one, invalidate and call gw_pt_reclaim() before the next, and before
 * anything in the range changes. Not for tables that track.
 * Errors: EALIGN, ECANON, EORDER (also of a table that tracks), ENOENT, EAPART (also for such a table below), EEXIST (a table
 * waits already), ECORRUPT.
 */
int gw_pt_join(struct gw_pt *pt, uint64_t va, uint32_t order, struct gw_pt_inval *inval);

/**
 * gw_pt_track() - hardware sets A and D in this table from now on
 *
 * Leaves are written without them. Without tracking they are written with both, so that hardware never wants to; pages mapped
 * before keep both, and so count as accessed and written.
 */
void gw_pt_track(struct gw_pt *pt);

/**
 * gw_pt_freeze() - takes the pages that overlap a range out of use, so that their A and D become final
 * @inval: gets what to invalidate: every page frozen, larger ones as a whole
 *
 * No access is allowed from then on and, once the invalidation is acknowledged, hardware changes nothing in the entries.
 * Every page of the range must be mapped; those that are frozen already are listed again. Only for tables that track.
 * Errors: EALIGN, ESIZE, ECANON, ENOENT, ECORRUPT.
 */
int gw_pt_freeze(struct gw_pt *pt, uint64_t va, uint64_t size, struct gw_pt_inval *inval);

/**
 * gw_pt_thaw() - gives frozen pages that overlap a range back, whole; needs no invalidation
 * @clear: without A and D; otherwise with those they have
 *
 * Call it after the acknowledge of the freeze. gw_pt_protect() gives pages back too, with those they have.
 * Errors: EALIGN, ESIZE, ECANON, ENOENT, ECORRUPT.
 */
int gw_pt_thaw(struct gw_pt *pt, uint64_t va, uint64_t size, bool clear);

/**
 * gw_pt_age() - takes the A bits of the pages that overlap a range, of larger ones as a whole; D stays
 * @inval: gets the pages that had A, without being @narrowed by it; may be NULL
 *
 * Only hardware that does not set bits meanwhile: it stands, or the pages are frozen and that is acknowledged. A D bit that it set between the
 * look at an entry and the store would be lost. Nothing is taken away, so the invalidation may wait for the next one: until then an access by
 * a translation that is cached does not set A again. Every page of the range must be mapped. Only for tables that track.
 * Errors: EALIGN, ESIZE, ECANON, ENOENT, ECORRUPT.
 */
int gw_pt_age(struct gw_pt *pt, uint64_t va, uint64_t size, struct gw_pt_inval *inval);

/**
 * gw_pt_reclaim() - frees the tables that unmap and join unlinked
 *
 * Call it when the invalidation of everything unmapped and joined so far is acknowledged. Returns how many frames were freed.
 */
uint64_t gw_pt_reclaim(struct gw_pt *pt);

/**
 * gw_pt_lookup() - the page around a virtual address (any byte of it)
 * @va: byte address
 * @out: the page; the byte is at out->pa + (va - out->va)
 *
 * Errors: ECANON, ENOENT, ECORRUPT.
 */
int gw_pt_lookup(struct gw_pt *pt, uint64_t va, struct gw_pt_mapping *out);

/* Called for each page; a value other than 0 ends the walk, which returns it (use positive ones). */
typedef int (*gw_pt_visit_fn)(void *arg, const struct gw_pt_mapping *page);

/**
 * gw_pt_walk() - visits the pages that overlap [first, last], in rising order of their addresses
 * @first: first byte
 * @last: last byte, itself included; 0 and ~0 visit everything
 *
 * The visitor must not change the table. Errors: ECORRUPT.
 */
int gw_pt_walk(struct gw_pt *pt, uint64_t first, uint64_t last, gw_pt_visit_fn visit, void *arg);

/**
 * gw_pt_check() - validates the whole structure: each entry is one that these functions write, the entries of
 * a page are all there and say the same, no table but the root is empty, and the number of tables is gw_pt.tables
 * @stats: what was found; may be NULL
 *
 * Errors: ECORRUPT.
 */
int gw_pt_check(struct gw_pt *pt, struct gw_pt_stats *stats);

/* Bytes of frames held: linked tables and those that wait for gw_pt_reclaim(). */
uint64_t gw_pt_table_bytes(const struct gw_pt *pt);

/* One static sentence for a status, without a full stop. */
const char *gw_pt_reason(int status);

#ifdef __cplusplus
}
#endif

#endif /* GODWIT_PT_H_ */
