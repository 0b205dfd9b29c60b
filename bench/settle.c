// SPDX-License-Identifier: Apache-2.0
/* Touches so many MiB in huge pages and ends: settle.py says why. */
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	const size_t huge = (size_t)2 << 20;
	const size_t bytes = argc == 2 ? (size_t)atol(argv[1]) << 20 : 0;
	char *start = mmap(NULL, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *at = start;

	if (start == MAP_FAILED)
		return 1;
	while ((size_t)at % huge)
		at += 4096;
	madvise(at, bytes, MADV_HUGEPAGE);
	for (char *end = at + bytes; at < end; at += 4096)
		*(volatile char *)at = 1;
	return 0;
}
