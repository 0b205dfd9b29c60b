// SPDX-License-Identifier: GPL-2.0-only
/*
 * The heap's memory in processes: mmap() of /dev/godwitN, at the addresses that the card has for it, and frames on the first
 * touch, whoever makes it.
 *
 * A process maps an allocation at the address that malloc gave, which is the offset, too, and nothing else can be mapped. A page
 * that it touches is looked up in the context's page table, and the hardware is asked whether it is of a live allocation; where
 * there is nothing it gives a frame, also for a read, so that what the process sees is what the card writes. What is freed is taken
 * from processes first.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "compat.h"
#include "driver.h"

/* Tables of a walk. */
#define GODWIT_HEAP_LEVELS 4
/* Between two looks for a frame. */
#define GODWIT_HEAP_REST_US 200

/**
 * struct godwit_walk - where a walk ended
 * @entry: physical address of the entry
 * @level: of its table
 * @found: it is that of a page
 * @page: of that the first byte
 */
struct godwit_walk {
	u64 entry;
	u32 level;
	bool found;
	u64 page;
};

/* log2 of the pages that an entry of a page maps. With N they are 2^k, and its frame's number ends in 1 and k - 1 zeros. */
static u32 godwit_heap_order_of(u64 pte, u64 frame, u32 level)
{
	u32 order = level * GODWIT_PT_LEVEL_BITS;

	/* Whatever an entry says, it is less than one of the next level. */
	if (pte & GODWIT_PTE_N)
		order += __ffs64(frame | BIT_ULL(GODWIT_PT_LEVEL_BITS - 1)) + 1;
	return order;
}

/* A page of a mapping of 2^@order pages that has frame @frame. */
static u64 godwit_heap_page_of(u64 frame, u32 order, u64 va)
{
	u64 within = (va >> PAGE_SHIFT) & (BIT_ULL(order) - 1);

	return (round_down(frame, BIT_ULL(order)) | within) * GODWIT_FRAME_BYTES;
}

/* What the walker would find. Tables are the card's to write: whatever they say, nothing but the heap's memory is a page. */
static int godwit_heap_walk(struct godwit_context *ctx, u64 va, struct godwit_walk *walk)
{
	struct godwit_device *gdev = ctx->device;
	u64 table = ctx->table.root, pte, frame;
	u32 level = GODWIT_HEAP_LEVELS;

	*walk = (struct godwit_walk){};
	while (level--) {
		u64 index = va >> (PAGE_SHIFT + level * GODWIT_PT_LEVEL_BITS) & (BIT_ULL(GODWIT_PT_LEVEL_BITS) - 1);

		walk->entry = table + index * sizeof(pte);
		walk->level = level;
		if (walk->entry > gdev->memory_bytes - sizeof(pte))
			return -EIO;
		pte = readq(gdev->memory + walk->entry);
		if (!(pte & GODWIT_PTE_V))
			return 0;
		frame = (pte & GODWIT_PTE_PPN_MASK) >> GODWIT_PTE_PPN_SHIFT;
		table = frame * GODWIT_FRAME_BYTES;
		walk->found = !level || pte & (GODWIT_PTE_R | GODWIT_PTE_X);
		if (!walk->found)
			continue;
		walk->page = godwit_heap_page_of(frame, godwit_heap_order_of(pte, frame, level), va);
		break;
	}
	return 0;
}

/*
 * The page at @va, which gets a frame if it has none. -EFAULT: no live allocation of the context is there; -EAGAIN: no frame
 * yet. Nobody frees or shrinks meanwhile. The hardware is asked in any case: entries of what was freed are there until they are
 * taken back.
 */
static int godwit_heap_page(struct godwit_context *ctx, u64 va, u64 *pa)
{
	struct godwit_device *gdev = ctx->device;
	struct godwit_walk walk;
	u32 touched;
	int err;

	lockdep_assert_held(&gdev->heap.lock);
	if (gdev->heap.broken || ctx->heap_ended)
		return -EIO;
	err = godwit_heap_walk(ctx, va, &walk);
	if (err)
		return err;
	godwit_write64(gdev, GODWIT_HEAP_REG(touch_address), va);
	godwit_write64(gdev, GODWIT_HEAP_REG(touch_entry), walk.entry);
	godwit_write(gdev, GODWIT_HEAP_REG(touch),
		     walk.level << GW_HEAP__TOUCH__TABLE_LEVEL_bp | GW_HEAP__TOUCH__WRITE_bm |
			     ctx->number << GW_HEAP__TOUCH__CONTEXT_ID_bp);
	err = godwit_heap_ask(gdev, GODWIT_HEAP_REG(touched), GW_HEAP__TOUCHED__BUSY_bm, &touched);
	if (err)
		return err;
	switch (GODWIT_HEAP_FIELD(TOUCHED__HOW, touched)) {
	case GODWIT_HEAP_TOUCH_FAULT:
		return -EFAULT;
	case GODWIT_HEAP_TOUCH_FRAME:
		godwit_count(gdev, GODWIT_EVENT_HEAP_TOUCHES, 1);
		walk.page = godwit_heap_page_of(godwit_read64(gdev, GODWIT_HEAP_REG(touched_frame)),
						GODWIT_HEAP_FIELD(TOUCHED__ORDER, touched), va);
		break;
	default:
		if (!walk.found)
			return -EAGAIN;
	}
	if (!godwit_heap_region_of(gdev, walk.page))
		return -EIO;
	*pa = walk.page;
	return 0;
}

/* Has @use called with the page at @va, under the lock; waits for a frame, as long as somebody may give one back. */
static int godwit_heap_use(struct godwit_context *ctx, u64 va, int (*use)(struct vm_fault *, u64), struct vm_fault *vmf)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(READ_ONCE(godwit_param_heap_wait_ms));
	struct godwit_device *gdev = ctx->device;
	bool late;
	u64 pa;
	int err;

	for (;;) {
		late = time_after(jiffies, deadline);
		mutex_lock(&gdev->heap.lock);
		err = godwit_heap_page(ctx, va, &pa);
		if (!err)
			err = use(vmf, pa);
		else if (err == -EAGAIN)
			godwit_heap_see(ctx->device);
		mutex_unlock(&gdev->heap.lock);
		if (err != -EAGAIN)
			return err;
		if (late)
			return -ENOMEM;
		if (fatal_signal_pending(current))
			return -EINTR;
		usleep_range(GODWIT_HEAP_REST_US, 2 * GODWIT_HEAP_REST_US);
	}
}

static int godwit_heap_show(struct vm_fault *vmf, u64 pa)
{
	struct godwit_context *ctx = vmf->vma->vm_file->private_data;
	const struct godwit_heap_region *region = godwit_heap_region_of(ctx->device, pa);
	u64 bus = pci_resource_start(ctx->device->pdev, GODWIT_PCI_BAR_MEMORY) + pa;
	pgprot_t prot = vmf->vma->vm_page_prot;
	unsigned long pfn = PHYS_PFN(bus);

	/* Memory of the host is cached as all of it is. */
	if (region->host) {
		pfn = page_to_pfn(region->pages) + PHYS_PFN(pa - region->base);
		prot = vm_get_page_prot(vmf->vma->vm_flags);
	}
	/* Without a page for the process's own table the touch is tried again, or ends the process. */
	return vmf_insert_pfn_prot(vmf->vma, vmf->address, pfn, prot) == VM_FAULT_NOPAGE ? 0 : -EFAULT;
}

static int godwit_heap_leave(struct vm_fault *vmf, u64 pa)
{
	return 0;
}

/* The memory map's lock is held, or that of the mapping. */
static vm_fault_t godwit_heap_touched(struct vm_fault *vmf)
{
	struct godwit_context *ctx = vmf->vma->vm_file->private_data;
	int err = godwit_heap_use(ctx, (u64)vmf->pgoff << PAGE_SHIFT, godwit_heap_show, vmf);

	return err ? VM_FAULT_SIGBUS : VM_FAULT_NOPAGE;
}

static const struct vm_operations_struct godwit_heap_vm_ops = {
	.fault = godwit_heap_touched,
};

int godwit_heap_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct godwit_context *ctx = file->private_data;
	u64 start = vma->vm_start;

	if (!ctx->device->heap.regions)
		return -ENODEV;
	if (!(vma->vm_flags & VM_SHARED) || start < GODWIT_HEAP_WINDOW_FIRST || vma->vm_end > GODWIT_HEAP_WINDOW_END ||
	    vma->vm_pgoff != start >> PAGE_SHIFT)
		return -EINVAL;
	/* A child has the file, and may map it, too; what it did not map it does not see. */
	vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY);
	vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	vma->vm_ops = &godwit_heap_vm_ops;
	return 0;
}

/* Takes pages from all processes that see them by this context's file. */
void godwit_heap_hide(struct godwit_context *ctx, u64 start, u64 end)
{
	lockdep_assert_held(&ctx->device->heap.lock);
	end = min_t(u64, end, GODWIT_HEAP_WINDOW_END);
	if (start < end)
		unmap_mapping_range(ctx->mapping, start, end - start, 1);
}

/* Takes frames for pages beforehand. */
int godwit_heap_populate(struct godwit_context *ctx, struct godwit_allocation *what)
{
	u64 va = round_down(what->pointer, PAGE_SIZE), end = what->pointer + what->size;
	int err = 0;

	for (; va < end && !err; va += PAGE_SIZE) {
		err = signal_pending(current) ? -EINTR : godwit_heap_use(ctx, va, godwit_heap_leave, NULL);
		cond_resched();
	}
	if (err != -EFAULT)
		return err;
	what->status = GODWIT_HEAP_NOT_LIVE;
	return 0;
}
