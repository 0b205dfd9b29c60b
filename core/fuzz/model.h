/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzzer compares with: mapped runs in a sorted array, without any notion of page sizes or tables. Addresses
 * are numbers of 4 KiB pages; virtual ones are those of the 64-bit address, so both halves are just far apart.
 */
#ifndef GODWIT_FUZZ_MODEL_H_
#define GODWIT_FUZZ_MODEL_H_

#include <stdbool.h>
#include <stdint.h>

#define MODEL_RUNS 512u

struct run {
	uint64_t first, last; /* virtual pages, both included */
	uint64_t ppn;         /* of the first one */
	uint32_t perm;
};

struct model {
	struct run runs[MODEL_RUNS];
	unsigned int count;
};

/* The run with this page, or NULL. */
const struct run *model_find(const struct model *model, uint64_t vpn);
/* The first mapped page of [first, last]; false if there is none. */
bool model_first_mapped(const struct model *model, uint64_t first, uint64_t last, uint64_t *vpn);
/* The first page of [first, last] that is not mapped; false if there is none. */
bool model_first_hole(const struct model *model, uint64_t first, uint64_t last, uint64_t *vpn);

void model_map(struct model *model, uint64_t first, uint64_t last, uint64_t ppn, uint32_t perm);
void model_unmap(struct model *model, uint64_t first, uint64_t last);
void model_protect(struct model *model, uint64_t first, uint64_t last, uint32_t perm);

#endif /* GODWIT_FUZZ_MODEL_H_ */
