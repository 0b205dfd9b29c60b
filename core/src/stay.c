// SPDX-License-Identifier: Apache-2.0
/* Groups of pages that stay in the host's memory, and when they move. */
#include <godwit/stay.h>

/* flags: the last stay showed that the device is the place. */
#define GW_LEANS 1u
/* flags: this stay looks whether that still holds. */
#define GW_LOOKS 2u
/* flags: this stay began in place, and moved. */
#define GW_WENT 4u

static uint8_t gw_next_wait(const struct gw_stay *s)
{
	uint32_t wait = GW_STAY_FIRST_LOOK << s->looks;

	return (uint8_t)(wait < GW_STAY_LAST_LOOK ? wait : GW_STAY_LAST_LOOK);
}

/* Whether the lines so far have cost this price, doubled so often. */
static bool gw_have_cost(const struct gw_stay *s, uint64_t line, uint64_t price, uint32_t shift)
{
	bool beyond = s->lines && line > UINT64_MAX / s->lines;
	uint64_t cost = beyond ? UINT64_MAX : line * s->lines;

	return cost && cost >= (price > UINT64_MAX >> shift ? UINT64_MAX : price << shift);
}

void gw_stay_begin(struct gw_stay *s)
{
	s->lines = 0;
	s->flags = (uint8_t)(s->flags & GW_LEANS);
	if (s->flags & GW_LEANS && s->wait) {
		s->wait--;
		s->place = GW_STAY_DEVICE;
		return;
	}
	s->flags |= s->flags & GW_LEANS ? GW_LOOKS : 0;
	if (s->wait)
		s->wait--;
	s->place = GW_STAY_IN_PLACE;
}

void gw_stay_crossed(struct gw_stay *s, uint32_t lines)
{
	if (s->place != GW_STAY_IN_PLACE)
		return;
	s->lines = lines > UINT32_MAX - s->lines ? UINT32_MAX : s->lines + lines;
}

bool gw_stay_due(const struct gw_stay *s, const struct gw_stay_costs *costs)
{
	if (s->place != GW_STAY_IN_PLACE)
		return false;
	return gw_have_cost(s, costs->line, s->flags & GW_LOOKS ? costs->begin : costs->move, s->shift);
}

void gw_stay_moved(struct gw_stay *s)
{
	s->place = GW_STAY_DEVICE;
	s->flags |= GW_WENT;
}

void gw_stay_refused(struct gw_stay *s)
{
	s->place = GW_STAY_IN_PLACE;
	s->flags = (uint8_t)(s->flags & ~(GW_LEANS | GW_LOOKS | GW_WENT));
	s->wait = 0;
	if (s->shift < GW_STAY_MAX_SHIFT)
		s->shift++;
}

bool gw_stay_wants_lines(const struct gw_stay *s)
{
	return s->place == GW_STAY_IN_PLACE && !s->wait;
}

void gw_stay_end(struct gw_stay *s, const struct gw_stay_costs *costs, bool evicted, uint32_t salt)
{
	bool leant = s->flags & GW_LEANS;
	bool began_on_device = s->place == GW_STAY_DEVICE && !(s->flags & GW_WENT);

	if (s->place == GW_STAY_DEVICE && evicted) {
		gw_stay_refused(s);
	} else {
		/* On the device nothing was seen: what was known holds. */
		bool leans = began_on_device || s->flags & GW_WENT || gw_have_cost(s, costs->line, costs->begin, 0);

		if (leans && !leant) {
			s->looks = 0;
			s->wait = (uint8_t)(gw_next_wait(s) + salt % GW_STAY_FIRST_LOOK);
		} else if (leans && !began_on_device) {
			if (GW_STAY_FIRST_LOOK << s->looks < GW_STAY_LAST_LOOK)
				s->looks++;
			s->wait = gw_next_wait(s);
		} else if (!leans && !s->wait) {
			s->wait = GW_STAY_FIRST_LOOK;
		}
		s->flags = leans ? GW_LEANS : 0;
		if (s->shift && !evicted)
			s->shift--;
	}
	s->place = GW_STAY_HOME;
	s->lines = 0;
}
