/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pages a device uses in the host's memory, over the link, and which move to its own.
 *
 * DOC: model
 *   Pages are taken in groups, such as the 64 KiB for which access counters count. A *stay* begins when the device wants a
 *   group that is at home, and ends when the group goes home: because the host touches it, or because the device's memory is
 *   short. In between it is *in place*, where each line of it costs time on the link, or on the *device*, where lines are
 *   free and the way there has been paid. It may change from the first to the second, once.
 *
 * DOC: policy
 *   Without foresight: a group begins in place, and moves when its lines have cost as much as moving it then costs; so a stay
 *   costs at most about twice the least possible (the ski-rental bound), whatever comes. With memory: a stay whose lines have
 *   cost more than moving at its begin would have makes the next one begin on the device. On the device no line is counted, so
 *   after 16 to 31 such stays, then 32, then every 64, one begins in place to look whether that still holds; it moves as soon as its
 *   lines have cost what moving at the begin would have.
 *   What a line really costs may be known only when a stay on the device has been seen, too. So the lines of the last stay in place are kept:
 *   do they cost less than half of moving by now, the next stay is in place again; if they are not all of that stay's, for it moved, it looks.
 *   Hardware that counts lines reports a group from some number of lines on. What is below that is worth asking for at the end of the first stay
 *   in place, and of every 16th: a group may cost more than moving it, stay for stay, and never be reported.
 *   A stay on the device that ends for want of memory was worth nothing: the next one begins in place, and each such end doubles
 *   the price of moving, up to 64 times; each stay that the host ends halves it.
 *
 * DOC: costs
 *   In any unit of time. What a line costs depends on how many are under way, so the caller measures it; as long as it is not
 *   known it is 0, and nothing moves.
 *
 * All functions are pure: memory of the caller, no globals, no allocation, no I/O. No locks: one caller at a time.
 */
#ifndef GODWIT_STAY_H_
#define GODWIT_STAY_H_

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Stays on the device before one begins in place: at first, and at most. */
#define GW_STAY_FIRST_LOOK 16u
#define GW_STAY_LAST_LOOK 64u
/* Doublings of the price. */
#define GW_STAY_MAX_SHIFT 6u

/**
 * enum gw_stay_place - where a group is
 * @GW_STAY_HOME: with the host
 * @GW_STAY_IN_PLACE: the device uses it in the host's memory
 * @GW_STAY_DEVICE: in the device's memory
 */
enum gw_stay_place {
	GW_STAY_HOME = 0,
	GW_STAY_IN_PLACE = 1,
	GW_STAY_DEVICE = 2,
};

/**
 * struct gw_stay - one group; private but for @place, all zero at first
 * @lines: that crossed the link in this stay
 * @known: those of the last stay in place, as far as they were reported
 * @place: enum gw_stay_place
 * @flags: private
 * @shift: doublings of the price
 * @wait: stays before the next look, on the device, or count, in place
 * @looks: looks that showed that the device is the place
 */
struct gw_stay {
	uint32_t lines;
	uint32_t known;
	uint8_t place;
	uint8_t flags;
	uint8_t shift;
	uint8_t wait;
	uint8_t looks;
};

/**
 * struct gw_stay_costs - of one group, in one unit of time
 * @line: what a line over the link costs more than one of device memory, or at most; 0: not known yet
 * @begin: what moving it at the begin of a stay costs more than leaving it in place, both ways
 * @move: what moving it in a stay costs
 */
struct gw_stay_costs {
	uint64_t line;
	uint64_t begin;
	uint64_t move;
};

/**
 * gw_stay_begin() - a device wants the group, which is at home; its place is set
 */
void gw_stay_begin(struct gw_stay *s);

/**
 * gw_stay_crossed() - lines of a group in place have crossed the link, either way; nothing when it is not in place
 * @s: the group
 * @lines: how many more
 */
void gw_stay_crossed(struct gw_stay *s, uint32_t lines);

/**
 * gw_stay_due() - whether a group in place is to move now
 */
bool gw_stay_due(const struct gw_stay *s, const struct gw_stay_costs *costs);

/**
 * gw_stay_moved() - the group has moved: it is on the device now
 */
void gw_stay_moved(struct gw_stay *s);

/**
 * gw_stay_refused() - the group was to move, and there is no room: it is in place, and moving has twice the price
 */
void gw_stay_refused(struct gw_stay *s);

/**
 * gw_stay_wants_lines() - whether the lines of a stay that is about to end are to be known exactly, those that nobody reported, too
 */
bool gw_stay_wants_lines(const struct gw_stay *s);

/**
 * gw_stay_end() - the group is at home again
 * @s: the group
 * @costs: of it
 * @evicted: for want of device memory
 * @salt: any number that differs from group to group, such as its own: not all look at the same time
 */
void gw_stay_end(struct gw_stay *s, const struct gw_stay_costs *costs, bool evicted, uint32_t salt);

#ifdef __cplusplus
}
#endif

#endif /* GODWIT_STAY_H_ */
