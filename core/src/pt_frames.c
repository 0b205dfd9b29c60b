// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks of table frames without any memory of their own: a frame's first word holds the address of the next one. It is
 * a multiple of 4 KiB, so as an entry it is invalid: hardware that still walks through an unlinked table finds nothing.
 */
#include "pt_internal.h"

void gw_frames_push(const struct gw_pt *pt, struct gw_pt_frames *frames, uint64_t pa)
{
	gw_write(pt, pa, 0, frames->head);
	frames->head = pa;
	frames->count++;
}

uint64_t gw_frames_pop(const struct gw_pt *pt, struct gw_pt_frames *frames)
{
	uint64_t pa = frames->head;

	frames->head = gw_read(pt, pa, 0);
	frames->count--;
	gw_write(pt, pa, 0, 0);
	return pa;
}

void gw_frames_free(const struct gw_pt *pt, struct gw_pt_frames *frames)
{
	while (frames->count)
		pt->ops->free(pt->ctx, gw_frames_pop(pt, frames));
}

int gw_frames_reserve(const struct gw_pt *pt, struct gw_pt_frames *frames, uint64_t count)
{
	frames->head = 0;
	frames->count = 0;
	while (frames->count < count) {
		uint64_t pa = pt->ops->alloc(pt->ctx);

		if (pa & ((GODWIT_PT_PAGE_SIZE - 1) | ~(((uint64_t)1 << GODWIT_PA_BITS) - 1))) {
			gw_frames_free(pt, frames);
			return GW_PT_ENOMEM;
		}
		gw_frames_push(pt, frames, pa);
	}
	return GW_PT_OK;
}
