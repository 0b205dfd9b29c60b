// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blocks of contiguous memory in processes. Pages come on the first touch. Those of Linux can be pinned there, and are seen by cards
 * that ask for pages; memory that was reserved is mapped without pages.
 */
#include <linux/fs.h>
#include <linux/mm.h>

#include "cmt.h"
#include "compat.h"

static vm_fault_t godwit_cmt_show(struct vm_fault *vmf, unsigned long pfn)
{
	return godwit_cmt_has_pages() ? vmf_insert_page(vmf->vma, vmf->address, pfn_to_page(pfn)) :
					vmf_insert_pfn(vmf->vma, vmf->address, pfn);
}

static vm_fault_t godwit_cmt_touched(struct vm_fault *vmf)
{
	return godwit_cmt_show(vmf, vmf->pgoff);
}

static vm_fault_t godwit_cmt_touched_export(struct vm_fault *vmf)
{
	struct godwit_cmt_block *block = vmf->vma->vm_private_data;

	return godwit_cmt_show(vmf, PHYS_PFN(block->base) + vmf->pgoff);
}

static void godwit_cmt_vma_open(struct vm_area_struct *vma)
{
	struct godwit_cmt_block *block = vma->vm_private_data;

	kref_get(&block->kref);
}

static void godwit_cmt_vma_close(struct vm_area_struct *vma)
{
	godwit_cmt_put(vma->vm_private_data);
}

static const struct vm_operations_struct godwit_cmt_vm_ops = {
	.open = godwit_cmt_vma_open,
	.close = godwit_cmt_vma_close,
	.fault = godwit_cmt_touched,
};

static const struct vm_operations_struct godwit_cmt_export_vm_ops = {
	.open = godwit_cmt_vma_open,
	.close = godwit_cmt_vma_close,
	.fault = godwit_cmt_touched_export,
};

/* @exported: the first byte of the file is that of the block, not of memory. */
void godwit_cmt_map(struct godwit_cmt_block *block, struct vm_area_struct *vma, bool exported)
{
	kref_get(&block->kref);
	vm_flags_set(vma, (godwit_cmt_has_pages() ? VM_MIXEDMAP : VM_PFNMAP) | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_private_data = block;
	vma->vm_ops = exported ? &godwit_cmt_export_vm_ops : &godwit_cmt_vm_ops;
}

/* Of a block of this file all or a part, at its physical address as the offset. */
int godwit_cmt_mmap(struct file *file, struct vm_area_struct *vma)
{
	u64 start = (u64)vma->vm_pgoff << PAGE_SHIFT, bytes = vma->vm_end - vma->vm_start;
	struct godwit_cmt_block *block;
	int err = -ENXIO;

	if (!(vma->vm_flags & VM_SHARED) || start >> PAGE_SHIFT != vma->vm_pgoff)
		return -EINVAL;
	mutex_lock(&godwit_cmt_lock);
	block = godwit_cmt_find(file->private_data, start);
	if (block && bytes <= block->bytes - (start - block->base)) {
		godwit_cmt_map(block, vma, false);
		err = 0;
	}
	mutex_unlock(&godwit_cmt_lock);
	return err;
}
