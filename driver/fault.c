// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page requests: the ring in host memory that the card writes, one record a page however many accesses wait, and what is
 * made of them: core sorts a batch into groups of neighbours, place.c says where each is to be, with it moves what is around it,
 * inplace.c brings it, and every record is answered once.
 *
 * Runs in the MMU's interrupt thread. A record is data of a card: contexts that are not there, addresses that no process
 * has and groups that nobody asked about are answered with a refusal or by nobody.
 */
#include <linux/dma-mapping.h>
#include <linux/log2.h>

#include "driver.h"
#include "trace.h"

#define GODWIT_RECORDS (PAGE_SIZE / GODWIT_PAGE_QUEUE_BYTES)

#define GODWIT_PQ_ON (GW_MMU__PAGE_QUEUE__PQCSR__PQEN_bm | GW_MMU__PAGE_QUEUE__PQCSR__PIE_bm)
#define GODWIT_PQ_UP (GW_MMU__PAGE_QUEUE__PQCSR__PIP_bm | GW_MMU__PAGE_QUEUE__PQCSR__PQTO_bm)

static struct gw_fault godwit_decode(const __le64 *record)
{
	u64 who = le64_to_cpu(READ_ONCE(record[0])), page = le64_to_cpu(READ_ONCE(record[1]));
	u64 group = GODWIT_PAGE_REQUEST_PAYLOAD_PLACE_MASK | GODWIT_PAGE_REQUEST_PAYLOAD_GENERATION_MASK;

	return (struct gw_fault){
		.page = page >> GODWIT_PAGE_REQUEST_PAYLOAD_PAGE_SHIFT,
		.context = (who & GODWIT_PAGE_REQUEST_PID_MASK) >> GODWIT_PAGE_REQUEST_PID_SHIFT,
		.tag = (page & group) >> GODWIT_PAGE_REQUEST_PAYLOAD_PLACE_SHIFT,
		.flags = page & GODWIT_PAGE_REQUEST_PAYLOAD_W_MASK ? GW_FAULT_WRITE : 0,
	};
}

/* Moves what is to of pages that were asked for, with what is around them; whether any was to. */
static bool godwit_move_group(struct godwit_context *ctx, u64 at, u64 end, u64 around, u32 most)
{
	bool moves = false;

	/* Of some of them something else may have been said. */
	for (; at < end; at = godwit_place_alike(ctx, at, end)) {
		u64 first = around;
		u32 count = most;

		if (!godwit_place_moves(ctx, at, &first, &count))
			continue;
		if (!moves && godwit_place_fights(ctx, around, most)) {
			godwit_place_refused(ctx, at);
			return false;
		}
		godwit_ahead_note(ctx, at);
		godwit_migrate_asked(ctx, first, count);
		if (!godwit_inplace_any_moved(ctx, first, count))
			godwit_place_refused(ctx, at);
		moves = true;
	}
	return moves;
}

/* Brings the pages of a group; what its records are answered. */
static u32 godwit_bring(struct godwit_device *gdev, const struct gw_fault_group *group)
{
	struct godwit_context *ctx = godwit_context_get(gdev, group->context);
	u32 code = GODWIT_PAGE_RESPONSE_INVALID, most = max(READ_ONCE(godwit_param_bring_pages), 1u << group->order);
	u64 around = round_down(group->page, most);
	int err;

	if (!ctx)
		return code;
	/* It came meanwhile, with others. */
	if (godwit_inplace_has(ctx, group->page, 1u << group->order)) {
		godwit_context_put(ctx);
		return GODWIT_PAGE_RESPONSE_SUCCESS;
	}
	/* What has moved is shown at once. */
	if (godwit_move_group(ctx, group->page, group->page + (1u << group->order), around, most) &&
	    godwit_inplace_has(ctx, group->page, 1u << group->order))
		err = 0;
	else
		err = godwit_inplace_bring(ctx, group->page, 1u << group->order,
				   group->flags & GW_FAULT_WRITE ? GODWIT_BRING_WRITE : GODWIT_BRING_READ);
	trace_godwit_bring(gdev->id, group->context, group->page, 1u << group->order, err);
	/* A page that goes as fast as it comes is no fault: the card looks again, and asks again, while others are served. */
	if (!err || err == -EBUSY)
		code = GODWIT_PAGE_RESPONSE_SUCCESS;
	else if (err != -EFAULT)
		code = GODWIT_PAGE_RESPONSE_FAILURE;
	godwit_context_put(ctx);
	return code;
}

/* A group of several pages may hold one that cannot be brought: then each is tried by itself. */
static void godwit_serve_group(struct godwit_device *gdev, const struct gw_fault_group *group,
			       const struct gw_fault *faults)
{
	u32 code = godwit_bring(gdev, group), i;

	for (i = 0; i < group->count; i++) {
		const struct gw_fault *fault = &faults[group->first + i];
		u32 own = code;

		if (fault->flags & GW_FAULT_REPEAT)
			continue;
		if (code != GODWIT_PAGE_RESPONSE_SUCCESS && group->order) {
			struct gw_fault_group alone = {
				.page = fault->page,
				.context = fault->context,
				.flags = fault->flags,
			};

			own = godwit_bring(gdev, &alone);
		}
		if (godwit_queue_respond(gdev, fault->context, fault->tag, own))
			return;
	}
}

static void godwit_serve(struct godwit_device *gdev, struct gw_fault *faults, u32 count)
{
	struct gw_fault_group *groups = gdev->pages.groups;
	u32 order = ilog2(READ_ONCE(godwit_param_bring_pages)), i, found;

	for (i = 0; i < count; i++)
		trace_godwit_page_request(gdev->id, faults[i].context, faults[i].page, faults[i].flags & GW_FAULT_WRITE);
	found = gw_fault_coalesce(faults, count, order, groups, NULL);
	trace_godwit_batch(gdev->id, count, found);
	godwit_count(gdev, GODWIT_EVENT_PAGE_REQUESTS, count);
	godwit_count(gdev, GODWIT_EVENT_BATCHES, 1);
	godwit_count(gdev, GODWIT_EVENT_GROUPS, found);
	for (i = 0; i < found; i++)
		godwit_serve_group(gdev, &groups[i], faults);
	/* The answers are on their way; the card takes them before the next batch's. An error is said by the queue. */
	godwit_queue_settle(gdev);
	godwit_ahead_run(gdev);
}

/* Serves the requests that are there; whether there was anything. */
bool godwit_pages_serve(struct godwit_device *gdev)
{
	struct godwit_pages *pages = &gdev->pages;
	u32 status, tail, count;

	if (!pages->ring)
		return false;
	status = godwit_read(gdev, GODWIT_MMU(page_queue.pqcsr));
	if (status == ~0u || !(status & GODWIT_PQ_UP))
		return false;
	/* In this order a record that comes meanwhile raises the interrupt again. */
	godwit_write(gdev, GODWIT_MMU(page_queue.pqcsr), GODWIT_PQ_ON | (status & GODWIT_PQ_UP));
	tail = godwit_read(gdev, GODWIT_MMU(page_queue.pqt)) % GODWIT_RECORDS;
	dma_rmb();
	while (pages->head != tail && !READ_ONCE(gdev->going)) {
		for (count = 0; count < GODWIT_BATCH && pages->head != tail; count++) {
			pages->faults[count] = godwit_decode(pages->ring + 2 * pages->head);
			pages->head = (pages->head + 1) % GODWIT_RECORDS;
		}
		godwit_write(gdev, GODWIT_MMU(page_queue.pqh), pages->head);
		godwit_serve(gdev, pages->faults, count);
	}
	return true;
}

/* Turns page requests on, on a card that has them. */
int godwit_pages_init(struct godwit_device *gdev)
{
	struct godwit_pages *pages = &gdev->pages;
	struct device *dev = &gdev->pdev->dev;
	u64 base;

	if (!gdev->demand)
		return 0;
	pages->faults = devm_kcalloc(dev, GODWIT_BATCH, sizeof(*pages->faults), GFP_KERNEL);
	pages->groups = devm_kcalloc(dev, GODWIT_BATCH, sizeof(*pages->groups), GFP_KERNEL);
	pages->plans = devm_kcalloc(dev, GODWIT_BATCH, sizeof(*pages->plans), GFP_KERNEL);
	pages->ring = dmam_alloc_coherent(dev, PAGE_SIZE, &pages->bus, GFP_KERNEL);
	if (!pages->faults || !pages->groups || !pages->plans || !pages->ring)
		return -ENOMEM;
	base = (GODWIT_HOST_APERTURE_BASE + pages->bus) >> PAGE_SHIFT << GW_MMU__PAGE_QUEUE__PQB__PPN_LO_bp |
	       (ilog2(GODWIT_RECORDS) - 1);
	/* A driver before this one may have left it on. */
	godwit_write(gdev, GODWIT_MMU(page_queue.pqcsr), 0);
	godwit_write64(gdev, GODWIT_MMU(page_queue.pqb), base);
	/* A process that is stopped, or memory that is slow, is no reason to give up: what ends the wait is a response. */
	godwit_write(gdev, GODWIT_MMU(page_queue.pq_unsent), 0);
	godwit_write(gdev, GODWIT_MMU(page_queue.pq_sent), 0);
	/* Interrupts are moderated: for so many records, or so many cycles after the first. */
	godwit_write(gdev, GODWIT_MMU(page_queue.pq_irq_count), godwit_param_irq_records);
	godwit_write(gdev, GODWIT_MMU(page_queue.pq_irq_time), godwit_param_irq_cycles);
	pages->head = 0;
	godwit_write(gdev, GODWIT_MMU(page_queue.pqcsr), GODWIT_PQ_ON);
	return 0;
}

void godwit_pages_fini(struct godwit_device *gdev)
{
	if (gdev->pages.ring)
		godwit_write(gdev, GODWIT_MMU(page_queue.pqcsr), 0);
}
