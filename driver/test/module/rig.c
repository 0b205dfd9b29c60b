// SPDX-License-Identifier: GPL-2.0-only
/*
 * What programs of the tests cannot do themselves: be another driver that imports a dma-buf, ask the kernel for contiguous memory
 * as drivers do, leave the kernel's pages all over memory, be a machine whose description names contiguous memory, have a card's
 * driver told of a reset that is none, and be a disk in memory, to which pages are swapped out. For tests alone, and for one of them at a
 * time.
 */
#include <linux/blkdev.h>
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#include "rig.h"

#define RIG_MAX_AREAS 20
#define RIG_DISK_BYTES (16ul << 20)

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS(DMA_BUF);
#else
MODULE_IMPORT_NS("DMA_BUF");
#endif

static ulong rig_areas[2 * RIG_MAX_AREAS];
static int rig_area_words;
module_param_array_named(areas, rig_areas, ulong, &rig_area_words, 0444);
MODULE_PARM_DESC(areas, "first byte and bytes of each area that the machine is to describe as contiguous memory");

struct rig_piece {
	struct list_head node;
	u64 bytes;
	u32 kind;
	void *at;
	dma_addr_t bus;
	struct page *page;
};

static struct platform_device *rig_device, *rig_described;
static DEFINE_MUTEX(rig_lock);
static LIST_HEAD(rig_pieces);
static LIST_HEAD(rig_scattered);

static int rig_import(struct rig_import *what)
{
	struct dma_buf *buffer = dma_buf_get(what->fd);
	struct dma_buf_attachment *attachment;
	struct scatterlist *entry;
	struct sg_table *table;
	int err = 0, i;

	if (IS_ERR(buffer))
		return PTR_ERR(buffer);
	attachment = dma_buf_attach(buffer, &rig_device->dev);
	if (IS_ERR(attachment)) {
		err = PTR_ERR(attachment);
		goto put;
	}
	table = dma_buf_map_attachment_unlocked(attachment, DMA_BIDIRECTIONAL);
	if (IS_ERR(table)) {
		err = PTR_ERR(table);
		goto detach;
	}
	what->entries = table->nents;
	what->address = sg_dma_address(table->sgl);
	what->bytes = 0;
	for_each_sgtable_dma_sg(table, entry, i)
		if (sg_dma_address(entry) == what->address + what->bytes)
			what->bytes += sg_dma_len(entry);
	dma_buf_unmap_attachment_unlocked(attachment, table, DMA_BIDIRECTIONAL);
detach:
	dma_buf_detach(buffer, attachment);
put:
	dma_buf_put(buffer);
	return err;
}

static int rig_take_piece(struct rig_piece *piece)
{
	switch (piece->kind) {
	case RIG_DMA:
		piece->at = dma_alloc_attrs(&rig_device->dev, piece->bytes, &piece->bus, GFP_KERNEL | __GFP_NOWARN, 0);
		return piece->at ? 0 : -ENOMEM;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0) && defined(CONFIG_CONTIG_ALLOC)
	case RIG_CONTIG:
		piece->page = alloc_contig_pages(piece->bytes >> PAGE_SHIFT, GFP_KERNEL | __GFP_NOWARN, numa_mem_id(), NULL);
		return piece->page ? 0 : -ENOMEM;
#endif
	default:
		return -EOPNOTSUPP;
	}
}

static int rig_take(struct rig_take *what)
{
	struct rig_piece *piece = kzalloc(sizeof(*piece), GFP_KERNEL);
	ktime_t start;
	int err;

	if (!piece)
		return -ENOMEM;
	piece->bytes = PAGE_ALIGN(what->bytes);
	piece->kind = what->kind;
	start = ktime_get();
	err = rig_take_piece(piece);
	what->ns = ktime_to_ns(ktime_sub(ktime_get(), start));
	if (err)
		kfree(piece);
	else
		list_add(&piece->node, &rig_pieces);
	return err;
}

static int rig_scatter(const struct rig_scatter *what)
{
	struct page *page, *next;
	LIST_HEAD(taken);
	u64 pages = what->bytes >> PAGE_SHIFT, i;

	if (!what->every)
		return -EINVAL;
	for (i = 0; i < pages; i++) {
		page = alloc_page(GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY);
		if (!page)
			break;
		list_add_tail(&page->lru, &taken);
	}
	i = 0;
	list_for_each_entry_safe(page, next, &taken, lru) {
		if (i++ % what->every == 0) {
			list_move(&page->lru, &rig_scattered);
			continue;
		}
		list_del(&page->lru);
		__free_page(page);
	}
	return 0;
}

static void rig_give(void)
{
	struct rig_piece *piece, *next;
	u64 i;

	list_for_each_entry_safe(piece, next, &rig_pieces, node) {
		list_del(&piece->node);
		if (piece->at)
			dma_free_attrs(&rig_device->dev, piece->bytes, piece->at, piece->bus, 0);
		for (i = 0; piece->page && i < piece->bytes >> PAGE_SHIFT; i++)
			__free_page(piece->page + i);
		kfree(piece);
	}
}

/* What Linux does around a reset, without one: the card has what it had. */
static int rig_reset(void)
{
	struct pci_dev *pdev = NULL;
	int err = -ENODEV;

	for_each_pci_dev(pdev) {
		struct pci_driver *driver;

		device_lock(&pdev->dev);
		driver = pdev->dev.driver ? to_pci_driver(pdev->dev.driver) : NULL;
		if (driver && !strcmp(driver->name, "godwit")) {
			driver->err_handler->reset_prepare(pdev);
			pci_save_state(pdev);
			pci_restore_state(pdev);
			driver->err_handler->reset_done(pdev);
			err = 0;
		}
		device_unlock(&pdev->dev);
	}
	return err;
}

static long rig_ioctl(struct file *file, unsigned int number, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	union {
		struct rig_import import;
		struct rig_take take;
		struct rig_scatter scatter;
	} what;
	long err = 0;

	if (_IOC_SIZE(number) > sizeof(what) || copy_from_user(&what, user, _IOC_SIZE(number)))
		return -EFAULT;
	mutex_lock(&rig_lock);
	switch (number) {
	case RIG_IOC_IMPORT:
		err = rig_import(&what.import);
		break;
	case RIG_IOC_TAKE:
		err = rig_take(&what.take);
		break;
	case RIG_IOC_SCATTER:
		err = rig_scatter(&what.scatter);
		break;
	case RIG_IOC_GIVE:
		rig_give();
		break;
	case RIG_IOC_RESET:
		err = rig_reset();
		break;
	default:
		err = -ENOTTY;
	}
	mutex_unlock(&rig_lock);
	if (copy_to_user(user, &what, _IOC_SIZE(number)))
		err = -EFAULT;
	return err;
}

static const struct file_operations rig_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = rig_ioctl,
};

static struct miscdevice rig_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "rig",
	.fops = &rig_fops,
	.mode = 0600,
};

static int rig_describe(void)
{
	struct resource areas[RIG_MAX_AREAS] = {};
	int i, count = rig_area_words / 2;

	for (i = 0; i < count; i++)
		areas[i] = (struct resource)DEFINE_RES_MEM(rig_areas[2 * i], rig_areas[2 * i + 1]);
	if (count)
		rig_described = platform_device_register_simple("godwit-cmt", PLATFORM_DEVID_NONE, areas, count);
	return PTR_ERR_OR_ZERO(rig_described);
}

static struct gendisk *rig_disk;
static void *rig_disk_memory;

static void rig_disk_submit(struct bio *bio)
{
	loff_t at = (loff_t)bio->bi_iter.bi_sector << SECTOR_SHIFT;
	struct bvec_iter iter;
	struct bio_vec piece;

	bio_for_each_segment(piece, bio, iter) {
		if (op_is_write(bio_op(bio)))
			memcpy_from_bvec(rig_disk_memory + at, &piece);
		else
			memcpy_to_bvec(&piece, rig_disk_memory + at);
		at += piece.bv_len;
	}
	bio_endio(bio);
}

static const struct block_device_operations rig_disk_ops = {
	.owner = THIS_MODULE,
	.submit_bio = rig_disk_submit,
};

/* /dev/rigdisk */
static int rig_disk_add(void)
{
	struct queue_limits limits = { .physical_block_size = PAGE_SIZE };
	int err;

	rig_disk_memory = vzalloc(RIG_DISK_BYTES);
	rig_disk = rig_disk_memory ? blk_alloc_disk(&limits, NUMA_NO_NODE) : ERR_PTR(-ENOMEM);
	err = PTR_ERR_OR_ZERO(rig_disk);
	if (err)
		goto free;
	rig_disk->fops = &rig_disk_ops;
	strscpy(rig_disk->disk_name, "rigdisk", sizeof(rig_disk->disk_name));
	set_capacity(rig_disk, RIG_DISK_BYTES >> SECTOR_SHIFT);
	err = add_disk(rig_disk);
	if (!err)
		return 0;
	put_disk(rig_disk);
free:
	vfree(rig_disk_memory);
	return err;
}

static void rig_disk_remove(void)
{
	del_gendisk(rig_disk);
	put_disk(rig_disk);
	vfree(rig_disk_memory);
}

static int __init rig_init(void)
{
	int err;

	rig_device = platform_device_register_simple("rig", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(rig_device))
		return PTR_ERR(rig_device);
	/* It takes what it gets in one piece. */
	dma_set_max_seg_size(&rig_device->dev, UINT_MAX);
	err = dma_coerce_mask_and_coherent(&rig_device->dev, DMA_BIT_MASK(64));
	if (!err)
		err = rig_describe();
	if (err)
		goto device;
	err = rig_disk_add();
	if (err)
		goto described;
	err = misc_register(&rig_misc);
	if (!err)
		return 0;
	rig_disk_remove();
described:
	platform_device_unregister(rig_described);
device:
	platform_device_unregister(rig_device);
	return err;
}
module_init(rig_init);

static void __exit rig_exit(void)
{
	struct page *page, *other;

	misc_deregister(&rig_misc);
	rig_disk_remove();
	rig_give();
	list_for_each_entry_safe(page, other, &rig_scattered, lru) {
		list_del(&page->lru);
		__free_page(page);
	}
	platform_device_unregister(rig_described);
	platform_device_unregister(rig_device);
}
module_exit(rig_exit);

MODULE_DESCRIPTION("What the tests of godwit.ko cannot do themselves");
MODULE_LICENSE("GPL");
