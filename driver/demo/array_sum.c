// SPDX-License-Identifier: GPL-2.0-only
/* Sums numbers of malloc() on the card, by the program's own pointer: array_sum [COUNT] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../test/guest/card.h"

int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 100000, expected = 0, i;
	uint64_t *values = malloc(count * sizeof(*values));
	struct godwit_info info;
	struct card_sum got;
	int fd = card_open();

	if (fd < 0 || ioctl(fd, GODWIT_IOC_INFO, &info)) {
		perror("/dev/godwit0");
		return 1;
	}
	printf("card: %u kernels, %u contexts, %" PRIu64 " MiB; this process is context %u\n", info.kernels, info.contexts,
	       (uint64_t)info.memory_bytes >> 20, info.context);
	for (i = 0; i < count; i++)
		expected += values[i] = i * i;
	/* A card that asks for pages needs to be told nothing of them. */
	if (!(info.flags & GODWIT_INFO_DEMAND) && card_pin(fd, values, count * sizeof(*values), 0)) {
		perror("pin");
		return 1;
	}
	if (card_array_sum(fd, values, count, 0, &got)) {
		perror("array_sum");
		return 1;
	}
	printf("array_sum(%p, %" PRIu64 "): %" PRIu64 " on the card, %" PRIu64 " on the processor\n", (void *)values, count,
	       got.sum, expected);
	return got.run.end != GODWIT_RUN_DONE || got.status || got.sum != expected;
}
