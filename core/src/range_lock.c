// SPDX-License-Identifier: Apache-2.0
/*
 * A lock for many or one, in one word. Who wants to be alone says so, and from then on nobody new shares, so that many
 * short shared holds cannot keep it out. There is no queue: a queue stands still whenever its next thread is not
 * running, and in user space that is most of the time when there are more threads than processors.
 */
#include "range_internal.h"

#define GW_ALONE 1u
#define GW_WANTED 2u
#define GW_SHARER 4u

static void gw_relax(const struct gw_range *r, uint32_t *looks)
{
	++*looks;
	if (r->relax)
		r->relax(*looks);
}

static bool gw_lock_swap(struct gw_range *r, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&r->lock, &from, to, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void gw_range_lock_shared(struct gw_range *r)
{
	uint32_t looks = 0;

	for (;;) {
		uint32_t state = __atomic_load_n(&r->lock, __ATOMIC_RELAXED);

		if (!(state & (GW_ALONE | GW_WANTED)) && gw_lock_swap(r, state, state + GW_SHARER))
			return;
		gw_relax(r, &looks);
	}
}

void gw_range_unlock_shared(struct gw_range *r)
{
	__atomic_fetch_sub(&r->lock, GW_SHARER, __ATOMIC_RELEASE);
}

void gw_range_lock_exclusive(struct gw_range *r)
{
	uint32_t looks = 0;

	for (;;) {
		uint32_t state = __atomic_load_n(&r->lock, __ATOMIC_RELAXED);

		/* Others that want it say so again. */
		if (!(state & ~GW_WANTED) && gw_lock_swap(r, state, GW_ALONE))
			return;
		if (!(state & GW_WANTED))
			__atomic_fetch_or(&r->lock, GW_WANTED, __ATOMIC_RELAXED);
		gw_relax(r, &looks);
	}
}

void gw_range_unlock_exclusive(struct gw_range *r)
{
	__atomic_fetch_and(&r->lock, ~GW_ALONE, __ATOMIC_RELEASE);
}

void gw_range_freeze(struct gw_range *r)
{
	gw_range_lock_exclusive(r);
}

void gw_range_thaw(struct gw_range *r)
{
	gw_range_unlock_exclusive(r);
}
