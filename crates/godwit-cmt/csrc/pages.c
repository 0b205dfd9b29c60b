// SPDX-License-Identifier: Apache-2.0
/*
 * Which memory has been handed out, and in what pages the system brings it. Huge pages take fewer faults and misses. But a
 * program that writes a byte into each of many blocks would hold many times the memory with them, and have all of it zeroed:
 * of each doubling of what has been handed out one piece is left to small pages, to see whether the others pay.
 */
#include "cmt_internal.h"

#include <string.h>
#include <sys/mman.h>

uint64_t cmt_seen(uint64_t offset, uint64_t bytes, bool zero)
{
	uint64_t end = offset + bytes, fresh = 0;

	for (uint64_t at = offset & ~(uint64_t)(CMT_SLICE - 1); at < end; at += CMT_SLICE) {
		uint64_t slice = at >> CMT_SLICE_SHIFT, bit = (uint64_t)1 << slice % 64;
		uint64_t *word = &cmt_pool.seen[slice / 64];

		if (__atomic_load_n(word, __ATOMIC_RELAXED) & bit ||
		    __atomic_fetch_or(word, bit, __ATOMIC_RELAXED) & bit) {
			uint64_t first = at > offset ? at : offset, last = at + CMT_SLICE < end ? at + CMT_SLICE : end;

			if (zero)
				memset(cmt_pool.base + first, 0, last - first);
		} else {
			fresh += CMT_SLICE;
		}
	}
	if (fresh)
		__atomic_fetch_add(&cmt_pool.seen_bytes, fresh, __ATOMIC_RELAXED);
	return fresh;
}

void cmt_huge_pages(uint64_t offset, uint64_t bytes)
{
	uint64_t first = (offset + CMT_HUGE_PAGE - 1) & ~(CMT_HUGE_PAGE - 1), end = (offset + bytes) & ~(CMT_HUGE_PAGE - 1);

	/* The huge page that a large piece ends in, too: with neither that one nor its neighbour asking, all of it would come in small ones. */
	if (bytes >= CMT_HUGE_PAGE && end < offset + bytes && end + CMT_HUGE_PAGE <= cmt_pool.bytes)
		end += CMT_HUGE_PAGE;
	/* Not to have them is no failure. */
	if (cmt_pool.huge_later && first < end)
		madvise(cmt_pool.base + first, end - first, MADV_HUGEPAGE);
}

/* Whether a program writes into most of what it has. What was found holds until a quarter more has been handed out. */
static bool cmt_dense(struct cmt_probe *probe, uint64_t now)
{
	unsigned char there[CMT_HUGE_PAGE / CMT_PAGE];
	size_t count = 0;

	if (now - probe->looked < probe->looked / 4)
		return probe->dense;
	probe->looked = now;
	probe->dense = false;
	if (mincore(cmt_pool.base + probe->offset, CMT_HUGE_PAGE, there))
		return false;
	for (size_t page = 0; page < sizeof(there); page++)
		count += there[page] & 1;
	probe->dense = count >= sizeof(there) / 2;
	return probe->dense;
}

void cmt_pages_choose(struct cmt_probe *probe, uint64_t offset, uint64_t bytes, uint64_t now)
{
	if (bytes < CMT_HUGE_PAGE || !cmt_pool.huge_later)
		return;
	if (now > 2 * probe->at) {
		*probe = (struct cmt_probe){ .offset = offset, .at = now };
	} else if (cmt_dense(probe, now)) {
		cmt_huge_pages(offset, bytes);
	}
}
