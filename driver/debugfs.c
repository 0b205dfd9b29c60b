// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a card does, for people who look: /sys/kernel/debug/godwit/godwitN. Root's alone, no interface for programs.
 *
 * The files go before the card does, and that waits for who reads them: so registers can be read without struct
 * godwit_device.alive_lock.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "driver.h"

static struct dentry *godwit_root;

static const char *const godwit_event_names[GODWIT_EVENTS] = {
	[GODWIT_EVENT_CALLS] = "calls",
	[GODWIT_EVENT_LAUNCHES] = "launches",
	[GODWIT_EVENT_MMU_INTERRUPTS] = "mmu_interrupts",
	[GODWIT_EVENT_KERNEL_INTERRUPTS] = "kernel_interrupts",
	[GODWIT_EVENT_PAGE_REQUESTS] = "page_requests",
	[GODWIT_EVENT_BATCHES] = "batches",
	[GODWIT_EVENT_GROUPS] = "groups",
	[GODWIT_EVENT_PAGES_SHOWN] = "pages_shown",
	[GODWIT_EVENT_PAGES_HIDDEN] = "pages_hidden",
	[GODWIT_EVENT_JOINS] = "joins",
	[GODWIT_EVENT_PIECES] = "pieces",
	[GODWIT_EVENT_PAGES_OUT] = "pages_out",
	[GODWIT_EVENT_PAGES_HOME] = "pages_home",
	[GODWIT_EVENT_FOLIOS_OUT] = "folios_out",
	[GODWIT_EVENT_FOLIOS_HOME] = "folios_home",
	[GODWIT_EVENT_TOUCHES] = "touches",
	[GODWIT_EVENT_PAGES_ALONE] = "pages_alone",
	[GODWIT_EVENT_ALONE_TOUCHES] = "alone_touches",
	[GODWIT_EVENT_FIGHTS] = "fights",
	[GODWIT_EVENT_DMA_INTERRUPTS] = "dma_interrupts",
	[GODWIT_EVENT_DMA_LISTS] = "dma_lists",
	[GODWIT_EVENT_DMA_COPIES] = "dma_copies",
	[GODWIT_EVENT_DMA_PAGES] = "dma_pages",
	[GODWIT_EVENT_DMA_DOORBELLS] = "dma_doorbells",
	[GODWIT_EVENT_DMA_DRAINS] = "dma_drains",
	[GODWIT_EVENT_LINE_REPORTS] = "line_reports",
	[GODWIT_EVENT_STAYS_MOVED] = "stays_moved",
	[GODWIT_EVENT_STAYS_REFUSED] = "stays_refused",
	[GODWIT_EVENT_FLUSHES] = "flushes",
	[GODWIT_EVENT_INVALIDATIONS] = "invalidations",
	[GODWIT_EVENT_FENCES] = "fences",
	[GODWIT_EVENT_FAULTS] = "faults",
	[GODWIT_EVENT_INJECTED] = "injected",
	[GODWIT_EVENT_HEAP_COMMANDS] = "heap_commands",
	[GODWIT_EVENT_HEAP_TOUCHES] = "heap_touches",
};

static int counters_show(struct seq_file *out, void *unused)
{
	struct godwit_device *gdev = out->private;
	int i;

	for (i = 0; i < GODWIT_EVENTS; i++)
		seq_printf(out, "%s %lld\n", godwit_event_names[i], atomic64_read(&gdev->observed.events[i]));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

static int contexts_show(struct seq_file *out, void *unused)
{
	struct godwit_device *gdev = out->private;
	struct godwit_context *ctx;

	seq_puts(out, "context process host_pages device_pages pinned_pages\n");
	mutex_lock(&gdev->contexts_lock);
	list_for_each_entry(ctx, &gdev->context_list, node) {
		mutex_lock(&ctx->lock);
		seq_printf(out, "%u %d %lu %lu %lu\n", ctx->number, pid_nr(ctx->pid), ctx->host_pages, ctx->device_pages,
			   ctx->pinned_pages);
		mutex_unlock(&ctx->lock);
	}
	mutex_unlock(&gdev->contexts_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(contexts);

/* Reads the tables through the bus, entry by entry. */
static int entries_show(struct seq_file *out, void *unused)
{
	struct godwit_device *gdev = out->private;
	struct godwit_context *ctx;
	struct gw_pt_stats found;

	seq_puts(out, "context process tables pages_4k pages_64k pages_2m\n");
	mutex_lock(&gdev->contexts_lock);
	list_for_each_entry(ctx, &gdev->context_list, node) {
		mutex_lock(&ctx->lock);
		if (ctx->alive && !gw_pt_check(&ctx->table, &found))
			seq_printf(out, "%u %d %llu %llu %llu %llu\n", ctx->number, pid_nr(ctx->pid), found.tables,
				   found.pages[GW_PT_ORDER_4K], found.pages[GW_PT_ORDER_64K], found.pages[GW_PT_ORDER_2M]);
		mutex_unlock(&ctx->lock);
	}
	mutex_unlock(&gdev->contexts_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(entries);

static int pages_show(struct seq_file *out, void *unused)
{
	struct godwit_device *gdev = out->private;
	u32 i;

	seq_printf(out, "frames %llu\n", gdev->memory_bytes / GODWIT_FRAME_BYTES);
	seq_printf(out, "frames_free %llu\n", (u64)gw_range_free_bytes(&gdev->frames) / GODWIT_FRAME_BYTES);
	seq_printf(out, "pool %llu\n", godwit_pool_bytes(gdev) / PAGE_SIZE);
	seq_printf(out, "pool_used %llu\n", godwit_pool_used_bytes(gdev) / PAGE_SIZE);
	seq_printf(out, "pool_folios %u\n", godwit_pool_folios(gdev));
	seq_printf(out, "heap %llu\n", godwit_heap_bytes(gdev) / GODWIT_FRAME_BYTES);
	seq_printf(out, "heap_free %llu\n", godwit_heap_free_bytes(gdev) / GODWIT_FRAME_BYTES);
	for (i = 0; gdev->heap.regions > 1 && i < gdev->heap.regions; i++)
		seq_printf(out, "heap_region %u %llu %llu\n", i, gdev->heap.region[i].bytes / GODWIT_FRAME_BYTES,
			   godwit_heap_free_of(gdev, i, NULL) / GODWIT_FRAME_BYTES);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(pages);

static int queues_show(struct seq_file *out, void *unused)
{
	struct godwit_device *gdev = out->private;

	seq_puts(out, "queue head tail status\n");
	mutex_lock(&gdev->queue.lock);
	seq_printf(out, "command %u %u %#x%s\n", godwit_read(gdev, GODWIT_MMU(cqh)), godwit_read(gdev, GODWIT_MMU(cqt)),
		   godwit_read(gdev, GODWIT_MMU(cqcsr)), gdev->queue.broken ? " broken" : "");
	mutex_unlock(&gdev->queue.lock);
	if (gdev->pages.ring)
		seq_printf(out, "page_request %u %u %#x\n", godwit_read(gdev, GODWIT_MMU(page_queue.pqh)),
			   godwit_read(gdev, GODWIT_MMU(page_queue.pqt)), godwit_read(gdev, GODWIT_MMU(page_queue.pqcsr)));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(queues);

/* Whether an allocation is to fail: what happens then can be tried on kernels without fault injection of their own, which most are. */
bool godwit_fails(struct godwit_device *gdev)
{
	u32 every = READ_ONCE(gdev->observed.fail_every);

	if (likely(!every) || (u32)atomic_inc_return(&gdev->observed.fail_turn) % every)
		return false;
	godwit_count(gdev, GODWIT_EVENT_INJECTED, 1);
	return true;
}

void godwit_debugfs_add(struct godwit_device *gdev)
{
	struct dentry *folder = debugfs_create_dir(gdev->name, godwit_root);

	debugfs_create_file("contexts", 0400, folder, gdev, &contexts_fops);
	debugfs_create_file("counters", 0400, folder, gdev, &counters_fops);
	debugfs_create_file("entries", 0400, folder, gdev, &entries_fops);
	debugfs_create_file("pages", 0400, folder, gdev, &pages_fops);
	debugfs_create_file("queues", 0400, folder, gdev, &queues_fops);
	debugfs_create_u32("fail_every", 0600, folder, &gdev->observed.fail_every);
	debugfs_create_u32("fail_folios", 0600, folder, &gdev->observed.fail_folios);
	gdev->observed.folder = folder;
}

void godwit_debugfs_remove(struct godwit_device *gdev)
{
	debugfs_remove_recursive(gdev->observed.folder);
}

/* Without debugfs all of these do nothing, and nothing is missed. */
void godwit_debugfs_init(void)
{
	godwit_root = debugfs_create_dir("godwit", NULL);
}

void godwit_debugfs_exit(void)
{
	debugfs_remove_recursive(godwit_root);
}
