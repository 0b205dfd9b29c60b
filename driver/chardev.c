// SPDX-License-Identifier: GPL-2.0-only
/* /dev/godwitN: what programs ask for, checked as far as it needs no card, and handed on. */
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "driver.h"

static DEFINE_IDA(godwit_ids);

static void godwit_device_free(struct kref *kref)
{
	struct godwit_device *gdev = container_of(kref, struct godwit_device, kref);

	godwit_frames_fini(gdev);
	kfree(gdev->kernel);
	kfree(gdev);
}

void godwit_device_put(struct godwit_device *gdev)
{
	kref_put(&gdev->kref, godwit_device_free);
}

/* Whether the card may be used until godwit_leave(). */
static bool godwit_enter(struct godwit_device *gdev)
{
	down_read(&gdev->alive_lock);
	if (!gdev->going)
		return true;
	up_read(&gdev->alive_lock);
	return false;
}

static void godwit_leave(struct godwit_device *gdev)
{
	up_read(&gdev->alive_lock);
}

/* misc_deregister() waits for calls of this one, so the device is there. */
static int godwit_open(struct inode *inode, struct file *file)
{
	struct godwit_device *gdev = container_of(file->private_data, struct godwit_device, misc);
	struct godwit_context *ctx;

	if (!godwit_enter(gdev))
		return -ENODEV;
	ctx = godwit_context_open(gdev, file->f_mapping);
	godwit_leave(gdev);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	kref_get(&gdev->kref);
	file->private_data = ctx;
	return nonseekable_open(inode, file);
}

static int godwit_release(struct inode *inode, struct file *file)
{
	struct godwit_context *ctx = file->private_data;
	struct godwit_device *gdev = ctx->device;

	/* What is left of a context when the card is gone touches no card. */
	down_read(&gdev->alive_lock);
	godwit_context_close(ctx);
	up_read(&gdev->alive_lock);
	godwit_device_put(gdev);
	return 0;
}

static int godwit_info(struct godwit_context *ctx, void __user *user)
{
	struct godwit_device *gdev = ctx->device;
	struct godwit_info info = {
		.abi = GODWIT_ABI,
		.spec_hash = gdev->spec_hash,
		.kernels = gdev->kernels,
		.contexts = gdev->contexts,
		.context = ctx->number,
		.va_bits = gdev->va_bits,
		.flags = (gdev->demand ? GODWIT_INFO_DEMAND : 0) | (gdev->pool ? GODWIT_INFO_MIGRATE : 0) |
			 (gdev->heap.regions ? GODWIT_INFO_HEAP : 0) | (gdev->lines.on ? GODWIT_INFO_LINES : 0) |
			 (gdev->queue.caches && !gdev->alone ? GODWIT_INFO_LINES_MIX : 0),
		.memory_bytes = gdev->memory_bytes,
		.free_bytes = gw_range_free_bytes(&gdev->frames),
	};

	return copy_to_user(user, &info, sizeof(info)) ? -EFAULT : 0;
}

static int godwit_pin_call(struct godwit_context *ctx, void __user *user,
			   int (*call)(struct godwit_context *, const struct godwit_pin *))
{
	struct godwit_pin pin;

	if (copy_from_user(&pin, user, sizeof(pin)))
		return -EFAULT;
	return call(ctx, &pin);
}

static int godwit_run_call(struct godwit_context *ctx, void __user *user)
{
	struct godwit_run run;
	int err;

	if (copy_from_user(&run, user, sizeof(run)))
		return -EFAULT;
	err = godwit_run(ctx, &run);
	if (!err && copy_to_user(user, &run, sizeof(run)))
		err = -EFAULT;
	return err;
}

static int godwit_migrate_call(struct godwit_context *ctx, void __user *user)
{
	struct godwit_migrate what;
	int err;

	if (copy_from_user(&what, user, sizeof(what)))
		return -EFAULT;
	err = godwit_migrate(ctx, &what);
	if (!err && copy_to_user(user, &what, sizeof(what)))
		err = -EFAULT;
	return err;
}

static int godwit_advise_call(struct godwit_context *ctx, void __user *user)
{
	struct godwit_advise what;
	int err;

	if (copy_from_user(&what, user, sizeof(what)))
		return -EFAULT;
	err = godwit_advise(ctx, &what);
	if (!err && copy_to_user(user, &what, sizeof(what)))
		err = -EFAULT;
	return err;
}

static int godwit_cancel_call(struct godwit_context *ctx, void __user *user)
{
	struct godwit_cancel what;

	if (copy_from_user(&what, user, sizeof(what)))
		return -EFAULT;
	return godwit_cancel(ctx, &what);
}

static int godwit_residency_call(struct godwit_context *ctx, void __user *user)
{
	struct godwit_residency what;

	if (copy_from_user(&what, user, sizeof(what)))
		return -EFAULT;
	return godwit_residency(ctx, &what);
}

static int godwit_counters_call(struct godwit_context *ctx, void __user *user)
{
	struct godwit_counters what;

	if (copy_from_user(&what, user, sizeof(what)))
		return -EFAULT;
	return godwit_counters(ctx, &what);
}

static int godwit_heap_call_of(struct godwit_context *ctx, void __user *user)
{
	struct godwit_allocation what;
	int err;

	if (copy_from_user(&what, user, sizeof(what)))
		return -EFAULT;
	err = godwit_heap_call(ctx, &what);
	if (!err && copy_to_user(user, &what, sizeof(what)))
		err = -EFAULT;
	return err;
}

static int godwit_heap_state_call(struct godwit_context *ctx, void __user *user)
{
	struct godwit_heap_state state;
	int err;

	if (copy_from_user(&state, user, sizeof(state)))
		return -EFAULT;
	err = godwit_heap_state(ctx, &state);
	if (!err && copy_to_user(user, &state, sizeof(state)))
		err = -EFAULT;
	return err;
}

static long godwit_ioctl(struct file *file, unsigned int number, unsigned long arg)
{
	struct godwit_context *ctx = file->private_data;
	void __user *user = (void __user *)arg;
	long err;

	if (!godwit_enter(ctx->device))
		return -ENODEV;
	godwit_count(ctx->device, GODWIT_EVENT_CALLS, 1);
	switch (number) {
	case GODWIT_IOC_INFO:
		err = godwit_info(ctx, user);
		break;
	case GODWIT_IOC_PIN:
		err = godwit_pin_call(ctx, user, godwit_pin);
		break;
	case GODWIT_IOC_UNPIN:
		err = godwit_pin_call(ctx, user, godwit_unpin);
		break;
	case GODWIT_IOC_RUN:
		err = godwit_run_call(ctx, user);
		break;
	case GODWIT_IOC_MIGRATE:
		err = godwit_migrate_call(ctx, user);
		break;
	case GODWIT_IOC_ADVISE:
		err = godwit_advise_call(ctx, user);
		break;
	case GODWIT_IOC_CANCEL:
		err = godwit_cancel_call(ctx, user);
		break;
	case GODWIT_IOC_RESIDENCY:
		err = godwit_residency_call(ctx, user);
		break;
	case GODWIT_IOC_COUNTERS:
		err = godwit_counters_call(ctx, user);
		break;
	case GODWIT_IOC_HEAP:
		err = godwit_heap_call_of(ctx, user);
		break;
	case GODWIT_IOC_HEAP_STATE:
		err = godwit_heap_state_call(ctx, user);
		break;
	default:
		err = -ENOTTY;
	}
	godwit_leave(ctx->device);
	return err;
}

static const struct file_operations godwit_fops = {
	.owner = THIS_MODULE,
	.open = godwit_open,
	.release = godwit_release,
	.unlocked_ioctl = godwit_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = godwit_heap_mmap,
	.llseek = noop_llseek,
};

int godwit_chardev_add(struct godwit_device *gdev)
{
	int err;

	gdev->id = ida_alloc(&godwit_ids, GFP_KERNEL);
	if (gdev->id < 0)
		return gdev->id;
	snprintf(gdev->name, sizeof(gdev->name), "godwit%d", gdev->id);
	gdev->misc = (struct miscdevice){
		.minor = MISC_DYNAMIC_MINOR,
		.name = gdev->name,
		.fops = &godwit_fops,
		.parent = &gdev->pdev->dev,
		.mode = 0660,
		.groups = godwit_sysfs_groups,
	};
	err = misc_register(&gdev->misc);
	if (err)
		ida_free(&godwit_ids, gdev->id);
	return err;
}

void godwit_chardev_remove(struct godwit_device *gdev)
{
	misc_deregister(&gdev->misc);
	ida_free(&godwit_ids, gdev->id);
}
