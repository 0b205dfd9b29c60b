/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of core/src share: entries, geometry, frames.
 *
 * Inside, addresses are offsets: virtual addresses without the sign extension, so that a table is one interval from 0.
 * Level 0 is the one with 4 KiB leaves. An interval [lo, hi] holds its last byte, so that none of them overflows.
 */
#ifndef GODWIT_PT_INTERNAL_H_
#define GODWIT_PT_INTERNAL_H_

#include <godwit/pt.h>
#include <godwit_layout.h>

enum gw_pte_kind {
	GW_PTE_EMPTY,
	GW_PTE_TABLE, /* pa: the table below */
	GW_PTE_LEAF,  /* pa: first byte of the page, of all its entries together */
	GW_PTE_BAD,   /* not written by these functions */
};

struct gw_pte {
	enum gw_pte_kind kind;
	uint32_t order;
	uint32_t perm;
	uint32_t state; /* GW_PT_ACCESSED, GW_PT_DIRTY, GW_PT_FROZEN; 0 in a table that does not track */
	uint64_t pa;
};

static inline unsigned int gw_level_shift(unsigned int level)
{
	return GODWIT_PT_PAGE_SHIFT + GODWIT_PT_LEVEL_BITS * level;
}

/* Low bits of an offset within one entry of this level. */
static inline uint64_t gw_level_mask(unsigned int level)
{
	return ((uint64_t)1 << gw_level_shift(level)) - 1;
}

static inline uint64_t gw_order_mask(uint32_t order)
{
	return ((uint64_t)1 << (GODWIT_PT_PAGE_SHIFT + order)) - 1;
}

/* Order of a page that fills one entry of this level. */
static inline uint32_t gw_level_order(unsigned int level)
{
	return GODWIT_PT_LEVEL_BITS * level;
}

/* Entries that a page fills, in a table of the level that its order says: neighbours, from a multiple of their number on. */
static inline unsigned int gw_page_entries(uint32_t order)
{
	return 1u << order % GODWIT_PT_LEVEL_BITS;
}

/* First entry of the page around entry `index`. */
static inline unsigned int gw_page_index(unsigned int index, uint32_t order)
{
	return index & ~(gw_page_entries(order) - 1);
}

/* Largest of a set, which is not empty. */
static inline uint32_t gw_orders_largest(uint64_t orders)
{
	return 63 - (uint32_t)__builtin_clzll(orders);
}

static inline unsigned int gw_index(uint64_t offset, unsigned int level)
{
	return (unsigned int)(offset >> gw_level_shift(level)) & (GODWIT_PT_TABLE_ENTRIES - 1);
}

/* Last byte of what remains of [at, hi] in at's page. */
static inline uint64_t gw_page_end(uint64_t at, uint64_t hi, uint32_t order)
{
	uint64_t end = at | gw_order_mask(order);

	return end < hi ? end : hi;
}

/* ... in at's entry. */
static inline uint64_t gw_span_end(uint64_t at, uint64_t hi, unsigned int level)
{
	return gw_page_end(at, hi, gw_level_order(level));
}

/* Whether [lo, hi], which lies in one entry of this level, is all of it. */
static inline bool gw_span_full(uint64_t lo, uint64_t hi, unsigned int level)
{
	return hi - lo == gw_level_mask(level);
}

static inline uint64_t gw_entry_addr(uint64_t table, unsigned int index)
{
	return table + (uint64_t)index * GODWIT_PT_ENTRY_BYTES;
}

static inline uint64_t gw_read(const struct gw_pt *pt, uint64_t table, unsigned int index)
{
	return pt->ops->read(pt->ctx, gw_entry_addr(table, index));
}

static inline void gw_write(const struct gw_pt *pt, uint64_t table, unsigned int index, uint64_t pte)
{
	pt->ops->write(pt->ctx, gw_entry_addr(table, index), pte);
}

static inline unsigned int gw_va_bits(const struct gw_pt *pt)
{
	return gw_level_shift(pt->levels);
}

static inline uint64_t gw_offset(const struct gw_pt *pt, uint64_t va)
{
	return va & (((uint64_t)1 << gw_va_bits(pt)) - 1);
}

/* The canonical address of an offset. */
static inline uint64_t gw_va(const struct gw_pt *pt, uint64_t offset)
{
	uint64_t sign = (uint64_t)1 << (gw_va_bits(pt) - 1);

	return (offset ^ sign) - sign;
}

static inline int gw_fail_at(struct gw_pt *pt, uint64_t offset, int status)
{
	pt->error_va = gw_va(pt, offset) & ~gw_order_mask(GW_PT_ORDER_4K);
	return status;
}

/* pt_entry.c */
struct gw_pte gw_pte_decode(const struct gw_pt *pt, uint64_t raw, unsigned int level);
uint64_t gw_pte_table(uint64_t pa);
/* One entry, whichever, of the page of this order around `pa`. `state` counts only in a table that tracks. */
uint64_t gw_pte_leaf(const struct gw_pt *pt, uint64_t pa, uint32_t order, uint32_t perm, uint32_t state);
/* What the entries of the page around entry `index` say together; `pte` is that entry's. */
uint32_t gw_page_state(const struct gw_pt *pt, uint64_t table, unsigned int index, const struct gw_pte *pte);
/*
 * The order of the page that a leaf in at's entry of this level becomes part of: the largest of `orders` that lies within [lo, hi],
 * and that of one entry if none does. `orders` has that one.
 */
uint32_t gw_order_fit(uint64_t orders, unsigned int level, uint64_t at, uint64_t lo, uint64_t hi);
/*
 * Tables below the entries of `level` that [lo, hi] overlaps, when each entry of a level up to `leaf_level` that is
 * wholly inside needs none.
 */
uint64_t gw_tables_below(unsigned int level, unsigned int leaf_level, uint64_t lo, uint64_t hi);
/* Checks [va, va + size) and turns it into offsets [lo, hi]. */
int gw_pt_span(const struct gw_pt *pt, uint64_t va, uint64_t size, uint64_t *lo, uint64_t *hi);
bool gw_perm_legal(uint32_t perm);

/* pt_change.c: adds [va, va + size) to the ranges; `inval` may be NULL. */
void gw_inval_add(struct gw_pt_inval *inval, uint64_t va, uint64_t size);

/* pt_frames.c */
int gw_frames_reserve(const struct gw_pt *pt, struct gw_pt_frames *frames, uint64_t count);
void gw_frames_push(const struct gw_pt *pt, struct gw_pt_frames *frames, uint64_t pa);
/* The frame reads as zero again. GW_PT_NO_FRAME: there is none, or the memory that links them is no longer what was written there. */
uint64_t gw_frames_pop(const struct gw_pt *pt, struct gw_pt_frames *frames);
void gw_frames_free(const struct gw_pt *pt, struct gw_pt_frames *frames);
/* After the writes that @frames were reserved for: those left over are given back, for then memory was not as planned. */
int gw_frames_end(struct gw_pt *pt, struct gw_pt_frames *frames, uint64_t offset, int status);

#endif /* GODWIT_PT_INTERNAL_H_ */
