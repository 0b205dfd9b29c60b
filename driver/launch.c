// SPDX-License-Identifier: GPL-2.0-only
/*
 * Launches: the control block of a kernel (the Vitis HLS convention, whose generations clear their interrupt status in
 * different ways), from the binding of its port to the end.
 */
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "driver.h"
#include "trace.h"

/* How long a kernel gets to come to rest; a simulated card is slow. */
#define GODWIT_REST_MS 20000
#define GODWIT_REST_POLL_US 100
/* How often clearing an interrupt status is tried. */
#define GODWIT_CLEAR_ROUNDS 3
/* How often it is looked whether the card is still there. */
#define GODWIT_HEARTBEAT msecs_to_jiffies(1000)
/* How often it is looked what a kernel has freed by itself. */
#define GODWIT_HEAP_LOOK msecs_to_jiffies(20)

static u32 godwit_block(u32 slot)
{
	return GODWIT_REGISTER_SPACE_KERNEL_BASE + slot * GODWIT_REGISTER_SPACE_KERNEL_STRIDE;
}

static bool godwit_is_gone(struct godwit_device *gdev)
{
	return READ_ONCE(gdev->going) || godwit_read(gdev, GODWIT_MMU(id)) == ~0u;
}

/* The page cache's part in a launch: see queue.c, DOC: page cache. */
static int godwit_sync(struct godwit_device *gdev, bool drop)
{
	int err = godwit_cache_sync(gdev, drop);

	return err && godwit_is_gone(gdev) ? -ENODEV : err;
}

/* Brings the interrupt status to zero: reading clears it, or writing what is still up. */
static void godwit_clear_status(struct godwit_device *gdev, u32 block)
{
	u32 status;
	int round;

	for (round = 0; round < GODWIT_CLEAR_ROUNDS; round++) {
		status = godwit_read(gdev, block + GODWIT_HLS_ISR);
		if (!status)
			return;
		status = godwit_read(gdev, block + GODWIT_HLS_ISR);
		if (status)
			godwit_write(gdev, block + GODWIT_HLS_ISR, status);
	}
}

irqreturn_t godwit_kernel_irq(int irq, void *data)
{
	struct godwit_device *gdev = data;
	u32 slot, block, status;

	for (slot = 0; slot < gdev->kernels; slot++)
		if (gdev->kernel[slot].irq == irq)
			break;
	if (slot == gdev->kernels)
		return IRQ_NONE;
	block = godwit_block(slot);
	godwit_count(gdev, GODWIT_EVENT_KERNEL_INTERRUPTS, 1);
	/* A chained kernel holds its done, which would set the status again, until it is told. */
	godwit_write(gdev, block + GODWIT_HLS_AP_CTRL, GODWIT_HLS_CTRL_CONTINUE);
	status = godwit_read(gdev, block + GODWIT_HLS_ISR);
	godwit_clear_status(gdev, block);
	if (status & GODWIT_HLS_IRQ_DONE)
		complete(&gdev->kernel[slot].done);
	return IRQ_HANDLED;
}

/* Brings a kernel to where only a start can raise its line. */
static int godwit_rest(struct godwit_device *gdev, u32 slot)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(GODWIT_REST_MS);
	struct godwit_kernel *kernel = &gdev->kernel[slot];
	u32 control, block = godwit_block(slot);

	if (kernel->rested)
		return 0;
	for (;;) {
		bool late = time_after(jiffies, deadline);

		control = godwit_read(gdev, block + GODWIT_HLS_AP_CTRL);
		if (godwit_is_gone(gdev))
			return -ENODEV;
		if (control & (GODWIT_HLS_CTRL_AUTO_RESTART | GODWIT_HLS_CTRL_DONE))
			godwit_write(gdev, block + GODWIT_HLS_AP_CTRL, GODWIT_HLS_CTRL_CONTINUE);
		else if (!(control & GODWIT_HLS_CTRL_START) && (control & GODWIT_HLS_CTRL_IDLE))
			break;
		if (late) {
			dev_err(&gdev->pdev->dev, "kernel %u does not come to rest (ap_ctrl %#x): it takes no launches any more\n",
				slot, control);
			kernel->stuck = true;
			return -EIO;
		}
		usleep_range(GODWIT_REST_POLL_US, 2 * GODWIT_REST_POLL_US);
	}
	/* What was refused on the way here is no fault of the next launch, however late the interrupt is that tells of it. */
	godwit_mmu_collect_fault(gdev);
	disable_irq(kernel->irq);
	godwit_write(gdev, block + GODWIT_HLS_GIE, 1);
	godwit_write(gdev, block + GODWIT_HLS_IER, GODWIT_HLS_IRQ_DONE);
	godwit_clear_status(gdev, block);
	enable_irq(kernel->irq);
	kernel->rested = true;
	return 0;
}

/* Accesses that a kernel's port was given. */
static u32 godwit_requests(struct godwit_device *gdev, u32 slot)
{
	u32 port = GODWIT_MMU(port_counters) + slot * sizeof(gw_mmu__port_counters__portx__stride100_t);

	return godwit_read(gdev, port + offsetof(gw_mmu__port_counters__portx__stride100_t, ar.requests)) +
	       godwit_read(gdev, port + offsetof(gw_mmu__port_counters__portx__stride100_t, aw.requests));
}

/* Waits for the interrupt of a launch. */
static int godwit_wait(struct godwit_device *gdev, u32 slot, u32 timeout_ms)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(timeout_ms), starved = 0, beat = jiffies + GODWIT_HEARTBEAT;
	unsigned long look = gdev->heap.regions ? GODWIT_HEAP_LOOK : GODWIT_HEARTBEAT;
	struct godwit_kernel *kernel = &gdev->kernel[slot];
	u32 requests = 0, before;

	for (;;) {
		long left = wait_for_completion_interruptible_timeout(&kernel->done, look);

		if (godwit_is_gone(gdev))
			return -ENODEV;
		if (left)
			return left < 0 ? -EINTR : 0;
		if (timeout_ms && time_after(jiffies, deadline))
			return -ETIMEDOUT;
		if (!gdev->heap.regions)
			continue;
		/* Who frees some is likely to free more. */
		look = godwit_heap_look(gdev) ? 1 : GODWIT_HEAP_LOOK;
		if (time_before(jiffies, beat))
			continue;
		beat = jiffies + GODWIT_HEARTBEAT;
		/* Who stands still while the heap lacks a frame waits for that. */
		before = requests;
		requests = godwit_requests(gdev, slot);
		if (requests != before || !godwit_heap_lacks(gdev))
			starved = jiffies + msecs_to_jiffies(READ_ONCE(godwit_param_heap_wait_ms));
		else if (starved && time_after(jiffies, starved))
			return -ENOMEM;
	}
}

/* From here on it is its own completion that ends it. */
static void godwit_turn_begin(struct godwit_device *gdev, struct godwit_kernel *kernel, struct godwit_turn *turn)
{
	mutex_lock(&gdev->fault_lock);
	kernel->fault.valid = false;
	reinit_completion(&kernel->done);
	turn->runs = true;
	/* It may have been cancelled between the wait for the kernel and this. */
	if (turn->cancelled)
		complete(&kernel->done);
	mutex_unlock(&gdev->fault_lock);
}

/* Its kernel is not to be told any more; whether it was to end. */
static bool godwit_turn_end(struct godwit_device *gdev, struct godwit_turn *turn)
{
	bool cancelled;

	mutex_lock(&gdev->fault_lock);
	turn->runs = false;
	cancelled = turn->cancelled;
	mutex_unlock(&gdev->fault_lock);
	return cancelled;
}

static int godwit_launch(struct godwit_context *ctx, struct godwit_run *run, struct godwit_turn *turn,
			 const struct godwit_register *writes, struct godwit_register *reads)
{
	struct godwit_device *gdev = ctx->device;
	struct godwit_kernel *kernel = &gdev->kernel[run->slot];
	u32 i, block = godwit_block(run->slot);
	int err;

	lockdep_assert_held(&kernel->lock);
	if (kernel->stuck)
		return -EIO;
	err = godwit_rest(gdev, run->slot);
	if (err)
		return err;
	/* What the program wrote since the last launch is what this one reads. */
	err = godwit_sync(gdev, true);
	if (err)
		return err;
	godwit_turn_begin(gdev, kernel, turn);
	godwit_lines_begin(gdev);

	godwit_mmu_bind(gdev, run->slot, GODWIT_PORT_MODE_TRANSLATE, ctx->number);
	for (i = 0; i < run->write_count; i++)
		godwit_write(gdev, block + writes[i].offset, writes[i].value);
	godwit_write(gdev, block + GODWIT_HLS_AP_CTRL, GODWIT_HLS_CTRL_START);
	err = godwit_wait(gdev, run->slot, run->timeout_ms);
	if (godwit_turn_end(gdev, turn) && !err)
		err = -ECANCELED;
	godwit_mmu_bind(gdev, run->slot, GODWIT_PORT_MODE_OFF, 0);
	godwit_heap_look(gdev);
	if (err) {
		/* Its accesses get errors from now on, which brings it to its end. */
		kernel->rested = false;
		if (err != -ENODEV && (godwit_rest(gdev, run->slot) == -EIO || godwit_cache_sync(gdev, false)))
			return -EIO;
		return err;
	}
	/* A kernel's interrupt is not visibility. */
	err = godwit_sync(gdev, false);
	if (err)
		return err;
	for (i = 0; i < run->read_count; i++)
		reads[i].value = godwit_read(gdev, block + reads[i].offset);
	godwit_mmu_collect_fault(gdev);
	mutex_lock(&gdev->fault_lock);
	run->end = kernel->fault.valid ? GODWIT_RUN_FAULT : GODWIT_RUN_DONE;
	run->fault_cause = kernel->fault.valid ? kernel->fault.cause : 0;
	run->fault_address = kernel->fault.valid ? kernel->fault.address : 0;
	mutex_unlock(&gdev->fault_lock);
	return 0;
}

/* Registers of a launch, only those of arguments. */
static struct godwit_register *godwit_registers(u64 user, u32 count)
{
	struct godwit_register *registers;
	u32 i;

	if (count > GODWIT_RUN_REGISTERS)
		return ERR_PTR(-EINVAL);
	registers = memdup_user(u64_to_user_ptr(user), count * sizeof(*registers));
	if (IS_ERR(registers))
		return registers;
	for (i = 0; i < count; i++) {
		u32 offset = registers[i].offset;

		if (offset % 4 || offset < GODWIT_HLS_ARGS || offset >= GODWIT_REGISTER_SPACE_KERNEL_STRIDE) {
			kfree(registers);
			return ERR_PTR(-EINVAL);
		}
	}
	return registers;
}

/* Gets the kernel for a launch, unless that is cancelled first. */
static int godwit_turn_wait(struct godwit_device *gdev, struct godwit_kernel *kernel, struct godwit_turn *turn)
{
	int err = 0;

	mutex_lock(&gdev->fault_lock);
	list_add_tail(&turn->node, &kernel->turns);
	mutex_unlock(&gdev->fault_lock);
	for (;;) {
		if (READ_ONCE(turn->cancelled))
			return -ECANCELED;
		if (mutex_trylock(&kernel->lock))
			return 0;
		err = wait_event_interruptible(kernel->freed, READ_ONCE(turn->cancelled) || !mutex_is_locked(&kernel->lock));
		if (err)
			return -EINTR;
	}
}

static void godwit_turn_over(struct godwit_device *gdev, struct godwit_turn *turn)
{
	mutex_lock(&gdev->fault_lock);
	list_del(&turn->node);
	mutex_unlock(&gdev->fault_lock);
}

int godwit_cancel(struct godwit_context *ctx, const struct godwit_cancel *what)
{
	struct godwit_device *gdev = ctx->device;
	struct godwit_kernel *kernel;
	struct godwit_turn *turn;
	bool found = false;

	if (what->slot >= gdev->kernels || what->reserved)
		return -EINVAL;
	kernel = &gdev->kernel[what->slot];
	mutex_lock(&gdev->fault_lock);
	list_for_each_entry(turn, &kernel->turns, node) {
		if (turn->ctx != ctx)
			continue;
		found = true;
		WRITE_ONCE(turn->cancelled, true);
		if (turn->runs)
			complete(&kernel->done);
	}
	mutex_unlock(&gdev->fault_lock);
	wake_up_all(&kernel->freed);
	return found ? 0 : -ESRCH;
}

int godwit_run(struct godwit_context *ctx, struct godwit_run *run)
{
	struct godwit_device *gdev = ctx->device;
	struct godwit_turn turn = { .ctx = ctx };
	struct godwit_register *writes, *reads;
	struct godwit_kernel *kernel;
	int err;

	if (run->slot >= gdev->kernels)
		return -EINVAL;
	kernel = &gdev->kernel[run->slot];
	writes = godwit_registers(run->writes, run->write_count);
	if (IS_ERR(writes))
		return PTR_ERR(writes);
	reads = godwit_registers(run->reads, run->read_count);
	if (IS_ERR(reads)) {
		kfree(writes);
		return PTR_ERR(reads);
	}
	err = godwit_turn_wait(gdev, kernel, &turn);
	if (!err) {
		godwit_count(gdev, GODWIT_EVENT_LAUNCHES, 1);
		atomic_inc(&ctx->launches);
		trace_godwit_launch(gdev->id, ctx->number, run->slot);
		err = godwit_launch(ctx, run, &turn, writes, reads);
		trace_godwit_launch_end(gdev->id, ctx->number, run->slot, err, err ? 0 : run->end);
		mutex_unlock(&kernel->lock);
		wake_up_all(&kernel->freed);
	}
	godwit_turn_over(gdev, &turn);
	if (!err && copy_to_user(u64_to_user_ptr(run->reads), reads, run->read_count * sizeof(*reads)))
		err = -EFAULT;
	kfree(reads);
	kfree(writes);
	return err;
}

int godwit_kernels_init(struct godwit_device *gdev)
{
	u32 slot;

	gdev->kernel = kcalloc(gdev->kernels, sizeof(*gdev->kernel), GFP_KERNEL);
	if (!gdev->kernel)
		return -ENOMEM;
	for (slot = 0; slot < gdev->kernels; slot++) {
		mutex_init(&gdev->kernel[slot].lock);
		init_waitqueue_head(&gdev->kernel[slot].freed);
		INIT_LIST_HEAD(&gdev->kernel[slot].turns);
		init_completion(&gdev->kernel[slot].done);
	}
	return 0;
}

/* Ends the waits of all launches: the card is going. */
void godwit_kernels_wake(struct godwit_device *gdev)
{
	u32 slot;

	for (slot = 0; slot < gdev->kernels; slot++)
		complete_all(&gdev->kernel[slot].done);
}
