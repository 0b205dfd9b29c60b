// SPDX-License-Identifier: GPL-2.0-only
/* Contexts: one an open file. They end with the file or with the card, whichever goes first. */
#include <linux/slab.h>

#include "driver.h"

struct godwit_context *godwit_context_open(struct godwit_device *gdev)
{
	struct godwit_context *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);
	int err;

	if (!ctx)
		return ERR_PTR(-ENOMEM);
	ctx->device = gdev;
	mutex_init(&ctx->lock);
	INIT_LIST_HEAD(&ctx->pins);

	mutex_lock(&gdev->contexts_lock);
	ctx->number = find_first_zero_bit(gdev->context_numbers, gdev->contexts);
	if (ctx->number >= gdev->contexts) {
		err = -EUSERS;
		goto free;
	}
	err = godwit_table_init(gdev, &ctx->table);
	if (err)
		goto free;
	__set_bit(ctx->number, gdev->context_numbers);
	list_add(&ctx->node, &gdev->context_list);
	ctx->alive = true;
	godwit_mmu_set_context(gdev, ctx->number, &ctx->table);
	mutex_unlock(&gdev->contexts_lock);
	return ctx;

free:
	mutex_unlock(&gdev->contexts_lock);
	kfree(ctx);
	return ERR_PTR(err);
}

/* No launch is under way: each holds the file, and the card's end waits for them. */
static void godwit_context_end(struct godwit_context *ctx)
{
	struct godwit_device *gdev = ctx->device;

	lockdep_assert_held(&gdev->contexts_lock);
	if (!ctx->alive)
		return;
	mutex_lock(&ctx->lock);
	godwit_mmu_set_context(gdev, ctx->number, NULL);
	if (godwit_invalidate_context(gdev, ctx->number))
		/* Accesses that do not end must not reach pages that somebody else gets. */
		pci_clear_master(gdev->pdev);
	gw_pt_destroy(&ctx->table);
	ctx->alive = false;
	godwit_unpin_all(ctx);
	mutex_unlock(&ctx->lock);
	__clear_bit(ctx->number, gdev->context_numbers);
	list_del(&ctx->node);
}

/* The file is closed. */
void godwit_context_close(struct godwit_context *ctx)
{
	mutex_lock(&ctx->device->contexts_lock);
	godwit_context_end(ctx);
	mutex_unlock(&ctx->device->contexts_lock);
	kfree(ctx);
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
