// SPDX-License-Identifier: Apache-2.0
/* The validator, and the statuses in words. */
#include "pt_internal.h"

static int table_check(struct gw_pt *pt, uint64_t table, unsigned int level, uint64_t base, struct gw_pt_stats *stats)
{
	uint64_t page = 0;     /* the entry that began the page */
	unsigned int left = 0; /* entries of it that are still to come */
	bool used = false;
	unsigned int i;

	/* More tables than there are: one of them is linked twice. */
	if (++stats->tables > pt->tables)
		return gw_fail_at(pt, base, GW_PT_ECORRUPT);

	for (i = 0; i < GODWIT_PT_TABLE_ENTRIES; i++) {
		uint64_t raw = gw_read(pt, table, i);
		uint64_t at = base + ((uint64_t)i << gw_level_shift(level));
		struct gw_pte pte = gw_pte_decode(pt, raw, level);
		int status;

		/* What hardware sets, and freezing, may differ within a page. */
		if (pte.kind == GW_PTE_LEAF)
			raw = gw_pte_leaf(pt, pte.pa, pte.order, pte.perm, 0);
		if (pte.kind == GW_PTE_BAD || (pte.kind == GW_PTE_EMPTY && raw) || (left && raw != page) ||
		    (!left && pte.kind == GW_PTE_LEAF && i != gw_page_index(i, pte.order)))
			return gw_fail_at(pt, at, GW_PT_ECORRUPT);
		if (pte.kind == GW_PTE_TABLE) {
			status = table_check(pt, pte.pa, level - 1, at, stats);
			if (status)
				return status;
		} else if (pte.kind == GW_PTE_LEAF && !left) {
			page = raw;
			left = gw_page_entries(pte.order);
			stats->pages[pte.order]++;
		}
		left -= left ? 1 : 0;
		used |= pte.kind != GW_PTE_EMPTY;
	}
	if (!used && table != pt->root)
		return gw_fail_at(pt, base, GW_PT_ECORRUPT);
	return GW_PT_OK;
}

int gw_pt_check(struct gw_pt *pt, struct gw_pt_stats *stats)
{
	struct gw_pt_stats found = { 0 };
	int status = table_check(pt, pt->root, pt->levels - 1, 0, &found);

	if (!status && found.tables != pt->tables)
		status = gw_fail_at(pt, 0, GW_PT_ECORRUPT);
	if (stats)
		*stats = found;
	return status;
}

const char *gw_pt_reason(int status)
{
	switch (status) {
	case GW_PT_OK:
		return "done";
	case GW_PT_EMODE:
		return "the mode is none of Sv39, Sv48 and Sv57";
	case GW_PT_EALIGN:
		return "an address or the size is not a multiple of 4 KiB";
	case GW_PT_ESIZE:
		return "the size is zero";
	case GW_PT_ECANON:
		return "the virtual addresses do not lie within one canonical half of the address space";
	case GW_PT_EPHYS:
		return "the physical range ends above the 56-bit physical address space";
	case GW_PT_EPERM:
		return "the permission is neither read nor read and write";
	case GW_PT_EORDER:
		return "the page order, or the set of them, is not one that is possible here";
	case GW_PT_EEXIST:
		return "a page of the range is mapped already";
	case GW_PT_ENOENT:
		return "a page of the range is not mapped";
	case GW_PT_ENOMEM:
		return "there is no free frame for a table";
	case GW_PT_ECORRUPT:
		return "the table holds an entry that was not written here";
	case GW_PT_EAPART:
		return "the pages are not neighbours in physical memory, aligned, with one permission";
	default:
		return "unknown status";
	}
}
