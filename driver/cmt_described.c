// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory for /dev/godwit-cmt that the machine's description names: a device tree, or whoever makes platform devices.
 *
 *	contiguous-memory@40000000 {
 *		compatible = "godwit,contiguous-memory";
 *		reg = <0x0 0x40000000 0x0 0x4000000>;		or memory-region = <&one>, <&another>;
 *		numa-node-id = <0>;
 *	};
 *
 * What it names must be out of Linux's use: a child of /reserved-memory with `no-map`, or outside of all `memory` nodes. It is looked for
 * once, when the module is loaded.
 */
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/numa.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/platform_device.h>

#include "cmt.h"

/* Where what is found goes; NULL: nobody looks any more. */
static struct godwit_cmt_described *godwit_cmt_looking;

static int godwit_cmt_found_one(struct device *dev, const struct resource *resource)
{
	int node = dev_to_node(dev);

	if (godwit_cmt_looking->count == GODWIT_CMT_MAX_AREAS) {
		dev_err(dev, "more than %d areas of contiguous memory\n", GODWIT_CMT_MAX_AREAS);
		return -E2BIG;
	}
	godwit_cmt_looking->list[godwit_cmt_looking->count++] = (struct gw_range_area){
		.base = resource->start,
		.bytes = resource_size(resource),
		.node = node == NUMA_NO_NODE ? 0 : node,
	};
	return 0;
}

static int godwit_cmt_find_in(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	struct resource *own, named;
	struct device_node *region;
	unsigned int i;
	int err = 0;

	for (i = 0; !err && (own = platform_get_resource(pdev, IORESOURCE_MEM, i)); i++)
		err = godwit_cmt_found_one(dev, own);
	for (i = 0; !err && (region = of_parse_phandle(dev->of_node, "memory-region", i)); i++) {
		err = of_address_to_resource(region, 0, &named);
		of_node_put(region);
		if (!err)
			err = godwit_cmt_found_one(dev, &named);
	}
	return err;
}

static int godwit_cmt_probe(struct platform_device *pdev)
{
	if (!godwit_cmt_looking) {
		dev_info(&pdev->dev, "came after /dev/godwit-cmt was made of what there was: load the module again\n");
		return -ENODEV;
	}
	/* An error of this function is only told to the log. */
	if (!godwit_cmt_looking->err)
		godwit_cmt_looking->err = godwit_cmt_find_in(pdev);
	return godwit_cmt_looking->err;
}

static const struct of_device_id godwit_cmt_ids[] = {
	{ .compatible = "godwit,contiguous-memory" },
	{},
};
MODULE_DEVICE_TABLE(of, godwit_cmt_ids);

static struct platform_driver godwit_cmt_driver = {
	.probe = godwit_cmt_probe,
	.driver = {
		.name = "godwit-cmt",
		.of_match_table = godwit_cmt_ids,
		.probe_type = PROBE_FORCE_SYNCHRONOUS,
		/* The memory is the pool's until the module goes. */
		.suppress_bind_attrs = true,
	},
};

int godwit_cmt_describe(struct godwit_cmt_described *found)
{
	int err;

	*found = (struct godwit_cmt_described){};
	godwit_cmt_looking = found;
	err = platform_driver_register(&godwit_cmt_driver);
	godwit_cmt_looking = NULL;
	found->registered = !err;
	return err ?: found->err;
}

void godwit_cmt_describe_end(struct godwit_cmt_described *found)
{
	if (found->registered)
		platform_driver_unregister(&godwit_cmt_driver);
	found->registered = false;
}
