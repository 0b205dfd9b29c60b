// SPDX-License-Identifier: GPL-2.0-only
/* Module parameters. One that is out of range is refused, with the range, when it is set: none is silently another. */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "params.h"

/* The page-request ring has a page: an interrupt for more records than that holds never comes. */
#define GODWIT_IRQ_RECORDS_MAX 128

static int godwit_set_range(const char *value, const struct kernel_param *param, unsigned int min, unsigned int max)
{
	int err = param_set_uint_minmax(value, param, min, max);

	if (err)
		pr_err("godwit: parameter %s is %u to %u, not \"%s\"\n", param->name, min, max, value);
	return err;
}

#define GODWIT_PARAM(parameter, first, min, max, mode, description)                                \
	static int godwit_set_##parameter(const char *value, const struct kernel_param *param)     \
	{                                                                                          \
		return godwit_set_range(value, param, min, max);                                   \
	}                                                                                          \
	static const struct kernel_param_ops godwit_##parameter##_ops = {                          \
		.set = godwit_set_##parameter,                                                     \
		.get = param_get_uint,                                                             \
	};                                                                                         \
	unsigned int godwit_param_##parameter = first;                                             \
	module_param_cb(parameter, &godwit_##parameter##_ops, &godwit_param_##parameter, mode);    \
	MODULE_PARM_DESC(parameter, description)

GODWIT_PARAM(contexts, GODWIT_MAX_CONTEXTS, 1, GODWIT_MAX_CONTEXTS, 0444,
	     "Most contexts of a card, 1 to 256; never more than it holds (default: all)");
GODWIT_PARAM(fence_ms, 60000, 100, 600000, 0644,
	     "Milliseconds that an invalidation may take before the card is taken off the bus, 100 to 600000 (default: 60000)");
GODWIT_PARAM(ahead_pages, 512, 0, GODWIT_AHEAD_PAGES, 0644,
	     "Most pages that go to the card before it asks for them, 0 to 4096; 0: none (default: 512)");
GODWIT_PARAM(fight_ms, 10, 0, 60000, 0644,
	     "Pages that the card asks for within so many milliseconds after they went there, time and again, stay in the host; 0: never (default: 10)");
GODWIT_PARAM(alone_us, 100, 0, 1000000, 0644,
	     "Microseconds that the card has a page that it uses in place alone, before a processor that touches it goes on, 0 to 1000000 (default: 100)");
GODWIT_PARAM(heap_wait_ms, 2000, 10, 600000, 0644,
	     "Milliseconds that a kernel, or a program, waits for a frame of a heap in which nothing is freed, 10 to 600000 (default: 2000)");
GODWIT_PARAM(link_latency_ns, 900, 0, 1000000, 0644,
	     "Nanoseconds that a line of host memory takes alone, but for its bytes, 0 to 1000000 (default: 900)");
GODWIT_PARAM(link_mbps, 6600, 1, 1000000, 0644,
	     "10^6 bytes that the link carries in a second, 1 to 1000000 (default: 6600, PCIe 3.0 x8)");
GODWIT_PARAM(leave_ns, 8900, 0, 1000000000, 0644,
	     "Nanoseconds of the host's work on a group of pages that goes to the card, 0 to 1000000000 (default: 8900)");
GODWIT_PARAM(leave_page_ns, 1300, 0, 1000000000, 0644,
	     "... and on each of its pages, 0 to 1000000000 (default: 1300)");
GODWIT_PARAM(irq_records, 16, 1, GODWIT_IRQ_RECORDS_MAX, 0444,
	     "Page requests until the card interrupts, 1 to 128 (default: 16)");
GODWIT_PARAM(irq_cycles, 64, 1, 65535, 0444,
	     "Cycles of the card after the first page request until it interrupts, 1 to 65535 (default: 64)");

/* Pages move in groups that are naturally aligned. */
static int godwit_set_group(const char *value, const struct kernel_param *param, unsigned int max)
{
	unsigned int pages;
	int err = kstrtouint(value, 0, &pages);

	if (!err && (!is_power_of_2(pages) || pages > max))
		err = -EINVAL;
	if (err) {
		pr_err("godwit: parameter %s is a power of two up to %u, not \"%s\"\n", param->name, max, value);
		return err;
	}
	WRITE_ONCE(*(unsigned int *)param->arg, pages);
	return 0;
}

#define GODWIT_PARAM_GROUP(parameter, max, description)                                            \
	static int godwit_set_##parameter(const char *value, const struct kernel_param *param)     \
	{                                                                                          \
		return godwit_set_group(value, param, max);                                        \
	}                                                                                          \
	static const struct kernel_param_ops godwit_##parameter##_ops = {                          \
		.set = godwit_set_##parameter,                                                     \
		.get = param_get_uint,                                                             \
	};                                                                                         \
	unsigned int godwit_param_##parameter = max;                                               \
	module_param_cb(parameter, &godwit_##parameter##_ops, &godwit_param_##parameter, 0644);    \
	MODULE_PARM_DESC(parameter, description)

GODWIT_PARAM_GROUP(bring_pages, GODWIT_BRING_PAGES,
		   "Most neighbouring pages brought in one go: 1, 2, 4, 8 or 16 (default: 16)");
GODWIT_PARAM_GROUP(home_pages, GODWIT_HOME_PAGES,
		   "Most neighbouring pages that come home when one is touched: 1, 2, 4, 8 or 16 (default: 16)");
GODWIT_PARAM_GROUP(home_most, GODWIT_MOVE_PAGES,
		   "The same when touches go on one behind the other, each time twice as many: up to 512 (default: 512)");

bool godwit_param_move = true;
module_param_named(move, godwit_param_move, bool, 0644);
MODULE_PARM_DESC(move,
		 "Memory that an accelerator asks for moves to device memory, if programs say nothing else of it (default: Y)");

bool godwit_param_large_pages = true;
module_param_named(large_pages, godwit_param_large_pages, bool, 0644);
MODULE_PARM_DESC(large_pages,
		 "Neighbouring pages that are neighbours for the card, too, are mapped with entries of 64 KiB and 2 MiB (default: Y)");

bool godwit_param_large_folios = true;
module_param_named(large_folios, godwit_param_large_folios, bool, 0644);
MODULE_PARM_DESC(large_folios,
		 "Huge pages of the host move whole, where Linux can have that (default: Y)");

unsigned int godwit_param_pool_mib = GODWIT_POOL_AUTO;
module_param_named(pool_mib, godwit_param_pool_mib, uint, 0444);
MODULE_PARM_DESC(pool_mib,
		 "MiB of device memory that processes' memory can be in, in steps of 128; 0: none (default: as much as the host has memory, at most half of the card's)");

unsigned int godwit_param_heap_mib = GODWIT_HEAP_AUTO;
module_param_named(heap_mib, godwit_param_heap_mib, uint, 0644);
MODULE_PARM_DESC(heap_mib,
		 "MiB of device memory that a heap in hardware gives from the card's next reset on, in steps of 2; 0: no heap (default: as much as it can, at most half of the card's)");
