// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks of table frames without any memory of their own: a frame's first word holds the address of the next one. It is
 * a multiple of 4 KiB, so as an entry it is invalid: hardware that still walks through an unlinked table finds nothing.
 */
#include "pt_internal.h"

static bool is_frame(uint64_t pa)
{
	return !(pa & ((GODWIT_PT_PAGE_SIZE - 1) | ~(((uint64_t)1 << GODWIT_PA_BITS) - 1)));
}

void gw_frames_push(const struct gw_pt *pt, struct gw_pt_frames *frames, uint64_t pa)
{
	gw_write(pt, pa, 0, frames->head);
	frames->head = pa;
	frames->count++;
}

uint64_t gw_frames_pop(const struct gw_pt *pt, struct gw_pt_frames *frames)
{
	uint64_t pa = frames->head;

	if (!frames->count)
		return GW_PT_NO_FRAME;
	frames->head = gw_read(pt, pa, 0);
	frames->count--;
	/* Frames behind a link that was overwritten cannot be found: nobody gets them again. */
	if (frames->count && !is_frame(frames->head))
		frames->count = 0;
	gw_write(pt, pa, 0, 0);
	return pa;
}

void gw_frames_free(const struct gw_pt *pt, struct gw_pt_frames *frames)
{
	while (frames->count)
		pt->ops->free(pt->ctx, gw_frames_pop(pt, frames));
}

int gw_frames_end(struct gw_pt *pt, struct gw_pt_frames *frames, uint64_t offset, int status)
{
	if (!status && frames->count)
		status = gw_fail_at(pt, offset, GW_PT_ECORRUPT);
	gw_frames_free(pt, frames);
	return status;
}

int gw_frames_reserve(const struct gw_pt *pt, struct gw_pt_frames *frames, uint64_t count)
{
	frames->head = 0;
	frames->count = 0;
	while (frames->count < count) {
		uint64_t pa = pt->ops->alloc(pt->ctx);

		if (!is_frame(pa)) {
			gw_frames_free(pt, frames);
			return GW_PT_ENOMEM;
		}
		gw_frames_push(pt, frames, pa);
	}
	return GW_PT_OK;
}
