// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of a process in the card's tables, where neighbours share an entry. Pages that are in a row for the card, too, and that it may
 * use alike, are mapped in one go, with entries of 64 KiB or 2 MiB where they fill these; what comes piece by piece is joined when the
 * last of it is there. A part that goes splits such an entry. All under the context's lock.
 */
#include <linux/dma-mapping.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "entries.h"

static enum dma_data_direction godwit_direction(const struct godwit_page *page)
{
	return page->write ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
}

/* Has the card find a page. */
int godwit_page_reach(struct godwit_context *ctx, struct godwit_page *page)
{
	struct device *dev = &ctx->device->pdev->dev;

	if (page->device)
		return 0;
	page->bus = dma_map_page_attrs(dev, page->page, 0, PAGE_SIZE, godwit_direction(page), GODWIT_SHARED_ATTRS);
	return dma_mapping_error(dev, page->bus) ? -EIO : 0;
}

void godwit_page_hide(struct device *dev, const struct godwit_page *page)
{
	if (!page->device)
		dma_unmap_page_attrs(dev, page->bus, PAGE_SIZE, godwit_direction(page), GODWIT_SHARED_ATTRS);
}

/* A page has come, or goes. */
static void godwit_tell(struct godwit_context *ctx, const struct godwit_page *page, int pages)
{
	if (page->device)
		ctx->device_pages += pages;
	else
		ctx->host_pages += pages;
}

void godwit_page_forget(struct godwit_context *ctx, struct device *dev, unsigned long index, struct godwit_page *page)
{
	xa_erase(&ctx->pages, index);
	if (page->counted)
		godwit_lines_remove(ctx, index, page->bus);
	godwit_tell(ctx, page, -1);
	godwit_page_hide(dev, page);
}

/* Larger entries at the two ends go whole. */
static void godwit_widen(struct godwit_context *ctx, unsigned long *first, unsigned long *last)
{
	struct gw_pt_mapping entry;

	if (!gw_pt_lookup(&ctx->table, (u64)*first << PAGE_SHIFT, &entry))
		*first = entry.va >> PAGE_SHIFT;
	if (!gw_pt_lookup(&ctx->table, (u64)*last << PAGE_SHIFT, &entry))
		*last = (entry.va >> PAGE_SHIFT) + BIT(entry.order) - 1;
}

/*
 * Unmaps pages in a row, and says which these were: more, when a larger entry cannot be split for lack of a frame. The card asks for the
 * others again.
 */
static bool godwit_unmap_row(struct godwit_context *ctx, unsigned long *first, unsigned long *last, struct gw_pt_inval *what)
{
	int status = gw_pt_unmap(&ctx->table, (u64)*first << PAGE_SHIFT, (u64)(*last - *first + 1) << PAGE_SHIFT, what);

	if (status == GW_PT_ENOMEM) {
		godwit_widen(ctx, first, last);
		status = gw_pt_unmap(&ctx->table, (u64)*first << PAGE_SHIFT, (u64)(*last - *first + 1) << PAGE_SHIFT, what);
	}
	return status == GW_PT_OK;
}

/* Unmaps the pages there are from @first to @last, and says how far that reaches. */
bool godwit_entries_unmap(struct godwit_context *ctx, unsigned long *first, unsigned long *last, struct gw_pt_inval *what)
{
	unsigned long index = *first, from, to, lowest = *first, highest = *last;
	bool done = true;

	while (xa_find(&ctx->pages, &index, *last, XA_PRESENT)) {
		from = index;
		while (index < *last && xa_load(&ctx->pages, index + 1))
			index++;
		to = index++;
		done &= godwit_unmap_row(ctx, &from, &to, what);
		lowest = min(lowest, from);
		highest = max(highest, to);
		if (to >= *last)
			break;
	}
	*first = lowest;
	*last = highest;
	return done;
}

/*
 * All of an aligned part is there, in a row for the card, too, and may be used alike: one entry says so. It need not be so, for that is
 * seen where the entries are.
 */
void godwit_entries_join(struct godwit_context *ctx, unsigned long index, u32 order)
{
	unsigned long first = round_down(index, BIT(order)), last = first + BIT(order) - 1, count = 0;
	struct godwit_page *begin = xa_load(&ctx->pages, first), *page = xa_load(&ctx->pages, last);
	struct gw_pt_range range;
	struct gw_pt_inval what = { .ranges = &range, .capacity = 1 };
	static const struct godwit_flushed none;
	u64 pa;

	/* Most that are not complete lack their end or their beginning. */
	if (!READ_ONCE(godwit_param_large_pages) || !begin || !page)
		return;
	pa = godwit_page_place(begin);
	if (pa % (PAGE_SIZE << order))
		return;
	xa_for_each_range(&ctx->pages, index, page, first, last) {
		if (godwit_page_place(page) != pa + ((u64)(index - first) << PAGE_SHIFT) || page->write != begin->write)
			return;
		count++;
	}
	if (count != BIT(order) || gw_pt_join(&ctx->table, (u64)first << PAGE_SHIFT, order, &what))
		return;
	if (what.tables)
		godwit_count(ctx->device, GODWIT_EVENT_JOINS, 1);
	/* Where a walk may still be in it, the table stays as it is. */
	if (what.tables && !godwit_invalidate(ctx->device, ctx->number, &what, &none))
		gw_pt_reclaim(&ctx->table);
}

static int godwit_map_pages(struct godwit_context *ctx, struct godwit_row *row, unsigned long at, unsigned long count)
{
	u32 order = READ_ONCE(godwit_param_large_pages) ? GW_PT_ORDER_2M : GW_PT_ORDER_4K;
	struct gw_pt_range what = { .va = (u64)(row->first + at) << PAGE_SHIFT, .size = (u64)count << PAGE_SHIFT };
	int err = godwit_table_map(ctx->device, &ctx->table, &what, row->pa + ((u64)at << PAGE_SHIFT), row->perm, order);

	if (err)
		return err;
	row->shown += count;
	godwit_count(ctx->device, GODWIT_EVENT_PAGES_SHOWN, count);
	return 0;
}

/* Maps what is gathered; of what cannot be mapped together each page that can. After an error some of them are not there. */
int godwit_entries_map(struct godwit_context *ctx, struct godwit_row *row)
{
	unsigned long i, next = row->first + row->count, group = BIT(GW_PT_ORDER_64K);
	int err = 0;

	if (row->count && godwit_map_pages(ctx, row, 0, row->count)) {
		for (i = 0; i < row->count; i++) {
			struct godwit_page *page = xa_load(&ctx->pages, row->first + i);
			int failed = godwit_map_pages(ctx, row, i, 1);

			if (!failed)
				continue;
			godwit_page_forget(ctx, &ctx->device->pdev->dev, row->first + i, page);
			kfree(page);
			/* Pinned meanwhile. */
			if (failed != -EEXIST)
				err = failed;
		}
	}
	if (row->count && row->first % group)
		godwit_entries_join(ctx, row->first, GW_PT_ORDER_64K);
	if (row->count && next % group)
		godwit_entries_join(ctx, next, GW_PT_ORDER_64K);
	row->count = 0;
	return err;
}

/* Has a page be mapped with others in a row, and takes it over; what is not in a row with those gathered is mapped before. */
int godwit_entries_add(struct godwit_context *ctx, struct godwit_row *row, unsigned long index, struct godwit_page *page)
{
	u32 perm = page->write ? GW_PT_READ | GW_PT_WRITE : GW_PT_READ;
	u64 pa = godwit_page_place(page);
	int err = 0;

	if (index != row->first + row->count || pa != row->pa + ((u64)row->count << PAGE_SHIFT) || perm != row->perm)
		err = godwit_entries_map(ctx, row);
	/* Its place was reserved, but somebody who brought the same may have given that back. */
	if (!err)
		err = xa_err(xa_store(&ctx->pages, index, page, GFP_NOWAIT | __GFP_NOWARN));
	if (err)
		return err;
	godwit_tell(ctx, page, 1);
	if (!row->count)
		*row = (struct godwit_row){ .first = index, .pa = pa, .perm = perm, .shown = row->shown };
	row->count++;
	return 0;
}
