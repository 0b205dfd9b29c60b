// SPDX-License-Identifier: GPL-2.0-only
/* Blocks of /dev/godwit-cmt as dma-bufs: for other processes, and for other devices, which get them in one piece. */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "cmt.h"
#include "compat.h"
#include "uapi/godwit.h"

/* An entry of a scatter list has 32 bits for its length. */
#define GODWIT_CMT_SEGMENT SZ_1G

static struct sg_table *godwit_cmt_map_buffer(struct dma_buf_attachment *attachment, enum dma_data_direction direction)
{
	struct godwit_cmt_block *block = attachment->dmabuf->priv;
	u64 at = block->base, end = at + attachment->dmabuf->size;
	struct scatterlist *entry;
	struct sg_table *table;
	u32 step;
	int err, i;

	table = kmalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return ERR_PTR(-ENOMEM);
	err = sg_alloc_table(table, DIV_ROUND_UP(end - at, GODWIT_CMT_SEGMENT), GFP_KERNEL);
	if (err)
		goto free;
	for_each_sgtable_sg(table, entry, i) {
		step = min_t(u64, end - at, GODWIT_CMT_SEGMENT);
		sg_set_page(entry, pfn_to_page(PHYS_PFN(at)), step, 0);
		at += step;
	}
	err = dma_map_sgtable(attachment->dev, table, direction, 0);
	if (!err)
		return table;
	sg_free_table(table);
free:
	kfree(table);
	return ERR_PTR(err);
}

static void godwit_cmt_unmap_buffer(struct dma_buf_attachment *attachment, struct sg_table *table,
				    enum dma_data_direction direction)
{
	dma_unmap_sgtable(attachment->dev, table, direction, 0);
	sg_free_table(table);
	kfree(table);
}

/* The caller has compared place and size with those of the buffer. */
static int godwit_cmt_mmap_buffer(struct dma_buf *buffer, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	godwit_cmt_map(buffer->priv, vma, true);
	return 0;
}

static void godwit_cmt_release_buffer(struct dma_buf *buffer)
{
	godwit_cmt_put(buffer->priv);
}

static const struct dma_buf_ops godwit_cmt_buffer_ops = {
	.map_dma_buf = godwit_cmt_map_buffer,
	.unmap_dma_buf = godwit_cmt_unmap_buffer,
	.mmap = godwit_cmt_mmap_buffer,
	.release = godwit_cmt_release_buffer,
};

int godwit_cmt_buffer(struct godwit_cmt_block *block, u64 bytes, struct godwit_cmt_export *what, void __user *user)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *buffer;

	/* A scatter list has pages; memory that was reserved where there is none has none. */
	if (!pfn_valid(PHYS_PFN(block->base)) || !pfn_valid(PHYS_PFN(block->base + bytes - 1)))
		return -EOPNOTSUPP;
	info.ops = &godwit_cmt_buffer_ops;
	info.size = bytes;
	info.flags = O_RDWR;
	info.priv = block;
	what->fd = get_unused_fd_flags(O_CLOEXEC);
	if (what->fd < 0)
		return what->fd;
	buffer = dma_buf_export(&info);
	if (IS_ERR(buffer)) {
		put_unused_fd(what->fd);
		return PTR_ERR(buffer);
	}
	kref_get(&block->kref);
	if (copy_to_user(user, what, sizeof(*what))) {
		put_unused_fd(what->fd);
		dma_buf_put(buffer);
		return -EFAULT;
	}
	fd_install(what->fd, buffer->file);
	return 0;
}

GODWIT_IMPORT_NS(DMA_BUF);
