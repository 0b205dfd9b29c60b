// SPDX-License-Identifier: Apache-2.0
/* Questions about a block, and changing its size. */
#include "cmt_internal.h"

#include <errno.h>
#include <string.h>

/* The kind of a block that seems to be in use, or CMT_NONE. */
static uint32_t cmt_block_kind(const void *block)
{
	uint64_t offset = cmt_offset(block);
	uint32_t kind;

	if (offset >= cmt_pool.bytes)
		return CMT_NONE;
	kind = cmt_kind_get(offset);
	if (kind < CMT_SMALL)
		return kind < CMT_CACHED && !(offset & (((uint64_t)1 << cmt_pool.shift) - 1)) ? kind : CMT_NONE;
	if (offset % CMT_MIN_BLOCK || !(cmt_pool.checks ? cmt_live(block) : cmt_pool.pages[offset >> CMT_SLICE_SHIFT] != NULL))
		return CMT_NONE;
	return kind;
}

size_t gw_cmt_usable_size(const void *block)
{
	uint32_t kind = cmt_block_kind(block);
	uint64_t first, bytes = 0;

	if (kind >= CMT_SMALL)
		return mi_usable_size(block);
	if (kind == CMT_NONE && cmt_boot_size)
		return cmt_boot_size(block);
	if (kind == CMT_EXACT)
		gw_range_find(cmt_pool.range, cmt_pa(cmt_offset(block)), &first, &bytes);
	else if (kind != CMT_NONE)
		bytes = cmt_class_bytes(kind - CMT_CLASS);
	return (size_t)bytes;
}

static bool cmt_resize(void *block, size_t size)
{
	uint64_t pa = cmt_pa(cmt_offset(block));
	int status = gw_range_resize(cmt_pool.range, pa, size);

	if (status == GW_RANGE_EBUSY) {
		/* What follows may only wait in a cache. */
		cmt_reclaim();
		status = gw_range_resize(cmt_pool.range, pa, size);
	}
	if (status != GW_RANGE_OK) {
		cmt_fail(ENOMEM, "%p to %zu bytes: %s", block, size, gw_range_reason(status));
		return false;
	}
	__atomic_store_n(cmt_kind_of(cmt_offset(block)), CMT_EXACT, __ATOMIC_RELEASE);
	return true;
}

bool gw_cmt_expand(void *block, size_t size)
{
	uint32_t kind = cmt_pool.closed ? CMT_NONE : cmt_block_kind(block);

	if (kind == CMT_NONE) {
		cmt_misuse(block, "not a block in use");
		return false;
	}
	if (size <= gw_cmt_usable_size(block))
		return true;
	if (kind >= CMT_SMALL) {
		cmt_fail(ENOMEM, "%p to %zu bytes: a small block has neighbours", block, size);
		return false;
	}
	return cmt_resize(block, size);
}

void *cmt_realloc_rare(void *block, size_t size)
{
	size_t usable;
	void *moved;

	if (!block)
		return gw_cmt_malloc(size);
	if (!size) {
		gw_cmt_free(block);
		return NULL;
	}
	if (CMT_UNLIKELY(!gw_cmt_is_open() && cmt_boot_realloc))
		return cmt_boot_realloc(block, size);
	usable = gw_cmt_usable_size(block);
	if (!usable) {
		cmt_misuse(block, "not a block in use");
		return NULL;
	}
	if (size <= usable && (size >= usable / 2 || size <= CMT_MIN_BLOCK))
		return block;
	/* A large block grows and shrinks where it is; what becomes small moves out of it. */
	if (gw_cmt_owns(block) && cmt_block_kind(block) < CMT_SMALL && size > CMT_SMALL_MAX && !cmt_pool.closed && cmt_resize(block, size))
		return block;
	moved = gw_cmt_malloc(size);
	if (moved) {
		memcpy(moved, block, size < usable ? size : usable);
		gw_cmt_free(block);
	}
	return moved;
}

size_t gw_cmt_extents(const void *block, struct cmt_extent *extents, size_t capacity)
{
	size_t bytes = gw_cmt_owns(block) ? gw_cmt_usable_size(block) : 0;

	if (!bytes) {
		cmt_misuse(block, "not a block in use of this pool");
		return 0;
	}
	if (capacity)
		extents[0] = (struct cmt_extent){ cmt_pa(cmt_offset(block)), bytes };
	return 1;
}

uint64_t gw_cmt_physical(const void *address)
{
	uint64_t offset = cmt_offset(address), index;

	if (!cmt_pool.base || offset >= cmt_pool.bytes ||
	    gw_range_index(cmt_pool.range, cmt_pa(offset), &index) != GW_RANGE_OK) {
		cmt_misuse(address, "not of this pool");
		return 0;
	}
	return cmt_pa(offset);
}
