// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory that /dev/godwit-cmt gives, taken when the module is loaded: all that the parameters ask for, or the module is not
 * loaded. Either areas that were reserved at boot, at their addresses, or pages of Linux, in pieces as large as there are. Without
 * parameters, the areas that the machine's description names.
 */
#include <linux/highmem.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/sort.h>

#include "cmt.h"
#include "compat.h"

#define GODWIT_CMT_NAME "godwit-cmt"
/* Pieces of Linux's pages: the largest that it keeps, and the smallest that is worth having. */
#define GODWIT_CMT_LARGEST SZ_4M
#define GODWIT_CMT_SMALLEST SZ_64K
/* So often it is asked for all in one piece. */
#define GODWIT_CMT_TRIES 5
/* Between two looks at who else wants the processor. */
#define GODWIT_CMT_STEP SZ_1M

static unsigned int godwit_cmt_mib;
module_param_named(cmt_mib, godwit_cmt_mib, uint, 0444);
MODULE_PARM_DESC(cmt_mib, "MiB of Linux's pages that /dev/godwit-cmt gives as contiguous memory (default: 0, no device)");

static char *godwit_cmt_texts[GODWIT_CMT_MAX_AREAS];
static int godwit_cmt_text_count;
module_param_array_named(cmt_areas, godwit_cmt_texts, charp, &godwit_cmt_text_count, 0444);
MODULE_PARM_DESC(cmt_areas,
		 "Memory reserved at boot that /dev/godwit-cmt gives instead: up to 16 of BASE:BYTES[:NODE], such as 0x40000000:64M");

/**
 * struct godwit_cmt_areas - what was taken
 * @list: areas
 * @count: how many of them are taken
 * @mapped: of each area that was reserved, where this driver sees it; NULL if all are Linux's pages
 */
static struct godwit_cmt_areas {
	struct gw_range_area *list;
	u32 count;
	void **mapped;
} godwit_cmt_areas;

static struct godwit_cmt_described godwit_cmt_described;

bool godwit_cmt_has_pages(void)
{
	return !godwit_cmt_areas.mapped;
}

static void godwit_cmt_clear_pages(u64 base, u64 bytes)
{
	unsigned long pfn = PHYS_PFN(base), end = PHYS_PFN(base + bytes);

	for (; pfn < end; pfn++) {
		clear_highpage(pfn_to_page(pfn));
		if (IS_ALIGNED(pfn, GODWIT_CMT_STEP >> PAGE_SHIFT))
			cond_resched();
	}
}

/* A block may have parts of several areas, if they touch. */
static void godwit_cmt_clear_reserved(u64 base, u64 bytes)
{
	u64 end = base + bytes, at, step;
	u32 i;

	for (i = 0; i < godwit_cmt_areas.count; i++) {
		const struct gw_range_area *area = &godwit_cmt_areas.list[i];
		u64 last = min(end, area->base + area->bytes);

		for (at = max(base, area->base); at < last; at += step) {
			step = min_t(u64, last - at, GODWIT_CMT_STEP);
			memset(godwit_cmt_areas.mapped[i] + (at - area->base), 0, step);
			cond_resched();
		}
	}
}

void godwit_cmt_clear(u64 base, u64 bytes)
{
	if (godwit_cmt_has_pages())
		godwit_cmt_clear_pages(base, bytes);
	else
		godwit_cmt_clear_reserved(base, bytes);
}

bool godwit_cmt_is_used(u64 base, u64 bytes)
{
	unsigned long pfn = PHYS_PFN(base), end = PHYS_PFN(base + bytes);

	/* Nobody can pin what is mapped without pages. */
	if (!godwit_cmt_has_pages())
		return false;
	for (; pfn < end; pfn++)
		if (page_count(pfn_to_page(pfn)) != 1)
			return true;
	return false;
}

static int godwit_cmt_compare(const void *one, const void *other)
{
	const struct gw_range_area *a = one, *b = other;

	return a->base < b->base ? -1 : a->base > b->base;
}

/* Areas of one node that touch become one. */
static void godwit_cmt_join(void)
{
	struct gw_range_area *list = godwit_cmt_areas.list;
	u32 i, joined = 0;

	sort(list, godwit_cmt_areas.count, sizeof(*list), godwit_cmt_compare, NULL);
	for (i = 1; i < godwit_cmt_areas.count; i++) {
		if (list[joined].base + list[joined].bytes == list[i].base && list[joined].node == list[i].node)
			list[joined].bytes += list[i].bytes;
		else
			list[++joined] = list[i];
	}
	godwit_cmt_areas.count = min(godwit_cmt_areas.count, joined + 1);
}

static void godwit_cmt_add(struct page *page, u64 bytes)
{
	godwit_cmt_areas.list[godwit_cmt_areas.count++] = (struct gw_range_area){
		.base = page_to_phys(page),
		.bytes = bytes,
		.node = page_to_nid(page),
	};
}

/* In one piece if the kernel can make one, else in pieces that get smaller as there are no larger ones. */
static int godwit_cmt_take_pages(void)
{
	unsigned int order = get_order(GODWIT_CMT_LARGEST), least = get_order(GODWIT_CMT_SMALLEST), tries;
	u64 bytes = (u64)godwit_cmt_mib << 20, left = bytes;
	struct page *page;

	if (PHYS_PFN(bytes) >= totalram_pages()) {
		pr_err(GODWIT_CMT_NAME ": cmt_mib=%u: the machine has %lu MiB\n", godwit_cmt_mib,
		       totalram_pages() >> (20 - PAGE_SHIFT));
		return -EINVAL;
	}
	godwit_cmt_areas.list = kvcalloc(bytes / GODWIT_CMT_SMALLEST, sizeof(*godwit_cmt_areas.list), GFP_KERNEL);
	if (!godwit_cmt_areas.list)
		return -ENOMEM;
	/* A page that someone holds for a moment is in the way of one piece, and may not be a moment later. */
	for (page = NULL, tries = 0; !page && tries < GODWIT_CMT_TRIES; tries++)
		page = godwit_contig_pages(PHYS_PFN(bytes));
	if (page) {
		godwit_cmt_add(page, bytes);
		return 0;
	}
	while (left) {
		page = NULL;
		if (PAGE_SIZE << order <= left)
			page = alloc_pages(GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY, order);
		if (page) {
			split_page(page, order);
			godwit_cmt_add(page, PAGE_SIZE << order);
			left -= PAGE_SIZE << order;
		} else if (order-- <= least) {
			pr_err(GODWIT_CMT_NAME ": cmt_mib=%u: there are no more than %llu MiB in pieces of %u KiB\n",
			       godwit_cmt_mib, (bytes - left) >> 20, GODWIT_CMT_SMALLEST >> 10);
			return -ENOMEM;
		}
	}
	godwit_cmt_join();
	return 0;
}

static void godwit_cmt_give_pages(void)
{
	unsigned long pfn, end;
	u32 i;

	for (i = 0; i < godwit_cmt_areas.count; i++) {
		pfn = PHYS_PFN(godwit_cmt_areas.list[i].base);
		end = pfn + PHYS_PFN(godwit_cmt_areas.list[i].bytes);
		/* Those that are still pinned are freed when they are not. */
		for (; pfn < end; pfn++)
			__free_page(pfn_to_page(pfn));
	}
}

/* BASE:BYTES[:NODE] */
static int godwit_cmt_parse(const char *text, struct gw_range_area *area)
{
	char *rest;

	*area = (struct gw_range_area){ .base = memparse(text, &rest) };
	if (rest == text || *rest != ':')
		return -EINVAL;
	text = rest + 1;
	area->bytes = memparse(text, &rest);
	if (rest == text)
		return -EINVAL;
	if (*rest == ':')
		return kstrtou32(rest + 1, 0, &area->node);
	return *rest ? -EINVAL : 0;
}

/* Takes an area that @from has as @text. */
static int godwit_cmt_take_area(const struct gw_range_area *area, const char *from, const char *text)
{
	void *mapped;

	if (!area->bytes || !PAGE_ALIGNED(area->base | area->bytes) || area->base + area->bytes < area->base) {
		pr_err(GODWIT_CMT_NAME ": %s: \"%s\" is no BASE:BYTES[:NODE] in multiples of %lu bytes\n", from, text,
		       PAGE_SIZE);
		return -EINVAL;
	}
	if (region_intersects(area->base, area->bytes, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) != REGION_DISJOINT) {
		pr_err(GODWIT_CMT_NAME ": %s: \"%s\" is memory that Linux uses: memmap=%llu$%#llx reserves it at boot\n",
		       from, text, area->bytes, area->base);
		return -EINVAL;
	}
	if (!request_mem_region(area->base, area->bytes, GODWIT_CMT_NAME)) {
		pr_err(GODWIT_CMT_NAME ": %s: \"%s\" belongs to somebody else, as /proc/iomem says\n", from, text);
		return -EBUSY;
	}
	mapped = memremap(area->base, area->bytes, MEMREMAP_WB);
	if (!mapped) {
		release_mem_region(area->base, area->bytes);
		pr_err(GODWIT_CMT_NAME ": %s: \"%s\" cannot be mapped: it is no memory\n", from, text);
		return -ENXIO;
	}
	godwit_cmt_areas.list[godwit_cmt_areas.count] = *area;
	godwit_cmt_areas.mapped[godwit_cmt_areas.count++] = mapped;
	return 0;
}

static int godwit_cmt_room_for(u32 count)
{
	godwit_cmt_areas.list = kvcalloc(count, sizeof(*godwit_cmt_areas.list), GFP_KERNEL);
	godwit_cmt_areas.mapped = kvcalloc(count, sizeof(*godwit_cmt_areas.mapped), GFP_KERNEL);
	return godwit_cmt_areas.list && godwit_cmt_areas.mapped ? 0 : -ENOMEM;
}

static int godwit_cmt_take_reserved(void)
{
	int i, err = godwit_cmt_room_for(godwit_cmt_text_count);

	for (i = 0; i < godwit_cmt_text_count && !err; i++) {
		struct gw_range_area area = {};

		/* What cannot be read is an area of no bytes. */
		if (godwit_cmt_parse(godwit_cmt_texts[i], &area))
			area.bytes = 0;
		err = godwit_cmt_take_area(&area, "cmt_areas", godwit_cmt_texts[i]);
	}
	return err;
}

static int godwit_cmt_take_described(void)
{
	int err = godwit_cmt_describe(&godwit_cmt_described);
	char text[64];
	u32 i;

	if (err || !godwit_cmt_described.count) {
		godwit_cmt_describe_end(&godwit_cmt_described);
		return err;
	}
	err = godwit_cmt_room_for(godwit_cmt_described.count);
	for (i = 0; i < godwit_cmt_described.count && !err; i++) {
		const struct gw_range_area *area = &godwit_cmt_described.list[i];

		snprintf(text, sizeof(text), "%#llx:%llu:%u", area->base, area->bytes, area->node);
		err = godwit_cmt_take_area(area, "description", text);
	}
	return err;
}

static void godwit_cmt_give_reserved(void)
{
	u32 i;

	for (i = 0; i < godwit_cmt_areas.count; i++) {
		memunmap(godwit_cmt_areas.mapped[i]);
		release_mem_region(godwit_cmt_areas.list[i].base, godwit_cmt_areas.list[i].bytes);
	}
}

int godwit_cmt_areas_take(const struct gw_range_area **areas, u32 *count)
{
	int err = 0;
	u32 i;

	if (godwit_cmt_text_count && godwit_cmt_mib) {
		pr_err(GODWIT_CMT_NAME ": cmt_areas or cmt_mib, not both: what a device gives is all of one kind\n");
		return -EINVAL;
	}
	if (godwit_cmt_text_count)
		err = godwit_cmt_take_reserved();
	else if (godwit_cmt_mib)
		err = godwit_cmt_take_pages();
	else
		err = godwit_cmt_take_described();
	if (err) {
		godwit_cmt_areas_give();
		return err;
	}
	*areas = godwit_cmt_areas.list;
	*count = godwit_cmt_areas.count;
	/* What was there is nobody's to see. */
	for (i = 0; i < *count; i++)
		godwit_cmt_clear(godwit_cmt_areas.list[i].base, godwit_cmt_areas.list[i].bytes);
	return 0;
}

void godwit_cmt_areas_give(void)
{
	if (godwit_cmt_has_pages())
		godwit_cmt_give_pages();
	else
		godwit_cmt_give_reserved();
	kvfree(godwit_cmt_areas.list);
	kvfree(godwit_cmt_areas.mapped);
	godwit_cmt_areas = (struct godwit_cmt_areas){};
	godwit_cmt_describe_end(&godwit_cmt_described);
}
