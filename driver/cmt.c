// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/godwit-cmt: contiguous memory for devices without address translation. An open file has blocks (cmt_blocks.c), which end with
 * it.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/uaccess.h>

#include "cmt.h"
#include "uapi/godwit.h"

/* Whether the device is there. */
static bool godwit_cmt_found;

static int godwit_cmt_export(struct godwit_cmt_file *owner, struct godwit_cmt_export *what, void __user *user)
{
	struct godwit_cmt_block *block;
	u64 bytes;
	int err;

	if (what->reserved)
		return -EINVAL;
	block = godwit_cmt_get(owner, what->address, &bytes);
	if (!block)
		return -ENOENT;
	err = godwit_cmt_buffer(block, bytes, what, user);
	godwit_cmt_put(block);
	return err;
}

static int godwit_cmt_info(struct godwit_cmt_file *owner, void __user *user)
{
	struct godwit_cmt_info info = {
		.abi = GODWIT_CMT_ABI,
		.flags = godwit_cmt_has_pages() ? GODWIT_CMT_PAGES : 0,
		.blocks = READ_ONCE(owner->count),
	};
	struct gw_range_stats stats;

	godwit_cmt_stats(&stats);
	info.areas = stats.spans;
	info.total_bytes = stats.total;
	info.free_bytes = stats.free;
	info.largest_bytes = stats.largest;
	info.ending_bytes = godwit_cmt_ending();
	return copy_to_user(user, &info, sizeof(info)) ? -EFAULT : 0;
}

static int godwit_cmt_alloc_call(struct godwit_cmt_file *owner, void __user *user)
{
	struct godwit_cmt_alloc what;
	int err;

	if (copy_from_user(&what, user, sizeof(what)))
		return -EFAULT;
	err = godwit_cmt_alloc(owner, &what);
	if ((!err || err == -ENOMEM) && copy_to_user(user, &what, sizeof(what)))
		err = -EFAULT;
	return err;
}

static int godwit_cmt_free_call(struct godwit_cmt_file *owner, void __user *user)
{
	struct godwit_cmt_piece what;

	if (copy_from_user(&what, user, sizeof(what)))
		return -EFAULT;
	return godwit_cmt_free(owner, &what);
}

static int godwit_cmt_resize_call(struct godwit_cmt_file *owner, void __user *user)
{
	struct godwit_cmt_piece what;
	int err;

	if (copy_from_user(&what, user, sizeof(what)))
		return -EFAULT;
	err = godwit_cmt_resize(owner, &what);
	if (!err && copy_to_user(user, &what, sizeof(what)))
		err = -EFAULT;
	return err;
}

static int godwit_cmt_export_call(struct godwit_cmt_file *owner, void __user *user)
{
	struct godwit_cmt_export what;

	if (copy_from_user(&what, user, sizeof(what)))
		return -EFAULT;
	return godwit_cmt_export(owner, &what, user);
}

static long godwit_cmt_ioctl(struct file *file, unsigned int number, unsigned long arg)
{
	struct godwit_cmt_file *owner = file->private_data;
	void __user *user = (void __user *)arg;

	switch (number) {
	case GODWIT_CMT_IOC_INFO:
		return godwit_cmt_info(owner, user);
	case GODWIT_CMT_IOC_ALLOC:
		return godwit_cmt_alloc_call(owner, user);
	case GODWIT_CMT_IOC_FREE:
		return godwit_cmt_free_call(owner, user);
	case GODWIT_CMT_IOC_RESIZE:
		return godwit_cmt_resize_call(owner, user);
	case GODWIT_CMT_IOC_EXPORT:
		return godwit_cmt_export_call(owner, user);
	default:
		return -ENOTTY;
	}
}

static int godwit_cmt_open(struct inode *inode, struct file *file)
{
	struct godwit_cmt_file *owner = kzalloc(sizeof(*owner), GFP_KERNEL_ACCOUNT);

	if (!owner)
		return -ENOMEM;
	xa_init(&owner->blocks);
	file->private_data = owner;
	return nonseekable_open(inode, file);
}

static int godwit_cmt_release(struct inode *inode, struct file *file)
{
	struct godwit_cmt_file *owner = file->private_data;

	godwit_cmt_free_all(owner);
	kfree(owner);
	return 0;
}

static const struct file_operations godwit_cmt_fops = {
	.owner = THIS_MODULE,
	.open = godwit_cmt_open,
	.release = godwit_cmt_release,
	.unlocked_ioctl = godwit_cmt_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = godwit_cmt_mmap,
	.llseek = noop_llseek,
};

#define GODWIT_CMT_ATTRIBUTE(attribute)                                                                     \
	static ssize_t attribute##_bytes_show(struct device *dev, struct device_attribute *attr, char *buf) \
	{                                                                                                   \
		struct gw_range_stats stats;                                                                \
													    \
		godwit_cmt_stats(&stats);                                                                   \
		return sysfs_emit(buf, "%llu\n", stats.attribute);                                          \
	}                                                                                                   \
	static DEVICE_ATTR_RO(attribute##_bytes)

GODWIT_CMT_ATTRIBUTE(total);
GODWIT_CMT_ATTRIBUTE(free);
GODWIT_CMT_ATTRIBUTE(largest);

static struct attribute *godwit_cmt_attrs[] = {
	&dev_attr_total_bytes.attr,
	&dev_attr_free_bytes.attr,
	&dev_attr_largest_bytes.attr,
	NULL,
};
ATTRIBUTE_GROUPS(godwit_cmt);

static struct miscdevice godwit_cmt_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "godwit-cmt",
	.fops = &godwit_cmt_fops,
	.mode = 0660,
	.groups = godwit_cmt_groups,
};

/* No memory, no device. */
int godwit_cmt_init(void)
{
	const struct gw_range_area *areas;
	struct gw_range_stats stats;
	u32 count;
	int err = godwit_cmt_areas_take(&areas, &count);

	if (err || !count)
		return err;
	err = godwit_cmt_pool_init(areas, count);
	if (err)
		goto give;
	err = misc_register(&godwit_cmt_misc);
	if (err)
		goto pool;
	godwit_cmt_found = true;
	godwit_cmt_stats(&stats);
	pr_info("godwit-cmt: %llu MiB in %llu pieces, the largest has %llu MiB\n", stats.total >> 20, stats.spans,
		stats.largest >> 20);
	return 0;

pool:
	godwit_cmt_pool_fini();
give:
	godwit_cmt_areas_give();
	return err;
}

/* No file is open, and nothing is mapped or exported: the module would not end. */
void godwit_cmt_exit(void)
{
	if (!godwit_cmt_found)
		return;
	misc_deregister(&godwit_cmt_misc);
	godwit_cmt_pool_fini();
	godwit_cmt_areas_give();
}
