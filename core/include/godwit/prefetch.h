/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pages come along with one that a device asked for.
 *
 * DOC: two kinds of evidence
 *   A *stream*: pages at one distance from each other, upwards or downwards. It shows in the pages of a 2 MiB block that
 *   were used (four in a row at the same distance), or in the faults (three times the same distance, for distances
 *   that leave a block). Then the next pages at that distance are fetched, four times as many at each fault that comes
 *   where the stream was expected. Nothing between them is moved.
 *   Otherwise *density*: the largest aligned part of the block of which enough pages were used. What was used is known
 *   from the A bits that the hardware keeps, so pages that were fetched in vain argue for nothing.
 *
 * DOC: streams that go on together
 *   A kernel that walks through several arrays asks for the next part of one, then of the other, round and round. Who brings
 *   the first one's part alone lets it wait for the second's. So after a stream has gone on, the one that went on after it before is
 *   expected to, without being asked for; four times, then it has to be asked for again.
 *
 * DOC: what a fault is worth
 *   gw_prefetch.fault_pages is how many pages could be moved in the time that a fault takes. A part of the block is
 *   fetched once the faults seen in it have cost about what fetching it costs: as long as faults come one by one, about
 *   twice the time of the best choice is spent at most, whatever the accesses are going to be. Faults of a batch share
 *   its time, so each is worth less there. When pages come back that were never used, the value falls, to one page in
 *   the end.
 *
 * All functions are pure: memory of the caller, no globals, no allocation, no I/O. A decision is a hint: a caller may
 * move fewer pages.
 */
#ifndef GODWIT_PREFETCH_H_
#define GODWIT_PREFETCH_H_

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Pages of a block, and words of a bitmap of them. */
#define GW_PREFETCH_BLOCK 512u
#define GW_PREFETCH_WORDS 8u
/* Streams followed at a time; the least recently useful one makes room. */
#define GW_PREFETCH_STREAMS 16u
/* Pages of a stream's largest plan: 16 MiB when they are neighbours. */
#define GW_PREFETCH_MAX_WINDOW 4096u

/**
 * struct gw_prefetch_stream - a series of faults; private
 * @last: page of the newest fault
 * @next: where it goes on, if @window
 * @stride: pages between two; 0: one fault seen
 * @context: whose
 * @window: pages of the last plan; 0: not a stream yet
 * @repeats: how often @stride was seen
 * @age: when it was last useful
 * @then: the stream that went on after it last time, counted from 1; 0: itself, or none
 * @credit: how often that one may be expected after it before it has to be seen again
 */
struct gw_prefetch_stream {
	uint64_t last;
	uint64_t next;
	int64_t stride;
	uint32_t context;
	uint32_t window;
	uint32_t repeats;
	uint32_t age;
	uint32_t then;
	uint32_t credit;
};

/**
 * struct gw_prefetch - all state; private but for the parameters of gw_prefetch_init()
 */
struct gw_prefetch {
	struct gw_prefetch_stream streams[GW_PREFETCH_STREAMS];
	uint32_t fault_pages;
	uint32_t max_window;
	uint32_t first_window;
	uint32_t clock;
	/* The stream that went on last, from 1, and whether it was only expected to. */
	uint32_t newest;
	bool guessed;
	/* Pages that came back, and those of them that were used; halved now and then. */
	uint32_t returned;
	uint32_t used;
};

/**
 * struct gw_prefetch_fault - a page that is asked for
 * @page: its number
 * @first: first and
 * @last: last page that may be moved with it, such as those of the mapping; @page is one of them
 * @context: whose it is
 */
struct gw_prefetch_fault {
	uint64_t page;
	uint64_t first;
	uint64_t last;
	uint32_t context;
};

/**
 * struct gw_prefetch_block - the 2 MiB around a page, a bit a page
 * @used: asked for, by the whole batch, or accessed. Resident pages without their A bit are not in it.
 * @resident: on the device
 */
struct gw_prefetch_block {
	uint64_t used[GW_PREFETCH_WORDS];
	uint64_t resident[GW_PREFETCH_WORDS];
};

/**
 * struct gw_prefetch_plan - pages to be fetched: page + i * stride for i in [0, count)
 * @page: the first one; never beyond the limits of the fault, as all of them
 * @stride: pages from one to the next, not 0
 * @count: at least 1; the page of the fault is one of them
 * @stream: they follow one another as those before did, and will most likely be used; otherwise they are near the fault, and
 *          what they would push out is as likely to be used
 */
struct gw_prefetch_plan {
	uint64_t page;
	int64_t stride;
	uint32_t count;
	bool stream;
};

/**
 * gw_prefetch_init() - nothing seen yet
 * @p: state
 * @fault_pages: what a fault is worth, in pages, 1 to GW_PREFETCH_BLOCK; values beyond are taken for the nearest
 * @max_window: largest plan of a stream, 1 to GW_PREFETCH_MAX_WINDOW, likewise; an eighth of the device's memory or less,
 *              so that a plan does not push out what it brought itself
 */
void gw_prefetch_init(struct gw_prefetch *p, uint32_t fault_pages, uint32_t max_window);

/**
 * gw_prefetch_limit() - how large plans of streams are from now on
 * @p: state
 * @max_window: as for gw_prefetch_init()
 * @full: what comes pushes out others: streams begin with two pages, not with sixteen. Where groups have left, used pages end
 *        as they do where a stream is, and only that it goes on tells.
 */
void gw_prefetch_limit(struct gw_prefetch *p, uint32_t max_window, bool full);

/**
 * gw_prefetch_plan() - what to fetch for a fault
 * @p: state
 * @fault: the page and how far one may go
 * @block: what is known of the 2 MiB block of the page
 * @plan: the answer; pages of it that are resident are skipped by the caller
 *
 * To be called for the pages of a batch in ascending order, leaving out those that an earlier plan covers.
 */
void gw_prefetch_plan(struct gw_prefetch *p, const struct gw_prefetch_fault *fault,
		      const struct gw_prefetch_block *block, struct gw_prefetch_plan *plan);

/**
 * gw_prefetch_time() - counts the faults so far
 * @p: state
 */
uint32_t gw_prefetch_time(const struct gw_prefetch *p);

/**
 * gw_prefetch_expect() - whether another stream will be asked for to go on, after the one that did last
 * @p: state
 * @context: whose
 * @since: gw_prefetch_time() before the batch: a stream that went on in it is not expected to again
 * @page: where, if so
 *
 * To be called after the faults of a batch, again and again until it says no. What comes is planned as for a fault at @page, by
 * gw_prefetch_plan(), or left.
 */
bool gw_prefetch_expect(struct gw_prefetch *p, uint32_t context, uint32_t since, uint64_t *page);

/**
 * gw_prefetch_returned() - pages that had been fetched without being asked for have left the device
 * @p: state
 * @pages: how many
 * @used: how many of them had been accessed
 */
void gw_prefetch_returned(struct gw_prefetch *p, uint32_t pages, uint32_t used);

#ifdef __cplusplus
}
#endif

#endif /* GODWIT_PREFETCH_H_ */
