/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests' module does for them: /dev/rig. */
#ifndef GODWIT_TEST_RIG_H_
#define GODWIT_TEST_RIG_H_

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * struct rig_import - a dma-buf as another driver gets it, for as long as the call takes
 * @fd: the dma-buf
 * @entries: filled in: of its scatter list
 * @address: filled in: where its device finds the first
 * @bytes: filled in: of all that follow each other from there
 */
struct rig_import {
	__s32 fd;
	__u32 entries;
	__aligned_u64 address;
	__aligned_u64 bytes;
};

/* rig_take.kind */
/* As drivers of devices ask for it: of CMA, where there is one and the piece is larger than 4 MiB. */
#define RIG_DMA 0u
/* alloc_contig_pages(), of memory that nobody has reserved. EOPNOTSUPP where modules cannot call it. */
#define RIG_CONTIG 1u

/**
 * struct rig_take - a piece of physical memory
 * @bytes: its size
 * @kind: RIG_*
 * @reserved: 0
 * @ns: filled in, also when there is none (ENOMEM): time it took
 */
struct rig_take {
	__aligned_u64 bytes;
	__u32 kind;
	__u32 reserved;
	__aligned_u64 ns;
};

/**
 * struct rig_scatter - the kernel's own pages, all over memory
 * @bytes: taken page by page
 * @every: one page in so many stays, as long as the module is loaded
 */
struct rig_scatter {
	__aligned_u64 bytes;
	__aligned_u64 every;
};

#define RIG_IOC_IMPORT _IOWR('r', 1, struct rig_import)
#define RIG_IOC_TAKE _IOWR('r', 2, struct rig_take)
#define RIG_IOC_SCATTER _IOW('r', 3, struct rig_scatter)
/* All that was taken. */
#define RIG_IOC_GIVE _IO('r', 4)
/* Cards of the driver `godwit` are reset as far as it is told, and keep what they have: a reset that does not work. ENODEV: there is none. */
#define RIG_IOC_RESET _IO('r', 5)

#endif /* GODWIT_TEST_RIG_H_ */
