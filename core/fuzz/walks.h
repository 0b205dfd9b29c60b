/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walker that reads the tables while a call writes them. It knows entries by their format alone (docs/page-tables.md): it shares
 * no code with core/.
 */
#ifndef GODWIT_FUZZ_WALKS_H_
#define GODWIT_FUZZ_WALKS_H_

#include "../test/memory.h"
#include "model.h"

/* One call on [first, last]: memory and mappings before it, what it wrote, and mappings after it. */
struct walks {
	const struct gw_pt *pt;
	const struct memory *memory;
	const struct memory_log *log;
	const struct model *before, *after;
	uint64_t first, last;
	uint64_t dice; /* not 0 */
};

/*
 * Walks whose reads come at random moments of the call: each page that a leaf they find covers is mapped there as it was before or as it
 * is after, and a page that they do not find is not mapped before or not after.
 */
void walks_check(struct walks *walks);

#endif /* GODWIT_FUZZ_WALKS_H_ */
