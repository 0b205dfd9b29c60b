/* SPDX-License-Identifier: GPL-2.0-only */
/* /dev/godwit0 for the guest's test programs, and its kernel array_sum. */
#ifndef GODWIT_CARD_H_
#define GODWIT_CARD_H_

#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../uapi/godwit.h"

#include "card_kernels.h"

static inline int card_open(void)
{
	return open("/dev/godwit0", O_RDWR | O_CLOEXEC);
}

static inline int card_pin(int fd, const void *at, uint64_t size, uint32_t flags)
{
	struct godwit_pin pin = { .addr = (uint64_t)at, .size = size, .flags = flags };

	return ioctl(fd, GODWIT_IOC_PIN, &pin);
}

static inline int card_unpin(int fd, const void *at, uint64_t size)
{
	struct godwit_pin pin = { .addr = (uint64_t)at, .size = size };

	return ioctl(fd, GODWIT_IOC_UNPIN, &pin);
}

/* A launch of array_sum over @count 64-bit numbers, and what came of it. */
struct card_sum {
	struct godwit_run run;
	uint64_t sum;
	uint32_t status;
};

static inline int card_array_sum(int fd, const void *values, uint64_t count, uint32_t timeout_ms, struct card_sum *out)
{
	uint64_t at = (uint64_t)values;
	struct godwit_register writes[] = {
		{ ARRAY_SUM_VALUES, (uint32_t)at }, { ARRAY_SUM_VALUES + 4, (uint32_t)(at >> 32) },
		{ ARRAY_SUM_COUNT, (uint32_t)count }, { ARRAY_SUM_COUNT + 4, (uint32_t)(count >> 32) },
		{ ARRAY_SUM_DTYPE, 1 },
		{ ARRAY_SUM_VALIDITY, 0 }, { ARRAY_SUM_VALIDITY + 4, 0 },
		{ ARRAY_SUM_OFFSET, 0 }, { ARRAY_SUM_OFFSET + 4, 0 },
	};
	struct godwit_register reads[] = { { ARRAY_SUM_SUM, 0 }, { ARRAY_SUM_SUM + 4, 0 }, { ARRAY_SUM_STATUS, 0 } };
	struct godwit_run run = {
		.slot = ARRAY_SUM_SLOT,
		.timeout_ms = timeout_ms,
		.writes = (uint64_t)writes,
		.write_count = sizeof(writes) / sizeof(writes[0]),
		.reads = (uint64_t)reads,
		.read_count = sizeof(reads) / sizeof(reads[0]),
	};
	int result = ioctl(fd, GODWIT_IOC_RUN, &run);

	out->run = run;
	out->sum = reads[0].value | (uint64_t)reads[1].value << 32;
	out->status = reads[2].value;
	return result;
}

/* A launch of memcopy, @times over; how it ended is in @run, the kernel's own word in @status. */
static inline int card_memcopy_often(int fd, void *to, const void *from, uint64_t bytes, uint32_t times,
				     struct godwit_run *run, uint32_t *status)
{
	uint64_t src = (uint64_t)from, dst = (uint64_t)to;
	struct godwit_register writes[] = {
		{ MEMCOPY_SRC, (uint32_t)src }, { MEMCOPY_SRC + 4, (uint32_t)(src >> 32) },
		{ MEMCOPY_DST, (uint32_t)dst }, { MEMCOPY_DST + 4, (uint32_t)(dst >> 32) },
		{ MEMCOPY_BYTES, (uint32_t)bytes }, { MEMCOPY_BYTES + 4, (uint32_t)(bytes >> 32) },
		{ MEMCOPY_ITERATIONS, times },
	};
	struct godwit_register reads[] = { { MEMCOPY_STATUS, 0 } };
	int result;

	*run = (struct godwit_run){
		.slot = MEMCOPY_SLOT,
		.writes = (uint64_t)writes,
		.write_count = sizeof(writes) / sizeof(writes[0]),
		.reads = (uint64_t)reads,
		.read_count = 1,
	};
	result = ioctl(fd, GODWIT_IOC_RUN, run);
	*status = reads[0].value;
	return result;
}

static inline int card_memcopy(int fd, void *to, const void *from, uint64_t bytes, struct godwit_run *run, uint32_t *status)
{
	return card_memcopy_often(fd, to, from, bytes, 1, run, status);
}

#endif /* GODWIT_CARD_H_ */
