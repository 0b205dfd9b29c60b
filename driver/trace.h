/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints, in /sys/kernel/tracing/events/godwit. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM godwit

#if !defined(GODWIT_TRACE_H_) || defined(TRACE_HEADER_MULTI_READ)
#define GODWIT_TRACE_H_

#include <linux/tracepoint.h>

/* An accelerator touches a page that is not there. */
TRACE_EVENT(godwit_page_request,
	TP_PROTO(int card, u32 context, u64 page, bool write),
	TP_ARGS(card, context, page, write),
	TP_STRUCT__entry(
		__field(int, card)
		__field(u32, context)
		__field(u64, page)
		__field(bool, write)
	),
	TP_fast_assign(
		__entry->card = card;
		__entry->context = context;
		__entry->page = page;
		__entry->write = write;
	),
	TP_printk("card=%d context=%u page=%#llx %s", __entry->card, __entry->context, __entry->page,
		  __entry->write ? "write" : "read")
);

/* Requests that were taken from the ring together, and the groups of neighbours in them. */
TRACE_EVENT(godwit_batch,
	TP_PROTO(int card, u32 requests, u32 groups),
	TP_ARGS(card, requests, groups),
	TP_STRUCT__entry(
		__field(int, card)
		__field(u32, requests)
		__field(u32, groups)
	),
	TP_fast_assign(
		__entry->card = card;
		__entry->requests = requests;
		__entry->groups = groups;
	),
	TP_printk("card=%d requests=%u groups=%u", __entry->card, __entry->requests, __entry->groups)
);

/* A group was brought, or not: @error is what happened. */
TRACE_EVENT(godwit_bring,
	TP_PROTO(int card, u32 context, u64 page, u32 pages, int error),
	TP_ARGS(card, context, page, pages, error),
	TP_STRUCT__entry(
		__field(int, card)
		__field(u32, context)
		__field(u64, page)
		__field(u32, pages)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->card = card;
		__entry->context = context;
		__entry->page = page;
		__entry->pages = pages;
		__entry->error = error;
	),
	TP_printk("card=%d context=%u page=%#llx pages=%u error=%d", __entry->card, __entry->context, __entry->page,
		  __entry->pages, __entry->error)
);

/* Pages moved to device memory, or home. */
DECLARE_EVENT_CLASS(godwit_move,
	TP_PROTO(int card, u64 address, u32 pages),
	TP_ARGS(card, address, pages),
	TP_STRUCT__entry(
		__field(int, card)
		__field(u64, address)
		__field(u32, pages)
	),
	TP_fast_assign(
		__entry->card = card;
		__entry->address = address;
		__entry->pages = pages;
	),
	TP_printk("card=%d address=%#llx pages=%u", __entry->card, __entry->address, __entry->pages)
);

DEFINE_EVENT(godwit_move, godwit_out,
	TP_PROTO(int card, u64 address, u32 pages),
	TP_ARGS(card, address, pages)
);

DEFINE_EVENT(godwit_move, godwit_home,
	TP_PROTO(int card, u64 address, u32 pages),
	TP_ARGS(card, address, pages)
);

/* Lines of pages from @page on, of which the driver decides where they are, have crossed the link. */
TRACE_EVENT(godwit_lines,
	TP_PROTO(int card, u32 context, u64 page, u32 lines),
	TP_ARGS(card, context, page, lines),
	TP_STRUCT__entry(
		__field(int, card)
		__field(u32, context)
		__field(u64, page)
		__field(u32, lines)
	),
	TP_fast_assign(
		__entry->card = card;
		__entry->context = context;
		__entry->page = page;
		__entry->lines = lines;
	),
	TP_printk("card=%d context=%u page=%#llx lines=%u", __entry->card, __entry->context, __entry->page, __entry->lines)
);

/* They have cost as much as moving those pages does, which they did, or not. */
TRACE_EVENT(godwit_stay,
	TP_PROTO(int card, u32 context, u64 page, bool moved),
	TP_ARGS(card, context, page, moved),
	TP_STRUCT__entry(
		__field(int, card)
		__field(u32, context)
		__field(u64, page)
		__field(bool, moved)
	),
	TP_fast_assign(
		__entry->card = card;
		__entry->context = context;
		__entry->page = page;
		__entry->moved = moved;
	),
	TP_printk("card=%d context=%u page=%#llx %s", __entry->card, __entry->context, __entry->page,
		  __entry->moved ? "moved" : "refused")
);

/* The card has forgotten ranges of a context; none: all of it. */
TRACE_EVENT(godwit_invalidate,
	TP_PROTO(int card, u32 context, u32 ranges, int error),
	TP_ARGS(card, context, ranges, error),
	TP_STRUCT__entry(
		__field(int, card)
		__field(u32, context)
		__field(u32, ranges)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->card = card;
		__entry->context = context;
		__entry->ranges = ranges;
		__entry->error = error;
	),
	TP_printk("card=%d context=%u ranges=%u error=%d", __entry->card, __entry->context, __entry->ranges,
		  __entry->error)
);

/* A kernel starts. */
TRACE_EVENT(godwit_launch,
	TP_PROTO(int card, u32 context, u32 slot),
	TP_ARGS(card, context, slot),
	TP_STRUCT__entry(
		__field(int, card)
		__field(u32, context)
		__field(u32, slot)
	),
	TP_fast_assign(
		__entry->card = card;
		__entry->context = context;
		__entry->slot = slot;
	),
	TP_printk("card=%d context=%u slot=%u", __entry->card, __entry->context, __entry->slot)
);

/* It has ended; @error is of the wait, @end says how it ended by itself. */
TRACE_EVENT(godwit_launch_end,
	TP_PROTO(int card, u32 context, u32 slot, int error, u32 end),
	TP_ARGS(card, context, slot, error, end),
	TP_STRUCT__entry(
		__field(int, card)
		__field(u32, context)
		__field(u32, slot)
		__field(int, error)
		__field(u32, end)
	),
	TP_fast_assign(
		__entry->card = card;
		__entry->context = context;
		__entry->slot = slot;
		__entry->error = error;
		__entry->end = end;
	),
	TP_printk("card=%d context=%u slot=%u error=%d end=%u", __entry->card, __entry->context, __entry->slot,
		  __entry->error, __entry->end)
);

#endif /* GODWIT_TRACE_H_ */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
