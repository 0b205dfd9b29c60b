/* SPDX-License-Identifier: GPL-2.0-only */
/* Huge pages: those that Linux makes where a program asks for them, and those of hugetlbfs, which the system has to have reserved. */
#ifndef GODWIT_HUGE_H_
#define GODWIT_HUGE_H_

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "files.h"

#define HUGE (2ul << 20)

/*
 * Linux has huge pages where a program asks for them, even with as little memory as here. Its daemon makes none of single pages
 * meanwhile: for up to 64 of them it would have those come home that are on the card, as a touch does, in the middle of what is counted.
 */
static inline bool huge_pages_when_asked(void)
{
	return tell("/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs", "1000000000") &&
	       tell("/sys/kernel/mm/transparent_hugepage/enabled", "madvise");
}

static inline bool huge_reserve(const char *pages)
{
	int fd = open("/proc/sys/vm/nr_hugepages", O_WRONLY);
	bool done = fd >= 0 && write(fd, pages, 1) == 1;

	close(fd);
	return done;
}

/* One, the process's own, behind which nothing is: the next memory may be an allocator's. */
static inline void *huge_page(void)
{
	char *room = mmap(NULL, 3 * HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at;

	if (room == MAP_FAILED)
		return room;
	at = (char *)(((uintptr_t)room + HUGE - 1) & ~(HUGE - 1));
	munmap(room, 3 * HUGE);
	return mmap(at, HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_FIXED_NOREPLACE, -1, 0);
}

#endif /* GODWIT_HUGE_H_ */
