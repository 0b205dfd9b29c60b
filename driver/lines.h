/* SPDX-License-Identifier: GPL-2.0-only */
/* Which host memory crosses the link, as the card counts it: lines.c. */
#ifndef GODWIT_LINES_H_
#define GODWIT_LINES_H_

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct godwit_context;
struct godwit_device;

/**
 * struct godwit_lines - the access counters of a card
 * @on: it has them, and they count
 * @lock: their registers, and what follows
 * @pages: who uses a page in place of which it is decided by its lines: context and page, by the bus's page number
 * @threshold: lines that make a report
 * @line_ps: what a line costs, as it was measured last; 0: not yet
 * @mark_ns: when that began
 * @mark_lines: the card's count of lines then
 * @served_ns: since then, time in which kernels may have waited for the driver
 */
struct godwit_lines {
	bool on;
	struct mutex lock;
	struct xarray pages;
	u32 threshold;
	u64 line_ps;
	u64 mark_ns;
	u32 mark_lines;
	u64 served_ns;
};

void godwit_lines_init(struct godwit_device *gdev);
void godwit_lines_fini(struct godwit_device *gdev);
void godwit_lines_begin(struct godwit_device *gdev);
void godwit_lines_served(struct godwit_device *gdev, u64 since_ns);
bool godwit_lines_serve(struct godwit_device *gdev);
bool godwit_lines_add(struct godwit_context *ctx, u64 page, dma_addr_t bus);
void godwit_lines_settle(struct godwit_context *ctx, dma_addr_t bus);
void godwit_lines_remove(struct godwit_context *ctx, u64 page, dma_addr_t bus);
u64 godwit_lines_cost(struct godwit_device *gdev);

#endif /* GODWIT_LINES_H_ */
