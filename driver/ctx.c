// SPDX-License-Identifier: GPL-2.0-only
/* Contexts: one an open file. They end with the file or with the card, whichever goes first. */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "driver.h"

static void godwit_context_free(struct kref *kref)
{
	struct godwit_context *ctx = container_of(kref, struct godwit_context, kref);

	godwit_place_fini(ctx);
	mmdrop(ctx->mm);
	put_pid(ctx->pid);
	kfree(ctx);
}

void godwit_context_put(struct godwit_context *ctx)
{
	kref_put(&ctx->kref, godwit_context_free);
}

/* The context with this number, if there is one; kept until godwit_context_put(). */
struct godwit_context *godwit_context_get(struct godwit_device *gdev, u32 number)
{
	struct godwit_context *ctx, *found = NULL;

	mutex_lock(&gdev->contexts_lock);
	list_for_each_entry(ctx, &gdev->context_list, node) {
		if (ctx->number == number) {
			kref_get(&ctx->kref);
			found = ctx;
			break;
		}
	}
	mutex_unlock(&gdev->contexts_lock);
	return found;
}

/* Gives it a number and a table. */
static int godwit_context_begin(struct godwit_context *ctx)
{
	struct godwit_device *gdev = ctx->device;
	int err = -EUSERS;

	mutex_lock(&gdev->contexts_lock);
	ctx->number = find_first_zero_bit(gdev->context_numbers, gdev->contexts);
	if (ctx->number < gdev->contexts)
		err = godwit_table_init(gdev, &ctx->table);
	if (!err) {
		__set_bit(ctx->number, gdev->context_numbers);
		list_add(&ctx->node, &gdev->context_list);
		ctx->alive = true;
		godwit_heap_join(ctx);
		godwit_mmu_set_context(gdev, ctx->number, &ctx->table);
	}
	mutex_unlock(&gdev->contexts_lock);
	return err;
}

/* @mapping: of the file that it is. */
struct godwit_context *godwit_context_open(struct godwit_device *gdev, struct address_space *mapping)
{
	struct godwit_context *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);
	int err = 0;

	if (!ctx)
		return ERR_PTR(-ENOMEM);
	kref_init(&ctx->kref);
	ctx->device = gdev;
	ctx->mapping = mapping;
	mutex_init(&ctx->lock);
	INIT_LIST_HEAD(&ctx->pins);
	xa_init(&ctx->pages);
	godwit_place_init(ctx);
	ctx->mm = current->mm;
	mmgrab(ctx->mm);
	ctx->pid = get_pid(task_tgid(current));
	if (gdev->demand)
		err = mmu_interval_notifier_insert(&ctx->notifier, ctx->mm, 0, BIT_ULL(gdev->va_bits),
						   &godwit_inplace_ops);
	if (err)
		goto put;
	err = godwit_context_begin(ctx);
	if (!err)
		return ctx;
	if (gdev->demand)
		mmu_interval_notifier_remove(&ctx->notifier);
put:
	godwit_context_put(ctx);
	return ERR_PTR(err);
}

/* No launch is under way: each holds the file, and the card's end waits for them. */
static void godwit_context_end(struct godwit_context *ctx)
{
	struct godwit_device *gdev = ctx->device;

	lockdep_assert_held(&gdev->contexts_lock);
	if (!ctx->alive)
		return;
	/* By the context's table, so before that goes. */
	godwit_heap_end(ctx);
	mutex_lock(&ctx->lock);
	godwit_mmu_set_context(gdev, ctx->number, NULL);
	if (godwit_invalidate_context(gdev, ctx->number))
		/* Accesses that do not end must not reach pages that somebody else gets. */
		pci_clear_master(gdev->pdev);
	gw_pt_destroy(&ctx->table);
	ctx->alive = false;
	godwit_inplace_release(ctx, &gdev->pdev->dev, 0, ULONG_MAX);
	mutex_unlock(&ctx->lock);
	godwit_unpin_all(ctx);
	/* It waits for calls of the notifier, which take the lock. */
	if (gdev->demand)
		mmu_interval_notifier_remove(&ctx->notifier);
	__clear_bit(ctx->number, gdev->context_numbers);
	list_del(&ctx->node);
}

/* The file is closed. */
void godwit_context_close(struct godwit_context *ctx)
{
	mutex_lock(&ctx->device->contexts_lock);
	godwit_context_end(ctx);
	mutex_unlock(&ctx->device->contexts_lock);
	godwit_context_put(ctx);
}

/* The card goes; files that are still open keep a context that is not alive. */
void godwit_contexts_end(struct godwit_device *gdev)
{
	struct godwit_context *ctx, *next;

	mutex_lock(&gdev->contexts_lock);
	list_for_each_entry_safe(ctx, next, &gdev->context_list, node)
		godwit_context_end(ctx);
	mutex_unlock(&gdev->contexts_lock);
}
