// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of /dev/godwitN, in /sys/class/misc/godwitN: what the card is, one value a file. They are there before udev is
 * told of the device, so that its rules can ask for them, and go before the card does.
 */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "driver.h"

static struct godwit_device *godwit_of(struct device *dev)
{
	struct miscdevice *misc = dev_get_drvdata(dev);

	return container_of(misc, struct godwit_device, misc);
}

#define GODWIT_ATTRIBUTE(attribute, format, value)                                                      \
	static ssize_t attribute##_show(struct device *dev, struct device_attribute *attr, char *buf)   \
	{                                                                                               \
		struct godwit_device *gdev = godwit_of(dev);                                            \
													\
		return sysfs_emit(buf, format "\n", value);                                             \
	}                                                                                               \
	static DEVICE_ATTR_RO(attribute)

GODWIT_ATTRIBUTE(spec, "%08x", gdev->spec_hash);
GODWIT_ATTRIBUTE(kernels, "%u", gdev->kernels);
GODWIT_ATTRIBUTE(contexts, "%u", gdev->contexts);
GODWIT_ATTRIBUTE(contexts_used, "%u", bitmap_weight(gdev->context_numbers, GODWIT_MAX_CONTEXTS));
GODWIT_ATTRIBUTE(va_bits, "%u", gdev->va_bits);
GODWIT_ATTRIBUTE(memory_bytes, "%llu", gdev->memory_bytes);
GODWIT_ATTRIBUTE(free_bytes, "%llu", (u64)gw_range_free_bytes(&gdev->frames));
GODWIT_ATTRIBUTE(pool_bytes, "%llu", godwit_pool_bytes(gdev));
GODWIT_ATTRIBUTE(heap_bytes, "%llu", godwit_heap_bytes(gdev));
GODWIT_ATTRIBUTE(page_requests, "%u", gdev->demand);

static struct attribute *godwit_attributes[] = {
	&dev_attr_spec.attr,
	&dev_attr_kernels.attr,
	&dev_attr_contexts.attr,
	&dev_attr_contexts_used.attr,
	&dev_attr_va_bits.attr,
	&dev_attr_memory_bytes.attr,
	&dev_attr_free_bytes.attr,
	&dev_attr_pool_bytes.attr,
	&dev_attr_heap_bytes.attr,
	&dev_attr_page_requests.attr,
	NULL,
};

static const struct attribute_group godwit_attribute_group = { .attrs = godwit_attributes };

const struct attribute_group *godwit_sysfs_groups[] = { &godwit_attribute_group, NULL };
