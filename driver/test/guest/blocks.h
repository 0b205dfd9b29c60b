/* SPDX-License-Identifier: GPL-2.0-only */
/* /dev/godwit-cmt for the guest's test programs. */
#ifndef GODWIT_BLOCKS_H_
#define GODWIT_BLOCKS_H_

#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "../../uapi/godwit.h"

static inline int device_open(void)
{
	return open("/dev/godwit-cmt", O_RDWR | O_CLOEXEC);
}

static inline int device_alloc(int fd, uint64_t bytes, struct godwit_cmt_alloc *block)
{
	*block = (struct godwit_cmt_alloc){ .bytes = bytes, .node = GODWIT_CMT_ANY_NODE };
	return ioctl(fd, GODWIT_CMT_IOC_ALLOC, block);
}

static inline int device_free(int fd, uint64_t address)
{
	struct godwit_cmt_piece piece = { .address = address };

	return ioctl(fd, GODWIT_CMT_IOC_FREE, &piece);
}

static inline int device_resize(int fd, uint64_t address, uint64_t bytes)
{
	struct godwit_cmt_piece piece = { .address = address, .bytes = bytes };

	return ioctl(fd, GODWIT_CMT_IOC_RESIZE, &piece);
}

static inline int device_export(int fd, uint64_t address)
{
	struct godwit_cmt_export what = { .address = address };

	return ioctl(fd, GODWIT_CMT_IOC_EXPORT, &what) ? -1 : what.fd;
}

static inline void *device_map(int fd, uint64_t bytes, uint64_t offset)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
}

static inline struct godwit_cmt_info device_info(int fd)
{
	struct godwit_cmt_info info = { 0 };

	ioctl(fd, GODWIT_CMT_IOC_INFO, &info);
	return info;
}

#endif /* GODWIT_BLOCKS_H_ */
