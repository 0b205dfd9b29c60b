// SPDX-License-Identifier: GPL-2.0-only
/*
 * The MMU's command queue: commands of the RISC-V IOMMU specification, in a ring of one frame of device memory. Every
 * invalidation ends with a fence and waits for that. Answers to page requests do not: the hardware takes them in their order
 * with what follows, and godwit_queue_settle(), called for a batch of them, sees that it has. So the ring never holds more than
 * GODWIT_MAX_ANSWERS of them and one invalidation.
 *
 * DOC: page cache
 *   A card may keep lines of host memory, and then nobody else sees what its kernels wrote until it has written them, nor do they what others
 *   wrote until it has dropped them. So it does both before a launch and, of their lines, when pages are taken from it, and the first at a
 *   launch's end. What both sides write in one line at a time: alone.c. No register says whether it has a page cache; its own command,
 *   CACHE.RANGE, is illegal without one, and is tried.
 */
#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/log2.h>

#include "driver.h"
#include "trace.h"

#define GODWIT_COMMANDS (GODWIT_FRAME_BYTES / GODWIT_COMMAND_BYTES)
/* Cycles that an access translated before an invalidation may take to its end. */
#define GODWIT_FENCE_CYCLES 10000000u
#define GODWIT_POLL_US 20
/* log2 of the largest range, in pages, that the hardware drops as a range. */
#define GODWIT_MAX_ORDER 18
/* With more commands than this, dropping the whole context is cheaper. */
#define GODWIT_MAX_DROPS 64

/* Looks at the trial of a command; a page cache that is full of what was written takes some. */
#define GODWIT_TRIAL_LOOKS 10000

/* Answers that the ring may hold. */
#define GODWIT_MAX_ANSWERS 64

#define GODWIT_CQ_ERRORS \
	(GW_MMU__CQCSR__CQMF_bm | GW_MMU__CQCSR__CMD_TO_bm | GW_MMU__CQCSR__CMD_ILL_bm)

static u64 godwit_command(u32 opcode, u32 func3)
{
	return (u64)opcode << GODWIT_COMMAND_FIELD_OPCODE_SHIFT | (u64)func3 << GODWIT_COMMAND_FIELD_FUNC3_SHIFT;
}

static u64 godwit_drop(u32 context)
{
	return godwit_command(GODWIT_COMMAND_IOTINVAL, GODWIT_COMMAND_IOTINVAL_VMA) | GODWIT_IOTINVAL_PSCV_MASK |
	       (u64)context << GODWIT_IOTINVAL_PSCID_SHIFT;
}

/* Has the page cache write all that it has of the host's memory, and forget it if @drop. */
static u64 godwit_flush(bool drop)
{
	return godwit_command(GODWIT_COMMAND_CACHE, GODWIT_COMMAND_CACHE_RANGE) | GODWIT_CACHE_RANGE_CLEAN_MASK |
	       (drop ? GODWIT_CACHE_RANGE_DROP_MASK : 0);
}

/* A page of the host besides those that are to be written and forgotten so far. */
void godwit_flushed_add(struct godwit_flushed *flushed, u64 pa)
{
	struct gw_pt_range *last = flushed->ranges + flushed->count;

	if (flushed->count > GODWIT_FLUSHES)
		return;
	if (flushed->count && last[-1].va + last[-1].size == pa)
		last[-1].size += PAGE_SIZE;
	else if (flushed->count++ < GODWIT_FLUSHES)
		*last = (struct gw_pt_range){ .va = pa, .size = PAGE_SIZE };
}

/* Writes a command behind those before; the hardware does not look at it until the tail is told. */
static void godwit_queue_put(struct godwit_device *gdev, u64 what, u64 where)
{
	void __iomem *at = gdev->memory + gdev->queue.ring + gdev->queue.tail * GODWIT_COMMAND_BYTES;

	lockdep_assert_held(&gdev->queue.lock);
	writeq(what, at);
	writeq(where, at + 8);
	gdev->queue.tail = (gdev->queue.tail + 1) % GODWIT_COMMANDS;
}

static void godwit_queue_flush(struct godwit_device *gdev, const struct godwit_flushed *flushed)
{
	u32 i;

	if (!gdev->queue.caches)
		return;
	if (flushed->count > GODWIT_FLUSHES) {
		godwit_queue_put(gdev, godwit_flush(true), 0);
		return;
	}
	for (i = 0; i < flushed->count; i++) {
		const struct gw_pt_range *range = &flushed->ranges[i];
		u64 lines = range->size / GODWIT_LINE_BYTES - 1;

		godwit_queue_put(gdev, godwit_flush(true) | GODWIT_CACHE_RANGE_AV_MASK | lines << GODWIT_CACHE_RANGE_LINES_SHIFT,
				 range->va & GODWIT_CACHE_RANGE_WHERE_LINE_MASK);
	}
}

/* Tells the tail, with a fence before it, and waits for that. */
static int godwit_queue_fence(struct godwit_device *gdev)
{
	u64 fence = godwit_command(GODWIT_COMMAND_IOFENCE, GODWIT_COMMAND_IOFENCE_C) | GODWIT_IOFENCE_WSI_MASK;
	/* A fence takes as long as accesses under way do; a simulated card may be a thousand times slower than a real one. */
	unsigned long deadline = jiffies + msecs_to_jiffies(READ_ONCE(godwit_param_fence_ms));
	u32 status;

	godwit_count(gdev, GODWIT_EVENT_FENCES, 1);
	godwit_queue_put(gdev, fence, 0);
	godwit_write(gdev, GODWIT_MMU(cqt), gdev->queue.tail);
	for (;;) {
		bool late = time_after(jiffies, deadline);

		status = godwit_read(gdev, GODWIT_MMU(cqcsr));
		if (status == ~0u || (status & GODWIT_CQ_ERRORS) || late)
			break;
		if (status & GW_MMU__CQCSR__FENCE_W_IP_bm) {
			godwit_write(gdev, GODWIT_MMU(cqcsr), GW_MMU__CQCSR__CQEN_bm | GW_MMU__CQCSR__FENCE_W_IP_bm);
			gdev->queue.answers = 0;
			return 0;
		}
		usleep_range(GODWIT_POLL_US, 2 * GODWIT_POLL_US);
	}
	gdev->queue.broken = true;
	if (!READ_ONCE(gdev->going))
		dev_err(&gdev->pdev->dev, "the command queue stands (cqcsr %#x): nothing can be invalidated any more\n",
			status);
	return -EIO;
}

/* Commands that drop a range in naturally aligned pieces; -E2BIG when they are more than @room. */
static int godwit_queue_drop_range(struct godwit_device *gdev, u32 context, const struct gw_pt_range *range, u32 *room)
{
	u64 vpn = range->va >> PAGE_SHIFT, left = range->size >> PAGE_SHIFT;

	while (left) {
		u32 order = min_t(u32, ilog2(left), GODWIT_MAX_ORDER);
		u64 named = vpn, s = 0;

		if (vpn)
			order = min_t(u32, order, __ffs64(vpn));
		if (!(*room)--)
			return -E2BIG;
		/* The lowest zero bit of a range's page number stands below its size. */
		if (order) {
			named |= BIT_ULL(order - 1) - 1;
			s = GODWIT_IOTINVAL_WHERE_S_MASK;
		}
		godwit_queue_put(gdev, godwit_drop(context) | GODWIT_IOTINVAL_AV_MASK,
				 s | (named << GODWIT_IOTINVAL_WHERE_VPN_SHIFT & GODWIT_IOTINVAL_WHERE_VPN_MASK));
		vpn += BIT_ULL(order);
		left -= BIT_ULL(order);
	}
	return 0;
}

static void godwit_tell_invalidated(struct godwit_device *gdev, u32 context, u32 ranges, int err)
{
	godwit_count(gdev, GODWIT_EVENT_INVALIDATIONS, 1);
	trace_godwit_invalidate(gdev->id, context, ranges, err);
}

/* Drops what a context had cached, all of it, and waits until no access uses it. */
int godwit_invalidate_context(struct godwit_device *gdev, u32 context)
{
	int err = -EIO;

	mutex_lock(&gdev->queue.lock);
	if (!gdev->queue.broken) {
		godwit_queue_put(gdev, godwit_drop(context), 0);
		if (gdev->queue.caches)
			godwit_queue_put(gdev, godwit_flush(true), 0);
		err = godwit_queue_fence(gdev);
	}
	mutex_unlock(&gdev->queue.lock);
	godwit_tell_invalidated(gdev, context, 0, err);
	return err;
}

/* Drops what @what names, and waits until no access uses it, nor is anything cached of @flushed. */
int godwit_invalidate(struct godwit_device *gdev, u32 context, const struct gw_pt_inval *what, const struct godwit_flushed *flushed)
{
	u32 room = GODWIT_MAX_DROPS;
	int err = -EIO;
	size_t i;

	if (!what->narrowed)
		return 0;
	mutex_lock(&gdev->queue.lock);
	if (!gdev->queue.broken) {
		u32 start = gdev->queue.tail;

		for (i = 0, err = 0; i < what->count && !err; i++)
			err = godwit_queue_drop_range(gdev, context, &what->ranges[i], &room);
		if (err) {
			gdev->queue.tail = start;
			godwit_queue_put(gdev, godwit_drop(context), 0);
		}
		godwit_queue_flush(gdev, flushed);
		err = godwit_queue_fence(gdev);
	}
	mutex_unlock(&gdev->queue.lock);
	godwit_tell_invalidated(gdev, context, what->count, err);
	return err;
}

/* What kernels wrote in the host's memory is there when this returns; @drop: and what others wrote is what kernels read from now on. */
int godwit_cache_sync(struct godwit_device *gdev, bool drop)
{
	int err = -EIO;

	if (!gdev->queue.caches)
		return 0;
	mutex_lock(&gdev->queue.lock);
	if (!gdev->queue.broken) {
		godwit_queue_put(gdev, godwit_flush(drop), 0);
		err = godwit_queue_fence(gdev);
	}
	mutex_unlock(&gdev->queue.lock);
	godwit_count(gdev, GODWIT_EVENT_FLUSHES, 1);
	return err;
}

/* Ends a page request; the hardware is told, and godwit_queue_settle() sees that it knows. */
int godwit_queue_respond(struct godwit_device *gdev, u32 context, u32 group, u32 code)
{
	u64 what = godwit_command(GODWIT_COMMAND_ATS, GODWIT_COMMAND_ATS_PRGR) | GODWIT_ATS_PRGR_PV_MASK |
		   (u64)context << GODWIT_ATS_PRGR_PID_SHIFT;
	u64 where = (u64)group << GODWIT_ATS_PRGR_PAYLOAD_PLACE_SHIFT | (u64)code << GODWIT_ATS_PRGR_PAYLOAD_CODE_SHIFT;
	int err = -EIO;

	mutex_lock(&gdev->queue.lock);
	if (!gdev->queue.broken) {
		godwit_queue_put(gdev, what, where);
		godwit_write(gdev, GODWIT_MMU(cqt), gdev->queue.tail);
		err = ++gdev->queue.answers < GODWIT_MAX_ANSWERS ? 0 : godwit_queue_fence(gdev);
	}
	mutex_unlock(&gdev->queue.lock);
	return err;
}

/* Returns when the hardware knows all answers. */
int godwit_queue_settle(struct godwit_device *gdev)
{
	int err = 0;

	mutex_lock(&gdev->queue.lock);
	if (gdev->queue.broken)
		err = -EIO;
	else if (gdev->queue.answers)
		err = godwit_queue_fence(gdev);
	mutex_unlock(&gdev->queue.lock);
	return err;
}

/* Turns the queue on, and forgets what was wrong with it. */
static int godwit_queue_start(struct godwit_device *gdev)
{
	u64 size = ilog2(GODWIT_COMMANDS) - 1, base = gdev->queue.ring >> PAGE_SHIFT << GW_MMU__CQB__PPN_LO_bp | size;
	u32 status;
	int looks;

	/* A driver before this one may have left it on. */
	godwit_write(gdev, GODWIT_MMU(cqcsr), 0);
	for (looks = 0; looks < 1000; looks++) {
		status = godwit_read(gdev, GODWIT_MMU(cqcsr));
		if (!(status & (GW_MMU__CQCSR__CQON_bm | GW_MMU__CQCSR__BUSY_bm)))
			break;
	}
	godwit_write64(gdev, GODWIT_MMU(cqb), base);
	gdev->queue.tail = 0;
	gdev->queue.answers = 0;
	godwit_write(gdev, GODWIT_MMU(cqt), 0);
	godwit_write(gdev, GODWIT_MMU(cq_timeout), GODWIT_FENCE_CYCLES);
	godwit_write(gdev, GODWIT_MMU(cqcsr), GW_MMU__CQCSR__CQEN_bm);
	for (looks = 0; looks < 1000; looks++) {
		status = godwit_read(gdev, GODWIT_MMU(cqcsr));
		if ((status & GW_MMU__CQCSR__CQON_bm) && !(status & GW_MMU__CQCSR__BUSY_bm))
			return 0;
	}
	dev_err(&gdev->pdev->dev, "the command queue does not turn on (cqcsr %#x)\n", status);
	return -EIO;
}

/* Whether the card has a page cache: what a driver before this one left in it is written by the way. The queue stands where it has none. */
static bool godwit_queue_caches(struct godwit_device *gdev)
{
	u32 status;
	int looks;

	mutex_lock(&gdev->queue.lock);
	godwit_queue_put(gdev, godwit_flush(true), 0);
	godwit_write(gdev, GODWIT_MMU(cqt), gdev->queue.tail);
	mutex_unlock(&gdev->queue.lock);
	for (looks = 0; looks < GODWIT_TRIAL_LOOKS; looks++) {
		status = godwit_read(gdev, GODWIT_MMU(cqcsr));
		if (status & GODWIT_CQ_ERRORS)
			return false;
		if (godwit_read(gdev, GODWIT_MMU(cqh)) == gdev->queue.tail)
			return true;
		usleep_range(GODWIT_POLL_US, 2 * GODWIT_POLL_US);
	}
	return false;
}

int godwit_queue_init(struct godwit_device *gdev)
{
	int err;

	mutex_init(&gdev->queue.lock);
	gdev->queue.ring = godwit_frame_alloc(gdev);
	if (gdev->queue.ring == GW_PT_NO_FRAME)
		return -ENOMEM;
	err = godwit_queue_start(gdev);
	if (err)
		return err;
	gdev->queue.caches = godwit_queue_caches(gdev);
	return gdev->queue.caches ? 0 : godwit_queue_start(gdev);
}

void godwit_queue_fini(struct godwit_device *gdev)
{
	godwit_write(gdev, GODWIT_MMU(cqcsr), 0);
}
