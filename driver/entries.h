/* SPDX-License-Identifier: GPL-2.0-only */
/* Pages of a process in the card's tables: what inplace.c and entries.c know of each other. */
#ifndef GODWIT_ENTRIES_H_
#define GODWIT_ENTRIES_H_

#include <linux/dma-mapping.h>

#include "driver.h"

/**
 * struct godwit_page - a page that the card reaches
 * @page: it
 * @bus: where the card finds it, in the host
 * @write: the card may write
 * @device: it is in device memory, and @bus says nothing
 * @counted: its lines over the link are told
 * @alone: no processor reaches it until it touches it
 * @since_ns: that is so
 */
struct godwit_page {
	struct page *page;
	dma_addr_t bus;
	bool write;
	bool device;
	bool counted;
	bool alone;
	u64 since_ns;
};

/**
 * struct godwit_row - pages in a row that are to be mapped
 * @first: number of the first one
 * @count: of them
 * @pa: where the card finds the first, and the others behind it
 * @perm: what it may do with all of them
 * @shown: pages that were mapped so far, in this row and those before
 */
struct godwit_row {
	unsigned long first;
	unsigned long count;
	u64 pa;
	u32 perm;
	unsigned long shown;
};

/* Where the card finds a page. */
static inline u64 godwit_page_place(const struct godwit_page *page)
{
	return page->device ? godwit_pool_address(page->page) : GODWIT_HOST_APERTURE_BASE + page->bus;
}

/* inplace.c */
int godwit_inplace_show(struct godwit_context *ctx, unsigned long index, struct page *found, bool write, struct godwit_page **fresh,
			struct godwit_row *row);

/* entries.c */
int godwit_page_reach(struct godwit_context *ctx, struct godwit_page *page);
void godwit_page_hide(struct device *dev, const struct godwit_page *page);
void godwit_page_forget(struct godwit_context *ctx, struct device *dev, unsigned long index, struct godwit_page *page);
void godwit_entries_join(struct godwit_context *ctx, unsigned long index, u32 order);
int godwit_entries_add(struct godwit_context *ctx, struct godwit_row *row, unsigned long index, struct godwit_page *page);
int godwit_entries_map(struct godwit_context *ctx, struct godwit_row *row);
bool godwit_entries_unmap(struct godwit_context *ctx, unsigned long *first, unsigned long *last, struct gw_pt_inval *what);

#endif /* GODWIT_ENTRIES_H_ */
