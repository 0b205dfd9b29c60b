// SPDX-License-Identifier: Apache-2.0
/* Groups of pages that stay in the host's memory, and when they move. */
#include <godwit/stay.h>

/* flags: the last stay showed that the device is the place. */
#define GW_LEANS 1u
/* flags: this stay looks whether that still holds. */
#define GW_LOOKS 2u
/* flags: this stay began in place, and moved. */
#define GW_WENT 4u
/* flags: the lines that are known are all those of a stay. */
#define GW_WHOLE 8u
/* Share of its price, as a shift, that lines may cost for a group to go back: one number stands for reads, which are waited for, and for writes. */
#define GW_BACK 1u

/* The kernel's headers have other names for these. */
#define GW_MOST ((uint64_t)-1)
#define GW_MOST_LINES ((uint32_t)-1)

static uint8_t gw_next_wait(const struct gw_stay *s)
{
	uint32_t wait = GW_STAY_FIRST_LOOK << s->looks;

	return (uint8_t)(wait < GW_STAY_LAST_LOOK ? wait : GW_STAY_LAST_LOOK);
}

/* Whether so many lines cost this price, doubled so often. */
static bool gw_they_cost(uint32_t lines, uint64_t line, uint64_t price, uint32_t shift)
{
	bool beyond = lines && line > GW_MOST / lines;
	uint64_t cost = beyond ? GW_MOST : line * lines;

	return cost && cost >= (price > GW_MOST >> shift ? GW_MOST : price << shift);
}

/* Notes the lines of a stay that was in place, whole or until it moved; of those that nobody asked for, only what is more than was known. */
static void gw_note_lines(struct gw_stay *s)
{
	bool whole = s->place == GW_STAY_IN_PLACE && !s->wait;

	if (!whole && s->place == GW_STAY_IN_PLACE && s->lines <= s->known)
		return;
	s->known = s->lines;
	s->flags = (uint8_t)(whole ? s->flags | GW_WHOLE : s->flags & ~GW_WHOLE);
}

/* Whether the lines that are known cost clearly less in place than moving at the begin of a stay: half of that. */
static bool gw_are_cheap(const struct gw_stay *s, const struct gw_stay_costs *costs)
{
	return s->known && costs->line && !gw_they_cost(s->known, costs->line, costs->begin >> GW_BACK, 0);
}

void gw_stay_begin(struct gw_stay *s)
{
	s->lines = 0;
	s->flags = (uint8_t)(s->flags & (GW_LEANS | GW_WHOLE));
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
	s->lines = lines > GW_MOST_LINES - s->lines ? GW_MOST_LINES : s->lines + lines;
}

bool gw_stay_due(const struct gw_stay *s, const struct gw_stay_costs *costs)
{
	if (s->place != GW_STAY_IN_PLACE)
		return false;
	return gw_they_cost(s->lines, costs->line, s->flags & GW_LOOKS ? costs->begin : costs->move, s->shift);
}

void gw_stay_moved(struct gw_stay *s)
{
	s->place = GW_STAY_DEVICE;
	s->flags |= GW_WENT;
}

void gw_stay_refused(struct gw_stay *s)
{
	s->place = GW_STAY_IN_PLACE;
	s->flags = 0;
	s->wait = 0;
	if (s->shift < GW_STAY_MAX_SHIFT)
		s->shift++;
}

bool gw_stay_wants_lines(const struct gw_stay *s)
{
	return s->place == GW_STAY_IN_PLACE && !s->wait;
}

/* A stay that was on the device all the time showed nothing: what was known holds, at what a line costs by now. */
static void gw_end_unseen(struct gw_stay *s, const struct gw_stay_costs *costs)
{
	if (!gw_are_cheap(s, costs))
		return;
	if (s->flags & GW_WHOLE) {
		s->flags = GW_WHOLE;
		s->wait = GW_STAY_FIRST_LOOK;
	} else {
		/* More would have come, had it not moved: the next stay looks. */
		s->wait = 0;
	}
}

/* A stay that began in place. */
static void gw_end_seen(struct gw_stay *s, const struct gw_stay_costs *costs, uint32_t salt)
{
	bool leant = s->flags & GW_LEANS, leans;
	uint8_t whole;

	gw_note_lines(s);
	whole = s->flags & GW_WHOLE;
	leans = s->flags & GW_WENT || gw_they_cost(s->lines, costs->line, costs->begin, 0) ||
		(whole && gw_they_cost(s->known, costs->line, costs->begin, 0));
	if (leans && !leant) {
		s->looks = 0;
		s->wait = (uint8_t)(gw_next_wait(s) + salt % GW_STAY_FIRST_LOOK);
	} else if (leans) {
		if (GW_STAY_FIRST_LOOK << s->looks < GW_STAY_LAST_LOOK)
			s->looks++;
		s->wait = gw_next_wait(s);
	} else if (!s->wait) {
		s->wait = GW_STAY_FIRST_LOOK;
	}
	s->flags = (uint8_t)(whole | (leans ? GW_LEANS : 0));
}

void gw_stay_end(struct gw_stay *s, const struct gw_stay_costs *costs, bool evicted, uint32_t salt)
{
	if (s->place == GW_STAY_DEVICE && evicted) {
		gw_stay_refused(s);
	} else {
		if (s->place == GW_STAY_DEVICE && !(s->flags & GW_WENT))
			gw_end_unseen(s, costs);
		else
			gw_end_seen(s, costs, salt);
		if (s->shift && !evicted)
			s->shift--;
	}
	s->place = GW_STAY_HOME;
	s->lines = 0;
}
