// SPDX-License-Identifier: GPL-2.0-only
/*
 * The heap in hardware: malloc, realloc and free of a context, by its registers, and a context's end. The hardware alone
 * writes what page tables say in the heap's window of addresses.
 *
 * DOC: what kernels free
 *   A kernel that frees memory itself, on a stream of its own, tells nobody, and processes still see it. The hardware counts such
 *   commands, and takes nothing back before it is told that a count was seen: then no process sees anything of the heap but what it touches
 *   anew and is live, since the hardware is asked at each touch. The driver looks while a launch runs, at its end, and wherever
 *   somebody waits for what was freed.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>

#include "driver.h"

/* Looks for an answer that comes in a hundred cycles; the first of them without a rest. */
#define GODWIT_HEAP_LOOKS 20000
#define GODWIT_HEAP_LOOKS_AT_ONCE 100
/* Largest allocation: eight slots. */
#define GODWIT_HEAP_LARGEST (64ull * SZ_1G)
#define GODWIT_HEAP_SMALL_SLOT SZ_64K

enum godwit_heap_command {
	GODWIT_HEAP_MALLOC,
	GODWIT_HEAP_REALLOC,
	GODWIT_HEAP_FREE,
};

/* Whether the heap is, or may come to be, at some of these addresses. */
bool godwit_heap_is_at(struct godwit_device *gdev, u64 start, u64 end)
{
	return gdev->heap.regions && start < GODWIT_HEAP_WINDOW_END && end > GODWIT_HEAP_WINDOW_FIRST;
}

/* Most that an allocation may have; so much is hidden from processes before it is freed. */
static u64 godwit_heap_span(u64 pointer)
{
	return pointer < GODWIT_HEAP_WINDOW_SMALL ? GODWIT_HEAP_LARGEST : GODWIT_HEAP_SMALL_SLOT;
}

/* Nothing can be asked of it any more; what it may still do must not reach what somebody else gets. */
static int godwit_heap_broke(struct godwit_device *gdev, const char *why)
{
	if (!gdev->heap.broken && !READ_ONCE(gdev->going))
		dev_err(&gdev->pdev->dev, "the heap %s: it gives no memory until the card is reset\n", why);
	gdev->heap.broken = true;
	return -EIO;
}

/* Reads until what was begun is done. */
int godwit_heap_ask(struct godwit_device *gdev, u32 offset, u32 busy, u32 *answer)
{
	int looks;

	lockdep_assert_held(&gdev->heap.lock);
	for (looks = 0; looks < GODWIT_HEAP_LOOKS; looks++) {
		*answer = godwit_read(gdev, offset);
		if (*answer == ~0u)
			return -ENODEV;
		if (!(*answer & busy))
			return 0;
		if (looks >= GODWIT_HEAP_LOOKS_AT_ONCE)
			usleep_range(GODWIT_HEAP_POLL_US, 2 * GODWIT_HEAP_POLL_US);
	}
	return godwit_heap_broke(gdev, "does not answer");
}

/* No process sees any more what kernels have freed by now, and the hardware may take it back. Whether there was something. */
bool godwit_heap_see(struct godwit_device *gdev)
{
	struct godwit_context *ctx;
	u32 frees;

	lockdep_assert_held(&gdev->heap.lock);
	frees = godwit_read(gdev, GODWIT_HEAP_REG(kernel_frees));
	if (frees == gdev->heap.seen)
		return false;
	list_for_each_entry(ctx, &gdev->heap.contexts, heap_node)
		godwit_heap_hide(ctx, GODWIT_HEAP_WINDOW_FIRST, GODWIT_HEAP_WINDOW_END);
	godwit_write(gdev, GODWIT_HEAP_REG(frees_seen), frees);
	gdev->heap.seen = frees;
	return true;
}

/* The same without the lock. */
bool godwit_heap_look(struct godwit_device *gdev)
{
	bool some;

	if (!gdev->heap.regions)
		return false;
	mutex_lock(&gdev->heap.lock);
	some = godwit_heap_see(gdev);
	mutex_unlock(&gdev->heap.lock);
	return some;
}

/* Waits until something that takes longer is over; @killable: a signal ends the wait, and the lock is not held. */
static int godwit_heap_wait(struct godwit_device *gdev, u32 mask, bool killable)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(READ_ONCE(godwit_param_fence_ms));

	for (;;) {
		bool late = time_after(jiffies, deadline);
		u32 status = godwit_read(gdev, GODWIT_HEAP_REG(status));

		if (status == ~0u)
			return -ENODEV;
		if (status & GW_HEAP__STATUS__BROKEN_bm)
			return godwit_heap_broke(gdev, "was refused an access, or somebody wrote into its tables");
		if (!(status & mask))
			return 0;
		if (status & GW_HEAP__STATUS__HELD_bm && killable)
			godwit_heap_look(gdev);
		else if (status & GW_HEAP__STATUS__HELD_bm)
			godwit_heap_see(gdev);
		if (killable && signal_pending(current))
			return -EINTR;
		if (killable && READ_ONCE(gdev->going))
			return -ENODEV;
		if (late)
			return killable ? -ETIMEDOUT : godwit_heap_broke(gdev, "does not take back what was freed");
		usleep_range(GODWIT_HEAP_POLL_US, 2 * GODWIT_HEAP_POLL_US);
	}
}

/* Returns when what was freed, or cut off, is taken back. Without the lock: it may take long, and others need not wait. */
static int godwit_heap_settle(struct godwit_device *gdev)
{
	return godwit_heap_wait(gdev, GW_HEAP__STATUS__RECLAIMING_bm, true);
}

/* Has a command done; its status is filled in. */
static int godwit_heap_command(struct godwit_context *ctx, u32 command, struct godwit_allocation *what)
{
	struct godwit_device *gdev = ctx->device;
	u32 answer;
	int err;

	lockdep_assert_held(&gdev->heap.lock);
	if (gdev->heap.broken || ctx->heap_ended)
		return -EIO;
	godwit_write64(gdev, GODWIT_HEAP_REG(pointer), what->pointer);
	godwit_write64(gdev, GODWIT_HEAP_REG(size), what->size);
	godwit_write(gdev, GODWIT_HEAP_REG(command), command | ctx->number << GW_HEAP__COMMAND__CONTEXT_ID_bp);
	err = godwit_heap_ask(gdev, GODWIT_HEAP_REG(answer), GW_HEAP__ANSWER__BUSY_bm, &answer);
	if (err)
		return err;
	godwit_count(gdev, GODWIT_EVENT_HEAP_COMMANDS, 1);
	what->status = GODWIT_HEAP_FIELD(ANSWER__STATUS, answer);
	if (what->status == GODWIT_HEAP_OK && (command & GW_HEAP__COMMAND__OP_bm) == GODWIT_HEAP_MALLOC)
		what->pointer = godwit_read64(gdev, GODWIT_HEAP_REG(result));
	return 0;
}

/* The same, once more when what was freed before has been taken back, if that is what was lacking. */
static int godwit_heap_persist(struct godwit_context *ctx, u32 command, struct godwit_allocation *what)
{
	struct godwit_device *gdev = ctx->device;
	int err, tries;

	for (tries = 0; tries < 2; tries++) {
		mutex_lock(&gdev->heap.lock);
		if ((command & GW_HEAP__COMMAND__OP_bm) == GODWIT_HEAP_REALLOC)
			/* What goes is out of processes' sight before somebody else can get it. */
			godwit_heap_hide(ctx, what->pointer + PAGE_ALIGN(what->size),
					 what->pointer + godwit_heap_span(what->pointer));
		err = godwit_heap_command(ctx, command, what);
		mutex_unlock(&gdev->heap.lock);
		if (err || (what->status != GODWIT_HEAP_NO_SLOT && what->status != GODWIT_HEAP_NO_FRAME &&
			    what->status != GODWIT_HEAP_BUSY))
			return err;
		/* It may be over between the two looks: so once more in any case. */
		err = tries ? 0 : godwit_heap_settle(gdev);
		if (err)
			return err;
	}
	return 0;
}

static int godwit_heap_malloc(struct godwit_context *ctx, struct godwit_allocation *what)
{
	u32 command = GODWIT_HEAP_MALLOC | GW_HEAP__COMMAND__WRITE_bm | what->granule << GW_HEAP__COMMAND__GRANULE_bp;

	if (what->pointer)
		return -EINVAL;
	if (what->flags & GODWIT_ALLOCATION_SMALL)
		command |= GW_HEAP__COMMAND__SMALL_SLOT_bm;
	command |= what->region << GW_HEAP__COMMAND__REGION_bp;
	return godwit_heap_persist(ctx, command, what);
}

/* Pages that grow again before they are taken back keep what was in them: that is waited for. */
static int godwit_heap_realloc(struct godwit_context *ctx, struct godwit_allocation *what)
{
	int err = godwit_heap_settle(ctx->device);

	return err ?: godwit_heap_persist(ctx, GODWIT_HEAP_REALLOC, what);
}

static int godwit_heap_free(struct godwit_context *ctx, struct godwit_allocation *what)
{
	struct godwit_device *gdev = ctx->device;
	int err;

	mutex_lock(&gdev->heap.lock);
	godwit_heap_hide(ctx, what->pointer, what->pointer + godwit_heap_span(what->pointer));
	err = godwit_heap_command(ctx, GODWIT_HEAP_FREE, what);
	mutex_unlock(&gdev->heap.lock);
	return err;
}

int godwit_heap_call(struct godwit_context *ctx, struct godwit_allocation *what)
{
	u32 flags = what->op == GODWIT_ALLOCATION_MALLOC ? GODWIT_ALLOCATION_SMALL : 0;
	u32 granules = what->op == GODWIT_ALLOCATION_MALLOC ? GODWIT_HEAP_FIELD(COMMAND__GRANULE, ~0u) : 0;
	u32 regions = what->op == GODWIT_ALLOCATION_MALLOC ? ctx->device->heap.regions : 1;
	u64 end;

	if (!ctx->device->heap.regions)
		return -EOPNOTSUPP;
	if ((what->flags & ~flags) || what->granule > granules || what->region >= regions ||
	    what->reserved)
		return -EINVAL;
	what->status = GODWIT_HEAP_OK;
	if (what->op == GODWIT_ALLOCATION_MALLOC)
		return godwit_heap_malloc(ctx, what);
	/* A pointer that malloc never gave is refused by what it is. */
	if (what->pointer < GODWIT_HEAP_WINDOW_FIRST || what->pointer >= GODWIT_HEAP_WINDOW_END) {
		what->status = GODWIT_HEAP_FOREIGN;
		return 0;
	}
	switch (what->op) {
	case GODWIT_ALLOCATION_REALLOC:
		if (what->size > GODWIT_HEAP_LARGEST) {
			what->status = GODWIT_HEAP_TOO_LARGE;
			return 0;
		}
		return godwit_heap_realloc(ctx, what);
	case GODWIT_ALLOCATION_FREE:
		return what->size ? -EINVAL : godwit_heap_free(ctx, what);
	case GODWIT_ALLOCATION_POPULATE:
		if (check_add_overflow(what->pointer, what->size, &end) || end > GODWIT_HEAP_WINDOW_END)
			return -EINVAL;
		return godwit_heap_populate(ctx, what);
	default:
		return -EINVAL;
	}
}

/* It may have memory of the heap from now on. */
void godwit_heap_join(struct godwit_context *ctx)
{
	mutex_lock(&ctx->device->heap.lock);
	list_add(&ctx->heap_node, &ctx->device->heap.contexts);
	mutex_unlock(&ctx->device->heap.lock);
}

/* Whether somebody waits for a frame, and nobody gives one back. */
bool godwit_heap_lacks(struct godwit_device *gdev)
{
	u32 status = gdev->heap.regions ? godwit_read(gdev, GODWIT_HEAP_REG(status)) : 0;

	return status != ~0u && (status & GW_HEAP__STATUS__LACKS_bm) && !(status & GW_HEAP__STATUS__RECLAIMING_bm);
}

/* Gives back all that a context has, what kernels allocated included. No access of it is under way, and none comes. */
void godwit_heap_end(struct godwit_context *ctx)
{
	struct godwit_device *gdev = ctx->device;

	mutex_lock(&gdev->heap.lock);
	ctx->heap_ended = true;
	godwit_heap_hide(ctx, GODWIT_HEAP_WINDOW_FIRST, GODWIT_HEAP_WINDOW_END);
	list_del(&ctx->heap_node);
	if (gdev->heap.regions && !gdev->heap.broken) {
		godwit_write(gdev, GODWIT_HEAP_REG(end_context), ctx->number << GW_HEAP__END_CONTEXT__CONTEXT_ID_bp);
		godwit_heap_wait(gdev, GW_HEAP__STATUS__ENDING_bm, false);
	}
	mutex_unlock(&gdev->heap.lock);
}
