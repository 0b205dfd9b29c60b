/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of contiguous memory (cmt.h) as arguments of kernels (godwit.h), for programs that link both libraries.
 *
 *   char config[128];
 *   godwit_cmt_config(card, 64 << 20, config, sizeof config);
 *   cmt_init(config);                                 the pool lies in the card's memory
 *   float *block = cmt_alloc_contiguous(1 << 20, NULL);
 *   godwit_share_block(context, block, 0, &buffer);   kernels may use it: godwit_pointer("values", block)
 *   ...
 *   godwit_free(buffer);
 *   cmt_free(block);
 */
#ifndef GODWIT_CMT_BLOCKS_H_
#define GODWIT_CMT_BLOCKS_H_

#include <cmt.h>
#include <godwit.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a block of that size is still in use there. */
static inline int godwit_block_in_use(const void *block, size_t size)
{
	struct cmt_extent extent;

	return cmt_extents(block, &extent, 1) == 1 && extent.bytes >= size;
}

/* Shares all of a block; `flags` as of godwit_share(). A block that was freed is refused, now and by every launch. */
static inline int godwit_share_block(godwit_context *context, void *block, uint32_t flags, godwit_buffer **buffer)
{
	return godwit_share(context, block, cmt_usable_size(block), 0, flags, godwit_block_in_use, buffer);
}

#ifdef __cplusplus
}
#endif

#endif /* GODWIT_CMT_BLOCKS_H_ */
